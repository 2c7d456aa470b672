"""Prices: what the tokens of a response cost, by the model's price for a million of them.

No table is shipped: prices change without notice, and a number that was right last year is worse than none. They come
from ``[prices]`` in the project file, from ``--prices FILE``, or from ``evaluate(prices=...)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from math import isfinite
from typing import Any

from attrs import Factory, asdict, frozen

from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.records import REPORTED_CURRENCY, Usage

_MILLION = 1_000_000


@frozen
class Price:
    """What a model costs, in money for a million tokens.

    Attributes:
        input: Prompt tokens that were not cached.
        output: Tokens of the completion.
        cache_read: Prompt tokens read from the provider's cache; None bills them as input.
        cache_write: Prompt tokens written into it; None bills them as input.
        reasoning: Tokens of the completion spent on reasoning; None bills them as output.
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    reasoning: float | None = None

    def of(self, usage: Usage) -> float | None:
        """Return what a response cost; None when its prompt or completion has no reported count.

        >>> Price(input=2.0, output=8.0, cache_read=0.5).of(Usage(1_000_000, 500_000, cache_read_tokens=400_000))
        5.4
        """
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
        reasoning = min(usage.reasoning_tokens or 0, usage.output_tokens)
        uncached = max(0, usage.input_tokens - read - written)
        total = uncached * self.input + (usage.output_tokens - reasoning) * self.output
        total += read * (self.input if self.cache_read is None else self.cache_read)
        total += written * (self.input if self.cache_write is None else self.cache_write)
        total += reasoning * (self.output if self.reasoning is None else self.reasoning)
        return total / _MILLION

    def at_most(self, input_tokens: int, max_tokens: int) -> float:
        """Return what a prompt and a completion of that length cost when nothing is cached."""
        dearest_input = max(self.input, self.cache_write or 0.0)
        dearest_output = max(self.output, self.reasoning or 0.0)
        return (input_tokens * dearest_input + max_tokens * dearest_output) / _MILLION


@frozen
class Prices:
    """A table of prices.

    Attributes:
        models: Price by the name of the model.
        currency: What they are in, for all models alike.
        date: The day of which they are, as whoever wrote them down says; empty when unsaid.
    """

    models: Mapping[str, Price] = Factory(dict)
    currency: str = REPORTED_CURRENCY
    date: str = ""

    def find(self, models: Iterable[str | None]) -> Price | None:
        """Return the price of the first of these names that has one."""
        return next(
            (self.models[name] for name in models if name is not None and name in self.models), None
        )

    def bill(
        self, usage: Usage | None, models: Iterable[str | None]
    ) -> tuple[float | None, str | None]:
        """Return what a response cost and where that comes from: ``"reported"``, ``"prices"``, or None without a cost.

        A cost that the endpoint reported wins, unless the table is in another currency.

        Args:
            usage: What the endpoint reported.
            models: Names of the model: the one asked for, then the one that answered.
        """
        if usage is None:
            return None, None
        if usage.cost is not None and self.currency == REPORTED_CURRENCY:
            return float(usage.cost), "reported"
        price = self.find(models)
        cost = None if price is None else price.of(usage)
        return cost, None if cost is None else "prices"

    def to_dict(self) -> dict[str, Any]:
        """Return the table as it is written; :func:`read_prices` reads it."""
        models = {
            name: {kind: value for kind, value in asdict(price).items() if value is not None}
            for name, price in self.models.items()
        }
        return {"currency": self.currency, "date": self.date, **models}

    def over(self, other: Prices) -> Prices:
        """Return this table laid over another.

        Raises:
            ConfigurationError: They are in different currencies.
        """
        if not self.models or not other.models:
            return self if self.models else other
        if self.currency != other.currency:
            raise ConfigurationError(
                f"Prices are given in {other.currency} and in {self.currency}. A run has one currency: convert one of them."
            )
        return Prices({**other.models, **self.models}, self.currency, self.date or other.date)


_KINDS = ("input", "output", "cache_read", "cache_write", "reasoning")
_REQUIRED = ("input", "output")


def read_prices(table: Any, where: str) -> Prices:
    """Return the prices of a table: ``currency``, ``date``, and a table for each model.

    Args:
        table: The table, as TOML gives it.
        where: What it is called in errors.

    Raises:
        ConfigurationError: It is of another form; the message says where.
    """
    if not isinstance(table, Mapping):
        raise ConfigurationError(
            f'{where} must be a table with a table for each model: [prices."MODEL"].'
        )
    models = {}
    facts = {"currency": REPORTED_CURRENCY, "date": ""}
    for name, value in table.items():
        if isinstance(value, Mapping):
            models[str(name)] = _price(value, f'{where}."{name}"')
        elif name in facts:
            facts[name] = value.isoformat() if isinstance(value, date) else value
            if not isinstance(facts[name], str):
                raise ConfigurationError(f"{where}.{name} is {value!r}, but must be a text.")
        else:
            raise ConfigurationError(
                f'{where}.{name} is {value!r}. A model is a table: "{name}" = {{ input = 2.5, output = 10.0 }}, in money for '
                "a million tokens; beside the models stand only currency and date."
            )
    if not facts["currency"].strip():
        raise ConfigurationError(f"{where}.currency is empty. Name one, such as USD.")
    return Prices(models, facts["currency"].strip(), facts["date"])


def _price(table: Mapping[str, Any], where: str) -> Price:
    for kind, value in table.items():
        if kind not in _KINDS:
            raise UnknownNameError(f"price of {where}", str(kind), _KINDS)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not isfinite(value)
            or value < 0
        ):
            raise ConfigurationError(
                f"{where}.{kind} is {value!r}, but must be money for a million tokens."
            )
    for kind in _REQUIRED:
        if kind not in table:
            raise ConfigurationError(
                f"{where} has no {kind}: a model needs a price for input and for output."
            )
    return Price(**{kind: float(value) for kind, value in table.items()})
