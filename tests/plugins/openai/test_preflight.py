"""Preflight against gateways that deceive in each way, and the first rows of runs through them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from attrs import Factory, define, field

from context_bench import evaluate
from context_bench.cli import execute
from context_bench_openai import OpenAIProxy

pytest.importorskip("context_bench_answer_quality", reason="runs need an evaluator")
diagnostics = pytest.importorskip(
    "context_bench_preflight.diagnostics", reason="what is tested here is a package of its own"
)
Reply, stored_findings = diagnostics.Reply, diagnostics.stored_findings

WORDS = " ".join(f"word{number}" for number in range(400))


@define(eq=False)
class Gateway:
    """An endpoint, or a proxy that shortens what stands in the messages of some roles."""

    shortens: frozenset[str] = frozenset()
    adds: int = 0
    only_json: bool = False
    has_usage: bool = True
    headers: Mapping[str, str] = Factory(dict)
    models: tuple[str, ...] | None = ("small",)
    path: str = "/v1/chat/completions"
    caches: bool = False
    one_id: bool = False
    status: Callable[[int], int] = field(default=lambda number: 200)
    error: Mapping[str, Any] = Factory(dict)
    text: Callable[[int, str], str] = field(default=lambda number, question: "fine")
    sticky_after: int | None = None
    echoes: str | None = None
    requests: list[dict[str, Any]] = Factory(list)
    lists: int = 0
    url: str = ""
    _cache: dict[str, dict[str, Any]] = Factory(dict)
    _lock: threading.Lock = Factory(threading.Lock)

    def tokens(self, messages: list[dict[str, Any]], number: int) -> int:
        is_stuck = self.sticky_after is not None and number > self.sticky_after
        total = self.adds
        for message in messages:
            count = len(str(message["content"] or "").split())
            acts = message["role"] in self.shortens and (
                not self.only_json or "{" in str(message["content"])
            )
            total += 4 + (count // 2 if acts and not is_stuck else count)
        return total

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any], dict[str, str]]:
        with self._lock:
            self.requests.append(body)
            number = len(self.requests)
        status = self.status(number)
        if status != 200:
            return status, {"error": {"message": "no", **self.error}}, dict(self.headers)
        key = json.dumps(body, sort_keys=True)
        if self.caches and key in self._cache:
            return 200, self._cache[key], dict(self.headers)
        question = str(body["messages"][-1]["content"])
        reply = {
            "id": "same" if self.one_id else f"c-{id(self)}-{number}",
            "created": int(time.time()),
            "model": self.echoes or body["model"],
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": self.text(number, question)},
                    "finish_reason": "stop",
                }
            ],
        }
        if self.has_usage:
            reply["usage"] = {
                "prompt_tokens": self.tokens(body["messages"], number),
                "completion_tokens": 1,
            }
        self._cache[key] = reply
        return 200, reply, dict(self.headers)


class _Handler(BaseHTTPRequestHandler):
    gateway: Gateway
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path != self.gateway.path:
            self._send(404, {"detail": "Not Found"}, {})
            return
        self._send(*self.gateway.answer(body))

    def do_GET(self) -> None:
        self.gateway.lists += 1
        found = self.gateway.models
        if found is None or not self.path.endswith("/models"):
            self._send(404, {"detail": "Not Found"}, {})
        else:
            self._send(200, {"data": [{"id": name} for name in found]}, {})

    def _send(self, status: int, body: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {
            "content-type": "application/json",
            "content-length": str(len(content)),
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def start() -> Iterator[Callable[..., Gateway]]:
    servers = []

    def begin(**options: Any) -> Gateway:
        gateway = Gateway(**options)
        handler = type("Handler", (_Handler,), {"gateway": gateway})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()
        servers.append(server)
        gateway.url = f"http://127.0.0.1:{server.server_address[1]}"
        return gateway

    yield begin
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Twelve long examples in rows.jsonl, in the folder that commands run in."""
    pytest.importorskip("context_bench_local", reason="examples are read from a file")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    found = [
        {"id": f"e{n}", "context": f"{n} {WORDS}", "question": f"What is {n}?", "answer": "x"}
        for n in range(12)
    ]
    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in found), encoding="utf-8"
    )
    return found


