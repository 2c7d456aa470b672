"""Specs of systems and datasets.

A system is ``[label=]name[:key=value[,key=value...]]``. A dataset is
``[label=]name[:config][,key=value...]``, or the path of a file instead of the name. In both, a
comma can replace the colon if only options follow: ``needle,length=8000``. A value with a comma
is written in quotation marks: ``replay:field='good, plain'``. A system with the option ``config``
takes it in the same place as a dataset: ``agent:loop,notes=true``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sized
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from attrs import Factory, evolve, fields_dict, frozen

from context_bench.errors import ConfigurationError
from context_bench.plugins.options import written_options
from context_bench.redaction import without_secrets

if TYPE_CHECKING:
    from context_bench.plugins.catalog import Catalog


_PART = re.compile(
    r"(?P<key>[^,=]*=)(?P<mark>['\"])(?P<value>.*?)(?P=mark)(?=,|\Z)|(?P<plain>[^,]*)", re.DOTALL
)
_CONFIG = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_END_OF_NAME = re.compile(r":|,(?=[A-Za-z_][\w.-]*=)")


@frozen
class SystemSpec:
    """A system as it was asked for.

    Attributes:
        name: Name of its component.
        options: Options by name.
        label: Its label in the run; None takes the name.
        steps: Further systems that it feeds, in order.
    """

    name: str
    options: Mapping[str, Any] = Factory(dict)
    label: str | None = None
    steps: tuple[SystemSpec, ...] = ()
    group: ClassVar[str] = "systems"

    @property
    def plain_label(self) -> str:
        """Its label; else the names of its component and of those that it feeds."""
        return self.label or "+".join((self.name, *(step.name for step in self.steps)))

    @property
    def text(self) -> str:
        """The spec as it would be written, without its label."""
        options = ",".join(f"{key}={_quoted(value)}" for key, value in self.options.items())
        return "+".join(
            [
                f"{self.name}:{options}" if options else self.name,
                *(step.text for step in self.steps),
            ]
        )


@frozen
class DatasetSpec:
    """A dataset as it was asked for.

    Attributes:
        name: Name of its component, or the path of a file.
        config: Its configuration; None takes the default.
        options: Options by name.
        label: Its label in the run; None takes the name and configuration.
        split: Its split; None takes the default.
        fields: Source path of a field, by the field's name.
    """

    name: str
    config: str | None = None
    options: Mapping[str, Any] = Factory(dict)
    label: str | None = None
    split: str | None = None
    fields: Mapping[str, str] = Factory(dict)
    group: ClassVar[str] = "datasets"


Spec = TypeVar("Spec", bound=SystemSpec | DatasetSpec)


def numbered(label: str, mark: str) -> Iterator[str]:
    """Yield a label, and then the label with numbers behind a mark: ``a``, ``a#2``, ``a#3`` and so
    on."""
    yield label
    yield from (f"{label}{mark}{number}" for number in count(2))


def parse_system(text: str) -> SystemSpec:
    """Read a system spec.

    >>> parse_system("short=bm25:ratio=0.3").options
    {'ratio': '0.3'}
    >>> parse_system("agent:loop,notes=true").options
    {'config': 'loop', 'notes': 'true'}

    Raises:
        ConfigurationError: The text is no spec.
    """
    label, name, rest = _split(text, "system")
    if rest and _CONFIG.fullmatch(rest[0]):
        rest[0] = f"config={rest[0]}"
    return SystemSpec(name, written_options(rest, f"system {name!r}"), label)


def parse_dataset(text: str) -> DatasetSpec:
    """Read a dataset spec.

    >>> spec = parse_dataset("needle:multi-key,length=8000")
    >>> spec.config, spec.options
    ('multi-key', {'length': '8000'})
    >>> parse_dataset("tickets,seed=4").options
    {'seed': '4'}

    Raises:
        ConfigurationError: The text is no spec.
    """
    label, name, rest = _split(text, "dataset")
    config = rest.pop(0) if rest and rest[0] and "=" not in rest[0] else None
    options = written_options(rest, f"dataset {name!r}")
    return DatasetSpec(name, config, options, label, options.pop("split", None))


def spec_of(kind: type[Spec], found: Mapping[str, Any]) -> Spec:
    """Return the spec that a run file keeps as a table."""
    values = {name: found[name] for name in fields_dict(kind) if name in found}
    if "steps" in values:
        values["steps"] = tuple(spec_of(SystemSpec, step) for step in values["steps"])
    return kind(**values)


def _split(text: str, what: str) -> tuple[str | None, str, list[str]]:
    """Return label, name and the parts behind it. A comma ends the name only where ``key=``
    follows: paths may hold some."""
    end = _END_OF_NAME.search(text)
    head, tail = (text, None) if end is None else (text[: end.start()], text[end.end() :])
    label, equals, name = head.rpartition("=")
    name = name.strip()
    faults = {
        "has no name": not name,
        "has no label before the equals sign": equals and not label.strip(),
    }
    faults["ends with a colon, but nothing follows it"] = tail == ""
    for fault in (told for told, is_so in faults.items() if is_so):
        form = "[:key=value,...]" if what == "system" else "[:config][,key=value...]"
        raise ConfigurationError(f"The {what} {text!r} {fault}. Write [label=]name{form}.")
    return label.strip() or None, name, [] if tail is None else _parts(tail)


@frozen(eq=False)
class Examples:
    """Examples that were given as an object.

    Attributes:
        label: Their label; None where each row has its own.
        source: The examples.
    """

    label: str | None
    source: Iterable[Mapping[str, Any]]

    def count(self) -> int | None:
        """Return how many there are, or None when nobody knows before the end."""
        return len(self.source) if isinstance(self.source, Sized) else None


def safe_spec(catalog: Catalog, spec: Spec) -> Spec:
    """Return a spec, the steps of a system included, without secrets."""
    changes: dict[str, Any] = {
        "options": without_secrets(catalog.named(spec.group, spec.name), spec.options)
    }
    if isinstance(spec, SystemSpec):
        changes["steps"] = tuple(safe_spec(catalog, step) for step in spec.steps)
    return evolve(spec, **changes)


def specs_in(asked: Any) -> Iterator[Any]:
    """Yield a spec, and those of the systems that a system feeds; nothing of what is no spec."""
    if isinstance(asked, SystemSpec | DatasetSpec):
        yield asked
        for step in asked.steps if isinstance(asked, SystemSpec) else ():
            yield from specs_in(step)


def several_values(catalog: Catalog, spec: SystemSpec) -> dict[str, list[str]]:
    """Return the values of the options of a system that are numbers and are given several, with
    slashes between them, by option: ``bm25:ratio=0.1/0.25`` gives two for ``ratio``.

    A component that declares no options has none.
    """
    given = {
        key: value.split("/")
        for key, value in spec.options.items()
        if isinstance(value, str) and "/" in value
    }
    known = catalog.named("systems", spec.name) if given else []
    if not known or not known[0].is_described:
        return {}
    declared = known[0].manifest.options
    kinds = {key: getattr(declared.get(key.replace("-", "_")), "type", None) for key in given}
    return {key: values for key, values in given.items() if kinds[key] in ("int", "float")}


def _parts(text: str) -> list[str]:
    """Return what commas separate; those in a value in quotation marks do not, and the marks go.

    >>> _parts("model=m,system_prompt='Be short, be kind',note=don't")
    ['model=m', 'system_prompt=Be short, be kind', "note=don't"]
    """
    parts: list[str] = []
    start = 0
    while start <= len(text):
        found = _PART.match(text, start)
        assert found is not None
        quoted = found["key"] is not None
        parts.append(f"{found['key']}{found['value']}" if quoted else found["plain"])
        start = found.end() + 1
    return parts


def _quoted(value: object) -> str:
    text = str(value)
    if "," not in text:
        return text
    mark = '"' if "'" in text else "'"
    return f"{mark}{text}{mark}"
