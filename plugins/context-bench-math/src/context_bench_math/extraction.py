"""Where the answer stands in a response: the last box, ``####``, "the answer is ...", else the last piece of mathematics."""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple

from context_bench.answers import GAP, part_answer, read_reply, without_closing
from context_bench_math.boxes import last_boxed
from context_bench_math.exact import is_time
from context_bench_math.forms import is_empty, is_form
from context_bench_math.notation import ascii_signs, plain
from context_bench_math.pieces import Piece, pieces
from context_bench_math.reading import read
from context_bench_math.wording import is_name

_LABEL = re.compile(
    r"(?i:(?<![^\W\d_])(?P<final>final\s+)?(?:answers?|ans|antwort(?:en)?|respuestas?|réponses?|respostas?|rispost[ae]"
    r"|ответы?|jibu|答案|答え|答|సమాధానం|คำตอบ|উত্তর|정답|답))(?![a-z])|^[ \t>*#]*A(?=\**[ \t]*[:：])",
    re.MULTILINE,
)
_LINK = re.compile(
    r"(?i:(?<![^\W\d_])(?:is|are|was|be|equals|ist|lautet|es|est|é|è|ni)(?![^\W\d_]))|[:：=]|是|は|คือ|হল|은|는|이"
)
_SENTENCE_END = re.compile(r"[.!?](?=\s+[A-Z\"<\[*]|\s*\Z)|\.(?=\s)(?<!\d\.)|[。！？।]")
_CONTRASTS = r"(?:even\s+)?(?:although|though|if)|whereas|while|despite|unlike"
_CLAUSE_END = re.compile(
    rf"[,;]?\s+(?:because|since|as|so|which|where|when|for|but|given|i hope|{_CONTRASTS})\b|\s\(",
    re.IGNORECASE,
)
_QUOTES_BEHIND = re.compile(rf"[,;]?\s+(?:(?:but|{_CONTRASTS})\b|\()[^\n]*{GAP}", re.IGNORECASE)
_HASHES = re.compile(r"(?<!#)####+(?!#)[ \t]*(?P<line>\S[^\n]*)")
_SIGN = re.compile(r"\S")
_NUMBERED = re.compile(r"\W*\d+[.)]\s+[^\W\d_]")
_NEGATED = re.compile(r"\b(?:not|rather\s+than|instead\s+of)[\s$*]*\Z", re.IGNORECASE)
_PROSE = re.compile(
    r"(?<![\\{]|[^\W\d_])(?!(?:sin|cos|tan|cot|sec|csc|log|ln|exp|sqrt|pi|and|or|inf|infinity)\b)[^\W\d_]{2,}"
)
_TEXT = re.compile(r"\\[A-Za-z]+\s*\{[^{}\d]*\}")
_LEAD = re.compile(
    r"[\s*_`\"'(:$\\[]*(?:(?:approximately|about|around|roughly|simply|just|exactly|only|a\s+total\s+of|equal\s+to)\s+)?[\s$€£¥(\\[]*",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"(?<!\S)\((?=[^()]*[^\W\d_]{3})[^()\\$]*\)")
_UNIT = re.compile(
    r"\^\{?-?\d\}?|[A-Za-z]{1,3}(?:\^-?\d)?(?:\s*[/*]\s*[A-Za-z]{1,3}(?:\^-?\d)?)+|[A-Za-z]\^-?[123]"
)
_OPERATION = re.compile(r"\d\s*[-+*/^x]\s*[$(]*\d")
_NAMED = re.compile(r"[A-Za-z]\s*=")
_CALCULATION = re.compile(r"<<[^<>\n]*(?:>>|\Z)")
_CURRENCY = re.compile(r"(?:\\?\$|(?:[€£¥₹₽₩₦฿₫₴₱₪¢]|\b(?:Rs\.?|USD|EUR|GBP|INR|JPY|CNY)) ?)\Z")
_DASH = re.compile(r"[ \t*_\"')]*(?:[–—]|-(?=[ \t])|[-=]+>|[→⇒➜])[ \t]*")
_DASH_BEHIND_LINK = re.compile(r"[ \t*_]*(?:—|–(?=[ \t])|[-=]+>|[→⇒➜])[ \t]*")
_SURE = frozenset(["boxed", "hashes", "stated", "bare"])
_LABELLED = re.compile(
    r"\W*(?:\\(?:text[a-z]*|mathrm|mbox)\s*\{)?\s*(?:[^\W\d_]+[ ]+){0,5}[^\W\d_]{2,}\s*(?:[:：]|\bis\b|\bare\b)\s*\}?\s*(?=\S)"
)
_ANNOUNCES_LIST = re.compile(
    r"\b(?:are|solutions?|values?|roots?|answers?|zeros?)\b[^\n.]{0,60}:\s*\Z", re.IGNORECASE
)
_ONE_IN = re.compile(r"(?<=\s)1\s+in\s+\Z")
_LAST_SENTENCE = re.compile(r"[^.!?\n]+[.!?\s]*\Z")
_SO = re.compile(
    r"\A\s*(?:so|thus|hence|therefore|consequently|in conclusion)\b[,:]?\s*(?:that\s+)?",
    re.IGNORECASE,
)
_LONGEST_RESPONSE = 200_000
_LONGEST_STATEMENT = 1000
_LONGEST_BARE = 300
_LONGEST_WORDS = 100
_MOST_LABELS = 200
_WINDOW = 2000


