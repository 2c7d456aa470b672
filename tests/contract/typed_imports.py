"""The documented imports, for type checkers: mypy and pyright must know what each of them is."""

from __future__ import annotations

import sys

from context_bench import EvalResult, EvalRow, evaluate
from context_bench.evaluators import AnswerQuality, SummarizationQuality
from context_bench.evaluators.rouge import rouge_l
from context_bench.systems import OpenAIProxy
from context_bench_rouge import RougeScore
from context_bench_rouge import SummarizationQuality as FromItsPackage

if sys.version_info >= (3, 11):
    from typing import assert_type
else:
    from typing_extensions import assert_type


def what_a_user_writes() -> None:
    result = evaluate([], [], [AnswerQuality()], progress=False)
    assert_type(result, EvalResult)
    row: EvalRow = result.rows[0]
    assert_type(row.latency, float)
    assert_type(SummarizationQuality(), FromItsPackage)
    assert_type(RougeScore().name, str)
    assert rouge_l("a", "a")
    assert_type(OpenAIProxy("http://127.0.0.1:8080").name, str)
