"""The child process: ready when its model is loaded, gone when it is not needed, whatever happens."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench.store.reader import RunReader
from context_bench_llama import Llama, LlamaServer, ServerError, ServerSettings

EXAMPLE = {"question": "Where is Rome?"}
Make = Callable[..., Llama]
pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="processes are looked at as on POSIX"
)


def settings(path: Path) -> ServerSettings:
    return ServerSettings(str(path), path.stem)


def is_alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        try:
            os.kill(pid, 0)
        except OSError:
            return False
        return True
    return status.rpartition(")")[2].split()[0] != "Z"


def is_gone(pid: int) -> bool:
    until = time.monotonic() + 60
    while is_alive(pid):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def test_a_server_is_started_when_it_is_needed_and_stopped_once(gguf: Callable[..., Path]) -> None:
    system = Llama(str(gguf()))
    assert system._server is None
    with system:
        system.process(EXAMPLE)
        assert system._server is not None
        pid = system._server.pid
        assert pid is not None
        system.process(EXAMPLE)
        assert system._server.pid == pid
    assert is_gone(pid)
    system.close()
    system.process(EXAMPLE)  # and again
    again = system._server.pid
    assert again not in (None, pid)
    system.close()


def test_it_is_ready_only_when_its_model_is_loaded(gguf: Callable[..., Path]) -> None:
    started = time.monotonic()
    with LlamaServer(settings(gguf(loading=1.0))):
        assert time.monotonic() - started >= 1.0


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (
            {"raises": "no such model"},
            r"^llama: the server of tiny\.gguf does not start: RuntimeError: no such model",
        ),
        (
            {"exits": 9},
            r"^llama: the server of tiny\.gguf does not start: exit code 9 \(error: the tensors are damaged\)$",
        ),
        (
            {
                "raises": "see above",
                "prints": "error: a tensor is missing\nfailed to load\nexiting due to an error\n",
            },
            r"^llama: the server of tiny\.gguf does not start: RuntimeError: see above \(error: a tensor is missing\)$",
        ),
    ],
    ids=["raises", "exits", "prints why and raises"],
)
def test_one_that_does_not_start_says_why_in_one_line(
    told: dict[str, object], message: str, gguf: Callable[..., Path]
) -> None:
    server = LlamaServer(settings(gguf(**told)))
    with pytest.raises(ServerError, match=message) as caught:
        server.start()
    assert "\n" not in str(caught.value)
    assert server.pid is None


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"silent": 600}, "says nothing for"),
        ({"loading": 600}, "(is not ready after|says nothing for)"),
    ],
    ids=["silent", "loading"],
)
def test_one_that_takes_too_long_is_given_up_and_leaves_no_process(
    told: dict[str, object], words: str, gguf: Callable[..., Path]
) -> None:
    server = LlamaServer(settings(gguf(**told)), start_timeout=3.0 if "silent" in told else 8.0)
    with pytest.raises(
        ServerError, match=rf"^llama: the server of tiny\.gguf {words} \d s \(start_timeout\)\.$"
    ):
        server.start()
    assert server._process is not None
    assert is_gone(server._process.pid)


def test_one_that_ended_is_started_again_but_not_for_ever(gguf: Callable[..., Path]) -> None:
    server = LlamaServer(settings(gguf()))
    for _ in range(4):
        server.start()
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        assert server._process is not None
        server._process.wait(60)
    with pytest.raises(
        ServerError, match=r"^llama: the server of tiny\.gguf has ended 4 times: signal 9"
    ):
        server.start()
    server.stop()


def test_a_server_that_dies_of_one_row_answers_the_next(serving: Make) -> None:
    system = serving()
    with pytest.raises(RuntimeError):
        system.process({"question": "DIE"})
    assert system.process(EXAMPLE)["response"]


CODE = """
import sys, os, time, signal
from context_bench_llama import LlamaServer, ServerSettings
server = LlamaServer(ServerSettings(sys.argv[1], "tiny"))
server.start()
print(server.pid, flush=True)
{end}
"""


@pytest.mark.parametrize(
    ("end", "sent"),
    [
        ("", None),
        ("raise SystemExit(3)", None),
        ("raise ValueError('x')", None),
        ("os._exit(1)", None),
        ("time.sleep(600)", signal.SIGINT),
        ("time.sleep(600)", signal.SIGTERM),
        ("time.sleep(600)", signal.SIGKILL),
    ],
    ids=["it ends", "it exits", "an error", "a hard exit", "Ctrl-C", "terminated", "killed"],
)
def test_it_outlives_no_parent(end: str, sent: int | None, gguf: Callable[..., Path]) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", CODE.format(end=end), str(gguf())],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    line = parent.stdout.readline()
    if sent is not None:
        parent.send_signal(sent)
    parent.communicate(timeout=120)
    assert is_gone(int(line))


def test_a_ctrl_c_at_the_terminal_is_not_the_servers(gguf: Callable[..., Path]) -> None:
    """The run lets the rows in flight finish, so their server must go on."""
    with LlamaServer(settings(gguf())) as server:
        assert server.pid is not None
        assert os.getsid(server.pid) != os.getsid(0)
        os.kill(server.pid, signal.SIGINT)
        time.sleep(0.3)
        assert server.start() == server.url
        assert is_alive(server.pid)


def test_two_servers_have_two_ports(gguf: Callable[..., Path]) -> None:
    with (
        LlamaServer(settings(gguf("a.gguf"))) as one,
        LlamaServer(settings(gguf("b.gguf"))) as other,
    ):
        assert one.url != other.url
        assert one.url.startswith("http://127.0.0.1:")
        first = one.pid
    assert first is not None
    assert is_gone(first)


def test_systems_that_ask_the_same_share_a_server_and_the_last_stops_it(
    gguf: Callable[..., Path],
) -> None:
    path = str(gguf())
    one, same, other = Llama(path, max_tokens=5), Llama(path, layout="user"), Llama(path, seed=1)
    pids = []
    for system in (one, same, other):
        system.process(EXAMPLE)
        assert system._server is not None
        pids.append(system._server.pid)
    assert pids[0] == pids[1] != pids[2]
    one.close()
    one.close()
    assert same.process(EXAMPLE)["response"]
    same.close()
    other.close()
    assert all(pid is not None and is_gone(pid) for pid in pids)


def test_a_system_that_nobody_closes_gives_its_server_back(gguf: Callable[..., Path]) -> None:
    system = Llama(str(gguf()))
    system.process(EXAMPLE)
    assert system._server is not None
    pid = system._server.pid
    assert pid is not None
    del system
    gc.collect()
    assert is_gone(pid)


RUN = """
import sys
from context_bench import evaluate
from context_bench.errors import RunStoppedError

