"""Failures inside a 200 are recognized by what the body says, whatever types its fields have."""

from __future__ import annotations

from typing import Any

import pytest

from context_bench_http.upstream_failures import ReportedFailure, reported_failure

ANSWERED: dict[str, Any] = {"message": {"content": "Paris"}}


@pytest.mark.parametrize(
    ("body", "choice", "has_reply", "words", "status"),
    [
        ({}, {"finish_reason": "error"}, False, "upstream", None),
        (
            {},
            {"finish_reason": "stop", "error": {"code": 502, "message": "gone"}},
            True,
            "gone",
            502,
        ),
        ({"error": "gone"}, {}, False, "gone", None),
        ({"code": 50501, "msg": "busy"}, {}, False, "busy", 500),
        ({"code": 42901, "message": "slow down"}, {}, False, "slow down", 429),
        ({"detail": "Not authenticated"}, {}, False, "Not authenticated", None),
        (
            {"base_resp": {"status_code": 1002, "status_msg": "rate limit"}},
            {},
            False,
            "rate limit",
            429,
        ),
        ({"base_resp": {"status_code": "x", "status_msg": "bad"}}, {}, False, "bad", 500),
    ],
)
def test_a_failure_is_recognized(
    body: Any, choice: Any, has_reply: bool, words: str, status: int | None
) -> None:
    failure = reported_failure(body, choice, has_reply)
    assert isinstance(failure, ReportedFailure)
    assert words in failure.words
    assert failure.status == status


@pytest.mark.parametrize(
    ("body", "choice", "has_reply"),
    [
        ({}, ANSWERED, True),
        ({"error": None}, ANSWERED, True),
        ({"error": "a proxy's remark"}, ANSWERED, True),
        ({"base_resp": {"status_code": 0, "status_msg": ""}}, {}, False),
        ({"message": {"content": "Paris"}}, {}, False),
        *[({}, {**ANSWERED, "finish_reason": odd}, True) for odd in (["error"], {"a": 1}, 7, True)],
    ],
)
def test_what_is_not_a_failure_is_none(body: Any, choice: Any, has_reply: bool) -> None:
    assert reported_failure(body, choice, has_reply) is None
