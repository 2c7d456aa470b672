"""RAG scores against a scripted judge, and the heuristics that need none."""

from __future__ import annotations

import asyncio
import json
import math
import unicodedata
from typing import Any

import pytest

from context_bench_judging import judge_model
from context_bench_rag import (
    AnswerRelevancy,
    ContextPrecision,
    ContextRecall,
    EmbeddedAnswerRelevancy,
    Faithfulness,
    LexicalContextPrecision,
    LexicalContextRecall,
    LexicalFaithfulness,
    NoiseSensitivity,
    average_precision,
)

ROW = {
    "question": "How tall is the tower?",
    "answer": "It is 330 metres tall. It stands in Paris.",
    "retrieved_contexts": ["Cats sleep all day.", "The tower is 330 metres tall.", "Dogs bark."],
}
OUTPUT = {"response": "The tower is 330 metres tall. It weighs 5 tons."}
JUDGED = [Faithfulness, AnswerRelevancy, ContextPrecision, ContextRecall, NoiseSensitivity]


def claims(*texts: str) -> str:
    return json.dumps({"claims": list(texts)})


def verdicts(*values: Any) -> str:
    return json.dumps({"reasons": ["because"] * len(values), "verdicts": list(values)})


def scored(evaluator: Any, fake: Any, *sayings: Any, row: Any = ROW, output: Any = OUTPUT) -> Any:
    fake.says(*sayings)
    judge = judge_model(fake.url, "m", max_retries=0)
    sync = evaluator(judge).score(row, output)
    fake.says(*sayings)
    assert asyncio.run(evaluator(judge).ascore(row, output)) == sync
    return sync


def test_faithfulness_is_the_share_of_claims_that_the_contexts_bear_out(fake: Any) -> None:
    found = scored(Faithfulness, fake, claims("330 metres", "5 tons"), verdicts(1, 0))
    assert found == {"faithfulness": 0.5}
    assert found.details["claims"][1] == {
        "claim": "5 tons",
        "supported": False,
        "reason": "because",
    }
    assert "Dogs bark." not in fake.prompts[0]
    assert "How tall is the tower?" in fake.prompts[0]
    assert "Cats sleep all day.\n\nThe tower is" in fake.prompts[1]
    assert scored(Faithfulness, fake, claims()) == {}


def test_answer_relevancy_is_the_share_of_statements_that_help(fake: Any) -> None:
    found = scored(AnswerRelevancy, fake, claims("330 metres", "5 tons"), verdicts(1, 0))
    assert found == {"answer_relevancy": 0.5}
    assert found.details["beside_the_point"] == ["5 tons"]
    assert "Cats sleep" not in "".join(fake.prompts)
    assert scored(AnswerRelevancy, fake, claims()) == {"answer_relevancy": 0.0}


@pytest.mark.parametrize(
    ("useful", "expected"),
    [((0, 1, 0), 0.5), ((1, 1, 0), 1.0), ((1, 0, 1), 5 / 6), ((0, 0, 0), 0.0), ((0, 0, 1), 1 / 3)],
)
def test_context_precision_is_average_precision(useful: Any, expected: float, fake: Any) -> None:
    assert average_precision(useful) == pytest.approx(expected)
    found = scored(ContextPrecision, fake, verdicts(*useful))
    assert found == {"context_precision": pytest.approx(expected)}
    assert found.details["useful"] == list(useful)
    assert "<text-2>\nThe tower is 330 metres tall.\n</text-2>" in fake.prompts[0]
    assert "<answer>\nIt is 330 metres tall. It stands in Paris.\n</answer>" in fake.prompts[0]


def test_context_recall_is_the_share_of_the_references_claims(fake: Any) -> None:
    found = scored(ContextRecall, fake, claims("330 metres", "Paris"), verdicts(1, 0))
    assert found == {"context_recall": 0.5}
    assert "5 tons" not in "".join(fake.prompts)


