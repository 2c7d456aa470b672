"""The catalog: every component that is installed, with its state, and how a name finds one."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from context_bench.errors import PluginError, UnknownNameError
from context_bench.plugins.component_metadata import (
    FACTS,
    FACTS_OF_KIND,
    Facts,
    Score,
    SummaryValue,
    WireRule,
)
from context_bench.plugins.options import Option

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

PACKAGE_HINT = "`context-bench plugins list` shows what is installed."


class Distribution(NamedTuple):
    """An installed distribution that brings components.

    Attributes:
        name: Normalised name, with dashes.
        version: Its version.
        location: Folder that its metadata lies in.
        editable: Folder of its sources, where they are used as they lie there; None for any other install.
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


class Component(NamedTuple):
    """One thing that a distribution brings: an evaluator, a dataset, a system ...

    Attributes:
        kind: One of :data:`~context_bench.plugins.component_metadata.KINDS`.
        name: Short name.
        distribution: What brought it.
        target: ``module:attribute`` of its entry point; empty when it has none.
        facts: What its manifest says; None when it has no (readable) manifest.
        state: One of :data:`STATES`.
        reason: Why it is in that state; empty when it is ok.
        remedy: What to do about it; empty when it is ok.
        conflicts_with: Ids of the components that share its short name, where that is all that is wrong with it.
        overridden_by: The rival that the project prefers.
        lacks_extra: Whether the libraries of its extra are all that is wrong with it: it is optional, not broken.
    """

    kind: str
    name: str
    distribution: Distribution
    target: str
    facts: Facts | None = None
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
    def manifest(self) -> Facts:
        """What its manifest says; facts without content where it has none."""
        return self.facts or Facts(self.kind, self.name)

    @property
    def version_info(self) -> dict[str, str]:
        """What tells it from another edition of itself."""
        return edition(
            self.manifest.version, self.distribution.version, self.distribution.manifest_hash
        )

    @property
    def capabilities(self) -> tuple[str, ...]:
        """What it needs, as its manifest says."""
        return self.manifest.capabilities

    @property
    def status(self) -> str:
        """The word for its state that people are shown: what lacks the libraries of an extra is optional, and no trouble."""
        return OPTIONAL if self.lacks_extra else self.state

    @property
    def noun(self) -> str:
        """The word for one component of its kind."""
        return singular(self.kind)

    def examine(self) -> tuple[Component, Any]:
        """Import it, and return it in the state that this leaves it in, and its object; None when that failed."""
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
        from context_bench.plugins.manifest import FILE_NAME, parse_manifest

        if self.distribution.manifest_path is None:
            return [
                f"it has no {FILE_NAME} beside its package's __init__.py, so it is never wired by itself"
            ]
        manifest = parse_manifest(self.distribution.manifest_source)
        key = self.kind, self.name
        faults = [*manifest.faults, *manifest.component_faults.get(key, ())]
        if key not in manifest.components and not manifest.faults:
            faults.append(
                f"its manifest has no table [{self.kind}.{self.name}] for its entry point"
            )
        return faults

    def doctor(self) -> Component | None:
        """Return what its manifest names for ``context-bench doctor``, as something to examine; None when it names none."""
        from context_bench.plugins.manifest import parse_manifest

        target = (
            parse_manifest(self.distribution.manifest_source).doctor
            if self.distribution.manifest_source
            else None
        )
        return (
            None
            if target is None
            else self.called_by_id()._replace(target=target, state=OK, facts=None)
        )

    def with_state(self, state: str, reason: str, remedy: str) -> Component:
        """Return this component in another state."""
        return self._replace(state=state, reason=reason, remedy=remedy)

    def called_by_id(self) -> Component:
        """Return this component as its canonical id means it: a contested short name does not matter then."""
        if not self.conflicts_with:
            return self
        return self._replace(state=OK, reason="", remedy="", conflicts_with=(), overridden_by=None)

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
            f"{self.noun.capitalize()} {self.id} {stated(self.state)}: {self.reason}. {self.remedy_text}"
        )

    @property
    def remedy_text(self) -> str:
        """The remedy as a sentence."""
        return f"{self.remedy[:1].upper()}{self.remedy[1:]}." if self.remedy else ""


