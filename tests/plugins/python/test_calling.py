"""Who is recognised, what it is given, and what becomes of what it returns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple, NewType, Optional

import pytest

from context_bench_python import PythonSystem, PythonTransformer

EXAMPLE = {
    "id": "1",
    "context": "Rome is in Italy.",
    "question": "Where is Rome?",
    "answer": "Italy",
    "lang": "en",
}


@dataclass
class Document:
    """Shaped like LangChain's."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)


class Node:
    """Shaped like LlamaIndex's NodeWithScore."""

    def __init__(self, text: str) -> None:
        self.node = SimpleNamespace(get_content=lambda: text)
        self.score = 0.5


class Message:
    """Shaped like LangChain's AIMessage."""

    def __init__(self, content: Any, **more: Any) -> None:
        self.content = content
        vars(self).update(more)


class Runnable:
    """Shaped like a LangChain Runnable; remembers what it was given."""

    def __init__(self, returns: Any, **attributes: Any) -> None:
        self.returns = returns
        self.given: list[Any] = []
        vars(self).update(attributes)

    def invoke(self, given: Any, config: Any = None) -> Any:
        self.given.append(("sync", given))
        return self.returns

    async def ainvoke(self, given: Any, config: Any = None) -> Any:
        self.given.append(("async", given))
        return self.returns


class Engine:
    """Shaped like a LlamaIndex query engine."""

    class Response:
        response = "Italy"
        source_nodes = (Node("Rome is in Italy."), Node("Italy is in Europe."))

        def __str__(self) -> str:
            return "Italy"

    def query(self, text: str) -> Response:
        assert text == "Where is Rome?"
        return self.Response()


def system(thing: Any, **options: Any) -> PythonSystem:
    return PythonSystem(thing, **{"version": "1", **options})


def returning(value: Any) -> Callable[[Any], Any]:
    def answer(example: Any) -> Any:
        return value

    return answer


def test_a_llama_index_query_engine_is_asked_the_question_and_its_nodes_are_the_retrieved_contexts() -> (
    None
):
    assert system(Engine()).process(EXAMPLE) == {
        "response": "Italy",
        "retrieved_contexts": ["Rome is in Italy.", "Italy is in Europe."],
    }


class Answer(NamedTuple):
    response: str
    retrieved_contexts: Sequence[str]
    usage: Mapping[str, int]


class Found(NamedTuple):
    response: str
    contexts: Sequence[str]


@pytest.mark.parametrize(
    ("returned", "output"),
    [
        (
            Answer("Italy", ["Rome is in Italy."], {"input_tokens": 3}),
            {
                "response": "Italy",
                "retrieved_contexts": ["Rome is in Italy."],
                "usage": {"input_tokens": 3},
            },
        ),
        (
            Found("Italy", ["Rome is in Italy."]),
            {"response": "Italy", "retrieved_contexts": ["Rome is in Italy."]},
        ),
    ],
    ids=["with the names of an output", "a pair"],
)
def test_a_named_tuple_is_an_object_with_attributes(returned: Any, output: dict[str, Any]) -> None:
    assert system(returning(returned)).process(EXAMPLE) == output


