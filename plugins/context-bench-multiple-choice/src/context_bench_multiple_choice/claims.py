"""What a response claims: every place that names an option is read by what stands before it, after it, and in its line."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from context_bench_multiple_choice import words as w
from context_bench_multiple_choice.names import Name, Texts, find_names
from context_bench_multiple_choice.replies import Strength, question_after
from context_bench_multiple_choice.words import after_markup, is_markup, tokenize

NEAR = 12  # tokens before or after a name that can change what it means
REACH = 40  # tokens between an announcement and the name
STRANGERS = 15  # unknown words among them, as in "the answer to the second part of this puzzle is"
BRIEF = (
    120  # tokens, about a hundred words: only of a reply no longer than this do weak hints count
)
_ENDS = w.ENDS | {"\n"}
_RUN_ON = re.compile(r"^[^\w\n]*(question|q) ?\d*\s*:", re.IGNORECASE | re.MULTILINE)


class Claim(NamedTuple):
    """An answer that the response gives at a token: a letter, or None with the reason.

    A claim that names no option ("A and B", "none of these") takes part like any other, and being no conclusion it is
    replaced by whatever follows it.
    """

    at: int
    strength: Strength
    letter: str | None
    how: str


class Reading:
    """The tokens of one response and the options named in it. Every question looks at a bounded number of tokens."""

    def __init__(self, text: str, texts: Texts, letters: str) -> None:
        self.text = text
        self.letters = letters
        self.tokens = tokenize(text)
        self.names = find_names(text, self.tokens, texts)
        self.at = {name.at: name for name in self.names}

    def claims(self) -> list[Claim]:
        """Every answer that is announced, called right, or given by the form of its line, in order."""
        lines = self._lines()
        claims = [self._claim(group, lines.get(group[0].at)) for group in self._groups]
        return [claim for claim in claims if claim]

    def _claim(self, group: list[Name], line: Strength | None) -> Claim | None:
        lead, how = self._lead(group[0])
        left = [name for name in group if self.verdict(name) != "wrong"]
        if how == "denied" or not left:
            return None
        last = left[-1]
        offers = [(lead, how)] if lead and self._is_a_name(last) else []
        offers += [(line, "line")] if line else []
        offers += [(said, "verdict")] if (said := self._called_right(last)) else []
        letters = sorted({name.letter for name in left})
        if not offers:
            return None
        strength, how = max(offers, key=lambda offer: offer[0])
        if len(letters) > 1:
            return Claim(last.at, strength, None, f"several letters: {', '.join(letters)}")
        if last.letter not in self.letters or not last.letter:
            reason = (
                f"letter {last.letter} is beyond the options"
                if last.letter
                else "none of the options"
            )
            return (
                Claim(last.at, strength, None, reason)
                if strength is Strength.STATED and how != "line"
                else None
            )
        question = self.question(last.stop)
        if how not in ("line", "verdict") and (
            question or self.word(last.stop) in ("if", "unless")
        ):
            strength = Strength.MENTIONED
        return None if question == "denied" else Claim(last.at, strength, last.letter, how)

    def mention(self, after: int = -1) -> Claim | None:
        """The one option that a brief reply names after a token, if it never says "the answer"."""
        named = [
            name
            for group in self._groups
            if self.is_brief and self._lead(group[0])[1] != "denied"
            for name in group
            if name.at > after
            and name.sure
            and not name.symbol
            and name.letter
            and name.letter in self.letters
            if self.stands_alone(name)
            and not self._is_a_term(name)
            and self.question(name.stop) != "denied"
            if self.verdict(name) != "wrong"
            and not any(word in w.OTHERS for word in self.before(name.at))
        ]
        named = [name for name in named if not self.question(name.at)] or named
        joined = [
            one for group in self._groups if any(name in group for name in named) for one in group
        ]
        letters = sorted(
            {one.letter for one in joined if one.letter in self.letters}
        )  # of "A and D are false" no single one
        if not named:
            return None
        single = len(letters) == 1 and not any(
            name.text and self.word(name.stop) == "or" for name in named
        )
        how = "mentioned" if single else f"several options, no conclusion: {', '.join(letters)}"
        return Claim(named[-1].at, Strength.MENTIONED, letters[0] if single else None, how)

    def _lead(self, name: Name) -> tuple[Strength | None, str]:
        """Read back from a name over words that change nothing, to those that announce it ("so", "the answer is") or deny it."""
        best: tuple[Strength | None, str] = (None, "")
        linked = below = weakened = False
        strangers = 0
        for index in range(name.at - 1, max(name.at - 1 - REACH, -1), -1):
            word, before, after = self.word(index), self.word(index - 1), self.word(index + 1)
            other = self.at.get(index)
            if word == "\n":
                below = True
            elif word == "," and best[0] is Strength.STATED:
                break
            elif is_markup(self.tokens[index]):
                continue
            elif (below and word not in w.ANNOUNCING) or (
                other and other.sure and not (other.text and linked)
            ):
                break  # only what stands by itself in its line announces the next one
            elif (word in w.SUPPOSING and best[0]) or (self._puts_aside(index) and not strangers):
                return None, "denied"
            elif word[0] in w.ENDS:
                if word != "." or ("." not in (before, after) and before != "ans"):
                    break
            else:
                found = self._announced(index, linked, strangers, name)
                if found and (best[0] is None or found[0] > best[0]):
                    best = Strength.MENTIONED if weakened else found[0], found[1]
                if word in w.LINKS:
                    if strangers:
                        break
                    elsewhere = word == "would" and {"if", "for"} & set(
                        self.before(index)
                    )  # "for Germany it would be B"
                    weakened = weakened or word in ("might", "may", "could") or bool(elsewhere)
                    linked, below = True, False
                elif word not in w.FILLERS and not (best[0] and word in w.ATTITUDES):
                    strangers += 1
                    if not linked or best[0] or strangers > STRANGERS or word in w.CLAUSES:
                        break
        return best

    def _puts_aside(self, index: int) -> bool:
        word, after = self.word(index), self.word(index + 1)
        return (
            (word in w.DISCARDS or w.negates(word))
            and after[:1] not in w.BREAKS
            and after != "doubt"
        )

    def _announced(
        self, index: int, linked: bool, strangers: int, name: Name
    ) -> tuple[Strength, str] | None:
        """What a word announces at its place, as what stands before it in its sentence leaves it."""
        word, before, after = self.word(index), self.word(index - 1), self.word(index + 1)
        words = self.before(index) if word in w.REPORTED or word in w.CHOOSING else []
        if word in w.REPORTED and any(other in w.OTHERS for other in words):
            return Strength.MENTIONED, "said by others"  # "students think that the answer is A"
        if (
            word in w.ANSWER
            and after not in ("choices", "options")
            and before != "/"
            and (linked or not strangers)
        ):
            return Strength.STATED, "answer"
        if linked and before != "/" and (word in w.BEST or (word == "final" and after == ":")):
            return Strength.STATED if word in w.OPTION else Strength.CONCLUDED, "option"
        if strangers:
            return None
        if word in w.CHOOSING and any(other in w.FIRST_PERSON for other in words):
            undone = any(
                other == "was" or w.negates(other) for other in words
            )  # "I was going to pick A"
            return Strength.MENTIONED if undone else Strength.STATED, "choice"
        if (before, word) in w.RETRACTION_PAIRS or (word in w.CORRECTION and after != "of"):
            return Strength.STATED, "correction"
        if self.is_brief and name.sure and not name.text and not name.symbol and word in w.SO:
            return Strength.CONCLUDED, "so"
        return None

    def _is_a_name(self, name: Name) -> bool:
        """Whether what is announced is an option, and no article, pronoun or beginning of a phrase."""
        if not name.sure and name.letter not in self.letters:
            return False
        return self.stands_alone(name) or self.verdict(name) in ("right", "the answer")

    def verdict(self, name: Name) -> str:
        """What the words after a name say of the option: "right", "the answer", "wrong", or nothing."""
        negated = linked = False
        for position in range(name.stop, min(name.stop + NEAR, len(self.tokens))):
            word, before, after = (
                self.word(position),
                self.word(position - 1),
                self.word(position + 1),
            )
            if word in w.RIGHT or (word == "likely" and self.ends_clause(position + 1)):
                answer = {word, after} & {"answer", "choice", "pick", "option"}
                if (
                    not negated
                    and name.letter in "AI"
                    and not name.enclosed
                    and self.word(name.stop) not in w.VERBS
                ):
                    return ""  # "I will do my best", "a better world"
                return "wrong" if negated else "the answer" if answer else "right"
            if word in w.WRONG:
                return "" if negated else "wrong"
            if position in self.at and before in w.AND:
                break  # "yes and no" names two options
            if w.negates(word):
                other = self.at.get(after_markup(self.tokens, position + 1))
                if word == "not" and not linked and other and other.sure:
                    return ""  # "B not A"
                negated = True
            elif word in w.COPULAS:
                linked = True
            elif word[0] in w.BREAKS and not (word == "," and position + 1 in self.at):
                closes = (
                    word[0] in w.ENDS and before in ("is", "does") and position > name.stop
                )  # "D it is."
                return "wrong" if negated else "right" if closes else ""
            elif not (
                position in self.at or word in w.PREDICATES or is_markup(self.tokens[position])
            ):
                break
        else:
            last = len(self.tokens) - 1
            if (
                not negated
                and name.stop < last < name.stop + NEAR
                and self.word(last) in ("is", "does")
            ):
                return "right"  # "D it is", without a full stop
        return "wrong" if negated else ""

    def _called_right(self, name: Name) -> Strength | None:
        verdict, before = self.verdict(name), self.before(name.at)
        if (
            verdict not in ("right", "the answer")
            or not name.sure
            or name.symbol
            or self.question(name.stop)
        ):
            return None
        clause = (
            before[len(before) - before[::-1].index(",") :] if "," in before else before
        )  # "while A is tempting, B is"
        others = any(word in w.OTHERS for word in clause)
        doubted = (
            others
            or any(word in w.SUPPOSING for word in before)
            or any(w.negates(word) for word in before[-3:])
        )
        if doubted or "would" in (self.word(name.stop), self.word(name.stop + 1)):
            return None
        return Strength.STATED if verdict == "the answer" else Strength.CONCLUDED

    def _lines(self) -> dict[int, Strength]:
        """Which names answer by the form of their line.

        A letter alone on the first or last line states, and so does one with its option's text ("B. Paris"); with other text
        it concludes. In a list of options, whose neighbouring lines begin with other letters, only a line that says "correct"
        does. What concludes counts in a brief reply alone.
        """
        ends = [index for index, token in enumerate(self.tokens) if token.word == "\n"]
        spans = [
            (start + 1, stop)
            for start, stop in pairwise([-1, *ends, len(self.tokens)])
            if start + 1 < stop
        ]
        labels = [self._label(*span) for span in spans]
        found = {}
        for number, label in enumerate(labels):
            name, alone = label or (None, False)
            if (
                name is None
                or name.letter not in self.letters
                or (name.symbol and not self.is_brief)
            ):
                continue
            neighbours = (
                labels[place] for place in (number - 1, number + 1) if 0 <= place < len(labels)
            )
            listed = any(
                other and other[1] == alone and other[0].letter != name.letter
                for other in neighbours
            )
            verdict = "" if alone else self.verdict(name._replace(stop=self._separated(name.stop)))
            at_edge = number in (0, len(labels) - 1)
            if not listed and (alone or name.own) and at_edge and verdict != "wrong":
                found[name.at] = Strength.STATED
            elif self.is_brief and verdict != "wrong" and (verdict != "" if listed else at_edge):
                found[name.at] = Strength.CONCLUDED
        return found

    def _label(self, start: int, stop: int) -> tuple[Name, bool] | None:
        """The letter with which a line begins, and whether nothing else stands in it."""
        while (
            start < stop
            and start not in self.at
            and (self._dresses(start) or self.word(start) == "option")
        ):
            start += 1
        name = self.at.get(start)
        if start >= stop or name is None or name.text or not name.letter:
            return None
        rest = range(self._separated(name.stop), stop)
        inner = (
            self.at.get(rest.start) if name.letter == "A" and self.word(name.stop) == ":" else None
        )
        if (
            inner
            and not inner.text
            and inner.letter in self.letters
            and self._separated(inner.stop) >= stop
        ):
            return inner, inner.own is False  # "A: D", where A is for answer
        separated = name.enclosed or self.word(name.stop)[:1] in w.SEPARATORS
        return (
            (name, name.own is False and not rest)
            if not rest or (separated and name.sure)
            else None
        )

    def _dresses(self, index: int) -> bool:
        return is_markup(self.tokens[index]) or self.word(index)[:1] in w.SEPARATORS

    def _separated(self, index: int) -> int:
        while index < len(self.tokens) and self._dresses(index):
            index += 1
        return index

    @cached_property
    def _groups(self) -> list[list[Name]]:
        """The names, each with those that are joined to it: "A, B and C"."""
        groups: list[list[Name]] = []
        for name in self.names:
            if groups and self._joined(groups[-1][-1], name):
                groups[-1].append(name)
            else:
                groups.append([name])
        return groups

    def _joined(self, first: Name, second: Name) -> bool:
        if second.at - first.stop > NEAR or not (first.letter and second.letter and second.sure):
            return False
        words = [
            self.word(place)
            for place in range(first.stop, second.at)
            if not is_markup(self.tokens[place])
        ]
        ends = self.stands_alone(second) or (
            self.word(second.stop) in w.COPULAS and words[-1:] != [","]
        )
        return bool(words) and ends and all(word in w.AND for word in words)

    def _is_a_term(self, name: Name) -> bool:
        """Whether an option that is one number stands in a calculation."""
        if not name.text or not self.tokens[name.at].text[0].isdigit():
            return False
        around = (
            self.word(name.at - 1)[:1] in tuple("+-−*/×÷^("),
            self.word(name.stop)[:1] in tuple("/(["),
        )
        return any(around) or not self.ends_clause(name.stop)

    def word(self, index: int) -> str:
        """The word at a place, or an empty string beyond either end."""
        return self.tokens[index].word if 0 <= index < len(self.tokens) else ""

    def before(self, index: int) -> list[str]:
        """The words that stand before a token in its sentence or line, at most a few."""
        start = index
        while start > 0 and index - start < NEAR and self.word(start - 1)[0] not in _ENDS:
            start -= 1
        return [token.word for token in self.tokens[start:index]]

    def ends_clause(self, index: int) -> bool:
        """Whether a clause can end before this token, so that a letter before it stands for itself."""
        first = self.tokens[index].text[0] if index < len(self.tokens) else ""
        return (
            first in ("", "\n", "(", "[", "（", "【")
            or first in w.BREAKS
            or first > "\u08ff"
            or self.word(index) in w.CONTINUES
            or (
                self.word(index) in w.SURE and self.word(index + 1)[:1] in w.BREAKS | {"", "\n"}
            )  # "D definitely"
        )

    def stands_alone(self, name: Name) -> bool:
        """Whether a letter is the name of an option and not an article, a pronoun or the start of a noun phrase."""
        if not name.sure and (name.letter in "AI" or self.word(name.stop)[:1] in tuple("-–—")):
            return self.word(name.stop)[:1] in (w.BREAKS - set("-–—")) | {"", "\n"}
        return name.enclosed or self.ends_clause(name.stop)

    def question(self, index: int) -> str:
        """What the sentence that goes on at a token is: a question ("asked"), one answered with no ("denied"), or none."""
        mark = question_after(self.tokens, index, 2 * NEAR)
        if mark is None:
            return ""
        reply = next(
            (token.word for token in self.tokens[mark + 1 : mark + 6] if token.word[0].isalnum()),
            "",
        )
        return "denied" if reply in ("no", "nope", "not", "wrong", "incorrect") else "asked"

    @cached_property
    def is_brief(self) -> bool:
        """Whether the reply is short and finished, so that weak hints ("so C", a letter mentioned) are its answer.

        In a long chain of thought they are its steps, and one that breaks off has not come to its answer.
        """
        last = next((token for token in reversed(self.tokens) if token.word != "\n"), None)
        finished = last is None or last.text.isupper() or last.word not in w.NOT_YET
        return finished and len(self.tokens) <= BRIEF

    def retractions(self) -> list[int]:
        """Where the response begins to doubt what it said: "wait", "on second thought"."""
        pairs = enumerate(pairwise(["", *(token.word for token in self.tokens)]))
        places = [
            index for index, pair in pairs if pair[1] in w.RETRACTIONS or pair in w.RETRACTION_PAIRS
        ]
        return [
            place
            for place in places
            if self.word(place) != "correction" or self.word(place + 1)[:1] in w.BREAKS
        ]

    def run_ons(self) -> list[int]:
        """Where a line begins with "Question:" or "Q:", with which a model goes on to ask itself."""
        starts = {match.start(1) for match in _RUN_ON.finditer(self.text)}
        return [index for index, token in enumerate(self.tokens) if token.start in starts]
