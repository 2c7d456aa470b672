"""The tool loop with the oracle: direct, and behind proxies that cut."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from time import monotonic, sleep
from typing import Any

import pytest

from context_bench import EvalRow
from context_bench.catalog import open_catalog
from context_bench.cli import execute
from context_bench.errors import ConfigurationError
from context_bench.runs import open_run
from context_bench_agents_live import (
    Agent,
    AgentTask,
    BillPerSuccess,
    Control,
    OraclePolicy,
    PolicyServer,
    Workspace,
    WorkspaceError,
)
from context_bench_agents_live.conversation import ToolCall
from context_bench_agents_live.tools import run_tool
from context_bench_command import once, processes
from context_bench_http import DeclaredFailureError, EndpointError
from context_bench_http.local_server import Guard, LocalRequest, LocalResponse, LocalServer
from context_bench_tasks import digest_of, tasks

Messages = list[dict[str, Any]]
HUNTS = list(tasks(n=2, seed=1))


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


def test_requests_of_eight_parallel_rows_are_not_mixed_by_a_proxy_that_reorders_them(
    make_proxy: Callable[..., tuple[str, int]],
) -> None:
    random = Random(7)

    def delay(messages: Messages) -> Messages:
        sleep(random.random() / 50)
        return messages

    hunts = list(tasks(n=8, seed=5, assets=3))
    url, port = make_proxy(delay)
    assert run(Agent(base_url=url, port=port), hunts, workers=8) == run(Agent(), hunts)


def test_a_plain_agent_fails_where_results_are_cut_and_stops_after_three_tries(
    make_proxy: Callable[..., tuple[str, int]],
) -> None:
    url, port = make_proxy(head)
    results = run(Agent(base_url=url, port=port))
    assert successes(results) == 0
    for output, scores in results:
        assert "three reads" in output["response"]
        assert output["agent"]["ended"] == "gave up"
        assert scores["agent_re_reads"] == 2.0


def test_notes_replace_cleared_results_and_a_plain_agent_reads_until_the_bound(
    make_proxy: Callable[..., tuple[str, int]],
) -> None:
    hunts = HUNTS[:1]
    url, port = make_proxy(clear_results)
    ((_, plain),) = run(Agent(base_url=url, port=port, max_turns=20), hunts)
    assert (plain["task_success"], plain["agent_turns"]) == (0.0, 21.0)
    url, port = make_proxy(clear_results)
    scribe = run(Agent(base_url=url, port=port, notes=True, max_turns=20), hunts)
    assert successes(scribe) == 1
    direct = run(Agent(notes=True), hunts)
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


def test_a_transcript_has_what_was_sent_in_each_turn_and_what_the_proxy_forwarded(
    make_proxy: Callable[..., tuple[str, int]],
) -> None:
    url, port = make_proxy(lambda messages: clear_results(messages[1:]))
    ((output, scores),) = run(Agent(base_url=url, port=port, notes=True), HUNTS[:1])
    transcript = output["transcript"]
    texts = [message.get("text", "") for message in transcript["messages"]]
    assert len(transcript["requests"]) == scores["agent_turns"]
    sent: list[int] = []
    received: list[int] = []
    for request in transcript["requests"]:
        sent = sent[: request["sent"]["same"]] + request["sent"]["more"]
        received = received[: request["received"]["same"]] + request["received"]["more"]
        assert len(received) == len(sent) - 1
    assert (texts.count("[cleared]"), "[cleared]" in [texts[number] for number in sent]) == (
        1,
        False,
    )
    assert [texts[number] for number in received].count("[cleared]") > 5
    ((direct, _),) = run(Agent(notes=True), HUNTS[:1])
    for request in direct["transcript"]["requests"]:
        assert request["sent"] == request["received"]
    ((short, _),) = run(Agent(transcript=2000), HUNTS[:1])
    lengths = [len(message.get("text", "")) for message in short["transcript"]["messages"]]
    assert 0 < sum(lengths) <= 2000
    ((none, _),) = run(Agent(transcript=0, controls=True), HUNTS[:1])
    assert "transcript" not in {*none, *none["random"]}


def test_the_turns_of_a_task_bound_the_work() -> None:
    hunt = {**HUNTS[0], "limits": {"turns": 3, "seconds": 600, "bytes": 1000}}
    ((output, scores),) = run(Agent(), [hunt])
    assert (output["agent"]["ended"], scores["agent_turns"]) == ("bound", 3.0)
    assert scores["task_success"] == 0.0


def test_the_turns_of_a_task_bound_a_program(
    make_proxy: Callable[..., tuple[str, int]], program: Path
) -> None:
    url, port = make_proxy(identity)
    for options in ({}, {"base_url": url, "port": port}):
        for turns, ended in ((2, "bound"), (80, "finished")):
            hunt = {**HUNTS[0], "limits": {"turns": turns, "seconds": 600, "bytes": 1_000_000}}
            ((output, scores),) = run(Agent(command=command_of(program, "work"), **options), [hunt])
            assert output["agent"]["ended"] == ended
            assert (scores["agent_turns"] == turns) == (ended == "bound")
            assert scores["task_success"] == float(ended == "finished")


def test_the_last_turn_of_a_program_is_answered_and_a_request_for_a_title_is_no_turn() -> None:
    script = """
