"""Arthur's python_unit_testing: unit tests of model-written code, run in the sandbox of context-bench-code."""

from context_bench_scorers_code.evaluators import PythonUnitTestingEvaluator
from context_bench_scorers_code.python_unit_testing import PythonUnitTesting

__all__ = ["PythonUnitTesting", "PythonUnitTestingEvaluator"]
