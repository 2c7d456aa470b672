"""An extension that repeats its own secret in an error: nobody is told it, however early that is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import ContextBenchError

SECRET = "canary-7f3a9c-secret"
CODE = """
    import os

    from context_bench.errors import ConfigurationError
    from context_bench.hookspecs import hookimpl

    def tells(where, token):
        place, _, kind = os.environ.get("TELLS", "").partition(" ")
        if place == where:
            raise (ConfigurationError if kind == "told" else KeyError)(f"bad token {token}")

    class Prepare:
        def __init__(self, token=None):
            self._token = token
            tells("init", token)

        @hookimpl
        def prepare_systems(self, systems):
            tells("prepare", self._token)
            return systems

        @hookimpl
        def replace_systems(self, systems):
            tells("built", self._token)
            return [one.system for one in systems]
"""
MANIFEST = """
    schema = 1
    api = "1.0"
    [hooks.prepare]
    summary = "Prepares"
    class = "Prepare"
    implements = ["prepare_systems", "replace_systems"]
    [hooks.prepare.options]
    token = { type = "str", secret = true, env = "ACME_TOKEN", flag = "--acme-token", help = "a key" }
"""


@pytest.mark.parametrize("kind", ["told", "broken"])
@pytest.mark.parametrize("where", ["init", "prepare", "built"])
@pytest.mark.parametrize("given", ["flag", "environment"])
def test_a_secret_in_an_early_error_of_an_extension_is_hidden(
    where: str,
    kind: str,
    given: str,
    site: Any,
    context_bench: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site.basics()
    entry_points = {"hooks": {"prepare": "acme_prepare:Prepare"}}
    site.add("acme-prepare", code=CODE, manifest=MANIFEST, entry_points=entry_points)
    monkeypatch.setenv("TELLS", f"{where} {kind}")
    flags = ["--extension", "prepare"]
    if given == "flag":
        flags += ["--acme-token", SECRET]
    else:
        monkeypatch.setenv("ACME_TOKEN", SECRET)
    done = context_bench("run", "--system", "echo", "--dataset", "toy", *flags)
    assert done.code == 2
    assert "bad token " in done.words
    assert SECRET not in done.words
    options = {"acme_token": SECRET} if given == "flag" else {}
    with pytest.raises(ContextBenchError, match="bad token ") as raised:
        evaluate(
            lambda example: "a",
            [{"question": "q"}],
            evaluators=[],
            extensions=["prepare"],
            progress=False,
            **options,
        )
    assert SECRET not in str(raised.value)
