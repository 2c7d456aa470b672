"""The verdict of a comparison, read as a person would read it."""

from __future__ import annotations

import re
from typing import Literal

from context_bench.answers import GAP, nfkc, part_answer, read_reply, without_closing
from context_bench_judge.aspects import is_of_an_aspect, other_aspect
from context_bench_judging.json_reply import json_objects, values_of
from context_bench_judging.unreadable import UnreadableReply, beginning_of

Verdict = Literal["A", "B", "tie"]

_NAMES = (
    "final_verdict",
    "winner",
    "verdict",
    "better",
    "best",
    "preference",
    "preferred",
    "choice",
    "decision",
    "answer",
)
# A side: "Response A", "output (a)", "assistant 2", "(b)", or a capital letter alone. {0} tells its groups from others'.
_SIDE = (
    r"(?:\b(?i:output|response|answer|assistant|model|option|candidate|summary|text|reply|system|version|choice)s?"
    r"[\s_-]{{0,9}}[\[(\"'<]{{0,9}}(?P<{0}>[ABab12])[\])\"'>]*(?![\w'])|[\[(]{{1,9}}(?P<{0}_>[ABab])[\])]+"
    r"|\b(?P<{0}__>[AB])\b(?!'))"
).format("side")
_TIE = (
    r"(?i:\b(?:it(?:'s| is) )?a? ?(?:tie|draw)\b|\bneither\b[^.\n]{0,40}\bbetter\b|"
    r"\bequally (?:good|well|bad|poor|helpful|correct|accurate|valid|right|wrong|strong|weak|useful|effective|acceptable)\b|"
    r"\bno (?:clear|real) (?:winner|difference)\b|\bboth\b[^.\n]{0,40}\b(?:equal|same|identical)(?=\s*(?:[.,;!?\n]|$)))"
)
_TIE_OF_ASPECTS = r"(?i:\bequally\b|\bboth\b[^.\n]{0,40}\b(?:equal|same|identical)\b)"  # "both have the same structure"
_BETTER = (
    r"(?i:better|best|superior|stronger|preferable|preferred|the winner|wins?\b|outperforms|beats|surpasses|edges out|"
    r"more (?:accurate|helpful|correct|complete)|my (?:choice|pick|preference)\b)"
)
_WORSE = r"(?i:worse|worst|inferior|weaker|less (?:accurate|helpful|correct|complete)|loses)"
_IS = (
    r"(?:\s{1,9}(?i:is|was|seems|appears|looks|would be|as))?"
    r"(?:\s{1,9}(?i:to be|(?!hardly|barely|scarcely|rarely)[a-z]{1,20}ly|much|far|overall|the|a|thus|therefore|also),?){0,9}"
    r"\s{1,9}"
)
_OF_SIDE = (
    r"\b(?:(?i:output|response|assistant|model|option|candidate|system|version)\s{1,9})?(?P<side>[AB12])'s\s{1,9}"
    r"(?i:output|response|answer|summary|text|reply|one)"
)
_PREFERRED = (
    r"(?:(?P<head>(?i:verdict|winner|(?:better|preferred)(?: (?:one|output|response|answer|summary|choice|option))?|best"
    r"|preference|choice|pick|decision|answer))"
    r"|(?i:prefer|choose|pick|select|favou?r|go with|lean(?:ing)? (?:to|towards?)|vote for))"
)
_GAP = r"(?:\.{3}|[^\w.,;!?]){0,20}"  # a verdict does not go on in the next clause: "A is better. B has errors."
_SIGN = r"(?P<side>[AB])\s{0,3}(?P<sign>>{1,3}|<{1,3}|={1,2}|[≫≪])\s{0,3}[AB]\b"
_ORDINAL = re.compile(
    r"\b(?:the )?(first|second|1st|2nd|former|latter)"
    r"(?: (?:response|output|answer|assistant|model|one|candidate|summary|text|reply|option|version|system|completion)\b"
    r"|(?=[ ](?:is|was|wins)\b)|(?=[.!]?\s*\Z))",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"\b(response|output|answer|assistant|model|option|candidate|summary) (one|two)\b(?= (?:is|was|wins)\b|[.!]?\s*\Z)",
    re.IGNORECASE,
)
_LONGEST_REPLY = 50_000
_IN_BRACKETS = (
    (re.compile(rf"\[\[\s*{_SIGN}\s*\]\]"), "sign"),
    (re.compile(r"\[\[\s*(?P<side>[AB])\+{1,2}\s*\]\]"), "side"),  # WildBench: A++, A+
    # Prometheus
    (
        re.compile(
            r"\[\s*(?i:result)\s*\]\s*:?[\s\[(\"']{0,9}(?P<side>[AB])(?=[\])\"'.]{0,3}\s*(?:\n|\Z))"
        ),
        "side",
    ),
    (
        re.compile(
            r"\[\[\s*(?:(?i:output|response|answer|assistant)\s*)?\(?(?P<side>[ABab12])\)?\s*\]\]"
        ),
        "side",
    ),
    (re.compile(r"\\boxed\s*\{\s*(?:\\text\s*\{\s*)?(?P<side>[AB])\b"), "side"),
    (re.compile(r"\b(?i:boxed)\s*\[{1,2}\s*(?P<side>[AB])\s*\]"), "side"),
    (re.compile(r"\[\[\s*(?i:c|tie|draw|equal|same|both|neither)\s*\]\]"), "tie"),
)
_IN_WORDS = (
    (re.compile(_SIDE + _IS + _BETTER), "side"),
    (re.compile(_SIDE + _IS + _WORSE), "other side"),
    (re.compile(_OF_SIDE + _IS + _BETTER), "side"),
    # "At first A looked better, but B is."
    (
        re.compile(
            rf"\b(?i:but|however|yet|rather)\W{{1,3}}{_SIDE}\s{{1,9}}(?i:is|was|does)(?=\s*(?:[.!]|\Z))"
        ),
        "side",
    ),
    (re.compile(_OF_SIDE + _IS + _WORSE), "other side"),
    (
        re.compile(
            rf"\b{_PREFERRED}(?P<link>{_GAP}(?:\s{{0,9}}(?i:is|as|the|to be|for|of the two|:|=|->)){{0,9}}{_GAP}){_SIDE}"
            r"(?!\s{0,3}[<>=≫≪]{1,3}\s{0,3}[AB]\b)"
        ),
        "side",
    ),
    (
        re.compile(
            rf"\b{_PREFERRED}(?P<link>{_GAP}(?:\s{{0,9}}(?i:is|as|to be|:|=|->)){{0,3}}{_GAP}){_SIGN}"
        ),
        "sign",
    ),
    (
        re.compile(
            r"(?:\A|\n)\W{0,9}(?i:(?:my |the )?(?:final )?(?:verdict|winner|preferred|preference|choice|decision|more helpful))"
            r"\s{0,9}:\s{0,9}[\[(\"']{0,3}(?P<side>[AB12])(?=[\])\"'.!]{0,4}\s*(?:\n|\Z))"
        ),
        "side",
    ),
    (
        re.compile(
            r"\b(?i:verdict|winner|preference|choice|decision)\W{1,20}(?i:is |a |an ){0,9}"
            r"(?i:tie|draw|equal|neither|both)\b"
        ),
        "tie",
    ),
    (
        re.compile(
            rf"\b(?i:overall|in (?:conclusion|summary|total)|finally)\W{{1,9}}{_SIDE}(?=[\"'\])]{{0,3}}[.!]?\s*(?:\n|\Z))"
        ),
        "side",
    ),
    (re.compile(rf"\n[\s\"']{{0,9}}{_SIDE}[\"'.!]{{0,3}}\s*\Z"), "side"),  # the last line alone
    (re.compile(_TIE), "tie"),
)
_IN_PASSING = ((re.compile(_TIE_OF_ASPECTS), "tie"),)
_WHOLE = re.compile(
    rf"[\s\"']*(?:{_SIDE}|(?P<letter>[ab12])"
    r"|\[?(?P<side_sign>[AB])(?:\s*(?P<sign>>>?|<<?|=|[≫≪])\s*[AB]|\+{1,2})\]?"
    r"|(?P<tie>(?i:tie|draw|equal|both|neither|a tie|c)))[\s\"'.!]*"
)
_BEGINS = re.compile(
    r"[\s\"'\[(]{0,9}(?:(?P<side>[AB])\b(?!')[\])\"']{0,3}\s{0,3}(?:[.,;:\n]|- )|(?P<letter>[12])[\])\"']{0,3}[ \t]{0,9}\n)"
)
_CLAUSE = re.compile(r"\b(?:but|however|yet|so|therefore|thus|hence)\b", re.IGNORECASE)
_NEGATED = re.compile(
    r"(?:\b(?:not|neither|nor|hard to (?:say|tell)|difficult to (?:say|tell))|n't)\b[^.,:;\n]{0,30}$"
    r"|\b(?:wrong|incorrect|false|unfair|misleading|premature) (?:to (?:say|claim|conclude|call|think)|that)\b[^.:;\n]{0,30}$"
    r"|\b(?:some|others|people|users?|readers?|graders?) (?:might|may|could|would)\s{1,9}$"
    r"|\b(?:disagree|doubt) that\b[^.:;\n]{0,30}$"
    r"|\b(?:if|whether|which|why)\b[^.;\n]{0,30}$|\b(?:than|instead of|unlike)\s{1,9}$",
    re.IGNORECASE,
)
_PREDICATE = re.compile(  # "A is the better one: B has errors" names B for no winner
    r"(?:\b(?:is|was|are|be|seems|appears|looks|has|have|gives?|gave|provides?|provided|offers?|makes?)|'s)\s{1,9}"
    r"(?:(?:an?|the|my|our|no|its|much|far|also|still|overall|thus|therefore|clear|right|correct|wrong|incorrect|complete|good"
    r"|only|more|most|[a-z]{1,20}ly)\s{1,9}){0,4}$",
    re.IGNORECASE,
)
_LINKED = re.compile(r"\b(?:is|as|to be)\b", re.IGNORECASE)
_WOULD = re.compile(r"\bwould be\b", re.IGNORECASE)
_CONDITION = re.compile(r"\s{1,9}(?:if|had|were|unless)\b", re.IGNORECASE)


