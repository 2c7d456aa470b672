"""Control proxies: what a policy receives when the results of tools are cut without any judgment."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from context_bench.errors import ConfigurationError
from context_bench.tokens import WordTokenizer

_CLEARED = "[cleared]"
_LINE_END = re.compile(r"(?<=\n)|(?<=\\n)")
_TOKEN = re.compile(r"\w+|[^\w\s]")
MATCHED = ("random", "head", "clear-results")
"""The controls that keep at most the share of the tokens that another arm kept."""
DEFAULT_SIZES: Mapping[str, int] = {"head": 5000, "clear-results": 4, "random": 20}
CONTROLS = ("none", *DEFAULT_SIZES)


class Control:
    """Cuts the results of tools in a request.

    Args:
        name: ``head`` keeps the first characters of each result, ``clear-results`` the last results, ``random`` lines of
            each result with a share of its tokens, the same lines each time; ``none`` changes nothing.
        size: Characters, results, or percent of the tokens; None for 5000, 4 and 20.
        share: In place of a size: the share of the tokens in results that is kept at most, 0 to 1. ``head`` keeps it of each
            result, ``clear-results`` of all results of a request, the last ones as wholes.

    Raises:
        ConfigurationError: The name is unknown, or the size is negative, more than 100 percent, or set without a control.
    """

    def __init__(
        self, name: str = "none", size: float | None = None, *, share: float | None = None
    ) -> None:
        if name not in CONTROLS:
            raise ConfigurationError(
                f"control is {name!r}, but must be one of {', '.join(CONTROLS)}."
            )
        if size is not None and (size < 0 or name == "none"):
            raise ConfigurationError(f"control_size is {size}, but needs a control and 0 or more.")
        if size is not None and size > 100 and name == "random":
            raise ConfigurationError(
                f"control_size is {size}, but must be at most 100: percent of the tokens that random keeps."
            )
        self._name = name
        self._size = DEFAULT_SIZES.get(name, 0) if size is None else size
        self._share = self._size / 100 if share is None and name == "random" else share

    def apply(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return a request of any of the three interfaces with results cut; the request is not changed."""
        if self._name == "none":
            return body
        kept_from = self._first_kept(_results(body)) if self._name == "clear-results" else 0
        return _with_results(body, lambda index, text: self._cut(text, is_old=index < kept_from))

    def _first_kept(self, results: Sequence[str]) -> float:
        """Return the number of the first result that ``clear-results`` keeps."""
        if self._share is None:
            return len(results) - self._size
        tokens = [len(_TOKEN.findall(text)) for text in results]
        left = self._share * sum(tokens)
        for number in range(len(results) - 1, -1, -1):
            left -= tokens[number]
            if left < 0:
                return number + 1
        return 0

    def _cut(self, text: str, *, is_old: bool) -> str:
        if self._name == "clear-results":
            return _CLEARED if is_old else text
        if self._share is None:
            return text[: int(self._size)]
        return (
            _first_tokens(text, self._share)
            if self._name == "head"
            else _random_lines(text, self._share)
        )


def _first_tokens(text: str, share: float) -> str:
    """Return the beginning of a text that has at most a share of its tokens."""
    ends = [match.end() for match in _TOKEN.finditer(text)]
    number = int(share * len(ends))
    if number >= len(ends):
        return text
    return text[: ends[number - 1]] if number else ""


def _random_lines(text: str, share: float) -> str:
    """Return lines of a text, drawn by their hash, that have together at most a share of its tokens.

    The lines of a text that JSON contains end with an escaped line break.
    """
    tokenizer = WordTokenizer()
    lines = [part for part in _LINE_END.split(text) if part]
    left = share * tokenizer.count(text)
    kept = set()
    for number in sorted(
        range(len(lines)), key=lambda number: _draw(number, lines[number].rstrip("\n"))
    ):
        tokens = tokenizer.count(lines[number])
        if tokens <= left:
            kept.add(number)
            left -= tokens
    return "".join(line for number, line in enumerate(lines) if number in kept)


def _draw(number: int, line: str) -> bytes:
    return sha256(f"{number} {line}".encode("utf-8", "replace")).digest()


def result_tokens(body: dict[str, Any]) -> int:
    """Return the tokens in the results of tools in a request of any of the three interfaces."""
    tokenizer = WordTokenizer()
    return sum(tokenizer.count(text) for text in _results(body))


def _results(body: dict[str, Any]) -> list[str]:
    """Return the results of tools that are texts."""
    texts: list[str] = []

    def count(_: int, text: str) -> str:
        texts.append(text)
        return text

    _with_results(body, count)
    return texts


def _with_results(body: dict[str, Any], change: Callable[[int, str], str]) -> dict[str, Any]:
    """Return a request with each result of a tool that is a text as a function of its number and text returns it."""
    number = 0

    def changed(item: Any) -> Any:
        nonlocal number
        if not isinstance(item, dict):
            return item
        field = _result_field(item)
        if isinstance(item.get(field), str):
            number += 1
            return {**item, field: change(number - 1, item[field])}
        if isinstance(item.get("content"), list):
            return {**item, "content": [changed(block) for block in item["content"]]}
        return item

    where = "input" if "input" in body else "messages"
    items = body.get(where)
    return {**body, where: [changed(item) for item in items]} if isinstance(items, list) else body


def _result_field(item: Mapping[str, Any]) -> str:
    """Return the field of an item that is the result of a tool; empty for any other item."""
    if item.get("type") == "function_call_output":
        return "output"
    is_result = item.get("role") == "tool" or item.get("type") == "tool_result"
    return "content" if is_result else ""
