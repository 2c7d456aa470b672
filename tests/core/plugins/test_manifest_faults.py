"""What a manifest may say, and what is told of one that says something else."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import Any

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from context_bench.plugins.manifest import parse_manifest

Run = Callable[..., Any]

EVALUATOR = """
    schema = 1
    api = "1.0"
    [evaluators.x]
    summary = "s"
    class = "X"
    primary = "k"
    version = "1"
    deterministic = true
    capabilities = ["network", "env:KEY"]
    cpu_bound = false
    reads = ["answer"]
    needs = { original = ["answer|answers"], processed = ["response"] }
    wire = [{ always = true }, { datasets = ["d"] }, { tags = ["t"] }, { option = "--judge-url" }]
    scores.k = { range = [0, "inf"], better = "lower", aggregate = "sum" }
    scores.l = {}
    options.o = { type = "int", default = 1, help = "h", choices = [1, 2], flag = "--judge-url", env = "E" }
    options.p = { secret = true, required = true, help = "h" }
"""
DATASET = """
    schema = 1
    api = "1.0"
    [datasets.x]
    summary = "s"
    class = "x"
    tags = ["t"]
    splits = ["test"]
    configs = ["a"]
    default_config = "a"
    license = "MIT"
    homepage = "h"
    primary = "k"
    fields = ["id"]
    files = [".x"]
"""
SYSTEM = """
    schema = 1
    api = "1.0"
    [systems.x]
    summary = "s"
    class = "X"
    version = "1"
    kind = "reader"
    reads = ["question"]
