from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_bench_compress import count_tokens
from context_bench_compress.passages import LONGEST_SENTENCE, by_sentences, by_tokens, joined
from context_bench_compress.sentences import sentence_spans
from context_bench_compress.tokens import splits_token

sentencex = pytest.importorskip("sentencex", reason="the library that finds the sentences")


def sentences(text: str, language: str = "en") -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text, language)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Rain fell. Time passed.", ["Rain fell. ", "Time passed."]),
        ("Dr. Ash paid $3.50 on Jan. 5. He left!", ["Dr. Ash paid $3.50 on Jan. 5. ", "He left!"]),
        ("One.\n\nTwo.", ["One.", "\n\nTwo."]),
        ("你好。今天天气很好！再见？", ["你好。", "今天天气很好！", "再见？"]),
        ("हाँ। नहीं। ", ["हाँ। ", "नहीं। "]),
        ("no full stop", ["no full stop"]),
        ("", []),
        ("  \n", ["  \n"]),
        ("a\udc00b. c\ud800. d", ["a\udc00b. ", "c\ud800. ", "d"]),
        ("One.\u3000Two.\u2028Three.", ["One.\u3000", "Two.\u2028", "Three."]),
    ],
)
def test_sentences_end_where_they_do(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


STRANGE = st.text(
    alphabet=st.one_of(
        st.sampled_from(" .。\n\u0301\u200d\u2028\x85\u3000\ufeff😀ab(“”'\"2Dr"), st.characters()
    ),
    max_size=120,
)


@settings(deadline=None, max_examples=300)
@given(
    text=STRANGE, language=st.sampled_from(["en", "zh", "hi", "de", "ar", "ja", "no such language"])
)
def test_sentences_make_up_the_text_and_cut_no_token(text: str, language: str) -> None:
    spans = list(sentence_spans(text, language))
    assert "".join(text[start:end] for start, end in spans) == text
    assert sum(count_tokens(text[start:end]) for start, end in spans) == count_tokens(text)
    assert not any(splits_token(text, end) for _, end in spans)
    assert all(text[start:end].strip() for start, end in spans[:-1])


def test_windows_do_not_show() -> None:
    text = "".join(f"Sentence {index} of Dr. Ash is here. " for index in range(3000))
    assert len(sentences(text)) == 3000
    assert len(sentences("word " * 20_000 + "end. Next.")) == 2


def test_a_panic_of_the_library_costs_the_sentences_and_not_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class PanicException(BaseException):
        pass

    def panics(language: str, text: str) -> list[str]:
        raise PanicException("end byte index 27 is not a char boundary")

    monkeypatch.setattr(sentencex, "segment", panics)
    assert sentences("Rain fell. Time passed.") == ["Rain fell. Time passed."]


@pytest.mark.parametrize(
    "answer", [[], ["", ""], ["Rain"], ["Rain fell. Time passed. And more."]], ids=str
)
def test_an_answer_that_does_not_make_up_the_text_is_not_used(
    monkeypatch: pytest.MonkeyPatch, answer: list[str]
) -> None:
    monkeypatch.setattr(sentencex, "segment", lambda language, text: answer)
    assert sentences("Rain fell. Time passed.") == ["Rain fell. Time passed."]


def test_an_interrupt_is_no_panic(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(language: str, text: str) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(sentencex, "segment", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sentences("Rain fell.")


@settings(deadline=None)
@given(parts=st.lists(STRANGE, max_size=4), size=st.integers(1, 9))
def test_passages_make_up_the_texts(parts: list[str], size: int) -> None:
    for passages in (by_sentences(parts, size, "en"), by_tokens(parts, size)):
        for index, text in enumerate(parts):
            own = [passage for passage in passages if passage.text == index]
            assert "".join(text[passage.start : passage.end] for passage in own) == text
            assert [passage.tokens for passage in own] == [
                count_tokens(text[p.start : p.end]) for p in own
            ]
        assert joined(parts, passages) == [text for text in parts if text]


def test_windows_of_tokens_are_exact() -> None:
    text = "a-b c " * 50
    sizes = [passage.tokens for passage in by_tokens([text], 7)]
    assert sizes == [7] * (200 // 7) + [200 % 7]


def test_a_sentence_of_too_many_tokens_is_cut_into_windows() -> None:
    passages = by_sentences(["word " * 450], 1, "en")
    assert [passage.tokens for passage in passages] == [LONGEST_SENTENCE, LONGEST_SENTENCE, 50]


@pytest.mark.shared
def test_real_texts_are_split_without_loss() -> None:
    import gzip
    import json
    from pathlib import Path

    folder = Path(__file__).resolve().parents[4] / "shared" / "data"
    files = sorted(folder.rglob("*.jsonl.gz")) if folder.is_dir() else []
    if not files:
        pytest.skip("the shared benchmark records do not lie beside this checkout")
    checked = 0
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for _, line in zip(range(5), lines):
                for text in _texts(json.loads(line)):
                    spans = list(sentence_spans(text[:20_000]))
                    assert "".join(text[start:end] for start, end in spans) == text[:20_000]
                    assert sum(count_tokens(text[a:b]) for a, b in spans) == count_tokens(
                        text[:20_000]
                    )
                    checked += 1
    assert checked > 100


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value] if re.search(r"\s", value) else []
    if isinstance(value, dict):
        return [text for each in value.values() for text in _texts(each)]
    if isinstance(value, list):
        return [text for each in value[:5] for text in _texts(each)]
    return []
