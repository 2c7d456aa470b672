"""The metric: what `evaluate` computes for all rows of a system together, which is not the mean of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_bench.answers import reply_of
from context_bench.records import EvalRow
from context_bench_hf_evaluate.evaluator import REFERENCES
from context_bench_hf_evaluate.inputs import form_for, prediction_in, references_in
from context_bench_hf_evaluate.score_keys import numbers_of
from context_bench_hf_evaluate.source import MetricSource, arguments_of


class HFEvaluateCorpus:
    """The numbers of a metric of `evaluate` for all scored rows of a system, in one call of its ``compute``.

    It reads the references that the evaluator ``hf-evaluate`` left in the details of each row. A failed row has none, and
    a corpus without its failures would look better than it is: then there is no number.

    Args:
        metric: Its name on the hub, ``owner/name``, or a folder or script on this machine.
        config: Its configuration, if it has several.
        revision: Commit, tag or branch of its script on the hub.
        args: Arguments of ``compute``, each ``NAME=VALUE``; a value is JSON, or a text.
        seed: Seed of numpy while it computes.

    Raises:
        ConfigurationError: An argument has no value.
    """

    name = "hf-evaluate-corpus"

    def __init__(
        self,
        metric: str = "exact_match",
        config: str | None = None,
        *,
        revision: str | None = None,
        args: Sequence[str] = (),
        seed: int = 0,
    ) -> None:
        self._source = MetricSource(metric, config, revision, arguments_of(args), seed)

    def compute(self, rows: Sequence[EvalRow]) -> dict[str, float]:
        """Return each number of the result as ``hf_corpus:NAME``; nothing if a row failed or none has a reference."""
        responses: list[str] = []
        answers: list[list[str]] = []
        for row in rows:
            known = _references(row)
            if row.errors and not known:  # the system failed, or the evaluator hf-evaluate
                return {}
            reply = reply_of(row.output or {"response": row.response})
            if known and reply is not None:
                responses.append(reply)
                answers.append(known)
        if not responses:
            return {}
        form = form_for(self._source.forms(), [len(texts) for texts in answers])
        result = self._source.compute(
            [prediction_in(form, text, number) for number, text in enumerate(responses)],
            [references_in(form, texts, number) for number, texts in enumerate(answers)],
        )
        numbers = numbers_of(result, self._source.name)
        return {f"hf_corpus:{name}": value for name, value in numbers.items()}

    def notes(self, summary: Mapping[str, Any], config: Mapping[str, Any]) -> list[str]:
        """Return which systems have no number, and why."""
        missing = [
            label
            for label, values in summary.items()
            if isinstance(values, Mapping)
            and not any(str(key).startswith("hf_corpus:") for key in values)
        ]
        if not missing:
            return []
        return [
            f"The metric {self._source.metric} has no number for all rows of {', '.join(missing)}: a row failed, "
            "or the evaluator hf-evaluate scored none."
        ]


def _references(row: EvalRow) -> list[str]:
    for details in row.details.values():
        texts = details.get(REFERENCES)
        if isinstance(texts, Sequence) and not isinstance(texts, str):
            return [str(text) for text in texts]
    return []
