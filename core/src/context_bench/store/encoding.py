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
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from hashlib import blake2b
from operator import itemgetter
from struct import Struct
from typing import Any

from context_bench.errors import StoreError, UnstorableError

DIGEST_SIZE = 16
"""Bytes in a digest: 128 bits of BLAKE2b."""

DEEPEST = 200
"""How deep the lists and mappings of a stored value may stand in one another."""

_TYPE = "$type"
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False)
_FLOAT = Struct(">d").pack
_NAN = b"d" + _FLOAT(float("nan"))


def _readable(value: Any) -> str:
    """Return plain values as JSON. ``JSONEncoder.encode`` builds its C encoder anew each time, which costs more than
    a small mapping does."""
    return "".join(_CHUNKS(value, 0))


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
    chunks: list[bytes] = []
    for value in values:
        _encode(value, chunks, "")
    return blake2b(b"".join(chunks), digest_size=DIGEST_SIZE).digest()


def tagged_digest(tag: bytes, value: Any) -> bytes:
    """Return ``digest(text, value)``, given the canonical bytes of the text: it is made for every row."""
    chunks = [tag]
    _encode(value, chunks, "")
    return blake2b(b"".join(chunks), digest_size=DIGEST_SIZE).digest()


def canonical_bytes(value: Any) -> bytes:
    """Return the canonical bytes of ``value``, as specified at the head of this module."""
    chunks: list[bytes] = []
    _encode(value, chunks, "")
    return b"".join(chunks)


def to_json(value: Any) -> str:
    """Return ``value`` as strict JSON (no NaN, no Infinity) that :func:`from_json` reads back.

    Text stays readable. What JSON lacks becomes ``{"$type": name, "value": ...}``. The result can always be encoded
    as UTF-8: a text with surrogates, which no JSON text holds faithfully, becomes ``{"$type": "text", ...}``.

    Raises:
        UnstorableError: A value has no written form; the message names its path.
    """
    plain = value if _is_plain(value) else _jsonable(value, "")
    text = _readable(plain)
    if _may_be_deeper(text) and _is_deeper(plain, DEEPEST):
        raise UnstorableError("", value, f"is nested deeper than {DEEPEST}")
    return text if _encodable(text) else _readable(_without_surrogates(plain))


def from_json(text: str) -> Any:
    """Return the value that :func:`to_json` wrote.

    Raises:
        StoreError: The text is no JSON, or names a type that this version does not know.
    """
    try:
        found = json.loads(text, object_hook=_restore if _TYPE in text else None)
    except RecursionError:
        raise StoreError(f"A stored value is damaged: it is nested deeper than {DEEPEST}.") from None
    except ValueError as error:
        raise StoreError(f"A stored value is damaged: {error}.") from error
    if _may_be_deeper(text) and _is_deeper(found, DEEPEST):
        raise StoreError(f"A stored value is damaged: it is nested deeper than {DEEPEST}.")
    return found


def _may_be_deeper(text: str) -> bool:
    """Whether JSON has brackets enough to be too deep; a short text has not, and most texts are short."""
    return len(text) > 2 * DEEPEST and text.count("[") + text.count("{") > DEEPEST


def _is_deeper(value: Any, deepest: int) -> bool:
    """Whether lists and mappings stand in one another deeper than so many times."""
    level = [value]
    for _ in range(deepest):
        level = [
            item
            for one in level
            if isinstance(one, list | dict)
            for item in (one.values() if isinstance(one, dict) else one)
            if isinstance(item, list | dict)
        ]
        if not level:
            return False
    return True


def isolate(value: Any) -> Any:
    """Return a copy of ``value`` that shares nothing mutable with it.

    Lists and dicts are copied by hand, which is ten times cheaper than :func:`copy.deepcopy`; anything unusual is left
    to ``deepcopy``.
    """
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is dict:
        if _ATOMS.issuperset(map(type, value.values())):
            return value.copy()
        return {key: item if type(item) in _ATOMS else isolate(item) for key, item in value.items()}
    if kind is list:
        return [item if type(item) in _ATOMS else isolate(item) for item in value]
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
    append = out.append
    append(b"m%d:" % len(value))
    cached = len(value) <= _CACHED_NAMES and _NAMES.issuperset(map(type, value))
    for name, key in _ordered_names(tuple(value)) if cached else _ordered_keys(value, path):
        append(name)
        item = value[key]
        if type(item) is str:
            raw = item.encode("utf-8", "surrogatepass")
            length = len(raw)
            append(_SHORT[length] if length < 256 else b"s%d:" % length)
            append(raw)
        else:
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


