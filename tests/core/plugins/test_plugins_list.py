"""The page that a team opens first: complete at any width, and told to programs in strict JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]

RICH = """
    schema = 1
    api = "1.0"

    [evaluators.thorough-evaluator-with-a-long-name]
    summary = "Looks at everything that there is to be looked at, twice, and then says what it has found there, at length"
    class = "Evaluator"
    primary = "thoroughness_of_the_response"
    version = "1"
    needs = { original = ["answer|answers", "context"], processed = ["response"] }
    capabilities = ["network", "subprocess", "env:ACME_API_KEY"]
    wire = [
        { datasets = ["a-dataset", "another-dataset", "and-one-more-dataset"] },
        { tags = ["thorough"] },
        { option = "acme-url" },
    ]
    scores.thoroughness_of_the_response = { range = [0, "inf"] }
    scores.speed_of_the_evaluation = { range = ["-inf", 5], better = "neither" }
    options.acme_url = { required = true, flag = "--acme-url", help = "Address of the service" }
    options.rate = { type = "float", default = 0.0, help = "How much" }

    [datasets.a-dataset]
    summary = "Examples"
    class = "data"
    tags = ["thorough"]
    configs = ["first-configuration", "second-configuration"]
    files = [".acme"]

    [systems.a-system]
    summary = "Answers"
    class = "System"
    kind = "endpoint"
    capabilities = ["network"]
"""
POINTS = {
    "evaluators": {"thorough-evaluator-with-a-long-name": "acme_rich:Evaluator"},
    "datasets": {"a-dataset": "acme_rich:data"},
    "systems": {"a-system": "acme_rich:System"},
}


@pytest.fixture
def crowd(site: Any) -> Any:
    """Plugins in every state that discovery tells."""
    site.basics()
    site.add("acme-rich", manifest=RICH, entry_points=POINTS)
    site.evaluator("acme-old", "old", manifest='schema = 1\napi = "0.1"\n')
    site.evaluator("acme-torn", "torn", manifest="[evaluators\n")
    site.evaluator("acme-lonely", "lonely", requires=("something-that-nobody-ever-installed",))
    site.evaluator("acme-a", "same")
    site.evaluator("acme-b", "same")
    site.evaluator("acme-plain", "plain", manifest=None)
    return site


def test_the_json_is_strict_and_complete(crowd: Any, context_bench: Run) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    told = json.loads(context_bench("plugins", "list", "--json").out, parse_constant=refuse)
    [thorough] = [entry for entry in told if entry["name"].startswith("thorough")]
    assert thorough["id"] == "acme-rich/thorough-evaluator-with-a-long-name"
    assert thorough["kind"] == "evaluator"
    assert thorough["scores"] == {
        "thoroughness_of_the_response": {
            "range": [0.0, None],
            "better": "higher",
            "aggregate": "mean",
        },
        "speed_of_the_evaluation": {"range": [None, 5.0], "better": "neither", "aggregate": "mean"},
    }
    assert thorough["wired_to"] == [
        "a-dataset, another-dataset, and-one-more-dataset",
        "tag thorough",
        "any dataset with --acme-url",
    ]
    assert thorough["options"]["acme_url"]["required"] is True
    assert thorough["options"]["rate"]["default"] == 0.0
    assert len(thorough["manifest_sha256"]) == 64
    common = set.intersection(*(set(entry) for entry in told))
    assert common >= {
        "id",
        "kind",
        "name",
        "state",
        "reason",
        "remedy",
        "distribution",
        "distribution_version",
        "warnings",
    }


def test_the_list_can_be_narrowed_to_a_kind(crowd: Any, context_bench: Run) -> None:
    told = json.loads(context_bench("plugins", "list", "--kind", "systems", "--json").out)
    assert {entry["kind"] for entry in told} == {"system"}


def test_show_tells_everything_about_a_component_or_a_distribution(
    crowd: Any, context_bench: Run
) -> None:
    words = context_bench("plugins", "show", "acme-rich").words
    for fact in (
        "range 0 to unbounded",
        "range unbounded to 5",
        "default 0.0",
        "flag --acme-url",
        "required yes",
        "endpoint",
    ):
        assert fact in words
    assert "acme-rich/a-system" in words
    assert "acme-rich/a-dataset" in words
    done = context_bench("plugins", "show", "acme-rihc")
    assert (done.code, "Did you mean 'acme-rich'" in done.err) == (2, True)


def test_the_lists_of_one_kind_tell_the_state(crowd: Any, context_bench: Run) -> None:
    done = context_bench("evaluators", "list", columns=60)
    assert done.code == 0
    assert "[missing-dependency] Scores lonely" in done.words
    assert "torn [invalid] its manifest has a fault: not valid TOML" in done.words
    shown = json.loads(context_bench("systems", "show", "a-system", "--json").out)
    assert shown["system_kind"] == "endpoint"
    done = context_bench("datasets", "show", "a-datset")
    assert (done.code, "Did you mean 'a-dataset'?" in done.err) == (2, True)


def test_nobody_reads_a_secret_there(site: Any, context_bench: Run) -> None:
    manifest = RICH.replace(
        "options.rate = {",
        'options.token = { secret = true, default = "s3cret", help = "x" }\n    options.rate = {',
    )
    site.add("acme-rich", manifest=manifest, entry_points=POINTS)
    for arguments in (
        ("plugins", "list", "-v"),
        ("plugins", "list", "--json"),
        ("plugins", "show", "acme-rich"),
        ("run", "--help-all"),
    ):
        assert "s3cret" not in context_bench(*arguments).words


def test_the_usual_list_is_one_screen_with_counts_and_what_is_wrong(
    crowd: Any, context_bench: Run
) -> None:
    done = context_bench("plugins", "list", alone=False, columns=100)
    assert done.code == 0
    assert len(done.out.splitlines()) < 60
    assert "evaluators" in done.out
    assert "acme-lonely: evaluator lonely is missing a dependency" in done.words
    assert "pip install something-that-nobody-ever-installed" in done.words
