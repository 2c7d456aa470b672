"""A real model, a real proxy in front of it, and the command line as its page shows it."""

from __future__ import annotations

import json
import re
import signal
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import questions
from documented import PAGE, agrees_with, arguments, project_file, steps
from relay import Relay
from workload import LEAVES_JSON, MODEL, kompact

from context_bench_answer_quality import AnswerQuality
from context_bench_openai import OpenAIProxy

Rows = dict[str, dict[str, dict[str, Any]]]
KINDS = ("long-prose", "log", "records", "short-prose")
SETTINGS = ("temperature=0", "max_tokens=16", 'extra_body={"cache_prompt": false}', "timeout=600")


@pytest.fixture(scope="module")
def examples() -> dict[str, dict[str, Any]]:
    return {example["id"]: example for example in questions.examples()}


def cells(table: str) -> dict[str, list[str]]:
    """Return the lines of a table that is turned: what is measured, and its value for each system."""
    first = re.split(r"\n *score +by ", table)[
        0
    ]  # the further scores stand in a table of their own below
    lines = [re.split(r"  +", line.strip()) for line in first.splitlines()]
    return {name: values for name, *values in lines if values}


def sent_for(calls: list[Any], examples: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the call of each example, which is told by its question."""
    found = {}
    for call in calls:
        text = json.dumps(call.request["messages"], ensure_ascii=False)
        [name] = [name for name, example in examples.items() if example["question"] in text]
        assert name not in found, f"{name} was asked twice"
        found[name] = call
    return found


def test_the_run_ends_well_and_its_file_is_sound(
    comparison: Any, context_bench: Callable[..., Any]
) -> None:
    assert comparison.done.code == 0, comparison.done.err
    verified = context_bench(comparison.folder, "verify", "kompact.sqlite")
    assert verified.code == 0, verified.out + verified.err


def test_no_row_is_lost_and_every_answer_is_scored(
    comparison: Any, rows: Rows, examples: dict[str, Any]
) -> None:
    assert list(rows) == ["kompact", "direct"]
    for system, answered in rows.items():
        assert list(answered) == list(examples)
        for name, row in answered.items():
            assert (row["errors"], row["unscored"]) == ([], {}), (system, name)
            assert row["response"].strip(), (system, name)
            assert set(row["scores"]) == {"f1", "exact_match", "recall", "contains"}
            assert row["score"] == row["scores"]["f1"]
            assert row["scores"] == AnswerQuality().score(
                examples[name], {"response": row["response"]}
            )
        found = [row["scores"]["contains"] for row in answered.values()]
        assert 0 < sum(found) < len(found), f"{system}: as if nobody had answered, or looked"
    shown = cells(comparison.done.out)
    assert [shown[name] for name in ("rows", "unscored", "failed")] == [
        ["20", "20"],
        ["0", "0"],
        ["0", "0"],
    ]
    answered_well = [
        [row["scores"]["contains"] for row in answered.values()] for answered in rows.values()
    ]
    assert shown["score"] == [f"{statistics.fmean(scores):.4f}" for scores in answered_well]
    assert shown["pass"] == [f"{100 * statistics.fmean(scores):.1f} %" for scores in answered_well]
    assert comparison.direct.calls[0].request["model"] == "smollm2-135m"


def test_the_table_shows_what_the_proxy_saved_of_the_tokens_that_the_model_counted(
    comparison: Any, rows: Rows, examples: dict[str, Any]
) -> None:
    behind = {
        name: call.prompt_tokens
        for name, call in sent_for(comparison.behind.calls[:20], examples).items()
    }
    direct = {
        name: call.prompt_tokens
        for name, call in sent_for(comparison.direct.calls[:20], examples).items()
    }
    assert set(behind) == set(direct) == set(examples)
    for name in examples:
        through, without = rows["kompact"][name], rows["direct"][name]
        assert (through["reported_tokens"], through["baseline_tokens"]) == (
            behind[name],
            direct[name],
        )
        assert through["tokens_saved"] == pytest.approx(1 - behind[name] / direct[name])
        assert (without["reported_tokens"], without["tokens_saved"]) == (direct[name], 0)
    saved = 1 - sum(behind.values()) / sum(direct.values())
    assert 0.24 < saved < 0.33
    assert cells(comparison.done.out)["tokens saved"] == [f"{100 * saved:.1f} %", "0.0 %"]


@pytest.mark.parametrize(
    ("kind", "count", "least", "most"),
    [
        ("long-prose", 3, 0.05, 0.20),
        ("log", 5, 0.10, 0.45),
        ("records", 7, 0.40, 0.65),
        ("short-prose", 5, -0.6, -0.2),
    ],
    ids=KINDS,
)
def test_each_kind_of_context_is_shortened_in_its_own_way(
    rows: Rows, examples: dict[str, Any], kind: str, count: int, least: float, most: float
) -> None:
    """The last kind grows: kompact makes the system message a user message, and the model's template adds its own."""
    names = [name for name, example in examples.items() if example["kind"] == kind]
    assert len(names) == count
    for name in names:
        assert least < rows["kompact"][name]["tokens_saved"] < most, name
    tokens = [
        sum(rows["kompact"][name][key] for name in names)
        for key in ("reported_tokens", "baseline_tokens")
    ]
    assert f"| {kind} | {count} | {100 * (1 - tokens[0] / tokens[1]):.0f} % |" in PAGE.read_text(
        encoding="utf-8"
    )


def test_the_proxy_rewrites_roles_and_its_headers_are_kept(
    comparison: Any, rows: Rows, examples: dict[str, Any]
) -> None:
    for name, call in sent_for(comparison.direct.calls[:20], examples).items():
        assert [message["role"] for message in call.request["messages"]] == ["system", "user"]
        assert call.request["messages"][0]["content"] == examples[name]["context"]
        assert "x-kompact-tokens-saved" not in rows["direct"][name]["metadata"]["headers"]
    for name, call in sent_for(comparison.behind.calls[:20], examples).items():
        assert [message["role"] for message in call.request["messages"]] == ["user", "user"]
        told = int(rows["kompact"][name]["metadata"]["headers"]["x-kompact-tokens-saved"])
        assert (told > 0) is (examples[name]["kind"] != "short-prose")


def test_the_latencies_of_the_table_are_those_of_the_rows(comparison: Any, rows: Rows) -> None:
    summary = json.loads((comparison.folder / "kompact.json").read_text(encoding="utf-8"))[
        "summary"
    ]
    shown = cells(comparison.done.out)
    for number, (system, answered) in enumerate(rows.items()):
        latencies = sorted(row["latency"] for row in answered.values())
        assert latencies[0] > 0
        assert summary[system]["latency_median"] == pytest.approx(statistics.median(latencies))
        assert summary[system]["latency_p95"] == pytest.approx(
            0.05 * latencies[-1] + 0.95 * latencies[-2]
        )
        assert latencies[-2] <= summary[system]["latency_p99"] <= latencies[-1]
        for name, key in (("p50", "latency_median"), ("p95", "latency_p95")):
            value, unit = shown[name][number].split()
            assert float(value) * {"s": 1, "ms": 1e-3}[unit] == pytest.approx(
                summary[system][key], rel=0.01
            )
    assert 0 < summary["kompact"]["system_latency_p95"] < summary["kompact"]["latency_p95"]
    assert summary["kompact"]["system_latency_median"] < 0.1 * summary["kompact"]["latency_median"]
    assert "system_latency_median" not in summary["direct"], "only the proxy declares its own time"


def test_the_page_shows_this_run(comparison: Any) -> None:
    said = [*comparison.done.out.splitlines(), *comparison.done.err.splitlines()]
    assert agrees_with(steps()[0], said), "\n".join(said)


def test_a_second_run_and_a_resumed_one_ask_nobody(
    comparison: Any, context_bench: Callable[..., Any]
) -> None:
    before = comparison.calls()
    first = context_bench(comparison.folder, "export", "--canonical", "kompact.sqlite").out
    again = [
        re.sub(r"^kompact\.", "again.", argument)
        for argument in arguments(steps()[0], comparison.addresses)
    ]
    done = context_bench(comparison.folder, *again, "--reuse", "kompact.sqlite")
    assert done.code == 0, done.err
    assert "20 reused" in done.err
    timed = {"p50", "p95", "rows/min"}  # reused rows have none
    assert {
        name: values for name, values in cells(comparison.done.out).items() if name not in timed
    } == cells(done.out)
    assert context_bench(comparison.folder, "export", "--canonical", "again.sqlite").out == first
    resumed = context_bench(comparison.folder, "resume", "kompact.sqlite")
    assert (resumed.code, resumed.out) == (0, comparison.done.out), resumed.err
    assert comparison.calls() == before


def test_prices_are_put_on_what_was_answered_without_asking_again(
    comparison: Any, rows: Rows, context_bench: Callable[..., Any]
) -> None:
    prices = '[prices]\ncurrency = "EUR"\n\n[prices."smollm2-135m"]\ninput = 100\noutput = 1000\n'
    (comparison.folder / "prices.toml").write_text(prices, encoding="utf-8")
    before = comparison.calls()
    asked = [
        re.sub(r"^kompact\.", "priced.", part)
        for part in arguments(steps()[0], comparison.addresses)
    ]
    done = context_bench(
        comparison.folder, *asked, "--reuse", "kompact.sqlite", "--prices", "prices.toml"
    )
    assert done.code == 0, done.err
    assert comparison.calls() == before
    summary = json.loads((comparison.folder / "priced.json").read_text(encoding="utf-8"))["summary"]
    usages = {
        name: [row["metadata"]["usage"] for row in answered.values()]
        for name, answered in rows.items()
    }
    costs = {
        name: sum(usage["input_tokens"] * 100 + usage["output_tokens"] * 1000 for usage in some)
        / 1e6
        for name, some in usages.items()
    }
    assert {summary[name]["cost"] for name in rows} == {0.0}  # nobody was asked again
    assert {name: summary[name]["would_cost"] for name in rows} == pytest.approx(costs)
    assert summary["kompact"]["cost_saved"] == pytest.approx(1 - costs["kompact"] / costs["direct"])
    assert 0 < summary["kompact"]["cost_saved"] < summary["kompact"]["tokens_saved"], (
        "answers cost, too"
    )


@pytest.fixture
def second_kompact(relay: Relay, servers: Path) -> Iterator[str]:
    """Address of another kompact, which leaves JSON alone, behind the relay."""
    with kompact(relay.url, servers, options=LEAVES_JSON) as url:
        yield url


def test_a_second_proxy_is_added_without_asking_the_first_again(
    comparison: Any, second_kompact: str, relay: Relay, context_bench: Callable[..., Any]
) -> None:
    before = comparison.calls()
    addresses = {**comparison.addresses, "http://127.0.0.1:7879": second_kompact}
    project = comparison.folder / "context-bench.toml"
    project.write_text(project_file(addresses), encoding="utf-8")
    try:
        done = context_bench(comparison.folder, *arguments(steps()[1], addresses))
    finally:
        project.unlink()
    assert done.code == 0, done.err
    assert (comparison.calls(), len(relay.calls)) == (before, 3)
    shown = cells(done.out)
    saved = {
        system: float(value.split()[0])
        for system, value in zip(shown["system"], shown["tokens saved"])
    }
    assert 40 < saved["kompact"] < 70
    assert -10 < saved["leaves-json"] < 0, (
        "it makes the system message the user's, and shortens nothing"
    )
    assert saved["direct"] == 0
    said = [*done.out.splitlines(), *done.err.splitlines()]
    assert agrees_with(steps()[1], said), "\n".join(said)


def test_without_gold_answers_the_baseline_agrees_with_itself_and_the_proxy_less(
    comparison: Any, examples: dict[str, Any], context_bench: Callable[..., Any]
) -> None:
    """The model repeats itself here, so the noise floor is 1; only the repetitions are asked for."""
    short = [example for example in examples.values() if example["kind"] == "short-prose"]
    gold_free = [
        {name: value for name, value in example.items() if name != "answer"} for example in short
    ]
    questions.write(comparison.folder / "prompts.jsonl", gold_free)
    before = comparison.calls()
    first = arguments(steps()[0], comparison.addresses)
    asked = [
        re.sub(r"^kompact\.", "agreement.", part).replace("questions.jsonl", "prompts.jsonl")
        for part in first
    ]
    place = asked.index("--score-field")
    del asked[place : place + 2]
    done = context_bench(
        comparison.folder, *asked, "--reference-from", "direct", "--reuse", "kompact.sqlite"
    )
    assert done.code == 0, done.err
    assert comparison.calls() == (before[0] + 5, before[1])
    shown = cells(done.out)
    systems = shown["system"]
    assert shown["noise floor"][systems.index("direct")] == "1.0000"
    assert 0.3 < float(shown["agreement"][systems.index("kompact")]) < 1


def options(system: str) -> list[str]:
    return [part for setting in SETTINGS for part in ("--set", f"systems.{system}.{setting}")]


def test_at_temperature_0_without_the_prompt_cache_answers_repeat_bit_for_bit(
    comparison: Any,
    rows: Rows,
    examples: dict[str, Any],
    relay: Relay,
    context_bench: Callable[..., Any],
    tmp_path: Path,
) -> None:
    """Ten of the twenty, of every kind, the last one first, and four at a time."""
    backwards = list(reversed(examples.values()))[::2]
    assert {example["kind"] for example in backwards} == set(KINDS)
    questions.write(tmp_path / "backwards.jsonl", backwards)
    command = [
        "--proxy",
        relay.url,
        "--name",
        "again",
        "--model",
        "smollm2-135m",
        "--dataset",
        "backwards.jsonl",
    ]
    done = context_bench(
        tmp_path, *command, *options("again"), "--max-workers", "4", "--run-file", "again.sqlite"
    )
    assert done.code == 0, done.err
    exported = context_bench(tmp_path, "export", "again.sqlite").out.splitlines()
    repeated = {row["example_id"]: row for row in map(json.loads, exported)}
    assert list(repeated) == [example["id"] for example in backwards]
    assert len(relay.calls) == len(backwards) == 10
    for name, row in repeated.items():
        before = rows["direct"][name]
        assert row["response"] == before["response"], name
        assert row["metadata"]["usage"] == before["metadata"]["usage"], name
        assert row["metadata"]["usage"]["cache_read_tokens"] == 0


def test_the_prompt_cache_that_is_switched_off_is_there(relay: Relay) -> None:
    """What the test above shows, it would not show of a server that has no cache."""
    system = OpenAIProxy(relay.url, model=MODEL, temperature=0, max_tokens=4, timeout=600)
    example = {
        "context": "The bell of Lun weighs two tons and is rung at noon.",
        "question": "When is the bell rung?",
    }
    usages = [system.process(example)["usage"]["cache_read_tokens"] for _ in range(2)]
    system.close()
    assert usages[0] < usages[1], usages
    assert usages[1] > 10


def test_the_proxy_remembers_so_the_order_of_the_examples_matters(
    comparison: Any, rows: Rows, examples: dict[str, Any]
) -> None:
    """Why the page gives kompact one example at a time and the short ones last: after those it leaves prose as it is."""
    first = next(iter(examples))
    system = OpenAIProxy(
        comparison.addresses["http://127.0.0.1:7878"],
        model=MODEL,
        temperature=0,
        max_tokens=1,
        timeout=600,
    )
    now = system.process(examples[first])["usage"]["input_tokens"]
    system.close()
    assert (
        rows["kompact"][first]["reported_tokens"] < rows["direct"][first]["reported_tokens"] < now
    )


def test_a_run_that_is_killed_goes_on_where_it_was(
    comparison: Any,
    rows: Rows,
    examples: dict[str, Any],
    model: str,
    context_bench: Callable[..., Any],
    tmp_path: Path,
) -> None:
    short = [example for example in examples.values() if example["kind"] == "short-prose"]
    questions.write(tmp_path / "short.jsonl", short)
    running: list[subprocess.Popen[bytes]] = []

    def kill_at_the_fourth(call: Any) -> None:
        if len(relay.calls) == 4:
            running[0].send_signal(signal.SIGKILL)
            running[0].wait()

    with Relay(model, kill_at_the_fourth) as relay:
        command = [
            "--proxy",
            relay.url,
            "--name",
            "direct",
            "--model",
            "smollm2-135m",
            "--dataset",
            "short.jsonl",
        ]
        program = [
            str(Path(sys.executable).with_name("context-bench")),
            *command,
            *options("direct"),
        ]
        given = ["--max-workers", "1", "--run-file", "run.sqlite"]
        with (tmp_path / "log").open("wb") as log:
            running.append(
                subprocess.Popen([*program, *given], cwd=tmp_path, stdout=log, stderr=log)
            )
            assert running[0].wait(300) == -signal.SIGKILL, (tmp_path / "log").read_text(
                encoding="utf-8"
            )
        done = context_bench(tmp_path, "resume", "run.sqlite")
        assert done.code == 0, done.err
        asked = [call.request["messages"][1]["content"] for call in relay.calls]
    expected = [example["question"] for example in short]
    assert asked == [*expected[:4], *expected[3:]], "only the call in flight is repeated"
    exported = map(json.loads, context_bench(tmp_path, "export", "run.sqlite").out.splitlines())
    assert {row["example_id"]: row["response"] for row in exported} == {
        example["id"]: rows["direct"][example["id"]]["response"] for example in short
    }
