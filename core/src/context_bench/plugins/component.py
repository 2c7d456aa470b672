"""A component: what a distribution brings, what its manifest declares, and the state that it is
in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

from attrs import Factory, evolve, field, frozen

from context_bench.errors import PluginError
from context_bench.plugins.manifest import (
    FILE_NAME,
    CommandManifest,
    ComponentManifest,
    DatasetDefinition,
    DatasetManifest,
    EvaluatorManifest,
    ExtensionManifest,
    MetricManifest,
    ReporterManifest,
    SystemManifest,
    parse_manifest,
    undeclared,
)
from context_bench.plugins.remedies import contested, singular

Declared = TypeVar("Declared", bound=ComponentManifest)

OK = "ok"
INCOMPATIBLE = "incompatible"
INVALID = "invalid"
BLOCKED = "blocked"
CONFLICT = "conflict"
MISSING_DEPENDENCY = "missing-dependency"
FAILED = "failed"

OPTIONAL = "optional"

STATES = (OK, INCOMPATIBLE, INVALID, BLOCKED, CONFLICT, MISSING_DEPENDENCY, FAILED)

_STATED = {
    CONFLICT: "is in conflict",
    MISSING_DEPENDENCY: "is missing a dependency",
    FAILED: "has failed",
}

PACKAGE = "packages"
"""The kind that stands for a distribution as a whole, where its metadata cannot be read."""


class State(NamedTuple):
    """The state of a component that cannot be used.

    Attributes:
        name: One of :data:`STATES`.
        reason: Why it is in that state.
        remedy: What to do about it.
        lacks_extra: Whether the libraries of its extra are all that is missing: it is optional, not
            broken.
    """

    name: str
    reason: str
    remedy: str
    lacks_extra: bool = False


@frozen
class Distribution:
    """An installed distribution that brings components.

    Attributes:
        name: Normalised name, with dashes.
        version: Its version.
        location: Folder that its metadata lies in.
        editable: Folder of its sources, where they are used as they lie there; None for any other
            install.
        manifest_path: File of its manifest; None when it has none.
        manifest_source: Bytes of the manifest.
        warnings: What is odd about it, without being wrong.
    """

    name: str
    version: str
    location: str = ""
    editable: str | None = None
    manifest_path: str | None = None
    manifest_source: bytes = b""
    warnings: tuple[str, ...] = ()

    @property
    def told_version(self) -> str:
        """Its version, marked where its sources are used as they lie there."""
        return f"{self.version} (editable)" if self.editable else self.version

    @property
    def manifest_hash(self) -> str:
        """SHA-256 of the manifest in hexadecimal; empty when there is none."""
        return sha256(self.manifest_source).hexdigest() if self.manifest_source else ""


@frozen
class Component:
    """One thing that a distribution brings: an evaluator, a dataset, a system ...

    Attributes:
        kind: One of :data:`~context_bench.plugins.manifest.KINDS`.
        name: Short name.
        distribution: What brought it.
        target: ``module:attribute`` of its entry point; empty when it has none.
        manifest: What its manifest declares; the defaults of its kind where no manifest describes
            it.
        is_described: Whether a manifest describes it.
        state: One of :data:`STATES`.
        reason: Why it is in that state; empty when it is ok.
        remedy: What to do about it; empty when it is ok.
        conflicts_with: Ids of the components that share its short name, where that is all that is
            wrong with it.
        overridden_by: The rival that the project prefers.
        lacks_extra: Whether the libraries of its extra are all that is wrong with it: it is
            optional, not broken.
    """

    kind: str
    name: str
    distribution: Distribution
    target: str
    manifest: ComponentManifest = field(
        default=Factory(lambda self: undeclared(self.kind, self.name), takes_self=True)
    )
    is_described: bool = False
    state: str = OK
    reason: str = ""
    remedy: str = ""
    conflicts_with: tuple[str, ...] = ()
    overridden_by: str | None = None
    lacks_extra: bool = False

    @property
    def id(self) -> str:
        """Canonical id, ``distribution/name``."""
        return f"{self.distribution.name}/{self.name}"

    @property
    def names(self) -> frozenset[str]:
        """Every name that settings may call it by."""
        return frozenset({self.name, self.id, self.distribution.name})

    @property
    def evaluator(self) -> EvaluatorManifest:
        """What its manifest declares about an evaluator."""
        return self._declared(EvaluatorManifest)

    @property
    def dataset(self) -> DatasetManifest:
        """What its manifest declares about a dataset."""
        return self._declared(DatasetManifest)

    @property
    def system(self) -> SystemManifest:
        """What its manifest declares about a system."""
        return self._declared(SystemManifest)

    @property
    def metric(self) -> MetricManifest:
        """What its manifest declares about a metric."""
        return self._declared(MetricManifest)

    @property
    def reporter(self) -> ReporterManifest:
        """What its manifest declares about a reporter."""
        return self._declared(ReporterManifest)

    @property
    def extension(self) -> ExtensionManifest:
        """What its manifest declares about an extension."""
        return self._declared(ExtensionManifest)

    @property
    def command(self) -> CommandManifest:
        """What its manifest declares about a command."""
        return self._declared(CommandManifest)

    def _declared(self, kind: type[Declared]) -> Declared:
        if not isinstance(self.manifest, kind):
            raise TypeError(f"{self.id} is not of kind {kind.kind}, but of kind {self.kind}")
        return self.manifest

    @property
    def capabilities(self) -> tuple[str, ...]:
        """What it needs, as its manifest says."""
        return self.manifest.capabilities

    @property
    def status(self) -> str:
        """The word for its state that people are shown: what lacks the libraries of an extra is
        optional, and no trouble."""
        return OPTIONAL if self.lacks_extra else self.state

    @property
    def noun(self) -> str:
        """The word for one component of its kind."""
        return singular(self.kind)

    def examine(self) -> tuple[Component, Any]:
        """Import it, and return it in the state that this leaves it in, and its object; None when
        that failed."""
        from context_bench.plugins.loading import try_load

        loaded, thing, _ = try_load(self)
        return loaded, thing

    def build(self, options: Mapping[str, Any]) -> Any:
        """Return what it makes with these options, and those that the environment gives.

        Raises:
            ContextBenchError: It cannot be loaded or set up.
        """
        from context_bench.plugins.loading import build

        return build(self, options, os.environ)

    def manifest_faults(self) -> list[str]:
        """Return what its manifest says wrongly about it, a line each."""
        if self.distribution.manifest_path is None:
            return [
                f"it has no {FILE_NAME} beside its package's __init__.py, so it is never wired by "
                "itself"
            ]
        manifest = parse_manifest(self.distribution.manifest_source)
        faults = [str(fault) for fault in manifest.faults_of(self.kind, self.name)]
        if not faults and (self.kind, self.name) not in manifest.components:
            return [f"its manifest has no table [{self.kind}.{self.name}] for its entry point"]
        return faults

    def doctor(self) -> Component | None:
        """Return what its manifest names for ``context-bench doctor``, as something to examine;
        None when it names none."""
        target = parse_manifest(self.distribution.manifest_source).doctor
        if target is None:
            return None
        return Component(self.kind, self.name, self.distribution, target)

    def called_by_id(self) -> Component:
        """Return this component as its canonical id means it: a contested short name does not
        matter then."""
        if not self.conflicts_with:
            return self
        return evolve(self, state=OK, reason="", remedy="", conflicts_with=(), overridden_by=None)

    def require_ok(self) -> Component:
        """Return this component.

        Raises:
            PluginError: It cannot be used; the message gives the reason and the remedy.
        """
        if self.state == OK:
            return self
        if self.conflicts_with:
            raise contested(self.kind, self.name, (self.id, *self.conflicts_with))
        raise PluginError(
            f"{self.noun.capitalize()} {self.id} {stated(self.state)}: {self.reason}. "
            f"{self.remedy_text}"
        )

    @property
    def remedy_text(self) -> str:
        """The remedy as a sentence."""
        return f"{self.remedy[:1].upper()}{self.remedy[1:]}." if self.remedy else ""


def with_state(component: Component, state: State) -> Component:
    """Return a component in another state."""
    return evolve(
        component,
        state=state.name,
        reason=state.reason,
        remedy=state.remedy,
        lacks_extra=state.lacks_extra,
    )


def definition_of(component: Component) -> DatasetDefinition | None:
    """Return how a loader of another package reads a dataset; None for every other component."""
    return component.dataset.definition if component.kind == "datasets" else None


def aliases_of(component: Component) -> tuple[str, ...]:
    """Return the names that mean an evaluator where no other evaluator has them."""
    return component.evaluator.aliases if component.kind == "evaluators" else ()


def edition_of(component: Component | None, version: str = "") -> dict[str, str]:
    """Return what a run records of the edition of a component, or of an object that is not a
    component."""
    if component is None:
        return {"version": version, "distribution_version": "", "manifest_sha256": ""}
    return {
        "version": component.manifest.version,
        "distribution_version": component.distribution.version,
        "manifest_sha256": component.distribution.manifest_hash,
    }


def stated(state: str) -> str:
    """Return how a sentence says that something is in a state.

    >>> stated("blocked"), stated("conflict"), stated("failed")
    ('is blocked', 'is in conflict', 'has failed')
    """
    return _STATED.get(state, f"is {state}")
