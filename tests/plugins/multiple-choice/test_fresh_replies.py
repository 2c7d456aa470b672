"""Replies as models write them, labelled by hand before any of them was read by the evaluator.

Every table holds (reply, the letter that it answers or None) for one question. A calculation that was cut off, or that
ends with a quantity that no option has, answers nothing, whatever letters stand in it.
"""

from __future__ import annotations

import pytest

from context_bench_multiple_choice import find_letter

TEMPERATURES = (
    "$21.3^{\\circ}\\text{C}$",
    "$55.0^{\\circ}\\text{C}$",
    "$64.1^{\\circ}\\text{C}$",
    "$98.6^{\\circ}\\text{C}$",
)
ENERGIES = tuple(f"{value} J" for value in (120, 240, 360, 480, 600, 720, 840, 960, 1080, 1200))
CURRENTS = (
    "(a) 10.2 amps, (b) 20.4 amps",
    "(a) 12.5 amps, (b) 31.0 amps",
    "(a) 9.9 amps, (b) 33.3 amps",
)
FUNDS = ("It rises", "It falls", "It stays the same", "It cannot be found from the data")
WARS = tuple(f"Treaty number {number}" for number in range(1, 11))
CELLS = ("Mitochondrion", "Ribosome", "Nucleus", "Golgi apparatus")

STEPS = (
    "We write down what is given and go on from there step by step, so that every quantity can be checked. "
    "The first law relates the heat that flows in to the work that is done and to the change of the inner energy. "
) * 5

