"""BERTScore and hedging language: against the authors' package, worked figures, and with no network."""

from __future__ import annotations

import asyncio
import inspect
import json
import socket
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli

import context_bench_scorers_embedding
from context_bench_scorers import UserTypeError, UserValueError, scorer_from_string
from context_bench_scorers.errors import ScorerError
from context_bench_scorers_embedding import (
    PACKAGED_MINILM,
    BERTScore,
    BERTScoreEvaluator,
    HashedEmbedder,
    HedgingLanguage,
    HedgingLanguageEvaluator,
    TokenVectors,
    embedder_for,
    match_pairs,
    wordpiece,
)
from context_bench_scorers_embedding.embedders import _embedder_for
from context_bench_scorers_embedding.hedging_language import HEDGE
from context_bench_scorers_embedding.wordpiece import WordPiece

HERE = Path(__file__).parent
PACKAGE = Path(context_bench_scorers_embedding.__file__).parent
RECORDED: list[dict[str, Any]] = json.loads((HERE / "recorded_bert_score.json").read_text("utf-8"))


@pytest.mark.one_python
def test_fifty_real_pairs_score_as_with_the_authors_package() -> None:
    """`record_bert_score.py` says how the numbers were made."""
    found = match_pairs(
        embedder_for(PACKAGED_MINILM),
        [pair["candidate"] for pair in RECORDED],
        [pair["reference"] for pair in RECORDED],
    )
    assert len(found) == 50
    for match, pair in zip(found, RECORDED):
        assert match.precision == pytest.approx(pair["precision"], abs=0.002)
        assert match.recall == pytest.approx(pair["recall"], abs=0.002)
        assert match.f1 == pytest.approx(pair["f1"], abs=0.002)


class Stub:
    """Tokens with a precision of .5 and a recall of .9 between "candidate" and "reference"."""

    model = "stub"

    def embed(self, texts: Any) -> list[TokenVectors]:
        rows = {
            "candidate": [[1.0, 0, 0, 0], [0.1, 0.0, np.sqrt(0.99), 0]],
            "reference": [[0.9, np.sqrt(0.19), 0, 0]],
        }
        return [
            TokenVectors.of(np.array(rows[text]), np.ones(len(rows[text]), dtype=bool))
            for text in texts
        ]


def test_recall_weighs_more() -> None:
    match = match_pairs(Stub(), ["candidate"], ["reference"])[0]
    assert match.recall == pytest.approx(0.9)
    assert match.precision == pytest.approx((0.9 + 0.09) / 2)
    for weight in (0.1, 0.5, 0.0, 1.0):
        scorer = BERTScore(precision_weight=weight, embedder=Stub())
        expected = weight * match.precision + (1 - weight) * match.recall
        assert scorer.run(["candidate"], ["reference"])[0].score == pytest.approx(expected)


class Fixed:
    """Precision .5 and recall .9, whatever the texts are."""

    precision, recall, f1 = 0.5, 0.9, 0.643


def test_the_worked_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("context_bench_scorers_embedding.bertscore.match_pairs", lambda *_: [Fixed])
    assert BERTScore(embedder=Stub()).run(["a"], ["b"])[0].score == pytest.approx(0.86)
    assert BERTScore(precision_weight=0.5, embedder=Stub()).run(["a"], ["b"])[
        0
    ].score == pytest.approx(0.7)


@pytest.mark.parametrize(
    "embedder", [HashedEmbedder(), embedder_for(PACKAGED_MINILM)], ids=["hashed", "minilm"]
)
def test_identical_texts_are_nearest(embedder: Any) -> None:
    texts = ["A cat sat on the mat.", "A cat sat on the mat.", "A cat sat on the mat.", ""]
    wanted = [
        "A cat sat on the mat.",
        "The cat was sitting there.",
        "Interest rates rose again.",
        "A cat.",
    ]
    same, near, far, empty = (
        result.score for result in BERTScore(embedder=embedder).run(texts, wanted, batch_size=4)
    )
    assert same == pytest.approx(1.0, abs=1e-5)
    assert same > (near or 0) > (far or 0)
    assert empty == 0.0


