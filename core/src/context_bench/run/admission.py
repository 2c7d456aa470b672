"""Admission: what every system is asked, through the limits of its endpoint and the hooks of the
run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any
from zlib import crc32

from attrs import Factory, define, evolve

from context_bench.errors import message_of
from context_bench.plugins.call_hooks import CallAdmission, CallHooks
from context_bench.protocols import Call, RateLimiter, RowId
from context_bench.records import Usage
from context_bench.run.jobs import Job, reported_cost
from context_bench.run.stopping import CancelToken, CaughtError, capture
from context_bench.run.systems import RunSystem, endpoint_of, models_of

if TYPE_CHECKING:
    from datetime import datetime

    from context_bench.run.limits import EndpointState

_TOO_OFTEN = frozenset({429, 529})
_MOST_REFUSALS, _MOST_FAILURES = 10, 4
"""Attempts of one row at most, where it is refused, and where the endpoint fails."""

_LONGEST_WAIT, _LONGEST_PAUSE = 300.0, 30.0
LONGEST_OF_ASKED = 8.0
"""How many times as long as an endpoint asks for it is left alone, when it refuses again and
again."""
_GLANCE = 0.25


class Admission:
    """Lets calls go, and learns from what became of them. Safe to use from any thread.

    Args:
        slots: The systems.
        workers: Calls in flight at most.
        requests_per_minute, tokens_per_minute: What the user knows of each endpoint's limits.
        hooks: The hooks of calls: they admit or refuse a call, and learn what it used.
        stop: Ends every wait.
        learned: What :attr:`learned` told at the end of an earlier session.
        rates: What makes the rates of an endpoint, as the hook ``rate_limiter`` does; None where
            nobody learns them.
        is_patient: Whether to go on where an endpoint is dead, or has only refused for two minutes.

    Attributes:
        in_flight, retried, cost: Calls in flight, attempts repeated, and money spent, by slot.
        failures: What the latest attempt that is repeated failed of, behind the moment, by slot.
        bill: Says what a response cost.
        currency: What the money is called.
    """

    def __init__(
        self,
        slots: Iterable[RunSystem],
        workers: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        hooks: CallHooks | None = None,
        stop: CancelToken | None = None,
        learned: Mapping[str, Mapping[str, Any]] | None = None,
        is_patient: bool = False,
        rates: Callable[..., RateLimiter] | None = None,
    ) -> None:
        self.is_patient = is_patient
        self.hooks = hooks or CallHooks()
        self.bill = self.hooks.cost_function(reported_cost)
        self.currency = self.hooks.currency
        self.stop = stop or CancelToken()
        self.in_flight: dict[int, int] = {}
        self.retried: dict[int, int] = {}
        self.failures: dict[int, tuple[float, str]] = {}
        self.cost: dict[int, float] = {}
        self.is_limited = (
            requests_per_minute is not None
            or tokens_per_minute is not None
            or not self.hooks.is_empty
        )
        self._lock = Lock()
        self._workers, self._limits = workers, (requests_per_minute, tokens_per_minute)
        self._learned, self._rates = learned or {}, rates
        self._endpoints: dict[int, str | None] = {}
        self._roads: dict[int, EndpointState] = {}
        for slot in slots:
            endpoint = self._endpoints[slot.number] = endpoint_of(slot.system)
            self.in_flight[slot.number] = self.retried[slot.number] = 0
            self.is_limited = self.is_limited or endpoint is not None

    @property
    def learned(self) -> dict[str, Mapping[str, Any]]:
        """What was learned of the limits of endpoints, for the next session."""
        with self._lock:
            made = list(self._roads.values())
        roads = {road.endpoint: road.limiter.learned for road in made if road.endpoint is not None}
        return {endpoint: learned for endpoint, learned in roads.items() if learned}

    def road(self, slot: RunSystem) -> EndpointState:
        """Return the road of a slot, made when it is first needed; slots of one endpoint share
        it."""
        if (known := self._roads.get(slot.number)) is not None:
            return known
        with self._lock:
            if slot.number not in self._roads:
                endpoint = self._endpoints[slot.number]
                same = (
                    made
                    for made in self._roads.values()
                    if endpoint is not None and made.endpoint == endpoint
                )
                self._roads[slot.number] = next(same, None) or self._road_to(endpoint)
            return self._roads[slot.number]

    def _road_to(self, endpoint: str | None) -> EndpointState:
        from context_bench.run import limits  # a run on the caller's thread asks for no leave

        rates = self._rates and self._rates(
            endpoint or "", *self._limits, self._learned.get(endpoint or "", {})
        )
        if rates is None:
            from context_bench.run.rates import ToldRates

            rates = ToldRates(*self._limits)
        return limits.EndpointState(endpoint, limits.Limiter(self._workers, rates))

    def enter(self, job: Job, attempt: int = 1, is_first: bool = False) -> CallPermit | float:
        """Return leave to make a call; or the seconds after which to ask again.

        Args:
            job: The job.
            attempt: The how manieth attempt it is.
            is_first: Whether the call stands first in the line; one that has not lined up goes only
                where none stands.
        """
        slot, road = job.slot, self.road(job.slot)
        if not is_first and len(road.line):
            return _GLANCE
        wait = road.enter(job.input_tokens)
        if wait > 0:
            return min(wait, _GLANCE)
        with self._lock:
            self.in_flight[slot.number] += 1
        admission = None
        if not self.hooks.is_empty:
            identity = RowId(job.wiring.label, job.id.position, job.id.repetition)
            call = Call(
                slot.number, slot.label, road.endpoint, identity, job.input_tokens, attempt - 1
            )
            admission = self.hooks.admission_of(call)
        return CallPermit(self, job, road, admission)

    def leave(self, slot: RunSystem, cost: float | None) -> None:
        """Count a call as ended."""
        road = self.road(slot)
        road.limiter.leave()
        with self._lock:
            self.in_flight[slot.number] -= 1
            if cost is not None:
                self.cost[slot.number] = self.cost.get(slot.number, 0.0) + cost
        road.line.move()

    def retry(self, slot: RunSystem, error: BaseException, wait: float, *what: str) -> None:
        """Count an attempt that is repeated so many seconds after an error, and what is waited for
        until then."""
        with self._lock:
            self.retried[slot.number] += 1
            self.failures[slot.number] = monotonic(), f"{type(error).__name__}: {message_of(error)}"
        self.road(slot).wait(wait, *what)

    def waiting(self, slot: int) -> str | None:
        """Return what the calls of a slot wait for, and for how long: ``42 s for the rate limit of
        http://...``."""
        road = self._roads.get(slot)
        return None if road is None else road.waiting