def test_noise_sensitivity_is_the_share_of_wrong_claims_from_the_contexts(fake: Any) -> None:
    found = scored(
        NoiseSensitivity, fake, claims("a", "b", "c", "d"), verdicts(1, 0, 0, 1), verdicts(1, 0)
    )
    assert found == {"noise_sensitivity": 0.25}
    assert found.details["wrong"] == ["b", "c"]
    assert found.details["wrong_from_contexts"] == ["b"]
    assert found.details["calls"] == 3
    assert scored(NoiseSensitivity, fake, claims("a"), verdicts(1)) == {"noise_sensitivity": 0.0}


def by_source(wanted: dict[str, list[int]]) -> Any:
    """A judge that splits everything into its words, and knows which words each source bears out."""

    def answer(request: Any) -> str:
        text = request["messages"][-1]["content"]
        if '"claims", a list' in text:
            return claims(
                *(["good", "old"] if "REFERENCE" in text else ["good", "led", "lost", "made"])
            )
        source = next(name for name in wanted if name in text)
        asked = [
            line.partition(". ")[2]
            for line in text.splitlines()
            if line[:1].isdigit() and ". " in line
        ]
        return verdicts(*(int(word in wanted[source]) for word in asked))

    return answer


@pytest.mark.parametrize(
    ("mode", "score", "misled"),
    [("all", 0.5, ["led", "lost"]), ("relevant", 0.25, ["led"]), ("irrelevant", 0.25, ["lost"])],
)
def test_noise_sensitivity_tells_relevant_contexts_from_the_others(
    mode: str, score: float, misled: list[str], fake: Any
) -> None:
    """`old` makes TEXT-ONE relevant, which bears out the wrong `led`; TEXT-TWO bears out `led` and `lost`."""
    row = {"question": "q", "answer": "REFERENCE", "contexts": ["TEXT-ONE", "TEXT-TWO"]}
    all_of_them = {"TEXT-ONE\n\nTEXT-TWO": ["old", "led", "lost"]}
    each = {"TEXT-ONE": ["old", "led"], "TEXT-TWO": ["led", "lost"]}
    wanted: Any = {**(all_of_them if mode == "all" else {}), **each, "REFERENCE": ["good"]}
    fake.says(by_source(wanted))
    evaluator = NoiseSensitivity(judge_model(fake.url, "m", max_retries=0), mode=mode)
    found = evaluator.score(row, {"response": "good led lost made"})
    assert found == {"noise_sensitivity": score}, found.details
    assert found.details["wrong_from_contexts"] == misled
    assert found.details["mode"] == mode
    if mode != "all":
        assert found.details["relevant_contexts"] == [1]


def test_a_mode_that_does_not_exist_is_refused_and_modes_have_keys_of_their_own(fake: Any) -> None:
    with pytest.raises(ValueError, match="mode must be one of all, relevant, irrelevant"):
        NoiseSensitivity(mode="some")
    judge = judge_model(fake.url, "m")
    keys = [
        json.dumps(NoiseSensitivity(judge, mode=mode).fingerprint())
        for mode in ("all", "relevant", "irrelevant")
    ]
    assert len(set(keys)) == 3


def test_relevancy_by_embedding_ranks_answers_and_says_what_it_is() -> None:
    pytest.importorskip("context_bench_scorers_embedding", reason="the extra brings the model")
    evaluator = EmbeddedAnswerRelevancy()
    near = evaluator.score(ROW, {"response": "The tower has a height of 330 metres."})
    far = evaluator.score(ROW, {"response": "I had soup for lunch."})
    assert 0 <= far["answer_relevancy_embedding"] < near["answer_relevancy_embedding"] <= 1
    assert near.details["method"].startswith("embedding")
    assert near.details["model"] == "packaged/all-MiniLM-L6-v2-int8"
    same = evaluator.score(ROW, {"response": ROW["question"]})
    assert same["answer_relevancy_embedding"] == pytest.approx(1.0, abs=1e-5)
    assert evaluator.score(ROW, {"response": " "}) == {"answer_relevancy_embedding": 0.0}
    assert evaluator.score({"answer": "a"}, OUTPUT) == {}


