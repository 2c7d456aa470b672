"""The table computed again from what went over the wire: tokens, retries, waiting and cost of a real model and a real proxy.

A recorder stands between context-bench and each of the two. It passes requests on, refuses some of them with a `Retry-After`,
and notes what it saw; every figure of the table is then made of its notes alone.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

import pytest
import questions
from relay import Relay
from workload import MODEL, kompact

from conftest import Done

PRICES = {"input": 100.0, "output": 1000.0}
PAUSE = 1


class Recorder(Relay):
    """A relay that refuses the first request about each of some examples.

    Args:
        upstream: Address of the server.
        refused: Questions whose first request is refused.

    Attributes:
        seen: Of each request: the question, when it came, when it was answered, the status, and the usage.
    """

    def __init__(self, upstream: str, refused: list[str]) -> None:
        super().__init__(upstream)
        self.seen: list[tuple[str, float, float, int, dict[str, int]]] = []
        left, lock, seen = set(refused), Lock(), self.seen
        handler: Any = self._server.RequestHandlerClass

        class Recording(handler):  # type: ignore[misc]
            def do_POST(self) -> None:  # noqa: N802 - the name that http.server calls
                came = time.perf_counter()
                body = self.rfile.read(int(self.headers["Content-Length"]))
                asked = json.loads(body)["messages"][-1]["content"]
                with lock:
                    question = next((one for one in left if one in asked), None)
                    left.discard(question or "")
                if question is not None:
                    seen.append((asked, came, time.perf_counter(), 429, {}))
                    refusal = json.dumps({"error": {"message": "Slow down."}}).encode()
                    self.answer(
                        429,
                        [("Retry-After", str(PAUSE)), ("Content-Type", "application/json")],
                        refusal,
                    )
                    return
                status, headers, answer = self.ask(body)
                seen.append((asked, came, time.perf_counter(), status, json.loads(answer)["usage"]))
                self.answer(status, headers, answer)

        self._server.RequestHandlerClass = Recording

    def of(self, question: str) -> list[tuple[str, float, float, int, dict[str, int]]]:
        """Return the requests about an example, in their order."""
        return sorted((one for one in self.seen if question in one[0]), key=lambda one: one[1])


def test_the_table_is_what_went_over_the_wire(
    model: str, servers: Path, context_bench: Callable[..., Done], tmp_path: Path
) -> None:
    examples = [
        example for example in questions.examples() if example["kind"] in ("records", "short-prose")
    ][:5]
    questions.write(tmp_path / "questions.jsonl", examples)
    (tmp_path / "prices.toml").write_text(
        f'[prices."{MODEL}"]\ninput = {PRICES["input"]}\noutput = {PRICES["output"]}\n',
        encoding="utf-8",
    )
    refused = [example["question"] for example in examples[2:4]]
    with (
        kompact(model, servers) as proxy,
        Recorder(proxy, refused) as through,
        Recorder(model, refused[:1]) as direct,
    ):
        began = time.perf_counter()
        done = context_bench(
            tmp_path, "run", "--proxy", through.url, "--name", "kompact", "--baseline", f"direct={direct.url}",
            "--model", MODEL, "--set", "systems.defaults.temperature=0", "--set", "systems.defaults.max_tokens=4",
            "--set", "systems.defaults.timeout=600", "--dataset", "questions.jsonl", "--max-workers", "1",
            "--prices", "prices.toml", "--run-file", "r.sqlite", "-o", "r.json", "--quiet",
        )  # fmt: skip
        seconds = time.perf_counter() - began
    assert done.code == 0, done.out + done.err
    told = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    recorders = {"kompact": through, "direct": direct}
    sums: dict[str, dict[str, float]] = {}
    for label, recorder in recorders.items():
        values = told["summary"][label]
        rows = {row["example_id"]: row for row in told["rows"] if row["system"] == label}
        answered = [usage for *_, status, usage in recorder.seen if status == 200]
        assert len(answered) == len(examples) == len(rows)
        prompt = sum(usage["prompt_tokens"] for usage in answered)
        completion = sum(usage["completion_tokens"] for usage in answered)
        cost = (prompt * PRICES["input"] + completion * PRICES["output"]) / 1e6
        sums[label] = {"prompt": prompt, "cost": cost}
        assert values["mean_prompt_tokens"] == pytest.approx(prompt / len(examples))
        assert values["cost"] == pytest.approx(cost)
        assert values["retries"] == len(recorder.seen) - len(examples)
        for example in examples:
            row, requests = rows[example["id"]], recorder.of(example["question"])
            metadata = row["metadata"]
            assert row["attempts"] == len(requests)
            assert row["latency"] >= requests[-1][2] - requests[0][1] - 0.001
            asked_for = PAUSE * sum(status == 429 for *_, status, _ in requests)
            assert metadata.get("waiting", 0.0) >= asked_for - 0.001
            if len(requests) == 1 and "waiting" not in metadata:
                assert metadata.get("attempt_latency", row["latency"]) == row["latency"]
        waiting = [row["metadata"].get("waiting", 0.0) for row in rows.values()]
        assert values["waiting"] == pytest.approx(math.fsum(waiting))
        assert PAUSE * values["retries"] <= values["waiting"] + 0.001
    spans = [
        row["metadata"].get("attempt_latency", row["latency"]) + row["metadata"].get("waiting", 0.0)
        for row in told["rows"]
    ]
    assert math.fsum(spans) <= seconds  # one call at a time: nothing is counted twice
    values = told["summary"]["kompact"]
    assert values["tokens_saved"] == pytest.approx(
        1 - sums["kompact"]["prompt"] / sums["direct"]["prompt"]
    )
    assert values["cost_saved"] == pytest.approx(
        1 - sums["kompact"]["cost"] / sums["direct"]["cost"]
    )
    assert "unpaired" not in told["config"]
