"""A manifest is read without its package, and each fault has the path of its key and a code."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import Any

import attrs
import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from context_bench.plugins.manifest import KINDS, MANIFESTS, PluginManifest, parse_manifest
from context_bench.plugins.manifest_reader import keys_of

Run = Callable[..., Any]

WHOLE = """
    schema = 1
    api = "1.0"
    doctor = "acme.checks:doctor"

    [evaluators.x]
    summary = "s"
    class = "X"
    primary = "k"
    version = "1"
    aliases = ["other_name"]
    deterministic = true
    capabilities = ["network", "env:KEY"]
    extra = "fast"
    citation = "Nobody 2026, Nothing"
    extra_options = false
    option_groups = ["judge"]
    cpu_bound = false
    reads = ["answer"]
    needs = { original = ["answer|answers"], processed = ["response"] }
    wire = [{ always = true }, { datasets = ["d"] }, { tags = ["t"] }, { option = "judge-url" }, { tags = ["t"], option = "judge-url" }]
    scores.k = { range = [0, "inf"], better = "lower", aggregate = "sum" }
    scores.l = {}
    options.o = { type = "int", default = 1, help = "h", choices = [1, 2], flag = "--judge-url" }
    options.p = { secret = true, required = true, help = "h", env = "E", key = "prices", bare = "" }
    examples = [
        { original = { gold = "g" }, processed = { reply = "g" }, options = { o = 2 } },
        { config = "large", split = "held-out" },
    ]

    [datasets.x]
    summary = "s"
    class = "x"
    primary = "k"
    tags = ["t"]
    splits = ["test"]
    configs = ["a"]
    default_config = "a"
    license = "MIT"
    homepage = "h"
    citation = "c"
    language = ["en"]
    sizes = { test = 3 }
    inputs = ["question"]
    gold = ["answer"]
    fields = ["id"]
    files = [".x"]
    answer_form = "short"
    instruction = "Answer in a word."
    context_role = "none"
    cluster = "the document"
    comparable = "a published score"
    shots = 3
    needs_module = "json"
    pins.a = { commit = "0123456789012345678901234567890123456789", sizes = { test = 3 }, first = { test = "f" } }
    config_overrides.a = { primary = "l", tags = ["u"], answer_form = "free", instruction = "", context_role = "given" }

    [datasets.y]
    summary = "s"
    definition.loader = "x"
    definition.source = "owner/name"
    definition.revision = "main"
    definition.config = "a"
    definition.split = "test"
    definition.files = "a.csv"
    definition.format = "csv"
    definition.group_by = "story"
    definition.parts = ["a"]
    definition.fields = { question = "q" }
    definition.example = "acme.rows:example"
    definition.tables = { texts = { files = "b.csv" } }
    definition.prompt = '''Q: {question}
    A:'''
    definition.shots_template = "{answer}"
    definition.shots_split = "train"
    definition.shots_same = "subject"
    definition.config_overrides.a = { split = "dev" }

    [systems.x]
    summary = "s"
    class = "X"
    kind = "reader"
    reads = ["question"]
    reads_gold = false
    proxy_default = false

    [metrics.x]
    summary = "s"
    default = true
    [metrics.x.values]
    "a:*" = { heading = "*", format = "score", better = "lower", aggregate = "mean", order = 1, detail = true }

    [reporters.x]
    summary = "s"
    files = [".x"]

    [tokenizers.x]
    summary = "s"

    [hooks.x]
    summary = "s"
    implements = ["row_finished"]
    default = "installed"

    [commands.x]
    summary = "s"
    parent = "explain"
    group = false

    [commands.y]
    summary = "s"
    extends = "run"

    [flags.x]
    summary = "s"
    options.url = { flag = "--x-url", help = "h" }
