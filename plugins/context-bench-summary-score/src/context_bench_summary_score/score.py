"""How much of a text its summary keeps, and how short it is."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

from context_bench.answers import part_answer
from context_bench.records import Scores
from context_bench_judging import Asker, JudgedEvaluator, Request, UnreadableReply, tagged
from context_bench_judging.claims import TEXTS, in_order, is_one, texts_of
from context_bench_judging.unreadable import beginning_of
from context_bench_openai import ChatReply
from context_bench_summary_score.formula import (
    FORMULAS,
    LENGTH_UNITS,
    conciseness,
    final_score,
    length,
)
from context_bench_summary_score.prompts import PROMPTS, PROMPTS_VERSION

_SOURCES = ("reference_contexts", "contexts", "context")
_ANSWERS: Mapping[str, Any] = {"type": "array", "items": {"type": "string", "enum": ["0", "1"]}}


class SummarizationScore(JudgedEvaluator):
    """Questions that a model makes from the source and answers from the summary, and how much shorter the summary is.

    Three calls a row: keyphrases of the source; questions about them; answers to the questions from the summary alone.
    ``qa_score`` is the share of questions answered 1, ``conciseness_score`` is ``1 - length of summary / length of source``, and
    ``summary_score`` is ``qa * coeff + conciseness * (1 - coeff)``. The lists are in the details. A row without questions or
    without a single answer, or whose replies cannot be read, is unscored, and why is in the details.

        SummarizationScore(llm=judge_model("http://localhost:8080", "qwen")).score({"contexts": [text]}, {"response": summary})

    The source is ``reference_contexts``, ``contexts`` (lists are joined) or ``context``; the summary is the response, or else
    ``summary`` of the output, or of the example where it is scored without a system.

    Args:
        length_penalty: Whether conciseness counts; without it the score is that of the questions.
        coeff: Weight of the questions, from 0 to 1.
        llm: What judges: see `language_model`. None takes ``base_url``, or else the configured judge.
        formula: ``page`` weighs as documented, ``ragas`` as its code does: the weights the other way round.
        length_unit: What lengths are counted in: ``chars``, ``words`` or ``tokens``.
        verify_questions: Whether the questions are asked of the source first, and those that it does not answer 1 are dropped.
        language: Language of the texts; phrases, questions and answers are then asked for in it.
        repairs: How often a reply that cannot be read is sent back with the reason.
        base_url, model, provider, api_key, cache, prompts, max_tokens, max_in_flight, timeout, max_retries, retry_base_delay: As
            in `JudgedEvaluator`.

    Raises:
        ValueError: An option cannot be used.
    """

    name = "summary_score"
    version = "5"
    prompts = PROMPTS
    prompts_version = PROMPTS_VERSION

    def __init__(
        self,
        length_penalty: bool = True,
        coeff: float = 0.5,
        *,
        llm: Any = None,
        formula: str = "page",
        length_unit: str = "chars",
        verify_questions: bool = False,
        base_url: str | None = None,
        model: str = "gpt-4",
        provider: str = "openai",
        api_key: str | None = None,
        cache: str | Path | None = None,
        prompts: Mapping[str, str] | str | Path | None = None,
        language: str | None = None,
        max_tokens: int = 2048,
        repairs: int = 3,
        max_in_flight: int = 16,
        timeout: float | None = 60.0,
        max_retries: int = 3,
        retry_base_delay: float = 1.0,
    ) -> None:
        if isinstance(coeff, bool) or not hasattr(coeff, "__float__") or not 0 <= coeff <= 1:
            raise ValueError(f"coeff must be from 0 to 1, not {coeff!r}.")
        if formula not in FORMULAS:
            raise ValueError(f"formula must be one of {', '.join(FORMULAS)}, not {formula!r}.")
        if length_unit not in LENGTH_UNITS:
            raise ValueError(
                f"length_unit must be one of {', '.join(LENGTH_UNITS)}, not {length_unit!r}."
            )
        super().__init__(
            llm,
            base_url=base_url,
            model=model,
            provider=provider,
            api_key=api_key,
            cache=cache,
            prompts=prompts,
            language=language,
            max_tokens=max_tokens,
            repairs=repairs,
            max_in_flight=max_in_flight,
            timeout=timeout,
            max_retries=max_retries,
            retry_base_delay=retry_base_delay,
        )
        self.length_penalty = bool(length_penalty)
        self.coeff = coeff
        self.formula = formula
        self.length_unit = length_unit
        self.verify_questions = bool(verify_questions)

    def fingerprint(self) -> dict[str, Any]:
        """Return everything that can change a score."""
        names = ("length_penalty", "coeff", "formula", "length_unit", "verify_questions")
        return {**super().fingerprint(), **{name: getattr(self, name) for name in names}}

    def _judgement(
        self, original: Mapping[str, Any], processed: Mapping[str, Any], asker: Asker
    ) -> Generator[Request, ChatReply, Scores]:
        source, summary = _source(original), _summary(original, processed)
        if summary is None:
            return Scores(
                {}, {"unscored": "there is no summary: no text under 'response' or 'summary'"}
            )
        if not summary.strip():
            return Scores(
                {"summary_score": 0.0}, {"reason": "The summary is empty; nobody was asked."}
            )
        details: dict[str, Any] = {}
        asked = yield from self._questions(source, asker, details)
        if not asked:
            return Scores({}, {"unscored": "no_questions", **details})
        answers = yield from _answers(asker, asked, summary, details)
        if not answers:
            return Scores({}, {**details, "unscored": "no_answers"})
        details["answers"] = answers
        return Scores(self._scores(source, summary, answers, details), details)

    def _questions(
        self, source: str, asker: Asker, details: dict[str, Any]
    ) -> Generator[Request, ChatReply, list[str]]:
        text = tagged("text", source)
        phrases = yield from asker.ask(
            "keyphrases", {"keyphrases": TEXTS}, texts_of("keyphrases", distinct=False), text=text
        )
        listed = tagged("phrases", "\n".join(phrases)) if phrases else "There are no phrases."
        asked = yield from asker.ask(
            "questions",
            {"questions": TEXTS},
            texts_of("questions", distinct=False),
            text=text,
            keyphrases=listed,
        )
        details |= {"keyphrases": phrases, "questions": asked}
        if self.verify_questions and asked:
            checked: dict[str, Any] = {}
            answers = yield from _answers(asker, asked, source, checked)
            if not answers:
                details["unscored"] = "no_answers"
                return []
            details["dropped_questions"] = [
                one for one, answer in zip(asked, answers) if not answer
            ]
            asked = [one for one, answer in zip(asked, answers) if answer]
            details["questions"] = asked
        return asked

    def _scores(
        self, source: str, summary: str, answers: Sequence[int], details: Mapping[str, Any]
    ) -> dict[str, float]:
        qa = sum(answers) / len(answers)
        concise = conciseness(length(summary, self.length_unit), length(source, self.length_unit))
        return {
            "summary_score": final_score(qa, concise, self.coeff, self.formula)
            if self.length_penalty
            else qa,
            "qa_score": qa,
            "conciseness_score": concise,
            "n_keyphrases": float(len(details["keyphrases"])),
            "n_questions": float(len(answers)),
        }


def _answers(
    asker: Asker, questions: Sequence[str], text: str, details: dict[str, Any]
) -> Generator[Request, ChatReply, list[int]]:
    """Return a 1 or a 0 for each question, what is missing as a 0 that is told; nothing where there is no answer at all."""
    numbered = "\n".join(f"{number}. {question}" for number, question in enumerate(questions, 1))
    found = yield from asker.ask(
        "answers",
        {"answers": _ANSWERS},
        _read_answers,
        text=tagged("text", text),
        questions=tagged("questions", numbered),
    )
    if not found:
        return []
    if len(found) != len(questions):
        details["answer_mismatch"] = f"{len(found)} answers to {len(questions)} questions"
    return [*found, *[0] * len(questions)][: len(questions)]


def _read_answers(found: Mapping[str, Any]) -> list[int]:
    listed = found["answers"]
    if not isinstance(listed, list):
        raise UnreadableReply(f"'answers' is no list but {beginning_of(str(listed))}")
    return [int(bool(is_one(_said(answer)))) for answer in in_order("answers", listed)]


def _said(answer: Any) -> Any:
    if not isinstance(answer, Mapping):
        return answer
    if "answer" not in answer and "verdict" not in answer:
        raise UnreadableReply(f"'answers' holds {beginning_of(str(answer))}, which has no 'answer'")
    return answer.get("answer", answer.get("verdict"))


def _source(original: Mapping[str, Any]) -> str:
    """Return the source text.

    Raises:
        ValueError: There is none.
    """
    for name in _SOURCES:
        value = original.get(name)
        parts = list(value) if isinstance(value, (list, tuple)) else [value]
        texts = [part for part in parts if isinstance(part, str)]
        if len(texts) == len(parts) and any(text.strip() for text in texts):
            return "\n".join(texts)
    raise ValueError(f"The example has no source text: none of {', '.join(_SOURCES)} holds any.")


def _summary(original: Mapping[str, Any], processed: Mapping[str, Any]) -> str | None:
    """Return what the system said, else what it handed on, else what the example has; None where nobody has a text."""
    given = [
        side.get(name)
        for side, name in ((processed, "response"), (processed, "summary"), (original, "summary"))
    ]
    return next(
        (found for found in map(_answer, [*given, original.get("response")]) if found is not None),
        None,
    )


def _answer(value: Any) -> str | None:
    return part_answer(value).answer if isinstance(value, str) else None
