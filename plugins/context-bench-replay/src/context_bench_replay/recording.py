"""What is taken from one recorded response, and what cannot be taken for one."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context_bench_replay.dotted import find, kind_of

_DEFAULT = "response"
_LAYOUTS = (("summary", "contexts"), ("output", "score_result"))


@dataclass(frozen=True)
class Extra:
    """A recorded field that is passed on beside the response.

    Attributes:
        name: Key of the output.
        path: Where it stands in the record.
        asked: Whether the user named it, so that a file without it anywhere is an error.
    """

    name: str
    path: str
    asked: bool


@dataclass(frozen=True)
class Recording:
    """Where the response and its companions stand in a record.

    Attributes:
        field: Dotted path of the response.
        extras: What else is passed on.
    """

    field: str
    extras: tuple[Extra, ...]

    @property
    def has_no_seconds(self) -> bool:
        """Whether it does not say how long the responses took."""
        return all(extra.name != "latency" for extra in self.extras)

    @classmethod
    def of(
        cls, field: str, usage: str | None, latency: str | None, also: Sequence[str]
    ) -> Recording:
        """Return the recording that the user's options describe.

        Raises:
            ValueError: An option is no path, or two fields would have one name.
        """
        before, choices, _ = f".{field}".partition(
            ".choices."
        )  # usage stands beside the choices in OpenAI's layout
        beside = f"{before}.usage".removeprefix(".") if choices else "usage"
        extras = [Extra("usage", usage or beside, asked=usage is not None)]
        extras += [Extra("latency", latency, asked=True)] if latency is not None else []
        if isinstance(also, str):
            raise ValueError(f"also must be a list of names, not {also!r}.")
        extras += [_named(str(item)) for item in also]  # a command line makes numbers of digits
        for path in (field, *(extra.path for extra in extras)):
            if not all(path.split(".")):
                raise ValueError(
                    f"{path!r} is no field: give a column, or levels separated by single dots."
                )
        names = ["response", *(extra.name for extra in extras)]
        if len(set(names)) < len(names):
            raise ValueError(
                f"Two fields of the output have one name: {', '.join(names)}. Rename those in `also`."
            )
        return cls(field, tuple(extras))

    def output(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the output that a record stands for.

        Raises:
            LookupError: There is no response in the record.
            ValueError: What stands there is no text, or a companion is not what it should be.
        """
        field = self.field if self.field != _DEFAULT else _field_of(record)
        try:
            output: dict[str, Any] = {"response": response_text(find(record, field), field)}
        except LookupError as error:
            raise LookupError(
                f"No response is recorded: {error}{_reported(record, self.field)}"
            ) from None
        except ValueError as error:
            raise ValueError(f"{error}{_reported(record, self.field)}") from None
        for extra in self.extras:
            value = self.companion(record, extra)
            if value is not None:
                output[extra.name] = value
        return output

    def companion(self, record: Mapping[str, Any], extra: Extra) -> Any:
        """Return the value of an extra field, or None when the record has none."""
        try:
            value = find(record, extra.path)
        except LookupError:
            return None
        if not extra.asked and not isinstance(
            value, Mapping
        ):  # a column that merely is called usage
            return None
        check = _CHECKS.get(extra.name)
        return check(value, extra.path) if check and value is not None else value

    def fingerprint(self) -> dict[str, Any]:
        """Return the parameters that can change an output."""
        return {"field": self.field, "extras": {extra.name: extra.path for extra in self.extras}}


def _field_of(record: Mapping[str, Any]) -> str:
    """Return where a record of a known layout has its response when it has no ``response``.

    ragas writes a ``summary`` beside its ``contexts``, a run of arthur_bench an ``output`` beside its ``score_result``. A row
    with a gold answer is none of these: its ``summary`` may be that answer.
    """
    if _DEFAULT in record or record.keys() & {"answer", "answers", "reference"}:
        return _DEFAULT
    return next(
        (field for field, beside in _LAYOUTS if field in record and beside in record), _DEFAULT
    )


def response_text(value: object, field: str) -> str:
    """Return a recorded response as text: text as it is, numbers and booleans as JSON writes them.

    Raises:
        ValueError: The value is null, an array, an object or no finite number: there is no text that it stands for.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return json.dumps(value)
    if value is None:
        raise ValueError(
            f"The recorded response {field!r} is null. Was it a refusal, a tool call or a failed request?"
        )
    inner = _first_text(value)
    hint = f" For one of its texts pass `field={field}.{inner}`." if inner else ""
    raise ValueError(f"The recorded response {field!r} is no text but {kind_of(value)}.{hint}")


def _first_text(value: object) -> str:
    """Return the path of the first text inside a value, or nothing."""
    if isinstance(value, list | tuple):
        inner = [(str(place), each) for place, each in enumerate(value[:1])]
    elif isinstance(value, Mapping):
        likely = sorted(value.items(), key=lambda item: item[0] not in _LIKELY)
        inner = [(str(key), each) for key, each in likely]
    else:
        return ""
    for step, each in inner:
        if isinstance(each, str):
            return step
        if deeper := _first_text(each):
            return f"{step}.{deeper}"
    return ""


_LIKELY = {"text", "content", "response", "output", "answer", "message", "choices"}


def _reported(record: Mapping[str, Any], field: str) -> str:
    """Return what the record itself says went wrong, as batch results do under ``error``."""
    parts = field.split(".")
    for depth in range(len(parts)):
        try:
            error = find(record, ".".join([*parts[:depth], "error"]))
        except LookupError:
            continue
        if error:
            return f" The record's error says: {json.dumps(error, ensure_ascii=False, default=str)[:200]}."
    return ""


def _named(item: str) -> Extra:
    name, equals, path = item.partition("=")
    if not equals and "." in name:
        raise ValueError(
            f"`also={item}` needs a name in the output, such as `{item.rpartition('.')[2]}={item}`."
        )
    return Extra(name, path if equals else name, asked=True)


def _usage(value: object, path: str) -> Any:
    if isinstance(value, Mapping):
        return value
    raise ValueError(
        f"The recorded usage {path!r} must be an object of counts and is {kind_of(value)}."
    )


def _latency(value: Any, path: str) -> float:
    try:
        seconds = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        seconds = math.nan
    if 0 <= seconds < math.inf:
        return seconds
    raise ValueError(f"The recorded latency {path!r} must be seconds and is {kind_of(value)}.")


_CHECKS: dict[str, Callable[[Any, str], Any]] = {"usage": _usage, "latency": _latency}