def read_verdict(reply: str) -> Verdict:
    """Return which of two responses, A or B, a reply prefers, or that it is a tie.

    >>> read_verdict("Output (a) ignores the question. Therefore, Output (b) is better.")
    'B'
    >>> read_verdict("Both are right. [[tie]]")
    'tie'

    Raises:
        UnreadableReply: The reply prefers none in so many words.
    """
    read = read_reply(part_answer(reply).answer[-_LONGEST_REPLY:])
    verdict = read.first(
        lambda text: _read(without_closing(_plain(text)).strip(f"{GAP}\n ")),
        lambda found: found is not None,
    )
    return verdict or _refuse(reply)


def _read(text: str) -> Verdict | None:
    for fields in json_objects(text):
        values = values_of(fields, _NAMES)
        if values:
            return _whole(str(values[0])) or _stated(str(values[0]))
    return _whole(text) or _stated(text) or _begun(text)


def _whole(text: str) -> Verdict | None:
    match = _WHOLE.fullmatch(text)
    if match is None:
        return None
    if match["sign"]:
        return _verdict(match, "sign")
    return "tie" if match["tie"] else _side(match)


def _begun(text: str) -> Verdict | None:
    """Return the letter with which a reply begins, as in "B. It is more accurate", unless the other begins a part of it, too."""
    match = _BEGINS.match(text)
    if match is None:
        return None
    other = {"A": "B", "B": "A", "1": "2", "2": "1"}[match["side"] or match["letter"]]
    is_list = re.search(rf"(?:\n|[.;,]\s)\W{{0,9}}{other}\W{{0,3}}(?:[.,;:\n]|- |\Z)", text)
    return None if is_list else _side(match)


