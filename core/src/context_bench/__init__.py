"""context-bench: measure systems that touch an LLM's context.

Importing this package imports nothing else; each public name is loaded when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from context_bench.protocols import Evaluator as Evaluator
    from context_bench.protocols import Metric as Metric
    from context_bench.protocols import System as System
    from context_bench.records import EvalRow as EvalRow
    from context_bench.records import Failure as Failure
    from context_bench.records import Scores as Scores
    from context_bench.records import Usage as Usage
    from context_bench.results.result import EvalResult as EvalResult
    from context_bench.session.evaluate import evaluate as evaluate
    from context_bench.session.opening import open_result as open  # noqa: A004  # as the modules gzip and io have it

__version__ = "1.0.0"

__all__ = [
    "EvalResult",
    "EvalRow",
    "Evaluator",
    "Failure",
    "Metric",
    "Scores",
    "System",
    "Usage",
    "__version__",
    "evaluate",
    "open",
]

_HOMES = {
    "evaluate": "context_bench.session.evaluate",
    "open": "context_bench.session.opening:open_result",
    "EvalResult": "context_bench.results.result",
    "Evaluator": "context_bench.protocols",
    "Metric": "context_bench.protocols",
    "System": "context_bench.protocols",
    "EvalRow": "context_bench.records",
    "Failure": "context_bench.records",
    "Scores": "context_bench.records",
    "Usage": "context_bench.records",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        module, _, own_name = _HOMES[name].partition(":")
        value = getattr(import_module(module), own_name or name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
