"""One request: what ``evaluate()`` was asked for is what its run file says, and what cannot be kept is asked for by name."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from context_bench import evaluate
from context_bench.cli import execute
from context_bench.config import examples_of
from context_bench.errors import ConfigurationError, ContextBenchError, StoreError
from context_bench.metrics import MeanScore
from context_bench.plan.project import project_request
from context_bench.plan.run_config import PARAMETERS, RunConfig, absent
from context_bench.plan.specs import Examples, parse_dataset, parse_system
from context_bench.plan.value_types import AbsentObject
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.catalog_cache import remembered_catalog
from context_bench.plugins.discovery import discover
from context_bench.plugins.settings import PluginSettings
from context_bench.session.location import run_path
from context_bench.session.run import resume

EXAMPLES = [
    {"id": str(number), "question": "one two three", "answer": "one"} for number in range(5)
]


def echo(example: dict[str, Any]) -> str:
    return str(example["question"])


class Two:
    """An evaluator of the caller's own, with two scores."""

    name = "two"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        return {"score": 1.0, "recall": 0.2}


def asked(path: Path, **more: Any) -> Any:
    return evaluate(echo, EXAMPLES, [Two()], progress=False, run_file=path, **more)


def test_report_looks_at_the_score_and_the_threshold_that_evaluate_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    path = tmp_path / "f.sqlite"
    found = asked(path, score_field="recall", threshold=0.1).summary["echo"]
    assert found["mean_score"] == pytest.approx(0.2)
    assert found["pass_rate"] == 1.0
    assert execute(["report", str(path), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)["summary"]["echo"]
    assert (told["mean_score"], told["pass_rate"]) == (found["mean_score"], found["pass_rate"])


def test_evaluate_keeps_its_whole_request_and_objects_by_their_names(tmp_path: Path) -> None:
    path = tmp_path / "f.sqlite"
    result = asked(path, repeat=2, order="system", metrics=[MeanScore("recall"), "counts"])
    kept = RunConfig.from_dict(result.config["request"])
    assert (kept.repeat, kept.order) == (2, "system")
    assert [(part, one.name) for part, one in absent(kept)] == [
        ("system", "echo"),
        ("dataset", ""),
        ("evaluator", "two"),
        ("metric", "mean_score"),
    ]
    assert kept.metrics is not None
    assert kept.metrics[1] == "counts"


def test_resume_asks_by_name_for_the_objects_that_no_file_can_keep(tmp_path: Path) -> None:
    path = tmp_path / "f.sqlite"
    asked(path)
    with pytest.raises(
        StoreError,
        match=r"the system echo .*the evaluator two .*Call evaluate\(\) again with run_file",
    ):
        resume(discover(PluginSettings()), path)


def test_rescore_refuses_to_move_the_primary_of_an_evaluator_that_it_does_not_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip(
        "context_bench_answer_quality", reason="it would take the evaluator's place"
    )
    path = tmp_path / "f.sqlite"
    asked(path)
    before = path.read_bytes()
    assert execute(["rescore", str(path)]) == 2
    assert "the evaluator two" in capsys.readouterr().err
    assert path.read_bytes() == before
    assert (
        execute(["rescore", str(path), "--evaluators", "answer-quality", "--format", "none"]) == 0
    )
    assert execute(["rescore", str(path), "--exclude", "two", "--format", "none"]) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"evaluators": ["rogue"]},
        {"add_evaluators": ["rogue"], "evaluators": None},
        {"score_field": "nope", "evaluators": ["answer-quality"]},
        {"metrics": ["nope"]},
        {"tokenizer": "nope"},
        {"baseline": "nope"},
        {"options": {"answer-quality": {"nope": 1}}, "evaluators": ["answer-quality"]},
    ],
    ids=str,
)
def test_a_run_that_cannot_begin_leaves_nothing(wrong: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("context_bench_answer_quality", reason="it is wired")
    given = {"evaluators": [Two()], "dataset": EXAMPLES, **wrong}
    labelled = {"dataset": None, "datasets": {"here": EXAMPLES}}
    for name, datasets in [("labelled", labelled), ("one", {})]:
        with pytest.raises(ContextBenchError):
            evaluate(
                echo, progress=False, run_file=tmp_path / f"{name}.sqlite", **{**given, **datasets}
            )  # type: ignore[arg-type]
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "name", "label", "config", "options"),
    [
        ("tickets,seed=4", "tickets", None, None, {"seed": "4"}),
        ("mine=tickets,seed=4,size=2", "tickets", "mine", None, {"seed": "4", "size": "2"}),
        ("tickets,url=http://a:1/b", "tickets", None, None, {"url": "http://a:1/b"}),
        ("tickets:long,seed=4", "tickets", None, "long", {"seed": "4"}),
        ("tickets:seed=4", "tickets", None, None, {"seed": "4"}),
        ("a folder/rows,2.jsonl", "a folder/rows,2.jsonl", None, None, {}),
    ],
)
def test_a_comma_does_for_the_colon_where_only_options_follow(
    text: str, name: str, label: str | None, config: str | None, options: dict[str, str]
) -> None:
    spec = parse_dataset(text)
    assert (spec.name, spec.label, spec.config, spec.options) == (name, label, config, options)
    if config is None and "/rows" not in text:
        system = parse_system(text)
        assert (system.name, system.label, system.options) == (name, label, options)


