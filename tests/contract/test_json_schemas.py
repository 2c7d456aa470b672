"""The JSON Schemas: valid schemas that accept every file of ours, and refuse what the readers refuse."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli

from context_bench.errors import (
    ConfigurationError,
    ExclusiveOptionsError,
    UnknownNameError,
    UnusedOptionError,
)
from context_bench.plan.project import project_request
from context_bench.plan.project_schema import project_schema
from context_bench.plugins.discovery import discover
from context_bench.plugins.json_schema import manifest_schema
from context_bench.plugins.manifest import PluginManifest
from context_bench.plugins.manifest_reader import CONTRADICTION, Findings, read_table

jsonschema = pytest.importorskip("jsonschema", reason="it is what the schemas are tried with")

ROOT = Path(__file__).resolve().parents[2]
MANIFESTS = sorted(ROOT.glob("**/src/*/context_bench_plugin.toml"))
TOML = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)

RICH = """
schema = 1
api = "1.0"
doctor = "acme:check"

[evaluators.acme]
summary = "Everything"
class = "Acme"
primary = "acme"
version = "1"
needs = { original = ["answer|answers"], processed = ["response"] }
reads = ["answer"]
capabilities = ["network", "env:ACME"]
aliases = ["other"]
wire = [{ tags = ["qa"] }, { always = true }]
options = { strict = { type = "bool", default = false, help = "Whether." } }
scores = { acme = { range = [0, "inf"], better = "lower" } }
examples = [{ original = { answer = "a" }, options = { strict = true } }]

[datasets.acme]
summary = "Rows"
tags = ["qa"]
sizes = { test = 3 }
config_overrides = { small = { primary = "acme" } }
definition = { loader = "huggingface", source = "a/b", tables = { a = { b = "c" } } }

[systems.acme]
summary = "Echo"
class = "Echo"
kind = "reader"

[metrics.acme]
summary = "Mean"
values = { "acme:*" = { format = "percent", order = 3 } }

[hooks.acme]
summary = "Watches"
implements = ["run_finished"]

[commands.acme]
summary = "Shows"
parent = "explain"
group = true
"""

OTHER_VALUES: tuple[Any, ...] = (True, -7, 1.5, "Two words", [], {}, [1], {"A b": 1}, [[]])
"""Values that a key may have by mistake."""


def places(table: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value in a document."""
    pairs = table.items() if isinstance(table, dict) else enumerate(table)
    for key, value in pairs:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def changed(document: Any, path: tuple[Any, ...], change: Any) -> Any:
    """Return a copy with one value replaced; a change of None takes the key out."""
    copied = copy.deepcopy(document)
    parent = copied
    for key in path[:-1]:
        parent = parent[key]
    if change is None:
        del parent[path[-1]]
    else:
        parent[path[-1]] = change
    return copied


def mutants(document: Any) -> Iterator[tuple[str, Any]]:
    """Yield variants of a document with one key changed, taken out or added, with what was done."""
    for path in places(document):
        for change in (None, *OTHER_VALUES):
            yield f"{path} = {change!r}", changed(document, path, change)
    for path in ((), *places(document)):
        parent = document
        for key in path:
            parent = parent[key]
        if isinstance(parent, dict):
            yield f"{path} + unknown", changed(document, (*path, "not_a_key"), 1)


@pytest.fixture(scope="module")
def manifest_validator() -> Any:
    schema = manifest_schema()
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


@pytest.fixture(scope="module")
def project_validator() -> Any:
    schema = project_schema(component.manifest for component in discover())
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def errors(validator: Any, document: Any) -> list[str]:
    return [f"{list(error.path)}: {error.message}" for error in validator.iter_errors(document)]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.parent.name)
def test_a_manifest_of_ours_fits_the_schema(path: Path, manifest_validator: Any) -> None:
    assert errors(manifest_validator, tomli.loads(path.read_text(encoding="utf-8"))) == []


