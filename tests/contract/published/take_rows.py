"""Write rows.jsonl: ten records of each benchmark with the verdict that was published, or that its own rule gives.

    pip install rouge-score==0.1.2
    python take_rows.py FOLDER        # the recorded benchmarks: FOLDER/outputs/...

README.md beside it says where they come from. The shortest records are taken, right and wrong ones by turns. For HumanEval it
runs programs that a model wrote: a few short ones that import nothing, each in a process without a network where the system can
do that.
"""

from __future__ import annotations

import ast
import gzip
import json
import re
import shutil
import string
import subprocess
import sys
import tempfile
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
    for verdict, row in sorted(
        rows, key=lambda pair: (len(json.dumps(pair[1])), json.dumps(pair[1]))
    ):
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
            yield (
                right,
                {
                    "original": original,
                    "response": response,
                    "expected": {"math_equiv": float(right)},
                },
            )


def mmlu_pro(outputs: Path) -> Iterator[tuple[bool, Row]]:
    for record in lines(outputs / "mmlu-pro.gemini-1.5-pro-002.jsonl.gz"):
        response = record["model_outputs"] or ""
        if len(response) > 100:  # an explanation, and not the answer alone
            right = record["pred"] == record["answer"]
            original = {"choices": record["options"], "correct_letter": record["answer"]}
            expected = {"mc_accuracy": float(right)}
            yield (
                right,
                {
                    "original": original,
                    "response": response,
                    "expected": expected,
                    "letter": record["pred"],
                },
            )


def ifeval(outputs: Path) -> Iterator[tuple[bool, Row]]:
    asked = {row["prompt"]: row for row in lines(outputs.parent / "ifeval.raw.jsonl.gz")}
    strict, loose = (
        lines(outputs / f"ifeval.gpt4-20231107.{name}.jsonl.gz") for name in ("strict", "loose")
    )
    for one, other in zip(strict, loose):
        ids = one["instruction_id_list"]
        if not {"keywords:letter_frequency", "language:response_language"} & set(
            ids
        ):  # left to chance there
            expected = {
                "ifeval_strict": float(one["follow_all_instructions"]),
                "ifeval_loose": float(other["follow_all_instructions"]),
            }
            original = {
                name: asked[one["prompt"]][name]
                for name in ("key", "prompt", "instruction_id_list", "kwargs")
            }
            right = one["follow_all_instructions"]
            yield right, {"original": original, "response": one["response"], "expected": expected}


def bbh(outputs: Path) -> Iterator[tuple[bool, Row]]:
    for task in (
        "date_understanding",
        "object_counting",
        "web_of_lies",
        "temporal_sequences",
        "boolean_expressions",
    ):
        path = outputs / "bbh-codex-cot" / f"{task}.json.gz"
        if path.exists():
            whole = json.loads(gzip.decompress(path.read_bytes()))
            for record in whole["outputs"]:
                said = record["prediction"].split("the answer is ")[-1].strip().rstrip(".")
                right = said == record["target"]
                original = {"answer": record["target"], "canary": whole["canary"]}
                expected = {"bbh_exact_match": float(right)}
                yield (
                    right,
                    {"original": original, "response": record["prediction"], "expected": expected},
                )


def mt_bench(outputs: Path) -> Iterator[tuple[bool, Row]]:
    for record in lines(outputs / "mt-bench.claude-3.gpt-4-single-judgments.jsonl.gz"):
        row = {
            "original": {},
            "response": record["judgment"],
            "expected": {"rating": float(record["score"])},
        }
        yield record["score"] == 10, row


def longbench(outputs: Path) -> Iterator[tuple[bool, Row]]:
    for task in ("qasper", "hotpotqa", "2wikimqa", "musique"):
        for record in lines(outputs / "longbench-llama2-7b-chat-4k" / f"{task}.jsonl.gz"):
            f1 = token_f1(record["pred"], record["answers"])
            row = {
                "original": {"answers": record["answers"]},
                "response": record["pred"],
                "expected": {"f1": f1},
            }
            if f1 > 0 and len(record["pred"]) > 20:
                yield f1 == 1, row


def infinitebench(outputs: Path) -> Iterator[tuple[bool, Row]]:
    for record in lines(outputs / "infinitebench-gpt4" / "longbook_qa_eng.jsonl.gz"):
        f1 = token_f1(record["prediction"], record["ground_truth"])
        original = {"answers": record["ground_truth"]}
        yield (
            f1 > 0.5,
            {"original": original, "response": record["prediction"], "expected": {"f1": f1}},
        )


def summeval(outputs: Path) -> Iterator[tuple[bool, Row]]:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)
    for number, record in enumerate(lines(outputs / "summeval.jsonl.gz")):
        name = sorted(record["sys_summs"])[number % len(record["sys_summs"])]
        said, wanted = record["sys_summs"][name]["sys_summ"], record["ref_summs"][0]
        expected = {key: value.fmeasure for key, value in scorer.score(wanted, said).items()}
        yield (
            expected["rougeL"] > 0.3,
            {"original": {"answer": wanted}, "response": said, "expected": expected},
        )


