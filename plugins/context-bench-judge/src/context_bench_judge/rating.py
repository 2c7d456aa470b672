"""The rating that a judge gives, read as a person would read it.

A reply names many numbers: the scale, ratings that were considered, counts from the answer under judgement. The rating is the
number that is *stated* as one. The forms of stating it are tried from the plainest to the weakest; the last statement in the
first form that occurs counts; and where a reader would not be sure, there is no rating.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from context_bench.answers import call_of_object, part_answer, read_reply, without_closing
from context_bench_judge.mentions import LONGEST_REPLY, Mention, mentions
from context_bench_judge.rating_forms import FORMS
from context_bench_judge.scale import Scale
from context_bench_judging.json_reply import is_json, json_objects, values_of
from context_bench_judging.unreadable import UnreadableReply, beginning_of

_NAMES = [
    "final_rating",
    "final_score",
    "overall_rating",
    "overall_score",
    "rating",
    "score",
    "overall",
    "judge_score",
    "grade",
    "mark",
    "points",
    "stars",
    "value",
]
_ANOTHER = re.compile(  # what makes of "Rating: 2 -> 4" and "Rating: 1 2 3 [4] 5" more than one number
    r"[ \t]*[\])\"']*[ \t]*(?:[,;|/&]|->|=>|→|and\b|[.,;(]?[ \t]*(?:no|wait|actually|correct(?:ion|ed)|revised|changed|raised|"
    r"lowered|updated)\b[^\d\n]{0,12})?[ \t]*[\[(\"']*(?P<number>\d+(?:\.\d+)?)[\])\"']*"
    r"(?=\.?[ \t]*(?:\n|\Z)|[ \t]*(?:[,;|/&]|->|=>|→|(?:and|after|following|upon|because|since)\b|[\[(]?\d))",
    re.IGNORECASE,
)
_OVERALL = re.compile(
    r"(?:the )?(?:overall|final|total)(?: (?:rating|score|quality|assessment))?", re.IGNORECASE
)
_STARS = re.compile(r"[★⭐🌟](?:[\s\ufe0f]?[★⭐🌟]){0,9}(?:[\s\ufe0f]?☆){0,9}")


def read_rating(reply: str, scale: Scale | str | Sequence[float] = (1, 5)) -> float:
    """Return the rating that a reply gives, on the scale on which it was asked for.

    >>> read_rating("On a scale of 1 to 5, I rate this a 4.")
    4.0
    >>> read_rating("The tone is fine, two facts are wrong. Rating: [[3]]", scale=(1, 10))
    3.0

    Args:
        reply: What the judge wrote.
        scale: The scale it was asked to use.

    Raises:
        UnreadableReply: There is no rating, more than one, or none on this scale; the message says which.
    """
    ends = Scale.of(scale)
    answer = part_answer(reply).answer
    if len(answer) > LONGEST_REPLY:
        answer = f"{answer[: LONGEST_REPLY // 4]}\n{answer[-LONGEST_REPLY * 3 // 4 :]}"
    stated = read_reply(answer).first(
        lambda text: _stated(without_closing(text), ends), lambda found: found is not None
    )
    if stated is None:
        raise UnreadableReply(
            f"the judge gave no rating: {beginning_of(part_answer(reply).answer or reply)}"
        )
    return _checked(stated, ends)


def _stated(text: str, scale: Scale) -> Mention | None:
    """The rating that a text states: in JSON, and where the text is no JSON in words or in stars."""
    stated = _in_json(text, scale)
    if stated is not None:
        return stated
    if is_json(text):
        raise UnreadableReply(f"the judge's JSON has no rating: {beginning_of(text)}")
    return _in_words(text, scale) or _in_stars(text)


def _in_words(text: str, scale: Scale) -> Mention | None:
    found = mentions(text, scale)
    for form in FORMS:
        stated = [mention for mention in found if form.states(mention, scale)]
        if not stated:
            continue
        if form.is_weak and len({mention.number for mention in stated}) > 1:
            numbers = ", ".join(f"{mention.number:g}" for mention in stated[:8])
            raise UnreadableReply(f"the judge gave several ratings ({numbers}) and no overall one")
        _check_alone(stated[-1], scale)
        return _settled(stated[-1], found)
    return None


def _check_alone(stated: Mention, scale: Scale) -> None:
    """Refuse the first of several numbers that stand where one rating was asked for."""
    another = _ANOTHER.match(stated.tail) if stated.highest is None else None
    other = float(another["number"]) if another else stated.number
    if other != stated.number and scale.low <= other <= scale.high:
        raise UnreadableReply(
            f"the judge gave {stated.number:g} and {other:g} where one rating belongs"
        )


def _settled(stated: Mention, found: Sequence[Mention]) -> Mention:
    """What a judge between two ratings settles on behind them, as in "between 3 and 4, so 3"."""
    if stated.other is None:
        return stated
    later = found[found.index(stated) + 1 :]
    ends = sorted((stated.number, stated.other))
    return next(
        (one for one in reversed(later) if one.other is None and ends[0] <= one.number <= ends[1]),
        stated,
    )


def _in_json(reply: str, scale: Scale) -> Mention | None:
    objects = [_arguments(fields) for fields in json_objects(reply)]
    rated = [fields for fields in objects if values_of(fields, _NAMES)]
    overall = [fields for fields in rated if _is_overall(fields)]
    if len(rated) > 1 and not overall and is_json(reply):
        raise UnreadableReply("the judge gave several ratings and no overall one")
    for fields in overall or objects:
        values = values_of(fields, _NAMES)
        if len({str(value) for value in values}) > 1:
            raise UnreadableReply(
                f"the judge gave several ratings ({', '.join(map(str, values[:8]))}) and no overall one"
            )
        if values:
            return _stated_in(values[0], scale)
    return None


def _arguments(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object, or the arguments of the call that it is."""
    call = call_of_object(fields)
    return call.arguments if call and call.arguments else fields