@define
class Seen:
    code: int
    told: dict[str, Any]
    err: str

    def names(self, label: str, part: str = "systems") -> dict[str, str]:
        return {
            finding["name"]: finding["severity"] for finding in self.of(label, part)["findings"]
        }

    def of(self, label: str, part: str = "systems") -> dict[str, Any]:
        [found] = [one for one in self.told[part] if one["label"] == label]
        return dict(found)

    def finding(self, label: str, name: str, part: str = "systems") -> dict[str, Any]:
        [found] = [one for one in self.of(label, part)["findings"] if one["name"] == name]
        return dict(found)


@pytest.fixture
def look(capsys: pytest.CaptureFixture[str], rows: list[dict[str, Any]]) -> Callable[..., Seen]:
    def call(*arguments: str, dataset: str = "rows.jsonl") -> Seen:
        code = execute(["preflight", "--json", "--dataset", dataset, *arguments])
        captured = capsys.readouterr()
        return Seen(code, json.loads(captured.out) if captured.out else {}, captured.err)

    return call


def proxy(label: str, url: str, **options: str) -> tuple[str, str]:
    more = "".join(f",{name}={value}" for name, value in options.items())
    return "--system", f"{label}=openai:base_url={url},model=small{more}"


def test_a_plain_endpoint_has_nothing_wrong_with_it(start: Any, look: Any) -> None:
    direct = start()
    seen = look(*proxy("direct", direct.url))
    assert (seen.code, seen.names("direct")) == (0, {})
    purposes = [request["purpose"] for request in seen.of("direct")["requests"]]
    assert purposes[:5] == ["as in the run"] * 3 + ["models", "the same again"]
    assert (
        len(direct.requests) == len(purposes) - 1 <= 5
    )  # in other words only where the second answer came fast
    assert seen.err.startswith("At most 6 requests to 1 system: 3 examples, each in every layout")


def test_no_prompt_is_sent_that_is_shorter_than_the_examples(start: Any, look: Any) -> None:
    gateways = start(), start()
    look(*proxy("direct", gateways[0].url), *proxy("p", gateways[1].url))
    sizes = [
        sum(len(str(m["content"] or "")) for m in r["messages"])
        for g in gateways
        for r in g.requests
    ]
    assert min(sizes) > len(WORDS)


def test_a_proxy_that_acts_on_tool_results_only_is_inert_and_told_which_layout_helps(
    start: Any, look: Any
) -> None:
    direct, proxied = start(), start(shortens=frozenset({"tool"}))
    seen = look(*proxy("p", proxied.url), *proxy("direct", direct.url))
    finding = seen.finding("p", "inert")
    assert seen.code == 0
    assert finding["severity"] == "warning"
    assert (
        finding["figures"]["prompt_tokens"] == finding["figures"]["baseline_prompt_tokens"] > 1200
    )
    assert finding["advice"].startswith("Give it layout=tool: there the prompt is 4")
    assert look(*proxy("p", proxied.url), *proxy("direct", direct.url), "--strict").code == 2
    assert "inert" not in look(
        *proxy("p", proxied.url, layout="tool"), *proxy("direct", direct.url)
    ).names("p")


def test_a_proxy_that_acts_in_no_layout_is_told_so(start: Any, look: Any) -> None:
    seen = look(*proxy("p", start().url), *proxy("direct", start().url))
    assert seen.finding("p", "inert")["advice"].startswith("No layout helps on these 3 examples.")


MIXED = [
    *(
        {"id": f"prose-{n}", "context": f"{n} {WORDS}", "question": "What?", "answer": "x"}
        for n in range(20)
    ),
    *(
        {"id": f"short-{n}", "context": f"{n} and little more", "question": "What?", "answer": "x"}
        for n in range(20)
    ),
    {
        "id": "records",
        "context": json.dumps([{"a": n, "b": f"item {n}"} for n in range(90)]),
        "question": "?",
        "answer": "x",
    },
]


