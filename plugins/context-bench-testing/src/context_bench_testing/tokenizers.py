"""Conformance of a tokenizer: the counts that it returns."""

from __future__ import annotations

from typing import Any

from context_bench_testing.samples import ORIGINAL, UNUSUAL_TEXTS, examples_of
from context_bench_testing.subject import Subject


def check_tokenizer(subject: Subject) -> None:
    """Check a tokenizer with each of its examples."""
    for example in examples_of(subject.component):
        tokenizer = subject.build(example)
        if tokenizer is None:
            continue
        subject.require_name(tokenizer)
        if not callable(getattr(tokenizer, "count", None)):
            subject.report.fault("signature", "what its class builds has no count()")
        elif subject.require_binding("count", tokenizer.count, ""):
            _check_counts(subject, tokenizer)


def _check_counts(subject: Subject, tokenizer: Any) -> None:
    usual: str = ORIGINAL["context"]
    count = _count(subject, tokenizer, usual, "a usual text")
    if count is None:
        return
    if count == 0:
        subject.report.fault("range", "it counts no token in a usual text")
    again = _count(subject, tokenizer, usual, "a usual text")
    if subject.component.manifest.deterministic and again != count:
        subject.report.fault("not-deterministic", "it counts the same text differently")
    for what, text in UNUSUAL_TEXTS.items():
        number = _count(subject, tokenizer, text, f"an unusual text ({what})")
        if what == "empty" and number:
            subject.report.fault("range", f"it counts {number} tokens in an empty text")


def _count(subject: Subject, tokenizer: Any, text: str, what: str) -> int | None:
    """Return the count of a text, or None with a finding."""
    outcome = subject.call("count()", tokenizer.count, text)
    if outcome.error is not None:
        if not subject.is_refused(outcome):
            check = "unusual-input" if "unusual" in what else "raises"
            subject.report.fault(check, f"count() raises {outcome.error_text} for {what}")
        return None
    value = outcome.value
    if type(value) is not int:
        subject.report.fault("not-a-number", f"count() returns {value!r} for {what}, not an int")
        return None
    if value < 0:
        subject.report.fault("range", f"count() returns {value} for {what}")
    return value
