"""Run parts: what packages bring beside systems and evaluators - preparers, governors, derived jobs, controllers and pacers.

A part is active when it is named, or when one of its options is given; a pacer that is on by default, where an endpoint is
asked, too. It is loaded before anything else of the run is set up, and stands in the plan, the lock file and the run file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from attrs import evolve, frozen

from context_bench.bench.parameters import DatasetSpec, specs_in
from context_bench.bench.run_config import RunConfig
from context_bench.errors import ConfigurationError, ContextBenchError, PluginError
from context_bench.plugins.catalog import OK, Catalog, Component
from context_bench.plugins.loading import attempted, read_option, unfit
from context_bench.protocols import (
    AnswerSource,
    Asker,
    BuiltSystem,
    Controller,
    DerivedJob,
    DerivedSlot,
    GovernedSystem,
    Governor,
    Pacer,
    Preparer,
    Rates,
    System,
)
from context_bench.records import EvalRow, Usage
from context_bench.redaction import without_secrets
from context_bench.run.admission import bill_of
from context_bench.run.model import RunSystem, endpoint_of, models_of
from context_bench.store.runfile import RunFile

_PROTOCOLS: Mapping[
    str, type
] = {  # in the order of the fields of RunParts; an asker is found when it is needed
    "preparer": Preparer,
    "governor": Governor,
    "derived-job": DerivedJob,
    "controller": Controller,
    "pacer": Pacer,
    "asker": Asker,
}
_SLOT: Mapping[str, Any] = {"label": str, "source_label": str, "key": Mapping, "process": Callable}
AGREEMENT = "agreement"
"""The run part that a reference needs."""
CONVERSATIONS = "conversations"
"""The run part that a conversation needs when its system has a way of its own to talk."""
PACER = "context-bench-limits/limits"
"""The pacer of several that is used where none is named."""


@frozen(eq=False)
class RunParts:
    """The active parts of one run, in the order of their ids.

    Attributes:
        preparers, governors, derived_jobs, controllers, pacers: The parts by what they are; of pacers there is at most one.
        described: What is recorded of each.
    """

    preparers: Sequence[Preparer] = ()
    governors: Sequence[Governor] = ()
    derived_jobs: Sequence[DerivedJob] = ()
    controllers: Sequence[Controller] = ()
    pacers: Sequence[Pacer] = ()
    described: Mapping[str, Mapping[str, Any]] = {}

    @property
    def answer_source(self) -> AnswerSource | None:
        """The part that says what stands in for a missing gold answer; None without one."""
        return next((part for part in self.derived_jobs if isinstance(part, AnswerSource)), None)

    def prepared(self, request: RunConfig) -> RunConfig:
        """Return the request with the systems that the preparers make of its own, one preparer after the other."""
        for part in self.preparers:
            request = evolve(
                request, systems=tuple(_listed(part, "prepare", request.systems, request))
            )
        return request

    def derived(self, slots: Sequence[RunSystem]) -> list[tuple[DerivedJob, DerivedSlot]]:
        """Return the slots that derived jobs add to those of the run, each with the part that adds it.

        Raises:
            ConfigurationError: A label is taken, or there is no such source.
        """
        labels = [slot.label for slot in slots]
        found: list[tuple[DerivedJob, DerivedSlot]] = []
        for part in self.derived_jobs:
            sources = [
                slot.label for slot in slots if _asked(part, "accepts", slot.system, otherwise=True)
            ]
            for made in _listed(part, "slots", sources):
                if lacking := [
                    name for name in _SLOT if not isinstance(getattr(made, name, None), _SLOT[name])
                ]:
                    raise PluginError(
                        f"The run part {part.name} failed: {made!r} is no slot, it lacks {lacking[0]}."
                    )
                taken = made.label in [*labels, *(one.label for _, one in found)]
                if taken or made.source_label not in labels:
                    wrong = "is taken" if taken else f"has no source {made.source_label!r}"
                    raise ConfigurationError(
                        f"The label {made.label!r} of {part.name} {wrong}. Give the systems other labels, or leave it out."
                    )
                found.append((part, made))
        return found

    def rebuilder(
        self, warn: Callable[[str], None]
    ) -> Callable[[Sequence[BuiltSystem]], Sequence[Any]] | None:
        """Return what gives the systems that are asked in place of built ones; None where no preparer wants to."""
        if not (
            rebuild := [part for part in self.preparers if callable(getattr(part, "built", None))]
        ):
            return None

        def rebuilt(systems: Sequence[BuiltSystem]) -> Sequence[Any]:
            for part in rebuild:
                found = _listed(part, "built", systems, warn)
                if len(found) != len(systems):
                    raise PluginError(
                        f"The run part {part.name} failed: it built {len(found)} of {len(systems)} systems."
                    )
                found = [_held(part, "built", system, System, "a system") for system in found]
                systems = [evolve(one, system=system) for one, system in zip(systems, found)]
            return [one.system for one in systems]

        return rebuilt

    def described_slots(self, slots: Sequence[RunSystem]) -> list[RunSystem]:
        """Return the slots with what governors have recorded beside them."""
        for part in self.governors:
            told = [_asked(part, "describe", _governed(slot), otherwise={}) for slot in slots]
            held = [_held(part, "describe", own, Mapping, "a mapping") for own in told]
            slots = [
                evolve(slot, description={**slot.description, **own})
                for slot, own in zip(slots, held)
            ]
        return list(slots)

    def begin(self, slots: Sequence[RunSystem], store: RunFile) -> Iterator[str]:
        """Tell the governors what they govern, and what earlier sessions spent; yield what the user should know."""
        for part in self.governors:
            spent = (0.0, None) if store.is_new else self._spent(slots, store)
            for line in _listed(part, "begin", list(map(_governed, slots)), *spent):
                yield _held(part, "begin", line, str, "a text")

    def _spent(self, slots: Sequence[RunSystem], store: RunFile) -> tuple[float, float | None]:
        """Return the money that was spent so far, that on unfinished conversations included, and on the dearest call."""
        from context_bench.store.encoding import from_json
        from context_bench.store.queries import answered_turns, spent

        bill, (money, dearest) = bill_of(self.governors), spent(store)
        for slot, text, is_finished in answered_turns(store):
            output = from_json(text)
            cost = bill(Usage.read(output), models_of(slots[slot], output))[0] or 0.0
            money += 0.0 if is_finished else cost
            dearest = max(cost, dearest or 0.0)
        return money, dearest

    def started(self, path: Path) -> None:
        """Tell the controllers that ask for it, by a method ``started``, where the run file is; it may not be there yet."""
        for part in self.controllers:
            _asked(part, "started", path)

    def row_finished(self, row: EvalRow) -> None:
        """Show a row to the controllers.

        Raises:
            ContextBenchError: One of them stops the run; the message is its reason.
        """
        for part in self.controllers:
            reason = _asked(part, "row_finished", row)
            if reason is not None:
                reason = _held(part, "row_finished", reason, str, "a text or None")
                raise ContextBenchError(f"{part.name} stopped the run: {' '.join(reason.split())}")

    def exit_code(self, result: Any, more: Sequence[tuple[str, Any]] = ()) -> int | None:
        """Return the highest exit code that a controller sets, or an evaluator, one of ``more``; None when none sets one."""
        asked = [*((f"The run part {one.name}", one) for one in self.controllers), *more]
        codes = [
            (who, code)
            for who, one in asked
            if (code := attempted(who, one.finished, result)) is not None
        ]
        for who, code in codes:
            if not isinstance(code, int) or not 0 <= code <= 255:
                raise PluginError(
                    f"{who} failed: finished() returned {code!r}, not an exit code from 0 to 255."
                )
        return max((code for _, code in codes), default=None)


def described_parts(catalog: Catalog, request: RunConfig) -> dict[str, dict[str, Any]]:
    """Return what is recorded of the active parts of a request, by their ids; nothing is imported.

    Raises:
        ContextBenchError: A name is unknown, or a part cannot be used.
    """
    return {
        component.id: {
            "kind": component.manifest.part_kind,
            **component.version_info,
            "options": without_secrets([component], options),
        }
        for component, options in _active(catalog, request)
    }


def load_parts(catalog: Catalog, request: RunConfig) -> RunParts:
    """Return the active parts of a request, set up.

    Raises:
        ContextBenchError: A part cannot be loaded or set up, or is not what its manifest says.
    """
    found: dict[str, list[Any]] = {kind: [] for kind in _PROTOCOLS}
    for component, options in _active(catalog, request):
        kind = component.manifest.part_kind
        found.get(kind, []).append(
            _built(component, options, _PROTOCOLS.get(kind), kind or "run part")
        )
    preparers, governors, derived_jobs, controllers, pacers, _ = found.values()
    return RunParts(
        preparers, governors, derived_jobs, controllers, pacers, described_parts(catalog, request)
    )


def load_part(catalog: Catalog, name: str) -> Any:
    """Return a run part that a run has come to need: :data:`AGREEMENT`, :data:`CONVERSATIONS`, or a pacer.

    Raises:
        ContextBenchError: It is not installed, or cannot be used.
    """
    component = catalog.find("run_parts", name).require_ok()
    needed = {AGREEMENT: (AnswerSource, "source of answers"), CONVERSATIONS: (Asker, "asker")}
    return _built(component, {}, *needed.get(name, (Pacer, "pacer")))


def tells_of_conversations(catalog: Catalog, request: RunConfig) -> bool:
    """Whether a request names a dataset whose manifest says that its examples are conversations."""
    names = [one.name for one in request.datasets if isinstance(one, DatasetSpec)]
    return any(
        "multi_turn" in found.manifest.fields
        for name in names
        for found in catalog.named("datasets", name)
    )


def _built(
    component: Component, options: Mapping[str, Any], protocol: type | None, kind: str
) -> Any:
    part = component.build(options)
    if protocol is None or not isinstance(part, protocol):
        raise unfit(component, "it lacks a method", kind)
    return part


def _active(catalog: Catalog, request: RunConfig) -> Iterator[tuple[Component, Mapping[str, Any]]]:
    chosen: dict[str, tuple[Component, dict[str, Any]]] = {}
    implied = [] if request.reference is None else [AGREEMENT]
    if tells_of_conversations(catalog, request):  # a system that does not talk does without
        implied += [
            part.id for part in catalog.named("run_parts", CONVERSATIONS) if part.state == OK
        ]
    for name in (*request.parts, *request.part_options, *implied):
        component = catalog.find("run_parts", name).require_ok()
        chosen.setdefault(component.id, (component, {}))[1].update(
            request.part_options.get(name, {})
        )
    pacers = [
        component for component, _ in chosen.values() if component.manifest.part_kind == "pacer"
    ]
    if len(pacers) > 1:
        raise ConfigurationError(
            f"Only one pacer can pace a run, not {pacers[0].id} and {pacers[1].id}: leave one out."
        )
    if not pacers and (pacer := usual_pacer(catalog)) and _asks_endpoint(catalog, request):
        chosen[pacer.id] = pacer, {}
    for _, pair in sorted(chosen.items()):
        yield pair


def usual_pacer(catalog: Catalog) -> Component | None:
    """Return the pacer that is on by default; of several the project's own, so that installing another one changes nothing."""
    found = [
        one.called_by_id()
        for one in catalog.of_kind("run_parts")
        if one.manifest.part_kind == "pacer"
    ]
    usual = [one for one in found if one.manifest.default and one.state == OK]
    return min(usual, key=lambda one: (one.id != PACER, one.id), default=None)


