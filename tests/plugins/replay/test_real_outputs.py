from __future__ import annotations

import re
import string
from collections import Counter
from pathlib import Path

import pytest

from context_bench_local import local
from context_bench_replay import Replay

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
OUTPUTS = DATA / "outputs"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(
        not OUTPUTS.is_dir(), reason="the shared benchmark records do not lie beside this checkout"
    ),
]


def percent(values) -> float:
    scores = list(values)
    return round(100 * sum(scores) / len(scores), 2)


def contains(example, output) -> float:
    return float(example["ground_truth"] in output["response"])


@pytest.mark.parametrize(
    ("task", "rows", "published"),
    [("passkey", 590, 100.0), ("kv_retrieval", 500, 89.0), ("number_string", 590, 100.0)],
)
def test_infinitebench_of_gpt_4_scores_as_published(task, rows, published):
    path = OUTPUTS / "infinitebench-gpt4" / f"{task}.jsonl.gz"
    examples = list(local(path=path))
    assert len(examples) == rows
    columns = Replay(field="prediction")
    joined = Replay(field="prediction", path=path)
    assert percent(contains(example, columns.process(example)) for example in examples) == published
    assert (
        percent(
            contains(example, joined.process({"id": example["id"]} | example))
            for example in examples
        )
        == published
    )


def words(text: str) -> list[str]:
    kept = "".join(character for character in text.lower() if character not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", kept).split()


def token_f1(reference: str, response: str) -> float:
    gold, found = Counter(words(reference)), Counter(words(response))
    common = (gold & found).total() if hasattr(gold, "total") else sum((gold & found).values())
    return 2 * common / (sum(gold.values()) + sum(found.values())) if common else 0.0


@pytest.mark.parametrize(
    ("task", "published"),
    [
        ("qasper", 21.82),
        ("hotpotqa", 27.56),
        ("2wikimqa", 32.46),
        ("musique", 8.01),
        ("narrativeqa", 18.99),
    ],
)
def test_longbench_of_llama_2_scores_as_its_own_evaluation(task, published):
    system = Replay(field="pred")
    examples = local(path=OUTPUTS / "longbench-llama2-7b-chat-4k" / f"{task}.jsonl.gz")
    best = (
        max(token_f1(answer, system.process(row)["response"]) for answer in row["answers"])
        for row in examples
    )
    assert percent(best) == published


def test_bbh_documents_are_joined_by_their_input():
    path = OUTPUTS / "bbh-codex-cot" / "word_sorting.json.gz"
    system = Replay(field="prediction", path=path, id_field="input", key_field="input")
    rows = list(local(path=path))
    assert [system.process({"input": row["input"]})["response"] for row in rows] == [
        row["prediction"] for row in rows
    ]


def test_replies_of_several_turns_are_kept_beside_the_last():
    path = OUTPUTS / "mt-bench.claude-3-opus-20240229.answers.jsonl.gz"
    system = Replay(
        "choices.0.turns.-1",
        path,
        "question_id",
        "prompt_id",
        also=["turn_responses=choices.0.turns"],
    )
    outputs = [system.process({"prompt_id": number}) for number in range(81, 161)]
    assert all(output["response"] == output["turn_responses"][1] for output in outputs)
    assert all(len(output["turn_responses"]) == 2 for output in outputs)


def test_samples_of_one_problem_are_told_apart():
    path = OUTPUTS / "humaneval.codegen16b-samples.jsonl.gz"
    rows = list(local(path=path))
    with pytest.raises(
        ValueError,
        match=r"is no text but an array of 50\. For one of its texts pass `field=samples\.0`",
    ):
        Replay("samples").process(rows[0])
    for sample in (0, 49):
        system = Replay(f"samples.{sample}")
        assert [system.process(row)["response"] for row in rows] == [
            row["samples"][sample] for row in rows
        ]


def test_patches_are_replayed_by_instance():
    path = OUTPUTS / "swebench-lite.aider-predictions.jsonl.gz"
    system = Replay("model_patch", path, "instance_id")
    patches = [system.process({"id": row["instance_id"]})["response"] for row in local(path=path)]
    assert len(patches) == 300
    assert all("diff --git" in patch for patch in patches if patch)