class Vectors:
    """Embeds the question as one list of token vectors and the response as another."""

    model = "vectors"

    def __init__(self, *given: Any) -> None:
        self.given = given

    def embed(self, texts: Any) -> Any:
        vectors = pytest.importorskip("context_bench_scorers_embedding.embedders").TokenVectors
        return [vectors.of(rows, [True] * len(rows)) for rows in self.given]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([[3.0, 0.0], [0.0, 1.0]], [[1.0, 0.0]], 3 / 10**0.5),
        ([[1e-30, 1e-30]], [[1e-30, 0.0]], 0.5**0.5),
        ([[1e30, 1e30]], [[1e-30, 0.0]], 0.5**0.5),
        ([[0.0, 0.0]], [[1.0, 0.0]], 0.0),
        ([[1.0, 0.0], [-1.0, 0.0]], [[1.0, 0.0]], 0.0),
        ([[-1.0, 0.0]], [[1.0, 0.0]], 0.0),
        ([], [[1.0, 0.0]], 0.0),
        ([[math.nan, 1.0]], [[1.0, 0.0]], math.nan),
    ],
    ids=["weighed", "tiny", "huge", "zero", "cancelled", "opposite", "no tokens", "no number"],
)
def test_relevancy_by_embedding_is_the_cosine_of_mean_vectors(
    one: Any, other: Any, expected: float
) -> None:
    """The mean is that of the vectors as the model gave them, as sentence-transformers pools them; of unit ones it was 0.71."""
    found = EmbeddedAnswerRelevancy(embedder=Vectors(one, other)).score(ROW, OUTPUT)
    assert found["answer_relevancy_embedding"] == pytest.approx(expected, abs=1e-6, nan_ok=True)


@pytest.mark.parametrize("evaluator", JUDGED, ids=lambda one: one.name)
def test_a_row_without_what_is_needed_is_unscored_and_costs_nothing(
    evaluator: Any, fake: Any
) -> None:
    judge = judge_model(fake.url, "m")
    for row, output in (
        ({}, OUTPUT),
        ({"question": "q"}, {"response": None}),
        ({"answer": "a"}, {}),
    ):
        found = evaluator(judge).score(row, output)
        assert found == {}
        assert found.details["unscored"]
    assert fake.requests == []


@pytest.mark.parametrize("evaluator", JUDGED, ids=lambda one: one.name)
def test_a_judge_that_fails_leaves_the_row_unscored(evaluator: Any, fake: Any) -> None:
    assert "on fire" in scored(evaluator, fake, (500, "on fire")).details["unscored"]
    assert "refused" in scored(evaluator, fake, {"message": {"refusal": "No."}}).details["unscored"]
    assert "no JSON object" in scored(evaluator, fake, "hm").details["unscored"]


@pytest.mark.parametrize("field", ["retrieved_contexts", "contexts", "context"])
def test_what_the_system_found_comes_before_what_the_example_has(field: str, fake: Any) -> None:
    output = {**OUTPUT, field: ["found by the system"]}
    scored(Faithfulness, fake, claims("x"), verdicts(1), output=output)
    assert "found by the system" in fake.prompts[1]
    assert "Cats" not in fake.prompts[1]
    listed = {"question": "q", field: [{"text": "one"}, {"content": "two"}]}
    scored(Faithfulness, fake, claims("x"), verdicts(1), row=listed)
    assert "one\n\ntwo" in fake.prompts[-1]


def test_the_heuristics_say_that_they_are_some() -> None:
    faithful = LexicalFaithfulness().score(ROW, OUTPUT)
    assert faithful == {"faithfulness_lexical": 0.5}
    assert faithful.details["not_found"] == ["It weighs 5 tons."]
    assert "no meaning" in faithful.details["method"]
    assert LexicalContextRecall().score(ROW, {}) == {"context_recall_lexical": 0.5}
    assert LexicalContextPrecision().score(ROW, {}) == {"context_precision_lexical": 0.5}
    for evaluator in (LexicalFaithfulness, LexicalContextRecall, LexicalContextPrecision):
        assert evaluator.name.endswith("_lexical")
        assert evaluator().score({}, OUTPUT) == {}
        assert evaluator(0.5).fingerprint() == {"threshold": 0.5}
        with pytest.raises(ValueError, match="threshold must be from 0 to 1"):
            evaluator(2)
        with pytest.raises(ValueError, match="threshold must be from 0 to 1, not 'half'"):
            evaluator("half")  # type: ignore[arg-type]


