"""A package's dataset that hangs before its first row - as it is imported, called, or asked for its revision - is bounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

CODES = {
    "import": "import time\ntime.sleep(600)\ndef load():\n    return [{'id': '1', 'answer': '1'}]\n",
    "call": "import time\ndef load():\n    time.sleep(600)\n    return [{'id': '1', 'answer': '1'}]\n",
    "first row": "import time\ndef load():\n    time.sleep(600)\n    yield {'id': '1', 'answer': '1'}\n",
    "revision": (
        "import time\ndef load():\n    return [{'id': '1', 'answer': '1'}]\n"
        "def revision():\n    time.sleep(600)\nload.revision = revision\n"
    ),
}
MANIFEST = """
    schema = 1
    api = "1.0"
    [datasets.slow]
    summary = "Hangs"
    class = "load"
"""


@pytest.mark.parametrize("where", CODES)
def test_a_loader_that_hangs_ends_the_command(
    where: str, site: Any, process: Callable[..., Any]
) -> None:
    site.basics()
    site.add(
        "acme-slow",
        code=CODES[where],
        manifest=MANIFEST,
        entry_points={"datasets": {"slow": "acme_slow:load"}},
    )
    done = process("run", "--system", "echo", "--dataset", "slow", "--dataset-timeout", "1")
    assert done.code == 2, done.words
    assert "ataset 'slow' hangs" in done.words
    assert "(--dataset-timeout)" in done.words
