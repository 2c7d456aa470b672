"""LLMLingua: what our adapter makes of the library, by a stand-in with the signature that the library has."""

from __future__ import annotations

import inspect
import sys
from types import ModuleType
from typing import Any

import pytest

from context_bench_compress import LLMLingua, LLMLingua2, count_tokens, lingua

BY_NAME = {"llmlingua": LLMLingua, "llmlingua2": LLMLingua2}


class StandIn:
    """Keeps every so-and-so-many-th word, and notes what it was asked."""

    made: list[dict[str, Any]]
    asked: list[dict[str, Any]]
    keeps = 1.0  # share of what it was asked for

    def __init__(
        self,
        model_name: str = "NousResearch/Llama-2-7b-hf",
        device_map: str = "cuda",
        model_config: dict[str, Any] = {},  # noqa: B006 - as the library has it
        open_api_config: dict[str, Any] = {},  # noqa: B006
        use_llmlingua2: bool = False,
        llmlingua2_config: dict[str, Any] = {},  # noqa: B006
    ) -> None:
        if model_name == "broken":
            raise RuntimeError("no such model\nand much more")
        self.made.append(
            {
                "model_name": model_name,
                "device_map": device_map,
                "model_config": model_config,
                "two": use_llmlingua2,
            }
        )

    def compress_prompt(
        self,
        context: list[str],
        instruction: str = "",
        question: str = "",
        rate: float = 0.5,
        target_token: float = -1,
        use_context_level_filter: bool = True,
        condition_in_question: str = "none",
        reorder_context: str = "original",
        dynamic_context_compression_ratio: float = 0.0,
        condition_compare: bool = False,
        rank_method: str = "llmlingua",
        concate_question: bool = True,
        force_tokens: list[str] = [],  # noqa: B006
    ) -> dict[str, Any]:
        assert isinstance(context, list)
        assert "".join(context).isprintable() or "\n" in "".join(context)
        self.asked.append(
            {
                "context": context,
                "rate": rate,
                "question": question,
                "rank_method": rank_method,
                "force": force_tokens,
            }
        )
        kept = []
        for text in context:
            words = text.split()
            count = min(len(words), max(1, round(len(words) * rate * self.keeps)))
            kept.append(" ".join(words[index * len(words) // count] for index in range(count)))
        return {
            "compressed_prompt": "\n\n".join(kept),
            "compressed_prompt_list": kept,
            "origin_tokens": 1,
        }


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> type[StandIn]:
    module = ModuleType("llmlingua")
    module.PromptCompressor = StandIn  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "llmlingua", module)
    monkeypatch.setattr(
        lingua, "require", lambda owner, extra, *names: ", ".join(f"{name} 1" for name in names)
    )
    monkeypatch.setattr(StandIn, "made", [], raising=False)
    monkeypatch.setattr(StandIn, "asked", [], raising=False)
    monkeypatch.setattr(StandIn, "keeps", 1.0)
    return StandIn


CONTEXT = "one two three four five six seven eight nine ten"


@pytest.mark.parametrize("name", BY_NAME)
def test_the_library_is_asked_for_the_share_that_the_budget_allows(name: str) -> None:
    output = BY_NAME[name](tokens=4).process({"context": CONTEXT})
    assert output["context"] == "one three six eight"
    assert output["compression"] == {
        "tokens_before": 10,
        "tokens_after": 4,
        "budget": 4,
        "rate": 0.4,
        "calls": 1,
    }
    assert StandIn.asked[0]["rate"] == pytest.approx(0.4)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_library_that_keeps_too_much_is_asked_for_less(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StandIn, "keeps", 1.5)
    output = BY_NAME[name](tokens=40).process(
        {"context": " ".join(f"w{index}" for index in range(100))}
    )
    assert output["compression"]["tokens_after"] <= 40
    assert output["compression"]["calls"] == 2
    assert "cut" not in output["compression"]


@pytest.mark.parametrize("name", BY_NAME)
def test_what_is_too_much_three_times_is_cut(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StandIn, "keeps", 1000.0)
    output = BY_NAME[name](tokens=3).process({"context": CONTEXT})
    assert output["context"] == "one two three"
    assert output["compression"]["cut"] is True
    assert len(StandIn.asked) == 3


@pytest.mark.parametrize("name", BY_NAME)
def test_the_model_is_loaded_once_and_no_code_of_its_repository_is_trusted(name: str) -> None:
    system = BY_NAME[name](ratio=0.5, model="acme/model", revision="abc", device="cuda:0")
    assert StandIn.made == []
    for _ in range(2):
        system.process({"context": CONTEXT})
    config = {"trust_remote_code": False, "revision": "abc"}
    assert StandIn.made == [
        {
            "model_name": "acme/model",
            "device_map": "cuda:0",
            "model_config": config,
            "two": name == "llmlingua2",
        }
    ]


@pytest.mark.parametrize("name", BY_NAME)
def test_a_model_that_cannot_be_loaded_is_one_line(name: str) -> None:
    with pytest.raises(
        OSError,
        match=rf"^{name}: the model broken cannot be loaded: RuntimeError: no such model \(",
    ) as caught:
        BY_NAME[name](model="broken").process({"context": CONTEXT})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("context", [None, "", "  ", [], ["", " "], "one"], ids=repr)
def test_where_nothing_may_stay_the_model_is_not_asked(name: str, context: Any) -> None:
    output = BY_NAME[name](ratio=0.5).process({"context": context})
    assert not "".join(output["context"]).strip()
    assert StandIn.asked == []


@pytest.mark.parametrize("name", BY_NAME)
def test_all_stays_where_all_may(name: str) -> None:
    assert BY_NAME[name](tokens=10).process({"context": CONTEXT})["context"] == CONTEXT
    assert StandIn.made == []


def test_llmlingua2_keeps_the_texts_of_a_list_apart_and_llmlingua_returns_one() -> None:
    context = ["one two three four", "", "five six seven eight", "nine ten"]
    assert LLMLingua2(ratio=0.5).process({"context": context})["context"] == [
        "one three",
        "five seven",
        "nine",
    ]
    [whole] = LLMLingua(ratio=0.5).process({"context": context})["context"]
    assert count_tokens(whole) == 5
    assert StandIn.asked[-1]["context"] == [
        "one two three four",
        "five six seven eight",
        "nine ten",
    ]


def test_the_question_decides_along_only_where_asked_for() -> None:
    example = {"context": CONTEXT, "question": "two?"}
    LLMLingua(ratio=0.5).process(example)
    LLMLingua(ratio=0.5, question_aware=True).process(example)
    output = LLMLingua(ratio=0.5, question_aware=True).process({"context": CONTEXT})
    assert [(each["question"], each["rank_method"]) for each in StandIn.asked] == [
        ("", "llmlingua"),
        ("two?", "longllmlingua"),
        ("", "llmlingua"),
    ]
    assert output["compression"]["fallback"] == "no question"


def test_signs_that_must_stay_are_handed_on() -> None:
    LLMLingua2(ratio=0.5, force_tokens=["?", "4711"]).process({"context": CONTEXT})
    assert StandIn.asked[0]["force"] == ["?", "4711"]


def test_halves_of_surrogate_pairs_do_not_reach_the_library() -> None:
    LLMLingua2(ratio=0.5).process({"context": "one \ud800 two \udc00 three four"})
    assert StandIn.asked[0]["context"] == ["one ? two ? three four"]


@pytest.mark.parametrize("name", BY_NAME)
def test_the_fingerprint_knows_what_can_change_an_output(name: str, tmp_path: Any) -> None:
    kind = BY_NAME[name]
    base = kind(tokens=5).fingerprint()
    assert base["ranker"] == "llmlingua 1, transformers 1, torch 1"
    assert kind(tokens=5).fingerprint() == base
    for change in (
        {"tokens": 6},
        {"tokens": 5, "model": "a/b"},
        {"tokens": 5, "revision": "x"},
        {"tokens": 5, "device": "cuda"},
    ):
        assert kind(**change).fingerprint() != base
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"1")
    one = kind(tokens=5, model=str(tmp_path)).fingerprint()
    (tmp_path / "model.safetensors").write_bytes(b"22")
    assert kind(tokens=5, model=str(tmp_path)).fingerprint() != one
    assert str(tmp_path) not in str(one)


def test_the_stand_in_has_the_signature_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "llmlingua")
    real = pytest.importorskip(
        "llmlingua", reason="the library itself, which needs torch"
    ).PromptCompressor
    for method in ("__init__", "compress_prompt"):
        ours = inspect.signature(getattr(StandIn, method)).parameters
        theirs = inspect.signature(getattr(real, method)).parameters
        assert set(ours) <= set(theirs)
        assert {name: ours[name].default for name in ours} == {
            name: theirs[name].default for name in ours
        }
