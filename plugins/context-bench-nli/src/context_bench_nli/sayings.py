"""What is said of saying something: "it would be wrong to say that it is supported", "it is false that it is refuted"."""

from __future__ import annotations

from context_bench_nli import grammar as g
from context_bench_nli.concepts import Concept
from context_bench_nli.relations import TRUTH, Relation
from context_bench_nli.tokens import Token

_SAYS = g.word_set(
    "say saying call calling conclude concluding claiming stating assert asserting argue arguing infer inferring describe "
    "describing labelling labeling"
)
_SAYS_BEHIND_TO = g.word_set("claim state label")
_FAULTS = g.word_set(
    "wrong incorrect inaccurate false untrue premature misleading unfair erroneous mistaken unjustified unwarranted "
    "mistake error overstatement exaggeration exaggerated overreach stretch leap hard difficult hasty simplistic"
)
_EXCESSES = g.word_set("far strong much hasty bold early simple")
_REACH = 12  # tokens between the verb of saying and what is said
_STOPS = g.SIGNS - frozenset("()[]{}")


def disowned(tokens: list[Token], start: int, stop: int) -> tuple[int, bool] | None:
    """Whether to say what stands from one token up to another is called wrong, and behind which token it is said.

    ``None`` where nobody says anything of saying it.
    """
    for index in range(start - 1, max(start - _REACH, 0) - 1, -1):
        word = tokens[index].word
        if word in _STOPS:
            return None
        if word == "that" and index and tokens[index - 1].word in TRUTH:
            before = _clause_before(tokens, index)
            is_false = TRUTH[tokens[index - 1].word] is Relation.CONTRADICTED
            return index, is_false ^ _is_turned(before[:-1])
        if _says(tokens, index):
            before = _clause_before(tokens, index)
            if before[-1:] == ["to"]:
                before.pop()
            words = before or _clause_after(tokens, stop)
            judged = _faulted(words, whole=bool(before))
            return None if judged is None else (index, judged)
    return None


def is_judgement(tokens: list[Token], concept: Concept, following: Concept | None) -> bool:
    """Whether a concept such as "wrong" judges what is said beside it: "false that it is refuted", "to say so is wrong"."""
    if concept.stop - concept.start > 1 or tokens[concept.start].word not in TRUTH:
        return False
    if concept.stop < len(tokens) and tokens[concept.stop].word == "that" and following is not None:
        return not any(token.word in _STOPS for token in tokens[concept.stop : following.start])
    before = _clause_before(tokens, concept.start)
    subject = before[1:] if before[:1] == ["to"] else before
    if subject is before:
        return bool(subject) and subject[0] in _SAYS and subject[0].endswith("ing")
    return bool(subject) and subject[0] in _SAYS | _SAYS_BEHIND_TO


def _says(tokens: list[Token], index: int) -> bool:
    """Whether a token is a verb of saying, and no noun such as "claim"."""
    word = tokens[index].word
    return word in _SAYS or (
        word in _SAYS_BEHIND_TO and index > 0 and tokens[index - 1].word == "to"
    )


def _clause_before(tokens: list[Token], index: int) -> list[str]:
    """The words of a clause up to a token."""
    start = index
    while start and index - start < 2 * _REACH and tokens[start - 1].word not in _STOPS:
        start -= 1
    return [token.word for token in tokens[start:index] if not g.is_markup(token.word)]


def _clause_after(tokens: list[Token], index: int) -> list[str]:
    """The words of a clause from a token on."""
    stop = index
    while stop < len(tokens) and stop - index < _REACH and tokens[stop].word not in _STOPS:
        stop += 1
    return [token.word for token in tokens[index:stop]]


def _faulted(words: list[str], whole: bool) -> bool | None:
    """Whether some words find fault with saying something; None where they say nothing of it.

    Args:
        words: The words.
        whole: Whether a denial behind the fault counts as well, as in "it is hard not to conclude".
    """
    for place in range(len(words) - 1, max(len(words) - _REACH, 0) - 1, -1):
        before = words[place - 1] if place else ""
        if words[place] == "far" and words[place + 1 : place + 2] == [
            "as"
        ]:  # "not go so far as to say"
            return _is_turned(words[:place])
        turned = _is_turned(words if whole else words[:place])
        if words[place] in _FAULTS or (words[place] in _EXCESSES and before == "too"):
            return not turned
    return None


def _is_turned(words: list[str]) -> bool:
    return sum(map(g.negates, words)) % 2 == 1