"""


def changed(old: str, new: str) -> PluginManifest:
    assert old in WHOLE
    return parse_manifest(dedent(WHOLE).replace(old, new, 1).encode())


def test_a_manifest_with_every_key_has_no_fault() -> None:
    manifest = parse_manifest(dedent(WHOLE).encode())
    assert (manifest.faults, manifest.warnings) == ((), ())
    assert {kind for kind, _ in manifest.components} == set(KINDS)
    assert manifest.evaluators["x"].needs.by_side == {
        "original": ("answer|answers",),
        "processed": ("response",),
    }
    assert manifest.evaluators["x"].scores["k"].range == (0.0, None)
    definition = manifest.datasets["y"].definition
    assert definition is not None
    assert definition.to_dict()["config_overrides"] == {"a": {"split": "dev"}}
    assert manifest.metrics["x"].values["a:*"].heading == "*"
    assert manifest.hooks["x"].implements == ("row_finished",)


def test_every_key_of_the_format_is_in_that_manifest() -> None:
    document = tomli.loads(dedent(WHOLE))
    for kind, manifest in MANIFESTS.items():
        used = {key for body in document[kind].values() for key in body}
        common = {} if kind == "evaluators" else keys_of(MANIFESTS["tokenizers"])
        keys = {name for name, declared in keys_of(manifest).items() if declared.entry.in_table}
        assert keys - set(common) <= used, kind


TYPE = "wrong-type"
VALUE = "bad-value"
NAME = "bad-name"
MISSING = "missing"
OTHER = "contradiction"
WRONG = [
    ("schema = 1", 'schema = "1"', "schema", TYPE),
    ("schema = 1", "schema = true", "schema", TYPE),
    ("schema = 1", "schema = 0", "schema", VALUE),
    ("schema = 1", "", "schema", MISSING),
    ('api = "1.0"', "", "api", MISSING),
    ('api = "1.0"', "api = 1.0", "api", TYPE),
    ('api = "1.0"', 'api = "one"', "api", VALUE),
    ('api = "1.0"', 'api = "1.0.0"', "api", VALUE),
    ('api = "1.0"', 'api = "-1.0"', "api", VALUE),
    ('"acme.checks:doctor"', '"acme.checks"', "doctor", VALUE),
    ("[tokenizers.x]", "[tokenizers]", "tokenizers.summary", TYPE),
    ("[reporters.x]", "[reporters.Big]", "reporters.Big", NAME),
    ("[reporters.x]", "[reporters.1x]", "reporters.1x", NAME),
    ('summary = "s"', "", "evaluators.x.summary", MISSING),
    ('summary = "s"', "summary = 1", "evaluators.x.summary", TYPE),
    ('summary = "s"', 'summary = "a\\nb"', "evaluators.x.summary", VALUE),
    ('summary = "s"', 'summary = "\\u001b[2J"', "evaluators.x.summary", VALUE),
    ('class = "X"', "", "evaluators.x.class", MISSING),
    ('class = "x"', "", "datasets.x.class", OTHER),
    ('version = "1"', "", "evaluators.x.version", MISSING),
    ("deterministic = true", "deterministic = 1", "evaluators.x.deterministic", TYPE),
    ('["network", "env:KEY"]', '"network"', "evaluators.x.capabilities", TYPE),
    ('"network"', '"internet"', "evaluators.x.capabilities[0]", VALUE),
    ('"env:KEY"', '"env:"', "evaluators.x.capabilities[1]", VALUE),
    ('extra = "fast"', 'extra = "; rm"', "evaluators.x.extra", VALUE),
    ('reads = ["answer"]', 'reads = ["a", 1]', "evaluators.x.reads[1]", TYPE),
    ('["response"]', '"response"', "evaluators.x.needs.processed", TYPE),
    ('["response"]', '["response", 2]', "evaluators.x.needs.processed[1]", TYPE),
    ("{ always = true }", '"always"', "evaluators.x.wire[0]", TYPE),
    ("{ always = true }", '{ always = true, tags = ["t"] }', "evaluators.x.wire[0]", OTHER),
    ("{ always = true }", "{}", "evaluators.x.wire[0]", OTHER),
    ("{ always = true }", '{ always = true, option = "u" }', "evaluators.x.wire[0]", OTHER),
    ("{ always = true }", '{ datasets = ["d"], tags = ["t"] }', "evaluators.x.wire[0]", OTHER),
    ("always = true", "always = false", "evaluators.x.wire[0]", OTHER),
    ("always = true", "always = 1", "evaluators.x.wire[0].always", TYPE),
    ('datasets = ["d"]', 'datasets = "squad"', "evaluators.x.wire[1].datasets", TYPE),
    ('tags = ["t"] }', 'tags = ["t", 1.5] }', "evaluators.x.wire[2].tags[1]", TYPE),
    ('option = "judge-url"', 'option = ["u"]', "evaluators.x.wire[3].option", TYPE),
    ('option = "judge-url"', 'option = "--judge-url"', "evaluators.x.wire[3].option", VALUE),
    ('{ gold = "g" }', '"g"', "evaluators.x.examples[0].original", TYPE),
    ('config = "large"', "config = 1", "evaluators.x.examples[1].config", TYPE),
    ('primary = "k"', "", "evaluators.x.primary", MISSING),
    ('primary = "k"', 'primary = "z"', "evaluators.x.primary", OTHER),
    ("scores.l = {}", "scores.l = 1", "evaluators.x.scores.l", TYPE),
    ("scores.l = {}", "scores.a-b = {}", "evaluators.x.scores.a-b", NAME),
    ('[0, "inf"]', "[0]", "evaluators.x.scores.k.range", VALUE),
    ('[0, "inf"]', '[0, "many"]', "evaluators.x.scores.k.range", VALUE),
    ('[0, "inf"]', "[false, true]", "evaluators.x.scores.k.range", VALUE),
    ('[0, "inf"]', "[1, 0]", "evaluators.x.scores.k.range", VALUE),
    ('[0, "inf"]', "[nan, 1]", "evaluators.x.scores.k.range", VALUE),
    ('"lower", aggregate', '"smaller", aggregate', "evaluators.x.scores.k.better", VALUE),
    ('aggregate = "sum"', "aggregate = []", "evaluators.x.scores.k.aggregate", TYPE),
    ("options.p = {", 'options.q = "q"\n    options.p = {', "evaluators.x.options.q", TYPE),
    ("options.p", "options.a-b", "evaluators.x.options.a-b", NAME),
    ('type = "int"', 'type = "integer"', "evaluators.x.options.o.type", VALUE),
    ('required = true, help = "h"', "required = true", "evaluators.x.options.p.help", MISSING),
    ("default = 1,", 'default = "1",', "evaluators.x.options.o.default", OTHER),
    ("default = 1,", "default = true,", "evaluators.x.options.o.default", OTHER),
    ("default = 1,", "default = 2020-01-01,", "evaluators.x.options.o.default", OTHER),
    ("default = 1,", "default = 3,", "evaluators.x.options.o.default", OTHER),
    ("choices = [1, 2]", 'choices = "12"', "evaluators.x.options.o.choices", TYPE),
    ("choices = [1, 2]", 'choices = [1, "2"]', "evaluators.x.options.o.choices[1]", OTHER),
    ('flag = "--judge-url"', 'flag = "judge"', "evaluators.x.options.o.flag", VALUE),
    ('env = "E"', 'env = ["E"]', "evaluators.x.options.p.env", TYPE),
    ('splits = ["test"]', "splits = {}", "datasets.x.splits", TYPE),
    ('default_config = "a"', 'default_config = "b"', "datasets.x.default_config", OTHER),
    ("test = 3", "test = -1", "datasets.x.sizes.test", VALUE),
    ('tags = ["u"]', 'tags = "u"', "datasets.x.config_overrides.a.tags", TYPE),
    ('definition.loader = "x"', "", "datasets.y.definition.loader", MISSING),
    ("acme.rows:example", "acme.rows", "datasets.y.definition.example", VALUE),
    ('split = "dev"', "split = 1", "datasets.y.definition.config_overrides.a.split", TYPE),
    ('kind = "reader"', 'kind = "writer"', "systems.x.kind", VALUE),
    ('format = "score"', 'format = "big"', "metrics.x.values.a:*.format", VALUE),
    ('implements = ["row_finished"]', "", "hooks.x.implements", MISSING),
    ('"row_finished"', '"row_ended"', "hooks.x.implements[0]", VALUE),
    ('"row_finished"', '"admit_call"', "hooks.x.default", OTHER),
    ('default = "installed"', 'default = "always"', "hooks.x.default", VALUE),
    ('default = "installed"', 'default = "installed"\ncapabilities = ["network"]', "hooks.x.default", OTHER),
    ('extends = "run"', 'extends = "history"', "commands.y.extends", VALUE),
    ('extends = "run"', 'extends = "run"\nparent = "plugins"', "commands.y.parent", OTHER),
    ('flag = "--x-url", ', "", "flags.x.options.url", OTHER),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "place", "code"), WRONG, ids=[f"{new or old} ({code})" for old, new, _, code in WRONG]
)  # fmt: skip
def test_a_wrong_value_is_a_fault_with_its_path(old: str, new: str, place: str, code: str) -> None:
    faults = changed(old, new).faults
    assert (place, code) in [(fault.place, fault.code) for fault in faults], faults


def test_all_faults_are_reported_at_once_and_belong_to_their_component() -> None:
    text = dedent(WHOLE)
    for old, new in (
        ("schema = 1", ""),
        ('version = "1"', "version = 1"),
        ('class = "X"', ""),
        ('"network"', '"internet"'),
        ('license = "MIT"', "license = 1"),
    ):
        text = text.replace(old, new, 1)
    manifest = parse_manifest(text.encode())
    assert {fault.place for fault in manifest.faults} == {
        "schema",
        "evaluators.x.class",
        "evaluators.x.version",
        "evaluators.x.capabilities[0]",
        "datasets.x.license",
    }
    faults = manifest.faults_of("datasets", "x")
    assert [fault.place for fault in faults] == ["schema", "datasets.x.license"]


UNKNOWN = [
    ("schema = 1", "schema = 1\nauthor = 'me'", "author"),
    ("cpu_bound = false", "cpu_bond = false", "evaluators.x.cpu_bond"),
    ('better = "lower", aggregate', 'beter = "lower", aggregate', "evaluators.x.scores.k.beter"),
    ("secret = true", "hidden = true", "evaluators.x.options.p.hidden"),
    ("processed = ", "answer = ", "evaluators.x.needs.answer"),
    ("definition.source", "definition.sorce", "datasets.y.definition.sorce"),
    ('kind = "reader"', "cpu_bound = true", "systems.x.cpu_bound"),
    ("[systems.x]", "[widgets.y]\n[systems.x]", "widgets"),
]


@pytest.mark.parametrize(("old", "new", "place"), UNKNOWN)
def test_an_unknown_key_is_a_warning_and_not_a_fault(old: str, new: str, place: str) -> None:
    manifest = changed(old, new)
    warnings = [(warning.place, warning.code) for warning in manifest.warnings]
    assert (place, "unknown-key") in warnings
    assert not manifest.faults


def test_an_unknown_key_warns_in_the_list_and_fails_the_check(
    site: Any, context_bench: Run
) -> None:
    package = site.evaluator("acme-new", "new")
    file = package / "context_bench_plugin.toml"
    file.write_text(file.read_text() + "\n[extra]\n")
    listed = context_bench("plugins", "list", "-v")
    assert (listed.code, "extra: unknown key" in listed.words) == (0, True)
    checked = context_bench("plugins", "check", "acme-new")
    assert (checked.code, "extra: unknown key" in checked.out) == (2, True)


def test_an_option_with_the_name_of_a_secret_is_secret_unless_that_is_a_warning() -> None:
    text = '[systems.x]\noptions.api_key = { help = "h" }\noptions.token = { secret = false }\n'
    manifest = parse_manifest(text.encode())
    assert manifest.systems["x"].options["api_key"].secret
    assert [warning.place for warning in manifest.warnings] == ["systems.x.options.token.secret"]


@pytest.mark.parametrize(
    "source",
    [b"\xff\xfe", b"a = [", b"[a]\n[a]\n", b"a" * 100],
    ids=["no UTF-8", "cut off", "a table twice", "no line"],
)
def test_text_that_is_not_toml_is_one_fault(source: bytes) -> None:
    manifest = parse_manifest(source)
    assert [fault.code for fault in manifest.faults] == ["not-toml"]
    assert manifest.incompatibility is None


@pytest.mark.parametrize(
    ("head", "is_newer"),
    [
        ('schema = 2\napi = "1.0"', True),
        ('schema = 1\napi = "1.1"', True),
        ('schema = 1\napi = "2.0"', True),
        ('schema = 1\napi = "0.9"', False),
    ],
)
def test_another_format_or_api_is_incompatible(head: str, is_newer: bool) -> None:
    manifest = parse_manifest(head.encode())
    assert manifest.incompatibility
    assert manifest.is_newer == is_newer


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.data())
def test_no_value_of_any_kind_breaks_the_reader(data: st.DataObject) -> None:
    document = tomli.loads(dedent(WHOLE))
    place = document
    while True:
        key = data.draw(st.sampled_from(sorted(place)))
        if not (isinstance(place[key], dict) and place[key] and data.draw(st.booleans())):
            break
        place = place[key]
    place[key] = data.draw(VALUES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tomli, "loads", lambda text: document)
        manifest = parse_manifest.__wrapped__(b"")
    assert all(str(fault) for fault in manifest.faults)
    assert manifest.incompatibility is None or manifest.incompatibility


def test_a_manifest_is_frozen() -> None:
    manifest = parse_manifest(dedent(WHOLE).encode()).evaluators["x"]
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        manifest.summary = "other"  # type: ignore[misc]
