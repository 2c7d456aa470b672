"""Known agent programs: what they are started with, a missing one, and their own logs."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from context_bench import open as open_run
from context_bench.cli import execute
from context_bench.errors import ConfigurationError
from context_bench_agents_live import (
    PRESETS,
    Agent,
    AgentTask,
    Ending,
    Policy,
    Program,
    Workspace,
)
from context_bench_agents_live.program_logs import (
    read_claude_code,
    read_codex,
    read_mini_swe_agent,
    read_opencode,
    read_pi,
)
from context_bench_tasks import tasks

HUNT = next(tasks(n=1, assets=2))
INPUT = {name: HUNT[name] for name in ("question", "files", "limits")}

# Writes down how it was started, and then says what it was told to say.
_RECORDER = """#!{python}
import json, os, pathlib, sys
home = pathlib.Path(os.environ["HOME"])
files = {{str(path.relative_to(home)): path.read_text() for path in home.rglob("*") if path.is_file()}}
seen = {{"arguments": sys.argv[1:], "environment": dict(os.environ), "files": files, "folder": os.getcwd()}}
pathlib.Path({seen!r}).write_text(json.dumps(seen))
sys.exit(1)
"""


def executable(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.parametrize("name", PRESETS)
def test_a_missing_program_is_told_with_its_installation_before_the_first_task(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigurationError) as caught:
        Agent(name)
    assert PRESETS[name].install in str(caught.value)
    assert f"{PRESETS[name].megabytes} MB" in str(caught.value)


@pytest.mark.parametrize(
    "name", [name for name, preset in PRESETS.items() if not preset.why_no_oracle]
)
def test_a_program_is_pointed_at_the_policy_with_the_key_of_the_row(
    name: str, tmp_path: Path
) -> None:
    seen_file = tmp_path / "seen.json"
    program = executable(
        tmp_path / "agent", _RECORDER.format(python=sys.executable, seen=str(seen_file))
    )
    agent = Agent(name, program=str(program))
    try:
        output = agent.process(INPUT)
    finally:
        agent.close()
    assert output["agent"]["ended"] == "crashed"
    seen = json.loads(seen_file.read_text())
    variables = seen["environment"]
    key = variables["OPENAI_API_KEY"]
    assert key.startswith("cb-row-")
    assert key == variables["ANTHROPIC_API_KEY"]
    assert HUNT["question"] in seen["arguments"]
    assert any("oracle" in word for word in seen["arguments"])
    port = variables["ANTHROPIC_BASE_URL"]
    pointed = [*seen["arguments"], *seen["files"].values(), variables["ANTHROPIC_BASE_URL"]]
    assert port.startswith("http://127.0.0.1:")
    assert any(port in text for text in pointed)
    text = json.dumps([seen["arguments"], seen["files"]])
    assert not any(f"{{{place}}}" in text for place in ("base_url", "model", "home", "key"))
    for folder in ("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        assert not Path(variables[folder]).exists()
        assert Path(variables[folder]).is_relative_to(Path(seen["folder"]).parent)
    assert key not in json.dumps(output)


def lines(*events: Any) -> str:
    return "\n".join(["a line that is not JSON", *map(json.dumps, events)])


def test_the_logs_of_the_programs_are_counted(tmp_path: Path) -> None:
    call = {"type": "assistant", "message": {"content": [{"type": "tool_use"}]}}
    last = {"type": "assistant", "message": {"content": [{"type": "text"}]}}
    claude = lines(call, {"type": "user"}, call, last, {"type": "result", "num_turns": 3})
    assert read_claude_code(claude, tmp_path) == {"turns": 3, "calls": 2}
    step, run = {"type": "turn_start"}, {"type": "tool_execution_start"}
    assert read_pi(lines(step, run, run, step), tmp_path) == {"turns": 2, "calls": 2}
    step, run = {"type": "step_start"}, {"type": "tool_use"}
    assert read_opencode(lines(step, run, step), tmp_path) == {"turns": 2, "calls": 1}
    session = tmp_path / ".codex" / "sessions" / "2026" / "a.jsonl"
    session.parent.mkdir(parents=True)
    counted, called = {"payload": {"type": "token_count"}}, {"payload": {"type": "function_call"}}
    session.write_text(lines({"type": "world_state"}, called, counted, counted))
    assert read_codex("", tmp_path) == {"turns": 2, "calls": 1}
    trajectory = {
        "info": {"model_stats": {"api_calls": 2}},
        "messages": [{"role": "user"}, {"tool_calls": [1]}, {"tool_calls": [1]}],
    }
    (tmp_path / "trajectory.json").write_text(json.dumps(trajectory))
    assert read_mini_swe_agent("", tmp_path) == {"turns": 2, "calls": 2}


def test_a_log_that_cannot_be_read_leaves_the_counts_of_the_program_unknown(tmp_path: Path) -> None:
    program = executable(tmp_path / "agent", f"#!{sys.executable}\nprint('{{}}')\n")
    started = Program.of_preset(PRESETS["mini-swe-agent"], str(program), (), ())
    with Workspace({}, 1000) as workspace:
        places = {"task": "a", "base_url": "http://127.0.0.1:1", "key": "k", "model": "m"}
        assert started.run(places, workspace, {"seconds": 60}) == Ending("finished", "{}\n")


@pytest.mark.parametrize(
    "system", ["agent:loop", "agent", "agent:config=loop", "agent:loop,notes=true"]
)
def test_specs_work_as_the_guide_writes_them(system: str, tmp_path: Path) -> None:
    run_file = str(tmp_path / "run.sqlite")
    dataset = "tasks:evidence-hunt,n=1,seed=1,assets=2"
    command = ["run", "--dataset", dataset, "--system", system, "--evaluators", "agent-task"]
    assert execute([*command, "--quiet", "--run-file", run_file]) == 0


def test_an_unknown_agent_is_an_error_with_the_choices(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["run", "--dataset", "tasks,n=1", "--system", "agent:coder"]) == 2
    assert "mini-swe-agent" in capsys.readouterr().err


def test_the_policy_answers_one_request_as_a_system(tmp_path: Path) -> None:
    output = Policy("oracle").process({"question": HUNT["question"]})
    assert output["tool_calls"][0]["arguments"] == {"path": "RULES.md"}
    rules = HUNT["files"]["RULES.md"]
    noted = Policy("oracle", notes=True).process({"question": HUNT["question"], "context": rules})
    assert noted["tool_calls"][0]["arguments"] == {"path": "INDEX.md"}
    assert "rule order" in noted["response"]
    with pytest.raises(ConfigurationError):
        Policy("x")
    run_file = str(tmp_path / "run.sqlite")
    command = ["run", "--dataset", "tasks,n=1", "--system", "policy:oracle,notes=true", "--quiet"]
    assert (
        execute([*command, "--run-file", run_file]) == 3
    )  # it does no task, so nothing has a score
    (row,) = open_run(run_file).rows
    assert row.output["tool_calls"][0]["arguments"] == {"path": "RULES.md"}


def test_a_command_is_given_in_the_spec_of_the_agent(tmp_path: Path) -> None:
    program = executable(tmp_path / "agent", f"#!{sys.executable}\nraise SystemExit(3)\n")
    run_file = str(tmp_path / "run.sqlite")
    system = f"agent:command='{program} {{task}}'"
    command = ["run", "--dataset", "tasks,n=1", "--system", system, "--quiet"]
    assert execute([*command, "--run-file", run_file]) == 0
    assert AgentTask().score(HUNT, {}) == {}
