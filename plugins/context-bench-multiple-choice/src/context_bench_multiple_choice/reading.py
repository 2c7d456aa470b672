"""A response under examination: its tokens, the letters in it, and what stands around them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from context_bench_multiple_choice import vocabulary as v
from context_bench_multiple_choice.marks import Mark, find_marks, is_markup
from context_bench_multiple_choice.option_text import Content, OptionTexts, TextMatch
from context_bench_multiple_choice.replies import Strength, question_after
from context_bench_multiple_choice.tokens import Token, plain, tokenize

NEAR = 12  # tokens before or after a letter that can change what it means
BRIEF = 120  # tokens, about a hundred words: only of a reply no longer than this do weak hints count
_DANGLING = v.words("the a an and or of is are to with that for in by from because if we , ( = + - : \\")


class Claim(NamedTuple):
    """An answer that the response gives at a place: a letter, or none with the reason.

    A claim that names no option ("A and B", "none of these") takes part like any other, and being no conclusion it is
    replaced by whatever follows it.
    """

    at: int
    strength: Strength
    letter: str | None
    how: str


class Reading:
    """The tokens of one response, with answers to the questions that the rules ask about them.

    Every question looks at a bounded number of tokens, so that reading a response takes time in proportion to its length.
    """

    def __init__(self, text: str, choices: Mapping[str, str], letters: str) -> None:
        self.text = plain(text)
        self.letters = letters
        self.tokens: list[Token] = tokenize(self.text)
        self.options = OptionTexts(choices)
        self.content = Content(self.tokens)
        numbered = not any(choice.strip().isdigit() for choice in choices.values())
        self.marks: dict[int, Mark] = find_marks(self.text, self.tokens, letters, numbered)

    def word(self, index: int) -> str:
        """The word at a place, or an empty string beyond either end."""
        return self.tokens[index].word if 0 <= index < len(self.tokens) else ""

    def is_markup(self, index: int) -> bool:
        """Whether the token at a place only dresses up the text."""
        return is_markup(self.tokens[index])

    def option_at(self, index: int) -> TextMatch | None:
        """The option whose text begins exactly at a token."""
        option = self.options.at(self.content, index)
        return option if option and option.start == index else None

    def before(self, index: int) -> list[str]:
        """The words that stand before a token in its sentence, at most a few."""
        return [token.word for token in self.tokens[self.sentence_start(index) : index]]

    def sentence_start(self, index: int) -> int:
        """The first token of the sentence or line that a token belongs to, at most a few tokens back."""
        start = index
        while start > 0 and index - start < NEAR:
            before = self.tokens[start - 1].text[0]
            if before == "\n" or before in v.ENDS:
                break
            start -= 1
        return start

    def ends_clause(self, index: int) -> bool:
        """Whether a clause can end before this token, so that a letter before it stands for itself."""
        if index >= len(self.tokens):
            return True
        first, word = self.tokens[index].text[0], self.tokens[index].word
        return word == "\n" or first in v.BREAKS or first in "([（【" or first >= "\u0900" or word in v.CONTINUES

    def stands_alone(self, mark: Mark) -> bool:
        """Whether a letter is the name of an option and not an article, a pronoun or the start of a noun phrase."""
        if mark.enclosed:
            return True
        if not mark.capital and mark.letter in "AI":
            following = self.word(mark.stop)
            return following in ("", "\n") or following[0] in v.BREAKS
        return self.ends_clause(mark.stop)

    def is_unit(self, mark: Mark) -> bool:
        """Whether a letter is the unit of a number, as in "5 A", or a term of a formula."""
        before = self.tokens[mark.at - 1].text[0] if mark.at else " "
        return mark.formula or (not mark.enclosed and (before.isdigit() or before in "=+%°"))

    @cached_property
    def is_brief(self) -> bool:
        """Whether the reply is short and finished, so that weak hints ("so C", a letter mentioned) are its answer.

        In a long chain of thought they are its steps, and one that breaks off has not come to its answer.
        """
        if len(self.tokens) > BRIEF:
            return False
        last = next((token for token in reversed(self.tokens) if token.word != "\n"), None)
        single = len(self.tokens) <= 3
        return last is None or single or (len(last.text) == 1 and last.text.isupper()) or last.word not in _DANGLING

    def asked(self, index: int) -> bool:
        """Whether the sentence that goes on at a token is a question."""
        return question_after(self.tokens, index, 2 * NEAR) is not None

    def denied(self, index: int) -> bool:
        """Whether the question that goes on at a token is answered with no."""
        question = question_after(self.tokens, index, 2 * NEAR)
        if question is None:
            return False
        following = (self.word(position) for position in range(question + 1, question + 6))
        return next((word for word in following if word[:1].isalnum()), "") in (
            "no",
            "nope",
            "not",
            "wrong",
            "incorrect",
        )

    def discarded(self, index: int) -> bool:
        """Whether the words before a token put it aside: "not A", "eliminate A, B and C", "rather than A"."""
        listed = False
        for position in range(index - 1, max(index - 1 - NEAR, -1), -1):
            word, before = self.word(position), self.word(position - 1)
            if word in v.CHOOSE:
                return False
            if word in v.DISCARDS or v.negates(word):
                return not (listed and word in ("not", "neither"))
            if (before, word) in v.DISCARD_PAIRS:
                return True
            if word == ",":
                listed = True
            elif not (position in self.marks or word in v.FILLERS | v.COPULAS | v.AND or self.is_markup(position)):
                return False
        return False

    def listed_with(self, mark: Mark) -> dict[str, int]:
        """The letters of the list that begins with a letter ("A, B and C"), and where each stands; alone, an empty one."""
        letters = {mark.letter: mark.at}
        position, joined = mark.stop, False
        while position < len(self.tokens) and len(letters) <= len(self.letters):
            other = self.marks.get(position)
            if joined and other and (other.capital or other.enclosed) and self.stands_alone(other):
                letters[other.letter] = other.at
                position, joined = other.stop, False
                continue
            opens = self.tokens[position].text in ("(", "[")
            if self.word(position) in v.AND:
                joined = True
            elif not (self.is_markup(position) and (joined or not opens)):
                break
            position += 1
        return letters if len(letters) > 1 else {}

    def shares_its_verb(self, mark: Mark) -> bool:
        """Whether a letter is the last of several with one verb, as in "A and B are correct"."""
        joined = False
        for position in range(mark.at - 1, max(mark.at - NEAR, -1), -1):
            other = self.marks.get(position)
            if other:
                return joined and other.capital and other.letter != mark.letter
            if self.word(position) in ("and", "or", "&"):
                joined = True
            elif not (self.word(position) == "," or self.is_markup(position)):
                break
        return False

    def retractions(self) -> list[int]:
        """Where the response begins to doubt what it said: "wait", "on second thought"."""
        words = [token.word for token in self.tokens]
        single = {index for index, word in enumerate(words) if word in v.RETRACTIONS}
        return sorted(single | {index for index, pair in enumerate(pairwise(words)) if pair in v.RETRACTION_PAIRS})

    def run_ons(self) -> list[int]:
        """Where a line begins with "Question:" or "Q:", with which a model goes on to ask itself."""
        places = []
        for index, token in enumerate(self.tokens):
            opens = all(self.is_markup(place) for place in range(self.sentence_start(index), index))
            if token.word in ("question", "q") and opens:
                after = index + 1 + self.word(index + 1).isdigit()
                if self.word(after) == ":":
                    places.append(index)
        return places
