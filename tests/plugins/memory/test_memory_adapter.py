"""A memory as a system: reset, ingest the row's sessions, ask its question, and nothing of another row."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from context_bench.protocols import MemorySystem
from context_bench_memory import MemoryAdapter, NamedMemory, sessions_of


class Noting:
    """Answers with everything that it holds, and tells what it cost."""

    name = "noting"
    made = 0
    closed = 0

    def __init__(self) -> None:
        type(self).made += 1
        self.held: list[str] = ["left over"]
        self.busy = Lock()

    def reset(self) -> None:
        assert self.busy.acquire(blocking=False), "two rows have one memory"
        self.held = []

    def ingest(self, session: Mapping[str, Any]) -> dict[str, Any]:
        time.sleep(0.01)
        self.held += [
            f"{session['id']}/{session['date']}/{turn['role']}: {turn['content']}"
            for turn in session["turns"]
        ]
        return {"usage": {"prompt_tokens": 10, "completion_tokens": 1}}

    def query(self, question: str) -> dict[str, Any]:
        self.busy.release()
        return {
            "response": " | ".join([question, *self.held]),
            "usage": {"input_tokens": 3, "cost": 0.5},
        }

    def close(self) -> None:
        type(self).closed += 1


class Waiting:
    """The same in an async way; all of its calls are on one loop."""

    name = "waiting"

    def __init__(self) -> None:
        self.held: list[str] = []
        self.loops: set[int] = set()

    async def reset(self) -> None:
        self.held = []

    async def ingest(self, session: Mapping[str, Any]) -> None:
        self.loops.add(id(asyncio.get_running_loop()))
        await asyncio.sleep(0.001)
        self.held += [turn["content"] for turn in session["turns"]]

    async def query(self, question: str, date: str | None = None) -> str:
        self.loops.add(id(asyncio.get_running_loop()))
        await asyncio.sleep(0.001)
        return f"{date}: {' | '.join(self.held)} ({len(self.loops)} loop)"


@pytest.fixture(autouse=True)
def anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Noting, "made", 0)
    monkeypatch.setattr(Noting, "closed", 0)


def row(number: int) -> dict[str, Any]:
    return {"sessions": [[f"a{number}"], [f"b{number}", f"c{number}"]], "question": f"q{number}"}


def test_a_row_gets_an_empty_memory_its_sessions_and_its_question() -> None:
    output = MemoryAdapter(Noting).process(
        {
            "haystack_sessions": [
                [
                    {"role": "user", "content": "Hello you."},
                    {"role": "assistant", "content": "Hi."},
                ],
                [{"role": "user", "content": "Bye!"}],
            ],
            "haystack_dates": ["2026-03-01", "2026-03-02"],
            "haystack_session_ids": ["s1", "s2"],
            "question": "What?",
        }
    )
    assert output["response"] == (
        "What? | s1/2026-03-01/user: Hello you. | s1/2026-03-01/assistant: Hi. | s2/2026-03-02/user: Bye!"
    )
    assert output["memory"] == {
        "sessions": 2,
        "turns": 3,
        "ingested_tokens": 7,
        "ingest_usage": {"input_tokens": 20, "output_tokens": 2},
        "query_usage": {"input_tokens": 3, "cost": 0.5},
    }
    assert output["usage"] == {"input_tokens": 23, "output_tokens": 2, "cost": 0.5}
    assert output["timings"]["ingest"] >= 0.02
    assert set(output["timings"]) == {"reset", "ingest", "query"}


@pytest.mark.parametrize("maker", [Noting, lambda: Noting()], ids=["class", "function"])
def test_rows_at_once_have_memories_of_their_own_which_are_used_again(maker: Any) -> None:
    system = MemoryAdapter(maker)
    with ThreadPoolExecutor(8) as pool:
        outputs = list(pool.map(lambda number: system.process(row(number))["response"], range(40)))
    assert outputs == [
        f"q{n} | None/None/user: a{n} | None/None/user: b{n} | None/None/user: c{n}"
        for n in range(40)
    ]
    assert 1 <= Noting.made <= 8
    system.close()
    assert Noting.closed == Noting.made


def test_of_an_object_one_row_has_it_at_a_time_and_it_is_its_owners_to_close() -> None:
    memory = Noting()
    system = MemoryAdapter(memory)
    with ThreadPoolExecutor(8) as pool:
        outputs = list(pool.map(lambda number: system.process(row(number))["response"], range(20)))
    assert [output.split(" | ")[0] for output in outputs] == [f"q{number}" for number in range(20)]
    system.close()
    assert (Noting.made, Noting.closed) == (1, 0)


def test_async_memories_are_awaited_on_one_loop() -> None:
    system = MemoryAdapter(Waiting)
    with ThreadPoolExecutor(4) as pool:
        outputs = list(pool.map(lambda number: system.process(row(number))["response"], range(12)))
    assert outputs == [f"None: a{n} | b{n} | c{n} (1 loop)" for n in range(12)]
    system.close()
    assert system.process(row(1))["response"].startswith("None: a1")
    system.close()


def test_a_memory_that_asks_for_the_date_of_the_question_gets_it() -> None:
    system = MemoryAdapter(Waiting)
    assert system.process({**row(1), "question_date": "2026-04-01"})["response"].startswith(
        "2026-04-01: "
    )
    system.close()


def test_a_memory_that_breaks_is_empty_again_for_the_next_row() -> None:
    class Breaking(Noting):
        def query(self, question: str) -> Any:
            self.busy.release()
            if "1" in question:
                raise ValueError("lost")
            return " ".join(self.held)

    system = MemoryAdapter(Breaking)
    with pytest.raises(ValueError, match="lost"):
        system.process(row(1))
    assert (
        system.process(row(2))["response"]
        == "None/None/user: a2 None/None/user: b2 None/None/user: c2"
    )
    assert Breaking.made == 1


def test_a_context_that_came_out_takes_the_place_of_the_sessions_for_the_reader() -> None:
    class Giving(Noting):
        def query(self, question: str) -> Any:
            self.busy.release()
            return {"context": [self.held[-1], "and more"]}

    output = MemoryAdapter(Giving).process(row(1))
    assert output["sessions"] == []
    assert output["memory"]["retrieved_tokens"] == 9
    assert "response" not in output
    assert "sessions" not in MemoryAdapter(Giving).process(
        {"context": "Rain fell.", "question": "q"}
    )


@pytest.mark.parametrize("said", [None, 5, {}, {"answer": "x"}, ["x"]], ids=repr)
def test_what_is_no_answer_is_an_error_that_says_so(said: Any) -> None:
    class Odd(Noting):
        def query(self, question: str) -> Any:
            self.busy.release()
            return said

    with pytest.raises(
        TypeError,
        match=r"^noting: query\(\) returned .*, and a text or a mapping with response or context",
    ):
        MemoryAdapter(Odd).process(row(1))


@pytest.mark.parametrize("question", [None, "", "  ", 5], ids=repr)
def test_a_row_without_a_question_is_an_error(question: Any) -> None:
    with pytest.raises(ValueError, match=r"^noting: the row has no question to ask the memory\.$"):
        MemoryAdapter(Noting).process({"sessions": [["x"]], "question": question})


def test_what_is_no_memory_is_refused_at_once() -> None:
    class Half:
        def reset(self) -> None: ...

    with pytest.raises(
        TypeError, match=r"^Half is no memory: it has no ingest\(\), no query\(\)\.$"
    ):
        MemoryAdapter(Half)


def test_the_protocol_is_what_the_adapter_takes() -> None:
    assert isinstance(Noting(), MemorySystem)
    assert isinstance(Waiting(), MemorySystem)
    assert not isinstance(object(), MemorySystem)


def test_only_a_memory_with_a_fingerprint_is_reused_across_runs() -> None:
    class Known(Noting):
        def fingerprint(self) -> dict[str, Any]:
            return {"size": 3}

    assert not hasattr(MemoryAdapter(Noting), "fingerprint")
    assert MemoryAdapter(Known).fingerprint() == {
        "memory": f"{__name__}.{Known.__qualname__}",
        "size": 3,
    }


@pytest.mark.parametrize(
    ("example", "field", "found"),
    [
        ({}, None, []),
        ({"context": "One."}, "context", [(None, None, ["One."])]),
        ({"context": ["One.", {"content": "Two."}]}, "context", [(None, None, ["One.", "Two."])]),
        (
            {"sessions": ["One.", ["Two.", "Three."]]},
            "sessions",
            [(None, None, ["One."]), (None, None, ["Two.", "Three."])],
        ),
        (
            {"sessions": [{"id": 7, "date": "d", "turns": ["One."]}]},
            "sessions",
            [("7", "d", ["One."])],
        ),
        (
            {"sessions": [{"session_id": "s", "messages": [{"speaker": "Ada", "text": "One."}]}]},
            "sessions",
            [("s", None, ["One."])],
        ),
        ({"sessions": [], "context": "One."}, "context", [(None, None, ["One."])]),
        ({"sessions": [["One."]], "context": "Two."}, "sessions", [(None, None, ["One."])]),
        (
            {"haystack_sessions": [["One."], ["Two."]], "haystack_dates": ["d"]},
            "haystack_sessions",
            [(None, "d", ["One."]), (None, None, ["Two."])],
        ),
    ],
    ids=["nothing", "text", "list", "texts", "mapping", "LoCoMo", "empty", "both", "LongMemEval"],
)
def test_sessions_are_read_in_the_forms_that_data_sets_have(
    example: Any, field: str | None, found: Any
) -> None:
    where, sessions = sessions_of(example)
    assert where == field
    assert [
        (s["id"], s["date"], [turn["content"] for turn in s["turns"]]) for s in sessions
    ] == found


@pytest.mark.parametrize(
    ("ids", "found"),
    [
        (["sharegpt_yywfIrx_0", "answer_280352e9", "ultrachat_1"], ["1", "2", "3"]),
        (["answer_280352e9_1", "answer_280352e9_2"], ["1", "2", None]),
        (["sharegpt_yywfIrx_0", "s2", 3], ["sharegpt_yywfIrx_0", "s2", "3"]),
        (["answers-of-ada", "my_answer_1", None], ["answers-of-ada", "my_answer_1", None]),
        ([], [None, None, None]),
    ],
    ids=["one of them", "fewer ids than sessions", "none of them", "other names", "no ids"],
)
def test_no_id_tells_which_session_holds_the_answer(
    ids: list[Any], found: list[str | None]
) -> None:
    """LongMemEval calls the sessions with the evidence ``answer_...``, and no other session so."""
    example = {"haystack_sessions": [["One."], ["Two."], ["Three."]], "haystack_session_ids": ids}
    assert [session["id"] for session in sessions_of(example)[1]] == found


@pytest.mark.parametrize("field", ["haystack_sessions", "sessions"])
def test_no_turn_tells_that_it_holds_the_answer(field: str) -> None:
    turns = [{"role": "user", "content": "One.", "has_answer": True, "dia_id": "D1:1"}]
    assert sessions_of({field: [turns]})[1][0]["turns"] == [
        {"role": "user", "content": "One.", "dia_id": "D1:1"}
    ]
    assert turns[0]["has_answer"]


@pytest.mark.parametrize(
    ("example", "message"),
    [
        ({"sessions": "text"}, r"^sessions is of type str, and a list of sessions is needed\.$"),
        ({"sessions": [5]}, r"^sessions\[0\] is of type int, and a list of turns"),
        ({"sessions": [{"id": 1}]}, r"^sessions\[0\] is a mapping without a list of turns\.$"),
        (
            {"sessions": [["x"], ["y", 5]]},
            r"^sessions\[1\]\[1\] is of type int, and a turn is a mapping with content",
        ),
        ({"context": [{"content": None}]}, r"^context\[0\] has no content that is a text\.$"),
    ],
    ids=["text", "number", "no turns", "a turn", "no content"],
)
def test_other_forms_are_errors_that_say_where(example: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        sessions_of(example)


def test_a_memory_of_ones_own_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_own_memory.py").write_text(
        "class Last:\n"
        "    def reset(self): self.last = ''\n"
        "    def ingest(self, session): self.last = session['turns'][-1]['content']\n"
        "    def query(self, question): return self.last\n"
    )
    monkeypatch.chdir(tmp_path)
    system = NamedMemory("my_own_memory:Last")
    assert system.name == "Last"
    assert system.process(row(1))["response"] == "c1"
    for path, message in (
        ("my_own_memory", "must be module:Class"),
        ("my_own_memory:First", "my_own_memory has no 'First'"),
        ("no_such_module_at_all:X", "there is no module 'no_such_module_at_all'"),
    ):
        with pytest.raises(ValueError, match=message):
            NamedMemory(path)


def test_a_conversation_is_ingested_once_for_its_questions_where_that_is_asked_for() -> None:
    class Counts:
        name = "counts"
        ingested = 0

        def reset(self) -> None:
            self.turns: list[str] = []

        def ingest(self, session: Mapping[str, Any]) -> None:
            Counts.ingested += 1
            self.turns += [turn["content"] for turn in session["turns"]]

        def query(self, question: str) -> str:
            return " ".join(self.turns)

    first = {"sessions": [["a"], ["b"]]}
    rows = [
        {**first, "question": "1?"},
        {**first, "question": "2?"},
        {"sessions": [["c"]], "question": "3?"},
    ]
    system = MemoryAdapter(Counts, ingest_once=True)
    outputs = [system.process(row) for row in rows]
    assert [output["response"] for output in outputs] == ["a b", "a b", "c"]
    assert [output["memory"]["ingested_tokens"] for output in outputs] == [2, 0, 1]
    assert Counts.ingested == 3
    Counts.ingested = 0
    for row in rows:
        MemoryAdapter(Counts).process(row)
    assert Counts.ingested == 5


def test_a_memory_whose_ingestion_failed_is_filled_anew() -> None:
    class Fails:
        name = "fails"
        fails = True

        def reset(self) -> None:
            self.turns: list[str] = []

        def ingest(self, session: Mapping[str, Any]) -> None:
            self.turns += [turn["content"] for turn in session["turns"]]
            if Fails.fails:
                raise OSError("once")

        def query(self, question: str) -> str:
            return " ".join(self.turns)

    system = MemoryAdapter(Fails(), ingest_once=True)
    row = {"sessions": [["a"], ["b"]], "question": "?"}
    with pytest.raises(OSError, match="once"):
        system.process(row)
    Fails.fails = False
    assert system.process(row)["response"] == "a b"
