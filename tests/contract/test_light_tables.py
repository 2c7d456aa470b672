"""What stands below every table costs a run no heavy import."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

for package in ("context_bench_compare", "context_bench_controls", "context_bench_needle"):
    pytest.importorskip(package, reason="packages add to tables")

RUN = """
import json, sys
from context_bench.cli import execute
code = execute(["run", "--system", "needle-oracle", "--dataset", "needle", "-n", sys.argv[1], "--run-file", "a.sqlite", "-q"])
heavy = {"numpy", "scipy", "pandas", "pyarrow", "torch", "httpx", "aiohttp"}
print(json.dumps([code, sorted(heavy & set(sys.modules))]))
"""


@pytest.mark.parametrize(("rows", "loaded"), [(2, []), (20, ["numpy"])])
def test_the_table_of_a_run_without_a_baseline_or_controls_loads_no_more_than_its_interval_takes(
    tmp_path: Path, rows: int, loaded: list[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(rows)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [0, loaded]
