"""What the methods of a run part return is held to what they promise: anything else is one line with part and method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

PARTS: dict[str, tuple[str, str]] = {
    "controller": (
        "def row_finished(self, row): return None",
        "def finished(self, run): return None",
    ),
    "preparer": ("def prepare(self, systems, request): return systems", ""),
    "governor": ("def admit(self, call): pass", "def settle(self, call, usage, cost): pass"),
    "derived-job": ("def slots(self, labels): return []", ""),
}
SLOT = "from context_bench.protocols import DerivedSlot; return [DerivedSlot({})]"
RETURNED = {
    "a number as a reason": (
        "controller",
        "row_finished(self, row)",
        "return 7",
        "returned 7, not a text or None",
    ),
    "False as a reason": (
        "controller",
        "row_finished(self, row)",
        "return False",
        "returned False, not a text or None",
    ),
    "a text for systems": (
        "preparer",
        "prepare(self, systems, request)",
        "return 'ab'",
        "returned 'ab', not a list",
    ),
    "a number in place of a system": (
        "preparer",
        "built(self, systems, warn)",
        "return [1]",
        "returned 1, not a system",
    ),
    "a number as a description": (
        "governor",
        "describe(self, system)",
        "return 7",
        "returned 7, not a mapping",
    ),
    "a text as lines": (
        "governor",
        "begin(self, *told)",
        "return 'ab'",
        "returned 'ab', not a list",
    ),
    "numbers as lines": ("governor", "begin(self, *told)", "return [7]", "returned 7, not a text"),
    "a number as a bill": (
        "governor",
        "bill(self, *asked)",
        "return 7",
        "failed: TypeError: cannot unpack",
    ),
    "a bill in three parts": (
        "governor",
        "bill(self, *asked)",
        "return 1.0, 'x', 3",
        "failed: ValueError: too many values",
    ),
    "a bill below nothing": (
        "governor",
        "bill(self, *asked)",
        "return -5.0, 'x'",
        "bill() returned -5.0 and 'x'",
    ),
    "a bill that is no number": (
        "governor",
        "bill(self, *asked)",
        "return float('nan'), 'x'",
        "bill() returned nan and 'x'",
    ),
    "a text as a bill": (
        "governor",
        "bill(self, *asked)",
        "return '1', 'x'",
        "failed: TypeError: '<=",
    ),
    "a number as the source": (
        "governor",
        "bill(self, *asked)",
        "return 1.0, 7",
        "bill() returned 1.0 and 7",
    ),
    "a slot with a number as label": (
        "derived-job",
        "slots(self, labels)",
        SLOT.format("7, labels[0], {}, len"),
        "is no slot, it lacks label",
    ),
    "a slot with a number as key": (
        "derived-job",
        "slots(self, labels)",
        SLOT.format("'x', labels[0], 7, len"),
        "is no slot, it lacks key",
    ),
    "a slot without a function": (
        "derived-job",
        "slots(self, labels)",
        SLOT.format("'x', labels[0], {}, 7"),
        "is no slot, it lacks process",
    ),
}


SYSTEM = """
class Paid:
    name = "paid"

    def process(self, example):
        return {"response": "one", "usage": {"input_tokens": 3, "output_tokens": 1}}
"""


def _run(kind: str, methods: tuple[str, ...], site: Any, context_bench: Callable[..., Any]) -> Any:
    site.basics()
    lines = "".join(f"    {line}\n" for line in methods)
    site.add(
        "acme-odd",
        code=f"{SYSTEM}\n\nclass Odd:\n    name = 'odd'\n{lines}",
        manifest=f'schema = 1\napi = "1.0"\n[run_parts.odd]\nsummary = "Odd"\nclass = "Odd"\nkind = "{kind}"\n'
        '[systems.paid]\nsummary = "Costs"\nclass = "Paid"\n',
        entry_points={"run_parts": {"odd": "acme_odd:Odd"}, "systems": {"paid": "acme_odd:Paid"}},
    )
    return context_bench(
        "run", "-d", "toy", "-s", "paid", "--part", "odd", "-q", "--format", "none"
    )


@pytest.mark.parametrize("kind", PARTS)
def test_a_part_that_keeps_its_promise_takes_part(
    kind: str, site: Any, context_bench: Callable[..., Any]
) -> None:
    assert _run(kind, PARTS[kind], site, context_bench).code == 0


@pytest.mark.parametrize("case", RETURNED)
def test_what_is_not_what_a_method_promises_is_told_with_part_and_method(
    case: str, site: Any, context_bench: Callable[..., Any]
) -> None:
    kind, method, body, told = RETURNED[case]
    done = _run(kind, (*PARTS[kind], f"def {method}: {body}"), site, context_bench)
    assert done.code == 2, done.words
    assert "The run part odd failed: " in done.words
    assert told in done.words


def test_a_reason_of_several_lines_is_told_in_one(
    site: Any, context_bench: Callable[..., Any]
) -> None:
    method = "def row_finished(self, row): return 'enough\\nError: another'"
    done = _run("controller", (*PARTS["controller"], method), site, context_bench)
    assert done.code == 2
    assert "Error: odd stopped the run: enough Error: another" in done.err.splitlines()
