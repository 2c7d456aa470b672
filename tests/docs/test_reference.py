"""The reference says what the code does: keys, columns, parameters, names."""

from __future__ import annotations

import inspect
import re
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

Tables = Callable[[str], dict[str, list[list[str]]]]


def first(lines: list[list[str]]) -> list[str]:
    """Return the names in the first column; one cell may hold several."""
    return [name for line in lines for name in line[0].replace("`", "").split(", ")]


def keys(cls: type[Any]) -> set[str]:
    from context_bench.plugins.manifest_reader import keys_of

    return {name for name, declared in keys_of(cls).items() if declared.entry.in_table}


def test_the_manifest_page_has_every_key_and_no_other(tables: Tables) -> None:
    from context_bench.plugins import manifest as manifests
    from context_bench.plugins.options import Option

    page = {
        heading: set(first(lines)) for heading, lines in tables("reference/manifest.md").items()
    }
    common = page["Every component"]
    documented = {
        manifests.PluginManifest: page["Top level"],
        manifests.EvaluatorManifest: common | page["Evaluators"],
        manifests.DatasetManifest: common | page["Datasets"],
        manifests.SystemManifest: common | page["Systems"],
        manifests.MetricManifest: common | page["Metrics"],
        manifests.ReporterManifest: common | page["Reporters"],
        manifests.CommandManifest: common | page["Commands"],
        manifests.ExtensionManifest: common | page["Extensions"],
        manifests.TokenizerManifest: common,
        manifests.OptionGroupManifest: common,
        manifests.DatasetDefinition: page["Dataset definitions"] | {"split"},
        manifests.SummaryValue: page["Values of a metric"],
        manifests.Score: page["Scores"],
        manifests.WireRule: page["Wiring rules"],
        Option: page["Options"],
    }
    assert documented == {cls: keys(cls) for cls in documented}


def test_the_manifest_page_says_which_keys_are_required(tables: Tables) -> None:
    from context_bench.plugins.manifest import parse_manifest

    page = tables("reference/manifest.md")
    required = {line[0] for line in page["Every component"] + page["Evaluators"] if line[2]}
    missing = {fault.place for fault in parse_manifest(b"[evaluators.e]").faults}
    top = {line[0] for line in page["Top level"] if line[2]}
    assert {f"evaluators.e.{key}" for key in required} | top == missing


