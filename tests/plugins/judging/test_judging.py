"""The one client of all judges: its cache, its bound, its interfaces, and how replies are read."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.records import Scores
from context_bench_http import EndpointError
from context_bench_judging import (
    ClientPolicy,
    JudgedEvaluator,
    LanguageModel,
    PromptBook,
    ReplyCache,
    Transcript,
    UnreadableReply,
    ask_object,
    atalk,
    judge_model,
    language_model,
    talk,
)
from context_bench_openai import ChatClient, ChatReply

ASKED = [{"role": "user", "content": "How many?"}]


def model(fake: Any, name: str = "m", **settings: Any) -> LanguageModel:
    return judge_model(fake.url, name, max_retries=0, **settings)


def count_of(fake: Any, repairs: int = 2, judge: LanguageModel | None = None) -> Any:
    def read(fields: Any) -> int:
        if not isinstance(fields["count"], int):
            raise UnreadableReply(f"count is {fields['count']!r}, not a whole number")
        return fields["count"]

    transcript = Transcript()

    def asked() -> Any:
        return ask_object(
            ASKED,
            {"count": {"type": "integer"}},
            read,
            parameters={"temperature": 0},
            client_policy=ClientPolicy(),
            transcript=transcript,
            repairs=repairs,
        )

    return talk(judge or model(fake), asked), transcript.details()


READABLE = {
    "plain": '{"count": 3}',
    "fenced": 'Here you are:\n```json\n{"count": 3}\n```\nAnything else?',
    "after reasoning": '<think>{"count": 9}?</think>{"count": 3}',
    "the last of two": '{"count": 9}\nNo, wait: {"count": 3}',
    "another spelling": '{"Count": 3, "note": "x"}',
    "a comma behind the last field": 'It holds {"count": 3, "note": "x",}',
    "commas behind a list and its object": '{"notes": ["a", "b",\n],\n "count": 3,\n}',
    "line breaks inside a text": '{"note": "two lines:\n{1}\n\t- one", "count": 3}',
    "inside talk": 'The answer is {"count": 3}.',
    "behind many formulas": r"\frac{1}{2} + " * 500 + 'so {"count": 3}',
    "before many formulas": '{"count": 3} as ' + r"\frac{1}{2} + " * 500,
}


@pytest.mark.parametrize("text", READABLE.values(), ids=READABLE)
def test_an_object_is_read_from_every_form_of_reply(text: str, fake: Any) -> None:
    fake.says(text)
    count, details = count_of(fake)
    assert (count, details["calls"]) == (3, 1)
    assert details["usage"] == {"input_tokens": 40, "output_tokens": 5}
    sent = fake.requests[0]
    assert sent["response_format"]["json_schema"]["schema"]["required"] == ["count"]
    assert sent["temperature"] == 0


@pytest.mark.parametrize("text", ["three", '{"number": 3}', '{"count": "three"}', "{broken", "[3]"])
def test_a_reply_that_cannot_be_read_goes_back_with_the_reason(text: str, fake: Any) -> None:
    fake.says(text, '{"count": 3}')
    count, details = count_of(fake)
    assert (count, details["calls"]) == (3, 2)
    first, answered, repair = fake.requests[1]["messages"]
    assert first == ASKED[0]
    assert answered == {"role": "assistant", "content": text}
    assert repair["content"].startswith("That cannot be read: ")
    assert "with the field count" in repair["content"]


def test_after_all_repairs_the_reply_is_unreadable(fake: Any) -> None:
    fake.says("three")
    with pytest.raises(UnreadableReply, match="there is no JSON object with 'count' in 'three'"):
        count_of(fake, repairs=2)
    assert len(fake.requests) == 3


@pytest.mark.parametrize(
    ("saying", "reason"),
    [
        ({"message": {"refusal": "I will not."}}, "the judge refused: 'I will not.'"),
        ({"message": {"content": ""}, "finish_reason": "content_filter"}, "the judge refused"),
    ],
)
def test_a_refusal_is_not_asked_again(saying: Any, reason: str, fake: Any) -> None:
    fake.says(saying)
    with pytest.raises(UnreadableReply, match=reason):
        count_of(fake)
    assert len(fake.requests) == 1


def test_a_reply_that_was_cut_says_so(fake: Any) -> None:
    fake.says({"message": {"content": '{"count": '}, "finish_reason": "length"})
    with pytest.raises(UnreadableReply, match="was cut at its token limit"):
        count_of(fake, repairs=0)


def test_a_server_without_schemas_is_asked_without(fake: Any) -> None:
    fake.says((400, "response_format is not supported"), '{"count": 3}')
    assert count_of(fake)[0] == 3
    assert "response_format" not in fake.requests[1]


def test_a_failing_server_is_an_endpoint_error(fake: Any) -> None:
    fake.says((500, "broken"))
    with pytest.raises(EndpointError, match="broken"):
        count_of(fake)


def test_the_cache_is_keyed_by_endpoint_model_messages_and_parameters(
    fake: Any, tmp_path: Path
) -> None:
    fake.says("a")
    file = tmp_path / "deep" / "replies.sqlite"
    one, two = model(fake, "one", cache=file), model(fake, "two", cache=file)
    first = one.chat(ASKED, temperature=0)
    again = one.chat(ASKED, temperature=0)
    assert (first.text, first.is_cached, again.text, again.is_cached) == ("a", False, "a", True)
    assert again.usage == first.usage
    assert len(fake.requests) == 1
    two.chat(ASKED, temperature=0)
    one.chat(ASKED, temperature=1)
    one.chat([*ASKED, *ASKED], temperature=0)
    assert len(fake.requests) == 4
    reopened = model(fake, "one", cache=file)
    assert asyncio.run(reopened.achat(ASKED, temperature=0)).is_cached
    assert len(fake.requests) == 4
    for judge in (one, two, reopened):
        judge.close()


def test_a_failure_is_not_cached(fake: Any, tmp_path: Path) -> None:
    judge = model(fake, cache=tmp_path / "c.sqlite")
    fake.says((500, "broken"), "good")
    with pytest.raises(EndpointError):
        judge.chat(ASKED)
    assert judge.chat(ASKED).text == "good"
    judge.close()


GOOD, *BAD = '{"count": 3}', "many", "lots", "some", "few"
CUT = [{"message": {"content": f'{{"count{n}": '}, "finish_reason": "length"} for n in range(3)]


@pytest.mark.parametrize(
    ("sayings", "calls"),
    [
        ([*BAD[:3], GOOD], [3, 1, 0]),
        ([BAD[0], GOOD], [2, 0]),
        ([*BAD, GOOD], [3, 2, 0]),
        ([{"message": {"content": None, "refusal": "no"}}, GOOD], [1, 1, 0]),
        ([*CUT, GOOD], [3, 1, 0]),
        ([BAD[0], (500, "broken"), GOOD], [2, 1, 0]),
    ],
    ids=[
        "never readable",
        "readable once repaired",
        "readable in the rerun's repair",
        "refused",
        "cut",
        "a failing server",
    ],
)
def test_a_rerun_asks_a_question_again_that_ended_without_a_readable_reply(
    sayings: list[Any], calls: list[int], fake: Any, tmp_path: Path
) -> None:
    fake.says(*sayings)
    for expected in calls:
        judge, before = model(fake, cache=tmp_path / "c.sqlite"), len(fake.requests)
        with contextlib.suppress(UnreadableReply, EndpointError):
            assert count_of(fake, repairs=2, judge=judge)[0] == 3
        judge.close()
        assert len(fake.requests) - before == expected


def test_what_could_be_read_before_an_unreadable_reply_is_not_asked_again(
    fake: Any, tmp_path: Path
) -> None:
    class Twice(JudgedEvaluator):
        name, prompts, prompts_version = "twice", {"one": "One?", "two": "Two?"}, "1"

        def _judgement(self, original: Any, processed: Any, asker: Any) -> Any:
            for prompt in ("one", "two"):
                yield from asker.ask(
                    prompt, {"count": {"type": "integer"}}, lambda found: int(found["count"])
                )
            return Scores({"twice": 1.0})

    fake.says(GOOD, BAD[0], GOOD)
    judge = Twice(llm=model(fake, cache=tmp_path / "c.sqlite"), repairs=0)
    first, second, third = (judge.score({}, {"response": "x"}) for _ in range(3))
    judge.close()
    assert first.details["unscored"].startswith("unreadable: ")
    assert second == third == {"twice": 1.0}
    assert [request["messages"][-1]["content"] for request in fake.requests] == [
        "One?",
        "Two?",
        "Two?",
    ]


@pytest.mark.parametrize("is_readable", [True, False], ids=["readable now", "unreadable still"])
@pytest.mark.parametrize("is_async", [False, True], ids=["blocking", "on an event loop"])
def test_a_reply_that_an_earlier_version_kept_and_that_cannot_be_read_is_asked_for_anew(
    is_readable: bool, is_async: bool, fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Both(JudgedEvaluator):
        name, prompts, prompts_version = "both", {"one": "One?", "two": "Two?"}, "1"

        def _judgement(self, original: Any, processed: Any, asker: Any) -> Any:
            for prompt in ("one", "two"):
                yield from asker.ask(
                    prompt, {"count": {"type": "integer"}}, lambda found: int(found["count"])
                )
            return Scores({"both": 1.0})

    judge = Both(llm=model(fake, cache=tmp_path / "c.sqlite"), repairs=0)
    with monkeypatch.context() as earlier:
        earlier.setattr(ReplyCache, "forget", lambda self, keys: None)
        fake.says(GOOD, BAD[0])
        assert judge.score({}, {"response": "x"}).details["unscored"].startswith("unreadable: ")
    fake.says(GOOD if is_readable else BAD[0])
    before = len(fake.requests)
    again = (
        asyncio.run(judge.ascore({}, {"response": "x"}))
        if is_async
        else judge.score({}, {"response": "x"})
    )
    judge.close()
    assert again == ({"both": 1.0} if is_readable else {})
    assert [request["messages"][-1]["content"] for request in fake.requests[before:]] == ["Two?"]


def test_keys_do_not_depend_on_the_order_of_fields() -> None:
    identity = {"endpoint": "e", "model": "m"}
    assert ReplyCache.key(identity, ASKED, {"a": 1, "b": 2}) == ReplyCache.key(
        identity, ASKED, {"b": 2, "a": 1}
    )
    assert ReplyCache.key(identity, ASKED, {}) != ReplyCache.key(
        {**identity, "endpoint": "f"}, ASKED, {}
    )


def test_requests_in_flight_are_bounded_on_threads_and_event_loops(fake: Any) -> None:
    judge = model(fake, max_in_flight=3)
    fake.gate = threading.Barrier(3)
    with ThreadPoolExecutor(9) as pool:
        list(pool.map(lambda _: judge.chat(ASKED), range(9)))

    async def together() -> None:
        await asyncio.gather(*(judge.achat(ASKED) for _ in range(9)))

    asyncio.run(together())
    assert fake.most_in_flight == 3
    with pytest.raises(ValueError, match="max_in_flight must be a whole number above 0"):
        model(fake, max_in_flight=0)


class Client:
    """A chat model that names itself, or does not."""

    def __init__(self, gate: threading.Barrier | None = None, **names: str) -> None:
        vars(self).update(names)
        self.gate, self.calls, self.in_flight, self.most_in_flight = gate, 0, 0, 0
        self.lock = threading.Lock()

    def invoke(self, messages: Any) -> str:
        with self.lock:
            self.calls += 1
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        if self.gate is not None:
            self.gate.wait(10)
        with self.lock:
            self.in_flight -= 1
        return '{"count": 3}'


def test_the_bound_and_the_cache_hold_for_any_judge(tmp_path: Path) -> None:
    file = tmp_path / "replies.sqlite"
    clients = [Client(model_name="one"), Client(model="two"), Client(model_name="one")]
    for client in clients:
        judge = language_model(client, cache=file)
        assert [judge.chat(ASKED).text for _ in range(2)] == ['{"count": 3}'] * 2
        judge.close()
    assert [client.calls for client in clients] == [1, 1, 0]
    gated = Client(threading.Barrier(2), model="m")
    bounded = language_model(gated, max_in_flight=2)
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: bounded.chat(ASKED), range(6)))
    assert gated.most_in_flight == 2


def test_a_cache_that_could_not_be_kept_is_refused(fake: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"it names no model \(`model_name` or `model`\)"):
        language_model(Client(), cache=tmp_path / "c.sqlite")
    with pytest.raises(ConfigurationError, match="keeps its own cache"):
        language_model(model(fake), cache=tmp_path / "c.sqlite")


def test_the_messages_api_judges_by_option(fake: Any) -> None:
    fake.says('{"count": 3}')
    judge = model(fake, "claude", provider="anthropic")
    assert count_of(fake, judge=judge)[0] == 3
    assert fake.paths == ["/v1/messages"]
    reply = judge.chat(
        [{"role": "system", "content": "Be brief."}, *ASKED], temperature=0, max_tokens=7, seed=1
    )
    assert reply.usage == {"input_tokens": 40, "output_tokens": 5}
    assert fake.requests[1] == {
        "model": "claude",
        "max_tokens": 7,
        "temperature": 0,
        "system": "Be brief.",
        "messages": ASKED,
    }
    assert judge.identity()["interface"] == "anthropic"
    with pytest.raises(
        ValueError, match="provider is 'azure', but must be one of openai, anthropic"
    ):
        model(fake, provider="azure")


class Invoked:
    """A chat model in the manner of LangChain."""

    model_name = "lc"

    def __init__(self, content: Any = "3") -> None:
        self.content = content
        self.seen: list[Any] = []

    def invoke(self, messages: Any) -> Any:
        self.seen.append(messages)
        return self


class AlsoAwaited(Invoked):
    async def ainvoke(self, messages: Any) -> Any:
        self.seen.append("awaited")
        return "4"


def test_an_object_with_invoke_judges() -> None:
    llm = Invoked()
    judge = language_model(llm)
    assert judge.chat(ASKED, temperature=0).text == "3"
    assert asyncio.run(judge.achat(ASKED)).text == "3"
    assert llm.seen == [ASKED, ASKED]
    assert judge.identity()["model"] == "lc"
    assert language_model(Invoked([{"type": "text", "text": "a"}, "b"])).chat(ASKED).text == "ab"
    waits = AlsoAwaited()
    assert asyncio.run(language_model(waits).achat(ASKED)).text == "4"
    assert waits.seen == ["awaited"]

    class OnlyAwaited:
        async def ainvoke(self, messages: Any) -> str:
            return "5"

    assert language_model(OnlyAwaited()).chat(ASKED).text == "5"


def test_the_configured_judge_is_the_environments(
    fake: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(
        ConfigurationError, match=r"No judge is configured: .*CONTEXT_BENCH_JUDGE_URL.*--judge-url"
    ):
        language_model(None)
    monkeypatch.setenv("CONTEXT_BENCH_JUDGE_URL", fake.url)
    monkeypatch.setenv("CONTEXT_BENCH_JUDGE_MODEL", "configured")
    language_model(None).chat(ASKED)
    assert fake.requests[0]["model"] == "configured"
    cached = language_model(None, cache=tmp_path / "c.sqlite", max_in_flight=2)
    assert cached.max_in_flight == 2
    assert (cached.chat(ASKED).is_cached, cached.chat(ASKED).is_cached) == (False, True)
    cached.close()
    with pytest.raises(ConfigurationError, match="object cannot judge"):
        language_model(object())
    judge = language_model(ChatClient(fake.url, model="c"))
    assert language_model(judge) is judge
    assert judge.identity()["model"] == "c"
    with pytest.raises(ConfigurationError, match="needs a model"):
        language_model(ChatClient(fake.url))


def test_a_talk_on_an_event_loop_takes_errors_too(fake: Any) -> None:
    fake.says((500, "broken"), '{"count": 3}')

    def asked() -> Any:
        inner = {"parameters": {}, "client_policy": ClientPolicy(), "transcript": Transcript()}
        try:
            return (yield from ask_object(ASKED, {"count": {}}, dict, **inner))  # type: ignore[arg-type]
        except EndpointError:
            return (yield from ask_object(ASKED, {"count": {}}, dict, **inner))  # type: ignore[arg-type]

    assert asyncio.run(atalk(model(fake), asked)) == {"count": 3}


def test_prompts_may_be_the_users_own() -> None:
    ours = {"ask": "Is {claim} in {text}?", "sum": "Sum up."}
    book = PromptBook(ours, "1", {"ask": "{text} / {claim} / {{claim}}"}, language="de")
    content = book.messages("ask", claim="{text}", text="T")[1]["content"]
    assert content.startswith("T / {text} / {claim}\n\n")
    assert "language 'de'" in content
    assert book.fingerprint() == {
        "version": "1",
        "changed": {"ask": "{text} / {claim} / {{claim}}"},
        "language": "de",
    }
    with pytest.raises(ConfigurationError, match=r"The prompt 'ask' lacks \{text\}"):
        PromptBook(ours, "1", {"ask": "{claim}"})
    with pytest.raises(ConfigurationError, match=r"has a placeholder \{other\} that nothing fills"):
        PromptBook(ours, "1", {"sum": "Sum up {other}."})
    with pytest.raises(UnknownNameError, match=r"Unknown prompt 'asl'. Did you mean 'ask'"):
        PromptBook(ours, "1", {"asl": ""})


def test_the_blocks_of_the_readme_run(
    run_readme: Any, fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fake.says("1")
    run_readme({"http://localhost:8080": fake.url})
    assert json.loads(json.dumps(fake.prompts)) == ["Say 1."]


class Clock:
    """Stands in for the module `time`."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Limited:
    """A judge that allows so many requests in each window, and refuses those beyond, with status 429 or 503."""

    def __init__(
        self, clock: Clock, limit: int, window: float, status: int, retry_after: float | None
    ) -> None:
        self.clock, self.limit, self.window = clock, limit, window
        self.status, self.retry_after = status, retry_after
        self.answered = self.refused = self.inside = 0
        self.until = 0.0

    def identity(self) -> dict[str, Any]:
        return {"interface": "test", "endpoint": "limited", "model": "m"}

    def chat(self, messages: Any, **parameters: Any) -> ChatReply:
        self.clock.now += 0.01
        if self.clock.now >= self.until:
            self.until, self.inside = self.clock.now + self.window, 0
        if self.inside == self.limit:
            self.refused += 1
            raise EndpointError(
                "Slow down", status=self.status, retryable=True, retry_after=self.retry_after
            )
        self.inside += 1
        self.answered += 1
        return ChatReply("4")

    async def achat(self, messages: Any, **parameters: Any) -> ChatReply:
        return self.chat(messages, **parameters)

    def close(self) -> None:
        pass