class Extraction(NamedTuple):
    """The answer that a response gives.

    Attributes:
        answer: What is compared with the reference; ``""`` where there is nothing.
        rule: How it was found: ``boxed``, ``hashes``, ``stated``, ``bare``, ``last`` or ``none``.
        said: The words that it was taken from, for references that are words.
        parts: The boxes that end the response, where several may be one answer.
    """

    answer: str
    rule: str
    said: str = ""
    parts: tuple[str, ...] = ()


def extract(response: str) -> Extraction:
    """Find the answer that a response concludes with.

    The last of these decides: a box, a ``####`` line, a "final answer is ...". Without any of them the last "answer is ...",
    "answer: ..." or "A: ..." counts, then a response that is nothing but an answer, then the last piece of mathematics.

    >>> extract("16 - 7 = 9 eggs, so the answer is 18 dollars.")
    Extraction(answer='18 dollars', rule='stated', said='18 dollars', parts=())
    """
    response = part_answer(response).answer
    if len(response) > _LONGEST_RESPONSE:
        response = _decisive_part(response)
    if "<<" in response:
        response = _CALCULATION.sub("", response)
    return read_reply(response, hashes=True).first(_extracted, lambda found: found.rule in _SURE)


def _extracted(text: str) -> Extraction:
    text = without_closing(text)
    return (
        _marked(text)
        or _stated(text)
        or _bare(text)
        or _listed(text)
        or _without_solution(text)
        or _last(text)
    )


def _without_solution(text: str) -> Extraction | None:
    """What the last sentence says where it says that there is no solution."""
    sentence = _LAST_SENTENCE.search(text[-_LONGEST_BARE:])
    words = plain(_SO.sub("", sentence[0])) if sentence else ""
    return Extraction(words, "stated", words) if is_empty(words) else None


def _decisive_part(response: str) -> str:
    """The end of a response of megabytes, or what is around its last box or its hashes if those come earlier."""
    start = len(response) - _LONGEST_RESPONSE
    mark = max(response.rfind(mark) for mark in ("\\boxed", "\\fbox"))
    if hashes := _behind_hashes(response, mark + 1):
        mark = hashes[0]
    return (
        response[max(0, mark - _WINDOW) : mark + _WINDOW] if 0 <= mark < start else response[start:]
    )


def extract_reference(text: str) -> str:
    """What a reference says: its boxes, what is behind ``####``, "final answer is" or an "answer is" that ends it, else all.

    >>> extract_reference("9 * 2 = 18 dollars\\n#### 18"), extract_reference("The answer is 18.")
    ('18', '18')
    """
    if len(text) > _LONGEST_RESPONSE:
        return text
    if marked := _marked(text):
        return ", ".join(marked.parts) or marked.answer
    labels = list(_LABEL.finditer(text))[-_MOST_LABELS:]
    for label in reversed([label for label in labels if label["final"]]):
        statement = _statement(text, label.end())
        if statement and statement.answer:
            return statement.answer
    if labels and "\n" not in text[labels[-1].end() :].strip(" \t*_`:#\r\n"):
        statement = _statement(text, labels[-1].end())
        if statement and re.search(r"\d|\\", statement.answer):
            return statement.answer
    return text