def _asks_endpoint(catalog: Catalog, request: RunConfig) -> bool:
    """Whether one of the systems that were asked for uses the network, or is an object that names its endpoint."""
    for asked in (*request.systems, request.reader, request.baseline, request.reference):
        known = [
            component
            for spec in specs_in(asked)
            for component in catalog.named("systems", spec.name)
        ]
        if (
            any("network" in component.capabilities for component in known)
            or endpoint_of(asked) is not None
        ):
            return True
    return False


def _governed(slot: RunSystem) -> GovernedSystem:
    return GovernedSystem(slot.number, slot.label, slot.model, slot.max_tokens)


def with_flags_of_parts(
    catalog: Catalog, request: RunConfig, given: Mapping[str, Any], kind: str = "flag"
) -> RunConfig:
    """Return a request with options of run parts.

    Args:
        catalog: What is installed.
        request: The request.
        given: Values by flag, or by key of the project file.
        kind: ``"flag"`` or ``"key"``: which of them names a value.

    Raises:
        ConfigurationError: A value is none of its option's type.
    """
    parts = {name: dict(options) for name, options in request.part_options.items()}
    for component in catalog.of_kind("run_parts"):
        for option in component.manifest.options.values():
            if (
                (name := getattr(option, kind))
                and name in given
                and component.called_by_id().state == OK
            ):
                options = parts.setdefault(component.name, {})
                value = given[name]
                if (
                    option.type == "tables"
                ):  # read now, so that the run file holds them; the component lays them over
                    where = f"run part {component.name}"
                    both = options.get(option.name, []), value
                    value = [table for found in both for table in read_option(option, found, where)]
                options[option.name] = value
    return evolve(request, part_options=parts)