def test_every_parameter_is_declared_once_and_kept_as_it_was() -> None:
    catalog = Catalog()
    other: dict[str, Any] = {
        "systems": (parse_system("a:x=1"), AbsentObject("o", "m.O")),
        "datasets": (parse_dataset("b:c,x=1"), AbsentObject("l", "builtins.list")),
        "fields": {"answer": "gold"},
        "reader": parse_system("r"),
        "score_prefixes": {"a": "b_"},
        "options": {"judge": {"model": "m"}},
        "order": "system",
        "log_format": "json",
        "store_examples": False,
        "shard": "1/4",
    }
    kinds: dict[str, Any] = {
        "table": {"name": {"option": 1}},
        "int": 3,
        "number": 0.5,
        "share": 0.5,
        "bool": True,
        "str": "word",
        "path": "p",
        "list of str": ("n",),
    }
    for name, one in PARAMETERS.items():
        request = RunConfig(**{name: other.get(name, kinds.get(one.type.name))})
        assert getattr(request, name) != getattr(RunConfig(), name) or name == "progress", name
        if one.stored:
            assert getattr(RunConfig.from_dict(request.to_dict(catalog)), name) == getattr(
                request, name
            ), name
        else:
            assert name not in request.to_dict(catalog)


def test_no_two_parameters_share_a_flag_a_key_or_a_name_in_evaluate() -> None:
    for said in (
        [flag for one in PARAMETERS.values() for flag in one.flags],
        [one.key for one in PARAMETERS.values() if one.key],
        [one.python for one in PARAMETERS.values() if one.python],
    ):
        assert len(said) == len(set(said))


