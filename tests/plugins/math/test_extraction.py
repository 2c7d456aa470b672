"""Where the answer is found: boxes, hashes, statements, bare answers, and the last piece of mathematics."""

from __future__ import annotations

import pytest

from context_bench_math import extract
from context_bench_math.extraction import extract_reference
from context_bench_math.reading import read

CASES = [
    # boxes
    ("boxed", r"We get $\boxed{42}$.", "42"),
    ("boxed", r"\boxed{\frac{1}{\sqrt{2}}}", r"\frac{1}{\sqrt{2}}"),
    ("boxed", r"First \boxed{1}, then \boxed{2}", "2"),
    ("boxed", r"\boxed{1}. On second thought \boxed{2}.", "2"),
    ("boxed", r"\boxed{1} \boxed{2}", "2"),
    ("boxed", r"\boxed{1} and \boxed{2}", "1, 2"),
    ("boxed", r"\boxed{1},\ \boxed{2} \text{ or } \boxed{3}", "1, 2, 3"),
    ("boxed", r"\boxed{5}, that is \boxed{}", "5"),
    ("boxed", r"\fbox{7}", "7"),
    ("boxed", r"\boxed 5", "5"),
    ("boxed", r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
    ("boxed", r"cut off: \boxed{12", "12"),
    ("boxed", r"The answer is 3. Wait: \boxed{4}", "4"),
    ("boxed", r"#### 3 but \boxed{4}", "4"),
    ("boxed", r"\boxed{18}, although the answer key says \boxed{19}", "18"),
    # hashes
    ("hashes", '#### 18 although the key says "#### 19"', "18"),
    ("hashes", '#### 18 (the key says "#### 19")', "18"),
    ("hashes", "6 * 3 = 18\n#### 18", "18"),
    ("hashes", "####18 dollars", "18 dollars"),
    ("hashes", "#### 1,000\n", "1,000"),
    ("hashes", r"\boxed{3}" + "\n#### 4", "4"),
    ("hashes", "#### 18\n\n#### Explanation\nThere are 16 eggs.", "18"),
    ("hashes", "#### 18\n\nQuestion: Tom has 5 apples.", "18"),
    ("hashes", "#### 18\n\nQuestion: How many are left?\nHalf.\n#### 9", "18"),
    ("hashes", "#### **18**\n#### Check\n9 is half of it.\n#### 9", "**18**"),
    ("hashes", r"#### 1, \boxed{3}" + "\n#### 4\nQ: next\n#### 5", "4"),
    ("hashes", "##### 18\n#### 9", "18"),
    ("hashes", "#### Total: 18 eggs", "18"),
    ("hashes", "#### x = 18\nDone.", "x = 18"),
    # headings of Markdown with as many marks
    ("stated", "#### Answer: 18", "18"),
    ("stated", "#### Answer\n\n18", "18"),
    ("stated", "#### The answer is 18\n\nQ: next", "18"),
    (
        "stated",
        "#### 1. Count\n16 - 7 = 9\n#### 2. Multiply\n9 * 2 = 18\n\nThe answer is 18.",
        "18",
    ),
    (
        "last",
        "#### Step 1: Count\n16 - 7 = 9\n#### Step 2: Multiply\n9 * 2 = 18. The total is $18.",
        "$18",
    ),
    ("last", "#### Solution\nShe sells them for 18 dollars.", "18 dollars"),
    ("boxed", "So \\boxed{18}.\n#### Check\n18 / 2 = 9", "18"),
    # statements
    ("stated", "The answer is 42.", "42"),
    ("stated", "the answer is: 42", "42"),
    ("stated", "The answer is approximately 42.", "42"),
    ("stated", "**The answer is 42.**", "42"),
    ("stated", "The final answer is **42**.", "42"),
    ("stated", "Answer: 42", "42"),
    ("stated", "**Answer:** 42", "42"),
    ("stated", "## Answer\n42", "42"),
    ("stated", "Final Answer:\n\n\\[ 42 \\]", "42"),
    ("stated", "A: 42", "42"),
    ("stated", "Ans: 42", "42"),
    ("stated", "Q: 1 + 1\nA: 42", "42"),
    ("stated", "The answer is 41. No, the answer is 42.", "42"),
    ("stated", "The answer is $42$, since $6 \\cdot 7 = 42$.", "42"),
    ("stated", "The answer is 42 because 6 * 7 = 42, as shown in step 3.", "42"),
    ("stated", "The answer is not 41 but 42.", "42"),
    ("stated", "The answer to question 3 is 42.", "42"),
    ("stated", "Final Answer: The largest $n$ is 42.", "42"),
    ("stated", "The answer is $x = 42$.", "x = 42"),
    ("stated", "Answer: 40 + 2 = 42 apples", "40 + 2 = 42 apples"),
    ("stated", "Answer: Janet has 40 apples and 2 pears, 42 in all.", "42 in all"),
    ("stated", "The answers are 2 and 3.", "2 and 3"),
    ("stated", "The answer is $18.", "$18"),
    ("stated", "The answer is \\$18.", "$18"),
    ("stated", "The answer is €18.", "€18"),
    ("stated", "The answer is 5 PM.", "5 PM"),
    ("stated", "The answer is 5:30 p.m.", "5:30 p.m"),
    ("stated", r"The answer is \frac{\sqrt3}{2}.", r"\frac{\sqrt3}{2}"),
    ("stated", r"The answer is \(\frac12\).", r"\frac12"),
    ("stated", "The answer is (3, 4].", "(3, 4]"),
    ("stated", "The answer is .5.", ".5"),
    ("stated", "The answer is Evelyn.", "Evelyn"),
    ("stated", "The answer is 42!", "42"),
    ("stated", "So x = 42. I am sure that this answer is correct.", "x = 42"),
    ("stated", r"\boxed{41} Final Answer: The final answer is $42$. I hope it is correct.", "42"),
    ("stated", "<think>The answer is 41.</think>The answer is 42.", "42"),
    ("stated", "The answer is 42.<|im_end|>The answer is 43.", "42"),
    # nothing but an answer
    ("bare", "42", "42"),
    ("bare", " $42$ ", "$42$"),
    ("bare", r"\frac{1}{2}", r"\frac{1}{2}"),
    ("bare", "x^2 + 1", "x^2 + 1"),
    ("bare", "[0, 1)", "[0, 1)"),
    ("bare", "5 dollars", "5 dollars"),
    ("bare", "2 1/2", "2 1/2"),
    ("bare", "Evelyn", "Evelyn"),
    # the last piece
    ("last", "Janet sells 9 eggs and makes $18 every day.", "$18 every day"),
    ("last", "There are 3 apples. In total that makes 5.", "5"),
    ("last", "So $a = 2$ and finally $b = \\sqrt{5}$ follows.", "b = \\sqrt{5}"),
    ("last", "Hence she pays 1,000.50€ now", "1,000.50€ now"),
    ("last", "We need 2 1/2 cups", "2 1/2 cups"),
    ("last", "The total is\n9 * 2 = <<9*2=18>>18 dollars", "18 dollars"),
    ("last", "I called AZYUK2A", ""),
]


@pytest.mark.parametrize(
    ("rule", "response", "answer"), CASES, ids=[case[1][:60] for case in CASES]
)
def test_the_answer_is_found(rule, response, answer):
    extraction = extract(response)
    assert extraction.rule == ("none" if not answer else rule)
    assert read(extraction.answer).writing == read(answer).writing


@pytest.mark.parametrize(
    "response", ["", " \n ", "I do not know.", "No mathematics here at all, sorry."]
)
def test_no_answer_is_an_empty_one(response):
    assert extract(response).answer == ""
    assert extract(response).rule == "none"


@pytest.mark.parametrize(
    ("reference", "meant"),
    [
        ("18", "18"),
        ("She makes 9 * 2 = 18 dollars.\n#### 18", "18"),
        (r"We find that $x = \boxed{\frac12}$.", r"\frac12"),
        (r"the values are \boxed{1} and \boxed{2}", "1, 2"),
        (r"$1$ and $2$ and $3$", r"$1$ and $2$ and $3$"),
        (r"\text{The answer is given by no formula}", r"\text{The answer is given by no formula}"),
        ("The answer is -552.", "-552"),
        ("Answer: 8,017,626", "8,017,626"),
        ("**Answer:**\n42", "42"),
        ("Two and three make five.\nSo the answer is $5$ dollars.", "5 dollars"),
        (
            "The answer is 5.\nThat was checked 7 times.",
            "The answer is 5.\nThat was checked 7 times.",
        ),
        ("How many answers? 5", "How many answers? 5"),
        ("There are 3 answers", "There are 3 answers"),
    ],
)
def test_a_reference_may_be_a_worked_solution(reference, meant):
    assert extract_reference(reference) == meant


def test_several_boxes_are_one_answer_where_the_reference_lists_several_values(score):
    response = r"\boxed{1} papers and \boxed{2} bins"
    assert score("1, 2", response) == 1.0
    assert score("2", response) == 1.0
    assert score("1", response) == 0.0
    assert score("1, 2", r"\boxed{1} no no no no no \boxed{2}") == 0.0


@pytest.mark.parametrize("filler", ["word ", "1 + ", "$", "(", "\n", "answer "])
def test_the_end_of_a_response_of_megabytes_is_read(filler):
    assert extract(filler * (2_000_000 // len(filler)) + "\nThe answer is 42.").answer == "42"


def test_a_box_far_before_the_end_is_found():
    assert extract("a " * 500_000 + r"\boxed{42}" + " b" * 500_000).answer == "42"
