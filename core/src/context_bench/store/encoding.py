"""JSON values: what examples and outputs consist of, their canonical bytes to hash, and their text
to store.

:func:`json_value` is the one place that turns other values into JSON values:

=====================================
================================================================ value
JSON value =====================================
================================================================ ``None``, bool, int, float, str
itself; a subclass becomes the plain type number that is not finite              null text with a
pair of surrogates         text with the character of the pair; a lone one stays mapping
object; a key that is not a text becomes its JSON text list, tuple                            array
set, frozenset                         array, in the order of the canonical bytes of its items array
or scalar of numpy               array, number Decimal, Fraction                      integer if it
is whole, else the nearest float date, time, datetime                   text in ISO 8601 timedelta
seconds UUID, path                             text bytes, bytearray, memoryview           text if
they are UTF-8, else text in base64 =====================================
================================================================

Everything else is refused with the path and type of the value. ``from_json(to_json(x)) == x`` for
every JSON value.

Canonical bytes, by type of value (lengths and counts in ASCII decimal); ``1``, ``1.0`` and ``True``
are three values:

=============================  =====================================================================
``None``, ``True``, ``False``  ``n``, ``t``, ``f``
int                            ``i`` length ``:`` decimal digits
float                          ``d`` 8 bytes, IEEE 754 big-endian; every NaN is one NaN
str                            ``s`` length ``:`` UTF-8, lone surrogates passed through
bytes                          ``b`` length ``:`` the bytes
list, tuple                    ``l`` count ``:`` the items
mapping                        ``m`` count ``:`` key, value, ... in the order of the encoded keys
=============================  =====================================================================

Any other value has the canonical bytes of its JSON value. Length prefixes make the encoding
injective: no two different values of these types share their bytes.
"""

from __future__ import annotations

import json
import math
from binascii import b2a_base64
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from operator import itemgetter
from struct import Struct
from typing import Any

from context_bench.errors import StoreError, UnstorableError

DEEPEST = 200
"""How deep the lists and mappings of a stored value may stand in one another."""

_ENCODER = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False
)
_FLOAT = Struct(">d").pack
_NAN = b"d" + _FLOAT(float("nan"))


def _readable(value: Any) -> str:
    """Return plain values as JSON. ``JSONEncoder.encode`` builds its C encoder anew each time,
    which costs more than a small mapping does."""
    try:
        return "".join(_CHUNKS(value, 0))
    except ValueError as error:
        raise UnstorableError(
            "", value, "holds a number of more digits than Python writes"
        ) from error


def _make_encoder() -> Callable[[Any, int], Any]:
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return lambda value, level: _ENCODER.iterencode(value)
    separators = _ENCODER.key_separator, _ENCODER.item_separator
    return make(None, _ENCODER.default, _quoted, None, *separators, False, False, False)  # type: ignore[no-any-return]


def _quoted(text: str) -> str:
    """Return a text as JSON; a long one in a third of the time of ``json``, which looks at each
    character by itself."""
    if len(text) < _LONG or _has_rare(text):
        return _quote(text)
    for character, escaped in _ESCAPES:
        if character in text:  # which is found out faster than by replacing
            text = text.replace(character, escaped)
    return f'"{text}"'


def _has_rare(text: str) -> bool:
    """Whether a text has characters that JSON escapes and :data:`_ESCAPES` lacks."""
    data = text.encode("utf-8", "surrogatepass")
    return len(data.translate(None, _RARE)) < len(data)


_quote: Callable[[str], str] = json.encoder.encode_basestring  # type: ignore[attr-defined, unused-ignore]
_LONG = 256
_ESCAPES = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))
_RARE = bytes(set(range(32)) - set(b"\n\r\t"))


_CHUNKS = _make_encoder()


def canonical_bytes(value: Any) -> bytes:
    """Return the canonical bytes of ``value``, as specified at the head of this module."""
    chunks: list[bytes] = []
    encode = _encode_mapping if type(value) is dict else _encode
    encode(value, chunks, "")
    return b"".join(chunks)


def to_json(value: Any) -> str:
    """Return the JSON value of ``value`` as strict JSON (no NaN, no Infinity), which
    :func:`from_json` reads.

    Text stays readable, and can be encoded as UTF-8: half of a surrogate pair is escaped.

    Raises:
        UnstorableError: A value has no JSON value; the message names its path.
    """
    if type(value) is dict and _is_flat(value):  # as most outputs and many examples are
        plain = value
        text = _readable(value)
    else:
        plain = value if _is_plain(value) else json_value(value)
        text = _readable(plain)
        if _is_too_deep(plain, text):
            raise UnstorableError("", value, f"is nested deeper than {DEEPEST}")
    return text if _encodable(text) else json.dumps(plain, separators=(",", ":"), allow_nan=False)