"""


def faults_of(text: str) -> list[str]:
    manifest = parse_manifest(dedent(text).encode())
    return [
        *manifest.faults,
        *(line for lines in manifest.component_faults.values() for line in lines),
    ]


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(
    "text", [EVALUATOR, DATASET, SYSTEM], ids=["evaluator", "dataset", "system"]
)
def test_a_manifest_that_says_everything_has_no_fault(text: str) -> None:
    manifest = parse_manifest(dedent(text).encode())
    assert (faults_of(text), manifest.warnings) == ([], ())


WRONG = {
    "schema of text": (
        EVALUATOR,
        "schema = 1",
        'schema = "1"',
        "schema: expected a whole number, got a text",
    ),
    "schema true": (
        EVALUATOR,
        "schema = 1",
        "schema = true",
        "schema: expected a whole number, got a boolean",
    ),
    "schema 0": (EVALUATOR, "schema = 1", "schema = 0", "schema: must be 1 or more, got 0"),
    "no schema": (EVALUATOR, "schema = 1", "", "schema: missing"),
    "no api": (EVALUATOR, 'api = "1.0"', "", "api: missing"),
    "api a number": (EVALUATOR, 'api = "1.0"', "api = 1.0", "api: expected a text, got a number"),
    "api in words": (
        EVALUATOR,
        '"1.0"',
        '"one"',
        "api: expected 'MAJOR.MINOR', such as '1.0', got 'one'",
    ),
    "api of three": (
        EVALUATOR,
        '"1.0"',
        '"1.0.0"',
        "api: expected 'MAJOR.MINOR', such as '1.0', got '1.0.0'",
    ),
    "api negative": (
        EVALUATOR,
        '"1.0"',
        '"-1.0"',
        "api: expected 'MAJOR.MINOR', such as '1.0', got '-1.0'",
    ),
    "kind a list": (
        EVALUATOR,
        "[evaluators.x]",
        "evaluators = []\n[metrics.x]",
        "evaluators: expected a table, got a list",
    ),
    "component a text": (
        SYSTEM,
        "[systems.x]",
        'systems.y = "z"\n[systems.x]',
        "systems.y: expected a table, got a text",
    ),
    "name upper case": (
        SYSTEM,
        "[systems.x]",
        "[systems.Big]",
        "systems.Big: a component name is lower-case letters",
    ),
    "name a number": (
        SYSTEM,
        "[systems.x]",
        "[systems.1x]",
        "systems.1x: a component name is lower-case letters",
    ),
    "no summary": (SYSTEM, 'summary = "s"', "", "systems.x.summary: missing"),
    "summary a number": (
        SYSTEM,
        '"s"',
        "1",
        "systems.x.summary: expected a text, got a whole number",
    ),
    "summary of two lines": (
        SYSTEM,
        '"s"',
        '"a\\nb"',
        "systems.x.summary: expected a line of text, got 'a\\nb'",
    ),
    "summary with an escape": (
        SYSTEM,
        '"s"',
        '"\\u001b[2J"',
        "systems.x.summary: expected a line of text",
    ),
    "no class": (EVALUATOR, 'class = "X"', "", "evaluators.x.class: missing"),
    "class a boolean": (
        EVALUATOR,
        'class = "X"',
        "class = true",
        "evaluators.x.class: expected a text, got a boolean",
    ),
    "no version": (EVALUATOR, 'version = "1"', "", "evaluators.x.version: missing"),
    "version a number": (
        EVALUATOR,
        'version = "1"',
        "version = 1",
        "evaluators.x.version: expected a text, got a whole number",
    ),
    "deterministic 1": (
        EVALUATOR,
        "deterministic = true",
        "deterministic = 1",
        "evaluators.x.deterministic: expected true or false",
    ),
    "capabilities a text": (
        EVALUATOR,
        '["network", "env:KEY"]',
        '"network"',
        "evaluators.x.capabilities: expected a list, got a text",
    ),
    "capability unknown": (
        EVALUATOR,
        '"network"',
        '"internet"',
        "evaluators.x.capabilities[0]: 'internet' is no capability; there is network",
    ),
    "capability env: of nothing": (
        EVALUATOR,
        '"env:KEY"',
        '"env:"',
        "evaluators.x.capabilities[1]: 'env:' is no capability",
    ),
    "cpu_bound a text": (
        EVALUATOR,
        "cpu_bound = false",
        'cpu_bound = "no"',
        "evaluators.x.cpu_bound: expected true or false, got a text",
    ),
    "reads with a number": (
        EVALUATOR,
        'reads = ["answer"]',
        'reads = ["a", 1]',
        "evaluators.x.reads[1]: expected a text, got a whole number",
    ),
    "needs a list": (
        EVALUATOR,
        'needs = { original = ["answer|answers"], processed = ["response"] }',
        "needs = []",
        "evaluators.x.needs: expected a table, got a list",
    ),
    "needs of nobody": (
        EVALUATOR,
        "processed = ",
        "answer = ",
        "evaluators.x.needs.answer: unknown; there is original and processed",
    ),
    "needs a text": (
        EVALUATOR,
        '["response"]',
        '"response"',
        "evaluators.x.needs.processed: expected a list, got a text",
    ),
    "needs with a number": (
        EVALUATOR,
        '["response"]',
        '["response", 2]',
        "evaluators.x.needs.processed[1]: expected a text",
    ),
    "wire a table": (
        EVALUATOR,
        "wire = [{ always = true }, ",
        "wire = { a = 1 }\n_ = [",
        "evaluators.x.wire: expected a list, got a table",
    ),
    "rule a text": (
        EVALUATOR,
        "{ always = true }",
        '"always"',
        "evaluators.x.wire[0]: expected a table such as",
    ),
    "rule of two": (
        EVALUATOR,
        "{ always = true }",
        '{ always = true, tags = ["t"] }',
        "evaluators.x.wire[0]: a rule has exactly one of",
    ),
    "rule of none": (
        EVALUATOR,
        "{ always = true }",
        "{}",
        "evaluators.x.wire[0]: a rule has exactly one of",
    ),
    "rule unknown": (
        EVALUATOR,
        "always = true",
        "never = true",
        "evaluators.x.wire[0].never: unknown rule; there is always",
    ),
    "rule always false": (
        EVALUATOR,
        "always = true",
        "always = false",
        "evaluators.x.wire[0].always: always = false chooses nothing",
    ),
    "rule always 1": (
        EVALUATOR,
        "always = true",
        "always = 1",
        "evaluators.x.wire[0].always: expected true or false",
    ),
    "rule with one dataset": (
        EVALUATOR,
        'datasets = ["d"]',
        'datasets = "squad"',
        "evaluators.x.wire[1].datasets: expected a list, got a text",
    ),
    "rule with a number": (
        EVALUATOR,
        'tags = ["t"]',
        'tags = ["t", 1.5]',
        "evaluators.x.wire[2].tags[1]: expected a text, got a number",
    ),
    "rule with a list of flags": (
        EVALUATOR,
        'option = "--judge-url"',
        'option = ["u"]',
        "evaluators.x.wire[3].option: expected a text, got a list",
    ),
    "no scores": (
        EVALUATOR,
        'scores.k = { range = [0, "inf"], better = "lower", aggregate = "sum" }\n    scores.l = {}',
        "",
        "evaluators.x.scores: missing",
    ),
    "no primary": (EVALUATOR, 'primary = "k"', "", "evaluators.x.primary: missing"),
    "primary none of the scores": (
        EVALUATOR,
        'primary = "k"',
        'primary = "z"',
        "evaluators.x.primary: 'z' is none of its scores (k, l)",
    ),
    "score a number": (
        EVALUATOR,
        "scores.l = {}",
        "scores.l = 1",
        "evaluators.x.scores.l: expected a table, got a whole number",
    ),
    "score with a dash": (
        EVALUATOR,
        "scores.l = {}",
        "scores.a-b = {}",
        "evaluators.x.scores.a-b: a score key is snake_case",
    ),
    "range of one": (
        EVALUATOR,
        '[0, "inf"]',
        "[0]",
        "evaluators.x.scores.k.range: expected [lowest, highest]",
    ),
    "range of text": (
        EVALUATOR,
        '[0, "inf"]',
        '[0, "many"]',
        "evaluators.x.scores.k.range[1]: expected a number, 'inf' or '-inf', got a text",
    ),
    "range of booleans": (
        EVALUATOR,
        '[0, "inf"]',
        "[false, true]",
        "evaluators.x.scores.k.range[0]: expected a number",
    ),
    "range upside down": (
        EVALUATOR,
        '[0, "inf"]',
        "[1, 0]",
        "evaluators.x.scores.k.range: expected [lowest, highest], got [1, 0]",
    ),
    "range with nan": (
        EVALUATOR,
        '[0, "inf"]',
        "[nan, 1]",
        "evaluators.x.scores.k.range[0]: expected a number, 'inf' or '-inf', got nan",
    ),
    "better unknown": (
        EVALUATOR,
        '"lower"',
        '"smaller"',
        "evaluators.x.scores.k.better: expected one of higher, lower, neither, got 'smaller'",
    ),
    "aggregate a list": (
        EVALUATOR,
        '"sum"',
        "[]",
        "evaluators.x.scores.k.aggregate: expected one of mean, sum, none, got []",
    ),
    "option a text": (
        EVALUATOR,
        "options.p = {",
        'options.q = "q"\n    options.p = {',
        "evaluators.x.options.q: expected a table, got a text",
    ),
    "option with a dash": (
        EVALUATOR,
        "options.p",
        "options.a-b",
        "evaluators.x.options.a-b: an option is a keyword, in snake_case where its class does not say otherwise",
    ),
    "option type unknown": (
        EVALUATOR,
        'type = "int"',
        'type = "integer"',
        "evaluators.x.options.o.type: expected one of str, int, float, bool, path, list",
    ),
    "option without help": (
        EVALUATOR,
        'required = true, help = "h"',
        "required = true",
        "evaluators.x.options.p.help: missing",
    ),
    "option default of text": (
        EVALUATOR,
        "default = 1",
        'default = "1"',
        "evaluators.x.options.o.default: expected a value of type int, got '1'",
    ),
    "option default true": (
        EVALUATOR,
        "default = 1",
        "default = true",
        "evaluators.x.options.o.default: expected a value of type int, got True",
    ),
    "option default a date": (
        EVALUATOR,
        "default = 1",
        "default = 2020-01-01",
        "evaluators.x.options.o.default: expected a value of type int",
    ),
    "option default no choice": (
        EVALUATOR,
        "default = 1",
        "default = 3",
        "evaluators.x.options.o.default: expected one of its choices (1, 2), got 3",
    ),
    "option default infinite": (
        EVALUATOR,
        'type = "int", default = 1, help = "h", choices = [1, 2]',
        'type = "float", default = inf, help = "h"',
        "evaluators.x.options.o.default: expected a finite number, got inf",
    ),
    "option choices a text": (
        EVALUATOR,
        "choices = [1, 2]",
        'choices = "12"',
        "evaluators.x.options.o.choices: expected a list, got a text",
    ),
    "option choice of text": (
        EVALUATOR,
        "choices = [1, 2]",
        'choices = [1, "2"]',
        "evaluators.x.options.o.choices[1]: expected a value of type int, got '2'",
    ),
    "option flag without dashes": (
        EVALUATOR,
        'flag = "--judge-url"',
        'flag = "judge"',
        "evaluators.x.options.o.flag: expected a flag such as --judge-url, got 'judge'",
    ),
    "option flag a number": (
        EVALUATOR,
        'flag = "--judge-url"',
        "flag = 1",
        "evaluators.x.options.o.flag: expected a text, got a whole number",
    ),
    "option env a list": (
        EVALUATOR,
        'env = "E"',
        'env = ["E"]',
        "evaluators.x.options.o.env: expected a text, got a list",
    ),
    "option secret a text": (
        EVALUATOR,
        "secret = true",
        'secret = "yes"',
        "evaluators.x.options.p.secret: expected true or false, got a text",
    ),
    "option required 1": (
        EVALUATOR,
        "required = true",
        "required = 1",
        "evaluators.x.options.p.required: expected true or false",
    ),
    "tags a text": (
        DATASET,
        'tags = ["t"]',
        'tags = "t"',
        "datasets.x.tags: expected a list, got a text",
    ),
    "splits a table": (
        DATASET,
        'splits = ["test"]',
        "splits = {}",
        "datasets.x.splits: expected a list, got a table",
    ),
    "configs with a number": (
        DATASET,
        'configs = ["a"]',
        "configs = [1]",
        "datasets.x.configs[0]: expected a text, got a whole number",
    ),
    "default_config unknown": (
        DATASET,
        'default_config = "a"',
        'default_config = "b"',
        "datasets.x.default_config: 'b' is none of its configs",
    ),
    "license a list": (
        DATASET,
        '"MIT"',
        '["MIT"]',
        "datasets.x.license: expected a text, got a list",
    ),
    "homepage a number": (
        DATASET,
        '"h"',
        "0.5",
        "datasets.x.homepage: expected a text, got a number",
    ),
    "primary a list": (DATASET, '"k"', '["k"]', "datasets.x.primary: expected a text, got a list"),
    "fields a text": (DATASET, '["id"]', '"id"', "datasets.x.fields: expected a list, got a text"),
    "files a text": (DATASET, '[".x"]', '".x"', "datasets.x.files: expected a list, got a text"),
    "system of no kind": (
        SYSTEM,
        '"reader"',
        '"writer"',
        "systems.x.kind: expected one of transformer, reader, endpoint, system, got 'writer'",
    ),
    "reads a text": (
        SYSTEM,
        '["question"]',
        '"question"',
        "systems.x.reads: expected a list, got a text",
    ),
}


@pytest.mark.parametrize(("text", "old", "new", "fault"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_value_is_a_fault_with_its_path(text: str, old: str, new: str, fault: str) -> None:
    found = faults_of(changed(text, old, new))
    assert [line for line in found if line.startswith(fault)], found


def test_every_key_of_the_format_has_its_wrong_value_in_the_table() -> None:
    documents = [tomli.loads(dedent(text)) for text in (EVALUATOR, DATASET, SYSTEM)]
    keys = {
        key
        for document in documents
        for kind, body in document.items()
        if isinstance(body, dict)
        for key in body["x"]
    }
    told = " ".join(fault for *_, fault in WRONG.values())
    assert {key for key in keys if f".x.{key}" not in told} == set()


def test_all_faults_are_told_at_once() -> None:
    text = EVALUATOR
    for old, new in (
        ('version = "1"', "version = 1"),
        ('class = "X"', ""),
        ('"network"', '"internet"'),
        ('["response"]', "1"),
    ):
        text = changed(text, old, new)
    assert [line.partition(":")[0] for line in faults_of(changed(text, "schema = 1", ""))] == [
        "schema",
        "evaluators.x.class",
        "evaluators.x.version",
        "evaluators.x.capabilities[0]",
        "evaluators.x.needs.processed",
    ]


UNKNOWN = {
    "at the top": (EVALUATOR, "schema = 1", "schema = 1\nauthor = 'me'", "author: unknown key."),
    "in a component": (
        EVALUATOR,
        "cpu_bound = false",
        "cpu_bond = false",
        "evaluators.x.cpu_bond: unknown key. Did you mean 'cpu_bound'?",
    ),
    "in a score": (
        EVALUATOR,
        'better = "lower"',
        'beter = "lower"',
        "evaluators.x.scores.k.beter: unknown key. Did you mean 'better'?",
    ),
    "in an option": (
        EVALUATOR,
        "secret = true",
        "hidden = true",
        "evaluators.x.options.p.hidden: unknown key.",
    ),
    "of another kind": (
        SYSTEM,
        'kind = "reader"',
        "cpu_bound = true",
        "systems.x.cpu_bound: unknown key.",
    ),
    "of a kind unknown": (
        SYSTEM,
        "[systems.x]",
        "[widgets.y]\n[systems.x]",
        "widgets: unknown key.",
    ),
}


@pytest.mark.parametrize(("text", "old", "new", "warning"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_an_unknown_key_is_a_warning_and_no_fault(
    text: str, old: str, new: str, warning: str
) -> None:
    manifest = parse_manifest(dedent(changed(text, old, new)).encode())
    assert warning in manifest.warnings
    assert not manifest.faults


def test_an_unknown_key_warns_in_the_list_and_fails_the_check(
    site: Any, context_bench: Run
) -> None:
    package = site.evaluator("acme-new", "new")
    file = package / "context_bench_plugin.toml"
    file.write_text(file.read_text() + "\n[extra]\n")
    listed = context_bench("plugins", "list", "-v")
    assert (listed.code, "note manifest: extra: unknown key." in listed.words) == (0, True)
    checked = context_bench("plugins", "check", "acme-new")
    assert (checked.code, "extra: unknown key." in checked.out) == (2, True)


@pytest.mark.parametrize(
    "source",
    [b"\xff\xfe", b"a = [", b"[a]\n[a]\n", b"a" * 100],
    ids=["no UTF-8", "cut off", "a table twice", "no line"],
)
def test_what_is_no_toml_is_one_fault(source: bytes) -> None:
    manifest = parse_manifest(source)
    assert len(manifest.faults) == 1
    assert manifest.faults[0].startswith("not valid TOML: ")
    assert manifest.incompatibility is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.data())
def test_no_value_of_any_kind_breaks_the_reader(data: st.DataObject) -> None:
    import context_bench.plugins.manifest as module

    document = tomli.loads(dedent(data.draw(st.sampled_from([EVALUATOR, DATASET, SYSTEM]))))
    place = document
    while True:
        key = data.draw(st.sampled_from(sorted(place)))
        if not (isinstance(place[key], dict) and place[key] and data.draw(st.booleans())):
            break
        place = place[key]
    place[key] = data.draw(VALUES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tomli, "loads", lambda text: document)
        manifest = module.parse_manifest(b"")
    assert all(isinstance(line, str) for line in manifest.faults)
    assert manifest.incompatibility is None or manifest.incompatibility
