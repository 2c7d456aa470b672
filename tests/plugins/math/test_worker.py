"""Computer algebra in its own process: deadlines, threads, event loops, and nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from context_bench.errors import InconclusiveScoreError
from context_bench_math import MathEquivalence

ENDLESS = r"\boxed{\sum_{k=1}^{100000000} \frac{1}{k^3}}"
POWERS = r"\boxed{(x+1)^{100000}}"
EQUAL = {"answer": "x^2 + 2x + 1"}, {"response": r"\boxed{(x+1)^2}"}
on_linux = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="looks for processes in /proc"
)


@pytest.fixture
def hasty():
    return MathEquivalence(
        timeout=3
    )  # of processor time: an equality takes 0.05 s on a calm machine


@pytest.mark.parametrize(
    "tower",
    [
        "9^{9^{9^9}}",
        "9^{9^{9^{9^9}}}",
        "10^{10^{10}}",
        "2^{1000000000}",
        "(10^{10})^{10^{10}}",
        "99999999!",
        "100!!!",
        "9^9^9^9",
    ],
)
def test_towers_are_refused_without_being_computed(hasty, tower):
    for reference, response in [
        ("5", tower),
        (tower, "5"),
        (tower, tower + "+1"),
        ("x", rf"\boxed{{{tower}}}"),
    ]:
        scores = hasty.score({"answer": reference}, {"response": response})
        assert scores == {"math_equiv": 0.0}
        assert scores.details["tier"] == "refused"
    assert hasty.score({"answer": tower}, {"response": rf"\boxed{{{tower}}}"}) == {
        "math_equiv": 1.0
    }


@pytest.mark.one_python
def test_what_takes_too_long_is_undecided_and_no_zero():
    hasty = MathEquivalence(timeout=1)
    for reference, response in ((r"\frac{1}{3}", ENDLESS), ("x + 1", POWERS)):
        with pytest.raises(InconclusiveScoreError, match="took longer than it may"):
            hasty.score({"answer": reference}, {"response": response})
    assert hasty.score(*EQUAL) == {"math_equiv": 1.0}


def test_texts_of_thousands_of_characters_are_refused(hasty):
    scores = hasty.score({"answer": "x"}, {"response": r"\boxed{" + "x + " * 1000 + "x}"})
    assert (scores, scores.details["tier"]) == ({"math_equiv": 0.0}, "refused")


def test_it_works_in_a_thread_and_in_a_running_event_loop(hasty):
    found = []
    thread = threading.Thread(target=lambda: found.append(hasty.score(*EQUAL)))
    thread.start()
    thread.join()

    async def inside():
        found.append(hasty.score(*EQUAL))
        found.append(
            await asyncio.get_running_loop().run_in_executor(None, lambda: hasty.score(*EQUAL))
        )

    asyncio.run(inside())
    assert found == [{"math_equiv": 1.0}] * 3


@pytest.mark.one_python
def test_a_deadline_of_one_caller_does_not_disturb_the_others():
    evaluator = MathEquivalence(timeout=1)
    responses = [ENDLESS, r"\boxed{(x+1)^2}", POWERS, r"\boxed{x^2+2x+1+0}"]
    found = {}

    def work(place):
        try:
            found[place] = evaluator.score(EQUAL[0], {"response": responses[place]})["math_equiv"]
        except InconclusiveScoreError:
            found[place] = None

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(responses))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[place] for place in range(len(responses))] == [None, 1.0, None, 1.0]


@on_linux
def test_a_worker_that_somebody_kills_is_replaced(hasty):
    before = descendants()
    assert hasty.score(*EQUAL) == {"math_equiv": 1.0}
    for process in descendants() - before:
        os.kill(process, signal.SIGKILL)
    assert hasty.score({"answer": "y^2"}, {"response": r"\boxed{y \cdot y}"}) == {"math_equiv": 1.0}


@on_linux
def test_workers_end_with_their_evaluator():
    before = descendants()
    evaluator = MathEquivalence()
    evaluator.score(*EQUAL)
    started = descendants() - before
    assert started
    del evaluator
    assert are_gone(started)


SCRIPT = """
import contextlib, os, signal, sys, threading
from pathlib import Path
sys.path[:0] = {path!r}
from context_bench.errors import InconclusiveScoreError
from context_bench_math import MathEquivalence

