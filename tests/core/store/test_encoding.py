from __future__ import annotations

import datetime
import decimal
import fractions
import json
import pathlib
import uuid
from collections import OrderedDict
from enum import Enum
from types import MappingProxyType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from context_bench.errors import StoreError, UnstorableError
from context_bench.store.encoding import canonical_bytes, digest, from_json, isolate, to_json

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())  # lone surrogates included
    | st.binary()
    | st.dates()
    | st.datetimes()
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.timedeltas()
)
keys = st.text(st.characters()) | st.integers() | st.none() | st.just("$type")
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


@given(values)
@example({"$type": "float", "value": "nan"})
@example({"$type": {"$type": 1}})
@example({1: "a", "1": "b", None: "c"})
@example(["\ud800", "\x00", "￿", "é"])
@example(float("nan"))
@example(-0.0)
@example({"\ud83d\ude00": ["\ud83d\ude00", "\U0001f600"]})
@example({"deep": [[[{"x": b"\x00\xff"}]]]})
def test_what_is_stored_reads_back_with_the_same_digest(value: object) -> None:
    text = to_json(value)
    text.encode("utf-8")  # SQLite must be able to hold it
    json.loads(text, parse_constant=pytest.fail)
    assert digest(from_json(text)) == digest(value)


@given(values, values)
def test_values_that_differ_have_bytes_that_differ(one: object, other: object) -> None:
    assert (canonical_bytes(one) == canonical_bytes(other)) == (
        to_json(one) == to_json(other) or _same(one, other)
    )


def _same(one: object, other: object) -> bool:
    """Mappings have no order, so equal ones may be written in two ways."""
    return sorted(to_json(one)) == sorted(to_json(other)) and digest(one) == digest(other)


class Colour(Enum):
    RED = "red"


class Word(str):
    pass


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(1, 1.0, id="int and float"),
        pytest.param(1, True, id="int and bool"),
        pytest.param("1", 1, id="text and number"),
        pytest.param("", None, id="empty text and nothing"),
        pytest.param([], {}, id="empty list and empty mapping"),
        pytest.param(["ab"], ["a", "b"], id="where a list is cut"),
        pytest.param([["a"], []], [["a", []]], id="how a list is nested"),
        pytest.param({"a": 1}, {"a": "1"}, id="a value's type"),
        pytest.param({"a": None}, {}, id="None and absence"),
        pytest.param(b"a", "a", id="bytes and text"),
        pytest.param({1: 0}, {"1": 0}, id="a key's type"),
        pytest.param(0.0, -0.0, id="the sign of zero"),
        pytest.param(datetime.date(2026, 1, 1), "2026-01-01", id="a date and its text"),
        pytest.param("\u00e9", "e\u0301", id="composed and decomposed"),
        pytest.param("\ud83d\ude00", "😀", id="surrogates and the character they stand for"),
    ],
)
def test_near_values_have_different_digests(one: object, other: object) -> None:
    assert digest(one) != digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param((1, 2), [1, 2], id="tuple and list"),
        pytest.param(OrderedDict(b=1, a=2), {"a": 2, "b": 1}, id="order of a mapping"),
        pytest.param(MappingProxyType({"a": 1}), {"a": 1}, id="kind of mapping"),
        pytest.param({3, 1, 2}, frozenset({2, 3, 1}), id="sets"),
        pytest.param(Word("x"), "x", id="a subclass of str"),
        pytest.param(float("nan"), -float("nan"), id="every NaN"),
        pytest.param(bytearray(b"x"), b"x", id="bytearray and bytes"),
    ],
)
def test_look_alikes_have_one_digest(one: object, other: object) -> None:
    assert digest(one) == digest(other)
    assert digest(from_json(to_json(one))) == digest(other)


@pytest.mark.parametrize(
    "value",
    [
        decimal.Decimal("1.50"),
        fractions.Fraction(1, 3),
        uuid.UUID(int=7),
        datetime.datetime(2026, 1, 2, 3, 4, 5, 6, datetime.timezone.utc),
        datetime.time(1, 2),
        datetime.timedelta(days=-1, microseconds=3),
        pathlib.PurePosixPath("a/b"),
        frozenset({("a", 1)}),
        b"\x00\xff",
        float("inf"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_unusual_values_come_back_as_themselves(value: object) -> None:
    assert from_json(to_json(value)) == value


def test_an_enum_of_no_plain_type_cannot_be_stored_and_the_message_names_the_place() -> None:
    with pytest.raises(UnstorableError, match=r"rows\[1\]\.colour is of type .*Colour"):
        digest({"rows": [0, {"colour": Colour.RED}]})
    with pytest.raises(UnstorableError, match="Colour"):
        to_json({"rows": [0, {"colour": Colour.RED}]})


@pytest.mark.parametrize("text", ["", "{", '{"$type":"quux","value":1}', "[1,]"])
def test_damaged_text_is_a_store_error(text: str) -> None:
    with pytest.raises(StoreError):
        from_json(text)


def test_the_digest_of_a_known_value_never_changes() -> None:
    """Run files and caches hold these; a change here invalidates all of them."""
    known = {
        "id": "a",
        "n": [1, 2.5, None, True],
        "text": "naïve 日本 \ud800",
        "deep": {"b": b"\x01"},
    }
    assert digest(known).hex() == "09a2cc45ffedc3eabcd1a12d485cd86a"
    assert digest().hex() == "cae66941d9efbd404e4d88758ea67670"


@given(values)
def test_an_isolated_copy_is_equal_and_shares_nothing_mutable(value: object) -> None:
    copy = isolate(value)
    assert canonical_bytes(copy) == canonical_bytes(value)
    assert not (_containers(copy) & _containers(value))


def _containers(value: object) -> set[int]:
    if isinstance(value, dict):
        return {id(value)}.union(*map(_containers, value.values()))
    if isinstance(value, list):
        return {id(value)}.union(*map(_containers, value))
    return set()
