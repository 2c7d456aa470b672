"""The groups `detectable_content` and `detectable_format`: placeholders, lists, titles and other marks that a program can find.

The reference finds most of them with regular expressions. The ones here match as often as those, but take time in proportion to
the length of a response, whatever it holds: a megabyte of line ends or opening brackets must not stop a run.
"""

from __future__ import annotations

import json
import re

from context_bench_ifeval.arguments import Arguments
from context_bench_ifeval.instructions.check import Check

_PLACEHOLDER = re.compile(r"\[[^\[\]\n]*\]")
_POSTSCRIPTS = {"P.P.S": r"p\.\s?p\.\s?s", "P.S.": r"p\.\s?s\."}
_STAR_BULLET = re.compile(r"^[^\S\n]*\*[^*]", re.MULTILINE)
_DASH_BULLET = re.compile(r"^[^\S\n]*-", re.MULTILINE)
_HIGHLIGHT = re.compile(r"\*([^\n*]*)\*")
_STRONG_HIGHLIGHT = re.compile(r"\*\*([^\n*]*)\*\*")
_CONSTRAINED_RESPONSES = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
_FENCES = ("```json", "```Json", "```JSON", "```")


def number_placeholders(arguments: Arguments) -> Check:
    """At least so many placeholders in square brackets."""
    least = arguments.count("num_placeholders")
    return lambda response: len(_PLACEHOLDER.findall(response)) >= least


def postscript(arguments: Arguments) -> Check:
    """A postscript mark, in any case: `P.S.`, `P.P.S` or another one that the row names."""
    mark = arguments.text("postscript_marker").strip()
    pattern = arguments.pattern(
        "postscript_marker", _POSTSCRIPTS.get(mark, mark.lower()), re.MULTILINE
    )
    return lambda response: pattern.search(response.lower()) is not None


def number_bullet_lists(arguments: Arguments) -> Check:
    """Exactly so many lines that begin with `*` (but not `**`) or `-`."""
    wanted = arguments.count("num_bullets")

    def follows(response: str) -> bool:
        stars = _count_star_bullets(response) if "*" in response else 0
        dashes = len(_DASH_BULLET.findall(response)) if "-" in response else 0
        return stars + dashes == wanted

    return follows


def number_highlighted_sections(arguments: Arguments) -> Check:
    """At least so many highlights `*...*` and `**...**` with something in them; the inside of the second counts as both."""
    least = arguments.count("num_highlights")

    def follows(response: str) -> bool:
        found = sum(bool(inside.strip()) for inside in _HIGHLIGHT.findall(response))
        return (
            found >= least
            or found + sum(map(bool, map(str.strip, _STRONG_HIGHLIGHT.findall(response)))) >= least
        )

    return follows


def multiple_sections(arguments: Arguments) -> Check:
    """At least so many section marks: the splitter with a number behind it."""
    splitter = arguments.text("section_spliter").strip()
    pattern = arguments.pattern("section_spliter", rf"\s?{splitter}\s?\d+\s?")
    least = arguments.count("num_sections")
    return lambda response: len(pattern.split(response)) - 1 >= least


def constrained_response(arguments: Arguments) -> Check:
    """One of the three sentences that say yes, no or maybe."""
    return lambda response: any(sentence in response for sentence in _CONSTRAINED_RESPONSES)


def json_format(arguments: Arguments) -> Check:
    """All of it is JSON, with or without a fence around it."""

    def follows(response: str) -> bool:
        text = response.strip()
        for fence in _FENCES:
            text = text.removeprefix(fence)
        try:
            json.loads(text.removesuffix("```").strip())
        except (ValueError, RecursionError):
            return False
        return True

    return follows


def title(arguments: Arguments) -> Check:
    """A title in double angular brackets with something in it, on one line."""
    return lambda response: (
        any(map(_holds_title, response.split("\n"))) if "<<" in response else False
    )


def _count_star_bullets(response: str) -> int:
    """How many lines begin with a `*` that another `*` does not follow.

    After a `*` alone on its line, the reference takes the next line for the text of that bullet.
    """
    count = end = 0
    for bullet in _STAR_BULLET.finditer(response):
        if bullet.start() >= end:
            count += 1
            end = response.find("\n", bullet.end())
            if end < 0:
                break
    return count


def _holds_title(line: str) -> bool:
    """Whether the stretch from the first `<<` to the last `>>` has more in it than blanks and brackets at its ends."""
    start, end = line.find("<<"), line.rfind(">>")
    return 0 <= start < end - 2 and bool(line[start:end].lstrip("<").rstrip(">").strip())
