"""Write rows.jsonl: ten records of each benchmark with the verdict that was published, or that its own rule gives.

    pip install rouge-score==0.1.2
    python take_rows.py FOLDER        # the recorded benchmarks: FOLDER/outputs/...

README.md beside it says where they come from. The shortest records are taken, right and wrong ones by turns.
"""

from __future__ import annotations

import gzip
import json
import re
import string
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

ROWS = 10
Row = dict[str, Any]


def lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in gzip.open(path, "rt", encoding="utf-8")]


def chosen(rows: Iterable[tuple[bool, Row]]) -> list[Row]:
    """Return the shortest rows, half of them right."""
    by_verdict: dict[bool, list[Row]] = {True: [], False: []}
    for verdict, row in sorted(rows, key=lambda pair: (len(json.dumps(pair[1])), json.dumps(pair[1]))):
        by_verdict[verdict].append(row)
    return by_verdict[True][: ROWS // 2] + by_verdict[False][: ROWS - ROWS // 2]


def token_f1(prediction: str, references: list[str]) -> float:
    """Return SQuAD's F1 of the reference that fits best."""

    def words(text: str) -> list[str]:
        text = "".join(letter for letter in text.lower() if letter not in string.punctuation)
        return re.sub(r"\b(a|an|the)\b", " ", text).split()

    def f1(reference: str) -> float:
        one, other = words(prediction), words(reference)
        same = sum((Counter(one) & Counter(other)).values())
        return 2 * same / (len(one) + len(other)) if same else 0.0

    return max(map(f1, references))


def gsm8k(outputs: Path) -> Iterator[tuple[bool, Row]]:
    for record in lines(outputs / "gsm8k.example-model-solutions.jsonl.gz"):
        for system in ("6b_finetuning", "175b_verification"):
            right, response = record[system]["is_correct"], record[system]["solution"]
            original = {"answer": record["ground_truth"].split("A: ")[-1]}
            yield right, {"original": original, "response": response, "expected": {"math_equiv": float(right)}}


def mmlu_pro(outputs: Path) -> Iterator[tuple[bool, Row]]:
    for record in lines(outputs / "mmlu-pro.gemini-1.5-pro-002.jsonl.gz"):
        response = record["model_outputs"] or ""
        if len(response) > 100:  # an explanation, and not the answer alone
            right = record["pred"] == record["answer"]
            original = {"choices": record["options"], "correct_letter": record["answer"]}
            expected = {"mc_accuracy": float(right)}
            yield right, {"original": original, "response": response, "expected": expected, "letter": record["pred"]}


def ifeval(outputs: Path) -> Iterator[tuple[bool, Row]]:
    asked = {row["prompt"]: row for row in lines(outputs.parent / "ifeval.raw.jsonl.gz")}
    strict, loose = (lines(outputs / f"ifeval.gpt4-20231107.{name}.jsonl.gz") for name in ("strict", "loose"))
    for one, other in zip(strict, loose):
        ids = one["instruction_id_list"]
        if not {"keywords:letter_frequency", "language:response_language"} & set(ids):  # left to chance there
            expected = {
                "ifeval_strict": float(one["follow_all_instructions"]),
                "ifeval_loose": float(other["follow_all_instructions"]),
            }
            original = {name: asked[one["prompt"]][name] for name in ("key", "prompt", "instruction_id_list", "kwargs")}
            right = one["follow_all_instructions"]
            yield right, {"original": original, "response": one["response"], "expected": expected}


def bbh(outputs: Path) -> Iterator[tuple[bool, Row]]:
    for task in ("date_understanding", "object_counting", "web_of_lies", "temporal_sequences", "boolean_expressions"):
        path = outputs / "bbh-codex-cot" / f"{task}.json.gz"
        if path.exists():
            whole = json.loads(gzip.decompress(path.read_bytes()))
            for record in whole["outputs"]:
                said = record["prediction"].split("the answer is ")[-1].strip().rstrip(".")
                right = said == record["target"]
                original = {"answer": record["target"], "canary": whole["canary"]}
                expected = {"bbh_exact_match": float(right)}
                yield right, {"original": original, "response": record["prediction"], "expected": expected}


def mt_bench(outputs: Path) -> Iterator[tuple[bool, Row]]:
    for record in lines(outputs / "mt-bench.claude-3.gpt-4-single-judgments.jsonl.gz"):
        row = {"original": {}, "response": record["judgment"], "expected": {"rating": float(record["score"])}}
        yield record["score"] == 10, row


def longbench(outputs: Path) -> Iterator[tuple[bool, Row]]:
    for task in ("qasper", "hotpotqa", "2wikimqa", "musique"):
        for record in lines(outputs / "longbench-llama2-7b-chat-4k" / f"{task}.jsonl.gz"):
            f1 = token_f1(record["pred"], record["answers"])
            row = {"original": {"answers": record["answers"]}, "response": record["pred"], "expected": {"f1": f1}}
            if f1 > 0 and len(record["pred"]) > 20:
                yield f1 == 1, row


def infinitebench(outputs: Path) -> Iterator[tuple[bool, Row]]:
    for record in lines(outputs / "infinitebench-gpt4" / "longbook_qa_eng.jsonl.gz"):
        f1 = token_f1(record["prediction"], record["ground_truth"])
        original = {"answers": record["ground_truth"]}
        yield f1 > 0.5, {"original": original, "response": record["prediction"], "expected": {"f1": f1}}


def summeval(outputs: Path) -> Iterator[tuple[bool, Row]]:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)
    for number, record in enumerate(lines(outputs / "summeval.jsonl.gz")):
        name = sorted(record["sys_summs"])[number % len(record["sys_summs"])]
        said, wanted = record["sys_summs"][name]["sys_summ"], record["ref_summs"][0]
        expected = {key: value.fmeasure for key, value in scorer.score(wanted, said).items()}
        yield expected["rougeL"] > 0.3, {"original": {"answer": wanted}, "response": said, "expected": expected}


TAKEN: dict[str, Callable[[Path], Iterator[tuple[bool, Row]]]] = {
    "gsm8k": gsm8k,
    "mmlu-pro": mmlu_pro,
    "ifeval": ifeval,
    "bbh": bbh,
    "mt-bench": mt_bench,
    "longbench": longbench,
    "infinitebench": infinitebench,
    "summeval": summeval,
}


def main(folder: str) -> None:
    rows = [
        {"benchmark": name, **row} for name, take in TAKEN.items() for row in chosen(take(Path(folder) / "outputs"))
    ]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    Path(__file__).with_name("rows.jsonl").write_text(text, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
