"""A secret option that a plugin repeats in answers, errors and details is in no run file, report, or message."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

CANARY = 'canary"7f3a9c é/secret'
FORMS = [
    CANARY,
    json.dumps(CANARY)[1:-1],
    quote(CANARY, safe=""),
    base64.b64encode(CANARY.encode()).decode(),
]

CODE = """
    import base64, json, sys
    from urllib.parse import quote

    def forms(secret):
        return [secret, quote(secret, safe=""), base64.b64encode(secret.encode()).decode()]

    class Leaky:
        name = "leaky"

        def __init__(self, key="", how="answer"):
            self.key, self.how = key, how
            if how == "constructor":
                raise ValueError(f"a bad key: {key}")
            if how == "odd constructor":
                raise KeyError(key)

        def process(self, example):
            if self.how == "error":
                raise RuntimeError(f"401 for {forms(self.key)}")
            if self.how == "headers":
                headers = {"x-sent": self.key, "x-number": 7}
                return {"response": "Paris", "headers": headers, "latency": 0.5, "ttft": 0.1234567890}
            told = " ".join(["Paris", *forms(self.key)])
            return {"response": told, "context": [told, {self.key: 1.5}], "usage": {"input_tokens": 3}}

        def process_turn(self, turns):
            if len(turns) > 2:
                raise RuntimeError("the second turn breaks")
            return {"response": " ".join(forms(self.key)), "headers": {"x": self.key}}

        def fingerprint(self):
            return {"how": self.how, "oops": self.key}

    def leaking(limit=None, config=None, split=None, token="", breaks=False):
        yield {"id": "a", "question": "q", "answer": "Paris"}
        if breaks:
            raise OSError(f"the hub refused {token}")
        yield {"id": "b", "multi_turn": True, "turns": ["x", "y"], "answer": "Paris"}

    class Scores(dict):
        details = {}

    class Judge:
        name = "judge"

        def __init__(self, key="", pin=0, how="details"):
            self.key, self.how = key, how

        def score(self, original, processed):
            if self.how == "error":
                raise RuntimeError(f"401 for {forms(self.key)}")
            scores = Scores() if self.how == "unscored" else Scores(good=1.0)
            scores.details = {"reason": f"I was sent {forms(self.key)}", "unscored": f"no, {self.key}"}
            return scores

    from context_bench.hookspecs import hookimpl

    class Miser:
        def __init__(self, key="", where="begin"):
            self.key, self.where = key, where
            if where == "constructor":
                raise ValueError(f"a bad key: {key}")

        @hookimpl
        def prepare_systems(self, systems):
            if self.where == "prepare":
                raise KeyError(f"no account for {self.key}")
            return systems

        @hookimpl
        def before_first_call(self):
            return [f"the account of {forms(self.key)} is low"] if self.where == "begin" else []

        @hookimpl
        def describe_system(self):
            return {"account": forms(self.key)} if self.where == "describe" else {}

        @hookimpl
        def admit_call(self):
            if self.where == "admit":
                raise RuntimeError(f"the bank refused {forms(self.key)}")
            if self.where == "refuse":
                from context_bench.errors import CallRefusedError

                raise CallRefusedError(f"the account of {forms(self.key)} is empty")

        @hookimpl
        def call_settled(self):
            if self.where == "settle":
                raise RuntimeError(f"the bank lost {forms(self.key)}")
"""
MANIFEST = """
    schema = 1
    api = "1.0"

    [systems.leaky]
    summary = "Tells its key"
    class = "Leaky"
    kind = "system"
    version = "1"
    options.key = { type = "str", secret = true, env = "LEAKY_KEY", help = "The key" }
    options.how = { type = "str", help = "Where it tells it" }

    [datasets.leaking]
    summary = "Two examples"
    class = "leaking"
    options.token = { type = "str", secret = true, help = "The token" }
    options.breaks = { type = "bool", help = "Whether it breaks after the first" }

    [evaluators.judge]
    summary = "Tells its key"
    class = "Judge"
    primary = "good"
    version = "1"
    wire = [{ always = true }]
    scores.good = {}
    options.key = { type = "str", secret = true, flag = "--judge-key", env = "LEAKY_JUDGE_KEY", help = "The key" }
    options.pin = { type = "int", secret = true, help = "A number" }
    options.how = { type = "str", help = "Where it tells it" }

    [hooks.miser]
    summary = "Tells its key"
    class = "Miser"
    implements = ["prepare_systems", "before_first_call", "describe_system", "admit_call", "call_settled"]
    options.key = { type = "str", secret = true, flag = "--miser-key", env = "LEAKY_MISER_KEY", help = "The key" }
    options.where = { type = "str", flag = "--miser-tells", help = "Where it tells it" }
