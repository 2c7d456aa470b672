from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("context_bench_openai", reason="these runs ask endpoints")
pytest.importorskip("context_bench_local", reason="these runs need the local plugin")
pytest.importorskip(
    "context_bench_answer_quality", reason="these runs need the answer-quality plugin"
)
pytest.importorskip("context_bench_efficiency", reason="these runs need its metrics")
pytest.importorskip("context_bench_sweeps", reason="baselines are added here")

Run = Callable[..., Any]


def summary(done: Any) -> dict[str, Any]:
    assert done.code == 0, done.err
    return dict(json.loads(done.out)["summary"])


def test_the_short_form_holds_proxies_against_a_baseline(
    context_bench: Run, proxies: list[str]
) -> None:
    told = summary(context_bench(*proxies, "--baseline", "direct"))
    assert (told["direct"]["tokens_saved"], told["half"]["tokens_saved"]) == (0.0, 0.5)
    assert told["half"]["num_uncompared"] == 0


def test_every_report_shows_what_was_saved(
    context_bench: Run, proxies: list[str], tmp_path: Path
) -> None:
    outputs = [
        argument for name in ("r.md", "r.csv", "r.json", "r.txt") for argument in ("-o", name)
    ]
    done = context_bench(*proxies, "--baseline", "direct", "--run-file", "r.sqlite", *outputs)
    assert done.code == 0, done.err
    for name in ("r.md", "r.txt"):
        text = (tmp_path / name).read_text()
        assert "tokens saved" in text
        assert "50.0 %" in text
        assert "against direct." in text
    with (tmp_path / "r.csv").open() as file:
        lines = list(csv.DictReader(file))
    told = {
        (line["system"], line["baseline_tokens"], line["prompt_tokens"], line["tokens_saved"])
        for line in lines
    }
    assert told == {("half", "8", "4", "0.5"), ("direct", "8", "8", "0.0")}
    again = summary(context_bench("report", "r.sqlite", "--format", "json"))
    assert again == json.loads((tmp_path / "r.json").read_text())["summary"]
    resumed = context_bench("resume", "r.sqlite", "--format", "json", "-q")
    assert summary(resumed)["half"]["tokens_saved"] == 0.5
    assert context_bench("verify", "r.sqlite").code == 0


def test_the_address_of_a_direct_endpoint_is_asked_as_the_proxies_are(
    context_bench: Run, model: Any, counted_rows: str
) -> None:
    told = summary(
        context_bench(
            "--system", f"half=openai:base_url={model}/half,model=big,temperature=0", "--baseline", model,
            "--dataset", counted_rows, "--quiet", "--format", "json",
        )
    )  # fmt: skip
    assert told["half"]["tokens_saved"] == 0.5
    assert told["direct"]["tokens_saved"] == 0.0
    assert {(call["model"], call["temperature"]) for call in model.asked} == {("big", 0.0)}


def test_a_spec_adds_the_baseline_as_a_system(
    context_bench: Run, model: Any, proxies: list[str]
) -> None:
    told = summary(
        context_bench(*proxies, "--baseline", f"plain=openai:base_url={model},model=other")
    )
    assert {system: values["tokens_saved"] for system, values in told.items()} == {
        "half": 0.5, "direct": 0.0, "plain": 0.0,
    }  # fmt: skip


def test_the_project_file_names_a_baseline(
    context_bench: Run, proxies: list[str], tmp_path: Path
) -> None:
    (tmp_path / "context-bench.toml").write_text('baseline = "half"\n')
    assert summary(context_bench(*proxies))["direct"]["tokens_saved"] == -1.0
    assert summary(context_bench(*proxies, "--baseline", "direct"))["half"]["tokens_saved"] == 0.5
    (tmp_path / "context-bench.toml").write_text("baseline = 3\n")
    assert "baseline must be a label" in context_bench(*proxies).err


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            "drect",
            "Unknown system 'drect' of this run for the baseline. Did you mean 'direct'?",
        ),
        ("openai", "'openai' is the name of 2 systems. Take a label: half, direct."),
        (
            "x=openai:base_url",
            "Unknown system 'x=openai:base_url' of this run for the baseline",
        ),
        ("half=http://127.0.0.1:9", "Two systems are called 'half'"),
    ],
)
def test_a_baseline_that_cannot_be_is_refused_in_one_line(
    context_bench: Run, proxies: list[str], asked: str, message: str, model: Any
) -> None:
    done = context_bench(*proxies, "--baseline", asked)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err
    assert model.asked == []


