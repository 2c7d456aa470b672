"""Write docs/reference/cards-and-lm-eval.md: the cards of benchmarks beside the task files of lm-eval.

`python tests/heavy/lm-eval/cards_page.py` reads the YAML files of the installed lm-eval as data - nothing of them is
executed, and lm-eval is not imported - and the manifests in plugins/. Facts are copied, such as names of fields; code and
the text of prompts are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import yaml
from attrs import frozen

from context_bench.plugins.manifest import FILE_NAME, DatasetManifest, parse_manifest

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "reference" / "cards-and-lm-eval.md"


@frozen
class Pair:
    """A card and the task file of lm-eval that is nearest to it.

    Attributes:
        card: Name of the card.
        config: Its configuration; empty for the default one.
        file: The task file, below ``lm_eval/tasks``.
        reason: Why data, split or what is asked differs; empty where the letters say enough.
    """

    card: str
    config: str
    file: str
    reason: str = ""


PAIRS = (
    Pair("arc-challenge", "", "arc/arc_challenge.yaml"),
    Pair("bbh", "boolean_expressions", "bbh/cot_fewshot/boolean_expressions.yaml", "another copy of the benchmark"),
    Pair("drop", "", "drop/default.yaml"),
    Pair("gpqa", "gpqa_diamond", "gpqa/zeroshot/gpqa_diamond_zeroshot.yaml"),
    Pair("gsm8k", "main", "gsm8k/gsm8k.yaml"),
    Pair("hellaswag", "", "hellaswag/hellaswag.yaml"),
    Pair("humaneval", "", "humaneval/humaneval.yaml"),
    Pair("ifeval", "", "ifeval/ifeval.yaml"),
    Pair("infinitebench", "passkey", "infinitebench/infinitebench_passkey.yaml", "lm-eval names the file of a task as its split"),
    Pair("longbench", "hotpotqa", "longbench/hotpotqa.yaml", "another copy of the benchmark; F1 of the whole reply, as lm-eval has it, is a further score here"),
    Pair("longbench-v2", "", "longbench2/academic_single.yaml", "another copy, in 20 parts of which this is one"),
    Pair("math", "algebra", "hendrycks_math/hendrycks_math_algebra.yaml"),
    Pair("mbpp", "sanitized", "mbpp/mbpp.yaml", "here the 257 test problems that its authors checked by hand; `mbpp:full` is lm-eval's"),
    Pair("mgsm", "en", "mgsm/direct/mgsm_direct_en.yaml"),
    Pair("mmlu", "all", "mmlu/default/mmlu_abstract_algebra.yaml", "here all subjects in one; `mmlu:abstract_algebra` is lm-eval's"),
    Pair("mmlu-pro", "", "mmlu_pro/mmlu_pro_biology.yaml", "lm-eval has a task for each category, and asks for reasoning first"),
    Pair("natural-questions", "", "nq_open/nq_open.yaml"),
    Pair("needle", "multi-query", "ruler/niah_multiquery.yaml", "both generate their records; sentences and haystack here are new"),
    Pair("qasper", "", "qasper/freeform.yaml", "lm-eval shows title and abstract and asks free-form questions only; here the whole paper and all questions"),
    Pair("triviaqa", "rc", "triviaqa/default.yaml", "here with the documents; `triviaqa:rc.nocontext` is lm-eval's"),
    Pair("truthfulqa", "multiple_choice", "truthfulqa/truthfulqa_mc1.yaml", "lm-eval shows six worked examples of its authors"),
    Pair("winogrande", "winogrande_xl", "winogrande/default.yaml"),
)  # fmt: skip

INSTRUCTED = ("bbh", "infinitebench", "longbench", "mgsm")
"""Cards whose records, and not the manifest, have an instruction."""

IN_CODE = {
    "contract-nli": "scrolls_contractnli",
    "govreport": "scrolls_govreport",
    "narrativeqa": "scrolls_narrativeqa",
    "qmsum": "scrolls_qmsum",
    "quality": "scrolls_quality",
    "summscreenfd": "scrolls_summscreenfd",
}
"""Cards whose task in lm-eval is a Python class: its YAML file holds no fact."""

OTHER_METRIC = {"gsm8k", "longbench", "math", "mgsm", "natural-questions", "qasper", "triviaqa"}
"""Cards whose score is another function of the answer, also where both let the model write."""

LETTERS = {
    "D": "other data: another repository, configuration or part",
    "S": "another split",
    "L": "lm-eval compares the likelihoods that a model gives to the options; here the model writes, as it does behind a "
    "proxy, and the letter is read from its reply",
    "R": "both let the model write; lm-eval stops and filters the reply by patterns, here one reading layer finds the "
    "concluded answer, whatever the layout",
    "M": "another metric: here an answer is right in any wording or notation, not only where its words are equal",
    "N": "lm-eval shows so many worked examples; here none, unless `--shots` asks for the number in brackets",
}

TEXT = """# Cards beside the task files of lm-eval

