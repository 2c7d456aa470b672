"""Serves a GGUF model with llama.cpp's own HTTP server, out of the wheel xllamacpp.

One thread does the arithmetic: on a busy machine two wait for each other. Prints ``listening URL`` when it answers.
"""

from __future__ import annotations

import argparse
import os
from threading import Event

from xllamacpp import CommonParams, Server


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--model", required=True, help="GGUF file")
    options.add_argument("--alias", required=True, help="name that requests ask for")
    options.add_argument("--port", type=int, default=0, help="0 takes a free one")
    options.add_argument(
        "--context", type=int, default=4096, help="tokens that one request may have"
    )
    options.add_argument(
        "--parallel", type=int, default=1, help="requests that are answered at a time"
    )
    chosen = options.parse_args()

    parameters = CommonParams()
    parameters.model.path = chosen.model
    parameters.model_alias = {chosen.alias}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = chosen.port
    parameters.n_ctx = chosen.context * chosen.parallel
    parameters.n_parallel = chosen.parallel
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.n_gpu_layers = 0
    parameters.cache_ram_mib = (
        0  # prompts of other slots are not kept; those of the own slot are, as is usual
    )
    server = Server(parameters)
    # in one piece: llama.cpp writes its log there, too
    os.write(1, f"\nlistening {server.listening_address}\n".encode())
    Event().wait()


if __name__ == "__main__":
    main()
