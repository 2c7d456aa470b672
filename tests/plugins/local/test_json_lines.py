from __future__ import annotations

import json
import re
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_bench_local import Record, local, read_records


def test_every_line_is_a_row_with_its_own_columns(write):
    name = write(
        "a.jsonl", '{"id": 7, "question": "Q", "answers": ["a", "b"]}\n{"context": null}\n'
    )
    assert list(local(path=name)) == [
        {"id": 7, "question": "Q", "answers": ["a", "b"]},
        {"context": None},
    ]


def test_no_id_is_made_up_so_none_can_collide(write):
    name = write("a.jsonl", '{"q": 1}\n{"id": 0, "q": 2}\n{"id": "line-1", "q": 3}\n{"q": 4}\n')
    assert [row.get("id") for row in local(path=name)] == [None, 0, "line-1", None]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"n": 1}\n{"n": 2}\n', id="line feeds"),
        pytest.param('{"n": 1}\r\n{"n": 2}\r\n', id="carriage returns too"),
        pytest.param('{"n": 1}\n{"n": 2}', id="no last line feed"),
        pytest.param('\n\n{"n": 1}\n  \t\n\r\n{"n": 2}\n\n', id="blank lines"),
        pytest.param('\ufeff{"n": 1}\n{"n": 2}\n', id="byte order mark"),
        pytest.param('\ufeff\r\n  {"n": 1}  \r\n\t{"n": 2}\t\r\n', id="all at once"),
    ],
)
def test_what_separates_rows_is_no_part_of_them(write, text):
    assert list(local(path=write("a.jsonl", text))) == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize(("limit", "rows"), [(0, 0), (1, 1), (2, 2), (3, 3), (9, 3), (None, 3)])
def test_limit_counts_rows_and_not_blank_lines(write, limit, rows):
    name = write("a.jsonl", '\n{"n": 1}\n\n \n{"n": 2}\n\n\n{"n": 3}\n')
    assert [row["n"] for row in local(limit, path=name)] == [1, 2, 3][:rows]


def test_the_line_after_the_limit_is_never_read(write):
    assert list(local(1, path=write("a.jsonl", '{"n": 1}\nbroken\n'))) == [{"n": 1}]


def test_rows_before_a_broken_line_are_streamed(write):
    rows = local(path=write("a.jsonl", '{"n": 1}\n{"n": 2}\nbroken\n'))
    assert [next(rows), next(rows)] == [{"n": 1}, {"n": 2}]
    with pytest.raises(ValueError, match=r"a\.jsonl, line 3, column 1"):
        next(rows)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param(
            '{"a": 1 "b": 2}',
            "a.jsonl, line 3, column 9: Expecting ',' delimiter, at ",
            id="comma missing",
        ),
        pytest.param(
            '{"a": "x',
            "a.jsonl, line 3, column 7: Unterminated string starting at, at ",
            id="cut off",
        ),
        pytest.param(
            '{"a": 1',
            "a.jsonl, line 3, column 8: Expecting ',' delimiter, at ",
            id="cut off after a value",
        ),
        pytest.param(
            "  oops", "a.jsonl, line 3, column 3: Expecting value, at '  ⟶oops'", id="no JSON"
        ),
        pytest.param(
            "{'a': 1}", "a.jsonl, line 3, column 2: Expecting property name", id="Python's quotes"
        ),
        pytest.param('{"a": 1}{"a": 2}', "a.jsonl, line 3, column 9: Extra data", id="two objects"),
        pytest.param(
            '{"a": NaN}', "a.jsonl, line 3, column 7: NaN is no JSON value; write null", id="NaN"
        ),
        pytest.param(
            '{"a": -Infinity}',
            "a.jsonl, line 3, column 7: -Infinity is no JSON value",
            id="infinity",
        ),
        pytest.param(
            '{"a": 1e999}',
            "a.jsonl, line 3, column 7: 1e999 is a number too large to be kept",
            id="too large",
        ),
        pytest.param(
            '{"1e999": [2e308, -1E400]}',
            "a.jsonl, line 3, column 12: 2e308 is a number too",
            id="within",
        ),
        pytest.param(
            '{"a": "x\\"", "b": NaN}',
            "a.jsonl, line 3, column 19: NaN is no",
            id="behind a quotation mark",
        ),
        pytest.param(
            "[1, 2]",
            "a.jsonl, line 3, column 1: a line must hold an object and not an array",
            id="array",
        ),
        pytest.param(
            ' "text"',
            "a.jsonl, line 3, column 2: a line must hold an object and not a string",
            id="string",
        ),
        pytest.param(
            "null", "a.jsonl, line 3, column 1: a line must hold an object and not null", id="null"
        ),
        pytest.param(
            "true",
            "a.jsonl, line 3, column 1: a line must hold an object and not a boolean",
            id="boolean",
        ),
        pytest.param(
            "12",
            "a.jsonl, line 3, column 1: a line must hold an object and not a number",
            id="number",
        ),
        pytest.param(
            '{"a": ' * 100_000,
            "a.jsonl, line 3: the value is nested too deeply",
            id="nested too deeply",
        ),
    ],
)
def test_a_bad_line_is_named_with_file_line_and_column(write, line, message):
    name = write("a.jsonl", f'{{"a": 0}}\n\n{line}\n{{"a": 3}}\n')
    with pytest.raises(ValueError, match="^" + re.escape(message)) as raised:
        list(local(path=name))
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 250
    assert raised.value.__cause__ is None


