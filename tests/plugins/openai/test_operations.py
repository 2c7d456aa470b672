"""Completions and embeddings, sync and async, with the errors and retries of the chat endpoint."""

from __future__ import annotations

import asyncio
import base64
import struct
from typing import Any

import pytest

from context_bench_openai import (
    ChatClient,
    ContextTooLongError,
    EmbeddingReply,
    EndpointTimeoutError,
    EndpointUnreachableError,
    OpenAIProxy,
    ServerFailedError,
    UnusableReplyError,
)

EXAMPLE = {"context": "Rome is in Italy.", "question": "Where is Rome?"}
USAGE = {"prompt_tokens": 9, "completion_tokens": 2}


def _completion(text: Any = " Italy", **choice: Any) -> dict[str, Any]:
    choices = [{"index": 0, "text": text, "finish_reason": "stop", **choice}]
    return {"object": "text_completion", "model": "served", "choices": choices, "usage": USAGE}


def _embeddings(*vectors: Any, order: list[int] | None = None) -> dict[str, Any]:
    entries = [
        {"object": "embedding", "index": index, "embedding": vector}
        for index, vector in enumerate(vectors)
    ]
    listed = [entries[index] for index in order] if order else entries
    return {
        "object": "list",
        "model": "e5",
        "data": listed,
        "usage": {"prompt_tokens": 7, "total_tokens": 7},
    }


@pytest.fixture(params=["sync", "async"])
def do(request: pytest.FixtureRequest) -> Any:
    """Call a method of a client, or its asynchronous twin."""

    def call(
        url: str,
        method: str,
        *arguments: Any,
        client: dict[str, Any] | None = None,
        **parameters: Any,
    ) -> Any:
        options = {"model": "m", **(client or {})}
        if request.param == "sync":
            with ChatClient(url, **options) as asking:
                return getattr(asking, method)(*arguments, **parameters)

        async def ask() -> Any:
            async with ChatClient(url, **options) as asking:
                return await getattr(asking, f"a{method}")(*arguments, **parameters)

        return asyncio.run(ask())

    return call


def test_a_prompt_is_completed(server: Any, steps: Any, do: Any) -> None:
    server.play(steps.answer(200, _completion()))
    reply = do(server.url, "complete", "Rome is in", max_tokens=4, seed=None)
    assert (reply.text, reply.finish_reason, reply.model) == (" Italy", "stop", "served")
    assert reply.usage == {"input_tokens": 9, "output_tokens": 2}
    assert server.requests[0].path == "/v1/completions"
    assert server.requests[0].body == {"model": "m", "prompt": "Rome is in", "max_tokens": 4}


def test_a_streamed_completion_is_put_together(server: Any, steps: Any, do: Any) -> None:
    pieces = [
        {"choices": [{"index": 0, "text": piece, "finish_reason": None}]} for piece in ("Ita", "ly")
    ]
    end = {"choices": [{"index": 0, "text": "", "finish_reason": "length"}], "usage": USAGE}
    server.play(steps.stream(*pieces, end))
    reply = do(server.url, "complete", "Rome is in", stream=True)
    assert (reply.text, reply.finish_reason) == ("Italy", "length")
    assert reply.usage == {"input_tokens": 9, "output_tokens": 2}
    assert 0 < reply.ttft <= reply.latency


def test_texts_become_vectors_in_their_order(server: Any, steps: Any, do: Any) -> None:
    server.play(
        steps.answer(200, _embeddings([1, 0.5], [0.0, -1.0], order=[1, 0]), {"x-took": "3"})
    )
    reply = do(server.url, "embed", ["a", "b"], dimensions=2)
    assert isinstance(reply, EmbeddingReply)
    assert reply.vectors == ([1.0, 0.5], [0.0, -1.0])
    assert (reply.usage, reply.model, reply.headers) == (
        {"input_tokens": 7},
        "e5",
        {"x-took": "3"},
    )
    assert server.requests[0].path == "/v1/embeddings"
    assert server.requests[0].body == {"model": "m", "input": ["a", "b"], "dimensions": 2}


def test_packed_vectors_are_unpacked(server: Any, steps: Any, do: Any) -> None:
    packed = base64.b64encode(struct.pack("<3f", 1.0, -0.5, 0.25)).decode()
    server.play(steps.answer(200, _embeddings(packed)))
    assert do(server.url, "embed", ["a"], encoding_format="base64").vectors == ([1.0, -0.5, 0.25],)


