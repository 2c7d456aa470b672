"""Attacks: each scores 0 and leaves nothing behind. They run behind walls or not at all."""

from __future__ import annotations

import ast
import contextlib
import os
import signal
import socket
import tempfile
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from context_bench.errors import InconclusiveScoreError
from context_bench_code import CodeExecution
from context_bench_code.inside.limits import patience

Row = dict[str, Any]

pytestmark = pytest.mark.usefixtures("nothing_left")

README = Path(__file__).parents[3] / "plugins" / "context-bench-code" / "README.md"
ATTACKS: dict[str, str] = {
    "a memory bomb at once": "return len(bytearray(2 << 30))",
    "a memory bomb by doubling": """
        x = [0]
        while True:
            x += x
    """,
    "memory without a name": """
        import os
        os.memfd_create('x')
        return a + b
    """,
    "a fork bomb": """
        import os
        while True:
            os.fork()
    """,
    "a fork of a sleeper": """
        import os, time
        if not os.fork():
            os.setsid()
            time.sleep(600)
        return a + b
    """,
    "a command": """
        import subprocess
        subprocess.Popen(['/bin/sleep', '600'], start_new_session=True)
        return a + b
    """,
    "a shell": """
        import os
        assert os.system('true') == 0
        return a + b
    """,
    "another process": """
        import multiprocessing
        multiprocessing.Process(target=print).start()
        return a + b
    """,
    "a thread bomb": """
        import threading, time
        while True:
            threading.Thread(target=time.sleep, args=(600,)).start()
    """,
    "a file of 1 GiB": """
        with open('big', 'wb') as file:
            for _ in range(1024):
                file.write(bytes(1 << 20))
        return a + b
    """,
    "a sparse file of 1 TiB": """
        with open('big', 'wb') as file:
            file.truncate(1 << 40)
        return a + b
    """,
    "many files of 16 MiB": """
        for i in range(64):
            with open(f'big{i}', 'wb') as file:
                file.write(bytes(1 << 24))
        return a + b
    """,
    "many small files": """
        for i in range(9999):
            open(f'file{i}', 'w').close()
        return a + b
    """,
    "output of 100 MB": """
        for _ in range(100):
            print('x' * 1_000_000)
        return a + b
    """,
    "output without end": """
        while True:
            print('x' * 1000)
    """,
    "the network": """
        import socket
        socket.create_connection(('127.0.0.1', {port}), timeout=1)
        return a + b
    """,
    "a datagram": """
        import socket
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))
        return a + b
    """,
    "a web page": """
        import urllib.request
        urllib.request.urlopen('http://127.0.0.1:{port}/')
        return a + b
    """,
    "a file outside": """
        open('{outside}/evil', 'w').write('x')
        return a + b
    """,
    "a file in /tmp": """
        open('/tmp/evil', 'w').write('x')
        return a + b
    """,
    "a file at the root": """
        open('/evil', 'w').write('x')
        return a + b
    """,
    "Python's own library": """
        import os
        open(os.__file__, 'a').close()
        return a + b
    """,
    "reading outside": """
        open('{outside}/secret').read()
        return a + b
    """,
    "reading the accounts": """
        open('/etc/passwd').read()
        return a + b
    """,
    "reading through a link": """
        import os
        os.symlink('{outside}', 'link')
        open('link/secret').read()
        return a + b
    """,
    "reading the environment": """
        import os
        os.environ['CONTEXT_BENCH_TEST_SECRET']
        return a + b
    """,
    "reading another's environment": """
        open('/proc/{runner}/environ').read()
        return a + b
    """,
    "killing the parent": """
        import os
        os.kill(os.getppid(), 9)
        return a + b
    """,
    "killing the runner": """
        import os
        os.kill({runner}, 9)
        return a + b
    """,
    "killing itself": """
        import os
        os.kill(os.getpid(), 9)
        return a + b
    """,
    "killing its own thread": """
        import signal, threading
        signal.pthread_kill(threading.get_ident(), 9)
        return a + b
    """,
    "killing everybody": """
        import os
        os.kill(-1, 9)
        return a + b
    """,
    "killing the group": """
        import os
        os.killpg(0, 9)
        return a + b
    """,
    "the parent's limits": """
        import resource
        resource.prlimit({runner}, resource.RLIMIT_NOFILE, (3, 3))
        return a + b
    """,
    "its own limits": """
        import resource
        resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
        return a + b
    """,
    "another user": """
        import os
        os.setuid(0)
        return a + b
    """,
    "another root": """
        import os
        os.chroot('.')
        return a + b
    """,
    "a user namespace": """
        import ctypes
        assert ctypes.CDLL(None).unshare(0x10000000) == 0
        return a + b
    """,
    "a mount": """
        import ctypes
        assert ctypes.CDLL(None).mount(b'x', b'.', b'tmpfs', 0, None) == 0
        return a + b
    """,
    "a trace of the parent": """
        import ctypes
        assert ctypes.CDLL(None).ptrace(16, {runner}, 0, 0) == 0
        return a + b
    """,
    "shared memory": """
        import ctypes
        assert ctypes.CDLL(None).shmget(0, 4096, 0o1600) >= 0
        return a + b
    """,
    "a locked directory": """
        import os
        os.mkdir('d')
        os.chmod('d', 0)
        os.chmod('.', 0)
        return None
    """,
    "crashing": """
        import os
        os.abort()
    """,
}

