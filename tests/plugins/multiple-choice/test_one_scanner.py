"""Fresh replies, labelled before the evaluator that reads every named option by one scanner had read any of them.

Every row is (reply, the letter that it answers or None). One further reply was labelled and is not read ("I'd say C is the
one."); it stands among the rare forms of test_near_misses.py.
"""

from __future__ import annotations

import pytest

from context_bench_multiple_choice import find_letter

PLANETS = ("Venus", "Mars", "Jupiter", "Saturn", "Neptune")
NUMBERS = ("12", "18", "24", "30")
TANKS = ("Tank A fills first", "Tank B fills first", "Both at once", "Neither fills")

STEPS = (
    "First we note the mass of each body, then its distance, and compare the two with what the table says. "
    * 8
)

ABOUT_PLANETS = [
    ("Answer: (e)", "E"),
    ("Definitely not B; the answer is D.", "D"),
    ("The answer is C, as Jupiter is the largest.", "C"),
    ("**Correct answer:** D) Saturn", "D"),
    ("Jupiter, without any doubt.", "C"),
    ("I'm not sure, but my best guess is B.", "B"),
    ("It can only be E.", "E"),
    ("The ring system points to Saturn, so the correct choice is D.", "D"),
    ("Let me think: Venus has no moons. Therefore the answer is (A).", "A"),
    ("A: Venus", "A"),
    ("Venus or Mars.", None),
    ("A or B, I cannot tell.", None),
    ("The answer is neither A nor B.", None),
    ("The answer is B... no, wait, it's E.", "E"),
    ("I first chose A. On reflection, the answer is C.", "C"),
    ("Options A and B can be ruled out. The answer is C.", "C"),
    ("Is it Mars? No. The answer is Jupiter.", "C"),
    ("If the answer were B, it would be red. The answer is D.", "D"),
    ("Some would argue for B, but the answer is C.", "C"),
    ("The probe Voyager I passed it.", None),
    ("Mission B was launched later.", None),
    ("Rocket D carried it.", None),
    ("Observatory A saw it first. The answer is E.", "E"),
    ("I can't answer that.", None),
    ("I won't choose any of the options.", None),
    ("Unfortunately, none of the options fits.", None),
    (f"{STEPS}\n\nThe answer is (D).", "D"),
    (f"{STEPS} So B", None),
    (f"{STEPS} It must be C, or perhaps we should look again at", None),
    (f"{STEPS} Perhaps E", None),
    (f"{STEPS}\n\n**Answer: E**", "E"),
    ("C\n\nBecause Jupiter is a gas giant.", "C"),
    ("(C) Jupiter is the right one, (D) Saturn is not.", "C"),
    ("<think>Venus, so A.</think>\n\nThe answer is B.", "B"),
    ("<scratchpad>A? B?</scratchpad>D", "D"),
    ('{"explanation": "not A", "answer": "D"}', "D"),
    ("Answer: D\n\nQ: Which planet has a great red spot?\nAnswer: C", "D"),
    ("答案是D，不是C。", "D"),
    ("La respuesta correcta es la opción B.", "B"),
    ("Die Antwort ist E, nicht C.", "E"),
    ("Answer: F", None),
    ("E = mc^2 gives the energy.", None),
    (r"The orbit has $E < 0$ and $A = \pi ab$.", None),
    (r"Its temperature is $30\,^{\circ}\mathrm{C}$.", None),
    (r"$\boxed{D}$", "D"),
    (r"\[\boxed{\text{E}}\]", "E"),
    ("The surface has 90 B of data.", None),
    ("It costs A$40 to see it.", None),
    ("The force is 12 N and the charge 3 C.", None),
    ("Let C be the centre of the orbit.", None),
    ("Take the angle at vertex B.", None),
]
ABOUT_NUMBERS = [
    ("2 * 12 = 24", "C"),
    ("24", "C"),
    ("The total is 12 + 12, so the answer is 24.", "C"),
    ("x = 18. The answer is B.", "B"),
    ("The answer is 19.", None),
    ("We get 12 apples and 6 pears, 18 in all. Answer: B", "B"),
    ("The answer is $30$.", "D"),
    (r"\boxed{18}", "B"),
    (r"Hence $n = 5 \cdot 6$, so the answer is $\boxed{\textbf{(D) } 30}$.", "D"),
    ("Answer: 24 (option C)", "C"),
    (r"It weighs $24 \mathrm{~A}$", None),
    ("The sum is 7.", None),
    ("He has 2+16 = 18 coins.\nA: 19", None),
    ("There are 8 * 75 = 600 thorns.\nA: 600", None),
    ("There are 6 pairs, so 12 of them.\nA: 12", "A"),
    ("The number of nodes of the right subtree is i - 1 - j.", None),
    ("The result is b - 1", None),
    ("Please ask, and I will do my best to help.", None),
    ("As I bid farewell, I left the island.", None),
    ("Stand tall for a better world, it's A better world.", None),
    ("Final touches:\na. Apply the dressing", None),
    ("```\nprint(f'when b = {b} is: {result}')\n```", None),
    ("Not 12, not 18 and not 24. The answer is 30.", "D"),
]
ABOUT_TANKS = [
    ("Tank A has the wider inlet.", None),
    ("Tank B", None),
    ("Tank A fills first.", "A"),
    ("Since tank B is lower, the answer is B.", "B"),
    ("Pump C is off, so tank B fills first.", "B"),
    ("Answer: Both at once", "C"),
    ("D. Neither fills", "D"),
    ("Neither fills.", "D"),
]
CASES = [
    *((reply, PLANETS, letter) for reply, letter in ABOUT_PLANETS),
    *((reply, NUMBERS, letter) for reply, letter in ABOUT_NUMBERS),
    *((reply, TANKS, letter) for reply, letter in ABOUT_TANKS),
]


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 60


@pytest.mark.parametrize(("reply", "choices", "letter"), CASES)
def test_one_scanner_reads_them_as_labelled(
    reply: str, choices: tuple[str, ...], letter: str | None
) -> None:
    found = find_letter(reply, choices)
    assert found.letter == letter, found
