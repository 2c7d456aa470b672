"""What of a response is the answer, what of an example is the reference: once, and the same in a run as in a direct call."""

from __future__ import annotations

import time
from array import array
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.answers import (
    REASONING,
    REPLY,
    gold,
    marks,
    part_answer,
    parted_output,
    references,
)


class Scalar:
    """A number as NumPy and Arrow hold it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def item(self) -> Any:
        return self.value


class Series:
    """A column of a data frame."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def tolist(self) -> list[Any]:
        return self.values


HARMONY = "<|channel|>analysis<|message|>{0}<|end|><|start|>assistant<|channel|>final<|message|>{1}"
FORMS = {
    "think": "<think>{0}</think>{1}",
    "think in lines of its own": "<think>\n{0}\n</think>\n\n{1}",
    "a lone closing tag": "{0}</think>{1}",
    "an empty block": "<think>\n</think>{1}",
    "capitals": "<THINK>{0}</THINK>{1}",
    "thinking": "<thinking>{0}</thinking>{1}",
    "an attribute": '<thinking effort="high">{0}</thinking>{1}',
    "a tag without a body": "<think/>{1}",
    "a tag without a body, with a blank": "<thinking />\n{1}",
    "a tag without a body that ends the reasoning": "<think>{0}<think/>{1}",
    "a closing tag with two strokes": "<think>{0}</think/>{1}",
    "blanks in the tags": "< think >{0}</ think >{1}",
    "blanks around the stroke": "< think >\n{0}\n< / think >\n{1}",
    "a blank behind the name": "<think >{0}</think >{1}",
    "a lone closing tag with blanks": "{0}</ think >{1}",
    "minimax": "<mm:think>{0}</mm:think>{1}",
    "thought": "<thought>{0}</thought>{1}",
    "reasoning": "<reasoning>{0}</reasoning>{1}",
    "scratchpad": "<scratchpad>{0}</scratchpad>{1}",
    "reflection": "<reflection>{0}</reflection>{1}",
    "magistral": "[THINK]{0}[/THINK]{1}",
    "kimi": "◁think▷{0}◁/think▷{1}",
    "seed": "<seed:think>{0}</seed:think>{1}",
    "sky": "<|begin_of_thought|>{0}<|end_of_thought|><|begin_of_solution|>{1}<|end_of_solution|>",
    "command": "<|START_THINKING|>{0}<|END_THINKING|><|START_RESPONSE|>{1}<|END_RESPONSE|>",
    "medgemma": "<unused94>thought\n{0}<unused95>{1}",
    "gemma": "<|channel>thought\n{0}<channel|>{1}<turn|>",
    "harmony": HARMONY,
    "harmony to its end": HARMONY + "<|return|>",
    "harmony that began in the prompt": HARMONY.removeprefix("<|channel|>"),
    "harmony with a tool's channel": HARMONY.replace(
        "<|start|>", "<|start|>assistant<|channel|>commentary<|message|>x<|end|><|start|>"
    ),
    "harmony without its special tokens": "analysis{0}assistantfinal{1}",
    "the end of a text": "{1}<|endoftext|>",
    "the end of a turn and what runs on": "{1}<|im_end|>\n<|im_start|>user\n{0}",
    "llama": "<|start_header_id|>assistant<|end_header_id|>\n\n{1}<|eot_id|>",
    "mistral": "{1}</s>",
    "deepseek": "<think>{0}</think>{1}<｜end▁of▁sentence｜>",
    "gemma 2": "{1}<end_of_turn>\n",
    "answer tags": "<think>{0}</think>\n<answer>{1}</answer>",
    "answer tags behind reasoning that never closed": "<think>{0}<answer>{1}</answer>",
    "two blocks": "<think>{0}</think><think>{0} again</think>{1}",
    "a block in a block": "<think>{0}<think>{0}</think>{0}</think>{1}",
    "reasoning and the end of the text": "<think>{0}</think>{1}<|endoftext|>",
}
WHOLE = [
    "Paris",
    "  Paris \n",
    "",
    "if a<b and c>d: [1, 2]",
    "<s>Rome</s> Paris",
    "<p>The <b>answer</b></p>",
    "The token is `<|endoftext|>`.",
    'It is written "<|im_end|>", I believe.',
    "Put it between `<think>` and `</think>`.",
    "```python\nre.sub(r'<think>.*?</think>', '', text)\n```",
    '```python\nprompt = """\n<think>\nHm.\n</think>\n"""\n```',
    "I think, therefore [THINKING] I am.",
    "x = a<|b",
    "if a < think > b: pass",
    "a < thought > b and b < analysis > c",
    "Write `<think/>` first.",
    "<thinker/> and <think-twice/>",
]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("answer", ["Paris", "two\n\nparagraphs", "'quoted'", '"quoted"'])
@pytest.mark.parametrize(
    "thought", ["Rome? No.", "It says 'quoted'", "```python\nx = 1\n```\nor so", "a < b > c"]
)
def test_every_form_leaves_the_answer(form: str, answer: str, thought: str) -> None:
    parted = part_answer(form.format(thought, answer))
    assert parted.answer == answer
    assert part_answer(parted.answer) == (answer, "")