import json, sys, urllib.request
for tools in (0, 1, 1, 0):
    body = {"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function"}] * tools}
    headers = {"authorization": "Bearer " + sys.argv[2]}
    url = sys.argv[1] + "/v1/chat/completions"
    urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read()
"""
    for turns, ended in ((2, "gave up"), (1, "bound")):
        hunt = {**HUNTS[0], "limits": {"turns": turns, "seconds": 600, "bytes": 1_000_000}}
        command = [sys.executable, "-c", script, "{base_url}", "{key}"]
        ((output, _),) = run(Agent(command=command), [hunt])
        assert (output["agent"]["ended"], output["agent"]["turns"]) == (ended, turns)


def test_a_refusal_of_the_endpoint_ends_the_task() -> None:
    server = LocalServer(lambda _: LocalResponse(b"no", 400), 0, Guard(methods=("POST",)))
    try:
        ((output, scores),) = run(Agent(base_url=server.url), HUNTS[:1])
    finally:
        server.close()
    assert output["agent"]["ended"] == "refused"
    assert scores["task_success"] == 0.0


def test_an_agent_without_a_request_has_no_cached_share() -> None:
    server = LocalServer(lambda _: LocalResponse(b"no", 400), 0, Guard(methods=("POST",)))
    try:
        ((_, scores),) = run(Agent(base_url=server.url), HUNTS[:1])
    finally:
        server.close()
    assert scores["agent_tokens_sent"] == 0.0
    assert "agent_cached_share" not in scores


def test_a_failed_row_has_no_cached_share() -> None:
    (component,) = open_catalog().named("evaluators", "agent-task")
    assert component.manifest.scores["agent_cached_share"].worst is None


def test_a_response_header_that_declares_a_failure_fails_the_row(program: Path) -> None:
    reply = b'{"choices": [{"message": {"content": "done"}}]}'
    headers = {"X-Headroom-Compression-Failed": "true"}
    server = LocalServer(
        lambda _: LocalResponse(reply, 200, "application/json", headers),
        0,
        Guard(methods=("POST",)),
    )
    behind = {"base_url": server.url}
    try:
        for agent in (
            Agent(**behind),
            Agent(policy="none", **behind),
            Agent(command=command_of(program, "work"), **behind),
        ):
            with pytest.raises(DeclaredFailureError, match="x-headroom-compression-failed: true"):
                run(agent, HUNTS[:1])
        ((output, _),) = run(Agent(policy="none", failure_headers=[], **behind), HUNTS[:1])
        assert output["agent"]["ended"] == "finished"
    finally:
        server.close()
    with pytest.raises(ConfigurationError, match="A failure header is"):
        Agent(failure_headers=["no header"])


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
    [
        {"policy": "x"},
        {"policy": "none"},
        {"policy": "none", "base_url": "http://127.0.0.1:1", "controls": True},
        {"max_turns": 0},
        {"base_url": "ftp://x"},
        {"config": "x"},
        {"config": "codex", "command": ["true"]},
        {"command": "true"},
        {"program": "true"},
        {"env": ["A=1"]},
        {"command": ["true"], "policy": "none", "base_url": "http://127.0.0.1:1"},
        {"config": "aider", "program": sys.executable},
        {"config": "gemini-cli", "program": sys.executable},
        {"control_size": 1},
        {"control": "head", "control_size": -1},
        {"control": "random", "control_size": 101},
    ],
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


@pytest.mark.parametrize(
    "path",
    ["a" * 5000, "\ud800", "\ud800/b", "a.txt/b", "\0"],
    ids=["long", "surrogate", "surrogate folder", "below a file", "nul"],
)
def test_a_path_that_no_file_can_have_is_an_error_that_the_model_reads(path: str) -> None:
    with Workspace({"a.txt": "1"}, 1000) as workspace:
        for name in ("read", "write"):
            result = run_tool(ToolCall("1", name, {"path": path, "content": "x"}), workspace)
            assert result.startswith("error:")
        assert run_tool(ToolCall("2", "read", {"path": "a.txt"}), workspace) == "1"


def test_a_file_below_many_folders_is_written_listed_and_read() -> None:
    path = "d/" * 1500 + "e"
    with Workspace({}, 1000) as workspace:
        call = {"path": path, "content": "x"}
        assert run_tool(ToolCall("1", "write", call), workspace) == f"wrote {path}"
        assert run_tool(ToolCall("2", "list", {}), workspace) == path
        assert run_tool(ToolCall("3", "read", call), workspace) == "x"
        assert workspace.changes() == {path: "x"}


def test_an_agent_goes_on_after_a_call_with_a_path_that_no_file_can_have(
    tmp_path: Path,
) -> None:
    paths = ["a" * 5000, "\ud800"]

    def reply(request: LocalRequest) -> LocalResponse:
        results = [one for one in json.loads(request.body)["messages"] if one["role"] == "tool"]
        message: dict[str, Any] = {"content": "done"}
        if len(results) < len(paths):
            arguments = json.dumps({"path": paths[len(results)]})
            function = {"name": "read", "arguments": arguments}
            message = {"tool_calls": [{"id": "1", "type": "function", "function": function}]}
        body = json.dumps({"choices": [{"message": message}]}).encode()
        return LocalResponse(body, 200, "application/json")

    server = LocalServer(reply, 0, Guard(methods=("POST",)))
    run_file = tmp_path / "run.sqlite"
    command = ["run", "--dataset", "tasks,n=1", "--evaluators", "agent-task", "--quiet"]
    command += ["--system", f"agent:loop,policy=none,base_url={server.url}"]
    try:
        assert execute([*command, "--run-file", str(run_file)]) == 0
    finally:
        server.close()
    with open_run(run_file) as opened:
        (stored,) = opened.rows()
    assert (stored.output["agent"]["ended"], stored.scores["agent_turns"]) == ("finished", 3.0)


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
    output: dict[str, Any] = {"agent": counts, "workspace": {"a": "1"}}
    scores = AgentTask(1.0, 0.5, 2.0).score({"check": check}, output)
    assert scores["agent_bill"] == pytest.approx((200 + 50 + 20) / 1e6)
    assert scores["agent_cached_share"] == pytest.approx(1 / 3)
    assert AgentTask().score({}, output) == {}
    output["agent"] = {**counts, "tokens_side": 50}
    scores = AgentTask(1.0, 0.5, 2.0, 1.25).score({"check": check}, output)
    assert scores["agent_bill"] == pytest.approx((50 + 150 * 1.25 + 50 + 20) / 1e6)


def test_the_bill_of_failed_tasks_is_divided_among_the_successes() -> None:
    def row(success: float, bill: float) -> EvalRow:
        return EvalRow("agent", "1", {"task_success": success, "agent_bill": bill})

    assert BillPerSuccess().compute([row(1, 2), row(0, 4)]) == {"bill_per_success": 6}
    assert BillPerSuccess().compute([row(0, 4)]) == {"bill_per_success": float("inf")}
    assert BillPerSuccess().compute([]) == {}
    assert BillPerSuccess().compute([EvalRow("agent", "1", {"f1": 1.0})]) == {}


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


@pytest.mark.parametrize(
    ("control", "plain", "scribe"), [("head", 0, 0), ("clear-results", 0, 2), ("random", 0, 0)]
)
def test_a_control_proxy_cuts_results_as_a_proxy_does(
    control: str, plain: int, scribe: int
) -> None:
    assert successes(run(Agent(control=control))) == plain
    assert successes(run(Agent(control=control, notes=True))) == scribe


def test_a_control_in_front_of_the_policy_equals_a_proxy_with_the_same_cuts(
    make_proxy: Callable[..., tuple[str, int]],
) -> None:
    url, port = make_proxy(clear_results)
    behind = run(Agent(base_url=url, port=port, notes=True), HUNTS[:1])
    assert run(Agent(control="clear-results", notes=True), HUNTS[:1]) == behind


def test_a_matched_control_removes_lines_at_the_share_that_the_arm_kept(
    make_proxy: Callable[..., tuple[str, int]],
) -> None:
    url, port = make_proxy(clear_results)
    arm = Agent(base_url=url, port=port, notes=True, controls=True)
    for (output, scores), (alone, _) in zip(
        run(arm), run(Agent(notes=True, control="clear-results")), strict=True
    ):
        assert output["agent"] == alone["agent"]
        assert 0.1 < scores["agent_kept_share"] < 0.9
        assert scores["agent_kept_share"] == output["agent"]["kept_share"]
        kept = output["random"]["agent"]["kept_share"]
        assert kept == pytest.approx(scores["agent_kept_share"], abs=0.1)
        assert (scores["task_success"], scores["random_success"]) == (1.0, 0.0)
        assert scores["advantage"] == 1.0
        assert scores["random_turns"] == output["random"]["agent"]["turns"]


def test_a_matched_control_of_an_arm_that_keeps_all_equals_the_arm() -> None:
    ((output, scores),) = run(Agent(controls=True), HUNTS[:1])
    assert output["random"]["agent"] == output["agent"]
    assert (scores["agent_kept_share"], scores["advantage"]) == (1.0, 0.0)
    assert scores["random_bill"] == scores["agent_bill"]


def test_arms_go_on_from_the_same_session_at_the_same_cut(
    make_proxy: Callable[..., tuple[str, int]],
) -> None:
    sessions: list[Messages] = []

    def record(messages: Messages) -> Messages:
        sessions.append(messages)
        return clear_results(messages)

    url, port = make_proxy(record)
    hunts = HUNTS[:1]
    ((whole, all_scores),) = run(Agent(), hunts)
    ((direct, scores),) = run(Agent(start_turns=6), hunts)
    options = {"start_turns": 6, "max_turns": 20, "base_url": url, "port": port}
    ((behind, lost),) = run(Agent(**options), hunts)
    assert (scores["task_success"], direct["workspace"]) == (1.0, whole["workspace"])
    assert scores["agent_turns"] == all_scores["agent_turns"] - 6
    assert scores["agent_re_reads"] == 0.0
    assert 0.0 < scores["agent_bill"] < all_scores["agent_bill"]
    assert scores["agent_cached_share"] > all_scores["agent_cached_share"]
    calls = [message for message in sessions[0] if message.get("tool_calls")]
    assert len(calls) == 6
    assert lost["task_success"] == 0.0
    assert lost["agent_re_reads"] > 5
    first = len(sessions)
    ((again, _),) = run(Agent(**options), hunts)
    assert sessions[first] == sessions[0]
    assert again == behind


@pytest.mark.parametrize(
    "options",
    [
        {"start_turns": -1},
        {"start_turns": 1, "policy": "none", "base_url": "http://127.0.0.1:1"},
        {"start_turns": 1, "command": [sys.executable]},
    ],
    ids=str,
)
def test_a_start_that_cannot_be_made_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="start_turns"):
        Agent(**options)


def test_a_start_after_the_end_of_the_work_is_told() -> None:
    with pytest.raises(ConfigurationError, match="Choose fewer"):
        run(Agent(start_turns=50), HUNTS[:1])


def test_a_task_ends_as_bound_when_it_has_cost_what_it_may(program: Path) -> None:
    prices = {"price_input": 3.0, "price_cached": 0.3, "price_output": 15.0}
    ((whole, scores),) = run(Agent(max_cost=10.0, **prices), HUNTS[:1])
    assert whole["agent"]["ended"] == "finished"
    bound = scores["agent_bill"] / 2
    for agent in (
        Agent(max_cost=bound, **prices),
        Agent(command=command_of(program, "work"), max_cost=bound, **prices),
    ):
        ((output, scores),) = run(agent, HUNTS[:1])
        assert (output["agent"]["ended"], output["response"]) == ("bound", "max_cost")
        assert scores["task_success"] == 0.0
        assert bound <= scores["agent_bill"] < 1.5 * bound
    with PolicyServer(OraclePolicy()) as server:
        model = Agent(policy="none", base_url=server.url, max_cost=bound, **prices)
        ((output, scores),) = run(model, HUNTS[:1])
    assert (output["agent"]["ended"], output["response"]) == ("bound", "max_cost")
    assert bound <= scores["agent_bill"] < 1.5 * bound


def test_a_request_that_is_refused_because_of_the_bill_is_not_lost_by_a_proxy(
    make_proxy: Callable[..., tuple[str, int]],
) -> None:
    budget = {"max_cost": 0.05, "price_input": 3.0, "price_output": 15.0}
    ((direct, _),) = run(Agent(**budget), HUNTS[:1])
    url, port = make_proxy(identity)
    ((behind, scores),) = run(Agent(base_url=url, port=port, **budget), HUNTS[:1])
    assert (behind["agent"]["ended"], scores["agent_kept_share"]) == ("bound", 1.0)
    assert behind["agent"] == direct["agent"]


@pytest.mark.parametrize("is_forwarded", [False, True], ids=["not forwarded", "forwarded"])
def test_a_request_that_a_proxy_refuses_is_neither_sent_nor_kept(
    is_forwarded: bool, failing: Callable[..., tuple[str, int]]
) -> None:
    url, port = failing({4}, 400, is_forwarded=is_forwarded)
    ((output, scores),) = run(Agent(base_url=url, port=port), HUNTS[:1])
    assert (output["agent"]["ended"], scores["agent_kept_share"]) == ("refused", 1.0)


@pytest.mark.parametrize("is_forwarded", [False, True], ids=["not forwarded", "forwarded"])
def test_an_answer_of_a_proxy_that_fails_is_repeated_and_each_attempt_that_arrived_is_billed(
    is_forwarded: bool, failing: Callable[..., tuple[str, int]]
) -> None:
    ((_, direct),) = run(Agent(), HUNTS[:1])
    url, port = failing({1, 4, 5}, 503, is_forwarded=is_forwarded)
    ((output, scores),) = run(Agent(base_url=url, port=port), HUNTS[:1])
    assert (output["agent"]["ended"], scores["task_success"]) == ("finished", 1.0)
    assert scores["agent_turns"] == direct["agent_turns"] + 3 * is_forwarded
    assert (scores["agent_bill"] > direct["agent_bill"]) == is_forwarded
    assert scores["agent_kept_share"] == 1.0


def test_a_row_keeps_its_bill_when_the_proxy_fails_again_and_again(
    failing: Callable[..., tuple[str, int]], tmp_path: Path
) -> None:
    url, port = failing(range(4, 1000), 500, is_forwarded=True)
    run_file = tmp_path / "run.sqlite"
    command = ["run", "--dataset", "tasks,n=1", "--evaluators", "agent-task", "--quiet"]
    command += ["--system", f"agent:loop,base_url={url},port={port}"]
    assert execute([*command, "--run-file", str(run_file)]) == 0
    with open_run(run_file) as opened:
        (row,) = opened.rows()
    assert row.output["agent"]["ended"] == "refused"
    assert row.scores["agent_turns"] == 3 + 4
    assert row.scores["agent_bill"] > 0
    url, port = failing(range(4, 1000), 500, is_forwarded=True)
    budget = {"max_cost": 0.02, "price_input": 3.0, "price_output": 15.0}
    ((output, _),) = run(Agent(base_url=url, port=port, **budget), HUNTS[:1])
    assert (output["agent"]["ended"], output["agent"]["turns"] < 7) == ("bound", True)


def test_a_model_that_fails_after_its_first_answer_ends_the_task_with_its_counts(
    failing: Callable[..., tuple[str, int]],
) -> None:
    url, port = failing(range(4, 1000), 500, is_forwarded=False)
    with PolicyServer(OraclePolicy(), port):
        ((output, _),) = run(Agent(policy="none", base_url=url), HUNTS[:1])
    assert (output["agent"]["ended"], output["agent"]["turns"]) == ("refused", 3)


def test_a_proxy_that_never_answers_fails_the_row_and_the_run_does_not_repeat_it(
    failing: Callable[..., tuple[str, int]],
) -> None:
    url, port = failing(range(1000), 500, is_forwarded=False)
    with pytest.raises(EndpointError, match="4 attempts") as caught:
        run(Agent(base_url=url, port=port), HUNTS[:1])
    assert not caught.value.retryable


def test_the_seconds_of_a_task_bound_repeated_requests(
    failing: Callable[..., tuple[str, int]],
) -> None:
    url, port = failing(range(1000), 500, is_forwarded=False)
    hunt = {**HUNTS[0], "limits": {"turns": 80, "seconds": 0, "bytes": 1000}}
    with PolicyServer(OraclePolicy(), port):
        ((output, _),) = run(Agent(policy="none", base_url=url), [hunt])
    assert (output["agent"]["ended"], output["response"]) == ("bound", "0 seconds")


@pytest.mark.parametrize(
    "options",
    [
        {"max_cost": 1.0},
        {"max_cost": 0.0, "price_input": 1.0, "price_output": 1.0},
        {"max_cost": 1.0, "price_input": -1.0, "price_output": 1.0},
        {"price_input": 1.0},
    ],
    ids=str,
)
def test_a_bound_on_money_needs_prices(options: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError):
        Agent(**options)


def test_an_arm_that_cuts_has_three_matched_controls_as_arms() -> None:
    hunt = HUNTS[0]
    inputs = {name: hunt[name] for name in ("question", "files", "limits")}
    agent = Agent(notes=True, control="clear-results")
    try:
        output = agent.process(inputs)
        share = output["agent"]["kept_share"]
        matched = {
            name: control(inputs, output) for name, control in agent.matched_controls().items()
        }
        empty = agent.matched_controls()["head"](inputs, {"agent": {}})
    finally:
        agent.close()
    assert set(matched) == {"random", "head", "clear-results"}
    for name, other in matched.items():
        assert other["control"] == {"name": name, "share": share}
        assert 0 < other["agent"]["kept_share"] <= share
        assert AgentTask().score(hunt, other)["agent_turns"] >= 1
    assert set(empty) == {"control"}
    direct = Agent()
    assert direct.matched_controls() == {}
    direct.close()


@pytest.mark.parametrize(
    ("name", "kept"),
    [("head", ["a b", "c d"]), ("clear-results", ["[cleared]", "c d e f"]), ("random", None)],
)
def test_a_matched_control_keeps_at_most_a_share_of_the_tokens(
    name: str, kept: list[str] | None
) -> None:
    results = ["a b\n" + "x y", "c d e f"] if name == "random" else ["a b x y", "c d e f"]
    body = {"messages": [{"role": "tool", "content": text} for text in results]}
    cut = [message["content"] for message in Control(name, share=0.5).apply(body)["messages"]]
    assert cut == (kept or [cut[0], ""])
    assert len(cut[0].split()) <= 2
    assert Control(name, share=1.0).apply(body) == body


def test_random_deletion_removes_lines_of_a_text_that_json_contains() -> None:
    text = json.dumps({"output": "".join(f"line {number}\n" for number in range(20))})
    body = {"messages": [{"role": "tool", "content": text}]}
    cut = Control("random", share=0.5).apply(body)["messages"][0]["content"]
    assert 5 <= cut.count("line ") <= 10


def test_a_program_behind_a_proxy_has_a_matched_control(
    make_proxy: Callable[..., tuple[str, int]], program: Path
) -> None:
    url, port = make_proxy(clear_results)
    options = {"notes": True, "controls": True, "base_url": url, "port": port}
    ((_, scores),) = run(Agent(command=command_of(program, "work"), **options), HUNTS[:1])
    assert (scores["task_success"], scores["random_success"]) == (1.0, 0.0)
    assert 0.1 < scores["agent_kept_share"] < 0.9


@pytest.mark.parametrize("config", ["bug-hunt", "long-refactor"])
def test_the_oracle_solves_the_other_tasks_and_a_memory_that_is_cleared_matters(
    config: str, program: Path
) -> None:
    hunts = list(tasks(config=config, n=1, assets=6))
    for agent in (Agent(), Agent(notes=True), Agent(notes=True, control="clear-results")):
        ((_, scores),) = run(agent, hunts)
        assert (scores["task_success"], scores["agent_re_reads"]) == (1.0, 0.0)
    ((_, shell),) = run(Agent(command=command_of(program, "work")), hunts)
    assert (shell["task_success"], shell["agent_re_reads"]) == (1.0, 0.0)
    ((_, cleared),) = run(Agent(control="clear-results"), hunts)
    assert cleared["agent_re_reads"] > 10


@pytest.mark.parametrize("dialect", ["chat", "responses", "messages"])
def test_a_control_cuts_results_in_each_interface_and_leaves_the_request(dialect: str) -> None:
    bodies: dict[str, dict[str, Any]] = {
        "chat": {
            "messages": [{"role": "user", "content": "12345"}, {"role": "tool", "content": "12345"}]
        },
        "responses": {
            "input": [
                {"role": "user", "content": "12345"},
                {"type": "function_call_output", "output": "12345"},
            ]
        },
        "messages": {
            "messages": [
                {"role": "user", "content": "12345"},
                {"role": "user", "content": [{"type": "tool_result", "content": "12345"}]},
            ]
        },
    }
    body = bodies[dialect]
    before = json.dumps(body)
    cut = json.dumps(Control("head", 3).apply(body))
    assert (before.count("12345"), cut.count("12345"), cut.count("123")) == (2, 1, 2)
    assert json.dumps(body) == before


_PROGRAM = """
import json, os, subprocess, sys, time, urllib.request
mode, task, base_url = sys.argv[1:]
if mode in ("leave", "detach"):
    sleeping = [sys.executable, "-c", "import time; time.sleep(600)"]
    child = subprocess.Popen(sleeping, start_new_session=mode == "detach")
    with open(os.environ["PID_FILE"], "w") as file:
        file.write(str(child.pid))
    sys.exit(3)
