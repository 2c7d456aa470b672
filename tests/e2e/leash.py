"""Runs a script or a module as the main program, and ends it when its standard input is closed.

Who started it holds the other end, so it ends with them, however they end.

    python leash.py llm_server.py --threads 1
    python leash.py -m kompact proxy --port 7878
"""

from __future__ import annotations

import os
import runpy
import sys
from threading import Thread


def end_with_standard_input() -> None:
    while os.read(0, 1024):
        pass
    os._exit(0)


if __name__ == "__main__":
    Thread(target=end_with_standard_input, daemon=True).start()
    del sys.argv[0]
    if sys.argv[0] == "-m":
        del sys.argv[0]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")
