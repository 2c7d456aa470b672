"""The verdict above a table: what it names, and where it is silent."""

from __future__ import annotations

import io
from typing import Any

import pytest

from context_bench import EvalResult, EvalRow
from context_bench.records import Failure, KeyMeaning
from context_bench.reporters import TableReporter
from context_bench_compare.one_line import one_line

efficiency = pytest.importorskip("context_bench_efficiency")


def rows(
    scores: dict[str, float], tokens: dict[str, int] | None, better: str = "higher"
) -> list[EvalRow]:
    """Return four rows of each system with its score, and with the tokens that it leaves of 100."""
    keys = {"f1": KeyMeaning("acme/words", better=better)}
    found = []
    for position in range(4):
        for number, (label, score) in enumerate(scores.items()):
            left = {} if tokens is None else {"context_tokens": tokens[label]}
            row = EvalRow(
                label,
                str(position),
                {"f1": score},
                primary="f1",
                keys=keys,
                position=position,
                system_number=number,
                input_tokens=100,
                response="yes",
                **left,  # type: ignore[arg-type]
            )
            found.append(row)
    return found


def result(scores: dict[str, float], tokens: dict[str, int] | None, **config: Any) -> EvalResult:
    better = config.pop("better", "higher")
    metrics = (efficiency.CompressionRatio(), *_usual())
    config = {"systems": list(scores), "datasets": [""], **config}
    return EvalResult(rows(scores, tokens, better), metrics, {}, config)


def _usual() -> list[Any]:
    from context_bench.metrics import Counts, MeanScore

    return [MeanScore(), Counts()]


@pytest.mark.parametrize(
    ("scores", "tokens", "config", "line"),
    [
        (
            {"whole": 0.8, "half": 0.8, "quarter": 0.8, "tenth": 0.2},
            {"whole": 100, "half": 50, "quarter": 25, "tenth": 10},
            {},
            "quarter keeps whole's answers at 25 % of the tokens (4 rows).",
        ),
        (
            {"whole": 0.8, "half": 0.6, "tenth": 0.2},
            {"whole": 100, "half": 50, "tenth": 10},
            {},
            "half loses 25 % of whole's score at 50 % of the tokens (4 rows).",
        ),
        (
            {"half": 0.6, "tenth": 0.6},
            {"half": 50, "tenth": 9},
            {},
            "tenth has the best score, 0.6000 at 9.0 % of the tokens (4 rows).",
        ),
        (
            {"other": 0.9, "base": 0.5, "half": 0.6},
            {"other": 100, "base": 100, "half": 50},
            {"baseline": "base"},
            "half keeps base's answers at 50 % of the tokens (4 rows).",
        ),
        ({"a": 0.5, "b": 0.7}, None, {}, "b has the best score, 0.7000 (4 rows)."),
        ({"a": 0.5, "b": 0.7}, None, {"better": "lower"}, "a has the best score, 0.5000 (4 rows)."),
        ({"a": 0.5, "b": 0.5}, None, {}, "The 2 systems have the same score, 0.5000."),
        (
            {"a": 0.5, "b": 0.5, "c": 0.5, "d": 0.5, "e": 0.5, "f": 0.1},
            None,
            {},
            "a, b, c and 2 others have the best score, 0.5000.",
        ),
    ],
    ids=[
        "fewest-tokens-of-those-that-keep",
        "least-loss",
        "no-reference",
        "baseline-of-the-run",
        "no-tokens",
        "lower",
        "same",
        "many",
    ],
)
def test_the_line_names_the_system_and_the_tokens(
    scores: dict[str, float], tokens: dict[str, int] | None, config: dict[str, Any], line: str
) -> None:
    assert one_line(result(scores, tokens, **config)) == line


@pytest.mark.parametrize(
    ("scores", "tokens", "config"),
    [
        ({"alone": 0.8}, {"alone": 100}, {}),
        ({"whole": 0.01, "half": 0.01}, {"whole": 100, "half": 50}, {}),
        ({"a": 0.5, "b": 0.7}, None, {"better": "neither"}),
        ({"a": 0.5, "oracle": 1.0}, None, {"reads_gold": ["oracle"]}),
        ({"a": 0.5, "control": 0.4}, None, {"derived": ["control"]}),
    ],
    ids=["one-system", "nobody-answers", "neither", "reads-gold", "derived"],
)
def test_there_is_no_line_where_there_is_nothing_to_say(
    scores: dict[str, float], tokens: dict[str, int] | None, config: dict[str, Any]
) -> None:
    assert one_line(result(scores, tokens, **config)) is None


def test_a_failed_row_counts_as_wrong() -> None:
    failed = Failure("system", "ConnectionError", "refused")
    found = [
        row
        if row.system == "a" or row.position
        else EvalRow("b", "0", {}, primary="f1", keys=row.keys, system_number=1, errors=(failed,))
        for row in rows({"a": 0.5, "b": 0.6}, None)
    ]
    told = EvalResult(found, _usual(), {}, {"systems": ["a", "b"], "datasets": [""]})
    assert one_line(told) == "a has the best score, 0.5000 (4 rows)."


def test_print_notebook_and_table_begin_with_the_line() -> None:
    shown = result({"whole": 0.8, "half": 0.8}, {"whole": 100, "half": 50})
    line = "half keeps whole's answers at 50 % of the tokens (4 rows)."
    assert shown.verdict() == line
    stream = io.StringIO()
    TableReporter().write(shown, stream)
    assert stream.getvalue().startswith(line)
    assert str(shown).startswith(line)
    assert shown._repr_html_().startswith("<p><strong>half keeps whole&#x27;s answers")


def test_twelve_systems_with_long_names_are_lines_of_at_most_100_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    labels = [f"a-compressor-with-a-long-name:ratio=0.{n:02},seed=1,model=large" for n in range(12)]
    shown = str(result(dict.fromkeys(labels, 0.5), dict.fromkeys(labels, 50)))
    assert max(map(len, shown.splitlines())) <= 100
    names = [line.split()[0] for line in shown.splitlines() if line.startswith(" a-comp")]
    assert len(set(names)) == 12
