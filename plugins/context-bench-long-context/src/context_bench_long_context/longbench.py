"""LongBench's metrics, one for each of its tasks.

Bai et al. 2023, "LongBench: A Bilingual, Multitask Benchmark for Long Context Understanding", https://arxiv.org/abs/2308.14508.
The rules are those of the authors' evaluation script; a task's score is the mean over its rows, times 100.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from warnings import catch_warnings, simplefilter

from context_bench.answers import answer_of, references
from context_bench.installation import install_hint
from context_bench_long_context.similarity import ratio
from context_bench_long_context.summary_overlap import rouge_l
from context_bench_long_context.token_f1 import chinese, english, f1

Metric = Callable[[str, str, Sequence[str]], float]


class LongBench:
    """The score of a LongBench row by its task's metric, best over the answers.

    Question answering counts by token F1, summaries by ROUGE-L, classification and retrieval by what is named among how much,
    code by the similarity of the first line of code. Chinese tasks need the extra ``chinese``, which cuts words.

    Score keys: ``longbench_score``.

    Args:
        task: Task of rows that do not name theirs in ``task``.

    Raises:
        ValueError: There is no such task.
    """

    name = "longbench"

    def __init__(self, task: str | None = None) -> None:
        if task is not None and task.removesuffix("_e") not in METRICS:
            raise ValueError(f"LongBench has no task {task!r}. It has: {', '.join(METRICS)}.")
        self.task = task

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Score one response.

        Args:
            original: The example: ``answers`` or ``answer``, ``task``, and ``all_classes`` where the task has classes.
            processed: The output: ``response``.

        Returns:
            ``{"longbench_score": 0.0 to 1.0}``, or ``{}`` where the task is none of LongBench's, or there is nothing to score.
        """
        named, response = original.get("task") or self.task, answer_of(processed)
        texts = references(original)
        task = (
            named.removesuffix("_e") if isinstance(named, str) else ""
        )  # LongBench-E has the metrics of its tasks
        if task not in METRICS or response is None or not texts:
            return {}
        if task in _FIRST_LINE:
            response = response.lstrip("\n").split("\n")[0]
        metric, classes = METRICS[task], list(original.get("all_classes") or ())
        return {"longbench_score": max(metric(response, text, classes) for text in texts)}

    def fingerprint(self) -> dict[str, Any]:
        """Every parameter that can change a score."""
        return {"task": self.task}


def answer_f1(response: str, answer: str, classes: Sequence[str]) -> float:
    """Return SQuAD's token F1."""
    return f1(english(response), english(answer))


def answer_f1_chinese(response: str, answer: str, classes: Sequence[str]) -> float:
    """Return the F1 of Chinese words, as jieba cuts them."""
    ours, theirs = [list(filter(None, map(chinese, _words(text)))) for text in (response, answer)]
    return f1(ours, theirs)


def summary(response: str, answer: str, classes: Sequence[str]) -> float:
    """Return ROUGE-L of white-space words."""
    return rouge_l(response, answer)


def summary_chinese(response: str, answer: str, classes: Sequence[str]) -> float:
    """Return ROUGE-L of Chinese words."""
    return rouge_l(" ".join(_words(response)), " ".join(_words(answer)))


def classification(response: str, answer: str, classes: Sequence[str]) -> float:
    """Return 1 divided by the number of classes that a response names, where the right one is among them.

    A class whose name is a part of the right one's does not count. The authors' script takes such classes out of the list while
    it walks along it, and so keeps a class that follows one; the published numbers are of that rule.
    """
    named = [name for name in classes if name in response]
    for name in named:
        if name in answer and name != answer:
            named.remove(name)
    return 1.0 / len(named) if answer in named else 0.0


def retrieval(response: str, answer: str, classes: Sequence[str]) -> float:
    """Return which part of the numbers in a response is that of the right paragraph."""
    return _share(response, re.findall(r"(?:Paragraph |段落)(\d+)", answer)[:1] or [answer])


def count(response: str, answer: str, classes: Sequence[str]) -> float:
    """Return which part of the numbers in a response is the right count."""
    return _share(response, [answer])


def code_similarity(response: str, answer: str, classes: Sequence[str]) -> float:
    """Return how alike the answer and the first line of code in a response are, to a hundredth."""
    lines = response.lstrip("\n").split("\n")
    line = next((line for line in lines if not any(mark in line for mark in ("`", "#", "//"))), "")
    if not line or not answer:
        return 0.0
    # lengths alone decide about a line of hundreds of times the answer's length
    most = 2 * min(len(line), len(answer)) / (len(line) + len(answer))
    return round(100 * ratio(line, answer)) / 100 if 100 * most >= 0.5 else 0.0


def _share(response: str, wanted: Sequence[str]) -> float:
    numbers = re.findall(r"\d+", response)
    return sum(number == str(wanted[0]) for number in numbers) / len(numbers) if numbers else 0.0


def _words(text: str) -> list[str]:
    try:
        with catch_warnings():
            simplefilter("ignore")  # of escape sequences in its source
            import jieba  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        raise ModuleNotFoundError(
            f"Chinese tasks of LongBench need jieba: {install_hint('context-bench-long-context', extra='chinese')}"
        ) from error
    jieba.setLogLevel(60)
    return list(jieba.cut(text, cut_all=False))


METRICS: Mapping[str, Metric] = {
    "narrativeqa": answer_f1,
    "qasper": answer_f1,
    "multifieldqa_en": answer_f1,
    "multifieldqa_zh": answer_f1_chinese,
    "hotpotqa": answer_f1,
    "2wikimqa": answer_f1,
    "musique": answer_f1,
    "dureader": summary_chinese,
    "gov_report": summary,
    "qmsum": summary,
    "multi_news": summary,
    "vcsum": summary_chinese,
    "trec": classification,
    "triviaqa": answer_f1,
    "samsum": summary,
    "lsht": classification,
    "passage_retrieval_en": retrieval,
    "passage_count": count,
    "passage_retrieval_zh": retrieval,
    "lcc": code_similarity,
    "repobench-p": code_similarity,
}
"""Metric by task."""

_FIRST_LINE = ("trec", "triviaqa", "samsum", "lsht")
