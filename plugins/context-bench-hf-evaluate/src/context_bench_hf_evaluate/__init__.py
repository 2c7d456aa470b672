"""Metrics of Hugging Face `evaluate` as evaluators, and as metrics of all rows of a system.

`evaluate` is imported with the first use, and sends no count of its uses.

>>> HFEvaluate("rouge").score_keys
('hf_rouge1', 'hf_rouge2', 'hf_rouge_l', 'hf_rouge_lsum')
"""

from context_bench_hf_evaluate.corpus import HFEvaluateCorpus
from context_bench_hf_evaluate.evaluator import HFEvaluate

__all__ = ["HFEvaluate", "HFEvaluateCorpus"]
