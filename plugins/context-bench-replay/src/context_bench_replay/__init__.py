"""Recorded responses as a system: score what you already have.

>>> Replay(field="pred").process({"question": "Capital of France?", "pred": "Paris", "answers": ["Paris"]})
{'response': 'Paris'}
"""

from context_bench_replay.replay import Replay

__all__ = ["Replay"]