@pytest.mark.parametrize("reference", ["...", "—", "🙂", "No.", "It is so. Not for me!", "A"])
@pytest.mark.parametrize(
    "evaluator", [LexicalFaithfulness, LexicalContextRecall, LexicalContextPrecision]
)
def test_a_text_without_a_word_to_look_for_is_unscored(evaluator: Any, reference: str) -> None:
    """Every context has all of no words: that gave 1.0 for nothing."""
    row = {"contexts": ["Cats sleep.", "No."], "answer": reference}
    found = evaluator().score(row, {"response": reference})
    assert found == {}
    assert found.details == {"unscored": "the text has no word or number that could be looked for"}


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("日本的首都是东京。", 1.0),
        ("日本的首都是东京。它有一百万只猫。", 0.5),
        ("日本的首都是大阪", 0.0),
        ("「日本的首都是东京。」人口很多！", 1.0),
        ("東京タワー", 0.0),
        ("东京 330 米", 0.0),
    ],
)
def test_scripts_without_spaces_are_compared_by_pairs_of_signs(
    response: str, expected: float
) -> None:
    row = {"contexts": ["东京是日本的首都，人口很多。"]}
    assert LexicalFaithfulness().score(row, {"response": response}) == {
        "faithfulness_lexical": expected
    }


@pytest.mark.parametrize(
    ("context", "response", "expected"),
    [
        ("The café's owner isn't here.", "The café’s owner isn’t here.", 1.0),
        ("Café Zürich", unicodedata.normalize("NFD", "Café Zürich"), 1.0),
        ("한국의 수도는 서울이다", unicodedata.normalize("NFD", "한국의 수도는 서울이다"), 1.0),
        ("The tower is 330 m tall.", "The tower is ３３０ m tall.", 1.0),
        ("टावर ३३० मीटर", "टावर 330 मीटर", 1.0),
        ("टावर ३३० मीटर", "टावर 331 मीटर", 0.0),
        ("नदी का पानी", "नाद की पाना", 0.0),
        ("यह टावर पेरिस में है।", "यह टावर पेरिस में है। सूरज ठंडा है।", 0.5),
        ("می\u200cخواهم", "میخواهم", 1.0),
        ("Die Straße", "STRASSE", 1.0),
        ("Ada owns a cat.", "Ada's cat", 1.0),
        ("It covers 50 m².", "❤\ufe0f 50 m²", 1.0),
        ("It covers 10² m.", "It covers 102 m.", 0.0),
        ("co\u00adoperate", "cooperate", 1.0),
    ],
    ids=[
        "apostrophes",
        "accents apart",
        "Hangul apart",
        "full width",
        "digits",
        "other digits",
        "vowel signs",
        "danda",
        "joiner",
        "sharp s",
        "possessive",
        "emoji",
        "superscript",
        "soft hyphen",
    ],
)
def test_words_are_compared_in_whatever_way_they_are_written(
    context: str, response: str, expected: float
) -> None:
    """Vowel signs ended a word, so that a text of Hindi was compared by its consonants, and ’ was not '."""
    found = LexicalFaithfulness().score({"contexts": [context]}, {"response": response})
    assert found == {"faithfulness_lexical": expected}


def test_a_text_of_marks_alone_has_no_word_and_costs_little() -> None:
    assert LexicalFaithfulness().score({"contexts": ["a"]}, {"response": "\u0301" * 1000}) == {}
    many = "a" + "\u0301\u0316" * 50_000
    assert LexicalFaithfulness().score({"contexts": [many]}, {"response": many}) == {
        "faithfulness_lexical": 1.0
    }


def test_sentences_without_a_word_to_look_for_do_not_count() -> None:
    row = {"contexts": ["It is 330 m tall."], "answer": "No. It is 331 m tall. That is so."}
    assert LexicalContextRecall().score(row, {}) == {"context_recall_lexical": 0.0}
    assert LexicalContextPrecision().score(row, {}) == {"context_precision_lexical": 0.0}
    assert LexicalFaithfulness().score(row, {"response": row["answer"]}) == {
        "faithfulness_lexical": 0.0
    }


