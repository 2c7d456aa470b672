"""Suites that call a model: the user names it and its endpoint, and runs of unequal models are not compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("context_bench_suites", reason="context-bench-suites is not installed")

from context_bench.cli import execute
from context_bench.runs import open_run
from context_bench_suites.pins import differences

REFUSED = 2


def answers_with_the_context(request: dict[str, Any]) -> str:
    """Return everything that the model was sent before the question: all needles that are left in it."""
    return " ".join(message["content"] for message in request["messages"][:-1]) or "none"


def run(fake: Any, path: Path, *flags: str, model: str = "small-1", rows: int = 1) -> int:
    return execute(
        [
            *(
                "suite",
                "run",
                "proxy-small",
                "--model",
                model,
                "--endpoint",
                fake.url,
                "-n",
                str(rows),
            ),
            *("--run-file", str(path), "--quiet", "--json", *flags),
        ]
    )


def test_proxy_small_measures_proxies_and_compressors(
    fake: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.says(answers_with_the_context)
    flags = ("--proxy", f"mine={fake.url}", "--system", "late=tail:ratio=0.9")
    assert run(fake, tmp_path / "a.sqlite", *flags, rows=2) == 0
    told = json.loads(capsys.readouterr().out)
    table = {line["system"]: line for line in told["headline"]}
    assert list(table) == ["direct", "empty", "half", "mine", "late"]
    assert table["direct"]["needles"] == table["mine"]["needles"] == 1.0
    assert table["empty"]["needles"] == table["empty"]["documents"] == 0.0
    assert 0 < table["half"]["needles"] < 1
    assert table["mine"]["tokens saved"] == 0.0
    assert {line["baseline"] for line in told["comparisons"]} == {"direct"}
    assert {request["model"] for request in fake.requests} == {"small-1"}
    assert {request["temperature"] for request in fake.requests} == {0.0}


def test_runs_of_unequal_models_are_refused_and_those_of_unequal_addresses_are_not(
    fake: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.says(answers_with_the_context)
    first, second, third = (tmp_path / f"{name}.sqlite" for name in "abc")
    assert run(fake, first, "--proxy", fake.url) == 0
    assert run(fake, second, "--proxy", fake.url, "--endpoint", f"{fake.url}/v1") == 0
    assert run(fake, third, "--proxy", fake.url, model="small-2") == 0
    with open_run(first) as one, open_run(second) as other:
        assert differences(one, other) == []
    assert execute(["suite", "compare", str(first), str(second)]) == 0
    capsys.readouterr()
    assert execute(["suite", "compare", str(first), str(third)]) == REFUSED
    assert "model: small-1 and small-2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["proxy-small", "--proxy", "URL"], "No model given."),
        (["proxy-small", "--proxy", "URL", "--model", "m"], "No endpoint given."),
        (["proxy-small", "--model", "m", "--endpoint", "URL"], "No system given."),
        (["compressor-offline", "--system", "head", "--model", "m"], "calls no model"),
        (
            [
                *("proxy-small", "--model", "m", "--endpoint", "URL"),
                *("--system", "openai:model=other,base_url=URL"),
            ],
            "calls the model other",
        ),
    ],
)
def test_a_suite_without_what_it_needs_is_refused_before_the_first_call(
    fake: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    flags: list[str],
    expected: str,
) -> None:
    flags = [flag.replace("URL", fake.url) for flag in flags]
    assert execute(["suite", "run", *flags, "--run-file", str(tmp_path / "a.sqlite")]) == REFUSED
    assert expected in capsys.readouterr().err
    assert not fake.requests
