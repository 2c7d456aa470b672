"""The real records that lie beside a developer's checkout, in the columns that the hub has them in."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Record = dict[str, Any]
Records = Callable[[Path], Iterator[Record]]


def lines(name: str) -> Records:
    def read(folder: Path) -> Iterator[Record]:
        with gzip.open(folder / name, "rt", encoding="utf-8") as file:
            yield from map(json.loads, file)

    return read


def bbh(folder: Path) -> Iterator[Record]:
    for path in sorted((folder / "bbh").glob("*.raw.json.gz")):
        yield from json.loads(gzip.decompress(path.read_bytes()))["examples"]


def mgsm(folder: Path) -> Iterator[Record]:
    for path in sorted(folder.glob("mgsm_*.raw.tsv.gz")):
        for question, answer in csv.reader(
            io.StringIO(gzip.decompress(path.read_bytes()).decode()), delimiter="\t"
        ):
            yield {
                "question": question,
                "answer": None,
                "answer_number": int(answer.replace(",", "")),
            }


def truthfulqa_free(folder: Path) -> Iterator[Record]:
    text = gzip.decompress((folder / "truthfulqa.raw.csv.gz").read_bytes()).decode()
    yield from csv.DictReader(io.StringIO(text))


def contract_nli(folder: Path) -> Iterator[Record]:
    """SCROLLS' layout: the hypothesis, a blank line, the contract."""
    release = json.loads(gzip.decompress((folder / "contract-nli.raw.json.gz").read_bytes()))
    hypotheses = {key: label["hypothesis"] for key, label in release["labels"].items()}
    for document in release["documents"]:
        for key, found in document["annotation_sets"][0]["annotations"].items():
            choice = {"NotMentioned": "Not mentioned"}.get(found["choice"], found["choice"])
            text = f"{hypotheses[key]}\n\n{document['text']}"
            yield {"id": f"{document['id']}_{key}", "pid": key, "input": text, "output": choice}


def contract_nli_release(folder: Path) -> Iterator[Record]:
    """The whole file as one record."""
    yield json.loads(gzip.decompress((folder / "contract-nli.raw.json.gz").read_bytes()))


def qmsum(folder: Path) -> Iterator[Record]:
    """SCROLLS' layout: the query, a blank line, the transcript."""
    for number, meeting in enumerate(lines("qmsum.raw.jsonl.gz")(folder)):
        transcript = "\n".join(
            f"{turn['speaker']}: {turn['content']}" for turn in meeting["meeting_transcripts"]
        )
        for index, asked in enumerate(
            [*meeting["general_query_list"], *meeting["specific_query_list"]]
        ):
            text = f"{asked['query']}\n\n{transcript}"
            yield {"id": f"{number}_{index}", "pid": "0", "input": text, "output": asked["answer"]}


def drop_release(folder: Path) -> Iterator[Record]:
    """A passage a record, with all its questions."""
    yield from json.loads((folder / "drop.release-layout.raw.json").read_text("utf-8")).values()


def scifact(folder: Path) -> Iterator[Record]:
    """The hub's layout: a record for each piece of evidence, with flat columns."""
    for claim in lines("scifact.claims.raw.jsonl.gz")(folder):
        base = {"id": claim["id"], "claim": claim["claim"], "cited_doc_ids": claim["cited_doc_ids"]}
        for document, sets in claim["evidence"].items() or [("", [])]:
            for each in sets or [{"label": "", "sentences": []}]:
                yield {
                    **base,
                    "evidence_doc_id": document,
                    "evidence_label": each["label"],
                    "evidence_sentences": each["sentences"],
                }


def arc_test(folder: Path) -> Iterator[Record]:
    for record in lines("arc-challenge.test-docs.jsonl.gz")(folder):
        labels = list("ABCDE"[: len(record["choices"])])
        question = record["query"].removeprefix("Question: ").removesuffix("\nAnswer:")
        choices = {"text": record["choices"], "label": labels}
        yield {
            "id": record["id"],
            "question": question,
            "choices": choices,
            "answerKey": labels[record["gold"]],
        }


def bfcl(category: str) -> Records:
    """The question file, with the calls of its answer file beside them."""

    def read(folder: Path) -> Iterator[Record]:
        answers = folder / f"bfcl.{category}.possible-answer.raw.jsonl.gz"
        truths = (
            {each["id"]: each for each in lines(answers.name)(folder)} if answers.exists() else {}
        )
        for record in lines(f"bfcl.{category}.raw.jsonl.gz")(folder):
            yield {**record, **truths.get(record["id"], {})}

    return read


RECORDS: dict[str, dict[str, Records]] = {
    "hotpotqa": {"raw": lines("hotpotqa.raw.jsonl.gz"), "hf": lines("hotpotqa.hf-layout.jsonl.gz")},
    "natural-questions": {"": lines("natural-questions.raw.jsonl.gz")},
    "musique": {"": lines("musique.raw.jsonl.gz")},
    "triviaqa": {"": lines("triviaqa.raw.jsonl.gz")},
    "frames": {"": lines("frames.raw.jsonl.gz")},
    "qasper": {"": lines("qasper.yesno-docs.jsonl.gz")},
    "mmlu": {"": lines("mmlu.raw.jsonl.gz")},
    "mmlu-pro": {"": lines("mmlu-pro.raw.jsonl.gz")},
    "arc-challenge": {"": lines("arc-challenge.raw.jsonl.gz"), "test": arc_test},
    "truthfulqa": {
        "multiple_choice": lines("truthfulqa.mc.raw.jsonl.gz"),
        "generation": truthfulqa_free,
    },
    "hellaswag": {"": lines("hellaswag.raw.jsonl.gz")},
    "winogrande": {"": lines("winogrande.raw.jsonl.gz")},
    "gsm8k": {"": lines("gsm8k.raw.jsonl.gz")},
    "drop": {"": lines("drop.docs.jsonl.gz"), "release": drop_release},
    "math": {"": lines("math.raw.jsonl.gz")},
    "mgsm": {"": mgsm},
    "bbh": {"": bbh},
    "humaneval": {"": lines("humaneval.raw.jsonl.gz")},
    "mbpp": {"": lines("mbpp.raw.jsonl.gz")},
    "dialogsum": {"": lines("dialogsum.raw.jsonl.gz")},
    "qmsum": {"": qmsum, "release": lines("qmsum.raw.jsonl.gz")},
    "contract-nli": {"": contract_nli, "release": contract_nli_release},
    "scifact": {"": scifact, "release": lines("scifact.claims.raw.jsonl.gz")},
    "ifeval": {"": lines("ifeval.raw.jsonl.gz")},
    "alpaca-eval": {"": lines("alpaca-eval.raw.jsonl.gz")},
    "mt-bench": {"": lines("mt-bench.raw.jsonl.gz")},
    "longbench": {
        "multifieldqa_zh": lines("longbench.multifieldqa_zh.raw.jsonl.gz"),
        "passage_retrieval_zh": lines("longbench.passage_retrieval_zh.raw.jsonl.gz"),
    },
    "bfcl": {
        name: bfcl(name)
        for name in (
            *(
                "live_simple",
                "live_multiple",
                "simple_python",
                "multiple",
                "parallel",
                "irrelevance",
            ),
            "exec_multiple",
        )
    },
    "swebench": {"": lines("swebench-lite.raw.jsonl.gz")},
    "swebench-lite": {"": lines("swebench-lite.raw.jsonl.gz")},
    "swebench-verified": {"": lines("swebench-verified.raw.jsonl.gz")},
}
"""Records by dataset and variant."""
