"""The runner's own figures of time - waiting, attempts, the first sending - held against what a scripted server saw.

No figure is compared with how fast the machine is: counts are exact, and seconds lie between what the server made the rows wait
and what the whole run took, or what the caller's own clock saw from outside.
"""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import quantiles
from time import perf_counter, sleep
from typing import Any

import pytest

from context_bench import EvalResult, evaluate
from context_bench.results.reading import read_result
from context_bench.run import admission

pytest.importorskip("context_bench_efficiency", reason="it adds up what rows waited")

TOLERANCE = 1e-3  # figures are kept in microseconds, and two clocks tick apart


class Server(ThreadingHTTPServer):
    """Refuses each row as often as its script says, with the `Retry-After` that stands there, then answers.

    Attributes:
        headers: What an answer tells besides.
        script: What is asked for at each refusal of a row, in seconds, by the row's id; None asks for nothing.
        service: Seconds that an answer takes.
        seen: Of each request: the row, when it came, when its reply was sent, and the `Retry-After`; None for an answer.
    """

    daemon_threads = True

    def __init__(self, script: Mapping[str, list[float]], service: float = 0.0) -> None:
        self.script, self.service = {name: list(pauses) for name, pauses in script.items()}, service
        self.seen: list[tuple[str, float, float, float | None]] = []
        self.headers: dict[str, str] = {}
        self.busiest = self._busy = 0
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), Handler)

    def reply(self, row: str) -> float | None:
        with self._lock:
            pauses = self.script.get(row)
            return pauses.pop(0) if pauses else None

    def count(self, change: int) -> None:
        with self._lock:
            self._busy += change
            self.busiest = max(self.busiest, self._busy)

    def requests(self, row: str) -> list[tuple[float, float, float | None]]:
        return sorted(one[1:] for one in self.seen if one[0] == row)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *arguments: Any) -> None:
        pass

    def do_POST(self) -> None:
        came = perf_counter()
        self.server.count(1)
        row = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["id"]
        pause = self.server.reply(row)
        if pause is None:
            sleep(self.server.service)
        self.server.count(-1)
        self.server.seen.append((row, came, perf_counter(), pause))
        body = b"{}" if pause is not None else json.dumps({"response": "a"}).encode()
        self.send_response(200 if pause is None else 429)
        if pause is not None:
            self.send_header("Retry-After", str(pause))
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Client:
    """A system that asks the server once and retries nothing; the runner does."""

    def __init__(self, name: str, server: Server) -> None:
        self.name, self.server = name, server

    def fingerprint(self) -> dict[str, Any]:
        return {"endpoint": self.server.url}

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        body = json.dumps({"id": example["id"]}).encode()
        request = urllib.request.Request(self.server.url, body)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return {**json.loads(reply.read()), "headers": dict(reply.headers)}
        except urllib.error.HTTPError as refusal:
            refusal.close()
            raise


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    servers: list[tuple[Server, threading.Thread]] = []

    def start(script: Mapping[str, list[float]], service: float = 0.0) -> Server:
        server = Server(script, service)
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        thread.start()
        servers.append((server, thread))
        return server

    yield start
    for server, thread in servers:
        server.shutdown()
        server.server_close()
        thread.join()


def examples(count: int) -> list[dict[str, Any]]:
    return [{"id": str(number), "question": "q", "answer": "a"} for number in range(count)]


def run(*systems: Any, count: int, same: Any, **options: Any) -> tuple[EvalResult, float]:
    """Return a run's result, and the seconds that it took from outside."""
    return evaluated(list(systems), examples(count), same, **options)


def evaluated(systems: Any, source: Any, same: Any, **options: Any) -> tuple[EvalResult, float]:
    began = perf_counter()
    result = evaluate(
        systems, source, [same], progress=False, on_warning=lambda line: None, **options
    )
    return result, perf_counter() - began


SCRIPT = {
    "2": [0.15],
    "3": [0.1],
}  # the first answers come at once: an endpoint that begins with no is asked rarely


@pytest.mark.parametrize("workers", [1, 4])
def test_attempts_are_counted_as_the_server_counts_them(
    workers: int, serve: Callable[..., Server], same: Any
) -> None:
    server = serve(SCRIPT)
    result, _ = run(Client("c", server), count=4, same=same, max_workers=workers)
    seen = Counter(row for row, *_ in server.seen)
    assert {row.example_id: row.attempts for row in result.rows} == seen
    assert result.summary["c"]["retries"] == len(server.seen) - 4 == 2
    assert not any(row.errors for row in result.rows)