ENDLESS: dict[str, str] = {
    "an endless loop": """
        while True:
            pass
    """,
    "a loop that catches everything": """
        while True:
            try:
                while True:
                    pass
            except BaseException:
                pass
    """,
    "a fork bomb that does not give up": """
        import os
        while True:
            try:
                os.fork()
            except OSError:
                pass
    """,
    "a limit of its own, by which the kernel kills": """
        import resource
        resource.setrlimit(resource.RLIMIT_CPU, (0, 0))
        while True:
            pass
    """,
    "a loop that ignores signals": """
        import signal
        for number in range(1, 32):
            try:
                signal.signal(number, signal.SIG_IGN)
            except OSError:
                pass
        while True:
            pass
    """,
    "one long step in C": "return 9 ** 9 ** 9",
    "a regular expression": """
        import re
        re.match('(a+)+$', 'a' * 60 + 'b')
    """,
    "an exception that is never shown": """
        class Slow(Exception):
            def __str__(self):
                while True:
                    pass
        raise Slow
    """,
}


WAITING: dict[str, str] = {
    "a sleeper": """
        import time
        time.sleep(600)
    """,
    "a deadlock": """
        import sys
        sys.stdin.close()
        import threading
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
    """,
    "one that prints between short naps": """
        import time
        while True:
            print('still here', flush=True)
            time.sleep(0.004)
    """,
}


def body(text: str) -> str:
    """The text as the body of a function."""
    return textwrap.indent(textwrap.dedent(text), "    ")


@pytest.fixture
def bait(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """A file and a port within everybody's reach, and a secret in the environment."""
    monkeypatch.setenv("CONTEXT_BENCH_TEST_SECRET", "secret")
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.create_server(("127.0.0.1", 0)) as listener,
    ):
        os.chmod(folder, 0o777)
        Path(folder, "secret").write_text("secret")
        yield {
            "port": str(listener.getsockname()[1]),
            "outside": folder,
            "runner": str(os.getpid()),
        }


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_harm_by(attack: str, evaluator: CodeExecution, row: Row, bait: dict[str, str]) -> None:
    response = body(ATTACKS[attack])
    for name, value in bait.items():
        response = response.replace(f"{{{name}}}", value)
    outside = sorted(os.listdir(bait["outside"]))
    score = evaluator.score(row, {"response": response})
    assert score == {"pass_at_1": 0.0}
    assert score.details["outcome"] not in ("timeout", "no code found")  # type: ignore[attr-defined]
    assert sorted(os.listdir(bait["outside"])) == outside
    assert not any(Path(place, "evil").exists() for place in ("/", "/tmp"))
    assert evaluator.score(row, {"response": "    return a + b"}) == {"pass_at_1": 1.0}


