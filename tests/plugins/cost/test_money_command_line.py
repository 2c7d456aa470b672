"""Money on the command line: prices, a budget, and what is refused, against a server that counts words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("context_bench_openai", reason="these runs ask endpoints")
pytest.importorskip("context_bench_local", reason="these runs need the local plugin")
pytest.importorskip(
    "context_bench_answer_quality", reason="these runs need the answer-quality plugin"
)

Run = Callable[..., Any]


def summary(done: Any) -> dict[str, Any]:
    assert done.code == 0, done.err
    return dict(json.loads(done.out)["summary"])


PRICES = """
[prices]
currency = "EUR"
date = 2026-11-01

[prices.m]
input = 1000000
output = 10
cache_read = 100000
"""


def test_prices_of_a_file_turn_tokens_into_money(
    context_bench: Run, proxies: list[str], tmp_path: Path
) -> None:
    (tmp_path / "prices.toml").write_text(PRICES)
    priced = [
        *proxies,
        "--baseline",
        "direct",
        "--prices",
        "prices.toml",
        "--run-file",
        "r.sqlite",
        "-o",
        "r.txt",
    ]
    told = summary(context_bench(*priced))
    assert told["direct"]["cost"] == pytest.approx(2 * (8 + 0.00001))
    assert told["half"]["cost_saved"] == pytest.approx(1 - (4 + 0.00001) / (8 + 0.00001))
    assert told["direct"]["cost_saved"] == 0.0
    text = " ".join((tmp_path / "r.txt").read_text().split())
    assert "cost is in EUR" in text
    assert "the given prices of 2026-11-01" in text
    assert summary(context_bench("report", "r.sqlite", "--format", "json")) == told


def test_a_proxy_that_breaks_the_cache_saves_tokens_and_costs_more(
    context_bench: Run, model: Any, proxies: list[str], tmp_path: Path
) -> None:
    (tmp_path / "context-bench.toml").write_text(PRICES)
    model.extra = lambda path: (
        {} if "half" in path else {"prompt_tokens_details": {"cached_tokens": 7}}
    )
    pytest.importorskip("context_bench_efficiency", reason="it counts the saved tokens")
    told = summary(context_bench(*proxies, "--baseline", "direct"))
    assert told["half"]["tokens_saved"] == 0.5
    assert told["half"]["cost_saved"] == pytest.approx(1 - 4.00001 / 1.70001)
    assert told["direct"]["cache_read_share"] == 7 / 8


def test_the_budget_is_held_by_what_a_call_can_cost_before_it_is_made(
    context_bench: Run, model: Any, tmp_path: Path, counted_rows: str
) -> None:
    (tmp_path / "prices.toml").write_text(PRICES)
    asked = [
        "--system",
        f"openai:base_url={model},model=m,max_tokens=1",
        "--dataset",
        counted_rows,
        "--quiet",
    ]
    done = context_bench(*asked, "--prices", "prices.toml", "--max-cost", "9")
    assert done.code == 2
    assert model.asked == []
    assert "The run has cost 0.0000 EUR, and another call might exceed the 9" in done.err
    done = context_bench(
        *asked, "--prices", "prices.toml", "--max-cost", "15", "--max-workers", "2"
    )
    assert (done.code, len(model.asked)) == (2, 1)
    assert "The run has cost 8.0000 EUR" in done.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "prices.toml has no table [prices]."),
        ("[prices", "not valid TOML"),
        (
            "[prices.m]\ninput = 1",
            'prices."m" has no output: a model needs a price for input and for output.',
        ),
        (
            "[prices.m]\ninput = -1\noutput = 1",
            'prices."m".input is -1, but must be money for a million tokens.',
        ),
        ("[prices.m]\ninput = nan\noutput = 1", 'prices."m".input is nan'),
        ("[prices.m]\ninptu = 1\noutput = 1", "Did you mean 'input'?"),
        ("[prices]\nm = 3", "prices.m is 3. A model is a table"),
        ("[prices]\ncurrency = ''", "currency is empty"),
    ],
)
def test_prices_of_another_form_are_refused_in_one_line(
    context_bench: Run, proxies: list[str], tmp_path: Path, text: str, message: str, model: Any
) -> None:
    (tmp_path / "prices.toml").write_text(text)
    done = context_bench(*proxies, "--prices", "prices.toml")
    assert done.code == 2
    assert message in done.err
    assert model.asked == []


def test_a_file_of_prices_is_laid_over_those_of_the_project(
    context_bench: Run, proxies: list[str], tmp_path: Path
) -> None:
    (tmp_path / "context-bench.toml").write_text("[prices.m]\ninput = 1\noutput = 1\n")
    (tmp_path / "prices.toml").write_text("[prices.m]\ninput = 1000000\noutput = 0\n")
    assert summary(context_bench(*proxies, "--prices", "prices.toml"))["direct"]["cost"] == 16.0
    (tmp_path / "prices.toml").write_text(
        '[prices]\ncurrency = "EUR"\n[prices.m]\ninput = 1\noutput = 0\n'
    )
    done = context_bench(*proxies, "--prices", "prices.toml")
    assert (done.code, "A run has one currency" in done.err) == (2, True)


def test_a_model_without_a_price_is_named_before_the_run(
    context_bench: Run, proxies: list[str], tmp_path: Path
) -> None:
    (tmp_path / "prices.toml").write_text("[prices.other]\ninput = 1\noutput = 1\n")
    done = context_bench(*proxies, "--prices", "prices.toml")
    assert "No price is given for 'm', the model of half." in done.err
    assert "cost" not in summary(done)["half"]


def test_the_project_file_and_set_limit_a_run_and_resume_goes_on_with_more(
    context_bench: Run, model: Any, tmp_path: Path, counted_rows: str
) -> None:
    (tmp_path / "context-bench.toml").write_text(f"{PRICES}\n[run]\nmax-cost = 9\n")
    asked = [
        "--system",
        f"openai:base_url={model},model=m",
        "--dataset",
        counted_rows,
        "--quiet",
        "--max-workers",
        "1",
    ]
    done = context_bench("run", *asked, "--run-file", "r.sqlite")
    assert (done.code, len(model.asked)) == (2, 1)
    assert "another call might exceed the 9" in done.err
    done = context_bench("resume", "r.sqlite", "--quiet")
    assert (done.code, len(model.asked)) == (2, 1)
    assert "The run has cost 8.0000 EUR" in done.err
    done = context_bench("resume", "r.sqlite", "--quiet", "--max-cost", "20", "--format", "json")
    assert summary(done)["openai"]["cost"] == pytest.approx(2 * (8 + 0.00001))
    done = context_bench("run", *asked, "--set", "run.max-cost=7")
    assert "another call might exceed the 7" in done.err


def test_the_part_stands_in_the_plan_and_in_the_run_file(
    context_bench: Run, proxies: list[str]
) -> None:
    done = context_bench(*proxies, "--max-cost", "5", "--dry-run")
    assert "context-bench-cost/money" in done.out
    assert "context-bench-cost/money" not in context_bench(*proxies, "--dry-run").out
