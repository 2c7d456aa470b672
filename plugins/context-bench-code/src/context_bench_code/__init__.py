"""Code execution: the tests of HumanEval, MBPP and their like, run on model-written code in a sandbox."""

from context_bench.records import Scores
from context_bench_code.errors import SandboxError
from context_bench_code.estimate import pass_at_k
from context_bench_code.evaluator import CodeExecution

__all__ = ["CodeExecution", "SandboxError", "Scores", "pass_at_k"]
