"""A remedy that is printed is a command that works: each is taken out of the list, read as a shell would, and run."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import importlib_metadata
import pytest

from context_bench.installation import INDEX_VARIABLE, hint_for, install_hint

Run = Callable[..., Any]
NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[a-z-]+\])?")


def _requires(requirement: str) -> Callable[[Any], None]:
    return lambda site: site.evaluator("acme-bad", "bad", requires=(requirement,))


def _with_manifest(text: str) -> Callable[[Any], None]:
    return lambda site: site.evaluator("acme-bad", "bad", manifest=text)


def _damaged(site: Any) -> None:
    site.evaluator("acme-bad", "bad")
    (site.folder / "acme_bad-1.0.dist-info" / "entry_points.txt").write_bytes(
        b"[context_bench.evaluators]\n\xff"
    )


BAD: dict[str, Callable[[Any], None]] = {
    "what is missing": _requires("nowhere-to-be-found>=2"),
    "a requirement that is a command": _requires("$(touch pwned)"),
    "a faulty manifest": _with_manifest('schema = 1\napi = "1.0"\n[evaluators.bad]\nsummary = 1\n'),
    "no TOML": _with_manifest("["),
    "an old API": _with_manifest('schema = 1\napi = "0.1"\n'),
    "damaged metadata": _damaged,
}


@pytest.mark.parametrize("install", BAD.values(), ids=BAD.keys())
def test_each_command_in_it_can_be_called(
    install: Callable[[Any], None], site: Any, context_bench: Run
) -> None:
    pytest.importorskip("context_bench_kit", reason="remedies name `plugins check`")
    site.basics()
    install(site)
    told = json.loads(context_bench("plugins", "list", "--json").out)
    [remedy] = [entry["remedy"] for entry in told if entry["distribution"] == "acme-bad"]
    commands = [shlex.split(command) for command in re.findall(r"`([^`]*)`", remedy)]
    for command in commands:
        if command[0] == "context-bench":
            done = context_bench(*command[1:])
            assert "Usage:" not in done.err
            assert "No plugin is called" not in done.err
        else:
            assert command[:2] in (["pip", "install"], ["pip", "uninstall"]), command
            names = [word for word in command[2:] if word != "--force-reinstall"]
            assert names
            assert all(NAME.fullmatch(name) for name in names), command
    flags = re.search(r"--exclude (\S+?)[,.]?( |$)", remedy)
    if flags:
        done = context_bench("run", "-s", "echo", "-d", "toy", "-q", "--exclude", flags[1])
        assert done.code == 0, done.err
    assert commands or flags


def test_the_blocked_are_let_in_by_what_is_told(
    site: Any, context_bench: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.basics()
    monkeypatch.setenv("CONTEXT_BENCH_DISABLE_PLUGINS", "exact")
    told = json.loads(context_bench("plugins", "show", "exact", "--json").out)[0]
    found = re.search(r"give (-p \S+)$", told["remedy"])
    assert found is not None, told["remedy"]
    [again] = json.loads(context_bench("plugins", "show", "exact", "--json", *found[1].split()).out)
    assert again["state"] == "ok"


def test_an_unknown_dataset_names_the_packages_that_bring_more() -> None:
    from context_bench.plugins.catalog import Catalog

    message = str(Catalog().unknown("datasets", "xyzzy"))
    assert "`context-bench datasets list`" in message
    assert "context-bench-qa" in message
    assert "pip install" in message
    assert "datasets list" not in str(Catalog().unknown("evaluators", "xyzzy"))


@pytest.fixture
def installed_from(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Say what the installation of context-bench records of its source; None for nothing."""
    monkeypatch.delenv(INDEX_VARIABLE, raising=False)

    def put(origin: Any) -> None:
        class Recorded:
            @staticmethod
            def read_text(name: str) -> str | None:
                assert name == "direct_url.json"
                return None if origin is None else json.dumps(origin)

        monkeypatch.setattr(importlib_metadata, "distribution", lambda name: Recorded)

    return put


def arguments_of(hint: str) -> list[str]:
    """Return the arguments of the one command in a hint."""
    [command] = re.findall(r"`([^`]*)`", hint)
    program, verb, *arguments = shlex.split(command)
    assert (program, verb) == ("pip", "install")
    return arguments


NAMES = ["context-bench-huggingface", "context-bench-qa"]


