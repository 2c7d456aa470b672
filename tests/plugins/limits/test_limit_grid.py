"""Any limit is learned, on a simulated clock: rates, windows, latencies, ways to count, and what a server says of it.

Here stands every third point of the grid and what a limit of tokens comes to where few requests fit into a window;
`nox -s bench -- limits` runs the whole grid.
"""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest


def load() -> Any:
    spec = spec_from_file_location(
        "limit_simulation", Path(__file__).parents[2] / "benchmarks" / "limit_simulation.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["limit_simulation"] = module
    spec.loader.exec_module(module)
    return module


SIMULATION = load()
Server, run, learning = SIMULATION.Server, SIMULATION.run, SIMULATION.learning
FEW, MANY = 20, 1000
GRID = [cell for cell in SIMULATION.cells() if cell.rate != "300/min"]  # it is 5/s
SAMPLE = [
    cell
    for number, cell in enumerate(GRID)
    if number % 3 == 0 and (cell.limit < MANY or cell.latency == 0.1)
]


def name_of(cell: Any) -> str:
    return str(cell)


@pytest.mark.parametrize(
    "cell",
    [cell for cell in SAMPLE if cell.counted == "requests" or cell.limit >= FEW],
    ids=name_of,
)
def test_a_limit_is_learned(cell: Any) -> None:
    found = cell.run()
    assert found.is_good, found


@pytest.mark.parametrize(
    "cell", [cell for cell in SAMPLE if cell.counted == "tokens" and cell.limit < FEW], ids=name_of
)
def test_a_limit_of_a_few_requests_worth_of_tokens_is_learned_to_two_thirds(cell: Any) -> None:
    """Requests differ by half: where five fit into a window, even who knows the limit gets 90 % of it."""
    found = cell.run()
    assert found.share >= 0.66, found
    assert found.refused <= 0.03 * found.sent + max(found.burst, 8), found


OTHERS = [
    (7, 1.0, 0),
    (13, 4.0, 0),
    (120, 30.0, 0),
    (500, 90.0, 0),
    (3000, 5.0, 100),
    (20_000, 12.0, 100),
]


@pytest.mark.parametrize("says", ["nothing", "Retry-After", "ratelimit"])
@pytest.mark.parametrize("kind", ["fixed", "sliding", "bucket"])
@pytest.mark.parametrize(("limit", "window", "tokens"), OTHERS)
def test_a_limit_beside_the_grid_is_learned(
    limit: int, window: float, tokens: int, kind: str, says: str
) -> None:
    found = run(Server(limit, window, kind), limit / (tokens or 1) / window, 0.3, says, tokens)
    assert found.is_good, found


SHORT = [(1, 0.02), (1, 0.005), (2, 0.04), (6, 0.12), (10, 0.2), (40, 0.2), (1, 0.2)]
"""Windows below a second: a request in 20 ms is what a server makes of 50 a second that lets none go ahead."""


@pytest.mark.parametrize("latency", [0.05, 1.0])
@pytest.mark.parametrize("kind", ["fixed", "sliding", "bucket"])
@pytest.mark.parametrize(
    ("says", "seconds", "share"), [("nothing", 60.0, 0.7), ("Retry-After", 120.0, 0.7)]
)
@pytest.mark.parametrize(("limit", "window"), SHORT)
def test_a_window_shorter_than_a_second_is_learned(
    limit: int, window: float, says: str, seconds: float, share: float, kind: str, latency: float
) -> None:
    """``Retry-After`` knows whole seconds only, so that each trial costs one."""
    found = run(
        Server(limit, window, kind),
        limit / window,
        latency,
        says,
        settle=3.0 / window,
        lasts=seconds / window,
    )
    assert found.share >= share, found
    assert found.refused <= 0.03 * found.sent + max(found.burst, 8), found


BETWEEN = [(5, 0.5), (25, 0.5), (60, 0.25), (12, 3.0), (30, 7.0), (60, 7.0), (25, 13.0)]
"""Windows that lie between those that are tried, so that a longer one is found at first."""


@pytest.mark.parametrize("latency", [0.02, 3.0])
@pytest.mark.parametrize("kind", ["fixed", "sliding", "bucket"])
@pytest.mark.parametrize("says", ["nothing", "Retry-After"])
@pytest.mark.parametrize(("limit", "window"), BETWEEN)
def test_a_window_between_those_that_are_tried_is_found(
    limit: int, window: float, says: str, kind: str, latency: float
) -> None:
    """However long answers take: a longer window was believed for eight of them (half of what is allowed, for minutes)."""
    begins = max(25.0, 6 * window)
    found = run(
        Server(limit, window, kind),
        limit / window,
        latency,
        says,
        settle=begins / window,
        lasts=begins / window,
    )
    assert found.share >= 0.78, found
    assert found.refused <= 0.05 * found.sent + max(found.burst, 8), found


def test_a_pause_in_the_middle_of_a_trial_does_not_make_the_window_longer() -> None:
    """A session may end while it is refused, and go on an hour later."""
    limiter, server = learning(256), Server(60, 30.0, "fixed")
    run(server, 2.0, 0.5, "nothing", limiter=limiter)
    run(server, 2.0, 0.5, "nothing", limiter=limiter, begins=limiter._clock() + 3600.0)
    assert limiter.learned["window"] == 30.0


@pytest.mark.parametrize("latency", [0.1, 2.0, 10.0])
def test_what_was_found_holds_again_where_more_was_refused_at_once(latency: float) -> None:
    found = run(Server(1000, 10.0, "sliding"), 1.0, latency, "ratelimit", 100)
    assert found.is_good, found


def test_a_limit_that_is_used_up_faster_than_answers_tell_of_it_is_learned() -> None:
    """What the headers say is older than the window when it is heard."""
    found = run(Server(5000, 1.0, "sliding"), 50.0, 2.0, "ratelimit", 100)
    assert found.is_good, found


@pytest.mark.parametrize("kind", ["fixed", "sliding", "bucket"])
@pytest.mark.parametrize(("limit", "latency"), [(50, 0.02), (5, 1.0)])
def test_a_refusal_costs_a_short_window_little(limit: int, latency: float, kind: str) -> None:
    """Now and then more is tried; what that costs is seen in twenty windows."""
    found = run(Server(limit, 1.0, kind), limit, latency, "nothing", lasts=20.0)
    assert found.share >= 0.94, found


@pytest.mark.parametrize("latency", [0.1, 0.3, 1.0, 2.0, 5.0, 10.0])
@pytest.mark.parametrize(("limit", "window"), [(60, 10.0), (60, 60.0), (500, 60.0)])
def test_a_bucket_that_says_when_it_is_full_again_is_asked_as_it_fills_up(
    limit: int, window: float, latency: float
) -> None:
    found = run(Server(limit, window, "bucket"), limit / window, latency, "ratelimit", lasts=10.0)
    assert found.share >= 0.93, found
    assert found.refused <= 0.03 * found.sent + max(found.burst, 8), found


@pytest.mark.parametrize("latency", [0.1, 0.3, 1.0, 2.0, 5.0])
def test_a_bucket_of_tokens_is_asked_when_a_request_has_room(latency: float) -> None:
    found = run(Server(6000, 10.0, "bucket"), 6.0, latency, "ratelimit", 100, lasts=10.0)
    assert found.share >= 0.93, found
    assert found.refused <= 0.03 * found.sent + max(found.burst, 8), found


class Both:
    """A server with two limits: of requests and of tokens."""

    def __init__(self, requests: Any, tokens: Any) -> None:
        self._requests, self._tokens = requests, tokens
        self.limit, self.window = tokens.limit, tokens.window

    def ask(self, now: float, amount: float) -> tuple[bool, float, float, float]:
        _, requests_left, _, requests_again = self._requests.ask(now, 0)
        _, tokens_left, _, tokens_again = self._tokens.ask(now, 0)
        if requests_left >= 1 and tokens_left >= amount:
            self._requests.ask(now, 1)
            return self._tokens.ask(now, amount)  # type: ignore[no-any-return]
        again = max(
            0.1,
            requests_again if requests_left < 1 else 0.0,
            tokens_again if tokens_left < amount else 0.0,
        )
        return False, 0.0, again, again


@pytest.mark.parametrize("says", ["nothing", "Retry-After"])
@pytest.mark.parametrize("kind", ["fixed", "sliding", "bucket"])
@pytest.mark.parametrize(
    ("requests", "seconds", "tokens", "rate"),
    [(60, 10.0, 10_000, 6.0), (200, 60.0, 10_000, 10_000 / 60 / 100)],
    ids=["requests bind", "tokens bind"],
)
def test_of_two_limits_the_one_that_binds_is_learned(
    requests: int, seconds: float, tokens: int, rate: float, kind: str, says: str
) -> None:
    server = Both(Server(requests, 10.0, kind), Server(tokens, seconds, kind))
    found = run(server, rate, 0.5, says, 100)
    assert found.share * tokens / seconds / 100 >= 0.85 * rate, found
    assert found.refused <= 0.04 * found.sent + found.burst, found


@pytest.mark.parametrize("cell", list(SIMULATION.hidden_cells())[::23], ids=name_of)
def test_a_limit_that_nobody_announces_is_used_and_seldom_exceeded(cell: Any) -> None:
    found = cell.run()
    assert found.share >= 0.88, found
    assert found.refused <= 0.05 * found.sent, found


@pytest.mark.parametrize("says", ["nothing", "Retry-After"])
@pytest.mark.parametrize("begun", [0.3, 0.8])
def test_a_window_that_has_begun_before_is_learned(begun: float, says: str) -> None:
    found = run(Server(100, 20.0, "fixed", begun * 20.0), 5.0, 1.0, says)
    assert found.share >= 0.8, found
    assert found.refused <= 0.03 * found.sent + max(found.burst, 12), found


def test_what_was_learned_is_used_in_the_next_session() -> None:
    first = learning(64)
    run(Server(50, 10.0, "fixed"), 5.0, 0.1, "nothing", limiter=first)
    again = learning(64, first.learned)
    found = run(Server(50, 10.0, "sliding"), 5.0, 0.1, "nothing", limiter=again)
    assert found.refused <= 0.03 * found.sent, found
    assert found.share >= 0.85, found


def test_the_rate_recovers_when_the_server_allows_more() -> None:
    limiter = learning(64)
    run(Server(5, 1.0, "fixed"), 5.0, 0.1, "nothing", limiter=limiter)
    before = limiter.learned["requests"]
    run(Server(500, 1.0, "fixed"), 2.0, 0.1, "nothing", limiter=limiter, begins=9000.0)
    assert limiter.learned["requests"] > 1.5 * before


@pytest.mark.parametrize("says", ["nothing", "Retry-After"])
@pytest.mark.parametrize("kind", ["fixed", "sliding", "bucket"])
@pytest.mark.parametrize("factor", [2, 4])
@pytest.mark.parametrize("pause", [0.0, 7000.0])
@pytest.mark.parametrize(("limit", "window"), [(50, 10.0), (200, 10.0), (60, 30.0), (50, 60.0)])
def test_a_limit_that_rises_is_found_within_thirty_windows(
    limit: int, window: float, pause: float, factor: int, kind: str, says: str
) -> None:
    limiter = learning(256)
    run(Server(limit, window, kind), limit / window, 0.5, says, limiter=limiter)
    begins = limiter._clock() + pause
    raised = Server(factor * limit, window, kind)
    found = run(
        raised, factor * limit / window, 0.5, says, limiter=limiter, begins=begins, settle=30.0
    )
    assert found.share >= 0.75, found
    assert found.refused <= 0.03 * found.sent + max(found.burst, 8), found


def test_the_rate_falls_when_the_server_allows_less() -> None:
    limiter = learning(64)
    run(Server(50, 1.0, "sliding"), 50.0, 0.1, "nothing", limiter=limiter)
    found = run(Server(100, 10.0, "sliding"), 10.0, 0.1, "nothing", limiter=limiter, begins=9000.0)
    assert found.share >= 0.75, found
    assert found.refused <= 0.06 * found.sent, found


def test_requests_that_were_refused_together_do_not_come_back_together() -> None:
    now = [1000.0]
    limiter = learning(64, clock=lambda: now[0])
    for _ in range(20):
        now[0] += 0.004
        assert limiter.enter() == 0
    now[0] += 0.05
    for _ in range(20):
        limiter.leave()
        limiter.refused(5.0, 0.05)
    now[0] += 5.01
    together = 0
    while limiter.enter() <= 0:
        together += 1
    assert together == 1


@pytest.mark.parametrize("asked", [3.0, 60.0])
def test_nothing_is_sent_before_the_first_retry_after_is_over(asked: float) -> None:
    now = [1000.0]
    limiter = learning(64, clock=lambda: now[0])
    assert limiter.enter() == 0
    limiter.leave()
    limiter.refused(asked, 0.01)
    now[0] += asked - 0.1
    assert limiter.enter() > 0
    now[0] += 0.2
    assert limiter.enter() == 0


@pytest.mark.parametrize("asked", [None, 0.3], ids=["nothing", "Retry-After"])
@pytest.mark.parametrize("share", [1 / 50, 1 / 15, 1 / 5])
def test_refusals_at_random_are_not_taken_for_a_limit(share: float, asked: float | None) -> None:
    """With 1,194 requests, of which 78 are refused with ``Retry-After: 0.3``, seven minutes were waited for nothing."""
    seconds = sorted(SIMULATION.shed(share, asked, 1116, seed)[0] for seed in range(9))
    assert seconds[4] <= 60.0, seconds


@pytest.mark.parametrize("asked", [None, 0.3, 1.0], ids=["nothing", "Retry-After", "a second"])
@pytest.mark.parametrize("share", [1 / 50, 1 / 15, 1 / 5])
def test_no_draw_of_refusals_at_random_costs_hours(share: float, asked: float | None) -> None:
    """The pace is no longer lowered for ever: the worst of 36 draws took five days of the simulated clock."""
    seconds = [SIMULATION.shed(share, asked, 1116, seed)[0] for seed in range(36)]
    assert max(seconds) <= 2 * 3600.0, seconds
