"""`context-bench --proxy URL ...`: which addresses are taken, which are refused, and what the systems are called."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench.cli import execute

pytest.importorskip("context_bench_local", reason="the rows of these runs come from a file")
pytest.importorskip("context_bench_answer_quality", reason="these runs score answers")

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Call:
    """Run `context-bench` with proxies over two rows of a file, and return exit code, output and what else was said."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-123")
    rows = [
        {"id": str(number), "context": "Rome.", "question": "Where?", "answer": "fine"}
        for number in range(2)
    ]
    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )

    def run(*arguments: str) -> tuple[int, str, str]:
        flags = ["--dataset", "rows.jsonl", "--format", "json", "--run-file", "run.sqlite"]
        code = execute([*arguments, *flags])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


ACCEPTED = [
    "http://127.0.0.1:{port}",
    "http://127.0.0.1:{port}/",
    "http://127.0.0.1:{port}/v1",
    "http://127.0.0.1:{port}/v1/",
    "http://127.0.0.1:{port}//v1//",
    "http://127.0.0.1:{port}/v1/chat/completions",
    "HTTP://127.0.0.1:{port}",
    "127.0.0.1:{port}",
    "127.0.0.1:{port}/v1/",
    "localhost:{port}",
    "http://localhost:{port}/v1",
    "http://me:p%40ss@127.0.0.1:{port}",
]


@pytest.mark.parametrize("written", ACCEPTED)
def test_an_address_is_taken_as_people_write_it(written: str, call: Call, server: Any) -> None:
    code, out, err = call("--proxy", written.format(port=server.port))
    assert code == 0, err
    assert {request.path for request in server.requests} == {"/v1/chat/completions"}
    assert len(server.requests) == 2
    host = "localhost" if "localhost" in written else "127.0.0.1"
    assert f"{host}:{server.port}" in json.loads(out)["summary"]


@pytest.mark.parametrize("written", ["http://[::1]:{port}", "[::1]:{port}/v1/"])
def test_an_ipv6_address_is_taken(written: str, call: Call, new_server: Any) -> None:
    try:
        server = new_server("::1")
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    code, out, err = call("--proxy", written.format(port=server.port))
    assert code == 0, err
    assert f"[::1]:{server.port}" in json.loads(out)["summary"]
    assert len(server.requests) == 2


REFUSED = [
    ("api.example.com", "there is no scheme; write 'https://HOST' or 'http://HOST:PORT'"),
    ("gpu-box:8000", "there is no scheme"),
    ("192.168.0.7:8000/v1", "there is no scheme"),
    ("ftp://host", "the scheme is 'ftp'; it must be http or https"),
    ("htp://localhost:1", "the scheme is 'htp'"),
    ("http://", "there is no host"),
    ("http://:8080", "there is no host"),
    ("http://host:", "the port must be a number from 1 to 65535"),
    ("http://host:99999", "the port must be a number from 1 to 65535"),
    ("http://host:http", "the port must be a number from 1 to 65535"),
    ("http://2001:db8::7/v1", "an IPv6 address stands in brackets"),
    ("http://[::zz]:1", "IPv6"),
    ("http://ho st", "white space"),
    ("http://${{HOST}}:80", "is no host name"),
    ("http://me:hunter22@", "there is no host"),
]


@pytest.mark.parametrize(("written", "reason"), REFUSED, ids=[row[0] for row in REFUSED])
def test_an_address_that_cannot_be_one_is_refused_in_one_line(
    written: str, reason: str, call: Call
) -> None:
    code, out, err = call("--proxy", written, "--name", "x")
    assert code == 2
    assert out == ""
    told = " ".join(err.split())
    assert reason in told
    assert "Traceback" not in err
    assert "hunter22" not in err
    assert not Path("run.sqlite").exists()


def test_two_proxies_on_one_host_have_names_of_their_own(
    call: Call, new_server: Any, steps: Any
) -> None:
    first, second = new_server(), new_server()
    second.play(steps.ok("wrong"))
    code, out, err = call("--proxy", first.url, "--proxy", f"127.0.0.1:{second.port}/v1")
    assert code == 0, err
    summary = json.loads(out)["summary"]
    assert list(summary) == [f"127.0.0.1:{first.port}", f"127.0.0.1:{second.port}"]
    assert [summary[name]["mean_score"] for name in summary] == [1.0, 0.0]
    assert (len(first.requests), len(second.requests)) == (2, 2)


def test_names_go_to_the_proxies_in_their_order(call: Call, new_server: Any) -> None:
    first, second = new_server(), new_server()
    code, out, err = call("--proxy", first.url, "--name", "one", "--proxy", second.url)
    assert code == 0, err
    assert list(json.loads(out)["summary"]) == ["one", f"127.0.0.1:{second.port}"]
    code, _, err = call("--proxy", first.url, "--name", "one", "--name", "two")
    assert code == 2
    assert "There are 2 --name but 1 --proxy" in err


def test_proxies_at_one_address_are_told_apart_by_path_or_number(call: Call, server: Any) -> None:
    host = f"127.0.0.1:{server.port}"
    urls = [server.url, f"{server.url}/team-a/v1", server.url, f"{server.url}/team-a"]
    code, out, err = call(*(part for url in urls for part in ("--proxy", url)))
    assert code == 0, err
    assert list(json.loads(out)["summary"]) == [
        host,
        f"{host}/team-a",
        f"{host}-2",
        f"{host}/team-a-2",
    ]
