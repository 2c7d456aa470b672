"""Controls as rows of a run: matched in tokens, whole pairs, scored beside their compressor, told in table and plan."""

from __future__ import annotations

import json
import sqlite3
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.cli import execute
from context_bench.errors import ConfigurationError
from context_bench_controls import NAMES, Controls, controlled, held, region_of, stored
from context_bench_controls.measuring import achieved_tokens
from context_bench_controls.stored import returns_context
from context_bench_survival import Survival, given, left

WORDS = ("red", "green", "blue", "white", "black", "brown", "pink", "grey", "gold")
CALL = {"id": "c0", "name": "look", "arguments": '{"at": 1}'}
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "why?"},
    {"role": "assistant", "content": "I look at it.", "tool_calls": [CALL, {**CALL, "id": "c1"}]},
    {
        "role": "tool",
        "tool_call_id": "c0",
        "content": "\n".join(
            f"the {w} server listens on {48_000 + n} now" for n, w in enumerate(WORDS)
        ),
    },
    {
        "role": "tool",
        "tool_call_id": "c1",
        "content": "\n".join(
            f"the {w} mirror answers on {49_000 + n} now" for n, w in enumerate(WORDS)
        ),
    },
    {"role": "user", "content": "go on with that"},
    {"role": "assistant", "content": "done"},
]
EXAMPLE: dict[str, Any] = {"id": "s", "messages": MESSAGES, "region": [1, 5], "future": [":48003"]}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lines", [0, 1, 5, 9])
def test_a_control_has_no_more_tokens_than_its_source_and_whole_pairs(
    name: str, lines: int
) -> None:
    shorter = [dict(message) for message in MESSAGES]
    for message in shorter[2:4]:
        message["content"] = "\n".join(message["content"].splitlines()[:lines])
    source = {"messages": shorter, "region": [1, 5]}
    found = controlled(EXAMPLE, source, name=name)
    scores = Survival().score(EXAMPLE, found)
    assert scores["pair_faults"] == 0
    before, region = given(EXAMPLE)
    after, made = left(EXAMPLE, source), left(EXAMPLE, found)
    assert all(one is not None for one in (before, after, made))
    allowed = achieved_tokens(before, region, after)
    assert achieved_tokens(before, region, made) <= allowed
    assert found["control"]["tokens_allowed"] == min(allowed, region_of(before, region, ()).tokens)
    assert found["messages"][0] == MESSAGES[0]
    assert found["messages"][-1] == MESSAGES[-1]
    assert (scores["survival_all"] == 1.0) is (lines == 9)


