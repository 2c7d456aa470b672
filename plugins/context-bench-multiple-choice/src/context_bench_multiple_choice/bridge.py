"""The way from an announcement to the letter that it announces: copulas, colons, markup and words that change nothing."""

from __future__ import annotations

from typing import NamedTuple

from context_bench_multiple_choice import vocabulary as v
from context_bench_multiple_choice.marks import Mark, after_markup
from context_bench_multiple_choice.reading import Claim, Reading
from context_bench_multiple_choice.replies import Strength
from context_bench_multiple_choice.verdicts import Verdict, verdict_on

REACH = 40  # tokens between an announcement and its letter
STRANGERS = 15  # unknown words among them, as in "the answer to the second part of this puzzle is"


class Cue(NamedTuple):
    """A kind of announcement.

    Attributes:
        name: What it is called in the details of a score.
        strength: How strong a claim it makes.
        heads: It may stand alone in its line, with the letter in a line below.
        needs_link: A copula or a colon has to follow it.
        strangers: Unknown words may stand before that link.
        strict: The letter has to end its clause.
        letters_only: The cue is weak: it counts in brief replies alone, and only a capital or a letter in brackets will do,
            not the text of an option nor a symbol; "so 5" is a step of a calculation as likely as an answer.
    """

    name: str
    strength: Strength
    heads: bool = False
    needs_link: bool = False
    strangers: bool = False
    strict: bool = False
    letters_only: bool = False


def follow(reading: Reading, index: int, cue: Cue, strength: Strength) -> Claim | None:
    """The claim that an announcement leads to, reading on from the token after it."""
    return _Bridge(reading, index, cue, strength).cross()


class _Bridge:
    """One walk. It ends at a letter or an option, at a word that leads elsewhere, or at the end of the sentence."""

    def __init__(self, reading: Reading, index: int, cue: Cue, strength: Strength) -> None:
        self.reading = reading
        self.start = index
        self.cue = cue
        self.strength = strength
        self.linked = False  # by a copula or a colon
        self.line_start = False  # where a capital A may be an article
        self.only_markup = True
        self.strangers = 0

    def cross(self) -> Claim | None:
        reading = self.reading
        for position in range(self.start, min(self.start + REACH, len(reading.tokens))):
            if self._may_name() and (named := self._named(position)):
                return named if named.how else None
            word = reading.word(position)
            if word == "\n":
                if not (self.linked or (self.only_markup and self.cue.heads)):
                    return None
                self.linked = self.line_start = True
            elif not reading.is_markup(position):
                if word in v.NONE and self._may_name():
                    return Claim(position, self.strength, None, "none of the options")
                if v.negates(word) and word != "without":
                    return self._negated(position)
                if not self._passes(position, word):
                    return None
                self.only_markup = False
        return None

    def _may_name(self) -> bool:
        return self.linked or not (self.cue.needs_link or self.strangers)

    def _passes(self, position: int, word: str) -> bool:
        """Whether the walk goes on over a word."""
        self.line_start = False
        if word in v.COLONS:
            self.linked = self.line_start = True
        elif word in v.COPULAS or word in v.HEDGES:
            self.linked = True
            if word in v.HEDGES or (word == "would" and self._is_about_something_else()):
                self.strength = Strength.MENTIONED
        elif word[0] in v.ENDS:
            neighbours = (self.reading.word(position - 1), self.reading.word(position + 1))
            return word == "." and ("." in neighbours or neighbours[0] == "ans")  # an ellipsis, an abbreviation
        elif word not in v.FILLERS and word not in (",", "…"):
            self.strangers += 1
            return self.cue.strangers and not self.linked and self.strangers <= STRANGERS and word not in v.CLAUSES
        return True

    def _is_about_something_else(self) -> bool:
        """As in "if it were about Germany, the answer would be B"."""
        return any(word in ("if", "for") for word in self.reading.before(self.start))

    def _negated(self, position: int) -> Claim | None:
        undecided = any(self.reading.word(position + step) in v.UNDECIDED for step in (1, 2))
        return Claim(position, self.strength, None, "none of the options") if self._may_name() and undecided else None

    def _named(self, position: int) -> Claim | None:
        """The claim made by the option or the letter at a place; one without a `how` is a statement that is not made."""
        reading, cue = self.reading, self.cue
        unmade = Claim(position, self.strength, None, "")
        mark = reading.marks.get(position)
        option = reading.option_at(position)
        if option and (mark is None or option.stop > mark.stop or not mark.capital):
            if cue.letters_only:
                return unmade
            if reading.ends_clause(after_markup(reading.tokens, option.stop)) and self.strength > Strength.MENTIONED:
                return self._questioned(option.stop, Claim(position, self.strength, option.letter, f"{cue.name}, text"))
        if mark is None or not self._is_a_name(mark) or (cue.letters_only and self._is_weak(mark)):
            return None
        verdicts = {letter: verdict_on(reading, reading.marks[at]) for letter, at in reading.listed_with(mark).items()}
        several = sorted(letter for letter, verdict in verdicts.items() if verdict is not Verdict.WRONG)
        if len(several) > 1:
            last = max(reading.listed_with(mark).values())
            return Claim(last, self.strength, None, f"several letters: {', '.join(several)}")
        if verdict_on(reading, mark) is Verdict.WRONG and not self._breaks_after(mark):
            return unmade
        if mark.letter not in reading.letters:
            reason = f"letter {mark.letter} is beyond the options"
            return unmade if cue.letters_only else Claim(position, self.strength, None, reason)
        return self._questioned(mark.stop, Claim(position, self.strength, mark.letter, cue.name))

    def _is_weak(self, mark: Mark) -> bool:
        """Whether a letter may be a symbol, a unit or the number of a part, and so is no answer after a mere "so"."""
        return mark.formula or not (mark.capital or mark.enclosed)

    def _is_a_name(self, mark: Mark) -> bool:
        """Whether a letter is the name of an option at this place of the walk, and not an article or a pronoun."""
        reading = self.reading
        if not mark.capital and not mark.enclosed:
            return mark.letter in reading.letters and reading.stands_alone(mark)
        strict = self.cue.strict or not self.linked or self.strangers > 0
        if strict or mark.letter == "I" or (mark.letter == "A" and self.line_start):
            return reading.stands_alone(mark) or verdict_on(reading, mark) in (Verdict.RIGHT, Verdict.THE_ANSWER)
        return True

    def _breaks_after(self, mark: Mark) -> bool:
        """Whether the words after a letter belong to another clause, as in "B - not A" or "B (wrong: A)"."""
        following = self.reading.word(mark.stop)
        return following == "\n" or following[:1] in v.BREAKS or following[:1] in ("(", "（", "[")

    def _questioned(self, stop: int, claim: Claim) -> Claim:
        """The claim, weaker if it is a question or hangs on a condition, and not made if the question is denied."""
        if self.reading.asked(stop):
            return claim._replace(how="") if self.reading.denied(stop) else claim._replace(strength=Strength.MENTIONED)
        conditional = self.reading.word(stop) in ("if", "unless")
        return claim._replace(strength=Strength.MENTIONED) if conditional else claim
