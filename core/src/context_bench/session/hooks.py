"""The hooks of one run: each method calls one hook of all active extensions, and checks what they
return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from attrs import evolve

from context_bench.errors import ConfigurationError, ContextBenchError, PluginError
from context_bench.plan.extensions import (
    ActiveExtension,
    default_extensions,
    describe_extensions,
    load_extensions,
    register_extensions,
    require_extension,
)
from context_bench.plan.run_config import RunConfig
from context_bench.plan.wiring import WiringHooks
from context_bench.plugins.call_hooks import CallHooks
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.hooks import Implementation
from context_bench.plugins.loading import attempted
from context_bench.plugins.manifest import CONVERSATION, ENDPOINT, REFERENCE
from context_bench.protocols import (
    AnswerSource,
    BuiltSystem,
    DerivedSystemSpec,
    Executor,
    RateLimiter,
    RunStore,
    System,
    SystemSummary,
)
from context_bench.records import EvalRow, Usage
from context_bench.run.cores import usable_cores
from context_bench.run.jobs import reported_cost
from context_bench.run.systems import RunSystem, endpoint_of, models_of
from context_bench.store.copies import layouts
from context_bench.store.runfile import RunFile

_EXECUTOR = ("slots", "lost", "submit", "each", "close")
_STORE = ("address", "identity", "runs", "since", "session")
_RATE_LIMITER = ("wait", "sent", "answered", "refused", "learned")


class RunHooks:
    """The hooks of one run.

    Args:
        catalog: What is installed: extensions that a run needs only later are found there.
        extensions: The active extensions in the order of their calls; they are imported and built.
        warn: Receives what the user should know, from any thread.

    Attributes:
        described: What the run file holds of each extension, by id.
        wiring: The hooks that can change a plan.
        calls: The hooks of calls.

    Raises:
        ContextBenchError: An extension cannot be imported or built.
    """

    def __init__(
        self,
        catalog: Catalog,
        extensions: Iterable[ActiveExtension] = (),
        warn: Callable[[str], None] | None = None,
    ) -> None:
        extensions = list(extensions)
        self._catalog = catalog
        self._warn = warn
        self._hooks = load_extensions(extensions, warn)
        self._has_started = False
        self.described = describe_extensions(extensions)
        self.wiring = WiringHooks(self._hooks)
        self.calls = CallHooks(self._hooks)

    # Before the run

    @property
    def changes_systems(self) -> bool:
        """Whether an extension can change the systems that were requested."""
        return bool(self._hooks["prepare_systems"])

    def prepare_systems(self, request: RunConfig) -> RunConfig:
        """Return the request with the systems that the extensions make of its own."""
        for implementation in self._hooks["prepare_systems"]:
            systems = implementation(systems=request.systems, request=request)
            if systems is not None:
                request = evolve(request, systems=tuple(_list(implementation, systems)))
        return request

    @property
    def replaces_systems(self) -> bool:
        """Whether an extension can replace built systems."""
        return bool(self._hooks["replace_systems"])

    def replace_systems(
        self, warn: Callable[[str], None]
    ) -> Callable[[Sequence[BuiltSystem]], Sequence[Any]] | None:
        """Return what replaces built systems; None where no extension does."""
        implementations = self._hooks["replace_systems"]
        if not implementations:
            return None

        def replaced(systems: Sequence[BuiltSystem]) -> Sequence[Any]:
            for implementation in implementations:
                result = implementation(systems=systems, warn=warn)
                if result is None:
                    continue
                replacements = _list(implementation, result)
                if len(replacements) != len(systems):
                    raise implementation.failure(
                        f"it returned {len(replacements)} of {len(systems)} systems"
                    )
                systems = [
                    evolve(built, system=implementation.require(system, System, "a system"))
                    for built, system in zip(systems, replacements, strict=True)
                ]
            return [built.system for built in systems]

        return replaced

    def derived_systems(self, systems: Mapping[str, Any]) -> list[tuple[str, DerivedSystemSpec]]:
        """Return the systems that extensions add, each with the name of its extension.

        Args:
            systems: The systems of the run by label.

        Raises:
            ConfigurationError: A label is used already, or there is no such source.
        """
        derived: list[tuple[str, DerivedSystemSpec]] = []
        labels = set(systems)
        for implementation, result in self._hooks.results("derived_systems", systems=dict(systems)):
            for spec in _list(implementation, result):
                _check_derived(implementation, spec, labels, systems)
                labels.add(spec.label)
                derived.append((implementation.name, spec))
        return derived

    def describe_systems(self, slots: Sequence[RunSystem], baseline: str | None) -> list[RunSystem]:
        """Return the systems with the facts that extensions add to their descriptions."""
        described = []
        for slot in slots:
            summary = summary_of(slot, baseline)
            for implementation, facts in self._hooks.results("describe_system", system=summary):
                implementation.require(facts, Mapping, "a mapping")
                slot = evolve(slot, description={**slot.description, **facts})
            described.append(slot)
        return described

    def answer_source(self) -> AnswerSource:
        """Return what replaces missing gold answers.

        Raises:
            ContextBenchError: No active extension provides it.
        """
        result = self._hooks.first("answer_source")
        if result is None:
            require_extension(
                self._catalog, REFERENCE, "--reference-from", "context-bench-agreement"
            )
        implementation, source = result
        implementation.require(source, AnswerSource, "a source of answers")
        return source  # type: ignore[no-any-return]

    # The run starts

    def run_started(
        self,
        config: Mapping[str, Any],
        systems: Sequence[SystemSummary],
        run_file: Path,
        warn: Callable[[str], None],
    ) -> None:
        """Show extensions that the run starts."""
        self._has_started = True
        for implementation in self._hooks["run_started"]:
            self._hooks.watch(
                implementation,
                config=deepcopy(dict(config)),
                systems=tuple(systems),
                run_file=run_file,
                warn=warn,
            )

    def before_first_call(
        self,
        slots: Sequence[RunSystem],
        systems: Sequence[SystemSummary],
        score_keys: Sequence[str] | None,
        store: RunFile,
    ) -> Iterator[str]:
        """Yield the messages of extensions before the first call."""
        implementations = self._hooks["before_first_call"]
        if not implementations:
            return
        earlier_cost = 0.0
        max_call_cost: float | None = None
        if not store.is_new:
            earlier_cost, max_call_cost = self._earlier_costs(slots, store)
        for implementation in implementations:
            lines = implementation(
                systems=tuple(systems),
                run_file=store.path,
                score_keys=score_keys,
                earlier_cost=earlier_cost,
                max_call_cost=max_call_cost,
            )
            for line in _list(implementation, () if lines is None else lines):
                yield implementation.require(line, str, "texts")

    def _earlier_costs(
        self, slots: Sequence[RunSystem], store: RunFile
    ) -> tuple[float, float | None]:
        """Return what earlier sessions spent, also on unfinished conversations, and on their most
        expensive call."""
        from context_bench.store.encoding import from_json
        from context_bench.store.queries import answered_turns, spent

        cost_of = self.calls.cost_function(reported_cost)
        total, highest = spent(store)
        for number, text, is_finished in answered_turns(store):
            output = from_json(text)
            cost = cost_of(Usage.read(output), models_of(slots[number], output))[0] or 0.0
            if not is_finished:
                total += cost
            highest = max(cost, highest or 0.0)
        return total, highest

    # Each call

    def rate_limiter(
        self,
        endpoint: str,
        requests_per_minute: float | None,
        tokens_per_minute: float | None,
        learned: Mapping[str, Any],
    ) -> Any:
        """Return the rate limiter of an endpoint, whose errors name its extension; None without
        one."""
        result = self._hooks.first(
            "rate_limiter",
            endpoint=endpoint,
            requests_per_minute=requests_per_minute,
            tokens_per_minute=tokens_per_minute,
            learned=learned,
        )
        if result is None:
            return None
        implementation, limiter = result
        implementation.require(limiter, RateLimiter, "a rate limiter")
        methods = {
            name: evolve(implementation, hook=name, function=getattr(limiter, name)).call
            for name in _RATE_LIMITER
        }
        return SimpleNamespace(**methods)

    def activate_rate_limiter(self) -> bool:
        """Load the rate limiters that are active by default where an endpoint is called; return
        whether there are any."""
        return not self._hooks["rate_limiter"] and self._activate(ENDPOINT)

    def executor(self, address: str, resources: Mapping[str, float]) -> Executor:
        """Return what does batches of rows.

        Raises:
            ContextBenchError: No extension provides it.
        """
        result = self._hooks.first(
            "executor", address=address, cores=usable_cores(), resources=resources
        )
        if result is None:
            raise ConfigurationError("The extension provides no executor here.")
        implementation, executor = result
        if not all(hasattr(executor, name) for name in _EXECUTOR):
            raise implementation.failure(f"it returned {executor!r}, not an executor")
        return executor  # type: ignore[no-any-return]

    def store(self, address: str) -> RunStore:
        """Return the runs at an address.

        Raises:
            ContextBenchError: No extension provides them, or they cannot be reached.
        """
        result = self._hooks.first("store", address=address, tables=layouts())
        if result is None:
            raise ConfigurationError("The extension provides no store here.")
        implementation, store = result
        if not all(hasattr(store, name) for name in _STORE):
            raise implementation.failure(f"it returned {store!r}, not a store")
        return store  # type: ignore[no-any-return]

    def drive_conversation(self, system: Any) -> Any:
        """Return what holds conversations with a system; an extension for it is loaded when it is
        first needed.

        Raises:
            ContextBenchError: No extension holds conversations.
        """
        if not self._hooks["drive_conversation"]:
            self._activate(CONVERSATION)
        result = self._hooks.first("drive_conversation", system=system)
        if result is None:
            name = getattr(system, "name", "The system")
            need = f"A conversation with {name}"
            require_extension(self._catalog, CONVERSATION, need, "context-bench-conversations")
        implementation, driver = result
        return implementation.require(driver, System, "a system")

    def _activate(self, condition: str) -> bool:
        extensions = [
            extension
            for extension in default_extensions(self._catalog, [condition])
            if extension.component.id not in self.described
        ]
        register_extensions(self._hooks, extensions, self._warn)
        self.described = {**self.described, **describe_extensions(extensions)}
        return bool(extensions)

    # Each row

    @property
    def needs_rows(self) -> bool:
        """Whether an extension observes rows, or can stop the run after one."""
        return bool(self._hooks["row_finished"] or self._hooks["should_stop"])

    def row_finished(self, row: EvalRow) -> None:
        """Show a saved row to extensions.

        Raises:
            ContextBenchError: One of them stops the run; the message is its reason.
        """
        for implementation in self._hooks["row_finished"]:
            self._hooks.watch(implementation, row=deepcopy(row))
        for implementation in self._hooks["should_stop"]:
            reason = implementation(row=row)
            if reason is not None:
                reason = implementation.require(reason, str, "a text or None")
                raise ContextBenchError(
                    f"{implementation.name} stopped the run: {' '.join(reason.split())}"
                )

    # The run ends

    def run_finished(self, status: str, rows: int, failed: int) -> None:
        """Show extensions that the run ends, if they saw that it started."""
        if not self._has_started:
            return
        for implementation in self._hooks["run_finished"]:
            self._hooks.watch(implementation, status=status, rows=rows, failed=failed)

    def exit_code(self, result: Any, evaluators: Sequence[tuple[str, Any]] = ()) -> int | None:
        """Return the highest exit code that an extension or an evaluator sets; None when none is
        set.

        Args:
            result: The result of the run.
            evaluators: Evaluators with a method ``finished``, each with its name.
        """
        codes: list[int] = []
        for implementation, code in self._hooks.results("exit_code", result=result):
            if not isinstance(code, int) or not 0 <= code <= 255:
                raise implementation.failure(
                    f"it returned {code!r}, not an exit code from 0 to 255"
                )
            codes.append(code)
        for name, evaluator in evaluators:
            code = attempted(name, evaluator.finished, result)
            if code is None:
                continue
            if not isinstance(code, int) or not 0 <= code <= 255:
                raise PluginError(
                    f"{name} failed: finished() returned {code!r}, not an exit code from 0 to 255."
                )
            codes.append(code)
        return max(codes, default=None)


def summary_of(slot: RunSystem, baseline: str | None) -> SystemSummary:
    """Return what hooks receive of a system.

    Args:
        slot: The system.
        baseline: Label of the baseline; None without one.
    """
    return SystemSummary(
        number=slot.number,
        label=slot.label,
        endpoint=endpoint_of(slot.system),
        model=slot.model,
        max_tokens=slot.max_tokens,
        is_baseline=slot.label == baseline,
    )


def _list(implementation: Implementation, result: Any) -> list[Any]:
    """Return as a list what a hook returned; a text is not one.

    Raises:
        ContextBenchError: It is not a list, or it raised an error while it was read.
    """
    if isinstance(result, str):
        implementation.require(result, list, "a list")
    implementation.require(result, Iterable, "a list")
    items: list[Any] = evolve(implementation, function=partial(list, result)).call()
    return items


_DERIVED: Mapping[str, Any] = {
    "label": str,
    "source_label": str,
    "key": Mapping,
    "process": Callable,
}


def _check_derived(
    implementation: Implementation,
    spec: Any,
    labels: Iterable[str],
    systems: Mapping[str, Any],
) -> None:
    for name, kind in _DERIVED.items():
        if not isinstance(getattr(spec, name, None), kind):
            raise implementation.failure(f"{spec!r} is not a derived system, it lacks {name}")
    if spec.label in labels:
        raise ConfigurationError(
            f"The label {spec.label!r} of {implementation.name} is used already. Give the systems "
            "other labels."
        )
    if spec.source_label not in systems:
        raise ConfigurationError(
            f"The label {spec.label!r} of {implementation.name} has no source "
            f"{spec.source_label!r}."
        )
