"""The self-check: a sound evaluator passes, a broken one makes the run exit with 2 and says so."""

from __future__ import annotations

import json
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

from context_bench.cli import execute
from context_bench_survival import Survival, evaluators, prepared

pytest.importorskip("context_bench_compress")


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    """Return the arguments of a run over a small session."""
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    text = "the server listens on 8443 since monday\nthe old mirror is kept in /srv/qx/layers today"
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "why?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": text},
        {"role": "assistant", "content": "port 8443"},
    ]
    path = tmp_path / "session.json"
    path.write_text(json.dumps(messages))
    dataset = f"sessions,path={path},cuts=last,tail=0,min_tokens=1"
    return [
        "--dataset",
        dataset,
        "--system",
        "identity",
        "--extension",
        "survival-check",
        "--run-file",
        str(tmp_path / "r.sqlite"),
    ]


def test_a_sound_run_passes(arguments: list[str]) -> None:
    assert execute(["run", *arguments]) == 0


def test_a_broken_evaluator_makes_the_run_exit_with_2(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sound = Survival.score

    def broken(self: Any, original: Any, processed: Any) -> dict[str, float]:
        return {**sound(self, original, processed), "survival_all": 0.5, "invented": 1.0}

    monkeypatch.setattr(Survival, "score", broken)
    assert execute(["run", *arguments]) == 2
    told = capsys.readouterr().err
    assert "survival_all is 0.5000 and must be 1.0" in told
    assert "invented is 1.0000 and must be 0" in told
    assert "The self-check of survival failed" in told


def test_every_run_checks_itself_without_being_asked(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [one for one in arguments if one not in ("--extension", "survival-check")]
    monkeypatch.setattr(
        prepared, "_ready", OrderedDict()
    )  # or an earlier test's verdict would count
    monkeypatch.setattr(
        evaluators, "_kept", lambda remains, probes: [bool(remains.texts)] * len(probes)
    )
    assert execute(["run", *asked, "--max-failed", "100%"]) == 2
    told = capsys.readouterr().err
    assert "with an empty region, survival_all is 1.0000 and must be 0.0" in told
    assert "The self-check of survival failed in" in told
    assert "SelfCheckError" in told  # the failure is kept with its row


def test_an_evaluator_checks_each_example_once_for_all_systems(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checked: list[str] = []
    sound = evaluators.faults_of
    monkeypatch.setattr(
        evaluators, "faults_of", lambda ready: checked.append(ready.text) or sound(ready)
    )
    evaluator = Survival()
    for number in range(3):
        example = {
            "id": str(number),
            "context": f"the old mirror number {70 + number} stays where it is",
        }
        for kept in ("", "the old mirror", example["context"]):
            evaluator.score(example, {"context": kept})
    assert len(checked) == 3
    assert not evaluator.faults
