"""A new package is complete: as it is written it builds, passes both checks and its own tests, and is
listed where it is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from context_bench.cli import execute
from context_bench_kit.commands import KINDS
from context_bench_kit.new_package import TEMPLATES

pytestmark = pytest.mark.one_python


def run(folder: Path, site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a Python module in a folder, with the package of a site."""
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(site), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def installed(project: Path, site: Path) -> None:
    """Build the wheel of a project as an installer does, and unpack it."""
    build = "import hatchling.build; print(hatchling.build.build_wheel('built'))"
    (project / "built").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", build], cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    [wheel] = (project / "built").glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        package = project.name.replace("-", "_")
        names = {f"{package}/{name}" for name in ("context_bench_plugin.toml", "py.typed")}
        assert names <= set(packed.namelist())
        packed.extractall(site)


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_package_passes_everything_as_it_is_written(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("hatchling", reason="the package is built")
    monkeypatch.chdir(tmp_path)
    name = f"acme-new-{kind}"
    assert execute(["plugins", "new", kind, name]) == 0
    project = tmp_path / name
    assert f"plugins check ./{name} --run" in capsys.readouterr().out
    marks = [path for path in project.rglob("*") if path.is_file() and "@" in path.read_text()]
    assert {path.suffix for path in marks} <= {".yml", ".py"}  # actions/checkout@v4, decorators

    checked = run(tmp_path, tmp_path, "context_bench", "plugins", "check", f"./{name}", "--run")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "not called" not in checked.stdout or kind == "option-group"

    site = tmp_path / "site"
    installed(project, site)
    listed = run(tmp_path, site, "context_bench", "plugins", "list", "--json")
    [entry] = [one for one in json.loads(listed.stdout) if one["id"] == f"{name}/{name}"]
    assert entry["state"] == "ok"
    checked = run(tmp_path, site, "context_bench", "plugins", "check", name, "--run")
    assert checked.returncode == 0, checked.stdout
    tested = run(project, site, "pytest", "-q", "-p", "no:cacheprovider")
    assert tested.returncode == 0, tested.stdout


def test_new_packages_of_all_kinds_run_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("hatchling", reason="the packages are built")
    monkeypatch.chdir(tmp_path)
    site = tmp_path / "site"
    for kind in ("dataset", "system", "evaluator", "metric", "reporter", "extension", "tokenizer"):
        assert execute(["plugins", "new", kind, f"acme-all-{kind}"]) == 0
        installed(tmp_path / f"acme-all-{kind}", site)
    (tmp_path / "reader.py").write_text(
        "def answer(example):\n    return 'paris'\n", encoding="utf-8"
    )
    program = (
        "from context_bench import evaluate\n"
        "from reader import answer\n"
        "result = evaluate(answer, 'acme-all-dataset', progress=False,\n"
        "    add_evaluators=['acme-all-evaluator'], add_metrics=['acme-all-metric'],\n"
        "    extensions=['acme-all-extension'], tokenizer='acme-all-tokenizer')\n"
        "print(len(result.rows), result.summary['answer']['acme_all_metric'],\n"
        "    [row.scores['acme_all_evaluator'] for row in result.rows])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(tmp_path)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "3 1.0 [1.0, 0.0, 0.0]\n"


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
