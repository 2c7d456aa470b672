"""Whether an answer from memory is right, by a model that is given LongMemEval's rule for the kind of question."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from context_bench.answers import NO_ANSWER, answer_of, gold
from context_bench.records import Scores
from context_bench_judging import Asker, JudgedEvaluator, Request, UnreadableReply, tagged
from context_bench_long_memory.kinds import by_kind
from context_bench_long_memory.locomo import TEMPORAL
from context_bench_openai import ChatReply

_FRAME = (
    "A system was asked about earlier conversations of a user. Decide whether its response passes, by this rule alone: {rule}"
    "\n\n{{question}}\n\n{{reference}}\n\n{{response}}\n\n"
    'Reply with a JSON object of two fields: first "reason", one sentence, then "verdict", which is "yes" or "no".'
)
_WHOLE = (
    "it passes if it states all that the reference answer states, in any wording, or works it out step by step; it fails if "
    "it states only a part of it."
)
_RULES = {
    "common": _WHOLE,
    "temporal": f"{_WHOLE} A number of days, weeks or months that is off by one passes.",
    "update": (
        "it passes if what it gives as the current state is the reference answer. An earlier state that it mentions next to "
        "it does no harm."
    ),
    "preference": (
        "the reference describes a response that suits this user. It passes if it recalls what is known of the user and uses "
        "it correctly; it need not meet every point of the description."
    ),
    "abstention": (
        "the question cannot be answered from the conversations, and the reference, if there is one, tells why. It passes if "
        "it says that this cannot be told or was not mentioned, also next to something related; it fails if it gives an answer."
    ),
    "date": f"{_WHOLE} A date or period passes in any form that means the same date or period.",
}
_PROMPTS = {name: _FRAME.format(rule=rule) for name, rule in _RULES.items()}
_BY_TYPE = {
    "temporal-reasoning": "temporal",
    "knowledge-update": "update",
    "single-session-preference": "preference",
}
_VERDICTS = {"yes": 1.0, "no": 0.0}
_FIELDS: Mapping[str, Any] = {
    "reason": {"type": "string"},
    "verdict": {"type": "string", "enum": list(_VERDICTS)},
}


def rule_of(original: Mapping[str, Any]) -> str:
    """Return the name of the rule that a question is judged by.

    LongMemEval's authors have five: ``common``; ``temporal``, where a count is right that is off by one; ``update``, where the
    old value may be mentioned; ``preference``, where the reference is a rubric; ``abstention``. LoCoMo's authors use no judge:
    its questions go by ``common``, ``abstention``, and ``date`` for code 2.

    >>> rule_of({"question_type": "knowledge-update"}), rule_of({"question_type": "multi-session", "abstention": True})
    ('update', 'abstention')
    """
    if original.get("abstention"):
        return "abstention"
    if original.get("category") == TEMPORAL:
        return "date"
    return _BY_TYPE.get(str(original.get("question_type")), "common")


class MemoryJudge(JudgedEvaluator):
    """Scores answers from memory by a model, with the rules of LongMemEval's authors (Wu et al. 2025) in our words.

    memory_judge   1.0 where the model finds the response right by the rule of the question's kind (`rule_of`), else 0.0;
                   also under ``memory_judge_KIND``, such as ``memory_judge_knowledge_update`` or ``memory_judge_code_2``

    The judge is shown question, reference and response, and neither the sessions nor the evidence. Rule and reason are in the
    details. Published accuracies come from gpt-4o-2024-08-06 and the authors' wording; compare only figures of one judge.

    Args:
        judge: As in `JudgedEvaluator`: ``llm``, ``base_url``, ``model``, ``prompts`` by the names of the rules, and their like.
    """

    name = "memory-judge"
    version = "1"
    prompts = _PROMPTS
    prompts_version = "1"

    def _judgement(
        self, original: Mapping[str, Any], processed: Mapping[str, Any], asker: Asker
    ) -> Generator[Request, ChatReply, Scores]:
        response = answer_of(processed)
        if response is None:
            return Scores({}, {"unscored": NO_ANSWER})
        reference = gold(original)
        if not reference.texts and not original.get("abstention"):
            return Scores({}, {"unscored": reference.reason or "there is no answer"})
        rule = rule_of(original)
        score, reason = yield from asker.ask(
            rule,
            _FIELDS,
            _read,
            question=tagged("question", str(original.get("question") or "")),
            reference=tagged("reference", "\n".join(reference.texts) or "(none)"),
            response=tagged("response", response),
        )
        return Scores(by_kind("memory_judge", score, original), {"rule": rule, "reason": reason})


def _read(fields: Mapping[str, Any]) -> tuple[float, str]:
    verdict = str(fields["verdict"]).strip().strip(".!").lower()
    if verdict not in _VERDICTS:
        raise UnreadableReply(f"the verdict is {verdict!r}, which is neither yes nor no")
    return _VERDICTS[verdict], str(fields["reason"])