def test_the_documented_default_is_never_another_model() -> None:
    assert BERTScore().model_type == HedgingLanguage().model_type == "microsoft/deberta-v3-base"
    assert BERTScore() != BERTScore(PACKAGED_MINILM)
    if find_spec("torch") is None or find_spec("transformers") is None:
        with pytest.raises(
            ScorerError,
            match=r"microsoft/deberta-v3-base' needs .*\[transformers\].*scores are others",
        ):
            BERTScore().run(["a"], ["b"])


def test_the_model_stands_in_details_and_fingerprint() -> None:
    evaluator = BERTScoreEvaluator(model_type=PACKAGED_MINILM)
    scores = evaluator.score({"answers": ["Paris", "In Paris"]}, {"response": "Paris"})
    assert scores == {"bertscore": pytest.approx(1.0, abs=1e-5)}
    assert scores.details["model"] == PACKAGED_MINILM
    assert scores.details["f1"] == pytest.approx(1.0, abs=1e-5)
    assert evaluator.fingerprint()["model_type"] == PACKAGED_MINILM
    hedging = HedgingLanguageEvaluator(model_type=PACKAGED_MINILM)
    assert hedging.score({}, {"response": HEDGE}).details == {"model": PACKAGED_MINILM}


EVALUATORS = [
    ("bertscore", BERTScoreEvaluator, BERTScore),
    ("hedging-language", HedgingLanguageEvaluator, HedgingLanguage),
]


