"""What a package calls itself, warns of, logs or prints: nothing of it reaches a terminal raw, whichever way it takes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
EVIL = "\u202e\u2066\u200bevil\ufeff\u2028"

TEXTS = f"""
    schema = 1
    api = "1.0"

    [systems.odd-system]
    summary = "A system {EVIL}"
    class = "Thing"
    options.way = {{ help = "Its way {EVIL}", default = "{EVIL}" }}

    [evaluators.odd-evaluator]
    summary = "An evaluator {EVIL}"
    class = "Thing"
    primary = "one"
    version = "1"
    scores.one = {{}}
    options.way = {{ flag = "--odd-way", help = "Its way {EVIL}" }}

    [reporters.odd-reporter]
    summary = "A reporter {EVIL}"
    options.way = {{ flag = "--odd-report", help = "Its way {EVIL}" }}

    [commands.odd-command]
    summary = "A command {EVIL}"

    [commands.odd-group]
    summary = "A group {EVIL}"
"""
COMMANDS = f"""
    import click

    @click.command(help="It helps {EVIL}")
    @click.option("--way", help="Its way \\x1b]0;pwned\\x07", metavar="{EVIL}")
    def command(way):
        raise click.UsageError("So not \\x1b[31m")

    group = click.Group("odd-group", help="They help {EVIL}")
    inner = click.Group("inner", help="It helps {EVIL}")
    group.add_command(inner)
    inner.add_command(command, "deep")
    class Thing: pass
"""
POINTS = {
    "systems": {"odd-system": "acme_texts:Thing"},
    "evaluators": {"odd-evaluator": "acme_texts:Thing"},
    "reporters": {"odd-reporter": "acme_texts:Thing"},
    "commands": {"odd-command": "acme_texts:command", "odd-group": "acme_texts:group"},
}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--help",), 0),
        (("run", "--help"), 0),
        (("lock", "--help"), 0),
        (("report", "--help"), 0),
        (("odd-command", "--help"), 0),
        (("odd-command", "--odd\x1b[31m"), 2),
        (("odd-command",), 2),
        (("odd-group", "--help"), 0),
        (("odd-group", "inner", "--help"), 0),
        (("odd-group", "inner", "deep", "--help"), 0),
        (("plugins", "show", "acme-texts"), 0),
        (("systems", "list"), 0),
    ],
    ids=lambda value: " ".join(value).replace("\x1b", "ESC") if isinstance(value, tuple) else "",
)
def test_no_help_turns_what_follows_it(
    site: Any, context_bench: Run, arguments: tuple[str, ...], code: int
) -> None:
    site.add("acme-texts", code=COMMANDS, manifest=TEXTS, entry_points=POINTS)
    done = context_bench(*arguments)
    assert done.code == code, done.err
    assert OBEYED.search(done.out + done.err) is None
    assert "odd" in done.out + done.err or "help" in done.out


NAMES = [
    "\x1b]0;pwned\x07",
    "a\u202eb",
    "x;$(touch pwned)",
    "`id`",
    "../..",
    "a/b",
    "a b",
    "--help",
    "no:x",
    "\u200b",
    "",
]


@pytest.mark.parametrize("kind", ["systems", "evaluators", "commands", "hooks", "flags"])
def test_what_is_no_name_is_invalid_and_stands_in_no_command(
    site: Any, context_bench: Run, kind: str
) -> None:
    site.add("acme-names", entry_points={kind: {name: "acme_names:X" for name in NAMES if name}})
    listed = json.loads(context_bench("plugins", "list", "--json").out)
    told = {one["name"]: one for one in listed if one["distribution"] == "acme-names"}
    assert set(told) == {name for name in NAMES if name}
    assert {one["state"] for one in told.values()} == {"invalid"}
    assert all("is no name" in one["reason"] for one in told.values())
    assert {one["remedy"] for one in told.values()} == {
        "tell the authors of acme-names, or uninstall it: `pip uninstall acme-names`"
    }
    for arguments in (
        ("plugins", "list"),
        ("plugins", "show", "acme-names"),
        ("run", "--help"),
        ("--help",),
    ):
        done = context_bench(*arguments)
        assert (done.code, OBEYED.search(done.out + done.err)) == (0, None)


@pytest.mark.parametrize("folder", ["$(touch pwned)", "x;id", "\x1b[31mred", "a\u202eb", "`id`"])
def test_what_is_named_after_no_distribution_is_told_without_a_command(
    site: Any, process: Run, folder: str
) -> None:
    info = site.folder / f"{folder}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: x\nVersion: 1\nRequires-Dist: nowhere\n\n"
    )
    (info / "entry_points.txt").write_text("[context_bench.systems]\nodd = odd_package:X\n")
    [told] = [
        one
        for one in json.loads(process("plugins", "list", "--json", CONTEXT_BENCH_PLUGINS="").out)
        if one["location"] == str(site.folder)
    ]
    assert told["state"] == "invalid"
    assert "is named after no distribution" in told["reason"]
    assert told["remedy"] == "remove that folder: no installer made it"
    assert OBEYED.search(process("plugins", "list", CONTEXT_BENCH_PLUGINS="").out) is None


def test_an_extra_is_a_word_as_it_stands_in_a_command(site: Any, process: Run) -> None:
    manifest = TEXTS.partition("    [evaluators")[0].replace(
        'class = "Thing"', 'class = "Thing"\n    extra = "$(touch x)"'
    )
    site.add(
        "acme-extra",
        manifest=manifest,
        entry_points={"systems": {"odd-system": "acme_extra:Thing"}},
    )
    [told] = json.loads(process("plugins", "show", "acme-extra", "--json").out)
    assert told["state"] == "invalid"
    assert "systems.odd-system.extra: expected the name of an extra" in told["reason"]


NOISY = r"""
    import asyncio, logging, sys, threading, warnings

    EVIL = "\x1b]0;pwned\x07\u202e"

    class Odd(UserWarning):
        pass

    class Unraisable:
        def __del__(self):
            raise ValueError(EVIL)

    class Noisy:
        name = "noisy"

        def __init__(self, way):
            self.way = way

        def process(self, example):
            if self.way in ("RuntimeWarning", "UserWarning"):
                warnings.warn(EVIL, getattr(__import__("builtins"), self.way))
            elif self.way == "a warning of its own":
                warnings.warn(EVIL, Odd)
            elif self.way == "log":
                logging.getLogger("acme").warning(EVIL)
            elif self.way == "log of an error":
                try:
                    raise ValueError(EVIL)
                except ValueError:
                    logging.getLogger("acme").exception("oops")
            elif self.way == "thread":
                thread = threading.Thread(target=self.fail)
                thread.start()
                thread.join()
            elif self.way == "unraisable":
                Unraisable()
            elif self.way == "print":
                print(EVIL)
                sys.stdout.write(EVIL)
            return {"response": example["question"]}

        def fail(self):
            raise ValueError(EVIL)
