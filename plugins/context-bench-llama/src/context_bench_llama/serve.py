"""The child process: llama.cpp's server on a port of its own choice, as long as its parent lives.

``python -m context_bench_llama.serve SETTINGS`` with the settings as JSON. One line of JSON on standard output says where
it listens, or why it does not; everything that llama.cpp prints goes to standard error. It ends when its standard input
ends, so it outlives no parent, however that one dies.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any


def main() -> None:
    """Start the server, tell where it is, and wait for the end of standard input."""
    settings = json.loads(sys.argv[1])
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # a Ctrl-C is the run's: it lets the rows in flight finish first
    told = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        server = start(settings)
        address = str(server.listening_address)
    except BaseException as error:  # noqa: BLE001 - a native library: whatever it raises is told to the parent
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), file=told, flush=True)
        os._exit(1)
    print(json.dumps({"address": address}), file=told, flush=True)
    while sys.stdin.buffer.read(1):
        pass
    os._exit(0)  # the server's threads would keep the interpreter


def start(settings: dict[str, Any]) -> Any:
    """Return a running server."""
    import xllamacpp  # type: ignore[import-untyped, import-not-found, unused-ignore]

    params = xllamacpp.CommonParams()
    params.model.path = settings["model"]
    params.model_alias = (
        {settings["alias"]} if not isinstance(params.model_alias, str) else settings["alias"]
    )
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # a free one
    params.n_ctx = settings["context_tokens"] * settings["parallel"]  # shared out among the slots
    params.n_parallel = settings["parallel"]
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams_batch.n_threads = settings["threads"]
    params.sampling.seed = settings["seed"]
    params.n_gpu_layers = settings["gpu_layers"]
    params.cache_prompt = settings["prompt_cache"]
    params.cache_ram_mib = 0
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
