"""DROP's F1: bags of words of the spans, aligned one to one, where numbers have to agree.

Dua et al. 2019, "DROP: A Reading Comprehension Benchmark Requiring Discrete Reasoning Over Paragraphs", section 4. The
rules are those of the authors' evaluation but for three: "three" is 3, up to twelve; "$3.50" is 3.5, which is 350 there; and a
number beside a tab or a line break is one, as beside a space.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from heapq import nlargest
from typing import Any, NamedTuple

from context_bench.answers import (
    NO_ANSWER,
    answer_of,
    concluding,
    gold,
    plain_signs,
    plain_value,
    text_of,
)
from context_bench.records import Scores

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_WORDS = {
    word: str(number)
    for number, word in enumerate(
        (
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
        )
    )
}
_EDGES = string.punctuation.replace(".", "").replace("-", "")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_GAP = re.compile(
    r"\s{20,}"
)  # what parts spans is looked for in a time that grows with the cube of a gap
_SEPARATORS = [re.compile(r",\s+"), re.compile(r"\s*(?:,\s+and\s+|,\s+|;\s*|\n+|\s+and\s+)\s*")]


class DropF1:
    """The F1 and exact match of DROP, best over the accepted answers.

    An accepted answer is a list of spans (``answer_spans``), or one text of ``answers`` or ``answer``. What the response
    concludes with (:func:`context_bench.answers.concluding`) counts as one span, or as the spans that commas, semicolons, lines and "and" separate, whichever fits better.

    Score keys: ``drop_f1``, ``drop_em``.

    >>> DropF1().score({"answer_spans": [["Ravens", "Colts"]]}, {"response": "the Colts and the Ravens"})
    {'drop_f1': 1.0, 'drop_em': 1.0}
    """

    name = "drop"

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Score one response.

        Args:
            original: The example: ``answer_spans``, ``answers`` or ``answer``.
            processed: The output: ``response``.

        Returns:
            ``drop_f1`` and ``drop_em``, each from 0 to 1; ``{}`` where there is no answer or no response.
        """
        response, accepted = answer_of(processed), _accepted(original)
        if response is None or not accepted:
            return Scores({}, {"unscored": NO_ANSWER if accepted else gold(original).reason})
        response = concluding(response)
        listed = _GAP.sub(_narrow, response.strip())
        readings = [
            [response],
            *([span for span in each.split(listed) if span] for each in _SEPARATORS),
        ]
        readings = [reading for reading in readings if reading]
        pairs = [_compare(reading, answer) for reading in readings for answer in accepted]
        return {"drop_f1": max(f1 for f1, _ in pairs), "drop_em": max(exact for _, exact in pairs)}

    def fingerprint(self) -> dict[str, Any]:
        """Every parameter that can change a score: there is none."""
        return {}


def _narrow(gap: re.Match[str]) -> str:
    middle = "\n" if "\n" in gap[0] else " "
    return gap[0][:9] + middle + gap[0][-9:]


def _accepted(original: Mapping[str, Any]) -> list[list[str]]:
    """Return the lists of spans any of which is right: those of ``answer_spans``, or the references, each a list or a text."""
    spans = plain_value(original.get("answer_spans"))
    answers = map(plain_value, spans or gold(original).values)
    lists = [answer if isinstance(answer, (list, tuple)) else [answer] for answer in answers]
    texts = [
        [text for text in map(text_of, spans) if text is not None and text.strip()]
        for spans in lists
    ]
    return [spans for spans in texts if spans]


class _Bag(NamedTuple):
    """The words of a span, each once, and those of them that are numbers."""

    words: set[str]
    numbers: set[str]


def _compare(response: Sequence[str], answer: Sequence[str]) -> tuple[float, float]:
    """Return F1 and exact match of two lists of spans."""
    ours, theirs = [list(map(_normal, spans)) for spans in (response, answer)]
    exact = float(set(ours) == set(theirs) and len(ours) == len(theirs))
    our_bags, their_bags = [[_bag(span) for span in spans] for spans in (ours, theirs)]
    total = _best_pairing([[_bag_f1(a, b) for a in our_bags] for b in their_bags])
    # numpy rounds so, and with it the authors: a half goes to the even hundredth
    return round(100 * total / max(len(ours), len(theirs))) / 100, exact


def _best_pairing(scores: list[list[float]]) -> float:
    """Return the largest sum of scores that pairing rows with columns one to one can give.

    The Hungarian method, row by row along the cheapest alternating path. Of the columns only those that are among the best of
    some row can be needed, as many of each row as there are rows.

    >>> _best_pairing([[0.9, 0.8], [0.8, 0.1]])
    1.6
    """
    is_turned = len(scores) > len(scores[0])
    if is_turned:
        scores = [list(column) for column in zip(*scores)]
    needed = {
        column
        for row in scores
        for column in nlargest(len(scores), range(len(row)), key=row.__getitem__)
    }
    costs = [[-row[column] for column in sorted(needed)] for row in scores]
    size = len(needed)
    row_price, column_price = [0.0] * len(costs), [0.0] * (size + 1)
    taken_by = [-1] * (size + 1)  # the row of each column; the last one is where a new row stands
    for row in range(len(costs)):
        taken_by[size], column = row, size
        distance, before, seen = [float("inf")] * size, [size] * size, set()
        while taken_by[column] >= 0:
            seen.add(column)
            held = taken_by[column]
            for other in range(size):
                if other not in seen:
                    reduced = costs[held][other] - row_price[held] - column_price[other]
                    if reduced < distance[other]:
                        distance[other], before[other] = reduced, column
            nearest = min(
                (other for other in range(size) if other not in seen), key=distance.__getitem__
            )
            step = distance[nearest]
            for one in seen:
                row_price[taken_by[one]] += step
                column_price[one] -= step
            distance = [each - step for each in distance]
            column = nearest
        while column != size:
            taken_by[column], column = taken_by[before[column]], before[column]
    pairs = [(row, column) for column, row in enumerate(taken_by[:size]) if row >= 0]
    return -sum(
        costs[row][column] for row, column in (pairs if is_turned else sorted(pairs))
    )  # as they are listed


def _bag(span: str) -> _Bag:
    words = set(span.split())
    return _Bag(words, {word for word in words if _is_number(word)})


def _bag_f1(ours: _Bag, theirs: _Bag) -> float:
    if theirs.numbers and not theirs.numbers & ours.numbers:
        return 0.0
    common = len(ours.words & theirs.words)
    precision = common / len(ours.words) if ours.words else 1.0
    recall = common / len(theirs.words) if theirs.words else 1.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _normal(text: str) -> str:
    """Return lower-case words without articles and punctuation, numbers in one spelling.

    >>> _normal("The 4,000-yard run"), _normal("Three."), _normal("$3.50")
    ('4000.0 yard run', '3.0', '3.5')
    """
    return " ".join(" ".join(map(_word, re.split(r"[\s\-]+", plain_signs(text).lower()))).split())


def _word(token: str) -> str:
    inside = token.strip(_EDGES).rstrip(".")
    for number in (token, _WORDS.get(inside, inside), token.translate(_NO_PUNCTUATION)):
        if _is_number(number):
            return str(float(number))
    return _ARTICLES.sub(" ", token.translate(_NO_PUNCTUATION))


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
