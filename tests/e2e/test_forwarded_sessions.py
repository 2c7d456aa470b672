"""Real sessions through a real proxy, with no model: what the run says was forwarded is what a second recorder saw."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from socket import socket
from typing import Any

import pytest

pytest.importorskip("kompact")
pytest.importorskip("context_bench_upstream")

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs"))  # for docs/pages.py

from pages import ROOT, blocks, steps
from relay import Relay
from workload import LEAVES_JSON, kompact

from context_bench.cli import execute
from context_bench.runs import open_run

TOKEN = re.compile(r"\w+|[^\w\s]")


def free_port() -> int:
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def tokens_of_body(body: dict[str, Any]) -> int:
    """Count what a request's messages say, by code of this test: texts, and the arguments of calls."""
    count = 0
    for message in body["messages"]:
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"text": content or ""}]
        texts = [str(part.get("text", "")) for part in parts]
        texts += [str(call["function"]["arguments"]) for call in message.get("tool_calls") or ()]
        count += sum(len(TOKEN.findall(text)) for text in texts)
    return count


def test_what_kompact_forwards_is_what_the_run_measured(
    shared: Callable[[str], Path], tmp_path: Path
) -> None:
    sessions = shared("data/sessions/openai-messages")
    port, run = free_port(), tmp_path / "run.sqlite"
    with Relay(f"http://127.0.0.1:{port}") as second, kompact(second.url, tmp_path) as url:
        command = [
            "run",
            "--dataset",
            f"sessions,path={sessions},cuts=0.5/last,min_tokens=500",
            "-n",
            "6",
            "--quiet",
        ]
        command += [
            "--system",
            f"kompact=forwarded:of=openai,base_url={url},layout=messages,port={port},model=none",
        ]
        assert (
            execute([*command, "--evaluators", "survival", "--controls", "--run-file", str(run)])
            == 0
        )
    with open_run(run) as opened:
        rows = [row for row in opened.rows() if row.system == "kompact"]
        labels = [entry["label"] for entry in opened.systems]
    assert len(rows) >= 2
    assert labels[1:] == [
        f"kompact {name}"
        for name in ("random", "newest", "head+tail", "drop-oldest-results", "clear-results")
    ]
    seen = [call.request for call in second.calls]
    for row in rows:
        body = row.output["forwarded"]["body"]
        assert body in seen
        stated = sum(
            len(TOKEN.findall(text))
            for message in row.output["messages"]
            for text in (
                message["content"],
                *(call["arguments"] for call in message.get("tool_calls") or ()),
            )
        )
        assert stated == tokens_of_body(seen[seen.index(body)])
        assert row.output["forwarded"]["bytes"] == len(json.dumps(body))
        assert 0 < row.scores["survival_all"] <= 1
    assert sum(row.output["forwarded"]["requests"] for row in rows) == len(seen)


def test_the_page_about_two_proxies_can_be_followed(
    shared: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = ROOT / "docs" / "how-to" / "compare-two-proxies-on-your-sessions.md"
    [block] = [one for one in blocks(page.read_text(encoding="utf-8")) if one.run_by == "tests/e2e"]
    ports = [free_port(), free_port()]
    monkeypatch.chdir(tmp_path)
    upstreams = [f"http://127.0.0.1:{port}" for port in ports]
    with (
        kompact(upstreams[0], tmp_path) as plain,
        kompact(upstreams[1], tmp_path, options=LEAVES_JSON) as gentle,
    ):
        written = {
            "http://127.0.0.1:7878": plain,
            "http://127.0.0.1:7879": gentle,
            "port=4010": f"port={ports[0]}",
        }
        written |= {
            "port=4011": f"port={ports[1]}",
            "path=sessions": f"path={shared('data/sessions/openai-messages')}",
        }
        for step in steps(block):
            command = step.command
            for name, real in written.items():
                command = command.replace(name, real)
            assert execute(shlex.split(command)[1:]) == 0
            shown = capsys.readouterr().out
            expected = [line for line in step.expected if line not in ("...", "")]
            assert all(line in shown for line in expected)
            assert "kompact" in shown
            assert "gentle" in shown
