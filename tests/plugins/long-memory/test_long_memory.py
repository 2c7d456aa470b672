"""LongMemEval and LoCoMo on records that we made up in their published layouts, from the loader to the table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.cli import execute
from context_bench.errors import ConfigurationError, DatasetError
from context_bench_judging import judge_model
from context_bench_long_memory import EvidenceWords, LoCoMoF1, MemoryAnswer, MemoryJudge, locomo
from context_bench_long_memory.answers import refuses
from context_bench_long_memory.longmemeval import longmemeval

QUESTIONS = [
    {
        "question_id": "t1",
        "question_type": "knowledge-update",
        "question": "Where do I live now?",
        "answer": "Turku",
        "question_date": "2023/05/30 (Tue) 10:00",
        "haystack_session_ids": ["answer_t1_1", "f1"],
        "haystack_dates": ["2023/05/20 (Sat) 09:00", "2023/05/01 (Mon) 09:00"],
        "haystack_sessions": [
            [{"role": "user", "content": "I live in Turku now, I moved.", "has_answer": True}],
            [
                {"role": "user", "content": "I like tea."},
                {"role": "assistant", "content": "Noted."},
            ],
        ],
        "answer_session_ids": ["answer_t1_1"],
    },
    {
        "question_id": "t2_abs",
        "question_type": "multi-session",
        "question": "How many cats do I have?",
        "answer": "Cats were never mentioned.",
        "question_date": "2023/05/30 (Tue) 10:00",
        "haystack_session_ids": ["f2"],
        "haystack_dates": ["2023/05/02 (Tue) 09:00"],
        "haystack_sessions": [[{"role": "user", "content": "I have a dog."}]],
        "answer_session_ids": ["answer_t2_1"],
    },
]
CONVERSATIONS = [
    {
        "sample_id": "t-1",
        "conversation": {
            "speaker_a": "Ida",
            "speaker_b": "Tom",
            "session_10_date_time": "9:00 am on 3 June, 2023",
            "session_10": [{"speaker": "Tom", "dia_id": "D10:5", "text": "It flew away."}],
            "session_2_date_time": "1:05 pm on 2 May, 2023",
            "session_2": [
                {"speaker": "Ida", "dia_id": "D2:1", "text": "I adopted a parrot yesterday."},
                {
                    "speaker": "Tom",
                    "dia_id": "D2:2",
                    "text": "What is it called?",
                    "blip_caption": "a photo of a cage",
                    "query": "secret search words",
                },
            ],
        },
        "qa": [
            {"question": "When did Ida adopt a parrot?", "answer": "1 May 2023", "evidence": ["D2:1"], "category": 2},
            {"question": "What flew?", "answer": "the parrot", "evidence": ["D:10:05; D2:1 D99:1"], "category": 1},
            {"question": "What colour is Tom's boat?", "adversarial_answer": "red", "evidence": [], "category": 5},
        ],
    }
]  # fmt: skip


def test_nothing_of_longmemeval_that_tells_the_answer_is_seen() -> None:
    example = longmemeval(QUESTIONS[0])
    assert [one["date"][:10] for one in example["sessions"]] == ["2023/05/01", "2023/05/20"]
    assert example["evidence"] == [
        {"session": "2", "turn": "2:1", "text": "I live in Turku now, I moved."}
    ]
    assert [turn["id"] for turn in example["sessions"][0]["turns"]] == ["1:1", "1:2"]
    seen = json.dumps([example[name] for name in ("id", "sessions", "question", "question_date")])
    assert "answer" not in seen
    assert "t1" not in seen
    assert longmemeval(QUESTIONS[1])["abstention"]


def test_sessions_without_a_date_of_their_own_are_refused() -> None:
    with pytest.raises(ValueError, match="2 sessions, 1 dates"):
        longmemeval({**QUESTIONS[0], "haystack_dates": ["2023/05/20"]})


@pytest.fixture
def conversations(tmp_path: Path) -> Path:
    path = tmp_path / "locomo10.json"
    path.write_text(json.dumps(CONVERSATIONS), encoding="utf-8")
    return path


def test_a_conversation_becomes_its_questions(conversations: Path) -> None:
    temporal, hops, adversarial = locomo(path=str(conversations))
    sessions = temporal["sessions"]
    assert [one["id"] for one in sessions] == ["2", "10"]
    assert sessions[0]["turns"][1]["content"].endswith("[shares a photo of a cage]")
    assert "secret search words" not in json.dumps(temporal)
    assert [one["text"] for one in hops["evidence"]] == ["It flew away.", "I adopted a parrot yesterday."]  # fmt: skip
    assert [one["turn"] for one in hops["evidence"]] == ["D10:5", "D2:1"]
    assert [turn["id"] for turn in sessions[0]["turns"]] == ["D2:1", "D2:2"]
    assert (hops["evidence_unresolved"], temporal["cluster"]) == (1, "t-1")
    assert adversarial["abstention"]
    assert "answer" not in adversarial
    assert "dates" in temporal["instruction"]
    assert len(list(locomo(limit=1, path=str(conversations)))) == 1


@pytest.mark.parametrize("text", ["{}", "[{}]", "[1]", "no JSON", "[" * 100_000])
def test_a_file_of_another_layout_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DatasetError):
        list(locomo(path=str(path)))
    with pytest.raises(DatasetError):
        list(locomo(path=str(tmp_path / "missing.json")))
    with pytest.raises(ConfigurationError):
        locomo(config="s", path=str(path))


@pytest.mark.parametrize(
    ("category", "answer", "response", "expected"),
    [
        (4, "a red boat", "The red boats.", 1.0),
        (4, "a red boat", "green", 0.0),
        (1, "pottery, camping", "camping, pottery", 1.0),
        (1, "pottery, camping", "pottery", 0.5),
        (3, "likely yes; she studies it", "likely yes", 1.0),
        (2, "7 May 2023", "7 May, 2023", 1.0),
    ],
)
def test_the_f1_of_locomo_goes_by_the_code(
    category: int, answer: str, response: str, expected: float
) -> None:
    scores = LoCoMoF1().score({"category": category, "answer": answer}, {"response": response})
    assert scores == {"locomo_f1": expected, f"locomo_f1_code_{category}": expected}


def test_adversarial_questions_have_a_score_of_their_own() -> None:
    scored = LoCoMoF1().score
    assert scored({"category": 5}, {"response": "Not mentioned."}) == {"locomo_adversarial": 1.0}
    assert scored({"category": 5}, {"response": "red"}) == {"locomo_adversarial": 0.0}


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("You never mentioned a cat.", True),
        ("I don't have that information, it was not specified.", True),
        ("The conversation doesn’t say.", True),
        ("There is no record of it.", True),
        ("I do not know.", True),
        ("Turku", False),
        ("You do not like tea.", False),
        ("No, it was in May.", False),
    ],
)
def test_a_refusal_is_told_from_an_answer(reply: str, expected: bool) -> None:
    assert refuses(reply) is expected


def test_an_answer_from_memory_is_scored_without_a_judge() -> None:
    score = MemoryAnswer().score
    assert score({"answer": "Turku"}, {"response": "You live in Turku."})["memory_answer"] == 1.0
    assert score({"answer": "Turku"}, {"response": "I do not know."}) == {
        "memory_answer": 0.0,
        "false_refusal": 1.0,
    }
    abstained = score({"abstention": True, "question_type": "multi-session"}, {"response": "Two."})
    assert abstained == {"memory_answer": 0.0, "memory_answer_abstention": 0.0}
    for example in ({"answer": "word " * 13}, {"answer": "x", "question_type": "single-session-preference"}, {}):  # fmt: skip
        assert score(example, {"response": "x"}) == {}


def test_evidence_is_looked_for_in_what_came_back() -> None:
    example = {"evidence": [{"text": "My boat is red."}, {"text": "It sails well."}]}
    score = EvidenceWords().score
    assert score(example, {"context": "My boat is red."}) == {
        "evidence_words": 0.5,
        "evidence_any": 1.0,
        "evidence_all": 0.0,
    }
    assert score(example, {"context": ""})["evidence_words"] == 0.0
    assert score({"evidence": []}, {"context": "x"}) == {}
    assert score(example, {"response": "x"}) == {}
    assert score({**example, "abstention": True}, {"context": "x"}) == {}


def test_evidence_is_counted_by_id_where_a_memory_returns_ids() -> None:
    example = {"evidence": [{"turn": "1:1", "text": "a b"}, {"turn": "2:3", "text": "c d"}]}
    score = EvidenceWords().score
    by_id = {"evidence_recall": 0.5, "evidence_recall_any": 1.0, "evidence_recall_all": 0.0}
    assert score(example, {"turn_ids": ["2:3", "9:9"]}) == by_id
    rewritten = score(example, {"context": "something else", "turn_ids": ["2:3"]})
    assert rewritten == {
        "evidence_words": 0.0, "evidence_any": 0.0, "evidence_all": 0.0, **by_id
    }  # fmt: skip
    assert score(example, {"turn_ids": []})["evidence_recall"] == 0.0
    without = {"evidence": [{"text": "a b"}]}
    assert score(without, {"turn_ids": ["1:1"]}) == {}


RULES = [
    ({"answer": "Turku", "question_type": "multi-session"}, "common", "only a part"),
    ({"answer": "7 days", "question_type": "temporal-reasoning"}, "temporal", "off by one"),
    ({"answer": "Turku", "question_type": "knowledge-update"}, "update", "earlier state"),
    ({"answer": "tea", "question_type": "single-session-preference"}, "preference", "every point"),
    ({"answer": "no cats", "question_type": "knowledge-update", "abstention": True}, "abstention", "cannot be answered"),
    ({"category": 5, "abstention": True}, "abstention", "(none)"),
    ({"answer": "1 May 2023", "category": 2}, "date", "in any form"),
    ({"answer": "red", "category": 4}, "common", "only a part"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "rule", "words"), RULES)
def test_the_judge_is_given_the_rule_of_the_kind_of_question(
    gold: Mapping[str, Any], rule: str, words: str, fake: Any
) -> None:
    fake.says('{"reason": "It says so.", "verdict": "yes"}')
    judge = MemoryJudge(judge_model(fake.url, "m", max_retries=0))
    scores = judge.score({"question": "Q?", **gold}, {"response": "R."})
    judge.close()
    assert scores["memory_judge"] == 1.0
    assert len(scores) == 1 + any(name in gold for name in ("question_type", "category"))
    assert (scores.details["rule"], scores.details["reason"]) == (rule, "It says so.")
    (prompt,) = fake.prompts
    assert words in prompt
    assert "<question>\nQ?\n</question>" in prompt
    assert "<response>\nR.\n</response>" in prompt


def test_the_flag_of_the_judge_wires_the_judge_of_memories_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Two judges would be two calls a row."""
    pytest.importorskip("context_bench_judge", reason="context-bench-judge is not installed")
    arguments = ["explain", "wiring", "--dataset", "locomo:path=x", "--given", "judge-url"]
    assert execute([*arguments, "--json"]) == 0
    (plan,) = json.loads(capsys.readouterr().out).values()
    wired = {entry["evaluator"] for entry in plan["evaluators"] if entry["wired"]}
    assert "context-bench-long-memory/memory-judge" in wired
    assert "context-bench-judge/judge" not in wired


