from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from context_bench.plan.specs import parse_system
from context_bench.store.runfile import RunFile

pytest.importorskip("context_bench_replay", reason="these runs need the replay plugin")
pytest.importorskip("context_bench_local", reason="these runs need the local plugin")
pytest.importorskip(
    "context_bench_answer_quality", reason="these runs need the answer-quality plugin"
)

ROWS = [
    {"id": "a", "question": "q", "answer": "Paris", "pred": "Paris"},
    {"id": "b", "question": "q", "answer": "Rome", "pred": "It is Rome"},
    {"id": "c", "question": "q", "answer": "Oslo", "pred": "no idea"},
]
Run = Callable[..., Any]


def test_a_run_prints_a_table_and_keeps_a_run_file(
    context_bench: Run, jsonl: Run, tmp_path: Path
) -> None:
    done = context_bench("run", "--system", "replay:field=pred", "--dataset", jsonl(ROWS))
    assert done.code == 0
    assert "replay" in done.out
    assert "0.5000" in done.out
    assert "score is f1" in done.out
    assert "Run file: runs/" in done.err
    assert len(list((tmp_path / "runs").glob("*.sqlite"))) == 1


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("folder", "folder is a folder, not a run file. Name another file."),
        ("rows.jsonl", "rows.jsonl is not a run file"),
        ("run.sqlite", "There is a file run.sqlite already. Resume it"),
    ],
)
def test_a_resume_is_advised_only_where_a_run_file_is(
    place: str, message: str, context_bench: Run, jsonl: Run, tmp_path: Path
) -> None:
    run = ("run", "--system", "replay:field=pred", "--dataset", jsonl(ROWS), "--run-file")
    (tmp_path / "folder").mkdir()
    assert context_bench(*run, "run.sqlite").code == 0
    done = context_bench(*run, place)
    assert done.code == 2
    flat = " ".join(done.err.split())
    assert message in flat
    assert ("resume" in flat) == (place == "run.sqlite")


def test_flags_without_a_command_mean_run(context_bench: Run, jsonl: Run) -> None:
    named = context_bench(
        "run", "--system", "replay:field=pred", "--dataset", jsonl(ROWS), "--format", "json"
    )
    short = context_bench(
        "--system", "replay:field=pred", "--dataset", jsonl(ROWS), "--format", "json"
    )
    assert short.code == 0
    assert json.loads(short.out)["summary"].keys() == json.loads(named.out)["summary"].keys()


@pytest.mark.parametrize("suffix", [".md", ".json", ".csv", ".txt"])
def test_a_report_is_written_by_its_suffix(
    context_bench: Run, jsonl: Run, tmp_path: Path, suffix: str
) -> None:
    done = context_bench(
        "-s", "replay:field=pred", "-d", jsonl(ROWS), "-o", f"out{suffix}", "--format", "none", "-q"
    )
    assert (done.code, done.out) == (0, "")
    text = (tmp_path / f"out{suffix}").read_text()
    assert "replay" in text
    if suffix == ".json":
        assert len(json.loads(text, parse_constant=pytest.fail)["rows"]) == 3
    if suffix == ".csv":
        assert len(text.splitlines()) == 4


def test_columns_are_mapped_by_field(context_bench: Run, jsonl: Run) -> None:
    rows = [{"prediction": "x", "gold": {"answers": ["x", "y"]}}]
    file = jsonl(rows)
    done = context_bench(
        "-s",
        "replay:field=prediction",
        "-d",
        file,
        "--field",
        "answers=gold.answers",
        "--format",
        "json",
    )
    assert json.loads(done.out)["rows"][0]["scores"]["exact_match"] == 1.0
    done = context_bench(
        "-s",
        "replay:field=prediction",
        "-d",
        file,
        "--field",
        "answer=gold.answers.1",
        "--format",
        "json",
    )
    assert json.loads(done.out)["rows"][0]["scores"]["exact_match"] == 0.0


