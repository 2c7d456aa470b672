"""Tables within a record."""

from __future__ import annotations

import pytest

from context_bench_huggingface.layouts import rows_of

ROWS = [
    {"q": "a", "answers": [{"text": "x"}, {"text": "y"}]},
    {"q": "b", "answers": [{"text": "z"}]},
]


def test_columns_may_be_columns_themselves():
    assert rows_of(
        {"date": {"day": [1, 2], "year": [3, 4]}, "number": ["", "5"], "worker": None}
    ) == [
        {"date": {"day": 1, "year": 3}, "number": ""},
        {"date": {"day": 2, "year": 4}, "number": "5"},
    ]


@pytest.mark.parametrize(
    "table", [ROWS, tuple(ROWS), {"q": ["a", "b"], "answers": [row["answers"] for row in ROWS]}]
)
def test_rows_and_columns_are_the_same_table(table):
    assert rows_of(table) == ROWS


@pytest.mark.parametrize("table", [None, [], {}, {"q": []}, {"q": None}])
def test_nothing_is_no_rows(table):
    assert rows_of(table) == []


@pytest.mark.parametrize(
    ("table", "error"),
    [
        ("ab", TypeError),
        ({"q": "ab"}, TypeError),
        ({"q": b"ab"}, TypeError),
        ({"q": [1, 2], "a": [1]}, ValueError),
        (3, TypeError),
    ],
    ids=repr,
)
def test_what_is_no_table_is_refused(table, error):
    with pytest.raises(error):
        rows_of(table)
