"""Say how far the judge-free scorers agree with people: SummEval's ratings and LLMBar's preferences.

    python tests/benchmarks/scorer_agreement.py FOLDER [--articles N] [--pairs N]

FOLDER holds ``summeval.jsonl.gz`` and the folder ``llmbar``. Of SummEval it is Spearman's correlation within each article,
averaged; of LLMBar the share of pairs in which the scorer prefers the output that people prefer, ties counted half.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from context_bench_rouge import rouge_l
from context_bench_scorers import Scorer
from context_bench_scorers_embedding import PACKAGED_MINILM, BERTScore, HedgingLanguage
from context_bench_scorers_text import Readability, Specificity, WordCountMatch

ASPECTS = ("coherence", "consistency", "fluency", "relevance")
Column = list[float]


def values(scorer: Scorer, texts: Sequence[str], references: Sequence[str] | None = None) -> Column:
    return [result.score or 0.0 for result in scorer.run(texts, references, batch_size=256)]


def ranks(column: Sequence[float]) -> Column:
    """Return ranks from 1; equal values share the mean of theirs."""
    order = sorted(range(len(column)), key=column.__getitem__)
    found = [0.0] * len(column)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and column[order[end + 1]] == column[order[start]]:
            end += 1
        for place in order[start : end + 1]:
            found[place] = (start + end) / 2 + 1
        start = end + 1
    return found


def spearman(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return Spearman's correlation; None where a column has one value only."""
    a, b = ranks(one), ranks(other)
    centre_a, centre_b = mean(a), mean(b)
    spread = sum((x - centre_a) ** 2 for x in a) * sum((y - centre_b) ** 2 for y in b)
    if not spread:
        return None
    return float(sum((x - centre_a) * (y - centre_b) for x, y in zip(a, b)) / spread**0.5)


def summeval(file: Path, limit: int | None) -> dict[str, dict[str, float]]:
    """Return the mean correlation of each scorer with each aspect."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        articles = [json.loads(line) for line in lines][:limit]
    scorers: Mapping[str, Callable[[list[str], list[str]], Column]] = {
        "rouge_l_f1": lambda texts, wanted: [
            rouge_l(*pair)["rouge_l_f1"] for pair in zip(texts, wanted)
        ],
        "bertscore": lambda texts, wanted: values(BERTScore(PACKAGED_MINILM), texts, wanted),
        "word_count_match": lambda texts, wanted: values(WordCountMatch(), texts, wanted),
        "specificity": lambda texts, _: values(Specificity(), texts),
        "readability": lambda texts, _: values(Readability(), texts),
    }
    found: dict[str, dict[str, list[float]]] = {
        name: {aspect: [] for aspect in ASPECTS} for name in scorers
    }
    for article in articles:
        systems = list(article["sys_summs"].values())
        texts, wanted = (
            [one["sys_summ"] for one in systems],
            [article["ref_summs"][0]] * len(systems),
        )
        for name, scorer in scorers.items():
            column = scorer(texts, wanted)
            for aspect in ASPECTS:
                correlation = spearman(column, [one["scores"][aspect] for one in systems])
                if correlation is not None:
                    found[name][aspect].append(correlation)
    return {
        name: {aspect: mean(each) for aspect, each in aspects.items()}
        for name, aspects in found.items()
    }


def llmbar(folder: Path, limit: int | None) -> dict[str, dict[str, float]]:
    """Return the share of pairs in which each scorer prefers what people prefer, by set."""
    found: dict[str, dict[str, float]] = {}
    for file in sorted(folder.glob("*.gpt-4-vanilla.result.json.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as stream:
            pairs: list[dict[str, Any]] = json.load(stream)[:limit]
        texts = [[pair["output_1"] for pair in pairs], [pair["output_2"] for pair in pairs]]
        asked = [pair["input"] for pair in pairs]
        scorers: Mapping[str, Callable[[list[str]], Column]] = {
            "bertscore of output and instruction": lambda outputs, asked=asked: values(  # type: ignore[misc]
                BERTScore(PACKAGED_MINILM), outputs, asked
            ),
            "less hedging_language": lambda outputs: [
                -v for v in values(HedgingLanguage(PACKAGED_MINILM), outputs)
            ],
            "specificity": lambda outputs: values(Specificity(), outputs),
            "readability": lambda outputs: values(Readability(), outputs),
        }
        for name, scorer in scorers.items():
            first, second = scorer(texts[0]), scorer(texts[1])
            agreed = [
                0.5 if a == b else float((a > b) == (int(pair["label"]) == 1))
                for a, b, pair in zip(first, second, pairs)
            ]
            found.setdefault(name, {})[file.name.partition(".")[0]] = mean(agreed)
    return found


def table(title: str, rows: Mapping[str, Mapping[str, float]]) -> str:
    columns = list(next(iter(rows.values())))
    lines = [f"| {title} | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    lines += [
        f"| {name} | {' | '.join(f'{row[column]:.3f}' for column in columns)} |"
        for name, row in rows.items()
    ]
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", type=Path)
    options.add_argument("--articles", type=int, help="of SummEval, from its first")
    options.add_argument("--pairs", type=int, help="of each set of LLMBar, from its first")
    chosen = options.parse_args()
    print(
        table("SummEval, Spearman", summeval(chosen.folder / "summeval.jsonl.gz", chosen.articles))
    )
    print()
    print(table("LLMBar, agreement", llmbar(chosen.folder / "llmbar", chosen.pairs)))


if __name__ == "__main__":
    main()