class One:
    name = "one"
    def score(self, original, processed):
        return {"one": 1.0}

rows = ({"id": str(n), "question": f"q{n}", "answer": "a"} for n in range(500))
try:
    evaluate(f"llama:model={sys.argv[1]}", rows, [One()], run_file="run.sqlite", progress=False)
except RunStoppedError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
"""


def test_ctrl_c_lets_the_row_in_flight_finish_and_stops_the_server(
    gguf: Callable[..., Path], tmp_path: Path
) -> None:
    noted = tmp_path / "pid"
    model = gguf(seconds=0.2, pid=str(noted))
    run = subprocess.Popen(
        [sys.executable, "-c", RUN, str(model)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 120
    while not noted.exists() or not noted.read_text():
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < until
        time.sleep(0.05)
    time.sleep(1.0)
    run.send_signal(signal.SIGINT)
    _, told = run.communicate(timeout=120)
    assert run.returncode == 130, told
    assert "Interrupted" in told
    assert "Traceback" not in told
    assert is_gone(int(noted.read_text()))
    assert list(RunReader(tmp_path / "run.sqlite").row_ids())


def test_a_server_that_the_collector_gives_back_while_another_is_borrowed_stops_nothing(
    gguf: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system in a cycle of references is let go wherever memory is asked for: the thread waited for itself."""
    import threading

    from context_bench_llama import server

    forgotten = server.borrow(settings(gguf("forgotten.gguf")), 1.0)
    made = server.LlamaServer

    def collected(*arguments: Any) -> Any:
        server.give_back(forgotten)
        return made(*arguments)

    monkeypatch.setattr(server, "LlamaServer", collected)
    found: list[Any] = []
    wanted = settings(gguf("wanted.gguf"))
    thread = threading.Thread(target=lambda: found.append(server.borrow(wanted, 1.0)), daemon=True)
    thread.start()
    thread.join(60.0)
    assert found, "it waits for itself"
    assert (forgotten.settings in server._borrowed, wanted in server._borrowed) == (False, True)
    server.give_back(found[0])
    assert wanted not in server._borrowed
