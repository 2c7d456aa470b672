"""One written form for values: canonical bytes to hash, and strict JSON to store.

Both forms know the same values, and agree: ``digest(x) == digest(from_json(to_json(x)))`` for every value that can be
stored. Tuples and lists are one thing, and so are all mappings; ``1``, ``1.0`` and ``True`` are three.

Canonical bytes, by type of value (lengths and counts in ASCII decimal):

=============================  =====================================================================
``None``, ``True``, ``False``  ``n``, ``t``, ``f``
int                            ``i`` length ``:`` decimal digits
float                          ``d`` 8 bytes, IEEE 754 big-endian; every NaN is one NaN
str                            ``s`` length ``:`` UTF-8, lone surrogates passed through
bytes                          ``b`` length ``:`` the bytes
list, tuple                    ``l`` count ``:`` the items
mapping                        ``m`` count ``:`` key, value, ... in the order of the encoded keys
set, frozenset                 ``e`` count ``:`` the items in the order of their encodings
date, time, Decimal, UUID ...  ``x`` length ``:`` name of the type, then its text as a str
=============================  =====================================================================

Length prefixes make the encoding injective: no two different values share their bytes.
"""

from __future__ import annotations

import json
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from hashlib import blake2b
from operator import itemgetter, methodcaller
from struct import Struct
from typing import Any

from context_bench.errors import StoreError, UnstorableError

DIGEST_SIZE = 16
"""Bytes in a digest: 128 bits of BLAKE2b."""

DEEPEST = 200
"""How deep the lists and mappings of a stored value may stand in one another."""

_TYPE = "$type"
_ENCODER = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False
)
_FLOAT = Struct(">d").pack
_NAN = b"d" + _FLOAT(float("nan"))


def _readable(value: Any) -> str:
    """Return plain values as JSON. ``JSONEncoder.encode`` builds its C encoder anew each time, which costs more than
    a small mapping does."""
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
    escape = json.encoder.encode_basestring  # type: ignore[attr-defined, unused-ignore]
    separators = _ENCODER.key_separator, _ENCODER.item_separator
    return make(None, _ENCODER.default, escape, None, *separators, False, False, False)  # type: ignore[no-any-return]


_CHUNKS = _make_encoder()


def digest(*values: Any) -> bytes:
    """Return the 16-byte BLAKE2b digest of the canonical bytes of ``values``.

    Raises:
        UnstorableError: A value has no written form; the message names its path.
    """
    return hashed(*map(canonical_bytes, values))


def hashed(*parts: bytes) -> bytes:
    """Return the digest of bytes: canonical ones, or such whose lengths nobody can mistake. It is made for every row."""
    return blake2b(b"".join(parts), digest_size=DIGEST_SIZE).digest()


def canonical_bytes(value: Any) -> bytes:
    """Return the canonical bytes of ``value``, as specified at the head of this module."""
    chunks: list[bytes] = []
    encode = _encode_mapping if type(value) is dict else _encode
    encode(value, chunks, "")
    return b"".join(chunks)


def to_json(value: Any) -> str:
    """Return ``value`` as strict JSON (no NaN, no Infinity) that :func:`from_json` reads back.

    Text stays readable. What JSON lacks becomes ``{"$type": name, "value": ...}``. The result can always be encoded
    as UTF-8: a text with surrogates, which no JSON text holds faithfully, becomes ``{"$type": "text", ...}``.

    Raises:
        UnstorableError: A value has no written form; the message names its path.
    """
    if type(value) is dict and _is_flat(value):  # as most outputs and many examples are
        plain, text = value, _readable(value)
    else:
        plain = value if _is_plain(value) else _jsonable(value, "")
        text = _readable(plain)
        if _is_too_deep(plain, text):
            raise UnstorableError("", value, f"is nested deeper than {DEEPEST}")
    return text if text.isascii() or _encodable(text) else _readable(_jsonable(value, ""))


def from_json(text: str) -> Any:
    """Return the value that :func:`to_json` wrote.

    Raises:
        StoreError: The text is no JSON, or names a type that this version does not know.
    """
    try:
        found = json.loads(text, object_hook=_restore if _TYPE in text else None)
    except RecursionError:
        raise StoreError(
            f"A stored value is damaged: it is nested deeper than {DEEPEST}."
        ) from None
    except ValueError as error:
        raise StoreError(f"A stored value is damaged: {error}.") from error
    if _is_too_deep(found, text):
        raise StoreError(f"A stored value is damaged: it is nested deeper than {DEEPEST}.")
    return found


def _is_too_deep(value: Any, text: str) -> bool:
    """Whether a value's lists and mappings stand too deep in one another; its JSON tells of most that they cannot."""
    if len(text) <= 2 * DEEPEST or text.count("[") + text.count("{") <= DEEPEST:
        return False
    level: list[Any] = [[value]]
    for _ in range(DEEPEST + 1):
        level = [
            item
            for one in level
            for item in (one.values() if isinstance(one, dict) else one)
            if isinstance(item, list | dict)
        ]
    return bool(level)


