"""Numbers in a reply, with the words around them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from context_bench.answers import nfkc
from context_bench_judge.scale import Scale

LONGEST_REPLY = 100_000
_MOST_MENTIONS = 400
_REACH_BACK = 240
_REACH_ON = 1000

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WORD = "|".join(_WORDS)
_NUMBER = re.compile(
    r"(?P<number>(?:(?<![\w.,])-?|(?<=[^\W\d_a-z]))\d+(?:\.\d+|,\d{1,2}(?!\d))?"
    rf"|\b(?<!this )(?<!that )(?<!the )(?<!which )(?<!better )(?:{_WORD}))(?![A-Za-z0-9_]|[.,]\d|\s*\+\s*\d)"
    r"(?:\s*(?P<percent>%|percent\b|per cent\b))?"
    r"(?:(?:\s+(?:stars?|points?|marks?)(?=\s+out of))?"
    rf"\s*\(?\s*(?:/|out of(?: a possible| a maximum of)?|von|sur)\s*(?P<highest>\d+(?:\.\d+)?|{_WORD})\b(?!\s*/\s*\d))?"
    rf"(?:\s*(?:-|~|to|or)\s*(?P<other>\d+(?:\.\d+)?|(?:{_WORD})\b)(?![\w/%]))?",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    rf"\bbetween\s+(?:an?\s+)?(\d+(?:\.\d+)?|{_WORD})\s+(?:and|&)\s+(?:an?\s+)?(\d+(?:\.\d+)?|{_WORD})\b",
    re.IGNORECASE,
)
_AND_A_HALF = re.compile(
    rf"(?<![\w.,/])(\d+|{_WORD})(?:\s*½|\s+(?:and\s+(?:an?|one)\s+half\b|1/2(?![\w/])))",
    re.IGNORECASE,
)
_SUM = re.compile(
    r"(?<![\w.])\(?\d+(?:\.\d+)?(?:\s*[+-]\s*\d+(?:\.\d+)?){1,50}\)?(?:\s*/\s*\d+)?\s*=\s*(?=\d)"
)
_WIDE_GAP = re.compile(r"\s{4,}")
_OTHER_SCALE = "\x00"


@dataclass(frozen=True)
class Mention:
    """A number in a reply.

    Attributes:
        number: The number.
        highest: What it is said to be out of, as in "4/5" or "4 out of 5".
        other: The other end, when two numbers are offered, as in "3-4" or "3 or 4".
        is_percent: Whether it is a percentage.
        lead: The text before it.
        tail: The text after it.
    """

    number: float
    highest: float | None = None
    other: float | None = None
    is_percent: bool = False
    lead: str = ""
    tail: str = ""

    @property
    def is_on_another_scale(self) -> bool:
        """Whether its line names a scale that is not ours."""
        return (
            _OTHER_SCALE in self.lead.rpartition("\n")[2]
            or _OTHER_SCALE in self.tail.partition("\n")[0]
        )


def mentions(reply: str, scale: Scale) -> list[Mention]:
    """Return the numbers of a reply in order, without those that only name the scale."""
    text = _without_scale(_plain(reply), scale)
    matches = list(_NUMBER.finditer(text))
    if len(matches) > _MOST_MENTIONS:
        matches = matches[: _MOST_MENTIONS // 4] + matches[-_MOST_MENTIONS * 3 // 4 :]
    return [_mention(match) for match in matches]


def _mention(match: re.Match[str]) -> Mention:
    highest, other = match["highest"], match["other"]
    return Mention(
        number=_as_number(match["number"]),
        highest=None if highest is None else _as_number(highest),
        other=None if other is None else _as_number(other),
        is_percent=match["percent"] is not None,
        lead=match.string[max(0, match.start() - _REACH_BACK) : match.start()],
        tail=match.string[match.end() : match.end() + _REACH_ON],
    )


def _as_number(written: str) -> float:
    word = written.lower()
    return float(_WORDS.index(word)) if word in _WORDS else float(word.replace(",", "."))


def _plain(reply: str) -> str:
    """Return a text with plain quotes, dashes and digits, and without marks of formulas and of emphasis that nothing closes."""
    text = _WIDE_GAP.sub(
        _narrow, reply.replace(_OTHER_SCALE, " ")
    )  # no search below has to start again at every blank of a long run
    text = _AND_A_HALF.sub(lambda match: f"{_as_number(match[1]):g}.5", text)
    text = nfkc(text)
    text = re.sub(r"[‘’ʼ]", "'", re.sub(r"[“”„«»]", '"', text))
    text = re.sub(r"\s*—\s*", " - ", re.sub(r"[–−‑‒]", "-", text))
    text = _SUM.sub("", _BETWEEN.sub(r"\1-\2", text))
    return re.sub(r"\\[()\[\]]", "", text)  # the marks of formulas


def _narrow(gap: re.Match[str]) -> str:
    return "\n" * min(2, gap.group().count("\n")) or "  "


def _without_scale(text: str, scale: Scale) -> str:
    """Return a text in which the scale that was asked for is not mentioned, and any other scale is marked."""
    low, high = (re.escape(f"{end:g}") for end in (scale.low, scale.high))
    ours = rf"(?<![\w.,]){low}\s*(?:-|to|through|and|\.\.+|~)\s*{high}(?![\w%]|[.,]\d)"
    number = r"\d+(?:\.\d+)?"
    extreme = r"best|worst|highest|lowest|top|perfect|excellent|great|poor|terrible|bad|very|completely|fully|not"
    for pattern, instead in (
        (rf"[(\[]\s*(?:[a-z]+ ){{0,6}}{ours}[^()\[\]\n]{{0,40}}[)\]]", " "),
        (
            rf"\b(?:(?:on|using|from|in|of|with) )?(?:an?|the|our|this)?\s*\b(?:scale|range)\s*(?:is |of |from |:)*\s*{ours}",
            " ",
        ),
        (rf"(?:\b(?:from|between|of)\s+)?{ours}(?:\s+(?:scale|range))?", " "),
        (
            rf"\b(?:scale|range)\s+(?:of|from)?\s*{number}\s*(?:-|to|through|and)\s*{number}",
            _OTHER_SCALE,
        ),
        (rf"\b(?:on\s+)?(?:an?|the|our|this)\s+{high}[- ](?:point|star|level)s?\s+scale\b", " "),
        (rf"\b(?:on\s+)?(?:an?|the)\s+{number}[- ](?:point|star|level)s?\s+scale\b", _OTHER_SCALE),
        (rf"\(\s*(?:out of|of|max(?:imum)?\.?(?: of)?)\s*:?\s*{high}(?:\s*points?)?\s*\)", " "),
        (rf"\bout of {high}(?=\s*[:=])", " "),
        (
            rf"\b(?:where |with )?{number}\s*(?:being|means|=|is)\s*(?:the )?(?:{extreme})\b[^\n,.;()]*",
            " ",
        ),
        (
            rf"\b(?:not|[a-z]+n't)\s+(?:an?\s+|quite\s+|really\s+)*{number}\s*,?\s*but\s+(?:rather\s+)?",
            " ",
        ),
    ):
        text = re.sub(pattern, instead, text, flags=re.IGNORECASE)
    return text
