"""Listings and helps that are said again without a look at what is installed: never when anything that decides has changed."""

from __future__ import annotations

import json
import marshal
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import sleep, time_ns
from typing import Any

import pytest
from attrs import define, field

from context_bench import __version__
from context_bench.cli import kept
from context_bench.plugins.ownership import COMMANDS

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="answers are kept where files have owners"
)

START = """
import json, os, sys, site
site.addsitedir(os.environ["SITE"])
opened = []
def hear(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], str):
        opened.append(os.path.abspath(arguments[0]))
from context_bench.cli import kept, main
kept.UNSETTLED = int(os.environ.get("UNSETTLED", "0"))
sys.addaudithook(hear)
try:
    main(sys.argv[1:])
finally:
    with open(os.environ["SEEN"], "w") as file:
        json.dump({"modules": sorted(sys.modules), "opened": opened}, file)
"""
MANIFEST = """schema = 1
api = "1.0"
[evaluators.{name}]
summary = "{summary}"
class = "Evaluator"
primary = "one"
version = "1"
scores.one = {{}}
"""


@define
class Place:
    """An environment with a site folder, a working directory and a home of its own."""

    folder: Path
    environ: dict[str, str] = field(factory=dict)

    @property
    def site(self) -> Path:
        return self.folder / "site"

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def cache(self) -> Path:
        return self.folder / "cache" / "context-bench"

    def install(
        self, name: str, version: str = "1.0", place: Path | None = None, summary: str = "Scores"
    ) -> Path:
        package = (place or self.site) / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("raise SystemExit('imported')\n")
        (package / "context_bench_plugin.toml").write_text(
            MANIFEST.format(name=name, summary=summary)
        )
        info = self.site / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\n"
        )
        (info / "entry_points.txt").write_text(
            f"[context_bench.evaluators]\n{name} = {name}:Evaluator\n"
        )
        (info / "RECORD").write_text("")
        return package

    def info(self, name: str) -> Path:
        [found] = self.site.glob(f"{name}-*.dist-info")
        return found

    def call(self, *arguments: str, **environ: str) -> tuple[str, bool, dict[str, Any]]:
        """Return what a call says, whether it was said again, and what it looked at."""
        done = subprocess.run(
            [sys.executable, str(self.folder / "bin" / "start.py"), *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.work,
            env={
                **{
                    name: value
                    for name, value in os.environ.items()
                    if not name.startswith("CONTEXT_BENCH")
                },
                "XDG_CACHE_HOME": str(self.folder / "cache"),
                "SITE": str(self.site),
                "SEEN": str(self.folder / "seen.json"),
                "COLUMNS": "120",
                **self.environ,
                **environ,
            },
        )
        assert done.returncode == 0, done.stderr
        seen = json.loads((self.folder / "seen.json").read_text())
        return done.stdout, "context_bench.plugins.discovery" not in seen["modules"], seen

    def kept(self, *arguments: str) -> str:
        """Return what is said again. Others may touch the same files meanwhile, which must be noticed: an installer that
        links them into another environment does for as long as it works."""
        for _ in range(600):
            said, is_kept, _ = self.call(*arguments)
            if is_kept:
                return said
            sleep(0.3)  # the clock of the files may be ahead of ours
        raise AssertionError("never kept")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = Place(tmp_path)
    found.site.mkdir()
    found.work.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "start.py").write_text(START)
    found.install("acme_first")
    bystander = found.site / "bystander-1.0.dist-info"
    bystander.mkdir()
    (bystander / "METADATA").write_text("Metadata-Version: 2.1\nName: bystander\nVersion: 1.0\n")
    (bystander / "entry_points.txt").write_text("[console_scripts]\nby = acme_first:main\n")
    return found


def rewrite(path: Path, before: str, after: str) -> None:
    """Edit a file in place so that its size, inode and modification time stay."""
    found = path.stat()
    text = path.read_text()
    assert before in text
    with path.open("r+") as file:
        file.write(text.replace(before, after))
        file.truncate()
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def editable(place: Place, where: str, summary: str = "Lies elsewhere") -> None:
    if not (place.folder / where / "acme_editable").exists():
        source = place.folder / where
        place.install("acme_editable", place=source, summary=summary)
        url = {"url": source.as_uri(), "dir_info": {"editable": True}}
        (place.info("acme_editable") / "direct_url.json").write_text(json.dumps(url))
    (place.site / "_acme_editable.pth").write_text(f"{place.folder / where}\n")