def _plain(value: Any) -> Any:
    """Return the ordinary value that a subclass or look-alike stands for, or ``_NOTHING``."""
    if isinstance(value, str):  # enums, numpy.str_, numpy.float64 and their like
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    tolist = getattr(value, "tolist", None)  # numpy arrays and scalars, arrays of the standard library
    if callable(tolist) and hasattr(value, "dtype"):
        return tolist()
    return _NOTHING


def _named_text(value: Any, path: str) -> tuple[str, str]:
    from datetime import date, datetime, time, timedelta
    from decimal import Decimal
    from fractions import Fraction
    from pathlib import PurePath
    from uuid import UUID

    if isinstance(value, datetime):
        return "datetime", value.isoformat()
    if isinstance(value, date):
        return "date", value.isoformat()
    if isinstance(value, time):
        return "time", value.isoformat()
    if isinstance(value, timedelta):
        return "timedelta", f"{value.days} {value.seconds} {value.microseconds}"
    for kind in (Decimal, Fraction, UUID):
        if isinstance(value, kind):
            return kind.__name__, str(value)
    if isinstance(value, PurePath):
        return "path", value.as_posix()
    raise UnstorableError(path, value)


def _is_plain(value: Any) -> bool:
    """Whether a value is a mapping of what JSON has, however deep, which most outputs and examples are."""
    if type(value) is not dict or _TYPE in value or not _NAMES.issuperset(map(type, value)):
        return False
    return _FLAT.issuperset(map(type, value.values())) or all(map(_is_plain_item, value.values()))


def _is_plain_item(value: Any) -> bool:
    kind = type(value)
    if kind in _FLAT:
        return True
    if kind is float:
        return bool(value - value == 0)
    if kind is list:
        return all(map(_is_plain_item, value))
    return kind is dict and _is_plain(value)


_FLAT = frozenset({str, int, bool, type(None)})
_NAMES = frozenset({str})


def _jsonable(value: Any, path: str) -> Any:
    kind = type(value)
    if kind is str or value is None or kind is bool or kind is int:
        return value
    if kind is float:
        if value - value == 0:
            return value
        return {_TYPE: "float", "value": repr(value)}
    if kind is dict:
        if all(type(key) is str for key in value) and _TYPE not in value:
            return {key: _jsonable(item, f"{path}.{key}") for key, item in value.items()}
        pairs = [[_jsonable(key, f"{path} key"), _jsonable(item, f"{path}.{key}")] for key, item in value.items()]
        return {_TYPE: "mapping", "value": pairs}
    if kind is list or kind is tuple:
        return [_jsonable(item, f"{path}[{index}]") for index, item in enumerate(value)]
    if kind is bytes:
        from base64 import b64encode

        return {_TYPE: "bytes", "value": b64encode(value).decode("ascii")}
    plain = _plain(value)
    if plain is not _NOTHING:
        return _jsonable(plain, path)
    if isinstance(value, AbstractSet):
        items = sorted(value, key=canonical_bytes)
        return {_TYPE: "set", "value": [_jsonable(item, path) for item in items]}
    name, text = _named_text(value, path.removeprefix("."))
    return {_TYPE: name, "value": text}


def _encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value if _encodable(value) else {_TYPE: "text", "value": value.encode("utf-8", "surrogatepass").hex()}
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if not isinstance(value, dict):
        return value
    if all(map(_encodable, value)):
        return {key: _without_surrogates(item) for key, item in value.items()}
    pairs = [[_without_surrogates(key), _without_surrogates(item)] for key, item in value.items()]
    return {_TYPE: "mapping", "value": pairs}


def _restore(found: dict[str, Any]) -> Any:
    if _TYPE not in found:
        return found
    name, value = found[_TYPE], found["value"]
    reader = _readers().get(name)
    if reader is None:
        raise StoreError(f"A stored value is of the unknown type {name!r}: was it written by a newer version?")
    return reader(value)


def _readers() -> dict[str, Callable[[Any], Any]]:
    from base64 import b64decode
    from datetime import date, datetime, time, timedelta
    from decimal import Decimal
    from fractions import Fraction
    from pathlib import PurePosixPath
    from uuid import UUID

    return {
        "float": float,
        "text": lambda digits: bytes.fromhex(digits).decode("utf-8", "surrogatepass"),
        "mapping": lambda pairs: {_hashable(key): item for key, item in pairs},
        "bytes": b64decode,
        "set": lambda items: frozenset(_hashable(item) for item in items),
        "datetime": datetime.fromisoformat,
        "date": date.fromisoformat,
        "time": time.fromisoformat,
        "timedelta": lambda text: timedelta(*map(int, text.split())),
        "Decimal": Decimal,
        "Fraction": lambda text: Fraction(*map(int, text.split("/"))),  # with an exponent it can take hours
        "UUID": UUID,
        "path": PurePosixPath,
    }


def _hashable(value: Any) -> Any:
    return tuple(_hashable(item) for item in value) if isinstance(value, list) else value