def _marked(text: str) -> Extraction | None:
    """What the last of the strong marks says: a box, hashes, or a final answer behind them."""
    position, found = -1, None
    if ("\\boxed" in text or "\\fbox" in text) and (boxed := last_boxed(text)):
        position = boxed.start
        answer = ", ".join(map(_unlabelled, boxed.listed))
        found = Extraction(answer, "boxed", answer, tuple(map(_unlabelled, boxed.near)))
    if hashes := _behind_hashes(text, position + 1):
        position, line = hashes
        found = Extraction(_first(line), "hashes", line)
    if found is None:
        return None
    for label in reversed(
        [label for label in _LABEL.finditer(text, position) if label["final"]][-_MOST_LABELS:]
    ):
        statement = _statement(text, label.end())
        if statement and re.search(r"\d|\\", statement.answer):
            return statement
    return found


def _unlabelled(box: str) -> str:
    """What a box holds without the words that announce it: ``460`` of ``Answer: 460``."""
    label = _LABELLED.match(box)
    rest = box[label.end() :] if label else ""
    return (
        rest
        if rest
        and (_is_answer(rest) or not _PROSE.search(_TEXT.sub("", rest)))
        and re.search(r"\d|\\", rest)
        else box
    )


def _behind_hashes(text: str, start: int) -> tuple[int, str] | None:
    """Where the first ``####`` from a place on stands that begins an answer and no heading, and the line behind it.

    The first one, as in GSM8K's ``extract_answer`` and the strict filter of lm-evaluation-harness: a model that goes on behind
    its answer writes the answers to other questions.
    """
    for match in islice(_HASHES.finditer(text, start), _MOST_LABELS):
        line = match["line"].strip()
        if not _is_heading(line, _SIGN.search(text, match.end()) is not None):
            return match.start(), line
    return None


def _is_heading(line: str, goes_on: bool) -> bool:
    """Whether a line behind ``####`` is one of Markdown: it labels the answer, or begins with words or a number of its own."""
    has_words = _PROSE.match(line.lstrip(" *_")) is not None
    return (has_words and _LABEL.search(line) is not None) or (
        (has_words or _NUMBERED.match(line) is not None) and goes_on
    )


def _first(line: str) -> str:
    """The first piece of mathematics of a line that says more than an answer, else the line."""
    if quotes := _QUOTES_BEHIND.search(line):
        line = line[: quotes.start()]
    found = (
        pieces(ascii_signs(line)) if _PROSE.search(line) and not read(line).is_understood else []
    )
    return found[0].content if found else line


def _stated(text: str) -> Extraction | None:
    """What the last "the answer is ..." says; where it says words only, the last piece of mathematics stands beside them."""
    words = ""
    for label in reversed(list(_LABEL.finditer(text))[-_MOST_LABELS:]):
        if statement := _statement(text, label.end()):
            if statement.answer:
                return statement
            words = words or statement.said
    return Extraction(_last(text).answer or words, "stated", words) if words else None


def _statement(text: str, start: int) -> Extraction | None:
    """The statement behind a label such as "answer", its ``answer`` empty where it has no mathematics.

    ``None`` where the word was not used to state anything.
    """
    segment = text[start : start + _LONGEST_STATEMENT]
    dash = _DASH.match(segment)
    if dash:
        segment = f": {segment[dash.end() :]}"
    link = _LINK.search(segment.split("\n", 1)[0][:100])
    rest = segment[link.end() :] if link else segment
    if link:
        rest = _DASH_BEHIND_LINK.sub("", rest, count=1) if _DASH_BEHIND_LINK.match(rest) else rest
    rest = ascii_signs(rest)
    blank = not rest.split("\n", 1)[0].strip(" \t*_`:#")
    if blank:
        rest = rest.lstrip(" \t*_`:#\n\r")
    sentence = _sentence(rest)
    found = pieces(sentence)
    if not found:
        clause = _clause(sentence).lstrip(": ")
        if link is None or not 0 < len(clause) < _LONGEST_WORDS:
            return None
        return Extraction(clause if _is_answer(clause) else "", "stated", clause)
    found = [piece for piece in found if not _NEGATED.search(sentence, 0, piece.start)] or found
    leads = [piece for piece in found if _leads(sentence, piece)]
    if link is None and not blank and leads[:1] != found[:1]:
        return None
    listed = found[-1:] if link and link.group() in ":：" else found
    chosen = (leads or listed)[0]
    sign = _currency(sentence, chosen)
    clause = _clause(sign + sentence[chosen.start :])
    answer = clause if _is_answer(clause) else sign + chosen.content
    return Extraction(answer, "stated", _clause(sentence))


def _leads(sentence: str, piece: Piece) -> bool:
    """Whether a piece comes first in its sentence, or first behind a link such as "is" or "="."""
    before = sentence[: piece.start]
    links = [link.end() for link in _LINK.finditer(before)]
    return _LEAD.fullmatch(before, links[-1] if links else 0) is not None


