"""The tokenizer of a run, whose counts are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_bench.errors import (
    PluginError,
)
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.loading import attempted, unfit
from context_bench.protocols import Tokenizer
from context_bench.records import quantity
from context_bench.tokens import WordTokenizer

if TYPE_CHECKING:
    pass


def tokenizer_of(catalog: Catalog, name: str) -> Tokenizer:
    """Return the tokenizer that a name means; core's own counts words.

    Raises:
        ContextBenchError: Nothing installed has that name, or it cannot be set up.
    """
    if name == WordTokenizer.name:
        return WordTokenizer()
    component = catalog.find("tokenizers", name)
    tokenizer = component.build({})
    if not isinstance(tokenizer, Tokenizer) or not isinstance(tokenizer.name, str):
        raise unfit(component, f"{type(tokenizer).__name__} has no name or no count()")
    return CheckedTokenizer(tokenizer, f"The tokenizer {component.id}")


class CheckedTokenizer:
    """A tokenizer of a package, whose counts are whole numbers from 0 on; anything else is told
    with its name."""

    def __init__(self, tokenizer: Tokenizer, who: str) -> None:
        self.name, self._count, self._who = tokenizer.name, tokenizer.count, who

    def count(self, text: str) -> int:
        """Return how many tokens a text has."""
        found = attempted(self._who, self._count, text)
        number = quantity(found)
        if type(number) is not int:
            raise PluginError(
                f"{self._who} failed: count() returned {found!r}, not a whole number from 0 on."
            )
        return number
