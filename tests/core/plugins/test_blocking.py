"""Switching plugins off and on: the command line beats the environment, which beats the project file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

DISABLE, ALLOW = "CONTEXT_BENCH_DISABLE_PLUGINS", "CONTEXT_BENCH_PLUGINS"
BY_COMMAND = "the command line"
BY_ENVIRONMENT = "CONTEXT_BENCH_DISABLE_PLUGINS"
BY_PROJECT = "plugins.disable"
NOT_IN_ENVIRONMENT = "CONTEXT_BENCH_PLUGINS"
NOT_IN_PROJECT = "plugins.allow"


# the project file's [plugins], the environment, the command line, why `one` is blocked ("" when it is not)
LAYERS: dict[str, tuple[str, dict[str, str], tuple[str, ...], str]] = {
    "nothing": ("", {}, (), ""),
    "project": ('disable = ["one"]', {}, (), BY_PROJECT),
    "project, by id": ('disable = ["acme-one/one"]', {}, (), BY_PROJECT),
    "project, by distribution": ('disable = ["acme-one"]', {}, (), BY_PROJECT),
    "project allows another": ('allow = ["two"]', {}, (), NOT_IN_PROJECT),
    "project allows and disables it": ('allow = ["one"]\ndisable = ["one"]', {}, (), BY_PROJECT),
    "environment": ("", {DISABLE: "one"}, (), BY_ENVIRONMENT),
    "environment, empty": ("", {DISABLE: "", ALLOW: ""}, (), ""),
    "environment allows another": ("", {ALLOW: "two"}, (), NOT_IN_ENVIRONMENT),
    "environment allows what the project disables": ('disable = ["one"]', {ALLOW: "one"}, (), ""),
    "command line": ("", {}, ("-p", "no:one"), BY_COMMAND),
    "command line, by distribution": ("", {}, ("-p", "no:acme-one"), BY_COMMAND),
    "command line on against the project": ('disable = ["one"]', {}, ("-p", "one"), ""),
    "command line on against both": ("allow = []", {ALLOW: "two"}, ("-p", "acme-one"), ""),
    "command line off against both": (
        'allow = ["one"]',
        {ALLOW: "one"},
        ("-p", "no:one"),
        BY_COMMAND,
    ),
    "command line, the last counts, off": ("", {}, ("-p", "one", "-p", "no:acme-one"), BY_COMMAND),
}


@pytest.fixture
def two(site: Any) -> Any:
    site.evaluator("acme-one", "one")
    site.evaluator("acme-two", "two")
    return site


@pytest.mark.parametrize(
    ("project", "environ", "arguments", "reason"), LAYERS.values(), ids=LAYERS.keys()
)
def test_the_stronger_layer_decides_the_names_that_it_mentions(
    two: Any,
    context_bench: Run,
    workplace: Path,
    monkeypatch: pytest.MonkeyPatch,
    project: str,
    environ: dict[str, str],
    arguments: tuple[str, ...],
    reason: str,
) -> None:
    (workplace / "context-bench.toml").write_text(f"[plugins]\n{project}\n")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    [told] = json.loads(
        context_bench("plugins", "show", "one", "--json", *arguments, alone=False).out
    )
    assert (told["state"], bool(told["remedy"])) == ("blocked" if reason else "ok", bool(reason))
    assert reason in told["reason"]


# how `one` was blocked, and what its remedy says


def test_an_allow_list_is_about_plugins_and_not_about_core(
    site: Any, context_bench: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.basics()
    monkeypatch.setenv(ALLOW, "bench-basics")
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "--format", "json", alone=False)
    assert done.code == 0, done.err
    monkeypatch.setenv(DISABLE, "json")
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "--format", "json", alone=False)
    assert (done.code, DISABLE in done.words) == (
        2,
        True,
    )


def test_a_blocked_plugin_is_not_imported_and_not_warned_of(site: Any, context_bench: Run) -> None:
    site.basics()
    site.evaluator("acme-bad", "bad", wire="[{ always = true }]", code="raise RuntimeError")
    assert context_bench("run", "-s", "echo", "-d", "toy", "-q").code == 2
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "-p", "no:bad")
    assert (done.code, "Warning" in done.err) == (0, False)
    assert context_bench("plugins", "check", "-p", "no:bad").code == 0
    assert context_bench("plugins", "check", "-p", "no:bad").code == 0


def test_what_is_blocked_and_asked_for_is_an_error(
    site: Any, context_bench: Run, asked: Callable[[], int]
) -> None:
    site.basics()
    for arguments, name in (
        (
            ("-s", "echo", "-d", "toy", "--add-evaluator", "exact", "-p", "no:exact"),
            "Evaluator bench-basics/exact",
        ),
        (("-s", "echo", "-d", "toy", "-p", "no:echo"), "System bench-basics/echo"),
        (("-s", "echo", "-d", "toy", "-p", "no:toy"), "Dataset bench-basics/toy"),
    ):
        done = context_bench("run", "-q", *arguments)
        assert (done.code, asked()) == (2, 0)
        assert name in done.words


WRONG_PROJECT = {
    "an unknown key": ('disabled = ["one"]', "'disabled'"),
    "a text for a list": ('disable = "one"', "plugins.disable"),
    "a number in a table": ("prefer = { one = 1 }", "plugins.prefer"),
}


@pytest.mark.parametrize(("project", "said"), WRONG_PROJECT.values(), ids=WRONG_PROJECT.keys())
def test_a_project_file_that_says_it_wrongly_is_an_error_and_not_ignored(
    two: Any, context_bench: Run, workplace: Path, project: str, said: str
) -> None:
    (workplace / "context-bench.toml").write_text(f"[plugins]\n{project}\n")
    done = context_bench("plugins", "list", "-v")
    assert (done.code, said in done.words) == (2, True), done.words


def test_disable_and_enable_go_to_the_project_file_and_back(
    two: Any, context_bench: Run, workplace: Path
) -> None:
    file = workplace / "context-bench.toml"
    done = context_bench("plugins", "disable", "one", alone=False)
    assert (done.code, done.out) == (0, "one is disabled in the project file.\n")
    assert file.read_text() == '[plugins]\ndisable = ["one"]\n'
    assert "already disabled" in context_bench("plugins", "disable", "one", alone=False).out
    [told] = json.loads(context_bench("plugins", "show", "one", "--json", alone=False).out)
    assert told["state"] == "blocked"
    assert (
        context_bench("plugins", "enable", "one", alone=False).out
        == "one is enabled in the project file.\n"
    )
    assert "already enabled" in context_bench("plugins", "enable", "one", alone=False).out
    [told] = json.loads(context_bench("plugins", "show", "one", "--json", alone=False).out)
    assert told["state"] == "ok"


def test_enable_tells_when_something_else_still_blocks(
    two: Any, context_bench: Run, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DISABLE, "acme-one")
    context_bench("plugins", "disable", "one", alone=False)
    done = context_bench("plugins", "enable", "one", alone=False)
    assert BY_ENVIRONMENT in done.err


def test_names_that_mean_nothing_are_refused_but_can_be_taken_out(
    two: Any, context_bench: Run, workplace: Path
) -> None:
    done = context_bench("plugins", "disable", "oen", alone=False)
    assert (done.code, "Did you mean " in done.err) == (2, True)
    (workplace / "context-bench.toml").write_text('[plugins]\ndisable = ["gone"]\n')
    assert context_bench("plugins", "enable", "gone", alone=False).code == 0
    assert "gone" not in (workplace / "context-bench.toml").read_text()
