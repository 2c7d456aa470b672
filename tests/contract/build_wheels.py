"""Build the source distribution of every package, and from that its wheel, in one process: a twentieth of what one each takes.

What is not in a source distribution is then in no wheel, either.
"""

from __future__ import annotations

import os
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from hatchling.build import build_sdist, build_wheel

ROOT = Path(__file__).resolve().parents[2]
BUILT_BY = '[build-system]\nrequires = ["hatchling>=1.21"]\nbuild-backend = "hatchling.build"\n'
"""What every package says, so that one environment may build them all."""


def build(project: Path, out: str) -> None:
    if BUILT_BY not in (project / "pyproject.toml").read_text(encoding="utf-8"):
        raise SystemExit(
            f"{project.relative_to(ROOT)} is not built as the others are, which say:\n{BUILT_BY}"
        )
    os.chdir(project)
    source = Path(out) / build_sdist(out)
    with TemporaryDirectory() as folder:
        with tarfile.open(source) as archive:
            archive.extractall(folder, filter="data")
        [unpacked] = Path(folder).iterdir()
        os.chdir(unpacked)
        build_wheel(out)
        os.chdir(ROOT)


def main(folder: str) -> None:
    out = Path(folder).resolve()
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("context_bench*"):
        old.unlink()
    for project in sorted(
        [ROOT / "core", *(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))]
    ):
        build(project, str(out))


if __name__ == "__main__":
    main(sys.argv[1])