HEAT = [
    (r"The final temperature is $79.5^{\circ}\text{C}$.", None),
    (r"$79.5^{\circ}\text{C}$", None),
    (r"So the temperature is $79.5^{\circ} \mathrm{C}$", None),
    (r"The mixture settles at 79.5^{\circ}\text{C}.", None),
    (r"It is 79.5 \degree C.", None),
    (r"Thus $T = 352.6 \mathrm{~K} = 79.5^{\circ}\mathrm{C}$.", None),
    (r"The answer is $79.5^{\circ}\text{C}$.", None),
    (r"Therefore \(79.5\,^\circ\text{C}\)", None),
    ("The water boils at 79.5 °C.", None),
    ("It is 79.5 C.", None),
    (r"The answer is $55.0^{\circ}\text{C}$.", "B"),
    (r"$98.6^{\circ}\text{C}$", "D"),
    (r"The specific heat is $C$, so $C$", None),
    (r"Heat capacity is $C$ and mass is $m$.", None),
    (r"Let $A$ be the cross-section. Thus, $A$", None),
    (r"so $D$", None),
    (r"$\boxed{\text{C}}$", "C"),
    (r"Answer: $\textbf{D}$", "D"),
    (r"\(\boxed{\text{(B)}}\)", "B"),
    (r"The final temperature is $64.1^{\circ}\text{C}$, which is option C.", "C"),
    (r"$T_f = 55.0^{\circ}\text{C}$. The answer is (B).", "B"),
    (f"{STEPS} Therefore, C", None),
    (f"{STEPS} Therefore, the answer is C.", "C"),
    (f"{STEPS} It is D.", None),
    (f"{STEPS}\n\nB", "B"),
    (f"{STEPS}\n\n**B. $55.0^{{\\circ}}\\text{{C}}$**", "B"),
    (f"{STEPS} Hence the only letter used here was A.", None),
    (f"{STEPS}\nA: the area of the plate", None),
    (f"{STEPS} The correct option is (D).", "D"),
    (f"{STEPS} I choose D.", "D"),
]
WORK = [
    (r"The work done is $5 \mathrm{~J}$.", None),
    (r"The work is $W = 15\mathrm{~J}$, so \mathrm{~J}", None),
    (r"so \mathrm{~J}", None),
    (r"= 37 \mathrm{~J}", None),
    (r"Energy: $37\,\text{J}$", None),
    (r"It releases 37 \text{ J}.", None),
    (r"That gives 37 J", None),
    (r"The charge is 3 C and the current is 2 A.", None),
    (r"The field is 4 G", None),
    (r"The capacitance is $2\,\mathrm{F}$.", None),
    (r"Therefore, h", None),
    (r"Therefore, $h$", None),
    (r"Thus, g", None),
    (r"So, E", "E"),
    (r"So e", None),
    (r"Therefore, F = ma", None),
    (r"Hence $E$", None),
    (r"It is $E = mc^2$.", None),
    (r"The force is $F$.", None),
    (r"The height is h.", None),
    (r"The answer is h", "H"),
    (r"The answer is (H).", "H"),
    (r"The answer is 240 J.", "B"),
    (r"240 J", "B"),
    (r"Answer: J", "J"),
    (r"J", "J"),
    (r"The answer is J: 1200 J.", "J"),
    (r"The price is A$5.", None),
    (r"It costs C$20 in Toronto.", None),
    (r"The fee is A$ 12", None),
    (r"Therefore, C$20", None),
    (r"$\Delta G = \Delta H - T \Delta S$", None),
    (r"By symmetry, $\vec{B}$", None),
    (r"It follows that \vec{E}", None),
    (r"The enthalpy is $H$, thus $\Delta H$", None),
    (r"Since \( I = V/R \), the current is \( I \).", None),
    (f"{STEPS} Therefore, the potential energy is U and the height is h. Thus, h", None),
    (f"{STEPS} So the kinetic energy is 37 J", None),
    (f"{STEPS} Final answer: D", "D"),
    (f"{STEPS} The closest option is G.", "G"),
]
AMPS = [
    ("(a) 11.1 amps, (b) 29.4 amps", None),
    ("(a) 11.1 amps; (b) 29.4 amps.", None),
    ("The answer is (a) 11.1 amps, (b) 29.4 amps.", None),
    ("So (a) 11.1 amps and (b) 29.4 amps.", None),
    ("(a) 11.1 amps\n(b) 29.4 amps", None),
    ("The currents are (a) 11.1 A and (b) 29.4 A.", None),
    ("(a) 12.5 amps, (b) 31.0 amps", "B"),
    ("The answer is (a) 12.5 amps, (b) 31.0 amps.", "B"),
    ("(b)", "B"),
    ("(a)", "A"),
    ("B. (a) 12.5 amps, (b) 31.0 amps", "B"),
    ("The answer is (B) (a) 12.5 amps, (b) 31.0 amps.", "B"),
    ("C", "C"),
    ("Answer: (c)", "C"),
    ("11.1 A", None),
]
NAMES = [
    ("Fund A has the best return.", None),
    ("Fund A has a lower variance than Fund B.", None),
    ("Fund B is better.", None),
    ("Therefore, Fund A.", None),
    ("Company B is the only winner.", None),
    ("Bond C is more likely to default.", None),
    ("Vitamin D is best.", None),
    ("Hepatitis B is most likely.", None),
    ("The patient was given Vitamin C.", None),
    ("Plan B", None),
    ("We end at point C.", None),
    ("Car A wins.", None),
    ("Team D remains.", None),
    ("Fund A has the best return, so the answer is C.", "C"),
    ("Fund A wins. Option B is correct.", "B"),
    ("Option A has the best support.", "A"),
    ("A has the best support.", "A"),
    ("Answer: B, since Fund A falls.", "B"),
    ("Choice D is right.", "D"),
    ("A person would say that it rises or falls.", None),
    ("I cannot answer this question.", None),
    ("It depends on Fund A.", None),
    ("It stays the same.", "C"),
    ("B. It falls", "B"),
    ("(d) It cannot be found from the data", "D"),
]
HISTORY = [
    ("World War I", None),
    ("It ended World War I.", None),
    ("Therefore, World War I.", None),
    ("Elizabeth I was the best ruler.", None),
    ("It was signed by Napoleon I.", None),
    ("Henry J. Fonda signed it.", None),
    ("I is correct.", "I"),
    ("The answer is I.", "I"),
    ("Option I", "I"),
    ("I.", "I"),
    ("World War I ended it, so the answer is E.", "E"),
    ("It was Treaty number 4.", "D"),
    ("G", "G"),
    ("g)", "G"),
    ("I would go with F.", "F"),
    ("I'm sorry, but I can't help with that.", None),
    ("As an AI model, I do not answer such questions.", None),
    ("I am not able to tell.", None),
    ("None of the above.", None),
    ("F or G", None),
]
BIOLOGY = [
    ("B", "B"),
    ("**B**", "B"),
    ("B. Ribosome", "B"),
    ("Ribosome", "B"),
    ("The ribosome makes proteins, so B.", "B"),
    ("So B.", "B"),
    ("It is B.", "B"),
    ("It's B!", "B"),
    ("Not A, so C.", "C"),
    ("The answer is not A.", None),
    ("The answer is not A, it is C.", "C"),
    ("A is wrong. B is wrong. D is wrong.", None),
    ("A is wrong, B is correct.", "B"),
    ("Correct answer: **(B) Ribosome**", "B"),
    ('{"answer": "b"}', "B"),
    ("<think>It may be A, so A.</think>\n\nB", "B"),
    ("<think>It may be A, so A.", None),
    ("I think the answer is C, because the nucleus holds the DNA.", "C"),
    ("My answer: D", "D"),
    ("The Golgi apparatus, I'd say.", "D"),
    ("A and B", None),
    ("Either A or D.", None),
    ("I don't know.", None),
    ("The question cannot be answered.", None),
    ("Answer: B\n\nA is the site of respiration, C holds the DNA, and D packs proteins.", "B"),
    ("Wait, the ribosome makes proteins. The answer is B.", "B"),
    ("The answer is A. Wait, no. The answer is B.", "B"),
    ("Proteins are built by the organelle in (", None),
    ("The DNA lies in C, and proteins are made by the", None),
    ("Final answer: Ribosome", "B"),
]
TABLES = {
    "heat": (HEAT, TEMPERATURES),
    "work": (WORK, ENERGIES),
    "amps": (AMPS, CURRENTS),
    "names": (NAMES, FUNDS),
    "history": (HISTORY, WARS),
    "biology": (BIOLOGY, CELLS),
}
CASES = [
    pytest.param(reply, choices, letter, id=f"{table}-{number}")
    for table, (rows, choices) in TABLES.items()
    for number, (reply, letter) in enumerate(rows, 1)
]


def test_there_are_as_many_replies_as_promised() -> None:
    assert len(CASES) >= 150


@pytest.mark.parametrize(("reply", "choices", "letter"), CASES)
def test_the_letter_that_a_reply_answers(
    reply: str, choices: tuple[str, ...], letter: str | None
) -> None:
    found = find_letter(reply, choices)
    assert found.letter == letter, found
