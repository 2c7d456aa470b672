"""The wiring of a run as text: every evaluator with the reason for its decision, and the
extensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from context_bench.console import style, wrap_text
from context_bench.plugins.component import OK
from context_bench.plugins.wiring import DatasetPlan, Decision


@frozen
class Explanation:
    """What a run would use: the wiring of its datasets, every evaluator with its reason, and its
    extensions.

    Attributes:
        plans: The wiring of each dataset.
        extensions: What is known of the active extensions, by id.
    """

    plans: tuple[DatasetPlan, ...]
    extensions: Mapping[str, Mapping[str, Any]]

    def lines(self) -> Iterator[str]:
        """Yield it as the lines of a text for a person; the warnings of the plans are not in it."""
        for plan in self.plans:
            yield from _lines_of(plan)
        for name, extension in self.extensions.items():
            yield f"extension {style(name, bold=True)} {_facts_of_extension(extension)}"


def _facts_of_extension(extension: Mapping[str, Any]) -> str:
    hooks = ", ".join(extension["implements"]) or "hooks that no manifest declares"
    facts = [f"{extension['distribution_version']}: {hooks}"]
    if extension["options"]:
        options = ", ".join(f"{name}={value}" for name, value in extension["options"].items())
        facts.append(f"({options})")
    if extension["capabilities"]:
        facts.append(f"with {', '.join(extension['capabilities'])}")
    facts.append(f"(manifest {extension['manifest_sha256'][:12] or 'none'})")
    return " ".join(facts)


def _lines_of(plan: DatasetPlan) -> Iterator[str]:
    label = style(plan.dataset.label or "rows without a label", bold=True)
    if plan.error:
        yield f"{label}: {style('a run would stop', color='red')}"
        yield wrap_text(label="", text=plan.error, indent=2, gutter=0)
    else:
        yield f"{label}: primary score {plan.primary or 'none'}"
    for decision in plan.ranked:
        yield from _lines_of_decision(decision)
    yield ""


def _lines_of_decision(decision: Decision) -> Iterator[str]:
    component = decision.component
    mark = style("+", color="green") if decision.wired else "-"
    state = "" if component.state == OK else style(f" [{component.state}]", color="red")
    yield f"  {mark} {decision.evaluator}{state}"
    yield _indented("", decision.reason, gutter=0)
    if component.reason and component.reason not in decision.reason:
        yield _indented("why", component.reason)
    if component.remedy:
        yield _indented("remedy", component.remedy)
    if decision.wired and decision.keys:
        yield _indented("scores", ", ".join(decision.keys))
    if decision.needs_isolation:
        yield _indented("only", "in an isolating sandbox, or with --allow executes-model-code")


def _indented(label: str, text: str, gutter: int = 8) -> str:
    return wrap_text(label, text, indent=6, gutter=gutter)
