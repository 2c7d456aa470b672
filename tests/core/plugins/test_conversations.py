"""A conversation that meets a system which talks is asked by a package; where it is absent, nobody asks in another way."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import RunStoppedError
from context_bench.installation import install_hint
from context_bench.plugins import discovery
from context_bench.runs import open_run

PACKAGE = "context-bench-conversations"

PART = f"{PACKAGE}/conversations"
TALK = {"id": "t", "multi_turn": True, "turns": ["one", "two"], "answer": "two"}
PLAIN = {"id": "p", "question": "one", "answer": "one"}

CODE = """
    import os

    def note(what):
        with open(os.environ["ECHO_LOG"], "a") as log:
            log.write(what + "\\n")

    class Plain:
        name = "plain"

        def process(self, example):
            note("plain")
            return {"response": example.get("question", "two")}

        def fingerprint(self):
            return {}

    class Talker(Plain):
        name = "talker"

        def process_turn(self, turns):
            note(turns[-1])
            return turns[-1]

    def talks(limit=None, config=None, split=None):
        yield {"id": "t", "multi_turn": True, "turns": ["one", "two"], "answer": "two"}

    def mixed(limit=None, config=None, split=None):
        yield {"id": "p", "question": "one", "answer": "one"}
        yield from talks()
"""
MANIFEST = """
    schema = 1
    api = "1.0"

    [systems.plain]
    summary = "Answers"
    class = "Plain"
    kind = "system"

    [systems.talker]
    summary = "Answers turn by turn"
    class = "Talker"
    kind = "system"

    [datasets.talks]
    summary = "A conversation"
    class = "talks"
    fields = ["id", "multi_turn", "turns", "answer"]

    [datasets.mixed]
    summary = "A conversation behind another example, of which the manifest tells nothing"
    class = "mixed"
"""
POINTS = {
    "systems": {"plain": "acme_talks:Plain", "talker": "acme_talks:Talker"},
    "datasets": {"talks": "acme_talks:talks", "mixed": "acme_talks:mixed"},
}


@pytest.fixture
def talking(site: Any, context_bench: Callable[..., Any], workplace: Path) -> Callable[..., Any]:
    """Run a system about datasets of its package."""
    site.basics()
    site.add("acme-talks", code=CODE, manifest=MANIFEST, entry_points=POINTS)

    def call(
        command: str,
        system: str,
        *datasets: str,
        more: tuple[str, ...] = ("--run-file", "r.sqlite"),
    ) -> Any:
        named = [part for name in datasets for part in ("--dataset", name)]
        return context_bench(command, "--system", system, *named, *more)

    return call


def take_away(monkeypatch: pytest.MonkeyPatch) -> None:
    discover = discovery.importlib_metadata.Distribution.discover
    monkeypatch.setattr(
        discovery.importlib_metadata.Distribution,
        "discover",
        lambda **named: [one for one in discover(**named) if one.metadata["Name"] != PACKAGE],
    )


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the package away."""
    take_away(monkeypatch)


@pytest.mark.usefixtures("absent")
def test_a_dataset_that_tells_of_conversations_is_refused_before_anything_is_asked(
    talking: Any, asked: Callable[[], int]
) -> None:
    done = talking("run", "talker", "toy", "talks")
    assert (done.code, install_hint(PACKAGE) in done.err, asked()) == (2, True, 0)
    assert not Path("r.sqlite").exists()


def test_one_that_does_not_is_refused_when_the_conversation_comes_and_resumed_once_it_is_installed(
    talking: Any, asked: Callable[[], int], context_bench: Any
) -> None:
    pytest.importorskip("context_bench_conversations", reason="it asks the rest")
    with pytest.MonkeyPatch.context() as patch:
        take_away(patch)
        done = talking("run", "talker", "mixed")
    assert (done.code, install_hint(PACKAGE) in done.err, asked()) == (2, True, 1)
    assert "context-bench resume r.sqlite" in done.err
    assert context_bench("resume", "r.sqlite").code == 0
    assert asked() == 3
    with open_run(Path("r.sqlite")) as run:
        assert [row.score for row in run.rows()] == [1.0, 1.0]


@pytest.mark.usefixtures("absent")
@pytest.mark.parametrize("dataset", ["talks", "mixed"])
def test_a_system_that_does_not_talk_does_without_the_package(talking: Any, dataset: str) -> None:
    done = talking("run", "plain", dataset)
    assert done.code == 0, done.err
    with open_run(Path("r.sqlite")) as run:
        assert "extensions" not in run.provenance


def test_a_system_that_is_an_object_is_refused_as_well_and_so_is_a_package_that_is_blocked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("context_bench_conversations", reason="it is blocked")
    monkeypatch.setenv("CONTEXT_BENCH_DISABLE_PLUGINS", PACKAGE)

    class Whole:
        name = "whole"

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            assert "turns" not in example, "nobody asks in another way"
            return {"response": "one"}

        def process_conversation(self, turns: list[Any]) -> list[str]:
            raise AssertionError("nobody is there to ask")

    class Same:
        name = "same"

        def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
            return {"same": float(original["answer"] == processed["response"])}

    with pytest.raises(RunStoppedError) as stopped:
        evaluate(Whole(), [PLAIN, TALK], [Same()], progress=False)
    assert stopped.value.exit_code == 2
    assert f"Extension {PART} is blocked" in str(stopped.value)


@pytest.mark.parametrize(("dataset", "is_told"), [("talks", True), ("mixed", False)])
def test_the_part_stands_in_the_run_file_and_where_the_manifest_tells_in_plan_and_lock(
    talking: Any, dataset: str, is_told: bool
) -> None:
    pytest.importorskip("context_bench_conversations", reason="it is the part")
    assert (
        f"extension {PART} " in talking("run", "talker", dataset, more=("--dry-run",)).out
    ) == is_told
    assert talking("lock", "talker", dataset, more=()).code == 0
    [lock] = Path.cwd().glob("*.lock")
    assert (PART in json.loads(lock.read_text()).get("extensions", {})) == is_told
    done = talking("run", "talker", dataset, more=("--locked", "--run-file", "r.sqlite"))
    assert done.code == 0, done.err
    with open_run(Path("r.sqlite")) as run:
        assert run.provenance["extensions"][PART]["implements"] == ["drive_conversation"]
        assert [turn.output["response"] for turn in run.turns((0, dataset == "mixed", 0, 0))] == [
            "one",
            "two",
        ]


def test_the_package_is_loaded_when_a_conversation_comes_and_not_before(talking: Any) -> None:
    pytest.importorskip("context_bench_conversations", reason="it is loaded")
    loaded = [
        name for name in sys.modules if name.partition(".")[0] == "context_bench_conversations"
    ]
    for name in loaded:
        del sys.modules[name]
    assert talking("run", "talker", "toy").code == 0
    assert "context_bench_conversations" not in sys.modules
    assert talking("run", "talker", "mixed", more=()).code == 0
    assert "context_bench_conversations" in sys.modules
