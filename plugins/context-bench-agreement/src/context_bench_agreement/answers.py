"""Which rows lack a gold answer, and what stands in for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from context_bench.answers import REFERENCE_FIELDS, part_answer
from context_bench.hookspecs import hookimpl
from context_bench.tokens import PROMPT_FIELDS


@frozen
class ReferenceAnswers:
    """The extension for ``--reference-from``: the response of the reference replaces a missing gold answer.

    Attributes:
        least_samples: How often the reference is asked at least where there is no gold answer: what is beyond the first
            time says how far it agrees with itself, and nothing else.
    """

    least_samples: int = 2

    @hookimpl
    def answer_source(self) -> ReferenceAnswers:
        """Return the source of answers: this object."""
        return self

    def gold_fields(self, needs: Sequence[str]) -> Sequence[str]:
        """Return the fields, any of which is a gold answer to an evaluator that cannot do without; none when it can.

        They are those of the needs that name ``answer`` or ``answers`` and no text of the prompt.

        Args:
            needs: Fields of the example that the evaluator needs, as its manifest says it: each may name several, with
                ``|`` between them, of which one is enough.
        """
        told = [need.split("|") for need in needs]
        gold = [
            need
            for need in told
            if {*need} & {*REFERENCE_FIELDS} and not {*need} & {*PROMPT_FIELDS}
        ]
        return [name for need in gold for name in need]

    def lacks(self, example: Mapping[str, Any], fields: Iterable[str]) -> bool:
        """Whether an example has nothing in any of these fields."""
        return not any(_says_something(example.get(name)) for name in fields)

    def filled(
        self, example: Mapping[str, Any], output: Mapping[str, Any]
    ) -> Mapping[str, Any] | None:
        """Return the example with the answer in the reference's output as its gold answer; None where there is none."""
        response = output.get("response")
        if not isinstance(response, str):
            return None
        rest = {name: value for name, value in example.items() if name not in REFERENCE_FIELDS}
        return {**rest, "answer": part_answer(response).answer}

    def notice(self, label: str, samples: int, rows: int | None) -> str | None:
        """Return what the reference's further answers cost, in words; None when the run asks for them anyway.

        Args:
            label: Label of the reference.
            samples: How often the run gives each example to each system.
            rows: Rows of the reference in the run at most; None when nobody knows.
        """
        if samples >= self.least_samples:
            return None
        calls = "one more call for each" if rows is None else f"up to {rows} more calls"
        asked = f"The reference {label} is asked twice where there is no gold answer"
        return f"{asked}, to see how far it agrees with itself: {calls}."


def _says_something(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    if isinstance(value, Iterable):
        return any(map(_says_something, value))
    return value is not None