{descendants}
evaluator = MathEquivalence(timeout={timeout})
print(evaluator.score({{"answer": "x+x"}}, {{"response": "2x"}}), flush=True)
"""


@on_linux
@pytest.mark.parametrize(
    "ending",
    ["", "sys.exit(3)", "os._exit(0)", "os.kill(os.getpid(), signal.SIGKILL)", "raise ValueError"],
)
def test_no_worker_outlives_the_program_however_it_ends(ending):
    printed = run_script("print(*descendants(), flush=True)\n" + ending)
    first, pids = printed.splitlines()
    assert first == "{'math_equiv': 1.0}"
    assert len(pids.split()) >= 2
    assert are_gone(map(int, pids.split()))


@on_linux
def test_no_worker_outlives_a_program_that_is_killed_in_the_middle_of_a_computation():
    printed = run_script(
        f"""
        work = lambda: evaluator.score({{"answer": "x + 1"}}, {{"response": {POWERS!r}}})
        threading.Thread(target=work, daemon=True).start()
        import time; time.sleep(0.3)
        print(*descendants(), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        timeout=2,
    )
    assert are_gone(map(int, printed.splitlines()[1].split()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_the_child_of_a_fork_uses_workers_of_its_own():
    printed = run_script(
        """
        child = os.fork()
        print(evaluator.score({"answer": "y^2"}, {"response": r"y \\cdot y"}), flush=True)
        if child:
            os.waitpid(child, 0)
            print(evaluator.score({"answer": "y^3"}, {"response": r"y \\cdot y^2"}), flush=True)
        """
    )
    assert printed.splitlines() == ["{'math_equiv': 1.0}"] * 4


def test_a_library_that_cannot_be_imported_is_an_error_and_not_a_zero(tmp_path):
    (tmp_path / "math_verify.py").write_text("raise ImportError('no parser')")
    complaint = run_script("", path=[str(tmp_path)], stream="stderr")
    assert (
        "RuntimeError: The process that compares mathematics did not start: ImportError: no parser."
        in complaint
    )
    assert "pip install" in complaint


@pytest.mark.parametrize(
    ("verify", "details"),
    [
        ("import os; os._exit(3)", "undecided: .* was killed, twice"),
        ("raise KeyError('unheard of')", "'error': \"KeyError: 'unheard of'\""),
        ("import time; time.sleep(100)", "undecided: .* longer than it may"),
        ("print('noise'); return True", "'tier': 'symbolic'"),
    ],
    ids=["crash", "error", "sleep", "noise"],
)
def test_whatever_the_library_does_there_is_a_verdict(tmp_path, verify, details):
    (tmp_path / "math_verify.py").write_text(
        "LatexExtractionConfig = ExprExtractionConfig = dict\n"
        "def parse(text, *args, **options): return [text]\n"
        "def verify(reference, answer, **options):\n"
        f"    if 'boom' not in reference[0]: return True\n    {verify}\n"
    )
    printed = run_script(
        """
        try:
            scores = evaluator.score({"answer": "boom"}, {"response": "x+y"})
            print(scores, scores.details)
        except InconclusiveScoreError as error:
            print("undecided:", error)
        print(evaluator.score({"answer": "x+x"}, {"response": "2x"}))
        """,
        path=[str(tmp_path)],
        timeout=2,
    )
    first, verdict, last = printed.splitlines()
    assert first == last == "{'math_equiv': 1.0}"
    if not details.startswith("undecided"):
        assert verdict.startswith(
            "{'math_equiv': 1.0}" if "noise" in verify else "{'math_equiv': 0.0}"
        )
    assert re.search(details, verdict)


def run_script(code, path=(), timeout=30, stream="stdout"):
    """Run a program without an `if __name__` guard, as people write them, and return what it printed."""
    script = SCRIPT.format(
        path=list(path), timeout=timeout, descendants=inspect.getsource(descendants)
    ) + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False
    )
    return getattr(done, stream)


def descendants(process="self"):
    """The processes that a process has started, and those that they have."""
    found = set()
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in children.read_text().split():
                found |= {int(child), *descendants(child)}
    return found


def are_gone(pids, seconds=30):
    pids = list(pids)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not any(is_running(pid) for pid in pids):
            return True
        time.sleep(0.05)
    return False


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
