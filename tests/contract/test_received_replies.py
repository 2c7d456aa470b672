"""What replies of real servers, imitated from public reports, give: one table for both dialects, whole and streamed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from context_bench.cli import execute
from context_bench.outcomes import outcome_of
from context_bench_anthropic import AnthropicProxy
from context_bench_http import EndpointError
from context_bench_openai import OpenAIProxy

pytestmark = pytest.mark.shared

TABLE = Path(__file__).with_name("received_replies.txt")
LINES = [
    line for line in TABLE.read_text("utf-8").splitlines() if line and not line.startswith("#")
]
EXPECTED = dict(line.split(" | ", 1) for line in LINES)
DECODERS = {
    "br": ("brotli", "brotlicffi"),
    "zstd": ("compression.zstd", "backports.zstd", "zstandard"),
}
EXAMPLE = {"id": "1", "question": "What is the capital of France?", "context": "France"}


@pytest.fixture(scope="module")
def odd_server(shared: Callable[[str], Path]) -> Iterator[str]:
    command = [sys.executable, str(shared("cases/received/odd_server.py")), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        server.kill()


@pytest.mark.parametrize("case", EXPECTED)
def test_a_reply_gives_what_the_table_says(odd_server: str, case: str) -> None:
    is_anthropic = case.startswith(("a-", "as-"))
    proxy: Any = AnthropicProxy if is_anthropic else OpenAIProxy
    system = proxy(
        base_url=f"{odd_server}/{case}",
        model="m",
        api_key="",
        stream=case.startswith(("s-", "as-")),
        timeout=60,
    )
    expected = EXPECTED[case]
    if case in DECODERS and any(map(is_installed, DECODERS[case])):
        # with its package the body can be read, and is found to be damaged: another attempt may be whole
        expected = expected.replace("final", "repeated")
    assert shown(system) == expected


def is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package that the module is in
        return False


@pytest.mark.parametrize(
    ("case", "works"),
    [
        ("gzip", True),
        ("encoding-none", True),
        ("chunked-and-length", True),
        ("gzip-truncated", False),
    ],
)
def test_an_endpoint_that_preflight_passes_answers_a_run(
    odd_server: str, case: str, works: bool, tmp_path: Path
) -> None:
    """A run asks on an event loop, and preflight from a thread."""
    data = tmp_path / "questions.jsonl"
    data.write_text(json.dumps({**EXAMPLE, "answer": "Paris"}) + "\n", "utf-8")
    common = ["--system", f"openai:base_url={odd_server}/{case},model=m,api_key="]
    common += ["--dataset", str(data)]
    assert execute(["preflight", *common]) == (0 if works else 2)
    run = ["run", *common, "--quiet", "--run-file", str(tmp_path / "run.sqlite")]
    assert execute(run) == (0 if works else 12)


def shown(system: Any) -> str:
    try:
        output = system.process(EXAMPLE)
    except EndpointError as error:
        return f"{type(error).__name__} | {'repeated' if error.retryable else 'final'}"
    tokens = [output["usage"].get(name, "-") for name in ("input_tokens", "output_tokens")]
    cells = [
        outcome_of(output) or "answered",
        json.dumps(output["response"]),
        " ".join(map(str, tokens)),
    ]
    calls = output.get("tool_calls", ())
    if calls:
        cells.append(" ".join(f"{call['name']}({arguments(call)})" for call in calls))
    return " | ".join(cells)


def arguments(call: dict[str, Any]) -> str:
    written = call["arguments"]
    return written if isinstance(written, str) else json.dumps(written)
