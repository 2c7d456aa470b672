"""The tokenizer of a run, whose counts are checked."""

from __future__ import annotations

from context_bench.errors import PluginError
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.loading import attempted, unfit
from context_bench.protocols import Tokenizer
from context_bench.records import quantity
from context_bench.tokens import WordTokenizer


def tokenizer_of(catalog: Catalog, name: str) -> Tokenizer:
    """Return a tokenizer by its name; that of core counts words.

    Raises:
        ContextBenchError: Nothing installed has that name, or it cannot be built.
    """
    if name == WordTokenizer.name:
        return WordTokenizer()
    component = catalog.find("tokenizers", name)
    tokenizer = component.build({})
    if not isinstance(tokenizer, Tokenizer) or not isinstance(tokenizer.name, str):
        raise unfit(component, f"{type(tokenizer).__name__} has no name or no count()")
    return CheckedTokenizer(tokenizer, f"The tokenizer {component.id}")


class CheckedTokenizer:
    """A tokenizer of a package, whose counts are checked.

    Args:
        tokenizer: The tokenizer.
        title: What errors call it.
    """

    def __init__(self, tokenizer: Tokenizer, title: str) -> None:
        self.name = tokenizer.name
        self._count = tokenizer.count
        self._title = title

    def count(self, text: str) -> int:
        """Return how many tokens a text has.

        Raises:
            PluginError: The tokenizer failed, or returned something else than a count.
        """
        result = attempted(self._title, self._count, text)
        count = quantity(result)
        if type(count) is not int:
            raise PluginError(
                f"{self._title} failed: count() returned {result!r}, not a whole number from 0 on."
            )
        return count
