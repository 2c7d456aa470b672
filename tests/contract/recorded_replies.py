"""Replies that models gave, each with the row and the evaluator that reads it, and layouts that do not change what they say."""

from __future__ import annotations

import gzip
import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple


class Recorded(NamedTuple):
    """A recorded reply: which reader scores it, the example, the reply, and an opposite answer in the words of another."""

    reader: str
    example: Mapping[str, Any]
    reply: str
    opposite: str


def _lines(path: Path) -> Iterator[Any]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def recorded(folder: Path) -> Iterator[Recorded]:
    """Yield the recorded replies of a folder with the shared records."""
    outputs = folder / "outputs"
    yield from _gsm8k(outputs)
    yield from _mmlu_pro(outputs)
    yield from _big_bench_hard(outputs)
    yield from _judges(outputs)
    yield from _short_answers(outputs)
    yield from _needles(outputs)
    yield from _calls(folder)
    yield from _code(outputs)


def _gsm8k(outputs: Path) -> Iterator[Recorded]:
    models = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")
    for row in _lines(outputs / "gsm8k.example-model-solutions.jsonl.gz"):
        gold = row["ground_truth"].rpartition("A:")[2].strip()
        for model in models:
            for reader in ("math", "final_number"):
                reply = row[model]["solution"]
                yield Recorded(reader, {"answer": gold}, reply, f"The answer is {gold}1.")


def _mmlu_pro(outputs: Path) -> Iterator[Recorded]:
    for row in _lines(outputs / "mmlu-pro.gemini-1.5-pro-002.jsonl.gz"):
        if "model_outputs" not in row:
            continue
        example = {"choices": row["options"], "correct_letter": row["answer"]}
        other = "A" if row["pred"] != "A" else "B"
        yield Recorded(
            "multiple_choice", example, row["model_outputs"], f"The answer is ({other})."
        )


_LABELS = {
    "formal_fallacies": ("valid", "invalid"),
    "boolean_expressions": ("True", "False"),
    "sports_understanding": ("yes", "no"),
}


def _big_bench_hard(outputs: Path) -> Iterator[Recorded]:
    for kind in ("cot", "direct"):
        for path in sorted((outputs / f"bbh-codex-{kind}").glob("*.json.gz")):
            task = path.name.partition(".")[0]
            for row in json.loads(gzip.decompress(path.read_bytes()))["outputs"]:
                reply = row["prediction"].partition("\n\nQ:")[0]
                example = {"answer": row["target"]}
                yield Recorded("bbh", example, reply, "The answer is (Z).")
                if task in _LABELS:
                    labels = _LABELS[task]
                    other = labels[row["target"] == labels[0]]
                    example = {"answer": row["target"], "labels": labels}
                    yield Recorded("nli", example, reply, f"The answer is {other}.")


def _judges(outputs: Path) -> Iterator[Recorded]:
    for row in _lines(outputs / "mt-bench.claude-3.gpt-4-single-judgments.jsonl.gz"):
        other = 1 if row["score"] > 5 else 10
        yield Recorded("rating", {"score": row["score"]}, row["judgment"], f"Rating: [[{other}]]")
    for path in sorted((outputs / "llmbar").glob("*.result.json.gz")):
        for row in json.loads(gzip.decompress(path.read_bytes())):
            for result in row["results"]:
                for swapped in ("swap = False", "swap = True"):
                    reply = result[swapped]["completion"][0]
                    yield Recorded("verdict", {}, reply, "Output (a) is better.")


def _short_answers(outputs: Path) -> Iterator[Recorded]:
    for name in ("hotpotqa", "2wikimqa", "musique", "qasper", "narrativeqa"):
        for row in _lines(outputs / "longbench-llama2-7b-chat-4k" / f"{name}.jsonl.gz"):
            example = {"answers": row["answers"]}
            yield Recorded("drop", example, row["pred"], "The answer is nobody.")
            example = {"context": " ".join(row["answers"]) + " It was there in 1990."}
            yield Recorded("faithfulness", example, row["pred"], "The answer is nobody.")


def _needles(outputs: Path) -> Iterator[Recorded]:
    for name in ("passkey", "number_string", "kv_retrieval"):
        for row in _lines(outputs / "infinitebench-gpt4" / f"{name}.jsonl.gz"):
            truth = row["ground_truth"]
            needles = truth if isinstance(truth, list) else [truth]
            reply = row["prediction"]
            yield Recorded("needle", {"needles": needles}, reply, "The answer is 0.")


