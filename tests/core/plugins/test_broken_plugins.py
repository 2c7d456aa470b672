"""Everything that can be wrong with a plugin: what is told of it, and whom it keeps from working."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from context_bench.plugins import discovery
from context_bench.plugins.remedies import install_line

Run = Callable[..., Any]
SPECIAL = '[{ datasets = ["special"] }]'


SAID = {
    "invalid": "is invalid",
    "incompatible": "is incompatible",
    "conflict": "is in conflict",
    "missing-dependency": "is missing a dependency",
    "failed": "has failed",
}
"""How a sentence says each state."""


@frozen
class Broken:
    """A broken plugin: how it gets installed, and what is told of its evaluator ``broken``.

    Attributes:
        install: Installs the distribution ``acme-broken``.
        state: State that discovery finds it in.
        reason: What its reason says.
        remedy: What its remedy says.
        wired: Whether its rules can be read, so that a run on the dataset ``special`` needs it.
    """

    install: Callable[[Any], Any]
    state: str
    reason: str
    remedy: str
    wired: bool = True


def _with_manifest(change: Callable[[str], str]) -> Callable[[Any], None]:
    def install(site: Any) -> None:
        package = site.evaluator("acme-broken", "broken", wire=SPECIAL)
        file = package / "context_bench_plugin.toml"
        file.write_text(change(file.read_text()))

    return install


def _without_its_package(site: Any) -> None:
    package = site.evaluator("acme-broken", "broken", wire=SPECIAL)
    for file in package.iterdir():
        file.unlink()
    package.rmdir()


BROKEN = {
    "malformed TOML": Broken(
        _with_manifest(lambda text: text + "\n[evaluators.broken\n"),
        "invalid",
        "not valid TOML",
        "context-bench plugins check acme-broken",
        wired=False,
    ),
    "a fault in its manifest": Broken(
        _with_manifest(lambda text: text.replace('version = "1"', "version = 1")),
        "invalid",
        "evaluators.broken.version: expected a text, got a whole number",
        "context-bench plugins check acme-broken",
    ),
    "API 2.0": Broken(
        _with_manifest(lambda text: text.replace('api = "1.0"', 'api = "2.0"')),
        "incompatible",
        "it was written for plugin API 2.0, this version has 1.0",
        "upgrade context-bench, or leave it out with --exclude broken",
    ),
    "API 1.7": Broken(
        _with_manifest(lambda text: text.replace('api = "1.0"', 'api = "1.7"')),
        "incompatible",
        "it needs plugin API 1.7, this version has only 1.0",
        "upgrade context-bench, or leave it out with --exclude broken",
    ),
    "API 0.9": Broken(
        _with_manifest(lambda text: text.replace('api = "1.0"', 'api = "0.9"')),
        "incompatible",
        "it was written for plugin API 0.9, this version has 1.0",
        "install another acme-broken",
    ),
    "manifest format 2": Broken(
        _with_manifest(lambda text: text.replace("schema = 1", "schema = 2")),
        "incompatible",
        "its manifest has format 2, this version reads 1",
        "upgrade context-bench",
    ),
    "a missing dependency that it declares": Broken(
        lambda site: site.evaluator(
            "acme-broken",
            "broken",
            wire=SPECIAL,
            requires=("nowhere-to-be-found[all]>=2", 'not-here ; extra == "x"'),
        ),
        "missing-dependency",
        "it requires nowhere-to-be-found, which is not installed",
        "`pip install nowhere-to-be-found`",
    ),
    "a package that is not there": Broken(
        _without_its_package,
        "invalid",
        "its entry point acme_broken:Evaluator names the package acme_broken, which does not exist",
        "reinstall acme-broken",
        wired=False,
    ),
    "no entry point for what its manifest describes": Broken(
        lambda site: site.evaluator(
            "acme-broken",
            "broken",
            wire=SPECIAL,
            entry_points={"evaluators": {"other": "acme_broken:Evaluator"}},
        ),
        "invalid",
        "its manifest describes it, but no entry point in context_bench.evaluators names it",
        "add the entry point to acme-broken",
    ),
}
CASES = pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())


@pytest.fixture
def call(site: Any, process: Run) -> Run:
    other = site.folder.parent / "other"
    return lambda *arguments, **more: process(
        *arguments, path=os.pathsep.join(map(str, [site.folder, other])), **more
    )


@pytest.fixture
def here(site: Any, context_bench: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """As ``call``, in this process."""
    monkeypatch.setattr(
        sys, "path", [str(site.folder), str(site.folder.parent / "other"), *sys.path]
    )
    return context_bench


@CASES
def test_the_commands_that_look_work_and_name_state_and_remedy(
    broken: Broken, site: Any, here: Run
) -> None:
    site.basics()
    broken.install(site)
    listed = here("plugins", "list", "-v")
    assert listed.code == 0
    assert f"! broken {broken.state} acme-broken" in listed.words
    assert broken.reason in listed.words
    assert broken.remedy.lower() in listed.words.lower()
    told = {entry["id"]: entry for entry in json.loads(here("plugins", "list", "--json").out)}
    assert told["acme-broken/broken"]["state"] == broken.state
    assert told["bench-basics/exact"]["state"] == "ok"
    shown = here("plugins", "show", "acme-broken")
    assert shown.code == 0
    assert f" state {broken.state} " in shown.words
    assert broken.reason in shown.words
    assert here("--help").code == 0
    explained = here("explain", "wiring", "--dataset", "toy")
    assert explained.code == 0
    assert f"acme-broken/broken [{broken.state}]" in explained.out
    assert broken.reason in explained.words
    assert broken.remedy.lower() in explained.words.lower()


@CASES
def test_a_run_that_does_not_need_it_goes_on_with_one_line_of_warning(
    broken: Broken, site: Any, here: Run, asked: Callable[[], int]
) -> None:
    site.basics()
    broken.install(site)
    done = here("run", "-s", "echo", "-d", "toy", "-q")
    assert done.code == 0
    assert asked() == 2
    [warning] = [line for line in done.err.splitlines() if line.startswith("Warning")]
    assert f"{SAID[broken.state]} and unused" in warning
    assert broken.reason in warning
    assert broken.remedy.lower() in warning.lower()


@CASES
def test_a_run_that_asks_for_it_stops_before_the_first_example(
    broken: Broken, site: Any, here: Run, asked: Callable[[], int]
) -> None:
    site.basics()
    broken.install(site)
    done = here("run", "-s", "echo", "-d", "toy", "--add-evaluator", "broken", "-q")
    assert (done.code, asked()) == (2, 0)
    assert f"Evaluator acme-broken/broken {SAID[broken.state]}: " in done.err
    assert broken.remedy.lower() in done.words.lower()
    assert "and unused" not in done.words


@CASES
def test_a_run_on_a_dataset_that_its_rules_name_stops_before_the_first_example(
    broken: Broken, site: Any, here: Run, asked: Callable[[], int]
) -> None:
    site.basics()
    broken.install(site)
    done = here("run", "-s", "echo", "-d", "special=toy", "-q")
    if broken.wired:
        assert (done.code, asked()) == (2, 0)
        assert broken.remedy.lower() in done.words.lower()
        assert "and unused" not in done.words
        assert here("explain", "wiring", "-d", "special").code == 2
        assert here("run", "-s", "echo", "-d", "special=toy", "-q", "--exclude", "broken").code == 0
    else:  # nobody can know its rules
        assert (done.code, asked()) == (0, 2)


def test_a_label_first_met_in_the_stream_stops_the_run_resumably(
    site: Any, call: Run, asked: Callable[[], int], workplace: Path
) -> None:
    site.basics()
    BROKEN["API 2.0"].install(site)
    (workplace / "rows.labels").write_text("plain plain special plain")
    done = call("run", "-s", "echo", "-d", "rows.labels", "-q", "--run-file", "run.sqlite")
    assert (done.code, asked()) == (2, 2)
    assert "acme-broken/broken is incompatible" in done.err
    assert "context-bench resume run.sqlite" in done.err
    done = call("resume", "run.sqlite", "-q", "-p", "no:broken")
    assert (done.code, asked()) == (0, 4), done.err


def test_one_that_raises_at_import_is_found_when_it_is_loaded(
    site: Any, context_bench: Run, asked: Callable[[], int]
) -> None:
    site.basics()
    site.evaluator("acme-broken", "broken", wire=SPECIAL, code="raise RuntimeError('out of order')")
    listed = context_bench("plugins", "list", "-v")
    assert (listed.code, "out of order" in listed.words) == (0, False)
    assert context_bench("--help").code == 0
    assert context_bench("explain", "wiring", "-d", "special").code == 0
    checked = context_bench("plugins", "check", "acme-broken")
    assert (checked.code, "failed: loading it raised RuntimeError" in checked.out) == (2, True)
    assert context_bench("plugins", "check", "acme-broken", "--no-load").code == 0
    unneeded = context_bench("run", "-s", "echo", "-d", "toy", "-q")
    assert (unneeded.code, asked()) == (0, 2)
    needed = context_bench("run", "-s", "echo", "-d", "special=toy", "-q")
    assert (needed.code, asked()) == (2, 2)
    assert "has failed: loading it raised RuntimeError: out of order" in needed.err


@pytest.mark.parametrize(
    ("code", "state", "said"),
    [
        (
            "import nowhere_to_be_found",
            "missing-dependency",
            "it needs the module 'nowhere_to_be_found'",
        ),
        ("from acme_broken import absent", "failed", "ImportError"),
        ("import acme_broken.absent", "failed", "No module named 'acme_broken.absent'"),
        ("raise SystemExit(3)", "failed", "SystemExit: 3"),
        ("class Fatal(BaseException): pass\nraise Fatal('stop')", "failed", "Fatal: stop"),
        ("def f(:", "failed", "SyntaxError"),
        ("", "failed", "has no attribute 'Evaluator'"),
        ("raise ValueError", "failed", "ValueError: no message"),
    ],
    ids=[
        "an undeclared dependency",
        "a name that is not there",
        "a module of its own that is not there",
        "it leaves the process",
        "something that is no Exception",
        "no Python",
        "no class",
        "no message",
    ],
)
def test_whatever_loading_raises_becomes_a_state(
    site: Any, context_bench: Run, code: str, state: str, said: str
) -> None:
    site.basics()
    site.evaluator("acme-broken", "broken", wire=SPECIAL, code=code)
    checked = context_bench("plugins", "check", "acme-broken")
    assert (checked.code, f"{state}: " in checked.words, said in checked.words) == (2, True, True)
    needed = context_bench("run", "-s", "echo", "-d", "special=toy", "-q")
    assert needed.code == 2
    assert f"broken {SAID[state]}: " in needed.err


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("system", ("--system", "nothing")),
        ("evaluator", ("--system", "echo", "--evaluators", "nothing")),
        ("metric", ("--system", "echo", "--metrics", "nothing")),
        ("tokenizer", ("--system", "echo", "--tokenizer", "nothing")),
        ("reporter", ("--system", "echo", "--format", "nothing")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_plugin_makes_that_is_none_of_its_kind_is_told_before_the_first_example(
    site: Any, call: Run, asked: tuple[str, ...], kind: str
) -> None:
    site.basics()
    site.add(
        "acme-odd",
        code="class Nothing: ...",
        manifest=None,
        entry_points={f"{kind}s": {"nothing": "acme_odd:Nothing"}},
    )
    done = call("run", *asked, "--dataset", "toy")
    assert done.code == 2
    assert f"The {kind} acme-odd/nothing is no {kind}: " in done.words
    assert "Tell the authors of acme-odd, or leave it out." in done.words
    assert not Path("runs").exists()


def test_one_without_a_manifest_works_by_name_and_is_never_wired(
    site: Any, context_bench: Run, asked: Callable[[], int]
) -> None:
    site.basics()
    site.evaluator("acme-plain", "plain", manifest=None)
    assert (
        "it has no manifest, so it works only when asked for by name"
        in context_bench("plugins", "list", "-v").words
    )
    explained = context_bench("explain", "wiring", "-d", "toy")
    assert "it has no manifest, so it is used only when asked for by name" in explained.words
    silent = context_bench("run", "-s", "echo", "-d", "toy", "--format", "json", "-q")
    assert json.loads(silent.out)["rows"][0]["scores"] == {"exact": 1.0}
    assert "Warning" not in silent.err
    done = context_bench(
        "run", "-s", "echo", "-d", "toy", "--add-evaluator", "plain", "--format", "json", "-q"
    )
    assert json.loads(done.out)["rows"][0]["scores"] == {"exact": 1.0, "plain": 1.0}
    checked = context_bench("plugins", "check", "acme-plain")
    assert (checked.code, "it has no context_bench_plugin.toml" in checked.words) == (2, True)


def test_an_entry_point_that_the_manifest_does_not_describe_works_by_name(
    site: Any, context_bench: Run
) -> None:
    site.basics()
    points = {"evaluators": {"told": "acme_two:Evaluator", "untold": "acme_two:Evaluator"}}
    site.evaluator("acme-two", "told", key="two", entry_points=points)
    assert (
        "its manifest does not describe it, so it works only when asked for by name"
        in context_bench("plugins", "list", "-v").words
    )
    done = context_bench(
        "run", "-s", "echo", "-d", "toy", "--add-evaluator", "untold", "--format", "json", "-q"
    )
    assert json.loads(done.out)["rows"][0]["scores"] == {"exact": 1.0, "two": 1.0}
    checked = context_bench("plugins", "check", "untold")
    assert (checked.code, "its manifest has no table [evaluators.untold]" in checked.words) == (
        2,
        True,
    )


def test_a_key_of_another_is_found_when_the_run_is_planned(
    site: Any, context_bench: Run, asked: Callable[[], int]
) -> None:
    site.basics()
    site.evaluator("acme-rival", "rival", key="exact", wire="[{ always = true }]")
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q")
    assert (done.code, asked()) == (2, 0)
    assert "acme-rival/rival and bench-basics/exact both give the score 'exact'" in done.err
    assert "--exclude bench-basics/exact" in done.err
    assert context_bench("explain", "wiring", "-d", "toy").code == 2
    assert context_bench("run", "-s", "echo", "-d", "toy", "-q", "--exclude", "rival").code == 0
    done = context_bench(
        "run", "-s", "echo", "-d", "toy", "-q", "--score-prefix", "rival=r_", "--format", "json"
    )
    assert json.loads(done.out)["rows"][0]["scores"] == {"exact": 1.0, "r_exact": 1.0}


def test_a_key_of_another_that_no_manifest_tells_is_found_at_the_first_row(
    site: Any, process: Run, asked: Callable[[], int]
) -> None:
    site.basics()
    site.evaluator("acme-rival", "rival", key="exact", manifest=None)
    done = process("run", "-s", "echo", "-d", "toy", "-q", "--add-evaluator", "rival")
    assert done.code == 2
    assert asked() <= 2
    assert "exact" in done.err
    assert "acme-rival/rival" in done.err


def test_python_m_does_not_look_into_the_current_directory(
    site: Any, process: Run, workplace: Path
) -> None:
    site.basics()
    site.evaluator("acme-here", "here", wire="[{ always = true }]", folder=workplace)
    (workplace / "click.py").write_text("raise SystemExit('the wrong click')")
    assert "acme-here" not in process("plugins", "list", "-v").words
    done = process("run", "-s", "echo", "-d", "toy", "--format", "json", "-q")
    assert json.loads(done.out)["rows"][0]["scores"] == {"exact": 1.0}
    (workplace / "click.py").unlink()
    allowed = {"CONTEXT_BENCH_ALLOW_CURRENT_DIRECTORY": "1"}
    assert " here ok acme-here" in process("plugins", "list", "-v", **allowed).words


def test_the_metadata_in_the_sources_of_an_editable_install_is_no_second_copy(
    site: Any, process: Run
) -> None:
    source = site.folder.parent / "acme_dev_source"
    site.evaluator("acme-dev", "dev", editable=True)
    (site.folder / "acme_dev-1.0.dist-info" / "direct_url.json").write_text(
        json.dumps({"url": source.as_uri(), "dir_info": {"editable": True}})
    )
    egg = source / "acme_dev.egg-info"
    egg.mkdir()
    (egg / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: acme-dev\nVersion: 0.9\n")
    (egg / "entry_points.txt").write_text("[context_bench.evaluators]\ndev = acme_dev:Evaluator\n")
    path = os.pathsep.join(map(str, [site.folder, source]))
    [told] = json.loads(process("plugins", "show", "acme-dev", "--json", path=path).out)
    assert (told["state"], told["distribution_version"], told["warnings"]) == ("ok", "1.0", [])


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe[context_bench.evaluators]",
        b"[context_bench.evaluators]\nno equals sign\n",
        b"context_bench.x = y\n",
    ],
    ids=["no text", "no value", "no section"],
)
def test_a_damaged_file_of_another_distribution_hides_nobody(
    site: Any, process: Run, content: bytes
) -> None:
    site.evaluator("acme-good", "good")
    site.add("damaged")
    (site.folder / "damaged-1.0.dist-info" / "entry_points.txt").write_bytes(content)
    (site.folder / "nameless.dist-info").mkdir()
    told = json.loads(process("plugins", "list", "--json").out)
    assert "acme-good/good" in {entry["id"] for entry in told}


def test_a_broken_dataset_or_system_stops_the_run_that_names_it(
    site: Any, context_bench: Run, asked: Callable[[], int]
) -> None:
    site.basics()
    manifest = """
        schema = 1
        api = "3.0"
        [datasets.old-data]
        summary = "x"
        class = "data"
        [systems.old-system]
        summary = "x"
        class = "System"
    """
    points = {
        "datasets": {"old-data": "acme_old:data"},
        "systems": {"old-system": "acme_old:System"},
    }
    site.add("acme-old", code="raise RuntimeError", manifest=manifest, entry_points=points)
    for arguments, name in (
        (("echo", "old-data"), "Dataset acme-old/old-data"),
        (("old-system", "toy"), "System acme-old/old-system"),
    ):
        done = context_bench("run", "-s", arguments[0], "-d", arguments[1], "-q")
        assert (done.code, asked()) == (2, 0)
        assert f"{name} is incompatible" in done.err
    explained = context_bench("explain", "wiring", "-d", "old-data")
    assert explained.code == 2
    assert "a run would stop" in explained.out
    assert "upgrade context-bench" in explained.words.lower()
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q")
    assert done.code == 0
    assert done.err.count("Warning") == 1
    assert "acme-old/old-data (and 1 more of acme-old) is incompatible and unused" in done.err


def test_what_is_missing_of_ours_is_installed_from_a_checkout(
    site: Any, context_bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = "context-bench-http", "context-bench-limits"
    site.evaluator(
        "acme-stands", "stands", requires=("nowhere-to-be-found", "context-bench-http>=1", ours[1])
    )
    discover = discovery.importlib_metadata.Distribution.discover
    monkeypatch.setattr(
        discovery.importlib_metadata.Distribution,
        "discover",
        lambda **named: [one for one in discover(**named) if one.metadata["Name"] not in ours],
    )
    [told] = [
        one
        for one in json.loads(context_bench("plugins", "list", "--json").out)
        if one["name"] == "stands"
    ]
    assert (
        told["reason"]
        == f"it requires nowhere-to-be-found, {', '.join(ours)}, which are not installed"
    )
    assert told["remedy"] == f"`{install_line(*ours)} nowhere-to-be-found`"
    assert (
        install_line(*ours)
        == "pip install ./core ./plugins/context-bench-limits ./plugins/context-bench-http"
    )
