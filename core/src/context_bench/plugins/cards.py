"""Cards: datasets that a manifest describes and a loader of another package reads.

A card says where a dataset's records lie and how one becomes an example. It needs no code and no entry point of its own: the
loader that it names - a dataset component, such as ``hf`` - is asked ``loader.for_card(name, card)`` for what loads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from context_bench.plugins import manifest_fields
from context_bench.plugins.catalog import MISSING_DEPENDENCY, OK, Component
from context_bench.plugins.manifest_fields import FaultError, Table, kind_of, mapping, text, texts
from context_bench.plugins.options import Option


def card(value: Any) -> dict[str, Any]:
    """Return a card as its loader gets it: the keys of ``docs/reference/manifest.md``, each of the right kind."""
    faults: list[str] = []
    unknown: list[str] = []
    table = Table("", mapping(value), faults, unknown)
    found: dict[str, Any] = {"loader": table.take("loader", text, "", required=True)}
    found |= {key: table.take(key, read, None) for key, read in _KEYS.items()}
    for name, body in (found["by_config"] or {}).items():
        _override(table.at(f"by_config.{name}"), body, faults, unknown)
    table.close()
    for fault in (*faults, *unknown):
        path, _, what = fault.partition(": ")
        raise FaultError(what, f".{path}")
    return {key: content for key, content in found.items() if content is not None}


def settle_cards(components: Iterable[Component]) -> Iterator[Component]:
    """Yield the components; a card gets the entry point, options and capabilities of its loader, or the state it is in."""
    components = list(components)
    loaders = {c.name: c for c in components if c.kind == "datasets" and not (c.facts and c.facts.card)}
    for component in components:
        facts = component.facts
        if facts is None or not facts.card or component.state != OK:
            yield component
            continue
        name = facts.card["loader"]
        loader = loaders.get(name)
        if loader is None:
            why = f"its card is read by the loader {name!r}, which no installed package brings"
            yield component.with_state(MISSING_DEPENDENCY, why, _install(name))
        elif loader.state != OK:
            why = f"its card is read by {loader.id}, which is {loader.state}: {loader.reason}"
            yield component.with_state(loader.state, why, loader.remedy)._replace(lacks_extra=loader.lacks_extra)
        else:
            shared = loader.facts.options if loader.facts else {}
            options = {**{key: _inherited(option) for key, option in shared.items()}, **facts.options}
            needs = tuple(dict.fromkeys((*loader.capabilities, *facts.capabilities)))
            yield component._replace(target=loader.target, facts=facts._replace(options=options, capabilities=needs))


def bind(loader: Any, component: Component) -> Any:
    """Return what loads a component: the loader itself, or what it makes of the component's card.

    Raises:
        TypeError: The loader reads no cards.
    """
    if component.facts is None or not component.facts.card:
        return loader
    make = getattr(loader, "for_card", None)
    if make is None:
        raise TypeError(f"{component.target} reads no cards: it has no for_card(name, card)")
    return make(component.name, {"default_config": component.facts.default_config, **component.facts.card})


def _inherited(option: Option) -> Option:
    """Return a loader's option as a card has it: a flag of a flag group is everybody's, one of the loader's own is not."""
    return option if option.group is not None else option._replace(flag=None)


def _override(path: str, body: Any, faults: list[str], unknown: list[str]) -> None:
    if not isinstance(body, dict):
        faults.append(f"{path}: expected a table, got {kind_of(body)}")
        return
    table = Table(path, body, faults, unknown)
    for key, read in _KEYS.items():
        if key != "by_config":
            table.take(key, read, None)
    table.close()


def _install(loader: str) -> str:
    from context_bench.plugins.catalog import install_line
    from context_bench.plugins.first_party import COMPONENTS

    ours = COMPONENTS.get("datasets", {}).get(loader)
    return f"`{install_line(ours[1])}`" if ours else f"install the package that brings the loader {loader!r}"


def _lines(value: Any) -> str:
    """Return a text that may have line breaks, such as a prompt."""
    if not isinstance(value, str):
        raise FaultError(f"expected a text, got {kind_of(value)}")
    text(value.replace("\n", " ").replace("\t", " "))
    return value


def _pairs(value: Any) -> dict[str, str]:
    """Return a table of texts."""
    for key, content in mapping(value).items():
        try:
            text(content)
        except FaultError as fault:
            raise FaultError(str(fault), f".{key}") from None
    return dict(value)


def _tables(value: Any) -> dict[str, dict[str, str]]:
    """Return tables of texts by name."""
    return {name: _pairs(body) for name, body in mapping(value).items()}


_KEYS: dict[str, Callable[[Any], Any]] = {
    "source": text,
    "revision": text,
    "config": text,
    "split": text,
    "files": text,
    "format": text,
    "parts": texts,
    "fields": _pairs,
    "example": manifest_fields.target,
    "tables": _tables,
    "prompt": _lines,
    "shot": _lines,
    "shots_split": text,
    "by_config": mapping,
}
"""What a card can say beside its loader; ``by_config`` says some of it anew for a configuration."""
