from __future__ import annotations

import contextlib
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_bench_judge import UnreadableReply, read_verdict

LLMBAR = Path(__file__).resolve().parents[4] / "shared" / "data" / "outputs" / "llmbar"

REPLIES: list[tuple[str, str | None]] = [
    ('{"winner": "model_b"}', "B"),
    ("Response_A", "A"),
    ("A", "A"),
    ("B.", "B"),
    ("**A**", "A"),
    ("(b)", "B"),
    ("b", "B"),
    ("B. Because A has errors.", "B"),
    # what is said of the other one behind a verdict is none
    ("Response A is better. Response B has errors.", "A"),
    ("Response A is better; Response B is wrong.", "A"),
    ("Response A is better: B has errors.", "A"),
    ("Response A is better (B has errors).", "A"),
    ("Response A is better, B has errors.", "A"),
    ("Response A is better - B has errors.", "A"),
    ("Response B is the winner. Response A has errors.", "B"),
    ("A is the better answer. Assistant B is vague.", "A"),
    ("Assistant A is better.\nAssistant B did not answer.", "A"),
    ("A is my choice. B is verbose.", "A"),
    ("B is the best. A misses the point.", "B"),
    ("B has no answer. A has one.", None),
    ("Response B gives a wrong answer. A is right.", None),
    ("I think B has the better answer: A is wrong.", None),
    ("A is better at style, B is better in accuracy. Overall, A.", "A"),
    ("A is better. Overall, B is verbose.", "A"),
    ("It would be wrong to say A is better.", None),
    ("I disagree that B is better: A is.", None),
    ("B is more accurate. Both have the same structure.", "B"),
    ("A is better. Both are the same length.", "A"),
    ("Response A is better, as both are equally fluent.", "A"),
    ("Response B is better. They are equally long.", "B"),
    ("I prefer A. Some may prefer B.", "A"),
    # and what names one is
    ("A is more detailed, B is more concise. Both are equally good.", "tie"),
    ("A is better at style, B at facts; they are equally helpful.", "tie"),
    ("Both responses are the same.", "tie"),
    ("A is more concise, but in quality both are equal.", "tie"),
    ("Both have the same content.", "tie"),
    ("They are equally informative.", "tie"),
    ("A is better in one point, B is better in another. A tie.", "tie"),
    ("The better response: (B)", "B"),
    ("Preferred: (B)", "B"),
    ("The winner is... A!", "A"),
    ("## Verdict\n**Response A**", "A"),
    ("Since A has errors, my final answer: B", "B"),
    ("Since A has errors my final answer: B", "B"),
    ("I lean towards B.", "B"),
    ("Final decision:\n\nResponse B", "B"),
    ("The one that is better is A.", "A"),
    ("Winner - B", "B"),
    ("**B**\n\nIt names the year, which A leaves out.", "B"),
    ("A, since it is complete.", "A"),
    ("A: complete. B: vague.", None),
    ("A. Complete and right.\nB. Vague.", None),
    ("A - complete\nB - vague", None),
    ("A. No: B is better.", "B"),
    ("A good response names the year.", None),
    ("A's claim is right.", None),
    ("[[A]]", "A"),
    ("[[B]]", "B"),
    ("[[C]]", "tie"),
    ("[[tie]]", "tie"),
    ("[[A>>B]]", "A"),
    ("[[B>A]]", "B"),
    ("[[A=B]]", "tie"),
    ("[[A<B]]", "B"),
    ("My final verdict: [[A]]", "A"),
    ("A is more accurate. [[B]]", "B"),
    ("Output (a)", "A"),
    ("Output (b).", "B"),
    ("Response A", "A"),
    ("Assistant 2", "B"),
    ("Tie", "tie"),
    ("It's a tie.", "tie"),
    ("Verdict: tie", "tie"),
    ("Response A is better.", "A"),
    ("Response 1 is clearly superior.", "A"),
    ("I think B is better than A.", "B"),
    ("Response B is worse than Response A.", "A"),
    ("A is not better than B. Therefore, B is better.", "B"),
    ("A is stronger on style, but overall Response B is better.", "B"),
    ("A is more accurate.", "A"),
    ("The better response is B.", "B"),
    ("I prefer Response A.", "A"),
    ("I would choose (b).", "B"),
    ("Winner: A", "A"),
    ("Verdict: B", "B"),
    ("**Winner: Response B**", "B"),
    ("Both responses are equally good.", "tie"),
    ("Neither response is better than the other.", "tie"),
    ("<think>A is better</think>B", "B"),
    ('{"winner": "A"}', "A"),
    ('{"winner": "tie"}', "tie"),
    ('{"winner": "Response B"}', "B"),
    ('{"reason": "A is better at x", "winner": "B"}', "B"),
    ("", None),
    ("a good answer", None),
    ("The answer is a mess.", None),
    ("I cannot say.", None),
    ("Both are fine.", None),
    ("It depends on which is better.", None),
    ('{"winner": null}', None),
    ("I'm sorry, but I can't compare these.", None),
    ("I don't think B is better.", None),
    ("I can't say that A is better.", None),
    ("It is hard to say that A is better.", None),
    ("A is hardly better.", None),
    ("A rather than B is better", None),
    ("Not a tie: A is better.", "A"),
    ("B wins. It isn't a tie.", "B"),
    ("It isn't a tie.", None),
    ("B would be better if it were true, but A is better.", "A"),
    ("B would be better if it cited sources.", None),
    ("A beats B.", "A"),
    ("A > B", "A"),
    ("A<B", "B"),
    ("\\boxed{A}", "A"),
    ("2", "B"),
    ("A is arguably better.", "A"),
    ("Response A is much, much better.", "A"),
    ("Assistant B's response is better than Assistant A's.", "B"),
    ("A's answer is worse.", "B"),
    # a verdict on one aspect, and another one that prefers the other side
    ("A wins on style. B wins on accuracy.", None),
    ("A wins on style, B wins on accuracy.", None),
    ("A is better in clarity, while B is better in depth.", None),
    ("On style A wins. On accuracy B wins.", None),
    ("In terms of style, A is better. In terms of accuracy, B is better.", None),
    ("On the one hand, A is better. On the other hand, B is better.", None),
    ("Clarity: A is better.\nDepth: B is better.", None),
    ("A is better organized. B is better written.", None),
    ("A is better in style, B in accuracy.", None),
    ("A edges out B in style, B in accuracy.", None),
    ("Verdict: A for style, B for accuracy", None),
    ("A is better. B is more concise and more helpful.", "A"),
    ("Response B is better. Response A is more complete.", None),
    ("A is worse in style, B in accuracy.", None),
    # and what settles it
    ("A wins on style. B wins on accuracy. Overall, B wins.", "B"),
    ("A wins on style. B wins on accuracy. Therefore, A is better.", "A"),
    ("A wins on style and B on accuracy, so it's a tie.", "tie"),
    ("Clarity: A is better.\nDepth: B is better.\nVerdict: A", "A"),
    ("A wins on style. B wins on accuracy. [[B]]", "B"),
    ("A is better in style. On closer inspection, B is better.", "B"),
    ("At first sight A is better. In my opinion, B is better.", "B"),
    ("A is better in style. B is better in every other respect.", "B"),
    ("A is better in style, but B is better for this question.", "B"),
    ("A is better in style and in accuracy.", "A"),
    ("A wins on accuracy.", "A"),
    ("B is better in style. A is worse in accuracy.", "B"),
    ("A is more accurate. A is better in style, too. B is short.", "A"),
    ("Verdict: A for its accuracy", "A"),
    # forms that published prompts ask for
    ('{"reason of A>B": "style", "reason of B>A": "facts", "choice": "A++"}', "A"),
    ('{"reason of A>B": "style", "reason of B>A": "facts", "choice": "B+"}', "B"),
    ('{"reason of A>B": "", "reason of B>A": "", "choice": "A=B"}', "tie"),
    ('{\n "reason of A>B": "style",\n "reason of B>A": "facts",\n "choice": "B++",\n}', "B"),
    ('{\n "reason of A>B": "style",\n "reason of B>A": "facts",\n "choice": "A=B",\n}', "tie"),
    ('{\n "choice": "A<B",\n}', "B"),
    ('{"reason of A>B": "style", "reason of B>A": "facts", "choice": ""}', None),
    ("A++", "A"),
    ("[[B+]]", "B"),
    ("My final verdict is A=B", "tie"),
    ("My final verdict is A<<B.", "B"),
    ("My final verdict is: [A>B]", "A"),
    ("[B>>A]", "B"),
    ("Verdict: A≪B", "B"),
    ("Feedback: Both name the year. [RESULT] A", "A"),
    ("Feedback: Response A is more fluent. [RESULT] (B)", "B"),
    ("[RESULT] A response that names the year.", None),
    ("Comparison: B is more thorough.\nMore helpful: B", "B"),
    ("Comparison: A is more thorough.\nPreferred: 2", "B"),
    ("2\n\n### Reason: it names the year", "B"),
    ("1\n\nIt names the year.", "A"),
    ("2 errors in A, none in B", None),
    ("1\n2\n", None),
    ("1. It is complete.\n2. It is vague.", None),
    ("Therefore [[B]] is better than [[A]].", "B"),
]