@pytest.mark.parametrize("order", ["as written", "reversed", "records in the middle"])
def test_the_verdict_does_not_turn_with_the_order_of_the_file(
    order: str, start: Any, look: Any, tmp_path: Path
) -> None:
    rows = {
        "as written": MIXED,
        "reversed": MIXED[::-1],
        "records in the middle": [*MIXED[:9], MIXED[-1], *MIXED[9:-1]],
    }
    (tmp_path / "mixed.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows[order]), encoding="utf-8"
    )
    proxied = start(shortens=frozenset({"tool"}), only_json=True)
    seen = look(*proxy("p", proxied.url), *proxy("direct", start().url), dataset="mixed.jsonl")
    advice = seen.finding("p", "inert")["advice"]
    assert advice.startswith("Give it layout=tool: there the prompt is ")
    assert advice.endswith("shorter on these 3 examples, which comes of 1 of them.")
    asked = [
        request["example"]
        for request in seen.of("p")["requests"]
        if request["purpose"] == "as in the run"
    ]
    assert [name.partition("-")[0] for name in asked] == [
        "prose",
        "records",
        "short",
    ]  # the longest first
    again = look(*proxy("p", start().url), *proxy("direct", start().url), dataset="mixed.jsonl")
    assert [request["example"] for request in again.of("p")["requests"][:3]] == asked


def test_another_seed_chooses_other_examples_that_differ_as_much(
    start: Any, look: Any, tmp_path: Path
) -> None:
    (tmp_path / "mixed.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in MIXED), encoding="utf-8"
    )
    chosen = {
        tuple(
            look(*proxy("direct", start().url), "--seed", seed, dataset="mixed.jsonl").of("direct")[
                "examples"
            ]
        )
        for seed in ("0", "1", "2", "3")
    }
    assert len(chosen) > 1
    assert all(
        {name.partition("-")[0] for name in names} == {"prose", "records", "short"}
        for names in chosen
    )


def test_tokens_before_and_after_are_told_by_example_and_layout(
    start: Any, rows: Any, capsys: Any
) -> None:
    direct, proxied = start(), start(shortens=frozenset({"tool"}))
    arguments = ["preflight", "--dataset", "rows.jsonl", "--examples", "2"]
    assert execute([*arguments, *proxy("p", proxied.url), *proxy("direct", direct.url)]) == 0
    captured = capsys.readouterr()
    told = " ".join(captured.out.split())
    assert "prompt tokens, before -> after, on these 2 examples:" in told
    assert (
        told.count("system 412 -> 412 (0 %), user 408 -> 408 (0 %), tool 416 -> 215 (-48 %),") == 2
    )
    sent = [
        sum(message["role"] == "tool" for message in request["messages"])
        for request in direct.requests
    ]
    assert sum(sent) == 2  # the baseline was asked in each layout, too
    asked = [
        line.rpartition(": ")[2]
        for line in captured.err.splitlines()
        if line.startswith("Asking p,")
    ]
    assert (asked[0], asked[-3:]) == (
        "as in the run.",
        ["layout=user.", "layout=tool.", "layout=chat."],
    )
    assert (
        execute([*arguments, "--json", *proxy("p", proxied.url), *proxy("direct", direct.url)]) == 0
    )
    [found] = [one for one in json.loads(capsys.readouterr().out)["systems"] if one["label"] == "p"]
    lines = {
        (line["example"], line["layout"]): (line["before"], line["after"])
        for line in found["tokens"]
    }
    assert len(lines) == 2 * 4
    assert all(
        after < 0.6 * before for (_, layout), (before, after) in lines.items() if layout == "tool"
    )
    assert all(
        after == before for (_, layout), (before, after) in lines.items() if layout != "tool"
    )


