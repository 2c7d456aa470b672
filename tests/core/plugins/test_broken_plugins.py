"""A broken package breaks nobody else's run: it is in a state with a reason and a remedy, and only who needs it is stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
SPECIAL = '[{ datasets = ["special"] }]'


def _changed(old: str, new: str) -> Callable[[Any], None]:
    def install(site: Any) -> None:
        package = site.evaluator("acme-broken", "broken", wire=SPECIAL)
        file = package / "context_bench_plugin.toml"
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))

    return install


def _without_its_package(site: Any) -> None:
    package = site.evaluator("acme-broken", "broken", wire=SPECIAL)
    for file in package.iterdir():
        file.unlink()
    package.rmdir()


def _without_a_requirement(site: Any) -> None:
    requires = ("nowhere-to-be-found[all]>=2", 'not-here ; extra == "x"')
    site.evaluator("acme-broken", "broken", wire=SPECIAL, requires=requires)


def _without_entry_point(site: Any) -> None:
    points = {"evaluators": {"other": "acme_broken:Evaluator"}}
    site.evaluator("acme-broken", "broken", wire=SPECIAL, entry_points=points)


# how it is installed, its state, what its reason names, what its remedy names, whether its rules can be read
BROKEN = {
    "malformed TOML": (_changed("[eval", "[[eval"), "invalid", "not valid TOML", "check", False),
    "a fault": (
        _changed('version = "1"', "version = 1"),
        "invalid",
        "evaluators.broken.version",
        "check",
        True,
    ),
    "API 2.0": (_changed('"1.0"', '"2.0"'), "incompatible", "2.0", "upgrade context-bench", True),
    "API 1.7": (_changed('"1.0"', '"1.7"'), "incompatible", "1.7", "upgrade context-bench", True),
    "API 0.9": (_changed('"1.0"', '"0.9"'), "incompatible", "0.9", "acme-broken", True),
    "format 2": (
        _changed("schema = 1", "schema = 2"),
        "incompatible",
        "format 2",
        "upgrade context-bench",
        True,
    ),
    "a missing requirement": (
        _without_a_requirement,
        "missing-dependency",
        "nowhere-to-be-found",
        "pip install nowhere-to-be-found",
        True,
    ),
    "no package": (_without_its_package, "invalid", "acme_broken", "reinstall", False),
    "no entry point": (
        _without_entry_point,
        "invalid",
        "context_bench.evaluators",
        "add the entry point",
        True,
    ),
}


@pytest.mark.parametrize(
    ("install", "state", "reason", "remedy", "is_wired"), BROKEN.values(), ids=BROKEN.keys()
)
def test_a_broken_package_has_a_state_and_stops_only_runs_that_need_it(
    install: Callable[[Any], None],
    state: str,
    reason: str,
    remedy: str,
    is_wired: bool,
    site: Any,
    context_bench: Run,
    asked: Callable[[], int],
) -> None:
    site.basics()
    install(site)
    listed = {
        entry["id"]: entry for entry in json.loads(context_bench("plugins", "list", "--json").out)
    }
    broken = listed["acme-broken/broken"]
    assert broken["state"] == state
    assert reason in broken["reason"]
    assert remedy in broken["remedy"]
    assert listed["bench-basics/exact"]["state"] == "ok"
    for command in (
        ("--help",),
        ("plugins", "show", "acme-broken"),
        ("explain", "wiring", "-d", "toy"),
    ):
        assert context_bench(*command).code == 0
    unneeded = context_bench("run", "-s", "echo", "-d", "toy", "-q")
    assert (unneeded.code, asked()) == (0, 2)
    [warning] = [line for line in unneeded.err.splitlines() if line.startswith("Warning")]
    assert "acme-broken/broken" in warning
    assert reason in warning
    needed = context_bench("run", "-s", "echo", "-d", "toy", "--add-evaluator", "broken", "-q")
    assert (needed.code, asked()) == (2, 2)
    assert reason in needed.words
    wired = context_bench("run", "-s", "echo", "-d", "special=toy", "-q")
    assert (wired.code, asked()) == ((2, 2) if is_wired else (0, 4))
    without = context_bench("run", "-s", "echo", "-d", "special=toy", "-q", "--exclude", "broken")
    assert without.code == 0


def test_a_broken_system_or_dataset_stops_the_run_that_names_it(
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
    for system, dataset in (("echo", "old-data"), ("old-system", "toy")):
        done = context_bench("run", "-s", system, "-d", dataset, "-q")
        assert (done.code, asked(), "acme-old/old-" in done.err) == (2, 0, True)
    assert context_bench("explain", "wiring", "-d", "old-data").code == 2
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q")
    assert (done.code, done.err.count("Warning")) == (0, 1)


def test_a_label_that_needs_a_broken_package_stops_the_run_resumably(
    site: Any, context_bench: Run, asked: Callable[[], int], workplace: Path
) -> None:
    site.basics()
    BROKEN["API 2.0"][0](site)
    (workplace / "rows.labels").write_text("plain plain special plain")
    done = context_bench("run", "-s", "echo", "-d", "rows.labels", "-q", "--run-file", "r.sqlite")
    assert (done.code, asked()) == (2, 2)
    assert "context-bench resume r.sqlite" in done.err
    done = context_bench("resume", "r.sqlite", "-q", "-p", "no:broken")
    assert (done.code, asked()) == (0, 4), done.err


LOADING = {
    "an undeclared dependency": ("import nowhere_to_be_found", "missing-dependency"),
    "a name that does not exist": ("from acme_broken import absent", "failed"),
    "a module that does not exist": ("import acme_broken.absent", "failed"),
    "an error": ("raise RuntimeError('out of order')", "failed"),
    "SystemExit": ("raise SystemExit(3)", "failed"),
    "no Python": ("def f(:", "failed"),
    "no class": ("", "failed"),
}


@pytest.mark.parametrize(("code", "state"), LOADING.values(), ids=LOADING.keys())
def test_a_package_that_cannot_be_loaded_stops_only_runs_that_need_it(
    code: str, state: str, site: Any, context_bench: Run, asked: Callable[[], int]
) -> None:
    site.basics()
    site.evaluator("acme-broken", "broken", wire=SPECIAL, code=code)
    assert context_bench("explain", "wiring", "-d", "special").code == 0
    unneeded = context_bench("run", "-s", "echo", "-d", "toy", "-q")
    assert (unneeded.code, asked()) == (0, 2)
    needed = context_bench("run", "-s", "echo", "-d", "special=toy", "-q")
    assert (needed.code, asked(), "acme-broken/broken" in needed.err) == (2, 2, True)
    checked = context_bench("plugins", "check", "acme-broken")
    assert (checked.code, f"{state}: " in checked.words) == (2, True)


@pytest.mark.parametrize(
    ("kind", "flags"),
    [
        ("system", ("--system", "nothing")),
        ("evaluator", ("--system", "echo", "--evaluators", "nothing")),
        ("metric", ("--system", "echo", "--metrics", "nothing")),
        ("tokenizer", ("--system", "echo", "--tokenizer", "nothing")),
        ("reporter", ("--system", "echo", "--format", "nothing")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_object_of_another_kind_is_refused_before_the_first_example(
    site: Any, context_bench: Run, asked: Callable[[], int], flags: tuple[str, ...], kind: str
) -> None:
    site.basics()
    points = {f"{kind}s": {"nothing": "acme_odd:Nothing"}}
    site.add("acme-odd", code="class Nothing: ...", manifest=None, entry_points=points)
    done = context_bench("run", *flags, "--dataset", "toy")
    assert (done.code, asked(), "acme-odd/nothing" in done.words) == (2, 0, True)


def test_one_without_a_manifest_works_by_name_and_is_never_wired(
    site: Any, context_bench: Run, asked: Callable[[], int]
) -> None:
    site.basics()
    site.evaluator("acme-plain", "plain", manifest=None)
    silent = context_bench("run", "-s", "echo", "-d", "toy", "--format", "json", "-q")
    assert json.loads(silent.out)["rows"][0]["scores"] == {"exact": 1.0}
    assert "Warning" not in silent.err
    done = context_bench(
        "run", "-s", "echo", "-d", "toy", "--add-evaluator", "plain", "--format", "json", "-q"
    )
    assert json.loads(done.out)["rows"][0]["scores"] == {"exact": 1.0, "plain": 1.0}
    assert context_bench("plugins", "check", "acme-plain").code == 2


def test_an_entry_point_that_the_manifest_does_not_describe_works_by_name(
    site: Any, context_bench: Run
) -> None:
    site.basics()
    points = {"evaluators": {"told": "acme_two:Evaluator", "untold": "acme_two:Evaluator"}}
    site.evaluator("acme-two", "told", key="two", entry_points=points)
    done = context_bench(
        "run", "-s", "echo", "-d", "toy", "--add-evaluator", "untold", "--format", "json", "-q"
    )
    assert json.loads(done.out)["rows"][0]["scores"] == {"exact": 1.0, "two": 1.0}
    checked = context_bench("plugins", "check", "untold")
    assert (checked.code, "[evaluators.untold]" in checked.words) == (2, True)


def test_a_key_of_another_is_found_when_the_run_is_planned(
    site: Any, context_bench: Run, asked: Callable[[], int]
) -> None:
    site.basics()
    site.evaluator("acme-rival", "rival", key="exact", wire="[{ always = true }]")
    done = context_bench("run", "-s", "echo", "-d", "toy", "-q")
    assert (done.code, asked()) == (2, 0)
    assert "acme-rival/rival" in done.err
    assert "bench-basics/exact" in done.err
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
