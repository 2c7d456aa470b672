"""What of a context is left after a compressor, scored without a model.

Every value is about the *region*: what a compressor may take away. Head and tail stay, and a literal that stands there too is not
asked for. An example without messages has its ``context`` for a region, so plain datasets get the same scores.

Every row is checked before it is scored: unchanged it must score 1.0, with an empty region 0.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from context_bench.console import warn
from context_bench.runs import open_run
from context_bench_sessions.messages import Message, text_of
from context_bench_survival.contexts import left, standing
from context_bench_survival.literals import CLASSES
from context_bench_survival.markers import new_references, redeemed_of, returned
from context_bench_survival.omissions import unexcused
from context_bench_survival.pairs import faults, role_changes
from context_bench_survival.prepared import Prepared, prepared
from context_bench_survival.probes import MASK, Probe
from context_bench_survival.remains import Remains

FAILED = 2
"""Exit code of a run whose self-check fails: its numbers mean nothing."""

SHOWN = 5

NEAR = 200
"""Letters between an answer and the words that say what it means, for it to be bound."""

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]+")


class SelfCheckError(Exception):
    """The evaluator is wrong about a row: an unchanged one does not score 1.0, or an emptied one scores."""


class Survival:
    """Which literals of the region a compressor kept, and whether what it left is sound.

    Scores: ``survival_needed``, the share of the literals that the recorded agent used afterwards - for plain datasets, of those
    in the gold answers; ``survival_all``, the share of all; ``survival_CLASS`` by class; ``bound``, the share that still stands
    beside the words that say what it means; ``invented``, literals for 1,000 tokens that the original lacks; ``pair_faults``, how
    many calls and results do not fit together that did before, and how many markers bring nothing back; ``role_changes``, how
    many messages another one speaks than in the recording, of an output with messages; ``kept_ratio``, the tokens left for
    each token given.

    Where a system left markers of its own, three states: besides what survived, ``recoverable_needed`` and ``recoverable_all``
    are the shares that are gone and stand in what a marker brought back when it was redeemed - the output's ``redeemed`` -
    and ``lost_needed`` and ``lost_all`` the rest. ``unredeemable_markers`` is how many brought nothing back.

    Args:
        most: Literals of a row that are looked at.
        seed: Seed of their choice.

    Raises:
        ValueError: ``most`` is below one.
    """

    def __init__(self, most: int = 400, seed: int = 0) -> None:
        if type(most) is not int or most < 1:
            raise ValueError(f"most must be a whole number above 0, not {most!r}.")
        self.name = "survival"
        self.faults: list[str] = []
        self._most, self._seed = most, seed

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Return the scores; nothing when the example has no context, or the output has none."""
        after = left(original, processed)
        if after is None or not (original.get("messages") or original.get("context")):
            return {}
        ready = prepared(original, self._most, self._seed)
        if ready.faults is None:
            ready.faults = list(faults_of(ready))
        if ready.faults:
            self.faults += [f"{original.get('id', 'a row')}: {fault}" for fault in ready.faults]
            raise SelfCheckError(
                f"The self-check failed, so this row has no scores: {'; '.join(ready.faults)}"
            )
        return scores_of(ready, after, _remains(ready, processed, after), processed)

    def fingerprint(self) -> dict[str, Any]:
        """Return what can change a score."""
        return {"most": self._most, "seed": self._seed}

    def finished(self, run: Any) -> int | None:
        """Return 2 when the self-check of a row failed, in this session or an earlier one, and tell the first few faults."""
        faults = list(dict.fromkeys(self.faults))
        if not faults and run.config.get("run_file"):
            with open_run(Path(run.config["run_file"])) as opened:
                faults = [
                    f"{one.example_id}: {one.failure.message}"
                    for one in opened.failures()
                    if one.failure.kind == SelfCheckError.__name__
                ]
        for fault in faults[:SHOWN]:
            warn(f"Self-check: {fault}.")
        if faults:
            warn(
                f"The self-check of survival failed in {len(faults)} places: its scores in this run mean nothing."
            )
        return FAILED if faults else None


def scores_of(
    ready: Prepared,
    after: Sequence[Message],
    remains: Remains,
    processed: Mapping[str, Any] | None = None,
) -> dict[str, float]:
    """Return the scores of what a system left.

    Args:
        ready: What it was given.
        after: What it left, in the canonical form.
        remains: What that tells.
        processed: The output, whose ``redeemed`` is what its markers brought back.
    """
    asked = ready.asked
    redeemed = redeemed_of(processed or {})
    new_texts = [
        text for text in remains.texts if text not in ready.texts
    ]  # the others hold no reference that is new
    references = new_references(new_texts, ready.text, redeemed)
    brought = returned(references, redeemed)
    kept = {id(probe): is_kept for probe, is_kept in zip(asked, _kept(remains, asked), strict=True)}
    found = {
        **_shares(asked, kept),
        "bound": _share([kept[id(probe)] and _is_bound(probe, remains) for probe in asked]),
        "invented": 1000 * len(invented(ready, remains)) / max(1, remains.tokens),
        "kept_ratio": remains.tokens / max(1, ready.whole.tokens),
    }
    broken = len(references) - len(brought)
    if references:
        found |= {
            **_fates(asked, kept, Remains((), list(brought.values()))),
            "unredeemable_markers": float(broken),
        }
    if any(message.get("tool_calls") for message in ready.before):
        found["pair_faults"] = float(
            (faults(after, ready.before) - ready.own_faults).total() + broken
        )
    if processed is None or processed.get("messages") is not None:  # a text has no speakers
        found["role_changes"] = float(role_changes(after, ready.before))
    return {key: value for key, value in found.items() if value is not None}