if mode == "fill":
    with open("large", "w") as file:
        file.write("1" * 5000)
if mode == "hang":
    time.sleep(600)
assert os.environ["OPENAI_BASE_URL"] == base_url + "/v1"
assert os.listdir(os.environ["HOME"]) == []
tool = {"type": "function", "function": {"name": "bash", "parameters": {"properties": {"command": {}}}}}
messages = [{"role": "user", "content": task}]
while True:
    body = json.dumps({"model": "m", "messages": messages, "tools": [tool]}).encode()
    headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"}
    request = urllib.request.Request(base_url + "/v1/chat/completions", body, headers)
    message = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
    messages.append(message)
    if not message.get("tool_calls"):
        print(message["content"])
        break
    for call in message["tool_calls"]:
        command = json.loads(call["function"]["arguments"])["command"]
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": done.stdout})
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(_PROGRAM)
    return path


def command_of(program: Path, mode: str) -> list[str]:
    return [sys.executable, str(program), mode, "{task}", "{base_url}"]


def test_a_program_with_a_shell_solves_the_hunts(program: Path) -> None:
    for output, scores in run(Agent(command=command_of(program, "work")), workers=2):
        assert scores["task_success"] == 1.0
        assert output["agent"]["ended"] == "finished"
        assert output["agent"]["calls"] == {"bash": scores["agent_turns"] - 1}
        assert "cb-row-" not in json.dumps(output)


