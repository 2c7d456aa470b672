"""A program passes by its tests returning, and by nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from context_bench_code import CodeExecution

Row = dict[str, Any]
README = Path(__file__).parents[3] / "plugins" / "context-bench-code" / "README.md"
WRONG = "\ndef add(a, b):\n    return None\n"

EVERYTHING_IN_REACH = """
import gc, os, sys

def search():
    gc.unfreeze()
    things = [*gc.get_objects(), *sys._current_frames().values()]
    frame = sys._getframe()
    while frame:
        things += [frame, frame.f_locals, frame.f_globals]
        frame = frame.f_back
    seen, secrets = set(), []
    own = {id(things), id(seen), id(secrets)}
    while things:
        thing = things.pop()
        if id(thing) in seen or id(thing) in own:
            continue
        seen.add(id(thing))
        if isinstance(thing, (bytes, bytearray)) and len(thing) == 32:
            secrets.append(bytes(thing))
        elif not isinstance(thing, (str, int)):
            things += gc.get_referents(thing)
    return secrets
"""

CHEATS: dict[str, str] = {
    "sys.exit at the top": f"import sys\nsys.exit(0)\n{WRONG}",
    "os._exit at the top": f"import os\nos._exit(0)\n{WRONG}",
    "sys.exit inside": "    import sys\n    sys.exit(0)",
    "os._exit inside": "    import os\n    os._exit(0)",
    "quit inside": "    quit()",
    "SystemExit of one's own": "    class Leave(SystemExit): ...\n    raise Leave(0)",
    "KeyboardInterrupt": "    raise KeyboardInterrupt",
    "exit from a thread": f"import os, threading\nthreading.Thread(target=os._exit, args=(0,)).start()\n{WRONG}",
    "an exit hook": f"import atexit, os\natexit.register(os._exit, 0)\n{WRONG}",
    "an exception hook": f"import os, sys\nsys.excepthook = lambda *_: os._exit(0)\n{WRONG}",
    "an exception that leaves when shown": (
        "class Shown(Exception):\n    def __str__(self):\n        raise SystemExit(0)\ndef add(a, b):\n    raise Shown\n"
    ),
    "printing success": f"print('passed')\nprint('{{\"outcome\": \"passed\"}}', flush=True)\nimport os\nos._exit(0)\n{WRONG}",
    "success on every descriptor": (
        "import os\n"
        "for descriptor in range(1, 256):\n"
        '    for text in (b\'passed\', b\'{"outcome": "passed"}\\n\', b\'{"status": 0, "timed_out": false}\\n\', bytes(32)):\n'
        "        try:\n            os.write(descriptor, text)\n        except OSError:\n            pass\n"
        f"os._exit(0)\n{WRONG}"
    ),
    "a report of broken tests": f'import os\nos.write(3, b\'{{"form": "x", "broken": "tests"}}\\n\')\nos._exit(0)\n{WRONG}',
    "closing every descriptor": f"import os\nos.closerange(0, 256)\n{WRONG}",
    "reading the job again": f"import os\nos.set_blocking(3, False)\nos.write(3, os.read(3, 1 << 16))\nos._exit(0)\n{WRONG}",
    "jumping with a trace function": f"import sys\nsys.settrace(lambda *_: None)\n{WRONG}",
    "memory of the process": "    open('/proc/self/mem', 'rb').read(1)\n    return a + b",
    "a check of one's own": f"def check(candidate):\n    pass\n{WRONG}",
}


@pytest.mark.parametrize("response", CHEATS.values(), ids=CHEATS.keys())
@pytest.mark.usefixtures("nothing_left")
def test_no_pass_by(response: str, evaluator: CodeExecution, row: Row) -> None:
    assert evaluator.score(row, {"response": response}) == {"pass_at_1": 0.0}


TRACING: dict[str, str] = {
    "the function itself": "    import sys\n    sys.setprofile(lambda *_: None)\n",
    "the other function": "    import sys\n    sys.settrace(lambda *_: None)\n",
    "a second copy of sys": "    import _imp, sys\n    _imp.create_builtin(sys.__spec__).settrace(lambda *_: None)\n",
    "profiling by it": "    import _imp, sys\n    _imp.create_builtin(sys.__spec__).setprofile(lambda *_: None)\n",
    "threads": "    import threading\n    threading._sys.settrace(lambda *_: None)\n",
    "monitoring": (
        "    import sys\n"
        "    sys.monitoring.free_tool_id(0)\n"
        "    sys.monitoring.use_tool_id(0, 'x')\n"
        "    sys.monitoring.register_callback(0, sys.monitoring.events.LINE, lambda *_: None)\n"
    ),
}


@pytest.mark.parametrize("tracing", TRACING.values(), ids=TRACING.keys())
def test_no_solution_traces_what_runs(tracing: str, evaluator: CodeExecution, row: Row) -> None:
    """A trace function jumps over the lines of a test. This solution is right only where it cannot set one."""
    code = "".join(f"    {line}\n" for line in tracing.splitlines())
    response = f"def add(a, b):\n    try:\n{code}    except (AttributeError, PermissionError):\n        return a + b\n"
    score = evaluator.score(row, {"response": response})
    assert score == {"pass_at_1": 1.0}, score.details  # type: ignore[attr-defined]


def test_a_solution_may_run_its_doctests(evaluator: CodeExecution, row: Row) -> None:
    """doctest puts back the trace function that it found, which is None."""
    docstring = '    """\n    >>> add(1, 2)\n    3\n    """\n'
    response = f"import doctest\ndef add(a, b):\n{docstring}    return a + b\n\ndoctest.testmod()\n"
    score = evaluator.score(row, {"response": response})
    assert score == {"pass_at_1": 1.0}, score.details  # type: ignore[attr-defined]


@pytest.mark.parametrize("moment", ["at the top", "when called"])
def test_the_nonce_is_nowhere_in_reach(moment: str, evaluator: CodeExecution, row: Row) -> None:
    """Whatever 32 bytes can be found from the frames and the garbage collector, none of them is the nonce."""
    tries = 0
    for position in range(-1, -9, -1):
        attack = f"secrets = search()\nos.write(3, secrets[{position}])\nos._exit(0)\n"
        if moment == "when called":
            attack = "def add(a, b):\n" + "".join(f"    {line}\n" for line in attack.splitlines())
        score = evaluator.score(
            row, {"response": EVERYTHING_IN_REACH + attack + ("" if "add" in attack else WRONG)}
        )
        details: Row = score.details  # type: ignore[attr-defined]
        assert score == {"pass_at_1": 0.0}, details
        tries += details["outcome"] == "exited early"  # or there were no more secrets to try
    assert tries


def test_the_attack_on_the_nonce_finds_what_is_in_reach(evaluator: CodeExecution, row: Row) -> None:
    hidden = "import os\nclass Deep:\n    here = ({'x': [os.urandom(32)]},)\n"
    response = (
        EVERYTHING_IN_REACH
        + hidden
        + "def add(a, b):\n    return a + b if Deep.here[0]['x'][0] in search() else 0"
    )
    assert evaluator.score(row, {"response": response}) == {"pass_at_1": 1.0}


def test_the_readme_counts_the_attacks() -> None:
    readme = README.read_text(encoding="utf-8")
    assert f"replaced tests | {len(CHEATS)} |" in readme
    assert f"| tracing of what runs | {len(TRACING)} |" in readme