<!-- Written by `python tests/heavy/lm-eval/cards_page.py`: do not edit. -->

Facts of the task files of lm-eval {version}, and below each those of the [card](cards.md). *Prompt*: the fields that it shows, and
how it ends. *Reply*: what the model does. Cards without an entry have no task of their own in lm-eval. The wording of
prompts differs in all but `ifeval`. Numbers of two rows can be compared only if no letter stands in the second one:

{letters}

| benchmark | data | split | prompt | reply | gold | shots | metric | differs |
|---|---|---|---|---|---|---|---|---|
{rows}

In lm-eval these are Python classes, whose files state no fact: {in_code}.
"""


@frozen
class Facts:
    """What one side says of a benchmark; the attributes are the columns of the page."""

    name: str
    data: str
    split: str
    prompt: str
    reply: str
    gold: str
    shots: str
    metric: str


def page() -> str:
    """Return the page.

    Raises:
        ValueError: Data or split differ without a reason.
    """
    cards = dict(_cards())
    rows = []
    for pair in PAIRS:
        theirs = task_facts(pair.file)
        ours = card_facts(cards[pair.card], pair.config)
        rows += [_row(theirs, ""), _row(ours, _differences(pair, theirs, ours))]
    return TEXT.format(
        version=distribution("lm-eval").version,
        letters="\n".join(f"- **{letter}**: {text}." for letter, text in LETTERS.items()),
        rows="\n".join(rows),
        in_code=", ".join(f"`{card}` (`{task}`)" for card, task in IN_CODE.items()),
    )


def task_facts(file: str) -> Facts:
    """Return the facts of a task file of the installed lm-eval."""
    task = _task(Path(str(distribution("lm-eval").locate_file("lm_eval/tasks"))) / file)
    gold = task.get("doc_to_target")
    return Facts(
        name=f"lm-eval `{task['task']}`",
        data=_data(task.get("dataset_path"), task.get("dataset_name")),
        split=str(task.get("test_split") or task.get("validation_split")),
        prompt=_prompt(task.get("doc_to_text")),
        reply=_reply(task),
        gold=_fields(gold) if isinstance(gold, str) else _numbered_gold(task, gold),
        shots=str(task.get("num_fewshot") or 0),
        metric=", ".join(f"`{_named(entry['metric'])}`" for entry in task["metric_list"]),
    )


def card_facts(card: DatasetManifest, config: str) -> Facts:
    """Return the facts of a card in one configuration."""
    chosen = config or card.default_config
    form = card.of_config("answer_form", chosen)
    role = card.of_config("context_role", chosen)
    definition = card.definition
    shown = [name for name in card.inputs or card.fields if name not in ("id", *card.gold)]
    fields = [name for name in ("context", "question") if name in shown or name == "question"]
    if role == "none":
        fields = ["question"]
    ending = "an instruction" if card.instruction or card.name in INSTRUCTED else ""
    if form == "letter":
        ending = "lettered options"
    return Facts(
        name=f"`{card.name}{':' + config if config else ''}`",
        data=_data(definition.source, definition.config or config) if definition else "generated",
        split=definition.split if definition else "test",
        prompt=", ".join([*(f"`{name}`" for name in fields), *([ending] if ending else [])]),
        reply=f"writes; {form}",
        gold=", ".join(f"`{name}`" for name in _gold(card)),
        shots=f"0 ({card.shots})" if card.shots else "0",
        metric=f"`{card.of_config('primary', chosen)}`",
    )


def _gold(card: DatasetManifest) -> list[str]:
    known = ("answer", "answers", "correct_letter", "test_list", "test", "needles")
    return [name for name in known if name in (card.gold or card.fields)] or list(card.gold)


def _cards() -> Iterator[tuple[str, DatasetManifest]]:
    for path in sorted(ROOT.glob(f"plugins/*/src/*/{FILE_NAME}")):
        for component in parse_manifest(path.read_bytes()).components.values():
            if isinstance(component, DatasetManifest):
                yield component.name, component


class _Loader(yaml.SafeLoader):
    """Reads a task file; a function that it names becomes its name."""


_Loader.add_constructor("!function", lambda loader, node: f"!{node.value}")


def _task(path: Path) -> dict[str, Any]:
    task = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    included = task.pop("include", None)
    return {**_task(path.parent / included), **task} if included else dict(task)


def _data(source: Any, config: Any) -> str:
    if not source:
        return "generated"
    return f"`{source}`" + (f", `{config}`" if config else "")


def _prompt(text: Any) -> str:
    fields = _fields(text)
    last = str(text).rstrip().rpartition("\n")[2]
    ending = re.search(r"([A-Z]\w*:)\W*$", last)
    return f"{fields}; ends in `{ending[1]}`" if ending and "{" in str(text) else fields


def _fields(template: Any) -> str:
    """Return the fields of a record that a template shows; of a function that it is one."""
    text = str(template)
    if text.startswith("!"):
        return f"function `{_named(text)}`"
    names = [
        name
        for expression in re.findall(r"\{\{(.*?)\}\}", text, re.DOTALL)
        for name in re.findall(r"(?<![\w'\".])[A-Za-z]\w*", re.sub(r"\"[^\"]*\"|'[^']*'", "", expression))
        if name not in _NOT_FIELDS
    ]  # fmt: skip
    if "{" not in text:
        names = [text]
    return ", ".join(f"`{name}`" for name in dict.fromkeys(names)) or "nothing"


_NOT_FIELDS = {"if", "else", "is", "not", "undefined", "defined", "none", "join", "string", "prompt_qa", "few_shot"}  # fmt: skip


def _named(text: str) -> str:
    """Return a name; of a function the last part."""
    return text.rpartition(".")[2] if text.startswith("!") else text


def _numbered_gold(task: Mapping[str, Any], gold: int) -> str:
    """Return what a number means as gold: an option, or nothing where a function finds it."""
    is_choice = task.get("output_type") == "multiple_choice"
    return f"option {gold}" if is_choice else _fields(task["process_results"])


def _reply(task: Mapping[str, Any]) -> str:
    if task.get("output_type") == "multiple_choice":
        choices = task.get("doc_to_choice")
        shown = f"{choices[0]} to {choices[-1]}" if isinstance(choices, list) else _fields(choices)
        return f"likelihood of {shown}"
    filters = ", ".join(f"`{entry['name']}`" for entry in task.get("filter_list", ()))
    steps = ["writes"]
    if task.get("generation_kwargs", {}).get("until"):
        steps.append("stop texts")
    return "; ".join([*steps, f"filters {filters}"] if filters else steps)


def _differences(pair: Pair, theirs: Facts, ours: Facts) -> str:
    letters = []
    if theirs.data != ours.data or ours.data == "generated":
        letters.append("D")
    if theirs.split != ours.split:
        letters.append("S")
    if theirs.reply.startswith("likelihood"):
        letters.append("L")
    elif theirs.reply != "writes":
        letters.append("R")
    if pair.card in OTHER_METRIC:
        letters.append("M")
    if theirs.shots != "0":
        letters.append("N")
    if set(letters) & {"D", "S"} and not pair.reason:
        raise ValueError(f"{pair.card}: say why data or split differ: {theirs} {ours}")
    return " ".join(letters) + (f": {pair.reason}" if pair.reason else "")


def _row(facts: Facts, differs: str) -> str:
    cells = [facts.name, facts.data, facts.split, facts.prompt, facts.reply, facts.gold]
    return f"| {' | '.join([*cells, facts.shots, facts.metric, differs])} |".replace("  ", " ")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
