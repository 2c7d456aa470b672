from __future__ import annotations

import asyncio
import gc
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from context_bench_openai import ChatClient, ChatReply, EndpointError, OpenAIProxy

HELLO = [{"role": "user", "content": "Hello"}]


def test_a_client_asks_and_returns_a_reply(server: Any, steps: Any) -> None:
    server.play(steps.ok("Hi"))
    with ChatClient(server.url, model="m") as client:
        reply = client.chat(HELLO, temperature=0, seed=None)
    assert isinstance(reply, ChatReply)
    assert (reply.text, reply.usage, reply.finish_reason) == (
        "Hi",
        {"input_tokens": 11, "output_tokens": 3},
        "stop",
    )
    assert server.requests[0].body == {"model": "m", "messages": HELLO, "temperature": 0}


def test_a_call_may_name_another_model(server: Any) -> None:
    with ChatClient(server.url, model="m") as client:
        client.chat(HELLO, model="n")
    assert server.requests[0].body["model"] == "n"


KEYS: dict[str, tuple[dict[str, Any], str | None, str | None]] = {
    "an explicit key": ({"api_key": " sk-a\n"}, "sk-env", "Bearer sk-a"),
    "the key of the environment": ({}, "sk-env", "Bearer sk-env"),
    "an empty key sends none": ({"api_key": ""}, "sk-env", None),
    "no key": ({}, None, None),
}


@pytest.mark.parametrize("case", KEYS)
def test_the_key_is_the_given_one_or_that_of_the_environment(
    case: str, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, environment, sent = KEYS[case]
    if environment is not None:
        monkeypatch.setenv("OPENAI_API_KEY", environment)
    with ChatClient(server.url, **options) as client:
        client.chat(HELLO)
    assert server.requests[0].headers.get("authorization") == sent


def test_a_user_name_in_the_base_url_is_basic_authorization(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    for key in (None, "", "sk-env"):
        with ChatClient(server.url.replace("//", "//me:p%40ss@"), key) as client:
            client.chat(HELLO)
    assert {request.headers["authorization"] for request in server.requests} == {
        "Basic bWU6cEBzcw=="
    }


@pytest.mark.parametrize(
    "headers", [{"X-Mode": "hard"}, ["X-Mode: hard"], "X-Mode: hard"], ids=["map", "list", "line"]
)
def test_extra_headers_are_sent(headers: Any, server: Any) -> None:
    with ChatClient(server.url, extra_headers=headers) as client:
        client.chat(HELLO)
    assert server.requests[0].headers["x-mode"] == "hard"


def test_no_secret_is_in_what_python_shows_of_a_client() -> None:
    client = ChatClient(
        "https://me:s3cret-a@host?key=s3cret-b", extra_headers={"x-api-key": "s3cret-c"}
    )
    assert "s3cret" not in repr(client) + repr(client.endpoint) + repr(
        OpenAIProxy("http://h", api_key="s3cret")
    )


def test_connections_are_reused(server: Any) -> None:
    with ChatClient(server.url) as client:
        for _ in range(5):
            client.chat(HELLO)
    assert len(server.requests) == 5
    assert len(server._threads) == 2  # the listener and one connection


def test_threads_share_a_client(server: Any) -> None:
    with ChatClient(server.url) as client, ThreadPoolExecutor(16) as pool:
        texts = list(pool.map(lambda number: client.chat(HELLO, seed=number).text, range(200)))
    assert texts == ["fine"] * 200
    assert sorted(request.body["seed"] for request in server.requests) == list(range(200))


def test_many_rows_are_in_flight_on_one_loop(server: Any, steps: Any) -> None:
    from threading import Barrier

    together = Barrier(100, timeout=10)

    def step(server: Any, connection: Any, request: Any) -> bool:
        together.wait()  # answers nobody before all have asked
        return bool(steps.ok(request.body["messages"][0]["content"])(server, connection, request))

    server.play(step)
    system = OpenAIProxy(server.url)

    async def run() -> list[str]:
        rows = [system.aprocess({"context": f"row {number}"}) for number in range(100)]
        return [output["response"] for output in await asyncio.gather(*rows)]

    assert asyncio.run(run()) == [f"row {number}" for number in range(100)]


def test_one_client_serves_one_event_loop_after_another_and_leaves_nothing_open(
    server: Any,
) -> None:
    system = OpenAIProxy(server.url)
    for _ in range(3):
        assert asyncio.run(system.aprocess({"context": "x"}))["response"] == "fine"
    del system
    gc.collect()  # an unclosed connection would warn here, and a warning fails the test


def test_a_closed_client_opens_again(server: Any) -> None:
    system = OpenAIProxy(server.url)
    system.process({"context": "x"})
    system.close()
    assert system.process({"context": "x"})["response"] == "fine"

    async def run() -> str:
        await system.aprocess({"context": "x"})
        await system.aclose()
        return str((await system.aprocess({"context": "x"}))["response"])

    assert asyncio.run(run()) == "fine"


def test_a_client_may_be_an_asynchronous_context(server: Any) -> None:
    async def run() -> str:
        async with ChatClient(server.url) as client:
            return (await client.achat(HELLO)).text

    assert asyncio.run(run()) == "fine"


def test_a_system_can_be_sent_to_another_process(server: Any) -> None:
    system = OpenAIProxy(server.url, name="there", temperature=0.0)
    system.process({"context": "x"})
    copy = pickle.loads(pickle.dumps(system))
    assert copy.process({"context": "x"})["response"] == "fine"
    assert (copy.name, copy.fingerprint()) == (system.name, system.fingerprint())


def test_an_error_can_be_sent_to_another_process(server: Any, steps: Any) -> None:
    server.play(steps.error(429, "Slow down.", headers={"retry-after": "0"}))
    with pytest.raises(EndpointError) as caught:
        OpenAIProxy(server.url).process({"context": "x"})
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (type(copy), str(copy)) == (type(caught.value), str(caught.value))
    assert (copy.status, copy.attempts, copy.retryable, copy.retry_after) == (429, 1, True, 0.0)


def test_a_proxy_of_the_environment_is_not_used_for_this_machine(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert OpenAIProxy(server.url).process({"context": "x"})["response"] == "fine"


def test_values_that_are_no_json_are_refused_before_a_call(server: Any) -> None:
    with ChatClient(server.url) as client:
        with pytest.raises(ValueError, match="JSON compliant"):
            client.chat(HELLO, temperature=float("nan"))
        with pytest.raises(TypeError, match="not JSON serializable"):
            client.chat(HELLO, stop=object())
    assert server.requests == []
