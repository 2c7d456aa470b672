"""The forms in which a rating is stated, from the plainest to the weakest."""

from __future__ import annotations

import re
from dataclasses import dataclass

from context_bench_judge.mentions import Mention
from context_bench_judge.scale import Scale

_LABEL = (
    r"(?:rating|score|grade|mark|verdict|judge?ment|evaluation|assessment|bewertung|note|punktzahl|puntuación|calificación|"
    r"valutazione|voto|nota|pontuação|оценка|cijfer|ocena|评分|得分|分数|打分|評分|得点|評価|スコア|点数|평점|점수)"
)
_CRITERION = (
    r"(?:accura\w+|factual\w*|groundedness|faithful\w+|helpful\w*|relevan\w+|coheren\w+|consisten\w+|fluen\w+|style|tone|depth|"
    r"detail\w*|clarity|concise\w*|complete\w*|correctness|creativ\w+|confidence|grammar|format\w*|structure|organi[sz]ation|"
    r"engag\w+|safety|harm\w*|original\w*|readability|reasoning|length|coverage|instruction\w*|baseline|reference|previous|"
    r"initial|first|other|maximum|max|highest|lowest|minimum|average|human|possible)"
)
_SIGN = r"[\"')\]]*(?:\s*(?::|=|->|=>|→|\||>|-)\s*|[ \t]*\n\s*)"
_WORD = (
    r"(?:[\"')\]]*\s+(?:is|was|would be|will be|should be|of|as|at|to|equals|de|ist|est|es)\b:?\s*|\s*(?:为|為|是|は|은|는)\s*"
    r"|[\"')\]]*[ \t]+|(?<=[^\x00-\x7f]))"
)
_OPENING = (
    r"[\[(\"'<{$~≈\s]*(?:(?:an?|about|around|roughly|approximately|exactly|only|just)\s+(?:very\s+)?"
    r"(?:(?:solid|strong|clear|full|perfect|weak|low|high|firm|generous|borderline)\s+)?)?[\[(\"'<{$]*"
)
_JUDGE_GIVES = (
    r"\b(?:I|we)\b(?:'\w+)?(?:[ \t]+\w+){0,3}?[ \t]+"
    r"(?:(?:rat|scor|grad)(?:e|es|ed|ing)|giv(?:e|es|en|ing)|gave|(?:assign|award|mark)(?:s|ed|ing)?|vote|"
    r"(?:go|going|went) (?:with|for)|settl(?:e|ed|ing) (?:on|for)|say)"
)
_GIVING = (
    r"\b(?:giving|rating|assigning|awarding|grading|rated|graded|rate|give|assign|award|vote|"
    r"deserves?|earns?|merits?|warrants?)"
)
_RESPONSE_GETS = (
    r"\b(?:response|answer|it|this|summary|output|text|model|assistant|reply|candidate|submission|which)"
    r"[ \t]+(?:\w+[ \t]+)?(?:gets|receives|scores|rates)"
)
_END = re.compile(
    r"\s*(?:$|[.,:;!?)\]\"'}|]|- |[点分점]|(?:points?|stars?|marks?|punkte?n?|puntos|étoiles|sternen?|"
    r"because|since|as|for|overall|on|due|given|and|but|from|based|"
    r"at|here|though|although|with|in|to|seems?|feels|is|would|rather)\b)|[ \t]*\n",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[.,;:!?]\s|\s-\s|\n|\b(?:so|but|hence|thus|therefore|yet|then|and|why)\b", re.IGNORECASE
)
_REASON = re.compile(
    r"\A\s*(?:because|since|as|given|while|although|though)\b.*?(?=\bI\b)", re.IGNORECASE
)
_HEDGE = re.compile(
    r"\b(?:(?:would|could|might|should|[a-z]{1,9}'d) have|almost|nearly|hardly|barely|cannot|"
    r"[a-z]+n't|not|never|neither|nor|than|"
    r"instead of|short of|far from|opposed to|no longer|originally|initially|at first|tempted|if|unless|"
    r"(?:was|were) (?:going|about|inclined) to|at least|at most|up to|refus(?:e|es|ed|ing)|declin(?:e|es|ed|ing)|unable|"
    r"(?:considered|contemplated) (?:giving|rating|scoring|an?|it|this)|"
    r"(?:others|some(?:one|body)?(?: else)?|people|humans?|graders?|judges|readers?|reviewers?|users?|experts?|evaluators?|"
    r"raters?) (?:might|may|could))\b|"
    r"\b(?:above|below|beyond)(?:\s+an?)?\W*\Z",
    re.IGNORECASE,
)
_MEASURE = r"(?:generous|high|harsh|low|lenient|strict|kind|severe|much|charitable|optimistic|pessimistic|critical)\b"
_RULED_OUT = re.compile(  # "a 5 would be too generous", "a 3 is too low and a 5 too high", "a 5 would need sources"
    rf"""
    (?:[- ]?(?:stars?|points?))?(?:[ \t]+(?:rating|score))?[ \t]+
    (?:too[ \t]+{_MEASURE}
      |would[ \t]+(?:have[ \t]+)?(?:requir|need|demand)(?:ed?)?\b
      |(?:would[ \t]+not[ \t]+be|wouldn't[ \t]+be|is[ \t]+not|isn't)[ \t]+
         (?:justified|warranted|deserved|merited|fair|right|appropriate|reasonable)\b
      |(?:would|might|could|may|is|was|seems?|feels?|sounds?)
         (?:[ \t]+(?:be|have|been|seem|feel|sound|probably|perhaps|clearly|simply|just|still|far|much|way|somewhat|slightly
                    |rather|a[ \t]+(?:bit|little|touch)))*[ \t]+
         (?:(?:too|overly|unduly|excessively)[ \t]+
              {_MEASURE}
           |(?:unfair|unjustified|unwarranted|undeserved|excessive|an?[ \t]+(?:stretch|overstatement))\b
           |out[ \t]+of[ \t]+(?:reach|the[ \t]+question)\b))
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SENTENCE = re.compile(r"[.!?]\s|\n")
_IT = r"(?:it|they|he|she|there|this|the (?:response|answer|model|assistant|summary|output|text|reply|author|writer))"
# "if it had cited sources", "had it been shorter"; not "if I had to choose", "if it were up to me"
_UNREAL = re.compile(
    rf"\b(?:if {_IT}(?: (?!not\b)[a-z]+)?? (?:had|hadn't|were|weren't|did|didn't|could)\b(?! up to)|had {_IT} )",
    re.IGNORECASE,
)
_IMPROVED = re.compile(  # "with more sources, I would give it a 5"; not "with two errors" or "with this in mind"
    r"(?:\A\W*|[,;:] |\b(?:but|and|though|that) )"
    r"with (?:(?:more|better|fewer|additional|proper)(?: [a-z]+){1,2}(?! than)|sources|citations|references|examples)"
    r"(?=,| (?:I|we|it|this|the response|the answer)\b)(?![^.]* than\b)"
    r"|\bwithout (?:the|this|that|these|those|its) (?:[a-z]+ )?(?:error|mistake|slip|typo|omission|flaw|issue|fault|problem)s?"
    r"(?=,| (?:I|we|it|this|that|the|in)\b)",
    re.IGNORECASE,
)
_MENDED = re.compile(
    r"\bif (?:(?:it|they|this|that|these|those|the [a-z]+|all) )?(?:(?:is|are|was|were|gets?) )?"
    r"(?:fixed|corrected|improved|revised|addressed|resolved)\b",
    re.IGNORECASE,
)
_WOULD = re.compile(r"\bwould\b|'d\b", re.IGNORECASE)
_ANOTHER = re.compile(  # "to earn a 5, it must", "the reference answer deserves a 5"
    r"\A\W*to (?:earn|merit|deserve|warrant|get|reach|achieve|receive|score)\b"
    r"|\b(?:reference|gold|ideal|previous|baseline) (?:answer|response|one|solution|summary|output|model)s? (?:would |also )?"
    r"(?:deserve|get|score|earn|receive|merit|rate)s?\b",
    re.IGNORECASE,
)
_ANYTHING = re.compile("")
_ALL_IN_ALL = re.compile(
    r"(?:\s*(?:stars?|points?))?,?\s+overall\s*(?:[.,;!)]|$|\n)", re.IGNORECASE
)


@dataclass(frozen=True)
class Form:
    """A way of stating a rating.

    Attributes:
        lead: What stands before the number, up to it.
        tail: What follows it.
        unless: What may not stand before the lead.
        is_weak: Whether several different numbers in this form leave a reader unsure.
        is_fraction: Whether the number must be given out of the best of the scale.
        may_be_hedged: Whether words such as "would have" before it, or "would be too generous" behind it, take nothing back.
    """

    lead: re.Pattern[str]
    tail: re.Pattern[str] = _ANYTHING
    unless: re.Pattern[str] | None = None
    is_weak: bool = False
    is_fraction: bool = False
    may_be_hedged: bool = False

    def states(self, mention: Mention, scale: Scale) -> bool:
        """Tell whether a number is stated as a rating in this form."""
        if self.is_fraction and mention.highest != scale.high:
            return False
        lead = self.lead.search(mention.lead)
        if lead is None or not self.tail.match(mention.tail):
            return False
        if self.unless is not None and self.unless.search(mention.lead[: lead.start()]):
            return False
        if self.may_be_hedged:
            return True
        clause = _REASON.sub("", _CLAUSE.split(mention.lead)[-1])
        hedged = _HEDGE.search(clause) or _ANOTHER.search(clause)
        return not hedged and not _RULED_OUT.match(mention.tail) and not _is_imagined(mention)


def _is_imagined(mention: Mention) -> bool:
    """Tell whether a rating is one that a better response would get: "if it had cited sources, I would give it a 5"."""
    before, behind = _SENTENCE.split(mention.lead)[-1], _SENTENCE.split(mention.tail)[0]
    if _MENDED.search(before) or _MENDED.search(behind):
        return True
    unreal = _UNREAL.search(before) or _UNREAL.search(behind) or _IMPROVED.search(before)
    return _WOULD.search(before) is not None and unreal is not None


def _before(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{pattern})\Z", re.IGNORECASE)


_RELATIVE = r"(?:\s+(?:I|we|that|which|for|of|to|given|on)\b[^.\n:;=|>\d]{0,60}?)?"
_LABELLED = rf"(?<![A-Za-z]){_LABEL}(?![A-Za-rt-z])s?{_RELATIVE}"
_OVERALL = (
    rf"\b(?:overall|final(?:ly)?|total|gesamt)(?:[\s_-]*{_LABEL}|[\s_-]+[a-z]+){{0,2}}{_RELATIVE}"
)
_ASPECT = _before(rf"\b{_CRITERION}[\s_-]+(?:[a-z]+[\s_-]+)?")

BRACKETED = Form(_before(r"\[\[\s*"), re.compile(r"\s*\]\]"), may_be_hedged=True)

FORMS = (
    BRACKETED,
    # <rating>4</rating>
    Form(_before(rf"<\s*(?:\w+_)?{_LABEL}\s*>\s*"), re.compile(r"\s*<\s*/"), may_be_hedged=True),
    # \boxed{4}
    Form(_before(r"\\boxed\s*\{\s*(?:\\text\s*\{\s*)?"), may_be_hedged=True),
    # [RESULT] 4, the form of Prometheus
    Form(_before(rf"\[\s*result\s*\]\s*:?{_OPENING}"), may_be_hedged=True),
    # Overall: 4, final score = 4
    Form(_before(rf"{_OVERALL}{_SIGN}{_OPENING}")),
    # Rating: 4, "score" = 4, Rating for the response: 4
    Form(_before(rf"{_LABELLED}{_SIGN}{_OPENING}"), unless=_ASPECT),
    # I rate this a 4, it deserves a 4, giving it 4 out of 5
    Form(
        _before(
            rf"(?:{_JUDGE_GIVES}|{_GIVING}|{_RESPONSE_GETS})\b[^.\n\d]{{0,80}}?[\s:=]{_OPENING}"
        ),
        _END,
    ),
    # the final score is 4
    Form(_before(rf"{_OVERALL}{_WORD}{_OPENING}"), _END),
    # a score of 4, the rating I give is 4
    Form(_before(rf"{_LABELLED}{_WORD}{_OPENING}"), unless=_ASPECT),
    # overall it's a solid 4
    Form(
        _before(
            rf"\boverall,?\s+(?:I(?:'d)? (?:think|say) )?(?:it|this|that)(?:'s| is)\s+(?:an?\s+)?{_OPENING}"
        ),
        _END,
    ),
    # 4/5 overall
    Form(_before(""), _ALL_IN_ALL, is_weak=True, is_fraction=True),
    # a 4 overall
    Form(
        _before(r"\ban?\s+(?:solid|strong|clear|weak|low|high|firm)?\s*"), _ALL_IN_ALL, is_weak=True
    ),
    # 4/5
    Form(
        _before(""),
        _END,
        unless=_before(rf"(?<!for )(?<!on )(?<!in )\b{_CRITERION}[\s_-]*(?:[a-z]+[\s_-]*)?\W*"),
        is_weak=True,
        is_fraction=True,
    ),
    # a line with nothing but 4
    Form(
        _before(r"(?:\A|\n)[\s\"'(\[>-]*(?:an?\s+|answer\s*:\s*)?"),
        re.compile(r"[ \t]*(?:points?|stars?|[点分점])?[ \t\"')\].!,:]*(?:\n|\Z)", re.IGNORECASE),
    ),
    # 4 - the answer is right
    Form(
        _before(r"\A[\s\"'(\[>]*"),
        re.compile(
            r"(?![.)]\s(?:.|\n)*\n\s*\d+[.)]\s)\s*(?:points?|stars?)?[\"')\]]*\s*(?:[.:,;)]|-\s|\()\s*(?=[A-Za-z\"'(\[])",
            re.IGNORECASE,
        ),
    ),
    # accuracy score: 4, when it is the only one
    Form(
        _before(
            rf"(?:{_LABELLED}(?:{_SIGN}|{_WORD}){_OPENING}|\b{_CRITERION}[\"']?\s*[:=]\s*{_OPENING})"
        ),
        is_weak=True,
    ),
    # a solid 4, so 4, three stars
    Form(
        _before(
            r"(?:\b(?:an?|so|hence|thus|therefore|is|it's|result|conclusion|answer)\b|:)[,:]?\s+(?:an?\s+)?"
            r"(?:(?:solid|strong|clear|weak|low|high|firm|full|generous)\s+)?[\[(\"']*"
        ),
        _END,
        is_weak=True,
    ),
    Form(_before(""), re.compile(r"\s*stars?\s*(?:[.!,;]|$)", re.IGNORECASE), is_weak=True),
)