def test_the_project_file_holds_the_same_things_as_the_flags(
    context_bench: Run, jsonl: Run, tmp_path: Path
) -> None:
    file = jsonl([{"prediction": "x", "gold": ["x"]}] * 2)
    (tmp_path / "context-bench.toml").write_text(f"""
        [run]
        limit = 1
        evaluators = ["answer-quality"]

        [[systems]]
        name = "replay"
        label = "mine"
        options = {{ field = "prediction" }}

        [[datasets]]
        name = "{file}"
        fields = {{ answers = "gold" }}
    """)
    done = context_bench("run", "--format", "json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert [(row["system"], row["score"]) for row in told["rows"]] == [("mine", 1.0)]
    done = context_bench("run", "-n", "2", "--format", "json")
    assert len(json.loads(done.out)["rows"]) == 2, "a flag beats the project file"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("agent:loop", {"config": "loop"}),
        ("agent:claude-code,notes=true", {"config": "claude-code", "notes": "true"}),
        ("agent:notes=true", {"notes": "true"}),
        ("a=agent:config=loop", {"config": "loop"}),
    ],
)
def test_a_system_takes_its_configuration_where_a_dataset_does(
    text: str, options: dict[str, str]
) -> None:
    spec = parse_system(text)
    assert (spec.name, spec.options) == ("agent", options)
    assert parse_system(spec.text).options == options


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-s", "replay", "-d", "nope"], "Unknown dataset 'nope'"),
        (["-s", "replay", "-d", "nedle"], "Unknown dataset 'nedle'.*'needle'"),
        (
            ["-s", "replya", "-d", "rows.jsonl"],
            "Unknown system 'replya'. Did you mean 'replay'",
        ),
        (
            ["-s", "replay:feild=pred", "-d", "rows.jsonl"],
            "Unknown option 'feild' of system replay. Did you mean 'field'",
        ),
        (["-s", "replay:field", "-d", "rows.jsonl"], "'field' is no option: write key=value"),
        (["-s", "replay:", "-d", "rows.jsonl"], "ends with a colon"),
        (["-s", "=replay", "-d", "rows.jsonl"], "has no label before the equals sign"),
        (["-s", "", "-d", "rows.jsonl"], "The system '' has no name"),
        (
            ["-s", "replay", "-d", "hf:"],
            "The dataset 'hf:' ends with a colon, but nothing follows it",
        ),
        (["-s", "replay", "-d", "missing.jsonl"], "missing.jsonl"),
        (
            ["-s", "replay", "-d", "rows.parquet"],
            "There is no file rows.parquet|Unknown dataset 'rows.parquet'",
        ),
        (
            ["-s", "replay", "-d", "rows.jsonl", "--evaluators", "rogue"],
            "Unknown evaluator 'rogue'",
        ),
        (
            ["-s", "replay", "-d", "rows.jsonl", "--add-evaluator", "rogue"],
            "Unknown evaluator 'rogue'",
        ),
        (
            ["-s", "replay", "-d", "rows.jsonl", "--exclude", "rogue"],
            "Unknown evaluator 'rogue'",
        ),
        (
            ["-s", "replay", "-d", "rows.jsonl", "--set", "evaluators.answer-quality.x=1"],
            "Unknown option 'x' of evaluator answer-quality",
        ),
        (["-s", "replay", "-d", "rows.jsonl", "--set", "nonsense=1"], "names no setting"),
        (
            ["-s", "replay", "-d", "rows.jsonl", "--field", "answer"],
            "--field 'answer' has the wrong form: write it as TARGET=SOURCE.",
        ),
        (
            ["-s", "replay", "-d", "rows.jsonl", "--score-prefix", "answer-quality"],
            "--score-prefix 'answer-quality' has the wrong form: write it as NAME=PREFIX.",
        ),
        (
            ["-s", "replay", "-d", "rows.jsonl", "--set", "run.limit"],
            "--set 'run.limit' has the wrong form: write it as PATH=VALUE.",
        ),
        (
            ["-s", "replay", "-d", "rows.jsonl", "--seed", "3"],
            "--seed 3 has no effect",
        ),
        (
            ["-s", "replay", "-d", "rows.jsonl", "--seed", "3", "-n", "2"],
            "has no effect without --sample",
        ),
        (
            ["-s", "replay", "-d", "rows.jsonl", "--set", "run.seed=3", "--dry-run"],
            "--seed 3 has no effect",
        ),
        (
            ["-s", "replay", "-d", "rows.jsonl", "--field", "answer=anwser"],
            "has no 'anwser'. Did you mean 'answer'.*Its columns are: id, question, answer, pred",
        ),
        (
            ["-s", "replay:field=pred", "-d", "rows.jsonl", "--score-field", "exact_mach"],
            "is 'exact_mach', and no evaluator of this run returns that score. Did you mean 'exact_match'",
        ),
        (
            ["-s", "replay", "-d", "rows.jsonl", "-o", "out.docx"],
            "Unknown report suffix '.docx'",
        ),
        (
            ["-s", "replay", "-d", "rows.jsonl", "-o", "no/such/out.json"],
            "There is no folder no/such",
        ),
        (
            ["-s", "replay", "-d", "rows.jsonl", "--format", "tabel"],
            "Unknown reporter 'tabel'. Did you mean 'table'",
        ),
        (
            ["-s", "replay", "-d", "table.csv", "-o", "table.csv"],
            "table.csv would replace what this command reads",
        ),
        (
            ["-s", "replay", "-d", "t=local:path=table.csv", "-o", "./table.csv"],
            "would replace what this command reads",
        ),
        (
            ["-s", "replay", "-d", "rows.jsonl", "--run-file", "r.json", "-o", "r.json"],
            "r.json would replace what this command reads or writes itself",
        ),
        (
            ["-s", "replay", "-d", "rows.jsonl", "-o", "a.md", "-o", "a.md"],
            "a.md would replace what this command",
        ),
        (["-s", "replay"], "No dataset given"),
        (["-s", "replay", "-d", "rows.jsonl", "--model", "m"], "--model is given, but no --proxy"),
        (
            ["-s", "replay", "-d", "rows.jsonl", "--lock-file", "x.lock"],
            "has no effect without --locked",
        ),
        (["-d", "rows.jsonl"], "No system given"),
        (["-s", "replay", "-d", "rows.jsonl", "--frobnicate"], "No such option"),
        (
            ["-s", "replay", "-d", "rows.jsonl", "-n", "0"],
            "-n must be a positive integer",
        ),
        (["-s", "replay", "-d", "rows.jsonl", "--ids", ","], "--ids names nothing"),
        (["-s", "replay:field=a,field=b", "-d", "rows.jsonl"], "the option 'field' is given twice"),
        (["-s", "replay", "-d", "rows.jsonl,quote=a,quote=b"], "the option 'quote' is given twice"),
        (
            ["-s", "replay", "-d", "rows.jsonl,quote=a,rest"],
            "what stands behind 'quote' is no option: write key=value",
        ),
        (["-s", "replay", "-d", "rows.jsonl", "--evaluators", ""], "--evaluators names nothing"),
        (
            [
                "-s",
                "replay",
                "-d",
                "rows.jsonl",
                "--metrics",
                "pass-rate:threshold=0.5,threshold=0.9",
            ],
            "In the metric 'pass-rate', the option 'threshold' is given twice",
        ),
        (
            ["-s", "replay", "-d", "rows.jsonl", "--metrics", "pass-rate:threshold"],
            "In the metric 'pass-rate', 'threshold' is no option: write key=value",
        ),
        (
            ["-s", "replay", "-d", "rows.jsonl", "--metrics", "pass-rate:threshold=nan"],
            "threshold must be",
        ),
        (["-s", "replay", "-s", "replay", "-d", "rows.jsonl"], "Two systems are called 'replay'"),
        (
            ["-s", "replay", "--reader", "replay", "-d", "rows.jsonl"],
            "follows no system",
        ),
        (["runn"], "Unknown command 'runn'. Did you mean 'run'"),
        (["-s", "replay", "-d", "empty.jsonl"], "is empty"),
        (["-s", "replay:field=pred", "-d", "broken.jsonl"], "broken.jsonl.*line 2"),
        (["resume", "nope.sqlite"], "There is no run file nope.sqlite"),
        (["report", "rows.jsonl"], "rows.jsonl is not a run file"),
        (["resume", "runs"], "runs is a folder, not a run file"),
        (["-s", "replay", "-d", "rows.jsonl", "--name", "x"], "1 --name but 0 --proxy"),
        (["-s", "replay", "-d", "rows.jsonl", "--locked"], "There is no lock file"),
    ],
    ids=lambda value: " ".join(value)[:70] if isinstance(value, list) else "",
)
def test_bad_input_says_what_is_wrong_and_exits_2(
    context_bench: Run, jsonl: Run, arguments: list[str], message: str
) -> None:
    jsonl(ROWS)
    jsonl([], "empty.jsonl")
    jsonl([ROWS[0], '{"id": "b", '], "broken.jsonl")
    Path("runs").mkdir()
    done = context_bench(*arguments)
    assert done.code == 2
    flat = " ".join(done.err.split())
    assert __import__("re").search(message, flat), flat
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("place", "why"), [("folder", "is a directory"), ("run", "a run file lies there")]
)
def test_a_place_that_can_hold_no_report_is_told_before_anything_is_asked(
    context_bench: Run, jsonl: Run, tmp_path: Path, place: str, why: str
) -> None:
    (tmp_path / "folder.json").mkdir()
    RunFile.create(tmp_path / "run.json", "id", "now", {}, {}).close()
    done = context_bench("-s", "replay:field=pred", "-d", jsonl(ROWS), "-o", f"{place}.json")
    assert (done.code, done.out) == (2, "")
    assert f"{place}.json" in done.err
    assert why in done.err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("recorded", [False, True], ids=["a dataset", "a system's file"])
