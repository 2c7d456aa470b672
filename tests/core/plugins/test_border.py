"""One border around each distribution: whatever its files hold is its own state with a reason, and hides nobody else."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

Run = Callable[..., Any]
INFO = "acme_odd-1.0.dist-info"


@frozen
class Odd:
    """A file of the distribution ``acme-odd`` that is not what it should be.

    Attributes:
        path: The file, from the folder of the site.
        change: Makes it so.
        id: What is listed in place of ``acme-odd/odd``, or that.
        state: The state that it is in.
        reason: What its reason says.
    """

    path: str
    change: Callable[[Path], object]
    reason: str
    id: str = "acme-odd/odd"
    state: str = "invalid"


def _as_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _as_link(target: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        path.unlink()
        path.symlink_to(target)

    return change


def _as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _with(text: str | bytes) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        path.write_bytes(path.read_bytes() + (text if isinstance(text, bytes) else text.encode()))

    return change


def _requiring(requirement: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(
        f"Metadata-Version: 2.1\nName: acme-odd\nRequires-Dist: {requirement}\n"
    )


MANIFEST, POINTS = "acme_odd/context_bench_plugin.toml", f"{INFO}/entry_points.txt"
WHOLE = "acme-odd/acme-odd"
ODD = {
    "an integer of 5,000 digits": Odd(MANIFEST, _with(f"x = {'9' * 5000}\n"), "no valid TOML"),
    "an integer of 5,000 hexadecimal digits": Odd(
        MANIFEST, _with(f"x = 0x{'f' * 5000}\n"), "at most 64 bits"
    ),
    "tables in tables": Odd(MANIFEST, _with(f"x = {'[' * 5000}\n"), "no valid TOML"),
    "tables in 100 tables": Odd(
        MANIFEST, _with(f"x = {'{a = ' * 100}1{'}' * 100}\n"), "nested more than 32 times"
    ),
    "a key of 400,000 parts": Odd(MANIFEST, _with("a." * 400_000 + "a = 1\n"), "nested too deeply"),
    "many keys below a long one": Odd(
        MANIFEST,
        _with("[" + "a." * 2000 + "a]\n" + "".join(f"k{n}=1\n" for n in range(90_000))),
        "nested too deeply",
    ),
    "a manifest that is a FIFO": Odd(MANIFEST, _as_fifo, "unreadable: it is no regular file"),
    "a manifest that is /dev/zero": Odd(
        MANIFEST, _as_link("/dev/zero"), "unreadable: it is no regular file"
    ),
    "a manifest that is a folder": Odd(MANIFEST, _as_folder, "unreadable: it is no regular file"),
    "a manifest of 10 MB": Odd(
        MANIFEST, _with(b"#" * 10_000_000), "unreadable: it is larger than 1 MiB"
    ),
    "a manifest that is no text": Odd(MANIFEST, _with(b"\xff"), "no valid TOML"),
    "entry points that are no text": Odd(
        POINTS, _with(b"\xff"), "its entry_points.txt is not read: it is no text in UTF-8", WHOLE
    ),
    "entry points in UTF-16": Odd(
        POINTS,
        lambda path: path.write_bytes(path.read_text().encode("utf-16")),
        "its entry_points.txt is not read: it is no text in UTF-8",
        WHOLE,
    ),
    "entry points that are a FIFO": Odd(
        POINTS, _as_fifo, "its entry_points.txt is not read: it is no regular file", WHOLE
    ),
    "entry points that are /dev/zero": Odd(
        POINTS,
        _as_link("/dev/zero"),
        "its entry_points.txt is not read: it is no regular file",
        WHOLE,
    ),
    "entry points of 10 MB": Odd(
        POINTS,
        _with(b"\n" * 10_000_000),
        "its entry_points.txt is not read: it is larger than 1 MiB",
        WHOLE,
    ),
    "an entry point without a value": Odd(
        POINTS, _with("\nodd\n"), "its entry_points.txt is damaged: 'odd'", WHOLE
    ),
    "an entry point that is no name": Odd(
        POINTS,
        lambda path: path.write_text("[context_bench.evaluators]\nodd = acme_odd:$(touch x)\n"),
        "its entry point 'acme_odd:$(touch x)' is no module:attribute",
    ),
    "two thousand entry points": Odd(
        POINTS,
        lambda path: path.write_text(
            "[context_bench.evaluators]\n"
            + "".join(f"a{number} = b{number}:C\n" for number in range(2000))
        ),
        "it has more than 1000 entry points",
        WHOLE,
    ),
    "a requirement that is a command": Odd(
        f"{INFO}/METADATA",
        _requiring("$(x)"),
        "its METADATA requires '$(x)', which is no name of a package",
    ),
    "a requirement that ends in a command": Odd(
        f"{INFO}/METADATA", _requiring("six;`x`"), "it requires six", state="ok"
    ),
    "a requirement with a pipe": Odd(
        f"{INFO}/METADATA",
        _requiring("six|sh"),
        "its METADATA requires 'six|sh', which is no name of a package",
    ),
    "metadata that is a FIFO": Odd(
        f"{INFO}/METADATA", _as_fifo, "its METADATA is not read: it is no regular file"
    ),
    "a record that is a FIFO": Odd(
        f"{INFO}/RECORD", _as_fifo, "its RECORD is not read: it is no regular file", WHOLE
    ),
    "an origin that is no JSON": Odd(
        f"{INFO}/direct_url.json",
        lambda path: path.write_text('{"editable"' + "[" * 90_000),
        "",
        state="ok",
    ),
}
CASES = pytest.mark.parametrize("odd", ODD.values(), ids=ODD.keys())


@pytest.fixture
def crowd(site: Any) -> Any:
    site.basics()
    site.evaluator("acme-odd", "odd", code="raise BaseException('it was imported')")
    return site


@CASES
def test_it_is_the_state_of_that_distribution_and_of_no_other(
    odd: Odd, crowd: Any, context_bench: Run
) -> None:
    odd.change(crowd.folder / odd.path)
    done = context_bench("plugins", "list", "--json")
    assert done.code == 0, done.err
    told = {entry["id"]: entry for entry in json.loads(done.out)}
    assert told["bench-basics/exact"]["state"] == "ok"
    assert told[odd.id]["state"] == odd.state
    if odd.state != "ok":
        assert odd.reason in told[odd.id]["reason"]
        assert told[odd.id]["remedy"]
        listed = context_bench("plugins", "list")
        assert (listed.code, odd.reason in listed.words) == (0, True)
        assert odd.reason in context_bench("plugins", "show", "acme-odd").words


@CASES
def test_everything_else_goes_on(odd: Odd, crowd: Any, context_bench: Run) -> None:
    odd.change(crowd.folder / odd.path)
    for arguments in (("--help",), ("run", "--help")):
        told = context_bench(*arguments)
        assert (told.code, told.err) == (0, "")
    explained = context_bench("explain", "wiring", "-d", "toy")
    assert explained.code == 0
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "--format", "json")
    assert json.loads(done.out)["rows"][0]["scores"] == {"exact": 1.0}
    warnings = [line for line in done.err.splitlines() if line.startswith("Warning")]
    if odd.state == "ok":
        assert warnings == []
        return
    [warning] = warnings
    assert f"{odd.id} is {odd.state} and unused" in warning
    assert odd.reason in warning
    if odd.id != WHOLE:
        assert f"{odd.id} [{odd.state}]" in explained.out
        assert odd.reason in explained.words


@CASES
def test_a_run_that_asks_for_it_says_what_is_wrong(
    odd: Odd, crowd: Any, context_bench: Run, asked: Callable[[], int]
) -> None:
    """Nothing is asked of a system, and the words are those of the list; the package is imported where it is whole only."""
    odd.change(crowd.folder / odd.path)
    done = context_bench("run", "-s", "echo", "-d", "toy", "--add-evaluator", "odd", "-q")
    assert (done.code, asked()) == (2, 0)
    assert "Traceback" not in done.err
    [error] = [line for line in done.err.splitlines() if line.startswith("Error")]
    if odd.id == WHOLE:  # the readable part of its files says that it is here
        assert error.startswith("Error: Unknown evaluator 'odd'. ")
        assert (
            f" acme-odd brings an evaluator of this name, but is {odd.state}: {odd.reason}" in error
        )
        assert (
            " Install it again (`pip install --force-reinstall acme-odd`), or uninstall it: `pip "
            in error
        )
        assert error.endswith(" `context-bench plugins list` shows what is installed.")
    elif odd.state == "ok":
        assert error.startswith(
            "Error: Evaluator acme-odd/odd has failed: loading it raised BaseException: it was imported. "
        )
    else:
        assert error.startswith(f"Error: Evaluator acme-odd/odd is {odd.state}: ")
        assert odd.reason in error
        assert re.search(
            r"(, or uninstall it\.|, or uninstall it: `pip uninstall acme-odd`\.)$", error
        )
        assert "it was imported" not in done.err


def test_whatever_else_goes_wrong_there_is_told_too(
    crowd: Any, context_bench: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from context_bench.plugins import discovery

    def torn(package: str, *more: Any) -> Any:
        if package == "acme_odd":
            raise ZeroDivisionError("nobody thought of this")
        return look_at(package, *more)

    look_at = discovery._look_at
    monkeypatch.setattr(discovery, "_look_at", torn)
    told = {
        entry["id"]: entry for entry in json.loads(context_bench("plugins", "list", "--json").out)
    }
    assert told[WHOLE]["reason"] == "looking at it raised ZeroDivisionError: nobody thought of this"
    assert told["bench-basics/exact"]["state"] == "ok"


def test_nobody_claims_the_package_of_another(crowd: Any, context_bench: Run) -> None:
    crowd.evaluator("acme-real", "real", wire="[{ always = true }]")
    crowd.add(
        "acme-thief",
        entry_points={"evaluators": {"real": "acme_real:Evaluator", "mine": "acme_real:Evaluator"}},
    )
    told = {
        entry["id"]: entry for entry in json.loads(context_bench("plugins", "list", "--json").out)
    }
    assert told["acme-real/real"]["state"] == "ok"
    for name in ("real", "mine"):
        assert told[f"acme-thief/{name}"]["state"] == "conflict"
        assert "is none of its files" in told[f"acme-thief/{name}"]["reason"]
    done = context_bench(
        "run", "-s", "echo", "-d", "toy", "-q", "--format", "json", "-p", "no:acme-odd"
    )
    assert json.loads(done.out)["rows"][0]["scores"] == {"exact": 1.0, "real": 1.0}


def test_a_manifest_that_somebody_else_left_in_a_package_is_not_read(
    crowd: Any, context_bench: Run
) -> None:
    package = crowd.evaluator("acme-bare", "bare", manifest=None)
    (package / "context_bench_plugin.toml").write_text(
        'schema = 1\napi = "1.0"\n[evaluators.bare]\nsummary = "x"\nclass = "Evaluator"\nprimary = "bare"\n'
        'version = "1"\nwire = [{ always = true }]\nscores.bare = {}\n'
    )
    [told] = json.loads(context_bench("plugins", "show", "acme-bare", "--json").out)
    assert (told["state"], told["manifest"]) == ("ok", None)
    assert "is none of the files that it was installed with, and is not read" in told["warnings"][0]
    done = context_bench(
        "run", "-s", "echo", "-d", "toy", "-q", "--format", "json", "-p", "no:acme-odd"
    )
    assert json.loads(done.out)["rows"][0]["scores"] == {"exact": 1.0}


def test_a_package_that_another_folder_hides_is_a_conflict(
    crowd: Any, process: Run, tmp_path: Path
) -> None:
    hiding = tmp_path / "hiding" / "acme_odd"
    hiding.mkdir(parents=True)
    (hiding / "__init__.py").write_text("raise BaseException('the wrong one was imported')")
    path = os.pathsep.join(map(str, [hiding.parent, crowd.folder]))
    [told] = json.loads(process("plugins", "show", "acme-odd", "--json", path=path).out)
    assert told["state"] == "conflict"
    assert f"in {hiding}, is none of its files" in told["reason"]
    assert f"`pip uninstall acme-odd`), or take {hiding} off Python's path" in told["remedy"]


MISSPELT = {
    "the environment": ("CONTEXT_BENCH_DISABLE_PLUGINS", "exat", "the environment variable"),
    "the project file": (None, 'disable = ["exat"]', "plugins.disable in context-bench.toml"),
    "its allow-list": (None, 'allow = ["exat"]', "plugins.allow in context-bench.toml"),
    "a preference": (
        None,
        'prefer = { same = "bench-basic" }',
        "plugins.prefer in context-bench.toml",
    ),
}


@pytest.mark.parametrize(("variable", "value", "where"), MISSPELT.values(), ids=MISSPELT.keys())
def test_a_misspelt_name_is_an_error_with_a_suggestion(
    variable: str | None,
    value: str,
    where: str,
    crowd: Any,
    context_bench: Run,
    workplace: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if variable is None:
        (workplace / "context-bench.toml").write_text(f"[plugins]\n{value}\n")
    else:
        monkeypatch.setenv(variable, value)
    for command in (
        ("plugins", "list"),
        ("run", "-s", "echo", "-d", "toy"),
        ("explain", "wiring", "-d", "toy"),
    ):
        done = context_bench(*command)
        assert done.code == 2
        assert "Did you mean " in done.words
        assert f"It stands in {where}" in done.words
    assert context_bench("--help").code == 0


def test_a_plugin_of_ours_that_is_not_installed_here_may_be_switched_off(
    crowd: Any, context_bench: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from context_bench.plugins import discovery

    installed = discovery.installed_distributions
    monkeypatch.setattr(
        discovery,
        "installed_distributions",
        lambda: {
            name: found for name, found in installed().items() if name != "context-bench-rouge"
        },
    )
    monkeypatch.setenv("CONTEXT_BENCH_DISABLE_PLUGINS", "context-bench-rouge,rouge")
    assert context_bench("plugins", "list").code == 0
