"""Compressors of texts on the messages of a session: results shrink, calls and their ids stay."""

from __future__ import annotations

from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import ConfigurationError, ContextBenchError
from context_bench_compress import ByMessage

LONG = " ".join(f"Line {number} tells of the thing." for number in range(40))
CALL = {"id": "c1", "name": "read", "arguments": '{"path": "a"}'}


def example() -> dict[str, Any]:
    messages = [
        {"role": "user", "content": "what is in a?"},
        {"role": "assistant", "content": LONG, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": LONG},
        {"role": "user", "content": "go on"},
    ]
    return {
        "id": "s",
        "messages": messages,
        "region": [1, 3],
        "raw_messages": ["as recorded"],
        "context": LONG,
    }


class Kept:
    name = "kept"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"kept": len(processed["context"]) / len(original["context"])}


def test_only_results_are_compressed_and_pairs_stay() -> None:
    before = example()["messages"]
    after = ByMessage("head", ratio="0.25").transform(before)
    assert [one == two for one, two in zip(before, after)] == [True, True, False, True]
    assert after[2]["tool_call_id"] == "c1"
    assert LONG.startswith(after[2]["content"])
    assert 0.2 < len(after[2]["content"]) / len(LONG) < 0.3


def test_roles_say_whose_texts_are_compressed() -> None:
    after = ByMessage("head", roles=["tool", "assistant"], ratio=0.5).transform(
        example()["messages"]
    )
    assert len(after[1]["content"]) < len(LONG)
    assert after[1]["tool_calls"] == [CALL]


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def test_of_parts_each_text_is_compressed_and_pictures_stay() -> None:
    content = [PICTURE, {"type": "text", "text": LONG}, {"type": "text", "text": " "}, LONG]
    [after] = ByMessage("head", ratio=0.5).transform([{"role": "tool", "content": content}])
    half = after["content"][1]["text"]
    assert LONG.startswith(half)
    assert 0.4 < len(half) / len(LONG) < 0.6
    assert after["content"] == [PICTURE, {"type": "text", "text": half}, content[2], half]


@pytest.mark.parametrize(
    "message",
    [
        pytest.param({"role": "assistant", "content": None, "tool_calls": [CALL]}, id="null"),
        pytest.param({"role": "assistant", "tool_calls": [CALL]}, id="no content"),
        pytest.param({"role": "user", "content": [PICTURE]}, id="a picture alone"),
        pytest.param({"role": "user", "content": ""}, id="empty"),
        pytest.param({"content": LONG}, id="no role"),
    ],
)
def test_a_message_without_text_of_a_named_role_stays_as_it_is(message: dict[str, Any]) -> None:
    assert ByMessage("head", roles=["user", "assistant"], ratio=0.5).transform([message]) == [
        message
    ]


def test_the_question_is_the_text_of_the_last_user_message_in_parts_too() -> None:
    texts = "Rain fell. The access code is 42. Time passed."
    asked = {
        "role": "user",
        "content": [PICTURE, {"type": "text", "text": "What is the access code?"}],
    }
    found = ByMessage("bm25", tokens=6, passage_sentences=1).transform(
        [{"role": "tool", "content": texts}, asked]
    )
    assert found[0]["content"] == "The access code is 42."


def test_it_is_a_system_of_a_run() -> None:
    result = evaluate(
        ["by-message:of=head,ratio=0.5", "by-message:of=identity"],
        [example()],
        [Kept()],
        progress=False,
    )
    shrunk, same = result.rows
    assert shrunk.output["raw_messages"] == []
    assert "raw_messages" not in same.output
    assert same.output["region"] == [1, 3]
    assert same.output["messages"] == example()["messages"]


def test_a_python_object_with_transform_is_a_system() -> None:
    class Dropper:
        name = "dropper"

        def transform(self, messages: list[Any], tools: list[Any]) -> list[Any]:
            return [message for message in messages if message["role"] == "user"]

    [row] = evaluate(Dropper(), [example()], [Kept()], progress=False).rows
    assert [message["content"] for message in row.output["messages"]] == ["what is in a?", "go on"]
    assert (row.output["context"], row.output["region"]) == ("", [1, 1])


def test_a_row_without_messages_fails_with_a_sentence() -> None:
    [row] = evaluate(
        "by-message:of=head", [{"id": "1", "context": "c"}], [Kept()], progress=False
    ).rows
    assert "the example has none" in row.errors[0].message


def test_mistakes_are_named() -> None:
    with pytest.raises(ConfigurationError, match="roles is 'tol'"):
        ByMessage("head", roles=["tol"])
    with pytest.raises(ContextBenchError, match="hed"):
        ByMessage("hed")
