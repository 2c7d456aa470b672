"""A response as tokens, and the words that the rules know; cue words of other languages are read as English ones."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from context_bench.answers import plain_signs
from context_bench_multiple_choice.replies import (
    DENIALS,
    ENDS,
    RETRACTIONS,
    SUPPOSING,
    Token,
    negates,
    words,
)
from context_bench_multiple_choice.replies import MARKUP as _MARKUP

__all__ = ["DENIALS", "ENDS", "RETRACTIONS", "SUPPOSING", "Token", "negates", "words"]


def _table(lines: str) -> dict[str, str]:
    pairs = (line.strip().partition(":") for line in lines.strip().splitlines())
    return {other: english for english, _, others in pairs for other in others.split()}


# Words that mean something else in English (German "also", Portuguese "logo") are left out.
_ENGLISH = _table(
    """
    answer: antwort lösung réponse reponse respuesta risposta resposta antwoord cevap cevabı yanıt odpowiedź odpowiedzią svar
    answer: svaret odpověď odpoveď vastaus válasz răspuns răspunsul odgovor jawaban jawabannya jibu đáp ответ відповідь отговор
    answer: απάντηση תשובה התשובה الإجابة الاجابة إجابة الجواب جواب پاسخ 答案 答え 答 正解 正答 解答 回答 选择 選擇 选 選
    answer: 정답 답변 답 उत्तर जवाब উত্তর సమాధానం விடை คำตอบ
    option: opción opcion opção opcao opzione optie opsi opcja alternativa alternativ вариант варіант الخيار گزینه seçenek şık
    option: 选项 選項 选择题 選択肢 선택지 보기 विकल्प বিকল্প ข้อ
    letter: letra lettre lettera buchstabe buchstaben litera буква букву
    is: ist lautet est es é è jest je este adalah ialah là är era sería wäre serait sarebbe это є هي هو הוא היא είναι 是 为 為
    is: は が 은 는 이 가 है হল হলো คือ 应该 應該 应为
    correct: richtig richtige korrekt korrekte correcta correcto correcte correto corretta corretto juiste doğru bonne oikea
    correct: helyes poprawna poprawną správná rätt rätta riktige riktiga corectă benar đúng правильный правильная правильно верный
    correct: верно правильна الصحيحة الصحيح صحيحة הנכונה σωστή 正确 正確 正しい 올바른 맞는 सही সঠিক సరైన ที่ถูกต้อง ถูกต้อง ถูก 最佳
    wrong: falsch incorrecta incorrecto incorreta incorreto errada errado sbagliata sbagliato fausse onjuist yanlış błędna salah
    wrong: неверный неверно неправильный неправильно خاطئة 错误 錯誤 不正确 不正確 不对 不對 誤り 間違い 틀린 틀렸 गलत ভুল ผิด
    not: n'est nicht pas não niet değil nie inte ikke bukan không не ليست ليس 不是 不选 不選 并非 不能 ではない ではありません
    not: じゃない 아닙니다 아니다 नहीं ไม่ใช่
    out: ではなく じゃなく 아니라
    but: sondern sino mais mas bensì но maar 而是 但
    so: donc portanto quindi dunque daher deshalb folglich somit entonces więc dlatego alltså jadi поэтому следовательно значит
    so: итак לכן إذن 所以 因此 故 综上 綜上 したがって よって だから 따라서 그러므로 इसलिए ดังนั้น
    and: und och og и та و 和 与 與 及 と 와 과 และ और
    or: oder oppure veya lub или або أو 或者 或 または 또는 หรือ या
    because: weil denn porque parce perché omdat karena çünkü ponieważ потому eftersom لأن 因为 因為 なぜなら 왜냐하면 क्योंकि เพราะ
    the: án der das el il la le les los las una uno eine einen une 我 的 最终 最終 최종 अंतिम
    """
)
# These stand in running text without spaces, or hold marks that do not count as letters: they are looked for sign by sign.
_RUNNING = [word for word in _ENGLISH if word[0] >= "\u0900"]
_LATIN = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff"
_TOKEN = re.compile(
    "|".join(
        (
            r"</?(?:b|i|u|p|br|strong|em|span|div|code|li|ul|ol|mark|h[1-6])(?: [^<>\n]{0,80})?/?>",
            rf"[{_LATIN}]+(?:['’][A-Za-z]+)*",
            r"\d+(?:[.,]\d+)*",
            r"\n",
            r"(?<!-)-+>|(?<!=)=+>|[→⇒➜⟶⟹∴]",
            r"\\[A-Za-z]+|\\\S",  # a LaTeX command or an escaped sign
            r"\*+|#+|`+|_",
            r"[^\w\s]",
            *(re.escape(phrase) for phrase in sorted(_RUNNING, key=len, reverse=True)),
            r"[\u0370-\u06ff]+",  # words of Greek, Cyrillic, Hebrew and Arabic letters
            r"\w",  # scripts without spaces, letter by letter
        )
    )
)
_STYLED = re.compile(
    r"(?:.*LATIN (?:CAPITAL|SMALL) LETTER|MATHEMATICAL.* (?:CAPITAL|SMALL)) ([A-Z])"
)


def tokenize(text: str) -> list[Token]:
    """The tokens of a text in order; white space other than line ends is dropped.

    >>> [token.word for token in tokenize("Die Antwort ist **C**.")]
    ['die', 'answer', 'is', '**', 'c', '**', '.']
    >>> [token.word for token in tokenize("答案是C")]
    ['answer', 'is', 'c']
    """
    found = []
    for match in _TOKEN.finditer(text):
        lower = match[0].lower().replace("’", "'")
        found.append(Token(match[0], _ENGLISH.get(lower, lower), match.start(), match.end()))
    return found


def plain(text: str) -> str:
    """The text with full-width, circled, squared and mathematical letters and digits as ASCII ones, without what is invisible.

    >>> plain("Ａ Ⓑ 🅲 𝐃 ４")
    'A B C D 4'
    """
    text = plain_signs(text)
    if text.isascii():
        return text
    return text.translate({ord(sign): _plain(sign) for sign in set(text) if sign > "\x7f"})


def _plain(sign: str) -> str | None:
    category = unicodedata.category(sign)
    if category == "Cf" or sign == "\ufe0f":
        return None
    if category == "Nd":
        return str(unicodedata.digit(sign))
    named = (
        _STYLED.fullmatch(unicodedata.name(sign, "")) if category in ("So", "Lu", "Ll") else None
    )
    return (named[1].lower() if "SMALL" in named[0] else named[1]) if named else sign


def is_markup(token: Token) -> bool:
    """Whether a token is emphasis, a bracket, a quote, a tag or a LaTeX command around the text itself."""
    return token.word not in ANSWER and token.text[0] in MARKUP


def after_markup(tokens: Sequence[Token], index: int) -> int:
    """The first token from a place on that is no markup; a bracket that opens is none."""
    while index < len(tokens) and is_markup(tokens[index]) and tokens[index].text not in ("(", "["):
        index += 1
    return index


MARKUP = _MARKUP | frozenset("【】「」『』《》^")
BREAKS = frozenset(",:–—-…|/)]}<>，、：）】」』》") | ENDS  # after a letter: its clause ends
SEPARATORS = frozenset(
    ".:．：-–—、,|•·✅✓✔☑"
)  # between the letter of a line and its text, or before it
# Nouns and marks that announce the answer.
ANSWER = words(r"answer answer's answers ans \boxed \fbox \framebox")
# Nouns that announce it when a link follows: "my choice:"; and words that do so less strongly: "the most likely diagnosis is".
OPTION = words("option choice alternative selection pick guess")
BEST = OPTION | words(
    "response solution result prediction decision correct right best closest likeliest likely appropriate accurate suitable"
)
# With a first person before them, these announce the answer.
CHOOSE = words(
    "choose choosing chose pick picking select selecting selected go going opt opting vote settle lean leaning mark"
)
OPINION = words("think believe say guess conclude answer reckon suspect suppose")
FIRST_PERSON = words("i we i'd i'll i'm i've we'd we'll we're let's me my")
# Before a conclusion without any noun: "so D", "definitely C", "it must be B", "-> C".
SURE = words(
    "definitely certainly surely clearly obviously undoubtedly probably likely maybe perhaps possibly presumably"
)
SO = SURE | words(
    "so therefore thus hence consequently accordingly ergo but ∴ -> --> => ==> → ⇒ ➜ ⟶ ⟹ conclusion overall finally "
    "ultimately end leaves leaving yes only matches corresponds it's that's it this that which"
)
# What takes back what was said before, and pairs of words that do.
CORRECTION = words(
    "wait actually correction sorry oops scratch mean meant hmm instead rather revised reconsidering reflection no nope"
)
RETRACTION_PAIRS = frozenset(
    {("second", "thought"), ("hold", "on"), ("my", "mistake"), ("made", "a"), ("made", "an")}
)
# What may stand between an announcement and the letter: links, and words that change nothing.
COPULAS = words(
    "is are was were be been being becomes remains should must would will has seems seem appears looks isn't 's might may could"
)
LINKS = COPULAS | words(": ： = - – — -> --> => ==> → ⇒ ➜ ⟶ ⟹ ﹕ ﹘")
FILLERS = SURE | words(
    "the a an to this that it it's that's of course with for on option choice alternative answer letter number statement one "
    "question problem my our your in fact i i'd i'll i'm we say think believe go going final given above below following most "
    "very then thus therefore so hence simply just indeed actually really truly without doubt also still now both either "
    "closest best correct right only about here as follows out choose pick select rather instead provided listed , …"
)
# Words that end a stretch of unknown words between an announcement and its link.
CLAUSES = words(
    "because since as if when where while and but or so what why how another therefore whether unless though than similar"
)
NONE = words("none neither nothing unknown unable")
# What is said of a letter after it, and the words in between.
RIGHT = words(
    "correct right best answer remains left remaining fits works matches wins better makes yes choice pick ✓ ✔ ✅ ☑"
)
# What follows the letters A and I where they are no article and no pronoun.
VERBS = words("is isn't are has seems looks appears remains fits works matches it")
WRONG = words(
    "wrong incorrect impossible eliminated excluded out fails fail rejected invalid irrelevant unlikely ✗ ✘ ❌ ✖ ×"
)
PREDICATES = SURE | words(
    "does do did can could has have had also simply therefore thus all both the a an my our only most one option that be been "
    "indeed final to it more just still then so really absolutely completely → -> and & + / , 、 ， or"
)
AND = words("and & + / , 、 ， or")
# What makes a statement one that is not made.
ATTITUDES = words(
    "think believe mean means say imply suggest conclude agree prove show convinced sure clear certain"
)
OTHERS = words(
    "might tempting mistake mistakenly mistaken students student someone initially originally thought trap people believed"
)
DISCARDS = words(
    "eliminate eliminated eliminating exclude excluded excluding discard reject rejected unlike rule ruled ruling than"
)
# Words that may follow a letter at the end of its clause, and words at the end of a reply that was cut off.
CONTINUES = words(
    "because since as due given based although though however while whereas and or but rather instead not which where so "
    "therefore thus for i if here then too from by please with over again there now hence per"
)
NOT_YET = words(
    "the a an and or of is are to with that for in by from because if we , ( = + - : \\"
)
# After any other word a letter is a part of a name: "vitamin C", "Fund A", "World War I".
BEFORE_LETTERS = (
    ANSWER | BEST | CHOOSE | OPINION | FIRST_PERSON | SO | CORRECTION | COPULAS | FILLERS | NONE | CLAUSES | RIGHT | WRONG
    | PREDICATES | DENIALS | SUPPOSING | ATTITUDES | OTHERS | DISCARDS | AND | CONTINUES
    | words("at like between among toward towards after before until even gives give yields yield indicates indicate supports "
            "support favors favours prefer recommend consider considered considering gets get")
)  # fmt: skip
# What shows that a response doubts its first answer, and what leads to another.
DOUBTS = words(
    "sorry mistaken apologize nope again check checking verify reevaluate reexamine recheck re recalculate rethink realize"
)
LEADS = CORRECTION | words(
    "so therefore thus hence consequently accordingly ergo conclusion concluding conclude final finally ultimately overall but "
    "however although though better best now after changed change updated corrected summary"
)
ANNOUNCING = LINKS | ANSWER  # what may stand in the line above the answer
REPORTED = ANSWER | BEST | OPINION
CHOOSING = CHOOSE | OPINION