def test_a_program_sees_libraries_and_nothing_else(evaluator: CodeExecution, row: Row) -> None:
    response = body(
        "import os\nraise ValueError(os.getuid(), set(os.environ), sorted(os.listdir('/')))"
    )
    message: str = evaluator.score(row, {"response": response}).details["message"]  # type: ignore[attr-defined]
    user, variables, root = ast.literal_eval(message.removeprefix("ValueError: "))
    assert user != 0
    assert variables <= {"HOME", "LANG", "LC_CTYPE", "TMPDIR"}
    assert "box" in root
    assert not {"proc", "sys", "tmp", "var", "run", "mnt", "boot", "srv"} & set(root)


def test_a_program_may_change_its_other_limits_and_look_at_all(
    evaluator: CodeExecution, row: Row
) -> None:
    response = body("""
        import resource
        before = resource.getrlimit(resource.RLIMIT_CPU)
        assert resource.RLIM_INFINITY not in before
        resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        assert resource.getrlimit(resource.RLIMIT_CPU) == before
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (64, 64)
        return a + b
    """)
    score = evaluator.score(row, {"response": response})
    assert score == {"pass_at_1": 1.0}, score.details  # type: ignore[attr-defined]


def test_programs_do_not_find_what_others_wrote(evaluator: CodeExecution, row: Row) -> None:
    response = body(
        "import os\nassert not os.listdir('.')\nopen('mine', 'w').write('x')\nreturn None"
    )
    outcomes = [evaluator.score(row, {"response": response}).details for _ in range(3)]  # type: ignore[attr-defined]
    assert [details["test"] for details in outcomes] == ["assert candidate(i, 2) == i + 2"] * 3
    assert all("line" not in details for details in outcomes)


@pytest.mark.parametrize("response", ENDLESS.values(), ids=ENDLESS.keys())
def test_what_uses_up_its_processor_time_scores_zero(
    hasty: CodeExecution, row: Row, response: str
) -> None:
    score = hasty.score(row, {"response": body(response)})
    assert score == {"pass_at_1": 0.0}
    assert score.details["outcome"] == "timeout"  # type: ignore[attr-defined]


@pytest.mark.parametrize("response", WAITING.values(), ids=WAITING.keys())
def test_what_waits_for_ever_has_had_its_time_and_scores_zero(
    hasty: CodeExecution, row: Row, response: str
) -> None:
    score = _decided(hasty, row, body(response))
    assert score == {"pass_at_1": 0.0}
    assert score.details["outcome"] == "timeout"  # type: ignore[attr-defined]


def _decided(evaluator: CodeExecution, row: Row, response: str) -> Any:
    """The score of a program, again where a busy machine hid whether it slept."""
    for _ in range(8):
        with contextlib.suppress(InconclusiveScoreError):
            return evaluator.score(row, {"response": response})
    return evaluator.score(row, {"response": response})


@pytest.mark.usefixtures("evaluator")
def test_a_paused_machine_is_no_zero(row: Row) -> None:
    """Whatever runs for this test is stopped for longer than anybody waits for a program."""
    evaluator = CodeExecution(timeout=0.5)
    response = body("for _ in range(20000):\n    pass\nreturn a + b")
    assert evaluator.score(row, {"response": response}) == {"pass_at_1": 1.0}
    until = time.monotonic() + patience(0.5) + 1
    with ThreadPoolExecutor(1) as pool:
        children = _children(os.getpid())
        assert children, "the sandbox has no process"
        for child in children:
            os.kill(child, signal.SIGSTOP)
        scored = pool.submit(evaluator.score, row, {"response": response})
        try:
            while time.monotonic() < until:
                time.sleep(0.1)
        finally:
            for child in children:
                os.kill(child, signal.SIGCONT)
        try:
            assert scored.result() == {"pass_at_1": 1.0}
        except InconclusiveScoreError:
            pass


def _children(process: int) -> list[int]:
    """Return the processes that a process has started, and theirs."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int(
                    (entry / "stat").read_text().rpartition(")")[2].split()[1]
                )
            except OSError:  # it has ended
                continue
    found = [process]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def test_the_readme_counts_the_attacks() -> None:
    readme = README.read_text(encoding="utf-8")
    assert f"memory, the server | {len(ATTACKS)} |" in readme
    assert f"| programs that never end | {len(ENDLESS) + len(WAITING)} |" in readme
