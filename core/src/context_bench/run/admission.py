"""Admission of calls: through the limits of an endpoint, and the hooks of the run."""

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
_MAX_REFUSED_ATTEMPTS = 10
_MAX_FAILED_ATTEMPTS = 4
"""Attempts of one row at most, where it is refused, and where the endpoint fails."""

_LONGEST_WAIT = 300.0
_LONGEST_PAUSE = 30.0
LONGEST_OF_REQUESTED = 8.0
"""Longest pause of an endpoint that refuses again and again, in times of the pause that it
requests."""
_GLANCE = 0.25


class Admission:
    """Admits calls, and learns from their results. Safe to use from any thread.

    Args:
        systems: The systems.
        workers: Calls in flight at most.
        requests_per_minute: Limit of each endpoint, as far as the user knows it.
        tokens_per_minute: Limit of each endpoint, as far as the user knows it.
        hooks: The hooks of calls: they admit or refuse a call, and learn what it used.
        stop: Ends every wait.
        learned: The value of :attr:`learned` at the end of an earlier session.
        is_patient: Whether to continue where an endpoint is dead, or has only refused for two
            minutes.
        rates: Returns the rates of an endpoint, as the hook ``rate_limiter`` does; None where no
            extension learns them.

    Attributes:
        in_flight: Calls in flight by number of the system.
        retried: Repeated attempts by number of the system.
        cost: Total cost by number of the system.
        failures: Time and error of the latest attempt that is repeated, by number of the system.
        cost_function: Returns the cost of a response.
        currency: The currency of costs.
    """

    def __init__(
        self,
        systems: Iterable[RunSystem],
        workers: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        hooks: CallHooks | None = None,
        stop: CancelToken | None = None,
        learned: Mapping[str, Mapping[str, Any]] | None = None,
        is_patient: bool = False,
        rates: Callable[..., RateLimiter | None] | None = None,
    ) -> None:
        self.is_patient = is_patient
        self.hooks = hooks or CallHooks()
        self.cost_function = self.hooks.cost_function(reported_cost)
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
        self._workers = workers
        self._requests_per_minute = requests_per_minute
        self._tokens_per_minute = tokens_per_minute
        self._learned = learned or {}
        self._rates = rates
        self._endpoints: dict[int, str | None] = {}
        self._states: dict[int, EndpointState] = {}
        for run_system in systems:
            endpoint = endpoint_of(run_system.system)
            self._endpoints[run_system.number] = endpoint
            self.in_flight[run_system.number] = 0
            self.retried[run_system.number] = 0
            self.is_limited = self.is_limited or endpoint is not None

    @property
    def learned(self) -> dict[str, Mapping[str, Any]]:
        """What was learned of the limits of endpoints, for the next session."""
        with self._lock:
            states = list(self._states.values())
        learned: dict[str, Mapping[str, Any]] = {}
        for state in states:
            limits = state.limiter.learned if state.endpoint is not None else {}
            if state.endpoint is not None and limits:
                learned[state.endpoint] = limits
        return learned

    def state_of(self, run_system: RunSystem) -> EndpointState:
        """Return the state of a system's endpoint, created when it is first needed.

        Systems that call the same endpoint share it.
        """
        state = self._states.get(run_system.number)
        if state is not None:
            return state
        with self._lock:
            if run_system.number not in self._states:
                endpoint = self._endpoints[run_system.number]
                state = self._find_state(endpoint) or self._create_state(endpoint)
                self._states[run_system.number] = state
            return self._states[run_system.number]

    def _find_state(self, endpoint: str | None) -> EndpointState | None:
        if endpoint is not None:
            for state in self._states.values():
                if state.endpoint == endpoint:
                    return state
        return None

    def _create_state(self, endpoint: str | None) -> EndpointState:
        from context_bench.run import limits  # a run on the caller's thread needs no permits

        rates: RateLimiter | None = None
        if self._rates is not None:
            address = endpoint or ""
            rates = self._rates(
                address,
                self._requests_per_minute,
                self._tokens_per_minute,
                self._learned.get(address, {}),
            )
        if rates is None:
            rates = limits.EvenRates(self._requests_per_minute, self._tokens_per_minute)
        return limits.EndpointState(endpoint, limits.Limiter(self._workers, rates))

    def enter(self, job: Job, attempt: int = 1, is_first: bool = False) -> CallPermit | float:
        """Return a permit for a call; or the seconds after which to try again.

        Args:
            job: The job.
            attempt: Number of the attempt, counted from 1.
            is_first: Whether the call is the first one in the queue; a call outside of the queue is
                admitted only if the queue is empty.
        """
        run_system = job.slot
        state = self.state_of(run_system)
        if not is_first and len(state.queue):
            return _GLANCE
        wait = state.enter(job.input_tokens)
        if wait > 0:
            return min(wait, _GLANCE)
        with self._lock:
            self.in_flight[run_system.number] += 1
        admission = None
        if not self.hooks.is_empty:
            call = Call(
                system_number=run_system.number,
                system=run_system.label,
                endpoint=state.endpoint,
                identity=RowId(job.wiring.label, job.id.position, job.id.repetition),
                tokens=job.input_tokens,
                attempt=attempt - 1,
            )
            admission = self.hooks.admission_of(call)
        return CallPermit(self, job, state, admission)

    def leave(self, run_system: RunSystem, cost: float | None) -> None:
        """Count a call as ended."""
        state = self.state_of(run_system)
        state.limiter.leave()
        with self._lock:
            self.in_flight[run_system.number] -= 1
            if cost is not None:
                self.cost[run_system.number] = self.cost.get(run_system.number, 0.0) + cost
        state.queue.move()

    def retry(
        self, run_system: RunSystem, error: BaseException, wait: float, reason: str | None = None
    ) -> None:
        """Count an attempt that is repeated.

        Args:
            run_system: The system.
            error: The error of the attempt.
            wait: Seconds until the next attempt.
            reason: The reason for the wait, as the progress shows it; None for the rate limit.
        """
        state = self.state_of(run_system)
        with self._lock:
            self.retried[run_system.number] += 1
            text = f"{type(error).__name__}: {message_of(error)}"
            self.failures[run_system.number] = (monotonic(), text)
        if reason is None:
            state.wait(wait)
        else:
            state.wait(wait, reason)

    def waiting(self, number: int) -> str | None:
        """Return what the calls of a system wait for, and for how long.

        For example ``42 s for the rate limit of http://...``.
        """
        state = self._states.get(number)
        return None if state is None else state.waiting


@define(eq=False)
class CallPermit:
    """A permit for one call. It is returned once, at the end of the call or of the row.

    The turns of a conversation that is called turn by turn share the permit, and each is admitted
    and settled as a call.
    """

    _admission: Admission
    _job: Job
    _state: EndpointState
    _call: CallAdmission | None
    _usage: Usage | None = None
    _total: float | None = None
    _open: Lock = Factory(Lock)

    def __attrs_post_init__(self) -> None:
        if self._job.transcript is not None:
            self._job.transcript.permit = self

    @property
    def has_hooks(self) -> bool:
        """Whether extensions admit the call, too."""
        return self._call is not None

    def admit(self) -> None:
        """Return when the extensions have admitted the call; each may wait.

        Raises:
            CallRefusedError: An extension refuses the call.
        """
        assert self._call is not None
        self._call.admit()

    def next_turn(self) -> None:
        """Settle the usage of the previous turn, and ask the extensions to admit another one.

        Raises:
            CallRefusedError: An extension refuses the turn.
            TimeoutError: The permit was returned meanwhile.
        """
        if self._call is None:
            return
        used_tokens = self._usage.output_tokens if self._usage is not None else None
        call = self._call.call
        self._settle()
        call = evolve(call, tokens=call.tokens + int(used_tokens or 0))
        self._call = self._admission.hooks.admission_of(call)
        self.admit()
        if self._open.locked():
            self._settle()
            raise TimeoutError("the row's time was up before its next turn.")

    def note(self, output: Any) -> Usage:
        """Note the usage of an output, or of a turn, with its cost where that is known; return
        it."""
        usage = _usage_of(output)
        if usage is not _NO_USAGE:
            models = models_of(self._job.slot, output)
            cost, _ = self._admission.cost_function(usage, models)
            usage = evolve(usage, cost=cost)
        self._usage = usage
        if usage.cost is not None:
            self._total = (self._total or 0.0) + usage.cost
        return usage

    def answered(self, output: Any, seconds: float) -> None:
        """Learn from an output, and note its usage; that of a conversation is noted turn by
        turn."""
        usage = _usage_of(output) if self._job.turns else self.note(output)
        tokens = int((usage.input_tokens or 0) + (usage.output_tokens or 0))
        self._state.answered()
        headers = output.get("headers") if type(output) is dict else None
        self._state.limiter.answered(seconds, tokens, headers, self._job.input_tokens)

    def refused(self, error: BaseException, seconds: float, attempt: int) -> float | None:
        """Learn from an error, and return the seconds after which to repeat the call; None when it
        is not repeated."""
        requested = requested_wait(error)
        if not is_refusal(error):
            if not is_retryable(error):
                return None
            return self._pause_after_failure(error, requested, attempt)
        if not self._admission.is_patient:
            self._state.check(error)
        self._state.limiter.refused(requested, seconds, next(headers_of(error), None))
        wait = self._pause(attempt, requested)
        if wait is None or attempt >= _MAX_REFUSED_ATTEMPTS:
            return None
        self._admission.retry(self._job.slot, error, wait)
        return wait

    def _pause_after_failure(
        self, error: BaseException, requested: float | None, attempt: int
    ) -> float | None:
        """Return the seconds after which to repeat a call that failed and was not refused; None
        when it is not repeated."""
        wait = self._pause(attempt, requested)
        if wait is None or attempt >= _MAX_FAILED_ATTEMPTS:
            return None
        self._admission.retry(self._job.slot, error, wait, "to ask {} again")
        return wait

    def _pause(self, attempt: int, requested: float | None) -> float | None:
        """Return how long the row waits before its next attempt; equal runs wait equally long."""
        jitter = crc32(self._job.key + attempt.to_bytes(2, "big")) / 2**32
        return pause(attempt, requested, jitter)

    def leave(self) -> None:
        """Return the permit."""
        if not self._open.acquire(blocking=False):
            return
        self._admission.leave(self._job.slot, self._total)
        if self._call is not None:
            self._settle()

    def _settle(self) -> None:
        """Report the usage of the call to the extensions that admitted it, once."""
        assert self._call is not None
        usage = self._usage
        self._usage = None
        self._call.settle(usage, None if usage is None else usage.cost)


_NO_USAGE = Usage()


def _usage_of(output: Any) -> Usage:
    """Return the usage of an output; an output that cannot be read fails later, when it is
    stored."""
    usage = capture(Usage.read, output)
    return usage if type(usage) is Usage else _NO_USAGE


def is_refusal(error: BaseException) -> bool:
    """Whether an error means that its endpoint is called too often.

    Seen is a status of 429 or 529 in ``status``, ``status_code`` or ``code`` of the error or of its
    ``response``; one of 503 where the server says when to ask again, as some refuse what is too
    much (RFC 9110, 15.6.4). An error that says of itself ``retryable = False`` is none: a quota
    that is spent does not come back by waiting.
    """
    if _attribute(error, "retryable") is False:
        return False
    too_often = _TOO_OFTEN if requested_wait(error) is None else {*_TOO_OFTEN, 503}
    for holder in (error, _attribute(error, "response")):
        for name in ("status", "status_code", "code"):
            status = _attribute(holder, name)
            if isinstance(status, int) and status in too_often:
                return True
    return False


def is_retryable(error: BaseException) -> bool:
    """Whether an error declares that the same call may succeed later."""
    return _attribute(error, "retryable") is True


def headers_of(error: BaseException) -> Iterator[Any]:
    """Yield the response headers of an error, and of its ``response``."""
    for holder in (error, _attribute(error, "response")):
        headers = _attribute(holder, "headers")
        if _attribute(headers, "get") is not None:
            yield headers


def _attribute(holder: object, name: str) -> Any:
    """Return an attribute of an error of other code; None if it is missing or cannot be read."""
    value = capture(getattr, holder, name, None)
    return None if type(value) is CaughtError else value


def requested_wait(error: BaseException, now: datetime | None = None) -> float | None:
    """Return the seconds that a refusal requests to wait; None when it requests none.

    Understood are an attribute ``retry_after`` and the header ``Retry-After``, in seconds or as a
    date; a date is measured against the answer's own ``Date``, so that a wrong clock does no harm
    (RFC 9110, 10.2.3).
    """
    seconds = _attribute(error, "retry_after")
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if is_number and 0 <= seconds < float("inf"):
        return float(seconds)
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
    """Return the time of a header such as ``Date``; None if it is not a time."""
    # Here and above: most runs need none of these imports, which take a while.
    from datetime import timezone
    from email.utils import parsedate_to_datetime

    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=timezone.utc)


def pause(attempt: int, requested: float | None, jitter: float) -> float | None:
    """Return the seconds to wait before the next attempt.

    They are a part of a time that doubles, and not less than the server requests. None when the
    server requests more than five minutes: such a row is better resumed.

    Args:
        attempt: The attempt that failed, counted from 1.
        requested: Seconds that the server requests; None without a request.
        jitter: The part, from 0 to 1: rows that were refused together are repeated at different
            times.
    """
    if requested is not None and requested > _LONGEST_WAIT:
        return None
    longest = min(_LONGEST_PAUSE, 0.5 * 2.0 ** min(attempt, 16))
    if requested is None:
        return jitter * longest
    return max(requested, jitter * min(longest, max(1.0, LONGEST_OF_REQUESTED * requested)))
