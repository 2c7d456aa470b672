"""What a package makes may break wherever it is touched: at its name, at an attribute that is looked for, at its fingerprint, in
the text of its error. Each is one line that names the package, and never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from context_bench.errors import ContextBenchError, PluginError, message_of
from context_bench.plugins.catalog import Catalog
from context_bench.session.hooks import RunHooks

KINDS: dict[str, tuple[str, str, Sequence[str]]] = {
    "evaluators": (
        'class = "Odd"\nversion = "1"\nprimary = "odd"\nscores.odd = {}',
        "def score(self, original, processed): return {'odd': 1.0}",
        ["--evaluators", "odd"],
    ),
    "systems": (
        'class = "Odd"',
        "def process(self, example): return {'response': 'one'}",
        ["-s", "odd"],
    ),
    "metrics": ("", "def compute(self, rows): return {'odd': 1.0}", ["--add-metric", "odd"]),
    "reporters": ("", "def write(self, result, stream): stream.write('odd')", ["--format", "odd"]),
    "tokenizers": ("", "def count(self, text): return 1", ["--tokenizer", "odd"]),
    "hooks": (
        'class = "Odd"\nimplements = ["should_stop"]',
        "@hookimpl\n        def should_stop(self, row): return None",
        ["--extension", "odd"],
    ),
}
SPEECHLESS = """
    class Speechless({base}):
        def __str__(self):
            raise KeyError("no text")
