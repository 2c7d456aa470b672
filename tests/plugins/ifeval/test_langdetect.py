"""Languages: the same answers, n-grams and profiles as langdetect with seed 0."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_bench_ifeval import detect_language
from context_bench_ifeval.language_profiles import language_profiles
from context_bench_ifeval.ngrams import NGrams, cut_words

TEXTS = {
    "en": "The cat sat quietly on the mat while the rain was falling outside the old house.",
    "de": "Die Katze saß ruhig auf der Matte, während draußen vor dem alten Haus der Regen fiel.",
    "fr": "Le chat était assis sur le tapis pendant que la pluie tombait devant la vieille maison.",
    "vi": "Con mèo ngồi yên lặng trên tấm thảm trong khi trời mưa bên ngoài ngôi nhà cũ.",
    "ru": "Этот большой город был основан более ста лет назад, и сейчас здесь живут миллионы людей.",
    "hi": "बिल्ली चटाई पर चुपचाप बैठी थी जबकि पुराने घर के बाहर बारिश हो रही थी।",
    "ar": "جلست القطة بهدوء على السجادة بينما كان المطر يهطل خارج المنزل القديم.",
    "ja": "古い家の外で雨が降っている間、猫はマットの上に静かに座っていました。",
    "ko": "낡은 집 밖에 비가 내리는 동안 고양이는 매트 위에 조용히 앉아 있었다.",
    "zh-cn": "旧房子外面下着雨，猫静静地坐在垫子上。",
    "th": "แมวนั่งเงียบๆ บนเสื่อในขณะที่ฝนตกนอกบ้านเก่า",
}
MIXTURES = {
    "nothing": "",
    "digits": "123 456, 7.8!",
    "addresses only": "http://example.com/a?b=c me@example.com",
    "capitals": "THE CAT SAT QUIETLY ON THE MAT",
    "one letter": "a",
    "two scripts": "Кошка cat кошка cat кошка cat",
    "mostly another script": "Кошка тихо сидела на коврике the cat",
    "tones apart": "Con me\u0300o ngo\u0302\u0300i ye\u0302n la\u0323\u0306ng",
    "many addresses first": "http://a.b/c?d " * 3000 + TEXTS["fr"] * 3,
    "a long address first": "http://" + "a" * 2500 + " " + TEXTS["de"],
    "longer than is read": TEXTS["fr"] * 110 + TEXTS["de"] * 500,
    "mail addresses first": "someone@example.com " * 2000 + TEXTS["vi"],
    "odd characters": "\x00\ud800 \u2028\u00a0\u0219\u021b\u06cc\u1ea0\u3105\U0001f600",
    "spaces": "  a   b  \n\n c " * 20,
}
LETTERS = (
    "abcdehinorstu ABEINST zZ'-.,\n\t@:/éèüßñçø ăơưÂ\u0300\u0301\u0323 абвгдежи אבג ابتی हिन्दी"
    " กขค あいアイ 漢字中文 한국 \u0219\u06cc\ud800\x00"
)


@pytest.fixture(scope="module")
def langdetect():
    package = pytest.importorskip(
        "langdetect", reason="langdetect is what detect_language is compared with"
    )
    package.DetectorFactory.seed = 0
    package.detector_factory.init_factory()
    return package


@pytest.fixture(scope="module")
def detect(langdetect):
    def reference(text):
        try:
            return langdetect.detect(text)
        except langdetect.LangDetectException:
            return None

    return reference


@pytest.mark.parametrize("language", TEXTS)
def test_a_sentence_is_found_to_be_in_its_language(language):
    assert detect_language(TEXTS[language]) == language


@pytest.mark.parametrize("name", [*TEXTS, *MIXTURES])
def test_langdetect_answers_the_same(detect, name):
    text = {**TEXTS, **MIXTURES}[name]
    for variant in (text, text.upper(), text.lower(), text[:7], text[::2]):
        assert detect_language(variant) == detect(variant)


@settings(max_examples=300, deadline=None)
@given(text=st.one_of(st.text(max_size=80), st.text(LETTERS, max_size=120)))
def test_langdetect_answers_the_same_for_any_text(detect, text):
    assert detect_language(text) == detect(text)


@settings(max_examples=300, deadline=None)
@given(text=st.one_of(st.text(max_size=80), st.text(LETTERS, max_size=120)))
def test_the_n_grams_are_those_of_langdetect(langdetect, text):
    detector = langdetect.detector_factory._factory.create()
    detector.append(text)
    detector.cleaning_text()
    assert NGrams(language_profiles()).of(cut_words(text)) == detector._extract_ngrams()


@pytest.mark.shared
@pytest.mark.one_python
def test_langdetect_answers_the_same_for_real_responses(detect, responses):
    some = [
        response[: 10 * place] if place % 2 else response
        for place, response in enumerate(responses[::7])
    ]
    assert len(some) > 300
    assert [detect_language(response) for response in some] == [
        detect(response) for response in some
    ]


def test_every_profile_of_langdetect_is_in_the_package(langdetect):
    factory = langdetect.detector_factory._factory
    profiles = language_profiles()
    assert sorted(profiles.languages) == sorted(factory.langlist)
    order = [factory.langlist.index(language) for language in profiles.languages]
    for gram, shares in factory.word_lang_prob_map.items():
        assert profiles.shares(gram) == [shares[place] for place in order]


def test_n_grams_of_latin_letters_are_known_to_the_first_languages_only(langdetect):
    profiles = language_profiles()
    for gram in filter(str.isascii, langdetect.detector_factory._factory.word_lang_prob_map):
        assert not any(profiles.shares(gram)[profiles.latin :])


def test_threads_do_not_disturb_each_other():
    texts = [*TEXTS.values(), *MIXTURES.values()] * 10
    alone = [detect_language(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(detect_language, texts)) == alone


def test_another_process_with_another_hash_seed_answers_the_same():
    program = "from context_bench_ifeval import detect_language; print(*map(detect_language, {!r}))"
    unsure = ["wan na", "en de la", "a", "no se", "i am", "det er", "na", "SALE"]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program.format(unsure)],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert outputs == {" ".join(map(str, map(detect_language, unsure))) + "\n"}
