from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_bench_judge import Scale, UnreadableReply, read_rating

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "outputs"

# Replies to a judge that was asked for 1 to 5, and the rating that a person reads in them. None: a person would not be sure.
PLAIN: list[tuple[str, float | None]] = [
    ("4", 4),
    ("4.", 4),
    (" 4\n", 4),
    ("**4**", 4),
    ("4.5", 4.5),
    ("4,5", 4.5),
    ("4½", 4.5),
    ('"4"', 4),
    ("(4)", 4),
    ("[4]", 4),
    ("`4`", 4),
    ("four", 4),
    ("Four.", 4),
    ("４", 4),
    ("4 points", 4),
    ("4 stars", 4),
    ("Three stars.", 3),
    ("4/5", 4),
    ("4.0/5", 4),
    ("4 out of 5", 4),
    ("5/5 - perfect", 5),
    ("Perfect, 5/5!", 5),
    ("Answer: 4", 4),
    ("5\n\nThe response is correct and complete.", 5),
    ("4 - The answer is right but terse.", 4),
    ("4: right but terse", 4),
    ("3. The response misses two facts.", 3),
    ("The response is right.\n\n4", 4),
    ("1. Correct.\n2. Brief.\n\n4", 4),
    ("★★★★☆", 4),
    ("⭐⭐⭐", 3),
    ("Rating: ★★☆☆☆", 2),
]
MARKED: list[tuple[str, float | None]] = [
    ("[[4]]", 4),
    ("Rating: [[4]]", 4),
    ("Feedback: It has 3 of 5 facts. [RESULT] 2", 2),
    ("Feedback: right. [RESULT] (4)", 4),
    ("[RESULT] 6", None),
    ("I rate it 4 (on a scale from 1 to 5, where 5 is best).", 4),
    ("I rate it 4 (on a scale from 1 to 10).", None),
    ("得分为4", 4),
    ("评分是3，有2处错误", 3),
    ("スコアは4です", 4),
    ("점수는 4점", 4),
    ("Good work. Rating: [[ 4.5 ]]", 4.5),
    ("My rating: **[[3]]**.", 3),
    ("[[4/5]]", 4),
    ('The format is "[[5]]", for example. Rating: [[2]]', 2),
    ("It says [[5]] itself. Rating: [[1]]", 1),
    ("<rating>4</rating>", 4),
    ("<score> 4 </score> because it is good", 4),
    ("<reason>2 slips</reason><final_rating>3</final_rating>", 3),
    ("\\boxed{4}", 4),
    ("The final score is: $\\boxed{4}$", 4),
]
LABELLED: list[tuple[str, float | None]] = [
    ("Rating: 4", 4),
    ("Score: 4", 4),
    ("rating = 4", 4),
    ("Rating:4", 4),
    ("RATING: 4", 4),
    ("Rating: 4.", 4),
    ("Rating: 4.0/5.0", 4),
    ("**Score:** 4.5", 4.5),
    ("**Score**: 4", 4),
    ("**Rating: 4**", 4),
    ("__Rating__: 4", 4),
    ("_Rating: 4_", 4),
    ("`Rating: 4`", 4),
    ("> Rating: 4", 4),
    ("* Rating: 4", 4),
    ("- Rating: 4", 4),
    ("### Rating\n\n4", 4),
    ("## Rating: 4", 4),
    ("Rating:\n\n**4**", 4),
    ("Rating - 4", 4),
    ("Rating – 4", 4),
    ("Rating — 4", 4),
    ("Rating 4", 4),
    ("Rating -> 4", 4),
    ("Rating\t4", 4),
    ("Score=4", 4),
    ("Grade: 4", 4),
    ("| Rating | 4 |", 4),
    ('Rating: "4"', 4),
    ("Rating: <4>", 4),
    ("Rating: ~4", 4),
    ("Rating: about 4", 4),
    ("Rating: 5+", 5),
    ("Rating: four", 4),
    ("Rating: one", 1),
    ("Rating: Four out of five", 4),
    ("Rating: 4/5", 4),
    ("Rating: 4 / 5", 4),
    ("Rating: 4 out of 5", 4),
    ("Rating: 4 (out of 5)", 4),
    ("Rating: 4/5 (80%)", 4),
    ("Rating: 1 (poor)", 1),
    ("Rating: Good (4)", 4),
    ("Rating (1-5): 4", 4),
    ("Rating [1-5]: 4", 4),
    ("Rating from 1 to 5: 4", 4),
    ("Rating on a scale of 1 to 5: 4", 4),
    ("Rating out of 5: 4", 4),
    ("Score (out of 5): 4", 4),
    ("Score (max 5): 4", 4),
    ("Score /5: 4", 4),
    ("Final rating: 4", 4),
    ("Overall: 4", 4),
    ("Overall score: 4", 4),
    ("Overall, 4/5.", 4),
    ("Overall rating: **4 out of 5 stars**", 4),
    ("Quality rating: 4", 4),
    ("Correctness score: 4", 4),
    ("Judgement: 4", 4),
    ("My rating is 4.", 4),
    ("The score I would give is 4.", 4),
    ("The rating for this response is 4.", 4),
    ("I'd put the score at 4.", 4),
    ("a score of 4", 4),
    ("A rating of four seems fair.", 4),
    ("I am giving this response a rating of **4**.", 4),
    ("My final verdict is a 4.", 4),
    ("So the rating would be 4.", 4),
    ("评分：4", 4),
    ("评分4分", 4),
    ("总分：4/5", 4),
    ("スコア：4", 4),
    ("평점: 4점", 4),
    ("Bewertung: 4 von 5", 4),
    ("Note : 4/5", 4),
    ("Puntuación: 4", 4),
    ("Оценка: 4", 4),
]
STATED: list[tuple[str, float | None]] = [
    ("On a scale of 1 to 5, I rate this a 4", 4),
    ("On a scale from 1 to 5, I would rate this response a 4.", 4),
    ("scale of 1 to 5: 4", 4),
    ("On a scale of 1 to 5: 4", 4),
    ("1-5: 4", 4),
    ("Using the 1-5 scale, this is a 4.", 4),
    ("On a 5-point scale, this is a 4.", 4),
    ("I would rate the response as a 4 out of 5.", 4),
    ("I'd give it a 4.", 4),
    ("I give this answer 4 points.", 4),
    ("I'd give this a solid 4.", 4),
    ("I rate this one a 4.", 4),
    ("I rate this response 3.", 3),
    ("I would go with a 4.", 4),
    ("I will settle on 3.", 3),
    ("We assign a 2 here.", 2),
    ("I'd say 4.", 4),
    ("Let me give 3 points.", 3),
    ("This deserves a 4.", 4),
    ("It earns a 4 for accuracy.", 4),
    ("The output earns four out of five.", 4),
    ("The response gets a 3 because it misses a fact.", 3),
    ("The response receives 2 out of 5.", 2),
    ("Based on the rubric, the response would receive a score of 2 out of 5.", 2),
    ("Rated 4/5", 4),
    ("Therefore, the answer is rated 4.", 4),
    ("It's a 4.", 4),
    ("A 4 seems right.", 4),
    ("This is a solid 4!", 4),
    ("Probably a 4.", 4),
    ("Hence 4.", 4),
    ("There is no response to rate, so 1.", 1),
    ("Ich gebe 4 von 5 Punkten.", 4),
    ("Je donne une note de 4 sur 5.", 4),
]
AMONG_OTHERS: list[tuple[str, float | None]] = [
    ("1 is the worst and 5 is the best. Rating: 2", 2),
    ("With 1 being terrible and 5 being excellent, I give it a 3.", 3),
    ("The response lists 3 of the 4 items. Rating: 2", 2),
    ("It has 5 paragraphs and 2 errors. I rate it 3.", 3),
    ("I considered a 3 but I give it a 4.", 4),
    ("I would have given it a 5, but it misses a date, so I give it a 3.", 3),
    ("Not a 5 but a 4.", 4),
    ("The score is not a 5 but 4", 4),
    ("It isn't a 5. It's a 4.", 4),
    ("It's a 4. It isn't a 5.", 4),
    ("This isn't a 5 but a 4.", 4),
    ("It wasn't a 2, it was a 3.", 3),
    ("It won't get a 5. It's a 4.", 4),
    ("I didn't give it a 5. It's a 4.", 4),
    ("Rating isn't a 5, it's a 4.", 4),
    ("Isn't a 5.", None),
    ("It's hardly a 5. It's a 4.", 4),
    ("It is never a 5. It's a 4.", 4),
    ("Far from a 5. It's a 4.", 4),
    ("It is neither a 5 nor a 3. It is a 4.", 4),
    ("It is above a 3. It's a 4.", 4),
    ("Because the answer isn't complete I give it a 3.", 3),
    ("Since it doesn't cite anything I give it a 3.", 3),
    ("As I can't give it a 5 I settle on a 4.", None),
    ("It hasn't any sources, which is why I give it a 3.", 3),
    ("The response above deserves a 4.", 4),
    ("This isn't great - a 3.", 3),
    ("The score isn't hard to give: 4", 4),
    ("I'd rate this between 3 and 4, so 3.", 3),
    ("The response is not perfect and gets a 4.", 4),
    ("I cannot find any fault, so I rate this 5.", 5),
    ("Accuracy: 3/5\nStyle: 5/5\nOverall: 4/5", 4),
    ("Accuracy score: 3\nStyle score: 5\nFinal score: 4", 4),
    ("Rating: 4\nConfidence: 5", 4),
    ("Rating: 4. Confidence: 90%", 4),
    ("Initial rating: 2. Final rating: 3.", 3),
    ("Rating: 2\n\nOn reflection:\n\nRating: 3", 3),
    ("Step 1: check facts. Step 2: check style. Rating: 3", 3),
    ("The reference says 42, the response 41. Score: 1", 1),
    ("The reference answer states 5, the response states 4. The response is wrong. Rating: 1", 1),
    ("I give the response a rating of 1, since it says 5 instead of 4.", 1),
    ("The answer is incorrect; it says 5 rather than 4. I rate it a 1.", 1),
    ("The team won with a score of 3 to 1. Rating: 4", 4),
    ("Rating: 1\nThe response claims a score of 5 in the match.", 1),
    ("The student got a grade of 3 in the text. I rate the response 5.", 5),
    ("The response took rating 4 of the film. Rating: 2", 2),
    ("That is 80% correct. Rating: 4", 4),
    ("<think>Maybe a 2? Rating: 2</think>\nRating: 4", 4),
    ("Rating: 2 perhaps...</think>4", 4),
]
JSON: list[tuple[str, float | None]] = [
    ('{"rating": 4}', 4),
    ('{"rating": 4.0}', 4),
    ('{"rating": "4"}', 4),
    ('{"rating": "four"}', 4),
    ('{"rating": "4 - good"}', 4),
    ('{"Rating": "4/5"}', 4),
    ('[{"rating": 4}]', 4),
    ('{"reason": "Two of 3 facts.", "rating": 2}', 2),
    ('{"reason": "I rate 5", "rating": 2}', 2),
    ('```json\n{"score": 4.5, "reason": "x"}\n```', 4.5),
    ('Here it is: {"reason": "ok {really}", "final_rating": 3} Bye.', 3),
    ('{"accuracy": 3, "style": 5, "overall": 4}', 4),
    ('{"result": {"rating": 4}}', 4),
    ('{"rating": 4, "confidence": 0.9}', 4),
    ('{"rating": 2}{"rating": 3}', 3),
    ("{'rating': 4,}", 4),
    # an object that is not quite JSON is still one: its reason holds no rating
    ('{"reason": "I give it a 2 for style. Overall: 2.", "rating": 4,}', 4),
    ('{"reason": "Accuracy: 3/5\nOverall: 2 slips\n", "rating": 4}', 4),
    ('{\n"strengths": "- Names 3\n- Score: 5",\n"weaknesses": "Score: 1",\n"score": "4",\n}', 4),
    ('{"reason": "Rating: 2\n"}', None),
    ('{"rating": null}', None),
    ('{"rating": true}', None),
    ('{"rating": 11}', None),
    ('{"rating": [4]}', None),
    ('{"rating": "3-4"}', None),
    ('{"rating": "8/10"}', None),
    ('{"score": "N/A"}', None),
    ('{"explanation": "has 3 facts"}', None),
    ('{"accuracy": {"score": 3}, "style": {"score": 5}}', None),
]
NONE: list[tuple[str, float | None]] = [
    (reply, None)
    for reply in (
        "",
        "10",
        "0",
        "6",
        "-3",
        "null",
        "nan",
        "inf",
        "4th",
        "8/10",
        "[[7]]",
        "Rating: 10",
        "Rating: 0",
        "Rating: -3",
        "Rating: 100",
        "Rating: 5.5",
        "Rating: 8/10",
        "Rating: 4/10",
        "Rating: 80%",
        "Score: 1e3",
        "On a scale of 1 to 10, I rate this a 4.",
        "On a 10-point scale this is a 4.",
        "Rating: 4-5",
        "Rating: 3 or 4",
        "Rating: 2–3",
        "3 to 4",
        "I'd say 3-4.",
        "The answer is a 2, at best a 3.",
        "Accuracy: 3/5\nStyle: 5/5",
        "1. Accuracy is good.\n2. Style is poor.",
        "I'm sorry, but I can't help with that.",
        "As an AI, I cannot rate this.",
        "No rating possible.",
        "There is no response to rate.",
        "The response lists 3 items.",
        "The answer contains 2 errors and 5 facts.",
        "It names the 4 seasons.",
        "The capital has 3 million people.",
        "I rate this one.",
        "This would have been a 5.",
        "GPT-4 wrote this.",
        "Version 4.2.1",
        "The year 2024.",
        "See 4/5/2024.",
        "Good.",
        "Rating: Good",
        "Rating: N/A",
        "Rating: [[rating]]",
        "Rating: A",
        "Rating: 4th",
        "On a scale of 1 to 5",
        "Please provide a rating from 1 to 5.",
        "<think>Rating: 4",
        "Rating: 1 2 3 [4] 5",
        "Rating: 1, 2, 3, **4**, 5",
        "Rating: 1/2/3/4/5",
        "Rating: 1 | 2 | 3 | X | 5",
        "Score: 3; 4",
        "Rating: 3 and 4",
        "Rating: 2 -> 4",
        "Rating: 2 → 4.",
        "Rating: 2, revised to 4",
        "Rating: 2. Actually, 4.",
    )
]
NUMBERS_BEHIND_A_RATING: list[tuple[str, float | None]] = [
    ("Rating: ~~2~~ 4", 4),
    ("Rating: ~~2~~", None),
    ("Rating: *4", 4),
    ("Rating: `4", 4),
    ("Rating: 4, 5 facts right", 4),
    ("Rating: 4 5 facts are right", 4),
    ("Rating: 4. 5 facts are right.", 4),
    ("Rating: 3, 4 with fixes", 3),
    ("1. Rating: 4 2. Reason: short", 4),
    ("Rating: 4 4", 4),
    ("Rating: 4 (2024)", 4),
    ("Rating: 4\n5", 4),
]
FRACTIONS_AND_SUMS: list[tuple[str, float | None]] = [
    ("I would give it two stars out of five.", 2),
    ("It earns 4 points out of 5.", 4),
    ("Rating: 3 1/2", 3.5),
    ("3 1/2", 3.5),
    ("Three and a half out of five.", 3.5),
    ("★★★½", 3.5),
    ("Total: 1+1+1+0+0 = 3", 3),
    ("Total: 1 + 1 + 1", None),
    ("5 - 1 = 4", 4),
    ("Overall: (4+5+3)/3 = 4", 4),
    ("4/5 for accuracy and 3/5 for style.", None),
    ("4/5 for accuracy and 4/5 for style.", 4),
    ("At least a 3.", None),
    ("I refuse to give a score of 5.", None),
    ("We decline to give it a 4.", None),
    ("\\(4\\)", 4),
    ("I'd rate it 4️⃣", 4),
]
OF_THE_WHOLE: list[tuple[str, float | None]] = [
    ("3 out of 5 in style but overall it's a solid 4", 4),
    ("Style: 3. Overall it's a solid 4.", 4),
    ("3/5 for style. Overall, it is a 4/5.", 4),
    ("3 out of 5 in style, 4 out of 5 overall", 4),
    ("3 out of 5 for style but a 4 overall", 4),
    ("4 out of 5 stars overall. Style: 2/5.", 4),
    ("3/5 overall at first, 4/5 overall.", 4),
    ("Not a 5 overall. It's a 4.", 4),
    ("It has 3 errors overall. Rating: 2", 2),
    ("It names 3 overall.", None),
    ("Overall it's 3 pages long.", None),
    ("Overall it's one of the best. I give it a 5.", 5),
    ("Overall it isn't a 5. It's a 4.", 4),
    ("Overall, it has 2 errors. 4/5", 4),
]
RULED_OUT: list[tuple[str, float | None]] = [
    ("A 5 would be too generous. It's a 4.", 4),
    ("A score of 5 would be overly generous. A 4 is fair.", 4),
    ("A 5/5 would be too generous. It's a 4/5.", 4),
    ("A 3 is too low and a 5 too high, so 4.", 4),
    ("A 2 would be too harsh, a 4 a bit too generous. It's a 3.", 3),
    ("A 4 seems right. A 5 would be unwarranted.", 4),
    ("A 5 would not be justified. It's a 4.", 4),
    ("This is a 4. A 5 would require citations.", 4),
    ("A 5 is out of reach. It's a 4.", 4),
    ("I considered a 5, but it's a 4.", 4),
    ("A 5 would be too much.", None),
    ("A 5-star rating would be a stretch.", None),
    ("I'd give it a 4. A human might give it a 3.", 4),
    ("I rate it 3, though others may rate it 5.", 3),
    ("Some could give this a 5.", None),
    ("Score: 5 → 4 after review", None),
    ("I give it a 3. If it had cited sources, I would give it a 5.", 3),
    ("I give it a 3. I would give it a 5 if it had cited sources.", 3),
    ("I give it a 3. Had it cited sources, I would give it a 5.", 3),
    ("I give it a 3. If the response were shorter, I'd rate it 4.", 3),
    ("I give this a 4. To earn a 5, it must cite sources.", 4),
    ("Score: 3\nIf fixed, score: 5", 3),
    ("Score: 3\n\nIf these errors are corrected, the score is 5.", 3),
    ("The response deserves a 3. The reference answer deserves a 5.", 3),
    ("If it had cited sources, I would give it a 5.", None),
    ("With sources I would give it a 5", None),
    ("With more sources, I would give it a 5. It's a 3.", 3),
    ("With better sources this would be a 5. As is, it's a 3.", 3),
    ("Without the two errors, I would give it a 5.", None),
    ("Without the error I'd give it a 5. I give it a 3.", 3),
    ("Without the error, it'd be a 5", None),
    ("I'd have given it a 5, but I give it a 3.", 3),
    ("I'd have given a 5 with sources.", None),
    # and what rules nothing out
    ("With two errors, I would give it a 3.", 3),
    ("With this in mind, I would give it a 4.", 4),
    ("With its clear structure, I would give it a 5.", 5),
    ("With more errors than the reference, I would give it a 2.", 2),
    ("Without sources, I would give it a 2.", 2),
    ("Without the problem statement, I would give it a 2.", 2),
    ("It comes with sources, so I would give it a 5.", 5),
    ("If I had to choose, I would give it a 4.", 4),
    ("If it were up to me, I would give it a 4.", 4),
    ("If you ask me, I would rate it 4.", 4),
    ("If the question is taken literally, I would rate this 4.", 4),
    ("I would give it a 4, even if it has two errors.", 4),
    ("I would rate it 4. If it had cited sources, it would be perfect.", 4),
    ("It does enough to earn a 4.", 4),
    ("It matches the reference answer and deserves a 5.", 5),
    ("Compared to the reference answer, I give it a 3.", 3),
    ("Rating: 4. It could be fixed.", 4),
    ("I had the impression that I would rate it 4.", 4),
    ("I think I could give it a 4.", 4),
    ("As a reader I might give it a 4.", 4),
    ("Some people might disagree, but I give it a 4.", 4),
    ("A careful grader would give it a 4.", 4),
    ("Score: 4, 3 after rounding errors are counted twice", None),
    ("Score: 4 after review", 4),
    ("I give this response a 3, too generous perhaps.", 3),
    ("Score: 2 (too harsh a tone)", 2),
    ("Rating: 1\nToo generous with its claims.", 1),
    ("I'd give it a 4; it is too long.", 4),
    ("Rating: 4 - too short to be excellent.", 4),
    ("I'd say a 4 would be fair.", 4),
    ("Rating: 4 would be fair.", 4),
    ("I rate it 2 because it is too generous with facts.", 2),
    ("Score: 3 needs more detail", 3),
    ("I would give a 4 as it is too strict in places.", 4),
    ("All things considered, a 4.", 4),
    ("The score is 4 (a 5 would need sources).", 4),
]
REPLIES = (
    PLAIN
    + MARKED
    + LABELLED
    + STATED
    + AMONG_OTHERS
    + JSON
    + NONE
    + FRACTIONS_AND_SUMS
    + NUMBERS_BEHIND_A_RATING
    + OF_THE_WHOLE
    + RULED_OUT
)