def test_the_manifest_schema_agrees_with_the_reader(manifest_validator: Any) -> None:
    """What the schema refuses, the reader does; what the reader refuses, the schema does, other than contradictions."""
    document = tomli.loads(RICH)
    assert errors(manifest_validator, document) == []
    missed = []
    count = 0
    two_numbers = (
        "('evaluators', 'acme', 'scores', 'acme', 'range', 1) = -7"  # no schema orders them
    )
    for name, mutant in mutants(document):
        findings = Findings()
        read_table(PluginManifest, mutant, (), findings)
        found = [*findings.faults, *findings.warnings]
        strict = [fault for fault in found if fault.code != CONTRADICTION]
        refused = errors(manifest_validator, mutant)
        count += 1
        if name == two_numbers or bool(refused) is bool(strict) or (refused and found):
            continue
        missed.append((name, refused, [str(fault) for fault in found]))
    assert missed == []
    assert count > 500


def project_files() -> list[Any]:
    """Return the project files on the pages: whole files, and blocks with tables of the project file."""
    found = []
    known = re.compile(
        r"^(reader|baseline|reference-from)\b|^\[{1,2}(run|systems|datasets|evaluators|plugins|prices|gate|extensions)\b",
        re.MULTILINE,
    )
    for page in sorted([*ROOT.glob("docs/**/*.md"), *ROOT.glob("plugins/*/README.md")]):
        for number, block in enumerate(TOML.findall(page.read_text(encoding="utf-8"))):
            is_manifest = "summary =" in block or "api =" in block or "wire =" in block
            if known.search(block) and not is_manifest:
                found.append(pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}"))
    return found


@pytest.mark.parametrize("text", project_files())
def test_a_project_file_on_a_page_fits_the_schema(text: str, project_validator: Any) -> None:
    assert errors(project_validator, tomli.loads(text)) == []


PROJECT = """
reader = "needle-oracle"
baseline = "full"
[run]

threshold = 0.5
seed = 3
sample = 3
order = "system"
max-failed = "1%"
keep-going = true
evaluators = ["rouge"]
score-prefixes = { rouge = "r_" }
[[systems]]
spec = "head:ratio=0.5"
[[systems]]
name = "tail"
label = "short"
options = { ratio = 0.5 }
steps = ["lead:ratio=0.9", { name = "needle-oracle" }]
[systems.defaults]
temperature = 0
[[datasets]]
name = "needle"
config = "multi-key"
fields = { answers = "truth" }
[[datasets]]
spec = "needle:multi-value"
label = "b"
[evaluators.acme]
strict = true
[plugins]
disable = ["rouge"]
prefer = { rouge = "context-bench-rouge" }
"""


def test_the_project_schema_refuses_what_the_reader_refuses(project_validator: Any) -> None:
    document = tomli.loads(PROJECT)
    assert errors(project_validator, document) == []
    catalog = discover()
    project_request(document, catalog)
    missed = []
    for name, mutant in mutants(document):
        try:
            project_request(mutant, catalog)
        except (ExclusiveOptionsError, UnusedOptionError):
            continue  # one key without another one
        except (ConfigurationError, UnknownNameError) as error:
            if not errors(project_validator, mutant):
                missed.append((name, str(error)))
    assert missed == []


@pytest.mark.parametrize(
    "text",
    [
        '[systems]\nshort = "head:ratio=0.5"\n[systems.defaults]\nmodel = "m"',
        '[systems.long]\nname = "head"\noptions = { ratio = 0.5 }',
        'reader = { name = "openai", options = { base_url = "http://127.0.0.1" } }',
        "[run]\nmax-failed = 0.1",
    ],
    ids=["text by label", "table by label", "reader as a table", "share"],
)
def test_another_form_fits_the_schema_and_the_reader(text: str, project_validator: Any) -> None:
    document = tomli.loads(text)
    project_request(document, discover())
    assert errors(project_validator, document) == []


def test_options_of_installed_evaluators_are_completed(project_validator: Any) -> None:
    pytest.importorskip("context_bench_needle", reason="its options are looked at")
    for name in ("word_boundary", "word-boundary"):
        assert errors(project_validator, {"evaluators": {"needle-recall": {name: True}}}) == []
        assert errors(project_validator, {"evaluators": {"needle-recall": {name: []}}}) != []
    assert errors(project_validator, {"evaluators": {"needle-recall": {"word_border": True}}}) != []
    assert errors(project_validator, {"evaluators": {"of-somebody-else": {"x": 1}}}) == []