def humaneval(outputs: Path) -> Iterator[tuple[bool, Row]]:
    every = lines(outputs.parent / "humaneval.raw.jsonl.gz")
    named = Counter(row["entry_point"] for row in every)  # one name stands for two problems
    problems = {row["entry_point"]: row for row in every if named[row["entry_point"]] == 1}
    short = sorted(
        lines(outputs / "humaneval.codegen16b-samples.jsonl.gz"),
        key=lambda record: len(record["prompt"]),
    )
    for record in short[:40]:
        name = re.findall(r"^def (\w+)", record["prompt"], re.MULTILINE)[-1]
        if name not in problems:
            continue
        problem, sample = problems[name], record["samples"][0]
        program = f"{problem['prompt']}{sample}\n{problem['test']}\ncheck({name})\n"
        if is_tame(program) and len(problem["test"]) < 1500:
            right = runs(program)
            original = {key: problem[key] for key in ("task_id", "prompt", "test", "entry_point")}
            yield (
                right,
                {"original": original, "response": sample, "expected": {"pass_at_1": float(right)}},
            )


def is_tame(program: str) -> bool:
    """Whether a program imports nothing but types and mathematics, and names nothing that reaches out of it."""
    try:
        nodes = list(ast.walk(ast.parse(program)))
    except SyntaxError:
        return True
    wanted = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    wanted |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    named = {node.id for node in nodes if isinstance(node, ast.Name)}
    named |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    reaching = {
        "open",
        "exec",
        "eval",
        "compile",
        "input",
        "getattr",
        "setattr",
        "globals",
        "vars",
        "breakpoint",
    }
    return (
        wanted <= {"typing", "math"}
        and not named & reaching
        and not any(name.startswith("__") for name in named)
    )


def runs(program: str) -> bool:
    """Whether a program ends without an error within five seconds, as the benchmark asks."""
    alone = ["unshare", "--user", "--net"] if shutil.which("unshare") else []
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [*alone, sys.executable, "-I", "-c", program],
                cwd=folder,
                env={},
                capture_output=True,
                timeout=5,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0


def llmbar(outputs: Path) -> Iterator[tuple[bool, Row]]:
    for name in ("natural.gpt-4-cot", "gptinst.gpt-4-cot", "manual.gpt-4-cot"):
        for record in json.loads(
            gzip.decompress((outputs / "llmbar" / f"{name}.result.json.gz").read_bytes())
        ):
            for swapped, key in enumerate(("swap = False", "swap = True")):
                result = record["results"][0][key]
                right = result["winner"] == str(record["label"])
                better = "AB"[
                    (record["label"] - 1) ^ swapped
                ]  # the letter that the better output stood under
                response = result["completion"][0]
                if len(response) > 30:  # reasons, and not the verdict alone
                    yield (
                        right,
                        {
                            "original": {"label": better},
                            "response": response,
                            "expected": {"agrees": float(right)},
                        },
                    )


def nli(outputs: Path) -> Iterator[tuple[bool, Row]]:
    whole = json.loads(
        gzip.decompress((outputs / "bbh-codex-cot" / "formal_fallacies.json.gz").read_bytes())
    )
    seen: Counter[tuple[str, str]] = Counter()
    for record in sorted(whole["outputs"], key=lambda record: len(record["prediction"])):
        response = record["prediction"].partition("\n\nQ:")[0]
        said = response.split("the answer is ")[-1].strip().rstrip(".")
        right = said == record["target"]
        seen[said, record["target"]] += 1
        if seen[said, record["target"]] > 3:  # most say "valid"
            continue
        original = {
            "labels": ["valid", "invalid"],
            "answer": record["target"],
            "canary": whole["canary"],
        }
        yield (
            right,
            {
                "original": original,
                "response": response,
                "expected": {"nli_accuracy": float(right)},
            },
        )


TAKEN: dict[str, Callable[[Path], Iterator[tuple[bool, Row]]]] = {
    "gsm8k": gsm8k,
    "mmlu-pro": mmlu_pro,
    "ifeval": ifeval,
    "bbh": bbh,
    "mt-bench": mt_bench,
    "longbench": longbench,
    "infinitebench": infinitebench,
    "summeval": summeval,
    "humaneval": humaneval,
    "llmbar": llmbar,
    "nli": nli,
}


def main(folder: str) -> None:
    rows = [
        {"benchmark": name, **row}
        for name, take in TAKEN.items()
        for row in chosen(take(Path(folder) / "outputs"))
    ]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    Path(__file__).with_name("rows.jsonl").write_text(text, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
