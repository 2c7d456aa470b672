"""The workflow of ``docs/how-to/gate-pull-requests.md``: its steps run in bash, each time on an empty machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from context_bench.runs import open_run

pytest.importorskip(
    "context_bench_replay", reason="the documented system replays answers of a file"
)
pytest.importorskip("context_bench_local", reason="the documented dataset is a file")
pytest.importorskip("context_bench_answer_quality", reason="the documented gate is on its score")

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "gate-pull-requests.md"
CARRIED = ("baselines", "runs")


def steps() -> list[tuple[str, str, str]]:
    """Return name, condition and command of each step of the composite action that runs a command."""
    text = PAGE.read_text(encoding="utf-8")
    [action] = [
        block
        for block in re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)
        if "using: composite" in block
    ]
    found = []
    for step in action.split("    - name: ")[1:]:
        fields = dict(re.findall(r"^      (\w+): (.+)$", step, flags=re.MULTILINE))
        if "run" in fields:
            found.append((step.splitlines()[0], fields.get("if", ""), fields["run"]))
    return found


def default_gate() -> str:
    [gate] = re.findall(r'default: "(.*vs=@main)"', PAGE.read_text(encoding="utf-8"))
    return str(gate)


class Machine:
    """An empty machine with a checkout, on which the steps are run."""

    def __init__(self, folder: Path, right: int) -> None:
        self.folder = folder
        folder.mkdir()
        text = PAGE.read_text(encoding="utf-8")
        [project] = re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)
        (folder / "context-bench.toml").write_text(project, encoding="utf-8")
        examples = [{"id": f"q{n}", "answer": f"a{n}"} for n in range(200)]
        recorded = [
            {"id": f"q{n}", "response": f"a{n}" if n * 37 % 100 < right else "no"}
            for n in range(200)
        ]
        for name, lines in (("answers.jsonl", examples), ("recorded.jsonl", recorded)):
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (folder / name).write_text(text, encoding="utf-8")
        (folder / "bin").mkdir()
        command = folder / "bin" / "context-bench"
        command.write_text(
            f'#!/bin/sh\nexec "{sys.executable}" -m context_bench "$@"\n', encoding="utf-8"
        )
        command.chmod(0o755)

    def restore(self, other: Machine) -> None:
        """Take from another machine what the cache carries, and nothing else."""
        for name in CARRIED:
            shutil.copytree(other.folder / name, self.folder / name)

    def job(self, sha: str, is_main: bool) -> tuple[int, str]:
        """Return the exit code of the first step that fails, 0 when none does, and all that was said."""
        summary = self.folder / "summary.md"
        environ = os.environ | {
            "GITHUB_SHA": sha,
            "GITHUB_STEP_SUMMARY": str(summary),
            "GATE": default_gate(),
        }
        environ["PATH"] = f"{self.folder / 'bin'}{os.pathsep}{environ['PATH']}"
        code, said = 0, ""
        for _, condition, command in steps():
            if "is-main" in condition and ("== 'true'" in condition) != is_main:
                continue
            if code and "always()" not in condition:
                continue
            done = subprocess.run(
                ["bash", "-e", "-o", "pipefail", "-c", command],
                cwd=self.folder,
                env=environ,
                capture_output=True,
                text=True,
            )
            code, said = code or done.returncode, said + done.stdout + done.stderr
        return code, said

    def reused(self, sha: str) -> int:
        with open_run(self.folder / "runs" / f"{sha}.sqlite") as run:
            return sum(bool(row.reused) for row in run.rows())


@pytest.mark.one_python
def test_a_pull_request_is_held_against_the_baseline_that_main_left(tmp_path: Path) -> None:
    main = Machine(tmp_path / "main", right=90)
    assert main.job("1111", is_main=True)[0] == 0
    same = Machine(tmp_path / "same", right=90)
    same.restore(main)
    code, said = same.job("2222", is_main=False)
    assert code == 0, said
    assert same.reused("2222") == 200
    assert "✅" in (same.folder / "summary.md").read_text(encoding="utf-8")
    worse = Machine(tmp_path / "worse", right=70)
    worse.restore(main)
    code, said = worse.job("3333", is_main=False)
    assert code == 10, said
    assert worse.reused("3333") < 200
    assert "❌" in (worse.folder / "summary.md").read_text(encoding="utf-8")
    assert "failure" in (worse.folder / "gate.xml").read_text(encoding="utf-8")


@pytest.mark.one_python
def test_without_a_baseline_the_job_fails_and_says_so(tmp_path: Path) -> None:
    code, said = Machine(tmp_path / "first", right=90).job("4444", is_main=False)
    assert code == 2
    assert "Unknown baseline '@main'" in said
    assert "baseline promote" in said
