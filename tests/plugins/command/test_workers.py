"""Programs that live on: one line in, one line out."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench_command import Command, CommandExitError, CommandOutputError, CommandTimeoutError
from context_bench_command.processes import Process

Script = Callable[..., list[str]]
WORKER = """
    import json, os, sys
    open("started", "a").write(f"{os.getpid()}\\n")
    for line in sys.stdin:
        request = json.loads(line)
        question = request["example"]["question"]
        if question == "die":
            print("out of memory", file=sys.stderr, flush=True)
            os._exit(9)
        if question == "sleep":
            import time
            time.sleep(600)
        said = {
            "error": {"id": request["id"], "error": "cannot say"},
            "wrong id": {"id": "other", "response": "x"},
            "nothing": {"id": request["id"]},
            "long": {"id": request["id"], "response": "x" * 200_000},
        }.get(question, {"id": request["id"], "response": f"said {question}"})
        print("no JSON" if question == "noise" else json.dumps(said), flush=True)
"""
PATIENCE = 120.0


def worker(script: Script, **options: Any) -> Command:
    return Command(
        script(WORKER), protocol="jsonl", **{"version": "1", "timeout": PATIENCE, **options}
    )


def started() -> int:
    return len(Path("started").read_text().splitlines())


def test_one_program_answers_row_after_row(script: Script) -> None:
    asked = worker(script)
    assert [asked.process({"question": str(n)})["response"] for n in range(20)] == [
        f"said {n}" for n in range(20)
    ]
    assert started() == 1
    asked.close()


@pytest.mark.parametrize(
    ("question", "error", "said", "programs"),
    [
        ("die", CommandExitError, "ended with status 9 before it answered: out of memory", 2),
        ("noise", CommandOutputError, "a line that is no JSON: b?'no JSON'", 2),
        ("wrong id", CommandOutputError, "the id 'other' instead of '2'", 2),
        ("long", CommandOutputError, "more than 100000 bytes for one answer", 2),
        ("error", CommandOutputError, "answered with an error: cannot say", 1),
        ("nothing", CommandOutputError, "an object with nothing, and no 'response'", 1),
    ],
)
def test_a_program_that_fails_is_replaced_and_only_its_row_is_lost(
    script: Script, question: str, error: type[Exception], said: str, programs: int
) -> None:
    asked = worker(script, max_output=100_000)
    assert asked.process({"question": "a"}) == {"response": "said a"}
    with pytest.raises(error, match=said):
        asked.process({"question": question})
    assert asked.process({"question": "b"}) == {"response": "said b"}
    assert started() == programs
    asked.close()


def test_the_pipe_that_somebody_reads_keeps_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that is about to read from a number must not find another program's pipe there."""
    about, go = threading.Event(), threading.Event()
    real = os.read

    def read(number: int, size: int) -> bytes:
        if threading.current_thread() is not reader:
            return real(number, size)
        piece = real(number, size)
        about.set()
        assert go.wait(PATIENCE)
        return piece

    process = Process(["cat"], None, dict(os.environ))
    stdout = process._process.stdout
    assert stdout is not None
    reader = threading.Thread(target=lambda: list(process.pieces()), daemon=True)
    monkeypatch.setattr(os, "read", read)
    reader.start()
    process.stdin.write(b"x\n")
    process.stdin.flush()
    assert about.wait(PATIENCE)
    process.end()
    assert not stdout.closed
    go.set()
    reader.join(PATIENCE)
    assert stdout.closed


LAST_WORDS: dict[str, tuple[str, type[Exception] | None, str]] = {
    "an answer without a line end": ("""{"id": "1", "response": "said"}""", None, ""),
    "an answer behind a byte order mark": (
        "\\ufeff" + """{"id": "1", "response": "said"}""",
        None,
        "",
    ),
    "half an answer": (
        """{"id": "1", "resp""",
        CommandExitError,
        "ended with status 0 before it answered",
    ),
    "nothing": ("", CommandExitError, "ended with status 0 before it answered"),
}


