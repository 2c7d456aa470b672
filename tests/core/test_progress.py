"""Progress: a bar for each system on a terminal, lines elsewhere, nothing with --quiet."""

from __future__ import annotations

import io
import json
import re
import threading
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

from context_bench import evaluate
from context_bench.cli import execute
from context_bench.records import Failure
from context_bench.run import admission as admissions
from context_bench.run import limits
from context_bench.run import progress as module
from context_bench.run.admission import Admission
from context_bench.run.progress import Progress
from context_bench.run.systems import RunSystem
from context_bench.store.keys import RowId
from context_bench.store.rows import StoredRow

TRAFFIC: Any = SimpleNamespace(
    retried={0: 4, 1: 0}, in_flight={0: 8, 1: 0}, cost={0: 12.34567}, currency="USD"
)
TRAFFIC.failures, TRAFFIC.waiting = {}, lambda slot: None
NOTE = "22 reused, 10 failed, 4 retried, 8 in flight, p95 1.2 s, 1,736,000 tokens, 12.3457 USD"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    @property
    def text(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.getvalue())

    @property
    def last_screen(self) -> list[str]:
        return [line.rstrip() for line in self.text.rpartition("\r")[2].splitlines()]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Terminal()


def slots(*labels: str) -> list[RunSystem]:
    return [RunSystem(number, label, None, b"", True) for number, label in enumerate(labels)]  # type: ignore[arg-type]


def row(position: int, slot: int = 0, output: str | None = "{}", reused: bool = False) -> StoredRow:
    return StoredRow(
        id=RowId(0, position, slot),
        key=b"",
        output=output,
        input_tokens=12345,
        response_tokens=55,
        latency=1.2,
        reused=reused,
    )


