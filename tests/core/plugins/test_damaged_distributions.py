"""Whoever asks for what a damaged distribution brings is told so: which distribution, what is wrong, what to do."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
INFO = "acme_bad-1.0.dist-info"
POINTS = f"{INFO}/entry_points.txt"
KINDS = (
    "evaluators",
    "systems",
    "datasets",
    "metrics",
    "reporters",
    "hooks",
    "tokenizers",
)
MANIFEST = "\n".join(
    ["schema = 1", 'api = "1.0"', *(f'[{kind}.bad]\nsummary = "x"' for kind in KINDS)]
)
RUN = ("run", "-s", "echo", "-d", "toy", "-q")
DOORS = {
    "--add-evaluator": ("evaluator", (*RUN, "--add-evaluator", "bad")),
    "--evaluators": ("evaluator", (*RUN, "--evaluators", "bad")),
    "--exclude": ("evaluator", (*RUN, "--exclude", "bad")),
    "an option of it": ("evaluator", (*RUN, "--set", "evaluators.bad.x=1")),
    "its id": ("evaluator", (*RUN, "--add-evaluator", "acme-bad/bad")),
    "--system": ("system", ("run", "-s", "bad", "-d", "toy", "-q")),
    "--dataset": ("dataset", ("run", "-s", "echo", "-d", "bad", "-q")),
    "--metrics": ("metric", (*RUN, "--metrics", "bad")),
    "--add-metric": ("metric", (*RUN, "--add-metric", "bad")),
    "--extension": ("extension", (*RUN, "--extension", "bad")),
    "--format": ("reporter", (*RUN, "--format", "bad")),
    "evaluators show": ("evaluator", ("evaluators", "show", "bad")),
    "datasets show": ("dataset", ("datasets", "show", "bad")),
}


def _no_text(place: Path) -> str:
    place.write_bytes(place.read_bytes() + b"\xff")
    return "its entry_points.txt is not read: it is no text in UTF-8"


def _fifo(place: Path) -> str:
    place.unlink()
    os.mkfifo(place)
    return "its entry_points.txt is not read: it is no regular file"


def _gone(place: Path) -> str:
    place.unlink()
    return "its entry_points.txt is missing or empty"


def _empty(place: Path) -> str:
    place.write_text("")
    return "its entry_points.txt is missing or empty"


def _torn(place: Path) -> str:
    place.write_text(place.read_text() + "\nhalf a li")
    return "its entry_points.txt is damaged: 'half a li' in [context_bench."


DAMAGES = [_no_text, _fifo, _gone, _empty, _torn]
DAMAGE = pytest.mark.parametrize(
    "damage", DAMAGES, ids=[damage.__name__.strip("_") for damage in DAMAGES]
)


@pytest.fixture
def crowd(site: Any) -> Any:
    site.basics()
    points = {kind: {"bad": "acme_bad:Bad"} for kind in KINDS}
    site.add(
        "acme-bad",
        code="raise BaseException('it was imported')",
        manifest=MANIFEST,
        entry_points=points,
    )
    return site


CASES = [(damage, *DOORS["--add-evaluator"]) for damage in DAMAGES] + [
    (_no_text, *door) for door in DOORS.values()
]


@pytest.mark.parametrize(
    ("damage", "noun", "arguments"), CASES, ids=[*(d.__name__ for d in DAMAGES), *DOORS]
)
def test_the_error_names_the_distribution_its_state_and_the_remedy(
    damage: Callable[[Path], str],
    noun: str,
    arguments: tuple[str, ...],
    crowd: Any,
    context_bench: Run,
) -> None:
    reason = damage(crowd.folder / POINTS)
    done = context_bench(*arguments)
    assert done.code == 2
    [error] = [line for line in done.err.splitlines() if line.startswith("Error")]
    asked = "acme-bad/bad" if "acme-bad/bad" in arguments else "bad"
    assert error.startswith(f"Error: No {noun} is called {asked!r}. ")
    article = "an" if noun == "evaluator" else "a"
    assert f"acme-bad brings {article} {noun} of this name, but is invalid: {reason}" in error
    assert (
        "Install it again (`pip install --force-reinstall acme-bad`), or uninstall it: `pip uninstall"
        in error
    )


@DAMAGE
def test_a_misspelt_name_of_it_is_suggested(
    damage: Callable[[Path], str], crowd: Any, context_bench: Run
) -> None:
    reason = damage(crowd.folder / POINTS)
    done = context_bench(*RUN, "--add-evaluator", "badd")
    assert f"acme-bad brings 'bad', but is invalid: {reason}" in done.words


@DAMAGE
def test_another_name_says_nothing_of_it(
    damage: Callable[[Path], str], crowd: Any, context_bench: Run
) -> None:
    damage(crowd.folder / POINTS)
    done = context_bench(*RUN, "--add-evaluator", "exat")
    [error] = [line for line in done.err.splitlines() if line.startswith("Error")]
    assert "Did you mean 'exact'?" in error
    assert "acme-bad" not in error


def test_a_manifest_alone_says_what_it_brings(crowd: Any, context_bench: Run) -> None:
    """The entry points are lost; what the manifest describes after a line that is no TOML counts too."""
    _fifo(crowd.folder / POINTS)
    (crowd.folder / "acme_bad" / "context_bench_plugin.toml").write_bytes(
        b"= \xff\n[ evaluators . 'bad' ]\n"
    )
    assert (
        "acme-bad brings an evaluator of this name"
        in context_bench(*RUN, "--add-evaluator", "bad").words
    )
    assert "acme-bad" not in context_bench(*RUN, "--metrics", "bad").words.partition("Error: ")[2]


def test_what_nothing_readable_is_left_of_may_be_anything(crowd: Any, context_bench: Run) -> None:
    _fifo(crowd.folder / POINTS)
    (crowd.folder / "acme_bad" / "context_bench_plugin.toml").unlink()
    done = context_bench(*RUN, "--add-evaluator", "whatever")
    assert (
        "Nobody can tell what acme-bad brings, which is invalid: its entry_points.txt is not read"
        in done.words
    )


def test_a_package_that_shares_code_and_brings_no_component_is_not_damaged(
    site: Any, context_bench: Run
) -> None:
    site.basics()
    site.add("acme-shared", code="", manifest='schema = 1\napi = "1.0"\n')
    assert "acme-shared" not in context_bench(*RUN, "--add-evaluator", "bad").words
    (site.folder / "acme_shared-1.0.dist-info" / "entry_points.txt").unlink(missing_ok=True)
    assert "acme-shared" not in context_bench(*RUN, "--add-evaluator", "bad").words


def test_a_manifest_outside_of_its_folder_is_not_read(
    crowd: Any, context_bench: Run, tmp_path: Path
) -> None:
    """RECORD is a file of somebody else's: a path in it that leads elsewhere is not followed."""
    _fifo(crowd.folder / POINTS)
    (crowd.folder / "acme_bad" / "context_bench_plugin.toml").unlink()
    (tmp_path / "context_bench_plugin.toml").write_text("[evaluators.bad]\n")
    (crowd.folder / INFO / "RECORD").write_text(
        f"../context_bench_plugin.toml,,\n{tmp_path}/context_bench_plugin.toml,,\n"
    )
    assert (
        "Nobody can tell what acme-bad brings"
        in context_bench(*RUN, "--add-evaluator", "bad").words
    )
