"""How SQuAD makes two spellings of an answer comparable."""

from __future__ import annotations

import re
import string
import unicodedata

_ARTICLES = frozenset({"a", "an", "the"})
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = string.punctuation.encode()
# single curly quotes and the acute beside the marks of ASCII
_SPACED = str.maketrans(dict.fromkeys(string.punctuation + "\u2018\u2019\u00b4", " "))

# Scripts that are written without spaces between words, as the inside of a regular expression's character class.
UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"  # Thai and Lao, Tibetan, Burmese, Khmer
    "\u3005-\u3007\u3040-\u312f\u31a0-\u31bf\u31f0-\u31ff\uff66-\uff9d\U0001b000-\U0001b16f"  # kana, bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
)
_PIECE = re.compile(f"[{UNSPACED}]|[^{UNSPACED}]+")


def normalize_answer(text: str) -> str:
    """The text as SQuAD v1.1 compares it: lower case, no ASCII punctuation, no articles, single spaces.

    Punctuation is deleted before the articles are, so that "U.S.A." is "usa" and not "us". Curly quotes, dashes and
    full-width signs stay, as in the official evaluation script of Rajpurkar et al. 2016.

    >>> normalize_answer("The  U.S.A., 1,000 times!")
    'usa 1000 times'
    """
    return " ".join(word_tokens(text.lower()))


def word_tokens(lowered: str) -> list[str]:
    """The words that SQuAD compares, of a text in lower case."""
    if lowered.isalnum():  # one word and nothing else, as many a gold answer is
        return [] if lowered in _ARTICLES else [lowered]
    # In UTF-8 an ASCII byte is an ASCII character, and deleting bytes is several times faster than deleting characters.
    # Naming an error handler costs as much as all the rest of a short text, so it is for texts that need one.
    try:
        bare = lowered.encode().translate(None, _PUNCTUATION).decode()
    except UnicodeEncodeError:
        bare = (
            lowered.encode("utf-8", "surrogatepass")
            .translate(None, _PUNCTUATION)
            .decode("utf-8", "surrogatepass")
        )
    words = bare.split()
    # Where each word consists of \w alone, `\b` falls on its two ends only, and no regex is needed to find articles.
    if "".join(words).isalnum():
        return (
            words
            if _ARTICLES.isdisjoint(words)
            else [word for word in words if word not in _ARTICLES]
        )
    return _ARTICLE.sub(" ", bare).split()


def spaced_marks(text: str) -> str:
    """A text with a space in the place of each mark of ASCII punctuation and each single quote, as TriviaQA's script has it.

    >>> normalize_answer(spaced_marks("U.S.A., Rock’n’Roll"))
    'u s rock n roll'
    """
    return text.translate(_SPACED)


def character_tokens(lowered: str) -> list[str]:
    """As `word_tokens`, but a character of a script without spaces is a token, and all Unicode punctuation goes.

    This is the mixed segmentation that the Chinese reading benchmarks (CMRC 2018, MLQA) are scored with.

    >>> character_tokens("北京的 gpt-4。")
    ['北', '京', '的', 'gpt4']
    """
    kept = "".join(
        c
        for c in lowered
        if c.isalnum() or c.isspace() or not unicodedata.category(c).startswith("P")
    )
    return [piece for word in word_tokens(kept) for piece in _PIECE.findall(word)]
