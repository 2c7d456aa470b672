"""Logs of inspect_ai as data of context-bench, and its scorers as evaluators.

JSON logs are read without inspect_ai. `.eval` logs and `InspectScorer` need the library, and import it with their first use.

>>> InspectRecorded().score({}, {"recorded_scores": {"match": "C"}})
{'inspect_recorded': 1.0, 'inspect_match': 1.0}
"""

from context_bench_inspect.loader import inspect_log
from context_bench_inspect.recorded import InspectRecorded
from context_bench_inspect.replay import InspectReplay
from context_bench_inspect.scorer import InspectScorer

__all__ = ["InspectRecorded", "InspectReplay", "InspectScorer", "inspect_log"]