class Words(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("annotation", "given"),
    [
        (None, "text"),
        (str, "text"),
        ("str", "text"),
        (Optional[str], "text"),  # noqa: UP045 - what users write
        ("str | None", "text"),
        (Annotated[str, "asked"], "text"),
        (Annotated[Optional[str], "asked"], "text"),  # noqa: UP045 - what users write
        (NewType("Question", str), "text"),
        (Words, "text"),
        (Any, "text"),
        (object, "text"),
        (str | dict, "text"),
        ("Unknown", "example"),
        (dict, "example"),
        (Mapping[str, Any], "example"),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["question", "row"])
def test_a_parameter_gets_text_where_its_annotation_or_else_its_name_says_so(
    annotation: Any, given: str, name: str
) -> None:
    """`question: str | None` got the whole example, though the name and the annotation both say text."""
    scope: dict[str, Any] = {}
    exec(f"def answer({name}): return type({name}).__name__", scope)
    function = scope["answer"]
    function.__annotations__ = {} if annotation is None else {name: annotation}
    by_name = annotation is None or annotation in (Any, object, str | dict)
    wanted = "dict" if given == "example" or (by_name and name == "row") else "str"
    assert system(function).process(EXAMPLE) == {"response": wanted}


def test_a_query_engine_with_aquery_alone_is_awaited() -> None:
    class Later:
        async def aquery(self, text: str) -> Any:
            return Engine.Response()

    asked = system(Later())
    assert asyncio.run(asked.aprocess(EXAMPLE)) == asked.process(EXAMPLE)
    assert asked.process(EXAMPLE)["response"] == "Italy"


@pytest.mark.parametrize(
    ("attributes", "given"),
    [
        ({}, "Where is Rome?"),
        (
            {"input_variables": ["question", "context"]},
            {"question": "Where is Rome?", "context": "Rome is in Italy."},
        ),
        ({"input_keys": ["query"]}, {"query": "Where is Rome?"}),
        (
            {"first": Runnable(None, input_variables=["input", "lang"])},
            {"input": "Where is Rome?", "lang": "en"},
        ),
        ({"first": Runnable(None)}, "Where is Rome?"),
        (
            {"bound": Runnable(None, first=Runnable(None, mapper=3))},
            {"input": "Where is Rome?", "question": "Where is Rome?"},
        ),
    ],
    ids=[
        "a chain that takes text",
        "a prompt",
        "a retrieval chain",
        "a pipe that begins with a prompt",
        "a pipe",
        "an assignment",
    ],
)
def test_a_runnable_is_given_what_it_asks_for(attributes: dict[str, Any], given: Any) -> None:
    runnable = Runnable("Italy", **attributes)
    assert system(runnable).process(EXAMPLE) == {"response": "Italy"}
    assert runnable.given == [("sync", given)]


@pytest.mark.parametrize(
    ("choice", "given"),
    [
        ("example", EXAMPLE),
        ("prompt", "Rome is in Italy.\n\nWhere is Rome?"),
        ("context", "Rome is in Italy."),
        ("lang", "en"),
    ],
)
def test_the_input_can_be_chosen(choice: str, given: Any) -> None:
    runnable = Runnable("Italy")
    system(runnable, input=choice).process(EXAMPLE)
    assert runnable.given == [("sync", given)]


def test_call_async_awaits_a_runnable() -> None:
    runnable = Runnable("Italy")
    asked = system(runnable, call="async")
    assert asyncio.run(asked.aprocess(EXAMPLE)) == {"response": "Italy"}
    assert runnable.given == [("async", "Where is Rome?")]
    assert not hasattr(system(runnable), "aprocess")


def one_text(text: str) -> str:
    return f"text {text}"


def one_question(question) -> str:  # type: ignore[no-untyped-def]
    return f"question {question}"


def one_prompt(prompt: str) -> str:
    return prompt


def several(question, context, lang="de", missing=1):  # type: ignore[no-untyped-def]
    return f"{question} {context} {lang} {missing}"


def keywords(*, query, context):  # type: ignore[no-untyped-def]
    return f"{query} {context}"


@pytest.mark.parametrize(
    ("function", "response"),
    [
        (lambda example: example["lang"], "en"),
        (one_text, "text Rome is in Italy."),
        (one_question, "question Where is Rome?"),
        (one_prompt, "Rome is in Italy.\n\nWhere is Rome?"),
        (several, "Where is Rome? Rome is in Italy. en 1"),
        (keywords, "Where is Rome? Rome is in Italy."),
        (lambda *arguments: arguments[0]["lang"], "en"),
    ],
    ids=["example", "text", "question", "prompt", "several", "keywords", "any"],
)
def test_a_function_is_given_what_its_parameters_ask_for(function: Any, response: str) -> None:
    assert system(function).process(EXAMPLE) == {"response": response}


def test_a_field_that_is_not_there_is_a_failure_of_the_row() -> None:
    with pytest.raises(ValueError, match="the example has no field 'passage'; it has id, question"):
        system(lambda passage, question: "x").process({"id": "1", "question": "q"})


@pytest.mark.parametrize(
    ("returned", "output"),
    [
        ("Italy", {"response": "Italy"}),
        ("", {"response": ""}),
        ({"response": "Italy", "usage": {"input_tokens": 3}}, {"response": "Italy", "usage": {"input_tokens": 3}}),
        ({"context": "short"}, {"context": "short"}),
        ({**EXAMPLE, "context": "short"}, {**EXAMPLE, "context": "short"}),
        (("Italy", ["a", Document("b")]), {"response": "Italy", "retrieved_contexts": ["a", "b"]}),
        (
            {"response": "Italy", "retrieved_contexts": [{"text": "a"}, Node("b")]},
            {"response": "Italy", "retrieved_contexts": ["a", "b"]},
        ),
        (
            {"input": "q", "context": [Document("a")], "answer": "Italy"},
            {"input": "q", "response": "Italy", "retrieved_contexts": ["a"]},
        ),
        (
            {"query": "q", "result": "Italy", "source_documents": [Document("a")]},
            {"query": "q", "response": "Italy", "retrieved_contexts": ["a"]},
        ),
        (Message([{"type": "text", "text": "It"}, {"type": "text", "text": "aly"}]), {"response": "Italy"}),
        (
            Message(
                "Italy",
                usage_metadata={
                    "input_tokens": 9,
                    "output_tokens": 2,
                    "total_tokens": 11,
                    "input_token_details": {"cache_read": 4},
                    "output_token_details": {"reasoning": 1},
                },
                response_metadata={"finish_reason": "stop", "model_name": "m"},
            ),
            {
                "response": "Italy",
                "usage": {"input_tokens": 9, "output_tokens": 2, "cache_read_tokens": 4, "reasoning_tokens": 1},
                "finish_reason": "stop",
                "model": "m",
            },
        ),
        (SimpleNamespace(response="Italy", retrieved_contexts=["a"]), {"response": "Italy", "retrieved_contexts": ["a"]}),
    ],
    ids=[
        "text", "empty text", "mapping", "context", "the example with a new context", "pair", "contexts", "retrieval chain",
        "RetrievalQA", "parts", "message", "object",
    ],
)  # fmt: skip
def test_what_is_returned_becomes_the_output(returned: Any, output: dict[str, Any]) -> None:
    assert system(Runnable(returned)).process(EXAMPLE) == output


@pytest.mark.parametrize(
    ("returned", "error", "said"),
    [
        (None, TypeError, "it returned None: return the response as text"),
        (3, TypeError, "it returned int"),
        (b"x", TypeError, "it returned bytes"),
        (["a"], TypeError, "it returned list"),
        ((c for c in "ab"), TypeError, "it returned a generator"),
        ({"text": "x"}, ValueError, "it returned a mapping with text, and no 'response'"),
        ({}, ValueError, "a mapping with nothing"),
        ({"response": 3}, TypeError, "'response' of what it returned is int, not text"),
        (
            {"response": "x", "retrieved_contexts": "a"},
            TypeError,
            "'retrieved_contexts' of what it returned is str",
        ),
        (("x", [3]), TypeError, "retrieved context 1 is int, which holds no text"),
        (object(), TypeError, "it returned object, which has neither an attribute response"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_what_is_no_output_is_told(returned: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said) as caught:
        system(returning(returned)).process(EXAMPLE)
    assert "answer" in str(caught.value).split(":")[1]  # the target is named


def test_the_gold_answer_that_comes_back_with_the_input_is_no_response() -> None:
    with pytest.raises(ValueError, match="no 'response'"):
        system(
            lambda example: {"question": example["question"], "answer": example["answer"]}
        ).process(EXAMPLE)


def test_a_transformer_returns_the_new_context() -> None:
    shorter = PythonTransformer(lambda context: context[:4], version="1", input="context")
    assert shorter.process(EXAMPLE) == {"context": "Rome"}
    with pytest.raises(TypeError, match="return the context as text"):
        PythonTransformer(returning(None), version="1").process(EXAMPLE)


def test_an_async_function_is_awaited_from_both_doors() -> None:
    async def answer(example: Any) -> str:
        await asyncio.sleep(0)
        return example["lang"]

    asked = system(answer)
    assert asked.process(EXAMPLE) == asyncio.run(asked.aprocess(EXAMPLE)) == {"response": "en"}
    hidden = system(lambda example: answer(example))
    assert hidden.process(EXAMPLE) == {"response": "en"}


def test_leaving_python_is_a_failure_of_the_row_and_errors_go_through() -> None:
    def leave(example: Any) -> None:
        raise SystemExit(4)

    def broken(example: Any) -> None:
        raise LookupError("no index")

    with pytest.raises(RuntimeError, match=r"left Python with sys.exit\(4\)"):
        system(leave).process(EXAMPLE)
    with pytest.raises(LookupError, match="no index"):
        system(broken).process(EXAMPLE)