def _is_overall(fields: Mapping[str, Any]) -> bool:
    """Whether an object says that its rating is of all: ``{"criterion": "overall", "score": 4}``."""
    return any(
        isinstance(value, str) and _OVERALL.fullmatch(value.strip()) for value in fields.values()
    )


def _stated_in(value: Any, scale: Scale) -> Mention:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Mention(float(value))
    found = mentions(value, scale) if isinstance(value, str) else []
    if len(found) != 1:
        raise UnreadableReply(f"the judge gave {value!r} as its rating")
    return found[0]


def _in_stars(text: str) -> Mention | None:
    runs = [run.group() for run in _STARS.finditer(text)]
    if not runs:
        return None
    full, empty = (sum(map(runs[-1].count, marks)) for marks in ("★⭐🌟", "☆"))
    half = 0.5 if re.search(rf"{re.escape(runs[-1])}\s?½", text) else 0.0
    return Mention(full + half, highest=float(full + empty) if empty else None)


def _checked(stated: Mention, scale: Scale) -> float:
    """Return the number of a statement that is a single rating on the scale."""
    written = f"{stated.number:g}"
    if stated.other is not None and stated.other != stated.number:
        raise UnreadableReply(f"the judge could not decide between {written} and {stated.other:g}")
    if stated.is_percent and scale.high != 100:
        raise UnreadableReply(f"the judge gave {written} percent, not a rating from {scale}")
    if stated.highest not in (None, scale.high) or stated.is_on_another_scale:
        out_of = "" if stated.highest is None else f" out of {stated.highest:g}"
        raise UnreadableReply(f"the judge gave {written}{out_of} on another scale than {scale}")
    if stated.number not in scale:
        raise UnreadableReply(f"the judge gave {written}, which is outside {scale}")
    return stated.number
