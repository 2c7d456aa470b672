"""A new package is complete: as it is written it builds, passes both checks and its own tests, and is
listed where it is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from context_bench.cli import execute
from context_bench_kit.commands import KINDS
from context_bench_kit.new_package import TEMPLATES

pytestmark = pytest.mark.one_python


def run(folder: Path, python: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a Python module in a folder, with an environment's Python; no installer of it uses a network."""
    return subprocess.run(
        [python, "-m", *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "200", "PIP_NO_INDEX": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def fresh_environment(folder: Path) -> str:
    """Return the Python of a new environment that has what this one has, and nothing installed of its own."""
    venv.EnvBuilder(with_pip=False, symlinks=os.name != "nt").create(folder)
    [site] = [*folder.glob("lib/python*/site-packages"), *folder.glob("Lib/site-packages")]
    ours = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    lines = [f"import site; site.addsitedir({path!r})" for path in ours]
    (site / "ours.pth").write_text("\n".join(lines), encoding="utf-8")
    [python] = [*folder.glob("bin/python"), *folder.glob("Scripts/python.exe")]
    return str(python)


def build(project: Path) -> Path:
    """Build the wheel of a project, and return it."""
    code = "import hatchling.build; print(hatchling.build.build_wheel('built'))"
    (project / "built").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    [wheel] = (project / "built").glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        package = project.name.replace("-", "_")
        names = {f"{package}/{name}" for name in ("context_bench_plugin.toml", "py.typed")}
        assert names <= set(packed.namelist())
    return wheel


def install(folder: Path, python: str, *wheels: Path) -> None:
    """Install wheels in an environment as a user does, from the files alone."""
    into = ("--python", python, "--disable-pip-version-check", "install", "--no-deps")
    done = run(folder, sys.executable, "pip", *into, *map(str, wheels))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_package_passes_everything_as_it_is_written(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("hatchling", reason="the package is built")
    pytest.importorskip("pip", reason="the package is installed")
    monkeypatch.chdir(tmp_path)
    name = f"acme-new-{kind}"
    assert execute(["plugins", "new", kind, name]) == 0
    project = tmp_path / name
    assert f"plugins check ./{name} --run" in capsys.readouterr().out
    marks = [path for path in project.rglob("*") if path.is_file() and "@" in path.read_text()]
    assert {path.suffix for path in marks} <= {".yml", ".py"}  # actions/checkout@v4, decorators

    checked = run(
        tmp_path, sys.executable, "context_bench", "plugins", "check", f"./{name}", "--run"
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "not called" not in checked.stdout or kind == "option-group"

    python = fresh_environment(tmp_path / "environment")
    install(project, python, build(project))
    listed = run(tmp_path, python, "context_bench", "plugins", "list", "--json")
    [entry] = [one for one in json.loads(listed.stdout) if one["id"] == f"{name}/{name}"]
    assert entry["state"] == "ok"
    checked = run(tmp_path, python, "context_bench", "plugins", "check", name, "--run")
    assert checked.returncode == 0, checked.stdout
    tested = run(project, python, "pytest", "-q", "-p", "no:cacheprovider")
    assert tested.returncode == 0, tested.stdout


PROGRAM = """
from context_bench import evaluate

def answer(example):
    return "paris"

result = evaluate(answer, "acme-all-dataset", progress=False, run_file="run.sqlite",
    add_evaluators=["acme-all-evaluator"], add_metrics=["acme-all-metric"],
    extensions=["acme-all-extension"], tokenizer="acme-all-tokenizer")
print(len(result.rows), result.summary["answer"]["acme_all_metric"],
    [row.scores["acme_all_evaluator"] for row in result.rows])
shorter = evaluate("acme-all-system:words=2", [{"context": "one two three"}], [], progress=False)
print([row.failed for row in shorter.rows])
"""


def test_new_packages_of_all_kinds_run_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("hatchling", reason="the packages are built")
    pytest.importorskip("pip", reason="the packages are installed")
    monkeypatch.chdir(tmp_path)
    python = fresh_environment(tmp_path / "environment")
    for kind in KINDS:
        assert execute(["plugins", "new", kind, f"acme-all-{kind}"]) == 0
    use_group(tmp_path, "acme-all-option-group")
    install(tmp_path, python, *(build(tmp_path / f"acme-all-{kind}") for kind in KINDS))
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    done = run(tmp_path, python, "program")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "3 1.0 [1.0, 0.0, 0.0]\n[False]\n"
    reported = run(
        tmp_path, python, "context_bench", "report", "run.sqlite", "--format", "acme-all-reporter"
    )
    assert reported.stdout == "answer: 0.3333\n", reported.stderr
    counted = run(tmp_path, python, "context_bench", "acme-all-command", "run.sqlite")
    assert counted.stdout == "3 rows\n", counted.stderr
    helped = run(tmp_path, python, "context_bench", "run", "--help-all")
    assert "--acme-all-option-group-timeout" in helped.stdout


def use_group(folder: Path, group: str) -> None:
    """Have the new evaluator use the options of a group, as its package's README shows."""
    manifest = folder / "acme-all-evaluator/src/acme_all_evaluator/context_bench_plugin.toml"
    text = manifest.read_text(encoding="utf-8")
    assert text.count("wire = []") == 1
    manifest.write_text(
        text.replace("wire = []", f'wire = []\noption_groups = ["{group}"]'), encoding="utf-8"
    )


def test_the_command_offers_every_template() -> None:
    assert tuple(TEMPLATES) == KINDS


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Acme", "not a name of a package"),
        ("acme--x", "not a name of a package"),
        ("../acme", "not a name of a package"),
        ("acme_x", "not a name of a package"),
        ("class", "keyword"),
        ("json", "installed already"),
        ("taken", "already exists"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused(
    name: str,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    before = sorted(tmp_path.rglob("*"))
    assert execute(["plugins", "new", "evaluator", name]) == 2
    assert reason in " ".join(capsys.readouterr().err.split())
    assert sorted(tmp_path.rglob("*")) == before


def test_a_package_is_written_into_another_folder(tmp_path: Path) -> None:
    assert execute(["plugins", "new", "metric", "acme-there", "--into", str(tmp_path)]) == 0
    assert (tmp_path / "acme-there" / "pyproject.toml").is_file()
