"""What is compared as text and never computed: words, names of points and figures, sequences with dots.

Computer algebra reads ``HHTT`` as a product, in which the order is lost, and leaves ``\\text{...}`` and dots out. Nothing is
equal that was not read whole.
"""

from __future__ import annotations

import re

from context_bench_math.notation import canonical, plain
from context_bench_math.units import is_unit_phrase

_DOTS = re.compile(r"\\[clvdh]?dots[cbmio]?(?![A-Za-z])|\.{3}|…|⋯")
_TEXT = re.compile(r"\\(?:text[a-z]*|mbox|hbox|math(?:rm|bf|it|sf|tt)|operatorname)\s*\{([^{}]*)\}")
_NAME = re.compile(
    r"\\(?:m?angle|measuredangle|triangle|square|parallelogram|over(?:line|rightarrow|leftrightarrow|arc)|widehat|arc|odot)"
    r"(?![A-Za-z])\s*\{?\s*[A-Za-z]{1,6}'?\}?|\\(?:parallel|perp|cong|sim)(?![A-Za-z])"
)
_DEGREE = re.compile(r"\\circ(?![A-Za-z])|°|\\degree")
_LISTED = """
sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln exp sqrt frac pi inf infinity oo min max gcd lcm mod
and or if for when where is are the an to of in with otherwise such that all any real integer integers number numbers
percent approximately about units unit
"""
_NO_WORDS = frozenset(_LISTED.split())
"""Functions, and words that only connect."""
_ENVIRONMENT = re.compile(r"\\(?:begin|end)\s*\{[a-z*]+\}(?:\{[lcr|]*\})?|\\left|\\right")
_RUN = re.compile(r"(?<![A-Za-z\\])[A-Za-z]{2,}(?![A-Za-z])")
_WORD = re.compile(r"[^\W\d_]+")
_MATHEMATICS = re.compile(r"\d|[-+*/^=<>|!]|\\(?!angle|mangle|triangle|text|mathrm)[A-Za-z]+")
_VARIABLES = re.compile(r"[abcdfghjklmnpqrstuvwxyz]{2}")
_LONGEST_PRODUCT = 3


def differ_as_text(reference: str, answer: str) -> bool:
    """Whether two texts that are not written alike differ in what can only be compared as text.

    >>> differ_as_text("HHTT", "HTHT"), differ_as_text(r"\\text{no}", r"\\text{on}"), differ_as_text("1, ...", "2, ...")
    (True, True, True)
    >>> differ_as_text("xy", "yx"), differ_as_text("5 cm", "5"), differ_as_text("AB + BC", "BC + AB")
    (False, False, False)
    """
    if _DOTS.search(reference) or _DOTS.search(answer):
        return _writing(reference) != _writing(answer)
    if _names(reference) != _names(answer):
        return True
    if _is_degree_and_unit(reference, answer) or _is_degree_and_unit(answer, reference):
        return True
    if _is_one_text(reference) and _is_one_text(answer) and "," in reference:
        return _writing(reference) != _writing(answer)
    verbal = [_is_verbal(text) for text in (reference, answer)]
    if all(verbal):
        return _is_other_word(reference, answer)
    words = [_words(text) for text in (reference, answer)]
    return bool(words[0] and words[1]) and words[0] != words[1] and not any(verbal)


def _is_degree_and_unit(degrees: str, other: str) -> bool:
    """Whether one text is in degrees and another in some other unit: ``30^\\circ`` and ``30\\text{ cm}``."""
    if not _DEGREE.search(degrees) or _DEGREE.search(other):
        return False
    units = [is_unit_phrase(content.strip()) for content in _TEXT.findall(other)]
    return any(unit and "degree" not in unit for unit in units)


def is_name(text: str) -> bool:
    """Whether a text is the name of an angle or of a figure: ``\\angle ABC``."""
    return _NAME.fullmatch(text.strip()) is not None


def _writing(text: str) -> str:
    simple = _DOTS.sub("...", canonical(plain(text)))
    return simple.replace(" ", "").replace("{", "").replace("}", "")


def _names(text: str) -> list[str]:
    """The names of angles and figures in a text, each in one of the ways of writing it; ``\\perp`` is one as well."""
    return sorted(_name(re.sub(r"[\s{}]", "", name[0])) for name in _NAME.finditer(text))


def _name(written: str) -> str:
    """An angle may be read from either side, and a triangle or a segment from any of its points."""
    points = re.sub(r"^\\[a-z]+", "", written)
    command = written[: len(written) - len(points)]
    if "angle" in command and "tri" not in command:
        return command + min(points, points[::-1])
    is_ray = "arrow" in command
    return command + (points if is_ray else "".join(sorted(points)))


def _is_one_text(text: str) -> bool:
    return _TEXT.fullmatch(text.strip().strip("$")) is not None


def _is_verbal(text: str) -> bool:
    """Whether a text has letters and nothing to compute."""
    simple = _TEXT.sub(r"\1", plain(text))
    return not _MATHEMATICS.search(simple) and _WORD.search(simple) is not None


def _is_other_word(reference: str, answer: str) -> bool:
    """Whether two texts of letters alone are different words, and no product of two variables written in either order."""
    left, right = (plain(text).strip("()") for text in (reference, answer))
    is_product = _VARIABLES.fullmatch(left) and _VARIABLES.fullmatch(right)
    is_marked = "\\text" in reference or "\\text" in answer
    return (
        bool(is_marked or not is_product)
        and len(left) > 1
        and len(right) > 1
        and " " not in left + right
    )


def _words(text: str) -> list[str]:
    """The words of a text that are no unit, no function and no connective, in order of the alphabet."""
    found: list[str] = []
    for content in _TEXT.findall(text):
        if is_unit_phrase(content.strip()):
            continue
        found += [word.lower() for word in _WORD.findall(content) if len(word) > 1]
    for run in _RUN.findall(_ENVIRONMENT.sub(" ", _TEXT.sub(" ", text))):
        if run.isupper() or (len(run) > _LONGEST_PRODUCT and not is_unit_phrase(run)):
            found.append(run)
    return sorted(
        word for word in found if word.lower() not in _NO_WORDS and not is_unit_phrase(word)
    )
