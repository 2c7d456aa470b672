"""Mutated manifests: whatever stands in them, each distribution is listed, nothing is imported, nothing reaches a terminal raw.

One Python takes 10,000 (about 20 s on one core), the others a seeded share of them.
"""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path
from random import Random

import pytest

from context_bench.cli import execute
from context_bench.cli.listed import listing
from context_bench.console import echo, write_json
from context_bench.plugins.catalog import STATES, describe
from context_bench.plugins.component_metadata import KINDS
from context_bench.plugins.discovery import discover
from context_bench.plugins.manifest import parse_manifest
from context_bench.plugins.settings import PluginSettings

TOGETHER = 100
COMMANDS = (
    ("plugins", "list"),
    ("plugins", "list", "--fields", "name,summary,reason,wired-to"),
    ("--help",),
    ("run", "--help"),
    ("report", "--help"),
    ("systems", "list"),
    ("datasets", "list"),
    ("evaluators", "list"),
    ("metrics", "list"),
    ("explain", "wiring", "-d", "anything"),
    ("--version", "-v"),
)
"""What is asked of some of them; each of them is listed and described."""
EVERY_KIND = """
schema = 1
api = "1.0"
[systems.one]
summary = "One"
class = "One"
options.key = { help = "Its key", choices = ["a", "b"], default = "a" }
[datasets.one]
summary = "One"
class = "one"
tags = ["qa"]
files = [".one"]
[evaluators.one]
summary = "One"
class = "One"
primary = "one"
version = "1"
needs = { original = ["answer|answers"] }
wire = [{ tags = ["qa"] }, { datasets = ["one"] }]
scores.one = { range = [0, 1], better = "higher" }
options.way = { flag = "--way-of-one", help = "How", env = "WAY_OF_ONE" }
[metrics.one]
summary = "One"
default = true
values.one = { heading = "one", format = "percent" }
[reporters.one]
summary = "One"
files = [".one"]
[tokenizers.one]
summary = "One"
[commands.one]
summary = "One"
parent = "plugins"
[hooks.one]
summary = "One"
class = "One"
implements = ["row_finished", "admit_call"]
options.most = { type = "int", flag = "--most-of-one", key = "run.most-of-one", help = "How many" }
[flags.one]
summary = "One"
options.shared = { flag = "--shared-of-one", help = "Shared" }
"""
PLUGINS = Path(__file__).resolve().parents[3] / "plugins"
CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)
TOKENS = [
    *(
        "\x1b]0;pwned\x07",
        "\x1b[2J",
        "\x00",
        "\x9b31m",
        "\u202e",
        "\ufeff",
        "\u2028",
        "\r",
        "\x7f",
        "\udcff",
    ),
    *(
        '"',
        "'",
        '"""',
        "[",
        "]",
        "[[",
        "]]",
        "{",
        "}",
        "=",
        "#",
        ".",
        ",",
        "\\",
        "\n",
        "\\u001b",
        "\\u202E",
        "\\U00110000",
    ),
    *(
        "nan",
        "inf",
        "-inf",
        "true",
        "1979-05-27T07:32:00Z",
        "07:32:00",
        "9" * 25,
        "9" * 5000,
        "0x" + "f" * 200,
        "1e999",
    ),
    *(
        "[]",
        "{}",
        '""',
        "-1",
        "0.5",
        '["\\u001b[31m"]',
        "a.b.c",
        "[evaluators]",
        "[evaluators.x]",
        "[hooks.x]",
        "[x]",
    ),
    *(
        "schema = 2",
        'api = "9.9"',
        "wire = [{ always = true }]",
        "definition = {}",
        'option_groups = ["judge"]',
        'extra = "$(x)"',
    ),
]


