"""What a request says in short becomes systems, through every door: sweeps, shared options, added baselines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from context_bench import evaluate
from context_bench import open as open_result
from context_bench.errors import ConfigurationError, UnknownNameError

CODE = '''
    from attrs import evolve

    from context_bench.hookspecs import hookimpl

    class Knob:
        name = "knob"

        def __init__(self, ratio=0.5, top=1, model="m", parts=()):
            self.told = [ratio, top, model, list(parts)]

        def process(self, example):
            return {"response": repr(self.told)}

    def toy(limit=None, config=None, split=None):
        yield {"id": "1", "question": "one", "answer": "one"}

    class Exact:
        name = "exact"

        def score(self, original, processed):
            return {"exact": float(processed["response"] == original["answer"])}

    class Half:
        """Says that every system has half a ratio."""

        def __init__(self, mode="all"):
            self.mode = mode

        @hookimpl
        def expand_request(self, request, catalog):
            if self.mode == "nothing":
                return None
            if self.mode == "a text":
                return "knob"
            systems = [evolve(system, options={"ratio": 0.5}) for system in request.systems]
            return evolve(request, systems=tuple(systems))
'''
MANIFEST = """
    schema = 1
    api = "1.0"

    [systems.knob]
    summary = "Answers with its options"
    class = "Knob"
    version = "1"
    options.ratio = { type = "float", default = 0.5, help = "A share" }
    options.top = { type = "int", default = 1, help = "A number" }
    options.model = { type = "str", default = "m", help = "A name" }
    options.parts = { type = "list", default = [], help = "A list" }

    [datasets.toy-knob]
    summary = "One example"
    class = "toy"

    [evaluators.exact-knob]
    summary = "Whether the response is the answer"
    class = "Exact"
    primary = "exact"
    version = "1"
    wire = [{ always = true }]
    scores.exact = {}

    [hooks.half]
    summary = "Halves"
    class = "Half"
    implements = ["expand_request"]
    version = "1"
    options.mode = { type = "str", flag = "--half", default = "all", help = "What it does" }
"""
ENTRY_POINTS = """
[context_bench.systems]
knob = acme_knob:Knob
[context_bench.datasets]
toy-knob = acme_knob:toy
[context_bench.evaluators]
exact-knob = acme_knob:Exact
[context_bench.hooks]
half = acme_knob:Half
"""


@pytest.fixture(scope="module", autouse=True)
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A package with a system that has numbers as options, which is on the path."""
    site = tmp_path_factory.mktemp("site")
    metadata, package = site / "acme_knob-1.0.dist-info", site / "acme_knob"
    for folder in (metadata, package):
        folder.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-knob\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    (package / "__init__.py").write_text(dedent(CODE))
    (package / "context_bench_plugin.toml").write_text(dedent(MANIFEST))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        yield site


@pytest.fixture
def run(context_bench: Any) -> Callable[..., Any]:
    def call(*systems: str, more: tuple[str, ...] = (), code: int = 0) -> Any:
        asked = [part for system in systems for part in ("--system", system)]
        done = context_bench(
            *("run", *asked, "--dataset", "toy-knob", "--evaluators", "exact-knob"),
            *("--run-file", "r.sqlite", "--quiet", *more),
        )
        assert done.code == code, done.err
        return done

    return call


def answers() -> dict[str, str]:
    return {row.system: row.response for row in open_result("r.sqlite").rows}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            "knob:ratio=0.1/0.25",
            {"knob:ratio=0.1": [0.1, 1, "m", []], "knob:ratio=0.25": [0.25, 1, "m", []]},
        ),
        ("a=knob:top=1/20", {"a:top=1": [0.5, 1, "m", []], "a:top=20": [0.5, 20, "m", []]}),
        (
            "knob:ratio=1e-1/1",
            {"knob:ratio=1e-1": [0.1, 1, "m", []], "knob:ratio=1": [1.0, 1, "m", []]},
        ),
        ("knob:model=1/2", {"knob": [0.5, 1, "1/2", []]}),
        ("knob:parts=1/2", {"knob": [0.5, 1, "m", [1, 2]]}),
        ("knob:ratio=0.3", {"knob": [0.3, 1, "m", []]}),
    ],
)
def test_a_number_with_slashes_is_a_system_for_each(
    run: Any, spec: str, expected: dict[str, Any]
) -> None:
    run(spec)
    assert answers() == {label: repr(told) for label, told in expected.items()}


def test_two_sweeps_are_every_pair(run: Any) -> None:
    run("knob:ratio=0.1/0.2,top=3/4,model=x")
    assert sorted(answers().values()) == [
        repr([ratio, top, "x", []]) for ratio in (0.1, 0.2) for top in (3, 4)
    ]


