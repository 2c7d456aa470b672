"""A text without its layout: what Markdown, HTML and plain habit put around words to show them.

Layout is what a reader sees and does not read: bullets, quotation prefixes, headings, emphasis,
tables, rules, fences, line break tags, tags around an answer. Taking it off takes time by the
length of the text, and changes nothing the second time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby, zip_longest

from context_bench.answers.signs import plain_signs

_MOST_LAYERS = 12
"""Layers of layout in each other that are taken off one by one; of a text with more all signs of
layout go."""
_ANY_LAYOUT = re.compile(r"[*_`#>|~<•‣◦▪●○■□–—→⇒➜➤▶►=-]|\d[.)]|&", re.ASCII)

# HTML that shows a text in some way and says nothing.
_BREAK = re.compile(
    r"<br\s*/?>|</?(?:p|div|ul|ol|li|blockquote|section|article|h[1-6]|table|thead|tbody|tr|center|details|summary|pre|hr|body|html"
    r"|main)(?:\s[^<>\n]{0,200})?/?>",
    re.IGNORECASE,
)
_CELL = re.compile(r"</t[dh]>\s*<t[dh](?:\s[^<>\n]{0,200})?>", re.IGNORECASE)
_INLINE_NAMES = "b|strong|i|em|u|ins|span|font|mark|small|big|kbd|code|tt|td|th"
_INLINE = re.compile(rf"</?(?:{_INLINE_NAMES})(?:\s[^<>\n]{{0,200}})?>", re.IGNORECASE)
_CLOSES_INLINE = re.compile(rf"</(?:{_INLINE_NAMES})>", re.IGNORECASE)
_ENTITY = re.compile(
    r"&(?:(nbsp|ensp|emsp|thinsp|#160|#xa0)|(?:zwj|zwnj|shy|lrm|rlm|#8203|#x200b));", re.IGNORECASE
)

# Tags around an answer. The answer of `<rating>4</rating>` is announced by its tag.
_ANSWERS = "answer|final[_ -]?answer|finalanswer|result|final[_ -]?result|final|conclusion"
_LABELS = (
    "rating|score|grade|verdict|label|choice|decision|prediction|classification|winner"
    "|judge?ment|letter|option"
)
_WRAPPERS = "response|output|solution|reply|text|final[_ -]?response|final[_ -]?output"
_TAG = re.compile(
    rf"<(?P<close>/?)\s?(?:(?P<answer>{_ANSWERS})"
    rf"|(?P<label>(?:final[_ -]|overall[_ -])?(?:{_LABELS}))"
    rf"|(?P<wrapper>{_WRAPPERS}))\s?>",
    re.IGNORECASE,
)
_LONGEST_TAGGED = 300

# Fences: a line of its own, or signs in a line with text, perhaps behind the name of a language.
_FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})[ \t]*[\w+#.-]*[ \t]*")
_LANGUAGES = (
    "json[cl5]?|text|txt|plaintext|plain|markdown|md|latex|tex|math|html|xml|yaml|none|output"
)
_INLINE_FENCE = re.compile(
    rf"`{{3,}}(?:(?:{_LANGUAGES})\b(?=[ \t]*[\[{{\w\\$(*-]))?|~{{3,}}", re.IGNORECASE
)

_RULE = re.compile(r"[ \t]*([-*_=#~])(?:[ \t]*\1){2,}[ \t]*")
_BULLET = r"[-*•‣◦▪●○■□–—·∙➤▶►][ \t]+|\+[ \t]+(?=[^\W\d_])"
_ARROW = r"(?:[-=]+>|[→⇒➜])[ \t]*"
_PREFIX = re.compile(rf"[ \t]*(?:>[ \t]*|{_BULLET}|{_ARROW}|(?P<heading>#{{1,6}})[ \t]+)")
_PREFIX_IN_FORMULA = re.compile(r"[ \t]*>[ \t]*")
_CLOSED_HEADING = re.compile(r"[ \t]+#+[ \t]*\Z")
_QUOTED_LINE = re.compile(r"[ \t]*>")
_HASHES = "####"
_NUMBER = re.compile(r"[ \t]*(?:\*\*)?(\d{1,3})[.)](?:\*\*)?[ \t]+(?=\S)")

_ROW = re.compile(r"[ \t]*\|(?P<cells>.*)\|[ \t]*")
_OPEN_ROW = re.compile(r"[ \t]*[^|\s][^|]*\|[^|]*(?:\|[^|]*)*")
_DELIMITERS = re.compile(r"[ \t]*\|?(?:[ \t]*:?-{2,}:?[ \t]*\|?)+[ \t]*")
_ANSWER_CELL = re.compile(
    r"[*_ ]*(?:final |correct )?(?:answer|verdict|rating|score|label)[*_ ]*", re.IGNORECASE
)

_OPENS_FORMULA = re.compile(r"\\\[|\$\$|\\begin\{")
_CLOSES_FORMULA = re.compile(r"\\\]|\$\$|\\end\{")

_BOLD = re.compile(r"\*{2,}")
_OPERATOR_BEFORE = re.compile(r"[0-9A-Za-z)\]}]\Z")
_ITALIC = re.compile(r"(?<![\w*\\)}\]])\*(?=[^\s*])([^*\n]+)(?<=[^\s*])\*(?![\w*])")
_UNDERLINED = re.compile(r"(?<![\w\\)}\]$])(_{1,3})(?=[^\s_])([^_\n]+)(?<=[^\s_])\1(?!\w)")
_CODE = re.compile(r"(?<![`\\])(`{1,2})(?!`|</?\w+>`)([^`\n]+)\1(?!`)")
_STRUCK = re.compile(r"(?<![\w\\)}\]$~])~~(?=[^\s~])[^~\n]{0,300}(?<=[^\s~])~~(?![\w\\($~])[ ]?")
_UNCLOSED = re.compile(  # at the start of a word; the star between two operands is a product
    r"(?:\A|(?<=[:(\"\n])|(?<=[:,.;] )|(?<=[A-Za-z]{2} ))(?:\*|(?<!\\)`)(?=\w)"
)
_SIGNS = re.compile(r"[*_`#>|~<•‣◦▪●○■□→⇒➜➤▶►=&–—-]|(?<=\d)[.)]")


def without_layout(text: str, *, hashes: bool = False, emphasis: bool = True) -> str:
    r"""Return a text without its layout.

    What stays is what a reader reads. A sign that begins a line and touches its number is a minus;
    a sign between a number and a blank is a bullet. The signs of a formula are no layout.

    Args:
        text: A text.
        hashes: Whether ``####`` and more stay, with which solutions of GSM8K mark their answer.
        emphasis: Whether marks of emphasis and of code within a line go as well.

    >>> without_layout("> ## Answer\n> - **18**\n> <br>| Total | 18 |")
    'Answer\n18\n\nTotal: 18'
    >>> without_layout("```text\n-18\n```"), without_layout("<answer>B</answer>")
    ('-18', 'B')
    """
    text = plain_signs(text)
    for _ in range(_MOST_LAYERS):
        if not _ANY_LAYOUT.search(text):
            return text.strip()
        once = _once(text, hashes)
        if emphasis:
            once = without_emphasis(once)
        once = plain_signs(once)  # a mark may stand on a letter now
        if once == text:
            return text
        text = once
    return " ".join(_SIGNS.sub(" ", text).split())


def without_emphasis(text: str) -> str:
    """Return a text without the marks of bold, italic and code within its lines, and without what
    is struck out.

    ``2**3`` and ``x_1`` stay. A star or back-quote at the start of a word goes also where nothing
    closes it.

    >>> without_emphasis("**The answer** is _B_, as `2**3` says")
    'The answer is B, as 2**3 says'
    >>> without_emphasis("Rating: ~~2~~ *4")
    'Rating: 4'
    """
    if "~~" in text:
        text = _STRUCK.sub("", text)
    if "`" in text:
        text = _CODE.sub(r"\2", text)
    if "*" in text:
        text = _ITALIC.sub(r"\1", _BOLD.sub(_without_bold, text))
    if "_" in text:
        text = _UNDERLINED.sub(r"\2", text)
    return _UNCLOSED.sub("", text) if "`" in text or "*" in text else text


def _without_bold(stars: re.Match[str]) -> str:
    """Nothing, or the sign of a power between two operands."""
    before = stars.string[stars.start() - 1 : stars.start()]
    after = stars.string[stars.end() : stars.end() + 1]
    is_power = _OPERATOR_BEFORE.match(before) and (after.isalnum() or after in ("(", "-"))
    is_apart = before == after == " " and len(stars[0]) == 2
    return stars[0] if is_power or is_apart else ""


def _once(text: str, hashes: bool) -> str:
    """Take the outermost layer off a text."""
    if "<" in text or "&" in text:
        text = _without_tags(text)
    if "```" in text or "~~~" in text:
        text = "\n".join(_without_fences(text.split("\n")))
    lines = _unframed(text.split("\n"), hashes)
    lines = _without_tables(lines) if "|" in text else lines
    lines = _without_numbers(list(_without_prefixes(lines, hashes)))
    return "\n".join(lines).strip()


def _without_tags(text: str) -> str:
    text = _ENTITY.sub(lambda entity: " " if entity[1] else "", text)
    if "</" in text:
        text = _CELL.sub(": ", text)
        if _CLOSES_INLINE.search(text):
            text = _INLINE.sub("", text)
    return _without_answer_tags(_BREAK.sub("\n", text))


def _without_answer_tags(text: str) -> str:
    """The text with what answer tags announce announced in words; tags around all of it go."""
    parts: list[str] = []
    position = 0
    tags = [tag for tag in _TAG.finditer(text) if not _is_mentioned(tag)]
    for tag, following in zip_longest(tags, tags[1:]):
        parts.append(text[position : tag.start()])
        position = tag.end()
        if tag["close"] or tag["wrapper"]:
            continue
        closing = following if following is not None and following["close"] else None
        content = text[tag.end() : closing.start() if closing else len(text)].strip()
        behind = text[closing.end() :] if closing else ""
        is_all = not parts[0].strip() and len(parts) == 1 and not behind.strip()
        if content and len(content) <= _LONGEST_TAGGED and not is_all:
            parts.append(f"\n{_announcement(tag)}: ")
    parts.append(text[position:])
    return "".join(parts)


def _is_mentioned(tag: re.Match[str]) -> bool:
    """Whether a tag is in quotation marks, and so talked about."""
    before = tag.string[tag.start() - 1 : tag.start()]
    return before in ("`", "'", '"') and tag.string[tag.end() : tag.end() + 1] == before


def _announcement(tag: re.Match[str]) -> str:
    if tag["answer"]:
        return "Final answer"
    name = re.sub(r"[_-]", " ", tag["label"].lower())
    return name.capitalize() if " " in name else f"Final {name}"


def _without_fences(lines: list[str]) -> Iterator[str]:
    """The lines without fences. What is behind an opening fence is the name of a language, unless
    text ends in the line of the closing one: then it is text as well."""
    closed_in_text = False  # whether the next fence, seen from the end, is in a line with text
    kept: list[str] = []
    for line in reversed(lines):
        if "```" not in line and "~~~" not in line:
            kept.append(line)
        elif not _FENCE.fullmatch(line):
            is_half = len(_INLINE_FENCE.findall(line)) % 2 == 1
            closed_in_text = closed_in_text != is_half
            kept.append(_INLINE_FENCE.sub("", line))
        elif closed_in_text:
            closed_in_text = False
            kept.append(line.strip(" \t`~"))
    return reversed(kept)


def _unframed(lines: list[str], hashes: bool) -> list[str]:
    """The lines without the one prefix that all of them share, in formulas too."""
    written = [line for line in lines if line.strip()]
    prefixes = {_frame_of(line, hashes) for line in written}
    if len(prefixes) != 1 or None in prefixes:
        return lines
    return [line.strip()[_width(line) :].strip() for line in lines]


def _frame_of(line: str, hashes: bool) -> str | None:
    prefix = _PREFIX.match(line)
    if prefix is None or (hashes and _is_mark(prefix)):
        return None
    return prefix[0].strip()


def _width(line: str) -> int:
    prefix = _PREFIX.match(line.strip())
    return prefix.end() if prefix else 0


def _without_prefixes(lines: list[str], hashes: bool) -> Iterator[str]:
    """Each line without its bullets, quotation and heading marks; in displayed formulas signs are
    signs."""
    in_formula = False
    for line in lines:
        stripped = line.strip()
        if in_formula:
            yield _PREFIX_IN_FORMULA.sub("", stripped, count=1)
        elif _RULE.fullmatch(stripped):
            yield ""
        else:
            yield _without_prefix(stripped, hashes)
        in_formula = _is_in_formula(stripped, in_formula)


def _without_prefix(line: str, hashes: bool) -> str:
    start = 0
    is_heading = False
    while prefix := _PREFIX.match(line, start):
        if hashes and _is_mark(prefix):
            break
        is_heading = is_heading or prefix["heading"] is not None
        start = prefix.end()
    rest = line[start:]
    return _CLOSED_HEADING.sub("", rest) if is_heading else rest


def _is_mark(prefix: re.Match[str]) -> bool:
    """Whether a prefix is the mark of an answer in GSM8K, and no heading."""
    return (prefix["heading"] or "").startswith(_HASHES)


def _is_in_formula(line: str, in_formula: bool) -> bool:
    """Whether a displayed formula goes on behind a line."""
    if "\\" not in line and "$$" not in line:
        return in_formula
    if not in_formula and line.count("$$") % 2:
        return True
    opened = max((match.start() for match in _OPENS_FORMULA.finditer(line)), default=-1)
    closed = max((match.start() for match in _CLOSES_FORMULA.finditer(line)), default=-1)
    if opened == closed:
        return in_formula and opened < 0
    return opened > closed


def _without_tables(lines: list[str]) -> list[str]:
    """The lines with the rows of tables as ``first cell: other cells``."""
    result: list[str] = []
    for is_row, group in groupby(lines, key=_is_row):
        rows = list(group)
        result += _table(rows) if is_row else rows
    return result


def _is_row(line: str) -> bool:
    row = _ROW.fullmatch(line)
    if row is None:
        return "|" in line and _DELIMITERS.fullmatch(line) is not None
    cells = row["cells"]
    return "|" in cells or (cells[:1] == " " and cells[-1:] == " ") or not cells.strip(" -:")


def _table(rows: list[str]) -> list[str]:
    head: list[str] = []
    written: list[str] = []
    for number, row in enumerate(rows):
        if _DELIMITERS.fullmatch(row):
            continue
        cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
        answers = [
            place for place, cell in enumerate(head) if place and _ANSWER_CELL.fullmatch(cell)
        ]
        if number == 0 and len(rows) > 1 and _DELIMITERS.fullmatch(rows[1]):
            head = cells
            if any(map(_ANSWER_CELL.fullmatch, cells[1:])) and len(rows) > 2:
                continue
        written.append(_row(cells, head, answers))
    return written


def _row(cells: list[str], head: list[str], answers: list[int]) -> str:
    """A row as a line; a column that is headed as the answer is announced by its head where its row
    has no name."""
    filled = [cell for cell in cells if cell]
    if answers and answers[0] < len(cells) and not re.search(r"[^\W\d_]{2,}", cells[0]):
        return f"{head[answers[0]]}: {cells[answers[0]]}"
    if len(filled) < 2:
        return "".join(filled)
    first = filled[0].rstrip(":")
    return f"{first}: {'; '.join(filled[1:])}"


def _without_numbers(lines: list[str]) -> list[str]:
    """The lines without their numbers where these count from one, as those of a list do."""
    numbers = [int(number[1]) for line in lines if (number := _NUMBER.match(line))]
    if not numbers or numbers != list(range(1, len(numbers) + 1)):
        return lines
    is_list = len(numbers) > 1 or _NUMBER.match(next(line for line in lines if line.strip()))
    return [_NUMBER.sub("", line, count=1) for line in lines] if is_list else lines
