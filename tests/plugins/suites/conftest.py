from __future__ import annotations

import pytest

SMALL = """
schema = 1
name = "small"
version = "3"
summary = "Six needles."

[run]
systems = ["identity"]
datasets = ["needles=needle,length=200"]
max_examples = 6
seed = 0
evaluators = ["needle-recall"]

[compare]
metrics = ["needle_recall"]
baseline = "identity"
by = ["dataset"]

[[headline.columns]]
heading = "found"
score = "needle_recall"
dataset = "needles"
"""


@pytest.fixture
def small_text() -> str:
    """A suite of six short needle tasks, as TOML."""
    return SMALL