@pytest.mark.parametrize(
    "base", ["", "/v1", "/v1/chat/completions", "/v1/completions", "/v1/embeddings/"]
)
def test_one_base_url_serves_all_operations(base: str, server: Any, steps: Any) -> None:
    with ChatClient(server.url + base, model="m") as client:
        client.chat([{"role": "user", "content": "Hello"}])
        server.play(steps.answer(200, _completion()))
        client.complete("Hello")
        server.play(steps.answer(200, _embeddings([1.0])))
        client.embed(["Hello"])
    assert [request.path for request in server.requests] == [
        "/v1/chat/completions",
        "/v1/completions",
        "/v1/embeddings",
    ]


METHODS: dict[str, tuple[Any, str]] = {
    "complete": ("Rome", "completions"),
    "embed": (["Rome"], "embeddings"),
}


@pytest.mark.parametrize("method", METHODS)
def test_every_operation_fails_like_chat(method: str, server: Any, steps: Any, do: Any) -> None:
    argument, path = METHODS[method]
    good = _completion() if method == "complete" else _embeddings([1.0])
    server.play(steps.cut_mid_body(), steps.answer(200, good))
    with pytest.raises(EndpointUnreachableError) as cut:
        do(server.url, method, argument)
    assert cut.value.retryable
    do(server.url, method, argument)
    server.play(steps.error(500, "Oops."))
    with pytest.raises(ServerFailedError, match=rf"/v1/{path} answered 500 .*: Oops\.") as failed:
        do(server.url, method, argument)
    assert (failed.value.retryable, failed.value.attempts) == (True, 1)
    server.play(steps.error(400, "This model's maximum context length is 512 tokens."))
    with pytest.raises(ContextTooLongError, match="maximum context length is 512 tokens"):
        do(server.url, method, argument)
    server.play(steps.silent())
    with pytest.raises(
        EndpointTimeoutError, match=rf"/v1/{path} gave no complete reply within 0.3 s"
    ):
        do(server.url, method, argument, client={"timeout": 0.3})


UNUSABLE: dict[str, tuple[str, Any, Any, str]] = {
    "a completion without text": (
        "complete",
        "x",
        {"choices": [{"index": 0}]},
        "a choice that holds no text",
    ),
    "a completion without choices": ("complete", "x", {"choices": []}, "an empty list of choices"),
    "a chat reply to a prompt": (
        "complete",
        "x",
        {"choices": [{"message": {"content": "x"}}]},
        "holds no text",
    ),
    "no data": ("embed", ["x"], {"object": "list"}, "without embeddings"),
    "data of nonsense": ("embed", ["x"], {"data": [7]}, "without embeddings"),
    "too few vectors": ("embed", ["x", "y"], _embeddings([1.0]), "1 vectors for 2 texts"),
    "too many vectors": ("embed", ["x"], _embeddings([1.0], [2.0]), "2 vectors for 1 texts"),
    "an empty vector": ("embed", ["x"], _embeddings([]), "no vector"),
    "a vector of words": ("embed", ["x"], _embeddings(["one"]), "no vector"),
    "a vector that is no base64": ("embed", ["x"], _embeddings("?!"), "no vector"),
    "half a number": (
        "embed",
        ["x"],
        _embeddings(base64.b64encode(b"abcde").decode()),
        "no vector",
    ),
    "a list": ("embed", ["x"], [1.0], "answered with list"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_an_answer_of_the_wrong_shape_is_unusable(
    case: str, server: Any, steps: Any, do: Any
) -> None:
    method, argument, body, words = UNUSABLE[case]
    server.play(steps.answer(200, body))
    with pytest.raises(UnusableReplyError, match=words):
        do(server.url, method, argument)
    assert len(server.requests) == 1


def test_one_text_instead_of_a_list_is_refused_before_a_call(server: Any, do: Any) -> None:
    with pytest.raises(TypeError, match="embed takes a list of texts"):
        do(server.url, "embed", "Rome")
    assert server.requests == []


# Completions as the system under test


def test_a_system_can_ask_with_a_prompt(server: Any, steps: Any, ask: Any) -> None:
    server.play(steps.answer(200, _completion(), {"x-kompact-tokens-saved": "3"}))
    system = OpenAIProxy(
        server.url, model="m", endpoint="completions", system_prompt="Be brief.", max_tokens=5
    )
    output = ask(system, EXAMPLE)
    assert (output["response"], output["usage"]["input_tokens"], output["finish_reason"]) == (
        " Italy",
        9,
        "stop",
    )
    assert output["headers"] == {"x-kompact-tokens-saved": "3"}
    assert server.requests[0].path == "/v1/completions"
    prompt = "Be brief.\n\nRome is in Italy.\n\nWhere is Rome?"
    assert server.requests[0].body == {"model": "m", "prompt": prompt, "max_tokens": 5}


PROMPTS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "context and question": ({}, EXAMPLE, "Rome is in Italy.\n\nWhere is Rome?"),
    "a context alone": ({}, {"context": "Rome"}, "Rome"),
    "a question that is the context": ({}, {"context": "Rome?", "question": "Rome? "}, "Rome?"),
    "a template": (
        {"prompt_template": "C: {context}\nQ: {question}\nA:"},
        EXAMPLE,
        "C: Rome is in Italy.\nQ: Where is Rome?\nA:",
    ),
    "braces that are no fields": (
        {"prompt_template": '{"a": {}} {{x}} {question}'},
        {"question": "{context}", "x": 1},
        '{"a": {}} {1} {context}',
    ),
    "a template with other fields": (
        {"prompt_template": "{question} {choices}"},
        {"question": "Which?", "choices": ["a", "b"]},
        "Which? a\n\nb",
    ),
    "a template and a system prompt": (
        {"prompt_template": "{question}", "system_prompt": "Be brief."},
        EXAMPLE,
        "Be brief.\n\nWhere is Rome?",
    ),
}


@pytest.mark.parametrize("case", PROMPTS)
def test_a_prompt_is_made_of_the_example(case: str, server: Any, steps: Any) -> None:
    options, example, prompt = PROMPTS[case]
    server.play(steps.answer(200, _completion()))
    OpenAIProxy(server.url, endpoint="completions", **options).process(example)
    assert server.requests[0].body["prompt"] == prompt


def test_a_template_makes_the_one_user_message_of_a_chat(server: Any, ask: Any) -> None:
    system = OpenAIProxy(
        server.url, prompt_template="{question}\n---\n{context}", system_prompt="Be brief."
    )
    ask(system, EXAMPLE)
    assert server.requests[0].body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Where is Rome?\n---\nRome is in Italy."},
    ]


