"""What a response asserts: of each place that speaks of a label, which labels it leaves possible."""

from __future__ import annotations

from typing import NamedTuple

from context_bench_nli import grammar as g
from context_bench_nli.concepts import Concept
from context_bench_nli.likelihoods import weighed
from context_bench_nli.sayings import disowned, is_judgement
from context_bench_nli.tokens import Token


class Assertion(NamedTuple):
    """The labels that the words from token `start` up to `stop` leave possible."""

    start: int
    stop: int
    possible: frozenset[int]
    opener: bool


def assertions(tokens: list[Token], concepts: list[Concept]) -> list[Assertion]:
    """The assertions of a response in order: what is supposed, asked or only listed is left out, what is denied is turned."""
    denials = _denials(tokens, concepts)
    numbered = weighed(tokens, concepts, denials)
    listed = (_listed(tokens, concepts, denials) | numbered.keys()) - {
        start for start, likeliest in numbered.items() if likeliest
    }
    found: list[Assertion] = []
    answered = -1  # the last question that a "yes" or "no" after it was an answer to
    for concept, denied in zip(concepts, denials):
        if denied is None or concept.start in listed or _supposed(tokens, concept):
            continue
        if concept.opener and 0 <= answered < concept.start <= answered + 3:
            continue
        question = g.question_after(tokens, concept.stop)
        if question is not None:
            answer = _answer_to(tokens, question)
            if answer is None:
                continue
            denied ^= answer == "no"
            answered = question
        found.append(
            Assertion(
                concept.start,
                concept.stop,
                concept.denied if denied else concept.possible,
                concept.opener,
            )
        )
    return found


def _denials(tokens: list[Token], concepts: list[Concept]) -> list[bool | None]:
    """Of every concept whether it is denied; None for one that only says what is missing ("no evidence that supports")."""
    denials: list[bool | None] = []
    for place, concept in enumerate(concepts):
        negation = g.negation_before(tokens, concept.start)
        within = negation is not None and any(
            other.start <= negation < other.stop for other in concepts[max(place - 9, 0) : place]
        )
        following = concepts[place + 1] if place + 1 < len(concepts) else None
        joined = (
            place > 0
            and denials[-1] is True
            and _joined(tokens, concepts[place - 1].stop, concept.start)
        )
        said_of = disowned(tokens, concept.start, concept.stop)
        if within or is_judgement(tokens, concept, following):
            denials.append(None)
        elif said_of is not None:
            said, is_wrong = said_of
            denials.append(is_wrong ^ (negation is not None and negation > said))
        else:
            denials.append(negation is not None or joined or _denied_after(tokens, concept.stop))
    return denials


def _joined(tokens: list[Token], start: int, stop: int) -> bool:
    """Whether what stands between two concepts carries a denial on: "not supported or refuted", "neither ... nor ..."."""
    between = [token.word for token in tokens[start:stop]]
    joins = any(word in ("or", "nor") for word in between)
    return (
        joins
        and len(between) <= 6
        and not any(word in g.CLAUSES - {"and"} or word in ".;!?\n" for word in between)
    )


def _denied_after(tokens: list[Token], index: int) -> bool:
    """Whether what follows a concept denies it.

    A noun by its verb ("entailment does not hold"), "no" after a colon ("Entailment: no"), nobody who does it ("supported by
    none of them"), or a clause that takes it back ("supported, but it is not").
    """
    index = after_markup(tokens, index)
    if _taken_back(tokens, index):
        return True
    words = [token.word for token in tokens[index : index + 3]] + ["", "", ""]
    if words[0] in (":", "-", "–", "—"):
        return words[1] in ("no", "none", "false") and (not words[2] or g.breaks(words[2]))
    if words[0] == "by":
        few = words[1] == "no" and words[2] not in ("fewer", "less")
        return few or words[1] in ("none", "nothing", "nobody", "neither")
    if words[0] in g.AUXILIARIES:
        return words[1] == "not" or words[1] == "never"
    return words[0].endswith("n't") or words[0] == "cannot"


