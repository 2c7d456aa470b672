"""The lock: no change of what is installed alters a published number unnoticed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
RUN = ("run", "-s", "echo", "-d", "toy", "-q")


def _edit(old: str, new: str) -> Callable[[Any], None]:
    def change(site: Any) -> None:
        file = site.folder / "acme_one" / "context_bench_plugin.toml"
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))

    return change


def _upgrade(site: Any) -> None:
    info = site.folder / "acme_one-1.0.dist-info"
    newer = site.folder / "acme_one-1.1.dist-info"
    info.rename(newer)
    metadata = (newer / "METADATA").read_text()
    (newer / "METADATA").write_text(metadata.replace("Version: 1.0", "Version: 1.1"))


def _uninstall(site: Any) -> None:
    shutil.rmtree(site.folder / "acme_one-1.0.dist-info")


def _edit_dataset(old: str, new: str) -> Callable[[Any], None]:
    def change(site: Any) -> None:
        file = site.folder / "bench_basics" / "context_bench_plugin.toml"
        file.write_text(file.read_text().replace(old, new))

    return change


DRIFT = {
    "an evaluator more": (
        lambda site: site.evaluator("acme-two", "two", wire="[{ always = true }]"),
        "toy: acme-two/two is new (always)",
    ),
    "an evaluator less": (_uninstall, "toy: acme-one/one is gone (was: always)"),
    "another version of an evaluator": (
        _edit('version = "1"', 'version = "2"'),
        "toy: acme-one/one: version was '1', is '2'",
    ),
    "another version of a distribution": (
        _upgrade,
        "toy: acme-one/one: distribution_version was '1.0', is '1.1'",
    ),
    "another manifest": (
        _edit("Scores one", "Scores it"),
        "toy: acme-one/one: manifest_sha256 was ",
    ),
    "another rule": (
        _edit("always = true", 'datasets = ["toy"]'),
        "toy: acme-one/one: rule was 'always', is 'dataset toy'",
    ),
    "another primary score": (
        _edit("always = true", 'tags = ["qa"]'),
        "toy: primary was 'one', is 'exact'",
    ),
    "another primary score of the dataset": (
        _edit_dataset('summary = "Two examples"', 'summary = "Two examples"\n    primary = "one"'),
        "toy: dataset_primary was None, is 'one'",
    ),
}


@pytest.fixture
def locked(site: Any, context_bench: Run) -> Any:
    site.basics()
    site.evaluator("acme-one", "one", key="one", wire="[{ always = true }]")
    done = context_bench("lock", "-s", "echo", "-d", "toy")
    assert done.code == 0, done.err
    assert context_bench(*RUN, "--locked").code == 0
    return site


@pytest.mark.parametrize(("change", "said"), DRIFT.values(), ids=DRIFT.keys())
def test_any_change_is_drift_and_stops_the_run(
    locked: Any,
    context_bench: Run,
    asked: Callable[[], int],
    change: Callable[[Any], Any],
    said: str,
) -> None:
    before = asked()
    change(locked)
    done = context_bench(*RUN, "--locked")
    assert (done.code, asked()) == (2, before)
    assert said in done.words
    assert context_bench(*RUN).code == 0
    assert context_bench("lock", "-s", "echo", "-d", "toy").code == 0
    assert context_bench(*RUN, "--locked").code == 0


CHOICES = {
    "a prefix": (("--score-prefix", "one=my_"), "toy: acme-one/one: prefix was '', is 'my_'"),
    "one left out": (("--exclude", "one"), "toy: acme-one/one is gone"),
    "an exact set": (("--evaluators", "one"), "toy: bench-basics/exact is gone"),
    "one chosen": (
        ("--add-evaluator", "one"),
        "toy: acme-one/one: rule was 'always', is 'added with --add-evaluator'",
    ),
    "another dataset": (("-d", "other=labelled"), "other: not in the lock file"),
}


@pytest.mark.parametrize(("arguments", "said"), CHOICES.values(), ids=CHOICES.keys())
def test_another_choice_is_drift_too(
    locked: Any, context_bench: Run, arguments: tuple[str, ...], said: str
) -> None:
    done = context_bench(*RUN, "--locked", *arguments)
    assert (done.code, said in done.words) == (2, True), done.words


def test_every_difference_is_told_at_once(locked: Any, context_bench: Run) -> None:
    _upgrade(locked)
    _edit('version = "1"', 'version = "2"')(locked)
    locked.evaluator("acme-two", "two", wire="[{ always = true }]")
    done = context_bench(*RUN, "--locked")
    assert [line.partition(" was ")[0].strip() for line in done.err.splitlines()[1:-1]] == [
        "toy: acme-one/one: distribution_version",
        "toy: acme-one/one: manifest_sha256",
        "toy: acme-one/one: version",
        "toy: acme-two/two is new (always)",
    ]


def test_another_version_of_core_is_drift(locked: Any, context_bench: Run, workplace: Path) -> None:
    file = workplace / "context-bench.lock"
    document = json.loads(file.read_text())
    file.write_text(json.dumps({**document, "context_bench": "0.9"}))
    done = context_bench(*RUN, "--locked")
    assert (done.code, "context-bench: version was '0.9', is " in done.words) == (2, True)


def test_a_plugin_that_is_installed_and_not_wired_is_no_drift(
    locked: Any, context_bench: Run
) -> None:
    locked.evaluator("acme-two", "two", wire='[{ datasets = ["other"] }]')
    assert context_bench(*RUN, "--locked").code == 0


BROKEN_LOCKS = {
    "no file": (
        None,
        "There is no lock file context-bench.lock. Write one with `context-bench lock`.",
    ),
    "no JSON": ("{", "The lock file context-bench.lock cannot be read"),
    "a list": ("[]", "is no lock file of format 2"),
    "another format": ('{"format": 3, "datasets": {}}', "is no lock file of format 2"),
    "no datasets": (
        '{"format": 2, "context_bench": "x", "datasets": []}',
        "is no lock file of format 2",
    ),
    "a dataset of text": (
        '{"format": 2, "context_bench": "x", "datasets": {"toy": "x"}}',
        "toy: not in the lock file",
    ),
    "evaluators of text": (
        '{"format": 2, "context_bench": "x", "datasets": {"toy": {"evaluators": {"acme-one/one": "x"}}}}',
        "toy: acme-one/one: version was None, is '1'",
    ),
}


@pytest.mark.parametrize(("content", "said"), BROKEN_LOCKS.values(), ids=BROKEN_LOCKS.keys())
def test_a_lock_file_that_is_none_stops_the_run(
    locked: Any, context_bench: Run, workplace: Path, content: str | None, said: str
) -> None:
    file = workplace / "context-bench.lock"
    file.unlink()
    if content is not None:
        file.write_text(content)
    done = context_bench(*RUN, "--locked")
    assert (done.code, said in done.words) == (2, True), done.words


def test_a_label_first_met_in_the_stream_is_held_against_the_lock(
    site: Any, context_bench: Run, workplace: Path, asked: Callable[[], int]
) -> None:
    site.basics()
    (workplace / "rows.labels").write_text("plain plain special")
    run = ("run", "-s", "echo", "-d", "rows.labels", "-q")
    assert (
        context_bench(
            "lock", "-s", "echo", "-d", "rows.labels", "--label", "plain", "--label", "special"
        ).code
        == 0
    )
    assert context_bench(*run, "--locked").code == 0
    before = asked()
    site.evaluator("acme-two", "two", wire='[{ datasets = ["special"] }]')
    done = context_bench(*run, "--locked")
    assert (done.code, asked() - before) == (2, 2)
    assert "special: acme-two/two is new (dataset special)" in done.words


PATCHING = """
    import bench_basics

    bench_basics.Exact.score = lambda self, original, processed: {"exact": 0.42}

    class Half:
        name = "half"

        def compute(self, rows):
            return {"half": 0.5}
