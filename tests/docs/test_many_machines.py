"""The scripts of the page about many machines do what it says: each runs as its scheduler would run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from pages import blocks  # noqa: E402

pytest.importorskip("context_bench_answer_quality", reason="it scores")
pytest.importorskip("context_bench_local", reason="it reads the rows")
pytest.importorskip("context_bench_replay", reason="it is the system")
PAGE = ROOT / "docs" / "how-to" / "run-on-many-machines.md"
FILES = {
    block.file_name: block.text
    for block in blocks(PAGE.read_text(encoding="utf-8"))
    if block.file_name is not None
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of the page, and with the command line in front of the search path."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "context-bench"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m context_bench "$@"\n')
    program.chmod(0o755)
    return tmp_path


def shell(folder: Path, script: str, **variables: str) -> None:
    environ = {
        **os.environ,
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "CONTEXT_BENCH_HOME": str(folder / "home"),
        **variables,
    }
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def export(folder: Path, name: str) -> str:
    command = [sys.executable, "-m", "context_bench", "export", name, "--canonical"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def whole(folder: Path) -> str:
    """The export of one run of the whole."""
    shell(
        folder,
        "context-bench run --system nightly=replay --dataset answers.jsonl -n 5 --run-file whole.sqlite -q",
    )
    text = export(folder, "whole.sqlite")
    assert text.count("\n") == 5
    return text


def literal_block(text: str, start: int) -> str:
    """Return the lines of a literal block of YAML, given where its ``|`` stands, without their indentation."""
    lines = text[start:].split("\n")[1:]
    indent = len(lines[0]) - len(lines[0].lstrip())
    kept = []
    for line in lines:
        if line.strip() and not line.startswith(" " * indent):
            break
        kept.append(line[indent:])
    return "\n".join(kept)


def scripts(name: str) -> list[str]:
    return [
        literal_block(FILES[name], match.start()) for match in re.finditer(r"\|\n", FILES[name])
    ]


@pytest.mark.skipif(os.name == "nt", reason="the scripts are for bash")
def test_the_job_array(folder: Path, whole: str) -> None:
    first, last = map(int, re.findall(r"--array=(\d+)-(\d+)", FILES["shard.sh"])[0])
    for number in [*range(first, last + 1), last]:  # the last one is requeued
        count = str(last - first + 1)
        shell(
            folder,
            "bash shard.sh",
            SLURM_ARRAY_TASK_ID=str(number),
            SLURM_ARRAY_TASK_COUNT=count,
        )
    shell(folder, "bash merge.sh")
    assert export(folder, "all-of-array.sqlite") == whole


@pytest.mark.skipif(os.name == "nt", reason="the scripts are for bash")
def test_the_indexed_job(folder: Path, whole: str) -> None:
    [script] = scripts("job.yaml")
    [completions] = re.findall(r"completions: (\d+)", FILES["job.yaml"])
    for index in range(int(completions)):
        shell(folder, script, JOB_COMPLETION_INDEX=str(index))
    [merge] = re.findall(r"`(context-bench merge pod-0\.sqlite[^`]*)`", PAGE.read_text("utf-8"))
    shell(folder, merge)
    assert export(folder, "all-of-pods.sqlite") == whole


@pytest.mark.skipif(os.name == "nt", reason="the scripts are for bash")
def test_the_ci_matrix(folder: Path, whole: str) -> None:
    shard, merge = scripts("workflow.yaml")
    [numbers] = re.findall(r"shard: \[([\d, ]+)\]", FILES["workflow.yaml"])
    for number in numbers.split(", "):
        shell(
            folder,
            shard.replace("${{ matrix.shard }}", number),
            CONTEXT_BENCH_HOME=str(folder / number),
        )
    shell(folder, merge)
    assert export(folder, "all-of-ci.sqlite") == whole
