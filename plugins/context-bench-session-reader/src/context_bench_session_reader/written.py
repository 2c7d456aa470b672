"""Probes that a model writes about a region, and the checks that they must pass before anybody is asked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from attrs import asdict, evolve, frozen

from context_bench.errors import ConfigurationError
from context_bench_judging import Asker, Request, UnreadableReply, tagged
from context_bench_openai import ChatReply

KINDS = ("recall", "artifact", "continuation", "decision")

_PROBES: Mapping[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            name: {"type": "string"} for name in ("kind", "question", "answer", "quote")
        },
        "required": ["kind", "question", "answer", "quote"],
        "additionalProperties": False,
    },
}


@frozen
class WrittenProbe:
    """A question that a model wrote.

    Attributes:
        kind: One of :data:`KINDS`.
        question: The question.
        answer: Its answer, as it stands in the region.
        quote: The passage of the region that holds it.
    """

    kind: str
    question: str
    answer: str
    quote: str


def write_probes(
    asker: Asker, region: str, count: int, model: str | None
) -> Generator[Request, ChatReply, list[WrittenProbe]]:
    """Yield what is asked, and return the probes that a model writes; none of them is checked yet.

    Args:
        asker: Asks.
        region: The text that is about to be compressed; the writer sees nothing else.
        count: How many to ask for.
        model: Model that writes; None for the reader itself.
    """
    writer = (
        asker if model is None else evolve(asker, parameters={**asker.parameters, "model": model})
    )
    return (
        yield from writer.ask(
            "write", {"probes": _PROBES}, _read, session=tagged("session", region), count=str(count)
        )
    )


def sound(probe: WrittenProbe, region: str, outside: str) -> bool:
    """Whether quote and answer stand in the region, and the answer neither outside of it nor in the question.

    >>> sound(WrittenProbe("recall", "Which port?", "8443", "listens on 8443"), "it listens on 8443", "why?")
    True
    """
    answer, quote = probe.answer.strip(), probe.quote.strip()
    return bool(
        answer
        and probe.question.strip()
        and quote in region
        and answer in quote
        and answer not in outside
        and answer.lower() not in probe.question.lower()
    )


class Bank:
    """Verified probes by the hash of the region that they ask about, in a file where one is given.

    Args:
        path: The file: one JSON object a line. It is made when it is not there.

    Raises:
        ConfigurationError: The file cannot be read.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._path = Path(path) if path else None
        self._lock = Lock()
        self._kept: dict[str, list[WrittenProbe]] = {}
        if self._path is not None and self._path.exists():
            try:
                for line in self._path.read_text(encoding="utf-8").splitlines():
                    found = json.loads(line)
                    self._kept[found["region"]] = [
                        WrittenProbe(**probe) for probe in found["probes"]
                    ]
            except (OSError, ValueError, RecursionError, TypeError, KeyError) as error:
                raise ConfigurationError(
                    f"The bank of probes {self._path} cannot be read: {error}"
                ) from error

        told = {key: [asdict(one) for one in self._kept[key]] for key in sorted(self._kept)}
        self._began_with = _hash(json.dumps(told))

    def fingerprint(self) -> str:
        """Return a hash of the probes that it began with."""
        return self._began_with

    def get(self, region: str) -> list[WrittenProbe] | None:
        """Return the probes of a region; None when nobody has written any."""
        with self._lock:
            return self._kept.get(_hash(region))

    def put(self, region: str, probes: list[WrittenProbe]) -> list[WrittenProbe]:
        """Keep the probes of a region, unless others are kept already, and return those that count."""
        key = _hash(region)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = probes
                if self._path is not None:
                    line = json.dumps({"region": key, "probes": [asdict(one) for one in probes]})
                    with self._path.open("a", encoding="utf-8") as file:
                        file.write(line + "\n")
            return self._kept[key]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _read(reply: Mapping[str, Any]) -> list[WrittenProbe]:
    found = reply["probes"]
    if not isinstance(found, list):
        raise UnreadableReply("probes is no list")
    names = ("kind", "question", "answer", "quote")
    whole = [
        one
        for one in found
        if isinstance(one, Mapping) and all(isinstance(one.get(name), str) for name in names)
    ]
    return [WrittenProbe(*(one[name] for name in names)) for one in whole if one["kind"] in KINDS]
