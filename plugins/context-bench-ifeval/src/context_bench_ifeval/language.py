"""Which language a text is in, by the rules of `langdetect` with a fixed seed.

The benchmark asks `langdetect`, whose answer is drawn by lot: seven times over, it picks n-grams of the text at random
and multiplies up how well each language explains them. Left to itself it may answer differently each time. Here every
call seeds a generator of its own with the same number, so an answer depends on the text alone - not on threads, not on
the calls before.

Source: Shuyo Nakatani, Language Detection Library for Java (2010), and its port `langdetect` 1.0.9.
"""

from __future__ import annotations

from functools import cache, lru_cache
from random import Random

from context_bench_ifeval.language_profiles import Vectors, language_profiles
from context_bench_ifeval.ngrams import NGrams, cut_words

SEED = 0
"""What every detection is seeded with: the equivalent of `langdetect.DetectorFactory.seed = 0`."""

_TRIALS = 7
_TRIALS_MARGIN = 0.001
_SMOOTHING = 0.5
_SMOOTHING_SPREAD = 0.05
_SMOOTHING_BASE = 10_000
_CONVERGED = 0.99999
_DRAWS_AT_MOST = 1000
_SMALL = 1e-200
_LEAST_PROBABILITY = 0.1


def detect_language(text: str) -> str | None:
    """The code of the language of `text`, `"unknown"` if none is likely, None if the text has nothing to go by.

    Example:
        >>> detect_language("The quick brown fox jumps over the lazy dog.")
        'en'
        >>> detect_language("12345 !?") is None
        True
    """
    return _detect(cut_words(text))


def is_english(text: str) -> bool:
    """Whether `text` is detected as English; a text with nothing to go by counts as English."""
    return detect_language(text) in ("en", None)


@lru_cache(maxsize=32)
def _detect(words: tuple[str, ...]) -> str | None:
    """The language of `words`, remembered for a while: relaxed variants of a response often have the same words."""
    grams = _ngrams().of(words)
    if not grams:
        return None
    profiles = language_profiles()
    probabilities = _mean_of_trials(
        grams, profiles.latin_vectors if "".join(words).isascii() else profiles.vectors
    )
    best = max(probabilities)
    return profiles.languages[probabilities.index(best)] if best > _LEAST_PROBABILITY else "unknown"


def _mean_of_trials(grams: list[str], vectors: Vectors) -> list[float]:
    """The probability of each language over the trials; the last ones are left out if they cannot change the winner."""
    generator = Random(SEED)
    mean = [0.0] * vectors.size
    for left in reversed(range(_TRIALS)):
        smoothing = (_SMOOTHING + generator.gauss(0.0, 1.0) * _SMOOTHING_SPREAD) / _SMOOTHING_BASE
        mean = [m + p / _TRIALS for m, p in zip(mean, _trial(grams, vectors, smoothing, generator))]
        second, best = sorted(mean)[-2:]
        if best - second > (left + _TRIALS_MARGIN) / _TRIALS:
            break
    return mean


def _trial(grams: list[str], vectors: Vectors, smoothing: float, generator: Random) -> list[float]:
    """The probability of each language given n-grams drawn until one language is all but certain.

    Convergence is looked at after the first draw and after every fifth one from there, as in the original. In between
    the shares are left to shrink: dividing them by their sum takes time and is needed only before they get too small
    for a float. The languages that the vectors leave out know none of the n-grams, so one number is the share of each.
    """
    bits = generator.getrandbits
    size = len(grams)
    width = size.bit_length()

    def draw() -> list[float]:
        """The vector of what `generator.choice(grams)` returns, with half its overhead."""
        index = bits(width)
        while index >= size:
            index = bits(width)
        return vectors[grams[index]]

    shares, left_out = [smoothing + q for q in draw()], smoothing
    draws = 0
    while True:
        total = sum(shares) + left_out * vectors.left_out
        if max(shares) > _CONVERGED * total or draws >= _DRAWS_AT_MOST:
            return [share / total for share in shares]
        if total < _SMALL:
            shares, left_out = [share / total for share in shares], left_out / total
        shares = [
            share
            * (smoothing + q)
            * (smoothing + r)
            * (smoothing + s)
            * (smoothing + t)
            * (smoothing + u)
            for share, q, r, s, t, u in zip(shares, draw(), draw(), draw(), draw(), draw())
        ]
        left_out *= smoothing**5
        draws += 5


@cache
def _ngrams() -> NGrams:
    return NGrams(language_profiles())
