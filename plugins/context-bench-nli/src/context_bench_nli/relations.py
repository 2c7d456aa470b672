"""What words say about a claim: that it follows, that it is contradicted, or that the text leaves it open."""

from __future__ import annotations

from enum import Flag
from functools import cache

from context_bench_nli.grammar import word_set
from context_bench_nli.tokens import words


class Relation(Flag):
    """The three ways in which a text can stand to a claim. Several together: one of them, and not said which."""

    ENTAILED = 1
    CONTRADICTED = 2
    OPEN = 4


ANY = Relation.ENTAILED | Relation.CONTRADICTED | Relation.OPEN

# Words that say of the claim itself that it is so. They count where they are predicates ("this is true", "True."), not before
# a noun ("a true copy"); denied they mean the opposite: what is not true is false.
TRUTH = {
    "true": Relation.ENTAILED,
    "correct": Relation.ENTAILED,
    "accurate": Relation.ENTAILED,
    "right": Relation.ENTAILED,
    "false": Relation.CONTRADICTED,
    "incorrect": Relation.CONTRADICTED,
    "untrue": Relation.CONTRADICTED,
    "inaccurate": Relation.CONTRADICTED,
    "wrong": Relation.CONTRADICTED,
}

# Words that count as an answer of their own, at the beginning of a sentence.
OPENERS = {"yes": Relation.ENTAILED, "no": Relation.CONTRADICTED}

# Verbs that say something of a claim and of much else: "rejects the null hypothesis" is no verdict, "rejects the claim" is.
_OF_CLAIMS = {
    Relation.ENTAILED: "validates validated affirms affirmed backs upholds endorses",
    Relation.CONTRADICTED: "rejects rejected negates negated denies denied opposes invalidates invalidated disputes",
}
_CLAIMED = (
    "the claim",
    "this claim",
    "the hypothesis",
    "this hypothesis",
    "the statement",
    "this statement",
)
_HOLDS = "claim holds, claim is valid, hypothesis holds, statement holds, hypothesis is valid, statement is valid"
_FAILS = (
    "claim is invalid, hypothesis is invalid, statement is invalid, false claim, false statement, false hypothesis, "
    "claim does not hold, hypothesis does not hold, statement does not hold, claim is not valid, claim doesn't hold"
)

_PHRASES = {
    ANY: "no evidence against, no evidence to the contrary, no contrary evidence, nothing to the contrary",  # no open label
    Relation.ENTAILED: (
        "entail, entails, entailed, entailing, entailment, entailments, support, supports, supported, supporting, verify, "
        "verifies, verified, confirm, confirms, confirmed, confirming, corroborate, corroborates, corroborated, prove, "
        "proves, proved, proven, imply, implies, implied, substantiate, substantiates, substantiated, agree, agrees, "
        "follows from, logically follows, can be inferred, could be inferred, may be inferred, is inferred, can be deduced, "
        "can be concluded, can be derived, can infer, can deduce, we infer, backs up, bears out, borne out by"
    ),
    Relation.CONTRADICTED: (
        "contradict, contradicts, contradicted, contradicting, contradiction, contradictions, contradictory, refute, "
        "refutes, refuted, refuting, refutation, disprove, disproves, disproved, disproven, debunk, debunks, debunked, "
        "disagree, disagrees, goes against, go against, at odds with, rules out, ruled out by, incompatible with, "
        "conflicts with, conflict with, in conflict with, inconsistent with, falsified, falsifies, "
        "proven false, proved false, proves false, shown false, proven wrong, proved wrong, proven incorrect, confirmed false, "
        "the opposite, the opposite is true, the contrary is true, the reverse is true, contrary to the claim, contrary to this "
        "claim, contrary to the statement, contrary to the hypothesis, contrary to what"
    ),
    Relation.OPEN: (
        "neutral, neutrality, nei, noinfo, no info, no information, no evidence, no mention, no data, no basis, "
        "not enough info, not enough information, not enough evidence, not enough data, not enough, not sufficient, "
        "not mentioned, not mention, unmentioned, insufficient, insufficient info, insufficient information, "
        "insufficient evidence, insufficient data, lack of evidence, lack of information, lacks evidence, lacks "
        "information, unknown, undetermined, undecided, indeterminate, cannot be determined, can't be determined, "
        "cannot be inferred, can't be inferred, cannot be verified, can't be verified, cannot be concluded, "
        "cannot determine, can't determine, cannot tell, can't tell, cannot say, can't say, cannot conclude, "
        "impossible to say, impossible to tell, impossible to determine, unable to determine, unable to say, "
        "unable to verify, not possible to determine, not possible to say, not clear, inconclusive, uncertain, unclear, "
        "maybe, neither, unrelated, irrelevant, unverifiable, unverified, unproven, "
        "can not be inferred, cannot infer, can't infer, nothing can be inferred, cannot be deduced, can't be deduced, "
        "cannot know, can't know, can not know, cannot be known, can't be known, not known, we do not know, we don't know, "
        "no way to know, no way to tell, no way of knowing, no way of telling, no indication, says nothing, say nothing, "
        "tells us nothing, tells nothing, states nothing, nothing is said, left open, leaves open,"
        "is silent, remains silent, silent on, "
        "may or may not, might or might not, may be true or false, might be true or false, could be true or false, "
        "can be true or false, silent about, not necessarily, not applicable, undefined, unspecified, unaddressed"
    ),
    Relation.CONTRADICTED | Relation.OPEN: "unsupported, unconfirmed, unsubstantiated",
    Relation.ENTAILED | Relation.OPEN: "unrefuted, uncontradicted",
}

# Words of which the denial leaves the claim open: "the contract does not address this", "there is no direct evidence".
SAYING = word_set(
    "mention mentions mentioned address addresses addressed discuss discusses discussed state states stated specify specifies "
    "specified say says cover covers covered comment speak touch refer clarify clarifies enough sufficient adequate information "
    "info evidence data details detail reference"
)


@cache
def phrases() -> dict[tuple[str, ...], Relation]:
    """Every phrase that stands for a relation, as words."""
    plain = {
        words(phrase): relation
        for relation, listed in _PHRASES.items()
        for phrase in listed.split(",")
    }
    of_claims = {
        words(f"{verb} {claim}"): relation
        for relation, verbs in _OF_CLAIMS.items()
        for verb in verbs.split()
        for claim in _CLAIMED
    }
    holding = {words(phrase): Relation.ENTAILED for phrase in _HOLDS.split(",")}
    failing = {words(phrase): Relation.CONTRADICTED for phrase in _FAILS.split(",")}
    return plain | of_claims | holding | failing
