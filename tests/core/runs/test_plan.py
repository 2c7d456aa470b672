"""The plan of a run: each of its steps alone, and one plan for every entry point."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench.errors import ConfigurationError, LockDriftError, UnknownNameError
from context_bench.plan.plan import (
    check_plan,
    make_plan,
    plan_datasets,
    plan_keys,
    plan_metrics,
    plan_systems,
    plan_wiring,
)
from context_bench.plan.run_config import RunConfig
from context_bench.plan.specs import Examples, parse_dataset
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.discovery import discover
from context_bench.plugins.settings import PluginSettings
from context_bench.records import ANY_KEY

Call = Callable[..., Any]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return discover(PluginSettings.read(environ={}))


def test_systems_have_labels_components_and_a_baseline(catalog: Catalog) -> None:
    config = RunConfig(systems=("identity", "short=bm25:ratio=0.3"), baseline="identity")
    plain, short = plan_systems(catalog, config)
    assert (plain.label, plain.is_baseline) == ("identity", True)
    assert (short.label, short.is_baseline) == ("short", False)
    assert [component.name for component in short.components] == ["bm25"]


def test_a_reader_follows_each_transformer(catalog: Catalog) -> None:
    config = RunConfig(systems=("bm25", "needle-oracle"), reader="needle-oracle")
    transformer, other = plan_systems(catalog, config)
    assert [component.name for component in transformer.components] == ["bm25", "needle-oracle"]
    assert [component.name for component in other.components] == ["needle-oracle"]


def test_an_unknown_option_of_a_system_is_found_without_an_import(catalog: Catalog) -> None:
    with pytest.raises(UnknownNameError) as error:
        plan_systems(catalog, RunConfig(systems="bm25:ratoi=1"))
    assert (error.value.code, error.value.name) == ("unknown-name", "ratoi")


def test_a_function_is_a_system_without_components(catalog: Catalog) -> None:
    def answer(example: dict[str, Any]) -> str:
        return ""

    [system] = plan_systems(catalog, RunConfig(systems=answer))
    assert (system.label, system.components, system.source) == ("answer", (), answer)


def test_datasets_of_one_name_have_different_labels(catalog: Catalog) -> None:
    texts = ("needle", "needle:length=500")
    first, second = plan_datasets(catalog, [parse_dataset(text) for text in texts])
    assert first.facts is not None
    assert second.facts is not None
    assert first.facts.label == "needle"
    assert second.facts.label != "needle"
    assert first.has_one_label


@pytest.mark.parametrize(
    "texts",
    [
        ("needle:length=500", "needle:length=500"),
        ("needle", "again=needle"),
        ("rows.jsonl", "./rows.jsonl"),
        ("rows.jsonl", "again=rows.jsonl"),
    ],
)
def test_a_dataset_that_is_given_twice_is_refused(catalog: Catalog, texts: tuple[str, str]) -> None:
    with pytest.raises(ConfigurationError, match=r"is given twice\..*use --repeat"):
        plan_datasets(catalog, [parse_dataset(text) for text in texts])


def test_rows_of_a_file_name_their_dataset_and_examples_have_no_component(
    catalog: Catalog,
) -> None:
    file, examples = plan_datasets(catalog, [parse_dataset("rows.jsonl"), Examples(None, [])])
    assert file.component is not None
    assert (file.component.name, file.has_one_label) == ("local", False)
    assert (examples.component, examples.facts) == (None, None)


def test_wiring_is_planned_for_datasets_and_further_labels(catalog: Catalog) -> None:
    datasets = plan_datasets(catalog, [parse_dataset("needle")])
    wiring = plan_wiring(catalog, RunConfig(), datasets, ["dialogsum"])
    assert list(wiring) == ["needle", "dialogsum"]
    assert "rouge" in [decision.component.name for decision in wiring["dialogsum"].wired]


def test_wiring_of_nothing_is_empty(catalog: Catalog) -> None:
    assert plan_wiring(catalog, RunConfig(), []) == {}


def test_metrics_are_those_of_packages(catalog: Catalog) -> None:
    with pytest.raises(UnknownNameError):
        plan_metrics(catalog, RunConfig(metrics=("nothing-like-this",)))
    assert plan_metrics(catalog, RunConfig(metrics=("counts",))) == {}


def test_keys_are_those_of_the_wired_evaluators(catalog: Catalog) -> None:
    datasets = plan_datasets(catalog, [parse_dataset("needle")])
    config = RunConfig(evaluators=("answer-quality",))
    keys = plan_keys(plan_wiring(catalog, config, datasets))
    assert "f1" in keys["needle"]
    assert ANY_KEY not in keys["needle"]
    assert plan_keys({}) == {}


def test_a_plan_imports_no_component() -> None:
    code = (
        "import sys\n"
        "from context_bench.plan.plan import make_plan\n"
        "from context_bench.plan.run_config import RunConfig\n"
        "from context_bench.plugins.discovery import discover\n"
        "from context_bench.plugins.settings import PluginSettings\n"
        "catalog = discover(PluginSettings.read(environ={}))\n"
        "plan = make_plan(catalog, RunConfig(systems='bm25', datasets='needle'))\n"
        "names = ('compress', 'needle', 'answer_quality')\n"
        "print([name for name in names if f'context_bench_{name}' in sys.modules], *plan.wiring)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "needle"]


def test_lock_dry_run_and_run_make_one_plan(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    from context_bench.cli import execute
    from context_bench.results.reading import read_result

    monkeypatch.chdir(tmp_path)
    asked = ["--system", "identity", "--dataset", "needle", "-n", "1"]
    config = RunConfig(systems="identity", datasets="needle", limit=1, locked="w.lock")
    assert execute(["lock", *asked, "--lock-file", "w.lock"]) == 0
    check_plan(make_plan(catalog, config))
    locked = [*asked, "--locked", "--lock-file", "w.lock"]
    assert execute(["run", *locked, "--dry-run"]) == 0
    assert execute(["run", *locked, "--run-file", "r.sqlite", "--format", "none", "-q"]) == 0
    capsys.readouterr()
    record = make_plan(catalog, config).wiring_record()
    stored = read_result("r.sqlite").config["wiring"]
    for name, wiring in record.items():
        assert set(stored[name]["evaluators"]) == set(wiring["evaluators"])
    changed = RunConfig(
        systems="identity", datasets="needle", locked="w.lock", exclude=("answer-quality",)
    )
    with pytest.raises(LockDriftError):
        check_plan(make_plan(catalog, changed))


def test_a_plan_is_plain_data(catalog: Catalog) -> None:
    plan = make_plan(catalog, RunConfig(systems="identity", datasets="needle"))
    assert json.loads(json.dumps(plan.wiring_record()))
    with pytest.raises(AttributeError):
        plan.systems = ()  # type: ignore[misc]


def test_two_systems_of_one_label_are_refused(catalog: Catalog) -> None:
    with pytest.raises(ConfigurationError):
        make_plan(catalog, RunConfig(systems=("a=identity", "a=bm25"), datasets="needle"))
