"""What an address holds of a secret is in nothing that a run leaves, whatever the server repeats of it."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from context_bench.cli import execute

pytest.importorskip("context_bench_local", reason="the dataset is a file")
pytest.importorskip("context_bench_reports", reason="a secret must be in no report")

KEY = "sk-canary/7f3a+b9=Zq1x"
QUOTED = quote(KEY, safe="")
FORMS = ["{q}@", "{q}:@", "{q}:x@", "user:{q}@"]


@pytest.mark.parametrize("where", ["the address", "the proxy"])
@pytest.mark.parametrize("form", FORMS)
def test_a_key_in_an_address_is_in_nothing_that_a_run_leaves(
    form: str,
    where: str,
    server: Any,
    steps: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: Any,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    credentials = form.format(q=QUOTED)
    pair = form.format(q=KEY).removesuffix("@")
    told = " ".join(
        [
            KEY,
            pair,
            base64.b64encode((pair if ":" in pair else f"{pair}:").encode()).decode(),
            QUOTED,
        ]
    )
    server.play(
        steps.error(400, told, headers={"x-told": told}),
        steps.ok(told, headers={"x-told": told}),
        steps.answer(200, told.encode()),
    )
    own = server.url.removeprefix("http://")
    spec = f"openai:base_url=http://{credentials}{own},model=m"
    if where == "the proxy":
        spec = f"openai:base_url={server.url},model=m,http_proxy=http://{credentials}{own}"
    (tmp_path / "d.jsonl").write_text(
        "".join(f'{{"question": "q{n}", "answer": "a"}}\n' for n in range(3))
    )
    monkeypatch.chdir(tmp_path)
    command = [
        "run",
        "-s",
        spec,
        "-d",
        "d.jsonl",
        "--run-file",
        "r.sqlite",
        "--keep-going",
        "--max-failed",
        "100%",
    ]
    command += ["--max-workers", "1", "-o", "r.json", "-o", "r.csv", "-o", "r.md"]
    code, shown = execute(command), "".join(capfd.readouterr())
    assert code == 0, shown
    assert len(server.requests) == 3
    left = {
        "output": shown.encode(),
        **{path.name: path.read_bytes() for path in tmp_path.glob("r.*")},
    }
    secrets = [KEY, KEY.replace("/", "\\/"), QUOTED, told.split(" ")[-2]]
    found = {
        name: secret
        for name, content in left.items()
        for secret in secrets
        if secret.encode() in content
    }
    assert not found
