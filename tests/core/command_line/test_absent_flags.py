"""A flag that a package of the project would bring is told with the package."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import importlib_metadata
import pytest

from context_bench.installation import install_hint


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Take a distribution away, and what brings the flags that it shares with others."""
    discover = importlib_metadata.Distribution.discover

    def take(name: str) -> None:
        hidden = {name, "context-bench-judging"}
        monkeypatch.setattr(
            importlib_metadata.Distribution,
            "discover",
            lambda **query: [
                found for found in discover(**query) if found.metadata["Name"] not in hidden
            ],
        )

    return take


@pytest.mark.parametrize("command", [("run",), (), ("preflight",), ("lock",)], ids=" ".join)
@pytest.mark.parametrize(
    ("flag", "package"),
    [
        ("--judge-url", "context-bench-judge"),
        ("--judge-model", "context-bench-judge"),
        ("--allow-unsandboxed-code", "context-bench-code"),
    ],
)
def test_the_package_is_named(
    command: tuple[str, ...],
    flag: str,
    package: str,
    context_bench: Any,
    without: Callable[[str], None],
) -> None:
    without(package)
    value = [] if flag.startswith("--allow") else ["x"]
    done = context_bench(*command, "--system", "identity", flag, *value)
    assert done.code == 2
    assert f"{flag} is an option of the evaluator {package.rpartition('-')[2]}" in done.err
    assert install_hint(package) in done.err


def test_an_equals_sign_makes_no_difference(
    context_bench: Any, without: Callable[[str], None]
) -> None:
    without("context-bench-judge")
    assert (
        "context-bench-judge"
        in context_bench("run", "--system", "identity", "--judge-url=http://x").err
    )


def test_any_other_flag_is_unknown_as_before(context_bench: Any) -> None:
    done = context_bench("run", "--juge-url", "x")
    assert done.code == 2
    assert "No such option" in done.err


def test_a_proxy_without_its_package_names_the_package(
    context_bench: Any, without: Callable[[str], None]
) -> None:
    without("context-bench-openai")
    done = context_bench("preflight", "--proxy", "http://127.0.0.1:9")
    assert done.code == 2
    assert install_hint("context-bench-openai") in done.err


@pytest.mark.parametrize(
    "asked",
    [("-o", "page.md"), ("-o", "rows.csv"), ("--format", "markdown")],
    ids=["markdown", "csv", "format"],
)
def test_a_report_whose_package_is_absent_names_it(
    asked: tuple[str, str], context_bench: Any, without: Callable[[str], None]
) -> None:
    without("context-bench-reports")
    done = context_bench("run", "--system", "identity", "--dataset", "needle", "-n", "1", *asked)
    assert done.code == 2
    assert install_hint("context-bench-reports") in done.err


@pytest.mark.parametrize(
    "command", [("run", "--run-file", "r.sqlite"), ("run", "--dry-run"), ("lock",)], ids=" ".join
)
def test_a_reference_whose_package_is_absent_names_it(
    command: tuple[str, ...], context_bench: Any, without: Callable[[str], None], jsonl: Any
) -> None:
    without("context-bench-agreement")
    asked = [
        "--system",
        "identity",
        "--reference-from",
        "identity",
        "--dataset",
        jsonl([{"question": "q"}]),
    ]
    done = context_bench(*command, *asked)
    assert done.code == 2
    assert install_hint("context-bench-agreement") in done.err
    assert not Path("r.sqlite").exists()


def test_a_run_with_a_reference_is_reported_without_the_package_as_it_was(
    context_bench: Any, without: Callable[[str], None], jsonl: Any
) -> None:
    pytest.importorskip("context_bench_agreement", reason="it scores these rows")
    pytest.importorskip("context_bench_answer_quality", reason="it scores these rows")
    asked = ["--system", "identity", "--system", "other=identity", "--reference-from", "identity"]
    rows = jsonl([{"question": "q", "context": "c", "response": "red"}])
    before = context_bench(
        *asked, "--dataset", rows, "--evaluators", "answer-quality", "--run-file", "r.sqlite"
    )
    assert before.code == 3, before.err  # identity replies nothing, so no row has a score
    without("context-bench-agreement")
    again = context_bench("report", "r.sqlite", "--format", "json")
    assert again.code == 0, again.err
    assert "Metric agreement is not computed" in again.err
    rescored = context_bench("rescore", "r.sqlite", "--force")
    assert (rescored.code, install_hint("context-bench-agreement") in rescored.err) == (2, True)
