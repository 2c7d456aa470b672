"""Prices of tokens: the bill of a task, and a bound on it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from attrs import asdict, frozen

from context_bench.errors import ConfigurationError

_MILLION = 1_000_000


@frozen
class Prices:
    """Prices of a million tokens, in any one unit.

    Attributes:
        input: Tokens of requests outside of the turns, such as one for a title.
        cached: Tokens of a turn that are read from the cache.
        output: Tokens that the model writes.
        cache_write: The other tokens of a turn, which are written into the cache.
    """

    input: float
    cached: float
    output: float
    cache_write: float

    def __attrs_post_init__(self) -> None:
        for kind, price in asdict(self).items():
            if not math.isfinite(price) or price < 0:
                raise ConfigurationError(f"price_{kind} is {price}, but must be 0 or more.")

    @classmethod
    def of_options(
        cls, price_input: float, cached: float | None, output: float, cache_write: float | None
    ) -> Prices:
        """Return prices; those that are None are the price of input."""
        return cls(
            input=price_input,
            cached=price_input if cached is None else cached,
            output=output,
            cache_write=price_input if cache_write is None else cache_write,
        )

    def bill(self, counts: Mapping[str, Any]) -> float:
        """Return the bill of a row's counts, as `RequestLog.record` returns them."""
        side = counts.get("tokens_side", 0)
        cached = counts["tokens_cached"]
        bill: float = (
            side * self.input
            + (counts["tokens_sent"] - cached - side) * self.cache_write
            + cached * self.cached
            + counts["tokens_written"] * self.output
        )
        return bill / _MILLION


@frozen
class Budget:
    """What a task may cost.

    Attributes:
        max_cost: The bill at which no further request is answered or sent.
        prices: Of the bill.
    """

    max_cost: float
    prices: Prices

    @classmethod
    def of_options(
        cls,
        max_cost: float | None,
        price_input: float | None,
        price_cached: float | None,
        price_output: float | None,
        price_cache_write: float | None,
    ) -> Budget | None:
        """Return the budget of a task; None without ``max_cost``.

        Raises:
            ConfigurationError: A value is not above 0, or prices and ``max_cost`` are not set together.
        """
        prices = (price_input, price_cached, price_output, price_cache_write)
        if max_cost is None:
            if any(price is not None for price in prices):
                raise ConfigurationError("Prices of the system agent need max_cost.")
            return None
        if not math.isfinite(max_cost) or max_cost <= 0:
            raise ConfigurationError(f"max_cost is {max_cost}, but must be above 0.")
        if price_input is None or price_output is None:
            raise ConfigurationError("max_cost needs price_input and price_output.")
        return cls(
            max_cost,
            Prices.of_options(price_input, price_cached, price_output, price_cache_write),
        )

    def is_spent(self, counts: Mapping[str, Any]) -> bool:
        """Return whether a row's counts cost as much."""
        return self.prices.bill(counts) >= self.max_cost
