"""What servers say of their limits, in the words of each."""

from __future__ import annotations

import pytest

from context_bench_limits.headers import REQUESTS, TOKENS, Advice, advice_in

NOW = 1_800_000_000.0
"""A moment: Fri, 15 Jan 2027 08:00:00 GMT."""

TOLD = {
    "requests and tokens, spans": (
        {
            "x-ratelimit-limit-requests": "60",
            "x-ratelimit-remaining-requests": "59",
            "x-ratelimit-reset-requests": "1m0s",
            "x-ratelimit-limit-tokens": "150000",
            "x-ratelimit-reset-tokens": "20ms",
        },
        {REQUESTS: Advice(60, 59, 60), TOKENS: Advice(150_000, None, 0.02)},
    ),
    "a kind before the fact, and a date": (
        {
            "anthropic-ratelimit-requests-limit": "50",
            "anthropic-ratelimit-requests-reset": "2027-01-15T08:00:30Z",
        },
        {REQUESTS: Advice(50, None, 30)},
    ),
    "tokens in and out besides all of them": (
        {
            "anthropic-ratelimit-input-tokens-remaining": "30000",
            "anthropic-ratelimit-output-tokens-remaining": "8000",
            "anthropic-ratelimit-tokens-remaining": "8000",
            "anthropic-ratelimit-tokens-limit": "10000",
        },
        {TOKENS: Advice(10_000, 8000)},
    ),
    "tokens in and out only": (
        {
            "anthropic-ratelimit-input-tokens-limit": "30000",
            "anthropic-ratelimit-output-tokens-limit": "8000",
        },
        {TOKENS: Advice(30_000)},
    ),
    "a window as the last word": (
        {
            "X-RateLimit-Limit-Minute": "30",
            "X-RateLimit-Remaining-Minute": "12",
            "X-RateLimit-Limit-Hour": "1000",
            "X-RateLimit-Remaining-Hour": "900",
        },
        {REQUESTS: Advice(30, 12, None, 60)},
    ),
    "little left of the longer window": (
        {
            "x-ratelimit-limit-requests-minute": "30",
            "x-ratelimit-remaining-requests-minute": "29",
            "x-ratelimit-limit-requests-day": "1000",
            "x-ratelimit-remaining-requests-day": "3",
            "x-ratelimit-reset-requests-day": "3600",
            "x-ratelimit-limit-tokens-minute": "60000",
        },
        {REQUESTS: Advice(1000, 3, 3600, 86_400), TOKENS: Advice(60_000, None, None, 60)},
    ),
    "a number with its policy": (
        {"RateLimit-Limit": "100, 100;w=60"},
        {REQUESTS: Advice(100, None, None, 60)},
    ),
    "structured fields": (
        {"RateLimit-Policy": '"default";q=100;w=60', "RateLimit": '"default";r=50;t=30'},
        {REQUESTS: Advice(100, 50, 30, 60)},
    ),
    "an older draft's words": (
        {"RateLimit": "limit=100, remaining=50, reset=30"},
        {REQUESTS: Advice(100, 50, 30)},
    ),
    "a moment since 1970": (
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1800000012"},
        {REQUESTS: Advice(None, 0, 12)},
    ),
    "nothing of limits": ({"content-length": "3", "x-limit": "5", "x-credit-limit-usd": "7"}, {}),
    "no number": ({"x-ratelimit-limit": "many", "x-ratelimit-remaining": "-1"}, {}),
}


@pytest.mark.parametrize(("headers", "told"), TOLD.values(), ids=TOLD.keys())
def test_limits_are_read_in_every_spelling(
    headers: dict[str, str], told: dict[str, Advice]
) -> None:
    assert advice_in(headers, NOW) == told


@pytest.mark.parametrize(
    "reset", ["1800000012", "2027-01-15T08:00:12Z", "2027-01-15T09:00:12+01:00"]
)
def test_a_moment_is_measured_against_the_servers_own_date(reset: str) -> None:
    headers = {
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": reset,
        "date": "Fri, 15 Jan 2027 08:00:00 GMT",
    }
    assert advice_in(headers)[REQUESTS].reset == 12
