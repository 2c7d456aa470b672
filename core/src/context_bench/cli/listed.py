"""What is installed, written for a person: a line or a block for each component, wrapped and never cut; and all commands.

``plugins list`` without a choice among the components, and ``--help``, come here before click is imported, which takes a
third of their time.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from context_bench.catalog import open_catalog
from context_bench.cli import ABOUT, COMMANDS
from context_bench.console import echo, escape_control, style, width, wrap_text, write_json
from context_bench.errors import ContextBenchError
from context_bench.plugins.catalog import (
    BLOCKED,
    CONFLICT,
    OK,
    OPTIONAL,
    Catalog,
    Component,
    command_rows,
    describe,
)
from context_bench.plugins.component_metadata import Facts
from context_bench.plugins.settings import CORE, PROJECT_FILE

_PLAIN = frozenset({"--json", "-v", "--verbose", "--no-cache"})
"""Flags of ``plugins list`` that only say how it is written."""


def told_plainly(arguments: Sequence[str], sources: list[str]) -> bool:
    """Answer ``--help``, or ``plugins list`` with every component, where that needs no click; return whether that is done.

    Args:
        arguments: The command line.
        sources: Gets every file and folder that decided what is installed, and with what settings.

    Raises:
        UnknownNameError: The environment or the project file names what nobody has heard of.
    """
    flags = set(arguments[2:])
    if arguments[0] != "plugins":
        return _help(sources)
    if not flags <= _PLAIN:
        return False
    catalog = _installed(sources)
    tell_components(
        catalog, catalog.components, "--json" in flags, bool(flags & {"-v", "--verbose"})
    )
    return True


def _installed(sources: list[str]) -> Catalog:
    catalog = open_catalog()
    sources += [PROJECT_FILE, *catalog.sources]
    return catalog


def _help(sources: list[str]) -> bool:
    """Write the help of the whole command line as click does; return False where that is left to click."""
    told = os.environ.get("COLUMNS", "0")
    if not (told.isascii() and told.isdecimal()):
        return False
    columns = max(50, min(80, width()) - 2)
    try:
        about = [line for text in ABOUT.split("\n") for line in _broken(text, columns - 2) or [""]]
        lines = [
            _HEAD,
            *(f"  {line}".rstrip() for line in about),
            "",
            "Options:",
            *_definitions(_OPTIONS, columns),
        ]
        own = {name: summary for name, (_, summary) in COMMANDS.items()}
        for heading, rows in command_rows(_installed(sources), "", own):
            lines += ["", f"{heading}:", *_definitions(rows, columns)]
    except (ContextBenchError, _LeftToClickError):
        return False
    echo("\n".join(lines))
    return True


class _LeftToClickError(Exception):
    """A text that click breaks by rules of its own."""


def _definitions(rows: Sequence[tuple[str, str]], columns: int) -> Iterator[str]:
    """Yield the lines of terms and what is told of them, in two columns."""
    rows = [(escape_control(term, lines=False), told) for term, told in rows]
    first = min(30, max(len(term) for term, _ in rows)) + 2
    for term, told in rows:
        lines = _broken(told, max(10, columns - first - 2))
        yield (
            f"  {term.ljust(first)}{lines.pop(0)}"
            if lines and len(term) <= first - 2
            else f"  {term}"
        )
        yield from (f"  {'':{first}}{line}" for line in lines)


def _broken(text: str, columns: int) -> list[str]:
    if not text.isprintable() or text[:1].isspace():
        raise _LeftToClickError
    if len(text) <= columns:
        return [text.rstrip()] if text else []
    from textwrap import TextWrapper

    wrapper = TextWrapper(columns)
    if any(len(chunk) > columns for chunk in wrapper._split(text)):
        raise _LeftToClickError
    return wrapper.wrap(text)


_HEAD = "Usage: context-bench [OPTIONS] COMMAND [ARGS]...\n"
_OPTIONS = [
    ("--version", "Show the version and exit."),
    ("-h, --help", "Show this message and exit."),
]


def tell_components(
    catalog: Catalog, shown: Sequence[Component], as_json: bool, verbose: bool
) -> None:
    """Write components: as JSON, else in a line each on a terminal, else in a block each.

    Args:
        catalog: Everything that is installed.
        shown: The components to write.
        as_json: Whether to write JSON.
        verbose: Whether to write blocks on a terminal, too.
    """
    if as_json:
        write_json(
            [describe(component) for component in shown], indent=2 if sys.stdout.isatty() else 0
        )
    elif sys.stdout.isatty() and not verbose:
        echo("\n".join(lines_of(catalog, shown, USUAL_FIELDS, width())))
    else:
        echo("\n".join(listing(catalog, shown)))


_COLOURS = {OK: "green", OPTIONAL: "cyan", BLOCKED: "yellow", CONFLICT: "yellow"}


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
        yield "\nNo plugin is installed. From a checkout: pip install ./core ./plugins/context-bench-answer-quality"


def lines_of(
    catalog: Catalog, shown: Sequence[Component], fields: Sequence[str], columns: int | None
) -> Iterator[str]:
    """Yield a heading and one line for each component.

    Args:
        catalog: Everything that is installed.
        shown: The components, in their order.
        fields: What to tell of each: :data:`FIELDS`.
        columns: Where a line is cut off; None for never.
    """
    rows = [
        fields,
        *(
            [escape_control(FIELDS[name](one, catalog), lines=False) for name in fields]
            for one in shown
        ),
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(len(fields))]
    for number, row in enumerate(rows):
        line = "  ".join(cell.ljust(wide) for cell, wide in zip(row, widths)).rstrip()
        line = line if columns is None or len(line) <= columns else line[: columns - 1] + "\u2026"
        trouble = number > 0 and shown[number - 1].status not in (OK, OPTIONAL)
        yield style(line, bold=number == 0, color="red" if trouble else None)
    if columns is not None:
        yield _counts(shown) + "; -v tells more of each."


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
    state = style(component.status.ljust(states), color=_COLOURS.get(component.status, "red"))
    return f"{mark} {name}  {state}  {component.distribution.name} {component.distribution.version}"


def _lines(component: Component, catalog: Catalog) -> Iterator[str]:
    facts, unknown = (
        component.facts,
        "" if component.facts else f"unknown: {_undescribed(component)}",
    )
    if component.manifest.summary:
        yield wrap_text("", component.manifest.summary, 4, 0)
    if component.state != OK:
        yield wrap_text("why", component.reason)
        yield wrap_text("remedy", component.remedy)
    if component.kind == "evaluators":
        yield wrap_text("wired to", _wiring(component))
        yield wrap_text("scores", unknown or _scores(component.manifest))
    elif component.kind == "datasets" and facts:
        lists = {
            "configs": ", ".join(facts.configs),
            "tags": ", ".join(facts.tags),
            "license": facts.license,
        }
        for label, told in {**lists, "files": " ".join(facts.files)}.items():
            if told:
                yield wrap_text(label, told)
        yield wrap_text(
            "scored by", ", ".join(scorers(component, catalog)) or "no installed evaluator"
        )
    elif component.kind == "systems" and facts:
        yield wrap_text("kind", facts.system_kind)
    elif component.kind == "hooks":
        yield wrap_text(
            "hooks",
            ", ".join(component.manifest.implements) or "unknown: its manifest does not say",
        )
        yield wrap_text("active", _when_active(component))
    if component.kind in ("evaluators", "datasets", "systems", "hooks"):
        yield wrap_text("needs", unknown or _needs(component.manifest))
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
    default = by_default.get(component.manifest.active_when)
    return named if default is None else f"{default}, and {named}"


def _wiring(component: Component) -> str:
    if component.facts is None:
        return f"nothing: {_undescribed(component)}, so it works only when asked for by name"
    return "; ".join(map(str, component.facts.wire)) or "nothing: ask for it by name"


def _uses(component: Component, catalog: Catalog) -> str:
    if component.kind == "datasets":
        return ", ".join(scorers(component, catalog))
    return "; ".join(map(str, component.manifest.wire))


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
"""What a line can tell of a component; that of a dataset names the evaluators that are wired to it."""
USUAL_FIELDS = tuple(FIELDS)[:6]


def _scores(facts: Facts) -> str:
    return ", ".join(f"{key} (headline)" if key == facts.primary else key for key in facts.scores)


def scorers(dataset: Component, catalog: Catalog) -> Iterable[str]:
    """Yield the names of the evaluators whose own rules choose a dataset."""
    for component in catalog.of_kind("evaluators"):
        rules = component.manifest.wire if component.state == OK else ()
        if any(rule.match((dataset.name,), dataset.manifest.tags, frozenset()) for rule in rules):
            yield component.name


def _needs(facts: Facts) -> str:
    things = [f"key {name[4:]}" if name.startswith("env:") else name for name in facts.capabilities]
    owners = {"original": "the example's", "processed": "the output's"}
    fields = [
        f"{owners.get(side, side)} {need.replace('|', ' or ')}"
        for side, needs in facts.needs.items()
        for need in needs
    ]
    required = [f"option {option.name}" for option in facts.options.values() if option.required]
    return ", ".join([*things, *required, *fields]) or "nothing"


def _undescribed(component: Component) -> str:
    if component.distribution.manifest_path is None:
        return "it has no manifest"
    return (
        "its manifest does not describe it"
        if component.state == OK
        else "its manifest cannot be read"
    )
