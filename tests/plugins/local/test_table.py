from __future__ import annotations

import csv
import io
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_bench_local import Record, local, read_records


def test_cells_are_strings_exactly_as_they_stand(write):
    name = write("a.csv", "id,question,answer\n07,1e3,\nTrue, padded ,null\n")
    assert list(local(path=name)) == [
        {"id": "07", "question": "1e3", "answer": ""},
        {"id": "True", "question": " padded ", "answer": "null"},
    ]


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        pytest.param("a.csv", "a,b\n1,2\n", {}, id="comma"),
        pytest.param("a.tsv", "a\tb\n1\t2\n", {}, id="tab"),
        pytest.param("a.csv", "a,b\r\n1,2\r\n", {}, id="carriage returns too"),
        pytest.param("a.csv", "a,b\r1,2\r", {}, id="carriage returns alone"),
        pytest.param("a.csv", "a,b\n1,2", {}, id="no last line feed"),
        pytest.param("a.csv", "\ufeffa,b\n1,2\n", {}, id="byte order mark"),
        pytest.param("a.csv", "\n\na,b\n\n1,2\n\n", {}, id="empty lines"),
        pytest.param("a.csv", '"a","b"\n"1","2"\n', {}, id="quotes"),
        pytest.param("a.csv", "a;b\n1;2\n", {"delimiter": ";"}, id="semicolon"),
        pytest.param("a.csv", "a;b\n1;2\n", {"delimiter": "semicolon"}, id="semicolon in words"),
        pytest.param("a.csv", "a|b\n1|2\n", {"delimiter": "pipe"}, id="pipe in words"),
        pytest.param("a.csv", "a\tb\n1\t2\n", {"delimiter": "tab"}, id="tab in words"),
        pytest.param("a.csv", "a\tb\n1\t2\n", {"delimiter": "\\t"}, id="tab escaped"),
        pytest.param("a.tsv", "a,b\n1,2\n", {"delimiter": ","}, id="comma in a tsv"),
        pytest.param("a.txt", "a\tb\n1\t2\n", {"format": "tsv"}, id="format given"),
        pytest.param("a.csv", "'a',b\n'1',2\n", {"quote": "'"}, id="another quote"),
        pytest.param("a.csv", "1,2\n", {"columns": ["a", "b"]}, id="no header"),
    ],
)
def test_layouts_of_a_table(write, name, text, options):
    assert list(local(path=write(name, text), **options)) == [{"a": "1", "b": "2"}]


def test_a_quoted_cell_holds_anything(write):
    name = write("a.csv", 'q,a\n"two\nlines, a ""quote""",x\ny,"c\r\nd"\n')
    assert list(read_records(name)) == [
        Record("line 2", {"q": 'two\nlines, a "quote"', "a": "x"}),
        Record("line 4", {"q": "y", "a": "c\r\nd"}),
    ]


def test_quotes_can_be_plain_text(write):
    name = write("a.tsv", 'q\ta\n"He said\t"yes" and left\n')
    with pytest.raises(ValueError, match=r"^a\.tsv, the row of line 2: .*`quote=none`"):
        list(local(path=name))
    assert list(local(path=name, quote="none")) == [{"q": '"He said', "a": '"yes" and left'}]


def test_a_quote_that_is_not_closed_names_the_row_it_begins_on(write):
    name = write("a.csv", 'q,a\n1,2\n"open,3\n4,5\n6,7\n')
    with pytest.raises(ValueError, match=r"^a\.csv, the row of line 3: unexpected end of data"):
        list(local(path=name))


@pytest.mark.parametrize(
    ("row", "cells"),
    [("1", 1), ("1,2,3", 3), ("1,2,", 3), ('"1,2"', 1)],
)
def test_a_row_with_too_many_or_too_few_cells_is_named(write, row, cells):
    name = write("a.csv", f'q,a\n"x\ny",1\n\n{row}\n')
    rows = local(path=name)
    assert next(rows) == {"q": "x\ny", "a": "1"}
    with pytest.raises(
        ValueError, match=rf"^a\.csv, line 5: the row has {cells} cells and the header 2 \(q, a\)"
    ):
        next(rows)


