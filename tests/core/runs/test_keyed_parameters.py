"""What is declared of each parameter is so: in keys or not; and what may be secret of one is in nothing that a run keeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.plan.run_config import PARAMETERS, RunConfig
from context_bench.plan.specs import parse_dataset, parse_system
from context_bench.plugins.catalog import Catalog
from context_bench.runs import open_run

pytest.importorskip("context_bench_answer_quality", reason="it scores")
pytest.importorskip("context_bench_compress", reason="it brings the systems")
pytest.importorskip("context_bench_local", reason="it reads the rows")
pytest.importorskip("context_bench_python", reason="it brings the reader")

READER = "python:target=string:capwords,input=question,version=1"

OTHER_VALUES: dict[str, Any] = {
    "systems": ["head:tokens=3"],
    "system_defaults": None,  # a table of the project file: tests/core/runs tell what it does to systems
    "datasets": {"rows": [{"id": "0", "question": "who", "answer": "Ann", "context": "I am Bob."}]},
    "fields": {"answer": "gold"},
    "inputs": ["note"],
    "bare": True,
    "compress_question": True,
    "reader": READER,
    "baseline": "identity",
    "reference": None,
    "limit": 1,
    "sample": 2,
    "seed": 4,
    "ids": ["0"],
    "shard": None,  # evaluate() has none: tests/core/runs/test_shards.py
    "repeat": 2,
    "order": "system",
    "max_workers": 2,
    "executor": None,  # evaluate() has none: tests/core/runs/test_executors.py
    "row_timeout": 60.0,
    "dataset_timeout": 60.0,
    "requests_per_minute": 6e6,
    "tokens_per_minute": 6e9,
    "max_failed": 0.5,
    "keep_going": True,
    "evaluators": ["answer-quality"],
    "add_evaluators": ["answer-quality"],
    "exclude": ["rouge"],
    "allow": ["network"],
    "score_prefixes": {"answer-quality": "a_"},
    "options": None,
    "extensions": None,
    "extension_options": None,
    "metrics": ["counts"],
    "add_metrics": ["counts"],
    "score_field": "recall",
    "threshold": 0.1,
    "tokenizer": None,
    "text_fields": ["question"],
    "store_examples": False,
    "progress": False,
    "log_format": "json",
    "run_file": None,  # each run has one of its own
    "reuse": None,
    "cache_dir": None,
    "locked": None,
}
"""Another value of each parameter for a run that has it; None where one needs more than these packages."""


NO_CONTEXT = {"rows": [{"id": "0", "question": "who", "answer": "Ann"}]}
NEEDED: dict[str, dict[str, Any]] = {
    "inputs": {"reader": READER},
    "bare": {"reader": READER},
    "compress_question": {"systems": [READER], "datasets": NO_CONTEXT},
    "seed": {"sample": 3},
}
"""What a parameter needs beside it to be of use."""


def keys(folder: Path, name: str, **more: Any) -> tuple[str, dict[str, str]]:
    """Return the response key and the score keys of the first row of a run."""
    rows = folder / "rows.jsonl"
    row = {
        "question": "who",
        "answer": "Ann",
        "context": "I am Ann and no one else.",
        "instruction": "Answer with a name.",
        "note": "n",
        "gold": "Bob",
    }
    rows.write_text(
        "".join(json.dumps({"id": str(number), **row}) + "\n" for number in range(3)),
        encoding="utf-8",
    )
    given: dict[str, Any] = {"evaluators": ["answer-quality"], "progress": False, **more}
    if "add_evaluators" in given:
        given.pop("evaluators")
    if "datasets" not in given:
        given["dataset"] = str(rows)
    path = folder / f"{name}.sqlite"
    evaluate(given.pop("systems", ["head:tokens=2"]), run_file=path, **given)
    with open_run(path) as run:
        first = run.keys((0, 0, 0, 0))[0]
        return first.response, dict(first.scores)


@pytest.mark.parametrize(
    "name", [name for name, value in OTHER_VALUES.items() if value is not None]
)
def test_a_key_depends_on_what_is_declared_so_and_on_nothing_else(
    name: str, tmp_path: Path
) -> None:
    one = PARAMETERS[name]
    more = NEEDED.get(name, {})
    usual = keys(tmp_path, "usual", **more)
    other = keys(tmp_path, "other", **{**more, one.python or name: OTHER_VALUES[name]})
    assert (usual != other) == one.keyed


def test_every_parameter_is_looked_at() -> None:
    assert list(OTHER_VALUES) == list(PARAMETERS)
    untried = {name for name, value in OTHER_VALUES.items() if value is None}
    assert untried == {
        *("system_defaults", "reference", "options", "extensions", "extension_options"),
        *("shard", "executor", "tokenizer", "run_file", "reuse", "cache_dir", "locked"),
    }


def test_what_may_be_secret_is_taken_out_of_what_is_kept() -> None:
    secret = "sesame-open-1234"
    spec = parse_system(f"openai:api_key={secret}")
    values: dict[str, Any] = {
        "systems": (spec,),
        "datasets": (parse_dataset(f"hf,token={secret}"),),
        "reader": spec,
        "baseline": spec,
        "reference": spec,
        "options": {"judge": {"api_key": secret}},
        "extension_options": {"gate": {"token": secret}},
        "system_defaults": {"api_key": secret},
    }
    for name, value in values.items():
        assert secret not in json.dumps(RunConfig(**{name: value}).to_dict(Catalog())), name