@pytest.mark.parametrize(
    ("reply", "rating"), REPLIES, ids=[repr(reply)[:60] for reply, _ in REPLIES]
)
def test_a_reply_is_read_as_a_person_reads_it(reply: str, rating: float | None) -> None:
    if rating is None:
        with pytest.raises(UnreadableReply, match="the judge"):
            read_rating(reply)
    else:
        assert read_rating(reply) == rating


SCALES: list[tuple[str, Any, float]] = [
    ("10", (1, 10), 10),
    ("Rating: [[8.5]]", (1, 10), 8.5),
    ("8/10", "1-10", 8),
    ("On a scale of 1 to 10, I rate this an 8.", (1, 10), 8),
    ("85", (0, 100), 85),
    ("Rating: 85%", (0, 100), 85),
    ("85/100", "0-100", 85),
    ("0", (0, 1), 0),
    ("Score: 0.75", (0, 1), 0.75),
    ("0.8/1", (0.0, 1.0), 0.8),
    ("Rating: -1", (-2, 2), -1),
    ("Score (0-3): 2", (0, 3), 2),
    ("three", (0, 3), 3),
]


@pytest.mark.parametrize(("reply", "scale", "rating"), SCALES)
def test_any_scale_can_be_asked_for(reply: str, scale: Any, rating: float) -> None:
    assert read_rating(reply, scale) == rating


