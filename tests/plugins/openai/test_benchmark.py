from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "bench_endpoint.py"


@pytest.mark.one_python
def test_the_benchmark_of_an_endpoint_says_what_the_bare_server_allows_and_what_each_client_reaches() -> (
    None
):
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "1"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = re.findall(
        r"^\| (.+?) \| ([\d,]+) \| [\d.]+% \| ([\d.]+) ms \|$", done.stdout, re.MULTILINE
    )
    names = [name for name, _, _ in rows if not name.startswith("aiohttp")]
    assert names == [
        "bare sockets: what the server allows",
        "`ChatClient.achat`",
        "`evaluate(OpenAIProxy(...), max_workers=256)`",
    ]
    assert all(float(cpu) > 0 for _, _, cpu in rows)
