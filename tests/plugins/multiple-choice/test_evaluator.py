"""The evaluator as a plugin: its name, options, details and manifest."""

from __future__ import annotations

import pytest

from context_bench.catalog import open_catalog
from context_bench_multiple_choice import MultipleChoiceAccuracy, mmlu_pro_letter

suites = pytest.importorskip(
    "context_bench_testing.suites", reason="context-bench-testing is not installed"
)

ROW = {"choices": ["Lyon", "Berlin", "Paris", "Madrid"], "correct_letter": "C", "answer": "Paris"}


def test_a_wrong_letter_and_no_letter_are_both_zero_but_told_apart():
    wrong = MultipleChoiceAccuracy().score(ROW, {"response": "The answer is B."})
    none = MultipleChoiceAccuracy().score(ROW, {"response": "I cannot say."})
    assert wrong == none == {"mc_accuracy": 0.0}
    assert wrong.details == {
        "letter": "B",
        "gold": "C",
        "how": "answer",
        "quote": "The answer is B.",
    }
    assert none.details == {
        "letter": None,
        "gold": "C",
        "reason": "no letter and no option's text found",
    }


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("", "the response is empty"),
        (" \n ", "the response is empty"),
        ("<think>The answer is C.", "the response is all reasoning and no answer"),
        ("The answer is F.", "letter F is beyond the options"),
        ("The answer is A or C.", "several letters: A, C"),
        ("It is A, or C.", "several letters: A, C"),
        ("A and C", "several options, no conclusion: A, C"),
        ("None of these. The answer is none of the above.", "none of the options"),
    ],
)
def test_the_reason_says_why_no_letter_was_found(response, reason):
    scores = MultipleChoiceAccuracy().score(ROW, {"response": response})
    assert scores == {"mc_accuracy": 0.0}
    assert scores.details["reason"] == reason


@pytest.mark.parametrize("response", [None, b"\xff", ["C"], {"answer": "C"}])
def test_an_output_without_a_text_is_unscored(response):
    scores = MultipleChoiceAccuracy().score(ROW, {"response": response})
    assert scores == {}
    assert scores.details["unscored"] == "the output has no text under 'response'"


@pytest.mark.parametrize(
    ("answer", "response", "score"),
    [
        ("Paris", "Paris", 1.0),
        ("Paris", " **paris**.\n", 1.0),
        ("Paris", "<think>Lyon?</think>Paris", 1.0),
        (42, "42", 1.0),
        ("vitamin A", "Vitamin A", 1.0),
        ("Paris", "Lyon", 0.0),
        ("Paris", "Lyon is larger than Paris.", 0.0),
        ("Paris", "B", 0.0),
        ("B", "B", 0.0),
        ("", "", 0.0),
    ],
)
def test_the_right_options_text_counts_where_no_other_option_is_known(answer, response, score):
    row = {"correct_letter": "C", "answer": answer}
    assert MultipleChoiceAccuracy().score(row, {"response": response}) == {"mc_accuracy": score}
    assert MultipleChoiceAccuracy().score(row, {"response": "C"}) == {"mc_accuracy": 1.0}


def test_a_huge_response_is_read_at_both_ends():
    evaluator = MultipleChoiceAccuracy()
    filler = "Lorem ipsum dolor sit amet. " * 400_000
    assert evaluator.score(ROW, {"response": filler + "The answer is C."}) == {"mc_accuracy": 1.0}
    assert evaluator.score(ROW, {"response": "The answer is C.\n" + filler}) == {"mc_accuracy": 1.0}
    assert evaluator.score(ROW, {"response": f"<think>{filler} The answer is B.</think>C"}) == {
        "mc_accuracy": 1.0
    }


def test_parity_takes_the_first_statement_as_the_leaderboard_does():
    response = "It is (B): the answer is (B). It is in France. The answer is (C)."
    assert MultipleChoiceAccuracy().score(ROW, {"response": response}) == {"mc_accuracy": 1.0}
    assert MultipleChoiceAccuracy(parity="mmlu-pro").score(ROW, {"response": response}) == {
        "mc_accuracy": 0.0
    }


def test_the_first_of_several_bare_answers_counts_and_the_details_name_the_others():
    response = (
        "The answer is (B).\n\nThe answer is (D).\n\nThe answer is (C).\n\nThe answer is (D)."
    )
    scores = MultipleChoiceAccuracy().score(ROW, {"response": response})
    assert scores == {"mc_accuracy": 0.0}
    assert scores.details == {
        "letter": "B",
        "gold": "C",
        "how": "first of several bare answers",
        "quote": "The answer is (B). The answer is (D",
        "others": ["D", "C"],
    }


def test_the_last_of_several_bare_answers_counts_on_demand():
    response = "The answer is (B).\n\nThe answer is (D).\n\nThe answer is (C)."
    scores = MultipleChoiceAccuracy(several="last").score(ROW, {"response": response})
    assert scores == {"mc_accuracy": 1.0}
    assert "others" not in scores.details


@pytest.mark.parametrize(
    ("response", "letter"),
    [
        ("The answer is (C). The answer is (D).", "C"),
        ("Answer: A\nAnswer: B", "A"),
        ("Answer: A, Answer: B\nAnswer: C", "B"),
        ("Answer:\nD. Answer: E", "D"),
        ("Answer: Answer:E", "E"),
        ("20 A", "A"),
        ("nothing", None),
    ],
)
def test_the_steps_of_the_leaderboard(response, letter):
    assert mmlu_pro_letter(response) == letter


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parity": "mmlu"}, "parity is 'mmlu', but has to be 'mmlu-pro'"),
        ({"index_base": 2}, "index_base is 2, but has to be 0, 1"),
        ({"several": "all"}, "several is 'all', but has to be 'first' or 'last'"),
        ({"index_base": True}, "index_base is True, but has to be 0, 1"),
    ],
)
def test_a_wrong_option_says_what_it_has_to_be(options, message):
    with pytest.raises(ValueError, match=message):
        MultipleChoiceAccuracy(**options)