@define(eq=False)
class CallPermit:
    """Leave to make one call. It is given back once, by whoever ends the call first.

    The turns of a conversation that is asked turn by turn share the place, and each is admitted and
    resolve_baselines as a call.
    """

    _admission: Admission
    _job: Job
    _road: EndpointState
    _call: CallAdmission | None
    _usage: Usage | None = None
    _total: float | None = None
    _open: Lock = Factory(Lock)

    def __attrs_post_init__(self) -> None:
        if self._job.transcript is not None:
            self._job.transcript.place = self

    @property
    def has_hooks(self) -> bool:
        """Whether extensions admit the call, too."""
        return self._call is not None

    def govern(self) -> None:
        """Return when the extensions have admitted the call; each may wait.

        Raises:
            CallRefusedError: One of them does not let the call be made.
        """
        assert self._call is not None
        self._call.admit()

    def next_turn(self) -> None:
        """Settle what the turn before has used, and have the extensions admit another one.

        Raises:
            CallRefusedError: One of them does not let it be asked.
            TimeoutError: The place was given back meanwhile.
        """
        if self._call is None:
            return
        used = self._usage.output_tokens if self._usage is not None else None
        call = self._call.call
        self._settle()
        call = evolve(call, tokens=call.tokens + int(used or 0))
        self._call = self._admission.hooks.admission_of(call)
        self.govern()
        if self._open.locked():
            self._settle()
            raise TimeoutError("the row's time was up before its next turn.")

    def note(self, output: Any) -> Usage:
        """Note what an output, or that of a turn, has used, with its cost where that is known; and
        return it."""
        usage = _usage_of(output)
        if usage is not _NO_USAGE:
            usage = evolve(
                usage, cost=self._admission.bill(usage, models_of(self._job.slot, output))[0]
            )
        self._usage = usage
        if usage.cost is not None:
            self._total = (self._total or 0.0) + usage.cost
        return usage

    def answered(self, output: Any, seconds: float) -> None:
        """Learn from an output, and note its usage; that of a conversation is noted turn by
        turn."""
        used = _usage_of(output) if self._job.turns else self.note(output)
        tokens = int((used.input_tokens or 0) + (used.output_tokens or 0))
        self._road.answered()
        headers = output.get("headers") if type(output) is dict else None
        self._road.limiter.answered(seconds, tokens, headers, self._job.input_tokens)

    def refused(self, error: BaseException, seconds: float, attempt: int) -> float | None:
        """Learn from an error, and return the seconds after which to ask again; None when that is
        of no use."""
        asked = wait_asked_for(error)
        if not is_refusal(error):
            return self._pause_after_failure(error, asked, attempt) if is_retryable(error) else None
        if not self._admission.is_patient:
            self._road.check(error)
        self._road.limiter.refused(asked, seconds, next(headers_of(error), None))
        wait = self._pause(attempt, asked)
        if wait is None or attempt >= _MOST_REFUSALS:
            return None
        self._admission.retry(self._job.slot, error, wait)
        return wait

    def _pause_after_failure(
        self, error: BaseException, asked: float | None, attempt: int
    ) -> float | None:
        """Return the seconds after which to repeat a call that failed and was not refused; None
        where it is not repeated."""
        wait = self._pause(attempt, asked)
        if wait is None or attempt >= _MOST_FAILURES:
            return None
        self._admission.retry(self._job.slot, error, wait, "to ask {} again")
        return wait

    def _pause(self, attempt: int, asked: float | None) -> float | None:
        """Return how long the row waits before its next attempt; equal runs wait equally long."""
        jitter = crc32(self._job.key + attempt.to_bytes(2, "big")) / 2**32
        return pause(attempt, asked, jitter)

    def leave(self) -> None:
        """Give the place back."""
        if not self._open.acquire(blocking=False):
            return
        self._admission.leave(self._job.slot, self._total)
        if self._call is not None:
            self._settle()

    def _settle(self) -> None:
        """Pass on what the call has used to the extensions that admitted it, once."""
        assert self._call is not None
        usage, self._usage = self._usage, None
        self._call.settle(usage, None if usage is None else usage.cost)


