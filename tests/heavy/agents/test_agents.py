"""Real agent programs with the oracle in place of their model: tasks are solved, and their own logs agree with ours."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from context_bench_agents_live import Agent, AgentTask
from context_bench_tasks import tasks

HUNTS = list(tasks(n=2, seed=1))
NPM = {
    "codex": ("@openai/codex@0.171.0", "codex"),
    "claude-code": ("@anthropic-ai/claude-code@2.1.197", "claude"),
    "opencode": ("opencode-ai@1.18.33", "opencode"),
    "pi": ("@mariozechner/pi-coding-agent@0.73.1", "pi"),
}


def install_from_npm(name: str, folder: Path) -> Path:
    """Return the executable of a package, installed into a folder."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm")
    package, executable = NPM[name]
    command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), package]
    subprocess.run(command, check=True, timeout=600)
    script = folder / "node_modules" / package.rpartition("@")[0] / "install.cjs"
    if script.exists():  # an npm that runs no scripts leaves that of Claude Code
        subprocess.run(["node", str(script)], cwd=script.parent, check=True, timeout=600)
    return folder / "node_modules" / ".bin" / executable


@pytest.mark.parametrize("name", ["mini-swe-agent", *NPM])
def test_a_real_agent_solves_the_hunts_and_its_log_agrees(
    name: str, tmp_path: Path, install_from_pypi: Callable[[str, str], Path]
) -> None:
    if name in NPM:
        program = install_from_npm(name, tmp_path / "installed")
    else:
        program = install_from_pypi("mini-swe-agent==2.4.6", "mini")
    for notes in (False, True):
        agent = Agent(name, program=str(program), notes=notes)
        try:
            for hunt in HUNTS:
                inputs = {key: hunt[key] for key in ("question", "files", "limits")}
                output = agent.process(inputs)
                counts = output["agent"]
                scores = AgentTask().score(hunt, output)
                assert counts["ended"] == "finished", output["response"]
                assert scores["task_success"] == 1.0, output["response"]
                assert list(output["changes"]) == ["ledger.txt"]
                assert counts["re_reads"] == 0
                assert counts["logged"] == {
                    "turns": counts["turns"],
                    "calls": sum(counts["calls"].values()),
                }
        finally:
            agent.close()


def test_twenty_kills_lose_no_task_and_leave_no_process_and_no_workspace(tmp_path: Path) -> None:
    path = Path(__file__).parents[2] / "plugins" / "agents-live" / "test_kills.py"
    spec = spec_from_file_location("kills_of_agents", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    stored = module.run_and_kill(20, 60, tmp_path)
    assert len(stored) == 20
    assert stored == sorted(stored)


def test_what_a_control_takes_from_a_real_agent_is_seen_in_its_turns(tmp_path: Path) -> None:
    program = install_from_npm("codex", tmp_path / "installed")
    agent = Agent("codex", program=str(program), control="clear-results")
    hunt = HUNTS[0]
    try:
        output = agent.process({key: hunt[key] for key in ("question", "files", "limits")})
    finally:
        agent.close()
    assert output["agent"]["turns"] == 61
    assert AgentTask().score(hunt, output)["task_success"] == 0.0
