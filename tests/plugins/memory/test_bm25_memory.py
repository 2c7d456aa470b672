from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import context_bench_memory
from context_bench_compress import count_tokens
from context_bench_memory import BM25Memory, BM25MemorySystem

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGE = Path(context_bench_memory.__file__).parent
SYSTEMS: dict[str, Any] = tomllib.loads((PACKAGE / "context_bench_plugin.toml").read_text("utf-8"))[
    "systems"
]
README = Path(__file__).resolve().parents[3] / "plugins" / "context-bench-memory" / "README.md"

ROW = {
    "sessions": [
        {
            "date": "2026-03-01",
            "turns": ["My cat is called Ada.", {"role": "assistant", "content": "A fine name."}],
        },
        {"date": "2026-03-09", "turns": ["It rains.", "Ada the cat sleeps on the sofa."]},
        {"date": "2026-04-02", "turns": ["I moved to Rome.", "The weather is fine."]},
    ],
    "question": "Where does my cat Ada sleep?",
}


def test_the_turns_that_fit_best_come_back_in_the_order_in_which_they_were_said() -> None:
    output = BM25MemorySystem(items=2).process(ROW)
    assert output["context"] == (
        "[2026-03-01] user: My cat is called Ada.\n[2026-03-09] user: Ada the cat sleeps on the sofa."
    )
    assert output["sessions"] == []
    assert output["memory"] == {
        "sessions": 3,
        "turns": 6,
        "ingested_tokens": 31,
        "retrieved_tokens": 32,
    }
    assert set(output["timings"]) == {"reset", "ingest", "query"}


def test_a_budget_of_tokens_takes_the_best_that_fit() -> None:
    assert (
        BM25MemorySystem(tokens=18).process(ROW)["context"]
        == "[2026-03-01] user: My cat is called Ada."
    )
    assert BM25MemorySystem(tokens=1).process(ROW)["context"] == ""


def test_a_question_that_nothing_answers_gets_nothing() -> None:
    assert BM25MemorySystem().process({**ROW, "question": "zebra?"})["context"] == ""
    assert BM25MemorySystem().process({"question": "zebra?"})["memory"]["sessions"] == 0


texts = st.lists(
    st.sampled_from(["cat", "dog", "Rome", "你好世界", "\ud800", "é", "rain."]), max_size=6
).map(" ".join)


@settings(deadline=None)
@given(
    sessions=st.lists(st.lists(texts, min_size=1, max_size=4), max_size=5),
    question=texts,
    items=st.integers(1, 5),
)
def test_what_comes_back_was_said_in_that_order_and_the_same_each_time(
    sessions: list[list[str]], question: str, items: int
) -> None:
    memory = BM25Memory(items=items, tokens=30)
    found = []
    for _ in range(2):
        memory.reset()
        for turns in sessions:
            memory.ingest(
                {
                    "id": None,
                    "date": None,
                    "turns": [{"role": "user", "content": turn} for turn in turns],
                }
            )
        found.append(memory.query(question)["context"])
    assert found[0] == found[1]
    lines = [line for line in found[0].split("\n") if line]
    said = iter(f"user: {turn}" for turns in sessions for turn in turns)
    assert all(line in said for line in lines)
    assert len(lines) <= items
    assert count_tokens(found[0]) <= 30


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"items": 0}, r"items is 0, and it must be a whole number of 1 or more"),
        ({"tokens": 2.5}, r"tokens is 2\.5, and it must be"),
        ({"b": 2}, r"b is 2; k1 must be 0 or more, and b from 0 to 1"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BM25MemorySystem(**options)


def test_the_fingerprint_has_every_option() -> None:
    base = BM25MemorySystem().fingerprint()
    for change in ({"items": 3}, {"tokens": 9}, {"k1": 1.0}, {"b": 0.5}):
        assert BM25MemorySystem(**change).fingerprint() != base  # type: ignore[arg-type]


def test_a_run_measures_it_in_front_of_a_reader(tmp_path: Path) -> None:
    """Through the front door: seconds apart in the metadata, compression of the sessions, the same keys again."""
    from context_bench import evaluate

    class Reader:
        name = "reader"

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            assert example["sessions"] == []
            return {"response": example["context"].splitlines()[-1]}

    class Contains:
        name = "contains"
        version = "1"

        def score(self, original: Any, processed: Any) -> dict[str, float]:
            return {"contains": float("sofa" in processed["response"])}

    from context_bench.run.systems import Chain

    result = evaluate(
        Chain([BM25MemorySystem(items=2), Reader()]),
        [ROW, ROW],
        [Contains()],
        run_file=tmp_path / "run.sqlite",
        progress=False,
    )
    for row in result.rows:
        assert row.scores == {"contains": 1.0}
        assert set(row.metadata["timings"]) == {"reset", "ingest", "query"}
        assert "timings" not in row.output
        assert row.input_tokens == 31 + 7
        assert row.prompt_tokens == 32 + 7


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_manifest_says_what_the_code_says(name: str) -> None:
    facts = SYSTEMS[name]
    kind = getattr(context_bench_memory, facts["class"])
    parameters = inspect.signature(kind).parameters
    assert {key: option.get("default") for key, option in facts["options"].items()} == {
        key: None if parameter.default is parameter.empty else parameter.default
        for key, parameter in parameters.items()
    }
    assert list(kind.reads) == facts["reads"]


def test_the_readme_names_every_system_and_option_and_its_example_is_true(
    run_readme: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = README.read_text("utf-8")
    for name, facts in SYSTEMS.items():
        assert f"`{name}`" in text
        assert [option for option in facts["options"] if f"`{option}`" not in text] == []
    run_readme()
    assert "Ada" in capsys.readouterr().out


SESSIONS = [
    {"date": "2026-03-01", "turns": ["My cat is called Ada."]},
    {"date": "2026-03-09", "turns": [{"role": "assistant", "content": "Noted."}]},
]


@pytest.mark.parametrize(("last", "expected"), [(None, 2), (1, 1), (0, 0), (5, 2)])
def test_the_history_is_given_whole_in_part_or_not_at_all(last: int | None, expected: int) -> None:
    from context_bench_memory import HistorySystem

    output = HistorySystem(last).process({"sessions": SESSIONS, "question": "Who is Ada?"})
    assert output["context"].count("Session of") == expected
    assert ("Ada" in output["context"]) == (expected == 2)
    assert output["sessions"] == []


def test_a_model_is_not_asked_without_the_history_in_silence() -> None:
    from context_bench.prompts import prompt_texts
    from context_bench_memory import HistorySystem

    example = {"sessions": SESSIONS, "question": "Who is Ada?"}
    with pytest.raises(ValueError, match="whole-history"):
        prompt_texts(example)
    without = {**example, **HistorySystem(last=0).process(example)}
    assert prompt_texts(without).present == ["Who is Ada?"]


@pytest.mark.parametrize("last", [-1, True, 1.5])
def test_a_number_of_sessions_that_there_cannot_be_is_refused(last: object) -> None:
    from context_bench_memory import History

    with pytest.raises(ValueError, match="last"):
        History(last)  # type: ignore[arg-type]
