"""A planned run is prepared in steps: each alone, and together without a run file or a call of a system."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from context_bench.errors import ConfigurationError, MetricError, MissingValueError
from context_bench.plan.plan import make_plan
from context_bench.plan.run_config import RunConfig
from context_bench.plan.specs import Examples, SystemSpec
from context_bench.plan.wiring import WiringPlanner
from context_bench.plugins.catalog import Catalog
from context_bench.records import KeyMeaning
from context_bench.redaction import REDACTED
from context_bench.results.metrics import MeanScore
from context_bench.results.registry import RunMetric
from context_bench.run.jobs import LabelWiring, Scorer
from context_bench.session.hooks import RunHooks
from context_bench.session.location import RunLocation, find_earlier
from context_bench.session.prepare import (
    build_systems,
    check_metrics,
    find_reference,
    open_datasets,
    prepare,
    prepare_config,
    require_complete,
)
from context_bench.session.session import RunSession
from context_bench.session.warnings import Warnings
from context_bench.session.wiring import Wiring

ROWS = [{"id": "1", "question": "a"}, {"id": "2", "question": "b"}]


class Exact:
    name = "exact"
    score_keys = ("same",)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        return {"same": float(processed["response"] == original["question"])}


class Recorder:
    """A system that records its calls."""

    name = "recorder"

    def __init__(self) -> None:
        self.calls: list[str] = []

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        self.calls.append(example["id"])
        return {"response": example["question"]}


def config_of(system: Any, **more: Any) -> RunConfig:
    return RunConfig(
        systems=(system,),
        datasets=(Examples("toy", ROWS),),
        evaluators=(Exact(),),
        progress=False,
        **more,
    )


def ignore(line: str) -> None:
    pass


def test_a_prepared_run_has_called_nothing_and_written_nothing(tmp_path: Path) -> None:
    system = Recorder()
    path = tmp_path / "run.sqlite"
    prepared = prepare(
        Catalog(),
        make_plan(Catalog(), config_of(system, repeat=3)),
        RunLocation(path),
        Warnings(),
    )
    assert [built.label for built in prepared.systems] == ["recorder"]
    assert list(prepared.wiring.by_label) == ["toy"]
    assert (prepared.rows_per_system, prepared.expected_rows) == (6, 6)
    assert prepared.max_workers == 1
    assert not system.calls
    assert not path.exists()


def test_a_session_executes_a_prepared_run(tmp_path: Path) -> None:
    system = Recorder()
    location = RunLocation(tmp_path / "run.sqlite")
    warnings = Warnings()
    prepared = prepare(Catalog(), make_plan(Catalog(), config_of(system)), location, warnings)
    result = RunSession(Catalog(), prepared, location, warnings).execute()
    assert system.calls == ["1", "2"]
    assert [row.scores for row in result.rows] == [{"same": 1.0}, {"same": 1.0}]
    assert location.path is not None
    assert location.path.exists()


def test_a_fault_found_while_preparing_leaves_no_run_file(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    config = config_of(Recorder(), tokenizer="nothing-of-this-name")
    with pytest.raises(ConfigurationError):
        prepare(Catalog(), make_plan(Catalog(), config), RunLocation(path), Warnings())
    assert not path.exists()


def test_a_configuration_needs_a_dataset() -> None:
    with pytest.raises(MissingValueError) as error:
        prepare_config(Catalog(), RunConfig(systems=(Recorder(),)), RunHooks(Catalog()))
    assert error.value.code == "missing-value"


def test_a_secret_that_was_not_stored_is_required_again() -> None:
    spec = SystemSpec("endpoint", {"api_key": REDACTED})
    with pytest.raises(ConfigurationError) as error:
        require_complete(RunConfig(systems=(spec,), datasets=(Examples("toy", ROWS),)))
    assert "api_key of endpoint" in str(error.value)


def test_systems_are_built_in_their_order_with_labels() -> None:
    config = RunConfig(systems=(lambda example: "x", Recorder()), datasets=(Examples("toy", ROWS),))
    built = build_systems(Catalog(), config, RunHooks(Catalog()), "run", ignore)
    assert [(system.number, system.label) for system in built] == [(0, "<lambda>"), (1, "recorder")]
    assert not any(system.shared for system in built)  # neither has a fingerprint


def test_there_is_no_reference_unless_one_is_named() -> None:
    assert find_reference(config_of(Recorder()), RunHooks(Catalog()), ["recorder"]) is None


def test_opening_datasets_wires_those_with_one_label() -> None:
    config = RunConfig(
        systems=(Recorder(),),
        datasets=(Examples("toy", ROWS), Examples(None, ROWS)),
        evaluators=(Exact(),),
    )
    wiring = Wiring(WiringPlanner(Catalog(), config))
    opened = open_datasets(Catalog(), config, wiring, ignore)
    assert [dataset.label for dataset in opened] == ["toy", None]
    assert list(wiring.by_label) == ["toy"]


def test_a_misspelt_score_is_found_before_the_first_example() -> None:
    wiring = Wiring(WiringPlanner(Catalog(), RunConfig()))
    scorer = Scorer(0, "exact", Exact(), b"key", keys={"same": KeyMeaning("exact")})
    wiring.by_label["toy"] = LabelWiring(0, "toy", (scorer,))
    misspelt = RunMetric(MeanScore(score_field="saem"))
    with pytest.raises(MetricError):
        check_metrics([misspelt], wiring, ["same"])
    check_metrics([RunMetric(MeanScore(score_field="same"))], wiring, ["same"])
    check_metrics([misspelt], wiring, None)


def test_without_earlier_runs_nothing_is_reused(tmp_path: Path) -> None:
    assert find_earlier(config_of(Recorder(), cache_dir=str(tmp_path / "absent"))) is None
    assert find_earlier(config_of(Recorder(), reuse=(str(tmp_path),))) is not None