@pytest.mark.parametrize("case", LAST_WORDS)
def test_what_a_program_wrote_last_is_an_answer_where_it_is_one(script: Script, case: str) -> None:
    """Its end of line may be missing: the answer was there, and the row failed."""
    text, error, said = LAST_WORDS[case]
    code = f"import sys; sys.stdin.readline(); sys.stdout.reconfigure(encoding='utf-8'); sys.stdout.write('{text}')"
    asked = Command(script(code), protocol="jsonl", version="1", timeout=PATIENCE)
    if error is None:
        assert asked.process({"question": "a"}) == {"response": "said"}
    else:
        with pytest.raises(error, match=said):
            asked.process({"question": "a"})
    asked.close()


def test_a_program_that_closes_its_output_and_lives_on_is_not_told_as_killed_by_somebody(
    script: Script,
) -> None:
    code = "import os, sys, time; sys.stdin.readline(); os.close(1); time.sleep(600)"
    asked = Command(script(code), protocol="jsonl", version="1", timeout=PATIENCE)
    with pytest.raises(
        CommandExitError, match="closed its standard output before it answered, and was killed"
    ):
        asked.process({"question": "a"})
    asked.close()


def test_an_answer_in_thousands_of_pieces_is_put_together_once() -> None:
    """Each piece was put behind all before it, and all of it searched for the end of the line: 100 MB took two minutes."""
    from types import SimpleNamespace

    class Piece(bytes):
        read = 0

        def split(self, *how: Any) -> list[bytes]:
            Piece.read += len(self)
            return super().split(*how)

        def __radd__(self, other: bytes) -> Any:
            return Piece(other + bytes(self))

    from context_bench_command.workers import _Worker

    pieces = [
        Piece(b'{"id": "1", "response": "'),
        *[Piece(b"x" * 1000)] * 4000,
        Piece(b'"}\n'),
        Piece(b"{}\n{}"),
    ]
    read = _Worker(SimpleNamespace(pieces=lambda: iter(pieces)), "program", 2**30, ())  # type: ignore[arg-type]
    lines = [read._lines.get(timeout=PATIENCE) for _ in range(4)]
    assert [len(line or b"") for line in lines] == [4_000_027, 2, 2, 0]
    assert Piece.read == sum(map(len, pieces))


def test_a_program_that_is_too_slow_is_killed(script: Script) -> None:
    asked = worker(script, timeout=5.0)
    with pytest.raises(CommandTimeoutError, match="did not answer within 5 s and was killed"):
        asked.process({"question": "sleep"})
    asked.close()


def test_a_program_that_died_while_nobody_asked_costs_no_row(script: Script) -> None:
    code = WORKER + '        if question == "last":\n            break\n'
    asked = Command(script(code), protocol="jsonl", version="1", timeout=PATIENCE)
    assert asked.process({"question": "last"}) == {"response": "said last"}
    assert asked._workers is not None
    until = time.monotonic() + PATIENCE
    while not asked._workers._idle[0].process.has_ended and time.monotonic() < until:
        time.sleep(0.02)
    assert asked.process({"question": "next"}) == {"response": "said next"}
    asked.close()


def test_a_run_keeps_a_program_for_each_call_in_flight(script: Script) -> None:
    rows = [{"id": str(n), "question": "die" if n == 7 else f"q{n}"} for n in range(40)]
    asked = worker(script)
    result = evaluate(asked, rows, [], max_workers=4)
    found = list(result.rows)
    assert [row.response for row in found] == [None if n == 7 else f"said q{n}" for n in range(40)]
    assert found[7].errors[0].kind == "CommandExitError"
    assert 1 <= started() <= 5
    asked.close()


def test_programs_end_when_their_system_is_let_go(script: Script) -> None:
    asked = worker(script)
    asked.process({"question": "a"})
    assert asked._workers is not None
    process = asked._workers._idle[0].process
    del asked
    gc.collect()
    assert process.has_ended