@pytest.mark.parametrize("workers", [1, 4])
def test_a_row_takes_from_its_first_sending_to_its_answer_and_waits_for_what_the_server_caused(
    workers: int, serve: Callable[..., Server], same: Any
) -> None:
    server = serve(SCRIPT, service=0.02)
    result, _ = run(Client("c", server), count=4, same=same, max_workers=workers)
    for row in result.rows:
        requests = server.requests(row.example_id)
        asked_for = sum(pause for *_, pause in requests if pause is not None)
        first_came, answer = requests[0][0], requests[-1]
        assert (
            row.latency >= answer[1] - first_came - TOLERANCE
        )  # the caller waits at least from one to the other
        assert row.attempt_latency >= answer[1] - answer[0] - TOLERANCE >= 0.02 - 2 * TOLERANCE
        assert row.waiting >= answer[0] - first_came - row.attempt_latency - TOLERANCE
        assert row.waiting >= asked_for - TOLERANCE
        assert row.latency <= row.waiting + row.attempt_latency + TOLERANCE
        if len(requests) > 1:
            assert row.latency >= row.attempt_latency + asked_for - TOLERANCE


def test_with_one_worker_answers_and_waiting_fill_no_more_than_the_run(
    serve: Callable[..., Server], same: Any
) -> None:
    server = serve(SCRIPT)
    result, seconds = run(Client("c", server), count=4, same=same, max_workers=1)
    spans = [row.attempt_latency + row.waiting for row in result.rows]
    assert (
        sum(pause for *_, pause in server.seen if pause is not None) - TOLERANCE
        <= sum(spans)
        <= seconds
    )
    values = result.summary["c"]
    assert values["waiting"] == pytest.approx(sum(row.waiting for row in result.rows))
    assert values["rows_per_minute"] == pytest.approx(60 * 4 / sum(spans))
    assert values["rows_per_minute"] >= 60 * 4 / seconds


def test_p50_and_p95_are_of_the_whole_time_of_each_row(
    serve: Callable[..., Server], same: Any
) -> None:
    server = serve({"1": [0.3], "2": [0.3]})
    result, _ = run(Client("c", server), count=3, same=same, max_workers=1)
    latencies = [row.latency for row in result.rows]
    percentiles = quantiles(latencies, n=100, method="inclusive")
    values = result.summary["c"]
    assert (values["latency_median"], values["latency_p95"]) == pytest.approx(
        (percentiles[49], percentiles[94])
    )
    assert (
        values["latency_median"] >= 0.3 - TOLERANCE
    )  # and not the few milliseconds of the attempt that was answered


def test_a_row_that_was_not_sent_yet_is_held_by_the_pause_that_another_was_given(
    serve: Callable[..., Server], same: Any
) -> None:
    server = serve({"1": [0.4]})
    refused = threading.Event()

    class Ordered(Client):
        """Lets the third row begin once the second was refused."""

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            try:
                return super().process(example)
            finally:
                if example["id"] == "1":
                    refused.set()

    def source() -> Iterator[dict[str, Any]]:
        first, second, third = examples(3)
        yield from (first, second)
        assert refused.wait(60)
        yield third

    result, _ = evaluated(Ordered("c", server), source(), same, max_workers=2)
    rows = {row.example_id: row for row in result.rows}
    said_no = next(sent for _, _, sent, pause in server.seen if pause is not None)
    late = rows["2"]
    held = server.requests("2")[0][0] - said_no
    assert held >= 0.4 - 0.05  # the row may have been on its way when the refusal was read
    assert late.attempts == 1
    assert (
        late.latency <= late.attempt_latency + TOLERANCE
    )  # its latency begins with its first sending
    assert late.waiting > 0
    assert result.summary["c"]["waiting"] == pytest.approx(sum(row.waiting for row in result.rows))