def test_resume_from_another_folder_names_the_one_in_which_the_files_of_the_run_lie(
    context_bench: Run, jsonl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded: bool
) -> None:
    jsonl([*ROWS, {"id": "d", "question": "q", "answer": "x"}], "rows.jsonl")
    system = "replay:field=pred,path=./rows.jsonl" if recorded else "replay:field=pred"
    asked = (
        "-s",
        system,
        "-d",
        "rows.jsonl",
        "--max-failed",
        "0",
        "-q",
        "--run-file",
        "runs/r.sqlite",
    )
    (tmp_path / "runs").mkdir()
    assert context_bench(*asked).code == 12
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    if recorded:
        jsonl(ROWS, "other/rows.jsonl")
        (tmp_path / "other" / "rows.jsonl").rename(tmp_path / "other" / "copy.jsonl")
    done = context_bench("resume", "../runs/r.sqlite", "-q")
    assert done.code == 2
    assert f"rows.jsonl lies in {tmp_path}: resume the run from there." in " ".join(
        done.err.split()
    )
    away = (tmp_path / "rows.jsonl").rename(tmp_path / "other" / "away.jsonl")
    flat = " ".join(context_bench("resume", "../runs/r.sqlite", "-q").err.split())
    named = "rows.jsonl is relative to the folder in which the run was started: resume the run from there."
    assert named in flat, flat
    away.rename(tmp_path / "rows.jsonl")
    monkeypatch.chdir(tmp_path)
    told = context_bench("resume", "runs/r.sqlite", "-q").err
    assert ("lies in" in told, "is named as" in told) == (False, False)


