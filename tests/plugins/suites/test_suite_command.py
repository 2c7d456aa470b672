"""The command suite: a run keeps which suite it is of, and runs with unequal pins are not compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("context_bench_suites", reason="context-bench-suites is not installed")

from context_bench import evaluate
from context_bench.cli import execute
from context_bench.errors import ConfigurationError
from context_bench.runs import open_run
from context_bench_suites import find_suite
from context_bench_suites.pins import differences
from context_bench_suites.stamp import Stamp

REFUSED = 2


@pytest.fixture
def folder(tmp_path: Path, small_text: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "small.toml").write_text(small_text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(folder: Path, name: str, system: str, *flags: str) -> Path:
    path = folder / name
    code = execute(
        [
            *("suite", "run", "small", "--folder", str(folder), "--system", system),
            *("--quiet", "--run-file", str(path), *flags),
        ]
    )
    assert code == 0
    return path


def compare(folder: Path, first: Path, second: Path, *flags: str) -> int:
    return execute(["suite", "compare", str(first), str(second), "--folder", str(folder), *flags])


def pins(first: Path, second: Path) -> list[str]:
    with open_run(first) as one, open_run(second) as other:
        return [difference.pin for difference in differences(one, other)]


def test_list_and_show_tell_version_and_hash(
    folder: Path, small_text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["suite", "list", "--folder", str(folder), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in listed] == ["small", "compressor-offline", "proxy-small"]
    assert execute(["suite", "show", "small", "--folder", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert listed[0]["sha256"] in shown
    assert small_text.strip() in shown
    assert execute(["suite", "show", "absent"]) == REFUSED


def test_a_run_keeps_its_suite_and_shows_the_headline(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run(folder, "a.sqlite", "head:ratio=0.01", "--json")
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    stamp = find_suite("small", folder).stamp()
    assert told["suite"] == stamp
    assert told["headline"] == [
        {"system": "identity", "found": 1.0},
        {"system": "head", "found": 0.0},
    ]
    assert [line["system"] for line in told["comparisons"]] == ["head"]
    with open_run(path) as stored:
        assert stored.request["extension_options"]["suite"] == stamp
        assert len(stored) == 12


def test_a_project_file_changes_nothing(folder: Path) -> None:
    first = run(folder, "a.sqlite", "head:ratio=0.5")
    (folder / "context-bench.toml").write_text("[run]\nthreshold = 0.2\nseed = 5\n", "utf-8")
    assert pins(first, run(folder, "b.sqlite", "head:ratio=0.5")) == []


def test_runs_of_one_suite_are_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = run(folder, "a.sqlite", "head:ratio=0.01")
    second = run(folder, "b.sqlite", "tail:ratio=0.01")
    assert pins(first, second) == []
    capsys.readouterr()
    assert compare(folder, first, second, "--json") == 0
    lines = json.loads(capsys.readouterr().out)["comparisons"]
    assert {line["system"] for line in lines} == {"head", "b/identity", "tail"}
    assert compare(folder, first, second) == 0


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('version = "3"', 'version = "4"', ["suite version", "suite sha256"]),
        (
            "length=200",
            "length=200,seed=1",
            [
                *("suite sha256", "datasets", "options of dataset needles"),
                "content of dataset needles",
            ],
        ),
        ("seed = 0", "seed = 0\nthreshold = 0.5", ["suite sha256", "threshold"]),
        (
            "[compare]",
            "[run.options.needle-recall]\nword_boundary = true\n\n[compare]",
            ["suite sha256", "options", "key of evaluator context-bench-needle/needle-recall"],
        ),
    ],
)
def test_unequal_pins_are_named_and_refused(
    folder: Path, small_text: str, old: str, new: str, expected: list[str]
) -> None:
    first = run(folder, "a.sqlite", "head:ratio=0.5")
    (folder / "small.toml").write_text(small_text.replace(old, new, 1), encoding="utf-8")
    second = run(folder, "b.sqlite", "head:ratio=0.5")
    assert pins(first, second) == expected
    assert compare(folder, first, second) == REFUSED


def test_a_trial_is_not_compared_with_a_whole_run(folder: Path) -> None:
    whole = run(folder, "a.sqlite", "head:ratio=0.5")
    trial = run(folder, "b.sqlite", "head:ratio=0.5", "-n", "2")
    assert pins(whole, trial)[0] == "limit"
    assert compare(folder, whole, trial) == REFUSED


def test_a_suite_that_changed_since_both_runs_is_refused(folder: Path, small_text: str) -> None:
    first = run(folder, "a.sqlite", "head:ratio=0.5")
    second = run(folder, "b.sqlite", "tail:ratio=0.5")
    (folder / "small.toml").write_text(small_text.replace("Six", "6"), encoding="utf-8")
    assert compare(folder, first, second) == REFUSED


def test_a_run_of_no_suite_is_refused(folder: Path) -> None:
    first = run(folder, "a.sqlite", "head:ratio=0.5")
    other = folder / "other.sqlite"
    evaluate(
        ["identity", "head:ratio=0.5"],
        "needle:length=200",
        max_examples=2,
        progress=False,
        run_file=other,
    )
    assert compare(folder, first, other) == REFUSED


def test_a_system_is_needed(folder: Path) -> None:
    assert execute(["suite", "run", "small", "--folder", str(folder)]) == REFUSED


def test_another_suite_with_the_name_and_version_of_an_installed_one_is_refused() -> None:
    installed = find_suite("compressor-offline")
    Stamp(**installed.stamp()).before_first_call()
    Stamp(**{**installed.stamp(), "version": "mine", "sha256": "0"}).before_first_call()
    with pytest.raises(ConfigurationError):
        Stamp(**{**installed.stamp(), "sha256": "0"}).before_first_call()


def test_compressor_offline_shows_each_compressor_beside_deletion_at_random(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = execute(
        [
            *("suite", "run", "compressor-offline", "--system", "bm25:ratio=0.3", "-n", "3"),
            *("--quiet", "--json", "--run-file", str(tmp_path / "run.sqlite")),
        ]
    )
    assert code == 0
    told = json.loads(capsys.readouterr().out)
    identity, bm25 = told["headline"]
    assert (identity["system"], bm25["system"]) == ("identity", "bm25")
    assert {identity[key] for key in identity if key != "system"} == {1.0}
    assert bm25["needles"] > bm25["needles, random"]
    assert bm25["tokens kept"] == pytest.approx(bm25["tokens kept, random"], abs=0.02)


def test_a_system_whose_label_begins_with_that_of_another_is_not_a_control(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only what the run file calls derived is a control."""
    run(folder, "a.sqlite", "head:ratio=0.01", "--system", "head tail=tail:ratio=0.01", "--json")
    told = json.loads(capsys.readouterr().out)
    assert [line["system"] for line in told["headline"]] == ["identity", "head", "head tail"]