@pytest.fixture
def unanswered(model: Any, jsonl: Run) -> list[str]:
    pytest.importorskip("context_bench_agreement", reason="it scores rows without a gold answer")
    shared = {"context": "one two three four five six seven", "question": "which?"}
    rows = [{"id": "a", **shared}, {"id": "b", **shared}, {"id": "c", **shared, "answer": "one"}]
    asked = [
        "--proxy",
        f"{model}/half",
        "--name",
        "half",
        "--proxy",
        model,
        "--name",
        "direct",
        "--model",
        "m",
    ]
    return [*asked, "--dataset", jsonl(rows), "--format", "json"]


def test_rows_without_an_answer_are_held_against_another_systems_response(
    context_bench: Run, unanswered: list[str], tmp_path: Path, model: Any
) -> None:
    asked = [
        *unanswered,
        "--reference-from",
        "direct",
        "--run-file",
        "r.sqlite",
        "-o",
        "r.md",
        "-o",
        "r.txt",
    ]
    done = context_bench(*asked)
    told = summary(done)
    assert "The reference direct is asked twice where there is no gold answer" in done.err
    assert told["half"]["agreement"] == told["half"]["agreement_floor"] == 1.0
    assert told["half"]["num_agreement"] == 2
    assert len(model.asked) == 3 + 3 + 2
    for name in ("r.md", "r.txt"):
        text = " ".join((tmp_path / name).read_text().split())
        assert "noise floor" in text
        assert (
            "agreement is f1 against the response of direct, on the rows without a gold answer"
            in text
        )
    assert summary(context_bench("report", "r.sqlite", "--format", "json")) == told
    verified = context_bench("verify", "r.sqlite")
    assert verified.code == 0, verified.out
    assert "8 rows, 8 scorings computed again" in verified.out
    assert summary(context_bench("resume", "r.sqlite", "--format", "json", "-q")) == told
    assert summary(context_bench("rescore", "r.sqlite", "--force", "--format", "json")) == told
    assert len(model.asked) == 8


def test_new_evaluators_are_held_against_the_stored_reference(
    context_bench: Run, unanswered: list[str], model: Any
) -> None:
    pytest.importorskip("context_bench_rouge", reason="a second evaluator that needs an answer")
    context_bench(*unanswered, "--reference-from", "direct", "--run-file", "r.sqlite", "-q")
    calls = len(model.asked)
    done = context_bench("rescore", "r.sqlite", "--add-evaluator", "rouge", "--format", "json")
    rows = [row for row in json.loads(done.out)["rows"] if row["system"] == "half"]
    assert [sorted({"rouge_l_f1", "agreement_rouge_l_f1"} & set(row["scores"])) for row in rows] == [
        ["agreement_rouge_l_f1"], ["agreement_rouge_l_f1"], ["rouge_l_f1"],
    ]  # fmt: skip
    assert len(model.asked) == calls


def test_the_project_file_names_the_reference(
    context_bench: Run, unanswered: list[str], tmp_path: Path
) -> None:
    (tmp_path / "context-bench.toml").write_text('reference-from = "direct"\n')
    assert summary(context_bench(*unanswered, "-q"))["half"]["agreement"] == 1.0
    done = context_bench(*unanswered, "-q", "--reference-from", "dirct")
    assert (done.code, "Unknown system 'dirct' of this run for the reference" in done.err) == (
        2,
        True,
    )
    done = context_bench(*unanswered, "-q", "--no-store-examples")
    assert (done.code, "its examples must be kept" in done.err) == (2, True)


