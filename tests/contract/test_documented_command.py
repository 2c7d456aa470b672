"""The command of the source pages, from two datasets of the hub, through an endpoint, to a report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from context_bench.cli import execute
from context_bench.plugins.discovery import discover
from context_bench.plugins.loading import load

pytest.importorskip("datasets")

from hub_records import RECORDS, publish
from scripted_endpoint import endpoint as endpoint


def test_the_documented_command_runs_end_to_end(
    hub: Any,
    endpoint: tuple[str, list[dict[str, Any]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    catalog = discover()
    for name in ("hotpotqa", "gsm8k"):
        publish(hub, load(catalog.find("datasets", name)).wanted(), RECORDS[name])
    url, asked = endpoint
    command = [
        "--proxy",
        url,
        "--name",
        "N",
        "--dataset",
        "hotpotqa",
        "--dataset",
        "gsm8k",
        "-n",
        "50",
    ]
    assert execute([*command, "--format", "json", "-q"]) == 0
    told = json.loads(capsys.readouterr().out)
    values = told["summary"]["N"]
    assert values["dataset:hotpotqa"] == 1.0
    assert values["dataset:gsm8k"] == 0.25
    assert len(asked) >= len(RECORDS["hotpotqa"]) + len(RECORDS["gsm8k"])
    shown = json.dumps(asked)
    assert "1,001" not in shown
    assert "#### 1" not in shown
