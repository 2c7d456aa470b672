"""The limits of endpoints are learned where one is asked: what was learned is kept, and nothing else of a run depends on it."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import deque
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.protocols import RateLimiter
from context_bench.results.reading import read_result
from context_bench.runs import open_run
from context_bench_limits import LearnedLimits


class RefusedError(Exception):
    status = 429


class Limited:
    """A system that refuses more than so many calls in any second."""

    name = "limited"

    def __init__(self, rate: int) -> None:
        self.rate, self.refused, self.asked = rate, 0, 0
        self._accepted: deque[float] = deque()
        self._lock = threading.Lock()

    def fingerprint(self) -> dict[str, str]:
        return {"endpoint": "http://limited.test"}

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        now = time.monotonic()
        with self._lock:
            self.asked += 1
            while self._accepted and self._accepted[0] <= now - 1.0:
                self._accepted.popleft()
            if len(self._accepted) >= self.rate:
                self.refused += 1
                raise RefusedError
            self._accepted.append(now)
        return {"response": "1", "usage": {"input_tokens": 1}}


class Same:
    """An evaluator: is the response the answer?"""

    name = "same"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        return {"same": float(original["answer"] == processed["response"])}


def examples(count: int) -> list[dict[str, Any]]:
    return [{"id": f"e{number}", "question": str(number), "answer": "1"} for number in range(count)]


def provenance(path: Path) -> Any:
    with open_run(path) as run:
        return run.provenance


def test_its_rates_are_a_rate_limiter() -> None:
    assert isinstance(LearnedLimits().rate_limiter("http://127.0.0.1", None, None, {}), RateLimiter)


def test_a_hidden_limit_is_found_without_losing_a_row_and_kept(tmp_path: Path) -> None:
    system, path = Limited(50), tmp_path / "run.sqlite"
    result = evaluate(
        system, examples(250), [Same()], progress=False, max_workers=32, run_file=path
    )
    assert not any(row.errors for row in result.rows)
    assert len(result.rows) == 250
    assert system.refused < 25
    kept = provenance(path)
    assert "context-bench-limits/limits" in kept["extensions"]
    learned = kept["limits"]["http://limited.test"]["requests"]
    assert 10 < learned <= 60  # how exactly, the grid tells on a simulated clock


def test_the_next_session_begins_with_what_was_learned(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    evaluate(Limited(50), examples(120), [Same()], progress=False, max_workers=32, run_file=path)
    again = Limited(50)
    evaluate(again, examples(200), [Same()], progress=False, max_workers=32, run_file=path)
    assert again.asked - again.refused == 80
    assert again.refused <= 5  # a busy machine delays some calls into the window of others


def test_keys_are_the_same_with_and_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate(Limited(50), examples(3), [Same()], progress=False, run_file=tmp_path / "with.sqlite")
    monkeypatch.setenv("CONTEXT_BENCH_DISABLE_PLUGINS", "limits")
    evaluate(
        Limited(50), examples(3), [Same()], progress=False, run_file=tmp_path / "without.sqlite"
    )
    assert "context-bench-limits/limits" not in provenance(tmp_path / "without.sqlite").get(
        "extensions", {}
    )
    keys = []
    for name in ("with", "without"):
        with open_run(tmp_path / f"{name}.sqlite") as run:
            keys.append([run.keys((0, place, 0, 0)) for place in range(3)])
    assert keys[0] == keys[1]
    assert (
        read_result(tmp_path / "with.sqlite").summary.keys()
        == read_result(tmp_path / "without.sqlite").summary.keys()
    )


def test_a_run_that_asks_no_endpoint_imports_nothing_of_it() -> None:
    code = (
        "import sys; from context_bench import evaluate\n"
        "class Same:\n    name = 'same'\n    def score(self, original, processed): return {'same': 1.0}\n"
        "evaluate(lambda example: '1', [{'id': '1', 'question': 'q', 'answer': '1'}], [Same()], progress=False)\n"
        "print([name for name in sys.modules if name.startswith('context_bench_limits')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class Nameless:
    """A system that refuses its third call, and of which nobody can know what it asks."""

    name = "nameless"

    def __init__(self) -> None:
        self._calls = count(1)

    def fingerprint(self) -> dict[str, str]:
        return {"version": "1"}

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        if next(self._calls) == 3:
            raise RefusedError
        return {"response": "1"}


@pytest.mark.parametrize("workers", [1, 16])
def test_what_names_no_endpoint_is_paced_once_it_may_refuse(workers: int, tmp_path: Path) -> None:
    """A function that refuses is known by its first refusal; calls side by side are paced from the beginning."""
    path = tmp_path / "run.sqlite"
    result = evaluate(
        Nameless(), examples(30), [Same()], progress=False, max_workers=workers, run_file=path
    )
    assert not any(row.errors for row in result.rows)
    assert "context-bench-limits/limits" in provenance(path)["extensions"]
    assert "limits" not in provenance(path), "nobody can say of what it was learned"


def test_what_names_no_endpoint_does_without_where_it_is_switched_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEXT_BENCH_DISABLE_PLUGINS", "limits")
    path = tmp_path / "run.sqlite"
    result = evaluate(
        Nameless(), examples(30), [Same()], progress=False, max_workers=16, run_file=path
    )
    assert not any(row.errors for row in result.rows)
    assert "context-bench-limits/limits" not in provenance(path).get("extensions", {})
