"""What holds for every compressor and every text."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_bench_compress import BM25Passages, Head, Identity, LeadSentences, Tail, count_tokens

PIECES = [
    "The cat sat on the mat. ",
    "Dr. Ash paid $3.50 on Jan. 5! ",
    "Where is the code? ",
    "\n\n",
    "  ",
    "word ",
    "amber-otter",
    "你好。今天天气很好！",
    "東京タワー、",
    "हिन्दी में। ",
    "ไทยภาษา ",
    "مرحبا بالعالم؟ ",
    "e\u0301e\u0301 ",
    "👩‍👩‍👧👍🏽",
    "\ud83d\ude00",
    "\ud800",
    "\x00",
    "\u3000",
    "…",
    "U.S.A. e.g. ",
    "(see [1]. ",
    "1. First\n2. Second\n",
    "x" * 30,
]
texts = st.one_of(st.lists(st.sampled_from(PIECES), max_size=25).map("".join), st.text(max_size=80))
contexts = st.one_of(texts, st.lists(texts, max_size=5))
questions = st.one_of(
    st.none(), st.text(max_size=20), st.sampled_from(["Where is the code?", "cat 天气", "हिन्दी"])
)
ratios = st.integers(1, 100).map(lambda percent: percent / 100)
relaxed = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def size(context: str | list[str]) -> int:
    return count_tokens(context) if isinstance(context, str) else sum(map(count_tokens, context))


def words(context: str | list[str]) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", context if isinstance(context, str) else "\n".join(context))


def is_subsequence(part: list[str], whole: list[str]) -> bool:
    rest = iter(whole)
    return all(item in rest for item in part)


@relaxed
@given(context=contexts, question=questions, ratio=ratios)
def test_the_budget_is_never_exceeded(
    build: Callable[..., Any], context: Any, question: Any, ratio: float
) -> None:
    output = build(ratio=ratio).process({"context": context, "question": question})
    report = output["compression"]
    assert report["tokens_before"] == size(context)
    assert (
        report["tokens_after"]
        == size(output["context"])
        <= report["budget"]
        <= ratio * size(context) + 1e-6
    )


@relaxed
@given(context=contexts, question=questions, tokens=st.integers(0, 60))
def test_a_budget_in_tokens_is_never_exceeded(
    build: Callable[..., Any], context: Any, question: Any, tokens: int
) -> None:
    output = build(tokens=tokens).process({"context": context, "question": question})
    assert size(output["context"]) == output["compression"]["tokens_after"] <= tokens


@relaxed
@given(context=contexts, question=questions)
def test_everything_stays_where_everything_may(
    build: Callable[..., Any], context: Any, question: Any
) -> None:
    example = {"context": context, "question": question}
    assert build(ratio=1).process(example)["context"] == context
    assert build(tokens=10_000).process(example)["context"] == context
    assert Identity().process(example)["context"] == context


@relaxed
@given(context=contexts, question=questions, ratio=ratios)
def test_what_stays_keeps_its_words_and_their_order(
    build: Callable[..., Any], context: Any, question: Any, ratio: float
) -> None:
    output = build(ratio=ratio).process({"context": context, "question": question})
    assert isinstance(output["context"], type(context))
    assert is_subsequence(words(output["context"]), words(context))


@relaxed
@given(context=contexts, question=questions, ratio=ratios)
def test_the_same_input_gives_the_same_output_and_is_not_changed(
    build: Callable[..., Any], context: Any, question: Any, ratio: float
) -> None:
    example = {"context": context, "question": question, "answer": "x"}
    before = copy.deepcopy(example)
    first = build(ratio=ratio).process(example)
    second = build(ratio=ratio).process(example)
    assert first == second
    assert example == before


@relaxed
@given(context=contexts, question=questions, small=ratios, large=ratios)
def test_more_budget_keeps_all_that_less_kept(
    build: Callable[..., Any], context: Any, question: Any, small: float, large: float
) -> None:
    small, large = sorted([small, large])
    example = {"context": context, "question": question}
    less, more = (build(ratio=ratio).process(example) for ratio in (small, large))
    assert less["compression"]["tokens_after"] <= more["compression"]["tokens_after"]
    if not less["compression"].get("cut"):
        assert is_subsequence(words(less["context"]), words(more["context"]))


@relaxed
@given(text=texts, count=st.integers(0, 60))
def test_head_is_a_beginning_and_tail_is_an_end(text: str, count: int) -> None:
    example = {"context": text}
    assert text.startswith(Head(tokens=count).process(example)["context"])
    assert text.endswith(Tail(tokens=count).process(example)["context"])
    lead = LeadSentences(tokens=count).process(example)["context"]
    assert text.startswith(lead)


@relaxed
@given(text=st.text(alphabet=st.sampled_from("ab .,!-\n好"), max_size=80), count=st.integers(0, 40))
def test_head_and_tail_together_are_the_whole(text: str, count: int) -> None:
    total = count_tokens(text)
    count = min(count, total)
    head = Head(tokens=count).process({"context": text})["context"]
    tail = Tail(tokens=total - count).process({"context": text})["context"]
    assert words(head) + words(tail) == words(text)
    assert count_tokens(head) == count
    assert re.sub(r"\s", "", head + tail) == re.sub(r"\s", "", text)


@relaxed
@given(parts=st.lists(texts, max_size=5), count=st.integers(0, 60))
def test_a_list_is_cut_as_its_texts_one_after_another_would_be(
    parts: list[str], count: int
) -> None:
    for system in (Head(tokens=count), Tail(tokens=count)):
        kept = system.process({"context": parts})["context"]
        whole = system.process({"context": "\n".join(parts)})["context"]
        assert words("\n".join(kept)) == words(whole)


SIGNS = [
    "a",
    "word",
    "e\u0301",
    "e\u0301\u0300",
    "👍🏽",
    "\ud83d\ude00",
    "हि",
    "👩\u200d👧",
    " ",
    ".",
    "-",
    "好",
]


@relaxed
@given(signs=st.lists(st.sampled_from(SIGNS), max_size=30), ratio=ratios)
def test_no_sign_is_split(signs: list[str], ratio: float) -> None:
    text = "".join(signs)
    borders = set(accumulate(map(len, signs), initial=0))
    for system in (Head(ratio=ratio), LeadSentences(ratio=ratio)):
        assert len(system.process({"context": text})["context"]) in borders
    assert len(text) - len(Tail(ratio=ratio).process({"context": text})["context"]) in borders


@given(context=texts)
def test_without_a_budget_half_stays(context: str) -> None:
    for kind in (Head, Tail, LeadSentences, BM25Passages):
        example = {"context": context, "question": "cat"}
        assert kind().process(example) == kind(ratio=0.5).process(example)


def test_only_declared_fields_are_read(any_system: Any) -> None:
    example = {"context": "Rain fell. Time passed. Bells rang.", "question": "Who fell?"}
    more = {**example, "answer": "Rain", "answers": ["Rain"], "needles": ["fell"]}
    assert any_system.process(example) == any_system.process(more)
    assert set(any_system.reads) <= {"context", "question"}


@pytest.mark.parametrize("context", [None, "", [], "   ", ["", " "]], ids=repr)
def test_an_empty_context_stays_empty(any_system: Any, context: Any) -> None:
    output = any_system.process({"context": context, "question": "Who?"})
    assert not "".join(output["context"]).strip()
    assert output["compression"]["tokens_after"] == 0
    assert any_system.process({"question": "Who?"})["context"] == ""


@pytest.mark.parametrize(
    ("context", "message"),
    [
        (5, "the context is of type int, and a text or a list of texts is needed"),
        (b"x", "the context is of type bytes"),
        ({"text": "x"}, "the context is of type dict"),
        (["x", 5], "an item of the context list is of type int"),
        ([["x"]], "an item of the context list is of type list"),
    ],
    ids=repr,
)
def test_a_context_of_another_type_is_an_error_that_names_it(
    any_system: Any, context: Any, message: str
) -> None:
    with pytest.raises(TypeError, match=f"^{any_system.name}: {message}"):
        any_system.process({"context": context, "question": "x"})


def test_a_tuple_of_texts_becomes_a_list(any_system: Any) -> None:
    assert isinstance(
        any_system.process({"context": ("Rain fell.", "Time passed."), "question": "x"})["context"],
        list,
    )


def test_the_output_list_is_a_new_one() -> None:
    context = ["Rain fell.", "Time passed."]
    output = Identity().process({"context": context})["context"]
    assert output == context
    assert output is not context


HUGE = {
    "prose": "The cat sat on the mat. " * 20_000,
    "one word": "a" * 1_500_000,
    "lines": "x\n" * 100_000,
    "dots": ". " * 100_000,
    "Chinese": "你好。今天天气很好！" * 10_000,
    "surrogates": "\ud83d\ude00" * 100_000,
    "halves": "\udc00" * 150_000,
    "accents": "e" + "\u0301" * 150_000,
    "joiners": "\u200d" * 150_000,
    "white space": " \n\u3000" * 250_000,
}


@pytest.mark.one_python
@pytest.mark.parametrize("text", HUGE.values(), ids=list(HUGE))
def test_huge_and_strange_texts_are_taken(build: Callable[..., Any], text: str) -> None:
    if not isinstance(build, type) or build.__module__.endswith("summarizers"):
        text = text[:50_000]  # models and matrices take their time
    output = build(ratio=0.1).process({"context": text, "question": "cat 天气 x"})
    assert count_tokens(output["context"]) <= output["compression"]["budget"]