def test_rows_that_fail_count_as_wrong_and_too_many_give_exit_code_12(
    context_bench: Run, jsonl: Run
) -> None:
    file = jsonl([*ROWS, {"id": "d", "question": "q", "answer": "x"}])
    done = context_bench("-s", "replay:field=pred", "-d", file, "--format", "json")
    assert done.code == 12
    assert "1 of 4 rows failed (25.0 %) and count as wrong" in done.err
    assert json.loads(done.out)["summary"]["replay"]["mean_score"] == pytest.approx((1 + 1 / 2) / 4)
    assert context_bench("-s", "replay:field=pred", "-d", file, "--max-failed", "30%").code == 0


def test_rows_without_what_an_evaluator_needs_are_unscored_and_counted(
    context_bench: Run, jsonl: Run
) -> None:
    done = context_bench(
        "-s", "replay:field=pred", "-d", jsonl([*ROWS, {"pred": "x"}]), "--format", "json"
    )
    told = json.loads(done.out)
    assert told["summary"]["replay"]["num_unscored"] == 1
    assert told["rows"][3]["unscored"] == {
        "context-bench-answer-quality/answer-quality": "the example has no answer or answers"
    }
    assert told["rows"][3]["example_id"] == "#3"


def test_an_interrupted_run_can_be_resumed_from_its_file_alone(
    context_bench: Run, jsonl: Run, tmp_path: Path
) -> None:
    good = [{**ROWS[0], "id": f"row {number}"} for number in range(1100)]  # more than is read ahead
    file = jsonl([*good, "{broken"])
    stopped = context_bench("-s", "replay:field=pred", "-d", file, "--run-file", "r.sqlite")
    assert stopped.code == 2
    assert "context-bench resume r.sqlite" in stopped.err
    with closing(sqlite3.connect(tmp_path / "r.sqlite")) as connection, connection:
        assert connection.execute("SELECT count(*) FROM responses").fetchone() == (1100,)
    jsonl([*good, ROWS[1]])
    resumed = context_bench("resume", "r.sqlite", "--format", "json")
    assert resumed.code == 0, resumed.err
    assert [row["score"] for row in json.loads(resumed.out)["rows"]] == [1.0] * 1100 + [0.5]


