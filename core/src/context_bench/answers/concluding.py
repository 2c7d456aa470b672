r"""What a reply concludes with: what its last box holds, what it announces, or all of it.

>>> concluding("I looked it up.\n\n**Final answer:** Paris")
'Paris'
>>> concluding(r"So it is $\boxed{\text{Paris}}$.")
'Paris'
>>> concluding("It is Paris.")
'It is Paris.'
"""

from __future__ import annotations

import re

from context_bench.answers.layout import without_layout
from context_bench.answers.reading import read_reply
from context_bench.answers.remarks import without_remarks

_WORDS = (
    r"answers?|antwort(?:en)?|lösung|respuestas?|réponses?|respostas?|rispost[ae]|antwoord|svaret?"
    r"|odpowied[źz]|odpověď|cevap|cevabı|yanıt|vastaus|jawaban|jibu|ответ|відповідь"
)
_UNSPACED_WORDS = "答案|答え|回答|正解|答|정답|답변|답|उत्तर|जवाब|উত্তর|సమాధానం|คำตอบ|الإجابة|الجواب"
_LINKS = (
    r"is|are|was|were|would be|must be|should be|ist|lautet|lauten|war|es|son|era|est|sont|était"
    r"|é|são|è|sono|luidt|är|jest|je|on|adalah|ni"
)
_UNSPACED_LINKS = "是|为|為|は|が|은|는|है|হল|হলো|คือ|هي|هو"
_ANNOUNCES = re.compile(
    rf"(?:(?<![^\W\d_])(?:{_WORDS})(?![^\W\d_])|{_UNSPACED_WORDS})"
    r"(?:[ \t]+(?:to|for|of|in)[ \t]+(?:the|this|your|that)[ \t]+[^\W\d_]+)?"
    r"[ \t\"'*_)\]]*"
    rf"(?:(?:(?<![^\W\d_])(?:{_LINKS})(?![^\W\d_])|{_UNSPACED_LINKS})[ \t]*[:：]?"
    r"|[:：=]|->|=>|→|[–—])"
    r"[ \t\"'*_]*",
    re.IGNORECASE,
)
_HEADING = re.compile(
    rf"^[ \t>*#_]*(?:final[ \t]+|correct[ \t]+)?(?:{_WORDS}|{_UNSPACED_WORDS})"
    r"[ \t*#_:：]*\n+(?=\s*\S)",
    re.IGNORECASE | re.MULTILINE,
)
_HASHES = re.compile(r"(?<!#)####(?!#)[ \t]*(?=\S)")
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_WRAPPED = re.compile(r"\\(?:text(?:bf|it|rm|sf)?|mathrm|mathbf|mbox)\s*\{([^{}]*)\}")
_MATH_MARKS = re.compile(r"\\[()\[\]]|\$+|\\[,;! ]|\\(?:left|right)(?![A-Za-z])")
_MOST_WRAPPED = 4


def concluding(reply: str) -> str:
    """Return what a reply concludes with, without layout, courtesies and marks of mathematics.

    That is what it announces (:func:`announced`), or all of it where it announces nothing.

    Args:
        reply: The answer part of a reply (:func:`~context_bench.answers.part_answer`).
    """
    found = announced(reply)
    return _plain(without_remarks(without_layout(reply))) if found is None else found


def announced(reply: str) -> str | None:
    """Return what a reply announces as its answer; None where it announces nothing.

    That is what its last ``\\boxed`` holds, or the rest of the line behind its last announcement
    ("the answer is", "Final answer:", ``####``, and the like of other languages). What a reply says
    that somebody else said announces nothing.

    Args:
        reply: The answer part of a reply (:func:`~context_bench.answers.part_answer`).
    """
    found = read_reply(reply, hashes=True)
    answer = _announced(found.own)
    if answer is None and found.unattributed != found.own:
        answer = _announced(found.unattributed)
    return None if answer is None else _plain(answer)


def _announced(text: str) -> str | None:
    """Return what a text announces last; None where it announces nothing."""
    starts = [match.end() for match in _ANNOUNCES.finditer(text)]
    starts += [match.end() for match in _HASHES.finditer(text)]
    starts += [match.end() for match in _HEADING.finditer(text)]
    boxes = list(_BOX.finditer(text))
    last = max(starts, default=-1)
    if boxes and boxes[-1].end() > last:
        return _in_braces(text, boxes[-1].end())
    if last < 0:
        return None
    rest = text[last:].lstrip()
    if not rest:
        return None
    line = rest.partition("\n")[0]
    box = _BOX.search(line)
    return _in_braces(line, box.end()) if box else line


def _in_braces(text: str, start: int) -> str:
    """Return what stands from a place up to the brace that closes it, or to the end."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[start:place]
    return text[start:]


def _plain(text: str) -> str:
    """Return a text without the marks of mathematics and of text inside of it."""
    for _ in range(_MOST_WRAPPED):
        text, count = _WRAPPED.subn(r"\1", text)
        if not count:
            break
    if "$" in text or "\\" in text:
        text = _MATH_MARKS.sub(lambda match: "" if _is_mark(text, match) else match[0], text)
    return text.strip().strip("\"'“”„«»「」`*_").strip()


def _is_mark(text: str, match: re.Match[str]) -> bool:
    """Whether a sign is a mark of mathematics; a dollar before a digit is money."""
    if not match[0].startswith("$"):
        return True
    behind = text[match.end() : match.end() + 1]
    return not (behind.isdecimal() and text.count("$") == 1)
