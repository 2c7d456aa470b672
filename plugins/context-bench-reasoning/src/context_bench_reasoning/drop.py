"""DROP's F1: bags of words of the spans, aligned one to one, where numbers have to agree.

Dua et al. 2019, "DROP: A Reading Comprehension Benchmark Requiring Discrete Reasoning Over Paragraphs", section 4; the
rules of normalisation are those of the authors' evaluation.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

_ARTICLES = {"a", "an", "the"}
_WORDS = {
    word: str(number)
    for number, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    )
}
_SEPARATORS = [re.compile(r",\s+"), re.compile(r"\s*(?:,\s+and\s+|,\s+|;\s*|\n+|\s+and\s+)\s*")]
_SMALL = 7


class DropF1:
    """The F1 and exact match of DROP, best over the accepted answers.

    An accepted answer is a list of spans (``answer_spans``), or one text of ``answers`` or ``answer``. The response counts as
    one span, or as the spans that commas, semicolons, lines and "and" separate, whichever fits better.

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
        response, accepted = processed.get("response"), _accepted(original)
        if not isinstance(response, str) or not accepted:
            return {}
        readings = [[response], *([span for span in each.split(response.strip()) if span] for each in _SEPARATORS)]
        readings = [reading for reading in readings if reading]
        pairs = [_compare(reading, answer) for reading in readings for answer in accepted]
        return {"drop_f1": max(f1 for f1, _ in pairs), "drop_em": max(exact for _, exact in pairs)}

    def fingerprint(self) -> dict[str, Any]:
        """Every parameter that can change a score: there is none."""
        return {}


def _accepted(original: Mapping[str, Any]) -> list[list[str]]:
    found: list[list[str]] = []
    for answer in original.get("answer_spans") or original.get("answers") or [original.get("answer")]:
        spans = answer if isinstance(answer, Sequence) and not isinstance(answer, str) else [answer]
        texts = [str(span) for span in spans if isinstance(span, str | int | float) and str(span).strip()]
        if texts:
            found.append(texts)
    return found


def _compare(response: Sequence[str], answer: Sequence[str]) -> tuple[float, float]:
    """Return F1 and exact match of two lists of spans."""
    ours, theirs = [list(map(_normal, spans)) for spans in (response, answer)]
    exact = float(set(ours) == set(theirs) and len(ours) == len(theirs))
    scores = [[_bag_f1(set(a.split()), set(b.split())) for a in ours] for b in theirs]
    return round(sum(_alignment(scores)) / max(len(ours), len(theirs)), 2), exact


def _alignment(scores: list[list[float]]) -> list[float]:
    """Return the scores of the best one-to-one pairing; for many spans of the pairing that takes the best pair first."""
    rows, columns = len(scores), len(scores[0])
    if rows > columns:
        scores = [list(column) for column in zip(*scores, strict=True)]
        rows, columns = columns, rows
    if columns <= _SMALL:
        best = max(
            permutations(range(columns), rows), key=lambda chosen: sum(scores[r][c] for r, c in enumerate(chosen))
        )
        return [scores[row][column] for row, column in enumerate(best)]
    found, used_rows, used_columns = [], set(), set()
    for score, row, column in sorted(((scores[r][c], r, c) for r in range(rows) for c in range(columns)), reverse=True):
        if row not in used_rows and column not in used_columns:
            used_rows.add(row)
            used_columns.add(column)
            found.append(score)
    return found


def _bag_f1(ours: set[str], theirs: set[str]) -> float:
    numbers, wanted = set(filter(_is_number, ours)), set(filter(_is_number, theirs))
    if wanted and not wanted & numbers:
        return 0.0
    common = len(ours & theirs)
    precision = common / len(ours) if ours else 1.0
    recall = common / len(theirs) if theirs else 1.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _normal(text: str) -> str:
    """Return lower-case words without articles and punctuation, numbers in one spelling.

    >>> _normal("The 4,000-yard run"), _normal("Three.")
    ('4000.0 yard run', '3.0')
    """
    words = []
    for token in re.split(r"[\s\-]+", text.lower()):
        number = _number(token)
        if number is not None:
            words.append(str(number))
            continue
        word = "".join(letter for letter in token if letter not in string.punctuation)
        if word and word not in _ARTICLES:
            words.append(word)
    return " ".join(words)


def _number(token: str) -> float | None:
    bare = token.strip(string.punctuation.replace(".", "").replace("-", "")).rstrip(".").replace(",", "")
    try:
        return float(_WORDS.get(bare, bare)) if bare[:1].isdigit() or bare[:1] == "." or bare in _WORDS else None
    except ValueError:
        return None


def _is_number(word: str) -> bool:
    return _number(word) is not None