def upgrade(place: Place) -> None:
    place.info("acme_first").rename(place.site / "acme_first-1.1.dist-info")


def uninstall(place: Place) -> None:
    shutil.rmtree(place.site / "acme_first")
    shutil.rmtree(place.info("acme_first"))


def manifest(place: Place) -> Path:
    return place.site / "acme_first" / "context_bench_plugin.toml"


def another_place(place: Place) -> None:
    editable(place, "elsewhere")
    moved = place.folder / "moved" / "acme_editable"
    shutil.copytree(place.folder / "elsewhere" / "acme_editable", moved)
    rewrite(moved / "context_bench_plugin.toml", "Lies elsewhere", "Lies somewhere")
    (place.site / "_acme_editable.pth").write_text(f"{moved.parent}\n")


CHANGES: dict[str, Callable[[Place], object]] = {
    "a package is installed": lambda place: place.install("acme_second"),
    "a package is upgraded": upgrade,
    "a package is uninstalled": uninstall,
    "only its metadata is removed": lambda place: shutil.rmtree(place.info("acme_first")),
    "only its code is removed": lambda place: shutil.rmtree(place.site / "acme_first"),
    "a manifest is edited": lambda place: rewrite(manifest(place), "Scores", "Counts"),
    "a manifest is removed": lambda place: manifest(place).unlink(),
    "a manifest is replaced": lambda place: manifest(place).write_text("schema = 1\n"),
    "an entry point is renamed": lambda place: rewrite(
        place.info("acme_first") / "entry_points.txt", "acme_first =", "acme_third ="
    ),
    "a requirement is added": lambda place: rewrite(
        place.info("acme_first") / "METADATA", "\n\n", "\nRequires-Dist: nowhere-to-be-found\n\n"
    ),
    "a package that had none gets an entry point": lambda place: (
        place.site / "bystander-1.0.dist-info" / "entry_points.txt"
    ).write_text("[context_bench.systems]\nby = acme_first:main\n"),
    "an editable package is installed": lambda place: editable(place, "elsewhere"),
    "an editable package moves": another_place,
    "another folder comes first in the path": lambda place: place.environ.update(
        PYTHONPATH=str(place.folder / "elsewhere")
    ),
    "a plugin is switched off": lambda place: place.environ.update(
        CONTEXT_BENCH_DISABLE_PLUGINS="acme_first"
    ),
    "a project file is written": lambda place: (place.work / "context-bench.toml").write_text(
        '[plugins]\ndisable = ["acme_first"]\n'
    ),
    "the terminal is made narrow": lambda place: place.environ.update(COLUMNS="40"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_nothing_is_said_again_when(place: Place, change: Callable[[Place], object]) -> None:
    before, was_kept, _ = place.call("plugins", "list")
    assert not was_kept
    assert place.kept("plugins", "list") == before
    change(place)
    after, is_kept, _ = place.call("plugins", "list")
    truth, was_kept, _ = place.call("plugins", "list", "--no-cache")
    assert (after, is_kept, was_kept) == (truth, False, False)
    if "PYTHONPATH" not in place.environ:
        assert after != before


def test_an_edit_of_an_editable_package_and_of_a_shadow_is_seen(place: Place) -> None:
    editable(place, "elsewhere")
    (place.folder / "first" / "acme_first").mkdir(parents=True)
    place.environ["PYTHONPATH"] = str(place.folder / "first")
    place.kept("plugins", "list")
    rewrite(
        place.folder / "elsewhere" / "acme_editable" / "context_bench_plugin.toml", "Lies", "Sits"
    )
    said, is_kept, _ = place.call("plugins", "list")
    assert ("Sits elsewhere" in said, is_kept) == (True, False)
    place.kept("plugins", "list")
    (place.folder / "first" / "acme_first" / "__init__.py").write_text("")
    said, is_kept, _ = place.call("plugins", "list")
    assert (said, is_kept) == (place.call("plugins", "list", "--no-cache")[0], False)


@pytest.mark.parametrize(
    "arguments", [["plugins", "list"], ["plugins", "list", "--json"], ["--help"], ["run", "--help"]]
)
def test_every_file_that_was_read_decides(place: Place, arguments: list[str]) -> None:
    editable(place, "elsewhere")
    _, _, seen = place.call(*arguments, "--no-cache")
    place.kept(*arguments)
    [path] = place.cache.glob("*.kept")
    _, stamps, _ = marshal.loads(path.read_bytes()[8:])
    known = {os.path.realpath(place.work / name) for name in stamps}
    own = os.path.dirname(os.__file__)
    unknown = {
        name
        for name in map(os.path.realpath, seen["opened"])
        if name not in known
        and (os.path.exists(name) or os.path.dirname(name) not in known)
        and not name.endswith(".pyc")
        and not name.startswith((str(place.folder / "cache"), "/dev/", "/proc/"))
        and (not name.startswith(own) or "-packages" in name)
        and not name.endswith("seen.json")
    }
    sources = {name for name in unknown if name.endswith("__pycache__")}
    assert unknown - sources == set()


@pytest.mark.parametrize("flags", [(), ("--json",), ("-v",), ("--verbose", "--json")], ids=" ".join)
def test_a_list_that_is_not_kept_comes_without_click(flags: tuple[str, ...], place: Place) -> None:
    """Click takes a third of the time of a list; what it would write is written: a switch that changes nothing brings it in."""
    place.install("acme_bad").joinpath("context_bench_plugin.toml").write_text("= \n")
    said, is_kept, seen = place.call("plugins", "list", *flags, "--no-cache")
    assert (is_kept, "click" in seen["modules"]) == (False, False)
    with_click, _, seen = place.call("plugins", "list", *flags, "-p", "acme_bad", "--no-cache")
    assert "click" in seen["modules"]
    assert said == with_click
    assert "acme_bad" in said


COMMANDS_OF_A_PACKAGE = """schema = 1
api = "1.0"
[commands.acme]
summary = "{long}"
[commands.acme-with-a-name-that-takes-more-than-its-column]
summary = "Hyphen-ated words are-broken-at-their-hyphens, -- and dashes --flag-like are-not."
[commands.acme-exactly-thirty-letters-x]
summary = "One"
[commands.acme-empty]
summary = ""
{others}[commands.acme-deep]
summary = "Below plugins"
parent = "plugins"
"""


@pytest.mark.parametrize("columns", ["", "0", "40", "57", "66", "79", "200", "+60"])
@pytest.mark.parametrize(
    ("others", "is_quick"),
    [
        pytest.param(["Two  spaces", "trails ", "漢字 " * 20], True, id="any text"),
        pytest.param(
            [" leads", "w" * 70, "a\u200bb \u202e", "é" * 16], None, id="texts that may need click"
        ),
    ],
)
def test_a_help_without_click_is_what_click_writes(
    columns: str, others: list[str], is_quick: bool | None, place: Place
) -> None:
    info = place.info("acme_first")
    written = "".join(
        f'[commands.acme-other-{number}]\nsummary = "{other}"\n'
        for number, other in enumerate(others)
    )
    (place.site / "acme_first" / "context_bench_plugin.toml").write_text(
        COMMANDS_OF_A_PACKAGE.format(long="Tells of context-bench-things, " * 5, others=written),
        encoding="utf-8",
    )
    names = (
        "",
        "-with-a-name-that-takes-more-than-its-column",
        "-exactly-thirty-letters-x",
        "-empty",
        *(f"-other-{number}" for number in range(len(others))),
        "-deep",
    )
    points = (
        "".join(f"acme{name} = acme_first:{name}\n" for name in names)
        .replace(":-", ":")
        .replace(":\n", ":one\n")
    )
    (info / "entry_points.txt").write_text(
        "[context_bench.commands]\n" + points.replace("first:", "first:x")
    )
    said, _, seen = place.call("--help", "--no-cache", COLUMNS=columns)
    with_click, _, of_click = place.call("-h", "--help", COLUMNS=columns)
    assert "click" in of_click["modules"]
    assert said == with_click
    assert "acme-exactly-thirty-letters-x" in said
    assert f"acme-other-{len(others) - 1}" in said
    if is_quick:
        assert ("click" in seen["modules"]) == (columns in ("", "+60"))


def test_a_list_without_click_obeys_the_project_file(place: Place) -> None:
    place.install("acme_one")
    (place.work / "context-bench.toml").write_text('[plugins]\ndisable = ["acme_one"]\n')
    told = {
        entry["name"]: entry["state"]
        for entry in json.loads(place.call("plugins", "list", "--json")[0])
    }
    assert told["acme_one"] == "blocked"


@pytest.mark.one_python
def test_a_kept_answer_costs_no_import(place: Place) -> None:
    place.kept("plugins", "list", "--json")
    said, is_kept, seen = place.call("plugins", "list", "--json")
    assert is_kept
    assert json.loads(said)
    assert not {"click", "importlib_metadata", "tomli", "attr", "hashlib", "re"} & (
        set(seen["modules"]) - set(_modules_of_an_empty_start())
    )


def _modules_of_an_empty_start() -> list[str]:
    code = "import sys, json, os, site; print(json.dumps(sorted(sys.modules)))"
    found: list[str] = json.loads(subprocess.check_output([sys.executable, "-c", code], text=True))
    return found


def test_only_its_owner_can_have_written_what_is_said_again(place: Place) -> None:
    place.kept("plugins", "list")
    [path] = place.cache.glob("*.kept")
    assert [oct(place.cache.stat().st_mode & 0o777), oct(path.stat().st_mode & 0o777)] == [
        "0o700",
        "0o600",
    ]
    path.chmod(0o620)
    assert not place.call("plugins", "list")[1]
    place.kept("plugins", "list")
    place.cache.chmod(0o777)
    assert not place.call("plugins", "list")[1]
    place.cache.chmod(0o700)
    [path] = place.cache.glob("*.kept")
    elsewhere = place.folder / "elsewhere" / "kept"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    assert not place.call("plugins", "list")[1]


def test_a_torn_file_is_not_believed(place: Place) -> None:
    said = place.kept("plugins", "list")
    [path] = place.cache.glob("*.kept")
    whole = path.read_bytes()
    damages = [b"", b"\x00", b"(((((", whole[:-1], whole[1:], whole[:40] + b"(((((((" + whole[47:]]
    damages += [
        kept._sum(other) + other
        for other in (b"", marshal.dumps((1, 2)), marshal.dumps(((), {}, "text")))
    ]
    for damage in damages:
        path.write_bytes(damage)
        assert place.call("plugins", "list")[:2] == (said, False), damage
    assert place.kept("plugins", "list") == said


def test_it_can_be_switched_off_and_needs_no_home(place: Place) -> None:
    said = place.call("plugins", "list", CONTEXT_BENCH_NO_CACHE="1")[0]
    assert not place.cache.exists()
    (place.folder / "cache").write_text("no folder")
    assert place.call("plugins", "list")[:2] == (said, False)
    assert place.call("plugins", "list")[:2] == (said, False)


def test_what_changed_a_moment_ago_is_not_kept(place: Place) -> None:
    place.call("plugins", "list", UNSETTLED=str(10**15))
    assert list(place.cache.glob("*")) == []


def test_a_faulty_setting_is_told_each_time(place: Place) -> None:
    (place.work / "context-bench.toml").write_text("[plugins]\ndisabel = []\n")
    for _ in range(2):
        with pytest.raises(AssertionError, match="disabel"):
            place.call("plugins", "list")


def test_the_version_needs_no_look_at_anything(place: Place) -> None:
    said, is_kept, _ = place.call("--version")
    assert (said, is_kept) == (f"context-bench, version {__version__}\n", True)


def test_the_datasets_are_listed_by_the_flag_of_the_predecessor(place: Place) -> None:
    assert place.call("--list-datasets")[0] == place.call("datasets", "list")[0]
    assert place.call("--list-datasets", "--no-cache")[0] == place.call("datasets", "list")[0]


def test_only_what_lists_is_kept() -> None:
    assert set(kept.COMMANDS) == set(COMMANDS[""])
    assert set(kept.LISTS) == {name for name, below in COMMANDS.items() if "list" in below}
    listings = [
        ["--help"],
        ["run", "--help"],
        ["plugins", "list"],
        ["datasets", "list", "-p", "no:x"],
    ]
    listings += [["-h"], ["run", "-h"], ["plugins", "list", "--json"]]
    others = [[], ["run", "-d", "x"], ["plugins", "list", "--load"], ["plugins", "check", "--help"]]
    others += [
        ["preflight", "--help"],
        ["plugins", "list", "--project", "x.toml"],
        ["plugins", "show", "x"],
    ]
    assert list(map(kept.is_listing, listings + others)) == [True] * len(listings) + [False] * len(
        others
    )


@pytest.mark.parametrize("place", ["a/b/c", "/a/b", ".", "/"])
def test_nothing_is_kept_where_no_folder_can_be_looked_at(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_stamp", lambda place: None)
    assert max(kept._folder_of(place)[1:3]) > time_ns()