def test_the_manifest_page_names_the_terms_there_are(tables: Tables, root: Path) -> None:
    from context_bench.plugins.manifest import API, CAPABILITIES, SCHEMA, parse_manifest
    from context_bench.plugins.options import OPTION_TYPES

    text = (root / "docs" / "reference" / "manifest.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in (*CAPABILITIES, *OPTION_TYPES))
    assert f"format of the manifest: {SCHEMA}" in text
    assert f'this version has `"{API[0]}.{API[1]}"`' in text
    [whole] = re.findall(r"## A whole one\n\n```toml\n(.*?)```", text, flags=re.DOTALL)
    manifest = parse_manifest(whole.encode())
    assert (manifest.faults, manifest.warnings) == ((), ())


def test_the_page_of_protocols_has_every_kind_and_module(root: Path) -> None:
    from context_bench import protocols
    from context_bench.hookspecs import HOOKS
    from context_bench.plugins.manifest import EXTENSIBLE, KINDS

    text = (root / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    assert [kind for kind in KINDS if f"| `[{kind}.NAME]` |" not in text] == []
    assert re.findall(r"^\| `(\w+)` \| `function", text, flags=re.MULTILINE) == list(EXTENSIBLE)
    documented = set(re.findall(r"^\.\. automodule:: (\S+)$", text, flags=re.MULTILINE))
    specified = {hook.specification.__module__ for hook in HOOKS.values()}
    assert {protocols.__name__, *specified} <= documented


def test_every_protocol_and_every_function_of_a_protocol_has_a_docstring() -> None:
    """The page of protocols consists of their docstrings."""
    from context_bench import protocols

    classes = [
        thing
        for thing in vars(protocols).values()
        if inspect.isclass(thing) and thing.__module__ == protocols.__name__
    ]
    functions = [
        (owner.__name__, name, thing)
        for owner in classes
        for name, thing in vars(owner).items()
        if (not name.startswith("_") or (name, owner.__name__) == ("__call__", "DatasetLoader"))
        and (inspect.isfunction(thing) or isinstance(thing, property))
    ]
    assert ("Reporter", "write") in [function[:2] for function in functions]
    lacking = [owner.__name__ for owner in classes if not owner.__doc__]
    lacking += [f"{owner}.{name}" for owner, name, thing in functions if not thing.__doc__]
    assert lacking == []


def test_the_docstring_of_every_hook_says_what_it_does_and_returns() -> None:
    from context_bench.hookspecs import HOOKS

    for name, hook in HOOKS.items():
        about = inspect.getdoc(hook.specification) or ""
        assert ("\nWatches." in about) == hook.watches
        assert ("\nDecides." in about) != hook.watches
        assert "Returns:" in about or hook.watches or name in ("admit_call", "call_settled")


def test_the_run_file_page_has_every_table_and_column(tables: Tables, tmp_path: Path) -> None:
    from context_bench.columns import columns_of
    from context_bench.store.runfile import RunFile
    from context_bench.store.tables import ROW_TABLES

    path = tmp_path / "run.sqlite"
    RunFile.create(path, "id", "now", {}, {}).close()
    connection = sqlite3.connect(path)
    names = [
        name
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    ]
    actual = {}
    for table in names:
        [sql] = connection.execute(
            "SELECT sql FROM sqlite_schema WHERE name = ?", (table,)
        ).fetchone()
        columns = connection.execute(
            "SELECT name, type FROM pragma_table_xinfo(?)", (table,)
        ).fetchall()
        actual[table] = [
            [
                name,
                kind.removesuffix(" GENERATED ALWAYS") + " NOT NULL" * declared_not_null(sql, name),
            ]
            for name, kind in columns
        ]
    page = tables("reference/run-file.md")
    assert {
        name: [line[:2] for line in page[name]] for name in page if name != "The view results"
    } == actual
    described = {table.name: columns_of(table.record) for table in ROW_TABLES}
    for table, columns in described.items():
        meanings = {line[0]: line[2] for line in page[table]}
        assert {name: meanings[name] for name in columns} == {
            name: column.description.strip("`") for name, column in columns.items()
        }
    view = [name for (name,) in connection.execute("SELECT name FROM pragma_table_info('results')")]
    assert first(page["The view results"]) == view
    connection.close()


def declared_not_null(sql: str, column: str) -> bool:
    return re.search(rf"^ +{column} +\w+ NOT NULL", sql, flags=re.MULTILINE) is not None


def test_the_run_file_page_states_format_and_numbers(root: Path) -> None:
    from context_bench.store.keys import RowId
    from context_bench.store.schema import APPLICATION_ID, SCHEMA_VERSION

    text = (root / "docs" / "reference" / "run-file.md").read_text(encoding="utf-8")
    assert f"0x{APPLICATION_ID:x}" in text
    assert f"describes version {SCHEMA_VERSION}" in text
    [formula] = re.findall(r"^    id = (.*)$", text, flags=re.MULTILINE)
    numbers = {"dataset": 3, "position": 70_000, "system_number": 5, "repetition": 7}
    assert eval(formula, {}, numbers) == RowId(**numbers).pack()
    assert eval(formula, {}, numbers) & ~1048575 == RowId(3, 70_000).pack()


def test_the_keys_page_states_the_values_that_the_code_gives(tables: Tables) -> None:
    from context_bench.store import keys

    system = keys.system_key("context-bench-compress/bm25", "1", {"ratio": 0.5})
    example = keys.example_key({"context": "c", "question": "q"})
    response = keys.response_key(system, example)
    evaluator = keys.evaluator_key("context-bench-rouge/rouge", "1", {})
    score = keys.score_key(response, keys.output_key({"response": "r"}), evaluator, example)
    values = {
        "system": system,
        "example": example,
        "response": response,
        "evaluator": evaluator,
        "score": score,
    }
    page = {line[0]: line[2] for line in tables("reference/keys.md")["Pinned values"]}
    assert page == {name: key.hex() for name, key in values.items()}


def test_the_keys_page_defines_every_key_as_the_code_makes_it() -> None:
    """Recompute each definition from canonical bytes and BLAKE2b alone."""
    from hashlib import blake2b

    from context_bench.store import keys
    from context_bench.store.encoding import canonical_bytes

    def digest(*values: Any) -> bytes:
        return blake2b(b"".join(map(canonical_bytes, values)), digest_size=16).digest()

    def short(name: str, *parts: bytes) -> bytes:
        return blake2b(name.encode() + b"".join(parts), digest_size=16).digest()

    one, two = b"1" * 16, b"2" * 16
    turns = [{"role": "user", "content": "hi"}]
    assert keys.system_key("a", "1", {"x": 1}) == digest(
        "context-bench system 1", "a", "1", {"x": 1}
    )
    assert keys.unshared_key("run", 2) == digest("context-bench unshared system 1", "run", 2)
    assert keys.chain_key([one, two]) == digest("context-bench chain 1", [one, two])
    assert keys.example_key({"a": 1, "b": 2}, ["a", "c"]) == digest(
        "context-bench example 1", {"a": 1}
    )
    assert keys.response_key(one, two, 3) == short(
        "context-bench response 1", one, two, (3).to_bytes(8, "big")
    )
    assert keys.response_key(one, two, 3, turns) == digest(
        "context-bench response 1", one, two, 3, turns
    )
    assert keys.output_key({"response": "r"}) == digest("context-bench output 1", {"response": "r"})
    assert keys.evaluator_key("e", "1", {}) == digest("context-bench evaluator 1", "e", "1", {})
    assert keys.agreement_key(one) == short("context-bench agreement 1", one)
    assert keys.score_key(one, two, one, two) == short("context-bench score 2", one, two, one, two)


def test_the_project_file_page_has_every_key_and_no_other(tables: Tables) -> None:
    from context_bench.errors import UnknownNameError
    from context_bench.plan.project import project_request
    from context_bench.plugins.catalog import Catalog
    from context_bench.plugins.discovery import discover
    from context_bench.plugins.settings import PluginSettings

    cost = pytest.importorskip(
        "context_bench_cost", reason="the page tells of prices, which come with this package"
    )
    catalog = discover(PluginSettings.read(environ={}))
    alone = partial(project_request, catalog=Catalog())

    def known(read: Callable[[Any], Any], value: Any) -> set[str]:
        with pytest.raises(UnknownNameError) as caught:
            read(value)
        return set(caught.value.known)

    page = {
        heading: set(first(lines)) for heading, lines in tables("reference/project-file.md").items()
    }
    assert page == {
        "Top level": known(lambda table: project_request(table, catalog), {"nonsense": 1}),
        "run": known(alone, {"run": {"nonsense": 1}}),
        "systems": known(alone, {"systems": [{"name": "a", "nonsense": 1}]}),
        "datasets": known(alone, {"datasets": [{"name": "a", "nonsense": 1}]}),
        "plugins": known(PluginSettings.read, {"nonsense": 1}),
        "prices": known(cost.Money, [{"model": {"nonsense": 1}}]),
    }


def test_the_exit_codes_are_those_of_the_command_line(tables: Tables) -> None:
    from context_bench.cli import execute

    codes = set(re.findall(r"\b(\d+) \w", (execute.__doc__ or "").partition("\n\n")[2]))
    assert set(first(tables("reference/command-line.md")["Exit codes"])) == codes


def test_the_states_are_those_of_the_catalog(tables: Tables) -> None:
    from context_bench.plugins.component import OPTIONAL, STATES

    assert first(tables("how-to/choose-plugins.md")["See what there is"]) == [*STATES, OPTIONAL]


def test_the_metrics_page_has_every_metric_key_and_heading(tables: Tables, plugins: None) -> None:
    from context_bench import evaluate
    from context_bench.plugins.discovery import discover
    from context_bench.results.table import summary_columns

    page = tables("reference/metrics-and-scores.md")
    pytest.importorskip("context_bench_cost", reason="the page tells of the metrics of money")
    pytest.importorskip("context_bench_agreement", reason="the page tells of agreement")
    pytest.importorskip("context_bench_compare", reason="the page tells of ranks")
    pytest.importorskip("context_bench_efficiency", reason="the page tells of tokens and seconds")
    told_here = (
        "context-bench",
        "context-bench-cost",
        "context-bench-agreement",
        "context-bench-compare",
        "context-bench-efficiency",
    )
    core = [c.name for c in discover().of_kind("metrics") if c.distribution.name in told_here]
    assert sorted(first(page["The usual metrics"])) == sorted(core)
    rows = [
        {"context": f"a {number}", "answer": "a", "dataset": label}
        for label in ("one", "two")
        for number in range(6)
    ]
    usage = {"prompt_tokens": 2, "completion_tokens": 1, "cache_read_tokens": 1, "cost": 0.01}
    timing = {"system_latency": 0, "attempts": 2, "ttft": 0.1}
    systems = [
        lambda example: {"context": "a", "response": "a", "usage": usage, **timing},
        _Named(),
        _Recorded(),
    ]
    told: list[str] = []
    results = [
        evaluate(
            systems,
            [*rows, *unanswered],
            ["answer-quality"],
            baseline="<lambda>",
            reference_from="named",
            on_warning=told.append,
            progress=False,
            repeat=2,
        )
        for unanswered in ([], [{"context": "a b", "dataset": "one"}])
    ]
    keys = {
        key for line in page["The usual metrics"] for key in line[1].replace("`", "").split(", ")
    }
    values = [values for result in results for values in result.summary.values()]
    assert {
        re.sub(r"^dataset:.*", "dataset:LABEL", key) for found in values for key in found
    } == keys | {
        "scores",
        "sources",
    }
    lines = [line for line in page["Headings of the table"] if line[0] != "heading"]
    headings = {line[1].split(";")[0].strip("`"): line[0] for line in lines}
    shown = {
        column.key: column.heading
        for result in results
        for column in summary_columns(result.metrics, result.summary, everything=True)
    }
    assert {key: heading for key, heading in shown.items() if not key.startswith("dataset:")} == {
        key: heading for key, heading in headings.items() if key != "dataset:LABEL"
    }


class _Named:
    name = "named"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": "a", "usage": {"prompt_tokens": 3, "completion_tokens": 1}}


class _Recorded:
    name = "recorded"
    is_recorded = True

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {
            "response": "a",
            "usage": {"prompt_tokens": 3, "completion_tokens": 1, "cost": 0.01},
        }


def test_the_python_page_has_every_parameter_of_evaluate(tables: Tables) -> None:
    from context_bench import evaluate

    assert {
        name.lstrip("*") for name in first(tables("reference/python-api.md")["evaluate"])
    } == set(inspect.signature(evaluate).parameters)


def test_the_python_page_has_every_member_of_results(tables: Tables) -> None:
    from context_bench import EvalResult

    page = tables("reference/python-api.md")
    told = {
        cell.partition("(")[0] for line in page["EvalResult"] for cell in re.split(r"`, `", line[0])
    }
    public = {name for name in dir(EvalResult) if not name.startswith("_")}
    assert told == public | {"rows", "summary", "timing", "config", "warnings", "completeness"}


def test_every_member_of_a_row_is_described_where_the_page_of_records_reads_it() -> None:
    from context_bench import EvalRow
    from context_bench.columns import RowColumns, columns_of

    attributes = re.findall(r"^ {4}(\w+): ", inspect.getdoc(EvalRow) or "", flags=re.MULTILINE)
    columns = [name for name, column in columns_of(RowColumns).items() if column.description]
    documented = [
        name
        for name in dir(EvalRow)
        if (isinstance(found := getattr(EvalRow, name), property) or inspect.isfunction(found))
        and found.__doc__
    ]
    members = {name for name in dir(EvalRow) if not name.startswith("_")}
    assert members - {*attributes, *columns, *documented} == set()


def test_every_error_has_a_docstring_on_the_page_of_errors(root: Path) -> None:
    from context_bench import errors

    page = (root / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    assert f".. automodule:: {errors.__name__}\n" in page
    classes = [thing for thing in vars(errors).values() if inspect.isclass(thing)]
    found = [one for one in classes if issubclass(one, Exception)]
    assert len(found) > 15
    assert [one.__name__ for one in found if not one.__doc__] == []
