"""How known agent programs are started, pointed at an endpoint, and read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from attrs import field, frozen

from context_bench.errors import ConfigurationError
from context_bench_agents_live.program_logs import (
    Counts,
    read_claude_code,
    read_codex,
    read_mini_swe_agent,
    read_opencode,
    read_pi,
)

LogReader = Callable[[str, Path], Counts]

_PI_MODELS = (
    '{"providers": {"bench": {"baseUrl": "{base_url}/v1", "api": "openai-completions", '
    '"apiKey": "OPENAI_API_KEY", "models": [{"id": "{model}"}]}}}'
)
_OPENCODE_CONFIG = (
    '{"provider": {"bench": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "{base_url}/v1", '
    '"apiKey": "{env:OPENAI_API_KEY}"}, "models": {"{model}": {}}}}}'
)
_GEMINI_SETTINGS = '{"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": false}}'
_CODEX_PROVIDER = (
    'model_providers.bench={name="bench", base_url="{base_url}/v1", env_key="OPENAI_API_KEY", '
    'wire_api="responses"}'
)


@frozen
class Preset:
    """An agent program. Placeholders are those of `Program`.

    Attributes:
        name: The name to choose it by.
        program: Its executable.
        arguments: Arguments of a headless run.
        endpoint: How it is pointed at an endpoint, in words.
        log: What it logs, in words.
        install: The command that installs it.
        megabytes: What the installation weighs.
        environment: Variables to set.
        files: Files to write into its home folder, by path.
        read_log: Returns turns and calls from its output and its home folder; None where it logs neither.
        why_no_oracle: Why the oracle cannot replace its model; empty where it can.
    """

    name: str
    program: str
    arguments: Sequence[str]
    endpoint: str
    log: str
    install: str
    megabytes: int
    environment: Mapping[str, str] = field(factory=dict)
    files: Mapping[str, str] = field(factory=dict)
    read_log: LogReader | None = None
    why_no_oracle: str = ""


MINI_SWE_AGENT = Preset(
    name="mini-swe-agent",
    program="mini",
    arguments=(
        "-y",
        "--exit-immediately",
        "-m",
        "openai/{model}",
        "-c",
        "mini.yaml",
        "-c",
        "model.model_kwargs.api_base={base_url}/v1",
        "-o",
        "{home}/trajectory.json",
        "-t",
        "{task}",
    ),
    endpoint="the setting model.model_kwargs.api_base",
    log="a trajectory with each message and the number of requests",
    install="pip install mini-swe-agent",
    megabytes=550,
    environment={
        "MSWEA_CONFIGURED": "true",
        "MSWEA_COST_TRACKING": "ignore_errors",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    },
    read_log=read_mini_swe_agent,
)
CODEX = Preset(
    name="codex",
    program="codex",
    arguments=(
        "exec",
        "--json",
        "--skip-git-repo-check",
        "-s",
        "danger-full-access",
        "-c",
        "model_provider=bench",
        "-c",
        _CODEX_PROVIDER,
        "-c",
        "model={model}",
        "{task}",
    ),
    endpoint="a model provider in its settings",
    log="a session file with each request and each call",
    install="npm install -g @openai/codex",
    megabytes=404,
    read_log=read_codex,
)
CLAUDE_CODE = Preset(
    name="claude-code",
    program="claude",
    arguments=(
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
        "--allowedTools",
        "Bash,Read,Write,Edit",
        "--model",
        "{model}",
        "{task}",
    ),
    endpoint="the variable ANTHROPIC_BASE_URL",
    log="each message as JSON on standard output",
    install="npm install -g @anthropic-ai/claude-code",
    megabytes=235,
    environment={
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    },
    read_log=read_claude_code,
)
PI = Preset(
    name="pi",
    program="pi",
    arguments=("-p", "--mode", "json", "--provider", "bench", "--model", "{model}", "{task}"),
    endpoint="the file .pi/agent/models.json in the home folder",
    log="events as JSON on standard output",
    install="npm install -g @mariozechner/pi-coding-agent",
    megabytes=204,
    environment={"PI_OFFLINE": "1"},
    files={".pi/agent/models.json": _PI_MODELS},
    read_log=read_pi,
)
OPENCODE = Preset(
    name="opencode",
    program="opencode",
    arguments=("run", "--format", "json", "-m", "bench/{model}", "{task}"),
    endpoint="a settings file that OPENCODE_CONFIG names",
    log="events as JSON on standard output; a request for a title is not in it",
    install="npm install -g opencode-ai",
    megabytes=354,
    environment={
        "OPENCODE_CONFIG": "{home}/opencode.json",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
    },
    files={"opencode.json": _OPENCODE_CONFIG},
    read_log=read_opencode,
)
GEMINI_CLI = Preset(
    name="gemini-cli",
    program="gemini",
    arguments=("-y", "--output-format", "json", "-m", "{model}", "-p", "{task}"),
    endpoint="the variable GOOGLE_GEMINI_BASE_URL",
    log="statistics as JSON on standard output",
    install="npm install -g @google/gemini-cli",
    megabytes=100,
    environment={"GOOGLE_GEMINI_BASE_URL": "{base_url}"},
    files={".gemini/settings.json": _GEMINI_SETTINGS},
    why_no_oracle="it calls generateContent",
)
AIDER = Preset(
    name="aider",
    program="aider",
    arguments=(
        "--yes-always",
        "--no-check-update",
        "--analytics-disable",
        "--no-git",
        "--no-show-model-warnings",
        "--model",
        "openai/{model}",
        "--message",
        "{task}",
    ),
    endpoint="the variable OPENAI_API_BASE",
    log="its conversation as text",
    install="pip install aider-chat",
    megabytes=580,
    why_no_oracle="it offers no tools, and reads edits from the text",
)

PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (MINI_SWE_AGENT, CODEX, CLAUDE_CODE, PI, OPENCODE, GEMINI_CLI, AIDER)
}


def preset_of(name: str) -> Preset:
    """Return the preset of a name.

    Raises:
        ConfigurationError: There is none.
    """
    if name not in PRESETS:
        raise ConfigurationError(
            f"Unknown agent {name!r}. Choose from: loop, {', '.join(PRESETS)}, or give command."
        )
    return PRESETS[name]
