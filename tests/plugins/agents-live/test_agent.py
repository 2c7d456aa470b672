"""The tool loop with the oracle: direct, and behind proxies that cut."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from context_bench.cli import execute
from context_bench.errors import ConfigurationError
from context_bench_agents_live import Agent, AgentTask, BillPerSuccess, Workspace, WorkspaceError
from context_bench_agents_live.conversation import ToolCall
from context_bench_agents_live.tools import run_tool
from context_bench_http.local_server import Guard, LocalResponse, LocalServer
from context_bench_tasks import tasks

Messages = list[dict[str, Any]]
HUNTS = list(tasks(n=4, seed=1))


def identity(messages: Messages) -> Messages:
    return messages


def head(messages: Messages) -> Messages:
    return [
        {**message, "content": message["content"][:2000]} if message["role"] == "tool" else message
        for message in messages
    ]


def clear_results(messages: Messages) -> Messages:
    results = [at for at, message in enumerate(messages) if message["role"] == "tool"]
    old = set(results[:-4])
    return [
        {**message, "content": "[cleared]"} if at in old else message
        for at, message in enumerate(messages)
    ]


def run(agent: Agent, hunts: list[dict[str, Any]] = HUNTS, workers: int = 1) -> list[Any]:
    """Return outputs and scores of hunts; systems see no gold."""
    inputs = [{name: hunt[name] for name in ("question", "files", "limits")} for hunt in hunts]
    try:
        with ThreadPoolExecutor(workers) as pool:
            outputs = list(pool.map(agent.process, inputs))
    finally:
        agent.close()
    return [
        (output, AgentTask().score(hunt, output))
        for hunt, output in zip(hunts, outputs, strict=True)
    ]


def successes(results: list[Any]) -> float:
    return sum(scores["task_success"] for _, scores in results)


@pytest.mark.parametrize("notes", [False, True], ids=["plain", "notes"])
def test_the_oracle_solves_each_hunt_without_a_repeated_read(notes: bool) -> None:
    for output, scores in run(Agent(notes=notes)):
        assert scores["task_success"] == 1.0
        assert scores["agent_re_reads"] == 0.0
        assert scores["agent_turns"] == scores["agent_calls"] + 1
        assert output["agent"]["ended"] == "finished"
        assert list(output["changes"]) == ["ledger.txt"]


def test_the_results_are_the_same_twice_and_on_one_and_on_four_workers() -> None:
    assert run(Agent()) == run(Agent()) == run(Agent(), workers=4)


def test_a_proxy_that_changes_nothing_gives_the_results_of_direct(
    make_proxy: Callable[..., tuple[str, int]],
) -> None:
    url, port = make_proxy(identity)
    assert run(Agent(base_url=url, port=port), workers=4) == run(Agent())


def test_a_plain_agent_fails_where_results_are_cut_and_stops_after_three_tries(
    make_proxy: Callable[..., tuple[str, int]],
) -> None:
    url, port = make_proxy(head)
    results = run(Agent(base_url=url, port=port))
    assert successes(results) == 0
    for output, scores in results:
        assert "three reads" in output["response"]
        assert scores["agent_re_reads"] == 2.0


def test_notes_replace_cleared_results_and_a_plain_agent_reads_until_the_bound(
    make_proxy: Callable[..., tuple[str, int]],
) -> None:
    url, port = make_proxy(clear_results)
    plain = run(Agent(base_url=url, port=port))
    assert successes(plain) == 0
    assert [scores["agent_turns"] for _, scores in plain] == [61.0] * 4
    url, port = make_proxy(clear_results)
    scribe = run(Agent(base_url=url, port=port, notes=True))
    assert successes(scribe) == 4
    direct = run(Agent(notes=True))
    for (_, behind), (_, alone) in zip(scribe, direct, strict=True):
        assert behind["agent_turns"] == alone["agent_turns"]
        assert behind["agent_tokens_sent"] < alone["agent_tokens_sent"]
        assert behind["agent_cached_share"] < alone["agent_cached_share"]


def test_tokens_are_counted_as_the_proxy_forwards_them(
    make_proxy: Callable[..., tuple[str, int]],
) -> None:
    url, port = make_proxy(lambda messages: messages[1:])
    ((_, without_system),) = run(Agent(base_url=url, port=port), HUNTS[:1])
    ((_, direct),) = run(Agent(), HUNTS[:1])
    assert without_system["agent_turns"] == direct["agent_turns"]
    assert without_system["agent_tokens_sent"] < direct["agent_tokens_sent"]


def test_the_turns_of_a_task_bound_the_work() -> None:
    hunt = {**HUNTS[0], "limits": {"turns": 3, "seconds": 600, "bytes": 1000}}
    ((output, scores),) = run(Agent(), [hunt])
    assert (output["agent"]["ended"], scores["agent_turns"]) == ("bound", 3.0)
    assert scores["task_success"] == 0.0


def test_a_refusal_of_the_endpoint_ends_the_task() -> None:
    server = LocalServer(lambda _: LocalResponse(b"no", 400), 0, Guard(methods=("POST",)))
    try:
        ((output, scores),) = run(Agent(base_url=server.url), HUNTS[:1])
    finally:
        server.close()
    assert output["agent"]["ended"] == "refused"
    assert scores["task_success"] == 0.0


def test_a_proxy_that_forwards_nothing_is_an_error() -> None:
    reply = b'{"choices": [{"message": {"content": "done"}}]}'
    server = LocalServer(
        lambda _: LocalResponse(reply, 200, "application/json"), 0, Guard(methods=("POST",))
    )
    try:
        with pytest.raises(ConfigurationError, match="forwarded no request"):
            run(Agent(base_url=server.url), HUNTS[:1])
    finally:
        server.close()


@pytest.mark.parametrize(
    "options",
    [{"policy": "x"}, {"policy": "none"}, {"max_turns": 0}, {"base_url": "ftp://x"}],
    ids=str,
)
def test_an_option_that_cannot_be_used_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        Agent(**options)


@pytest.mark.parametrize(
    "path", ["../out.txt", "/tmp/out.txt", "a/../../out.txt", "link/out.txt", "", "."]
)
def test_no_path_leads_out_of_the_workspace(path: str, tmp_path: Path) -> None:
    with Workspace({"a/b.txt": "1"}, 1000) as workspace:
        (workspace.root / "link").symlink_to(tmp_path)
        (tmp_path / "secret").write_text("secret")
        before = workspace.digests()
        for call in (
            ToolCall("1", "write", {"path": path, "content": "x"}),
            ToolCall("2", "read", {"path": path}),
            ToolCall("3", "read", {"path": "link/secret"}),
        ):
            assert run_tool(call, workspace).startswith("error:")
        assert workspace.digests() == before
        assert [file.name for file in tmp_path.iterdir()] == ["secret"]
        outer = workspace.root.parent
    assert not outer.exists()


def test_the_bytes_of_a_workspace_are_bounded() -> None:
    with Workspace({"a.txt": "1" * 5000}, 10) as workspace:
        workspace.write("b.txt", "12345")
        with pytest.raises(WorkspaceError, match="more bytes"):
            workspace.write("c.txt", "123456")
        assert workspace.changes() == {"b.txt": "12345"}


def test_the_bill_counts_cached_tokens_at_their_price() -> None:
    counts = {
        "turns": 2,
        "calls": {"read": 1},
        "re_reads": 0,
        "tokens_sent": 300,
        "tokens_cached": 100,
        "tokens_written": 10,
    }
    check = {"outputs": {"a": "1"}, "unchanged": {}}
    output = {"agent": counts, "workspace": {"a": "1"}}
    scores = AgentTask(1.0, 0.5, 2.0).score({"check": check}, output)
    assert scores["agent_bill"] == pytest.approx((200 + 50 + 20) / 1e6)
    assert scores["agent_cached_share"] == pytest.approx(1 / 3)
    assert AgentTask().score({}, output) == {}


def test_the_bill_of_failed_tasks_is_divided_among_the_successes() -> None:
    class Row:
        def __init__(self, success: float, bill: float) -> None:
            self.scores = {"task_success": success, "agent_bill": bill}

    assert BillPerSuccess().compute([Row(1, 2), Row(0, 4)]) == {"bill_per_success": 6}
    assert BillPerSuccess().compute([Row(0, 4)]) == {"bill_per_success": float("inf")}
    assert BillPerSuccess().compute([]) == {}


def test_a_run_of_the_command_line_scores_the_tasks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_file = str(tmp_path / "agents.sqlite")
    command = ["run", "--dataset", "tasks,n=2", "--system", "agent", "--run-file", run_file]
    assert execute(command) == 0
    printed = capsys.readouterr().out
    assert "task_success" in printed
    assert "bill/success" in printed


def test_the_plugin_check_is_clean() -> None:
    assert execute(["plugins", "check", "context-bench-agents-live"]) == 0
