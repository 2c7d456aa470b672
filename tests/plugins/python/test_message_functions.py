"""A transformer that rewrites messages is named by ``module:object``, in each form that libraries have it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from context_bench.errors import ConfigurationError
from context_bench_python import PythonTransformer

CODE = """
class Result:
    def __init__(self, messages): self.messages = messages

class Transform:
    version = "1"
    def __init__(self, keep=1): self.keep = keep
    def transform(self, messages, tools):
        assert isinstance(tools, list)
        return messages[-self.keep:]

class OneArgument:
    version = "1"
    def transform(self, messages): return messages[-1:]

class Compressor:
    version = "1"
    def compress(self, messages, *, model="m"): return Result(messages[-1:])

class OtherName:
    version = "1"
    def compress_messages(self, messages): return messages[-1:]
    def savings(self): return 3
    @property
    def broken(self): raise RuntimeError

class TwoOthers:
    version = "1"
    def first(self, messages): return messages[:1]
    def last(self, messages): return messages[-1:]

instance = Transform()

def transform(messages, tools): return messages[-1:]
def compress(messages, keep=1): return messages[-keep:]
def mapping(messages): return {"messages": messages[-1:], "saved": 3}
def pair(messages): return messages[-1:], {"saved": 3}
async def later(messages): return messages[-1:]
def typed(msgs: list, functions=None): return msgs[-1:] if functions == [] else None
def nothing(messages): messages.pop()
def text(messages): return "all of it"
def shorten(context: str): return context[:3]
"""
MESSAGES = [
    {"role": "user", "content": "first"},
    {"role": "assistant", "content": "second"},
    {"role": "user", "content": "third"},
]
EXAMPLE = {"id": "1", "messages": MESSAGES, "tools": [], "region": [0, 3]}


@pytest.fixture
def named(module: Callable[..., str]) -> Callable[..., Any]:
    name_of_module = module(CODE)

    def make(name: str, **options: Any) -> Any:
        options.setdefault("version", "1")
        return PythonTransformer(f"{name_of_module}:{name}", **options)

    return make


@pytest.mark.parametrize(
    "name",
    [
        "Transform",
        "OneArgument",
        "Compressor",
        "OtherName",
        "instance",
        "transform",
        "compress",
        "mapping",
        "pair",
        "later",
        "typed",
    ],
)
def test_messages_are_rewritten(named: Callable[..., Any], name: str) -> None:
    output = named(name).process(EXAMPLE)
    assert output["messages"] == MESSAGES[-1:]
    assert output["region"] == [0, 1]
    assert output["raw_messages"] == []
    assert "third" in output["context"]
    assert "first" not in output["context"]


@pytest.mark.parametrize("name", ["Transform", "compress"])
def test_options_reach_what_rewrites(named: Callable[..., Any], name: str) -> None:
    assert named(name, keep=2).process(EXAMPLE)["messages"] == MESSAGES[-2:]


@pytest.mark.parametrize("name", ["nothing", "text"])
def test_what_is_not_a_list_of_messages_is_an_error(named: Callable[..., Any], name: str) -> None:
    with pytest.raises(TypeError, match="return the list of messages"):
        named(name).process(EXAMPLE)


def test_two_methods_of_messages_are_not_chosen_from(named: Callable[..., Any]) -> None:
    with pytest.raises(ConfigurationError, match="cannot be asked"):
        named("TwoOthers")


def test_a_function_of_a_context_is_still_one(named: Callable[..., Any]) -> None:
    assert named("shorten").process({"context": "abcdef"})["context"] == "abc"


def test_an_object_takes_no_options(named: Callable[..., Any]) -> None:
    with pytest.raises(ConfigurationError, match="takes no options"):
        named("instance", keep=2)
