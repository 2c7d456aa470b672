"""The base of all scorers: batches, checks, categories, records, and adapters in both directions."""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import sys
import threading
from collections.abc import Sequence
from typing import Any

import pytest

import context_bench_scorers
from context_bench import evaluate
from context_bench.errors import ConfigurationError
from context_bench_scorers import (
    Category,
    EvaluatorScorer,
    Scorer,
    ScoreResult,
    ScorerEvaluator,
    ScorerInternalError,
    ScoringMethodName,
    ScoringMethodType,
    UserTypeError,
    UserValueError,
    as_evaluator,
    as_scorer,
    scorer_from_string,
)
from context_bench_scorers.errors import MissingParameterError, ScorerError
from context_bench_scorers.forwarding import BROUGHT_BY
from context_bench_scorers.utils import suppress_warnings


class Repetition(Scorer):
    """The page's example: 1.0 when no three words repeat, else 0.0."""

    def __init__(self, size: int = 3) -> None:
        self.size = size

    @staticmethod
    def name() -> str:
        return "trigram_repetition"

    @staticmethod
    def requires_reference() -> bool:
        return False

    def run_batch(
        self,
        candidate_batch: Any,
        reference_batch: Any = None,
        input_text_batch: Any = None,
        context_batch: Any = None,
    ) -> Sequence[ScoreResult]:
        return [self._result(text.split()) for text in candidate_batch]

    def _result(self, words: list[str]) -> ScoreResult:
        grams = [
            tuple(words[place : place + self.size]) for place in range(len(words) - self.size + 1)
        ]
        return ScoreResult(float(len(set(grams)) == len(grams)))


class Recording(Scorer):
    """Remembers the batches that it was given, and how many were in work at once."""

    max_concurrency = 2

    def __init__(self) -> None:
        self.batches: list[Any] = []
        self.busy = self.busiest = 0
        self._lock = threading.Lock()

    @staticmethod
    def name() -> str:
        return "recording"

    def run_batch(
        self,
        candidate_batch: Any,
        reference_batch: Any = None,
        input_text_batch: Any = None,
        context_batch: Any = None,
    ) -> Sequence[ScoreResult]:
        with self._lock:
            self.busy += 1
            self.busiest = max(self.busiest, self.busy)
            self.batches.append((candidate_batch, reference_batch, input_text_batch, context_batch))
        with self._lock:
            self.busy -= 1
        return [ScoreResult(float(text)) for text in candidate_batch]


class Grade(Scorer):
    """Categorical, with what the tests want it to return."""

    listed: Sequence[Category] | None = (Category("good"), Category("bad"))

    def __init__(self, found: Any) -> None:
        self.found = found

    @staticmethod
    def name() -> str:
        return "grade"

    @staticmethod
    def requires_reference() -> bool:
        return False

    @staticmethod
    def is_categorical() -> bool:
        return True

    @staticmethod
    def categories() -> Any:
        return list(Grade.listed) if Grade.listed else None

    def run_batch(self, candidate_batch: Any, *_: Any) -> Any:
        return self.found


NUMBERS = [str(number) for number in range(7)]


def test_seven_items_in_batches_of_three_are_three_calls_in_order() -> None:
    scorer = Recording()
    found = scorer.run(NUMBERS, [*"abcdefg"], inputs=[*"hijklmn"], batch_size=3)
    assert [result.score for result in found] == list(map(float, range(7)))
    assert scorer.batches == [
        (["0", "1", "2"], ["a", "b", "c"], ["h", "i", "j"], None),
        (["3", "4", "5"], ["d", "e", "f"], ["k", "l", "m"], None),
        (["6"], ["g"], ["n"], None),
    ]


def test_every_scorer_is_asynchronous_in_order_and_bounded() -> None:
    scorer = Recording()
    found = asyncio.run(scorer.arun(NUMBERS * 4, NUMBERS * 4, batch_size=1))
    assert [result.score for result in found] == [float(number) for number in NUMBERS * 4]
    assert scorer.busiest <= Recording.max_concurrency
    assert len(scorer.batches) == 28
    assert asyncio.run(scorer.arun_batch(["1"], ["1"])) == [ScoreResult(1.0)]


