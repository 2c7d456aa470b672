"""The turns of a conversation are kept one by one: none that was committed is asked again, whatever ends the run."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from attrs import asdict, evolve

from context_bench import evaluate
from context_bench.cli import execute
from context_bench.plugins.discovery import discover
from context_bench.plugins.settings import PluginSettings
from context_bench.results.columns import Columns
from context_bench.results.reading import canonical_row
from context_bench.store.keys import RowId
from context_bench.store.reader import RunReader
from context_bench.store.rows import StoredTurn
from context_bench.store.runfile import RunFile

TALK = {"id": "t", "multi_turn": True, "turns": ["one", "two", "three"], "answer": "THREE after 2"}


class Talker:
    """A system that is asked turn by turn, and breaks where it is told to."""

    name = "talker"

    def __init__(self, *breaks: str, model: str = "m") -> None:
        self.asked: list[str] = []
        self.breaks = set(breaks)
        self.model = model

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": "plain"}

    def process_turn(self, turns: list[Any]) -> dict[str, Any]:
        self.asked.append(turns[-1])
        if turns[-1] in self.breaks:
            raise ConnectionError("the line broke")
        said = sum(isinstance(turn, dict) for turn in turns)
        usage = {"input_tokens": 10 * len(turns), "output_tokens": 1, "cost": 0.25}
        return {
            "response": f"{turns[-1].upper()} after {said}",
            "usage": usage,
            "latency": 1.0,
            "headers": {"x": "y"},
        }

    def fingerprint(self) -> dict[str, Any]:
        return {"model": self.model}


class AsyncTalker(Talker):
    async def aprocess(self, example: dict[str, Any]) -> dict[str, Any]:
        return self.process(example)

    async def aprocess_turn(self, turns: list[Any]) -> dict[str, Any]:
        await asyncio.sleep(0)
        return Talker.process_turn(self, turns)

    process_turn = None  # type: ignore[assignment]


@pytest.fixture(params=[Talker, AsyncTalker], ids=["sync", "async"])
def talker(request: pytest.FixtureRequest) -> Any:
    return request.param


def stories(path: Path, name: str) -> Any:
    pytest.importorskip("context_bench_audit", reason="it tells the story of a row")
    from context_bench_audit.row_history import row_stories

    return row_stories(path, name)


def problems(path: Path) -> Any:
    """What is wrong with a run file."""
    pytest.importorskip("context_bench_audit", reason="it verifies run files")
    from context_bench_audit.verification import verify

    found = verify(discover(PluginSettings.read(environ={})), path)
    return found.problems


def run(system: Any, path: Path, same: Any, examples: Any = (TALK,), **options: Any) -> Any:
    return evaluate(system, list(examples), [same], progress=False, run_file=path, **options)


def test_every_turn_is_asked_with_the_replies_before_it_and_usage_is_summed(
    talker: Any, same: Any, tmp_path: Path
) -> None:
    [row] = run(talker(), tmp_path / "r.sqlite", same).rows
    assert row.output["turn_responses"] == ["ONE after 0", "TWO after 1", "THREE after 2"]
    assert (row.response, row.score, row.latency) == ("THREE after 2", 1.0, 3.0)
    assert (row.usage.input_tokens, row.usage.output_tokens, row.usage.cost) == (90, 3, 0.75)
    assert row.attempts == 3
    assert row.metadata["headers"] == {"x": "y"}


def test_turns_are_no_retries(talker: Any, same: Any, tmp_path: Path) -> None:
    """A conversation of three turns is asked three times, and nothing of that is asked again."""
    result = run(talker(), tmp_path / "r.sqlite", same)
    [summary] = result.summary.values()
    assert "retries" not in summary
    assert Columns.of(result.rows).retries == 0
    again = [evolve(row, attempts=5) for row in result.rows]
    assert Columns.of(again).retries == 2


def test_a_conversation_that_failed_midway_goes_on_with_the_turn_that_failed(
    talker: Any, same: Any, tmp_path: Path
) -> None:
    path = tmp_path / "r.sqlite"
    broken = talker("three")
    [row] = run(broken, path, same).rows
    assert broken.asked == ["one", "two", "three"]
    assert row.errors[0].kind == "ConnectionError"
    whole = talker()
    [row] = run(whole, path, same).rows
    assert whole.asked == ["three"]
    [undisturbed] = run(talker(), tmp_path / "u.sqlite", same).rows
    assert canonical_row(row) == canonical_row(undisturbed)
    assert row.usage == undisturbed.usage
    assert row.latency == undisturbed.latency


def test_samples_and_systems_have_turns_of_their_own(
    talker: Any, same: Any, tmp_path: Path
) -> None:
    systems = [talker(model="a"), talker(model="b")]
    systems[1].name = "other"
    run(systems, tmp_path / "r.sqlite", same, repeat=2)
    assert [len(system.asked) for system in systems] == [6, 6]
    with closing(sqlite3.connect(tmp_path / "r.sqlite")) as connection:
        assert connection.execute("SELECT count(*), count(DISTINCT key) FROM turns").fetchone() == (
            12,
            12,
        )


def test_turns_of_another_model_or_another_conversation_are_asked_again(
    talker: Any, same: Any, tmp_path: Path
) -> None:
    path = tmp_path / "r.sqlite"
    run(talker("three"), path, same)
    other = talker(model="n")
    run(other, path, same)
    assert other.asked == ["one", "two", "three"]
    path = tmp_path / "s.sqlite"
    run(talker("three"), path, same)
    changed = talker()
    run(changed, path, same, [{**TALK, "turns": ["zero", "two"]}])
    assert changed.asked == ["zero", "two"]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM turns").fetchone() == (2,)


def test_a_turn_is_asked_again_when_what_was_said_before_it_is_another(
    talker: Any, same: Any, tmp_path: Path
) -> None:
    path = tmp_path / "r.sqlite"
    run(talker("three"), path, same)
    with closing(RunReader(path)) as reader:
        identity = RowId(0, 0, 0, 0)
        turns = [StoredTurn(row=identity, **asdict(turn)) for turn in reader.turns(identity)]
    first, second = turns
    with closing(RunFile.open(path)) as store:
        store.keep_turn(evolve(first, output=json.dumps({"response": "another first reply"})))
        store.keep_turn(second)
    system = talker()
    [row] = run(system, path, same).rows
    assert system.asked == ["two", "three"]
    assert row.output["turn_responses"][0] == "another first reply"


def test_turns_that_are_answered_already_are_history_and_not_asked(
    talker: Any, same: Any, tmp_path: Path
) -> None:
    given = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}, "two"]
    system = talker()
    [row] = run(system, tmp_path / "r.sqlite", same, [{**TALK, "turns": given}]).rows
    assert system.asked == ["two"]
    assert row.output["turn_responses"] == ["TWO after 2"]


@pytest.mark.parametrize(
    ("turns", "message"),
    [
        ([{"role": "assistant", "content": "hi"}], "nothing to ask"),
        (
            [{"from": "human", "value": "hi"}],
            "turns[0] must be text or a mapping with `role` and `content`",
        ),
    ],
    ids=["all answered", "malformed"],
)
def test_a_conversation_that_cannot_be_asked_is_a_failure_of_its_row(
    talker: Any, same: Any, tmp_path: Path, turns: Any, message: str
) -> None:
    [row, plain] = run(
        talker(), tmp_path / "r.sqlite", same, [{**TALK, "turns": turns}, {"answer": "plain"}]
    ).rows
    assert message in row.errors[0].message
    assert plain.score == 1.0


def test_a_turn_without_a_text_is_a_failure_of_its_row(same: Any, tmp_path: Path) -> None:
    class Mute(Talker):
        def process_turn(self, turns: list[Any]) -> dict[str, Any]:
            return {"context": "c"}

    [row] = run(Mute(), tmp_path / "r.sqlite", same).rows
    assert row.errors[0].message == "the answer to turn 1 has no text under 'response'"


def test_a_refusal_in_the_middle_asks_only_that_turn_again(
    talker: Any, same: Any, tmp_path: Path
) -> None:
    class BusyError(Exception):
        status_code = 429

    class Busy(talker):  # type: ignore[misc]
        def _turn(self, turns: list[Any]) -> dict[str, Any]:
            if turns[-1] == "two" and self.asked.count("two") < 2:
                self.asked.append("two")
                raise BusyError("slow down")
            return Talker.process_turn(self, turns)

        if talker is AsyncTalker:

            async def aprocess_turn(self, turns: list[Any]) -> dict[str, Any]:
                return self._turn(turns)
        else:

            def process_turn(self, turns: list[Any]) -> dict[str, Any]:
                return self._turn(turns)

    system = Busy()
    [row] = run(system, tmp_path / "r.sqlite", same, max_workers=2).rows
    assert system.asked == ["one", "two", "two", "two", "three"]
    assert row.response == "THREE after 2"


def test_a_row_whose_time_is_up_asks_no_further_turn(same: Any, tmp_path: Path) -> None:
    class Slow(Talker):
        released = threading.Event()

        def process_turn(self, turns: list[Any]) -> dict[str, Any]:
            if turns[-1] == "two":
                self.released.wait(60)
            return super().process_turn(turns)

    slow, path = Slow(), tmp_path / "r.sqlite"
    [row] = run(slow, path, same, row_timeout=2.0, max_workers=2).rows
    assert row.errors[0].kind == "TimeoutError"
    slow.released.set()
    until = time.monotonic() + 60
    while "two" not in slow.asked and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.2)
    assert slow.asked == ["one", "two"]
    assert problems(path) == []
    assert [len(story["turns"]) for story in stories(path, "t")] == [1]


def test_a_system_with_process_conversation_alone_is_asked_for_the_whole(
    same: Any, tmp_path: Path
) -> None:
    class Whole:
        name = "whole"
        asked = 0

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            raise AssertionError("a conversation goes through process_conversation")

        def process_conversation(self, turns: list[Any]) -> list[str]:
            Whole.asked += 1
            if Whole.asked == 1:
                raise ConnectionError("the line broke")
            return [turn.upper() for turn in turns]

        def fingerprint(self) -> dict[str, Any]:
            return {}

    for responses in (None, ["ONE", "TWO", "THREE"], ["ONE", "TWO", "THREE"]):
        [row] = run(Whole(), tmp_path / "r.sqlite", same).rows
        assert row.output.get("turn_responses") == responses
    assert Whole.asked == 2


def test_a_system_without_either_gets_the_example_as_it_is(same: Any, tmp_path: Path) -> None:
    class Plain:
        name = "plain"

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            return {"response": f"{len(example['turns'])} turns"}

    [row] = run(Plain(), tmp_path / "r.sqlite", same).rows
    assert row.response == "3 turns"


def test_a_coroutine_function_may_be_asked_for_whole_conversations(
    same: Any, tmp_path: Path
) -> None:
    class Mixed:
        name = "mixed"

        async def process(self, example: dict[str, Any]) -> dict[str, Any]:
            return {"response": "plain"}

        def process_conversation(self, turns: list[Any]) -> list[str]:
            return list(turns)

    rows = run(
        Mixed(), tmp_path / "r.sqlite", same, [TALK, {"answer": "plain"}], max_workers=2
    ).rows
    assert [row.response for row in rows] == ["three", "plain"]


def test_explain_row_tells_the_turns_that_are_kept(
    talker: Any, same: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("context_bench_audit", reason="it tells the story of a row")
    run(talker("three"), tmp_path / "r.sqlite", same)
    assert execute(["explain", "row", str(tmp_path / "r.sqlite"), "t"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "turn 1 ONE after 0 (1.00 s, kept) turn 2 TWO after 1 (1.00 s, kept)" in told
    assert "turn 3" not in told


def test_damage_to_a_turn_is_found(talker: Any, same: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    run(talker("three"), path, same)
    assert problems(path) == []
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE turns SET output = replace(output, 'TWO', 'TOO')")
    assert "wrong checksum" in problems(path)[0]


def test_turns_that_are_not_those_of_the_response_are_found(
    talker: Any, same: Any, tmp_path: Path
) -> None:
    path = tmp_path / "r.sqlite"
    run(talker(), path, same)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM turns WHERE turn = 2")
    assert "are not those of its response" in problems(path)[0]


def test_without_examples_the_turns_hold_no_text_of_the_conversation(
    same: Any, tmp_path: Path
) -> None:
    class Silent(Talker):
        def process_turn(self, turns: list[Any]) -> str:  # type: ignore[override]
            self.asked.append(turns[-1])
            if turns[-1] in self.breaks:
                raise ConnectionError("the line broke")
            return "answered"

    path = tmp_path / "r.sqlite"
    talk = {**TALK, "turns": ["private-one", "private-two"]}
    run(Silent("private-two"), path, same, [talk], store_examples=False)
    assert not [file for file in tmp_path.iterdir() if b"private-one" in file.read_bytes()]
    whole = Silent()
    run(whole, path, same, [talk], store_examples=False)
    assert whole.asked == ["private-two"]
    [story] = stories(path, "t")
    assert [turn["response"] for turn in story["turns"]] == ["answered", "answered"]


# A server that counts what it is asked, and runs that are killed.

TALKS, TURNS, KILLS, WORKERS = 24, 5, 6, 3

SCRIPT = """
import asyncio, sys, urllib.request
from context_bench import evaluate

