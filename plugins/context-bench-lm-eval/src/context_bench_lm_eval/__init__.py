"""Runs of lm-eval as data of context-bench, and lm-eval's filters and metrics as evaluators.

The files are read without lm-eval. `LMEvalMetrics` calls the library, and imports it with its first use.

>>> LMEvalRecorded().score({}, {"recorded_metrics": {"acc": 1.0}})
{'lm_eval_recorded': 1.0, 'lm_eval_acc': 1.0}
"""

from context_bench_lm_eval.corpus import LMEvalCorpus
from context_bench_lm_eval.evaluator import LMEvalMetrics
from context_bench_lm_eval.loader import lm_eval_samples
from context_bench_lm_eval.recorded import LMEvalRecorded
from context_bench_lm_eval.replay import LMEvalReplay

__all__ = ["LMEvalCorpus", "LMEvalMetrics", "LMEvalRecorded", "LMEvalReplay", "lm_eval_samples"]