def test_beside_what_keeps_a_system_from_working_nothing_else_is_told(
    start: Any, look: Any
) -> None:
    low = {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-limit-requests": "10",
        "x-acme-fallback": "1",
    }
    seen = look(
        *proxy("p", start(status=lambda number: 401, headers=low).url),
        *proxy("direct", start().url),
    )
    assert set(seen.names("p").values()) == {"error"}
    failing = look(*proxy("p", start(headers={"x-headroom-compression-failed": "true", **low}).url))
    assert failing.names("p") == {"fails-open": "error"}


def test_without_a_baseline_layouts_are_compared_with_each_other(start: Any, look: Any) -> None:
    seen = look(*proxy("p", start(shortens=frozenset({"tool"})).url))
    assert seen.finding("p", "inert")["advice"] == "Give it layout=tool."
    assert look(*proxy("q", start().url)).names("q") == {"no-baseline": "note"}


def test_a_proxy_that_compresses_is_fine(start: Any, look: Any) -> None:
    seen = look(
        *proxy("p", start(shortens=frozenset({"system"})).url), *proxy("direct", start().url)
    )
    assert seen.names("p") == {}


def test_a_proxy_that_adds_to_the_prompt_is_no_compressor(start: Any, look: Any) -> None:
    seen = look(*proxy("p", start(adds=200).url), *proxy("direct", start().url))
    assert seen.names("p") == {"adds-tokens": "warning"}


def test_models_that_differ_are_not_compared(start: Any, look: Any) -> None:
    one = start(models=("small", "other"))
    seen = look(
        "--system", f"p=openai:base_url={one.url},model=other", *proxy("direct", start().url)
    )
    assert seen.names("p") == {"no-baseline": "note"}


def test_a_declared_failure_keeps_a_proxy_from_working(start: Any, look: Any) -> None:
    seen = look(*proxy("p", start(headers={"x-headroom-compression-failed": "true"}).url))
    assert (seen.code, seen.names("p")) == (2, {"fails-open": "error"})
    assert "3 of 3 requests" in seen.finding("p", "fails-open")["evidence"]


def test_a_failure_header_that_nobody_listed_is_seen(start: Any, look: Any) -> None:
    seen = look(
        *proxy("p", start(headers={"x-acme-fallback": "1"}).url),
        *proxy("direct", start(headers={"x-acme-fallback": "false"}).url),
    )
    assert seen.names("p")["fails-open"] == "warning"
    assert "fails-open" not in seen.names("direct")


def test_missing_usage_is_told(start: Any, look: Any) -> None:
    seen = look(*proxy("p", start(has_usage=False).url))
    assert seen.names("p") == {"no-usage": "warning"}


def test_an_answer_out_of_a_response_cache_is_known_by_its_id(start: Any, look: Any) -> None:
    gateway = start(caches=True)
    seen = look(*proxy("direct", gateway.url))
    assert seen.names("direct") == {"own-cache": "warning"}
    assert "the same request twice has one id" in seen.finding("direct", "own-cache")["evidence"]
    assert "(preflight " in gateway.requests[-1]["messages"][-1]["content"]