def shown(stream: Any, *labels: str, total: int | None = 400) -> Progress:
    """Show 150 rows of each system: 10 failed and 22 reused of the first."""
    progress = Progress(slots(*labels), total, stream)
    progress.watch(TRAFFIC)
    for number in range(150):
        progress.row(row(number, 0, None if number % 15 == 0 else "{}", reused=number % 7 == 1))
        if len(labels) > 1:
            progress.row(row(number, 1))
    return progress


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_a_terminal_shows_a_bar_for_each_system_with_everything_that_is_known(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    shown(terminal, "kompact", "direct").close()
    screen = terminal.last_screen
    assert max(map(len, screen)) <= width
    bars = [line for line in screen if "150/400" in line]
    assert [line.split()[0] for line in bars] == ["kompact", "direct"]
    for line in bars:
        assert re.search(r"━.* 150/400 +\d:\d\d:\d\d \d:\d\d:\d\d", line), line
    notes = " ".join(" ".join(screen).split())
    assert NOTE in notes
    assert "p95 1.2 s, 1,860,000 tokens" in notes.partition("direct")[2]
    assert "$" not in notes.partition("direct")[2]


def test_counts_of_two_sources_are_not_added() -> None:
    progress = Progress(slots("reports", "drops usage"), 3, io.StringIO())
    for number in range(3):
        progress.row(evolve(row(number, 0), reported_tokens=50))
        progress.row(evolve(row(number, 1), reported_tokens=None if number == 1 else 50))
    assert [progress.state(slot)["tokens"] for slot in (0, 1)] == [315, None]
    progress.close()


def test_a_refused_call_spends_no_tokens() -> None:
    progress = Progress(slots("dead"), 3, io.StringIO())
    progress.row(row(0))
    progress.row(row(1, output=None))
    assert progress.state(0)["tokens"] == 12_400
    progress.close()


def test_a_long_label_leaves_room_for_the_bar(terminal: Terminal) -> None:
    shown(terminal, "openai:base_url=http://127.0.0.1:8000,model=a-very-long-name").close()
    assert re.match(r"openai:base_url=http://127\.… ━+.* 150/400 ", terminal.last_screen[0])


def test_without_a_known_size_there_is_a_count_and_no_time_left(terminal: Terminal) -> None:
    shown(terminal, "kompact", total=None).close()
    assert re.search(r"150/\? +\d:\d\d:\d\d -:--:--", terminal.last_screen[0])


def test_a_dumb_terminal_gets_lines(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    shown(terminal, "kompact").close()
    assert terminal.getvalue().startswith("kompact: 150/400 rows, 10 failed, ")
    assert "\x1b" not in terminal.getvalue()


def test_elsewhere_a_line_for_each_system_is_written_now_and_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter(range(10_000))
    monkeypatch.setattr(module, "monotonic", lambda: float(next(clock)))
    stream = io.StringIO()
    shown(stream, "kompact", "direct").close()
    lines = stream.getvalue().splitlines()
    assert len(lines) > 10
    assert all(
        re.match(r"(kompact|direct): \d+/400 rows, \d+ failed, \d+ rows/(s|min|h), ", line)
        for line in lines
    )
    assert NOTE.replace("10 failed, ", "") in lines[-2]
    assert re.search(r"about \d+ s left$", lines[-1])
    assert "\x1b" not in stream.getvalue()


def test_what_an_earlier_session_has_done_counts_as_done_and_not_as_speed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter(range(10_000))
    monkeypatch.setattr(module, "monotonic", lambda: float(next(clock)))
    progress = Progress(slots("kompact"), 100, io.StringIO())
    progress.resume({0: 90})
    for number in range(5):
        progress.row(row(90 + number))
    state = progress.state(0)
    assert (state["done"], state["total"], state["reused"]) == (95, 100, 0)
    assert state["rows_per_second"] < 1
    assert state["eta"] >= 5


def test_a_resumed_run_begins_where_it_was(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Echo:
        name = "echo"

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            return {"response": "x"}

        def fingerprint(self) -> dict[str, Any]:
            return {}

    class One:
        name = "one"

        def score(self, original: Any, processed: Any) -> dict[str, float]:
            return {"one": 1.0}

    monkeypatch.setattr("sys.stderr", terminal)
    examples = [{"id": str(number), "question": "q"} for number in range(10)]
    evaluate(Echo(), examples[:7], [One()], progress=False, run_file=tmp_path / "r.sqlite")
    assert terminal.getvalue() == ""
    evaluate(Echo(), examples, [One()], run_file=tmp_path / "r.sqlite")
    assert "7/10" in terminal.text
    assert "10/10" in terminal.last_screen[0]


def test_the_state_may_be_asked_for_while_rows_are_counted() -> None:
    progress = Progress(slots("kompact"), None, io.StringIO())
    errors: list[BaseException] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            try:
                progress.state(0)
            except BaseException as error:  # whatever it is, it belongs to this test
                errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(20_000):
        progress.row(row(number))
    done.set()
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    for name in ("local", "replay", "answer_quality"):
        pytest.importorskip(f"context_bench_{name}", reason="these runs need it")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    lines = [
        json.dumps({"id": str(n), "question": "q", "answer": "a", "response": "a"})
        for n in range(20)
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def call(*flags: str) -> Any:
        names = ["a=replay", "b=replay"]
        systems = [part for name in names for part in ("-s", name)]
        code = execute(
            [
                "run",
                *systems,
                "-d",
                "rows.jsonl",
                "--run-file",
                "r.sqlite",
                "--format",
                "none",
                *flags,
            ]
        )
        captured = capsys.readouterr()
        assert (code, captured.out) == (0, "")
        return [line for line in captured.err.splitlines() if not line.startswith("Run file:")]

    return call


def test_the_command_line_writes_lines_when_standard_error_is_no_terminal(run: Any) -> None:
    lines = run()
    assert [line.partition(",")[0] for line in lines] == ["a: 20 rows", "b: 20 rows"]


def test_a_known_size_is_shown(run: Any) -> None:
    assert [line.partition(",")[0] for line in run("-n", "20")] == [
        "a: 20/20 rows",
        "b: 20/20 rows",
    ]


def test_quiet_says_nothing_of_progress(run: Any) -> None:
    assert run("--quiet") == []


def test_json_lines_hold_everything(run: Any) -> None:
    states = [json.loads(line) for line in run("--log-format", "json", "-n", "20")]
    assert [state["system"] for state in states] == ["a", "b"]
    expected = {
        "event",
        "system",
        "done",
        "total",
        "reused",
        "failed",
        "retried",
        "in_flight",
        "rows_per_second",
    }
    expected |= {
        "scoring_failed",
        "p95",
        "tokens",
        "cost",
        "currency",
        "eta",
        "latest_failure",
        "waiting",
    }
    assert all(state.keys() == expected for state in states)
    assert all(
        (state["event"], state["done"], state["total"], state["eta"]) == ("progress", 20, 20, 0)
        for state in states
    )


def test_json_is_written_on_a_terminal_too(terminal: Terminal) -> None:
    progress = Progress(slots("kompact"), 1, terminal, "json")
    progress.row(row(0))
    progress.close()
    assert json.loads(terminal.getvalue())["done"] == 1


@pytest.mark.parametrize(
    ("rows", "seconds", "told"),
    [
        (300, 10, "30 rows/s"),
        (10, 10, "1 rows/s"),
        (9, 20, "27 rows/min"),
        (1, 60, "1 rows/min"),
        (1, 600, "6 rows/h"),
    ],
)
def test_the_speed_of_a_slow_model_is_told_in_a_unit_in_which_it_is_not_zero(
    rows: int, seconds: int, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(module, "monotonic", lambda: clock[0])
    stream = io.StringIO()
    progress = Progress(slots("slow"), 1000, stream)
    for number in range(rows):
        progress.row(row(number))
    clock[0] = float(seconds)
    progress.close()
    assert f", {told}, " in stream.getvalue()


@pytest.mark.parametrize(
    ("latency", "told"),
    [
        (0.000084, "p95 0.084 ms"),
        (0.0123, "p95 12.3 ms"),
        (0.2, "p95 200 ms"),
        (0.9996, "p95 1.0 s"),
        (1.24, "p95 1.2 s"),
    ],
)
def test_a_latency_is_told_with_two_or_three_digits(latency: float, told: str) -> None:
    stream = io.StringIO()
    progress = Progress(slots("quick"), 1, stream)
    progress.row(evolve(row(0), latency=latency))
    progress.close()
    assert f", {told}" in stream.getvalue()


@pytest.mark.parametrize(("calls", "told"), [(1, 0), (10, 9), (20, 18), (100, 94)])
def test_the_95th_percentile_is_that_within_which_95_of_100_calls_ended(
    calls: int, told: int
) -> None:
    progress = Progress(slots("quick"), calls, io.StringIO())
    for number in range(calls):
        progress.row(evolve(row(number), latency=float(number)))
    assert progress.state(0)["p95"] == told
    progress.close()


def test_a_system_whose_rows_are_done_is_told_of_once_more_at_the_end_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]
    monkeypatch.setattr(module, "monotonic", lambda: clock[0])
    stream = io.StringIO()
    progress = Progress(slots("quick", "slow"), 4, stream)
    for number in range(4):
        progress.row(row(number, 0))
    for number in range(4):
        clock[0] += 10
        progress.row(row(number, 1))
    progress.close()
    lines = stream.getvalue().splitlines()
    assert [line.partition(" rows")[0] for line in lines] == [
        "slow: 1/4", "slow: 2/4", "slow: 3/4", "quick: 4/4", "slow: 4/4",
    ]  # fmt: skip


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_nothing_that_a_terminal_obeys_is_written_raw(log_format: str) -> None:
    stream = io.StringIO()
    progress = Progress(slots("a\x1b]0;pwned\x07"), 1, stream, log_format)
    progress.say("\x1b[31mred\u202e")
    progress.row(row(0))
    progress.close()
    told = stream.getvalue()
    assert len(told.splitlines()) == 2
    assert "pwned" in told
    assert "red" in told
    assert told.replace("\n", "").isprintable()


def failed(position: int, message: str) -> StoredRow:
    cause = Failure("system", "HTTPError", message)
    return evolve(row(position, output=None), failures=[(0, cause)])


def test_the_latest_failure_is_shown_by_line_and_state() -> None:
    stream = io.StringIO()
    progress = Progress(slots("gpt"), 4, stream)
    assert progress.state(0)["latest_failure"] is None
    progress.row(failed(0, "HTTP 401"))
    progress.row(failed(1, "HTTP 500: no\nreason"))
    progress.row(row(2))
    assert progress.state(0)["latest_failure"] == "system: HTTPError: HTTP 500: no reason"
    progress.close()
    assert stream.getvalue().endswith(", latest failure: system: HTTPError: HTTP 500: no reason\n")


def test_a_row_that_an_evaluator_fails_on_is_counted_beside_those_whose_system_failed() -> None:
    stream = io.StringIO()
    progress = Progress(slots("gpt"), 3, stream)
    progress.row(failed(0, "HTTP 401"))
    for position in (1, 2):
        progress.row(
            evolve(
                row(position),
                failures=[(0, Failure("evaluator", "HTTPError", "HTTP 503", "judge"))],
            )
        )
    state = progress.state(0)
    assert (state["failed"], state["scoring_failed"]) == (1, 2)
    progress.close()
    assert ", 2 scoring failed, " in stream.getvalue()
    assert "gpt: 3/3 rows, 1 failed, " in stream.getvalue()
    assert stream.getvalue().rstrip().endswith("HTTPError: HTTP 503")


def test_an_attempt_that_is_repeated_is_a_failure_too_and_holds_no_secret() -> None:
    progress = Progress(slots("gpt"), 4, io.StringIO())
    traffic = SimpleNamespace(**vars(TRAFFIC))
    progress.watch(traffic, clean=lambda text: text.replace("sk-1", "***"))
    progress.row(failed(0, "first"))
    traffic.failures = {0: (monotonic() + 1, "HTTPError: HTTP 500 for sk-1")}
    assert progress.state(0)["latest_failure"] == "HTTPError: HTTP 500 for ***"
    traffic.failures = {0: (0.5, "HTTPError: older")}
    assert progress.state(0)["latest_failure"] == "system: HTTPError: first"
    progress.close()


@pytest.mark.parametrize("width", [60, 200])
def test_a_terminal_shows_what_is_waited_for(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    progress = Progress(slots("gpt"), 4, terminal)
    progress.watch(
        SimpleNamespace(
            **{**vars(TRAFFIC), "waiting": lambda slot: "42 s for the rate limit of http://h/v1"}
        )
    )  # type: ignore[arg-type]
    progress.row(failed(0, "HTTP 500"))
    progress.close()
    shown = " ".join(" ".join(terminal.last_screen).split())
    assert (
        "waiting 42 s for the rate limit of http://h/v1, latest failure: system: HTTPError: HTTP 500"
        in shown
    )


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_line_is_written_without_a_row_where_there_is_news(
    monkeypatch: pytest.MonkeyPatch, log_format: str
) -> None:
    clock = [0.0]
    monkeypatch.setattr(module, "monotonic", lambda: clock[0])
    monkeypatch.setattr(module, "_SECONDS_BETWEEN_LINES", 5)
    waiting = [
        None,
        "42 s for the rate limit of h",
        "37 s for the rate limit of h",
        "9 s so far for dataset 'x'",
    ]
    stream = io.StringIO()
    progress = Progress(slots("gpt"), None, stream, log_format)
    progress._admission = SimpleNamespace(**{**vars(TRAFFIC), "waiting": lambda slot: waiting[0]})  # type: ignore[assignment]
    for _ in range(4):
        clock[0] += 6
        progress.tick()
        waiting.append(waiting.pop(0))
    first, second = stream.getvalue().splitlines()
    if log_format == "json":
        assert [json.loads(line)["waiting"] for line in (first, second)] == [waiting[1], waiting[3]]
    else:
        assert first.endswith("waiting 42 s for the rate limit of h")
        assert second.endswith("waiting 9 s so far for dataset 'x'")
        assert all(first.startswith("gpt: 0 rows, 0 failed, ") for first in (first, second))


class Remote:
    """A system with an endpoint."""

    name = "remote"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError

    def fingerprint(self) -> dict[str, Any]:
        return {"endpoint": "http://h/v1"}


class ServerError(Exception):
    def __init__(self, status: int, retry_after: float | None = None) -> None:
        self.status_code, self.retry_after = status, retry_after
        super().__init__(f"HTTP {status}")


def test_what_is_waited_for_is_the_rate_limit_of_an_endpoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [1000.0]
    for place in (admissions, limits):
        monkeypatch.setattr(place, "monotonic", lambda: clock[0])
    slot = RunSystem(0, "remote", Remote(), b"", True)
    admission = Admission([slot], 4)
    job: Any = SimpleNamespace(
        id=RowId(0, 0), key=b"key", slot=slot, input_tokens=1, transcript=None
    )
    place: Any = admission.enter(job)
    assert admission.waiting(0) is None
    wait = place.refused(ServerError(429, 42.0), 0.1, 1)
    assert admission.waiting(0) == f"{wait:.0f} s for the rate limit of http://h/v1"
    assert admission.failures[0] == (1000.0, "ServerError: HTTP 429")
    place.leave()
    clock[0] += wait - 0.5
    assert admission.waiting(0) is None
    place = admission.enter(job)
    assert isinstance(place, float)  # the limiter has a clock of its own, and waits
    assert admission.waiting(0).endswith(" s for the rate limit of http://h/v1")
    admission.state_of(slot).answered()
    assert admission.waiting(0) is None


def test_the_pause_before_a_call_is_repeated_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (admissions, limits):
        monkeypatch.setattr(place, "monotonic", lambda: 1000.0)
    slot = RunSystem(0, "remote", Remote(), b"", True)
    admission = Admission([slot], 4)
    job: Any = SimpleNamespace(
        id=RowId(0, 0), key=b"key", slot=slot, input_tokens=1, transcript=None
    )
    permit: Any = admission.enter(job)
    error = ServerError(500, 8.0)
    error.retryable = True  # type: ignore[attr-defined]
    permit.refused(error, 0.1, 1)
    assert admission.waiting(0) == "8 s to ask http://h/v1 again"
    assert admission.failures[0][1] == "ServerError: HTTP 500"
    assert admission.retried[0] == 1


def test_a_dataset_that_takes_long_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("context_bench.run.examples.monotonic", lambda: clock[0])
    told: list[str | None] = []

    class Quiet(Progress):
        def watch(self, admission: Any, feed: Any = None, clean: Any = str) -> None:
            super().watch(admission, feed, clean)
            feeds.append(feed)

    feeds: list[Any] = []
    monkeypatch.setattr(module, "Progress", Quiet)

    def examples() -> Any:
        for number in range(3):
            clock[0] += 30
            told.append(feeds[0].waiting)
            yield {"id": str(number), "question": "q"}

    class One:
        name = "one"

        def score(self, original: Any, processed: Any) -> dict[str, float]:
            told.append(feeds[0].waiting)
            return {"one": 1.0}

    evaluate(lambda example: "x", None, [One()], datasets={"slow": examples()})
    assert told == ["30 s so far for dataset 'slow'", None] * 3
