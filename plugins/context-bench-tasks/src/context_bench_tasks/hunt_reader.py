"""The next step of an evidence hunt, from the texts that are visible and nothing else."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from attrs import frozen

from context_bench_tasks.hunt import INDEX, LEDGER, RULES, LedgerRules
from context_bench_tasks.steps import Read, Step, Write

_TASK = re.compile(r"This is an evidence hunt\.")
_ASSETS = re.compile(r"^Assets: (A\d+(?:, A\d+)*)$", re.MULTILINE)
_RULE = re.compile(r"rule (order|separator|header|last): (\[[^\]\n]*\]|ascending|descending)")
_ENTRY = re.compile(
    r"(?<![\w=])entry=(\d+) asset=(A\d+) state=(\w+)(?: digest=([0-9a-f]{32}))? next=([\w./-]+)"
)


@frozen
class _Fact:
    number: int
    digest: str
    next: str


class HuntReader:
    """Reads an evidence hunt from texts, as a perfect reader without a memory would.

        HuntReader([instruction, "rule order: ascending"]).next_step()

    Args:
        texts: The visible texts, in any order: instruction, contents of files, notes.
        written: Paths of the files that were written; a hunt needs none.
    """

    def __init__(self, texts: Sequence[str], written: Collection[str] = ()) -> None:
        whole = "\n".join(texts)
        assets = _ASSETS.search(whole)
        self._assets = assets[1].split(", ") if assets and _TASK.search(whole) else []
        self._rules = rules_in(whole)
        self._latest: dict[str, _Fact] = {}
        for number, asset, _state, digest, following in _ENTRY.findall(whole):
            fact = _Fact(int(number), digest, following)
            known = self._latest.get(asset)
            if known is None or known.number < fact.number:
                self._latest[asset] = fact

    @property
    def is_readable(self) -> bool:
        """Whether the instruction of an evidence hunt is visible."""
        return bool(self._assets)

    def next_step(self) -> Step:
        """Return the first file that is missing, or the ledger when nothing is missing.

        Raises:
            ValueError: The instruction is not visible.
        """
        if not self._assets:
            raise ValueError("The instruction of an evidence hunt is not visible.")
        if self._rules is None:
            return Read(RULES, search="rule ")
        digests = {}
        for asset in self._assets:
            fact = self._latest.get(asset)
            if fact is None:
                return Read(INDEX, search=f"entry=1 asset={asset} ")
            if fact.next != "-":
                return Read(fact.next, search=f"entry={fact.number + 1} asset={asset} ")
            digests[asset] = fact.digest
        return Write(LEDGER, self._rules.ledger(digests))

    @staticmethod
    def facts_in(text: str) -> list[str]:
        """Return the rules and entries of a text, one a line, as an agent notes them."""
        return facts_of_rules(text) + [match[0] for match in _ENTRY.finditer(text)]


def rules_in(text: str) -> LedgerRules | None:
    """Return the rules of a ledger; None where one of them is not in the text."""
    values = {name: value.strip("[]") for name, value in _RULE.findall(text)}
    if not values.keys() >= {"order", "separator", "header", "last"}:
        return None
    return LedgerRules(**values)


def facts_of_rules(text: str) -> list[str]:
    """Return the rules of a text, one a line."""
    return [match[0] for match in _RULE.finditer(text)]
