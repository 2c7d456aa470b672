"""InfiniteBench's metrics, one for each of its tasks.

Zhang et al. 2024, "InfiniteBench: Extending Long Context Evaluation Beyond 100K Tokens", https://arxiv.org/abs/2402.13718.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from context_bench.answers import answer_of
from context_bench_long_context.token_f1 import chinese, english, f1

Metric = Callable[[str, Sequence[Any]], float]


class InfiniteBench:
    """The score of an InfiniteBench row by its task's metric.

    Retrieval of a pass key or number counts by the first whole number, of a value by the word; answers by token F1, a speaker
    by the name; choices by the letter or the option; code by the last number; a summary by ROUGE-Lsum.

    Score keys: ``infinitebench_score``.

    Args:
        task: Task of rows that do not name theirs in ``task``.
        code_debug: ``stated`` reads Code.Debug by the rule of the published figures, ``last-letter`` by the authors' later one.

    Raises:
        ValueError: There is no such task or rule.
    """

    name = "infinitebench"

    def __init__(self, task: str | None = None, code_debug: str = "stated") -> None:
        if code_debug not in CODE_DEBUG:
            raise ValueError(
                f"InfiniteBench reads Code.Debug by {' or '.join(CODE_DEBUG)}, and not by {code_debug!r}."
            )
        if task is not None and task not in METRICS:
            raise ValueError(f"InfiniteBench has no task {task!r}. It has: {', '.join(METRICS)}.")
        self.task = task
        self.code_debug = code_debug

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Score one response.

        Args:
            original: The example: ``answers`` or ``answer``, ``correct_letter`` where it has options, and ``task``.
            processed: The output: ``response``.

        Returns:
            ``{"infinitebench_score": 0.0 to 1.0}``, or ``{}`` where the task is none of the benchmark's, or there is nothing to
            score.
        """
        task, response = original.get("task") or self.task, answer_of(processed)
        found = original.get("answers") or original.get("answer")
        answers = list(found) if isinstance(found, list | tuple) else [found]
        answers = [answer for answer in answers if answer is not None]
        letter = original.get("correct_letter")
        if letter and letter not in answers:
            answers.append(letter)
        if not isinstance(task, str) or task not in METRICS or response is None or not answers:
            return {}
        metric = CODE_DEBUG[self.code_debug] if task == "code_debug" else METRICS[task]
        return {"infinitebench_score": float(metric(response, answers))}

    def fingerprint(self) -> dict[str, Any]:
        """Every parameter that can change a score."""
        return {"task": self.task, "code_debug": self.code_debug}


def first_number(response: str, answers: Sequence[Any]) -> float:
    """Return whether the first run of digits is the answer."""
    found = re.search(r"[0-9]+", response)
    return float(found is not None and found[0] == str(answers[0]))


def named_value(response: str, answers: Sequence[Any]) -> float:
    """Return whether the answer is a word of the response."""
    return float(str(answers[0]) in _spaced(response, _MARKS).split())


def named_speaker(response: str, answers: Sequence[Any]) -> float:
    """Return whether the answer, a name in capitals, is a word of the response."""
    words = {word.upper() for word in _spaced(response, _MARKS).split()}
    return float(any(str(answer) in words for answer in answers[:1]))


def answer_f1(response: str, answers: Sequence[Any]) -> float:
    """Return SQuAD's token F1, best over the answers."""
    return max(f1(english(response), english(str(answer))) for answer in answers)


def answer_f1_chinese(response: str, answers: Sequence[Any]) -> float:
    """Return the F1 of characters, best over the answers."""
    return max(f1(list(chinese(response)), list(chinese(str(answer)))) for answer in answers)


def summary(response: str, answers: Sequence[Any]) -> float:
    """Return ROUGE-Lsum, best over the references."""
    from context_bench_rouge import RougeScore

    scorer = RougeScore(rouge_type="rougeLsum", tokenizer="rouge-score")
    scores = scorer.score({"answers": [str(answer) for answer in answers]}, {"response": response})
    return scores.get("rougeLsum", 0.0)


def last_number(response: str, answers: Sequence[Any]) -> float:
    """Return whether the last word is the answer, a whole number."""
    words = _spaced(response.strip(), ["\n", ".", "`", "'", '"', ":"]).split()
    try:
        return float(bool(words) and int(words[-1]) == int(answers[0]))
    except ValueError:
        return 0.0


def found_number(response: str, answers: Sequence[Any]) -> float:
    """Return whether the first number is the answer, as whole number or as decimal as the answer is."""
    found = re.search(r"\d+\.\d+|\d+", response)
    if found is None:
        return 0.0
    wanted = answers[0] if isinstance(answers[0], int | float) else _as_number(str(answers[0]))
    return float(wanted is not None and _as_number(found[0]) == wanted)