def test_arun_has_its_own_bound_for_scorers_that_wait() -> None:
    class Waiting(Recording):
        async def arun_batch(self, candidate_batch: Any, *_: Any) -> Sequence[ScoreResult]:
            self.busy += 1
            self.busiest = max(self.busiest, self.busy)
            await asyncio.sleep(0)
            self.busy -= 1
            return [ScoreResult(1.0) for _ in candidate_batch]

    scorer = Waiting()
    asyncio.run(scorer.arun(NUMBERS, NUMBERS, batch_size=1))
    assert scorer.busiest == 2


def test_a_batch_that_fails_ends_arun_with_its_own_error() -> None:
    class Broken(Recording):
        async def arun_batch(self, candidate_batch: Any, *_: Any) -> Sequence[ScoreResult]:
            if candidate_batch == ["3"]:
                raise ZeroDivisionError("three")
            await asyncio.sleep(60)
            return []

    with pytest.raises(ZeroDivisionError, match="three"):
        asyncio.run(asyncio.wait_for(Broken().arun(["3", "4"], ["", ""], batch_size=1), 30))


@pytest.mark.parametrize("run", ["run", "arun"])
@pytest.mark.parametrize("name", ["reference_outputs", "inputs", "contexts"])
@pytest.mark.parametrize("count", [1, 3])
def test_a_list_of_another_length_is_refused_before_anything_is_scored(
    run: str, name: str, count: int
) -> None:
    scorer = Recording()
    lists = {"reference_outputs": ["a", "b"], name: ["x"] * count}

    async def asked() -> None:
        found = getattr(scorer, run)(["1", "2"], **lists)
        await found

    with pytest.raises(
        UserValueError, match=f"There are 2 candidate_outputs and {count} {name}"
    ) as refused:
        asyncio.run(asked())
    assert isinstance(refused.value, ValueError)
    assert scorer.batches == []


def test_no_candidates_give_no_results() -> None:
    assert Recording().run([], []) == []
    assert Recording().run([]) == []
    assert asyncio.run(Recording().arun([], [])) == []


def test_missing_references_are_a_type_error() -> None:
    with pytest.raises(
        UserTypeError, match="compares with references: give reference_outputs"
    ) as refused:
        Recording().run(["1"])
    assert isinstance(refused.value, TypeError)
    with pytest.raises(UserTypeError, match="that of candidate 1 is missing"):
        Recording().run(["1", "2"], ["a", None])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("hook", "what"), [("requires_input", "inputs"), ("requires_context", "contexts")]
)
def test_a_missing_input_or_context_is_a_value_error(
    hook: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Recording, hook, staticmethod(lambda: True))
    with pytest.raises(UserValueError, match=f"needs {what}: give {what}"):
        Recording().run(["1"], ["a"])
    with pytest.raises(UserValueError, match=f"needs {what}; that of candidate 0 is missing"):
        Recording().run(["1"], ["a"], **{what: [None]})


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (float("nan"), "is missing"),
        (7, "is no text, but int"),
        (["a", "b"], "is no text, but list"),
    ],
    ids=["nan", "number", "list"],
)
def test_what_a_scorer_needs_is_a_text_for_each_candidate(
    given: Any, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserTypeError, match=f"that of candidate 1 {fault}"):
        Recording().run(["1", "2"], ["a", given])
    for hook, what in (("requires_input", "inputs"), ("requires_context", "contexts")):
        with monkeypatch.context() as patched:
            patched.setattr(Recording, hook, staticmethod(lambda: True))
            with pytest.raises(UserValueError, match=f"needs {what}; that of candidate 1 {fault}"):
                Recording().run(["1", "2"], ["a", "b"], **{what: ["c", given]})


def test_one_text_is_no_list() -> None:
    with pytest.raises(
        UserTypeError,
        match=r"candidate_outputs is a list of texts, not str; write \[text\] for one",
    ):
        Recording().run("12", "ab")


@pytest.mark.parametrize("candidate", [None, 1, b"1", float("nan")], ids=repr)
def test_a_candidate_that_is_no_text_is_named(candidate: Any) -> None:
    with pytest.raises(
        UserTypeError, match=f"Candidate 1 is no text, but {type(candidate).__name__}"
    ):
        Recording().run(["1", candidate], ["a", "b"])


