"""What a hook returns is checked: anything else stops the run with the names of the extension and the hook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

SPEC = "from context_bench.protocols import DerivedSystemSpec; return [DerivedSystemSpec({})]"
FITTING = {
    "prepare_systems(self, systems)": "return None",
    "replace_systems(self, systems)": "return [built.system for built in systems]",
    "derived_systems(self)": "return []",
    "describe_system(self, system)": "return {'seen': system.label}",
    "before_first_call(self, run_file)": "return ['a line']",
    "admit_call(self, call)": "assert call.system == 'paid'",
    "call_settled(self, call, usage, cost)": "assert cost == 0.5",
    "call_cost(self)": "return 0.5, 'prices'",
    "cost_currency(self)": "return 'EUR'",
    "should_stop(self, row)": "return None",
    "exit_code(self, result)": "return 0",
}
UNFIT = {
    "number as a reason": ("should_stop(self)", "return 7"),
    "text as systems": ("prepare_systems(self)", "return 'ab'"),
    "number as a system": ("replace_systems(self)", "return [1]"),
    "number as facts": ("describe_system(self)", "return 7"),
    "text as lines": ("before_first_call(self)", "return 'ab'"),
    "number as a cost": ("call_cost(self)", "return 7"),
    "cost below zero": ("call_cost(self)", "return -5.0, 'x'"),
    "number as the source": ("call_cost(self)", "return 1.0, 7"),
    "number as a currency": ("cost_currency(self)", "return 7"),
    "number as a label": ("derived_systems(self)", SPEC.format("7, 'paid', {}, len")),
    "text as an exit code": ("exit_code(self)", "return '1'"),
}
SYSTEM = """
from context_bench.hookspecs import hookimpl

class Paid:
    name = "paid"

    def process(self, example):
        return {"response": "one", "usage": {"input_tokens": 3, "output_tokens": 1}}
"""
Functions = dict[str, str]


def _run(functions: Functions, site: Any, context_bench: Callable[..., Any]) -> Any:
    site.basics()
    lines = [
        f"    @hookimpl\n    def {signature}: {body}\n" for signature, body in functions.items()
    ]
    names = [signature.partition("(")[0] for signature in functions]
    site.add(
        "acme-odd",
        code=f"{SYSTEM}\n\nclass Odd:\n{''.join(lines)}",
        manifest='schema = 1\napi = "1.0"\n[hooks.odd]\nsummary = "Odd"\nclass = "Odd"\n'
        f"implements = {names}\n"
        '[systems.paid]\nsummary = "Costs"\nclass = "Paid"\n',
        entry_points={"hooks": {"odd": "acme_odd:Odd"}, "systems": {"paid": "acme_odd:Paid"}},
    )
    return context_bench(
        "run", "-d", "toy", "-s", "paid", "--extension", "odd", "-q", "--format", "none"
    )


def test_an_extension_that_implements_every_deciding_hook_takes_part(
    site: Any, context_bench: Callable[..., Any]
) -> None:
    done = _run(FITTING, site, context_bench)
    assert done.code == 0, done.err
    assert "a line" in done.err


@pytest.mark.parametrize("case", UNFIT)
def test_a_result_that_does_not_fit_stops_the_run(
    case: str, site: Any, context_bench: Callable[..., Any]
) -> None:
    signature, body = UNFIT[case]
    done = _run({signature: body}, site, context_bench)
    assert done.code == 2, done.words
    assert f"'acme-odd/odd' failed in {signature.partition('(')[0]}():" in done.words


def test_a_reason_of_several_lines_is_printed_in_one_line(
    site: Any, context_bench: Callable[..., Any]
) -> None:
    done = _run({"should_stop(self)": "return 'enough\\nError: another'"}, site, context_bench)
    assert done.code == 2
    assert "Error: odd stopped the run: enough Error: another" in done.err.splitlines()
