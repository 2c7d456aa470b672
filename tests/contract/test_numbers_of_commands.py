"""No command takes a number that is none: every float of every command that is installed, of core and of packages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest

from context_bench.cli import execute
from context_bench.cli.commands import app

pytestmark = pytest.mark.one_python

Place = tuple[tuple[str, ...], click.Command, click.Option]


def numbers_of(
    command: click.Command, context: click.Context, words: Sequence[str] = ()
) -> Iterator[Place]:
    """Yield each option of a command, and of the commands below it, that takes a number, with the words of its command."""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            with click.Context(below, parent=context, info_name=name) as inner:
                yield from numbers_of(below, inner, (*words, name))
        return
    for option in command.get_params(context):
        if isinstance(option, click.Option) and (
            isinstance(option.type, click.types.FloatParamType) or option.opts[0] == "--margin"
        ):
            yield tuple(words), command, option


def arguments(command: click.Command, but: click.Option, path: Path) -> list[str]:
    """Return what a command cannot do without, one option left out."""
    found = []
    for one in command.params:
        if one.required and one is not but:
            found += [str(path)] if isinstance(one, click.Argument) else [one.opts[0], "0.1"]
    return found


@pytest.fixture(scope="module")
def places() -> list[Place]:
    with click.Context(app, obj=[]) as context:
        return list(numbers_of(app, context))


@pytest.mark.parametrize("given", ["nan", "inf", "-inf", "1e400"])
def test_a_number_that_is_none_ends_every_command_with_one_line(
    places: list[Place],
    given: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "run.sqlite"
    path.touch()
    taken = {}
    for words, command, option in places:
        code = execute([*words, *arguments(command, option, path), f"{option.opts[0]}={given}"])
        said = capsys.readouterr().err.strip().splitlines()
        if code != 2 or not said[-1].startswith("Error: ") or option.opts[0] not in said[-1]:
            taken[f"{' '.join(words)} {option.opts[0]}"] = code, said[-1:]
    assert {words for words, _, _ in places} >= {
        ("report",),
        ("doctor",),
        ("compare",),
        ("plan",),
        ("controls",),
    }
    assert taken == {}


@pytest.mark.parametrize(
    "words",
    [["doctor", "--timeout=1e300"], ["plugins", "check", "--time-limit=1e300"]],
    ids=["doctor", "plugins-check"],
)
def test_a_time_that_no_clock_can_hold_is_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(words) == 2
    assert "is not in the range 0.1<=x<=86400" in capsys.readouterr().err
