"""The evaluator: are the instructions of the row followed?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench.answers import NO_ANSWER, answer_of
from context_bench.records import Scores
from context_bench_ifeval.instructions import Check
from context_bench_ifeval.nearest import nearest
from context_bench_ifeval.row import checks, instruction_ids
from context_bench_ifeval.variants import relaxed_variants

_LOOSE = ("variants", "majority")


class IFEvalChecker:
    """Checks verifiable instructions as the IFEval benchmark does.

    Args:
        loose: What `ifeval_loose` means. `"variants"`, the benchmark's meaning: every instruction is followed by the
            response or by one of its seven relaxed variants. `"majority"`: more than half of the instructions are
            followed by the response as it is.

    Raises:
        ValueError: `loose` is neither.
    """

    name = "ifeval"

    def __init__(self, loose: str = "variants") -> None:
        if loose not in _LOOSE:
            raise ValueError(f"IFEvalChecker knows no loose={loose!r}. {nearest(loose, _LOOSE)}")
        self._loose = loose

    def fingerprint(self) -> dict[str, Any]:
        """Everything that can change a score."""
        return {"loose": self._loose}

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        r"""`ifeval_strict` and `ifeval_loose`, 1.0 or 0.0; nothing if the row has no instructions or no response.

        The result's `details` hold, with one entry per instruction, `instruction_ids`, `strict` and `loose` (true where
        it is followed; loose always by variants); the shares of the true ones, `instruction_strict` and
        `instruction_loose`; `fraction`, another name of `instruction_strict`; and `majority`, whether that is more
        than a half.

        Args:
            original: The row: `instruction_id_list`, `kwargs`, and `prompt` or `question`.
            processed: The system's output: `response`.

        Raises:
            ValueError: An instruction id is unknown, or the `kwargs` do not fit the ids.

        Example:
            >>> row = {"instruction_id_list": ["punctuation:no_comma", "startend:quotation"], "kwargs": [{}, {}]}
            >>> scores = IFEvalChecker().score(row, {"response": 'Well then:\n"No commas here."'})
            >>> scores
            {'ifeval_strict': 0.0, 'ifeval_loose': 1.0}
            >>> scores.details["strict"], scores.details["loose"], scores.details["fraction"]
            ([True, False], [True, True], 0.5)
        """
        ids = instruction_ids(original)
        response = answer_of(processed)
        if not ids or response is None:
            return Scores({}, {"unscored": NO_ANSWER if ids else "the example has no instructions"})
        strict, loose = _verdicts(checks(original, ids), response)
        fraction = sum(strict) / len(ids)
        majority = fraction > 0.5
        return Scores(
            {
                "ifeval_strict": float(all(strict)),
                "ifeval_loose": float(majority if self._loose == "majority" else all(loose)),
            },
            {
                "instruction_ids": ids,
                "strict": strict,
                "loose": loose,
                "instruction_strict": fraction,
                "instruction_loose": sum(loose) / len(ids),
                "fraction": fraction,
                "majority": majority,
            },
        )


def _verdicts(checks: list[Check], response: str) -> tuple[list[bool], list[bool]]:
    """For each check, whether the response passes, and whether it or a variant does. A blank response passes none."""
    if not response.strip():
        return [False] * len(checks), [False] * len(checks)
    strict = [check(response) for check in checks]
    if all(strict):
        return strict, strict.copy()
    variants = relaxed_variants(response)
    return strict, [passed or any(map(check, variants)) for passed, check in zip(strict, checks)]
