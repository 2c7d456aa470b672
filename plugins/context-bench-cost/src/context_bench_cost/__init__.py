"""What a run costs in money: prices of tokens, a budget that holds between calls, and metrics of money."""

from __future__ import annotations

from context_bench_cost.metrics import Cost, PriceOfPass
from context_bench_cost.money import Money
from context_bench_cost.prices import Price, Prices, read_prices

__all__ = ["Cost", "Money", "Price", "PriceOfPass", "Prices", "read_prices"]