@pytest.mark.parametrize(
    "form", [FORMS[name] for name in ("think", "a lone closing tag", "harmony", "magistral")]
)
def test_the_reasoning_is_kept(form: str) -> None:
    assert part_answer(form.format("Rome? No.", "Paris")).reasoning == "Rome? No."


def test_a_tag_without_a_body_takes_nothing_with_it() -> None:
    assert part_answer("Before <think/> after") == ("Before  after", "")
    assert part_answer("Before<thinking/>after") == ("Before after", "")
    assert part_answer("<think>Rome?<think/>Paris") == ("Paris", "Rome?")


@pytest.mark.parametrize("text", WHOLE)
def test_a_text_without_a_mark_is_its_own_answer(text: str) -> None:
    assert part_answer(text) == (text, "")


@pytest.mark.parametrize(
    "text",
    [
        "<think>Paris, I",
        "<think>Paris</think>",
        "Paris.</think>\n",
        "<|channel|>analysis<|message|>Paris",
    ],
)
def test_reasoning_that_nothing_follows_answers_nothing(text: str) -> None:
    assert part_answer(text).answer == ""


def test_the_indent_of_code_behind_reasoning_stays() -> None:
    assert (
        part_answer("<think>add</think>\n\n    total = a + b\n    return total\n").answer
        == "    total = a + b\n    return total"
    )


PIECES = (
    *(
        "<think>",
        "</think>",
        "<answer>",
        "</answer>",
        "[THINK]",
        "[/THINK]",
        "<|channel|>",
        "final",
        "analysis",
        "<|message|>",
    ),
    *(
        "<|end|>",
        "<|im_end|>",
        "<s>",
        "</s>",
        "```",
        "\n",
        "`",
        "'",
        '"',
        " ",
        "x",
        "Paris",
        "<thi",
        "nk>",
        "<|",
        "|>",
        "assistant",
    ),
    *(
        "<|start|>",
        "<|return|>",
        "<|im_start|>",
        "<think",
        ">",
        "assistantfinal",
        "<|begin_of_solution|>",
        "</thought>",
        "<think/>",
        "< think >",
        "</ think >",
        "< ",
    ),
)


def test_parting_twice_is_parting_once() -> None:
    hypothesis = pytest.importorskip("hypothesis")
    texts = hypothesis.strategies.lists(
        hypothesis.strategies.sampled_from(PIECES), max_size=25
    ).map("".join)

    @hypothesis.settings(max_examples=1500, deadline=None)
    @hypothesis.given(texts)
    def check(text: str) -> None:
        answer = part_answer(text).answer
        assert part_answer(answer).answer == answer

    check()


