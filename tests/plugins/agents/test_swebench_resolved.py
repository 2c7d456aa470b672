"""SWE-bench's verdicts: from the reports of its harness in all their layouts, and without one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from context_bench.errors import ConfigurationError
from context_bench_agents import SWEBenchResolved
from context_bench_agents.patches import files_of, patch_of

PATCH = """diff --git a/pkg/core.py b/pkg/core.py
index 6490a65..4fa85d5 100644
--- a/pkg/core.py
+++ b/pkg/core.py
@@ -1,2 +1,2 @@ def f():
-    return 1
+    return 2
     # end
--- a/pkg/old.py
+++ /dev/null
@@ -1 +0,0 @@
-gone
"""
EXAMPLE = {"id": "some__body-1", "answer": PATCH}
OTHER = "--- a/pkg/core.py\n+++ b/pkg/core.py\n@@ -1 +1 @@\n-    return 1\n+    return 3\n"


@pytest.mark.parametrize(
    "response",
    [
        PATCH,
        f"I changed it.\n\n```diff\n{PATCH}```\nThat is all.",
        f"<patch>\n{PATCH}</patch>",
        f"<diff>\n{PATCH}</diff>",
        f"<patch>\n```diff\n{PATCH}```\n</patch>",
        f"I changed it.\n<diff>\n{PATCH}\n</diff>\nThat is all.",
        f"~~~diff\n{PATCH}~~~\n",
        f"First some prose.\n{PATCH}",
        f"{PATCH}\nThat is all.",
        f"{PATCH}-- \n2.39.0\n",
        f"<think>\n```diff\n{OTHER}```\n</think>\n```diff\n{PATCH}```",
        f"Not this:\n```\n{OTHER}```\nbut this:\n```diff\n{PATCH}```",
        f"{PATCH}</s>",
        PATCH.replace("6490a65..4fa85d5", "0000000..1111111"),
    ],
    ids=[
        *(
            "bare",
            "fenced",
            "tagged",
            "tagged diff",
            "tagged and fenced",
            "tagged among prose",
            "fenced by tildes",
        ),
        *(
            "behind prose",
            "before prose",
            "with a signature",
            "behind reasoning",
            "behind a fence of no language",
        ),
        *("before the end of the turn", "other commit ids"),
    ],
)
def test_the_reference_patch_resolves_its_issue(response: str) -> None:
    assert SWEBenchResolved().score(EXAMPLE, {"response": response}) == {
        "patch_files": 1.0,
        "resolved": 1.0,
    }


FENCE_IN_IT = "--- a/README.md\n+++ b/README.md\n@@ -1,3 +1,4 @@\n ```python\n-x\n+y\n+z\n ```\n"


@pytest.mark.parametrize(
    "patch",
    [
        FENCE_IN_IT,
        "--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,3 @@\n-a\n+b\n\n c\n",
        "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-a\n+b\n\n",
        "--- a/x.py\n+++ b/x.py\n@@ ... @@\n-a\n+b\n\n c\n",
        "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n+c\n\\ No newline at end of file\n",
    ],
    ids=[
        "a fence",
        "a blank line",
        "a blank line at its end",
        "a header without counts",
        "a wrong count",
    ],
)
@pytest.mark.parametrize(
    "around",
    ["{}", "```diff\n{}```\nDone.", "Here:\n{}```"],
    ids=["bare", "fenced", "a fence behind it"],
)
def test_nothing_of_a_patch_is_lost(patch: str, around: str) -> None:
    assert patch_of(around.replace("{}", patch)) == patch


@pytest.mark.parametrize(
    "response", ["", "I could not find it.", "```python\nx = 1\n```", "--- a\n+++ b\n"]
)
def test_a_response_without_a_patch_resolves_nothing(response: str) -> None:
    assert SWEBenchResolved().score(EXAMPLE, {"response": response}) == {
        "patch_files": 0.0,
        "resolved": 0.0,
    }


def test_another_patch_is_unscored_until_the_harness_has_run_it() -> None:
    scores = SWEBenchResolved().score(EXAMPLE, {"response": OTHER})
    assert scores == {"patch_files": 0.5}
    assert "the harness has not run" in scores.details["unscored"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            {"resolved_ids": ["some__body-1"], "submitted_ids": ["some__body-1"]}, 1.0, id="summary"
        ),
        pytest.param(
            {"resolved_ids": [], "unresolved_ids": ["some__body-1"]}, 0.0, id="unresolved"
        ),
        pytest.param(
            {"resolved_ids": [], "empty_patch_ids": ["some__body-1"]}, 0.0, id="empty patch"
        ),
        pytest.param(
            {"resolved": ["x"], "generated": ["some__body-1"], "no_generation": []},
            0.0,
            id="older summary",
        ),
        pytest.param(
            {"some__body-1": {"patch_exists": True, "resolved": True}}, 1.0, id="of an instance"
        ),
        pytest.param({"resolved_ids": ["x"], "submitted_ids": ["x"]}, None, id="of others"),
    ],
)
def test_a_report_decides(tmp_path: Path, body: Any, expected: float | None) -> None:
    report = tmp_path / "report.json"
    report.write_text(json.dumps(body))
    for place in (report, tmp_path):
        assert (
            SWEBenchResolved(str(place)).score(EXAMPLE, {"response": OTHER}).get("resolved")
            == expected
        )


THIRD = OTHER.replace("return 3", "return 4")


def folder(tmp_path: Path, **ran: tuple[str | None, bool]) -> SWEBenchResolved:
    """Return the evaluator of a folder as the harness leaves it: a report of each model, with its patch beside it."""
    for model, (patch, resolved) in ran.items():
        place = tmp_path / model / "some__body-1"
        place.mkdir(parents=True)
        (place / "report.json").write_text(
            json.dumps({"some__body-1": {"patch_exists": True, "resolved": resolved}})
        )
        if patch is not None:
            (place / "patch.diff").write_text(patch)
    return SWEBenchResolved(tmp_path)


@pytest.mark.parametrize(
    ("ran", "response", "expected"),
    [
        pytest.param(
            {"a": (OTHER, True), "b": (THIRD, False)}, OTHER, 1.0, id="the first system's"
        ),
        pytest.param(
            {"a": (OTHER, True), "b": (THIRD, False)}, THIRD, 0.0, id="the second system's"
        ),
        pytest.param(
            {"a": (OTHER, False), "b": (THIRD, True)}, f"Here:\n{OTHER}", 0.0, id="among words"
        ),
        pytest.param({"a": (f"{OTHER}\n\n", True)}, OTHER, 1.0, id="blank lines behind it"),
        pytest.param(
            {"a": (f"```diff\n{OTHER}```\n", True)}, OTHER, 1.0, id="the harness was given a fence"
        ),
        pytest.param({"a": (OTHER, True)}, THIRD, None, id="another patch than the harness ran"),
        pytest.param(
            {"a": (OTHER, True)},
            "It cannot be done.",
            None,
            id="no patch, where the harness ran one",
        ),
        pytest.param(
            {"a": ("", False)}, "It cannot be done.", 0.0, id="the harness was given none"
        ),
        pytest.param(
            {"a": (OTHER, False)}, PATCH, 1.0, id="the reference, where the harness ran another"
        ),
        pytest.param({"a": (PATCH, False)}, PATCH, 0.0, id="the reference, which failed"),
        pytest.param({"a": (OTHER, True), "b": (OTHER, True)}, OTHER, 1.0, id="twice the same"),
        pytest.param({"a": (OTHER, True), "b": (OTHER, False)}, OTHER, None, id="contradiction"),
        pytest.param(
            {"a": (None, True), "b": (None, False)}, OTHER, None, id="contradiction without patches"
        ),
        pytest.param({"a": (None, True)}, OTHER, 1.0, id="reports alone"),
        pytest.param({"a": (OTHER, True), "b": (None, False)}, OTHER, 1.0, id="one of them alone"),
    ],
)
def test_a_verdict_counts_for_the_patch_that_the_harness_ran(
    tmp_path: Path, ran: dict[str, tuple[str | None, bool]], response: str, expected: float | None
) -> None:
    """The verdict of the last folder by name counted for every system."""
    scores = folder(tmp_path, **ran).score(EXAMPLE, {"response": response})
    assert scores.get("resolved") == expected
    assert ("unscored" in scores.details) == (expected is None)


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        (["patch.diff", "run_instance.log"], 0.0),
        (["patch.diff"], None),
        (["run_instance.log"], None),
    ],
    ids=["as the harness leaves it", "a patch of something else", "the containers were not built"],
)
def test_a_patch_that_the_harness_could_not_run_is_not_resolved(
    tmp_path: Path, left: list[str], expected: float | None
) -> None:
    """The harness leaves no report of it, and counts it among the errors in its summary."""
    folder(tmp_path, other=(THIRD, True))
    place = tmp_path / "model" / "some__body-1"
    place.mkdir(parents=True)
    for name in left:
        (place / name).write_text(OTHER)
    assert (
        SWEBenchResolved(tmp_path).score(EXAMPLE, {"response": OTHER}).get("resolved") == expected
    )


def test_a_verdict_on_another_patch_is_another_fingerprint(tmp_path: Path) -> None:
    found = [
        folder(tmp_path / str(at), a=(patch, True)) for at, patch in enumerate([None, OTHER, THIRD])
    ]
    assert len({one.fingerprint()["verdicts"] for one in found}) == 3


def test_another_report_is_another_fingerprint(tmp_path: Path) -> None:
    found = []
    for resolved in (True, False):
        (tmp_path / "r.json").write_text(json.dumps({"a": {"resolved": resolved}}))
        found.append(SWEBenchResolved(tmp_path / "r.json").fingerprint())
    assert found[0] != found[1] != SWEBenchResolved().fingerprint()


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "cannot be read"), ("[]", "holds no verdicts"), ('{"total": 3}', "holds no verdicts")],
)
def test_what_is_no_report_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(ConfigurationError, match=message):
        SWEBenchResolved(tmp_path / "r.json")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        SWEBenchResolved(tmp_path / "none.json")


def test_files_and_patches_are_found_in_what_models_write() -> None:
    assert files_of(PATCH) == {"pkg/core.py", "pkg/old.py"}
    assert patch_of("no patch, but --- a line\n+++ of marks") is None
    assert patch_of(f"```\nx\n```\n```diff\n{OTHER}```") == OTHER
    assert patch_of(f"<patch>\n  {OTHER}</patch>") == OTHER
    assert patch_of(f"<patch>\n{OTHER}") == OTHER


@pytest.mark.parametrize(
    "text", ["<patch>" * 30_000, "--- " + "a" * 200_000, "--- " + "a b" * 70_000 + "\n+++ x\n"]
)
def test_a_huge_response_is_searched_for_a_patch_in_one_pass(text: str) -> None:
    """Where each beginning looked at all behind it, these took minutes."""
    assert patch_of(text) is None


def test_a_run_is_written_for_the_harness_and_rescored_by_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("context_bench_local")
    pytest.importorskip("context_bench_replay")
    from context_bench.cli import execute

    monkeypatch.chdir(tmp_path)
    rows = [
        {
            "id": name,
            "dataset": "swebench-lite",
            "question": "q",
            "context": "c",
            "answer": PATCH,
            "said": said,
        }
        for name, said in [("a", OTHER), ("b", f"Text.\n{OTHER}"), ("c", "nothing")]
    ]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = [
        "--system",
        "replay:field=said",
        "--dataset",
        "rows.jsonl",
        "--add-evaluator",
        "swebench-resolved",
        "-q",
    ]
    assert execute(["run", *asked, "--run-file", "one.sqlite"]) == 0
    assert execute(["datasets", "swebench-predictions", "one.sqlite", "--to", "p.jsonl"]) == 0
    told = [json.loads(line) for line in Path("p.jsonl").read_text().splitlines()]
    assert [line["model_patch"] for line in told] == [OTHER, OTHER, ""]
    assert [line["instance_id"] for line in told] == ["a", "b", "c"]
    Path("report.json").write_text(
        json.dumps({"resolved_ids": ["b"], "submitted_ids": ["a", "b", "c"]})
    )
    capsys.readouterr()
    asked = ["--set", "evaluators.swebench-resolved.report=report.json", "--format", "json"]
    assert execute(["rescore", "one.sqlite", *asked]) == 0
    [summary] = json.loads(capsys.readouterr().out)["summary"].values()
    [scores] = [found for name, found in summary["scores"].items() if "swebench-resolved" in name]
    assert scores["resolved"]["mean"] == pytest.approx(1 / 3)
    assert (
        execute(
            ["datasets", "swebench-predictions", "one.sqlite", "--to", "p.jsonl", "--system", "x"]
        )
        == 2
    )