def test_what_is_no_number_is_told_with_its_place(run: Any) -> None:
    assert "ratio must be a finite number" in run("knob:ratio=0.1/x", code=2).err
    assert "ratio must be a finite number" in run("knob:ratio=0.1/", code=2).err


def test_a_swept_run_is_resumed_reported_locked_and_asked_for_by_a_project_file(
    run: Any, context_bench: Any
) -> None:
    Path("context-bench.toml").write_text(
        'baseline = "knob:ratio=0.1"\n[[systems]]\nspec = "knob:ratio=0.1/0.25"\n'
        "[systems.defaults]\ntop = 7\n"
    )
    run()
    assert answers() == {
        "knob:top=7,ratio=0.1": repr([0.1, 7, "m", []]),
        "knob:top=7,ratio=0.25": repr([0.25, 7, "m", []]),
    }
    assert open_result("r.sqlite").config["baseline"] == "knob:top=7,ratio=0.1"
    assert context_bench("lock", "--dataset", "toy-knob", "--evaluators", "exact-knob").code == 0
    locked = ("run", "--dataset", "toy-knob", "--evaluators", "exact-knob", "--locked", "--dry-run")
    for command in (("resume", "r.sqlite"), ("report", "r.sqlite"), locked):
        done = context_bench(*command)
        assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("baseline", "label", "told"),
    [
        ("low=knob:ratio=0.1", "low", [0.1, 3, "m", []]),
        ("knob:ratio=0.9,top=5", "knob:ratio=0.9,top=5", [0.9, 5, "m", []]),
        ("high", "high", [0.8, 3, "m", []]),
    ],
)
def test_a_baseline_is_a_label_or_one_more_system(
    run: Any, baseline: str, label: str, told: list[Any]
) -> None:
    shared = ("--set", "systems.defaults.top=3", "--baseline", baseline)
    run("knob", "high=knob:ratio=0.8", more=shared)
    assert open_result("r.sqlite").config["baseline"] == label
    assert answers()[label] == repr(told)


def test_a_name_that_two_systems_have_is_no_baseline(run: Any) -> None:
    done = run("knob:top=1", "knob:top=2", more=("--baseline", "knob"), code=2)
    assert "is the name of 2 systems" in done.err


def test_an_object_can_be_the_baseline() -> None:
    class Plain:
        name = "plain"

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            return {"response": "one"}

    plain = Plain()
    usual: dict[str, Any] = {"run_file": None, "progress": False}
    examples = [{"id": "1", "question": "q", "answer": "one"}]
    added = evaluate("knob:ratio=0.1/0.2", examples, ["exact-knob"], baseline=plain, **usual)
    assert added.config["baseline"] == "plain"
    assert [row.system for row in added.rows] == ["knob:ratio=0.1", "knob:ratio=0.2", "plain"]
    named = evaluate([plain, "knob"], examples, ["exact-knob"], baseline=plain, **usual)
    assert [row.system for row in named.rows] == ["plain", "knob"]


@pytest.mark.parametrize("asked", ["nope", "a=nope:x=1"])
def test_a_baseline_that_is_nothing_is_told(asked: str) -> None:
    with pytest.raises(UnknownNameError, match="knob"):
        evaluate("knob", [{"id": "1", "question": "q"}], baseline=asked, run_file=None)


@pytest.mark.parametrize(
    "more",
    [
        ("--set", "systems.defaults.top=3"),
        ("--baseline", "low=knob:ratio=0.1"),
        ("--system", "b=knob:ratio=0.1/0.2"),
    ],
)
def test_without_the_extension_the_line_that_installs_it_is_told(
    run: Any, more: tuple[str, ...]
) -> None:
    done = run("knob", more=(*more, "-p", "no:sweeps"), code=2)
    assert "sweeps" in done.err
    assert run("knob", more=("--baseline", "knob", "-p", "no:sweeps")).code == 0


def test_a_package_of_others_can_expand_a_request(run: Any) -> None:
    run("knob:ratio=0.1/0.25", "b=knob:top=3", more=("--half", "all"))
    assert answers() == {"knob": repr([0.5, 1, "m", []]), "b": repr([0.5, 1, "m", []])}


def test_an_expansion_that_leaves_something_is_refused(run: Any) -> None:
    done = run("knob:ratio=0.1/0.25", more=("--half", "nothing"), code=2)
    assert "The sweep knob:ratio=0.1/0.25 is not expanded by half." in done.err
    done = run("knob", more=("--half", "a text"), code=2)
    assert "expand_request(): it returned 'knob', not a request" in " ".join(done.err.split())


def test_an_option_that_no_system_has_is_told() -> None:
    with pytest.raises(ConfigurationError, match=r"systems\.defaults"):
        evaluate("knob", [{"id": "1"}], system_defaults={"ratoi": 1}, run_file=None)
