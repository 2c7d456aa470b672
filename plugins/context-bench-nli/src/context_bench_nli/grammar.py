"""As much of English grammar as it takes to see whether something is asserted, denied, supposed or asked."""

from __future__ import annotations

from context_bench_multiple_choice import replies
from context_bench_multiple_choice.replies import Token
from context_bench_multiple_choice.replies import words as word_set

__all__ = ["word_set"]


REACH = 8  # words between a negation and what it denies
SENTENCE = 40  # tokens to the end of a sentence
LONGEST_ASIDE = 6  # words between two commas

COPULAS = word_set("is are was were be been being seems appears remains becomes :")
AUXILIARIES = COPULAS | {
    "does",
    "do",
    "did",
    "can",
    "could",
    "would",
    "has",
    "have",
    "will",
    "should",
    "may",
    "might",
}
NEGATIONS = replies.DENIALS | word_set(
    "nothing nobody barely non fail fails failed failing lack lacks lacking unable nowhere none"
)
# Pairs that deny what follows, and pairs that look like a denial and are none.
DENYING_PAIRS = frozenset(
    {("rather", "than"), ("instead", "of"), ("far", "from"), ("as", "opposed"), ("ruled", "out")}
)
DENYING_PAIRS |= {("anything", "but")}
AFFIRMING_PAIRS = frozenset(
    {("not", "only"), ("not", "just"), ("not", "merely"), ("not", "simply"), ("no", "doubt")}
)
AFFIRMING_PAIRS |= {("no", "question"), ("without", "doubt"), ("not", "surprising")}
AFFIRMING_PAIRS |= {("no", "surprise"), ("no", "wonder")}
# Words that deny the clause that hangs on them, as "doubt" does: "it is unlikely that".
DENYING_THAT = word_set("unlikely doubtful doubts deny denies denied denying")
DENYING = word_set("deny denies denied denying")
# Words between "deny" and what turns it: "nobody could seriously deny", "I don't see how anyone could deny", "no reason to deny".
BEFORE_DENYING = word_set(
    "can could will would may might be been one anyone anybody person reader somebody someone any good reason reasons ground "
    "grounds way to reasonably seriously credibly plausibly really possibly i we you see imagine understand find how"
)
TURNING_DENYING = word_set("hard difficult impossible futile pointless")
PRONOUNS_AND_VERBS = word_set(
    "it this that is was does did in fact actually really not isn't doesn't"
)
LITTLE = word_set("little beyond undeniable")
# Words at which a clause ends, so that a negation before them denies nothing after them.
CLAUSES = word_set(
    "but because since therefore thus hence so although though while whereas however instead rather and which -> => "
    "→ ⇒ ➜ as"
)
SIGNS = frozenset(",;:.!?\n—–|()[]{}。，；：！？…")
SUPPOSING = replies.SUPPOSING | {"how", "why"}
# Verbs after which an infinitive is an assertion: "seems to support".
RAISING = word_set(
    "seems seem appears appear seemed appeared tends tend continues found shown happens considered likely enough "
    "known said sufficient fails fail failed unable able appearing seeming has have need needs due proves"
)
# Words that may follow "true" or "false" where it is a predicate.
AFTER_PREDICATES = word_set(
    "because since as that and or but according based given for in by under per with so not rather here when then "
    "if from on nor due only while although though at about"
)
LINKS = word_set(": = - – — -> => → ⇒ ➜ |")
QUOTES = frozenset('"“”«»„')
MARKUP = replies.MARKUP | {"/"}
RETRACTIONS = replies.RETRACTIONS | {"sorry"}


def negates(word: str) -> bool:
    """Whether a word denies what follows it."""
    return replies.negates(word, NEGATIONS)


def breaks(word: str) -> bool:
    """Whether a token is a sign and no word."""
    return not word[0].isalnum()


def ends_sentence(word: str) -> bool:
    """Whether a token ends a sentence."""
    return word in replies.ENDS


def is_markup(word: str) -> bool:
    """Whether a token is emphasis, a bracket, a quote or a LaTeX command around the text itself."""
    return word[0] in MARKUP and word != "\\boxed"


def negation_before(tokens: list[Token], index: int) -> int | None:
    """The place of the negation that denies what begins at a token, within its clause."""
    seen = 0
    for position in range(index - 1, -1, -1):
        word = tokens[position].word
        before = tokens[position - 1].word if position else ""
        after = tokens[position + 1].word if position + 1 < len(tokens) else ""
        if (before, word) in DENYING_PAIRS:
            return position
        if word == "doubt" or (word in DENYING_THAT and after == "that"):
            return None if _turned(tokens, position) else position
        if is_undeniable(tokens, position):
            return None
        if negates(word):
            return (
                None
                if (word, after) in AFFIRMING_PAIRS or (word == "no" and after == ",")
                else position
            )
        if word in SIGNS and not seen and (aside := _before_aside(tokens, position)) is not None:
            return aside
        if word in CLAUSES or word in SIGNS:
            return None
        if is_markup(word):
            if word in QUOTES and seen:
                return None  # the end of a quotation: its words deny nothing outside of it
            continue
        seen += 1
        if seen > REACH:
            return None
    return None


def question_after(tokens: list[Token], index: int) -> int | None:
    """The place of the question mark that ends the sentence going on at a token."""
    return replies.question_after(tokens, index, SENTENCE)


def _turned(tokens: list[Token], index: int) -> bool:
    """Whether a word is denied itself, just before it: "not unlikely that", "no doubt that", "cannot be denied that"."""
    near = any(
        negates(token.word) or token.word in LITTLE for token in tokens[max(index - 3, 0) : index]
    )
    return near or is_undeniable(tokens, index)


def is_undeniable(tokens: list[Token], index: int) -> bool:
    """Whether a token is a "deny" that is denied itself, so that what hangs on it is asserted: "nobody can deny"."""
    if tokens[index].word not in DENYING:
        return False
    turning = index - 1
    while turning > 0 and tokens[turning].word in BEFORE_DENYING:
        turning -= 1
    return turning >= 0 and (
        negates(tokens[turning].word) or tokens[turning].word in TURNING_DENYING
    )


def _before_aside(tokens: list[Token], end: int) -> int | None:
    """The place of the "not" before the words that a sign closes, as in "does not, however, support"."""
    opening = "(" if tokens[end].word == ")" else tokens[end].word
    for position in range(end - 1, max(end - LONGEST_ASIDE - 2, 0), -1):
        word = tokens[position].word
        if word == opening:
            before = tokens[position - 1].word
            return (
                position - 1
                if before in ("not", "never", "cannot") or before.endswith("n't")
                else None
            )
        if ends_sentence(word) or word == "\n":
            return None
    return None
