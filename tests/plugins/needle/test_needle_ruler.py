"""RULER's tasks beside retrieval, held against their definitions (arXiv:2404.06654), and reports by length and depth."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from context_bench_needle import (
    RULER_TASKS,
    LengthAndDepth,
    NeedleOracle,
    NeedleRecall,
    count_tokens,
    needle,
)

LENGTHS = (400, 1001, 4000, 6007)


def rows(config: str, count: int = 2, **options: Any) -> list[dict[str, Any]]:
    return list(needle(count, config, **options))


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("config", RULER_TASKS)
def test_a_context_has_exactly_its_length_and_a_perfect_reader_is_right(
    config: str, length: int
) -> None:
    for row in rows(config, length=length, seed=length):
        assert count_tokens(row["context"]) == length
        output = NeedleOracle().process({"context": row["context"], "question": row["question"]})
        assert NeedleRecall().score(row, output) == {"needle_recall": 1.0}
        assert output["response"].count(",") == len(row["needles"]) - 1
        assert NeedleRecall().score(row, {"response": "none of them"}) == {"needle_recall": 0.0}
        assert not any(needle_ in row["question"] for needle_ in row["needles"])


def test_every_length_is_kept() -> None:
    for length in range(210, 1500, 41):
        for config in RULER_TASKS:
            assert count_tokens(rows(config, 1, length=length)[0]["context"]) == length


def test_a_chain_of_variables_ends_where_it_began() -> None:
    for row in rows("vt", 5, length=1000):
        statements = re.findall(r"VAR ([A-Z]{5}) = (VAR [A-Z]{5}|[0-9]{5})", row["context"])
        assert [name for name, _ in statements] == row["needles"]
        assert [source for _, source in statements] == [
            row["keys"][0],
            *(f"VAR {name}" for name in row["needles"][:-1]),
        ]
        assert len(row["needles"]) == 5  # four hops
        assert row["depths"] == sorted(row["depths"])


def test_further_chains_are_distractors() -> None:
    [row] = rows("variable-tracking", 1, length=1000, chains=3, hops=2)
    statements = re.findall(r"VAR ([A-Z]{5}) =", row["context"])
    assert (len(statements), len(row["needles"])) == (9, 3)
    assert NeedleOracle().process(row)["response"] == row["answer"]
    for one_less in row["needles"]:
        damaged = re.sub(rf"VAR {one_less} = \S+( [A-Z]{{5}})?", "", row["context"])
        assert one_less not in NeedleOracle().process({**row, "context": damaged})["response"]


@pytest.mark.parametrize(
    ("length", "often", "seldom"), [(1000, 6, 1), (4000, 30, 3), (16000, 30, 3)]
)
def test_common_words_stand_as_often_as_ruler_has_them(
    length: int, often: int, seldom: int
) -> None:
    [row] = rows("cwe", 1, length=length)
    counts = Counter(re.findall(r"[0-9]+\. (\w+)", row["context"]))
    assert {counts[word] for word in row["needles"]} == {often}
    assert len(row["needles"]) == 10
    others = Counter(count for word, count in counts.items() if word not in row["needles"])
    assert max(others) == seldom
    assert sum(others.values()) - others[seldom] <= 1  # the last word may be cut short
    numbers = [int(number) for number in re.findall(r"([0-9]+)\. ", row["context"])]
    assert numbers == list(range(1, len(numbers) + 1))


def test_frequencies_of_coded_words_follow_a_zeta_distribution() -> None:
    [row] = rows("fwe", 1, length=16000)
    counts = Counter(row["context"].split())
    [(dots, first), *others] = counts.most_common(8)
    assert dots == "..."
    words = first / 0.6079271  # 1 / zeta(2)
    assert [count for _, count in others] == pytest.approx(
        [words * 0.6079271 / rank**2 for rank in range(2, 9)], abs=1.5
    )
    assert [word for word, _ in others[:3]] == row["needles"]
    assert all(len(word) == 6 for word in row["needles"])


@pytest.mark.parametrize("depth", [0, 50, 100])
def test_the_document_that_is_asked_for_stands_at_its_depth(depth: int) -> None:
    [row] = rows("qa", 1, length=5000, depth=depth)
    documents = row["context"].split("Document ")[1:]
    [place] = [number for number, text in enumerate(documents) if row["answer"] in text]
    assert place == round(depth / 100 * (len(documents) - 1))
    assert row["depth"] == depth
    assert len(documents) > 50
    assert len({text.partition("was born")[0] for text in documents}) == len(documents)


def test_two_hops_need_two_documents() -> None:
    for row in rows("qa_2", 5, length=2000):
        person, teacher = row["keys"]
        assert f"the teacher of {person}" in row["question"]
        assert teacher not in row["question"]
        documents = row["context"].split("Document ")[1:]
        [first] = [text for text in documents if f"The teacher of {person} was {teacher}" in text]
        [second] = [text for text in documents if f"{teacher} was born in {row['answer']}" in text]
        assert first != second


def test_one_of_several_references_is_enough_where_a_row_says_so() -> None:
    recall = NeedleRecall()
    reference = {"needles": ["Anna", "Ann B."]}
    assert recall.score({**reference, "match": "part"}, {"response": "It was ann b."}) == {
        "needle_recall": 1.0
    }
    assert recall.score({**reference, "match": "all"}, {"response": "It was ann b."}) == {
        "needle_recall": 0.5
    }
    assert recall.score({**reference, "match": "part"}, {"response": "Bob"}) == {
        "needle_recall": 0.0
    }


def test_all_thirteen_take_turns() -> None:
    found = rows("ruler", 26, lengths="1k/2k")
    assert len({row["task"] for row in found}) == 13
    assert Counter(row["length"] for row in found) == {1000: 13, 2000: 13}
    assert len({row["id"] for row in found}) == 26


def test_the_same_arguments_give_the_same_bytes_everywhere() -> None:
    found = {
        config: hashlib.sha256(
            json.dumps(rows(config, 2, length=700, seed=5)).encode()
        ).hexdigest()[:16]
        for config in RULER_TASKS
    }
    assert found == BYTES


BYTES = {
    "common-words": "da3271bcb069f232",
    "frequent-words": "41d52c21f0e7503a",
    "qa": "9ddec069e283d3f8",
    "qa-two-hops": "41d18ba90214b33d",
    "variable-tracking": "859387307e07841d",
}


@pytest.mark.parametrize(
    ("config", "options", "message"),
    [
        ("cwe", {"length": 200}, "too short for common-words; give a length of 210 or more"),
        ("vt", {"length": 26}, "too short for variable-tracking; give a length of 27 or more"),
        ("fwe", {"depth": 50}, "depth means nothing to fwe"),
        ("cwe", {"keys": 4}, "keys means nothing to cwe"),
        ("single", {"hops": 2}, "hops means nothing to single"),
        ("qa", {"hops": 3}, "hops is 3, and a question goes over 1 or 2 documents"),
        ("variable-trackin", {}, "Did you mean 'variable-tracking'?"),
    ],
)
def test_what_cannot_be_is_refused(config: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        needle(1, config, **options)


def test_a_run_reports_by_length_and_depth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("context_bench_compress")
    from context_bench.cli import execute

    monkeypatch.chdir(tmp_path)
    asked = ["--system", "head:ratio=0.5", "--reader", "needle-oracle", "-n", "12", "-q"]
    dataset = ["--dataset", "needle:qa,lengths=1k/2k,depth=0/100"]
    assert (
        execute(
            [
                "run",
                *asked,
                *dataset,
                "--run-file",
                "one.sqlite",
                "--add-metric",
                "length-and-depth",
            ]
        )
        == 0
    )
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["0", "100", "all"] in shown
    assert ["1,000", "1.000", "0.000", "0.500"] in shown
    assert ["all", "1.000", "0.000", "0.500"] in shown
    assert execute(["report", "one.sqlite", "--format", "json"]) == 0
    [values] = json.loads(capsys.readouterr().out)["summary"].values()
    found = {
        key: value for key, value in values.items() if key.partition(":")[0] in ("length", "depth")
    }
    assert found == {"length:1000": 0.5, "length:2000": 0.5, "depth:0": 1.0, "depth:100": 0.0}


def test_many_depths_are_told_in_bands_and_other_rows_not_at_all() -> None:
    class Row:
        def __init__(self, example_id: str, value: float | None) -> None:
            self.example_id, self._value = example_id, value

        def value(self, key: str) -> float | None:
            return self._value if key == "needle_recall" else None

    spread = [
        Row(f"needle-single-k1-n500-d{depth}-s0-i{depth}", float(depth < 40))
        for depth in range(0, 101, 5)
    ]
    others = [Row("17", 1.0), Row("needle-single-k1-n500-duniform-s0-i1", None)]
    found = LengthAndDepth().compute([*spread, *others])
    assert found.pop("length:500") == pytest.approx(8 / 21)
    assert found == {
        "depth:0-20": 1.0,
        "depth:20-40": 1.0,
        "depth:40-60": 0.0,
        "depth:60-80": 0.0,
        "depth:80-100": 0.0,
    }
    assert LengthAndDepth().compute(others) == {}


@pytest.mark.parametrize(
    ("config", "length"), [("cwe", 7000), ("qa", 30_000), ("qa-two-hops", 30_000)]
)
def test_a_context_that_needs_more_words_than_there_are_pairs_is_made_all_the_same(
    monkeypatch: pytest.MonkeyPatch, config: str, length: int
) -> None:
    """With few words for parts: a list of two million tokens looked for another pair without end."""
    from context_bench_needle import counting, dice, documents, generator

    class Draws(dice.Dice):
        left = 2_000_000

        def pick(self, items: Any) -> Any:
            Draws.left -= 1
            assert Draws.left, "it draws without end"
            return super().pick(items)

    monkeypatch.setattr(generator, "Dice", Draws)
    monkeypatch.setattr(counting, "ADJECTIVES", counting.ADJECTIVES[:30])
    monkeypatch.setattr(counting, "NOUNS", counting.NOUNS[:20])
    monkeypatch.setattr(documents, "ADJECTIVES", documents.ADJECTIVES[:20])
    monkeypatch.setattr(documents, "NOUNS", documents.NOUNS[:15])
    [row] = rows(config, 1, length=length)
    assert count_tokens(row["context"]) == length
    assert NeedleRecall().score(row, NeedleOracle().process(row)) == {"needle_recall": 1.0}


def test_more_chains_than_numbers_are_refused() -> None:
    with pytest.raises(
        ValueError, match="chains is 90001, and there are 90000 numbers of five digits"
    ):
        needle(1, "vt", length=10_000_000, chains=90_001)