def isolate(value: Any) -> Any:
    """Return a copy of ``value`` that shares nothing mutable with it.

    Lists and dicts are copied by hand, which is ten times cheaper than :func:`copy.deepcopy`; anything unusual is left
    to ``deepcopy``.
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
    """Return names as canonical bytes, in their order: the examples of a dataset have the same ones again and again."""
    found = [(name.encode("utf-8", "surrogatepass"), name) for name in names]
    return tuple(sorted((b"s%d:" % len(raw) + raw, name) for raw, name in found))


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
    plain = _plain(value)
    if plain is not _NOTHING:
        _encode(plain, out, path)
    elif isinstance(value, AbstractSet):
        items = sorted(canonical_bytes(item) for item in value)
        out.append(b"e%d:" % len(items))
        out.extend(items)
    else:
        name, text = _named_text(value, path)
        out.append(b"x%d:" % len(name) + name.encode())
        _encode(text, out, path)


_NOTHING = object()
_PLAIN: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (str, str.__str__),  # enums, numpy.str_ and their like
    (int, int),
    (float, float),  # numpy.float64, too
    (Mapping, dict),
    (list | tuple, list),
    (bytes | bytearray | memoryview, bytes),
)


def _plain(value: Any) -> Any:
    """Return the ordinary value that a subclass or look-alike stands for, or ``_NOTHING``."""
    for kind, plain in _PLAIN:
        if isinstance(value, kind):
            return plain(value)
    tolist = getattr(
        value, "tolist", None
    )  # numpy arrays and scalars, arrays of the standard library
    return tolist() if callable(tolist) and hasattr(value, "dtype") else _NOTHING


@cache
def _kinds() -> dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]]:
    """Return the types of values that are written as text, by name, and how they are written and read; the first counts."""
    from datetime import date, datetime, time, timedelta
    from decimal import Decimal
    from fractions import Fraction
    from pathlib import PurePath, PurePosixPath
    from uuid import UUID

    in_iso = methodcaller("isoformat")
    return {
        "datetime": (datetime, in_iso, datetime.fromisoformat),
        "date": (date, in_iso, date.fromisoformat),
        "time": (time, in_iso, time.fromisoformat),
        "timedelta": (
            timedelta,
            lambda value: f"{value.days} {value.seconds} {value.microseconds}",
            lambda text: timedelta(*map(int, text.split())),
        ),
        "Decimal": (Decimal, str, Decimal),
        "Fraction": (
            Fraction,
            str,
            lambda text: Fraction(*map(int, text.split("/"))),
        ),  # an exponent can take hours
        "UUID": (UUID, str, UUID),
        "path": (PurePath, methodcaller("as_posix"), PurePosixPath),
    }


def _named_text(value: Any, path: str) -> tuple[str, str]:
    for name, (kind, written, _) in _kinds().items():
        if isinstance(value, kind):
            return name, written(value)
    raise UnstorableError(path, value)


def _is_flat(value: dict[Any, Any]) -> bool:
    """Whether a mapping is what JSON has, without another one or a list in it."""
    is_flat = _FLAT.issuperset(map(type, value.values()))
    return is_flat and _TYPE not in value and _NAMES.issuperset(map(type, value))


def _is_plain(value: Any) -> bool:
    """Whether a value is what JSON has, however deep, which most outputs and examples are."""
    kind = type(value)
    if kind is dict:
        return _is_flat(value) or (
            _TYPE not in value
            and _NAMES.issuperset(map(type, value))
            and all(map(_is_plain, value.values()))
        )
    if kind is list:
        return all(map(_is_plain, value))
    return kind in _FLAT or (kind is float and bool(value - value == 0))


_FLAT = frozenset({str, int, bool, type(None)})
_NAMES = frozenset({str})


def _jsonable(value: Any, path: str) -> Any:
    kind = type(value)
    if kind is str and not _encodable(value):
        return {_TYPE: "text", "value": value.encode("utf-8", "surrogatepass").hex()}
    if kind in _FLAT:
        return value
    if kind is float:
        return value if value - value == 0 else {_TYPE: "float", "value": repr(value)}
    if kind is dict:
        if (
            _NAMES.issuperset(map(type, value))
            and _TYPE not in value
            and all(map(_encodable, value))
        ):
            return {key: _jsonable(item, f"{path}.{key}") for key, item in value.items()}
        pairs = [
            [_jsonable(key, f"{path} key"), _jsonable(item, f"{path}.{key}")]
            for key, item in value.items()
        ]
        return {_TYPE: "mapping", "value": pairs}
    if kind is list or kind is tuple:
        return [_jsonable(item, f"{path}[{index}]") for index, item in enumerate(value)]
    if kind is bytes:
        return {_TYPE: "bytes", "value": b2a_base64(value, newline=False).decode("ascii")}
    plain = _plain(value)
    if plain is not _NOTHING:
        return _jsonable(plain, path)
    if isinstance(value, AbstractSet):
        items = sorted(value, key=canonical_bytes)
        return {_TYPE: "set", "value": [_jsonable(item, path) for item in items]}
    name, text = _named_text(value, path.removeprefix("."))
    return {_TYPE: name, "value": _jsonable(text, path)}


def _encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _restore(found: dict[str, Any]) -> Any:
    if _TYPE not in found:
        return found
    name, value = found[_TYPE], found["value"]
    if name in _kinds():
        return _kinds()[name][2](value)
    if name in _BUILT_IN:
        return _BUILT_IN[name](value)
    raise StoreError(
        f"A stored value is of the unknown type {name!r}: was it written by a newer version?"
    )


_BUILT_IN: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "text": lambda digits: bytes.fromhex(digits).decode("utf-8", "surrogatepass"),
    "mapping": lambda pairs: {_hashable(key): item for key, item in pairs},
    "bytes": a2b_base64,
    "set": lambda items: frozenset(map(_hashable, items)),
}


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def storable(text: str) -> str:
    """Return text that SQLite can hold: lone surrogates become escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")