def test_a_report_of_a_run_file_equals_the_report_of_the_run(
    context_bench: Run, jsonl: Run
) -> None:
    first = context_bench(
        "-s",
        "replay:field=pred",
        "-d",
        jsonl(ROWS),
        "--run-file",
        "r.sqlite",
        "--format",
        "markdown",
    )
    again = context_bench("report", "r.sqlite", "--format", "markdown")
    assert again.code == 0
    assert again.out.splitlines()[:-1] == first.out.splitlines()[:-1], (
        "but for the seconds of the run"
    )
    other = context_bench("report", "r.sqlite", "--score-field", "exact_match").out
    assert "0.3333" in other
    scores = [line.split()[0] for line in other.splitlines() if "answer-quality" in line]
    assert "f1" in scores
    assert "exact_match" not in scores


def test_the_canonical_export_of_equal_runs_is_byte_identical(
    context_bench: Run, jsonl: Run
) -> None:
    file = jsonl(ROWS)
    exports = []
    for workers in ("1", "8"):
        context_bench(
            "-s",
            "replay:field=pred",
            "-d",
            file,
            "--run-file",
            f"{workers}.sqlite",
            "--max-workers",
            workers,
        )
        exports.append(context_bench("export", "--canonical", f"{workers}.sqlite").out)
    assert exports[0] == exports[1]
    assert len(exports[0].splitlines()) == 3


def test_a_dry_run_shows_the_plan_and_runs_nothing(
    context_bench: Run, jsonl: Run, tmp_path: Path
) -> None:
    done = context_bench("-s", "replay:field=pred", "-d", jsonl(ROWS), "--dry-run")
    assert done.code == 0
    assert "+ context-bench-answer-quality/answer-quality" in done.out
    assert "f1, exact_match, recall, contains" in done.out
    assert not (tmp_path / "runs").exists()


def test_a_locked_run_goes_on_while_nothing_changed(context_bench: Run, jsonl: Run) -> None:
    file = jsonl(ROWS)
    assert context_bench("lock", "-s", "replay:field=pred", "-d", file).code == 0
    assert context_bench("-s", "replay:field=pred", "-d", file, "--locked").code == 0
    drifted = context_bench(
        "-s", "replay:field=pred", "-d", file, "--locked", "--add-evaluator", "rouge"
    )
    assert drifted.code == 2
    assert "context-bench-rouge/rouge is new (added with --add-evaluator)" in drifted.err


@pytest.mark.parametrize("flag", ["--reuse", "--cache-dir"])
def test_reused_responses_are_not_asked_for_again(
    context_bench: Run, jsonl: Run, flag: str
) -> None:
    file = jsonl(ROWS)
    context_bench("-s", "replay:field=pred", "-d", file, "--run-file", "cache/r.sqlite")
    done = context_bench("-s", "replay:field=pred", "-d", file, flag, "cache", "--format", "json")
    assert [row["reused"] for row in json.loads(done.out)["rows"]] == [True] * 3


def test_a_cache_may_be_new_and_each_run_is_added_to_it(
    context_bench: Run, jsonl: Run, tmp_path: Path
) -> None:
    asked = (
        "-s",
        "replay:field=pred",
        "-d",
        jsonl(ROWS),
        "--cache-dir",
        tmp_path / "a" / "cache",
        "--format",
        "json",
    )
    for times in range(3):
        done = context_bench(*asked)
        assert done.code == 0, done.err
        reused = [row["reused"] for row in json.loads(done.out)["rows"]]
        assert reused == [times > 0] * 3
        assert len(list((tmp_path / "a" / "cache").glob("*.sqlite"))) == times + 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("flag", ["--reuse", "--cache-dir"])