@pytest.mark.parametrize(("reply", "verdict"), REPLIES, ids=[repr(reply) for reply, _ in REPLIES])
def test_a_verdict_is_read_as_a_person_reads_it(reply: str, verdict: str | None) -> None:
    if verdict is None:
        with pytest.raises(UnreadableReply, match="the judge preferred neither"):
            read_verdict(reply)
    else:
        assert read_verdict(reply) == verdict


@given(st.text() | st.text(alphabet="ABab12()[]<>=.: tiebroutpwnscha"))
def test_any_text_is_a_verdict_or_unreadable(text: str) -> None:
    try:
        assert read_verdict(text) in ("A", "B", "tie")
    except UnreadableReply:
        pass


PUBLISHED = [  # accuracy in the given order and with the two outputs swapped
    ("natural.gpt-4-vanilla", 95.0, 96.0),
    ("natural.gpt-4-cot", 94.0, 95.0),
    ("natural.chatgpt-vanilla", 80.0, 83.0),
    ("gptinst.gpt-4-vanilla", 84.783, 88.043),
    ("gptinst.gpt-4-cot", 81.522, 84.783),
    ("gptinst.chatgpt-vanilla", 27.174, 26.087),
    ("manual.gpt-4-vanilla", 76.087, 84.783),
    ("manual.gpt-4-cot", 71.739, 76.087),
    ("manual.chatgpt-vanilla", 39.130, 30.435),
]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "in_order", "swapped"), PUBLISHED, ids=[row[0] for row in PUBLISHED]
)
def test_recorded_comparisons_of_llmbar_give_the_published_accuracies(
    name: str, in_order: float, swapped: float
) -> None:
    path = LLMBAR / f"{name}.result.json.gz"
    if not path.is_file():
        pytest.skip("the recorded LLMBar comparisons are not beside this checkout")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows: list[dict[str, Any]] = json.load(file)
    right = {"swap = False": 0, "swap = True": 0}
    for row in rows:
        for order, result in row["results"][0].items():
            winner = {"A": 1, "B": 2}[read_verdict(result["completion"][0])]
            winner = 3 - winner if order == "swap = True" else winner
            assert str(winner) == result["winner"]
            right[order] += winner == row["label"]
    accuracies = [100 * count / len(rows) for count in right.values()]
    assert accuracies == pytest.approx([in_order, swapped], abs=0.001)


@pytest.mark.parametrize(
    "unit",
    [
        "(",
        "[[",
        "A ",
        "A is a ",
        "verdict is ",
        "prefer ((",
        "better \n",
        "a tie? ",
        "A=",
        "[result] ",
        "A in style, ",
    ],
)
def test_a_huge_reply_is_read_in_one_pass(unit: str) -> None:
    """Where the search began again at every place, these took minutes."""
    with contextlib.suppress(UnreadableReply):
        read_verdict(unit * (100_000 // len(unit)))
