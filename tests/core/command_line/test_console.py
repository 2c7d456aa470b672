"""The one way of text to a terminal."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from context_bench.console import (
    Screen,
    echo,
    echo_err,
    escape_control,
    style,
    warn,
    wrap_text,
    write_json,
)

SOURCES = Path(__file__).parents[3] / "core" / "src" / "context_bench"

ATTACKS = {
    "window title": "\x1b]0;pwned\x07",
    "colour": "\x1b[31mred",
    "C1 control": "\x9b31m",
    "carriage return": "good\rbad",
    "backspace": "bad\b\b\bok",
    "right to left": "\u202etxt.exe",
    "isolate": "\u2066x\u2069",
    "line separator": "a\u2028b",
    "zero width": "a\u200bb",
    "tag": "a\U000e0041b",
    "half a character": "\ud83d",
    "mark of a style": "\ufdd00123456789abcdef31mred\ufdd00m",
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
def test_nothing_that_a_terminal_obeys_is_left(
    attack: str, capfd: pytest.CaptureFixture[str]
) -> None:
    echo(f"{attack} and {style(attack, color='red')}")
    echo_err(attack)
    warn(attack)
    echo(wrap_text(attack, attack))
    write_json({attack: attack})
    out, err = capfd.readouterr()
    assert all(letter.isprintable() or letter == "\n" for letter in out + err)


def test_what_cannot_be_printed_is_written_out_and_not_dropped() -> None:
    assert escape_control("a\x1b[2Jb") == "a\\x1b[2Jb"
    assert escape_control("a\nb\tc") == "a\nb\tc"
    assert escape_control("a\nb", lines=False) == "a\\nb"
    assert escape_control("née 例 🎉") == "née 例 🎉"


def test_a_style_of_ours_is_a_colour_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    import click

    told: list[str] = []
    monkeypatch.setattr(click, "echo", lambda text, err: told.append(text))
    echo(f"{style('ok', color='green', bold=True)} \x1b[31m")
    assert told == ["\x1b[1;32mok\x1b[0m \\x1b[31m"]


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
@pytest.mark.parametrize("indent", [0, 2, None])
def test_json_reads_back_as_it_was(
    attack: str, indent: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    write_json([attack, {"range": [0, float("inf")]}], indent=indent)
    assert json.loads(capsys.readouterr().out) == [attack, {"range": [0, None]}]


def test_what_packages_report_is_printable_wherever_it_goes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "".join(
        attack for attack in ATTACKS.values() if attack != "\ud83d"
    )  # half a character is none
    Screen().write(text)
    assert all(letter.isprintable() for letter in capsys.readouterr().out)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    Screen().write(text)
    assert all(letter.isprintable() for letter in capsys.readouterr().out)
    assert not Screen().isatty()


@pytest.mark.parametrize("form", ["json", "table", "none"])
def test_no_run_brings_a_terminal_what_it_obeys(
    context_bench: Any, jsonl: Any, tmp_path: Path, form: str
) -> None:
    pytest.importorskip("context_bench_replay", reason="the run replays answers")
    pytest.importorskip("context_bench_local", reason="the run reads a file")
    pytest.importorskip("context_bench_answer_quality", reason="the rows are scored")
    evil = "\x1b]0;pwned\x07\u202etxt\x9b31m"
    rows = [
        {"id": evil, "answer": evil, "response": evil},
        {"id": "b", "answer": evil, "response": None},
    ]
    asked = [
        "-s",
        "replay",
        "-d",
        f"{evil.replace(';', '')}={jsonl(rows)}",
        "--run-file",
        "r.sqlite",
        "-q",
    ]
    told = [context_bench("run", *asked, "--format", form), context_bench("export", "r.sqlite")]
    told.append(context_bench("report", "r.sqlite", "--format", form))
    for done in told:
        assert all(letter.isprintable() or letter == "\n" for letter in done.out + done.err)
    assert [json.loads(line)["example_id"] for line in told[1].out.splitlines()] == [evil, "b"]
