from __future__ import annotations

from datetime import datetime, timezone

import pytest

from context_bench_http import wait_asked_for

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
