"""Probe recall: what a reader can still answer from a compressed session, between a ceiling and a floor."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

from context_bench.records import Scores
from context_bench_judging import Asker, JudgedEvaluator, Request, UnreadableReply, tagged
from context_bench_openai import ChatReply
from context_bench_session_reader.arms import Arms, Memory
from context_bench_session_reader.prompts import PROMPTS, PROMPTS_VERSION
from context_bench_session_reader.rendering import rendered
from context_bench_session_reader.written import Bank, WrittenProbe, sound, write_probes
from context_bench_survival import asked_of

Answers = Generator[Request, ChatReply, list[str]]

_ANSWERS: Mapping[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"number": {"type": "integer"}, "answer": {"type": "string"}},
        "required": ["number", "answer"],
        "additionalProperties": False,
    },
}
_QUOTES = "\"'`\u2018\u2019\u201c\u201d"


class ProbeRecall(JudgedEvaluator):
    """The share of a session's probes that a reader answers from what a compressor left.

    Three calls a row with all its questions each: from what is left, from the whole prefix (the ceiling) and from head and tail
    alone (the floor); the last two are asked once for all systems. An answer counts when it is the literal, quotes and spaces
    aside. ``recall`` is the share as it is, ``recall_corrected`` is ``(recall - floor) / (ceiling - floor)``.

    Args:
        questions: Probes a row, those that the recorded agent needed first.
        seed: Seed of their choice.
        written: Questions that a model writes for each region besides; 0 for none.
        probe_model: Model that writes them, on the reader's server; naming one asks for 8 where ``written`` is 0.
        bank: File that keeps them, so that every system and every run is asked the same.
        judge: As in `JudgedEvaluator`: ``llm``, ``base_url``, ``model``, ``provider``, ``api_key``, ``cache`` and their like.

    Raises:
        ValueError: An option cannot be used.
    """

    name = "probe-recall"
    version = "1"
    prompts = PROMPTS
    prompts_version = PROMPTS_VERSION

    def __init__(
        self,
        questions: int = 40,
        seed: int = 0,
        written: int = 0,
        probe_model: str | None = None,
        bank: str | Path | None = None,
        **judge: Any,
    ) -> None:
        if type(questions) is not int or questions < 1:
            raise ValueError(f"questions must be a whole number above 0, not {questions!r}.")
        if type(written) is not int or written < 0:
            raise ValueError(f"written must be a whole number from 0 up, not {written!r}.")
        super().__init__(**{"max_tokens": 4096, **judge})
        self._questions, self._seed = questions, seed
        self._written = written or (8 if probe_model else 0)
        self._probe_model = probe_model
        self._bank = Bank(bank)
        self._memory: Memory[list[str]] = Memory()

    def fingerprint(self) -> dict[str, Any]:
        """Return everything that can change a score."""
        options = {
            "questions": self._questions,
            "seed": self._seed,
            "written": self._written,
            "model": self._probe_model,
        }
        return {**super().fingerprint(), "options": options, "bank": self._bank.fingerprint()}

    def _judgement(
        self, original: Mapping[str, Any], processed: Mapping[str, Any], asker: Asker
    ) -> Generator[Request, ChatReply, Scores]:
        arms = Arms.of(original, processed)
        if arms is None:
            return Scores({}, {"unscored": "there is no context, or no output of one"})
        asked = asked_of(original, self._questions, self._seed)
        found: dict[str, float] = {}
        details: dict[str, Any] = {}
        if asked:
            pairs = [(probe.question, probe.answer) for probe in asked]
            found, right = yield from self._recall(asker, arms, pairs)
            needed = [
                is_right for is_right, probe in zip(right, asked, strict=True) if probe.needed
            ]
            if needed:
                found["recall_needed"] = sum(needed) / len(needed)
            details["probes"] = [
                {
                    "kind": probe.kind,
                    "answer": probe.answer,
                    "needed": probe.needed,
                    "right": is_right,
                }
                for probe, is_right in zip(asked, right, strict=True)
            ]
        if self._written:
            written = yield from self._of_bank(asker, arms)
            if written:
                pairs = [(probe.question, probe.answer) for probe in written]
                said = yield from self._answers(
                    asker, rendered(arms.compressed), [question for question, _ in pairs]
                )
                right = [
                    same_answer(one, answer) for one, (_, answer) in zip(said, pairs, strict=True)
                ]
                found["recall_written"] = sum(right) / len(right)
            details["written"] = len(written)
        if not found:
            return Scores({}, {"unscored": "the region holds nothing that could be asked about"})
        return Scores(found, details)

    def _recall(
        self, asker: Asker, arms: Arms, pairs: Sequence[tuple[str, str]]
    ) -> Generator[Request, ChatReply, tuple[dict[str, float], list[bool]]]:
        questions = [question for question, _ in pairs]
        shares, right = {}, [False]
        for name, messages in (
            ("ceiling", arms.whole),
            ("floor", arms.outside),
            ("", arms.compressed),
        ):
            said = yield from self._answers(asker, rendered(messages), questions)
            right = [same_answer(one, answer) for one, (_, answer) in zip(said, pairs, strict=True)]
            shares[f"recall_{name}" if name else "recall"] = sum(right) / len(right)
        room = shares["recall_ceiling"] - shares["recall_floor"]
        if room > 0:
            shares["recall_corrected"] = (shares["recall"] - shares["recall_floor"]) / room
        return shares, right

    def _answers(self, asker: Asker, session: str, questions: Sequence[str]) -> Answers:
        key = (session, tuple(questions))
        known = self._memory.get(key)
        if known is not None:
            return known
        listed = "\n".join(f"{number}. {question}" for number, question in enumerate(questions, 1))
        said = yield from asker.ask(
            "recall",
            {"answers": _ANSWERS},
            lambda reply: _read(reply["answers"], len(questions)),
            session=tagged("session", session),
            questions=tagged("questions", listed),
        )
        return self._memory.put(key, said)

    def _of_bank(
        self, asker: Asker, arms: Arms
    ) -> Generator[Request, ChatReply, list[WrittenProbe]]:
        """Return the written probes of a region: those that the bank holds, else new ones that were verified."""
        region, outside = rendered(arms.region), rendered(arms.outside)
        kept = self._bank.get(region)
        if kept is not None:
            return kept
        made = yield from write_probes(asker, region, self._written, self._probe_model)
        good = [probe for probe in made if sound(probe, region, outside)]
        if good:
            questions = [probe.question for probe in good]
            ceiling = yield from self._answers(asker, rendered(arms.whole), questions)
            floor = yield from self._answers(asker, outside, questions)
            good = [
                probe
                for probe, high, low in zip(good, ceiling, floor, strict=True)
                if same_answer(high, probe.answer) and not same_answer(low, probe.answer)
            ]
        return self._bank.put(region, good)


def same_answer(said: str, answer: str) -> bool:
    """Whether an answer is the literal, quotes around it and spaces aside.

    >>> same_answer(' "8443" ', "8443"), same_answer("port 8443", "8443"), same_answer("", "8443")
    (True, False, False)
    """
    return bool(said.strip()) and _plain(said) == _plain(answer)


def _plain(text: str) -> str:
    return " ".join(text.split()).strip(_QUOTES + " ")


def _read(found: Any, count: int) -> list[str]:
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        raise UnreadableReply("answers is no list of objects with number and answer")
    by_number = {str(one.get("number")): one.get("answer") for one in found}
    said = [by_number.get(str(number)) for number in range(1, count + 1)]
    return [one if isinstance(one, str) else "" if one is None else str(one) for one in said]
