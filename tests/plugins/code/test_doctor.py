"""What the doctor is told of the sandbox."""

from __future__ import annotations

import os

import pytest

from context_bench_code import sandbox
from context_bench_code.doctor import check
from context_bench_code.errors import SandboxError
from context_bench_code.tiers import TIERS


def test_the_sandbox_that_works_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    strongest, *_, weakest = [tier.name for tier in TIERS if tier.isolates]
    monkeypatch.setattr(sandbox, "name_of", lambda: strongest)
    assert list(check()) == [("sandbox", "ok", f"tier {strongest!r} works")]
    monkeypatch.setattr(sandbox, "name_of", lambda: weakest)
    [(_, state, text)] = check()
    assert state == "ok"
    assert (
        text == f"tier {weakest!r} works; the strongest is {strongest!r}, which does not work here"
    )


def test_a_machine_without_a_sandbox_is_a_warning_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none() -> str:
        raise SandboxError("no sandbox works here (namespaces: not permitted)")

    monkeypatch.setattr(sandbox, "name_of", none)
    assert list(check()) == [
        ("sandbox", "warning", "no sandbox works here (namespaces: not permitted)")
    ]


def test_what_is_said_is_what_a_run_would_use() -> None:
    try:
        expected = sandbox.name_of()
    except SandboxError as error:
        if os.environ.get("CI"):
            raise  # a sandbox works there: see conftest.py
        pytest.skip(f"no sandbox here: {error}")
    [(_, state, text)] = check()
    assert state == "ok"
    assert text.startswith(f"tier {expected!r} works")