@pytest.mark.parametrize("editable", [True, False])
def test_in_a_checkout_a_hint_names_its_folders(
    editable: bool, installed_from: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "a checkout"
    (root / "core").mkdir(parents=True)
    (root / "core" / "pyproject.toml").write_text("")
    installed_from({"url": (root / "core").as_uri(), "dir_info": {"editable": editable}})
    folders = [root / "core", *(root / "plugins" / name for name in NAMES)]
    assert arguments_of(install_hint("context-bench-qa")) == list(map(str, folders))
    extra = arguments_of(install_hint("context-bench-qa", extra="more"))
    assert extra[-1] == f"{folders[-1]}[more]"
    monkeypatch.chdir(root)
    inside = ["./core", *(f"./plugins/{name}" for name in NAMES)]
    assert arguments_of(install_hint("context-bench-qa")) == inside
    (root / "core" / "pyproject.toml").unlink()
    assert "pip" not in install_hint("context-bench-qa")


def test_beside_wheels_a_hint_names_their_files(installed_from: Any, tmp_path: Path) -> None:
    folder = tmp_path / "the wheels"
    folder.mkdir()
    names = ["context-bench", *NAMES]
    files = [folder / f"{name.replace('-', '_')}-1.0.0-py3-none-any.whl" for name in names]
    for file in files:
        file.write_bytes(b"")
    installed_from({"url": files[0].as_uri(), "archive_info": {}})
    wanted = ["--find-links", str(folder), *map(str, files[1:])]
    assert arguments_of(install_hint("context-bench-qa")) == wanted
    extra = arguments_of(install_hint("context-bench-qa", extra="more"))
    assert extra == [*wanted[:-1], f"{files[-1]}[more]"]
    files[-1].unlink()
    assert "pip" not in install_hint("context-bench-qa")


def test_a_hint_for_a_repository_names_its_commit(installed_from: Any) -> None:
    vcs = {"vcs": "git", "commit_id": "c0ffee"}
    installed_from({"url": "https://git.example/bench", "vcs_info": vcs, "subdirectory": "core"})
    assert arguments_of(install_hint("context-bench-qa"))[-1] == (
        "context-bench-qa @ git+https://git.example/bench@c0ffee#subdirectory=plugins/context-bench-qa"
    )


def test_the_configured_index_is_named_without_its_password(
    installed_from: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_from({"url": "file:///elsewhere/core", "dir_info": {}})
    monkeypatch.setenv(INDEX_VARIABLE, "https://me:s3cret@index.example/simple")
    hint = install_hint("context-bench-qa")
    assert arguments_of(hint) == ["--index-url", f"${INDEX_VARIABLE}", *NAMES]
    assert "s3cret" not in hint
    monkeypatch.setenv(INDEX_VARIABLE, str(tmp_path))
    for name in NAMES:
        (tmp_path / f"{name.replace('-', '_')}-1.0.0-py3-none-any.whl").write_bytes(b"")
    assert arguments_of(install_hint("context-bench-qa"))[:2] == ["--find-links", str(tmp_path)]


@pytest.mark.parametrize(
    "origin",
    [None, {"url": "https://files.example/context_bench-1.0.0.whl", "archive_info": {}}],
    ids=["from an index", "from an address"],
)
def test_a_name_of_ours_is_never_looked_up_on_an_index_that_nobody_named(
    origin: Any, installed_from: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the public index such a name may be anybody's."""
    from context_bench import installation

    installed_from(origin)
    monkeypatch.setattr(installation, "__file__", "/nowhere/site-packages/context_bench/x.py")
    for hint in (
        install_hint("context-bench-qa"),
        install_hint("context-bench-compress", extra="sumy"),
        install_hint("context-bench-math", force=True),
    ):
        assert "`" not in hint
        assert INDEX_VARIABLE in hint
    assert "context-bench-compress[sumy]" in install_hint("context-bench-compress", extra="sumy")
    mixed = hint_for(["context-bench-qa", "numpy"])
    assert arguments_of(mixed) == ["numpy"]
    assert "context-bench-qa" in mixed


def test_no_module_writes_a_hint_of_its_own() -> None:
    """Every message goes through one function; templates of the kit and pages are for checkouts."""
    import context_bench

    root = Path(context_bench.__file__).parents[3]
    if not (root / "plugins").is_dir():
        pytest.skip("not in a checkout")
    own = re.compile(r"pip install[^`\n]*(\./core|\./plugins|context-bench-)")
    sources = [*root.glob("core/src/**/*.py"), *root.glob("plugins/*/src/**/*.py")]
    assert len(sources) > 300
    faulty = [str(path) for path in sources if own.search(path.read_text(encoding="utf-8"))]
    assert faulty == []