class Catalog:
    """Every discovered component, in the order of kind and canonical id.

    Attributes:
        components: The components.
    """

    def __init__(self, components: Iterable[Component] = ()) -> None:
        self.components = tuple(components)

    def __iter__(self) -> Iterator[Component]:
        return iter(self.components)

    @staticmethod
    def faults_in(manifest: bytes) -> list[str]:
        """Return what is wrong with the text of a manifest, a line each that begins with the path of the field."""
        from context_bench.plugins.manifest import read_faults

        return read_faults(manifest)

    def of_kind(self, kind: str) -> Iterator[Component]:
        """Yield the components of one kind."""
        return (component for component in self.components if component.kind == kind)

    def named(self, kind: str, name: str) -> list[Component]:
        """Return every component of a kind that answers to a short name or canonical id."""
        return [
            component for component in self.of_kind(kind) if name in (component.name, component.id)
        ]

    @property
    def proxy_system(self) -> str:
        """Name of the system that an address without a system means, whether it is installed or not."""
        from context_bench.plugins.first_party import PROXY_SYSTEM

        named = [
            c
            for c in self.of_kind("systems")
            if c.facts and c.facts.proxy_default and c.state == OK
        ]
        ours = [c for c in named if c.name == PROXY_SYSTEM]
        return (ours or named)[0].name if named else PROXY_SYSTEM

    def find(self, kind: str, name: str) -> Component:
        """Return the component that ``name`` means, in whatever state it is.

        A contested short name means the preferred component, or the one that is not blocked.

        Raises:
            UnknownNameError: Nothing has that name; the message suggests close ones.
            PluginError: Several components share the short name and none is preferred.
        """
        found = self.named(kind, name)
        if not found:
            raise self.unknown(kind, name)
        by_id = [component for component in found if component.id == name]
        if by_id:
            return by_id[0].called_by_id()
        usable = [
            c for c in found if c.overridden_by is None and (c.state == OK or c.conflicts_with)
        ]
        if len(usable) > 1:
            raise contested(kind, name, [component.id for component in usable])
        return (usable or [c for c in found if c.state != BLOCKED] or found)[0]

    def suffixes(self, kind: str) -> dict[str, list[Component]]:
        """Return the components of a kind that say whose files end so: usable ones, or where there is none, the others."""
        claims: dict[str, list[Component]] = {}
        for component in self.of_kind(kind):
            for suffix in component.manifest.files:
                claims.setdefault(suffix, []).append(component.called_by_id())
        return {
            suffix: [one for one in found if one.state == OK] or found
            for suffix, found in claims.items()
        }

    def unknown(self, kind: str, name: str) -> UnknownNameError:
        """Return the error for a name that nothing of a kind has; it suggests close ones, and names unreadable packages."""
        known = [component.name for component in self.of_kind(kind)]
        unreadable = [
            f"{component.distribution.name} {stated(component.state)}: {component.reason}. {component.remedy_text}"
            for component in self.of_kind(PACKAGE)
        ]
        hint = " ".join([*unreadable, self._hint(kind, name)])
        return UnknownNameError(singular(kind), name, known, hint)

    def _hint(self, kind: str, name: str) -> str:
        """Return where a name of the project's own comes from, though it is not installed and may be misspelt."""
        from difflib import get_close_matches

        from context_bench.plugins.first_party import COMPONENTS

        ours = COMPONENTS.get(kind, {})
        installed = {component.name for component in self.of_kind(kind)}
        by_class = {class_name: short for short, (class_name, _) in ours.items() if class_name}
        absent = [short for short in ours if short not in installed]
        for short in [by_class.get(name, name), *get_close_matches(name, absent, n=1)]:
            if short in absent:
                distribution = ours[short][1]
                return f"{short!r} comes with {distribution}: `{install_line(distribution)}`."
        return PACKAGE_HINT


def describe(component: Component) -> dict[str, Any]:
    """Return everything the catalog knows about a component as JSON-like values."""
    facts, distribution = component.facts, component.distribution
    told: dict[str, Any] = {
        "id": component.id,
        "kind": component.noun,
        "name": component.name,
        "state": component.state,
        "optional": component.lacks_extra,
        "reason": component.reason,
        "remedy": component.remedy,
        "distribution": distribution.name,
        "distribution_version": distribution.version,
        "location": distribution.location,
        "editable": distribution.editable,
        "manifest": distribution.manifest_path,
        "manifest_sha256": distribution.manifest_hash,
        "entry_point": component.target,
        "warnings": list(distribution.warnings),
    }
    if facts is None:
        return told
    known = (*FACTS, *FACTS_OF_KIND.get(component.kind, ()))
    names = [name for name in known if not {name, f"{component.kind}.{name}"} & _UNTOLD]
    told |= {_CALLED.get(name, name): _plain(getattr(facts, name)) for name in names}
    return told


def _plain(value: Any) -> Any:
    """Return what a manifest says as JSON-like values; a rule as a sentence, an option without its secret."""
    if isinstance(value, str | int | float | None):  # most are
        return value
    if isinstance(value, WireRule):
        return str(value)
    if isinstance(value, Option):
        value = value._replace(default=None) if value.secret else value
        told = {name: getattr(value, name) for name in _OF_OPTION}
        return {**told, "default": _plain(value.default), "choices": _plain(value.choices)}
    if isinstance(value, Score | SummaryValue):
        value = value._asdict()
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value