@pytest.mark.parametrize(("name", "evaluator", "scorer"), EVALUATORS)
def test_an_evaluator_has_the_model_of_its_class(
    name: str, evaluator: Any, scorer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    default = inspect.signature(evaluator).parameters["model_type"].default
    assert default == scorer().model_type
    manifest = tomli.loads((PACKAGE / "context_bench_plugin.toml").read_text("utf-8"))
    assert manifest["evaluators"][name]["options"]["model_type"]["default"] == default
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    _embedder_for.cache_clear()
    with pytest.raises(
        ScorerError, match=rf"--set evaluators\.{name}\.model_type={PACKAGED_MINILM}"
    ):
        evaluator()


def test_the_hedge_itself_is_one_and_other_texts_are_less() -> None:
    scorer = HedgingLanguage(PACKAGED_MINILM)
    texts = [
        HEDGE,
        "As a language model I cannot have opinions or feelings.",
        "Paris is the capital of France.",
        "",
    ]
    itself, close, other, empty = (result.score for result in scorer.run(texts, batch_size=4))
    assert itself == pytest.approx(1.0, abs=1e-5)
    assert 1 > (close or 0) > (other or 0)
    assert empty == 0.0
    own = HedgingLanguage(PACKAGED_MINILM, "I would rather not say.")
    assert own.to_dict()["hedging_language"] == "I would rather not say."
    assert own.run(["I would rather not say."])[0].score == pytest.approx(1.0, abs=1e-5)
    with pytest.raises(UserValueError, match="a sentence that hedges"):
        HedgingLanguage(hedging_language=" ")


@pytest.mark.parametrize(
    "scorer", [BERTScore(PACKAGED_MINILM, 0.3), HedgingLanguage(PACKAGED_MINILM, "No.")], ids=repr
)
def test_each_is_made_again_from_json_and_runs_asynchronously(scorer: Any) -> None:
    again = type(scorer).from_dict(json.loads(json.dumps(scorer.to_dict())))
    assert again == scorer
    assert scorer_from_string(scorer.name()) is type(scorer)
    found = asyncio.run(scorer.arun(["a cat", "a dog"], ["the cat", "the dog"], batch_size=1))
    assert [result.score for result in found] == pytest.approx(
        [
            result.score
            for result in again.run(["a cat", "a dog"], ["the cat", "the dog"], batch_size=2)
        ],
        abs=1e-5,
    )


@pytest.mark.parametrize("weight", [-0.1, 1.1, True, None, "0.1"])
def test_a_weight_outside_of_its_range_is_refused(weight: Any) -> None:
    with pytest.raises(UserValueError, match="precision_weight must be from 0 to 1"):
        BERTScore(precision_weight=weight)


def test_a_model_that_is_no_name_is_refused() -> None:
    with pytest.raises(UserTypeError, match="model_type is the name of a model"):
        embedder_for("")


def test_a_batch_does_not_change_a_score() -> None:
    texts = [pair["candidate"] for pair in RECORDED[:12]]
    wanted = [pair["reference"] for pair in RECORDED[:12]]
    scorer = BERTScore(PACKAGED_MINILM)
    alone, together = scorer.run(texts, wanted), scorer.run(texts, wanted, batch_size=12)
    assert [result.score for result in alone] == pytest.approx(
        [result.score for result in together], abs=1e-4
    )


@pytest.mark.one_python
def test_a_thousand_pairs_are_computed_in_few_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """What makes it fast, without a clock: texts are embedded once, and many together."""
    embedder: Any = embedder_for(PACKAGED_MINILM)
    calls: list[int] = []
    compute = embedder._vectors
    monkeypatch.setattr(
        embedder, "_vectors", lambda numbers: calls.append(len(numbers)) or compute(numbers)
    )
    pairs = [
        (f"Plan {number} was accepted.", f"They took plan {number % 10}.") for number in range(1000)
    ]
    match_pairs(embedder, [one for one, _ in pairs], [other for _, other in pairs])
    assert sum(calls) == 1000 + 2 * 10  # the ten references once in each of two parts
    assert len(calls) < 20


TOKENS = [
    ("Hello, world!", ["hello", ",", "world", "!"]),
    ("unaffable", ["una", "##ffa", "##ble"]),
    ("Café naïve", ["cafe", "naive"]),
    ("北京 is", ["北", "京", "is"]),
    ("a\u0000b\tc", ["ab", "c"]),
    ("x" * 101, ["[UNK]"]),
    ("$5.50", ["$", "5", ".", "50"]),
    ("don't", ["don", "'", "t"]),
    ("🤖", ["[UNK]"]),
    ("", []),
]


@pytest.mark.parametrize(("text", "tokens"), TOKENS, ids=[repr(text[:12]) for text, _ in TOKENS])
def test_tokens_are_those_of_bert(text: str, tokens: list[str]) -> None:
    assert WordPiece.uncased().tokens(text) == tokens


def test_a_long_text_is_cut_where_the_model_ends() -> None:
    numbers = WordPiece.uncased().numbers("word " * 1000, 512)
    assert (len(numbers), numbers[0], numbers[-1]) == (512, 101, 102)
    assert BERTScore(PACKAGED_MINILM).run(["word " * 1000], ["word"])[0].score is not None


def test_nothing_leaves_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert BERTScore(PACKAGED_MINILM).run(["a"], ["a"])[0].score == pytest.approx(1.0, abs=1e-5)


def test_the_blocks_of_the_readme_run(run_readme: Any) -> None:
    run_readme()


def test_each_character_is_brought_to_its_plain_form_by_itself() -> None:
    tokenizer = WordPiece.uncased()
    assert tokenizer.tokens("ΑΣ") == ["α", "##σ"]  # as the library tokenizers: no last sigma
    assert tokenizer.tokens("Ａé İ e\u0323\u0301 \u1e69") == tokenizer.tokens("ａe i e s")


def test_marks_in_a_row_are_not_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    longest = 0
    normalize = wordpiece.unicodedata.normalize

    def noted(form: Any, text: str) -> str:
        nonlocal longest
        longest = max(longest, len(text))
        return normalize(form, text)

    monkeypatch.setattr(wordpiece.unicodedata, "normalize", noted)
    wordpiece._plain.cache_clear()
    assert WordPiece.uncased().tokens("e" + "\u0301" * 1000 + "\u0323" * 1000) == ["e"]
    assert longest <= 3


def test_no_score_is_above_one() -> None:
    scorer = BERTScore(PACKAGED_MINILM)
    texts = ["5", "a", "the cat", "Rome is old.", "x y z", "7 8", "zwei", "!"]
    assert all(
        0.999 < result.score <= 1.0
        for result in scorer.run(texts, texts)
        if result.score is not None
    )
