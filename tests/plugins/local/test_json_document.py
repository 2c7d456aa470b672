from __future__ import annotations

import json
import re

import pytest

from context_bench_local import Record, local, read_records

ROWS = [{"id": "a", "q": 1}, {"q": 2, "answers": []}]


@pytest.mark.parametrize(
    ("document", "options"),
    [
        pytest.param(ROWS, {}, id="array"),
        pytest.param({"version": "1.1", "data": ROWS}, {}, id="the only array of objects"),
        pytest.param(
            {"examples": ROWS, "canary": "x", "tags": ["a"], "labels": {"b": 1}},
            {},
            id="among other things",
        ),
        pytest.param({"examples": ROWS, "errors": []}, {}, id="beside an empty array"),
        pytest.param({"train": [{"q": 0}], "test": ROWS}, {"key": "test"}, id="chosen"),
        pytest.param(
            {"result": {"items": ROWS}}, {"key": "result.items"}, id="chosen further down"
        ),
        pytest.param(
            {"result.items": ROWS, "result": 1}, {"key": "result.items"}, id="a key with dots"
        ),
        pytest.param(
            {"a": {"q": 1}, "": {"q": 2, "answers": []}}, {"index": "name"}, id="rows by key"
        ),
        pytest.param(
            {"preds": {"a": {"q": 1}, "": {"q": 2, "answers": []}}},
            {"key": "preds", "index": "name"},
            id="both",
        ),
    ],
)
def test_rows_are_found(write, document, options):
    rows = list(local(path=write("a.json", json.dumps(document)), **options))
    expected = (
        [{"name": "a", "q": 1}, {"name": "", "q": 2, "answers": []}] if "index" in options else ROWS
    )
    assert rows == expected


def test_a_document_may_have_a_byte_order_mark_and_any_line_ending(write):
    name = write("a.json", "\ufeff" + json.dumps(ROWS, indent=2).replace("\n", "\r\n"))
    assert list(local(path=name)) == ROWS


@pytest.mark.parametrize("document", [[], {"data": []}, {"data": [], "version": 1}])
def test_no_rows_are_no_rows(write, document):
    assert list(local(path=write("a.json", json.dumps(document)))) == []


def test_limit_counts_rows(write):
    assert list(local(1, path=write("a.json", json.dumps(ROWS)))) == ROWS[:1]


def test_records_know_their_items(write):
    assert next(read_records(write("a.json", json.dumps(ROWS)))) == Record("item 1", ROWS[0])


@pytest.mark.parametrize(
    ("document", "options", "message"),
    [
        pytest.param(
            {"a": [{}], "b": [{}]},
            {},
            "a.json: several keys hold an array of objects: a, b. Choose one",
            id="two",
        ),
        pytest.param({"a": {"b": 1}, "c": {"b": 2}}, {}, "such as `index=id`", id="rows by key"),
        pytest.param({"q": ["a"], "n": [1]}, {}, "Columns are not read", id="columns"),
        pytest.param(
            {"result": {"items": []}, "n": 1}, {}, "such as `key=result.items`", id="deeper"
        ),
        pytest.param(
            {"data": [{}, 3]}, {}, "there is an object of data (array)", id="array of mixed things"
        ),
        pytest.param(
            {"ok": ["a"], "bad": [], "late": []},
            {},
            "there is an object of ok (array), bad",
            id="names",
        ),
        pytest.param({}, {}, "there is an object", id="empty object"),
        pytest.param("text", {}, "there is a string", id="string"),
        pytest.param(None, {}, "there is null", id="null"),
        pytest.param(
            [{}, [1]],
            {},
            "a.json, item 2: a row must be an object and not an array",
            id="array in array",
        ),
        pytest.param(
            [{}, None],
            {},
            "a.json, item 2: a row must be an object and not null",
            id="null in array",
        ),
        pytest.param(
            {"data": [{}]},
            {"key": "dat"},
            "finds nothing at 'dat': there is an object of data (array)",
            id="key",
        ),
        pytest.param(
            {"a": [1]},
            {"key": "a.b"},
            "`key=a.b` finds nothing at 'b': there is an array",
            id="key too deep",
        ),
        pytest.param(
            {"a": {"b": 1}},
            {"key": "a"},
            "the rows must be an array of objects",
            id="key of an object",
        ),
        pytest.param(
            [{}],
            {"index": "id"},
            "`index=id` needs an object of rows by key",
            id="index of an array",
        ),
        pytest.param(
            {"a": 1},
            {"index": "id"},
            "needs objects by key, and 'a' holds a number",
            id="index of numbers",
        ),
        pytest.param(
            {"a": {"id": 1}},
            {"index": "id"},
            "the row 'a' has a column 'id'",
            id="index column taken",
        ),
    ],
)
def test_a_document_without_rows_says_what_it_has_instead(write, document, options, message):
    with pytest.raises(ValueError, match=re.escape(message)) as raised:
        list(local(path=write("a.json", json.dumps(document)), **options))
    assert str(raised.value).startswith("a.json")
    assert "\n" not in str(raised.value)


