"""Which sandbox is taken, and what is said when there is none."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from context_bench_code import CodeExecution, SandboxError, sandbox
from context_bench_code.sandbox import _fault_of, _Sandboxes
from context_bench_code.tiers import TIERS, Tier, environment, interpreter, visible_paths
from context_bench_code.zygote import Zygote

Row = dict[str, Any]
RIGHT = {"response": "    return a + b"}

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the sandbox is built from Linux namespaces"
)


@pytest.mark.parametrize("tier", [tier.name for tier in TIERS])
def test_each_tier_that_works_here_gives_the_same_verdicts(tier: str, row: Row) -> None:
    evaluator = CodeExecution(timeout=2, tier=tier, allow_unsandboxed=True)
    try:
        score = evaluator.score(row, RIGHT)
    except SandboxError as error:
        pytest.skip(str(error))
    assert score == {"pass_at_1": 1.0}
    assert score.details["tier"] == tier  # type: ignore[attr-defined]
    for response, outcome in {
        "    return a - b": "failed assertion",
        "    raise SystemExit": "exited early",
        "    import os\n    os._exit(0)": "exited early",
        "    import os\n    os.fork()": "error",
        "    import socket\n    socket.socket()": "error",
        "    return bytearray(2 << 30)": "memory",
        "    while True: pass": "timeout",
    }.items():
        score = evaluator.score(row, {"response": response})
        assert (score, score.details["outcome"]) == ({"pass_at_1": 0.0}, outcome)  # type: ignore[attr-defined]


def test_the_strongest_tier_that_passes_its_trial_is_taken(
    evaluator: CodeExecution, row: Row
) -> None:
    taken = evaluator.score(row, RIGHT).details["tier"]  # type: ignore[attr-defined]
    stronger = [tier for tier in TIERS if tier.isolates]
    stronger = stronger[: [tier.name for tier in stronger].index(taken)]
    assert all(_fault_of(Zygote(tier)) is not None for tier in stronger)


def test_a_tier_that_leaks_does_not_pass_its_trial() -> None:
    leaky = Zygote(Tier("leaky", walls="bare", isolates=True))
    try:
        fault = _fault_of(leaky)
    finally:
        leaky.close()
    assert fault is not None
    assert any(
        reason in fault
        for reason in ("AssertionError: reading", "root does not run model-written code")
    )


def test_without_isolation_code_is_run_only_with_leave(
    monkeypatch: pytest.MonkeyPatch, row: Row
) -> None:
    monkeypatch.setattr(sandbox, "TIERS", tuple(tier for tier in TIERS if not tier.isolates))
    monkeypatch.setattr(sandbox, "_sandboxes", _Sandboxes())
    with pytest.raises(
        SandboxError,
        match=r"no sandbox works here.*allow_unsandboxed=True or --allow-unsandboxed-code",
    ):
        CodeExecution().score(row, RIGHT)
    with pytest.raises(SandboxError, match="'process' does not isolate"):
        CodeExecution(tier="process").score(row, RIGHT)


def test_the_message_names_each_tier_and_its_fault(
    monkeypatch: pytest.MonkeyPatch, row: Row
) -> None:
    monkeypatch.setattr(sandbox, "_sandboxes", _Sandboxes())
    monkeypatch.setattr(sandbox, "_fault_of", lambda zygote: f"{zygote.tier.walls} walls fell")
    with pytest.raises(
        SandboxError, match=r"bubblewrap: cell walls fell; .*; namespaces: jail walls fell"
    ):
        CodeExecution().score(row, RIGHT)


@pytest.mark.parametrize("platform", ["darwin", "freebsd14"])
def test_other_systems_need_leave_at_construction(
    platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(
        SandboxError, match=f"no isolating sandbox on {platform}.*--allow-unsandboxed-code"
    ):
        CodeExecution()
    assert CodeExecution(allow_unsandboxed=True).allow_unsandboxed


def test_windows_is_sent_to_wsl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(SandboxError, match="WSL"):
        CodeExecution(allow_unsandboxed=True)


def test_the_sandbox_shows_libraries_and_never_the_whole_machine() -> None:
    shown = set(visible_paths())
    assert not shown & {
        "/",
        "/usr",
        "/etc",
        "/home",
        "/root",
        "/var",
        "/tmp",
        sys.prefix,
        sys.base_prefix,
    }
    assert any(path.endswith("/lib") for path in shown)


def test_the_fork_server_gets_no_secret_and_the_real_interpreter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    assert set(environment()) <= {"LANG", "LD_LIBRARY_PATH", "PYTHONHASHSEED"}
    assert interpreter().startswith("/")
