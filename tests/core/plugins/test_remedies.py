"""A remedy that is printed is a command that works: each is taken out of the list, read as a shell would, and run."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]
NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[a-z-]+\])?")


def _requires(requirement: str) -> Callable[[Any], None]:
    return lambda site: site.evaluator("acme-bad", "bad", requires=(requirement,))


def _with_manifest(text: str) -> Callable[[Any], None]:
    return lambda site: site.evaluator("acme-bad", "bad", manifest=text)


def _damaged(site: Any) -> None:
    site.evaluator("acme-bad", "bad")
    (site.folder / "acme_bad-1.0.dist-info" / "entry_points.txt").write_bytes(
        b"[context_bench.evaluators]\n\xff"
    )


BAD: dict[str, Callable[[Any], None]] = {
    "what is missing": _requires("nowhere-to-be-found>=2"),
    "a requirement that is a command": _requires("$(touch pwned)"),
    "a faulty manifest": _with_manifest('schema = 1\napi = "1.0"\n[evaluators.bad]\nsummary = 1\n'),
    "no TOML": _with_manifest("["),
    "an old API": _with_manifest('schema = 1\napi = "0.1"\n'),
    "damaged metadata": _damaged,
}


@pytest.mark.parametrize("install", BAD.values(), ids=BAD.keys())
def test_each_command_in_it_can_be_called(
    install: Callable[[Any], None], site: Any, context_bench: Run
) -> None:
    pytest.importorskip("context_bench_kit", reason="remedies name `plugins check`")
    site.basics()
    install(site)
    told = json.loads(context_bench("plugins", "list", "--json").out)
    [remedy] = [entry["remedy"] for entry in told if entry["distribution"] == "acme-bad"]
    commands = [shlex.split(command) for command in re.findall(r"`([^`]*)`", remedy)]
    for command in commands:
        if command[0] == "context-bench":
            done = context_bench(*command[1:])
            assert "Usage:" not in done.err
            assert "No plugin is called" not in done.err
        else:
            assert command[:2] in (["pip", "install"], ["pip", "uninstall"]), command
            names = [word for word in command[2:] if word != "--force-reinstall"]
            assert names
            assert all(NAME.fullmatch(name) for name in names), command
    flags = re.search(r"--exclude (\S+?)[,.]?( |$)", remedy)
    if flags:
        done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "--exclude", flags[1])
        assert done.code == 0, done.err
    assert commands or flags


def test_the_blocked_are_let_in_by_what_is_told(
    site: Any, context_bench: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.basics()
    monkeypatch.setenv("CONTEXT_BENCH_DISABLE_PLUGINS", "exact")
    told = json.loads(context_bench("plugins", "show", "exact", "--json").out)[0]
    found = re.search(r"give (-p \S+)$", told["remedy"])
    assert found is not None, told["remedy"]
    [again] = json.loads(context_bench("plugins", "show", "exact", "--json", *found[1].split()).out)
    assert again["state"] == "ok"


def test_an_unknown_dataset_names_the_packages_that_bring_more() -> None:
    from context_bench.plugins.catalog import Catalog

    message = str(Catalog().unknown("datasets", "xyzzy"))
    assert "`context-bench datasets list`" in message
    assert "context-bench-qa" in message
    assert "pip install" in message
    assert "datasets list" not in str(Catalog().unknown("evaluators", "xyzzy"))
