"""Installs programs from the package index, each in a separate environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

UNREACHABLE = ("after connection broken by", "Failed to fetch")
"""What pip and uv print when no index answers. Any other fault fails the test."""


@pytest.fixture(scope="session")
def install_from_pypi() -> Iterator[Callable[[str, str], Path]]:
    """Return a function that installs a requirement, whose pins differ from ours, once, and returns an executable."""
    with TemporaryDirectory() as root:

        @cache
        def install(requirement: str, executable: str) -> Path:
            folder = Path(root) / executable
            python = str(folder / "bin" / "python")
            create = [sys.executable, "-m", "venv", str(folder)]
            installer = [python, "-m", "pip", "install"]
            uv = shutil.which("uv")
            if uv is not None:  # in a fifth of the time
                create.append("--without-pip")
                installer = [uv, "pip", "install", "--python", python]
            subprocess.run(create, check=True, timeout=600)
            done = subprocess.run(
                [*installer, "--quiet", requirement], capture_output=True, text=True, timeout=1200
            )
            if done.returncode and any(message in done.stderr for message in UNREACHABLE):
                pytest.skip(f"{requirement}: the package index is unreachable")
            assert done.returncode == 0, done.stderr
            return folder / "bin" / executable

        yield install
