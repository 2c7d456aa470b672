"""Who is compared: the systems of runs, what each is held against, and what forbids to hold two of them against each other."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from attrs import field, frozen

from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.runs import Run
from context_bench_compare.columns import ANY_KEY, MEASURES, Column


@frozen
class Entrant:
    """One system of one run.

    Attributes:
        name: What it is called here: its label, with the run's name where two runs have it.
        run: Its run.
        system: Its label there.
    """

    name: str
    run: Run = field(eq=False)
    system: str


def entrants_of(runs: Sequence[Run], also: Collection[str | None] = ()) -> list[Entrant]:
    """Return every system of the runs, with names of their own.

    What is derived from a system's rows, as a control is, competes with nobody and passes no gate, unless ``also`` names it.
    """
    labels = [
        (run, str(system["label"]))
        for run in runs
        for system in run.systems
        if "derived" not in system["description"] or system["label"] in also
    ]
    counts = [label for _, label in labels]
    return [
        Entrant(label if counts.count(label) == 1 else f"{run.path.stem}/{label}", run, label)
        for run, label in labels
    ]


def baseline_of(entrants: Sequence[Entrant], named: str | None, of: Run | None = None) -> Entrant:
    """Return the entrant that the others are held against: the one named, the run's own baseline, or the first.

    Args:
        entrants: Who is compared.
        named: A name or label; None goes by the runs.
        of: The run that it must be of; None takes any.

    Raises:
        UnknownNameError: None has that name.
    """
    if named is not None:
        found = [one for one in entrants if named in (one.name, one.system)]
        if not found:
            raise UnknownNameError("system of these runs", named, [one.name for one in entrants])
        return found[0]
    entrants = [one for one in entrants if of in (None, one.run)]
    return next(filter(is_own_baseline, entrants), entrants[0])


def is_own_baseline(one: Entrant) -> bool:
    """Return whether a system is what the others of its run are held against."""
    return one.system in (
        one.run.request.get("baseline"),
        (one.run.request.get("request") or {}).get("baseline"),
    )


def paired_baseline(one: Entrant, against: Entrant, entrants: Sequence[Entrant]) -> Entrant:
    """Return what an entrant is held against: of a run that has several baselines, that with its own parameters."""
    slots = {entry["label"]: entry for entry in one.run.systems}
    if one.run is not against.run or not slots[against.system]["description"].get("baseline"):
        return against
    labels = {entry["system_number"]: label for label, entry in slots.items()}
    held = labels.get(slots[one.system]["description"].get("held_against"))
    return next(
        (other for other in entrants if other.run is one.run and other.system == held), against
    )


def contestants(runs: Sequence[Run], baseline: str | None) -> tuple[list[Entrant], Entrant]:
    """Return every system of the runs, and the one that the others are held against.

    Raises:
        ConfigurationError: There is only one system.
        UnknownNameError: The baseline is unknown.
    """
    entrants = entrants_of(runs, [baseline])
    if len(entrants) < 2:
        raise ConfigurationError(
            f"{runs[0].path} holds one system only, so there is nothing to compare. Name a second run."
        )
    return entrants, baseline_of(entrants, baseline)


def scored_otherwise(one: Entrant, against: Entrant) -> list[str]:
    """Return the ids of the evaluators that scored two runs in different versions or with different options."""
    keys = {entry["id"]: entry["key"] for entry in one.run.evaluators}
    return [
        str(entry["id"])
        for entry in against.run.evaluators
        if entry["id"] in keys and keys[entry["id"]] != entry["key"]
    ]


def difference_between(one: Entrant, against: Entrant, ours: Column, theirs: Column) -> str | None:
    """Return why the values of two runs mean different things, or None when they do not.

    Of the evaluators only those count that give these values; where nobody knows which, all do.
    """
    if ours.metric in MEASURES and len(ours.units | theirs.units) > 1:
        own, other = (" or ".join(sorted(column.units)) for column in (ours, theirs))
        names = (
            (f"for {one.name}", f"for {against.name}")
            if one.run is against.run
            else (f"in {one.run.path}", f"in {against.run.path}")
        )
        return f"{ours.metric} is {own} {names[0]}, and {other} {names[1]}; --anyway compares them all the same"
    if one.run is against.run or ours.metric in MEASURES:
        return None
    for label in ours.givers.keys() & theirs.givers.keys():
        own, other = ours.givers[label][1], theirs.givers[label][1]
        if own != other:
            return f"the {ours.metric} of {label} is {own} in {one.run.path}, and {other} in {against.run.path}; name one of them"
    givers = {giver for column in (ours, theirs) for giver, _ in column.givers.values()}
    for name in scored_otherwise(one, against):
        if name in givers or ANY_KEY in givers:
            return (
                f"{name} scored the two runs in different versions or with different options. "
                f"Score one again: context-bench rescore {one.run.path}"
            )
    ours_layout, theirs_layout = _layout(one), _layout(against)
    if ours_layout != theirs_layout:
        told = (
            f"{one.name} was asked with layout {ours_layout}, {against.name} with {theirs_layout}"
        )
        return f"{told}; --anyway compares them all the same"
    return None


def _layout(entrant: Entrant) -> str | None:
    """Return the layout in which a system was asked, None where it has none."""
    [system] = [found for found in entrant.run.systems if found["label"] == entrant.system]
    parameters = (
        system["description"].get("parameters") or system["description"].get("options") or {}
    )
    found = parameters.get("layout") if isinstance(parameters, Mapping) else None
    return None if found is None else str(found)
