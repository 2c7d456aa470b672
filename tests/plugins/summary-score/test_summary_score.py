"""The summarization score: three steps, worked figures, and what models do instead of what they were asked."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import ConfigurationError
from context_bench_judging import judge_model
from context_bench_summary_score import SummarizationScore, conciseness, final_score

SOURCE, SUMMARY = "s" * 310, "m" * 183
PHRASES = '{"keyphrases": ["a", "b"]}'


class Echo:
    name = "echo"

    def process(self, example: Any) -> Any:
        return dict(example)


class Silent:
    name = "silent"

    def process(self, example: Any) -> Any:
        return {}


def questions(count: int) -> str:
    return json.dumps({"questions": [f"Is it {number}?" for number in range(count)]})


def answers(*values: Any) -> str:
    return json.dumps({"answers": list(values)})


def scorer(fake: Any, **options: Any) -> SummarizationScore:
    return SummarizationScore(
        llm=judge_model(fake.url, "m", max_retries=0, max_in_flight=4), **options
    )


def score(fake: Any, original: Any = None, processed: Any = None, **options: Any) -> Any:
    row = {"contexts": [SOURCE]} if original is None else original
    return scorer(fake, **options).score(
        row, {"response": SUMMARY} if processed is None else processed
    )


def test_three_calls_in_order_and_the_last_has_not_seen_the_source(fake: Any) -> None:
    fake.says(PHRASES, questions(11), answers(*"11111111000"))
    found = score(fake, {"contexts": ["THE SOURCE " * 40]}, {"response": "the summary"})
    assert len(fake.requests) == 3
    first, second, third = fake.prompts
    assert "THE SOURCE" in first
    assert "THE SOURCE" in second
    assert "a\nb" in second
    assert "THE SOURCE" not in third
    assert "the summary" in third
    assert "11. Is it 10?" in third
    assert found["qa_score"] == pytest.approx(8 / 11)
    assert found["qa_score"] == pytest.approx(0.72727, abs=1e-5)
    assert (found["n_keyphrases"], found["n_questions"]) == (2, 11)


def test_the_worked_figures(fake: Any) -> None:
    assert conciseness(183, 310) == 0.4096774193550291
    assert final_score(7 / 8, conciseness(183, 310), 0.5) == 0.6423387096775146
    fake.says(PHRASES, questions(8), answers(1, 1, 1, 1, 1, 1, 1, 0))
    found = score(fake)
    assert found == {
        "summary_score": 0.6423387096775146,
        "qa_score": 0.875,
        "conciseness_score": 0.4096774193550291,
        "n_keyphrases": 2,
        "n_questions": 8,
    }


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"coeff": 0.8}, 0.8),
        ({"coeff": 0.8, "formula": "ragas"}, 0.2),
        ({"coeff": 0.5, "formula": "ragas"}, 0.5),
        ({"coeff": 0.0}, 0.0),
        ({"coeff": 1.0}, 1.0),
        ({"length_penalty": False}, 1.0),
        ({"length_penalty": False, "coeff": 0.1}, 1.0),
    ],
)
def test_coefficient_penalty_and_formula(options: Any, expected: float, fake: Any) -> None:
    fake.says(PHRASES, questions(2), answers(1, 1))
    found = score(fake, processed={"response": SOURCE}, **options)
    assert found["conciseness_score"] == pytest.approx(0.0, abs=1e-9)
    assert found["summary_score"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"coeff": 1.1}, "coeff must be from 0 to 1"),
        ({"coeff": -0.1}, "coeff must be from 0 to 1"),
        ({"coeff": "0.5"}, "coeff must be from 0 to 1, not '0.5'"),
        ({"coeff": None}, "coeff must be from 0 to 1, not None"),
        ({"formula": "mean"}, "formula must be one of page, ragas"),
        ({"length_unit": "bytes"}, "length_unit must be one of chars, words, tokens"),
        ({"repairs": -1}, "repairs must be a whole number"),
    ],
)
def test_an_option_that_cannot_be_is_refused(options: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        SummarizationScore(**options)


@pytest.mark.parametrize(
    ("unit", "expected"), [("words", 1 - 2 / 4), ("tokens", 1 - 3 / 5), ("chars", 1 - 6 / 12)]
)
def test_lengths_are_counted_as_asked(unit: str, expected: float, fake: Any) -> None:
    fake.says(PHRASES, questions(1), answers(1))
    found = score(fake, {"context": "aa bb cc dd."}, {"response": "a bcd."}, length_unit=unit)
    assert found["conciseness_score"] == pytest.approx(expected, abs=1e-9)


def test_longer_summaries_and_their_like_divide_by_nothing(fake: Any) -> None:
    fake.says(PHRASES, questions(1), answers(1))
    assert score(fake, processed={"response": SOURCE * 3})["conciseness_score"] == pytest.approx(
        0.0, abs=1e-9
    )


@pytest.mark.parametrize(
    ("given", "qa", "mismatch"),
    [
        (["1"], 0.25, "1 answers to 4 questions"),
        (["1", "0", "yes", " True", "1", "1"], 0.75, "6 answers to 4 questions"),
        ([1, "1.", "YES", True], 1.0, None),
        (["0", "no", "unclear", ""], 0.0, None),
        ([{"answer": one} for one in ("1", "yes", 0, "unclear")], 0.5, None),
        ([{"number": one, "verdict": one % 2} for one in (4, 2, 1, 3)], 0.5, None),
    ],
)
def test_the_questions_are_the_denominator(
    given: Any, qa: float, mismatch: str | None, fake: Any
) -> None:
    fake.says(PHRASES, questions(4), answers(*given))
    found = score(fake)
    assert found["qa_score"] == qa
    assert found["n_questions"] == 4
    assert found.details.get("answer_mismatch") == mismatch


@pytest.mark.parametrize(
    ("options", "calls"), [({}, 3), ({"verify_questions": True}, 3)], ids=["summary", "source"]
)
def test_questions_without_a_single_answer_are_unscored_and_no_zeros(
    options: dict[str, Any], calls: int, fake: Any
) -> None:
    fake.says(PHRASES, questions(4), answers(), answers(1, 1, 1, 1))
    found = score(fake, **options)
    assert (found, found.details["unscored"], found.details["calls"]) == ({}, "no_answers", calls)
    assert len(found.details["questions"]) == 4


def test_answers_that_say_nothing_are_sent_back_and_are_no_zeros(fake: Any) -> None:
    wrong = answers({"question": "Is it?"}, {"question": "Was it?"})
    fake.says(PHRASES, questions(2), wrong, answers(1, 1))
    assert score(fake)["qa_score"] == 1.0
    fake.says(PHRASES, questions(2), *[wrong] * 4)
    found = score(fake)
    assert found == {}
    assert "has no 'answer'" in found.details["unscored"]


def test_a_question_that_is_asked_twice_counts_twice(fake: Any) -> None:
    fake.says(
        '{"keyphrases": ["a", "a", " "]}',
        json.dumps({"questions": ["Is it?"] * 11}),
        answers(*"11111111000"),
    )
    found = score(fake)
    assert (found["n_keyphrases"], found["n_questions"]) == (2, 11)
    assert found["qa_score"] == pytest.approx(8 / 11)
    assert "answer_mismatch" not in found.details


@pytest.mark.parametrize("fields", [("contexts", "summary"), ("reference_contexts", "response")])
def test_in_a_run_a_system_that_hands_its_examples_on_has_their_columns_scored(
    fields: tuple[str, str], fake: Any
) -> None:
    fake.says(PHRASES, questions(1), answers(1))
    rows = [dict(zip(fields, (["one", "two"], "m")))]
    result = evaluate(Echo(), rows, [scorer(fake)], progress=False)
    assert result.rows[0].scores["summary_score"] == pytest.approx(
        final_score(1.0, conciseness(1, 7), 0.5)
    )
    silent = evaluate(Silent(), rows, [scorer(fake)], progress=False).rows[0]
    assert not silent.scores
    assert list(silent.unscored.values()) == ["the output has no response or summary"]


def test_bound_and_cache_hold_for_a_model_of_the_users(tmp_path: Path) -> None:
    class Model:
        model_name = "m"
        calls = 0

        def invoke(self, messages: Any) -> str:
            self.calls += 1
            return (PHRASES, questions(1), answers(1))[self.calls - 1]

    model = Model()
    found = []
    for _ in range(2):
        own = SummarizationScore(llm=model, max_in_flight=2, cache=tmp_path / "replies.sqlite")
        assert own.judge.max_in_flight == 2
        found.append(own.score({"contexts": [SOURCE]}, {"response": SUMMARY}))
        own.close()
    assert found[0] == found[1] != {}
    assert model.calls == 3


def test_no_keyphrases_go_on_and_no_questions_are_unscored(fake: Any) -> None:
    fake.says('{"keyphrases": []}', questions(2), answers(1, 0))
    found = score(fake)
    assert (found["n_keyphrases"], found["qa_score"]) == (0, 0.5)
    assert "There are no phrases." in fake.prompts[1]
    fake.says(PHRASES, '{"questions": []}')
    before = len(fake.requests)
    found = score(fake)
    assert found == {}
    assert found.details["unscored"] == "no_questions"
    assert len(fake.requests) == before + 2


@pytest.mark.parametrize("summary", ["", "  \n"])
def test_a_blank_summary_is_zero_and_costs_nothing(summary: str, fake: Any) -> None:
    assert score(fake, processed={"response": summary}) == {"summary_score": 0.0}
    assert fake.requests == []


@pytest.mark.parametrize(
    "row", [{}, {"contexts": []}, {"contexts": [" "]}, {"context": None}, {"contexts": [1]}]
)
def test_a_row_without_source_is_an_error(row: Any, fake: Any) -> None:
    with pytest.raises(ValueError, match="The example has no source text"):
        score(fake, row)
    assert fake.requests == []


def test_a_reply_that_cannot_be_read_is_asked_again(fake: Any) -> None:
    fake.says(PHRASES, "Well: what about A?", questions(2), answers(1, 1))
    found = score(fake)
    assert found["qa_score"] == 1.0
    assert found.details["calls"] == len(fake.requests) == 4
    assert "with the field questions" in fake.prompts[2]


def test_replies_that_can_never_be_read_leave_the_row_unscored(fake: Any) -> None:
    fake.says("no object")
    found = score(fake, repairs=2)
    assert found == {}
    assert "no JSON object with 'keyphrases'" in found.details["unscored"]
    assert len(fake.requests) == 3


def test_refusals_and_failures_leave_the_row_unscored(fake: Any) -> None:
    fake.says({"message": {"refusal": "No."}})
    assert "the judge refused" in score(fake).details["unscored"]
    fake.says((500, "on fire"))
    assert "on fire" in score(fake).details["unscored"]
    assert len(fake.requests) == 2


@pytest.mark.parametrize(
    "row",
    [
        {"contexts": ["one", "two"], "summary": "m"},
        {"reference_contexts": ["one", "two"], "response": "m"},
        {"contexts": ["one", "two"]},
        {"context": "one\ntwo"},
    ],
)
def test_both_pairs_of_columns_score_alike(row: Any, fake: Any) -> None:
    fake.says(PHRASES, questions(1), answers(1))
    processed = {} if "summary" in row or "response" in row else {"response": "m"}
    found = score(fake, row, processed)
    assert found["summary_score"] == final_score(1.0, conciseness(1, 7), 0.5)
    assert "one\ntwo" in fake.prompts[0]


def test_a_language_reaches_all_three_prompts(fake: Any) -> None:
    fake.says(PHRASES, questions(1), answers(1))
    found = score(fake, language="de")
    assert all("language 'de'" in prompt for prompt in fake.prompts)
    assert all("0 and 1 stay as they are" in prompt for prompt in fake.prompts)
    assert found.details["answers"] == [1]


def test_questions_that_the_source_does_not_answer_are_dropped(fake: Any) -> None:
    fake.says(PHRASES, questions(3), answers(1, 0, 1), answers(1, 0))
    found = score(fake, verify_questions=True)
    assert found["qa_score"] == 0.5
    assert found["n_questions"] == 2
    assert found.details["dropped_questions"] == ["Is it 1?"]
    assert SOURCE in fake.prompts[2]
    assert SOURCE not in fake.prompts[3]
    assert "Is it 1?" not in fake.prompts[3]


def test_the_lists_are_kept(fake: Any) -> None:
    fake.says(PHRASES, questions(2), answers(1, 0))
    details = score(fake).details
    assert details["keyphrases"] == ["a", "b"]
    assert details["questions"] == ["Is it 0?", "Is it 1?"]
    assert details["answers"] == [1, 0]
    assert details["usage"] == {"input_tokens": 120, "output_tokens": 15}


def test_async_batches_keep_their_order_and_bound(fake: Any) -> None:
    def reply(request: Any) -> str:
        prompt = request["messages"][1]["content"]
        if '"keyphrases"' in prompt:
            return PHRASES
        return questions(2) if '"questions"' in prompt else answers(1, int("good" in prompt))

    fake.gate = threading.Barrier(4)
    fake.says(reply)
    rows = [
        ({"contexts": ["text"]}, {"response": "good" if number % 2 else "bad"})
        for number in range(8)
    ]
    found = asyncio.run(scorer(fake).abatch(rows))
    assert [one["qa_score"] for one in found] == [0.5, 1.0] * 4
    assert fake.most_in_flight == 4


def test_score_on_an_event_loop_says_what_to_call() -> None:
    class Model:
        def invoke(self, messages: Any) -> str:
            return "{}"

    async def inside() -> None:
        SummarizationScore(llm=Model()).score({"context": "t"}, {"response": "s"})

    with pytest.raises(
        RuntimeError, match=r"SummarizationScore.score would block this event loop: await ascore"
    ):
        asyncio.run(inside())


def test_the_fingerprint_holds_judge_prompts_and_options(fake: Any) -> None:
    plain = scorer(fake).fingerprint()
    assert plain["judge"]["model"] == "m"
    assert plain["prompts"]["version"] == "1"
    for options in (
        {"coeff": 0.4},
        {"formula": "ragas"},
        {"language": "de"},
        {"verify_questions": True},
    ):
        assert scorer(fake, **options).fingerprint() != plain
    own = scorer(fake, prompts={"answers": "{text} {questions} JSON please"})
    assert own.fingerprint() != plain
    with pytest.raises(ConfigurationError, match=r"The prompt 'answers' lacks \{questions\}"):
        scorer(fake, prompts={"answers": "{text}"})


def test_the_blocks_of_the_readme_run(run_readme: Any, fake: Any) -> None:
    fake.says(PHRASES, questions(2), answers(1, 0))
    run_readme({"http://localhost:8080": fake.url})