"""


def _run(
    kind: str, body: str, site: Any, context_bench: Callable[..., Any], base: str = "Exception"
) -> Any:
    said, method, flags = KINDS[kind]
    code = (
        "    from context_bench.hookspecs import hookimpl\n"
        + SPEECHLESS.format(base=base)
        + f"\n    class Odd:\n        name = 'odd'\n        {method}\n        {body}\n"
    )
    manifest = f'schema = 1\napi = "1.0"\n[{kind}.odd]\nsummary = "Odd"\n{said}\n'
    site.basics()
    site.add("acme-odd", code=code, manifest=manifest, entry_points={kind: {"odd": "acme_odd:Odd"}})
    return context_bench(
        "run", "-d", "toy", "-q", *([] if kind == "systems" else ["-s", "echo"]), *flags
    )


@pytest.mark.parametrize("base", ["Exception", "ValueError"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_error_without_a_text_is_told_with_its_kind(
    kind: str, base: str, site: Any, context_bench: Callable[..., Any]
) -> None:
    done = _run(kind, "def __init__(self): raise Speechless", site, context_bench, base)
    assert done.code == 2, done.words
    assert "odd" in done.err
    assert "its message cannot be read: Speechless.__str__ failed" in done.words


@pytest.mark.parametrize("kind", ["systems", "metrics", "reporters", "tokenizers"])
def test_a_name_that_breaks_is_told_with_its_package(
    kind: str, site: Any, context_bench: Callable[..., Any]
) -> None:
    body = "@property\n        def name(self): raise RuntimeError('nameless')"
    done = _run(kind, body, site, context_bench)
    assert done.code == 2, done.words
    assert "acme_odd raised RuntimeError: nameless. Tell its authors" in done.words


@pytest.mark.parametrize("kind", ["evaluators", "systems", "metrics"])
def test_an_attribute_that_breaks_when_it_is_looked_for_is_told_with_its_package(
    kind: str, site: Any, context_bench: Callable[..., Any]
) -> None:
    done = _run(
        kind,
        "def __getattr__(self, name): raise RuntimeError(f'no {name} here')",
        site,
        context_bench,
    )
    assert done.code == 2, done.words
    assert "acme_odd raised RuntimeError: no " in done.words


FINGERPRINTS = {
    "raises": ("raise RuntimeError('none today')", "cannot be used: RuntimeError: none today"),
    "leaves": ("raise SystemExit(0)", "cannot be used: SystemExit: 0"),
    "is a number": ("return 7", "The fingerprint of", "is int, not a mapping"),
    "is a text": ("return 'ab'", "The fingerprint of", "is str, not a mapping"),
    "is a list": ("return [1]", "The fingerprint of", "is list, not a mapping"),
}


@pytest.mark.parametrize("kind", ["evaluators", "systems"])
@pytest.mark.parametrize("case", FINGERPRINTS)
def test_a_fingerprint_that_is_none_is_told(
    kind: str, case: str, site: Any, context_bench: Callable[..., Any]
) -> None:
    body, *told = FINGERPRINTS[case]
    done = _run(kind, f"def fingerprint(self): {body}", site, context_bench)
    assert done.code == 2, done.words
    assert all(words in done.words for words in told), done.words


def test_a_fingerprint_that_holds_itself_never_repeats(
    site: Any, context_bench: Callable[..., Any]
) -> None:
    body = "def fingerprint(self):\n            found = {}; found['itself'] = found; return found"
    assert _run("evaluators", body, site, context_bench).code == 0


def test_the_text_of_an_import_s_error_is_one_line_of_bounded_length(
    site: Any, context_bench: Callable[..., Any]
) -> None:
    site.basics()
    site.evaluator(
        "acme-odd", "odd", code="raise ValueError('a\\nError: another\\n' + 'x' * 100_000)"
    )
    done = context_bench("run", "-d", "toy", "-s", "echo", "--evaluators", "odd", "-q")
    assert done.code == 2
    [line] = done.err.splitlines()
    assert "loading it raised ValueError: a Error: another xxx" in line
    assert len(line) < 2000


ENDLESS = {
    "an async one that stops the loop": """
        import asyncio

        class Evaluator:
            name = "odd"

            def score(self, original, processed):
                raise NotImplementedError

            async def ascore(self, original, processed):
                asyncio.get_running_loop().stop()
                await asyncio.sleep(0)
                return {"odd": 1.0}
    """,
    "a batch without end": """
        class Evaluator:
            name = "odd"

            def score(self, original, processed):
                raise NotImplementedError

            def score_batch(self, pairs):
                while True:
                    yield {"odd": 1.0}
    """,
}


@pytest.mark.parametrize(
    ("case", "code"), [("an async one that stops the loop", 0), ("a batch without end", 12)]
)
def test_an_evaluator_that_would_hang_the_run_does_not(
    case: str, code: int, site: Any, workplace: Path
) -> None:
    site.basics()
    site.evaluator("acme-odd", "odd", code=ENDLESS[case])
    command = [
        sys.executable,
        "-m",
        "context_bench",
        "run",
        "-d",
        "toy",
        "-s",
        "echo",
        "--evaluators",
        "odd",
        "-q",
    ]
    environ = {
        **os.environ,
        "PYTHONPATH": str(site.folder),
        "CONTEXT_BENCH_PLUGINS": ",".join(site.names),
    }
    environ["ECHO_LOG"] = str(workplace / "echo.log")
    done = subprocess.run(
        command, cwd=workplace, env=environ, capture_output=True, check=False, timeout=120
    )
    assert done.returncode == code, done.stderr


@pytest.mark.parametrize("code", ["'no'", "999", "-1", "0.5"])
def test_an_exit_code_that_is_none_is_told(
    code: str, site: Any, context_bench: Callable[..., Any]
) -> None:
    done = _run("evaluators", f"def finished(self, run): return {code}", site, context_bench)
    assert done.code == 2, done.words
    told = "The evaluator acme-odd/odd failed: finished() returned"
    assert f"{told} {code}, not an exit code from 0 to 255" in done.words


def test_the_highest_exit_code_counts() -> None:
    hooks = RunHooks(Catalog())
    codes = [None, 3, 10, 0]
    evaluators = [
        (f"The evaluator {code}", SimpleNamespace(finished=lambda run, code=code: code))
        for code in codes
    ]
    assert hooks.exit_code(None, evaluators) == 10
    assert hooks.exit_code(None, evaluators[:1]) is None
    breaking = SimpleNamespace(finished=lambda run: 1 // 0)
    with pytest.raises(PluginError, match="The evaluator b failed: ZeroDivisionError"):
        hooks.exit_code(None, [("The evaluator b", breaking)])


class Texts(str):
    """A text of a kind of its own."""


class OddError(ContextBenchError):
    """An error with such a text."""

    def __str__(self) -> str:
        return Texts("odd")


def test_what_an_error_says_is_a_plain_text() -> None:
    assert type(message_of(OddError())) is str
    assert message_of(OddError()) == "odd"
    assert message_of(ValueError("a\nb")) == "a\nb"


COUNTS = {
    "less than none": ("return -1", "count() returned -1, not a whole number from 0 on"),
    "a part": ("return 0.5", "count() returned 0.5, not a whole number from 0 on"),
    "a text": ("return '3'", "count() returned '3', not a whole number from 0 on"),
    "nothing": ("return None", "count() returned None, not a whole number from 0 on"),
    "a truth": ("return True", "count() returned True, not a whole number from 0 on"),
    "no number": ("return float('nan')", "count() returned nan, not a whole number from 0 on"),
    "more than a file holds": ("return 10**30", "not a whole number from 0 on"),
    "an error": ("raise RuntimeError('no words')", "failed: RuntimeError: no words"),
    "an end": ("raise SystemExit(0)", "failed: SystemExit: 0"),
}


@pytest.mark.parametrize("case", COUNTS)
def test_a_count_of_tokens_that_is_none_is_told_with_its_tokenizer(
    case: str, site: Any, context_bench: Callable[..., Any]
) -> None:
    body, told = COUNTS[case]
    site.basics()
    code = f"class Odd:\n    name = 'odd'\n    def count(self, text):\n        {body}\n"
    manifest = 'schema = 1\napi = "1.0"\n[tokenizers.odd]\nsummary = "Odd"\n'
    site.add(
        "acme-odd",
        code=code,
        manifest=manifest,
        entry_points={"tokenizers": {"odd": "acme_odd:Odd"}},
    )
    done = context_bench("run", "-d", "toy", "-s", "echo", "--tokenizer", "odd", "-q")
    assert done.code == 2, done.words
    assert "The tokenizer acme-odd/odd failed" in done.words
    assert told in done.words