WHY = [
    ("10", "the judge gave 10, which is outside 1 to 5"),
    ("Rating: 8/10", "the judge gave 8 out of 10 on another scale than 1 to 5"),
    ("Rating: 80%", "the judge gave 80 percent, not a rating from 1 to 5"),
    ("Rating: 3-4", "the judge could not decide between 3 and 4"),
    ("Rating: 2 -> 4", "the judge gave 2 and 4 where one rating belongs"),
    ("Accuracy: 3/5\nStyle: 5/5", "the judge gave several ratings (3, 5) and no overall one"),
    ("I'm sorry, I can't.", "the judge gave no rating: \"I'm sorry, I can't.\""),
    ('{"rating": null}', "the judge gave None as its rating"),
]


@pytest.mark.parametrize(("reply", "reason"), WHY)
def test_an_unreadable_reply_says_why(reply: str, reason: str) -> None:
    with pytest.raises(UnreadableReply) as caught:
        read_rating(reply)
    assert str(caught.value) == reason


@given(st.text() | st.text(alphabet="0123456789./[]{}-:,\"' \nratingscoeuf"))
def test_any_text_is_a_rating_on_the_scale_or_unreadable(text: str) -> None:
    try:
        rating = read_rating(text)
    except UnreadableReply:
        return
    assert 1 <= rating <= 5


