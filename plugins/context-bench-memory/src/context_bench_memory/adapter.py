"""A memory as a system: every row gets a memory that is empty, filled with its sessions, and asked its question."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import perf_counter
from typing import Any

from context_bench_compress import count_tokens
from context_bench_memory.sessions import sessions_of

_METHODS = ("reset", "ingest", "query")
_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "cost",
)
_READS = (
    "context",
    "question",
    "question_date",
    "sessions",
    "haystack_sessions",
    "haystack_dates",
    "haystack_session_ids",
)


class MemoryAdapter:
    """Makes a system of anything with ``reset()``, ``ingest(session)`` and ``query(question)``, sync or async.

    For each row the memory is reset, ingests the row's sessions one by one, and is asked the question. ``query`` returns
    the answer as a text; or a mapping with ``response``, or with ``context`` for a reader behind the memory. Both may
    return ``usage`` in a mapping.

    ``process`` returns what ``query`` did, and

    - ``usage``: of ingesting and querying together, where the memory tells any;
    - ``memory``: ``sessions``, ``turns`` and ``ingested_tokens`` that went in, ``retrieved_tokens`` of a context that came
      out, ``ingest_usage`` and ``query_usage``;
    - ``timings``: seconds of ``reset``, ``ingest`` and ``query``.

    Rows never share what a memory holds: a class or function makes an instance for every row that is worked on at once, and
    these are used again after a reset; of a memory given as an object, one row has it at a time.

        system = MemoryAdapter(MyMemory)
        system.process({"sessions": [["My cat is called Ada."]], "question": "What is my cat called?"})["response"]

    With ``ingest_once`` a memory that holds a row's sessions already is asked right away, so that the many questions about one
    conversation cost one ingestion for each row in flight. Their rows then share what the memory holds: it is for memories
    that a question does not change.

    Args:
        memory: A memory; or a class or function without arguments that makes one.
        name: Display name; by default the memory's.
        ingest_once: Whether rows with the same sessions one after another share what a memory holds.

    Raises:
        TypeError: It has no ``reset``, ``ingest`` or ``query``.
    """

    reads: tuple[str, ...] | None = _READS

    def __init__(self, memory: Any, name: str | None = None, *, ingest_once: bool = False) -> None:
        is_maker = isinstance(memory, type) or (callable(memory) and not hasattr(memory, "query"))
        self._make: Callable[[], Any] | None = memory if is_maker else None
        first = memory() if is_maker else memory
        missing = [method for method in _METHODS if not callable(getattr(first, method, None))]
        if missing:
            raise TypeError(
                f"{type(first).__name__} is no memory: it has no {', no '.join(f'{one}()' for one in missing)}."
            )
        self.name = name or str(getattr(first, "name", type(first).__name__))
        self._takes_date = "date" in inspect.signature(first.query).parameters
        self._idle: SimpleQueue[Any] = SimpleQueue()
        self._idle.put(first)
        self._made = [first]
        self._ingest_once = ingest_once
        self._held: dict[
            int, bytes
        ] = {}  # by the memory's identity: hash of the sessions that it holds
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = Lock()
        if hasattr(
            first, "fingerprint"
        ):  # a system without one is never reused in another run, and neither is a memory
            self.fingerprint = self._fingerprint

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the memory says to the question of a row, once it holds the row's sessions and nothing else.

        Raises:
            TypeError: The sessions have no form that is known, or the memory returned neither a text nor a mapping.
            ValueError: The row has no question.
        """
        question = example.get("question")
        if not isinstance(question, str) or not question.strip():
            raise ValueError(f"{self.name}: the row has no question to ask the memory.")
        field, sessions = sessions_of(example)
        dated = {"date": example.get("question_date")} if self._takes_date else {}
        with self._borrowed() as memory:
            started = perf_counter()
            is_held = self._ingest_once and self._held.get(id(memory)) == _hash(sessions)
            if not is_held:
                self._held.pop(id(memory), None)
                self._done(memory.reset())
            empty = perf_counter()
            told_now = [] if is_held else sessions
            ingested = [_usage(self._done(memory.ingest(session))) for session in told_now]
            if self._ingest_once:
                self._held[id(memory)] = _hash(sessions)
            full = perf_counter()
            said = self._done(memory.query(question, **dated))
            ended = perf_counter()
        output = self._output(said)
        if field is not None and "context" in output:
            output = {
                **({field: []} if field != "context" else {}),
                **output,
            }  # the reader sees what came out alone
        turns = [turn["content"] for session in told_now for turn in session["turns"]]
        told: dict[str, Any] = {"sessions": len(told_now), "turns": len(turns)}
        told["ingested_tokens"] = sum(map(count_tokens, turns))
        if "context" in output:
            told["retrieved_tokens"] = sum(map(count_tokens, _texts(output["context"])))
        usages = {"ingest_usage": _sum(ingested), "query_usage": _usage(said)}
        told |= {name: usage for name, usage in usages.items() if usage}
        total = _sum(usages.values())
        return {
            **output,
            **({"usage": total} if total else {}),
            "memory": told,
            "timings": {"reset": empty - started, "ingest": full - empty, "query": ended - full},
        }

    def close(self) -> None:
        """Close the memories that this adapter made and that can be closed, and the loop of async ones."""
        for memory in self._made if self._make is not None else ():
            close = getattr(memory, "close", None)
            if callable(close):
                self._done(close())
        with self._lock:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._loop = None

    def _fingerprint(self) -> dict[str, Any]:
        kind = type(self._made[0])
        shares = {"ingest_once": True} if self._ingest_once else {}
        memory = f"{kind.__module__}.{kind.__qualname__}"
        return {"memory": memory, **shares, **self._made[0].fingerprint()}

    @contextmanager
    def _borrowed(self) -> Iterator[Any]:
        memory = self._taken()
        try:
            yield memory
        finally:
            self._idle.put(memory)

    def _taken(self) -> Any:
        if self._make is None:
            return self._idle.get()
        try:
            return self._idle.get_nowait()
        except Empty:
            memory = self._make()
            with self._lock:
                self._made.append(memory)
            return memory

    def _done(self, found: Any) -> Any:
        """Return what a method returned, awaited on a loop of our own if it is to be awaited."""
        if not inspect.isawaitable(found):
            return found

        async def awaited() -> Any:
            return await found

        return asyncio.run_coroutine_threadsafe(awaited(), self._running()).result()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = loop = asyncio.new_event_loop()
                Thread(
                    target=_serve, args=(loop,), name="context-bench-memory", daemon=True
                ).start()
            return self._loop

    def _output(self, said: Any) -> dict[str, Any]:
        if isinstance(said, str):
            return {"response": said}
        if isinstance(said, Mapping) and ("response" in said or "context" in said):
            return {key: value for key, value in said.items() if key != "usage"}
        what = (
            f"a mapping with {', '.join(map(str, said)) or 'nothing'}"
            if isinstance(said, Mapping)
            else type(said).__name__
        )
        raise TypeError(
            f"{self.name}: query() returned {what}, and a text or a mapping with response or context is needed."
        )


def _hash(sessions: Any) -> bytes:
    text = json.dumps(sessions, sort_keys=True, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    awaited: Coroutine[Any, Any, None]
    try:
        loop.run_forever()
    finally:
        awaited = loop.shutdown_asyncgens()
        loop.run_until_complete(awaited)
        loop.close()


def _usage(found: Any) -> dict[str, float]:
    usage = found.get("usage") if isinstance(found, Mapping) else None
    if not isinstance(usage, Mapping):
        return {}
    names = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
    known = {names.get(name, name): value for name, value in usage.items()}
    return {name: known[name] for name in _COUNTS if isinstance(known.get(name), (int, float))}


def _sum(usages: Any) -> dict[str, float]:
    total: dict[str, float] = {}
    for usage in usages:
        for name, value in usage.items():
            total[name] = total.get(name, 0) + value
    return total


def _texts(context: Any) -> list[str]:
    return [
        text
        for text in (context if isinstance(context, (list, tuple)) else [context])
        if isinstance(text, str)
    ]