def test_an_output_is_measured_once_for_its_four_controls(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[int] = []

    def measure(*arguments: Any) -> int:
        measured.append(achieved_tokens(*arguments))
        return measured[-1]

    monkeypatch.setattr(stored, "achieved_tokens", measure)
    for lines in (3, 6):
        text = "\n".join(MESSAGES[2]["content"].splitlines()[:lines])
        allowed = {
            controlled({**EXAMPLE, "id": "once"}, {"context": text}, name=name)["control"][
                "tokens_allowed"
            ]
            for name in NAMES
        }
        assert allowed == {measured[-1]}
    assert len(measured) == 2
    assert measured[0] < measured[1]


def test_what_put_out_a_text_is_controlled_with_a_text() -> None:
    found = controlled(EXAMPLE, {"context": "the red server listens on 48000 now"}, name="newest")
    assert "messages" not in found
    assert found["context"]
    plain = controlled(
        {"id": "1", "context": "one two\nthree four"}, {"context": "one two"}, name="head+tail"
    )
    assert plain["context"] == "three four"  # half of its tokens is less than the first line
    nothing = controlled(EXAMPLE, {"compression": {}}, name="random")
    assert nothing == {"control": {"name": "random", "note": "the source put out no context"}}


def test_the_seed_decides_the_random_control_and_no_other() -> None:
    source = {"context": "\n".join(message["content"] for message in MESSAGES[2:3])}
    drawn = {json.dumps(controlled(EXAMPLE, source, name="random", seed=seed)) for seed in range(8)}
    assert len(drawn) > 1
    assert controlled(EXAMPLE, source, name="random", seed=3) == controlled(
        EXAMPLE, source, name="random", seed=3
    )
    keys = [
        [spec.key for spec in Controls(seed=seed).derived_systems({"x": object()})]
        for seed in (1, 2)
    ]
    assert keys[0][0] != keys[1][0]
    assert keys[0][1:] == keys[1][1:]


class Endpoint:
    name = "endpoint"

    def fingerprint(self) -> dict[str, Any]:
        return {"endpoint": "http://127.0.0.1:1"}


def test_what_only_answers_has_no_controls() -> None:
    assert not returns_context(Endpoint())
    assert returns_context(object())
    with pytest.raises(ConfigurationError, match="this run has none"):
        Controls().derived_systems({})


class Agent:
    name = "agent"

    def matched_controls(self) -> dict[str, Any]:
        return {"random": lambda example, output: {"cut": output["size"] + example["more"]}}


def test_a_system_can_bring_its_own_controls() -> None:
    (spec,) = Controls().derived_systems({"proxy": Agent(), "endpoint": Endpoint()})
    assert (spec.label, spec.source_label, spec.is_read) == ("proxy random", "proxy", False)
    assert spec.process({"more": 1}, {"size": 2}) == {"cut": 3}


@pytest.mark.skipif(
    find_spec("context_bench_compress") is None or find_spec("context_bench_local") is None,
    reason="context-bench-compress and context-bench-local are not installed",
)
def test_a_run_stores_controls_and_shows_the_advantage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [
        f"the {name} server listens on {number} since monday"
        for number, name in enumerate("pqrstuvwxyz", 48_001)
    ]
    rows = [
        {
            "id": str(n),
            "context": "\n".join(lines[n:]),
            "question": "where is r?",
            "answer": "48003",
        }
        for n in range(4)
    ]
    Path("d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    run = [
        "run",
        "--dataset",
        "d.jsonl",
        "--system",
        "head:ratio=0.5",
        "--add-evaluator",
        "survival",
        "--controls",
        "--quiet",
    ]
    assert execute([*run, "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "extension context-bench-controls/controls " in shown
    assert "derived_systems (controls=stored)" in shown
    assert "head random: derived from head, no call" in shown
    assert execute([*run, "--run-file", "r.sqlite"]) == 0
    shown = capsys.readouterr().out
    assert "Held against deletion at random" in shown
    connection = sqlite3.connect("r.sqlite")
    counts = connection.execute(
        "SELECT label, count(*) FROM responses JOIN systems USING (system_number) GROUP BY system_number"
    ).fetchall()
    connection.close()
    assert counts == [("head", 4), *((f"head {name}", 4) for name in NAMES)]
    assert execute(["controls", "r.sqlite", "--format", "json"]) == 0
    assert {line["system"] for line in json.loads(capsys.readouterr().out)["lines"]} == {"head"}
    # a control competes with nobody and passes no gate, unless it is named
    assert execute(["compare", "r.sqlite"]) == 2
    assert "holds one system only" in capsys.readouterr().err
    gated = [
        *run,
        "--system",
        "tail:ratio=0.5",
        "--gate",
        "survival_all:min=0.99",
        "--run-file",
        "two.sqlite",
    ]
    assert execute([*gated, "--brief"]) in (10, 11)
    shown = " ".join("".join(capsys.readouterr()).split())
    assert "tail survival_all" in shown
    assert "random survival_all" not in shown
    asked = ["compare", "two.sqlite", "--metric", "survival_all", "--json"]
    for more, others in ((), {"tail"}), (("--baseline", "head random"), {"head", "tail"}):
        assert execute([*asked, *more]) == 0
        assert {
            line["system"] for line in json.loads(capsys.readouterr().out)["comparisons"]
        } == others


@pytest.mark.skipif(
    find_spec("context_bench_compress") is None, reason="context-bench-compress is not installed"
)
def test_a_reader_that_nobody_named_is_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    data = tmp_path / "d.jsonl"
    data.write_text('{"id": "1", "context": "a b", "question": "q"}\n', encoding="utf-8")
    pytest.importorskip("context_bench_local")
    assert (
        execute(
            [
                "run",
                "--dataset",
                str(data),
                "--system",
                "head:ratio=0.5",
                "--controls=reader",
                "--dry-run",
            ]
        )
        == 2
    )
    assert "Name it with --reader" in capsys.readouterr().err


class FirstLines:
    """Keeps the first lines of each result."""

    name = "first-lines"

    def transform(self, messages: list[Any], tools: list[Any]) -> list[Any]:
        return [
            {**one, "content": "\n".join(one["content"].splitlines()[:3])}
            if one["role"] == "tool"
            else one
            for one in messages
        ]


def test_controls_of_an_example_that_a_caller_made_keep_its_head_and_tail() -> None:
    result = evaluate(
        FirstLines(), [EXAMPLE], ["survival"], extensions=["controls"], progress=False
    )
    source, *derived = result.rows
    assert len(derived) == len(NAMES)
    allowed = held(EXAMPLE, source.output, "x", "s")
    assert allowed is not None
    for row in derived:
        assert (row.output["messages"][0], row.output["messages"][-1]) == (
            MESSAGES[0],
            MESSAGES[-1],
        )
        assert row.output["control"]["tokens_allowed"] == round(allowed.ratio * allowed.tokens)
