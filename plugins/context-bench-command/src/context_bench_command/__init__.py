"""Any program as a system, and command-line assistants as presets."""

from context_bench_command.assistants import LLMCLI, ClaudeCLI, CodexCLI, GeminiCLI
from context_bench_command.errors import (
    CommandError,
    CommandExitError,
    CommandMissingError,
    CommandOutputError,
    CommandTimeoutError,
)
from context_bench_command.system import Command, CommandTransformer

__all__ = [
    "LLMCLI",
    "ClaudeCLI",
    "CodexCLI",
    "Command",
    "CommandError",
    "CommandExitError",
    "CommandMissingError",
    "CommandOutputError",
    "CommandTimeoutError",
    "CommandTransformer",
    "GeminiCLI",
]