def _asked(part: Any, name: str, *arguments: Any, otherwise: Any = None) -> Any:
    """Return what a method of a part returns; where the part has no such method, something else."""
    method = getattr(part, name, None)
    return (
        attempted(f"The run part {part.name}", method, *arguments)
        if callable(method)
        else otherwise
    )


def _listed(part: Any, name: str, *arguments: Any) -> list[Any]:
    """Return as a list what a method of a part returns; nothing where the part has no such method."""
    found = _asked(part, name, *arguments, otherwise=())
    kind = list if isinstance(found, str) else Iterable
    return attempted(f"The run part {part.name}", list, _held(part, name, found, kind, "a list"))  # type: ignore[no-any-return]


def _held(part: Any, name: str, found: Any, kind: Any, what: str) -> Any:
    """Return what a method of a part returned, or told as one of many.

    Raises:
        PluginError: It is of another kind.
    """
    if not isinstance(found, kind):
        raise PluginError(
            f"The run part {part.name} failed: {name}() returned {found!r}, not {what}."
        )
    return found


def rates_of(part: Pacer, *asked: Any) -> Any:
    """Return the rates that a pacer makes; whatever they raise is told with the name of the part."""
    rates, who = _asked(part, "rates", *asked), f"The run part {part.name}"
    if not isinstance(rates, Rates):
        raise PluginError(f"{who} failed: its rates are no rates, they lack a method.")
    methods = ("wait", "sent", "answered", "refused", "learned")
    return SimpleNamespace(
        **{name: partial(attempted, who, getattr(rates, name)) for name in methods}
    )
