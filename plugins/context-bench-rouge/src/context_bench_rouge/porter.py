"""The Porter stemmer in the variant that rouge-score uses: Porter 1980 with Porter's later changes and NLTK's own."""

from __future__ import annotations

from functools import lru_cache

# Words that the rules would get wrong, after the list in NLTK's variant.
_IRREGULAR = {
    **dict.fromkeys(("sky", "skies"), "sky"),
    **dict.fromkeys(("inning", "innings"), "inning"),
    **dict.fromkeys(("outing", "outings"), "outing"),
    **dict.fromkeys(("canning", "cannings"), "canning"),
    **{word: word for word in ("news", "howe", "proceed", "exceed", "succeed")},
    **{word: word[0] + "ie" for word in ("dying", "lying", "tying")},
}

# Suffixes and what replaces them, longer before shorter where one ends in the other.
_STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "fulli": "ful",
}
_STEP_3 = {
    "icate": "ic",
    "ative": "",
    "alize": "al",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
}
_STEP_4 = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion"),
    *("ou", "ism", "ate", "iti", "ous", "ive", "ize"),
)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a lower-case English word.

    Equal to NLTK's `PorterStemmer` in its default mode, which the rouge-score package applies to words of more than
    three letters.

    >>> [stem(word) for word in ("running", "relational", "happily", "flies", "skies", "generously")]
    ['run', 'relat', 'happili', 'fli', 'sky', 'gener']
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    for step in (
        _plurals,
        _participles,
        _final_y,
        _double_suffixes,
        _suffixes,
        _long_suffixes,
        _final_e,
        _final_l,
    ):
        word = step(word)
    return word


def _plurals(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _participles(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            rest = word.removesuffix(suffix)
            return _mended(rest) if "v" in _form(rest) else word
    return word


def _mended(stem: str) -> str:
    """A stem that has lost -ed or -ing, spelt as a word again: conflat(ed) -> conflate, hopp(ing) -> hop."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if len(stem) > 1 and stem[-1] == stem[-2] and _form(stem)[-1] == "c":
        return stem if stem[-1] in "lsz" else stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _ends_in_short_syllable(stem) else stem


def _final_y(word: str) -> str:
    return (
        word[:-1] + "i" if word.endswith("y") and len(word) > 2 and _form(word)[-2] == "c" else word
    )


def _double_suffixes(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _double_suffixes(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replace_first(word, _STEP_2)


def _suffixes(word: str) -> str:
    return _replace_first(word, _STEP_3)


def _replace_first(word: str, rules: dict[str, str]) -> str:
    """The word by the first rule whose suffix it has; unchanged if the stem before that suffix has no measure."""
    for suffix, replacement in rules.items():
        if word.endswith(suffix):
            rest = word.removesuffix(suffix)
            return rest + replacement if _measure(rest) > 0 else word
    return word


def _long_suffixes(word: str) -> str:
    for suffix in _STEP_4:
        if word.endswith(suffix):
            rest = word.removesuffix(suffix)
            removable = _measure(rest) > 1 and (suffix != "ion" or rest.endswith(("s", "t")))
            return rest if removable else word
    return word


def _final_e(word: str) -> str:
    if not word.endswith("e"):
        return word
    measure = _measure(word[:-1])
    removable = measure > 1 or (measure == 1 and not _ends_in_short_syllable(word[:-1]))
    return word[:-1] if removable else word


def _final_l(word: str) -> str:
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _form(word: str) -> str:
    """The word with "v" for each vowel and "c" for all else; y is a vowel after a consonant."""
    form = ""
    for letter in word:
        form += "v" if letter in "aeiou" or (letter == "y" and form.endswith("c")) else "c"
    return form


def _measure(stem: str) -> int:
    """How often a consonant follows a vowel, Porter's m."""
    return _form(stem).count("vc")


def _ends_in_short_syllable(stem: str) -> bool:
    """Whether a stem ends like hop: consonant, vowel, consonant other than w, x, y. NLTK counts a whole `ad` too."""
    form = _form(stem)
    return form == "vc" or (form.endswith("cvc") and stem[-1] not in "wxy")
