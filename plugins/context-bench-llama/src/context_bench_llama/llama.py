"""A local model as the system under test, or as the reader behind a compressor."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import finalize

from context_bench.prompts import ASKING_FIELDS, HISTORY_FIELDS
from context_bench_http import EndpointUnreachableError
from context_bench_llama.model_file import content_hash, download, local_file, on_the_hub
from context_bench_llama.server import LlamaServer, ServerSettings, borrow, give_back
from context_bench_openai import EndpointError, OpenAIProxy

ADAPTER_VERSION = "1"
_STEP = 256  # llama.cpp rounds the tokens of a slot up to it, in llama_context
_RANDOM_SEED = 2**32 - 1  # LLAMA_DEFAULT_SEED


class Llama:
    """Answers with a GGUF model on this machine: no key, no network, the same answer every time.

    llama.cpp's own server (the wheel ``xllamacpp``) runs in a child process; systems that ask the same of it share one. It
    is started with the first example that needs it, and stopped with the run, or with `close`. By default it always takes
    the likeliest token, on one thread, and evaluates every prompt afresh, so that an answer depends on its example alone.

    ``process`` returns what `OpenAIProxy` returns: ``response``, ``usage``, ``finish_reason``, ``latency`` and so on.

        with Llama("SmolLM2-135M-Instruct.Q4_1.gguf", max_tokens=20) as system:
            system.process({"context": "Rome is in Italy.", "question": "Where is Rome?"})["response"]

    Args:
        model: Path of a GGUF file, or ``namespace/name:file.gguf`` of the Hugging Face Hub.
        revision: Branch, tag or commit on the hub.
        name: Display name; by default the name of the file.
        layout: Where context and question stand: ``system``, ``user``, ``tool`` or ``chat``.
        system_prompt: A system message before everything else.
        max_tokens: Most tokens of a reply.
        temperature: Sampling temperature.
        top_p: Nucleus sampling mass; None leaves it to llama.cpp.
        seed: Sampling seed.
        context_tokens: Tokens that a prompt and its reply may have together, a multiple of 256.
        threads: Threads of the server. More than there are idle cores make it many times slower.
        parallel: Requests that it works on at once; further ones wait here.
        gpu_layers: Layers that are computed on a GPU.
        prompt_cache: Reuse what prompts have in common. Answers then depend on what was asked before.
        timeout: Seconds for one reply.
        start_timeout: Seconds for loading the model.

    Raises:
        FileNotFoundError: There is no such file.
        ImportError: xllamacpp, or for a model of the hub huggingface_hub, is not installed.
        ValueError: It is no GGUF file, or an option cannot be used.
    """

    reads = ("context", "question", *ASKING_FIELDS, *HISTORY_FIELDS, "turns", "multi_turn")

    def __init__(
        self,
        model: str,
        revision: str | None = None,
        name: str | None = None,
        layout: str = "system",
        system_prompt: str | None = None,
        max_tokens: int = 256,
        temperature: float = 0.0,
        top_p: float | None = None,
        seed: int = 0,
        context_tokens: int = 8192,
        threads: int = 1,
        parallel: int = 1,
        gpu_layers: int = 0,
        prompt_cache: bool = False,
        timeout: float | None = 600.0,
        start_timeout: float = 300.0,
    ) -> None:
        self._library = _library()
        self._model = str(model)
        self._revision = revision
        self._hub = on_the_hub(self._model)
        _check(
            max_tokens=max_tokens, context_tokens=context_tokens, threads=threads, parallel=parallel
        )
        _check(least=0, seed=seed, gpu_layers=gpu_layers)
        if context_tokens % _STEP:
            below, above = context_tokens // _STEP * _STEP, -(-context_tokens // _STEP) * _STEP
            raise ValueError(
                f"llama: context_tokens is {context_tokens}, and llama.cpp would give {above}: it counts in steps of {_STEP}. "
                f"Write {f'{below} or {above}' if below else above}."
            )
        if seed >= _RANDOM_SEED:
            raise ValueError(
                f"llama: seed is {seed}, and it must be below {_RANDOM_SEED}, which draws another every time."
            )
        if self._hub is None:
            _ = self._path
        self.name = name or Path(self._hub[1] if self._hub else self._model).stem
        self._asking: dict[str, Any] = {
            "layout": layout,
            "system_prompt": system_prompt,
            "max_tokens": max_tokens,
            "temperature": temperature,
            "top_p": top_p,
            "seed": seed,
        }
        self._serving: dict[str, Any] = {
            "context_tokens": context_tokens,
            "threads": threads,
            "parallel": parallel,
            "seed": seed,
            "gpu_layers": gpu_layers,
            "prompt_cache": bool(prompt_cache),
        }
        self._timeout = timeout
        self._start_timeout = start_timeout
        self._lock = Lock()
        self._server: LlamaServer | None = None
        self._give_back: finalize[..., Llama] | None = None
        self._proxy: OpenAIProxy | None = None
        self._proxy_url = ""
        self._make_proxy(
            "http://127.0.0.1:1"
        )  # so that a wrong layout is found before the first row

    def __repr__(self) -> str:
        return f"Llama({self._model!r}, name={self.name!r})"

    def __enter__(self) -> Llama:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the model's answer to an example; one with ``multi_turn`` is asked turn by turn.

        Raises:
            ServerError: The server does not start.
            EndpointError: It gave no usable reply, for one because the prompt does not fit ``context_tokens``.
        """
        server = self._served()
        with server.places:
            proxy, url = self._ready()
            try:
                return proxy.process(example)
            except EndpointError as error:
                if isinstance(error, EndpointUnreachableError):
                    server.wait_until_settled()
                error.message = error.message.replace(
                    url, self.name
                )  # the port is another one in every run
                raise

    def fingerprint(self) -> dict[str, Any]:
        """Return everything that can change an answer; the model by the hash of its content."""
        return {
            "adapter": "llama",
            "version": ADAPTER_VERSION,
            "model": content_hash(self._path),
            "server": self._library,
            **self._asking,
            **self._serving,
        }

    def close(self) -> None:
        """Stop the server, unless other systems use it. Another example starts it again."""
        with self._lock:
            if self._proxy is not None:
                self._proxy.close()
                self._proxy = None
            if self._give_back is not None:
                self._give_back()
                self._server = self._give_back = None

    @cached_property
    def _path(self) -> Path:
        return download(*self._hub, self._revision) if self._hub else local_file(self._model)

    def _served(self) -> LlamaServer:
        with self._lock:
            if self._server is None:
                settings = ServerSettings(
                    str(self._path.resolve()), self._path.stem, **self._serving
                )
                self._server = borrow(settings, self._start_timeout)
                self._give_back = finalize(self, give_back, self._server)
            return self._server

    def _ready(self) -> tuple[OpenAIProxy, str]:
        url = self._served().url
        with self._lock:
            if self._proxy is None or self._proxy_url != url:
                self._proxy, self._proxy_url = self._make_proxy(url), url
            return self._proxy, url

    def _make_proxy(self, url: str) -> OpenAIProxy:
        alias = Path(self._hub[1] if self._hub else self._model).stem
        return OpenAIProxy(
            url,
            model=alias,
            api_key="",
            timeout=self._timeout,
            **self._asking,
        )


def _library() -> str:
    try:
        return f"xllamacpp {version('xllamacpp')}"
    except PackageNotFoundError:
        raise ImportError(
            "llama needs xllamacpp, which is not installed: `pip install xllamacpp`.",
            name="xllamacpp",
        ) from None


def _check(least: int = 1, **numbers: object) -> None:
    for option, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, int) or number < least:
            raise ValueError(
                f"llama: {option} is {number!r}, and it must be a whole number of {least} or more."
            )