def test_what_is_no_folder_of_run_files_is_refused_before_a_call(
    context_bench: Run, jsonl: Run, flag: str
) -> None:
    file = jsonl(ROWS)
    done = context_bench("-s", "replay:field=pred", "-d", file, flag, file)
    assert (done.code, done.out) == (2, "")
    assert Path(file).name in done.err


def test_a_file_with_a_label_is_wired_by_it_and_rows_of_an_unnamed_file_by_their_own(
    context_bench: Run, jsonl: Run
) -> None:
    pytest.importorskip("context_bench_rouge", reason="the label is wired to rouge")
    rows = [{**ROWS[0], "dataset": "dialogsum"}, {**ROWS[1], "dataset": "other"}]
    done = context_bench("-s", "replay:field=pred", "-d", jsonl(rows), "--format", "json")
    assert ["rouge_l_f1" in row["scores"] for row in json.loads(done.out)["rows"]] == [True, False]
    done = context_bench(
        "-s", "replay:field=pred", "-d", f"qmsum={jsonl(rows)}", "--format", "json"
    )
    told = json.loads(done.out)["rows"]
    assert [(row["dataset"], row["primary"]) for row in told] == [("qmsum", "rouge_l_f1")] * 2


def test_a_label_first_met_in_the_stream_is_held_against_the_lock_too(
    context_bench: Run, jsonl: Run
) -> None:
    pytest.importorskip("context_bench_rouge", reason="the label is wired to rouge")
    file = jsonl([{**ROWS[0], "dataset": "plain"}, {**ROWS[1], "dataset": "dialogsum"}])
    assert context_bench("lock", "--label", "plain").code == 0
    done = context_bench(
        "-s", "replay:field=pred", "-d", file, "--locked", "--run-file", "r.sqlite"
    )
    assert done.code == 2
    assert "dialogsum: not in the lock file" in done.err
    resumed = context_bench("resume", "r.sqlite")
    assert (resumed.code, "dialogsum: not in the lock file" in resumed.err) == (2, True)
    assert context_bench("lock", "--label", "plain", "--label", "dialogsum").code == 0
    assert context_bench("-s", "replay:field=pred", "-d", file, "--locked").code == 0


def test_every_score_tells_where_it_came_from(context_bench: Run, jsonl: Run) -> None:
    context_bench("-s", "replay:field=pred", "-d", jsonl(ROWS), "--run-file", "r.sqlite")
    config = json.loads(context_bench("report", "r.sqlite", "--format", "json").out)["config"]
    [source] = config["wiring"]["rows"]["evaluators"].values()
    assert source["rule"] == "always"
    assert source["distribution"] == "context-bench-answer-quality"
    assert source["distribution_version"] == "1.0.0"
    assert source["version"].isdecimal()
    assert len(source["manifest_sha256"]) == 64
    assert set(config["provenance"]) >= {"context_bench", "python", "plugins", "git"}


@pytest.mark.parametrize("number", [str(10**9), str(10**20)])
@pytest.mark.parametrize("flag", ["-n", "--sample", "--max-workers"])
def test_a_number_beyond_all_examples_means_all_of_them(
    flag: str, number: str, context_bench: Run, jsonl: Run
) -> None:
    done = context_bench(
        *(
            "run",
            "--system",
            "replay:field=pred",
            "--dataset",
            jsonl(ROWS),
            "--format",
            "json",
            flag,
            number,
        ),
        *([] if flag == "--max-workers" else ["--max-workers", "2"]),
    )
    assert done.code == 0, done.err
    assert len(json.loads(done.out)["rows"]) == 3


