"""What checks built files finds each fault of a wheel and of a source distribution."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

pytest.importorskip("tomllib", reason="the build reads TOML with Python's own reader")
check_wheels = pytest.importorskip("check_wheels")

pytestmark = pytest.mark.one_python

MODULE = "context_bench_acme"
INFO = f"{MODULE}-1.0.0.dist-info"
METADATA = """\
Metadata-Version: 2.4
Name: context-bench-acme
Version: 1.0.0
Summary: An example.
License-Expression: MIT
Classifier: Typing :: Typed
Requires-Python: >=3.10
Requires-Dist: context-bench<2,>=1
Description-Content-Type: text/markdown

# context-bench-acme

A description that is long enough to be one: it says what the package is for, and how it is used.
"""
FILES = {
    f"{MODULE}/__init__.py": "",
    f"{MODULE}/py.typed": "",
    f"{MODULE}/context_bench_plugin.toml": 'schema = 1\n[evaluators.acme]\nsummary = "x"\n',
    f"{INFO}/METADATA": METADATA,
    f"{INFO}/entry_points.txt": "[context_bench.evaluators]\nacme = context_bench_acme:Acme\n",
    f"{INFO}/licenses/LICENSE": "MIT License",
}


def wheel_of(folder: Path, files: dict[str, str]) -> Path:
    path = folder / f"{MODULE}-1.0.0-py3-none-any.whl"
    with ZipFile(path, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return path


def test_a_whole_wheel_has_no_fault(tmp_path: Path) -> None:
    assert check_wheels.faults(wheel_of(tmp_path, FILES), {"context-bench"}) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        (f"{MODULE}/py.typed", None, None, "lacks context_bench_acme/py.typed"),
        (
            f"{MODULE}/context_bench_plugin.toml",
            None,
            None,
            "lacks context_bench_acme/context_bench_plugin.toml",
        ),
        (f"{INFO}/licenses/LICENSE", None, None, "lacks its license"),
        ("tests/test_acme.py", "", "x", "has tests/test_acme.py"),
        (f"{MODULE}/old.pyc", "", "x", "has context_bench_acme/old.pyc"),
        (f"{INFO}/METADATA", "Version: 1.0.0", "Version: 1.0.1", "says Version: 1.0.1, not 1.0.0"),
        (f"{INFO}/METADATA", "Expression: MIT", "Expression: BSD-3-Clause", "without MIT"),
        (f"{INFO}/METADATA", ">=3.10", ">=3.9", "says Requires-Python"),
        (f"{INFO}/METADATA", "Typing :: Typed", "Typing", "lacks the classifier"),
        (f"{INFO}/METADATA", "Summary: An example.\n", "", "lacks a summary"),
        (f"{INFO}/METADATA", METADATA.partition("\n\n")[2], "", "lacks its README"),
        (f"{INFO}/METADATA", "context-bench<2,>=1", "context-bench>=1", "not >=1,<2"),
        (f"{INFO}/METADATA", "context-bench<2,>=1", "context-bench-x<2,>=1", "is not built"),
        (
            f"{INFO}/entry_points.txt",
            "acme =",
            "acne =",
            "entry point context_bench.evaluators acne",
        ),
        (
            f"{INFO}/entry_points.txt",
            "evaluators",
            "systems",
            "entry point context_bench.systems acme",
        ),
    ],
    ids=lambda value: None if value is None else str(value)[:40],
)
def test_each_fault_of_a_wheel_is_named(
    name: str, old: str | None, new: str | None, fault: str, tmp_path: Path
) -> None:
    files = dict(FILES)
    if new is None:
        del files[name]
    else:
        text = files.get(name, "")
        assert old in text or not text
        files[name] = text.replace(str(old), new) if text else new
    found = check_wheels.faults(wheel_of(tmp_path, files), {"context-bench"})
    assert len(found) == 1, found
    assert fault in found[0]


PROJECT = '[tool.hatch.build.targets.sdist]\ninclude = ["src", "README.md", "LICENSE"]\n'
SOURCES = {
    "pyproject.toml": PROJECT,
    "README.md": "x",
    "LICENSE": "x",
    "PKG-INFO": "x",
    f"src/{MODULE}/context_bench_plugin.toml": "x",
}


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        ({}, []),
        ({"LICENSE": None}, ["lacks LICENSE"]),
        (
            {f"src/{MODULE}/context_bench_plugin.toml": None, f"src/{MODULE}/x": "x"},
            ["lacks its manifest"],
        ),
        ({"notes/todo.txt": "x"}, ["has notes"]),
    ],
    ids=["whole", "no license", "no manifest", "more"],
)
def test_each_fault_of_a_source_distribution_is_named(
    change: dict[str, str | None], faults: list[str], tmp_path: Path
) -> None:
    path = tmp_path / f"{MODULE}-1.0.0.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        for name, text in {**SOURCES, **change}.items():
            if text is not None:
                entry = tarfile.TarInfo(f"{MODULE}-1.0.0/{name}")
                entry.size = len(text)
                packed.addfile(entry, io.BytesIO(text.encode()))
    assert check_wheels.faults_of_source(path) == [f"{path.name} {fault}" for fault in faults]


def test_an_empty_folder_is_a_fault(tmp_path: Path) -> None:
    assert check_wheels.main(str(tmp_path)) == 1
