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
from context_bench.store.encoding import (
    canonical_bytes,
    from_json,
    isolate,
    json_value,
    to_json,
)
from context_bench.store.keys import digest

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
scalars |= st.text()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
unusual_scalars = (
    scalars
    | st.floats()
    | st.text(st.characters())  # lone surrogates included
    | st.binary()
    | st.dates()
    | st.datetimes()
    | st.decimals()
    | st.uuids()
    | st.timedeltas()
)
unusual = st.recursive(
    unusual_scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(values)
@example(["\x00", "\uffff", "\u00e9"])
@example(-0.0)
@example({"$type": "float", "value": "nan"})
def test_a_json_value_is_stored_and_read_unchanged(value: object) -> None:
    text = to_json(value)
    text.encode("utf-8")  # SQLite must be able to contain it
    json.loads(text, parse_constant=pytest.fail)
    assert canonical_bytes(from_json(text)) == canonical_bytes(value)
    assert canonical_bytes(json_value(value)) == canonical_bytes(value)


@given(unusual)
@example({"deep": [[[{"x": b"\x00\xff"}]]]})
@example(["\ud83d\ude00", "\ud800"])
def test_the_json_value_of_a_value_is_what_is_stored(value: object) -> None:
    plain = json_value(value)
    assert from_json(to_json(plain)) == plain
    assert json_value(plain) == plain


@given(
    st.text(st.sampled_from('ab"\\\n\r\t\x00\x1f\x7fé\u2028\ud800/'), max_size=40),
    st.integers(1, 40),
)
def test_a_long_text_is_written_as_a_short_one_is(text: str, times: int) -> None:
    written = to_json(text * times)
    assert json.loads(written) == text * times
    if "\ud800" not in text:
        assert written == json.dumps(text * times, ensure_ascii=False)


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
        pytest.param(0.0, -0.0, id="the sign of zero"),
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


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        pytest.param(decimal.Decimal("1.50"), 1.5, id="a decimal"),
        pytest.param(decimal.Decimal("42.0"), 42, id="a whole decimal"),
        pytest.param(decimal.Decimal("sNaN"), None, id="a decimal that is not a number"),
        pytest.param(fractions.Fraction(1, 4), 0.25, id="a fraction"),
        pytest.param(fractions.Fraction(10**400, 3), None, id="a fraction beyond every float"),
        pytest.param(uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007", id="a UUID"),
        pytest.param(
            datetime.datetime(2026, 1, 2, 3, 4, 5, 6, datetime.timezone.utc),
            "2026-01-02T03:04:05.000006+00:00",
            id="a moment",
        ),
        pytest.param(datetime.date(2026, 1, 2), "2026-01-02", id="a date"),
        pytest.param(datetime.time(1, 2), "01:02:00", id="a time"),
        pytest.param(datetime.timedelta(days=-1, seconds=3), -86397, id="a duration"),
        pytest.param(pathlib.PurePosixPath("a/b"), "a/b", id="a path"),
        pytest.param(frozenset({("a", 1)}), [["a", 1]], id="a set"),
        pytest.param({"b", "a"}, ["a", "b"], id="a set of texts"),
        pytest.param(("a", (1,)), ["a", [1]], id="a tuple"),
        pytest.param("\u00e9".encode(), "\u00e9", id="bytes of a text"),
        pytest.param(b"\x00\xff", "AP8=", id="other bytes"),
        pytest.param(float("inf"), None, id="infinity"),
        pytest.param(float("nan"), None, id="not a number"),
        pytest.param({1: "a", None: "b"}, {"1": "a", "null": "b"}, id="keys that are no texts"),
        pytest.param("caf\udce9", "caf\udce9", id="a lone surrogate"),
        pytest.param("\ud83d\ude00", "\U0001f600", id="a pair of surrogates"),
        pytest.param(Word("x"), "x", id="a subclass"),
        pytest.param(MappingProxyType({"a": (1,)}), {"a": [1]}, id="another mapping"),
    ],
)
def test_a_value_of_another_type_becomes_a_json_value(value: object, plain: object) -> None:
    for written in (json_value(value), json_value({"a": [value]})["a"][0]):
        assert written == plain
        assert type(written) is type(plain) or value == datetime.timedelta(days=-1, seconds=3)


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "bool", "str", "object"])
def test_an_array_of_numpy_is_a_list_and_its_scalars_are_numbers(kind: str) -> None:
    numpy = pytest.importorskip("numpy")
    array = numpy.array([[1, 0], [1, 1]]).astype(kind)
    plain = json_value({"array": array, "scalar": array[0][0]})
    assert plain == {"array": array.tolist(), "scalar": array.tolist()[0][0]}
    scalars = [*plain["array"][0], plain["scalar"]]
    assert {type(scalar) for scalar in scalars} <= {int, float, bool, str}


def test_two_keys_with_one_json_text_are_refused() -> None:
    with pytest.raises(UnstorableError, match="deep"):
        json_value({"deep": {1: "a", "1": "b"}})


def test_an_enum_of_no_plain_type_cannot_be_stored_and_the_message_names_the_place() -> None:
    with pytest.raises(UnstorableError, match=r"rows\[1\]\.colour is of type .*Colour"):
        digest({"rows": [0, {"colour": Colour.RED}]})
    with pytest.raises(UnstorableError, match="Colour"):
        to_json({"rows": [0, {"colour": Colour.RED}]})


@pytest.mark.parametrize("text", ["", "{", "[1,]"])
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
    assert digest({"text": "naïve 日本\n" * 3000}).hex() == "a00ab36488624615567e64c2513dd803"


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
