"""Every command of README, tutorials, how-tos and plugin pages that names a benchmark runs, against a fake hub and endpoint."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from context_bench.cli import execute
from context_bench.plugins.discovery import discover
from context_bench.plugins.loading import load

pytest.importorskip("datasets")

import itertools

from hub_records import RECORDS, parquet, publish_dataset
from scripted_endpoint import endpoint as endpoint

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
    *sorted((ROOT / "plugins").glob("*/README.md")),
]
_NAMED = re.compile(r"(?:--dataset|datasets (?:show|preview|fetch)) (?:\S+=)?([\w.-]+|hf:\S+)")
_README = "---\nconfigs:\n- config_name: main\n  data_files:\n  - {split: test, path: 'main/test-*'}\n---\n"


def commands(page: Path) -> list[str]:
    """Return the commands of a page that name a benchmark, continued lines joined."""
    text = page.read_text("utf-8").replace("\\\n", " ")
    found = re.findall(r"^ *(?:\$ )?(context-bench (?:--|run |datasets ).*)$", text, re.MULTILINE)
    return [
        " ".join(each.split()) for each in found if datasets_of(each) or "datasets list" in each
    ]


def datasets_of(command: str) -> list[tuple[str, str | None]]:
    """Return the benchmarks that a command names, each with its configuration."""
    words = shlex.split(command)
    named = [
        after
        for word, after in itertools.pairwise(words)
        if word in ("--dataset", "show", "preview", "fetch")
    ]
    if "fetch" in words:
        named += [word for word in words if word in RECORDS]
    found = []
    for each in dict.fromkeys(named):
        name, _, config = each.partition(",")[0].partition(":")
        if name in RECORDS or name == "hf":
            found.append((name, config or None))
    return found


CASES = [
    pytest.param(command, id=f"{page.relative_to(ROOT).as_posix()}: {command[14:60]}")
    for page in PAGES
    for command in commands(page)
]


def test_every_family_has_a_command() -> None:
    named = {name for case in CASES for name, _ in datasets_of(case.values[0])}
    assert {
        "hotpotqa",
        "mmlu",
        "gsm8k",
        "humaneval",
        "multi-news",
        "contract-nli",
        "ifeval",
        "longbench",
        "bfcl",
        "hf",
    } <= named
    families = {
        component.distribution.name
        for component in discover().of_kind("datasets")
        if component.dataset.definition is not None
    }
    shown = {page for page in PAGES if page.parent.name in families and commands(page)}
    assert {page.parent.name for page in shown} == families


@pytest.mark.parametrize("command", CASES)
def test_a_command_of_a_page_runs(
    command: str,
    hub: Any,
    endpoint: tuple[str, list[dict[str, Any]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    catalog = discover()
    for name, config in datasets_of(command):
        if name == "hf":
            rows = [
                {"question": "What is 1+1?", "answer": "2"},
                {"question": "What is 2+2?", "answer": "4"},
            ]
            hub.put(
                "openai/gsm8k",
                {"README.md": _README.encode(), "main/test-00000.parquet": parquet(rows)},
            )
        else:
            loader = load(catalog.find("datasets", name))
            publish_dataset(hub, name, loader, config)
            for split in re.findall(r"--split (\S+)", command):
                publish_dataset(hub, name, loader, config, split)
    words = shlex.split(re.sub(r"https?://localhost:\d+", endpoint[0], command))[1:]
    if "--offline" in words:
        names = [name for name, _ in datasets_of(command)]
        assert (
            execute(
                ["datasets", "fetch", *names, "--to", words[words.index("--datasets-folder") + 1]]
            )
            == 0
        )
        hub.asked.clear()
    assert execute(words) == 0, capsys.readouterr().err
    said = capsys.readouterr().out
    assert said.strip()
    if words[0] in ("run", "--proxy"):
        assert "rows failed (" not in said, said
    if "--offline" in words:
        assert hub.asked == []