@pytest.mark.parametrize("size", [0, -1, True, 2.0])
def test_a_batch_size_that_is_none_is_refused(size: Any) -> None:
    with pytest.raises(UserValueError, match="batch_size must be a whole number above 0"):
        Recording().run(["1"], ["a"], batch_size=size)


def test_a_result_has_a_score_or_a_category() -> None:
    assert ScoreResult(1) == ScoreResult(1.0)
    assert isinstance(ScoreResult(1).score, float)
    assert ScoreResult(category=Category("bad")).score is None
    with pytest.raises(UserValueError, match="needs a score or a category"):
        ScoreResult()
    for no_number in ("1", float("nan"), object()):
        with pytest.raises(UserValueError, match="A score is a number"):
            ScoreResult(no_number)  # type: ignore[arg-type]
    with pytest.raises(UserValueError, match="is a Category, not str"):
        ScoreResult(1.0, "good")  # type: ignore[arg-type]


class Plain(Repetition):
    """Returns what it is told."""

    found: Any = None

    def run_batch(self, candidate_batch: Any, *_: Any) -> Any:
        return Plain.found


@pytest.mark.parametrize("found", [[1.0, 0], (1, 0.0)])
def test_numbers_are_taken_with_a_warning(found: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Plain, "found", found)
    with pytest.warns(DeprecationWarning, match="returns numbers"):
        assert Plain().run(["a", "b"], batch_size=2) == [ScoreResult(1.0), ScoreResult(0.0)]


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ([ScoreResult(1.0)], "returned 1 results for 2 candidates"),
        ([ScoreResult(1.0)] * 3, "returned 3 results for 2 candidates"),
        (None, "returned NoneType instead of a list"),
        ("ab", "returned str instead of a list"),
    ],
)
def test_a_scorer_that_does_not_keep_its_promise_is_told(
    found: Any, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Plain, "found", found)
    with pytest.raises(ScorerInternalError, match=reason):
        Plain().run(["a", "b"], batch_size=2)