@pytest.mark.parametrize(
    "nothing",
    [
        {"context": ""},
        {"retrieved_contexts": []},
        {"contexts": [" ", "\n"]},
        {"contexts": [{"text": ""}], "context": ""},
    ],
    ids=["text", "list", "blanks", "two fields"],
)
def test_a_system_that_found_nothing_is_not_scored_by_what_the_example_has(
    nothing: Any, fake: Any
) -> None:
    output = {**OUTPUT, **nothing}
    for evaluator, sayings, score in (
        (Faithfulness, [claims("x", "y")], 0.0),
        (ContextRecall, [claims("x")], 0.0),
        (ContextPrecision, [], 0.0),
        (NoiseSensitivity, [claims("x", "y"), verdicts(0, 1)], 0.0),
        (LexicalFaithfulness, [], 0.0),
        (LexicalContextRecall, [], 0.0),
        (LexicalContextPrecision, [], 0.0),
    ):
        fake.says(*sayings)
        judge = [judge_model(fake.url, "m", max_retries=0)] if evaluator in JUDGED else []
        assert evaluator(*judge).score(ROW, output) == {evaluator.name: score}, evaluator
    assert "Dogs" not in "".join(fake.prompts)
    fake.says(claims())
    assert Faithfulness(judge_model(fake.url, "m")).score(ROW, output) == {}


@pytest.mark.parametrize(
    "nothing", [{"context": None}, {"contexts": None}, {}, {"contexts": [], "context": "330"}]
)
def test_a_system_that_says_nothing_of_contexts_is_scored_by_those_there_are(nothing: Any) -> None:
    assert LexicalFaithfulness().score(ROW, {"response": "330.", **nothing}) == {
        "faithfulness_lexical": 1.0
    }


def test_a_blank_context_keeps_its_place_in_the_order(fake: Any) -> None:
    row = {**ROW, "retrieved_contexts": ["", {"page_content": "The tower is 330 metres tall."}]}
    assert LexicalContextPrecision().score(row, {}) == {"context_precision_lexical": 0.5}
    assert scored(ContextPrecision, fake, verdicts(0, 1), row=row) == {"context_precision": 0.5}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([True, False], 0.5),
        (["1", "0"], 0.5),
        (["Yes.", "no"], 0.5),
        ([1.0, 0.0], 0.5),
        (["supported", "N/A"], 0.5),
        ([{"verdict": 1, "reason": "r"}, {"verdict": "no"}], 0.5),
        ([1], None),
        ([1, 1, 1], None),
        ([], None),
        ([1, None], None),
        ([2, 1], None),
        (["maybe", 1], None),
        ([[1], [0]], None),
        ("10", None),
        ({"1": 1, "2": 0}, None),
    ],
    ids=str,
)
def test_verdicts_are_as_many_as_claims_and_say_yes_or_no(
    given: Any, expected: float | None, fake: Any
) -> None:
    reply = json.dumps({"reasons": ["r"], "verdicts": given})
    found = scored(Faithfulness, fake, claims("a", "b"), *[reply] * 4)
    assert found == ({} if expected is None else {"faithfulness": expected})
    assert ("unscored" in found.details) is (expected is None)