def _stated(text: str) -> Verdict | None:
    """Return the last verdict of the plainest kind: in double brackets, else in words, else that they are alike in something."""
    for forms in (_IN_BRACKETS, _IN_WORDS, _IN_PASSING):
        found = [
            (match.end(), match, meaning)
            for form, meaning in forms
            for match in form.finditer(text)
            if not _is_taken_back(match)
        ]
        if found:
            _, match, meaning = max(found, key=lambda one: one[0])
            told = {_verdict(other, its_meaning) for _, other, its_meaning in found}
            return (
                None
                if forms is _IN_WORDS and _is_divided(match, meaning, told)
                else _verdict(match, meaning)
            )
    return None


def _is_divided(match: re.Match[str], meaning: str, told: set[Verdict]) -> bool:
    """Whether the last verdict in words is on one aspect only, while another one prefers the other side."""
    if meaning == "tie" or not is_of_an_aspect(match):
        return False
    other = other_aspect(match)
    behind = (
        {_verdict(other, "other side" if meaning == "other side" else "side")} if other else set()
    )
    return {"A", "B"} <= told | behind


def _is_taken_back(match: re.Match[str]) -> bool:
    """Whether what stands before a verdict denies or asks it, or gives it to another; or what follows makes it a condition."""
    before = match.string[max(0, match.start() - 40) : match.start()]
    if _NEGATED.search(_CLAUSE.split(before)[-1]):
        return True
    if (
        match.groupdict().get("head")
        and not _LINKED.search(match["link"])
        and _PREDICATE.search(before)
    ):
        return True
    return (
        _WOULD.search(match[0]) is not None
        and _CONDITION.match(match.string, match.end()) is not None
    )


def _verdict(match: re.Match[str], meaning: str) -> Verdict:
    sign: str = match["sign"] if meaning == "sign" else ""
    if meaning == "tie" or sign[:1] == "=":
        return "tie"
    side = _side(match)
    if meaning == "other side" or sign[:1] in ("<", "≪"):
        return "B" if side == "A" else "A"
    return side


def _side(match: re.Match[str]) -> Verdict:
    named = match.groupdict()
    letter = next(
        named[name]
        for name in ("side", "side_", "side__", "letter", "side_sign")
        if named.get(name)
    )
    return "A" if letter in "Aa1" else "B"


def _refuse(reply: str) -> Verdict:
    raise UnreadableReply(
        f"the judge preferred neither: {beginning_of(part_answer(reply).answer or reply)}"
    )


def _plain(text: str) -> str:
    """A text with plain quotes and dashes, the first and the second response by their letters."""
    text = re.sub(r"[‘’ʼ]", "'", re.sub(r"[“”„«»]", '"', nfkc(text)))
    text = _COUNTED.sub(lambda name: f"{name[1]} {'A' if name[2].lower() == 'one' else 'B'}", text)
    return _ORDINAL.sub(lambda ordinal: f"Response {_letter(ordinal)}", text)


def _letter(ordinal: re.Match[str]) -> str:
    return "A" if ordinal[1].lower() in ("first", "1st", "former") else "B"
