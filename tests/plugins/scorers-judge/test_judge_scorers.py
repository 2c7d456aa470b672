"""The scorers that ask a model, against a scripted server: right calls in the right order, every form of reply."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from context_bench.errors import ConfigurationError
from context_bench_judging import judge_model
from context_bench_scorers import UserTypeError, UserValueError, scorer_from_string
from context_bench_scorers_judge import (
    Hallucination,
    HallucinationEvaluator,
    QACorrectnessEvaluator,
    QAQualityCorrectness,
    SummaryQuality,
    SummaryQualityEvaluator,
)
from context_bench_scorers_judge.choices import read_choice
from context_bench_scorers_judge.summary_quality import truncate_input_text


def judge(fake: Any, **settings: Any) -> Any:
    return judge_model(fake.url, "m", max_retries=0, **settings)


def said(result: Any) -> tuple[Any, str]:
    return result.score, result.category.name


@pytest.mark.parametrize(
    ("scorer", "lists"),
    [
        (QAQualityCorrectness, (None, ["q"], ["c", "c"])),
        (QAQualityCorrectness, (None, ["q", "q"], ["c"])),
        (SummaryQuality, (["r"], ["t", "t"], None)),
        (SummaryQuality, (["r", "r"], ["t"], None)),
        (Hallucination, (None, None, ["c"])),
    ],
    ids=["qa-inputs", "qa-contexts", "summary-references", "summary-inputs", "hallucination"],
)
def test_a_batch_with_a_list_of_another_length_is_refused_before_anything_is_asked(
    scorer: Any, lists: tuple[Any, ...], fake: Any
) -> None:
    built = scorer(judge(fake))
    for run in (built.run_batch, lambda *given: asyncio.run(built.arun_batch(*given))):
        with pytest.raises(UserValueError, match="There are 2 candidate_outputs and 1 "):
            run(["a", "b"], *lists)
    assert fake.requests == []


# Correctness of answers.

QA_REPLIES = [
    ("1", (1.0, "correct")),
    (" 1.", (1.0, "correct")),
    ("1\n", (1.0, "correct")),
    ("1. The context says so.", (1.0, "correct")),
    ('{"verdict": "1"}', (1.0, "correct")),
    ('```json\n{"answer": 1}\n```', (1.0, "correct")),
    ("<think>0 or 1?</think>1", (1.0, "correct")),
    ("**1**", (1.0, "correct")),
    ("`1`", (1.0, "correct")),
    ("[1]", (1.0, "correct")),
    ("“1”", (1.0, "correct")),
    ("1.0", (1.0, "correct")),
    ("0.0", (0.0, "incorrect")),
    ("0.5", (None, "invalid")),
    ("10", (None, "invalid")),
    ("[0, 1]", (None, "invalid")),
    ("`1` or `0`", (None, "invalid")),
    ("0", (0.0, "incorrect")),
    ('{"verdict": 0}', (0.0, "incorrect")),
    ("Incorrect.", (0.0, "incorrect")),
    ("NA", (None, "na")),
    ("n/a", (None, "na")),
    ('{"verdict": "NA"}', (None, "na")),
    ("10", (None, "invalid")),
    ("1 or 0", (None, "invalid")),
    ("0.5", (None, "invalid")),
    ("2", (None, "invalid")),
    ("maybe", (None, "invalid")),
    ('{"verdict": "perhaps"}', (None, "invalid")),
    ("", (None, "invalid")),
]


@pytest.mark.parametrize(
    ("reply", "expected"), QA_REPLIES, ids=[repr(reply) for reply, _ in QA_REPLIES]
)
def test_an_answer_is_right_wrong_or_not_to_be_told(reply: str, expected: Any, fake: Any) -> None:
    fake.says(reply)
    result = QAQualityCorrectness(judge(fake)).run(
        ["Rome"], inputs=["Capital?"], contexts=["Rome is the capital."]
    )[0]
    assert said(result) == expected
    assert len(fake.requests) == 1
    assert ("unscored" in result.details) == (expected[1] == "invalid")


def test_arthurs_value_for_no_score_is_minus_one(fake: Any) -> None:
    fake.says("NA", "junk", "1")
    scorer = QAQualityCorrectness(judge(fake), parity="arthur")
    found = scorer.run(["a"] * 3, inputs=["q"] * 3, contexts=["c"] * 3)
    assert [said(result) for result in found] == [(-1.0, "na"), (-1.0, "invalid"), (1.0, "correct")]
    with pytest.raises(UserValueError, match="parity must be 'arthur' or None"):
        QAQualityCorrectness(parity="old")


def test_the_judge_sees_question_context_and_answer_at_temperature_zero(fake: Any) -> None:
    fake.says("1")
    QAQualityCorrectness(judge(fake)).run(
        ["the answer"], inputs=["the question"], contexts=["the context"]
    )
    request = fake.requests[0]
    for name in ("question", "context", "answer"):
        assert f"<{name}>\nthe {name}\n</{name}>" in request["messages"][1]["content"]
    assert (request["temperature"], request["max_tokens"], request["model"]) == (0.0, 64, "m")
    assert request["response_format"]["json_schema"]["schema"]["properties"]["verdict"]["enum"] == [
        "1",
        "0",
        "NA",
    ]


@pytest.mark.parametrize(
    ("lists", "reason"),
    [
        ({"contexts": ["c"]}, "needs inputs"),
        ({"inputs": ["q"]}, "needs contexts"),
        ({"inputs": ["q"], "contexts": ["c"], "reference_outputs": ["r"]}, "takes no references"),
    ],
)
def test_what_correctness_needs_is_checked_before_a_call(
    lists: Any, reason: str, fake: Any
) -> None:
    with pytest.raises(UserValueError, match=reason):
        QAQualityCorrectness(judge(fake)).run(["a"], **lists)
    assert fake.requests == []
    scorer = QAQualityCorrectness(judge(fake))
    assert scorer.validate_batch(["a"], None, ["q"], ["c"]) == (["q"], ["c"])
    assert QAQualityCorrectness.validate_batch(["a"], None, ["q"], ["c"]) == (["q"], ["c"])


def test_a_reply_that_cannot_be_read_is_sent_back_when_wanted(fake: Any) -> None:
    fake.says("well", "1")
    found = QAQualityCorrectness(judge(fake), repairs=1).run(["a"], inputs=["q"], contexts=["c"])[0]
    assert said(found) == (1.0, "correct")
    assert found.details["calls"] == 2
    assert "one of 1, 0, NA" in fake.prompts[1]


@pytest.mark.parametrize(
    ("saying", "reason"),
    [
        ({"message": {"refusal": "No."}}, "the judge refused"),
        ((500, "on fire"), "on fire"),
        ((401, "bad key"), "bad key"),
    ],
)
def test_a_judge_that_fails_gives_no_score_and_the_cause(
    saying: Any, reason: str, fake: Any
) -> None:
    fake.says(saying)
    found = QAQualityCorrectness(judge(fake)).run(["a"], inputs=["q"], contexts=["c"])[0]
    assert said(found) == (None, "invalid")
    assert reason in found.details["unscored"]


# Summaries.

SUMMARY_REPLIES = [
    ("0", (0.0, "reference")),
    ("1", (1.0, "candidate")),
    ("1 ", (1.0, "candidate")),
    ("tie", (0.5, "equal")),
    ("tie. Both are fine.", (0.5, "equal")),
    ('{"verdict": "tie"}', (0.5, "equal")),
    ("Summary 1", (1.0, "candidate")),
    ("both", (0.5, "equal")),
    ("I like them", (None, "invalid")),
]


@pytest.mark.parametrize(
    ("reply", "expected"), SUMMARY_REPLIES, ids=[repr(reply) for reply, _ in SUMMARY_REPLIES]
)
def test_the_better_summary_wins(reply: str, expected: Any, fake: Any) -> None:
    fake.says(reply)
    found = SummaryQuality(judge(fake)).run(["short"], ["long"], ["the text"])[0]
    assert said(found) == expected
    prompt = fake.prompts[0]
    assert "<summary-0>\nlong\n</summary-0>" in prompt
    assert "<summary-1>\nshort\n</summary-1>" in prompt


@pytest.mark.parametrize(
    ("replies", "score", "category", "agree"),
    [
        (("1", "0"), 1.0, "candidate", True),
        (("0", "1"), 0.0, "reference", True),
        (("1", "1"), 0.5, "equal", False),
        (("tie", "0"), 0.75, "equal", False),
        (("tie", "tie"), 0.5, "equal", True),
    ],
)
def test_both_orders_show_position_bias(
    replies: Any, score: float, category: str, agree: bool, fake: Any
) -> None:
    fake.says(*replies)
    found = SummaryQuality(judge(fake), swap=True).run(["short"], ["long"], ["the text"])[0]
    assert said(found) == (score, category)
    assert found.details["orders_agree"] is agree
    assert "<summary-0>\nshort\n" in fake.prompts[1]
    assert len(fake.requests) == 2


class Words:
    """A tokenizer in the manner of tiktoken."""

    def encode(self, text: str) -> list[str]:
        return text.split()


def test_only_the_text_is_cut_to_the_window(fake: Any) -> None:
    fake.says("1")
    scorer = SummaryQuality(judge(fake), context_window=1000, tokenizer=Words())
    text = " ".join(f"w{number}" for number in range(5000))
    found = scorer.run(["the candidate"], ["the reference"], [text])[0]
    assert found.details["truncated"] is True
    sent = sum(len(message["content"].split()) for message in fake.requests[0]["messages"])
    assert 1000 - 150 - 20 <= sent <= 1000 - 150
    assert "the candidate" in fake.prompts[0]
    assert "the reference" in fake.prompts[0]
    assert "w0 w1 w2" in fake.prompts[0]
    kept, is_cut = scorer.truncate_input_text(text, "r", "c", 400)
    assert (kept, is_cut) == truncate_input_text(text, "r", "c", 400, Words())
    assert text.startswith(kept)
    assert is_cut
    assert scorer.truncate_input_text("a b", "r", "c") == ("a b", False)
    with pytest.raises(UserValueError, match="the summaries alone do not fit"):
        scorer.run(["c " * 2000], ["r"], [text])


def test_tokens_are_counted_by_whatever_counts_them() -> None:
    class Counts:
        def count(self, text: str) -> int:
            return len(text)

    text = "abcd " * 2000
    scorer = SummaryQuality()
    by_letters, _ = scorer.truncate_input_text(text, "r", "c", 4096, Counts())
    by_default, _ = scorer.truncate_input_text(text, "r", "c", 4096)
    by_function, _ = scorer.truncate_input_text(text, "r", "c", 4096, len)
    assert by_letters == by_function
    assert len(by_letters) < len(by_default) <= len(text)
    with pytest.raises(UserTypeError, match="A tokenizer has `encode` or `count`"):
        SummaryQuality(tokenizer="cl100k_base")
    with pytest.raises(UserValueError, match="context_window"):
        SummaryQuality(context_window=0)


def test_what_summaries_need_is_checked_before_a_call(fake: Any) -> None:
    scorer = SummaryQuality(judge(fake))
    with pytest.raises(UserValueError, match="needs inputs"):
        scorer.run(["c"], ["r"])
    with pytest.raises(UserTypeError, match="compares with references"):
        scorer.run(["c"], inputs=["t"])
    with pytest.raises(UserValueError, match="takes no contexts"):
        scorer.run(["c"], ["r"], ["t"], ["x"])
    assert fake.requests == []
    assert scorer.validate_batch(["c"], ["r"], ["t"]) == (["t"], ["r"])


# Hallucination.

CLAIMS = '{"claims": ["Rome is in Italy.", "Rome has 9 million people."]}'


def test_every_claim_must_be_borne_out(fake: Any) -> None:
    fake.says(CLAIMS, '{"reasons": ["said", "the context says 3 million"], "verdicts": [1, 0]}')
    found = Hallucination(judge(fake)).run(
        ["Rome, Italy, has 9 million people."], contexts=["Rome: Italy, 3 million."]
    )[0]
    assert said(found) == (0.0, "hallucination")
    assert found.details["reason"] == "Rome has 9 million people."
    assert found.details["supported"] == 0.5
    assert found.details["unsupported_claims"] == [
        {"claim": "Rome has 9 million people.", "reason": "the context says 3 million"}
    ]
    assert found.details["method"] == "llm"
    first, second = fake.prompts
    assert "3 million" not in first
    assert "1. Rome is in Italy.\n2. Rome has 9 million people." in second
    assert "<source>\nRome: Italy, 3 million.\n</source>" in second


def test_supported_claims_are_no_hallucination(fake: Any) -> None:
    fake.says(CLAIMS, '{"reasons": [], "verdicts": ["1", "yes"]}')
    found = Hallucination(judge(fake)).run(["x"], contexts=["y"])[0]
    assert said(found) == (1.0, "no hallucination")
    fake.says('{"claims": []}')
    assert said(Hallucination(judge(fake)).run(["Hello!"], contexts=["y"])[0]) == (
        1.0,
        "no hallucination",
    )
    before = len(fake.requests)
    assert said(Hallucination(judge(fake)).run([" "], contexts=["y"])[0]) == (
        1.0,
        "no hallucination",
    )
    assert len(fake.requests) == before


def test_verdicts_that_are_too_few_go_back(fake: Any) -> None:
    fake.says(CLAIMS, '{"reasons": [], "verdicts": [1]}', '{"reasons": [], "verdicts": [1, 1]}')
    found = Hallucination(judge(fake)).run(["x"], contexts=["y"])[0]
    assert said(found) == (1.0, "no hallucination")
    assert "'verdicts' has 1 values for 2" in fake.prompts[2]


def test_a_context_is_needed(fake: Any) -> None:
    with pytest.raises(UserValueError, match="needs contexts"):
        Hallucination(judge(fake)).run(["x"])


def test_without_a_judge_a_heuristic_says_that_it_is_one() -> None:
    scorer = Hallucination()
    context = "The Eiffel Tower is 330 metres tall. It was built in Paris from 1887 to 1889."
    texts = [
        "The tower in Paris is 330 metres tall.",
        "The tower is 350 metres tall.",
        "It was designed by Martians.",
    ]
    found = scorer.run(texts, contexts=[context] * 3, batch_size=3)
    assert [result.score for result in found] == [1.0, 0.0, 0.0]
    assert all("lexical heuristic" in result.details["method"] for result in found)
    assert found[1].details["reason"] == "The tower is 350 metres tall."
    assert "lexical" in scorer.fingerprint()["method"]
    assert asyncio.run(scorer.arun(texts, contexts=[context] * 3)) == found
    with pytest.raises(ConfigurationError, match="No judge is configured"):
        Hallucination(method="llm").run(["x"], contexts=["y"])
    with pytest.raises(UserValueError, match="method must be one of"):
        Hallucination(method="magic")
    with pytest.raises(UserValueError, match="repairs must be a whole number from 0 up, not -1"):
        Hallucination(repairs=-1)
    with pytest.raises(UserValueError, match="threshold must be from 0 to 1, not 'half'"):
        Hallucination(threshold="half")  # type: ignore[arg-type]


# All of them.


@pytest.mark.parametrize(
    "scorer",
    [
        QAQualityCorrectness(parity="arthur"),
        SummaryQuality(context_window=8192, swap=True),
        Hallucination(method="lexical", threshold=0.5),
    ],
    ids=lambda scorer: scorer.name(),
)
def test_each_is_made_again_from_json(scorer: Any) -> None:
    config = json.loads(json.dumps(scorer.to_dict()))
    assert type(scorer).from_dict(config) == scorer
    assert type(scorer)() != scorer
    assert "llm" not in config
    assert scorer_from_string(scorer.name()) is type(scorer)
    assert scorer.to_metadata().output_type.value == "categorical"


def test_none_means_the_configured_judge(fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = QAQualityCorrectness()
    with pytest.raises(ConfigurationError, match="CONTEXT_BENCH_JUDGE_URL"):
        scorer.run(["a"], inputs=["q"], contexts=["c"])
    monkeypatch.setenv("CONTEXT_BENCH_JUDGE_URL", fake.url)
    fake.says("1")
    assert said(scorer.run(["a"], inputs=["q"], contexts=["c"])[0]) == (1.0, "correct")
    assert fake.requests[0]["model"] == "gpt-4"


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("It is 331 m tall, built in 1889.", "the context has no 331"),
        ("It is 331 m tall, built in 1890.", "the context has no 1890 and no 331"),
        ("Nobody has ever climbed it.", "0% of its content words are in the context"),
    ],
)
def test_the_heuristic_says_what_is_missing(claim: str, reason: str) -> None:
    result = Hallucination(method="lexical").run(
        [claim], contexts=["It is 330 m tall and was built in 1889."]
    )[0]
    assert result.score == 0.0
    assert [one["reason"] for one in result.details["unsupported_claims"]] == [reason]


def test_a_cache_is_kept_for_the_configured_judge_too(
    fake: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CONTEXT_BENCH_JUDGE_URL", fake.url)
    fake.says("1")
    for _ in range(2):
        evaluator = QACorrectnessEvaluator(cache=tmp_path / "replies.sqlite")
        scores = evaluator.score({"question": "q", "context": "c"}, {"response": "a"})
        assert scores == {"qa_correctness": 1.0}
    assert len(fake.requests) == 1


def test_an_object_with_invoke_judges_both_ways() -> None:
    class Model:
        model_name = "lc"

        def invoke(self, messages: Any) -> str:
            return "1"

        async def ainvoke(self, messages: Any) -> str:
            return "0"

    scorer = QAQualityCorrectness(Model())
    assert scorer.run(["a"], inputs=["q"], contexts=["c"])[0].score == 1.0
    assert asyncio.run(scorer.arun(["a"], inputs=["q"], contexts=["c"]))[0].score == 0.0


def test_judges_ask_side_by_side_in_order_and_bounded(fake: Any) -> None:
    fake.gate = threading.Barrier(4)
    fake.says(lambda request: "1" if "good" in request["messages"][1]["content"] else "0")
    answers = ["good" if number % 3 else "bad" for number in range(12)]
    scorer = QAQualityCorrectness(judge(fake, max_in_flight=4))
    found = asyncio.run(scorer.arun(answers, inputs=["q"] * 12, contexts=["c"] * 12, batch_size=12))
    assert [result.score for result in found] == [float(answer == "good") for answer in answers]
    assert fake.most_in_flight == 4


def test_prompts_and_their_version_are_in_the_fingerprint(fake: Any, tmp_path: Path) -> None:
    file = tmp_path / "prompts.toml"
    file.write_text('correctness = "{context} / {question} / {answer}: 0 or 1?"\n', "utf-8")
    own = QAQualityCorrectness(judge(fake), prompts=file)
    ours = QAQualityCorrectness(judge(fake))
    assert own.fingerprint() != ours.fingerprint()
    assert ours.fingerprint()["prompts"]["version"] == "1"
    assert ours.fingerprint()["judge"]["model"] == "m"
    fake.says("1")
    own.run(["a"], inputs=["q"], contexts=["c"])
    assert fake.prompts[0].startswith("<context>\nc\n</context> / <question>")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        QAQualityCorrectness(prompts=tmp_path / "none.toml")


def test_the_evaluators_score_rows(fake: Any) -> None:
    row = {"question": "q", "context": "the text", "answers": ["r1", "r2"]}
    output = {"response": "a"}
    options: dict[str, Any] = {"base_url": fake.url, "model": "m", "max_retries": 0}
    fake.says("1")
    assert QACorrectnessEvaluator(**options).score(row, output) == {"qa_correctness": 1.0}
    assert asyncio.run(SummaryQualityEvaluator(**options).ascore(row, output)) == {
        "summary_quality": 1.0
    }
    assert "<text>\nthe text\n</text>" in fake.prompts[1]
    assert len(fake.requests) == 2  # one reference alone is judged
    fake.says('{"claims": []}')
    found = HallucinationEvaluator(**options).score(row, output)
    assert found == {"hallucination": 1.0}
    assert found.details["category"] == "no hallucination"
    fake.says("junk")
    unscored = QACorrectnessEvaluator(**options).score(row, output)
    assert unscored == {}
    assert "none of 1, 0, NA" in unscored.details["unscored"]
    assert HallucinationEvaluator().score(row, {"response": "the text"}) == {"hallucination": 1.0}
    secret = QACorrectnessEvaluator(**options, api_key="sk-secret").fingerprint()
    assert "sk-secret" not in json.dumps(secret)


def test_the_messages_api_judges_too(fake: Any) -> None:
    fake.says("1")
    evaluator = QACorrectnessEvaluator(base_url=fake.url, model="claude", provider="anthropic")
    assert evaluator.score({"question": "q", "context": "c"}, {"response": "a"}) == {
        "qa_correctness": 1.0
    }
    assert fake.paths == ["/v1/messages"]


def test_nothing_goes_anywhere_but_to_the_judge(fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect
    there = fake.url.rpartition("/")[2].split(":")

    def watched(self: Any, address: Any) -> Any:
        assert [str(part) for part in address[:2]] == there
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", watched)
    fake.says("1")
    assert (
        QAQualityCorrectness(judge(fake)).run(["a"], inputs=["q"], contexts=["c"])[0].score == 1.0
    )


def test_a_choice_is_read_as_a_person_reads_it() -> None:
    choices = {"0": "0", "1": "1", "tie": "tie"}
    assert read_choice('First {"verdict": "0"}, no: {"verdict": "1"}', choices) == "1"
    for unclear in ("01", "1-2", "100", "1 0", "0, 1", "**1** tie", "{", '{"verdict": "0/1"}'):
        with pytest.raises(ValueError, match="none of 0, 1, tie"):
            read_choice(unclear, choices)


@pytest.mark.parametrize(
    ("reply", "chosen"),
    [
        ("Summary 0 is worse.", None),
        ("Summary 0 is not better.", None),
        ("0 is too long. 1 is better.", None),
        ("Both summaries are good, but 1 is better.", None),
        ("Summary 0 is better than summary 1.", "0"),
        ("Summary 1 is better; summary 0 is worse.", "1"),
        ("Neither is better.", "tie"),
        ("0 and 1 are alike.", None),
        ("Summary 1 or 0.", None),
        ("1 is fluent, 0 is short. So 0.", None),
        ("1. It is shorter than 0.", "1"),
        ("1 and nothing else", "1"),
        ('{"verdict": "0",}', "0"),
        ("Both are equally good.", "tie"),
        ("**Verdict:** 1", "1"),
        ("Answer: 0", "0"),
        ("１", "1"),
        ('{"verdict": 1.0}', "1"),
        ('{"verdict": "summary_1"}', "1"),
        ('{"verdict": 0.5}', None),
    ],
)
def test_a_choice_that_is_taken_back_is_none(reply: str, chosen: str | None) -> None:
    """The first word was taken whatever followed it."""
    choices = {
        "0": "0",
        "summary 0": "0",
        "1": "1",
        "summary 1": "1",
        "both": "tie",
        "neither": "tie",
    }
    if chosen is None:
        with pytest.raises(ValueError, match="none of 0, 1, tie"):
            read_choice(reply, choices)
    else:
        assert read_choice(reply, choices) == chosen


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ('{"verdict": true}', 1.0),
        ('{"verdict": false}', 0.0),
        ("Correct: the context says so.", 1.0),
        ("Incorrect. The correct answer is Paris.", 0.0),
        ("Correct: no.", None),
        ("Correct? No.", None),
        ("Correct would be Paris. 0", None),
        ("Correct is Paris, not Rome: 0", None),
        ("True or false? False.", None),
        ("Correct. The context says so. 1", 1.0),
        ("1, because the context says 0.", 1.0),
        ("Incorrect, the year is 1.", 0.0),
        ('{"verdict": "1",}', 1.0),
    ],
)
def test_correctness_is_read_as_a_person_reads_it(
    reply: str, score: float | None, fake: Any
) -> None:
    fake.says(*[reply] * 4)
    [found] = QAQualityCorrectness(judge(fake)).run(["a"], inputs=["q"], contexts=["c"])
    assert found.score == score


def test_the_blocks_of_the_readme_run(run_readme: Any, fake: Any) -> None:
    fake.says("1")
    run_readme({"http://localhost:8080": fake.url})