def _taken_back(tokens: list[Token], index: int) -> bool:
    """As in "supported, but it is not"."""
    words = [token.word for token in tokens[index : index + 8]]
    words = words[words[:1] == [","] :]
    clause = words[
        1 : next((place for place, word in enumerate(words) if g.breaks(word)), len(words))
    ]
    is_one = words[:1] in (["but"], ["yet"]) and clause[-1:] in (["not"], ["isn't"], ["doesn't"])
    return is_one and g.PRONOUNS_AND_VERBS.issuperset(clause)


def _supposed(tokens: list[Token], concept: Concept) -> bool:
    """Whether a concept stands in a condition, an indirect question or an infinitive of purpose ("to support the claim")."""
    before = tokens[concept.start - 1].word if concept.start else ""
    if before == "to":
        words = [token.word for token in tokens[max(concept.start - 7, 0) : concept.start - 1]]
        raised = words[-1:] and words[-1] in g.RAISING
        enough = any(word in ("enough", "sufficient") for word in words)
        negated = any(g.negates(word) for word in words)
        return not (raised or (enough and not negated))
    if _would(tokens, concept):
        return True
    comma = undeniable = False
    for position in range(concept.start - 1, max(concept.start - 30, -1), -1):
        word = tokens[position].word
        if g.ends_sentence(word) or word == "\n":
            return False
        undeniable |= g.is_undeniable(tokens, position)
        if word == "how" and undeniable:
            continue  # "I don't see how anyone could deny that"
        if word == ",":
            comma = True
        if word in g.SUPPOSING:
            return not comma or _conditional(tokens, position, concept.start)
    return False


def _would(tokens: list[Token], concept: Concept) -> bool:
    """As in "it would be supported if the trial had succeeded"."""
    before = [token.word for token in tokens[max(concept.start - 4, 0) : concept.start]]
    after = [token.word for token in tokens[concept.stop : concept.stop + 12]]
    sentence = after[
        : next((place for place, word in enumerate(after) if g.ends_sentence(word)), len(after))
    ]
    return "would" in before and ("if" in sentence or "unless" in sentence)


def _conditional(tokens: list[Token], start: int, stop: int) -> bool:
    """As in "if it said so, the claim would be supported"."""
    return any(token.word == "would" for token in tokens[start:stop])


def _answer_to(tokens: list[Token], question: int) -> str | None:
    index = after_markup(tokens, question + 1)
    word = tokens[index].word if index < len(tokens) else ""
    return word if word in ("yes", "no") else None


def _listed(tokens: list[Token], concepts: list[Concept], denials: list[bool | None]) -> set[int]:
    """Where concepts with different meanings stand side by side, as in a list of all labels: "SUPPORTS, REFUTES or ..."."""
    listed: set[int] = set()
    run: list[int] = []
    for place in range(len(concepts) + 1):
        if (
            run
            and place < len(concepts)
            and _side_by_side(tokens, concepts[run[-1]].stop, concepts[place].start)
        ):
            run.append(place)
            continue
        meanings = {concepts[one].possible for one in run}
        if len(meanings) > 1 and not any(denials[one] for one in run):
            listed.update(concepts[one].start for one in run)
        run = [place]
    return listed


def _side_by_side(tokens: list[Token], start: int, stop: int) -> bool:
    between = [token.word for token in tokens[start:stop]]
    joins = ("or", "and", ",", "/", "|", "&", "either", "\n", "-", "*", "•", "vs", ";", "nor")
    return bool(between) and all(
        word in joins or g.is_markup(word) or word.isdigit() for word in between
    )


def after_markup(tokens: list[Token], index: int) -> int:
    """The first token from a place on that is no markup."""
    while index < len(tokens) and g.is_markup(tokens[index].word):
        index += 1
    return index
