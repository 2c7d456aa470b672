"""The verdict above a table: in one line, which system keeps the answers and how many tokens that takes.

It describes the rows of the run and tests nothing: the lines below the table do. Nothing here takes long to import, as it is
above every table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

_CANNOT_DO_THE_TASK = 0.05
_FEWER = 0.995
"""Share of the tokens below which a system saves some."""
_MOST_NAMES = 3


@frozen
class Standing:
    """Where a system stands.

    Attributes:
        label: Its label.
        score: Its mean score.
        share: Share of the tokens of the whole text, or of the baseline's prompt; None where it is not known.
        rows: How many rows the mean is of.
    """

    label: str
    score: float
    share: float | None
    rows: int


def one_line(result: Any) -> str | None:
    """Return the verdict of a complete result of several systems; None where there is nothing to say.

    The reference is the baseline of the run; without one, the best of the systems that leave the whole text. The system that
    is named needs the fewest tokens of those that score no less; where all score less, it loses the least.
    """
    direction = _direction(result)
    if not result.is_complete or direction not in ("higher", "lower"):
        return None
    standings = _standings(result)
    if len(standings) < 2:
        return None
    reference = _reference(standings, result.config.get("baseline"))
    savers = [one for one in standings if one is not reference and _saves(one)]
    if reference is None or not savers or direction == "lower":
        return _best(standings, direction)
    if reference.score < _CANNOT_DO_THE_TASK:  # a warning says so
        return None
    return _saved(savers, reference)


def _direction(result: Any) -> str:
    """Return which score is better, by the first row of each dataset."""
    expected = len(result.config.get("datasets", ())) or 1
    directions: dict[str, str] = {}
    for row in result.rows:
        if row.dataset not in directions:
            directions[row.dataset] = row.better(str(result.config.get("score_field") or "score"))
        if len(directions) >= expected:
            break
    distinct = set(directions.values())
    return distinct.pop() if len(distinct) == 1 else "neither"


def _standings(result: Any) -> list[Standing]:
    """Return the systems that compete: not those that are derived, read gold, or have no mean."""
    left_out = {*result.config.get("derived", ()), *result.config.get("reads_gold", ())}
    found = []
    for label, values in result.summary.items():
        if label in left_out or values.get("mean_score") is None:
            continue
        rows = int(values.get("num_rows", 0)) - int(values.get("num_unscored", 0))
        found.append(Standing(label, float(values["mean_score"]), _token_share(values), rows))
    return found


def _token_share(values: Mapping[str, Any]) -> float | None:
    """Return the share of the tokens that a system leaves: as endpoints count them, else of its text."""
    for key in ("tokens_saved", "compression_ratio"):
        saved = values.get(key)
        source = values.get("sources", {}).get(key)
        is_whole = source is None or source["covered"] >= 1
        if saved is not None and is_whole:
            return 1 - float(saved)
    return None


def _reference(standings: list[Standing], baseline: str | None) -> Standing | None:
    for standing in standings:
        if standing.label == baseline:
            return standing
    whole = [one for one in standings if one.share is not None and not _saves(one)]
    return max(whole, key=lambda one: one.score, default=None)


def _saves(standing: Standing) -> bool:
    return standing.share is not None and standing.share < _FEWER


def _saved(savers: list[Standing], reference: Standing) -> str:
    keeping = [one for one in savers if one.score >= reference.score]
    if keeping:
        chosen = min(keeping, key=lambda one: (one.share or 0.0, -one.score))
        what = f"keeps {reference.label}'s answers"
    else:
        chosen = max(savers, key=lambda one: (one.score, -(one.share or 0.0)))
        lost = 1 - chosen.score / reference.score
        what = f"loses {_percent(lost)} of {reference.label}'s score"
    return f"{chosen.label} {what} at {_percent(chosen.share or 0.0)} of the tokens ({chosen.rows} rows)."


def _best(standings: list[Standing], direction: str) -> str:
    """Return which system has the best score; of several, the one that needs the fewest tokens where all of theirs are known."""
    scores = [one.score for one in standings]
    best = max(scores) if direction == "higher" else min(scores)
    leading = [one for one in standings if one.score == best]
    knows_tokens = all(one.share is not None for one in leading)
    if knows_tokens:
        chosen = min(leading, key=lambda one: one.share or 0.0)
        at = f" at {_percent(chosen.share or 0.0)} of the tokens" if _saves(chosen) else ""
        if len(leading) == 1 or at:
            return f"{chosen.label} has the best score, {best:.4f}{at} ({chosen.rows} rows)."
    if len(leading) == 1:
        return f"{leading[0].label} has the best score, {best:.4f} ({leading[0].rows} rows)."
    if len(leading) == len(standings):
        return f"The {len(leading)} systems have the same score, {best:.4f}."
    names = [one.label for one in leading[:_MOST_NAMES]]
    if len(leading) > _MOST_NAMES:
        names.append(f"{len(leading) - _MOST_NAMES} others")
    return f"{', '.join(names[:-1])} and {names[-1]} have the best score, {best:.4f}."


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.1f} %" if 0 < percent < 10 else f"{percent:.0f} %"
