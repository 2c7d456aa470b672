"""Break the code on purpose, one fault at a time, and see that a test notices: `nox -s mutation`, by hand.

    python tests/mutation/mutate.py                  every mutation of the list
    python tests/mutation/mutate.py oldest-run ...   these
    python tests/mutation/mutate.py --check          only whether each still fits the code: seconds

Every file `*.toml` beside this script is a part of the list. To add a mutation, append a table to one of them, or to a new one:

    [[mutation]]
    name = "oldest-run-reused"                       # unique, kebab-case
    fault = "Of two runs with one key the oldest is reused"
    file = "core/src/context_bench/store/queries.py"   # from the root of the repository
    old = 'glob("*.sqlite"), reverse=True)'          # stands in the file exactly once; ''' ''' for several lines
    new = 'glob("*.sqlite"))'
    tests = ["tests/core/record/test_reuse.py::test_the_newest_run_is_reused"]
    seconds = 60                                     # optional: after so long a test that hangs counts as failed; 300

The tests named must pass on the code as it is, and one of them must fail on the mutated one. A mutation that lives, or that no
longer fits the code, is an error. Everything happens in a copy, which the packages are imported from;
it takes an environment in which all of them are installed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


class Mutation(NamedTuple):
    """A fault that a test must notice.

    Attributes:
        name: What it is called.
        fault: What is wrong with the mutated code.
        file: Where, from the root of the repository.
        old: The text that is replaced; it stands there once.
        new: What it is replaced by.
        tests: What pytest runs.
        seconds: How long the tests may take; a mutation may well make one wait for ever.
    """

    name: str
    fault: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    seconds: float = 300.0

    def text(self, root: Path) -> str:
        """Return the file with the fault.

        Raises:
            SystemExit: The text that is replaced does not stand there once.
        """
        path = root / self.file
        whole = path.read_text("utf-8") if path.is_file() else ""
        if whole.count(self.old) != 1 or self.old == self.new:
            raise SystemExit(
                f"{self.name}: its `old` stands {whole.count(self.old)} times in {self.file}, not once."
            )
        return whole.replace(self.old, self.new)


def listed() -> list[Mutation]:
    """Return the whole list.

    Raises:
        SystemExit: Two have one name.
    """
    tables = [
        table
        for file in sorted(HERE.glob("*.toml"))
        for table in tomllib.loads(file.read_text("utf-8"))["mutation"]
    ]
    found = [Mutation(**{**table, "tests": tuple(table["tests"])}) for table in tables]
    names = [mutation.name for mutation in found]
    if len(set(names)) < len(names):
        raise SystemExit(
            f"Two mutations are called {next(name for name in names if names.count(name) > 1)}."
        )
    return found


def copied(folder: Path) -> Path:
    """Return a copy of the repository's files as they are now, beside the shared records where there are any."""
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    copy = folder / "copy"
    for name in names:
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    for source in sources(copy):
        _install(source)
    if (ROOT.parent / "shared").exists():
        (folder / "shared").symlink_to((ROOT.parent / "shared").resolve())
    return copy


def sources(copy: Path) -> list[Path]:
    """Return the folders of the copy that hold our packages."""
    return [copy / "core" / "src", *sorted(copy.glob("plugins/*/src"))]


def _install(source: Path) -> None:
    """Lay what the environment says of a distribution beside its package, as if it had been installed there."""
    project = "context-bench" if source.parent.name == "core" else source.parent.name
    found = distribution(project)
    info = source / f"{project.replace('-', '_')}-{found.version}.dist-info"
    info.mkdir()
    for name in ("METADATA", "entry_points.txt"):
        (info / name).write_text(found.read_text(name) or "", "utf-8")
    files = sorted(
        file.relative_to(source).as_posix() for file in source.rglob("*") if file.is_file()
    )
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in files), "utf-8")


def passes(copy: Path, mutation: Mutation) -> tuple[bool, str]:
    """Run a mutation's tests in the copy; return whether they pass, and pytest's last words."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, sources(copy))),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        *mutation.tests,
    ]
    try:
        done = subprocess.run(
            command,
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            timeout=mutation.seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f"not done after {mutation.seconds:.0f} s"
    if done.returncode not in (
        0,
        1,
    ):  # pytest: 0 passed, 1 failed; all else says that nothing was tested
        raise SystemExit(
            f"{mutation.name}: its tests cannot be run.\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    words = [line for line in done.stdout.splitlines() if line.strip()]
    if done.returncode == 0 and " passed" not in words[-1]:
        raise SystemExit(f"{mutation.name}: none of its tests ran. {words[-1]}")
    return done.returncode == 0, words[-1] if words else ""


def is_killed(copy: Path, mutation: Mutation) -> bool:
    """Say whether a test notices the fault."""
    path = copy / mutation.file
    whole, faulty = path.read_text("utf-8"), mutation.text(copy)
    good, words = passes(copy, mutation)
    if not good:
        raise SystemExit(f"{mutation.name}: its tests fail on the code as it is. {words}")
    path.write_text(faulty, "utf-8")
    try:
        lives, words = passes(copy, mutation)
    finally:
        path.write_text(whole, "utf-8")
    print(
        f"{'LIVES ' if lives else 'killed'} {mutation.name}: {mutation.fault}. ({words})",
        flush=True,
    )
    return not lives


def main() -> int:
    """Run what the command line names; return 1 when a mutation lives."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="mutations; all without any")
    parser.add_argument(
        "--check", action="store_true", help="only look whether each still fits the code"
    )
    asked = parser.parse_args()
    mutations = listed()
    unknown = set(asked.names) - {mutation.name for mutation in mutations}
    if unknown:
        parser.error(f"no mutation is called {', '.join(sorted(unknown))}")
    chosen = [mutation for mutation in mutations if not asked.names or mutation.name in asked.names]
    for mutation in chosen:
        mutation.text(ROOT)
    if asked.check:
        print(f"{len(chosen)} mutations fit the code")
        return 0
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        copy = copied(Path(folder))
        lives = [mutation.name for mutation in chosen if not is_killed(copy, mutation)]
    print(
        f"{len(chosen) - len(lives)} mutations killed, {len(lives)} live{': ' if lives else ''}{', '.join(lives)}"
    )
    return 1 if lives else 0


if __name__ == "__main__":
    sys.exit(main())