_UNTOLD = {
    "option_groups",
    "proxy_default",
    "is_group",
    "default",
    "values",
    "evaluators.reads",
    "reporters.files",
}
_OF_OPTION = ("type", "default", "help", "secret", "choices", "flag", "env", "required")
_CALLED = {"class_name": "class", "wire": "wired_to"}


def commands(catalog: Catalog, words: str, own: Container[str]) -> Iterator[Component]:
    """Yield the commands that packages add to a group.

    Args:
        words: The words before the names of its commands; empty at the top.
        own: The names of core's commands in it, which nobody takes.
    """
    for component in catalog.of_kind("commands"):
        said, is_free = component.manifest, component.name not in own
        if component.facts and said.extends is None and (said.parent or "") == words and is_free:
            yield component


def absent_commands(
    catalog: Catalog, words: str, own: Container[str]
) -> dict[str, tuple[str, str]]:
    """Return summary and distribution of the commands of ours that a group does not have here, by all their words."""
    from context_bench.plugins.first_party import COMMANDS

    here = {f"{words} {component.name}".strip() for component in commands(catalog, words, own)}
    return {
        name: told
        for name, told in COMMANDS.items()
        if name.rpartition(" ")[0] == words and name not in here
    }


def command_rows(
    catalog: Catalog, words: str, own: Mapping[str, str]
) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the headings of what the help of a group lists, each with names and summaries; ``own`` gives core's."""
    told = [
        (c.name, ("" if c.state == OK else f"[{c.state}] ") + c.manifest.summary)
        for c in commands(catalog, words, own)
    ]
    absent = absent_commands(catalog, words, own).items()
    missing = [
        (name.rpartition(" ")[2], f"{said} `{install_line(home)}`") for name, (said, home) in absent
    ]
    headed = (("Commands", [*own.items(), *told]), ("Not installed", missing))
    yield from ((heading, rows) for heading, rows in headed if rows)


def component_of(catalog: Catalog, kind: str, thing: object) -> Component | None:
    """Return the component with a manifest that exports the class of ``thing``, or None."""
    kind_of = type(getattr(thing, "transformer", thing))
    for component in catalog.of_kind(kind):
        module, _, attribute = component.target.partition(":")
        is_its = module.strip().partition(".")[0] == kind_of.__module__.partition(".")[0]
        if (
            is_its
            and component.facts
            and kind_of.__name__ == (component.facts.class_name or attribute.strip())
        ):
            return component
    return None


def edition(
    version: str, distribution_version: str = "", manifest_sha256: str = ""
) -> dict[str, str]:
    """Return what a run records of the edition of a component, or of an object that is none."""
    return {
        "version": version,
        "distribution_version": distribution_version,
        "manifest_sha256": manifest_sha256,
    }


def of_suffix(catalog: Catalog, kind: str, suffix: str) -> Component:
    """Return the component of a kind that files with a suffix are for.

    Raises:
        PluginError: Several packages say that they are.
    """
    found = catalog.suffixes(kind)[suffix]
    if len(found) > 1:
        ids = [component.id for component in found]
        raise PluginError(
            f"Files with {suffix} are claimed by the {kind} {' and '.join(ids)}. Switch one off: -p no:{ids[-1]}."
        )
    return found[0]


def contested(kind: str, name: str, ids: Iterable[str]) -> PluginError:
    """Return the error for a short name that several components share."""
    ids = sorted(ids)
    return PluginError(
        f"The {singular(kind)} name {name!r} is contested by {' and '.join(ids)}. Write the whole id, switch one off "
        f"(-p no:{ids[-1]}), or say which one it means, under [plugins.prefer] in context-bench.toml: "
        f'{name} = "{ids[0].partition("/")[0]}".'
    )


def reinstallation(distribution: str) -> str:
    """Return what to do about a distribution whose files are damaged."""
    return (
        f"install it again (`pip install --force-reinstall {distribution}`), or uninstall it: "
        f"`pip uninstall {distribution}`"
    )


def install_line(*distributions: str) -> str:
    """Return the command that installs some of the project's own plugins from a checkout."""
    from context_bench.plugins.first_party import NEEDS

    names = dict.fromkeys(
        name for one in distributions for name in (*NEEDS.get(one, "").split(), one)
    )
    return " ".join(["pip install ./core", *(f"./plugins/{name}" for name in names)])


def stated(state: str) -> str:
    """Return how a sentence says that something is in a state.

    >>> stated("blocked"), stated("conflict"), stated("failed")
    ('is blocked', 'is in conflict', 'has failed')
    """
    return _STATED.get(state, f"is {state}")


def singular(kind: str) -> str:
    """Return the word for one component of a kind."""
    return {"flags": "option group", "hooks": "extension"}.get(kind, kind.removesuffix("s"))
