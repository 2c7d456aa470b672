"""Two compressors that the project does not name anywhere else, a proxy and a library, plugged as the pages say."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from socket import socket
from typing import Any

import pytest

pytest.importorskip("aip_proxy")
pytest.importorskip("context_compressor")
pytest.importorskip("context_bench_upstream")

sys.path.insert(0, str(Path(__file__).parent))  # for the modules beside the tests

from workload import Server

from context_bench.cli import execute
from context_bench.runs import open_run

SHRINK = '''
from context_compressor import compress as compress_text


def shrink(messages):
    """Return the messages as the library writes them: one text."""
    texts = [{**message, "content": message.get("content") or ""} for message in messages]
    return [{"role": "user", "content": compress_text(texts, target_ratio=0.3).compressed}]
'''


@pytest.fixture(scope="session", autouse=True)
def packages() -> None:
    """Without a model: none is asked here."""


def free_port() -> int:
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def session(folder: Path) -> str:
    """Write a session whose results repeat themselves, and return where."""
    lines = [
        f"worker {number} of the pool waits for the lock of its shard   " for number in range(12)
    ]
    results = [
        "the staging server listens on port 8443 since monday",
        "the old mirror is kept in /srv/mirror/layers today",
        "the last build took 7421 seconds on the slow runner\n" + "\n".join([*lines, *lines]),
    ]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Why does the nightly job fail?"}]
    for number, result in enumerate(results):
        function = {"name": "read", "arguments": json.dumps({"part": number})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": result})
    answer = "I try port 8443 again, and look into /srv/mirror/layers."
    messages.append({"role": "assistant", "content": answer})
    path = folder / "session.json"
    path.write_text(json.dumps(messages), "utf-8")
    return str(path)


def measured(folder: Path, system: str) -> Any:
    """Return the one row of a system in a run of the session."""
    run = folder / "run.sqlite"
    dataset = f"sessions,path={session(folder)},cuts=last,tail=0,min_tokens=1"
    command = ["run", "--dataset", dataset, "--system", system, "--evaluators", "survival"]
    assert execute([*command, "--quiet", "--run-file", str(run)]) == 0
    with open_run(run) as opened:
        [row] = opened.rows()
    return row


def test_a_proxy_from_the_index_is_measured_by_what_it_forwards(tmp_path: Path) -> None:
    port, upstream = free_port(), free_port()
    options = ["--target", f"http://127.0.0.1:{upstream}", "--port", str(port), "--level", "2"]
    start = "import sys; from aip_proxy.cli import main; sys.argv[0] = 'aip-proxy'; main()"
    (tmp_path / "start.py").write_text(start, "utf-8")
    server = Server("aip-proxy", [str(tmp_path / "start.py"), "start", *options], tmp_path)
    try:
        server.answers(f"http://127.0.0.1:{port}/health")
        row = measured(
            tmp_path,
            f"proxy=forwarded:of=openai,base_url=http://127.0.0.1:{port},layout=messages,port={upstream}",
        )
    finally:
        server.stop()
    text = json.dumps(row.output["messages"])
    assert "same as above" in text
    assert row.output["forwarded"]["requests"] == 1
    assert row.scores["survival_needed"] == 1.0


def test_a_library_from_the_index_is_measured_by_a_function_of_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shrink.py").write_text(SHRINK, "utf-8")
    monkeypatch.chdir(tmp_path)
    row = measured(tmp_path, "library=python-transformer:target=shrink:shrink,version=1")
    [message] = row.output["messages"]
    assert "[tool]:" in message["content"] or "[user]:" in message["content"]
    assert 0 <= row.scores["survival_all"] <= 1


def test_a_class_from_the_index_is_measured_by_its_name(tmp_path: Path) -> None:
    row = measured(
        tmp_path, "class=python-transformer:target=aip_proxy.compressor:TokenCompressor,version=1"
    )
    assert "same as above" in json.dumps(row.output["messages"])
    assert row.scores["survival_needed"] == 1.0
