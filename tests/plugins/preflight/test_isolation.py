from __future__ import annotations

from typing import Any

import pytest

from context_bench import EvalResult, evaluate
from context_bench.run.systems import Chain
from context_bench.store.keys import digest
from context_bench.store.reader import RunReader
from context_bench_preflight.isolation import marker

pytest.importorskip(
    "context_bench_answer_quality", reason="these rows are scored by the answer-quality plugin"
)

EXAMPLES = [{"id": "1", "context": "one two", "question": "q", "answer": "a"}]


class Salted:
    """A system that shows what it would send to its model."""

    def __init__(self, name: str, temperature: float = 0.0, cache_salt: str | None = None) -> None:
        self.name = name
        self.temperature = temperature
        self.cache_salt = cache_salt

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": f"{self.cache_salt} {example['context']}"}

    def fingerprint(self) -> dict[str, Any]:
        return {"temperature": self.temperature, "cache_salt": self.cache_salt}


class Plain:
    name = "plain"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"context": "one"}


def run(*systems: Any, told: list[str] | None = None, **options: Any) -> EvalResult:
    warn = (told if told is not None else []).append
    options = {"isolate_prefixes": True, **options}
    return evaluate(
        list(systems), EXAMPLES, ["answer-quality"], progress=False, on_warning=warn, **options
    )


def said(result: EvalResult) -> dict[str, str]:
    return {row.system: str(row.response) for row in result.rows}


def test_each_slot_gets_a_marker_of_its_own_that_another_run_and_another_order_give_again() -> None:
    one, other, same = Salted("one"), Salted("other", 1.0), Salted("same")
    first = said(run(one, other, same))
    assert len(set(first.values())) == 3
    again = said(run(other, one, same))
    assert again == first
    assert {len(text) for text in first.values()} == {len("[ a b c d e f g h ] one two")}
    assert said(run(one, other, same, isolate_prefixes=False)) == dict.fromkeys(
        first, "None one two"
    )


def test_a_marker_is_part_of_the_key(tmp_path: Any) -> None:
    keys = []
    for number, isolated in enumerate((False, True, True)):
        path = tmp_path / f"{number}.sqlite"
        run(Salted("one"), isolate_prefixes=isolated, run_file=path)
        keys.append(RunReader(path).systems()[0]["key"])
    assert keys[0] != keys[1] == keys[2]


def test_a_salt_of_the_users_stays_and_the_reader_of_a_chain_gets_one() -> None:
    chain = Chain([Plain(), Salted("reader")])
    result = said(run(Salted("own", cache_salt="mine"), chain))
    assert result["own"] == "mine one two"
    assert result["plain+reader"].startswith("[")
    assert chain.steps[1].cache_salt is None  # type: ignore[attr-defined]


def test_a_system_that_takes_no_marker_is_named() -> None:
    told: list[str] = []
    run(Plain(), Salted("one"), told=told)
    assert len(told) == 1
    assert told[0].startswith("plain: no marker can be put in front of the prompts")


def test_markers_are_those_of_earlier_versions() -> None:
    for key in (b"k" * 16, bytes(range(16))):
        for turn in (0, 1, 12):
            letters = digest("context-bench cache salt 1", key, turn)[:8]
            assert (
                marker(key, turn)
                == f"[ {' '.join(chr(ord('a') + byte % 26) for byte in letters)} ]"
            )