def faults_of(ready: Prepared) -> Iterator[str]:
    """Yield what is wrong with the scores of an unchanged example, and of one whose region is empty."""
    start, end = ready.region
    before = ready.before
    emptied = [*before[:start], *before[end:]]
    for what, after, remains, wanted in (
        ("unchanged", before, ready.whole, 1.0),
        ("with an empty region", emptied, Remains(emptied, read=ready.whole.read), 0.0),
    ):
        yield from (
            f"{what}, {fault}" for fault in unsound(scores_of(ready, after, remains), wanted)
        )


def unsound(scores: Mapping[str, float], wanted: float) -> Iterator[str]:
    """Yield which scores are not what an unchanged (1.0) or an emptied (0.0) context must have."""
    for key, value in scores.items():
        if (key.startswith("survival_") or key == "bound") and value != wanted:
            yield f"{key} is {value:.4f} and must be {wanted}"
        elif key in ("invented", "pair_faults", "role_changes") and wanted == 1.0 and value:
            yield f"{key} is {value:.4f} and must be 0"


def kept_probes(
    original: Mapping[str, Any], processed: Mapping[str, Any], asked: Sequence[Probe]
) -> list[bool]:
    """Return of each probe whether its answer is in what a system left; none is where it left nothing that can be read."""
    after = left(original, processed)
    return (
        [False] * len(asked)
        if after is None
        else _kept(_remains(prepared(original), processed, after), asked)
    )


def _kept(remains: Remains, asked: Sequence[Probe]) -> list[bool]:
    held = remains.held(probe.answer for probe in asked)
    return [probe.answer in held for probe in asked]


def _remains(ready: Prepared, processed: Mapping[str, Any], after: Sequence[Message]) -> Remains:
    if processed.get("messages") is not None:
        return Remains(after, read=ready.whole.read)
    more = standing(ready.before[slice(*ready.region)], text_of(processed["context"]))
    return Remains(after, more, ready.whole.read)


def _is_bound(probe: Probe, remains: Remains) -> bool:
    return is_bound(probe, remains.holders.get(probe.answer, remains.texts))


def is_bound(probe: Probe, texts: Sequence[str]) -> bool:
    """Whether an answer still stands near half of the words of its question, in the text of one message."""
    words = _words_beside(probe.question)
    if not words:
        return True
    for whole in texts:
        start = whole.find(probe.answer)
        while start >= 0:
            near = whole[max(0, start - NEAR) : start + len(probe.answer) + NEAR].lower()
            if 2 * sum(word in near for word in words) >= len(words):
                return True
            start = whole.find(probe.answer, start + 1)
    return False


@lru_cache(maxsize=1 << 13)
def _words_beside(question: str) -> frozenset[str]:
    """Return the words of a question's line, which every system's row is asked with."""
    _, _, asked = question.partition(": ")
    return frozenset(word.lower() for word in _WORD.findall(asked.replace(MASK, " ")))


def invented(ready: Prepared, remains: Remains) -> set[str]:
    """Return the literals that are left and that the original lacks; those that a mark of omission says itself are none."""
    new: set[str] = set()
    if remains.holders.keys() <= ready.known:
        return new
    for line, found in remains.lines:
        unknown = tuple(one for one in found if one.text not in ready.known)
        if unknown:
            new |= {one.text for one in unexcused(line, unknown) if one.text not in ready.text}
    return new


def _shares(asked: Sequence[Probe], kept: Mapping[int, bool]) -> dict[str, float | None]:
    shares: dict[str, float | None] = {
        "survival_needed": _share([kept[id(probe)] for probe in asked if probe.needed]),
        "survival_all": _share([kept[id(probe)] for probe in asked]),
    }
    for kind in (*CLASSES, "error"):
        shares[f"survival_{kind}"] = _share(
            [kept[id(probe)] for probe in asked if probe.kind == kind]
        )
    return shares


def _fates(
    asked: Sequence[Probe], kept: Mapping[int, bool], fetched: Remains
) -> dict[str, float | None]:
    """Return which shares are gone and can be fetched again, and which are lost."""
    shares: dict[str, float | None] = {}
    for name, probes in (("needed", [probe for probe in asked if probe.needed]), ("all", asked)):
        gone = [not kept[id(probe)] for probe in probes]
        again = _kept(fetched, probes)
        shares[f"recoverable_{name}"] = _share(
            [one and other for one, other in zip(gone, again, strict=True)]
        )
        shares[f"lost_{name}"] = _share(
            [one and not other for one, other in zip(gone, again, strict=True)]
        )
    return shares


def _share(found: Sequence[bool]) -> float | None:
    return sum(found) / len(found) if found else None