@pytest.mark.parametrize(
    ("given", "useful"),
    [
        (
            [{"number": 3, "verdict": 0}, {"number": 1, "verdict": 1}, {"number": 2, "verdict": 0}],
            [1, 0, 0],
        ),
        (
            [{"id": "3.", "verdict": 1}, {"id": "2", "verdict": 0}, {"id": "1", "verdict": 0}],
            [0, 0, 1],
        ),
        (
            [
                {"index": 2, "verdict": "no"},
                {"index": 0, "verdict": "yes"},
                {"index": 1, "verdict": 0},
            ],
            [1, 0, 0],
        ),
        (
            [
                {"claim": "1889", "verdict": 1},
                {"claim": "7", "verdict": 0},
                {"claim": "7", "verdict": 0},
            ],
            [1, 0, 0],
        ),
        ([{"text": "a", "verdict": 1}, {"text": "b", "verdict": 0}, {"verdict": 0}], [1, 0, 0]),
        (
            [{"number": 1, "verdict": 1}, {"number": 1, "verdict": 1}, {"number": 2, "verdict": 0}],
            None,
        ),
        (
            [{"number": 1, "verdict": 1}, {"number": 2, "verdict": 1}, {"number": 4, "verdict": 0}],
            None,
        ),
        ([{"number": 1, "verdict": 1}, {"verdict": 1}, {"number": 3, "verdict": 0}], None),
        (
            [
                {"number": -1, "verdict": 1},
                {"number": 0, "verdict": 1},
                {"number": 1, "verdict": 0},
            ],
            None,
        ),
        ([{"number": 1, "verdict": 1}, 0, {"number": 2, "verdict": 0}], None),
    ],
    ids=[
        "numbers",
        "texts",
        "from 0",
        "claims",
        "no numbers",
        "twice",
        "missing",
        "one without",
        "negative",
        "mixed",
    ],
)
def test_verdicts_that_give_their_numbers_are_taken_by_them(
    given: Any, useful: list[int] | None, fake: Any
) -> None:
    """Taken as they stood, the last text's verdict counted as the first one's."""
    found = scored(ContextPrecision, fake, *[json.dumps({"verdicts": given})] * 4)
    assert found == (
        {} if useful is None else {"context_precision": pytest.approx(average_precision(useful))}
    )
    assert found.details.get("useful") == useful


def test_a_claim_that_the_judge_lists_twice_counts_once(fake: Any) -> None:
    found = scored(
        Faithfulness, fake, claims("330 metres", "330  metres", "5 tons"), verdicts(1, 0)
    )
    assert found == {"faithfulness": 0.5}


def test_a_claim_of_several_lines_is_one_claim(fake: Any) -> None:
    found = scored(Faithfulness, fake, claims("330 metres\n2. 5 tons", "in  Paris"), verdicts(1, 0))
    assert found == {"faithfulness": 0.5}
    assert "1. 330 metres 2. 5 tons\n2. in Paris\n</claims>" in fake.prompts[1]


@pytest.mark.parametrize("useful", [[1] * 60, [0] * 59 + [1], [1, 0] * 30, [0, 1, 1, 0, 0, 1]])
def test_average_precision_is_the_formula_of_its_source(useful: list[int]) -> None:
    """The sum over k of precision at k times whether k is useful, divided by the number of useful ones: ragas, 1e-10 apart."""
    precisions = [sum(useful[: k + 1]) / (k + 1) * one for k, one in enumerate(useful)]
    assert average_precision(useful) == pytest.approx(sum(precisions) / (sum(useful) + 1e-10))


def test_options_reach_judge_and_key(fake: Any) -> None:
    evaluator = Faithfulness(
        base_url=fake.url, model="n", language="fr", api_key="sk-secret", max_retries=0
    )
    fake.says(claims("x"), verdicts(1))
    assert evaluator.score(ROW, OUTPUT) == {"faithfulness": 1.0}
    assert fake.requests[0]["model"] == "n"
    assert "language 'fr'" in fake.prompts[0]
    fingerprint = evaluator.fingerprint()
    assert fingerprint["judge"] == {
        "interface": "openai",
        "endpoint": f"{fake.url}/v1/chat/completions",
        "model": "n",
    }
    assert "sk-secret" not in json.dumps(fingerprint)
    evaluator.close()


def test_the_blocks_of_the_readme_run(run_readme: Any, fake: Any) -> None:
    fake.says(claims("x"), verdicts(1))
    run_readme({"http://localhost:8080": fake.url})


@pytest.mark.parametrize(
    "response",
    [
        "It has 5 rooms [1].",
        "It has 5 rooms [1, 3].",
        "It has 5 rooms.[^2]",
        "It has 5 rooms 【4†source】.",
        "It has 5 rooms (source 6).",
        "- It has **5** rooms [doc 7].",
    ],
)
def test_the_marks_of_citations_are_no_numbers(response: str) -> None:
    scores = LexicalFaithfulness().score({"contexts": ["It has 5 rooms."]}, {"response": response})
    assert scores == {"faithfulness_lexical": 1.0}
