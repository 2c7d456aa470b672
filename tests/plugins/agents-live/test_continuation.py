"""Arms that go on from one recorded session at the same cut, with the oracle or a model at an endpoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench.cli import execute
from context_bench.errors import ConfigurationError
from context_bench.runs import open_run
from context_bench_agents_live import Agent, OraclePolicy, PolicyServer, Workspace
from context_bench_agents_live.loop import ToolLoop
from context_bench_http import Endpoint, HttpClient, Network
from context_bench_http.local_server import Guard, LocalResponse, LocalServer
from context_bench_tasks import tasks

TURNS = 6
(HUNT,) = tasks(n=1, seed=1, assets=4)
INPUTS = {name: HUNT[name] for name in ("question", "files", "limits")}


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a hunt whose session was recorded to its end, and is cut after some turns."""
    folder = tmp_path_factory.mktemp("task")
    with (
        PolicyServer(OraclePolicy()) as server,
        Workspace(HUNT["files"], 10**6) as workspace,
    ):
        http = HttpClient(Network(is_local=True), 60)
        loop = ToolLoop(http, Endpoint.parse(server.url), "oracle", "key")
        loop.run(HUNT["question"], workspace, HUNT["limits"])
        http.close()
        ledger = workspace.read("ledger.txt")
    (folder / "session.json").write_text(json.dumps(loop.messages))
    (folder / "expected").mkdir()
    (folder / "expected" / "ledger.txt").write_text(ledger)
    for path, text in HUNT["files"].items():
        file = folder / "files" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (folder / "task.toml").write_text(f'session = "session.json"\ncut = {2 + 2 * TURNS}\n')
    return folder


def test_arms_go_on_from_a_recorded_session_and_the_end_state_is_checked(
    task: Path, tmp_path: Path, make_proxy: Callable[..., tuple[str, int]]
) -> None:
    seen: list[list[dict[str, Any]]] = []

    def compact(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        seen.append(messages)
        results = [at for at, message in enumerate(messages) if message["role"] == "tool"]
        old = set(results[:-4])
        return [
            {**message, "content": "[cleared]"} if at in old else message
            for at, message in enumerate(messages)
        ]

    url, port = make_proxy(compact)
    run_file = str(tmp_path / "run.sqlite")
    with PolicyServer(OraclePolicy()) as model:
        systems = {
            "direct": "agent:loop",
            "model": f"agent:loop,policy=none,base_url={model.url}",
            "proxy": f"agent:loop,max_turns=12,base_url={url},port={port}",
        }
        command = ["run", "--dataset", f"tasks,path={task}", "--quiet", "--run-file", run_file]
        command += [f"--system={label}={spec}" for label, spec in systems.items()]
        assert execute([*command, "--evaluators", "agent-task"]) == 0
    with open_run(run_file) as opened:
        rows = {row.system: row for row in opened.rows()}
    recorded = json.loads((task / "session.json").read_text())
    assert seen[0] == recorded[: 2 + 2 * TURNS]
    direct, proxy = rows["direct"], rows["proxy"]
    assert [rows[name].scores["task_success"] for name in systems] == [1.0, 1.0, 0.0]
    assert direct.scores == {**rows["model"].scores, "agent_kept_share": 1.0}
    assert proxy.scores["agent_re_reads"] > 2
    agent = Agent(start_turns=TURNS)
    try:
        same = agent.process(INPUTS)
    finally:
        agent.close()
    assert direct.output["agent"] == same["agent"]


def test_a_model_behind_a_proxy_is_counted_as_the_proxy_forwards(
    task: Path, make_proxy: Callable[..., tuple[str, int]]
) -> None:
    url, port = make_proxy(lambda messages: messages[1:])
    (row,) = tasks(path=str(task))
    with PolicyServer(OraclePolicy()) as model:
        options = {"policy": "none", "upstream": model.url, "api_key": "key-of-the-model"}
        outputs = []
        for more in ({}, {"base_url": url, "port": port}, {"control": "head"}):
            agent = Agent(**options, **more)
            try:
                outputs.append(agent.process(row))
                assert bool(agent.matched_controls()) == bool(more)
            finally:
                agent.close()
    direct, behind, cut = (output["agent"] for output in outputs)
    assert (direct["turns"], direct["ended"], direct["kept_share"]) == (5, "finished", 1.0)
    assert (behind["turns"], behind["kept_share"]) == (5, 1.0)
    assert behind["tokens_sent"] < direct["tokens_sent"]
    assert cut["kept_share"] < 0.9
    first = outputs[1]["transcript"]["requests"][0]
    assert len(first["received"]["more"]) == len(first["sent"]["more"]) - 1


def test_what_a_model_refuses_ends_the_task(task: Path) -> None:
    (row,) = tasks(path=str(task))
    server = LocalServer(lambda _: LocalResponse(b"no", 400), 0, Guard(methods=("POST",)))
    agent = Agent(policy="none", upstream=server.url)
    try:
        assert agent.process(row)["agent"]["ended"] == "refused"
    finally:
        agent.close()
        server.close()


@pytest.mark.parametrize(
    "options",
    [
        {"upstream": "http://127.0.0.1:1"},
        {"upstream": "ftp://x", "policy": "none"},
        {"upstream": "http://127.0.0.1:1", "policy": "none", "command": ["true"]},
    ],
    ids=str,
)
def test_an_upstream_that_cannot_be_used_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        Agent(**options)


def test_a_program_cannot_go_on_from_a_session(task: Path) -> None:
    (row,) = tasks(path=str(task))
    for options in ({"command": ["true"]}, {"start_turns": 2}):
        agent = Agent(**options)
        try:
            with pytest.raises(ConfigurationError, match="recorded session"):
                agent.process(row)
        finally:
            agent.close()