def mutated(source: str, random: Random) -> bytes:
    """Return a manifest with one to six changes: of characters, tokens, lines and bytes."""
    text = source
    for _ in range(random.randint(1, 6)):
        start = random.randrange(len(text) + 1)
        end = min(len(text), start + random.choice((0, 0, 1, 4, 30)))
        change = random.randrange(5)
        if change == 0:
            text = text[:start] + random.choice(TOKENS) + text[end:]
        elif change == 1:
            values = [found.span(1) for found in re.finditer(r"= (.+)$", text, re.MULTILINE)] or [
                (start, end)
            ]
            low, high = random.choice(values)
            text = text[:low] + random.choice(TOKENS) + text[high:]
        elif change == 2:
            lines = text.split("\n")
            lines.insert(random.randrange(len(lines)), random.choice(lines))
            text = "\n".join(lines)
        elif change == 3:
            text = text[:start] + text[end:]
        else:
            text = text[:start] + chr(random.randrange(0x250)) + text[end:]
    raw = bytearray(text.encode("utf-8", "surrogateescape" if random.random() < 0.5 else "replace"))
    if raw and random.random() < 0.1:
        raw[random.randrange(len(raw))] = random.randrange(256)
    return bytes(raw)


@cache
def described(source: str) -> tuple[tuple[str, str], ...]:
    """Return the components of a manifest that nobody has changed yet."""
    return tuple(parse_manifest(source.encode()).components)


def install(site: Path, number: int, source: str, random: Random) -> str:
    """Install a package with a mutated manifest; its components get names and entry points of their own."""
    name, points = f"mutant-{number}", ""
    for kind, short in described(source):
        for mark in "].":
            source = source.replace(f"[{kind}.{short}{mark}", f"[{kind}.{short}-{number}{mark}")
        points += f"[context_bench.{kind}]\n{short}-{number} = mutant_{number}:Thing\n"
    package = site / f"mutant_{number}"
    package.mkdir()
    (package / "__init__.py").write_text(f"raise BaseException('{name} was imported')\n")
    (package / "context_bench_plugin.toml").write_bytes(mutated(source, random))
    info = site / f"mutant_{number}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)
    return name


@pytest.mark.parametrize("mutations", [300, pytest.param(10_000, marks=pytest.mark.one_python)])
def test_none_breaks_the_list(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    mutations: int,
) -> None:
    sources = [
        path.read_text(encoding="utf-8")
        for path in sorted(PLUGINS.glob("*/src/*/context_bench_plugin.toml"))
    ]
    sources = [
        source
        for source in sources
        if len(source) < 4000 and parse_manifest(source.encode()).components
    ]
    assert len(sources) > 20
    sources += [EVERY_KIND] * (len(sources) // 4)
    assert {
        kind for source in sources for kind, _ in parse_manifest(source.encode()).components
    } == set(KINDS)
    monkeypatch.chdir(tmp_path)
    for arguments in (*COMMANDS, ("plugins", "show", "context-bench")):
        assert (
            execute([*arguments]) == 0
        )  # what they import is not there any more when the path is another
    capsys.readouterr()
    random = Random(mutations)
    seen: dict[str, int] = {}
    for start in range(0, mutations, TOGETHER):
        site = tmp_path / str(start)
        site.mkdir()
        names = {
            install(site, number, random.choice(sources), random)
            for number in range(start, start + TOGETHER)
        }
        with monkeypatch.context() as patch:
            patch.setattr(sys, "path", [str(site)])
            catalog = discover(PluginSettings())
            assert names <= {component.distribution.name for component in catalog}
            assert {component.state for component in catalog} <= set(STATES)
            for component in catalog:
                seen[component.state] = seen.get(component.state, 0) + 1
            echo("\n".join(listing(catalog, list(catalog))))
            told = capsys.readouterr().out
            assert CONTROL.search(told) is None
            write_json([describe(component) for component in catalog])
            written = capsys.readouterr().out
            assert CONTROL.search(written) is None
            assert names <= {entry["distribution"] for entry in json.loads(written)}
            if start % 1000 == 0:
                for arguments in (
                    *COMMANDS,
                    *(("plugins", "show", name) for name in sorted(names)[:5]),
                ):
                    assert execute([*arguments]) in (0, 2)
                    told = capsys.readouterr()
                    assert CONTROL.search(told.out + told.err) is None, arguments
    assert not [module for module in sys.modules if module.startswith("mutant_")]
    assert seen["invalid"] > mutations // 4
    assert seen["ok"] > mutations // 20, seen