@pytest.mark.parametrize(
    "text",
    [
        "<think></think>" * 20000,
        "`<think>`" * 40000,
        "<answer>" + " " * 200000 + "x",
        "<bos>" * 50000,
        "</think>" * 50000,
        "```\n<think>\n" * 30000,
        "<think " * 50000,
        "< think >" * 50000,
        "<think/>" * 50000,
        "<think" + " " * 200000,
        '"<|endoftext|>"' * 20000,
        "<|channel|>final<|message|>" * 30000,
    ],
    ids=range(12),
)
def test_a_hostile_text_takes_time_in_proportion(text: str) -> None:
    started = time.process_time()
    part_answer(text)
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Paris" + "</s>" * 2000, "Paris"),
        ("Paris" + "</s> \n" * 2000 + "<|im_end|>", "Paris"),
        ("<s>" * 2000 + "Paris</s>", "Paris"),
        ("final<|message|>" * 2000 + "Paris", ""),
        ("analysisassistantfinal" * 2000 + "Paris", ""),
    ],
    ids=[
        "ends",
        "ends before the end of a turn",
        "beginnings",
        "final channels in each other",
        "spoken channels in a row",
    ],
)
def test_marks_by_the_thousand_are_not_read_one_at_a_time(
    text: str, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text in so many layers of channels has no answer; only ends in a row are what models really write."""
    readings = []
    part_once = marks.part_once
    monkeypatch.setattr(
        marks, "part_once", lambda text: readings.append(len(text)) or part_once(text)
    )
    parted = part_answer(text)
    assert parted.answer == answer
    assert part_answer(parted.answer).answer == answer
    assert len(readings) <= 60


def test_every_other_key_of_an_output_is_as_it_was() -> None:
    output = {
        "response": "<think>Hm.</think>Paris",
        "reasoning": "mine",
        "context": "<think>c</think>",
        "turn_responses": ["<think>"],
    }
    parted = dict(parted_output(output))
    assert parted == {**output, "response": "Paris", REPLY: output["response"], REASONING: "Hm."}
    assert parted_output(parted)[REPLY] == output["response"]


REFERENCES = {
    "a text": ({"answer": "Paris"}, ("Paris",)),
    "a list in answer": ({"answer": ["Paris", "Paname"]}, ("Paris", "Paname")),
    "a list in answers": ({"answers": ["Paris", "Paname"]}, ("Paris", "Paname")),
    "a tuple": ({"answers": ("Paris",)}, ("Paris",)),
    "a text in answers": ({"answers": "Paris"}, ("Paris",)),
    "the table of SQuAD": ({"answers": {"text": ["Paris"], "answer_start": [3]}}, ("Paris",)),
    "the mapping of TriviaQA": (
        {"answer": {"value": "Paris", "aliases": ["Paris", "Paname"]}},
        ("Paris", "Paname"),
    ),
    "the aliases of MuSiQue": (
        {"answer": "Paris", "answer_aliases": ["Paname"]},
        ("Paris", "Paname"),
    ),
    "aliases": ({"answer": "Paris", "aliases": ["Paname"]}, ("Paris", "Paname")),
    "aliases beside answers": (
        {"answers": ["Paris"], "answer_aliases": ["Paname"]},
        ("Paris", "Paname"),
    ),
    "answers come first": ({"answers": ["Paris"], "answer": "Rome"}, ("Paris",)),
    "answer fills in": ({"answers": [], "answer": "Paris"}, ("Paris",)),
    "answer fills in for blanks": ({"answers": ["", None], "answer": "Paris"}, ("Paris",)),
    "numbers": ({"answer": [7, 1.5]}, ("7", "1.5")),
    "whole numbers of a float column": ({"answer": [42.0, -3.0]}, ("42", "-3")),
    "exact numbers": (
        {"answer": [Decimal("42.00"), Decimal("1.50"), Fraction(1, 3)]},
        ("42", "1.50", "1/3"),
    ),
    "bytes": ({"answer": b"Paris"}, ("Paris",)),
    "an array": ({"answers": array("i", [1, 2])}, ("1", "2")),
    "a series": ({"answers": Series(["Paris", "Paname"])}, ("Paris", "Paname")),
    "a scalar of a library": ({"answer": Scalar(42)}, ("42",)),
    "each once": ({"answers": ["Paris", "Paris"]}, ("Paris",)),
    "blanks are none": ({"answer": [" ", "Paris"]}, ("Paris",)),
}
NO_REFERENCES = {
    "no field": ({}, "the example has no answer or answers"),
    "null": ({"answer": None}, "the example has no answer or answers"),
    "NaN": ({"answer": float("nan")}, "the example's answer is blank"),
    "blank": ({"answer": " "}, "the example's answer is blank"),
    "an empty list": ({"answers": []}, "the example has no answer or answers"),
    "blanks": ({"answers": ["", " "]}, "the example's answers is blank"),
    "bytes": ({"answer": b"\xff"}, "the example's answer holds a bytes, which is no text"),
    "lists of lists": (
        {"answers": [["Paris"]]},
        "the example's answers holds a list, which is no text",
    ),
}


@pytest.mark.parametrize(("example", "expected"), REFERENCES.values(), ids=REFERENCES)
def test_the_references_of_an_example(
    example: Mapping[str, Any], expected: tuple[str, ...]
) -> None:
    assert references(example) == expected


@pytest.mark.parametrize(("example", "reason"), NO_REFERENCES.values(), ids=NO_REFERENCES)
def test_an_example_without_references_says_why(example: Mapping[str, Any], reason: str) -> None:
    assert references(example) == ()
    assert gold(example).reason == reason


class Spy:
    """An evaluator that keeps what it is given."""

    name = "spy"

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        self.seen.append(dict(processed))
        return {"spied": 1.0}


class Says:
    name = "says"

    def __init__(self, reply: Any) -> None:
        self.reply = reply

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        return {"response": self.reply, "model": "m"}


def test_evaluators_in_a_run_are_given_the_answer_and_find_the_reply() -> None:
    spy = Spy()
    result = evaluate(
        systems=[Says("<think>Rome?</think>Paris")], dataset=[{"answer": "Paris"}], evaluators=[spy]
    )
    assert spy.seen == [
        {"response": "Paris", "model": "m", REPLY: "<think>Rome?</think>Paris", REASONING: "Rome?"}
    ]
    assert result.rows[0].output["response"] == "<think>Rome?</think>Paris"


def test_a_batch_evaluator_is_given_the_answer_as_well() -> None:
    class Batches(Spy):
        def score_batch(self, pairs: Any) -> list[dict[str, float]]:
            return [self.score(*pair) for pair in pairs]

    spy = Batches()
    evaluate(systems=[Says("Hm.</think>Paris")], dataset=[{"answer": "Paris"}], evaluators=[spy])
    assert [output["response"] for output in spy.seen] == ["Paris"]