@given(
    rating=st.integers(1, 5),
    before=st.text(alphabet=st.characters(exclude_categories=["Nd", "Nl", "No", "Cs"])),
)
def test_a_final_line_with_the_rating_in_brackets_always_counts(rating: int, before: str) -> None:
    before = before.replace("<", " ").replace("{", " ")
    assert read_rating(f"{before}\nRating: [[{rating}]]") == rating


@pytest.mark.parametrize(
    "reply",
    [
        "{" * 100_000,
        "\x00" * 100_000,
        "a" + "_" * 100_000 + "b",
        "[" * 100_000 + "4" + "]" * 100_000,
        "4 " * 50_000,
        "rating " * 20_000,
        "a b c " * 50_000,
        "[[" * 50_000,
        " " * 100_000,
        "\n" * 100_000,
        " \n" * 50_000,
        "1+" * 50_000,
        "1 - " * 25_000,
    ],
    ids=[
        "braces",
        "null characters",
        "low lines",
        "brackets",
        "numbers",
        "labels",
        "words",
        "double brackets",
        "blanks",
        "lines",
        "blank lines",
        "sums",
        "dashes",
    ],
)
def test_a_huge_reply_is_read_to_its_end(reply: str) -> None:
    assert read_rating(reply + "\nRating: [[2]]") == 2


