"""What calls deepeval: the scores of its metrics with its own client, and with the judge of context-bench."""

from __future__ import annotations

import json
import os
import socket
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

import context_bench
from context_bench.errors import ConfigurationError
from context_bench_deepeval import DeepEvalMetric
from context_bench_deepeval.library import SETTINGS, library
from context_bench_deepeval.metrics import METRICS
from context_bench_judging import judge_model

ORIGINAL = {
    "question": "When was the bridge built, and by whom?",
    "answer": "In 1931, by Othmar Ammann.",
    "contexts": ["The bridge was opened in 1931.", "Othmar Ammann designed it."],
}
PROCESSED = {"response": "It was built in 1931. Ammann designed it. It is painted green."}
STEPS = ["Is every date right?", "Is every name right?"]
ARGUMENTS: dict[str, list[str]] = {
    "g_eval": [f"evaluation_steps={json.dumps(STEPS)}"],
    "pattern_match": [r"pattern=.*1931.*"],
}


class Judge(BaseHTTPRequestHandler):
    """An OpenAI-compatible server. Its reply fits every prompt of deepeval, and depends on each letter of it."""

    prompts: ClassVar[list[str]] = []
    broken: ClassVar[bool] = False
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = request["messages"][-1]["content"]
        prompt = content if isinstance(content, str) else content[0]["text"]
        self.prompts.append(prompt)
        message = {
            "role": "assistant",
            "content": "I rather not." if self.broken else reply(prompt),
        }
        body = json.dumps(
            {
                "id": "1",
                "object": "chat.completion",
                "created": 1,
                "model": "judge",
                "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Print nothing."""


def reply(prompt: str) -> str:
    number = zlib.crc32(prompt.encode())
    words = ["yes" if number >> bit & 1 else "no" for bit in range(7)]
    verdicts = [{"verdict": word, "reason": "so", "statement": "it", "node": 1} for word in words]
    texts = ["one", "two", "three"]
    keys = ("statements", "claims", "truths", "opinions", "questions", "steps")
    fields = dict.fromkeys(keys, texts) | {"answers": ["yes", words[0], words[1]]}
    return json.dumps({**fields, "verdicts": verdicts, "score": number % 11, "reason": "because"})


@pytest.fixture
def judge() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Judge)
    Judge.prompts = []
    Judge.broken = False
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def reached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Run in an empty folder; return every address that was looked up, none of which is another machine."""
    monkeypatch.chdir(tmp_path)
    looked_up: list[str] = []
    real = socket.getaddrinfo

    def getaddrinfo(host: Any, *arguments: Any, **options: Any) -> Any:
        looked_up.append(str(host))
        return real(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return looked_up


def own_score(name: str, url: str) -> float:
    """Return the score of deepeval with its own client, from a test case that is written by hand."""
    cases, metrics = library("deepeval.test_case"), library("deepeval.metrics")
    case = cases.LLMTestCase(
        input=ORIGINAL["question"],
        actual_output=PROCESSED["response"],
        expected_output=ORIGINAL["answer"],
        retrieval_context=ORIGINAL["contexts"],
        context=ORIGINAL["contexts"],
    )
    arguments: dict[str, Any] = {}
    if METRICS[name].is_judged:
        models = library("deepeval.models")
        arguments["model"] = models.LocalModel(model="judge", base_url=url, api_key="none")
        arguments["async_mode"] = False
    if name == "g_eval":
        params = cases.SingleTurnParams
        both = [params.INPUT, params.ACTUAL_OUTPUT]
        arguments |= {"name": name, "evaluation_steps": STEPS, "evaluation_params": both}
    if name == "pattern_match":
        arguments["pattern"] = ".*1931.*"
    metric = getattr(metrics, METRICS[name].class_name)(**arguments)
    return float(metric.measure(case, _show_indicator=False))


@pytest.mark.parametrize("name", METRICS)
def test_score_is_that_of_deepeval_with_its_own_client(
    name: str, judge: str, reached: list[str], tmp_path: Path
) -> None:
    evaluator = DeepEvalMetric(
        name, args=ARGUMENTS.get(name, ()), base_url=judge, model="judge", api_key=""
    )
    scores = evaluator.score(ORIGINAL, PROCESSED)
    prompts = list(Judge.prompts)
    assert scores == {f"deepeval_{name}": own_score(name, judge)}, scores.details
    assert bool(prompts) == METRICS[name].is_judged
    assert prompts == [prompt for prompt in Judge.prompts[len(prompts) :] if prompt in prompts]
    assert set(reached) <= {"127.0.0.1"}
    assert not list(tmp_path.iterdir()), "deepeval wrote into the working directory"


def test_reason_is_one_more_call_and_no_other_score(judge: str) -> None:
    judging = judge_model(judge, "judge", api_key="")
    brief = DeepEvalMetric("faithfulness", llm=judging).score(ORIGINAL, PROCESSED)
    explained = DeepEvalMetric("faithfulness", llm=judging, include_reason=True).score(
        ORIGINAL, PROCESSED
    )
    assert brief == explained
    assert explained.details["reason"] == "because"
    assert explained.details["judge_calls"] == brief.details["judge_calls"] + 1


def test_reply_that_cannot_be_read_is_unscored_and_not_cached(judge: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"base_url": judge, "model": "judge", "api_key": ""}
    evaluator = DeepEvalMetric("bias", cache=tmp_path / "replies.sqlite", **options)
    Judge.broken = True
    scores = evaluator.score(ORIGINAL, PROCESSED)
    assert scores == {}
    assert scores.details["unscored"].startswith("unreadable: deepeval cannot read it")
    Judge.broken = False
    assert evaluator.score(ORIGINAL, PROCESSED) == {"deepeval_bias": own_score("bias", judge)}
    before = len(Judge.prompts)
    assert evaluator.score(ORIGINAL, PROCESSED)
    assert len(Judge.prompts) == before
    evaluator.close()


def test_judge_that_cannot_be_reached_is_unscored() -> None:
    evaluator = DeepEvalMetric(
        "toxicity", base_url="http://127.0.0.1:9", model="judge", api_key="", max_retries=0
    )
    scores = evaluator.score(ORIGINAL, PROCESSED)
    assert scores == {}
    assert scores.details["unscored"]


def test_telemetry_and_files_of_the_working_directory_are_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in SETTINGS:
        monkeypatch.setenv(name, "0")
    DeepEvalMetric("exact_match").score(ORIGINAL, PROCESSED)
    assert all(os.environ[name] == "1" for name in SETTINGS)
    assert library("deepeval.telemetry").telemetry_opt_out()


def test_wrong_arguments_are_an_error_that_names_the_metric() -> None:
    with pytest.raises(ConfigurationError, match=r"exact_match: .*nonsense"):
        DeepEvalMetric("exact_match", args=["nonsense=1"]).score(ORIGINAL, PROCESSED)


def test_run_records_scores_and_the_version_of_deepeval(judge: str) -> None:
    evaluator = DeepEvalMetric("answer_relevancy", base_url=judge, model="judge", api_key="")
    result = context_bench.evaluate(
        systems=[Recorded()], dataset=[{"id": "1", **ORIGINAL}], evaluators=[evaluator]
    )
    expected = own_score("answer_relevancy", judge)
    assert result.rows[0].scores == {"deepeval_answer_relevancy": expected}
    assert evaluator.fingerprint()["deepeval"] == library("deepeval").__version__


class Recorded:
    name = "recorded"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return dict(PROCESSED)
