"""A stand-in for the native library: the same names, no model. What it does stands in the "model" file behind `GGUF`.

It is found by the child process alone, through PYTHONPATH; nothing of ours is substituted.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any


class CommonParams:
    def __init__(self) -> None:
        self.model = SimpleNamespace(path="")
        self.model_alias: set[str] = set()
        self.hostnames: list[str] = []
        self.port = 8080
        self.n_ctx = 0
        self.n_parallel = 1
        self.cpuparams = SimpleNamespace(n_threads=-1)
        self.cpuparams_batch = SimpleNamespace(n_threads=-1)
        self.sampling = SimpleNamespace(seed=-1)
        self.n_gpu_layers = -1
        self.cache_prompt = True
        self.cache_ram_mib = 8192


class Server:
    def __init__(self, params: CommonParams) -> None:
        with open(params.model.path, "rb") as file:
            told = json.loads(file.read()[4:] or b"{}")
        print("a native library prints what it likes, to standard output too", flush=True)
        if "exits" in told:
            os.write(2, b"loading\nerror: the tensors are damaged\nbye\n")
            os._exit(told["exits"])
        if "prints" in told:
            os.write(2, told["prints"].encode())
        if "raises" in told:
            raise RuntimeError(told["raises"])
        time.sleep(told.get("silent", 0))
        if "pid" in told:
            with open(told["pid"], "w") as file:
                file.write(str(os.getpid()))
        handler = type(
            "Bound",
            (_Handler,),
            {"params": params, "told": told, "started": time.monotonic(), "busy": []},
        )
        self._http = ThreadingHTTPServer((params.hostnames[0], params.port), handler)
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    @property
    def listening_address(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"


class _Handler(BaseHTTPRequestHandler):
    params: CommonParams
    told: dict[str, Any]
    started: float
    busy: list[int]

    def do_GET(self) -> None:
        if self.path == "/health":
            loading = time.monotonic() - self.started < self.told.get("loading", 0)
            self._send(503 if loading else 200, {"status": "loading" if loading else "ok"})
        else:
            p = self.params
            self._send(
                200,
                {
                    "pid": os.getpid(),
                    "n_ctx": p.n_ctx,
                    "parallel": p.n_parallel,
                    "threads": [p.cpuparams.n_threads, p.cpuparams_batch.n_threads],
                    "seed": p.sampling.seed,
                    "gpu_layers": p.n_gpu_layers,
                    "cache": [p.cache_prompt, p.cache_ram_mib],
                    "alias": sorted(p.model_alias),
                    "host": p.hostnames,
                },
            )

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.busy.append(1)
        together = len(self.busy)
        time.sleep(self.told.get("seconds", 0))
        self.busy.pop()
        question = body["messages"][-1]["content"]
        if "DIE" in question:
            print("error: out of memory", file=sys.stderr, flush=True)
            os._exit(3)
        if "LONG" in question:
            self._send(
                400,
                {
                    "error": {
                        "message": "request exceeds the available context size",
                        "type": "exceed_context_size_error",
                    }
                },
            )
            return
        asked = {key: value for key, value in body.items() if key != "messages"}
        text = json.dumps({"asked": asked, "messages": body["messages"], "together": together})
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": 7, "completion_tokens": 2}
        self._send(
            200,
            {
                "model": body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": usage,
            },
        )

    def _send(self, status: int, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass
