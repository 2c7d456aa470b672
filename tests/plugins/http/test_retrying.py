from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_bench_http import EndpointError
from context_bench_http.retrying import RetryPolicy, wait_asked_for

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
WAITS: dict[str, tuple[dict[str, str], float | None]] = {
    "seconds": ({"retry-after": "7"}, 7.0),
    "seconds with spaces": ({"retry-after": " 7 "}, 7.0),
    "a fraction": ({"retry-after": "0.25"}, 0.25),
    "zero": ({"retry-after": "0"}, 0.0),
    "milliseconds win": ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
    "a date against ours": ({"retry-after": "Thu, 01 Jan 2026 00:00:09 GMT"}, 9.0),
    "a date against the server's": (
        {"retry-after": "Thu, 01 Jan 2026 00:00:09 GMT", "date": "Thu, 01 Jan 2026 00:00:04 GMT"},
        5.0,
    ),
    "a date with an offset": ({"retry-after": "Thu, 01 Jan 2026 01:00:09 +0100"}, 9.0),
    "a date of the old form": ({"retry-after": "Thu Jan  1 00:00:09 2026"}, 9.0),
    "a date in the past": ({"retry-after": "Thu, 01 Jan 2015 00:00:00 GMT"}, 0.0),
    "nothing": ({}, None),
    "negative": ({"retry-after": "-1"}, None),
    "infinite": ({"retry-after": "inf"}, None),
    "no number": ({"retry-after": "nan"}, None),
    "words": ({"retry-after": "soon"}, None),
    "empty": ({"retry-after": ""}, None),
}


@pytest.mark.parametrize("case", WAITS)
def test_both_forms_of_retry_after_are_read(case: str) -> None:
    headers, seconds = WAITS[case]
    assert wait_asked_for(headers, now=NOW) == seconds


@given(attempt=st.integers(1, 5000), asked=st.none() | st.floats(0, 300))
def test_a_pause_is_bounded_and_never_shorter_than_asked(attempt: int, asked: float | None) -> None:
    policy = RetryPolicy(max_retries=5000, base_delay=1.0)
    pause = policy.pause_after(EndpointError("x", retryable=True, retry_after=asked), attempt)
    assert (asked or 0.0) <= pause <= max(asked or 0.0, min(60.0, 2.0 ** min(attempt - 1, 10)))


def test_the_last_attempt_raises_the_error_itself() -> None:
    error = EndpointError("It broke.", retryable=True)
    with pytest.raises(EndpointError) as caught:
        RetryPolicy(max_retries=2).pause_after(error, 3)
    assert caught.value is error
    assert str(error) == "It broke. (gave up after 3 attempts)"
