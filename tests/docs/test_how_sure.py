"""The pictures of the page "How sure is this?" are those that its command draws."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def test_the_pictures_show_what_the_functions_compute(root: Path) -> None:
    pytest.importorskip("context_bench_compare", reason="the pictures show its intervals")
    command = [sys.executable, str(root / "docs" / "how_sure.py"), "--check"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, f"python docs/how_sure.py renews: {found.stdout}{found.stderr}"