_NO_USAGE = Usage()


def _usage_of(output: Any) -> Usage:
    found = capture(Usage.read, output)
    return (
        found if type(found) is Usage else _NO_USAGE
    )  # what cannot be read is found out when the output is taken


def is_refusal(error: BaseException) -> bool:
    """Whether an error says that its endpoint is asked too often.

    Seen is a status of 429 or 529 in ``status``, ``status_code`` or ``code`` of the error or of its
    ``response``; one of 503 where the server says when to ask again, as some refuse what is too
    much (RFC 9110, 15.6.4). An error that says of itself ``retryable = False`` is none: a quota
    that is spent does not come back by waiting.
    """
    if _told(error, "retryable") is False:
        return False
    holders = error, _told(error, "response")
    said = [_told(holder, name) for holder in holders for name in ("status", "status_code", "code")]
    too_often = _TOO_OFTEN if wait_asked_for(error) is None else {*_TOO_OFTEN, 503}
    return any(isinstance(status, int) and status in too_often for status in said)


def is_retryable(error: BaseException) -> bool:
    """Whether an error says that the same call may succeed later."""
    return _told(error, "retryable") is True


def headers_of(error: BaseException) -> Iterator[Any]:
    """Yield the response headers that an error carries, or its ``response``."""
    for holder in (error, _told(error, "response")):
        headers = _told(holder, "headers")
        if _told(headers, "get") is not None:
            yield headers


def _told(holder: object, name: str) -> Any:
    """Return an attribute of what somebody else's code raised; None where it has none, or it cannot
    be read."""
    found = capture(getattr, holder, name, None)
    return None if type(found) is CaughtError else found


def wait_asked_for(error: BaseException, now: datetime | None = None) -> float | None:
    """Return the seconds that a refusal asks to wait, or None when it does not say.

    Understood are an attribute ``retry_after`` and the header ``Retry-After``, in seconds or as a
    date; a date is measured against the answer's own ``Date``, so that a wrong clock does no harm
    (RFC 9110, 10.2.3).
    """
    said = _told(error, "retry_after")
    if isinstance(said, int | float) and not isinstance(said, bool) and 0 <= said < float("inf"):
        return float(said)
    waits = (capture(_retry_after, headers, now) for headers in headers_of(error))
    return next((wait for wait in waits if isinstance(wait, float)), None)


def _retry_after(headers: Any, now: datetime | None) -> float | None:
    text = headers.get("Retry-After") or headers.get("retry-after")
    if not isinstance(text, str):
        return None
    try:
        seconds = float(text)
    except ValueError:
        until = date_of(text)
        if until is None:
            return None
        from datetime import datetime, timezone

        start = (
            date_of(headers.get("Date") or headers.get("date")) or now or datetime.now(timezone.utc)
        )
        return max(0.0, (until - start).total_seconds())
    return seconds if 0 <= seconds < float("inf") else None


def date_of(text: Any) -> datetime | None:
    """Return the moment that a header such as ``Date`` says; None where it says none."""
    from datetime import (
        timezone,
    )  # here and below: most runs are refused nothing, and these imports take a while
    from email.utils import parsedate_to_datetime

    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=timezone.utc)


def pause(attempt: int, asked: float | None, jitter: float) -> float | None:
    """Return how long to wait before asking again: a part of a time that doubles, never less than
    was asked for.

    None when the server asks for more than five minutes: such a row is better resumed.

    Args:
        attempt: The attempt that failed, counted from 1.
        asked: Seconds that the server asked for; None where it said nothing.
        jitter: The part, from 0 to 1: rows that were refused together ask at different moments.
    """
    if asked is not None and asked > _LONGEST_WAIT:
        return None
    longest = min(_LONGEST_PAUSE, 0.5 * 2.0 ** min(attempt, 16))
    if asked is None:
        return jitter * longest
    return max(asked, jitter * min(longest, max(1.0, LONGEST_OF_ASKED * asked)))
