"""``context-bench preflight``: what would make the numbers of a run deceive, found with a few requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from context_bench.catalog import Catalog
from context_bench.config import RunConfig, run_options
from context_bench.console import echo, echo_err, style, wrap_text, write_json

_BESIDE = ", each in every layout, one again and perhaps in other words, and the list of models of each endpoint"
_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


@run_options()
@click.option(
    "--examples",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    metavar="N",
    help="Examples to ask each system about: such that differ in length, kind and structure, chosen by --seed.",
)
@click.option(
    "--order-check",
    is_flag=True,
    help="Ask about a sample three times - in order, again, and shuffled - and report what depends on history.",
)
@click.option(
    "--order-examples",
    type=click.IntRange(2, 1000),
    default=8,
    show_default=True,
    metavar="N",
    help="Examples of --order-check: three times as many requests for each system.",
)
@click.option("--strict", is_flag=True, help="Exit with 2 on warnings, too.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def preflight(
    *,
    config: RunConfig,
    catalog: Catalog,
    examples: int,
    order_check: bool,
    order_examples: int,
    strict: bool,
    as_json: bool,
) -> int:
    """Ask each system a few times, and find what would make its numbers deceive, before money is spent.

    It takes the arguments of `run`. The exit code is 2 when a system cannot work, and 0 for warnings, unless --strict.
    """
    from context_bench_preflight.order_check import PASSES, check_order, shuffle
    from context_bench_preflight.preflight import Checkup, plan_preflight
    from context_bench_preflight.preflight import preflight as look
    from context_bench_preflight.probing import PATIENCE
    from context_bench_preflight.samples import sample_of

    plan = plan_preflight(catalog, config, examples)
    patience = config.row_timeout or PATIENCE
    count = plan.most_requests()
    ordering = sample_of(catalog, config, order_examples) if order_check else []
    if order_check:
        shuffle(
            ordering, config.seed
        )  # refuses a sample that has no other order, before anything is sent
    about = f"{_counted(len(plan.samples), 'example')}{_BESIDE if count > len(plan.samples) * len(plan.systems) else ''}"
    told = (
        f"At most {_counted(count, 'request')} to {_counted(len(plan.systems), 'system')}: {about}."
    )
    echo_err(wrap_text("", told, 0, 0))

    def show(checkup: Checkup) -> None:
        if not as_json:
            _show(checkup)

    done = look(plan, patience, show, _Progress())
    ordered: list[Checkup] = []
    if order_check:
        able = {one.label for one in done if one.can_work}
        systems = [system for system in plan.systems if system.label in able]
        told = _counted(PASSES * len(ordering) * len(systems), "request")
        echo_err(f"Order check: {told}, {len(ordering)} examples in two orders.")
        ordered = check_order(systems, ordering, plan.baseline, config.seed, patience)
        for one in ordered:
            show(one)
    everything = [*done, *ordered]
    if as_json:
        told_order = {"order_check": [_told(one) for one in ordered]} if order_check else {}
        write_json(
            {
                "systems": [_told(one) for one in done],
                **told_order,
                "ok": _is_fine(everything, strict),
            }
        )
    return 0 if _is_fine(everything, strict) else 2


class _Progress:
    """Tells on standard error what a system is being asked, a line for each kind of requests."""

    def __init__(self) -> None:
        self._last: tuple[str, str] | None = None

    def __call__(self, label: str, number: int, purpose: str) -> None:
        if (label, purpose) != self._last:
            self._last = (label, purpose)
            echo_err(f"Asking {label}, request {number} on: {purpose}.")


def _is_fine(checkups: Sequence[Any], strict: bool) -> bool:
    bad = ("error", "warning") if strict else ("error",)
    return not any(finding.severity in bad for one in checkups for finding in one.findings)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _show(checkup: Any) -> None:
    sent = _counted(len(checkup.requests), "request")
    where = f"  {checkup.endpoint}" if checkup.endpoint else ""
    echo(f"{style(checkup.label, bold=True)}{where}  ({sent})")
    for finding in checkup.findings:
        severity = style(f"{finding.severity} {finding.name}", color=_COLOURS[finding.severity])
        echo(f"  {severity}")
        echo(wrap_text("", sentence(finding.evidence), 4, 0))
        if finding.advice:
            echo(wrap_text("->", finding.advice, 4, 3))
    if not checkup.findings:
        echo(f"  {style('nothing found', color='green')}")
    if checkup.tokens:
        _show_tokens(checkup)


def sentence(text: str) -> str:
    """Return a text with a capital in front, unless it begins with a name or an address.

    >>> sentence("it asks for another model."), sentence("http://localhost:1/v1 refuses.")
    ('It asks for another model.', 'http://localhost:1/v1 refuses.')
    """
    first = text.partition(" ")[0].rstrip(",;:")
    return text[:1].upper() + text[1:] if first.isalpha() else text


def _show_tokens(checkup: Any) -> None:
    """Show what became of each example in each layout, the one of the run first."""
    from context_bench_preflight.layouts import these

    names = list(dict.fromkeys(line.example for line in checkup.tokens))
    has_before = any(line.before is not None for line in checkup.tokens)
    echo(f"  {checkup.unit}{', before -> after,' if has_before else ''} on {these(len(names))}:")
    for name in names:
        lines = sorted(
            (line for line in checkup.tokens if line.example == name),
            key=lambda line: not line.is_own,
        )
        about = f" ({checkup.natures[name]})" if name in checkup.natures else ""
        echo(wrap_text("", f"{name}{about}: {', '.join(map(_changed, lines))}", 4, 2))


def _changed(line: Any) -> str:
    layout = f"{line.layout} " if line.layout else ""
    if line.before is None:
        return f"{layout}{line.after:,}"
    percent = round(100 * -(line.saved or 0.0))
    share = "" if line.saved is None else f" ({percent:+d} %)" if percent else " (0 %)"
    return f"{layout}{line.before:,} -> {line.after:,}{share}"


def _told(checkup: Any) -> dict[str, Any]:
    from context_bench_preflight.error_findings import error_name

    told: dict[str, Any] = {
        "label": checkup.label,
        "endpoint": checkup.endpoint,
        "can_work": checkup.can_work,
        "findings": [
            {
                "name": finding.name,
                "severity": finding.severity,
                "evidence": finding.evidence,
                "advice": finding.advice,
                "figures": dict(finding.figures),
            }
            for finding in checkup.findings
        ],
        "tokens": [
            {
                "example": line.example,
                "layout": line.layout,
                "before": line.before,
                "after": line.after,
            }
            for line in checkup.tokens
        ],
        "examples": {name: str(nature) for name, nature in checkup.natures.items()},
        "requests": [
            {
                "purpose": reply.purpose,
                "example": reply.example,
                "seconds": reply.seconds,
                "prompt_tokens": reply.prompt_tokens,
                "error": None if reply.error is None else error_name(reply.error),
            }
            for reply in checkup.requests
        ],
    }
    return told
