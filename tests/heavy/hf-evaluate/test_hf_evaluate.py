"""What calls `evaluate`: its own numbers for rows and for all rows, from a folder and from a hub on this machine.

`recorded.json` has the numbers that `evaluate` 0.4.6 returned with the hub's own scripts, at the commits of their repository that
it names. The scripts in `metrics` are ours, and short.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

import context_bench
from context_bench.cli import execute
from context_bench.errors import ConfigurationError
from context_bench_hf_evaluate import HFEvaluate, HFEvaluateCorpus
from context_bench_hf_evaluate.score_keys import KNOWN

HERE = Path(__file__).parent
METRICS = HERE / "metrics"
RECORDED = json.loads((HERE / "recorded.json").read_text(encoding="utf-8"))
ROWS = RECORDED["rows"]
NAMES = list(RECORDED["metrics"])


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import evaluate

    monkeypatch.setattr(evaluate.config, "HF_METRICS_CACHE", str(tmp_path / "metrics"))
    monkeypatch.setattr(evaluate.config, "HF_EVALUATE_CACHE", str(tmp_path / "cache"))


def recorded(name: str) -> dict[str, Any]:
    return dict(RECORDED["metrics"][name])


class Recorded:
    name = "recorded"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        row = ROWS[int(example["id"])]
        if row["response"] == example.get("fails"):
            raise RuntimeError("no answer")
        return {"response": row["response"]}


def run(name: str, **changes: Any) -> Any:
    examples = [
        {"id": str(number), "question": "?", "answers": row["answers"], **changes}
        for number, row in enumerate(ROWS)
    ]
    folder = str(METRICS / name)
    return context_bench.evaluate(
        systems=[Recorded()],
        dataset=examples,
        evaluators=[HFEvaluate(folder)],
        add_metrics=[HFEvaluateCorpus(folder)],
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_row_has_the_numbers_of_the_library(name: str) -> None:
    evaluator = HFEvaluate(str(METRICS / name))
    for row, expected in zip(ROWS, recorded(name)["rows"]):
        scores = evaluator.score({"answers": row["answers"]}, {"response": row["response"]})
        keys = KNOWN[name]
        assert scores == pytest.approx(
            {key: expected[value] for value, key in keys.items()}, abs=1e-12
        )


@pytest.mark.parametrize("name", NAMES)
def test_all_rows_have_the_number_of_the_library(name: str) -> None:
    summary = run(name).summary["recorded"]
    expected = {f"hf_corpus:{key}": value for key, value in recorded(name)["corpus"].items()}
    corpus = {key: value for key, value in summary.items() if key.startswith("hf_corpus:")}
    assert corpus == pytest.approx(expected, abs=1e-12)


def test_mean_of_rows_is_not_the_number_of_all_rows() -> None:
    """What the README says is lost."""
    summary = run("chrf").summary["recorded"]
    assert abs(summary["mean_score"] - summary["hf_corpus:score"]) > 1


def test_failed_row_leaves_no_number_for_all_rows_and_a_note() -> None:
    result = run("chrf", fails="Yes.")
    assert not [key for key in result.summary["recorded"] if key.startswith("hf_corpus:")]
    notes = HFEvaluateCorpus("chrf").notes(result.summary, {})
    assert "recorded: a row failed" in notes[0]


def test_arguments_reach_the_metric() -> None:
    example = {"answer": "Paris"}
    folder = str(METRICS / "exact_match")
    assert HFEvaluate(folder).score(example, {"response": "paris"}) == {"hf_exact_match": 0.0}
    ignoring = HFEvaluate(folder, args=["ignore_case=true"])
    assert ignoring.score(example, {"response": "paris"}) == {"hf_exact_match": 1.0}
    assert ignoring.fingerprint() != HFEvaluate(folder).fingerprint()


def test_other_metric_has_a_score_that_the_user_chooses(tmp_path: Path) -> None:
    source = (METRICS / "chrf" / "chrf.py").read_text(encoding="utf-8")
    script = tmp_path / "letters.py"
    script.write_text(source, encoding="utf-8")
    row = {"answer": "Paris"}, {"response": "Paris"}
    assert HFEvaluate(str(script), key="score").score(*row) == {"hf_score": 100.0}
    assert HFEvaluate(str(script), key="beta", better="lower").score(*row) == {"hf_error": 2.0}
    with pytest.raises(ConfigurationError, match="Choose one with key: score, char_order"):
        HFEvaluate(str(script)).score(*row)


def test_metric_of_labels_is_refused(tmp_path: Path) -> None:
    source = (METRICS / "exact_match" / "exact_match.py").read_text(encoding="utf-8")
    script = tmp_path / "labels.py"
    script.write_text(source.replace('Value("string")', 'Value("int32")'), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="does not take texts"):
        HFEvaluate(str(script)).score({"answer": "1"}, {"response": "1"})


class Hub(BaseHTTPRequestHandler):
    """Serves the scripts of `metrics` as the hub does, under one revision."""

    asked: ClassVar[list[str]] = []

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.asked.append(self.path)
        start, _, file = self.path.partition("/resolve/v1/")
        path = METRICS / start.removeprefix("/spaces/evaluate-metric/") / file
        body = path.read_bytes() if file and path.is_file() else b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"1"')
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Print nothing."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    import evaluate

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    Hub.asked = []
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(
        evaluate.config, "HUB_EVALUATE_URL", address + "/spaces/{path}/resolve/{revision}/{name}"
    )
    monkeypatch.setattr(
        evaluate.loading, "head_hf_s3", lambda *_, **__: pytest.fail("a count was sent")
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield Hub
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("name", ["chrf", "squad"])
def test_metric_of_a_hub_has_the_same_numbers(name: str, hub: type[Hub]) -> None:
    evaluator = HFEvaluate(name, revision="v1")
    row, expected = ROWS[3], recorded(name)["rows"][3]
    scores = evaluator.score({"answers": row["answers"]}, {"response": row["response"]})
    assert scores[evaluator.primary] == pytest.approx(expected[next(iter(KNOWN[name]))], abs=1e-12)
    assert f"/spaces/evaluate-metric/{name}/resolve/v1/{name}.py" in hub.asked


def test_hub_that_cannot_be_reached_is_an_error_with_a_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import evaluate

    monkeypatch.setattr(evaluate.config, "HUB_EVALUATE_URL", "http://127.0.0.1:9/{path}/{name}")
    with pytest.raises(ConfigurationError, match=r"cannot be reached.*\./my_metric"):
        HFEvaluate("nowhere").score({"answer": "a"}, {"response": "a"})


def test_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [
        json.dumps({"id": str(number), "question": "?", "pred": row["response"], **row})
        for number, row in enumerate(ROWS)
    ]
    (tmp_path / "mine.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "chrf").symlink_to(METRICS / "chrf")
    options = "run --system replay:field=pred --dataset mine.jsonl --run-file run.sqlite"
    scored = "--evaluators hf-evaluate --set evaluators.hf-evaluate.metric=./chrf"
    corpus = "--add-metric hf-evaluate-corpus:metric=./chrf"
    assert execute([*options.split(), *scored.split(), *corpus.split()]) == 0
    capsys.readouterr()
    assert execute(["report", "run.sqlite", "--format", "json"]) == 0
    summary = json.loads(capsys.readouterr().out)["summary"]["replay"]
    assert summary["hf_corpus:score"] == pytest.approx(recorded("chrf")["corpus"]["score"])