def test_the_fingerprint_holds_every_option():
    assert MultipleChoiceAccuracy().fingerprint() == {
        "parity": None,
        "index_base": None,
        "several": "first",
    }
    assert MultipleChoiceAccuracy("mmlu-pro", 1, "last").fingerprint() == {
        "parity": "mmlu-pro",
        "index_base": 1,
        "several": "last",
    }


class TestMultipleChoiceAccuracy(suites.EvaluatorSuite):
    component = "multiple-choice"
    expected = ((ROW, {"response": "C"}, {"mc_accuracy": 1.0}),)


def test_it_is_wired_to_its_benchmarks():
    manifest = open_catalog((), {}).find("evaluators", "multiple-choice").manifest
    assert [rule.datasets or rule.tags for rule in manifest.wire] == [
        ("mmlu", "mmlu-pro", "arc-challenge", "gpqa", "hellaswag", "winogrande"),
        ("multiple-choice",),
    ]


@pytest.mark.parametrize("letter", ["A", "B", "C"])
def test_options_that_differ_by_case_alone_are_told_apart_by_their_case(letter: str) -> None:
    choices = ["CC or Cc", "Cc or cc", "cc or CC"]
    example = {"choices": choices, "correct_letter": letter}
    for own, choice in zip("ABC", choices, strict=True):
        for response in (choice, f"**{choice}.**"):
            scores = MultipleChoiceAccuracy().score(example, {"response": response})
            assert scores == {"mc_accuracy": float(own == letter)}
    assert MultipleChoiceAccuracy().score(example, {"response": "cC OR cC"}) == {"mc_accuracy": 0.0}


@pytest.mark.parametrize(
    ("response", "letter"),
    [
        ("A", "A"),
        ("**A**", "A"),
        ("a", "A"),
        ("The answer is A.", "A"),
        ("C", "C"),
        ("C. A", "C"),
        ("O", "A"),
        ("AB", "B"),
    ],
)
def test_a_letter_is_that_option_also_where_another_is_called_so(
    response: str, letter: str
) -> None:
    blood = ["O", "AB", "A", "B"]
    for right in "ABCD":
        scores = MultipleChoiceAccuracy().score(
            {"choices": blood, "correct_letter": right}, {"response": response}
        )
        assert scores == {"mc_accuracy": float(right == letter)}


def test_a_letter_is_no_text_of_the_right_option_where_no_option_is_known() -> None:
    example = {"correct_letter": "C", "answer": "A"}
    assert MultipleChoiceAccuracy().score(example, {"response": "A"}) == {"mc_accuracy": 0.0}
    assert MultipleChoiceAccuracy().score(example, {"response": "C"}) == {"mc_accuracy": 1.0}


def test_a_small_letter_that_is_an_option_as_it_stands_is_its_text() -> None:
    example = {"choices": ["x", "y", "z", "b"], "correct_letter": "D"}
    assert MultipleChoiceAccuracy().score(example, {"response": "b"}) == {"mc_accuracy": 1.0}
    assert MultipleChoiceAccuracy().score(example, {"response": "B"}) == {"mc_accuracy": 0.0}


class Array:
    """A column as NumPy holds it."""

    def __init__(self, values):
        self.values = values

    def tolist(self):
        return self.values


OPTIONS = {
    "a tuple": ("red", "green", "blue"),
    "an array": Array(["red", "green", "blue"]),
    "a table of arrays": {"text": Array(["red", "green", "blue"]), "label": Array(["A", "B", "C"])},
    "a mapping by letter": {"A": "red", "B": "green", "C": "blue"},
    "bytes": [b"red", b"green", b"blue"],
    "records": [{"text": "red"}, {"text": "green"}, {"text": "blue"}],
}


@pytest.mark.parametrize("choices", OPTIONS.values(), ids=OPTIONS)
def test_options_are_read_in_whatever_container(choices):
    row = {"choices": choices, "correct_letter": "C"}
    assert MultipleChoiceAccuracy().score(row, {"response": "It is blue."}) == {"mc_accuracy": 1.0}
    assert MultipleChoiceAccuracy().score(row, {"response": "It is red."}) == {"mc_accuracy": 0.0}


@pytest.mark.parametrize(
    "choices",
    [7, True, object(), [object(), "b"]],
    ids=["number", "truth", "object", "list of objects"],
)
def test_options_that_cannot_be_read_are_unscored_with_a_warning(choices):
    with pytest.warns(UserWarning, match="cannot be read as options"):
        scores = MultipleChoiceAccuracy().score(
            {"choices": choices, "correct_letter": "A"}, {"response": "A"}
        )
    assert scores == {}
    assert "choices" in scores.details["unscored"]


@pytest.mark.parametrize(
    ("response", "letter"),
    [
        ("\u041e\u0442\u0432\u0435\u0442: \u0411", "B"),
        ("\u041e\u0442\u0432\u0435\u0442: (\u0412)", "B"),
        ("\u0627\u0644\u062c\u0648\u0627\u0628: \u062c", "C"),
        ("\u05d0", "A"),
        ("\u7532", "A"),
        ("Answer: \uff22", "B"),
        ("Answer: \u24b8", "C"),
    ],
)
def test_letters_of_other_scripts_name_options(response, letter):
    row = {"choices": ["1 m", "2 m", "3 m", "4 m"], "correct_letter": letter}
    assert MultipleChoiceAccuracy().score(row, {"response": response}) == {"mc_accuracy": 1.0}