"""
HALF = """
    schema = 1
    api = "1.0"

    [metrics.half]
    summary = "Says a half"
    default = true
    version = "1"
    values.half = { heading = "half" }
"""


@pytest.fixture
def metric(site: Any) -> Any:
    site.basics()

    def install() -> None:
        site.add(
            "acme-half",
            code=PATCHING,
            manifest=HALF,
            entry_points={"metrics": {"half": "acme_half:Half"}},
        )

    return install


def test_a_metric_that_is_not_locked_is_not_imported(metric: Any, site: Any, process: Run) -> None:
    """It would be on by default, and what it does to an evaluator when it is imported would be in every score."""
    assert process("lock", "-s", "echo", "-d", "toy").code == 0
    metric()
    done = process(*RUN, "--locked", "--format", "json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert {row["scores"]["exact"] for row in told["rows"]} == {1.0}
    assert "half" not in told["summary"]["echo"]
    assert "acme-half/half is not in context-bench.lock" in done.words
    for asked in ("--add-metric", "--metrics"):
        done = process(*RUN, "--locked", asked, "half")
        assert (done.code, "acme-half/half" in done.words) == (2, True)


def test_a_locked_metric_is_computed_until_it_is_another(
    metric: Any, site: Any, process: Run
) -> None:
    metric()
    assert process("lock", "-s", "echo", "-d", "toy").code == 0
    assert list(json.loads(Path("context-bench.lock").read_text())["metrics"]) == ["acme-half/half"]
    assert (
        json.loads(process(*RUN, "--locked", "--format", "json").out)["summary"]["echo"]["half"]
        == 0.5
    )
    done = process(*RUN, "--locked", "-p", "no:half")
    assert (done.code, "acme-half/half" in done.words) == (2, True)
    assert process("plugins", "diff", "context-bench.lock").code == 0
    manifest = site.folder / "acme_half" / "context_bench_plugin.toml"
    manifest.write_text(manifest.read_text().replace('version = "1"', 'version = "2"'))
    done = process(*RUN, "--locked")
    assert (done.code, "acme-half/half" in done.words) == (2, True)


DAMAGED_LOCKS = {
    "tables that are lists": '{"format": 2, "datasets": {}, "parts": [1], "hooks": [1], "metrics": [1]}',
    "tables that are texts": '{"format": 2, "datasets": {"toy": {"evaluators": "x"}}, "parts": "x", "hooks": 3}',
    "what a terminal obeys": '{"format": 2, "datasets": {"toy": {"\\u001b[31m": "\\u202e"}}, "parts": {"\\u001b": "\\u001b"}}',
}


@pytest.mark.parametrize("text", DAMAGED_LOCKS.values(), ids=DAMAGED_LOCKS)
def test_a_lock_of_a_strangers_is_refused_in_words(
    site: Any, context_bench: Run, workplace: Path, text: str
) -> None:
    site.basics()
    (workplace / "context-bench.lock").write_text(text)
    done = context_bench(*RUN, "--locked")
    assert (done.code, done.err.startswith("Error: ")) == (2, True)
    assert "\x1b" not in done.err


def test_an_observer_is_imported_where_something_runs_and_nowhere_else(
    site: Any, process: Run, workplace: Path
) -> None:
    code = """
        from context_bench.hookspecs import hookimpl

        open('imported', 'a').write('x')

        class Watch:
            @hookimpl
            def row_finished(self):
                pass
    """
    manifest = """
        schema = 1
        api = "1.0"
        [hooks.watch]
        summary = "Watches"
        implements = ["row_finished"]
        default = "installed"
    """
    site.basics()
    site.add(
        "acme-watch",
        code=code,
        manifest=manifest,
        entry_points={"hooks": {"watch": "acme_watch:Watch"}},
    )
    assert process(*RUN, "--dry-run").code == 0
    assert process("lock", "-s", "echo", "-d", "toy").code == 0
    assert process("preflight", "-s", "echo", "-d", "toy").code in (0, 2)
    assert not Path("imported").exists()
    assert process(*RUN, "--run-file", "r.sqlite").code == 0
    assert Path("imported").read_text() == "x"
    for command in (
        ("rescore", "r.sqlite", "--force"),
        ("report", "r.sqlite"),
        ("verify", "r.sqlite"),
    ):
        assert process(*command).code == 0
    assert Path("imported").read_text() == "x"