def test_the_signature_of_evaluate_is_that_of_the_request() -> None:
    parameters = inspect.signature(evaluate).parameters
    declared = {one.python: one for one in PARAMETERS.values() if one.python}
    assert set(parameters) == set(declared) | {"dataset", "on_warning", "flags"}
    for name, one in declared.items():
        wanted = (
            inspect.Parameter.empty
            if name == "systems"
            else None
            if callable(one.default)
            else one.default
        )
        assert parameters[name].default == wanted, name


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"limit": 0}, "max_examples must be a positive integer"),
        ({"limit": True}, "max_examples must be"),
        ({"row_timeout": float("nan")}, "row_timeout must be a number above zero"),
        ({"row_timeout": 10**400}, "row_timeout must be a number above zero"),
        ({"max_failed": 2}, "max_failed must be a share such as 1% or 0.01, got 2"),
        ({"order": "sideways"}, "Unknown order 'sideways'"),
        ({"add_evaluators": [3]}, "add_evaluators must be a list of names"),
        ({"limit": 1, "sample": 1}, "-n and --sample cannot be used together"),
        ({"store_examples": "yes"}, "store_examples must be true or false"),
        ({"repeat": 1025}, "A run holds at most 1,024 repetitions of each example, not 1,025"),
        ({"systems": ["replay"] * 1025}, "A run holds at most 1,024 systems, not 1,025"),
        ({"datasets": ["toy"] * 1025}, "A run holds at most 1,024 datasets, not 1,025"),
        (
            {"requests_per_minute": 1e-300},
            "requests_per_minute must be a number, 0.001 at least",
        ),
        ({"tokens_per_minute": 0}, "tokens_per_minute must be a number, 0.001 at least"),
        ({"ids": []}, "ids names nothing"),
        ({"text_fields": []}, "text_fields names nothing"),
        ({"run_file": ""}, "run_file must be a path"),
    ],
    ids=str,
)
def test_a_value_of_another_kind_is_refused_by_its_name(
    values: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        RunConfig(**values)
    with pytest.raises(ConfigurationError, match=message):
        evolve(RunConfig(), **values)


@pytest.mark.parametrize("key", ["ids", "text-fields"])
def test_a_selection_of_the_project_file_that_names_nothing_is_refused(key: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"context-bench\.toml: run\.{key} names nothing"):
        project_request({"run": {key: []}}, Catalog())


def test_fields_that_no_dataset_takes_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="fields are for datasets that are named by specs"):
        evaluate(
            lambda example: "a", [{"question": "q"}], [], fields={"answer": "gold"}, progress=False
        )


@pytest.mark.parametrize("kind", [str, Path, os.fsencode], ids=["text", "path", "bytes"])
def test_a_path_may_be_of_any_kind_that_python_takes(kind: Any, tmp_path: Path) -> None:
    path = tmp_path / "a run ü.sqlite"
    evaluate(lambda example: "a", [{"question": "q"}], [], run_file=kind(path), progress=False)
    assert path.exists()


def test_as_much_is_taken_as_a_run_file_can_number() -> None:
    assert RunConfig(repeat=1024, systems=["replay"] * 1024, datasets=["toy"] * 1024).repeat == 1024


def settled_folder(path: Path, install: Callable[[], None]) -> None:
    """Install something, as if that had been an hour ago."""
    install()
    for place, _, files in os.walk(path):
        for name in (".", *files):
            os.utime(os.path.join(place, name), (1_700_000_000, 1_700_000_000))


def test_the_catalog_is_taken_again_until_anything_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []

    def look(settings: PluginSettings) -> Catalog:
        looked.append(1)
        return discover(settings)

    monkeypatch.setattr("context_bench.plugins.catalog_cache.discover", look)
    monkeypatch.setattr("context_bench.plugins.catalog_cache._remembered", [])
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    info, package = tmp_path / "toy_things-1.0.dist-info", tmp_path / "toy_things"

    def install() -> None:
        info.mkdir()
        package.mkdir()
        (info / "METADATA").write_text("Name: toy-things\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[context_bench.evaluators]\ntoy = toy_things:Toy\n")
        (package / "__init__.py").write_text("")

    def names() -> list[str]:
        return [component.name for component in remembered_catalog(PluginSettings())]

    settled_folder(tmp_path, install)
    assert names() == names() == ["toy"]
    assert len(looked) == 1
    (tmp_path / "toy_new-1.0.dist-info").mkdir()
    (tmp_path / "toy_new-1.0.dist-info" / "METADATA").write_text("Name: toy-new\nVersion: 1.0\n")
    (tmp_path / "toy_new-1.0.dist-info" / "entry_points.txt").write_text(
        "[context_bench.evaluators]\nnew = toy_things:New\n"
    )
    assert names() == names() == ["new", "toy"]
    assert len(looked) == 2
    off = PluginSettings.read(arguments=["no:toy"])
    assert [component.state for component in remembered_catalog(off)] == ["ok", "blocked"]
    monkeypatch.setattr("sys.path", [])
    assert names() == []