def test_an_answer_out_of_a_response_cache_is_known_by_its_speed(
    start: Any, look: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, asked = OpenAIProxy.process, set()

    def timed(self: OpenAIProxy, example: Mapping[str, Any]) -> dict[str, Any]:
        question = example["question"]
        seconds = 0.001 if question in asked else 5.0
        asked.add(question)
        return {**process(self, example), "latency": seconds}

    monkeypatch.setattr(OpenAIProxy, "process", timed)
    seen = look(*proxy("direct", start(one_id=True).url), "--examples", "1")
    assert seen.names("direct") == {"own-cache": "warning"}
    evidence = "the first reply took 5.00 s, the second 1.0 ms, 5.00 s in other words."
    assert seen.finding("direct", "own-cache")["evidence"] == evidence


@pytest.mark.parametrize(
    ("headers", "is_hit"),
    [
        ({"x-cache": "HIT from edge"}, True),
        ({"cf-cache-status": "HIT"}, True),
        ({"age": "37"}, True),
        ({"x-cache": "MISS"}, False),
        ({"age": "0"}, False),
        ({"x-prompt-cache": "hit"}, False),
    ],
    ids=str,
)
def test_cache_headers_are_understood(
    headers: dict[str, str], is_hit: bool, start: Any, look: Any
) -> None:
    assert (
        "own-cache" in look(*proxy("direct", start(headers=headers).url)).names("direct")
    ) is is_hit


def test_one_id_for_everything_is_no_cache(start: Any, look: Any) -> None:
    assert look(*proxy("direct", start(one_id=True).url)).names("direct") == {}


def test_rate_limits_are_told_before_they_are_met(start: Any, look: Any) -> None:
    headers = {"x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "12"}
    finding = look(*proxy("direct", start(headers=headers).url)).finding("direct", "rate-limit")
    assert finding["severity"] == "note"
    assert "x-ratelimit-limit-requests: 60" in finding["evidence"]
    spent = headers | {"x-ratelimit-remaining-requests": "0"}
    assert look(*proxy("direct", start(headers=spent).url)).names("direct") == {
        "rate-limit": "warning"
    }


def test_a_429_is_not_waited_for(start: Any, look: Any) -> None:
    seen = look(*proxy("p", start(status=lambda number: 429, headers={"retry-after": "200"}).url))
    assert (seen.code, seen.names("p")) == (2, {"rate-limited": "error"})
    some = look(*proxy("direct", start(status=lambda number: 429 if number == 2 else 200).url))
    assert (some.code, some.names("direct")) == (0, {"rate-limited": "warning"})


def test_a_server_that_is_not_there_is_asked_once(look: Any, start: Any) -> None:
    seen = look(*proxy("gone", "http://127.0.0.1:9"), *proxy("direct", start().url))
    assert (seen.code, seen.names("gone")) == (2, {"unreachable": "error"})
    assert len(seen.of("gone")["requests"]) == 1
    assert seen.names("direct") == {}


def test_refused_credentials_are_told_and_never_shown(
    start: Any, look: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-0000")
    gateway = start(
        status=lambda number: 401, error={"message": "Incorrect API key provided: sk-canary-0000"}
    )
    seen = look(
        *proxy("p", gateway.url.replace("http://", "http://me:pass-canary@")),
        *proxy("q", gateway.url),
    )
    assert (seen.code, seen.names("q")) == (2, {"credentials": "error"})
    assert "canary" not in json.dumps(seen.told) + seen.err


def test_an_unknown_model_is_told_with_those_there_are(start: Any, look: Any) -> None:
    gateway = start(
        status=lambda number: 404,
        error={"message": "The model 'small' does not exist"},
        models=("big",),
    )
    seen = look(*proxy("p", gateway.url))
    assert (seen.code, seen.names("p")) == (2, {"unknown-model": "error"})
    assert "The server offers big." in seen.finding("p", "unknown-model")["evidence"]


def test_a_model_that_is_not_listed_is_a_note_unless_another_answers(start: Any, look: Any) -> None:
    assert look(*proxy("direct", start(models=("big",)).url)).names("direct") == {
        "unknown-model": "note"
    }
    seen = look(*proxy("direct", start(models=("big",), echoes="big").url))
    assert seen.names("direct") == {"unknown-model": "warning"}
    assert look(*proxy("direct", start(models=None).url)).names("direct") == {}


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("/api", "/v1/chat/completions"),
        ("/v1", "/chat/completions"),
        ("/x/v2", "/x/v2/v1/chat/completions"),
    ],
)
def test_a_wrong_form_of_the_address_is_told_with_the_right_one(
    given: str, path: str, start: Any, look: Any
) -> None:
    gateway = start(path=path, models=None)
    seen = look(*proxy("p", gateway.url + given))
    assert (seen.code, seen.names("p")) == (2, {"wrong-url": "error"})
    assert seen.finding("p", "wrong-url")["advice"].startswith(f"{gateway.url}{path} answers")


def test_an_address_that_cannot_be_one_is_a_finding_of_its_system_alone(
    start: Any, look: Any
) -> None:
    seen = look(*proxy("p", "ftp://host"), *proxy("direct", start().url))
    assert (seen.code, seen.names("p"), seen.names("direct")) == (
        2,
        {"cannot-be-set-up": "error"},
        {},
    )


def test_empty_answers_are_told(start: Any, look: Any) -> None:
    seen = look(*proxy("direct", start(text=lambda number, question: "").url))
    assert seen.names("direct") == {"empty-answers": "warning"}


def test_without_a_dataset_a_long_example_of_our_own_is_sent(
    start: Any, rows: Any, capsys: Any
) -> None:
    gateway = start()
    assert (
        execute(["preflight", "--proxy", gateway.url, "--name", "direct", "--model", "small"]) == 0
    )
    assert len(str(gateway.requests[0]["messages"][0]["content"])) > 3000
    assert "nothing found" in capsys.readouterr().out


def test_the_page_fits_on_80_columns(start: Any, rows: Any, capsys: Any) -> None:
    direct, proxied = start(), start(shortens=frozenset({"tool"}), caches=True)
    arguments = [*proxy("p", proxied.url), *proxy("direct", direct.url), "--dataset", "rows.jsonl"]
    assert execute(["preflight", *arguments]) == 0
    out = capsys.readouterr().out
    assert "warning inert" in out
    assert "warning own-cache" in out
    assert "Give it layout=tool" in out
    assert max(map(len, out.splitlines())) <= 80


def test_prompts_that_change_with_history_are_told_by_id(start: Any, look: Any) -> None:
    sticky = start(shortens=frozenset({"system"}), sticky_after=7)
    seen = look(
        *proxy("p", sticky.url),
        *proxy("direct", start().url),
        "--examples",
        "1",
        "--order-check",
        "-n",
        "4",
    )
    finding = seen.finding("p", "depends-on-history", "order_check")
    assert finding["severity"] == "warning"
    assert finding["figures"]["prompts_changed"] >= 1
    assert set(finding["figures"]["ids"]) <= {"e0", "e1", "e2", "e3"}
    assert seen.names("direct", "order_check") == {}
    assert len(seen.of("direct", "order_check")["requests"]) == 12
    assert sticky.requests[-1]["temperature"] == 0


def test_answers_that_differ_anyway_are_noise(start: Any, look: Any) -> None:
    noisy = start(text=lambda number, question: f"answer {number}")
    seen = look(*proxy("direct", noisy.url), "--order-check", "-n", "4")
    assert seen.names("direct", "order_check") == {"noise": "note"}
    assert seen.finding("direct", "noise", "order_check")["figures"]["noisy"] == 4


def test_answers_that_follow_the_order_are_told_by_id(start: Any, look: Any) -> None:
    before: list[str] = []

    def text(number: int, question: str) -> str:
        before.append(question)
        return f"after {before[-2]}" if len(before) > 1 else "the first"

    gateway = start(text=text)
    seen = look(*proxy("direct", gateway.url), "--order-check", "-n", "4", "--examples", "3")
    found = seen.names("direct", "order_check")
    assert found == {"depends-on-order": "warning"}
    assert seen.finding("direct", "depends-on-order", "order_check")["figures"]["moved"] >= 2


def test_an_order_check_of_one_example_is_refused_before_anything_is_sent(
    start: Any, look: Any
) -> None:
    gateway = start()
    seen = look(*proxy("direct", gateway.url), "--order-check", "-n", "1")
    assert seen.code == 2
    assert "needs two examples or more" in seen.err
    assert gateway.requests == []


# The first rows of a run.


def run(*systems: OpenAIProxy, count: int = 10) -> tuple[str, ...]:
    told: list[str] = []
    examples = [
        {"id": f"e{n}", "context": f"{n} {WORDS}", "question": f"What is {n}?", "answer": "x"}
        for n in range(count)
    ]
    result = evaluate(list(systems), examples, progress=False, on_warning=told.append)
    assert [line for line in result.warnings if line not in result.findings] == told
    return tuple(told)


def system(gateway: Gateway, name: str, **options: Any) -> OpenAIProxy:
    return OpenAIProxy(gateway.url, "small", name, **options)


def test_the_first_rows_of_a_sound_run_give_nothing_away(start: Any) -> None:
    assert run(system(start(), "direct"), system(start(shortens=frozenset({"system"})), "p")) == ()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({}, "p: inert: 3,296 prompt tokens for 8 examples, 3,296 at direct: "),
        ({"adds": 50, "shortens": frozenset()}, "p: adds-tokens: "),
        ({"has_usage": False}, "p: no-usage: 8 of 8 replies report no prompt tokens."),
        (
            {"shortens": frozenset({"system"}), "headers": {"x-acme-compression-failed": "true"}},
            "p: fails-open: 8 of 8",
        ),
        (
            {"shortens": frozenset({"system"}), "headers": {"x-cache": "HIT"}},
            "p: own-cache: 8 of 8 replies say 'x-cache: HIT'",
        ),
        (
            {"shortens": frozenset({"system"}), "text": lambda n, q: ""},
            "p: empty-answers: all 8 answers are empty",
        ),
    ],
    ids=["inert", "adds", "no usage", "fails open", "cache", "empty"],
)
def test_the_first_rows_give_a_deceiving_proxy_away_once(
    options: dict[str, Any], line: str, start: Any
) -> None:
    told = run(system(start(), "direct"), system(start(**options), "p"))
    assert len(told) == 1
    assert told[0].startswith(line)


