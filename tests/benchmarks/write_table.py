"""Run the benchmarks and write docs/reference/benchmarks.md: `python tests/benchmarks/write_table.py [NAME ...]`.

Each `bench_NAME.py` prints a Markdown table of its own; the page holds them with the machine and the versions. With
names, only those are run, and the rest of the page stays.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from datetime import date
from importlib.metadata import distributions
from pathlib import Path

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs" / "reference" / "benchmarks.md"
PEERS = ("rouge-score", "math-verify", "nltk", "langdetect", "sqlite3", "httpx", "httptools", "aiohttp")


def section(path: Path) -> str:
    """Return the section of one benchmark: its first docstring line, and the table that it prints."""
    title = path.stem.removeprefix("bench_").replace("_", " ").capitalize()
    about = path.read_text(encoding="utf-8").split('"""')[1].strip().partition("\n\n")[0].replace("\n", " ")
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr or done.stdout, file=sys.stderr)
        return (
            f"## {title}\n\n{about}\n\nNot run for this page: what it is compared with, or its data, was not there.\n"
        )
    return f"## {title}\n\n{about}\n\n{done.stdout.strip()}\n"


def head() -> str:
    """Return the head of the page: what was measured, where, with what."""
    versions = {found.metadata["Name"]: found.version for found in distributions()}
    peers = ", ".join(f"{name} {versions[name]}" for name in PEERS if name in versions)
    return (
        "# Benchmarks\n\n"
        "Written by `nox -s bench`. Each table puts both sides into one run on one machine; compare ratios, not times.\n\n"
        f"{date.today():%Y-%m-%d}, Python {platform.python_version()}, {platform.system()} {platform.machine()}, "
        f"context-bench {versions.get('context-bench', '?')}; {peers or 'no peers installed'}.\n"
    )


def main(names: list[str]) -> None:
    """Run the benchmarks and write the page."""
    sections = {}
    if names and PAGE.exists():
        for part in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
            sections[part.partition("\n")[0]] = f"## {part.rstrip()}\n"
    for path in sorted(FOLDER.glob("bench_*.py")):
        name = path.stem.removeprefix("bench_")
        if not names or name in names:
            print(f"{name} ...", flush=True)
            sections[name.replace("_", " ").capitalize()] = section(path)
    PAGE.write_text("\n".join([head(), *(sections[title] for title in sorted(sections))]), encoding="utf-8")
    print(PAGE.relative_to(FOLDER.parents[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