def test_isolated_prefixes_begin_each_systems_prompts_with_a_marker(
    context_bench: Run, proxies: list[str], tmp_path: Path, model: Any
) -> None:
    pytest.importorskip("context_bench_preflight", reason="it brings the markers")
    told = summary(context_bench(*proxies, "--isolate-prefixes", "--baseline", "direct"))
    begins = {
        call["path"].startswith("/half"): call["messages"][0]["content"].split("]")[0]
        for call in model.asked
    }
    assert len(model.asked) == 4
    assert len(set(begins.values())) == 2
    assert all(text.startswith("[") for text in begins.values())
    assert told["direct"]["mean_prompt_tokens"] == 8 + 10
    (tmp_path / "context-bench.toml").write_text("[run]\nisolate-prefixes = true\n")
    model.asked.clear()
    context_bench(*proxies)
    assert {call["messages"][0]["content"].split("]")[0] for call in model.asked} == set(
        begins.values()
    )
    (tmp_path / "context-bench.toml").write_text("[run]\nisolate-prefixes = 1\n")
    assert "isolate_prefixes must be true or false" in context_bench(*proxies).err


def test_a_report_can_be_held_against_another_baseline(
    context_bench: Run, proxies: list[str]
) -> None:
    context_bench(*proxies, "--run-file", "r.sqlite")
    assert (
        "tokens_saved"
        not in summary(context_bench("report", "r.sqlite", "--format", "json"))["half"]
    )
    told = summary(context_bench("report", "r.sqlite", "--baseline", "half", "--format", "json"))
    assert (told["direct"]["tokens_saved"], told["half"]["tokens_saved"]) == (-1.0, 0.0)
    done = context_bench("report", "r.sqlite", "--baseline", "hafl")
    assert (done.code, "Did you mean 'half'?" in done.err) == (2, True)


def asked_of(model: Any, path: str) -> list[tuple[Any, Any, int]]:
    """Return the temperature, limit and number of messages of each request to a path."""
    return sorted(
        (call.get("temperature"), call.get("max_tokens"), len(call["messages"]))
        for call in model.asked
        if call["path"].startswith(path)
    )


@pytest.mark.parametrize(
    ("file", "flags"),
    [
        pytest.param("[systems.defaults]\ntemperature = 0\nmax-tokens = 9\n", [], id="a table of its own"),
        pytest.param("", ["--set", "systems.defaults.temperature=0", "--set", "systems.defaults.max_tokens=9"], id="set"),
        pytest.param(
            "[systems.defaults]\ntemperature = 1\nmax_tokens = 9\n", ["--set", "systems.defaults.temperature=0"],
            id="set beats the file",
        ),
    ],
)  # fmt: skip
def test_shared_options_reach_every_system_and_the_baseline_alike(
    file: str, flags: list[str], context_bench: Run, model: Any, tmp_path: Path, counted_rows: str
) -> None:
    (tmp_path / "context-bench.toml").write_text(file)
    done = context_bench(
        "--proxy", f"{model}/half/v1", "--name", "half", "--baseline", f"{model}/v1", "--model", "m",
        "--dataset", counted_rows, "--quiet", "--format", "json", *flags,
    )  # fmt: skip
    assert summary(done)["half"]["tokens_saved"] == 0.5
    assert asked_of(model, "/half") == asked_of(model, "/v1") == [(0, 9, 2)] * 2
    assert (
        "Not paired"
        not in context_bench("report", *map(str, (tmp_path / "runs").glob("*.sqlite"))).out
    )


PROJECT = """
baseline = "direct"
[[systems]]
label = "half"
name = "openai"
options = {{ base_url = "{model}/half/v1", temperature = 1 }}
[[systems]]
spec = "direct=openai:base_url={model}/v1"
[systems.defaults]
model = "m"
temperature = 0
"""


def test_a_shared_option_yields_to_a_systems_own_and_the_table_says_who_is_asked_otherwise(
    context_bench: Run, model: Any, tmp_path: Path, counted_rows: str
) -> None:
    (tmp_path / "context-bench.toml").write_text(PROJECT.format(model=model))
    arguments = ("--dataset", counted_rows, "--quiet", "--run-file", "r.sqlite")
    done = context_bench(*arguments)
    assert done.code == 0, done.err
    assert (asked_of(model, "/half"), asked_of(model, "/v1")) == (
        [(1, None, 2)] * 2,
        [(0, None, 2)] * 2,
    )
    for told in (done.out, context_bench("report", "r.sqlite").out):
        assert "half is called with temperature 1.0, direct with temperature 0.0." in " ".join(
            told.split()
        )
    assert context_bench("resume", "r.sqlite", "-q").code == 0