def test_more_samples_than_a_run_can_hold_are_refused_before_the_first(
    context_bench: Run, jsonl: Run, tmp_path: Path
) -> None:
    asked = ["run", "--system", "replay:field=pred", "--dataset", jsonl(ROWS), "--repeat", "1025"]
    done = context_bench(*asked)
    assert done.code == 2
    assert (
        "at most 1,024 repetitions of each example, not 1,025. Split it into several runs."
        in " ".join(done.err.split())
    )
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("wrong", ["id", "type"])
def test_a_wrong_row_of_a_file_is_found_before_the_first_call(
    wrong: str, context_bench: Any, jsonl: Any, tmp_path: Path
) -> None:
    pytest.importorskip("context_bench_python", reason="it calls the function")
    (tmp_path / f"own_{wrong}.py").write_text(
        "def answer(question):\n    open('calls.txt', 'a').write('.')\n    return 'x'\n"
    )
    rows: list[Any] = [{"id": f"{n}", "question": f"{n}", "answer": "x"} for n in range(700)]
    rows.append({"id": "7", "question": "another", "answer": "x"} if wrong == "id" else ["x"])
    done = context_bench(
        "run", "-s", f"python:target=own_{wrong}:answer,input=question,version=1", "-d", jsonl(rows)
    )
    assert done.code == 2
    assert "700" in done.err or "701" in done.err
    assert not Path("calls.txt").exists()


def test_a_duplicate_id_does_not_advise_to_resume(context_bench: Any, jsonl: Any) -> None:
    pytest.importorskip("context_bench_replay", reason="it replies")
    rows = [{"id": name, "question": name, "answer": "x", "pred": "x"} for name in "ab"]
    path = jsonl([*rows, {"id": "a", "question": "another", "answer": "x", "pred": "x"}])
    done = context_bench(
        "run", "-s", "replay:field=pred", "-d", path, "-q", "--run-file", "r.sqlite"
    )
    assert done.code == 2
    assert "different examples with one id" in done.err
    assert "resume" not in done.err


def test_a_value_with_a_comma_stands_in_quotation_marks(context_bench: Any, jsonl: Any) -> None:
    pytest.importorskip("context_bench_replay", reason="it replies")
    rows = jsonl([{"question": "q", "answer": "x", "good, plain": "x"}])
    command = ["run", "-d", rows, "-q", "--run-file", "r.sqlite", "-s"]
    refused = context_bench(*command, "replay:field=good, plain")
    assert (refused.code, "key='one, two'" in refused.err) == (2, True)
    done = context_bench(*command, "replay:field='good, plain'")
    assert done.code == 0, done.err


def test_a_score_field_that_nothing_returns_names_the_flag_and_the_scores(
    context_bench: Any, jsonl: Any
) -> None:
    pytest.importorskip("context_bench_replay", reason="it replies")
    pytest.importorskip("context_bench_answer_quality", reason="it scores")
    rows = jsonl([{"question": "q", "answer": "x", "pred": "x"}])
    command = ["run", "-d", rows, "-q", "-s", "replay:field=pred", "--run-file", "r.sqlite"]
    done = context_bench(*command, "--evaluators", "answer-quality", "--score-field", "nope")
    assert done.code == 2
    assert "--score-field" in done.err
    assert "exact_match" in done.err


@pytest.mark.parametrize("count", [1, 5, 20])  # a finished run, too many failures, a dead system
def test_a_function_that_looks_for_gold_is_told_that_it_is_hidden(
    count: int, context_bench: Any, jsonl: Any, tmp_path: Path
) -> None:
    pytest.importorskip("context_bench_python", reason="it calls functions")
    module = f"asking_{count}"
    (tmp_path / f"{module}.py").write_text("def ask(example):\n    return example['answer']\n")
    rows = jsonl([{"id": f"r{n}", "question": f"q{n}", "answer": "x"} for n in range(count)])
    done = context_bench(
        "run",
        "-d",
        rows,
        "-q",
        "-s",
        f"python:target={module}:ask,version=1",
        "--run-file",
        "r.sqlite",
    )
    told = " ".join(done.err.split())
    assert "KeyError: 'answer', a gold field, which systems do not receive" in told


def test_an_evaluator_is_found_by_its_score(context_bench: Any) -> None:
    pytest.importorskip("context_bench_answer_quality", reason="it is looked for")
    done = context_bench("evaluators", "show", "f1", "--json")
    assert done.code == 0
    assert "f1 is a score of context-bench-answer-quality/answer-quality" in done.err