def test_a_categorical_scorer_gives_a_category_that_it_lists(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert Grade([ScoreResult(1.0, Category("good"))]).run(["a"])[0].category == Category("good")
    for error in (ScorerInternalError, ValueError):
        with pytest.raises(error, match="gave a result without category"):
            Grade([ScoreResult(1.0)]).run(["a"])
        with pytest.raises(error, match="gave the category 'fair', which it does not list"):
            Grade([ScoreResult(1.0, Category("fair"))]).run(["a"])
    monkeypatch.setattr(Grade, "listed", None)
    with pytest.raises(UserValueError, match="its categories"):
        Grade([ScoreResult(1.0, Category("good"))]).run(["a"])
    with pytest.raises(UserValueError, match="its categories"):
        Grade([]).to_metadata()


def test_a_scorer_is_written_down_and_made_again(caplog: pytest.LogCaptureFixture) -> None:
    scorer = Repetition(size=4)
    assert scorer.to_dict() == {"size": 4}
    again = Repetition.from_dict({**json.loads(json.dumps(scorer.to_dict())), "unknown": 1})
    assert again == scorer != Repetition()
    assert hash(again) == hash(scorer)
    assert repr(again) == "Repetition(size=4)"
    with caplog.at_level(logging.WARNING):
        assert Grade(object()).to_dict(warn=True) == {}
    assert "The found of the scorer grade cannot be written down" in caplog.text


def test_a_parameter_that_a_scorer_needs_and_does_not_keep_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Lossy(Repetition):
        def __init__(self, size: int, step: int = 1) -> None:
            self._size = size

    with caplog.at_level(logging.WARNING):
        assert Lossy(3).to_dict(warn=True) == {}
    assert caplog.messages == [
        "The size of the scorer trigram_repetition is no attribute of it and is left out."
    ]


def test_metadata_tell_what_a_scorer_is() -> None:
    told = Repetition(5).to_metadata()
    assert (told.name, told.type, told.config, told.output_type.value, told.categories) == (
        "trigram_repetition",
        ScoringMethodType.Custom,
        {"size": 5},
        "continuous",
        None,
    )
    told = Grade(3).to_metadata()
    assert (told.output_type.value, told.categories) == (
        "categorical",
        [Category("good"), Category("bad")],
    )
    assert EvaluatorScorer.type() is ScoringMethodType.Custom


def test_an_unknown_scorer_is_told_with_those_there_are() -> None:
    with pytest.raises(
        UserValueError,
        match=r"No scorer is called 'Readability'\. Did you mean 'readability'.*summary_q",
    ):
        scorer_from_string("Readability")
    with pytest.raises(UserValueError) as unlike:
        scorer_from_string("rouge")
    assert str(unlike.value).count("Choose from: bertscore, exact_match") == 1
    assert [name.value for name in ScoringMethodName] == [
        "bertscore", "exact_match", "hallucination", "hedging_language", "python_unit_testing", "qa_correctness",
        "readability", "specificity", "summary_quality", "word_count_match",
    ]  # fmt: skip
    assert issubclass(MissingParameterError, ScorerError)


@pytest.mark.parametrize("module", sorted(BROUGHT_BY))
def test_a_scorer_whose_package_is_missing_is_an_import_error_with_the_install_line(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = BROUGHT_BY[module].replace("-", "_")
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, f"context_bench_scorers.{module}", raising=False)

    class Absent:
        @staticmethod
        def find_spec(name: str, *_: Any) -> None:
            if name == package:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(sys, "meta_path", [Absent, *sys.meta_path])
    installed = BROUGHT_BY[module].replace("-", ".")  # from a wheel, with underscores
    with pytest.raises(
        ImportError, match=rf"comes with {BROUGHT_BY[module]}, .*install.*{installed}"
    ):
        importlib.import_module(f"context_bench_scorers.{module}")


def test_a_name_that_there_is_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'RougeScorer'"):
        _ = context_bench_scorers.RougeScorer


def test_suppressed_warnings_come_back(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("some.model")
    with suppress_warnings("some.model"):
        logger.warning("inside")
        logger.error("broken")
    logger.warning("after")
    assert caplog.messages == ["broken", "after"]


# Adapters.


class Echo:
    """Returns the field of the example that is called `says`."""

    name = "echo"

    def process(self, example: Any) -> dict[str, str]:
        return {"response": example["says"]}


def test_a_custom_scorer_runs_inside_an_evaluation() -> None:
    scorer = Repetition()
    texts = ["a b c d", "a b c a b c"]
    assert [result.score for result in scorer.run(texts)] == [1.0, 0.0]
    examples = [
        {"id": str(number), "question": "q", "says": text} for number, text in enumerate(texts)
    ]
    result = evaluate([Echo()], examples, evaluators=[as_evaluator(scorer)], progress=False)
    assert [dict(row.scores) for row in result.rows] == [
        {"trigram_repetition": 1.0},
        {"trigram_repetition": 0.0},
    ]


def test_the_fields_of_a_row_are_the_lists_of_a_scorer(monkeypatch: pytest.MonkeyPatch) -> None:
    for hook in ("requires_input", "requires_context"):
        monkeypatch.setattr(Recording, hook, staticmethod(lambda: True))
    scorer = Recording()
    row = {"question": "q", "answers": ["a", "b"], "context": "c"}
    assert as_evaluator(scorer).score(row, {"response": "7"}) == {"recording": 7.0}
    assert scorer.batches == [(["7", "7"], ["a", "b"], ["q", "q"], ["c", "c"])]
    scorer.batches.clear()
    first = as_evaluator(scorer, references="first", key="mine")
    assert first.score({"contexts": ["c", "d"], "answer": "a"}, {"response": "7"}) == {"mine": 7.0}
    assert scorer.batches == [(["7"], ["a"], ["c\nd"], ["c\nd"])]
    with pytest.raises(UserValueError, match="references must be 'best' or 'first'"):
        as_evaluator(scorer, references="worst")


def test_rows_without_what_a_scorer_needs_are_unscored_and_the_others_are_one_batch() -> None:
    scorer = Recording()
    pairs = [
        ({"answer": "a"}, {"response": "1"}),
        ({}, {"response": "2"}),
        ({"answer": "a"}, {"response": None}),
        ({"answers": ["a", "b"]}, {"response": "4"}),
    ]
    found = as_evaluator(scorer).score_batch(pairs)
    assert found == [{"recording": 1.0}, {}, {}, {"recording": 4.0}]
    assert [scores.details.get("unscored") for scores in found] == [
        None,
        "the example has no reference answer",
        "the response is no text",
        None,
    ]
    assert len(scorer.batches) == 1


def test_a_result_without_score_leaves_the_row_unscored_and_says_why() -> None:
    found = as_evaluator(Grade([ScoreResult(None, Category("bad", "cannot be read"))])).score(
        {}, {"response": "x"}
    )
    assert found == {}
    assert found.details == {"category": "bad", "unscored": "cannot be read"}


class Overlap:
    """An evaluator with two scores."""

    name = "overlap"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        if "answer" not in original:
            return {}
        return {
            "same": float(original["answer"] == processed["response"]),
            "length": float(len(processed["response"])),
        }


def test_an_evaluator_is_a_scorer() -> None:
    scorer = as_scorer(Overlap(), key="same")
    assert scorer.name() == "same"
    assert [result.score for result in scorer.run(["a", "b"], ["a", "a"], batch_size=2)] == [
        1.0,
        0.0,
    ]
    assert [result.score for result in asyncio.run(scorer.arun(["a", "b"], ["a", "a"]))] == [
        1.0,
        0.0,
    ]
    unscored = scorer.run(["a"])[0]
    assert unscored.score is None
    assert unscored.category is not None
    assert unscored.category.name == "unscored"
    with pytest.raises(
        UserValueError, match=r"gives length, same: say which one is the score, as in key='length'"
    ):
        as_scorer(Overlap()).run(["a"], ["a"])
    with pytest.raises(UserValueError, match=r"gives no 'f1'. It gives length, same"):
        as_scorer(Overlap(), "f1").run(["a"], ["a"])
    with pytest.raises(UserTypeError, match="object is no evaluator"):
        as_scorer(object())


def test_an_evaluator_that_waits_is_awaited() -> None:
    class Waits(Overlap):
        async def ascore(self, original: Any, processed: Any) -> dict[str, float]:
            return {"awaited": 1.0}

    assert asyncio.run(as_scorer(Waits()).arun(["a"], ["a"])) == [ScoreResult(1.0)]


def test_there_and_back_again_gives_the_same_score() -> None:
    there = as_evaluator(as_scorer(Overlap(), "same"))
    assert isinstance(there, ScorerEvaluator)
    row, output = {"answer": "a", "question": "q"}, {"response": "a"}
    assert (
        as_scorer(there).run(["a"], ["a"], ["q"])[0].score is None
    )  # evaluators as scorers need no reference
    assert Overlap().score(row, output)["same"] == 1.0


def test_a_scorer_by_protocol_needs_no_import() -> None:
    class Shout:
        name = "shout"

        def requires_reference(self) -> bool:
            return False

        def run_batch(
            self, candidates: Any, references: Any, inputs: Any, contexts: Any
        ) -> list[ScoreResult]:
            return [ScoreResult(text.isupper()) for text in candidates]

        async def arun_batch(self, *batch: Any) -> list[ScoreResult]:
            return [ScoreResult(0.5) for _ in batch[0]]

    scorer = as_scorer(Shout())
    assert (scorer.name(), scorer.type()) == ("shout", ScoringMethodType.Custom)
    assert [result.score for result in scorer.run(["A", "a"])] == [1.0, 0.0]
    assert [result.score for result in asyncio.run(scorer.arun(["A"]))] == [0.5]
    assert as_evaluator(Shout()).score({}, {"response": "A"}) == {"shout": 1.0}


def test_the_blocks_of_the_readme_run(run_readme: Any) -> None:
    run_readme(one_program=True)


@pytest.mark.parametrize("thing", [Repetition(), Repetition], ids=["object", "class"])
def test_evaluate_points_from_a_scorer_to_what_makes_an_evaluator_of_it(thing: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        evaluate(lambda example: "a", [{"id": "1"}], evaluators=[thing], progress=False)
    pointed = "context_bench_scorers.as_evaluator() makes one of it." in str(caught.value)
    assert pointed == (thing is not Repetition), caught.value
    assert "must be called first" in str(caught.value) or pointed