def test_samples_out_of_a_response_cache_give_it_away(start: Any) -> None:
    told: list[str] = []
    examples = [
        {"id": f"e{n}", "context": f"{n} {WORDS}", "question": "q", "answer": "x"} for n in range(3)
    ]
    cached = system(start(caches=True), "p")
    evaluate(cached, examples, progress=False, on_warning=told.append, repeat=2, max_workers=1)
    assert len(told) == 1
    assert told[0].startswith("p: own-cache: 3 of 6 replies to different requests are copies")


def test_ids_of_the_clock_are_no_copies() -> None:
    replies = [
        Reply(
            "row",
            {
                "response": text,
                "usage": {"input_tokens": tokens},
                "envelope": {"id": id_, "created": 5},
            },
        )
        for text, tokens, id_ in [
            ("A", 100, "c-5"),
            ("B", 100, "c-5"),
            ("A", 120, "c-5"),
            ("A", 100, "c-6"),
        ]
    ]
    assert list(stored_findings(replies, 5.0)) == []


def test_replies_that_are_older_than_the_run_are_told_unless_all_have_one_date() -> None:
    def made(*dates: int) -> list[Reply]:
        return [
            Reply("row", {"response": str(n), "envelope": {"id": str(n), "created": date}})
            for n, date in enumerate(dates)
        ]

    [finding] = stored_findings(made(1000, 5000, 5001), 5000.0)
    assert finding.evidence == "1 of 3 replies were made 4000 s before they were asked for."
    assert list(stored_findings(made(1000, 1000, 1000), 5000.0)) == []
    assert list(stored_findings(made(4950, 5000, 5001), 5000.0)) == []


