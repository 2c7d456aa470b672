"""Gates in the life of a run: from the project file, and looks at a run that stops once they are decided."""

from __future__ import annotations

import json
import re
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

from context_bench import evaluate
from context_bench.cli import execute
from context_bench.errors import RunStoppedError
from context_bench.runs import open_run
from context_bench_compare.differences import guaranteed_difference
from context_bench_compare.gates import FAILED, INCONCLUSIVE, PASSED, judge_difference, parse_gate
from context_bench_compare.looks import LOOKS, confidences
from context_bench_compare.sequential import spent
from context_bench_compare.strata import Growing, interval_over, weights_of

pytest.importorskip(
    "context_bench_replay", reason="the systems of these runs replay answers of a file"
)
pytest.importorskip(
    "context_bench_answer_quality", reason="the rows of these runs are scored by it"
)

COUNT = 400


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lines = [
        {
            "id": f"q{n}",
            "answer": f"a{n}",
            "direct": f"a{n}",
            "same": f"a{n}",
            "bad": f"a{n}" if n % 3 else "x",
            "close": "x" if n % 40 == 7 else f"a{n}",
        }
        for n in range(COUNT)
    ]
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(system: str, *more: str, path: str = "r.sqlite", limit: int | None = COUNT) -> int:
    systems = (
        "--system",
        "direct=replay:field=direct",
        "--system",
        f"{system}=replay:field={system}",
    )
    size = () if limit is None else ("-n", str(limit))
    return execute(
        [
            "run",
            *systems,
            "--baseline",
            "direct",
            "--dataset",
            "a.jsonl",
            *size,
            "-q",
            "--run-file",
            path,
            *more,
        ]
    )


def asked(path: str = "r.sqlite") -> int:
    with open_run(path) as opened:
        return len({row.position for row in opened.rows()})


STOP = ("--gate", "exact_match:max-drop=5pp", "--stop-when-decided")


@pytest.mark.parametrize(
    ("system", "code", "word"),
    [("same", 0, "passed"), ("bad", 10, "failed")],
    ids=["no worse", "worse"],
)
@pytest.mark.parametrize("workers", ["1", "8"])
def test_a_run_stops_asking_when_its_gate_is_decided(
    here: Path, capsys: pytest.CaptureFixture[str], system: str, code: int, word: str, workers: str
) -> None:
    assert run(system, *STOP, "--max-workers", workers) == code
    said = capsys.readouterr().err
    after = {"same": 3 * COUNT // LOOKS, "bad": 2 * COUNT // LOOKS}[system]
    assert f"Decided after {after} of {COUNT} examples" in said
    assert f"Gate exact_match:max-drop=0.05: {word}" in said
    assert "context-bench resume r.sqlite" in said
    assert asked() >= after


class Patient:
    """Answers right, and goes on only when what it answered thirty examples ago is in the run file."""

    def __init__(self, name: str, path: Path) -> None:
        self.name, self._path = name, path

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        while self._kept() < 2 * (example["number"] - 30):  # two systems, two rows of an example
            sleep(0.001)
        return {"response": example["answer"]}

    def _kept(self) -> int:
        if not self._path.is_file():
            return 0
        with open_run(self._path) as opened:
            return len(opened)


class Right:
    """Scores 1.0 for the right answer."""

    name = "right"
    version = "1"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"right": float(processed["response"] == original["answer"])}


