"""The Porter stemmer against known stems and against NLTK's."""

from __future__ import annotations

import gzip
import random
import re
from pathlib import Path

import pytest

from context_bench_rouge.porter import stem

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
ENDINGS = re.findall(
    "[a-z]+",
    """
    ational tional enci anci izer bli alli entli eli ousli ization ation ator alism iveness fulness ousness aliti iviti
    biliti fulli logi icate ative alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent ion ou ism
    ate iti ous ive ize s sses ies ed ing eed ied y e ll tt zz
    """,
)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        *(
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("cats", "cat"),
            ("feed", "feed"),
            ("agreed", "agre"),
        ),
        *(
            ("plastered", "plaster"),
            ("bled", "bled"),
            ("motoring", "motor"),
            ("sing", "sing"),
            ("conflated", "conflat"),
        ),
        *(
            ("hopping", "hop"),
            ("falling", "fall"),
            ("hissing", "hiss"),
            ("failing", "fail"),
            ("filing", "file"),
        ),
        *(("happy", "happi"), ("enjoy", "enjoy"), ("relational", "relat"), ("rational", "ration")),
        *(
            ("digitizer", "digit"),
            ("operator", "oper"),
            ("hopefulness", "hope"),
            ("triplicate", "triplic"),
        ),
        *(
            ("revival", "reviv"),
            ("adoption", "adopt"),
            ("probate", "probat"),
            ("rate", "rate"),
            ("controll", "control"),
        ),
        *(
            ("dies", "die"),
            ("flies", "fli"),
            ("died", "die"),
            ("spied", "spi"),
            ("skies", "sky"),
            ("dying", "die"),
        ),
        *(
            ("news", "news"),
            ("innings", "inning"),
            ("proceed", "proceed"),
            ("geologi", "geolog"),
            ("as", "as"),
        ),
        *(("jumped", "jump"), ("jumps", "jump"), ("2010s", "2010"), ("yyyy", "yyyi")),
    ],
)
def test_known_stems(word, expected):
    assert stem(word) == expected


def assert_equal_to_nltk(words):
    porter = pytest.importorskip("nltk.stem.porter", reason="NLTK is the oracle of stems")
    reference = porter.PorterStemmer()
    different = {
        word: (stem(word), reference.stem(word))
        for word in words
        if stem(word) != reference.stem(word)
    }
    assert different == {}


def test_random_words_with_all_endings_have_the_stems_of_nltk():
    rng = random.Random(1)
    letters = "aeiouybcdfghlmnprstvwxz0"
    assert_equal_to_nltk(
        {
            "".join(rng.choices(letters, k=rng.randint(1, 5)))
            + "".join(rng.choices(ENDINGS, k=rng.randint(0, 3)))
            for _ in range(30_000)
        }
    )


@pytest.mark.shared
@pytest.mark.one_python
def test_the_words_of_real_texts_have_the_stems_of_nltk():
    files = [*SHARED.glob("outputs/*.jsonl.gz"), *SHARED.glob("*.raw.jsonl.gz")]
    if not files:
        pytest.skip("the shared benchmark records do not lie beside this checkout")
    words = set()
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8", errors="replace") as text:
            words.update(re.findall(r"[a-z0-9]{1,40}", text.read(300_000).lower()))
    assert len(words) > 30_000
    assert_equal_to_nltk(words)
