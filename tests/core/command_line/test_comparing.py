from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest

pytest.importorskip("context_bench_openai", reason="these runs ask endpoints")
pytest.importorskip("context_bench_local", reason="these runs need the local plugin")
pytest.importorskip("context_bench_answer_quality", reason="these runs need the answer-quality plugin")

ROWS = [
    {"id": "a", "context": "one two three four five six seven", "question": "which?", "answer": "one"},
    {"id": "b", "context": "one two three four five six seven", "question": "which?", "answer": "two"},
]
Run = Callable[..., Any]


class Model(BaseHTTPRequestHandler):
    """A model that counts words, and behind ``/half`` a proxy that leaves every second word of the context out."""

    asked: ClassVar[list[dict[str, Any]]] = []
    extra: ClassVar[dict[str, Any]] = {}

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append({"path": self.path, **body})
        words = [word for message in body["messages"] for word in str(message["content"]).split()]
        if self.path.startswith("/half"):
            words = words[::2]
        usage = {"prompt_tokens": len(words), "completion_tokens": 1, **self.extra}
        message = {"role": "assistant", "content": words[0]}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        reply = json.dumps({"model": body["model"], "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setattr(Model, "asked", [])
    monkeypatch.setattr(Model, "extra", {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def summary(done: Any) -> dict[str, Any]:
    assert done.code == 0, done.err
    return dict(json.loads(done.out)["summary"])


@pytest.fixture
def proxies(model: str, jsonl: Run) -> list[str]:
    asked = ["--proxy", f"{model}/half", "--name", "half", "--proxy", model, "--name", "direct", "--model", "m"]
    return [*asked, "--dataset", jsonl(ROWS), "--quiet", "--format", "json"]


def test_the_short_form_holds_proxies_against_a_baseline(context_bench: Run, proxies: list[str]) -> None:
    told = summary(context_bench(*proxies, "--baseline", "direct"))
    assert (told["direct"]["tokens_saved"], told["half"]["tokens_saved"]) == (0.0, 0.5)
    assert told["half"]["num_uncompared"] == 0


def test_every_report_shows_what_was_saved(context_bench: Run, proxies: list[str], tmp_path: Path) -> None:
    outputs = [argument for name in ("r.md", "r.csv", "r.json", "r.txt") for argument in ("-o", name)]
    done = context_bench(*proxies, "--baseline", "direct", "--run-file", "r.sqlite", *outputs)
    assert done.code == 0, done.err
    for name in ("r.md", "r.txt"):
        text = (tmp_path / name).read_text()
        assert "tokens saved" in text
        assert "50.0 %" in text
        assert "against direct." in text
    with (tmp_path / "r.csv").open() as file:
        lines = list(csv.DictReader(file))
    told = {(line["system"], line["baseline_tokens"], line["prompt_tokens"], line["tokens_saved"]) for line in lines}
    assert told == {("half", "8", "4", "0.5"), ("direct", "8", "8", "0.0")}
    again = summary(context_bench("report", "r.sqlite", "--format", "json"))
    assert again == json.loads((tmp_path / "r.json").read_text())["summary"]
    resumed = context_bench("resume", "r.sqlite", "--format", "json", "-q")
    assert summary(resumed)["half"]["tokens_saved"] == 0.5
    assert context_bench("verify", "r.sqlite").code == 0


def test_the_address_of_a_direct_endpoint_is_asked_as_the_proxies_are(
    context_bench: Run, model: str, jsonl: Run
) -> None:
    told = summary(
        context_bench(
            "--system", f"half=openai:base_url={model}/half,model=big,temperature=0", "--baseline", model,
            "--dataset", jsonl(ROWS), "--quiet", "--format", "json",
        )
    )  # fmt: skip
    assert told["half"]["tokens_saved"] == 0.5
    assert told["direct"]["tokens_saved"] == 0.0
    assert {(call["model"], call["temperature"]) for call in Model.asked} == {("big", 0.0)}


def test_a_spec_adds_the_baseline_as_a_system(context_bench: Run, model: str, proxies: list[str]) -> None:
    told = summary(context_bench(*proxies, "--baseline", f"plain=openai:base_url={model},model=other"))
    assert {system: values["tokens_saved"] for system, values in told.items()} == {
        "half": 0.5, "direct": 0.0, "plain": 0.0,
    }  # fmt: skip


def test_the_project_file_names_a_baseline(context_bench: Run, proxies: list[str], tmp_path: Path) -> None:
    (tmp_path / "context-bench.toml").write_text('baseline = "half"\n')
    assert summary(context_bench(*proxies))["direct"]["tokens_saved"] == -1.0
    assert summary(context_bench(*proxies, "--baseline", "direct"))["half"]["tokens_saved"] == 0.5
    (tmp_path / "context-bench.toml").write_text("baseline = 3\n")
    assert "baseline is 3, but must be a label" in context_bench(*proxies).err


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("drect", "No system of this run for the baseline is called 'drect'. Did you mean 'direct'?"),
        ("openai", "'openai' is the name of 2 systems. Take a label: half, direct."),
        ("x=openai:base_url", "No system of this run for the baseline is called 'x=openai:base_url'"),
        ("half=http://127.0.0.1:9", "Two systems are called 'half'"),
    ],
)
def test_a_baseline_that_cannot_be_is_refused_in_one_line(
    context_bench: Run, proxies: list[str], asked: str, message: str
) -> None:
    done = context_bench(*proxies, "--baseline", asked)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err
    assert Model.asked == []


@pytest.fixture
def unanswered(model: str, jsonl: Run) -> list[str]:
    rows = [{key: value for key, value in row.items() if key != "answer"} for row in ROWS]
    asked = ["--proxy", f"{model}/half", "--name", "half", "--proxy", model, "--name", "direct", "--model", "m"]
    return [*asked, "--dataset", jsonl([*rows, {**ROWS[0], "id": "c"}]), "--format", "json"]


def test_rows_without_an_answer_are_held_against_another_systems_response(
    context_bench: Run, unanswered: list[str], tmp_path: Path
) -> None:
    asked = [*unanswered, "--reference-from", "direct", "--run-file", "r.sqlite", "-o", "r.md", "-o", "r.txt"]
    done = context_bench(*asked)
    told = summary(done)
    assert "The reference direct is asked twice where there is no gold answer" in done.err
    assert told["half"]["agreement"] == told["half"]["agreement_floor"] == 1.0
    assert told["half"]["num_agreement"] == 2
    assert len(Model.asked) == 3 + 3 + 2
    for name in ("r.md", "r.txt"):
        text = " ".join((tmp_path / name).read_text().split())
        assert "noise floor" in text
        assert "agreement is f1 against the response of direct, on the rows without a gold answer" in text
    assert summary(context_bench("report", "r.sqlite", "--format", "json")) == told
    verified = context_bench("verify", "r.sqlite")
    assert verified.code == 0, verified.out
    assert "8 rows, 8 scorings computed again" in verified.out
    assert summary(context_bench("resume", "r.sqlite", "--format", "json", "-q")) == told
    assert summary(context_bench("rescore", "r.sqlite", "--force", "--format", "json")) == told
    assert len(Model.asked) == 8


def test_new_evaluators_are_held_against_the_stored_reference(context_bench: Run, unanswered: list[str]) -> None:
    pytest.importorskip("context_bench_rouge", reason="a second evaluator that needs an answer")
    context_bench(*unanswered, "--reference-from", "direct", "--run-file", "r.sqlite", "-q")
    calls = len(Model.asked)
    done = context_bench("rescore", "r.sqlite", "--also", "rouge", "--format", "json")
    rows = [row for row in json.loads(done.out)["rows"] if row["system"] == "half"]
    assert [sorted({"rouge_l_f1", "agreement_rouge_l_f1"} & set(row["scores"])) for row in rows] == [
        ["agreement_rouge_l_f1"], ["agreement_rouge_l_f1"], ["rouge_l_f1"],
    ]  # fmt: skip
    assert len(Model.asked) == calls


def test_the_project_file_names_the_reference(context_bench: Run, unanswered: list[str], tmp_path: Path) -> None:
    (tmp_path / "context-bench.toml").write_text('reference-from = "direct"\n')
    assert summary(context_bench(*unanswered, "-q"))["half"]["agreement"] == 1.0
    done = context_bench(*unanswered, "-q", "--reference-from", "dirct")
    assert (done.code, "No system of this run for the reference is called 'dirct'" in done.err) == (2, True)
    done = context_bench(*unanswered, "-q", "--no-store-examples")
    assert (done.code, "its examples must be kept" in done.err) == (2, True)


def test_isolated_prefixes_begin_each_systems_prompts_with_a_marker(
    context_bench: Run, proxies: list[str], tmp_path: Path
) -> None:
    pytest.importorskip("context_bench_preflight", reason="it brings the markers")
    told = summary(context_bench(*proxies, "--isolate-prefixes", "--baseline", "direct"))
    begins = {call["path"].startswith("/half"): call["messages"][0]["content"].split("]")[0] for call in Model.asked}
    assert len(Model.asked) == 4
    assert len(set(begins.values())) == 2
    assert all(text.startswith("[") for text in begins.values())
    assert told["direct"]["mean_prompt_tokens"] == 8 + 10
    (tmp_path / "context-bench.toml").write_text("[run]\nisolate-prefixes = true\n")
    Model.asked.clear()
    context_bench(*proxies)
    assert {call["messages"][0]["content"].split("]")[0] for call in Model.asked} == set(begins.values())
    (tmp_path / "context-bench.toml").write_text("[run]\nisolate-prefixes = 1\n")
    assert "isolate_prefixes is 1, but must be true or false" in context_bench(*proxies).err


def test_a_report_can_be_held_against_another_baseline(context_bench: Run, proxies: list[str]) -> None:
    context_bench(*proxies, "--run-file", "r.sqlite")
    assert "tokens_saved" not in summary(context_bench("report", "r.sqlite", "--format", "json"))["half"]
    told = summary(context_bench("report", "r.sqlite", "--baseline", "half", "--format", "json"))
    assert (told["direct"]["tokens_saved"], told["half"]["tokens_saved"]) == (-1.0, 0.0)
    done = context_bench("report", "r.sqlite", "--baseline", "hafl")
    assert (done.code, "Did you mean 'half'?" in done.err) == (2, True)
