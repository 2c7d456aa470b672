"""The scorecard of a run of agents, compared with values worked out by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from context_bench import EvalRow
from context_bench.cli import execute
from context_bench.errors import ConfigurationError
from context_bench.records import Failure
from context_bench.runs import open_run
from context_bench_agents_live.plane import text_plane
from context_bench_agents_live.scorecard import cards_of
from context_bench_agents_live.scorecard_command import card_to_dict, matched_lines, picture_of
from context_bench_compare.intervals import TooFew
from context_bench_compare.paired_passes import mid_p
from context_bench_http.local_server import Guard, LocalResponse, LocalServer


def row(arm: str, task: int, success: float, ended: str = "finished", **scores: float) -> EvalRow:
    scores = {"task_success": success, "agent_bill": 2.0, "agent_turns": 10.0, **scores}
    output = {"agent": {"ended": ended}}
    return EvalRow(arm, str(task), scores, output=output, position=task)


def failed(arm: str, task: int) -> EvalRow:
    failure = Failure("system", "EndpointError", "no reply")
    return EvalRow(arm, str(task), {}, errors=(failure,), position=task)


DIRECT = [row("direct", task, 1.0) for task in range(10)]


def test_a_card_counts_successes_endings_and_the_bill_of_failed_tasks() -> None:
    arm = [row("proxy", task, float(task < 4), agent_bill=1.0) for task in range(8)]
    arm += [row("proxy", 8, 0.0, "bound", agent_bill=4.0), failed("proxy", 9)]
    direct, proxy = cards_of([*arm, *DIRECT])[::-1]
    assert (direct.arm, direct.success, direct.against) == ("direct", 1.0, None)
    assert (proxy.successes, proxy.tasks, proxy.success) == (4, 10, 0.4)
    assert proxy.bill_per_success == pytest.approx((8 + 4) / 4)
    assert proxy.bill == pytest.approx(12 / 9)
    assert proxy.endings == {"finished": 8, "bound": 1, "failed": 1}
    assert not isinstance(proxy.interval, TooFew)
    assert (proxy.interval.low, proxy.interval.high) == pytest.approx((0.1682, 0.6873), abs=1e-4)
    assert (proxy.advantage, proxy.kept_share) == (None, None)


def test_an_arm_is_compared_with_direct_task_by_task() -> None:
    arm = [row("proxy", task, float(task > 6), agent_turns=13.0) for task in range(10)]
    lost = [row("direct", task, float(task != 9)) for task in range(10)]
    _, proxy = cards_of([*lost, *arm])
    against = proxy.against
    assert against is not None
    assert (against.baseline, against.tasks) == ("direct", 10)
    assert (against.improved, against.regressed) == (1, 7)
    assert against.difference == pytest.approx(-0.6)
    assert against.p_value == mid_p(1, 7)
    assert not isinstance(against.guarantee, TooFew)
    assert not isinstance(against.interval, TooFew)
    assert against.guarantee.low <= against.interval.low < against.interval.high
    assert against.guarantee.high >= against.interval.high
    assert (against.turns, against.bill) == (3.0, 0.0)


def test_repetitions_of_a_task_are_one_unit() -> None:
    rows = []
    for arm, success in (("direct", 1.0), ("proxy", 0.0)):
        for task in range(8):
            for repetition in range(3):
                scores = {"task_success": success}
                output = {"agent": {"ended": "finished"}}
                rows.append(
                    EvalRow(
                        arm, str(task), scores, output=output, position=task, repetition=repetition
                    )
                )
    _, proxy = cards_of(rows)
    assert proxy.against is not None
    assert (proxy.tasks, proxy.against.regressed) == (24, 24)
    assert proxy.against.p_value == mid_p(0, 8)
    assert (proxy.bill, proxy.bill_per_success) == (None, None)


def test_an_arm_without_a_success_has_no_finite_bill_for_one_and_few_tasks_no_test() -> None:
    (first, second) = cards_of([row("a", 1, 1.0), row("b", 1, 0.0), row("b", 2, 0.0)])
    assert second.bill_per_success == math.inf
    assert isinstance(second.interval, TooFew)
    assert second.against is not None
    assert (second.against.baseline, second.against.tasks) == ("a", 1)
    assert isinstance(second.against.guarantee, TooFew)
    assert cards_of([row("a", 1, 1.0), row("b", 2, 0.0)])[1].against is None
    assert first.against is None


def test_the_baseline_can_be_chosen_and_what_is_no_agent_is_left_out() -> None:
    other = EvalRow("bm25", "1", {"f1": 1.0}, output={"context": "x"})
    rows = [*DIRECT, row("proxy", 0, 1.0), other]
    assert [card.arm for card in cards_of(rows)] == ["direct", "proxy"]
    direct, proxy = cards_of(rows, "proxy")
    assert (direct.against and direct.against.baseline, proxy.against) == ("proxy", None)
    with pytest.raises(ConfigurationError, match="direct, proxy"):
        cards_of(rows, "bm25")
    assert cards_of([other]) == []


def test_an_arm_whose_rows_all_failed_is_shown_and_can_be_the_baseline() -> None:
    lost = [failed("direct", task) for task in range(6)]
    arm = [row("proxy", task, 1.0) for task in range(6)]
    direct, proxy = cards_of([*lost, *arm], agents={"direct", "proxy"})
    assert (direct.successes, direct.tasks, direct.endings) == (0, 6, {"failed": 6})
    assert (direct.bill, direct.bill_per_success, direct.turns) == (None, None, None)
    assert proxy.against is not None
    assert (proxy.against.baseline, proxy.against.improved) == ("direct", 6)
    assert (proxy.against.bill, proxy.against.turns) == (None, None)
    direct, _ = cards_of([*lost, *arm], "proxy", agents={"direct"})
    assert direct.against is not None
    assert direct.against.regressed == 6


def test_an_arm_is_compared_with_its_matched_controls_task_by_task() -> None:
    arm = [row("proxy", task, float(task != 9), agent_bill=3.0) for task in range(10)]
    control = [row("proxy random", task, float(task == 9)) for task in range(9)]
    note = {"control": {"name": "random", "note": "the arm sent no result of a tool"}}
    control.append(EvalRow("proxy random", "9", {}, output=note, position=9))
    sources = {"proxy random": "proxy", "other head": "other"}
    direct, proxy, random = cards_of([*DIRECT, *arm, *control], sources=sources)
    (against,) = proxy.controls
    assert (against.baseline, against.tasks) == ("proxy random", 9)
    assert (against.improved, against.regressed, against.bill) == (9, 0, 1.0)
    assert against.p_value == mid_p(9, 0)
    assert (direct.controls, random.controls, random.tasks) == ([], [], 9)
    assert [line[:4] for line in matched_lines([direct, proxy, random])] == [
        ["proxy", "proxy random", "0", "9"]
    ]
    assert card_to_dict(proxy)["controls"][0]["baseline"] == "proxy random"


def test_a_plane_has_a_letter_at_success_and_bill() -> None:
    lines = text_plane({"direct": (2.0, 1.0), "head": (1.0, 0.0), "same": (1.0, 0.0)}).split("\n")
    assert lines[1].endswith("A")
    assert lines[1].startswith("100% |")
    assert lines[11].index("*") < lines[1].index("A")
    assert lines[-3:] == ["  A  direct: 100% at 2", "  B  head: 0% at 1", "  C  same: 0% at 1"]
    assert text_plane({"free": (0.0, 1.0)}).split("\n")[1] == "100% |A"


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "agents.sqlite"
    command = ["run", "--dataset", "tasks,n=6,assets=1", "--evaluators", "agent-task", "--quiet"]
    command += [
        "--system",
        "direct=agent:loop",
        "--system",
        "he|ad=agent:loop,control=head,control_size=300",
    ]
    assert execute([*command, "--run-file", str(path)]) == 0
    return path


def test_the_command_prints_a_row_for_each_arm(
    run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["agent-scorecard", str(run_file), "--format", "json"]) == 0
    arms: list[Any] = json.loads(capsys.readouterr().out)["arms"]
    assert [(arm["arm"], arm["successes"]) for arm in arms] == [("direct", 6), ("he|ad", 0)]
    assert arms[1]["endings"] == {"gave up": 6}
    assert arms[1]["bill_per_success"] is None
    assert arms[1]["against"]["regressed"] == 6
    assert arms[1]["against"]["p_value"] == mid_p(0, 6)
    assert execute(["agent-scorecard", str(run_file)]) == 0
    printed = capsys.readouterr().out
    assert "never" in printed
    assert "  B  he|ad: 0% at " in printed
    assert execute(["agent-scorecard", str(run_file), "--format", "markdown"]) == 0
    page = capsys.readouterr().out
    assert "| he\\|ad | 0/6 |" in page
    assert execute(["agent-scorecard", str(run_file), "--baseline", "x"]) == 2


def test_a_system_agent_whose_rows_all_failed_is_in_the_scorecard_and_no_other_system(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    headers = {"X-Headroom-Compression-Failed": "true"}
    server = LocalServer(
        lambda _: LocalResponse(b"{}", 200, "application/json", headers),
        0,
        Guard(methods=("POST",)),
    )
    path = tmp_path / "run.sqlite"
    command = ["run", "--dataset", "tasks,n=2,assets=1", "--evaluators", "agent-task", "--quiet"]
    command += ["--system", f"direct=agent:loop,base_url={server.url}", "--system", "agent:loop"]
    command += ["--system", "policy:oracle", "--max-failed", "100%"]
    try:
        execute([*command, "--run-file", str(path)])
    finally:
        server.close()
    capsys.readouterr()
    assert execute(["agent-scorecard", str(path), "--format", "json"]) == 0
    arms: list[Any] = json.loads(capsys.readouterr().out)["arms"]
    assert [(arm["arm"], arm["endings"]) for arm in arms] == [
        ("direct", {"failed": 2}),
        ("agent", {"finished": 2}),
    ]
    with open_run(path) as opened:
        (picture,) = picture_of(opened)
    assert [line[0] for line in picture["lines"]] == ["direct", "agent"]


def test_a_report_has_success_against_bill_and_the_scorecard(run_file: Path) -> None:
    with open_run(run_file) as opened:
        (picture,) = picture_of(opened)
    points = {one["name"]: one["points"][0] for one in picture["series"]}
    assert (points["direct"]["x"], points["direct"]["y"]) == (1.0, 1.0)
    assert points["he|ad"]["y"] == 0.0
    assert all(len(line) == len(picture["headings"]) for line in picture["lines"])
    pictures = pytest.importorskip("context_bench_html.pictures")
    drawing = str(pictures.drawn("success", pictures.Picture.read(picture)))
    assert "he|ad: 0% of the tasks" in drawing


def test_a_run_without_an_agent_has_no_scorecard(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.sqlite"
    command = ["run", "--dataset", "tasks,n=1", "--system", "policy:oracle", "--quiet"]
    assert execute([*command, "--run-file", str(path)]) == 3
    assert execute(["agent-scorecard", str(path)]) == 2
    assert "system agent" in capsys.readouterr().err
    with open_run(path) as opened:
        assert picture_of(opened) == []