def test_a_rate_that_the_endpoint_advertises_is_waiting_before_the_first_sending(
    serve: Callable[..., Server], same: Any
) -> None:
    pytest.importorskip("context_bench_limits", reason="it reads the headers")
    server = serve({})
    server.headers = {"x-ratelimit-limit-requests": "1", "x-ratelimit-remaining-requests": "0"}
    server.headers["x-ratelimit-reset-requests"] = "400ms"
    result, seconds = run(Client("c", server), count=2, same=same, max_workers=1)
    assert sum(row.latency + row.waiting for row in result.rows) <= seconds
    second = result.rows[1]
    assert second.waiting > 0
    assert second.latency <= second.attempt_latency + TOLERANCE
    assert second.attempts == 1
    assert result.summary["c"]["retries"] == 0


def test_our_own_number_of_calls_in_flight_is_no_waiting(
    serve: Callable[..., Server], same: Any
) -> None:
    server = serve({}, service=0.02)
    result, _ = run(Client("c", server), count=12, same=same, max_workers=1)
    assert server.busiest == 1
    assert [row.waiting for row in result.rows] == [0.0] * 12
    assert not {"waiting", "retries", "rows_per_minute"} & set(result.summary["c"])


def test_a_proxy_that_refuses_most_requests_is_not_first_in_speed(
    serve: Callable[..., Server], same: Any
) -> None:
    refusing, honest = serve({"1": [0.3], "2": [0.3]}), serve({}, service=0.05)
    result, _ = run(
        Client("refusing", refusing), Client("honest", honest), count=3, same=same, max_workers=1
    )
    values = result.summary
    assert (values["refusing"]["retries"], values["honest"]["retries"]) == (2, 0)
    assert (values["refusing"]["waiting"] >= 2 * 0.3 - TOLERANCE, values["honest"]["waiting"]) == (
        True,
        0.0,
    )
    assert values["refusing"]["latency_median"] >= 0.3 - TOLERANCE
    pytest.importorskip("context_bench_compare", reason="it ranks")
    assert values["honest"]["speed_rank"] == 1
    slower = values["refusing"]["latency_median"] >= values["honest"]["latency_median"]
    assert values["refusing"]["speed_rank"] == 1 + slower


def test_the_latency_of_reused_rows_is_left_out(
    serve: Callable[..., Server], same: Any, tmp_path: Any
) -> None:
    server = serve({"2": [0.1], "4": [0.1]})
    path = tmp_path / "first.sqlite"
    run(Client("c", server), count=3, same=same, max_workers=1, run_file=path)
    before = len(server.seen)
    result, _ = run(Client("c", server), count=5, same=same, max_workers=1, cache_dir=tmp_path)
    asked = {row for row, *_ in server.seen[before:]}
    reused = {row.example_id for row in result.rows if row.reused}
    assert (asked, reused) == ({"3", "4"}, {"0", "1", "2"})
    fresh = sorted(row.latency for row in result.rows if row.example_id in asked)
    values = result.summary["c"]
    assert values["latency_mean"] == pytest.approx(sum(fresh) / 2)
    assert values["latency_median"] == pytest.approx(sum(fresh) / 2)
    assert values["retries"] == 1  # the refusal of row 2 was another run's
    assert values["waiting"] == pytest.approx(
        sum(r.waiting for r in result.rows if r.example_id in asked)
    )


def test_rows_that_fail_in_the_end_were_asked_again_too(
    serve: Callable[..., Server], same: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "pause", lambda attempt, asked, jitter: 0.001)
    monkeypatch.setattr(admission, "_MAX_REFUSED_ATTEMPTS", 3)
    server = serve({"1": [0.0] * 1000})
    result, _ = run(Client("c", server), count=3, same=same, max_workers=1)
    failed = [row for row in result.rows if row.errors]
    assert [row.example_id for row in failed] == ["1"]
    assert failed[0].attempts == len(server.requests("1"))
    assert result.summary["c"]["retries"] == len(server.seen) - 3
    assert "latency_median" in result.summary["c"]


def test_the_run_file_gives_the_same_figures(
    serve: Callable[..., Server], same: Any, tmp_path: Any
) -> None:
    path = tmp_path / "run.sqlite"
    result, _ = run(Client("c", serve(SCRIPT)), count=4, same=same, max_workers=1, run_file=path)
    assert read_result(path).summary == result.summary
    assert [row.waiting for row in read_result(path).rows] == [row.waiting for row in result.rows]