def test_a_long_context_fits_into_a_cell(write):
    context = "word, " * 200_000
    name = write("a.csv", f'id,context\n1,"{context}"\n')
    assert list(local(path=name)) == [{"id": "1", "context": context}]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        pytest.param("", {}, "a.csv is empty; its first row must name the columns", id="empty"),
        pytest.param("\n\n", {}, "a.csv is empty", id="blank"),
        pytest.param("q,a,q,a\n", {}, "more than one column 'a', 'q'", id="repeated names"),
        pytest.param(
            "1,2\n", {"columns": ["a", "a"]}, "more than one column 'a'", id="repeated names given"
        ),
        pytest.param("q;a\n1;2\n", {}, "Then pass `delimiter=semicolon`", id="semicolons"),
        pytest.param("q\ta\n1\t2\n", {}, "Then pass `delimiter=tab`", id="tabs"),
    ],
)
def test_a_header_that_cannot_be_right(write, text, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        list(local(path=write("a.csv", text), **options))


def test_one_column_is_a_table_too(write):
    assert list(local(path=write("a.csv", "question text\nx\n\ny\n"))) == [
        {"question text": "x"},
        {"question text": "y"},
    ]
    assert list(local(path=write("b.csv", "a;b\n1\n"), delimiter=",")) == [{"a;b": "1"}]
    assert list(local(path=write("c.csv", '"a,b"\n1\n'))) == [{"a,b": "1"}]


def test_a_column_without_a_name_is_kept(write):
    assert list(local(path=write("a.csv", ",q\n0,x\n"))) == [{"": "0", "q": "x"}]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": ""}, "delimiter is ''; give one character, or one of comma, tab"),
        ({"delimiter": "::"}, "delimiter is '::'"),
        ({"delimiter": "\n"}, "delimiter is"),
        ({"quote": "''"}, "quote is"),
        ({"quote": ","}, "delimiter and quote are both ','"),
        ({"columns": "a,b"}, "columns must be a list of names, not 'a,b'"),
        ({"columns": []}, "columns must be a list of names, not []"),
        ({"key": "data"}, "`key` is an option of json files; a.csv is read as csv"),
    ],
)
def test_options_are_checked_at_the_call(write, options, message):
    name = write("a.csv", "a,b\n")
    with pytest.raises(ValueError, match=re.escape(message)):
        local(path=name, **options)


def test_table_options_are_for_tables(write):
    name = write("a.jsonl", "{}\n")
    with pytest.raises(
        ValueError,
        match=r"`delimiter` is an option of csv and tsv files; a\.jsonl is read as jsonl",
    ):
        local(path=name, delimiter=",")


def test_columns_may_be_numbers_as_a_command_line_makes_them(write):
    assert list(local(path=write("a.csv", "x,y\n"), columns=[0, 1.5])) == [{"0": "x", "1.5": "y"}]


def test_limit_counts_rows_and_reads_no_further(write):
    name = write("a.csv", "a,b\n\n1,2\n\n3,4\n5\n")
    assert list(local(2, path=name)) == [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]
    assert list(local(0, path=name)) == []


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    table=st.integers(2, 4).flatmap(
        lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=5)
    ),
    ending=st.sampled_from(["\n", "\r\n"]),
    suffix=st.sampled_from(["csv", "tsv"]),
)
def test_whatever_the_standard_library_writes_comes_back(write, table, ending, suffix):
    names = [f"c{place}" for place in range(len(table[0]) if table else 2)]
    stream = io.StringIO(newline="")
    writer = csv.writer(
        stream,
        lineterminator=ending,
        delimiter="," if suffix == "csv" else "\t",
        quoting=csv.QUOTE_ALL,
    )
    writer.writerows([names, *table])
    name = write(f"a.{suffix}", stream.getvalue())
    assert list(local(path=name)) == [dict(zip(names, row)) for row in table]
