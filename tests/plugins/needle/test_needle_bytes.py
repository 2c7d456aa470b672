"""The same arguments give the same bytes: on every Python version, platform, and release of this plugin."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys

import pytest

from context_bench_needle import needle
from context_bench_needle.dice import Dice, radical_inverse


def digest(**arguments: object) -> str:
    rows = list(needle(3, **arguments))  # type: ignore[arg-type]
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:16]


CASES: dict[str, tuple[dict[str, object], str]] = {
    "single": ({"config": "single", "length": 1000}, "b03c05632f273e02"),
    "single-noise": ({"config": "single-noise", "length": 1000}, "d9973ae23adc2d89"),
    "single-uuid": ({"config": "single-uuid", "length": 1000}, "0896a2560d4aa3b5"),
    "multi-key": ({"config": "multi-key", "length": 1000}, "81d48609c015a23f"),
    "multi-key-needles": ({"config": "multi-key-needles", "length": 1000}, "157d042ad47a93e4"),
    "multi-key-uuid": ({"config": "multi-key-uuid", "length": 1000}, "48bbdd22ea71fbbc"),
    "multi-value": ({"config": "multi-value", "length": 1000}, "10854d75553546d4"),
    "multi-query": ({"config": "multi-query", "length": 1000}, "12f8b9b82f42065e"),
    "lengths and depths": ({"lengths": [100, 2000], "depth": [0, 33.3, 100]}, "de1e13b2d45c49c5"),
    "another seed": ({"length": 500, "seed": -7}, "2b0a06c2a4af90f3"),
    "words in needles": (
        {
            "config": "multi-query",
            "length": 3000,
            "haystack": "needles",
            "value_kind": "word",
            "values": 2,
        },
        "83d8258e1f105a66",
    ),
    "100k": ({"config": "multi-key", "length": "100k"}, "a22b43542904f21d"),
    "words of three parts": (
        {"length": "1m", "haystack": "needles", "value_kind": "word"},
        "33db6ec9f3f0d52c",
    ),
}


@pytest.mark.parametrize(("arguments", "expected"), CASES.values(), ids=CASES)
def test_rows_have_the_bytes_they_always_had(arguments: dict[str, object], expected: str) -> None:
    assert digest(**arguments) == expected


def test_rows_do_not_depend_on_the_hash_seed_of_the_process() -> None:
    code = "from context_bench_needle import needle; print(*(row for row in needle(2, 'all', length=300)))"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_a_dice_is_named_by_its_label() -> None:
    assert [Dice("a").below(1000) for _ in range(3)] == [Dice("a").below(1000)] * 3
    assert [Dice("a").below(1000), Dice("b").below(1000)] == [667, 299]


def test_van_der_corput_numbers_halve_the_gaps() -> None:
    assert [radical_inverse(index) for index in range(8)] == [
        0,
        0.5,
        0.25,
        0.75,
        0.125,
        0.625,
        0.375,
        0.875,
    ]