def from_json(text: str) -> Any:
    """Return the value that :func:`to_json` wrote.

    Raises:
        StoreError: The text is not JSON, or is nested too deeply.
    """
    try:
        value = json.loads(text)
    except RecursionError:
        raise StoreError(
            f"A stored value is damaged: it is nested deeper than {DEEPEST}."
        ) from None
    except ValueError as error:
        raise StoreError(f"A stored value is damaged: {error}.") from error
    if _is_too_deep(value, text):
        raise StoreError(f"A stored value is damaged: it is nested deeper than {DEEPEST}.")
    return value


def _is_too_deep(value: Any, text: str) -> bool:
    """Whether a value's lists and mappings stand too deep in one another; its JSON tells of most
    that they cannot."""
    if len(text) <= 2 * DEEPEST or text.count("[") + text.count("{") <= DEEPEST:
        return False
    level: list[Any] = [[value]]
    for _ in range(DEEPEST + 1):
        level = [
            item
            for container in level
            for item in (container.values() if isinstance(container, dict) else container)
            if isinstance(item, list | dict)
        ]
    return bool(level)


def isolate(value: Any) -> Any:
    """Return a copy of ``value`` that shares nothing mutable with it.

    Lists and dicts are copied by hand, which is ten times cheaper than :func:`copy.deepcopy`;
    anything unusual is left to ``deepcopy``.
    """
    kind = type(value)
    if kind is dict:
        if _ATOMS.issuperset(map(type, value.values())):
            return value.copy()
        return {key: item if type(item) in _ATOMS else isolate(item) for key, item in value.items()}
    if kind is list:
        return [item if type(item) in _ATOMS else isolate(item) for item in value]
    if kind in _ATOMS:
        return value
    from copy import deepcopy

    return deepcopy(value)


_ATOMS = frozenset({str, int, float, bool, type(None), bytes})


def _encode(value: Any, out: list[bytes], path: str) -> None:
    kind = type(value)
    if kind is str:
        raw = value.encode("utf-8", "surrogatepass")
        out.append(b"s%d:" % len(raw))
        out.append(raw)
    elif value is None:
        out.append(b"n")
    elif kind is bool:
        out.append(b"t" if value else b"f")
    elif kind is int:
        out.append(_int_bytes(value))
    elif kind is float:
        out.append(b"d" + _FLOAT(value) if value == value else _NAN)
    elif kind is dict:
        _encode_mapping(value, out, path)
    elif kind is list or kind is tuple:
        out.append(b"l%d:" % len(value))
        for index, item in enumerate(value):
            _encode(item, out, f"{path}[{index}]")
    elif kind is bytes:
        out.append(b"b%d:" % len(value))
        out.append(value)
    else:
        _encode_unusual(value, out, path)


def _int_bytes(value: int) -> bytes:
    try:
        digits = b"%d" % value
    except ValueError:  # longer than the interpreter's limit for decimal text
        digits = b"%#x" % value
    return b"i%d:" % len(digits) + digits


def _encode_mapping(value: Mapping[Any, Any], out: list[bytes], path: str) -> None:
    out.append(b"m%d:" % len(value))
    cached = len(value) <= _CACHED_NAMES and _NAMES.issuperset(map(type, value))
    for name, key in _ordered_names(tuple(value)) if cached else _ordered_keys(value, path):
        item = value[key]
        if type(item) is str:
            raw = item.encode("utf-8", "surrogatepass")
            length = len(raw)
            out += (
                name,
                _SHORT[length] if length < 256 else b"s%d:" % length,
                raw,
            )  # half the time of three calls
        else:
            out.append(name)
            _encode(item, out, f"{path}.{key}" if path else str(key))


_SHORT = tuple(b"s%d:" % length for length in range(256))
_CACHED_NAMES = 64


@lru_cache(maxsize=256)
def _ordered_names(names: tuple[str, ...]) -> tuple[tuple[bytes, str], ...]:
    """Return names as canonical bytes, in their order: the examples of a dataset have the same ones
    again and again."""
    encoded = [(name.encode("utf-8", "surrogatepass"), name) for name in names]
    return tuple(sorted((b"s%d:" % len(raw) + raw, name) for raw, name in encoded))


def _ordered_keys(value: Mapping[Any, Any], path: str) -> list[tuple[bytes, Any]]:
    pairs = []
    for key in value:
        name: list[bytes] = []
        _encode(key, name, f"{path} key")
        pairs.append((b"".join(name), key))
    pairs.sort(key=_first)
    return pairs


_first = itemgetter(0)


def _encode_unusual(value: Any, out: list[bytes], path: str) -> None:
    if isinstance(value, bytes | bytearray | memoryview):
        _encode(bytes(value), out, path)
    elif isinstance(value, float):  # a subclass; NaN has canonical bytes
        _encode(float(value), out, path)
    else:
        _encode(json_value(value, path), out, path)