"""
NOISY_MANIFEST = """
    schema = 1
    api = "1.0"

    [systems.noisy]
    summary = "Makes noise"
    class = "Noisy"
    options.way = { help = "How" }
"""


@pytest.mark.parametrize(
    "way",
    [
        *(
            "RuntimeWarning",
            "UserWarning",
            "a warning of its own",
            "log",
            "log of an error",
            "thread",
            "unraisable",
        ),
        "print",
    ],
)
def test_what_python_says_in_its_place_is_printable_and_stays_off_the_results(
    site: Any, workplace: Path, asked: Any, way: str
) -> None:
    import os
    import subprocess
    import sys

    site.basics()
    site.add(
        "acme-noisy",
        code=NOISY,
        manifest=NOISY_MANIFEST,
        entry_points={"systems": {"noisy": "acme_noisy:Noisy"}},
    )
    command = [
        sys.executable,
        "-m",
        "context_bench",
        "run",
        "-s",
        f"noisy:way={way}",
        "-d",
        "toy",
        "-q",
        "--format",
        "json",
    ]
    environ = {
        **os.environ,
        "PYTHONPATH": str(site.folder),
        "CONTEXT_BENCH_PLUGINS": ",".join(site.names),
    }
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=workplace, env=environ
    )
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["rows"]) == 2
    assert "\\x1b]0;pwned\\x07\\u202e" in done.stderr
    assert OBEYED.search(done.stderr) is None


def test_a_shell_is_told_how_words_go_on(site: Any, process: Run) -> None:
    done = process(
        _CONTEXT_BENCH_COMPLETE="bash_complete", COMP_WORDS="context-bench re", COMP_CWORD="1"
    )
    assert (done.code, done.err) == (0, "")
    assert set(done.out.split()) >= {"plain,resume", "plain,rescore", "plain,report"}
