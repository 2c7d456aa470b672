"""Real references and real responses: recorded GSM8K solutions with their authors' verdicts, MATH solutions, MGSM rows."""

from __future__ import annotations

from itertools import pairwise

import pytest

from context_bench_math import extract

pytestmark = pytest.mark.shared

SYSTEMS = ["6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"]
SHAPES = [
    *(
        "%s",
        "$%s$",
        r"\boxed{%s}",
        "#### %s",
        "A: %s",
        "Answer: %s",
        "**Answer:** $%s$",
        "The answer is %s.",
        "The answer is $%s$.",
    ),
    *("So we get\n\\[ %s \\]", "Therefore the result is $%s$ as wanted."),
    "Final Answer: The final answer is $%s$. I hope it is correct.",
]

LABELS = {
    "bn": "উত্তর: ",
    "de": "Antwort: ",
    "en": "Answer: ",
    "es": "Respuesta: ",
    "fr": "Réponse : ",
    "ja": "答え：",
    "ru": "Ответ: ",
    "sw": "Jibu: ",
    "te": "సమాధానం: ",
    "th": "คำตอบ: ",
    "zh": "答案：",
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_recorded_gsm8k_solutions_get_the_verdicts_of_their_authors(score, shared_lines, system):
    references = {row["question"]: row["answer"] for row in shared_lines("gsm8k.raw.jsonl.gz")}
    rows = shared_lines("outputs/gsm8k.example-model-solutions.jsonl.gz")
    assert len(rows) == 900
    differing = [
        row["question"]
        for row in rows
        if (score(references[row["question"]], row[system]["solution"]) == 1.0)
        is not row[system]["is_correct"]
    ]
    assert differing == []


def test_the_accuracy_of_the_recorded_gsm8k_solutions(score, shared_lines):
    rows = shared_lines("outputs/gsm8k.example-model-solutions.jsonl.gz")
    accuracy = {
        system: round(
            100
            * sum(
                score(row["ground_truth"].split("A: ")[-1], row[system]["solution"]) for row in rows
            )
            / 900,
            2,
        )
        for system in SYSTEMS
    }
    assert accuracy == {
        "6b_finetuning": 22.22,
        "6b_verification": 40.11,
        "175b_finetuning": 35.0,
        "175b_verification": 57.33,
    }


def test_every_math_solution_has_its_own_answer(score, shared_lines):
    rows = shared_lines("math.raw.jsonl.gz")
    assert len(rows) == 300
    assert [row["answer"] for row in rows if score(row["answer"], row["solution"]) != 1.0] == []
    assert [row["answer"] for row in rows if score(row["solution"], row["answer"]) != 1.0] == []


@pytest.mark.parametrize("shape", SHAPES)
def test_every_math_answer_is_found_in_any_usual_shape(score, shared_lines, shape):
    answers = [row["answer"] for row in shared_lines("math.raw.jsonl.gz")]
    assert [answer for answer in answers if score(answer, shape % answer) != 1.0] == []


def test_math_answers_are_not_taken_for_their_neighbours(score, shared_lines):
    answers = sorted(
        {row["answer"].replace(r"^\circ", "") for row in shared_lines("math.raw.jsonl.gz")}
    )
    pairs = [*pairwise(answers), *pairwise(reversed(answers))]
    assert [pair for pair in pairs if score(pair[0], rf"\boxed{{{pair[1]}}}") != 0.0] == []


@pytest.mark.parametrize("language", LABELS)
def test_every_mgsm_answer_is_found_in_its_language(score, shared_lines, language):
    label = LABELS[language]
    rows = [line.rsplit("\t", 1) for line in shared_lines(f"mgsm_{language}.raw.tsv.gz")]
    assert len(rows) == 150
    for question, answer in rows:
        assert score(answer, f"{question}\n{label}{answer}") == 1.0
        assert score(answer.replace(",", ""), f"{label}{answer}") == 1.0
        assert score(answer, f"{label}{int(answer.replace(',', '')) + 1}") == 0.0


def test_the_last_number_behind_the_label_is_the_answer(shared_lines):
    for row in shared_lines("outputs/gsm8k.example-model-solutions.jsonl.gz"):
        solution = row["175b_verification"]["solution"]
        behind = solution.rpartition("A: ")[2]
        if "A: " in solution and behind.replace(",", "").replace(".", "").isdigit():
            assert extract(solution).answer == behind.rstrip(".")