def _sentence(text: str) -> str:
    """The text up to the end of its first sentence or line; displayed mathematics may go on over several lines."""
    opened = re.match(
        r"\s*(?:\\\[.*?\\\]|\$\$.*?\$\$|\\begin\{.*?\\end\{[a-z*]+\})", text, re.DOTALL
    )
    line_end = text.find("\n", opened.end() if opened else 0)
    line = text if line_end < 0 else text[:line_end]
    end = next(
        (
            end.start()
            for end in _SENTENCE_END.finditer(line)
            if line.count("$", 0, end.start()) % 2 == 0
        ),
        len(line),
    )
    return line[:end]


def _clause(sentence: str) -> str:
    end = _CLAUSE_END.search(sentence, 1)
    return plain(sentence[: end.start()] if end else sentence)


def _bare(text: str) -> Extraction | None:
    """A response that is nothing but an answer."""
    stripped = text.strip()
    if not stripped or len(stripped) > _LONGEST_BARE or "\n" in stripped:
        return None
    words = plain(stripped)
    is_one_word = " " not in words and not any(character.isdigit() for character in words)
    tells_a_story = len(_PROSE.findall(words.rpartition("=")[0])) > 1
    if (
        is_one_word
        or is_form(words)
        or is_name(stripped)
        or (read(words).is_understood and not tells_a_story)
        or not _PROSE.search(_TEXT.sub("", stripped))
    ):
        return Extraction(stripped, "bare", words)
    return None


def _listed(text: str) -> Extraction | None:
    """The values that the last lines of a text list behind a line such as "The solutions are:"."""
    lines = [line.strip() for line in text[-_WINDOW:].strip().split("\n") if line.strip()]
    values: list[str] = []
    while lines and _is_answer(lines[-1]) and not _PROSE.search(_TEXT.sub("", lines[-1])):
        values.append(lines.pop().rstrip(".,;"))
    if len(values) < 2 or not lines or not _ANNOUNCES_LIST.search(lines[-1]):
        return None
    answer = ", ".join(reversed([value.strip("$ ") for value in values]))
    return Extraction(answer, "stated", answer)


def _last(text: str) -> Extraction:
    """The last piece of mathematics in a text."""
    window = text[-_WINDOW:]
    if not re.search(r"\d", window) and (digit := re.search(r"\d(?=\D*\Z)", text)):
        window = text[max(0, digit.end() - _WINDOW) : digit.end() + 100]
    window = ascii_signs(window)
    without_asides = _ASIDE.sub(" ", window)
    window = without_asides if re.search(r"\d", without_asides) else window
    found = pieces(window)
    while len(found) > 1 and _UNIT.fullmatch(found[-1].content) and _touches(window, *found[-2:]):
        found.pop()
    while len(found) > 1 and _NEGATED.search(window, 0, found[-1].start):
        found.pop()
    if not found:
        return Extraction("", "none", plain(text[-_LONGEST_BARE:]))
    last = found[-1]
    if one := _ONE_IN.search(window, 0, last.start):
        return Extraction(f"{one[0].strip()} {last.content}", "last")
    sign = _currency(window, last)
    tail = _result(_clause(sign + _sentence(window[last.start :])))
    return Extraction(tail if _is_answer(tail) else _result(sign + last.content), "last")


def _currency(text: str, piece: Piece) -> str:
    """The sign or code of a currency right before a number, which is no part of its piece."""
    before = _CURRENCY.search(text, max(0, piece.start - 5), piece.start)
    return before[0].replace("\\", "") if before and piece.content[0] in "0123456789.-+" else ""


def _is_answer(text: str) -> bool:
    """Whether a text is a number, a list or an assignment of such, or a time of day."""
    return read(text).is_understood or is_time(text) or is_form(text)


def _touches(text: str, number: Piece, unit: Piece) -> bool:
    """Whether a piece is the rest of the unit of the number before it, as ``m/s^2`` and the ``^2`` of ``cm^2`` are."""
    between = text[number.end : unit.start]
    return (
        between.replace(" ", "").isalpha()
        if unit.content.startswith("^")
        else not between.strip(" $")
    )


def _result(chain: str) -> str:
    """What a calculation comes to, where it ends with a number: ``3,000 feet`` of ``6,000 - 3,000 = 3,000 feet``."""
    calculation, equals, result = chain.rpartition("=")
    is_one = equals and _OPERATION.search(calculation) and not _NAMED.search(calculation)
    return result.strip() if is_one and read(result).numerals else chain
