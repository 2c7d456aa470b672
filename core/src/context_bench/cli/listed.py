"""Lists of installed components: an overview of one screen, or a line or a block for each
component."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from context_bench.console import escape_control, style, wrap_text
from context_bench.installation import install_hint
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.component import (
    BLOCKED,
    CONFLICT,
    OK,
    OPTIONAL,
    PACKAGE,
    Component,
    stated,
)
from context_bench.plugins.manifest import EvaluatorManifest
from context_bench.plugins.settings import CORE


def overview(catalog: Catalog) -> Iterator[str]:
    """Yield the lines of an overview: number and names of the components of each kind, and faults.

    Args:
        catalog: Everything that is installed.
    """
    components = catalog.components
    yield _counts(components)
    yield ""
    kinds = dict.fromkeys(component.kind for component in components if component.kind != PACKAGE)
    for kind in kinds:
        usable = [
            component.name
            for component in catalog.of_kind(kind)
            if component.status in (OK, OPTIONAL)
        ]
        label = f"{kind.replace('_', ' ')} {len(usable)}"
        names = ", ".join(usable[:_NAMES])
        if len(usable) > _NAMES:
            names += f" and {len(usable) - _NAMES} more"
        yield wrap_text(label, names, 0, _LABEL)
    faulty = [
        component for component in components if component.status not in (OK, OPTIONAL, BLOCKED)
    ]
    if faulty:
        yield ""
    for component in faulty:
        title = f"{component.distribution.name}: {component.noun} {component.name}"
        text = f"{title} {stated(component.state)}: {component.reason}. {component.remedy_text}"
        yield style(wrap_text("!", text, 0, 2), color=_COLORS.get(component.state, "red"))
    yield ""
    if all(component.distribution.name == CORE for component in catalog):
        yield _install_hint()
    yield "-v shows each component with its scores and needs, --kind KIND only some of them."
    yield "`context-bench plugins show NAME` shows one, `context-bench datasets list` the datasets."


_NAMES = 12
_LABEL = 15
_COLORS = {OK: "green", OPTIONAL: "cyan", BLOCKED: "yellow", CONFLICT: "yellow"}


def listing(catalog: Catalog, shown: Sequence[Component]) -> Iterator[str]:
    """Yield the lines of a list of components.

    Args:
        catalog: Everything that is installed: datasets tell which of its evaluators score them.
        shown: The components to list.
    """
    yield _counts(shown)
    kinds = dict.fromkeys(component.kind for component in shown)
    for kind in kinds:
        components = [component for component in shown if component.kind == kind]
        names = max(len(component.name) for component in components)
        states = max(len(component.status) for component in components)
        heading = kind.replace("_", " ").capitalize()
        yield f"\n{style(heading, bold=True)}"
        for component in components:
            yield _title(component, names, states)
            yield from _lines(component, catalog)
    if all(component.distribution.name == CORE for component in catalog):
        yield f"\n{_install_hint()}"


def _install_hint() -> str:
    return f"No plugin is installed. For example: {install_hint('context-bench-answer-quality')}."


def lines_of(catalog: Catalog, shown: Sequence[Component], fields: Sequence[str]) -> Iterator[str]:
    """Yield a heading and one line for each component.

    Args:
        catalog: Everything that is installed.
        shown: The components, in their order.
        fields: Names of the columns: :data:`FIELDS`.
    """
    rows: list[Sequence[str]] = []
    for component in shown:
        cells = (FIELDS[name](component, catalog) for name in fields)
        rows.append([escape_control(cell, lines=False) for cell in cells])
    widths = [max(map(len, column)) for column in zip(fields, *rows)]
    yield style(_aligned(fields, widths), bold=True)
    for component, row in zip(shown, rows):
        is_faulty = component.status not in (OK, OPTIONAL)
        yield style(_aligned(row, widths), color="red" if is_faulty else None)


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip()


def _counts(components: Sequence[Component]) -> str:
    counts = Counter(component.status for component in components)
    states = ", ".join(
        f"{count} {state}"
        for state, count in sorted(counts.items(), key=lambda item: item[0] != OK)
    )
    distributions = len({component.distribution.name for component in components})
    return wrap_text(
        "",
        f"{len(components)} components of {distributions} distributions: {states or 'none'}",
        0,
        0,
    )


def _title(component: Component, names: int, states: int) -> str:
    mark = " " if component.status in (OK, OPTIONAL) else "!"
    name = style(component.name.ljust(names), bold=True)
    state = style(component.status.ljust(states), color=_COLORS.get(component.status, "red"))
    return f"{mark} {name}  {state}  {component.distribution.name} {component.distribution.version}"


def _lines(component: Component, catalog: Catalog) -> Iterator[str]:
    unknown = "" if component.is_described else f"unknown: {_undescribed(component)}"
    if component.manifest.summary:
        yield wrap_text("", component.manifest.summary, 4, 0)
    if component.state != OK:
        yield wrap_text("why", component.reason)
        yield wrap_text("remedy", component.remedy)
    if component.kind == "evaluators":
        yield wrap_text("wired to", _wiring(component))
        yield wrap_text("scores", unknown or _scores(component.evaluator))
    elif component.kind == "datasets" and component.is_described:
        dataset = component.dataset
        lists = {
            "configs": ", ".join(dataset.configs),
            "tags": ", ".join(dataset.tags),
            "license": dataset.license,
        }
        for label, text in {**lists, "files": " ".join(dataset.files)}.items():
            if text:
                yield wrap_text(label, text)
        yield wrap_text(
            "scored by", ", ".join(scorers(component, catalog)) or "no installed evaluator"
        )
    elif component.kind == "reporters" and component.reporter.files:
        yield wrap_text("files", " ".join(component.reporter.files))
    elif component.kind == "systems" and component.is_described:
        yield wrap_text("kind", component.system.system_kind)
    elif component.kind == "hooks":
        yield wrap_text(
            "hooks",
            ", ".join(component.extension.implements) or "unknown: its manifest does not say",
        )
        yield wrap_text("active", _when_active(component))
    if component.kind in ("evaluators", "datasets", "systems", "hooks"):
        yield wrap_text("needs", unknown or _needs(component))
    for warning in component.distribution.warnings:
        yield wrap_text("note", warning)


def _when_active(component: Component) -> str:
    """Return when an extension is active, as a sentence."""
    named = f"where it is named (--extension {component.name})"
    if component.manifest.options:
        named += " or one of its options is given"
    by_default = {
        "installed": "in every run",
        "endpoint": "in runs that call an endpoint",
        "reference": "in runs with --reference-from",
        "conversation": "in runs with conversations",
    }
    default = by_default.get(component.extension.active_when)
    return named if default is None else f"{default}, and {named}"


def _wiring(component: Component) -> str:
    if not component.is_described:
        return f"nothing: {_undescribed(component)}, so it works only when asked for by name"
    return "; ".join(map(str, component.evaluator.wire)) or "nothing: ask for it by name"


def _uses(component: Component, catalog: Catalog) -> str:
    if component.kind == "datasets":
        return ", ".join(scorers(component, catalog))
    if component.kind != "evaluators":
        return ""
    return "; ".join(map(str, component.evaluator.wire))


FIELDS: dict[str, Callable[[Component, Catalog], str]] = {
    "name": lambda component, catalog: component.name,
    "kind": lambda component, catalog: component.noun,
    "state": lambda component, catalog: component.status,
    "distribution": lambda component, catalog: component.distribution.name,
    "version": lambda component, catalog: component.distribution.told_version,
    "wired-to": _uses,
    "id": lambda component, catalog: component.id,
    "summary": lambda component, catalog: component.manifest.summary,
    "reason": lambda component, catalog: component.reason,
    "capabilities": lambda component, catalog: ", ".join(component.capabilities),
    "location": lambda component, catalog: (
        component.distribution.editable or component.distribution.location
    ),
}
"""What a line can tell of a component; that of a dataset names the evaluators that are wired to
it."""
USUAL_FIELDS = tuple(FIELDS)[:6]


def _scores(evaluator: EvaluatorManifest) -> str:
    primary = evaluator.primary
    return ", ".join(f"{key} (primary)" if key == primary else key for key in evaluator.scores)


def scorers(dataset: Component, catalog: Catalog) -> Iterable[str]:
    """Yield the names of the evaluators whose own rules choose a dataset."""
    for component in catalog.of_kind("evaluators"):
        rules = component.evaluator.wire if component.state == OK else ()
        if any(rule.match((dataset.name,), dataset.dataset.tags, frozenset()) for rule in rules):
            yield component.name


def _needs(component: Component) -> str:
    needs = [
        f"key {name[4:]}" if name.startswith("env:") else name for name in component.capabilities
    ]
    options = component.manifest.options.values()
    needs += (f"option {option.name}" for option in options if option.required)
    if component.kind == "evaluators":
        owners = {"original": "the example's", "processed": "the output's"}
        for side, fields in component.evaluator.needs.by_side.items():
            owner = owners.get(side, side)
            needs += (f"{owner} {field.replace('|', ' or ')}" for field in fields)
    return ", ".join(needs) or "nothing"


def _undescribed(component: Component) -> str:
    if component.distribution.manifest_path is None:
        return "it has no manifest"
    if component.state == OK:
        return "its manifest does not describe it"
    return "its manifest cannot be read"
