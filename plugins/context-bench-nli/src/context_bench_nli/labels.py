"""The labels that an example can have: those it names, or else those of the family that its right label belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from context_bench.answers import gold, plain_value
from context_bench_nli.relations import ANY, OPENERS, TRUTH, Relation, phrases
from context_bench_nli.tokens import plain, words

MOST = 200  # labels of one set that are looked at

# Of each family the names for: it follows, it is contradicted, it is open.
_FAMILIES = (
    ("Entailment", "Contradiction", "Neutral"),
    ("Entailment", "Contradiction", "Not mentioned"),
    ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"),
    ("True", "False", "Unknown"),
    ("Yes", "No", "Maybe"),
)
_ORDER = (Relation.ENTAILED, Relation.CONTRADICTED, Relation.OPEN)


class Label(NamedTuple):
    """A label as it is written, its words, and the relations that it stands for, if any."""

    text: str
    words: tuple[str, ...]
    relation: Relation | None


class LabelSet(NamedTuple):
    """The labels of an example and the places of the right ones; without one, the reason why."""

    labels: tuple[Label, ...]
    gold: frozenset[int]
    reason: str = ""


def label_set(original: Mapping[str, Any]) -> LabelSet:
    """The labels of an example, and which of them is right.

    `labels` of the example are taken as they are. Without them the family follows from the right label: of "REFUTES" it
    is SUPPORTS, REFUTES and NOT ENOUGH INFO, of "not_entailment" only that and its opposite.

    >>> found = label_set({"answer": "REFUTES"})
    >>> [label.text for label in found.labels], found.gold
    (['SUPPORTS', 'REFUTES', 'NOT ENOUGH INFO'], frozenset({1}))
    """
    named = _named(original.get("labels"))
    found = gold(original)
    values = [
        str(value) if isinstance(value, bool) else value for value in found.values
    ]  # JSON's true is the label True
    golds = [value for value in values if not (value is None or value == "")]
    if not golds:
        return LabelSet(named, frozenset(), found.reason)
    if not named:
        named = _family([value for value in golds if isinstance(value, str)])
    right = frozenset(
        place for value in golds[:MOST] if (place := _place(value, named)) is not None
    )
    reason = (
        ""
        if right
        else f"the answer is none of the labels: {', '.join(label.text for label in named[:9])}"
    )
    return LabelSet(named, right, reason if named else "the answer is no label")


def standing_for(labels: tuple[Label, ...], relation: Relation) -> frozenset[int]:
    """The places of the labels that are possible when one of some relations holds."""
    return frozenset(
        place for place, label in enumerate(labels) if label.relation and label.relation & relation
    )


def relation_of(label: tuple[str, ...]) -> Relation | None:
    """The relations that the words of a label stand for.

    >>> relation_of(("not", "entailment")) == Relation.CONTRADICTED | Relation.OPEN
    True
    """
    single = {(word,): relation for word, relation in (TRUTH | OPENERS).items()}
    if known := (phrases() | single | _NAMES).get(label):
        return known
    if label[:1] in (("not",), ("non",), ("no",)):
        denied = relation_of(label[1:])
        return None if denied is None else ANY & ~denied
    return None


_NAMES = {
    ("discuss",): Relation.OPEN,
    ("none",): Relation.OPEN,
    ("unsure",): Relation.OPEN,
    ("other",): Relation.OPEN,
}


def _label(text: str) -> Label:
    found = words(plain(text[:200]))
    return Label(text, found, relation_of(found))


def _named(value: Any) -> tuple[Label, ...]:
    """The labels that an example lists, if they are at least two texts."""
    value = plain_value(value)
    if isinstance(value, Mapping):
        value = list(value.values())
    if not isinstance(value, (list, tuple)) or not all(
        isinstance(text, str) for text in value[:MOST]
    ):
        return ()
    labels = {label.words: label for label in map(_label, value[:MOST]) if label.words}
    return tuple(labels.values()) if len(labels) > 1 else ()


def _family(golds: list[str]) -> tuple[Label, ...]:
    """The labels that go together with the right one."""
    labels = [label for label in map(_label, golds) if label.words]
    if not labels:
        return ()
    label = labels[0]
    if label.relation is None:
        return tuple(labels)
    if label.relation not in _ORDER:  # "not_entailment": only its opposite is beside it
        return (_label(_opposite(label)), label)
    place = _ORDER.index(label.relation)
    family = next((names for names in _FAMILIES if _like(names[place], label.text)), _FAMILIES[0])
    return tuple(label if at == place else _label(name) for at, name in enumerate(family))


def _opposite(label: Label) -> str:
    denied = label.words[1:] if label.words[0] in ("not", "non", "no") else ("supported",)
    return " ".join(denied)


def _like(name: str, text: str) -> bool:
    """Whether a label is another spelling of a family's name: the same first letters do, as in SUPPORT and SUPPORTS."""
    one, other = "".join(words(name)), "".join(words(plain(text[:200])))
    return one[:5] == other[:5]


def _place(gold: Any, labels: tuple[Label, ...]) -> int | None:
    if isinstance(gold, float) and gold.is_integer():
        gold = int(gold)  # a column of indexes that has gaps
    if isinstance(gold, int) and not isinstance(gold, bool):
        return gold if 0 <= gold < len(labels) else None
    if not isinstance(gold, str):
        return None
    wanted = _label(gold)
    same = [place for place, label in enumerate(labels) if label.text == gold]
    same = same or [place for place, label in enumerate(labels) if label.words == wanted.words]
    if not same and wanted.relation:
        same = [place for place, label in enumerate(labels) if label.relation == wanted.relation]
    return same[0] if len(same) == 1 else None