@pytest.mark.parametrize("on", ["a thread", "an event loop"])
@pytest.mark.parametrize(("limit", "window"), [(10, 1.0), (50, 60.0), (1, 0.5), (10, 0.2)])
@pytest.mark.parametrize(
    ("status", "retry_after"), [(429, None), (429, 1.0), (529, None), (503, 1.0)]
)
def test_a_judge_is_asked_as_often_as_it_allows_and_no_judgement_is_lost(
    limit: int,
    window: float,
    status: int,
    retry_after: float | None,
    on: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr("context_bench_http.retrying.time", clock)

    async def asleep(seconds: float) -> None:
        clock.sleep(seconds)

    monkeypatch.setattr("context_bench_http.retrying.asyncio.sleep", asleep)
    backend = Limited(clock, limit, window, status, retry_after)
    judge = LanguageModel(backend)
    for _ in range(300):
        assert (
            judge.chat(ASKED) if on == "a thread" else asyncio.run(judge.achat(ASKED))
        ).text == "4"
    assert backend.answered == 300
    assert backend.refused <= 0.03 * 300 + 12, backend.refused


def test_a_judge_that_always_refuses_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("context_bench_http.retrying.time", clock)
    backend = Limited(clock, 0, 1.0, 429, None)
    with pytest.raises(EndpointError, match=r"Slow down \(gave up after 10 attempts\)"):
        LanguageModel(backend).chat(ASKED)
    assert backend.refused == 10