def fetch(turns):
    talk, turn = turns[-1].split("/")
    last = turns[-2]["content"] if len(turns) > 1 else ""
    with urllib.request.urlopen(f"{sys.argv[1]}/{talk}/{turn}?{last}", timeout=60) as reply:
        return {"response": reply.read().decode(), "usage": {"input_tokens": len(turns), "output_tokens": 1}}

class Remote:
    name = "remote"
    def process(self, example):
        raise AssertionError
    def process_turn(self, turns):
        return fetch(turns)
    def fingerprint(self):
        return {"endpoint": "test server"}

class AsyncRemote(Remote):
    async def aprocess(self, example):
        raise AssertionError
    async def aprocess_turn(self, turns):
        return await asyncio.to_thread(fetch, turns)

class Length:
    name = "length"
    def score(self, original, processed):
        return {"length": float(len(processed["turn_responses"]))}

turns = range(int(sys.argv[4]))
talks = [{"id": f"t{n}", "multi_turn": True, "turns": [f"t{n}/{k}" for k in turns]} for n in range(int(sys.argv[3]))]
system = AsyncRemote() if sys.argv[6] == "async" else Remote()
evaluate(system, talks, [Length()], progress=False, max_workers=int(sys.argv[5]), run_file=sys.argv[2])
"""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.calls: list[tuple[str, int]] = []


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        path, _, last = self.path.partition("?")
        talk, turn = path[1:].split("/")
        self.server.calls.append((talk, int(turn)))
        time.sleep(0.005)
        body = f"{last}{turn}".encode()  # depends on the reply before it
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:  # the client was killed
            pass


@pytest.fixture
def server() -> Iterator[_Server]:
    server = _Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def start(server: _Server, path: Path, way: str) -> subprocess.Popen[bytes]:
    numbers = [str(TALKS), str(TURNS), str(WORKERS), way]
    command = [
        sys.executable,
        "-c",
        SCRIPT,
        f"http://127.0.0.1:{server.server_port}",
        str(path),
        *numbers,
    ]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def kept_turns(path: Path) -> set[tuple[str, int]]:
    if not path.exists():
        return set()
    lines = RunReader(path).lines("SELECT response, turn FROM turns")
    return {(f"t{RowId.unpack(number).position}", turn) for number, turn in lines}


def exported(path: Path) -> list[str]:
    return [json.dumps(canonical_row(row), sort_keys=True) for row in RunReader(path).rows()]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL on this platform")
@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_killed_run_asks_no_committed_turn_again(
    server: _Server, tmp_path: Path, way: str
) -> None:
    assert start(server, tmp_path / "whole.sqlite", way).wait() == 0
    assert len(server.calls) == TALKS * TURNS
    assert exported(tmp_path / "whole.sqlite")[0].count('"01234"')
    server.calls.clear()
    path, chance, kills, midway = tmp_path / "killed.sqlite", random.Random(5), 0, 0
    while True:
        committed = kept_turns(path)
        talks = [talk for talk, _ in committed]
        midway += any(talks.count(talk) < TURNS for talk in set(talks))
        before = len(server.calls)
        process = start(server, path, way)
        calls = chance.randint(4, TALKS * TURNS // KILLS - 2)
        while kills < KILLS and process.poll() is None and len(server.calls) - before < calls:
            time.sleep(chance.random() * 0.004)
        if kills < KILLS and process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        code = process.wait()
        assert not (set(server.calls[before:]) & committed), "a committed turn was asked again"
        if code == 0:
            break
    assert kills == KILLS
    assert midway, "no kill met a conversation midway"
    assert len(server.calls) <= TALKS * TURNS + KILLS * WORKERS
    assert exported(path) == exported(tmp_path / "whole.sqlite")
    assert problems(path) == []
