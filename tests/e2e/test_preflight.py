"""Preflight in front of real proxies: one that shortens, and one that makes everything longer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import questions
from relay import Relay
from workload import LEAVES_JSON, MODEL, kompact


def test_preflight_finds_the_proxy_that_saves_nothing(
    relay: Relay, servers: Path, context_bench: Callable[..., Any], tmp_path: Path
) -> None:
    example = next(example for example in questions.examples() if example["kind"] == "records")
    three = json.dumps(json.loads(example["context"])[:3], indent=2)
    questions.write(tmp_path / "records.jsonl", [{**example, "context": three}])
    with (
        kompact(relay.url, servers) as shortens,
        kompact(relay.url, servers, options=LEAVES_JSON) as leaves,
    ):
        named = {"direct": relay.url, "kompact": shortens, "leaves-json": leaves}
        command = [part for name, url in named.items() for part in ("--proxy", url, "--name", name)]
        command += [part for name in named for part in ("--set", f"systems.{name}.max_tokens=4")]
        command += [
            "--model",
            MODEL,
            "--dataset",
            "records.jsonl",
            "--examples",
            "1",
            "--row-timeout",
            "120",
            "--json",
        ]
        done = context_bench(tmp_path, "preflight", *command)
    assert done.code == 0, done.out + done.err
    systems = {system["label"]: system for system in json.loads(done.out)["systems"]}
    assert all(system["can_work"] for system in systems.values()), done.out
    found = {
        label: [finding["name"] for finding in system["findings"]]
        for label, system in systems.items()
    }
    assert found == {"direct": [], "kompact": [], "leaves-json": ["adds-tokens"]}, done.out
    assert sum(len(system["requests"]) for system in systems.values()) >= len(relay.calls) > 3
