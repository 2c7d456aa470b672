"""What `context-bench doctor` shows of this plugin: the sandbox that programs would run in here."""

from __future__ import annotations

from collections.abc import Iterator

from context_bench_code import sandbox
from context_bench_code.errors import SandboxError
from context_bench_code.tiers import TIERS


def check() -> Iterator[tuple[str, str, str]]:
    """Yield the strongest sandbox that works, found by trying, or why there is none."""
    try:
        name = sandbox.name_of()
    except SandboxError as error:
        yield "sandbox", "warning", str(error)
        return
    better = next(tier.name for tier in TIERS if tier.isolates)
    beside = "" if name == better else f"; the strongest is {better!r}, which does not work here"
    yield "sandbox", "ok", f"tier {name!r} works{beside}"
