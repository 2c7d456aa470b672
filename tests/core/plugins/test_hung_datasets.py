"""A dataset that hangs ends the command, wherever it hangs, and the run can be resumed."""

from __future__ import annotations

from typing import Any

import pytest

CODE = """
    import os
    import threading

    def stuck(limit=None, config=None, split=None):
        for number in range(5):
            if number == 3 and "STUCK" in os.environ:
                threading.Event().wait()
            yield {"id": str(number), "question": "q", "answer": "a"}
"""
MANIFEST = """
    schema = 1
    api = "1.0"

    [datasets.stuck]
    summary = "Hangs"
    class = "stuck"
"""


def test_a_dataset_that_hangs_between_rows_stops_the_run_resumably(site: Any, process: Any) -> None:
    site.basics()
    site.add(
        "acme-stuck",
        code=CODE,
        manifest=MANIFEST,
        entry_points={"datasets": {"stuck": "acme_stuck:stuck"}},
    )
    flags = ["-s", "echo", "-d", "stuck", "--evaluators", "exact", "--run-file", "r.sqlite", "-q"]
    done = process("run", *flags, "--dataset-timeout", "3", STUCK="1")
    assert done.code == 2, done.err
    assert "'stuck' hangs after row 2" in done.err
    assert "context-bench resume r.sqlite" in done.err
    done = process("resume", "r.sqlite", "-q")
    assert done.code == 0, done.err


LOADERS = {
    "import": "import time\ntime.sleep(600)\ndef load():\n    return []\n",
    "call": "import time\ndef load():\n    time.sleep(600)\n    return []\n",
    "revision": (
        "import time\ndef load():\n    return [{'id': '1', 'answer': '1'}]\n"
        "def revision():\n    time.sleep(600)\nload.revision = revision\n"
    ),
}


@pytest.mark.parametrize("place", LOADERS)
def test_a_loader_that_hangs_ends_the_command(place: str, site: Any, process: Any) -> None:
    site.basics()
    manifest = MANIFEST.replace("stuck", "slow").replace('"slow"', '"load"')
    points = {"datasets": {"slow": "acme_slow:load"}}
    site.add("acme-slow", code=LOADERS[place], manifest=manifest, entry_points=points)
    done = process("run", "--system", "echo", "--dataset", "slow", "--dataset-timeout", "1")
    assert done.code == 2, done.words
    assert "'slow' hangs" in done.words
    assert "--dataset-timeout" in done.words
