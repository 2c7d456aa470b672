"""All evaluators agree on what of a response is the answer and what of an example is the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

import context_bench.evaluators as evaluators
from context_bench import evaluate

CHANNELS = "<|channel|>analysis<|message|>{0}<|end|><|start|>assistant<|channel|>final<|message|>{1}<|return|>"
FORMS = {
    "think": "<think>{0}</think>\n\n{1}",
    "a lone closing tag": "{0}\n</think>\n\n{1}",
    "thinking": "<thinking>{0}</thinking>{1}",
    "thought": "<thought>{0}</thought>{1}",
    "reasoning": "<reasoning>{0}</reasoning>{1}",
    "scratchpad": "<scratchpad>{0}</scratchpad>{1}",
    "magistral": "[THINK]{0}[/THINK]{1}",
    "channels": CHANNELS,
    "a text's end": "{1}<|endoftext|>",
    "a turn's end": "{1}<|im_end|>\n<|im_start|>user\n{0}",
}
CODE = {
    "prompt": "def add(a, b):\n",
    "test": "def check(f):\n    assert f(1, 2) == 3",
    "entry_point": "add",
}
IFEVAL = {
    "instruction_id_list": ["punctuation:no_comma", "startend:quotation"],
    "kwargs": [{}, {}],
    "prompt": "Say it.",
}
CHOICE = {"choices": ["Rome", "Paris"], "correct_letter": "B"}
CASES: dict[str, tuple[Callable[[], Any], Mapping[str, Any], str, str]] = {
    "AnswerQuality": (evaluators.AnswerQuality, {"answer": "Paris"}, "Paris", "Rome, or Paris"),
    "SummarizationQuality": (
        evaluators.SummarizationQuality,
        {"answer": "Paris in spring"},
        "Paris in spring",
        "Or Rome",
    ),
    "RougeScore": (
        evaluators.RougeScore,
        {"answer": "Paris in spring"},
        "Paris in spring",
        "Or Rome",
    ),
    "BBHExactMatch": (
        evaluators.BBHExactMatch,
        {"answer": "(B)"},
        "So the answer is (B).",
        "the answer is (A).",
    ),
    "MathEquivalence": (
        evaluators.MathEquivalence,
        {"answer": "42"},
        "The answer is 42.",
        "The answer is 41.",
    ),
    "MultipleChoiceAccuracy": (
        evaluators.MultipleChoiceAccuracy,
        CHOICE,
        "The answer is (B).",
        "The answer is (A).",
    ),
    "NLILabelMatch": (evaluators.NLILabelMatch, {"answer": "REFUTES"}, "REFUTES", "SUPPORTS"),
    "IFEvalChecker": (evaluators.IFEvalChecker, IFEVAL, '"No commas here."', "One, two."),
    "CodeExecution": (evaluators.CodeExecution, CODE, "    return a + b", "    return a - b"),
}


class Says:
    name = "says"

    def __init__(self, reply: str) -> None:
        self.reply = reply

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        return {"response": self.reply}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(("make", "example", "answer", "thought"), CASES.values(), ids=CASES)
def test_reasoning_changes_no_score_called_directly_or_in_a_run(
    form: str, make: Callable[[], Any], example: Mapping[str, Any], answer: str, thought: str
) -> None:
    evaluator = make()
    wanted = evaluator.score(example, {"response": answer})
    assert set(wanted.values()) == {1.0} or "recall" in wanted
    reply = form.format(thought, answer)
    assert evaluator.score(example, {"response": reply}) == wanted
    [row] = evaluate(systems=[Says(reply)], dataset=[dict(example)], evaluators=[evaluator]).rows
    assert row.scores == wanted


ANSWERS = {
    "a list in answer": lambda text: {"answer": [text]},
    "answers": lambda text: {"answers": [text]},
    "one answer": lambda text: {"answer": text},
    "an alias": lambda text: {"answer": "something else", "answer_aliases": [text]},
    "the table of SQuAD": lambda text: {"answers": {"text": [text]}},
    "the mapping of TriviaQA": lambda text: {
        "answer": {"value": "something else", "aliases": [text]}
    },
}
READ_REFERENCES = (
    "AnswerQuality",
    "SummarizationQuality",
    "RougeScore",
    "BBHExactMatch",
    "MathEquivalence",
)


@pytest.mark.parametrize("layout", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("name", READ_REFERENCES)
def test_a_reference_is_one_in_every_layout(
    layout: Callable[[str], dict[str, Any]], name: str
) -> None:
    make, example, answer, _ = CASES[name]
    scores = make().score(layout(example["answer"]), {"response": answer})
    assert scores == make().score(example, {"response": answer})
    assert scores


@pytest.mark.parametrize(
    ("answer", "response"),
    [(["Walking Georgie", "A"], "A"), (["A"], "(A)"), ({"value": "A"}, "The answer is A.")],
)
def test_a_choice_and_a_label_may_be_lists_as_well(answer: Any, response: str) -> None:
    choice = {"choices": ["Walking Georgie", "Sitting Georgie"], "answer": answer}
    assert evaluators.MultipleChoiceAccuracy().score(choice, {"response": response}) == {
        "mc_accuracy": 1.0
    }
    assert evaluators.NLILabelMatch().score({"answer": ["REFUTES"]}, {"response": "REFUTES"}) == {
        "nli_accuracy": 1.0
    }


@pytest.mark.parametrize("name", CASES)
def test_what_is_unscored_says_why(name: str) -> None:
    make, example, answer, _ = CASES[name]
    for scores in (make().score({}, {"response": answer}), make().score(example, {})):
        assert scores == {}
        assert scores.details["unscored"]
