"""Names of configurations."""

from __future__ import annotations

from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import UnknownNameError

pytest.importorskip("context_bench_needle")


def answer(example: dict[str, Any]) -> dict[str, Any]:
    return {"response": ""}


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("foo", "`context-bench datasets show needle` shows all"),
        ("singel", "Did you mean 'single'"),
    ],
)
def test_an_unknown_configuration_names_those_that_work(name: str, named: str) -> None:
    with pytest.raises(UnknownNameError, match=named) as caught:
        evaluate(answer, f"needle:{name}", max_examples=1, progress=False)
    assert {"single", "multi-key"} <= set(caught.value.known)