def json_value(value: Any, path: str = "") -> Any:
    """Return the JSON value of a value, which shares nothing mutable with it. The table of this
    module has the rules.

    Args:
        value: Any value.
        path: Where the value is, for messages.

    Raises:
        UnstorableError: The value, or one in it, has no JSON value; the message names its path and
            type.
    """
    kind = type(value)
    if kind is str:
        if _encodable(value):
            return value
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    if kind in _FLAT:
        return value
    if kind is float:
        return value if math.isfinite(value) else None
    if kind is dict and _is_flat(value) and _is_encodable(value):
        return value.copy()
    if isinstance(value, Mapping):
        return _json_object(value, path)
    if isinstance(value, list | tuple):
        return [json_value(item, f"{path}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, AbstractSet):
        items = [json_value(item, path) for item in value]
        return sorted(items, key=canonical_bytes)
    return _json_scalar(value, path)


def private(value: Any) -> Any:
    """Return an example or an output as a JSON object of the run's own: whoever gave it may change
    it afterwards.

    Every example and output enters the run here. What is not a mapping is returned as it is, and so
    is what has no JSON value: writing it fails, with the name of the field and its type.
    """
    if not isinstance(value, Mapping):
        return value
    try:
        return json_value(value)
    except Exception:  # noqa: BLE001 - raised again where it is written
        return value


def _json_object(value: Mapping[Any, Any], path: str) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for key, item in value.items():
        name = json_value(key, f"{path} key".lstrip())
        if not isinstance(name, str):
            name = to_json(name)
        if name in plain:
            raise UnstorableError(path, value, f"has two keys {name!r}")
        plain[name] = json_value(item, f"{path}.{name}" if path else name)
    return plain


def _json_scalar(value: Any, path: str) -> Any:
    """Return the JSON value of a value that is not of a type of JSON."""
    for kind, plain in _PLAIN:
        if isinstance(value, kind):
            return json_value(plain(value), path)
    tolist = getattr(value, "tolist", None)
    if callable(tolist) and hasattr(value, "dtype"):  # arrays and scalars of numpy and its like
        return json_value(tolist(), path)
    for kind, written in _kinds():
        if isinstance(value, kind):
            return json_value(written(value), path)
    raise UnstorableError(path, value)


_PLAIN: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (str, str.__str__),  # enums, numpy.str_ and their like
    (int, int),
    (float, float),  # numpy.float64, too
)


@lru_cache(maxsize=1)
def _kinds() -> tuple[tuple[Any, Callable[[Any], Any]], ...]:
    """Return the other types that have a JSON value, with what makes it."""
    from datetime import date, time, timedelta
    from decimal import Decimal
    from fractions import Fraction
    from pathlib import PurePath
    from uuid import UUID

    return (
        (bytes | bytearray | memoryview, lambda value: _text_of_bytes(bytes(value))),
        (Decimal, _number_of),
        (Fraction, _number_of),
        (date | time, lambda value: value.isoformat()),
        (timedelta, timedelta.total_seconds),
        (UUID, str),
        (PurePath, lambda value: value.as_posix()),
    )


def _text_of_bytes(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return b2a_base64(value, newline=False).decode("ascii")


def _number_of(value: Any) -> int | float | None:
    """Return a Decimal or Fraction as a number of JSON; None where it is not finite, or too large
    for a float."""
    try:
        number = float(value)
    except (ValueError, OverflowError):  # a signaling NaN, or a large fraction
        return None
    if not math.isfinite(number):
        return None
    return int(value) if value == int(value) else number


def _is_flat(value: dict[Any, Any]) -> bool:
    """Whether a mapping is what JSON has, without another one or a list in it."""
    is_flat = _FLAT.issuperset(map(type, value.values()))
    return is_flat and _NAMES.issuperset(map(type, value))


def _is_plain(value: Any) -> bool:
    """Whether a value is what JSON has, however deep, which most outputs and examples are."""
    kind = type(value)
    if kind is dict:
        return _is_flat(value) or (
            _NAMES.issuperset(map(type, value)) and all(map(_is_plain, value.values()))
        )
    if kind is list:
        return all(map(_is_plain, value))
    return kind in _FLAT or (kind is float and bool(value - value == 0))


_FLAT = frozenset({str, int, bool, type(None)})
_NAMES = frozenset({str})


def _is_encodable(value: dict[str, Any]) -> bool:
    """Whether the names and texts of a flat mapping can be written as UTF-8."""
    texts = [item for item in value.values() if type(item) is str]
    return _encodable("".join([*value, *texts]))


def _encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def storable(text: str) -> str:
    """Return text that SQLite can hold: lone surrogates become escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")
