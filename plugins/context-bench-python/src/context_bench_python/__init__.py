"""Python functions, classes and pipelines as systems."""

from context_bench_python.system import PythonSystem, PythonTransformer

__all__ = ["PythonSystem", "PythonTransformer"]
