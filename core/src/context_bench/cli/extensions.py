"""What packages add to ``run``: options with something to do after the run, and sections below the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench.cli.declared_options import flag_values
from context_bench.console import say
from context_bench.errors import ContextBenchError, PluginError
from context_bench.plugins.catalog import OK, Catalog, Component
from context_bench.plugins.loading import load
from context_bench.plugins.options import read_options
from context_bench.results import EvalResult


def show_sections(catalog: Catalog, result: EvalResult) -> None:
    """Write the sections that packages add below the table."""
    for component in _extending(catalog, "table"):
        text = _called(component, result)
        if text:
            say(str(text))


def after_run(catalog: Catalog, result: EvalResult, flags: Mapping[str, Any]) -> int:
    """Call what packages do after a run where one of their flags is given, and return the highest exit code.

    Raises:
        ContextBenchError: A value does not fit its option, or what is called fails.
    """
    values, codes = flag_values(flags), [0]
    for component in _extending(catalog, "run"):
        declared = component.facts.options if component.facts else {}
        given = {name: values[option.flag] for name, option in declared.items() if option.flag in values}
        if given:
            code = _called(component, result, **read_options(declared, given, f"command {component.name}"))
            codes.append(code if isinstance(code, int) else 0)
    return max(codes)


def _extending(catalog: Catalog, what: str) -> list[Component]:
    found = catalog.of_kind("commands")
    return [one for one in found if one.state == OK and one.facts is not None and one.facts.extends == what]


def _called(component: Component, *arguments: Any, **options: Any) -> Any:
    function = load(component)
    try:
        return function(*arguments, **options)
    except ContextBenchError:
        raise
    except Exception as error:
        raise PluginError(f"{component.id} failed: {type(error).__name__}: {error}") from error