def test_a_program_that_crashes_is_a_failed_task_and_what_it_started_is_killed(
    program: Path, tmp_path: Path
) -> None:
    pid_file = tmp_path / "pid"
    agent = Agent(command=command_of(program, "leave"), env=[f"PID_FILE={pid_file}"])
    ((output, scores),) = run(agent, HUNTS[:1])
    assert (output["agent"]["ended"], scores["task_success"]) == ("crashed", 0.0)
    command_line = Path(f"/proc/{pid_file.read_text()}/cmdline")
    while command_line.exists() and command_line.read_bytes():
        sleep(0.01)


def test_what_left_the_group_of_a_program_is_ended_before_its_pipes_are_awaited(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_PATIENCE", 300.0)
    monkeypatch.setattr(once, "_LEFT_OVER", 300.0)
    agent = Agent(command=command_of(program, "detach"), env=[f"PID_FILE={tmp_path / 'pid'}"])
    begun = monotonic()
    ((output, _),) = run(agent, HUNTS[:1])
    assert output["agent"]["ended"] == "crashed"
    assert monotonic() - begun < 200


def test_the_seconds_of_a_task_bound_a_program(program: Path) -> None:
    hunt = {**HUNTS[0], "limits": {"turns": 5, "seconds": 1, "bytes": 1000}}
    ((output, scores),) = run(Agent(command=command_of(program, "hang")), [hunt])
    assert (output["agent"]["ended"], scores["task_success"]) == ("bound", 0.0)


@pytest.mark.parametrize(("limit", "ended"), [(2000, "bound"), (10_000, "finished")])
def test_a_program_that_writes_too_many_bytes_reached_a_bound(
    program: Path, limit: int, ended: str
) -> None:
    hunt = {**HUNTS[0], "limits": {"turns": 80, "seconds": 600, "bytes": limit}}
    ((output, _),) = run(Agent(command=command_of(program, "fill")), [hunt])
    assert output["agent"]["ended"] == ended
    assert ("large" in output["changes"]) == (ended == "finished")


def test_a_file_of_40_gb_is_bound_by_its_size_and_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Workspace, "digests", lambda self: pytest.fail("The files are read."))
    script = "open('large', 'w').truncate(40_000_000_000)"
    ((output, scores),) = run(Agent(command=[sys.executable, "-c", script]), HUNTS[:1])
    assert (output["agent"]["ended"], output["workspace"], output["changes"]) == ("bound", {}, {})
    assert scores["task_success"] == 0.0


def test_a_file_is_hashed_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    content = "1234567890"
    monkeypatch.setattr("context_bench_agents_live.workspace._BLOCK", 3)
    with Workspace({"a.txt": content, "b.txt": ""}, 10) as workspace:
        assert workspace.digests() == {"a.txt": digest_of(content), "b.txt": digest_of("")}


def test_a_missing_program_is_an_error_before_the_first_task() -> None:
    with pytest.raises(ConfigurationError, match="does not exist"):
        Agent(command=["no-such-agent-program"])