def _calls(folder: Path) -> Iterator[Recorded]:
    for category in ("simple_python", "multiple", "parallel", "live_simple"):
        for row in _lines(folder / f"bfcl.{category}.possible-answer.raw.jsonl.gz"):
            from context_bench_agents.bfcl import expected_calls, right_reply

            reply = right_reply(expected_calls(row["ground_truth"]) or [], [])
            if reply:
                yield Recorded("bfcl", {"ground_truth": row["ground_truth"]}, reply, "")


def _code(outputs: Path) -> Iterator[Recorded]:
    """Yield programs as a chat model shows them: a model's completions behind their prompts, in a fence."""
    for row in _lines(outputs / "humaneval.codegen16b-samples.jsonl.gz"):
        name = re.findall(r"def (\w+)\(", row["prompt"])[-1]
        for completion in row["samples"][:4]:
            body = re.split(r"\n(?=\S)", completion, maxsplit=1)[0].rstrip()
            reply = f"Here is the function:\n\n```python\n{row['prompt'].rstrip()}\n{body}\n```"
            yield Recorded("code", {"prompt": row["prompt"], "entry_point": name}, reply, "")


def _each_line(prefix: str) -> Callable[[str], str]:
    return lambda text: "\n".join(
        f"{prefix}{line}" if line.strip() else line for line in text.split("\n")
    )


def _numbered(text: str) -> str:
    number = 0
    lines: list[str] = []
    for line in text.split("\n"):
        number += bool(line.strip())
        lines.append(f"{number}. {line}" if line.strip() else line)
    return "\n".join(lines)


def _with_invisible(text: str) -> str:
    return "\ufeff" + re.sub(r"(?<=[ :(])(?=\S)", "\u200b", text)


def _directed(text: str) -> str:
    return "\n".join(
        f"\u202a{line}\u202c\u200e" if line.strip() else line for line in text.split("\n")
    )


def _bold_lines(text: str) -> str:
    return "\n".join(f"**{line.strip()}**" if line.strip() else line for line in text.split("\n"))


def _table(text: str) -> str:
    rows = "\n".join(f"| {line.strip()} |" for line in text.split("\n") if line.strip())
    return f"|  |\n|---|\n{rows}"


def _rows_of_html(text: str) -> str:
    return "".join(f"<p>{line}</p>\n" for line in text.split("\n"))


LAYOUTS: Mapping[str, Callable[[str], str]] = {
    "bullets": _each_line("- "),
    "stars": _each_line("* "),
    "round bullets": _each_line("• "),
    "numbers": _numbered,
    "quoted lines": _each_line("> "),
    "quoted twice": _each_line("> > "),
    "a quoted list": _each_line("> - "),
    "headings": _each_line("### "),
    "bold lines": _bold_lines,
    "bold": lambda text: f"**{text.strip()}**",
    "a fence": lambda text: f"```\n{text.strip()}\n```",
    "a named fence": lambda text: f"```text\n{text.strip()}\n```",
    "a fence in its line": lambda text: f"```{text.strip()}```",
    "a table": _table,
    "line break tags": lambda text: text.strip().replace("\n", "<br>\n"),
    "paragraphs of HTML": _rows_of_html,
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "NBSP": lambda text: text.replace(" ", "\u00a0"),
    "width zero": _with_invisible,
    "direction marks": _directed,
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "answer tags": lambda text: f"<answer>\n{text.strip()}\n</answer>",
    "response tags": lambda text: f"<response>{text.strip()}</response>",
    "a rule and blanks around": lambda text: f"\n\n---\n\n  {text.strip()}  \n\n---\n",
    "a closing remark": lambda text: (
        f"{text.rstrip()}\n\nI hope this helps! Let me know if you have any questions."
    ),
    "reasoning before": lambda text: (
        f"<think>\nIs it 7, (J), B, [[2]] or maybe not true?\n</think>\n\n{text.strip()}"
    ),
    "indented": _each_line("    "),
    "an arrow": lambda text: f"→ {text.strip()}",
}
"""Layouts by their names; each writes a reply in another way that says the same."""

QUOTING: Mapping[str, Callable[[str, str], str]] = {
    "a student": lambda text, other: f'{text.rstrip()}\n\nThe other student wrote: "{other}"',
    "a block": lambda text, other: f"{text.rstrip()}\n\nThe response says:\n\n> {other}\n",
    "in passing": lambda text, other: (
        f"{text.rstrip()}\n(The text contains the line “{other}”, which is wrong.)"
    ),
    "in code": lambda text, other: f"{text.rstrip()}\nIt claims `{other}`",
}
"""Ways of quoting another answer after the own one."""
