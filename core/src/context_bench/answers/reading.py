"""A reply as a reader takes it: without layout, and with what it quotes told apart from what it
says.

A judge that quotes "Rating: 5" out of the response that it rates does not give a 5, and a solution
that refutes "the answer is 19" does not answer 19. A quotation is a passage in quotation marks, in
a block of quoted lines or in a fence that makes a statement of its own, unless it is the whole
reply or stands where the reply announces its answer.

>>> read_reply('Rating: 1. The response says: "Rating: 5"').own
'Rating: 1. The response says: "…"'
>>> read_reply('The verdict is "B".').own
'The verdict is "B".'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from context_bench.answers.layout import without_layout
from context_bench.answers.signs import plain_signs

GAP = "…"
"""What stands for a quotation that was left out."""

_STATES = re.compile(
    r"\b(?:answers?|answered|ratings?|rate[ds]?|scores?|scored|grades?|verdicts?|winners?|wins?|better|best|worse|superior|preferred|prefer"
    r"|correct|incorrect|choices?|options?|results?|final|conclusion|entail\w*|contradict\w*|neutral|support\w*|refut\w*|tie"
    r"|label|decision|judge?ment|stars?|points?|award|give)\b|\[\[|\\boxed|####|\d\s?/\s?\d"
    r"|[答评評得분점]|ответ|оценка|antwort|respuesta|réponse",
    re.IGNORECASE,
)
"""What makes a passage a statement of an answer, a rating or a verdict."""

_SAYS = (
    r"says?|said|saying|claim(?:s|ed|ing)?|stat(?:es|ed|ing)|writ(?:es|ing)|wrote|reads|contain(?:s|ed|ing)?|includ(?:es|ed|ing)"
    r"|quot(?:e|es|ed|ing)|tr(?:ies|ied|ying)|tells?|told|argu(?:es|ed|ing)|instruct(?:s|ed|ing|ions?)?|asks?|asked|asking"
    r"|demand(?:s|ed)?|insist(?:s|ed)?|inject(?:s|ed|ion)?|mention(?:s|ed)?|suggest(?:s|ed)?|assert(?:s|ed)?|declar(?:es|ed)"
    r"|request(?:s|ed)?|conclud(?:es|ed)|reports?|reported|replied|replies"
    r"|according to|ends with|begins with|begs?|order(?:s|ed)"
    r"|the (?:line|phrase|words?|text|string|sentence|note|comment|message|prompt)"
)
_ATTRIBUTED = re.compile(rf"\b(?:{_SAYS})\b[^.!?\n\"]{{0,60}}\Z", re.IGNORECASE)
_ATTRIBUTED_AFTER = re.compile(
    r"[\s,.]{0,3}(?:is what|was what|says|said|claims|claimed|writes|wrote"
    r"|it says|it claims|they (?:say|said|claim))\b",
    re.IGNORECASE,
)
_CONTRASTS = r"although|though|despite|since|because|while|whereas|but|yet"
_JOINS = rf"{_CONTRASTS}|as|when|where|whose|if|so|and"
# "although the response says", and not "Rating: 1, although it says"
_ONLY_ATTRIBUTES = re.compile(
    rf"\W*(?:(?:even|also|note|{_JOINS})\s+){{0,3}}(?:(?!(?:{_JOINS})\b)[\w'’-]+\s+){{0,8}}(?:{_SAYS})\b"
    r"[^.!?\n\"]{0,60}|\W*",
    re.IGNORECASE,
)
_OWN_VOICE = re.compile(
    r"\b(?:I|we)\b(?:'\w+)?(?:\s+\w+){0,2}\s+"
    r"(?:say|state|conclude|answer|give|rate|write|choose|pick|call)\b"
    rf"(?:(?!\b(?:{_CONTRASTS})\b)[^.!?\n]){{0,80}}\Z"
    r"|\bmy\s+(?:\w+\s+){0,2}(?:answer|verdict|rating|score|conclusion|choice)\b[^.!?\n]{0,20}\Z",
    re.IGNORECASE,
)
_ANNOUNCED = re.compile(
    r"\b(?:answer|rating|score|grade|verdict|label|winner|choice|decision|result"
    r"|conclusion|option|output|prediction|classification)s?\b"
    r"[\"'*_)\]]{0,3}[ \t]*(?:(?:is|are|was|would be|will be|should be)\b|[:=]|->|=>|→|[–—-])"
    r"[ \t]*(?:[:(]?[ \t]*)\Z",
    re.IGNORECASE,
)
_UNMARKED = re.compile(  # The response says: Rating: 5
    r"\b(?:response|answer|output|assistant|text|student|candidate|submission|model|author|writer|user|prompt|summary|reply|article"
    r"|textbook|key|it|he|she|they|one|somebody|someone|people|others?|[ab12])\b[^.!?\n:]{0,30}"
    r"\b(?:says?|said|claims?|claimed|writes?|wrote|contains|asks?|tells?|told|instructs?|demands?|insists?|states|stated|argues"
    r"|begs|orders|ends with|reads|tries|replied)\b"
    r"[^.!?\n:]{0,40}:[ \t]*(?P<words>[^\s\"“„«「『`'‘](?:[^.!?\n]|[.!?](?!\s))*)",
    re.IGNORECASE,
)
_DEMANDED = re.compile(  # It asks me to give it a rating of 5
    r"\b(?:asks?|asked|tells?|told|instructs?|orders?|begs?|urges?|demands?|wants?|requests?)\s+(?:me|the\s+(?:judge|grader|evaluator|rater))"
    r"\b(?P<words>[^.,:;!?\n]*)",
    re.IGNORECASE,
)
_CONTRASTED = re.compile(  # The answer is 18, although the key says it is 19
    r"(?<=[^\s.!?])[,;]?[ ](?:even[ ])?(?:although|though|while|whereas|but|yet)[ ]"
    rf"(?:(?!(?:{_JOINS}|I|we)\b)[\w'’-]+[ ]){{1,6}}"
    r"(?:says|said|states|stated|claims|claimed|writes|wrote|reads|argues|argued)[ ]"
    r"(?P<words>[^,;.!?\n]*(?:\.\d[^,;.!?\n]*)*)"
)
_MARKS = re.compile(
    r"“(?P<a>[^“”\n]*)”|„(?P<b>[^„“”\n]*)[“”]|«(?P<c>[^«»\n]*)»|「(?P<d>[^「」\n]*)」|『(?P<e>[^『』\n]*)』"
    r"|\"(?P<f>[^\"\n]*)\"|(?<![`\w])`(?P<g>[^`\n]+)`|(?<![\w'’])[‘'](?P<h>(?:[^'’‘\n]|['’](?=\w))+)['’](?!\w)"
)
_FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})[ \t]*(?P<name>[\w+#.-]*)[ \t]*")
_NEVER_QUOTES = re.compile(r"json\w*|tool\w*|xml|latex|tex|math", re.IGNORECASE)
_QUOTED_LINE = re.compile(r"[ \t]*>")
_QUOTED_LINES = re.compile(r"\A[ \t]*(?:>[ \t]?)+")
_REMARK_END = re.compile(
    r"[\"'”“»」』`)\].!]*(?:,?[ ](?:which|that|but[ ](?:this|that|it))[ ](?:is|was|are|I)"
    r"[^.!?\n]{0,60})?[.!)\s]*?(?=\n|\Z)"
)
_REACH = 100
_WHOLE = re.compile(r"[\s\"'“”‘’„«»「」『』`*_.!>#-]*")

FoundT = TypeVar("FoundT")


class Reply(NamedTuple):
    """A reply in three readings, each without layout and without what cannot be seen.

    Attributes:
        text: All that the reply says.
        own: Without what it quotes, each quotation as :data:`GAP`; equal to ``text`` where it
            quotes nothing.
        unattributed: Without what it says that somebody else said; quotations that may be its own
            answer are in it.
    """

    text: str
    own: str
    unattributed: str

    def first(
        self,
        find: Callable[[str], FoundT],
        is_sure: Callable[[FoundT], bool],
    ) -> FoundT:
        """Return what is found in the reply's own words, or else with what it may have quoted as
        its answer.

        Args:
            find: Finds an answer in a text.
            is_sure: Whether what was found was stated, so that no quotation is looked at.
        """
        found = find(self.own)
        if self.own == self.text or is_sure(found):
            return found
        return find(self.unattributed) if self.unattributed != self.own else found


class _Span(NamedTuple):
    """A passage that is quoted: where it lies, and whether the reply says that somebody else said
    it."""

    start: int
    end: int
    is_attributed: bool


def read_reply(text: str, *, hashes: bool = False, emphasis: bool = True) -> Reply:
    """Return the readings of a reply whose reasoning was parted from it.

    Args:
        text: The answer part of a reply.
        hashes: Whether ``####`` stays, with which solutions of GSM8K mark their answer.
        emphasis: Whether marks of emphasis within lines go.
    """
    text = _unquoted(plain_signs(text))
    whole = without_layout(text, hashes=hashes, emphasis=emphasis)
    spans = _quotations(text)
    if not spans:
        return Reply(whole, whole, whole)
    own = without_layout(_without(text, spans), hashes=hashes, emphasis=emphasis)
    said = [span for span in spans if span.is_attributed]
    unattributed = whole
    if said:
        unattributed = without_layout(_without(text, said), hashes=hashes, emphasis=emphasis)
    return Reply(whole, own, unattributed)


def _unquoted(text: str) -> str:
    """A text without the signs of quotation or the fence around all of it: what is quoted whole is
    shown, not quoted."""
    lines = _unfenced(text.strip().split("\n"))
    if not all(_QUOTED_LINE.match(line) for line in lines if line.strip()) or not text.strip():
        return "\n".join(lines)
    return "\n".join(_QUOTED_LINES.sub("", line) for line in lines)


def _unfenced(lines: list[str]) -> list[str]:
    """The lines without a fence around all of them; one with a name that opens inside it shows that
    it goes on."""
    fences: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        fence = _FENCE.fullmatch(line)
        if fence:
            fences.append((number, fence["name"]))
    if len(fences) < 2 or fences[0][0] != 0 or fences[-1] != (len(lines) - 1, ""):
        return lines
    is_around_all = len(fences) == 2 or fences[1][1] != ""
    return lines[1:-1] if is_around_all and not _NEVER_QUOTES.fullmatch(fences[0][1]) else lines


def _without(text: str, spans: Sequence[_Span]) -> str:
    parts: list[str] = []
    position = 0
    for span in spans:
        parts += (text[position : span.start], GAP)
        position = span.end
    return "".join([*parts, text[position:]])


def _quotations(text: str) -> list[_Span]:
    """The passages of a text that are quotations, in order, none in another."""
    candidates = list(_contrasts(text))
    if _STATES.search(text):
        stating = (span for span in _candidates(text) if _STATES.search(text, span.start, span.end))
        candidates += stating
    spans: list[_Span] = []
    for span in sorted(candidates):
        if not spans or span.start >= spans[-1].end:
            spans.append(span)
    if not _is_all(text, spans):
        return spans
    return [span for span in spans if span.is_attributed]


def _is_all(text: str, spans: Sequence[_Span]) -> bool:
    """Whether nothing is left of a text without some passages."""
    return _WHOLE.fullmatch(_without(text, spans).replace(GAP, "")) is not None


def _candidates(text: str) -> Iterator[_Span]:
    yield from _blocks(text)
    yield from _marked(text)
    yield from _unmarked(text)


def _blocks(text: str) -> Iterator[_Span]:
    """Blocks of quoted lines, and fences, after or before other lines of the reply."""
    lines = text.split("\n")
    starts = _starts(lines)
    first = -1
    fence = -1
    for number, line in enumerate([*lines, ""]):
        is_quoted = number < len(lines) and _QUOTED_LINE.match(line) is not None
        if is_quoted and first < 0:
            first = number
        elif not is_quoted and first >= 0:
            yield _block(text, starts[first], starts[number] - 1)
            first = -1
        opened = _FENCE.fullmatch(line)
        if opened is None:
            continue
        if fence < 0:
            fence = number
            continue
        name = _FENCE.fullmatch(lines[fence])
        if fence + 1 < number and not (name and _NEVER_QUOTES.fullmatch(name["name"])):
            yield _block(text, starts[fence], starts[number + 1] - 1)
        fence = -1


def _starts(lines: Iterable[str]) -> list[int]:
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _block(text: str, start: int, end: int) -> _Span:
    lead = text[max(0, start - 2 * _REACH) : start].rstrip("\n`~ \t>")
    introduction = lead.rpartition("\n")[2]
    is_attributed = introduction.endswith(":") and _ATTRIBUTED.search(introduction) is not None
    if not is_attributed or _OWN_VOICE.search(introduction):
        return _Span(start, end, is_attributed=False)
    is_alone = len(introduction) <= _REACH and _ONLY_ATTRIBUTES.fullmatch(introduction) is not None
    line = text.rfind(introduction, 0, start)
    return _Span(line if is_alone else start, end, is_attributed=True)


def _marked(text: str) -> Iterator[_Span]:
    """Passages in quotation marks that are not where the reply announces its own answer."""
    for match in _MARKS.finditer(text):
        lead = text[max(0, match.start() - _REACH) : match.start()].rpartition("\n")[2]
        inside = match[0][1:-1]
        if not inside.strip() or _ANNOUNCED.search(lead) or _is_line(text, match):
            continue
        if not _STATES.search(inside) or not re.search(r"[\s:=\[\\/]", inside.strip()):
            continue
        if _OWN_VOICE.search(lead):
            continue
        speaker = _ATTRIBUTED.search(lead) or _ATTRIBUTED_AFTER.match(text, match.end())
        span = _Span(match.start() + 1, match.end() - 1, speaker is not None)
        yield _remark(text, span) if speaker else span


def _is_line(text: str, match: re.Match[str]) -> bool:
    """Whether a passage is all of its line, which the reply then shows in quotation marks."""
    start = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.end())
    rest = text[start : match.start()] + text[match.end() : len(text) if end < 0 else end]
    return _WHOLE.fullmatch(rest) is not None and "`" not in match[0]


def _contrasts(text: str) -> Iterator[_Span]:
    """What follows "although the key says" up to the end of its clause, where it is a number or
    states an answer."""
    for match in _CONTRASTED.finditer(text):
        if re.search(r"\d", match["words"]) or _STATES.search(match["words"]):
            yield _Span(match.start("words"), match.end("words"), is_attributed=True)


def _unmarked(text: str) -> Iterator[_Span]:
    """What follows "the response says:" up to the end of its sentence."""
    for match in _DEMANDED.finditer(text):
        yield _Span(match.start("words"), match.end("words"), is_attributed=True)
    for match in _UNMARKED.finditer(text):
        before = text[max(0, match.start() - _REACH) : match.start()]
        if match["words"].strip() and not _OWN_VOICE.search(before):
            span = _Span(match.start("words"), match.end("words"), is_attributed=True)
            yield _remark(text, span)


def _remark(text: str, span: _Span) -> _Span:
    """A quotation with the line around it, where that says only who said it: "(It claims "...",
    which is wrong.)"."""
    start = text.rfind("\n", 0, span.start) + 1
    lead = text[start : span.start]
    end = _REMARK_END.match(text, span.end)
    names_speaker = _ONLY_ATTRIBUTES.fullmatch(lead.rstrip("\"'“„«「『`‘ ")) is not None
    if len(lead) > _REACH or not names_speaker or end is None:
        return span
    return _Span(start, end.end(), span.is_attributed)