def test_a_run_of_fewer_rows_is_looked_at_in_the_end(start: Any) -> None:
    [line] = run(system(start(), "direct"), system(start(), "p"), count=2)
    assert line.startswith("p: inert: ")
    assert "for 2 examples" in line


def test_what_the_first_rows_gave_away_is_in_the_run_file_and_on_standard_error(
    start: Any, rows: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments = [
        *proxy("p", start().url),
        *proxy("direct", start().url),
        "--dataset",
        "rows.jsonl",
        "-q",
    ]
    assert execute([*arguments, "--run-file", "a.sqlite", "--format", "none"]) == 0
    assert capsys.readouterr().err.count("Warning: p: inert:") == 1
    assert execute(["report", "a.sqlite", "--format", "json"]) == 0
    captured = capsys.readouterr()
    [line] = json.loads(captured.out)["warnings"]
    assert line.startswith("p: inert:")
    assert captured.err.count("Warning: p: inert:") == 1
    assert execute(["verify", "a.sqlite"]) == 0


def test_python_hears_of_it_as_a_warning(start: Any) -> None:
    with pytest.warns(UserWarning, match="p: no-usage"):
        evaluate(
            system(start(has_usage=False), "p"), [{"question": "q", "answer": "a"}], progress=False
        )


# The doctor asks for models, and for nothing else.


def examined(
    capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, dict[str, tuple[str, str]]]:
    code = execute(["doctor", "--json", *arguments])
    out = capsys.readouterr().out
    assert "canary" not in out
    return code, {
        line["subject"]: (line["state"], line["text"]) for line in json.loads(out)["endpoints"]
    }


def test_the_doctor_lists_the_models_of_an_endpoint_and_generates_nothing(
    start: Any, rows: Any, capsys: Any
) -> None:
    gateway = start(models=("small", "big"))
    code, found = examined(capsys, "--proxy", gateway.url, "--name", "one", "--model", "small")
    assert (code, gateway.requests, gateway.lists) == (0, [], 1)
    state, text = found["one"]
    assert state == "ok"
    assert text.endswith("is reachable. Models: small, big.")
    code, found = examined(capsys, "--proxy", gateway.url, "--name", "one", "--model", "huge")
    assert (code, found["one"][0]) == (0, "warning")


def test_the_doctor_tells_an_endpoint_that_is_not_there_or_has_no_list(
    start: Any, rows: Any, capsys: Any
) -> None:
    url = start(models=None).url
    code, found = examined(
        capsys,
        "--proxy",
        "http://me:canary@127.0.0.1:9",
        "--name",
        "gone",
        "--proxy",
        url,
        "--name",
        "plain",
    )
    assert code == 2
    assert found["gone"][0] == "error"
    assert found["gone"][1].startswith("unreachable: ")
    assert found["plain"][0] == "note"


def test_the_doctor_asks_the_endpoints_of_the_project_file_unless_offline(
    start: Any, rows: Any, capsys: Any, tmp_path: Path
) -> None:
    pytest.importorskip("context_bench_judge", reason="a judge is one of the endpoints")
    system, judge = start(), start(models=("wise",))
    (tmp_path / "context-bench.toml").write_text(
        f'[[systems]]\nname = "openai"\nlabel = "s"\noptions = {{ base_url = "{system.url}", model = "small" }}\n'
        f'[evaluators.judge]\nbase_url = "{judge.url}"\nmodel = "wise"\n'
    )
    code, found = examined(capsys)
    assert (code, {name: state for name, (state, _) in found.items()}) == (
        0,
        {"s": "ok", "judge": "ok"},
    )
    assert (system.lists, judge.lists) == (1, 1)
    assert examined(capsys, "--offline") == (0, {})
    assert (system.lists, judge.lists) == (1, 1)


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (
            {"message": "The model 'x-4.1' does not exist", "code": "model_not_found"},
            "unknown-model",
        ),
        ({"message": 'model "x" not found, try pulling it first'}, "unknown-model"),
        ({"message": "Not Found"}, "wrong-url"),
        ({"message": "There is no such route"}, "wrong-url"),
    ],
    ids=["OpenAI", "Ollama", "a framework", "another"],
)
def test_a_404_of_a_model_is_not_one_of_a_path(
    error: dict[str, str], name: str, start: Any, look: Any
) -> None:
    gateway = start(status=lambda number: 404, error=error, models=None)
    assert look(*proxy("p", gateway.url)).names("p") == {name: "error"}