@pytest.mark.parametrize(
    ("written", "scale"),
    [
        ((1, 5), (1, 5)),
        ("1-5", (1, 5)),
        ("0-100", (0, 100)),
        ("0:1", (0, 1)),
        ("1 to 10", (1, 10)),
        ([0.5, 2], (0.5, 2)),
        ("-2..2", (-2, 2)),
    ],
)
def test_a_scale_is_written_as_a_pair_or_as_text(written: Any, scale: tuple[float, float]) -> None:
    ends = Scale.of(written)
    assert (ends.low, ends.high) == scale


@pytest.mark.parametrize(
    "written",
    ["", "5", "5-1", (5, 5), (1,), (1, 2, 3), "a-b", None, 7, (1, math.inf), (math.nan, 1)],
)
def test_what_is_no_scale_is_refused(written: Any) -> None:
    with pytest.raises(ValueError, match="A scale"):
        Scale.of(written)


@pytest.mark.shared
def test_recorded_judgments_of_mt_bench_parse_to_their_stored_score() -> None:
    path = SHARED / "mt-bench.claude-3.gpt-4-single-judgments.jsonl.gz"
    if not path.is_file():
        pytest.skip("the recorded MT-bench judgments are not beside this checkout")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        judgments = [json.loads(line) for line in lines]
    read = [read_rating(judgment["judgment"], (1, 10)) for judgment in judgments]
    assert len(read) == 320
    assert read == [judgment["score"] for judgment in judgments]
    means = {
        model: sum(
            rating for rating, judgment in zip(read, judgments) if judgment["model"] == model
        )
        / 160
        for model in ("claude-3-5-sonnet-20240620", "claude-3-opus-20240229")
    }
    assert {model: round(mean, 3) for model, mean in means.items()} == {
        "claude-3-5-sonnet-20240620": 9.206,
        "claude-3-opus-20240229": 8.675,
    }


@pytest.mark.parametrize(
    "reply",
    [
        "I would rate it between 3 and 4.",
        "Rating: between 3 and 4",
        "It is between three and four",
        "Somewhere between a 3 and a 4.",
        "The score is 3 or four.",
        "Score: between 3.5 and 4",
    ],
)
def test_a_judge_that_cannot_decide_gave_no_rating(reply):
    with pytest.raises(UnreadableReply):
        read_rating(reply)


@pytest.mark.parametrize(
    ("reply", "rating"),
    [
        ("I was going to say 5, but I rate it 4.", 4),
        ("We were inclined to give a 2; the score is 3", 3),
        ("It lies between 3 and 4, leaning to 4. Rating: 4", 4),
        ("On a scale between 1 and 5, I rate this 4.", 4),
        ("The rating is between 4 and 5. Final rating: 5", 5),
    ],
)
def test_a_range_does_not_hide_the_rating_that_follows(reply, rating):
    assert read_rating(reply) == rating