def test_a_syntax_error_has_line_and_column(write):
    with pytest.raises(ValueError, match=r"^a\.json, line 3, column 8: Expecting value, at .*⟶,"):
        list(local(path=write("a.json", '[\n  {"q": 1},\n  {"q":,}\n]')))


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("NaN", "NaN is no JSON value"),
        ("-1e999", "-1e999 is a number too large to be kept; write it as a text, or null"),
    ],
)
@pytest.mark.parametrize(
    ("document", "options", "place"),
    [
        ('[\n  {"q": "NaN", "r": 1e-999},\n  {"q": VALUE}]', {}, ", item 2, line 3, column 9"),
        ('{"n": VALUE, "rows": [{"q": 1}]}', {}, ", line 1, column 7"),
        ('{"a": [{"q": 1}], "b": [{"q": [VALUE]}]}', {"key": "b"}, ", item 1, line 1, column 32"),
        ('{"a": {"q": 1}, "b": {"q": VALUE}}', {"index": "id"}, ", item 2, line 1, column 28"),
    ],
    ids=["array", "beside the rows", "chosen", "rows by key"],
)
def test_a_number_that_cannot_be_kept_is_told_with_its_row_and_place(
    write, document, options, place, value, told
):
    """Python would read infinity, which no JSON that is written of it may hold."""
    with pytest.raises(ValueError, match=rf"^a\.json{place}: {told}.*⟶{value}"):
        list(local(path=write("a.json", document.replace("VALUE", value)), **options))


def test_an_empty_document_is_an_error(write):
    with pytest.raises(
        ValueError,
        match=r"^a\.json, line 1, column 1: Expecting value, at the end of an empty text",
    ):
        list(local(path=write("a.json", "")))


def test_lines_called_json_are_recognised_and_readable(write):
    name = write("a.json", '{"q": 1}\n{"q": 2}\n')
    with pytest.raises(ValueError, match=r"line 2, column 1: Extra data.*pass `format=jsonl`"):
        list(local(path=name))
    assert list(local(path=name, format="jsonl")) == [{"q": 1}, {"q": 2}]


@pytest.mark.parametrize(
    ("name", "text", "options", "told"),
    [
        (
            "a.jsonl",
            '{"q": 1}\n{"q": 1, "a": 2, "q": 3}\n',
            {},
            "a.jsonl, line 2: the row has more than one column 'q'",
        ),
        (
            "a.json",
            '[{"q": 1, "q": 1}]',
            {},
            "a.json, item 1: the row has more than one column 'q'",
        ),
        (
            "a.json",
            '{"data": [{"q": 1}], "data": [{"q": 2}]}',
            {},
            "a.json: `key=data` finds more than one 'data'",
        ),
        (
            "a.json",
            '{"r": {"x": [], "x": [{"q": 2}]}}',
            {"key": "r.x"},
            "`key=r.x` finds more than one 'x'",
        ),
        (
            "a.json",
            '{"q1": {"q": 1}, "q1": {"q": 2}}',
            {"index": "id"},
            "a.json: there is more than one row 'q1'",
        ),
        (
            "a.json",
            '{"q1": {"q": 1, "q": 2}}',
            {"index": "id"},
            "a.json, row 'q1': the row has more than one column 'q'",
        ),
    ],
    ids=[
        "lines",
        "an array",
        "the rows",
        "the rows further down",
        "a row by key",
        "a column by key",
    ],
)
def test_what_stands_twice_is_refused_and_not_lost(write, name, text, options, told):
    """Python keeps the last value of a name: of two questions or two lists of rows the first was lost in silence."""
    with pytest.raises(ValueError, match=re.escape(told)):
        list(local(path=write(name, text), **options))


def test_a_name_that_stands_twice_within_a_column_is_left_to_its_last_value(write):
    """Schemas of tools have such; the row can be copied, written and compared as any other."""
    from copy import deepcopy

    [row] = local(
        path=write("a.jsonl", '{"q": {"type": "a", "type": ["b"]}, "x": [{"y": 1, "y": 2}]}\n')
    )
    assert row == deepcopy(row) == {"q": {"type": ["b"]}, "x": [{"y": 2}]}
    assert json.loads(json.dumps(row)) == row
