"""The catalog: every component that is installed, with its state, and how a name finds one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from context_bench.errors import PluginError, UnknownNameError
from context_bench.installation import install_hint
from context_bench.plugins.component import (
    BLOCKED,
    OK,
    PACKAGE,
    Component,
    aliases_of,
    stated,
)
from context_bench.plugins.manifest import read_faults
from context_bench.plugins.remedies import contested, singular

PACKAGE_HINT = "`context-bench plugins list` shows what is installed."
DATASET_HINT = "`context-bench datasets list` shows those that are installed."


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
        """Return what is wrong with the text of a manifest, a line each that begins with the path
        of the field."""
        return read_faults(manifest)

    def of_kind(self, kind: str) -> Iterator[Component]:
        """Yield the components of one kind."""
        return (component for component in self.components if component.kind == kind)

    def named(self, kind: str, name: str) -> list[Component]:
        """Return every component of a kind with a short name or id, or else with that alias."""
        components = [
            component for component in self.of_kind(kind) if name in (component.name, component.id)
        ]
        return components or [
            component for component in self.of_kind(kind) if name in aliases_of(component)
        ]

    @property
    def proxy_system(self) -> str:
        """Name of the system that an address without a system means, whether it is installed or
        not."""
        from context_bench.plugins.first_party import PROXY_SYSTEM

        named = [c for c in self.of_kind("systems") if c.system.proxy_default and c.state == OK]
        ours = [c for c in named if c.name == PROXY_SYSTEM]
        return (ours or named)[0].name if named else PROXY_SYSTEM

    def find(self, kind: str, name: str) -> Component:
        """Return the component that ``name`` means, in whatever state it is.

        A contested short name means the preferred component, or the one that is not blocked.

        Raises:
            UnknownNameError: Nothing has that name; the message suggests close ones.
            PluginError: Several components share the short name and none is preferred.
        """
        components = self.named(kind, name)
        if not components:
            raise self.unknown(kind, name)
        for component in components:
            if component.id == name:
                return component.called_by_id()
        usable = [component for component in components if _may_have_its_name(component)]
        if len(usable) > 1:
            raise contested(kind, name, [component.id for component in usable])
        if usable:
            return usable[0]
        for component in components:
            if component.state != BLOCKED:
                return component
        return components[0]

    def suffixes(self, kind: str) -> dict[str, list[Component]]:
        """Return the components of a kind for files by suffix: usable ones, or where there is none,
        the others."""
        claims: dict[str, list[Component]] = {}
        for component in self.of_kind(kind):
            for suffix in _files_of(component):
                claims.setdefault(suffix, []).append(component.called_by_id())
        for suffix, claimants in claims.items():
            usable = [component for component in claimants if component.state == OK]
            claims[suffix] = usable or claimants
        return claims

    def unknown(self, kind: str, name: str) -> UnknownNameError:
        """Return the error for a name that nothing of a kind has; it suggests close ones, and names
        unreadable packages."""
        names = [component.name for component in self.of_kind(kind)]
        unreadable = [
            f"{component.distribution.name} {stated(component.state)}: {component.reason}. "
            f"{component.remedy_text}"
            for component in self.of_kind(PACKAGE)
        ]
        hint = " ".join([*unreadable, self._hint(kind, name)])
        return UnknownNameError(singular(kind), name, names, hint)

    def _hint(self, kind: str, name: str) -> str:
        """Return where a name of the project's own comes from, though it is not installed and may
        be misspelt."""
        from difflib import get_close_matches

        from context_bench.plugins.first_party import COMPONENTS

        first_party = COMPONENTS.get(kind, {})
        installed = {component.name for component in self.of_kind(kind)}
        absent = [short for short in first_party if short not in installed]
        candidates = [short for short in absent if first_party[short].class_name == name]
        candidates += [name, *get_close_matches(name, absent, n=1)]
        for short in candidates:
            if short in absent:
                distribution = first_party[short].distribution
                return f"{short!r} comes with {distribution}: {install_hint(distribution)}."
        if kind != "datasets":
            return PACKAGE_HINT
        return " ".join([DATASET_HINT, *_more_datasets(absent)])


def _more_datasets(absent: Iterable[str]) -> Iterator[str]:
    """Yield which packages of the project bring the datasets that are not installed."""
    from context_bench.plugins.first_party import COMPONENTS

    packages = sorted({COMPONENTS["datasets"][name].distribution for name in absent})
    if packages:
        yield f"More come with packages that are not installed here: {', '.join(packages)}."
        yield f"For example: {install_hint(packages[0])}."


def _may_have_its_name(component: Component) -> bool:
    """Return whether a short name can mean a component: it is usable, and no other component is
    preferred."""
    return component.overridden_by is None and bool(
        component.state == OK or component.conflicts_with
    )


def _files_of(component: Component) -> tuple[str, ...]:
    """Return the suffixes of the files that a dataset loads or a reporter writes."""
    return component.dataset.files if component.kind == "datasets" else component.reporter.files


def without_alias(catalog: Catalog, kind: str, name: str) -> str:
    """Return the short name of what an alias means, or its id if the short name is contested.

    Any other name is returned unchanged, and so is the alias of several components.
    """
    components = [item for item in catalog.named(kind, name) if name in aliases_of(item)]
    usable = [item for item in components if _may_have_its_name(item)] or components
    if len(usable) != 1:
        return name
    component = usable[0]
    return component.id if component.conflicts_with else component.name


def component_of(catalog: Catalog, kind: str, thing: object) -> Component | None:
    """Return the component with a manifest that exports the class of ``thing``, or None."""
    kind_of = type(getattr(thing, "transformer", thing))
    for component in catalog.of_kind(kind):
        module, _, attribute = component.target.partition(":")
        is_its = module.strip().partition(".")[0] == kind_of.__module__.partition(".")[0]
        if (
            is_its
            and component.is_described
            and kind_of.__name__ == (component.manifest.class_name or attribute.strip())
        ):
            return component
    return None


def of_suffix(catalog: Catalog, kind: str, suffix: str) -> Component:
    """Return the component of a kind that files with a suffix are for.

    Raises:
        PluginError: Several packages say that they are.
    """
    components = catalog.suffixes(kind)[suffix]
    if len(components) > 1:
        ids = [component.id for component in components]
        raise PluginError(
            f"Files with {suffix} are claimed by the {kind} {' and '.join(ids)}. Switch one off: "
            f"-p no:{ids[-1]}."
        )
    return components[0]


def broken_plugins(catalog: Catalog) -> list[str]:
    """Return a line for each distribution with components that cannot be used, and for each
    contested name.

    What the user switched off or settled by a preference, and what needs an optional extra, is not
    worth a line.
    """
    broken: dict[str, list[Component]] = {}
    contests: dict[tuple[str, str], str] = {}
    for component in catalog:
        if component.conflicts_with:
            if component.overridden_by is None:
                contests.setdefault(
                    (component.kind, component.name), f"{component.reason}. {component.remedy_text}"
                )
        elif component.state not in (OK, BLOCKED) and not component.lacks_extra:
            broken.setdefault(component.distribution.name, []).append(component)
    return [
        *map(_broken_line, broken.values()),
        *(f"{line[:1].upper()}{line[1:]}" for line in contests.values()),
    ]


def _broken_line(components: list[Component]) -> str:
    first = components[0]
    others = (
        f" (and {len(components) - 1} more of {first.distribution.name})"
        if len(components) > 1
        else ""
    )
    return (
        f"{first.id}{others} {stated(first.state)} and unused: {first.reason}. {first.remedy_text}"
    )