def test_a_setting_reaches_a_proxy_by_its_name() -> None:
    from context_bench.plan.project import request_of_flags
    from context_bench.plugins.catalog import Catalog

    flags = {
        "proxies": ("http://127.0.0.1:1",),
        "names": ("mine",),
        "model": None,
        "settings": ("systems.mine.temperature=0",),
    }
    catalog = Catalog()
    request = request_of_flags(catalog, {"systems": []}, flags)
    assert dict(request.systems[0].options)["temperature"] == "0"


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("[systems]\nx = 3", r"systems\[0\].spec must be a text"),
        ("[[systems]]\nspec = 3", r"systems\[0\].spec must be a text"),
        ("[[systems]]\nname = [1]", r"systems\[0\].name must be a text"),
        ('[[systems]]\nname = "a"\nlabel = 4', r"systems\[0\].label must be a text"),
        ('[[systems]]\nname = "a"\noptions = 3', r"systems\[0\].options must be a table"),
        ('[[systems]]\nname = "a"\nsteps = 3', r"systems\[0\].steps must be a list"),
        (
            '[[systems]]\nname = "a"\nsteps = [{ name = 3 }]',
            r"systems\[0\].steps\[0\].name must be a text",
        ),
        ('[[datasets]]\nname = "a"\nsplit = 3', r"datasets\[0\].split must be a text"),
        (
            '[[datasets]]\nspec = "a"\nfields = 3',
            r"datasets\[0\].fields must be a table of texts",
        ),
        (
            '[[datasets]]\nspec = "a"\nfields = { answer = 3 }',
            r"datasets\[0\].fields must be a table of",
        ),
        ("reader = 3", "reader must be a spec or a table"),
        ("[reader]\nspec = 3", "reader.spec must be a text"),
    ],
)
def test_a_wrong_kind_in_the_project_file_is_told_with_its_place(
    written: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    import re

    monkeypatch.chdir(tmp_path)
    (tmp_path / "context-bench.toml").write_text(written + "\n", encoding="utf-8")
    given = ["--system", "a", "--dataset", "b"]
    kept = [*given[:2]] if "datasets" in written else given[2:] if "systems" in written else given
    assert execute(["run", *kept, "--dry-run"]) == 2
    assert re.search(message, " ".join(capsys.readouterr().err.split()))


def test_the_examples_of_a_request_have_the_names_that_rows_show() -> None:
    given = [{"id": None, "question": "q"}, {"question": "r"}, {"id": 7}, {"id": "#x"}]
    asked = examples_of(discover(), RunConfig(datasets=(Examples("d", given),)), 9)
    shown = [
        row.example_id for row in evaluate(lambda example: "a", given, [], progress=False).rows
    ]
    assert [name for name, _ in asked] == shown == ["#0", "#1", "7", "##x"]


@pytest.mark.parametrize(
    ("cache", "folder"), [(None, "runs"), ("kept", "kept")], ids=["runs", "cache"]
)
def test_commands_that_begin_in_one_second_keep_their_runs_apart(
    cache: str | None, folder: str
) -> None:
    """Each took the first name that was free, and all but the first to write found it taken."""
    request = RunConfig(
        systems=(parse_system("replay"),), datasets=(parse_dataset("rows.jsonl"),), cache_dir=cache
    )
    paths = [run_path(request) for _ in range(20)]
    assert len(set(paths)) == 20
    assert {path.parent for path in paths} == {Path(folder)}
    assert all(path.name.endswith("-replay-rows.sqlite") for path in paths)


@pytest.mark.parametrize(
    ("value", "share"),
    [(0.01, 0.01), ("1%", 0.01), ("0.01", 0.01), ("100 %", 1.0), (1.0, 1.0), (0, 0)],
    ids=str,
)
def test_a_share_is_a_number_or_percent_at_every_entry_point(value: Any, share: float) -> None:
    assert RunConfig(max_failed=value).max_failed == share
    assert project_request({"run": {"max-failed": value}}, Catalog()).max_failed == share


@pytest.mark.parametrize("value", ["1", "40", "101%", "-1%", "many", "nan", True], ids=str)
def test_a_share_that_is_ambiguous_or_out_of_range_is_refused(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="max_failed"):
        RunConfig(max_failed=value)
