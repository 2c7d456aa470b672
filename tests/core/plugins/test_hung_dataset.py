"""A named dataset that hangs: one line and the command to go on."""

from __future__ import annotations

from typing import Any

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


def test_one_line_names_dataset_and_seconds_and_resume_goes_on(site: Any, process: Any) -> None:
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
    first, second = done.err.splitlines()
    assert first.startswith(
        "Error: Dataset 'stuck' hangs after row 2: it gave no example within 3 seconds"
    )
    assert second == "What was finished is kept. Go on with: context-bench resume r.sqlite"
    again = process("resume", "r.sqlite", "-q", "--dataset-timeout", "2", STUCK="1")
    assert "within 2 seconds" in again.err
    done = process("resume", "r.sqlite", "-q")
    assert done.code == 0, done.err