def calculation(response: str, answers: Sequence[Any]) -> float:
    """Return how much of a sequence of results is right before the first that is wrong.

    A minus in the response counts where the result has one. The authors' script looks at no minus, so that no negative result
    is ever right.
    """
    wanted = [number for each in answers for number in re.findall(r"-?[0-9]+", str(each))]
    right = 0
    for (minus, digits), result in zip(re.findall(r"(-?)([0-9]+)", response), wanted, strict=False):
        if (minus if result[0] == "-" else "") + (digits.lstrip("0") or "0") != result:
            break
        right += 1
    return right / len(wanted) if wanted else 0.0


def choice_of_four(response: str, answers: Sequence[Any]) -> float:
    """Return whether the option that a response states is the right one, by letter or by text."""
    texts, response = [str(answer) for answer in answers], response.strip()
    if not response:
        return 0.0
    if response[0] in "ABCD":
        return float(response[0] in texts)
    if response in texts:
        return 1.0
    bare = re.sub(r" +", " ", _spaced(response, ["\n", '"', "'", ".", ",", "?", "!", "{", "}"]))
    for opening in ("answer is:", "answer:", "answer is", "option is"):
        place = bare.find(opening)
        if place >= 0:
            behind = bare[place + len(opening) + 1 :]
            return float(any(behind.startswith(text) for text in texts))
    words = [
        word for word in bare.split() if word in "ABCD"
    ]  # "AB" and "CD" too: they state a wrong one
    return float(bool(words) and words[0] in texts)


def choice_of_function(response: str, answers: Sequence[Any]) -> float:
    """Return whether a response states the function with the error, by letter or by name.

    The rule of the published figures: the response begins with the letter and a full stop or colon, or the first of the phrases
    "answer is:", "is:" and "answer:" that it has is followed by the letter or the name. A response that is nothing but the
    letter or the name states it too, which changes no published figure.
    """
    name, letter, response = str(answers[0]), str(answers[-1]), response.strip()
    if response in (letter, name) or response[:2] in (f"{letter}.", f"{letter}:"):
        return 1.0
    bare = _bare_statement(response)
    for opening in ("answer is:", "is:", "answer:"):
        place = bare.find(opening)
        if place >= 0:
            return float(bare[place + len(opening) + 1 :].startswith((letter, name)))
    return 0.0


def last_letter_of_function(response: str, answers: Sequence[Any]) -> float:
    """Return whether the right letter is the last one from A to J that stands alone, or the response states it otherwise.

    The authors' later rule, which looks at the first line that has such a letter; it gives their recorded GPT-4 52.28 where the
    published figure is 37.06.
    """
    name, letter = str(answers[0]), str(answers[-1])
    lines = (re.findall(r"\b[A-J]\b", line) for line in response.split("\n"))
    letters = next(filter(None, lines), [])
    if letters and letters[-1] == letter:
        return 1.0
    bare = _bare_statement(response)
    if bare.startswith((letter, name)):
        return 1.0
    for opening in ("answer is:", "is:", "answer:", "correct option is:"):
        place = bare.find(opening)
        if place >= 0:
            return float(bare[place + len(opening) + 1 :].startswith((letter, name)))
    return 0.0


def _bare_statement(response: str) -> str:
    spaced = _spaced(response.strip(), ["\n", "`", "'", '"', "-", "*", "Option", "option"])
    return re.sub(r" +", " ", spaced)


def _spaced(text: str, marks: Sequence[str]) -> str:
    for mark in marks:
        text = text.replace(mark, " ")
    return text


def _as_number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


CODE_DEBUG: Mapping[str, Metric] = {
    "stated": choice_of_function,
    "last-letter": last_letter_of_function,
}
"""How the answer to Code.Debug is read, by rule."""

_MARKS = ["\n", ":", '"', "'", ".", ",", "?", "!", "{", "}"]

METRICS: Mapping[str, Metric] = {
    "passkey": first_number,
    "number_string": first_number,
    "kv_retrieval": named_value,
    "longbook_qa_eng": answer_f1,
    "longbook_qa_chn": answer_f1_chinese,
    "longbook_sum_eng": summary,
    "longbook_choice_eng": choice_of_four,
    "longdialogue_qa_eng": named_speaker,
    "math_find": found_number,
    "math_calc": calculation,
    "code_run": last_number,
    "code_debug": choice_of_function,
}
"""Metric by task."""
