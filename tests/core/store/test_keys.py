from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_bench.errors import ConfigurationError
from context_bench.store import keys
from context_bench.store.keys import (
    MAX_DATASETS,
    MAX_POSITIONS,
    MAX_REPETITIONS,
    MAX_SYSTEMS,
    RowId,
    chain_key,
    evaluator_key,
    example_key,
    response_key,
    score_key,
    system_key,
    unshared_key,
)

row_ids = st.builds(
    RowId,
    st.integers(0, MAX_DATASETS - 1),
    st.integers(0, MAX_POSITIONS - 1),
    st.integers(0, MAX_SYSTEMS - 1),
    st.integers(0, MAX_REPETITIONS - 1),
)


@given(row_ids)
def test_a_packed_identity_unpacks_to_itself_and_fits_sqlite(row: RowId) -> None:
    assert RowId.unpack(row.pack()) == row
    assert 0 <= row.pack() < 2**63


@given(row_ids, row_ids)
def test_packed_identities_sort_in_canonical_order(one: RowId, other: RowId) -> None:
    assert (one.pack() < other.pack()) == (tuple(one) < tuple(other))


@pytest.mark.parametrize(
    "row",
    [RowId(MAX_DATASETS, 0), RowId(0, MAX_POSITIONS), RowId(0, 0, MAX_SYSTEMS), RowId(0, 0, 0, -1)],
)
def test_an_identity_out_of_range_is_refused(row: RowId) -> None:
    with pytest.raises(ConfigurationError, match="is out of range: no run numbers so many"):
        row.pack()


SYSTEM: dict[str, Any] = {
    "adapter": "context-bench-openai/openai",
    "version": "1",
    "fingerprint": {
        "model": "m",
        "endpoint": "http://h/v1",
        "temperature": 0,
        "prompt": "p",
        "layout": "system",
    },
}


@pytest.mark.parametrize(
    "change",
    [
        {"adapter": "other/openai"},
        {"version": "2"},
        {"fingerprint": SYSTEM["fingerprint"] | {"model": "n"}},
        {"fingerprint": SYSTEM["fingerprint"] | {"temperature": 0.0}},
        {"fingerprint": SYSTEM["fingerprint"] | {"prompt": "p "}},
        {"fingerprint": SYSTEM["fingerprint"] | {"layout": "user"}},
        {"fingerprint": SYSTEM["fingerprint"] | {"seed": None}},
    ],
    ids=lambda change: str(change)[:60],
)
def test_anything_that_can_change_an_output_changes_the_system_key(change: dict[str, Any]) -> None:
    assert system_key(**{**SYSTEM, **change}) != system_key(**SYSTEM)


def test_a_system_without_a_fingerprint_has_a_key_of_its_own_run_and_slot() -> None:
    assert (
        len(
            {
                unshared_key("run", 0),
                unshared_key("run", 1),
                unshared_key("other", 0),
                system_key("run", "0", {}),
            }
        )
        == 4
    )


def test_a_chain_differs_from_its_steps_and_from_its_reverse() -> None:
    one, two = system_key("a", "1", {}), system_key("b", "1", {})
    assert len({one, two, chain_key([one, two]), chain_key([two, one])}) == 4
    assert chain_key([one]) == one


examples = st.dictionaries(
    st.sampled_from(["id", "context", "question", "answer", "x"]),
    st.text() | st.integers() | st.none(),
)


@given(examples, st.sampled_from(["context", "question", "answer"]), st.text())
def test_changing_a_field_that_is_read_changes_the_key_and_no_other_does(
    example: dict[str, Any], field: str, text: str
) -> None:
    changed = {**example, field: text}
    reads = ("context", "question")
    same = field not in reads or (field in example and example[field] == text)
    assert (example_key(changed, reads) == example_key(example, reads)) == same
    assert (example_key(changed) == example_key(example)) == (
        field in example and example[field] == text
    )


def test_an_absent_field_is_not_an_empty_one() -> None:
    assert example_key({"context": "c"}, ["context", "question"]) != example_key(
        {"context": "c", "question": None}, ["context", "question"]
    )


def test_the_response_key_depends_on_system_example_sample_and_history() -> None:
    base = response_key(b"s" * 16, b"e" * 16)
    others = [
        response_key(b"t" * 16, b"e" * 16),
        response_key(b"s" * 16, b"f" * 16),
        response_key(b"s" * 16, b"e" * 16, 1),
        *(
            response_key(system, example, sample, [{"role": "user", "content": text}])
            for system, example, sample, text in (
                (b"s" * 16, b"e" * 16, 0, "hi"),
                (b"s" * 16, b"e" * 16, 1, "hi"),
                (b"t" * 16, b"e" * 16, 0, "hi"),
                (b"s" * 16, b"f" * 16, 0, "hi"),
                (b"s" * 16, b"e" * 16, 0, "ho"),
            )
        ),
    ]
    assert len({base, *others}) == 9


def test_the_score_key_depends_on_response_output_evaluator_and_gold() -> None:
    parts = [b"r" * 16, b"o" * 16, evaluator_key("d/e", "1", {"a": 1}), b"g" * 16]
    variants = {score_key(*parts)}
    for place in range(4):
        variants.add(score_key(*parts[:place], b"x" * 16, *parts[place + 1 :]))
    for changed in (
        evaluator_key("d/f", "1", {"a": 1}),
        evaluator_key("d/e", "2", {"a": 1}),
        evaluator_key("d/e", "1", {"a": 2}),
    ):
        variants.add(score_key(parts[0], parts[1], changed, parts[3]))
    assert len(variants) == 8


def test_known_keys_never_change() -> None:
    """Run files and caches hold these; docs/reference/keys.md states them too."""
    system = system_key("context-bench-compress/bm25", "1", {"ratio": 0.5})
    example = example_key({"context": "c", "question": "q"})
    response = response_key(system, example)
    pins = {
        "system": system,
        "example": example,
        "response": response,
        "evaluator": evaluator_key("context-bench-rouge/rouge", "1", {}),
        "score": score_key(
            response,
            keys.output_key({"response": "r"}),
            evaluator_key("context-bench-rouge/rouge", "1", {}),
            example,
        ),
    }
    assert {name: key.hex() for name, key in pins.items()} == PINS


PINS = {
    "system": "eadc313f5012d9743fb8a1f164d5a750",
    "example": "d3bba5e45d6bd4750eae897ffee4ca1b",
    "response": "660137da131738d1e4727b4bc25d640a",
    "evaluator": "13a0a1161294f43882ac043e3a994129",
    "score": "0b9997a0e45cc4f34f3158032fc168e8",
}
