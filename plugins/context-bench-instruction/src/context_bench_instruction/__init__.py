"""Instruction benchmarks: cards in the manifest, the functions that make their records examples, and AlpacaEval's win rate.

>>> AlpacaWinRate().score({}, {"response": "Sure.", "preference": 1.75})
{'alpaca_win_rate': 0.75}
"""

from context_bench_instruction.win_rate import AlpacaWinRate

__all__ = ["AlpacaWinRate"]