def test_a_template_says_what_it_reads() -> None:
    assert OpenAIProxy("http://h", prompt_template="{question} {choices}").reads == (
        "context",
        "question",
        "instruction",
        "context_role",
        "shots",
        "sessions",
        "haystack_sessions",
        "turns",
        "multi_turn",
        "choices",
    )


@pytest.mark.parametrize(
    ("options", "example", "words"),
    [
        ({}, {"turns": ["a", "b"]}, "A conversation .* needs the chat endpoint"),
        ({}, {"id": "1"}, "There is nothing to ask: .* It has: id."),
        (
            {"prompt_template": "{choices}"},
            EXAMPLE,
            "names {choices}, .* It has: context, question.",
        ),
    ],
)
def test_an_example_that_makes_no_prompt_fails_its_row_before_a_call(
    options: Any, example: Any, words: str, server: Any, ask: Any
) -> None:
    with pytest.raises(ValueError, match=words):
        ask(OpenAIProxy(server.url, endpoint="completions", **options), example)
    assert server.requests == []


def test_a_system_that_asks_with_prompts_has_no_conversations(server: Any) -> None:
    system = OpenAIProxy(server.url, endpoint="completions")
    for call in (system.process_turn, system.process_conversation):
        with pytest.raises(ValueError, match="needs the chat endpoint"):
            call(["a", "b"])
    for acall in (system.aprocess_turn, system.aprocess_conversation):
        with pytest.raises(ValueError, match="needs the chat endpoint"):
            asyncio.run(acall(["a", "b"]))
    assert server.requests == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"endpoint": "responses"},
            "No endpoint is called 'responses'. There is: chat, completions.",
        ),
        ({"endpoint": "completions", "layout": "tool"}, "layout and build_messages make messages"),
        (
            {"endpoint": "completions", "max_completion_tokens": 5},
            "knows max_tokens, not max_completion_tokens",
        ),
        ({"prompt_template": "{question}", "layout": "user"}, "stands in place of layout"),
        ({"prompt_template": "no field"}, "names no field of the example"),
        ({"max_tokens": 5, "max_completion_tokens": 5}, "not both"),
        ({"seed": 1, "extra_body": {"seed": 2}}, "'seed' is given twice"),
        ({"extra_body": {"prompt": "x"}}, "may not hold 'prompt'"),
        ({"stop": []}, "stop must be one or more texts"),
        ({"stop": [""]}, "stop must be one or more texts"),
        ({"top_logprobs": -1}, "top_logprobs must be a whole number"),
    ],
)
def test_options_that_contradict_each_other_are_refused_in_one_line(
    options: Any, words: str
) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        OpenAIProxy("http://host", **options)
    assert "\n" not in str(caught.value)


# What is asked besides