def test_what_is_not_needed_is_not_asked(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    examples = [{"id": f"q{n}", "answer": f"a{n}", "number": n} for n in range(COUNT)]
    settings = {"gate": {"gate": ["right:max-drop=5pp"], "stop_when_decided": True}}
    with pytest.raises(
        RunStoppedError, match=f"Decided after {3 * COUNT // LOOKS} of {COUNT} examples"
    ) as stopped:
        evaluate(
            [Patient("direct", path), Patient("other", path)],
            examples,
            [Right()],
            progress=False,
            run_file=path,
            extension_options=settings,
            max_workers=1,
            score_field="right",
        )
    assert stopped.value.exit_code == 0
    assert 3 * COUNT // LOOKS <= asked(str(path)) < COUNT


def test_a_run_that_was_stopped_goes_on_and_looks_again(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("bad", *STOP, "--max-workers", "1") == 10
    first = asked()
    assert execute(["resume", "r.sqlite", "-q"]) == 10
    assert asked() >= first


@pytest.mark.parametrize("lines", [COUNT, 90], ids=["as long as -n", "shorter than -n"])
@pytest.mark.parametrize(("system", "code"), [("same", 0), ("bad", 10), ("close", 0)])
@pytest.mark.one_python
def test_several_datasets_are_looked_at_once_the_last_one_is_begun(
    here: Path, capsys: pytest.CaptureFixture[str], system: str, code: int, lines: int
) -> None:
    every = [json.loads(line) for line in (here / "a.jsonl").read_text().splitlines()]
    first = "".join(json.dumps(line | {"id": f"f{line['id']}"}) + "\n" for line in every[:lines])
    (here / "first.jsonl").write_text(first, encoding="utf-8")
    systems = (
        "--system",
        "direct=replay:field=direct",
        "--system",
        f"{system}=replay:field={system}",
    )
    data = (
        "--dataset",
        "first.jsonl",
        "--dataset",
        "a.jsonl",
        "-n",
        str(COUNT),
        "--baseline",
        "direct",
        "-q",
    )
    gate = "exact_match:max-drop=8pp"
    more = ("--gate", gate, "--stop-when-decided", "--max-workers", "1", "--run-file", "r.sqlite")
    assert execute(["run", *systems, *data, *more]) == code
    said = " ".join(capsys.readouterr().err.split())
    [after] = re.findall(rf"Decided after (\d+) of {lines + COUNT} examples", said)
    assert int(after) in {lines + COUNT * look // LOOKS for look in range(1, LOOKS)}
    assert f"Gate exact_match:max-drop=0.08: {'passed' if code == 0 else 'failed'}" in said
    with open_run("r.sqlite") as opened:
        assert sum(row.dataset_number == 0 for row in opened.rows()) == 2 * lines
    assert execute(["resume", "r.sqlite", "-q"]) == code
    assert "from 0 to" not in capsys.readouterr().err


def test_the_first_dataset_does_not_decide_for_all(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first dataset alone misses the gate by far; over both, which the run is about, nothing is lost."""
    every = [json.loads(line) for line in (here / "a.jsonl").read_text().splitlines()]
    first = "".join(
        json.dumps(line | {"id": f"f{line['id']}", "mixed": line["bad"]}) + "\n"
        for line in every[:80]
    )
    then = "".join(
        json.dumps(line | {"mixed": line["answer"], "direct": line["bad"]}) + "\n" for line in every
    )
    (here / "first.jsonl").write_text(first, encoding="utf-8")
    (here / "then.jsonl").write_text(then, encoding="utf-8")
    systems = ("--system", "direct=replay:field=direct", "--system", "mixed=replay:field=mixed")
    data = (
        "--dataset",
        "first.jsonl",
        "--dataset",
        "then.jsonl",
        "-n",
        str(COUNT),
        "--baseline",
        "direct",
        "-q",
    )
    assert (
        execute(["run", *systems, *data, *STOP, "--max-workers", "1", "--run-file", "r.sqlite"])
        == 0
    )
    assert "passed" in capsys.readouterr().err


def test_what_no_look_decides_is_decided_at_the_end_with_what_error_is_left(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("close", "--gate", "exact_match:max-drop=2pp", "--stop-when-decided") == 11
    assert asked() == COUNT
    sequential = capsys.readouterr().err
    assert run("close", "--gate", "exact_match:max-drop=2pp", path="once.sqlite") == 11
    once = capsys.readouterr().err
    assert "at 95.8%" in sequential
    assert "at 95%" in once


def test_a_sum_is_not_met_before_its_end(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(
            "same",
            "--gate",
            "exact_match:max-drop=5pp/latency:max=60s/cost:max=1",
            "--stop-when-decided",
        )
        == 2
    )
    assert "cost" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "limit", "words"),
    [
        (("--stop-when-decided",), COUNT, "There is no gate to decide"),
        (STOP, None, "nobody knows how many a gives: give a number with -n, such as -n 500"),
        (("--gate", "exact_match", "--stop-when-decided"), COUNT, "wrong form"),
        (
            ("--gate", "exakt_match:min=1", "--stop-when-decided"),
            COUNT,
            "Did you mean 'exact_match'",
        ),
    ],
    ids=["no gate", "no size", "no bound", "unknown score"],
)
def test_what_cannot_be_stopped_is_told(
    here: Path,
    capsys: pytest.CaptureFixture[str],
    more: tuple[str, ...],
    limit: int | None,
    words: str,
) -> None:
    assert run("same", *more, limit=limit) == 2
    assert words in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("more", [(), ("--stop-when-decided",)])
def test_a_score_that_no_evaluator_gives_is_told_before_the_first_call(
    here: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    assert run("same", "--gate", "exact_mtach:min=0.5", *more) == 2
    assert "Did you mean 'exact_match'" in " ".join(capsys.readouterr().err.split())
    assert not (here / "r.sqlite").exists()


def test_the_table_of_the_project_file_is_held_by_run_and_by_compare(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "context-bench.toml").write_text(
        '[gate]\nexact_match = { max_drop = "1pp" }\n', encoding="utf-8"
    )
    assert run("bad") == 10
    assert "Gate exact_match:max-drop=0.01: failed" in capsys.readouterr().err
    with open_run("r.sqlite") as opened:
        assert "context-bench-compare/gate" in opened.provenance["extensions"]
    assert execute(["compare", "r.sqlite"]) == 10
    assert execute(["compare", "r.sqlite", "--no-project-gates"]) == 0
    assert run("same", path="same.sqlite") == 0
    assert execute(["compare", "same.sqlite"]) == 0


def test_gates_of_the_command_line_join_those_of_the_project_file(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "context-bench.toml").write_text(
        "[gate]\nexact_match = { min = 0.5 }\n", encoding="utf-8"
    )
    assert run("bad", "--gate", "f1:min=0.99") == 10
    said = capsys.readouterr().err
    assert "Gate bad exact_match:min=0.5: passed" in said
    assert "Gate bad f1:min=0.99: failed" in said


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("gate = 3", "gate"),
        ("[gate]\nf1 = 3", "holds a table for each score"),
        ("[gate]\nf1 = { max_dorp = 1 }", "Did you mean 'max-drop'"),
        ('[gate]\nf1 = { max_drop = "1 mile" }', "is no amount"),
        ("[gaet]\nf1 = { min = 1 }", "gaet"),
    ],
)
def test_a_wrong_table_is_told_before_anything_is_asked(
    here: Path, capsys: pytest.CaptureFixture[str], table: str, words: str
) -> None:
    (here / "context-bench.toml").write_text(table + "\n", encoding="utf-8")
    assert run("same") == 2
    assert words in capsys.readouterr().err
    assert not (here / "r.sqlite").exists()


def test_the_looks_spend_the_error_and_no_more() -> None:
    assert spent(1.0) == pytest.approx(0.05)
    found = confidences(0.05)
    assert len(found) == LOOKS
    assert list(found) == sorted(found, reverse=True)
    assert all(0.95 < one < 1 for one in found)


@pytest.mark.parametrize("flips", [0.1, 0.4], ids=["few flips", "many flips"])
@pytest.mark.parametrize("margin", [0.0, 0.05], ids=["no difference", "at the margin"])
@pytest.mark.one_python
def test_looking_five_times_decides_wrongly_in_at_most_five_and_a_half_of_a_hundred(
    flips: float, margin: float
) -> None:
    """A system exactly at the margin is neither: `passed` and `failed` are both wrong."""
    rng = np.random.default_rng(20)
    [gate] = parse_gate(f"score:max-drop={margin}")
    runs, rows, wrong = 600, 300, 0
    for _ in range(runs):
        down = (flips + margin) / 2
        drawn = rng.choice([-1.0, 0.0, 1.0], p=[down, 1 - flips, flips - down], size=rows)
        wrong += decided(gate, drawn) != INCONCLUSIVE
    assert wrong / runs <= 0.055


@pytest.mark.parametrize(
    ("sizes", "together", "apart"),
    [((150, 150), 1, 0.3), ((60, 240), 5, 0.0), ((100, 50, 150), 5, 0.3)],
    ids=["two apart", "clusters of five", "three apart in clusters"],
)
@pytest.mark.one_python
def test_looking_at_the_last_of_several_datasets_decides_wrongly_as_seldom(
    sizes: tuple[int, ...], together: int, apart: float
) -> None:
    """At the margin over all rows, though not in each dataset, `passed` and `failed` are both wrong."""
    rng = np.random.default_rng(7)
    [gate] = parse_gate("score:max-drop=0.05")
    datasets = np.repeat(np.arange(len(sizes)), sizes)
    means = np.where(datasets == 0, apart, -apart * sizes[0] / sum(sizes[1:])) - 0.05
    clusters = np.arange(len(datasets)) // together if together > 1 else None
    wrong = 0
    for _ in range(300):
        spread = (
            np.repeat(rng.normal(0, 0.25, size=len(datasets) // together), together)
            if together > 1
            else 0.0
        )
        drawn = np.clip(means + spread + rng.normal(0, 0.2, size=len(datasets)), -1.5, 1.5)
        wrong += decided(gate, drawn, datasets, clusters) != INCONCLUSIVE
    assert wrong / 300 <= 0.055


@pytest.mark.parametrize("flips", [0.1, 0.4], ids=["few flips", "many flips"])
@pytest.mark.one_python
def test_looking_at_rows_in_clusters_decides_wrongly_as_seldom(flips: float) -> None:
    rng = np.random.default_rng(9)
    [gate] = parse_gate("score:max-drop=0")
    clusters = np.arange(300) // 5
    wrong = 0
    for _ in range(300):
        own = np.repeat(
            rng.choice([-1.0, 0.0, 1.0], p=[flips / 2, 1 - flips, flips / 2], size=60), 5
        )
        drawn = np.where(
            rng.random(300) < 0.6, own, rng.choice([-1.0, 0.0, 1.0], p=[0.1, 0.8, 0.1], size=300)
        )
        wrong += decided(gate, drawn, clusters=clusters) != INCONCLUSIVE
    assert wrong / 300 <= 0.055


def decided(gate: Any, differences: Any, datasets: Any = None, clusters: Any = None) -> str:
    """Return how the looks come out; those at several datasets begin with the last one."""
    datasets = np.zeros(len(differences), dtype=np.int64) if datasets is None else datasets
    last = int((datasets == datasets[-1]).sum())
    earlier = len(differences) - last
    for number, confidence in enumerate(confidences(0.05, LOOKS, earlier / len(differences))):
        there = last * (number + 1) // LOOKS
        seen = slice(0, earlier + there)
        growing = Growing(int(datasets[-1]), last / there) if earlier and there < last else None
        own = None if clusters is None else clusters[seen]
        values = differences[seen]
        interval = interval_over(
            values, datasets[seen], own, growing, confidence, guaranteed_difference
        )
        mean = float((values * weights_of(datasets[seen], growing)).mean())
        found = judge_difference(gate, mean, interval, len(values), float(values.std()))
        if found.state in (PASSED, FAILED):
            return found.state
    return INCONCLUSIVE
