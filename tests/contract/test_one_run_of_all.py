"""Plugins of every source system score the same rows in one run, and nothing leaves the machine but to the judge given."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from context_bench.cli import execute

PACKAGES = (
    "context_bench_answer_quality", "context_bench_local", "context_bench_rag", "context_bench_replay", "context_bench_rouge",
    "context_bench_scorers_code", "context_bench_scorers_embedding", "context_bench_scorers_judge",
    "context_bench_scorers_text", "context_bench_summary_score",
)  # fmt: skip
for package in PACKAGES:
    pytest.importorskip(package, reason="this run uses all of them")

TEN = {
    "bertscore": "bertscore",
    "exact_match": "scorer_exact_match",
    "hallucination": "hallucination",
    "hedging-language": "hedging_language",
    "python-unit-testing": "python_unit_testing",
    "qa-correctness": "qa_correctness",
    "readability": "readability",
    "specificity": "specificity",
    "summary-quality": "summary_quality",
    "word-count-match": "word_count_match",
}
PACKAGED = [
    part
    for name in ("bertscore", "hedging-language")
    for part in ("--set", f"evaluators.{name}.model_type=packaged/all-MiniLM-L6-v2-int8")
]
ROWS = [
    {
        "id": str(number),
        "question": "Which function adds two numbers?",
        "context": "The function add adds two numbers in Python.",
        "answer": answer,
        "response": "def add(a, b):\n    return a + b",
        "unit_test": "assert add(1, 2) == 3",
    }
    for number, answer in enumerate(["def add(a, b):\n    return a + b", "It is add."])
]


def says(prompt: str) -> str:
    """Return what a judge could say to a prompt, by the fields that it asks for."""
    known = {
        '"keyphrases"': {"keyphrases": ["add"]},
        '"questions", a list': {"questions": ["Is it add?"]},
        '"answers"': {"answers": ["1"]},
        '"claims"': {"claims": ["The function is add."]},
        '"reasons"': {"reasons": ["said"], "verdicts": [1]},
        '"verdicts"': {"verdicts": [1]},
        '"verdict"': {"verdict": "1"},
    }
    return json.dumps(next(reply for field, reply in known.items() if field in prompt))


class Judge(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message = {"role": "assistant", "content": says(request["messages"][-1]["content"])}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        body = json.dumps({"model": "judge", "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def judge() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Judge)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def only_the_judge(judge: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks the network: any other address, and any name that would have to be looked up, is an error."""
    port = int(judge.rpartition(":")[2])
    connect = socket.socket.connect

    def watched(self: socket.socket, address: Any) -> Any:
        if self.family != socket.AF_UNIX and tuple(address[:2]) != ("127.0.0.1", port):
            raise AssertionError(f"a connection to {address} was tried")
        return connect(self, address)

    def no_names(host: Any, *arguments: Any, **named: Any) -> Any:
        raise AssertionError(f"the name {host!r} was looked up")

    look_up = socket.getaddrinfo
    monkeypatch.setattr(socket.socket, "connect", watched)
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *a, **n: (look_up if host == "127.0.0.1" else no_names)(host, *a, **n),
    )


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    return tmp_path


def run(
    folder: Path, capsys: pytest.CaptureFixture[str], also: str, url: str, *more: str
) -> dict[str, Any]:
    arguments = [
        "run",
        "--system",
        "replay",
        "--dataset",
        "rows.jsonl",
        "--add-evaluator",
        also,
        "--judge-url",
        url,
    ]
    code = execute(
        [
            *arguments,
            "--judge-model",
            "judge",
            "--exclude",
            "judge",
            "--format",
            "json",
            "--quiet",
            *more,
        ]
    )
    told = capsys.readouterr()
    assert code == 0, told.err
    found: dict[str, Any] = json.loads(told.out)
    return found


@pytest.mark.usefixtures("only_the_judge")
def test_all_ten_of_arthur_s_run_beside_answer_quality(
    rows: Path, judge: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = run(rows, capsys, ",".join(TEN), judge, *PACKAGED)
    assert len(told["rows"]) == len(ROWS)
    for row in told["rows"]:
        assert row["errors"] == []
        assert {"f1", "exact_match", "recall", "contains", *TEN.values()} <= set(row["scores"])
    first, second = (row["scores"] for row in told["rows"])
    assert (first["exact_match"], first["scorer_exact_match"], second["scorer_exact_match"]) == (
        1.0,
        1.0,
        0.0,
    )
    assert first["bertscore"] == pytest.approx(1.0, abs=1e-5)
    assert first["python_unit_testing"] == first["qa_correctness"] == first["hallucination"] == 1.0


@pytest.mark.usefixtures("only_the_judge")
def test_one_command_scores_with_plugins_of_every_source_system(
    rows: Path, judge: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = run(rows, capsys, "rouge,summary-score,readability,faithfulness", judge)
    for row in told["rows"]:
        assert row["errors"] == []
        assert {
            "f1",
            "rouge_l_f1",
            "summary_score",
            "qa_score",
            "readability",
            "faithfulness",
        } <= set(row["scores"])

    asked = ("rouge", "summary-score", "readability", "faithfulness")
    options = [part for name in asked for part in ("--add-evaluator", name)]
    assert execute(["explain", "wiring", "--dataset", "rows.jsonl", *options]) == 0
    explained = " ".join(capsys.readouterr().out.split())
    for component in (
        "rouge/rouge",
        "summary-score/summary-score",
        "scorers-text/readability",
        "rag/faithfulness",
    ):
        assert f"+ context-bench-{component} added with --add-evaluator" in explained
    assert "+ context-bench-answer-quality/answer-quality always" in explained
    assert "- context-bench-rag/context-recall" in explained