@pytest.mark.skipif(sys.version_info < (3, 11), reason="older Pythons read numbers of any length")
def test_a_number_of_thousands_of_digits_is_named_with_its_line(write):
    with pytest.raises(
        ValueError,
        match=r"^a\.jsonl, line 1, column 7: 99999999… of 5000 characters is a number too large",
    ):
        list(local(path=write("a.jsonl", '{"a": ' + "9" * 5000 + "}\n")))


def test_the_excerpt_is_short_and_shows_where_the_fault_is(write):
    name = write("a.jsonl", json.dumps({"context": "word " * 1000})[:-1] + " junk}\n")
    with pytest.raises(ValueError, match=r"….*word \" ⟶junk\}'") as raised:
        list(local(path=name))
    assert len(str(raised.value)) < 200


def test_a_document_called_jsonl_is_recognised(write):
    for text in ('[{"a": 1}]\n', '[\n  {"a": 1}\n]\n', '{\n  "a": 1\n}\n'):
        with pytest.raises(ValueError, match="pass `format=json`"):
            list(local(path=write("a.jsonl", text)))
    with pytest.raises(ValueError, match="line 2") as raised:
        list(local(path=write("a.jsonl", '{"a": 1}\n[1]\n')))
    assert "format=json" not in str(raised.value)


def test_records_know_their_lines(write):
    name = write("a.jsonl", '\n{"n": 1}\n\n{"n": 2}\n')
    assert list(read_records(name)) == [Record("line 2", {"n": 1}), Record("line 4", {"n": 2})]


def test_an_empty_file_has_no_rows(write):
    assert list(local(path=write("a.jsonl", ""))) == []
    assert list(local(path=write("b.jsonl", "\ufeff\n\n"))) == []


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.dictionaries(st.text(), JSON, max_size=4), max_size=6),
    blanks=st.lists(st.sampled_from(["", " ", "\t", "\r"]), max_size=6),
    ascii_only=st.booleans(),
    limit=st.none() | st.integers(0, 8),
)
def test_whatever_json_writes_comes_back(write, rows, blanks, ascii_only, limit):
    lines = [json.dumps(row, ensure_ascii=ascii_only) for row in rows]
    for place, blank in enumerate(blanks):
        lines.insert(place * 2, blank)
    name = write("a.jsonl", "\n".join(lines))
    assert list(local(limit, path=name)) == rows[:limit]


def test_separators_of_unicode_do_not_end_a_line(write):
    text = "a\u2028b\u2029c\x85d\x0ce\x1cf"
    name = write("a.jsonl", json.dumps({"t": text}, ensure_ascii=False) + "\n")
    assert list(local(path=name)) == [{"t": text}]
