"""The check that plugin authors run: everything that a manifest promises is held against the code."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import Any

from context_bench.catalog import Component
from context_bench_kit.child import Verdict, examine_in_child

_METHODS = {
    "evaluators": ("score",),
    "systems": ("process", "transform"),
    "metrics": ("compute", "compute_columns", "compare"),
    "reporters": ("write",),
}
"""What a component is asked by, one of these."""
_GIVEN_TO_LOADERS = ("limit", "config", "split")


def check_components(
    components: Iterable[Component], seconds: float = 60.0, *, load: bool = True, call: bool = False
) -> Iterator[tuple[Component, Verdict]]:
    """Yield each component with what is wrong with it, a line each; none when all is well.

    One whose extra is not installed is compared with its manifest only.

    Args:
        components: What to check.
        seconds: How long the check of one may take.
        load: Whether to import it, in a child process, and compare its class with its manifest.
        call: Whether to call it there, too.
    """
    components = list(components)
    checked: Iterable[tuple[Component, Verdict]] = ((item, Verdict()) for item in components)
    if load or call:
        checked = examine_in_child(components, seconds, call=call)
    for component, (loaded, of_code) in zip(components, checked):
        failed = (
            [f"{loaded.state}: {loaded.reason}. {loaded.remedy_text}"]
            if loaded.state != component.state
            else []
        )
        faults = list(dict.fromkeys([*_faults(component), *failed, *of_code.faults]))
        yield component, Verdict(faults, of_code.notes)


def _faults(component: Component) -> Iterator[str]:
    told = component.manifest_faults()
    if (
        component.state != "ok"
        and not component.lacks_extra
        and not any(fault in component.reason for fault in told)
    ):
        yield f"{component.state}: {component.reason}. {component.remedy_text}"
    yield from component.distribution.warnings
    yield from told
    if component.kind == "evaluators":
        yield from _rule_faults(component)


def faults_of_code(component: Component, thing: Any) -> list[str]:
    """Return what the code of a component does otherwise than its manifest says; called where it may be imported."""
    faults = list(_doctor_faults(component))
    component = component.called_by_id()
    return [*faults, *_code_faults(component, thing)] if component.state == "ok" else faults


def _doctor_faults(component: Component) -> Iterator[str]:
    doctor = component.doctor()
    if doctor is None:
        return
    loaded, function = doctor.examine()
    if loaded.state != "ok":
        yield f"doctor = {doctor.target!r}: {loaded.reason}"
    elif not callable(function):
        yield f"doctor = {doctor.target!r} names {type(function).__name__}, which cannot be called"


def _rule_faults(component: Component) -> Iterator[str]:
    flags = {option.flag for option in component.manifest.options.values()}
    for rule in component.evaluator.wire:
        if rule.option is not None and f"--{rule.option}" not in flags:
            yield f"a wiring rule waits for --{rule.option}, but none of its options has that flag"


def _code_faults(component: Component, thing: Any) -> Iterator[str]:
    class_name = component.manifest.class_name
    if class_name:
        from importlib import import_module

        package = component.target.partition(":")[0].strip().partition(".")[0]
        exported = getattr(import_module(package), class_name, None)
        if exported is None:
            yield f"class = {class_name!r}, but the package {package} has no such attribute"
        elif exported is not thing:
            yield f"class = {class_name!r} is not what its entry point {component.target} names"
    if component.kind == "hooks" and component.is_described:
        yield from _hook_faults(component, thing)
    methods = _METHODS.get(component.kind, ())
    if methods and not any(callable(getattr(thing, method, None)) for method in methods):
        told = " or ".join(f"{method}()" for method in methods)
        yield f"what its entry point names has no {told}, which every {component.noun} has"
    elif not callable(thing) and component.kind in (
        "datasets",
        "tokenizers",
        "commands",
    ):
        yield f"its entry point names {type(thing).__name__}, which cannot be called"
    elif callable(thing) and component.is_described and component.kind not in ("commands", "flags"):
        yield from _option_faults(component, thing)


def _hook_faults(component: Component, thing: Any) -> Iterator[str]:
    """Yield the hooks that an extension implements without declaring them, or declares without implementing them."""
    from context_bench.hookspecs import HOOKS, implemented_hooks

    declared = set(component.extension.implements)
    implemented = implemented_hooks(thing)
    for name in sorted(implemented - HOOKS.keys()):
        yield f"it implements {name}, which is not a hook"
    for name in sorted(implemented & HOOKS.keys() - declared):
        yield f"it implements {name}, which implements in the manifest does not name"
    for name in sorted(declared - implemented):
        yield f"implements names {name}, which the code does not implement"


def _option_faults(component: Component, thing: Any) -> Iterator[str]:
    try:
        parameters = inspect.signature(thing).parameters
    except (TypeError, ValueError):
        return
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    given = _GIVEN_TO_LOADERS if component.kind == "datasets" else ()
    declared = component.manifest.options
    for name in (*given, *declared):
        if name not in parameters and not takes_all:
            yield f"{'argument' if name in given else 'option'} {name}: its class or function takes no such argument"
    for name, parameter in parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or name in given:
            continue
        option = declared.get(name)
        if option is None:
            if parameter.default is parameter.empty:
                yield f"it needs the argument {name}, which the manifest does not declare as an option"
        elif (
            option.required
            and parameter.default is not parameter.empty
            and parameter.default is not None
        ):
            yield f"option {name} is required in the manifest, but has the default {parameter.default!r} in the code"
        elif option.default is not None and parameter.default is not parameter.empty:
            yield from _default_faults(name, option.default, parameter.default)


def _default_faults(name: str, told: Any, real: Any) -> Iterator[str]:
    if isinstance(real, str | int | float) and real != told:
        yield f"option {name}: its default is {told!r} in the manifest and {real!r} in the code"
