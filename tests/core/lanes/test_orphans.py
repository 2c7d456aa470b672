"""Processes that score end with the run that started them, even when nothing can be said to it any more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

EVALUATOR = """
import os, time

class Heavy:
    name, cpu_bound = "heavy", True
    def score(self, original, processed):
        os.write(2, b"%d\\n" % os.getpid())  # at once, so that two children do not write into one line
        time.sleep(600)
"""
SCRIPT = """
import sys, time
sys.path.insert(0, sys.argv[1])
from heavy_and_slow import Heavy
from context_bench import evaluate

examples = [{"id": str(number)} for number in range(2)]
evaluate(lambda example: "x", examples, [Heavy()], progress=False, row_timeout=600)
"""


def is_alive(process: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has taken note of does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.skipif(
    not Path("/proc/self/stat").is_file(),
    reason="processes are looked up in /proc, as Linux has it",
)
def test_no_child_outlives_a_parent_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "heavy_and_slow.py").write_text(EVALUATOR)
    parent = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], stderr=subprocess.PIPE, text=True
    )
    children: list[int] = []
    try:
        assert parent.stderr is not None
        children = [
            int(parent.stderr.readline()) for _ in range(2)
        ]  # both are in the middle of a score
        assert len(set(children)) == 2
        assert all(map(is_alive, children))
        parent.send_signal(signal.SIGKILL)
        parent.wait(60)
        until = time.monotonic() + 60
        while any(map(is_alive, children)) and time.monotonic() < until:
            time.sleep(0.05)
        assert not any(map(is_alive, children))
    finally:
        parent.kill()
        parent.wait(60)
        if parent.stderr is not None:
            parent.stderr.close()
        for child in filter(is_alive, children):
            os.kill(child, signal.SIGKILL)