def test_a_judge_that_says_no_or_nothing_that_can_be_read(fake: Any) -> None:
    fake.says('{"reason": "It is wrong.", "verdict": "No."}')
    judge = MemoryJudge(judge_model(fake.url, "m", max_retries=0), repairs=0)
    example = {"question": "Q?", "answer": "Turku", "question_type": "knowledge-update"}
    assert judge.score(example, {"response": "Oulu"}) == {
        "memory_judge": 0.0,
        "memory_judge_knowledge_update": 0.0,
    }
    fake.says('{"reason": "Hm.", "verdict": "maybe"}')
    unclear = judge.score(example, {"response": "Espoo"})
    assert unclear == {}
    assert "maybe" in unclear.details["unscored"]
    asked = len(fake.requests)
    assert judge.score({"question": "Q?"}, {"response": "x"}) == {}
    assert judge.score(example, {}) == {}
    assert len(fake.requests) == asked
    judge.close()


def test_a_judge_is_wired_by_its_flag_to_the_questions_about_memory_alone(
    conversations: Path, tmp_path: Path, fake: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("context_bench_memory", reason="it brings the system")
    pytest.importorskip("context_bench_local", reason="it reads the file")
    (tmp_path / "rows.jsonl").write_text('{"question": "Q?", "answer": "a", "abstention": false}')
    found = {}
    for dataset in (f"locomo:path={conversations}", str(tmp_path / "rows.jsonl")):
        for flags in (("--judge-url", fake.url), ()):
            command = [
                "run",
                "--system",
                "whole-history",
                "--dataset",
                dataset,
                "--dry-run",
                *flags,
            ]
            assert execute(command) == 0
            plan = " ".join(capsys.readouterr().out.split())
            found[dataset.startswith("locomo"), bool(flags)] = (
                "option --judge-url, tag long-memory" in plan
            )
    assert found == {(True, True): True, (True, False): False, (False, True): False, (False, False): False}  # fmt: skip


def reader(example: Mapping[str, Any]) -> str:
    """Answer from the context alone, and say so where it holds no answer."""
    return "Turku" if "Turku" in str(example.get("context", "")) else "It is not mentioned."


def test_a_memory_the_whole_history_and_nothing_side_by_side(hub: Any) -> None:
    """The arms of LongMemEval from the hub to the table: what came back, apart from what was answered."""
    from context_bench.plan.systems import FunctionSystem
    from context_bench.run.systems import Chain

    memory = pytest.importorskip("context_bench_memory", reason="it brings the arms")
    body = json.dumps(QUESTIONS).encode()
    hub.put("xiaowu0162/longmemeval-cleaned", {"longmemeval_s_cleaned.json": body}, "main")
    memories = {
        "bm25": memory.BM25MemorySystem(2),
        "whole": memory.HistorySystem(),
        "empty": memory.HistorySystem(0),
    }
    systems = [Chain([one, FunctionSystem(reader)], name) for name, one in memories.items()]
    result = evaluate(systems, dataset="longmemeval", progress=False)
    scores = {
        name: [(row.score, row.scores.get("evidence_all")) for row in result.rows if row.system == name]
        for name in memories
    }  # fmt: skip
    assert scores == {
        "bm25": [(1.0, 1.0), (1.0, None)],
        "whole": [(1.0, 1.0), (1.0, None)],
        "empty": [(0.0, 0.0), (1.0, None)],
    }
    recalled = {
        name: [row.scores.get("evidence_recall") for row in result.rows if row.system == name]
        for name in memories
    }
    assert recalled == {"bm25": [1.0, None], "whole": [1.0, None], "empty": [0.0, None]}
    kinds = [
        row.scores.get("memory_answer_knowledge_update")
        for row in result.rows
        if row.system == "empty"
    ]
    assert kinds == [0.0, None]
    refused = [row.scores.get("false_refusal") for row in result.rows if row.system == "empty"]
    assert refused == [1.0, None]


def test_locomo_runs_from_a_copy_and_groups_its_questions(conversations: Path) -> None:
    from context_bench.plan.systems import FunctionSystem
    from context_bench.run.systems import Chain

    memory = pytest.importorskip("context_bench_memory", reason="it brings the arm")
    chain = Chain(
        [memory.HistorySystem(), FunctionSystem(lambda example: "not mentioned")], "whole"
    )
    result = evaluate(chain, dataset=f"locomo:path={conversations}", progress=False)
    assert [row.scores.get("locomo_adversarial") for row in result.rows] == [None, None, 1.0]
    assert [row.score for row in result.rows] == [0.0, 0.0, None]
    assert all(row.scores["evidence_all"] == 1.0 for row in result.rows[:2])
