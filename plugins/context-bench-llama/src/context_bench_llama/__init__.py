"""A local GGUF model, answered by llama.cpp's own server in a process that starts and stops with the run."""

from __future__ import annotations

from context_bench_llama.llama import Llama
from context_bench_llama.server import LlamaServer, ServerError, ServerSettings

__all__ = ["Llama", "LlamaServer", "ServerError", "ServerSettings"]
