"""A reader that overlooks nothing: what it misses was not in the context."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from context_bench_needle.needles import SHAPE, asked_in
from context_bench_needle.ruler import READERS


class NeedleOracle:
    """Answers the questions of the ``needle`` data set from the context alone, and perfectly.

    Put behind a compressor it shows the compressor's own losses: a value is missed only where its needle was removed or
    damaged. It looks at ``context`` and ``question``, never at the row's needles or answer.

    A needle is found by its key followed, within a few words, by a whole value of the kind asked for, so a compressor
    that drops small words (``is``, the full stop) loses nothing by that, and one that cuts a value in two does.

    >>> context = "Rain fell. One access number registered for amber-otter is 4711023. Time passed."
    >>> question = "Which access numbers are registered for amber-otter? Name every one that the text gives for it."
    >>> NeedleOracle().process({"context": context, "question": question})
    {'response': '4711023'}
    """

    name = "needle-oracle"
    reads = ("context", "question")

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """Return the values in the order of the keys asked for, as ``response``; an empty one if none is left.

        Raises:
            ValueError: The question is not one of the ``needle`` data set.
        """
        question = example.get("question")
        context = example.get("context")
        if isinstance(context, (list, tuple)):
            context = "\n".join(part for part in context if isinstance(part, str))
        text = context if isinstance(context, str) else ""
        for module in READERS if isinstance(question, str) else ():
            found = import_module(f"context_bench_needle.{module}").read(question, text)
            if found is not None:
                return {"response": ", ".join(found)}
        asked = asked_in(question) if isinstance(question, str) else None
        if asked is None:
            raise ValueError(
                "needle-oracle answers the questions of the data set needle only, and this is none of them: "
                f"{str(question)[:80]!r}. Use another reader for this row."
            )
        keys, kind = asked
        return {
            "response": ", ".join(
                dict.fromkeys(value for key in keys for value in _values(key, kind, text))
            )
        }

    def fingerprint(self) -> dict[str, Any]:
        """Return what can change a response: nothing but the version."""
        return {}


def _values(key: str, kind: str, text: str) -> Iterator[str]:
    """Yield every value that follows the key."""
    form = rf"(?<![\w-]){re.escape(key)}(?![\w-])(?:\W+(?!{SHAPE[kind]})\w+){{0,2}}?\W+({SHAPE[kind]})(?![\w-])"
    for found in re.finditer(form, text):
        yield found[1]
