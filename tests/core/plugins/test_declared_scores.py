"""What an evaluator gives is held against what its manifest declares: keys and ranges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

CODE = """
    class Evaluator:
        name = "ranged"

        def score(self, original, processed):
            return {found}
"""
MANIFEST = """
    schema = 1
    api = "1.0"

    [evaluators.ranged]
    summary = "Scores"
    class = "Evaluator"
    primary = "one"
    version = "1"
    wire = [{ always = true }]
    scores.one = { range = [0.0, 1.0] }

"""


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        ("{'one': 1.0}", None),
        ("{'one': 1.0 + 5e-10}", None),
        ("{'one': -5e-10}", None),
        (
            "{'one': 1.0 + 1e-8}",
            "the score 'one' is 1.00000001, outside its declared range [0.0, 1.0]",
        ),
        ("{'one': -0.5}", "the score 'one' is -0.5, outside its declared range [0.0, 1.0]"),
        (
            "{'one': 1.0, 'other': 1.0}",
            "it gave the score 'other', which its manifest does not declare",
        ),
        ("{'one': float('nan')}", "the score 'one' is nan, not a finite number"),
    ],
)
def test_a_score_that_is_not_declared_is_a_failure_of_its_evaluator(
    found: str, fault: str | None, site: Any, context_bench: Callable[..., Any]
) -> None:
    site.basics()
    site.add(
        "acme-ranged",
        code=CODE.replace("{found}", found),
        manifest=MANIFEST,
        entry_points={"evaluators": {"ranged": "acme_ranged:Evaluator"}},
    )
    flags = (
        "--system",
        "echo",
        "--dataset",
        "toy",
        "--evaluators",
        "ranged",
        "--run-file",
        "r.sqlite",
        "-q",
    )
    done = context_bench("run", *flags)
    assert done.code == (12 if fault else 0), done.words
    rows = context_bench("export", "r.sqlite").out
    if fault is None:
        assert '"errors": []' in rows or '"errors":[]' in rows
    else:
        assert fault.replace('"', '\\"') in rows
