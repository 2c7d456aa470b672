"""The words that the rules know, by the part that they play in a sentence."""

from __future__ import annotations

from context_bench_multiple_choice.replies import DENIALS as NEGATIONS
from context_bench_multiple_choice.replies import ENDS, RETRACTIONS, SUPPOSING, negates, words
from context_bench_multiple_choice.replies import MARKUP as _MARKUP

__all__ = ["ENDS", "NEGATIONS", "RETRACTIONS", "SUPPOSING", "negates", "words"]


# Nouns and marks that announce the answer. `\boxed` stands for "the answer is" in mathematical style.
ANSWER = words("answer answer's answers ans \\boxed \\fbox \\framebox")
# Nouns that announce it when a link follows: "the best option is", "my choice:".
OPTION = words("option choice alternative selection pick guess")
# Adjectives of noun phrases that announce it when a link follows: "the most likely diagnosis is".
BEST = words(
    "response solution result prediction decision correct right best closest likeliest likely appropriate accurate "
    "suitable"
)
# Plural nouns after ANSWER that make it the name of a list: "answer choices: A) ... B) ...".
LISTS = words("choices options alternatives candidates")

# Verbs of choosing; with a first person before them, or first in their sentence, they announce the answer.
CHOOSE = words(
    "choose choosing chose pick picking select selecting selected go going opt opting vote settle settling bet "
    "betting lean leaning mark submit"
)
OPINION = words("think believe say guess conclude answer reckon suspect suppose")
FIRST_PERSON = words("i we i'd i'll i'm i've we'd we'll we're let's me my")

# Words before a conclusion without any noun: "so D", "definitely C", "it must be B", "-> C".
SO = words(
    "so therefore thus hence consequently accordingly ergo but ∴ -> --> => ==> → ⇒ ➜ ⟶ ⟹ conclusion overall finally "
    "ultimately leaves leaving yes only matches matching corresponds corresponding it's that's"
)
SURE = words(
    "definitely certainly surely clearly obviously undoubtedly probably likely maybe perhaps possibly presumably"
)
PRONOUN = words("it this that which it'd it'll")
# Words that take back what was said before.
CORRECTION = words(
    "wait actually correction sorry oops scratch mean meant hmm instead rather correcting revised revising "
    "reconsidering reflection no nope"
)

# Pairs of words with which a response begins to doubt what it said.
RETRACTION_PAIRS = frozenset({("second", "thought"), ("hold", "on"), ("my", "mistake"), ("made", "a"), ("made", "an")})

# What may stand between an announcement and the letter.
COPULAS = words(
    "is are was were be being been becomes remains should must would will has seems seem appears looks isn't 's"
)
COLONS = words(": ： = - – — -> --> => ==> → ⇒ ➜ ⟶ ⟹ ﹕ ﹘")
FILLERS = words(
    "the a an to this that it it's that's of course with for on option choice alternative answer letter number "
    "statement one question problem my our your in fact i i'd i'll i'm we say think believe go going final given "
    "above below following most very then thus therefore so hence simply just indeed actually really truly without "
    "doubt also still now both either closest best correct right only likely approximately about here being "
    "as follows out choose pick select rather instead provided listed"
)
FILLERS |= SURE - {"yes"}
HEDGES = words("might may could")
NONE = words("none neither nothing unknown undetermined unable impossible indeterminate")
UNDECIDED = words("determined answered known calculated given found decided determine identified")
# Words that end a stretch of unknown words between an announcement and its link.
CLAUSES = words(
    "because since as if when where while whereas but and or so what why how similar different another therefore "
    "whether unless although though than however"
)

# What is said of a letter after it.
RIGHT = words(
    "correct right best answer remains left remaining fits works matches wins winner closest ✓ ✔ ✅ ☑ satisfies "
    "better makes"
)
# Pairs of words that say the same.
RIGHT_PAIRS = frozenset({("the", "only"), ("more", "likely"), ("most", "likely"), ("my", "choice"), ("my", "pick")})
# Verbs of one subject: "B, A is wrong" says nothing of B.
SINGULAR = words("is isn't was wasn't does doesn't has seems looks fails would")
# Nouns that make "is right" a statement of the answer.
DEFINITE = words("answer choice pick")
WRONG = words(
    "wrong incorrect impossible eliminated excluded out fails fail rejected inaccurate invalid irrelevant unlikely "
    "implausible ✗ ✘ ❌ ✖ ×"
)
# Words between a letter and what is said of it.
PREDICATES = words(
    "does do did can could has have had clearly also definitely obviously certainly simply therefore thus all both "
    "the a an my our only most probably likely one option that be been single indeed final to it more just still "
    "then so really ruled likewise almost absolutely completely"
)

# What makes a statement one that is not made.
ATTITUDES = words(
    "think believe mean means say imply suggest conclude follow agree guarantee prove show convinced sure clear certain"
)
OTHERS = words(
    "might tempting tempted mistake mistakenly mistaken wrongly incorrectly erroneously students student someone "
    "initially originally thought trap misconception people commonly believed"
)
DISCARDS = words(
    "not neither nor eliminate eliminates eliminated eliminating exclude excludes excluded excluding discard "
    "discarded discarding reject rejected rejecting dismiss dismissed unlike cannot isn't wasn't"
)
DISCARD_PAIRS = frozenset({("rule", "out"), ("ruled", "out"), ("ruling", "out"), ("instead", "of"), ("rather", "than")})
DISCARD_PAIRS |= {("other", "than")}

AND = words("and & + / , 、 ， or")
# Words that may follow a letter at the end of its clause.
CONTINUES = words(
    "because since as due given based although though however while whereas and or but rather instead not which "
    "where so therefore thus for i if here then too from by please with over again there now hence per"
)
BREAKS = frozenset(",:–—-…|/)]}<，、：）】」』》") | ENDS  # after a letter: its clause ends, too
MARKUP = _MARKUP | frozenset("【】「」『』《》^")
MATHS = frozenset("=+<≈≤≥×·^±∝∈÷√∞")
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
# Nouns whose letter is a name and not an option: "vitamin C", "hepatitis B".
NAMED = words(
    "vitamin hepatitis type class group phase point figure table part section appendix grade plan model case step "
    "series factor protein layer node vertex angle equation variable area influenza line side set event town fund company "
    "firm bond stock team car train war machine sample substance compound gas block ball planet star person player box "
    "bag city country store product patient population protocol mr mrs dr"
)