def test_sampling_options_are_sent_as_they_are_named(server: Any, ask: Any) -> None:
    system = OpenAIProxy(
        server.url,
        temperature=0.0,
        top_p=0.5,
        seed=3,
        max_completion_tokens=7,
        stop=["\n", 42],  # type: ignore[list-item]  # a command line reads 42 as a number
        extra_body='{"cache_prompt": false, "presence_penalty": 0.1}',
    )
    ask(system, EXAMPLE)
    body = dict(server.requests[0].body)
    del body["model"], body["messages"]
    assert body == {
        "temperature": 0.0,
        "top_p": 0.5,
        "seed": 3,
        "max_completion_tokens": 7,
        "stop": ["\n", "42"],
        "cache_prompt": False,
        "presence_penalty": 0.1,
    }


LOGPROBS = {
    "content": [
        {"token": "It", "logprob": -0.1, "top_logprobs": []},
        {"token": "aly", "logprob": -0.2},
    ]
}


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ({}, {}),
        ({"logprobs": True}, {"logprobs": True}),
        ({"top_logprobs": 3}, {"logprobs": True, "top_logprobs": 3}),
        ({"logprobs": True, "endpoint": "completions"}, {"logprobs": 1}),
        ({"top_logprobs": 3, "endpoint": "completions"}, {"logprobs": 3}),
    ],
)
def test_log_probabilities_are_asked_for_in_the_words_of_the_endpoint(
    options: Any, sent: Any, server: Any
) -> None:
    system = OpenAIProxy(server.url, **options)
    try:
        system.process(EXAMPLE)
    except UnusableReplyError:
        assert options["endpoint"] == "completions"  # the server answers in the shape of a chat
    body = server.requests[0].body
    assert {name: body[name] for name in ("logprobs", "top_logprobs") if name in body} == sent


def test_log_probabilities_that_were_asked_for_are_in_the_output(
    server: Any, steps: Any, ask: Any
) -> None:
    completion = steps.completion("Italy")
    completion["choices"][0]["logprobs"] = LOGPROBS
    server.play(steps.answer(200, completion))
    assert ask(OpenAIProxy(server.url, logprobs=True), EXAMPLE)["logprobs"] == LOGPROBS
    server.play(steps.ok())
    assert "logprobs" not in ask(OpenAIProxy(server.url), EXAMPLE)


def test_streamed_log_probabilities_are_put_together(server: Any, steps: Any, ask: Any) -> None:
    first, second = LOGPROBS["content"]
    server.play(
        steps.stream(
            steps.delta("It", logprobs={"content": [first]}),
            steps.delta("aly", logprobs={"content": [second]}),
            steps.delta(finish_reason="stop", logprobs=None),
        )
    )
    assert ask(OpenAIProxy(server.url, stream=True, logprobs=True), EXAMPLE)["logprobs"] == LOGPROBS


ACCOUNTS: dict[str, tuple[dict[str, Any], dict[str, str], tuple[str | None, str | None]]] = {
    "neither": ({}, {}, (None, None)),
    "given": ({"organization": "org-1", "project": "p-1"}, {}, ("org-1", "p-1")),
    "of the environment": ({}, {"OPENAI_ORG_ID": "org-2", "OPENAI_PROJECT_ID": "p-2"}, ("org-2", "p-2")),
    "given wins": ({"organization": "org-1", "project": ""}, {"OPENAI_ORG_ID": "2", "OPENAI_PROJECT_ID": "2"}, ("org-1", None)),
}  # fmt: skip


@pytest.mark.parametrize("case", ACCOUNTS)
def test_who_is_billed_is_said_in_headers_and_not_in_the_fingerprint(
    case: str, server: Any, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, environment, sent = ACCOUNTS[case]
    plain = OpenAIProxy(server.url).fingerprint()
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    system = OpenAIProxy(server.url, **options)
    ask(system, EXAMPLE)
    headers = server.requests[0].headers
    assert (headers.get("openai-organization"), headers.get("openai-project")) == sent
    assert system.fingerprint() == plain


def test_headers_of_the_environment_are_sent_and_part_of_the_fingerprint(
    server: Any, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_EXTRA_HEADERS", "X-Mode: hard\n\n  x-api-key: sk-secret-9\n")
    system = OpenAIProxy(server.url)
    ask(system, EXAMPLE)
    assert server.requests[0].headers["x-mode"] == "hard"
    assert server.requests[0].headers["x-api-key"] == "sk-secret-9"
    shown = system.fingerprint()["headers"]
    assert shown.keys() == {"x-api-key", "x-mode"}
    assert shown["x-api-key"] is None
    assert shown["x-mode"].startswith("sha256:")
    ask(OpenAIProxy(server.url, extra_headers={}), EXAMPLE)
    assert "x-mode" not in server.requests[1].headers
