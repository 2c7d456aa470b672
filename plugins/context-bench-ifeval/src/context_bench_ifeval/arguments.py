"""The arguments of one instruction of a row, checked as they are asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from numbers import Integral
from reprlib import Repr
from typing import Any

from context_bench_ifeval.nearest import nearest

_RELATIONS = ("less than", "at least")

_short = Repr()
_short.maxstring = _short.maxother = 80


def quote(value: object) -> str:
    """`value` for an error message: its representation, shortened."""
    try:
        return _short.repr(value)
    except ValueError:  # a number of more digits than Python prints
        return f"a very large {type(value).__name__}"


class Arguments:
    """The `kwargs` of one instruction; absent, null and not-a-number values are one and the same.

    Args:
        place: Where the instruction stands, for messages, such as "instruction 2 (keywords:existence)".
        values: The arguments by name.
        prompt: The prompt of the row, empty if it has none.

    Every method raises ValueError if the argument is missing or of another kind than asked for.
    """

    def __init__(self, place: str, values: Mapping[str, Any], prompt: str = "") -> None:
        self._place = place
        self._values = {name: value for name, value in values.items() if not _is_absent(value)}
        self.prompt = prompt

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def count(self, name: str, least: int = 0, most: int | None = None) -> int:
        """A whole number within bounds; 3.0 is one as well, as columns with gaps turn into floats."""
        value = self._value(name)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not whole or value < least or (most is not None and value > most):
            bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
            raise self._fault(name, f"a whole number {bounds}")
        return int(value)

    def text(self, name: str) -> str:
        """A text that is not blank."""
        value = self._value(name)
        if not isinstance(value, str) or not value.strip():
            raise self._fault(name, "a text")
        return value

    def sign(self, name: str) -> str:
        """A single letter or sign."""
        value = self.text(name).strip()
        if len(value) != 1:
            raise self._fault(name, "a single letter or sign")
        return value

    def texts(self, name: str) -> list[str]:
        """One text or more."""
        value = plain(self._value(name))
        if (
            not isinstance(value, (list, tuple))
            or not value
            or not all(isinstance(item, str) for item in value)
        ):
            raise self._fault(name, "a list of one text or more")
        return list(value)

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """One of the `choices`."""
        value = self._value(name)
        if not isinstance(value, str) or value not in choices:
            raise ValueError(
                f"{self._place}: its kwargs have {name}={quote(value)}. {nearest(value, choices)}"
            )
        return value

    def bound(self, relation: str, name: str) -> Callable[[int], bool]:
        """What a count must satisfy: to be less than, or at least, the argument `name`, as the argument `relation` says."""
        at_least = self.choice(relation, _RELATIONS) == "at least"
        limit = self.count(name)
        return (lambda count: count >= limit) if at_least else (lambda count: count < limit)

    def pattern(self, name: str, source: str, flags: int = 0) -> re.Pattern[str]:
        """The regular expression `source`, which is made of the argument `name`."""
        try:
            return _compiled(source, flags)
        except (
            re.error,
            OverflowError,
            RecursionError,
            Warning,
        ) as fault:  # Warning: where warnings are errors
            raise self._fault(
                name, f"a regular expression that Python can read ({fault})"
            ) from fault

    def _value(self, name: str) -> Any:
        if name not in self._values:
            raise ValueError(
                f"{self._place} has no {name!r} in its kwargs. Take the row's kwargs as the dataset has them."
            )
        return self._values[name]

    def _fault(self, name: str, wanted: str) -> ValueError:
        return ValueError(
            f"{self._place}: {name!r} in its kwargs must be {wanted}, but is {quote(self._values[name])}."
        )


def plain(value: Any) -> Any:
    """A NumPy array as a list, anything else as it is."""
    return value.tolist() if hasattr(value, "tolist") else value


def _is_absent(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value)


@lru_cache(maxsize=4096)
def _compiled(source: str, flags: int) -> re.Pattern[str]:
    return re.compile(source, flags)
