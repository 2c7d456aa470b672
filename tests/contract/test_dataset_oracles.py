"""A system that answers with the reference scores 1.0 on the wired primary, for every real record; a wrong answer does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import pytest
from benchmark_records import RECORDS
from dataset_examples import OF_EVERY_DATASET

from context_bench.plugins.catalog import Catalog
from context_bench.plugins.discovery import discover
from context_bench.plugins.loading import build
from context_bench.plugins.wiring import Choice, DatasetFacts, plan_dataset

pytestmark = [pytest.mark.shared, pytest.mark.one_python]
hub = pytest.importorskip("context_bench_huggingface")

WRONG = "zzz qq"
FIRST_OF = {"pass_at_1": 20}
"""How many of a benchmark whose rows take a process each."""

WITHOUT_GOLD = {"ifeval", "alpaca-eval", "mt-bench"}
"""No response is the right one: a program or a judge decides."""


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return discover()


def examples(catalog: Catalog, name: str, variant: str, folder: Path) -> Iterator[dict[str, Any]]:
    from context_bench_huggingface.examples import maker
    from context_bench_huggingface.row import together
    from context_bench_huggingface.wanted import from_definition

    facts = catalog.find("datasets", name).dataset
    assert facts.definition is not None
    config = variant if variant in facts.configs else facts.default_config
    wanted = from_definition(name, facts.described(), config, None)
    make = maker(wanted)
    for number, records in enumerate(together(RECORDS[name][variant](folder), wanted.group_by)):
        yield from make(
            records[0], hub.Row(number, config or "", together=records if wanted.group_by else ())
        )


def wired(catalog: Catalog, name: str, variant: str) -> tuple[str, Any]:
    component = catalog.find("datasets", name)
    tags = component.dataset.of_config("tags", variant)
    primary = component.dataset.of_config("primary", variant)
    plan = plan_dataset(catalog, DatasetFacts(name, (name,), tags, primary), Choice())
    assert plan.primary == primary, plan.warnings
    [decision] = [
        each
        for each in plan.wired
        if primary in each.component.evaluator.scores and not each.yields
    ]
    return str(primary), build(decision.component, {})


CASES = [
    pytest.param(name, variant, id=f"{name}:{variant}" if variant else name)
    for name, variants in RECORDS.items()
    for variant in variants
]


@pytest.mark.parametrize(("name", "variant"), CASES)
def test_records_become_examples_that_a_system_can_be_asked(
    catalog: Catalog, outputs: Path, name: str, variant: str
) -> None:
    component = catalog.find("datasets", name)
    ids = list[Any]()
    for example in examples(catalog, name, variant, outputs.parent):
        ids.append(example["id"])
        assert example["question"].strip()
        assert (
            example["context"].strip() or name == "scifact"
        )  # whose abstracts could not be obtained
        assert set(example) <= {
            *component.dataset.fields,
            *component.dataset.gold,
            *component.dataset.inputs,
            *OF_EVERY_DATASET,
        }
        for letter, option in zip(ascii_uppercase, example.get("choices", ())):
            assert f"{letter}. {option}" in example["question"]
        if "choices" in example and "answer" in example:
            assert (
                example["choices"][ascii_uppercase.index(example["correct_letter"])]
                == example["answer"]
            )
    assert len(ids) > 1
    assert len(set(map(str, ids))) == len(ids), "one id on several examples"


def test_the_layouts_of_scifact_hold_the_same_pairs_of_claim_and_abstract(
    catalog: Catalog, outputs: Path
) -> None:
    """340 are cited in the development split, of which one claim cites one abstract twice; evidence is in 209."""
    hub, release = (
        {one["id"]: one for one in examples(catalog, "scifact", layout, outputs.parent)}
        for layout in ("", "release")
    )
    assert hub == release
    assert Counter(one["answer"] for one in hub.values()) == {
        "SUPPORTS": 138,
        "REFUTES": 71,
        "NOT ENOUGH INFO": 130,
    }


@pytest.mark.parametrize(
    ("name", "variant"), [case for case in CASES if case.values[0] not in WITHOUT_GOLD]
)
def test_the_reference_scores_one_and_a_wrong_answer_does_not(
    catalog: Catalog, outputs: Path, name: str, variant: str
) -> None:
    if variant == "multifieldqa_zh":
        pytest.importorskip("jieba")  # cuts Chinese words, an extra
    primary, evaluator = wired(catalog, name, variant)
    missed, rewarded, scored = [], [], 0
    for number, example in enumerate(examples(catalog, name, variant, outputs.parent)):
        if number >= FIRST_OF.get(primary, 10**9) or "answer" not in example:
            continue
        for answer in example.get("answers") or [example["answer"]]:
            if answer in example.get("incorrect_answers", ()):
                continue  # TruthfulQA lists "Unknown" on both sides of two questions
            right = evaluator.score(example, {"response": answer})
            if primary not in right and name == "bfcl":
                continue  # the result of a request, which no call tells
            scored += 1
            if right[primary] != 1.0:
                missed.append((example["id"], answer, dict(right)))
        letter = example.get("correct_letter")
        if (
            letter is not None
            and letter not in example["choices"]
            and evaluator.score(example, {"response": letter})[primary] != 1.0
        ):
            missed.append((example["id"], letter, {}))
        if (
            example["answer"] != ""
            and evaluator.score(example, {"response": WRONG}).get(primary, 0.0) >= 1.0
        ):
            rewarded.append(example["id"])
    assert (missed[:3], rewarded[:3]) == ([], [])
    assert scored


@pytest.mark.parametrize(
    ("name", "key"),
    [
        *(
            (name, "rouge_l_f1")
            for name in (
                "multi-news",
                "dialogsum",
                "qmsum",
                "summscreenfd",
                "meetingbank",
                "govreport",
            )
        ),
        *(
            (name, "mc_accuracy")
            for name in ("mmlu", "mmlu-pro", "arc-challenge", "gpqa", "hellaswag", "winogrande")
        ),
        *((name, "pass_at_1") for name in ("humaneval", "mbpp")),
        *((name, "math_equiv") for name in ("math", "gsm8k", "mgsm")),
        *((name, "nli_accuracy") for name in ("contract-nli", "scifact")),
        ("ifeval", "ifeval_strict"),
    ],
)
def test_the_twenty_names_of_the_source_pages_are_wired_as_they_say(
    catalog: Catalog, name: str, key: str
) -> None:
    wired_evaluators = {
        "rouge_l_f1": "rouge",
        "mc_accuracy": "multiple-choice",
        "pass_at_1": "code",
        "math_equiv": "math",
        "nli_accuracy": "nli",
        "ifeval_strict": "ifeval",
    }
    component = catalog.find("datasets", name)
    facts = DatasetFacts(name, (name,), component.dataset.tags, component.dataset.primary)
    plan = plan_dataset(catalog, facts, Choice())
    assert plan.primary == key
    names = {decision.component.name for decision in plan.wired}
    extra = {"final-number"} if name in ("gsm8k", "mgsm") else set()
    assert {"answer-quality", wired_evaluators[key]} | extra <= names