def test_tables_of_systems_by_label_stand_beside_their_defaults(
    context_bench: Run, model: Any, tmp_path: Path, counted_rows: str
) -> None:
    (tmp_path / "context-bench.toml").write_text(
        f'[systems]\nhalf = "openai:base_url={model}/half/v1"\n[systems.direct]\nname = "openai"\n'
        f'options = {{ base_url = "{model}/v1" }}\n[systems.defaults]\ntemperature = 0\nmodel = "m"\n'
    )
    told = summary(
        context_bench(
            "--dataset", counted_rows, "--quiet", "--format", "json", "--baseline", "direct"
        )
    )
    assert told["half"]["tokens_saved"] == 0.5
    assert asked_of(model, "/half") == asked_of(model, "/v1") == [(0, None, 2)] * 2


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["systems.defaults.temprature=0"], "Did you mean 'temperature'?"),
        (
            ["systems.defaults.temperature=warm"],
            "temperature must be a finite number, got 'warm'",
        ),
    ],
)
def test_a_shared_option_that_cannot_be_is_refused(
    flags: list[str], message: str, context_bench: Run, proxies: list[str], model: Any
) -> None:
    done = context_bench(*proxies, "--set", *flags)
    assert done.code == 2
    assert message in done.err
    assert model.asked == []


def test_a_secret_among_the_shared_options_is_in_no_file(
    context_bench: Run, proxies: list[str], tmp_path: Path
) -> None:
    done = context_bench(
        *proxies, "--run-file", "r.sqlite", "--set", "systems.defaults.api_key=sk-very-secret-1234"
    )
    assert done.code == 0, done.err
    assert b"sk-very-secret-1234" not in (tmp_path / "r.sqlite").read_bytes()


def test_the_address_of_a_baseline_adds_one_for_each_layout_and_sampling(
    context_bench: Run, model: Any, tmp_path: Path, counted_rows: str
) -> None:
    done = context_bench(
        "--system", f"plain=openai:base_url={model}/half/v1,model=m,temperature=0",
        "--system", f"tool=openai:base_url={model}/half/v1,model=m,temperature=0,layout=tool",
        "--system", f"same=openai:base_url={model}/half/v1,model=m,temperature=0.0,layout=system",
        "--baseline", f"{model}/v1", "--dataset", counted_rows, "--quiet", "--run-file", "r.sqlite",
    )  # fmt: skip
    assert done.code == 0, done.err
    told = summary(context_bench("report", "r.sqlite", "--format", "json"))
    assert list(told) == ["plain", "tool", "same", "direct", "direct:layout=tool"]
    config = json.loads(context_bench("report", "r.sqlite", "--format", "json").out)["config"]
    assert config["baselines"] == {
        "tool": "direct:layout=tool",
        "direct:layout=tool": "direct:layout=tool",
    }
    assert "unpaired" not in config
    rows = json.loads(context_bench("report", "r.sqlite", "--format", "json").out)["rows"]
    direct = {row["system"]: row["reported_tokens"] for row in rows if row["example_id"] == "a"}
    held = {row["system"]: row["baseline_tokens"] for row in rows if row["example_id"] == "a"}
    assert held["tool"] == direct["direct:layout=tool"]
    assert held["plain"] == held["same"] == direct["direct"]
    assert "tool is compared with direct:layout=tool." in " ".join(done.out.split())
    assert summary(context_bench("resume", "r.sqlite", "-q", "--format", "json")) == told
    assert context_bench("verify", "r.sqlite").code == 0


def test_verdicts_hold_each_system_against_the_baseline_with_its_own_layout(
    context_bench: Run, model: Any, counted_rows: str
) -> None:
    pytest.importorskip("context_bench_compare", reason="verdicts come from the compare plugin")
    systems = [
        argument
        for layout in ("system", "tool")
        for argument in (
            "--system",
            f"{layout}=openai:base_url={model}/half/v1,model=m,layout={layout}",
        )
    ]
    files = ("--dataset", counted_rows, "--quiet", "--run-file", "r.sqlite")
    assert context_bench(*systems, "--baseline", f"{model}/v1", *files).code == 0
    told = json.loads(context_bench("compare", "r.sqlite", "--json").out)
    lines = told["comparisons"] if isinstance(told, dict) else told
    held = {line["system"]: line["baseline"] for line in lines}
    assert held == {"system": "direct", "tool": "direct:layout=tool"}