"""


@pytest.fixture
def told(
    context_bench: Any, site: Any, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Run with a project file and return the exit code; whatever was written is searched for the canary."""
    site.add(
        "leaky-plugin",
        code=CODE,
        manifest=MANIFEST,
        entry_points={
            "systems": {"leaky": "leaky_plugin:Leaky"},
            "datasets": {"leaking": "leaky_plugin:leaking"},
            "evaluators": {"judge": "leaky_plugin:Judge"},
            "hooks": {"miser": "leaky_plugin:Miser"},
        },
    )

    def run(project: str, *flags: str, **environ: str) -> Any:
        (workplace / "context-bench.toml").write_text(project, encoding="utf-8")
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        outputs = ["-o", "out.json", "-o", "out.md", "-o", "out.csv", "--log-format", "json"]
        done = context_bench(
            "run", "--run-file", "r.sqlite", "--max-failed", "100%", *outputs, *flags
        )
        texts = [done.out, done.err]
        if (workplace / "r.sqlite").exists():
            for command in (
                ["rescore", "r.sqlite", "--force"],
                ["export", "r.sqlite"],
            ):
                other = context_bench(*command)
                texts += [other.out, other.err]
        (workplace / "context-bench.toml").unlink()
        kept = {path.name: path.read_bytes() for path in workplace.rglob("*") if path.is_file()}
        for form in FORMS:
            assert not [text for text in texts if form in text], form
            assert not [name for name, content in kept.items() if form.encode() in content], form
        return done

    return run


def table(**options: Any) -> str:
    return (
        "{ "
        + ", ".join(
            f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in options.items()
        )
        + " }"
    )


@pytest.mark.parametrize(
    ("how", "place"),
    [
        ("answer", "project file"),
        ("answer", "environment"),
        ("headers", "environment"),
        ("error", "project file"),
        ("constructor", "environment"),
        ("odd constructor", "project file"),
    ],
)
def test_a_system_that_tells_its_key(
    told: Callable[..., Any], workplace: Path, how: str, place: str
) -> None:
    pytest.importorskip("context_bench_conversations", reason="it asks conversations")
    options = {"how": how} if place == "environment" else {"how": how, "key": CANARY}
    environ = {"LEAKY_KEY": CANARY} if place == "environment" else {}
    done = told(
        f'[[systems]]\nname = "leaky"\noptions = {table(**options)}\n', "-d", "leaking", **environ
    )
    assert done.code == (2 if "constructor" in how else 0)
    if "constructor" in how:
        assert "***" in done.err
        return
    rows = {
        row["example_id"]: row
        for row in json.loads((workplace / "out.json").read_text(encoding="utf-8"))["rows"]
    }
    if how == "answer":
        assert rows["a"]["response"] == "Paris *** *** ***"
        assert rows["b"]["errors"][0]["message"] == "the second turn breaks"
        with closing(sqlite3.connect(workplace / "r.sqlite")) as connection:
            [(output, measured)] = connection.execute(
                "SELECT output, measured FROM turns"
            ).fetchall()
        assert json.loads(output) == {"response": "*** *** ***"}
        assert json.loads(measured) == {"headers": {"x": "***"}}
    elif how == "headers":
        assert rows["a"]["metadata"]["headers"] == {"x-sent": "***", "x-number": 7}
        assert rows["a"]["metadata"]["ttft"] == 0.123456789
    else:
        assert rows["a"]["errors"][0]["message"] == "401 for ['***', '***', '***']"


@pytest.mark.parametrize(
    ("how", "place"),
    [("details", "flag"), ("unscored", "environment"), ("error", "project file")],
)
def test_an_evaluator_that_tells_its_key(
    told: Callable[..., Any], workplace: Path, how: str, place: str
) -> None:
    project = f'[evaluators.judge]\nhow = "{how}"\n'
    flags = ["--judge-key", CANARY] if place == "flag" else []
    environ = {"LEAKY_JUDGE_KEY": CANARY} if place == "environment" else {}
    if place == "project file":
        project += f"key = {json.dumps(CANARY, ensure_ascii=False)}\n"
    told(project, "-s", "leaky", "-d", "leaking", *flags, **environ)
    [row, _] = json.loads((workplace / "out.json").read_text(encoding="utf-8"))["rows"]
    name = "leaky-plugin/judge"
    said = {
        "details": lambda: row["details"][name]["reason"],
        "unscored": lambda: row["unscored"][name],
        "error": lambda: row["errors"][0]["message"],
    }
    assert "***" in said[how]()


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ("constructor", "environment"),
        ("prepare", "flag"),
        ("begin", "flag"),
        ("describe", "environment"),
        ("admit", "project file"),
        ("refuse", "flag"),
        ("settle", "environment"),
    ],
)
def test_an_extension_that_tells_its_key(told: Callable[..., Any], where: str, place: str) -> None:
    project = (
        f"[extensions.miser]\nkey = {json.dumps(CANARY, ensure_ascii=False)}\n"
        if place == "project file"
        else ""
    )
    flags = ["--miser-key", CANARY] if place == "flag" else []
    environ = {"LEAKY_MISER_KEY": CANARY} if place == "environment" else {}
    done = told(project, "-s", "leaky", "-d", "leaking", "--miser-tells", where, *flags, **environ)
    if where != "describe":
        assert "***" in done.err


def test_a_dataset_that_tells_its_token(told: Callable[..., Any]) -> None:
    options = table(token=CANARY, breaks=True)
    done = told(f'[[datasets]]\nname = "leaking"\noptions = {options}\n', "-s", "leaky")
    assert done.code == 2
    assert "the hub refused ***" in done.err


def test_a_secret_of_the_wrong_type_is_not_shown(told: Callable[..., Any]) -> None:
    done = told(
        f"[evaluators.judge]\npin = {json.dumps(CANARY, ensure_ascii=False)}\n",
        "-s",
        "leaky",
        "-d",
        "leaking",
    )
    assert done.code == 2
    assert "pin must be an integer" in done.words
