"""Tasks that go on from a recorded session at a cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from context_bench.errors import DatasetError
from context_bench_tasks import tasks


def call(number: int, name: str, **arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
    }


def result(number: int, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"c{number}", "content": text}


SESSION = [
    {"role": "system", "content": "You work on files."},
    {"role": "user", "content": "Write b.txt from a.txt."},
    call(1, "read", path="a.txt"),
    result(1, "one"),
    call(2, "write", path="b.txt", content="one"),
    result(2, "wrote b.txt"),
    {"role": "assistant", "content": "done"},
]


def task_of(
    folder: Path, settings: str, messages: list[dict[str, Any]] = SESSION
) -> dict[str, Any]:
    (folder / "files").mkdir(exist_ok=True)
    (folder / "files" / "a.txt").write_text("one")
    (folder / "expected").mkdir(exist_ok=True)
    (folder / "expected" / "b.txt").write_text("one")
    (folder / "session.json").write_text(json.dumps(messages))
    (folder / "task.toml").write_text(settings)
    (task,) = tasks(path=str(folder))
    return task


def test_a_task_goes_on_from_the_messages_before_the_cut(tmp_path: Path) -> None:
    task = task_of(tmp_path, 'session = "session.json"\ncut = 4\n')
    assert task["question"] == "Write b.txt from a.txt."
    session = task["session"]
    assert session["messages"] == SESSION[:4]
    assert (session["cut"], session["recorded"], session["format"]) == (4, 7, "openai")


@pytest.mark.parametrize(("cut", "kept"), [('"last"', 6), ("0.2", 2), (None, 6)])
def test_a_cut_is_a_share_or_the_last_message_of_the_agent(
    tmp_path: Path, cut: str | None, kept: int
) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "b.txt").write_text("one")
    settings = 'session = "session.json"\n' + (f"cut = {cut}\n" if cut else "")
    assert task_of(tmp_path, settings)["session"]["cut"] == kept


def test_an_instruction_is_the_last_message(tmp_path: Path) -> None:
    settings = 'session = "session.json"\ncut = 4\ninstruction = "Go on."\n'
    task = task_of(tmp_path, settings)
    assert task["question"] == "Go on."
    last = {"role": "user", "content": "Go on."}
    assert task["session"]["messages"] == [*SESSION[:4], last]


@pytest.mark.parametrize("cut", ["0", "3", "5", "8", "true", '"x"', "2.5", '"compaction"'])
def test_a_cut_behind_which_no_agent_could_speak_is_refused(tmp_path: Path, cut: str) -> None:
    with pytest.raises(DatasetError):
        task_of(tmp_path, f'session = "session.json"\ncut = {cut}\n')


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("cut = 3\n", "needs session"),
        ('session = "../session.json"\n', "in the folder"),
        ('session = "other.json"\n', "other.json"),
    ],
)
def test_a_session_that_cannot_be_read_is_an_error(
    tmp_path: Path, settings: str, reason: str
) -> None:
    with pytest.raises(DatasetError, match=reason):
        task_of(tmp_path, settings)


def test_a_call_without_a_result_before_the_cut_is_refused(tmp_path: Path) -> None:
    messages = [*SESSION[:3], {"role": "user", "content": "Stop."}, *SESSION[3:]]
    with pytest.raises(DatasetError, match="1 calls have no result"):
        task_of(tmp_path, 'session = "session.json"\ncut = 4\n', messages)


def test_a_workspace_that_is_not_that_of_the_cut_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task_of(tmp_path, 'session = "session.json"\ncut = 4\n')
    assert "b.txt" not in capsys.readouterr().err
    task_of(tmp_path, 'session = "session.json"\ncut = 6\n')
    assert "wrote b.txt before the cut" in " ".join(capsys.readouterr().err.split())
