"""The shapes of the tasks: how many needles there are, what they are made of, and what they hide in."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace

from context_bench_needle.ruler import RULER_TASK_NAMES, RULER_TASKS, RulerTask

KINDS = ("number", "word", "uuid")
HAYSTACKS = ("noise", "prose", "needles")


@dataclass(frozen=True)
class Task:
    """One kind of retrieval.

    ``keys`` are registered in the context, each with ``values`` values; ``queries`` of the keys are asked for. Every
    needle that is not asked for is a distractor of the same form.
    """

    name: str
    keys: int = 1
    values: int = 1
    queries: int = 1
    key_kind: str = "word"
    value_kind: str = "number"
    haystack: str = "prose"

    def __post_init__(self) -> None:
        for option in ("keys", "values", "queries"):
            if getattr(self, option) < 1:
                raise ValueError(
                    f"needle: {option} is {getattr(self, option)}, and at least 1 is needed."
                )
        if self.queries > self.keys:
            raise ValueError(
                f"needle: {self.queries} queries cannot be asked about {self.keys} keys; "
                f"give keys={self.queries} or more."
            )
        for option, known in (("key_kind", KINDS), ("value_kind", KINDS), ("haystack", HAYSTACKS)):
            if getattr(self, option) not in known:
                raise ValueError(
                    f"needle: {option} is {getattr(self, option)!r}, and it is one of {', '.join(known)}."
                )

    @property
    def asked(self) -> int:
        """The number of values that an answer must name."""
        return self.queries * self.values

    @property
    def shape(self) -> str:
        """All that makes the task, in short, as it stands in the ids of rows."""
        return f"k{self.keys}v{self.values}q{self.queries}-{self.key_kind}-{self.value_kind}-{self.haystack}"


# The eight retrieval tasks of RULER (Hsieh et al. 2024, arXiv:2404.06654, appendix B), with the names they have there.
TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task("single"),  # niah_single_2
        Task("single-noise", haystack="noise"),  # niah_single_1, passkey retrieval
        Task("single-uuid", value_kind="uuid"),  # niah_single_3
        Task("multi-key", keys=4),  # niah_multikey_1
        Task("multi-key-needles", haystack="needles"),  # niah_multikey_2, line retrieval
        Task(
            "multi-key-uuid", key_kind="uuid", value_kind="uuid", haystack="needles"
        ),  # niah_multikey_3
        Task("multi-value", values=4),  # niah_multivalue
        Task("multi-query", keys=4, queries=4),  # niah_multiquery
    )
}
RULER_NAMES = {
    "niah_single_1": "single-noise",
    "niah_single_2": "single",
    "niah_single_3": "single-uuid",
    "niah_multikey_1": "multi-key",
    "niah_multikey_2": "multi-key-needles",
    "niah_multikey_3": "multi-key-uuid",
    "niah_multivalue": "multi-value",
    "niah_multiquery": "multi-query",
}


def tasks_of(config: str | None, **changes: int | str | None) -> list[Task | RulerTask]:
    """Return the tasks of a configuration, with the given options in place of its own.

    Args:
        config: A name of :data:`TASKS` or :data:`RULER_TASKS`, RULER's name of one, ``all`` for the eight retrieval tasks in
            turn, ``ruler`` for these and the other five, or ``None`` for ``single``.
        changes: Fields of :class:`Task` and :class:`RulerTask`; ``None`` leaves the field as it is, and so does one that a task
            of several does not have. More queries than keys with no ``keys`` given brings as many keys.

    Raises:
        ValueError: There is no such configuration, or the options do not fit together, or mean nothing to the task.
    """
    name = config or "single"
    known: dict[str, Task | RulerTask] = {**TASKS, **RULER_TASKS}
    own = {**RULER_NAMES, **RULER_TASK_NAMES}
    if name in ("all", "ruler"):
        names = list(TASKS if name == "all" else known)
    else:
        names = [own.get(name, name)]
        if names[0] not in known:
            close = difflib.get_close_matches(name, [*known, *own, "all", "ruler"], n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ValueError(
                f"needle has no configuration {name!r}.{hint} There are: {', '.join(known)}, all, ruler."
            )
    given = {option: value for option, value in changes.items() if value is not None}
    useless = [
        option for option in given if not any(option in _options_of(known[each]) for each in names)
    ]
    if useless:
        raise ValueError(f"needle: {useless[0]} means nothing to {name}, whose rows have none.")
    return [_changed(known[each], given) for each in names]


def _options_of(task: Task | RulerTask) -> tuple[str, ...]:
    """Return the options that change a task."""
    if isinstance(task, RulerTask):
        return {"tracking": ("chains", "hops"), "documents": ("hops",)}.get(task.builder, ())
    return ("keys", "values", "queries", "key_kind", "value_kind", "haystack")


def _changed(task: Task | RulerTask, given: dict[str, int | str]) -> Task | RulerTask:
    given = {option: value for option, value in given.items() if option in _options_of(task)}
    queries = given.get("queries")
    if isinstance(task, Task) and isinstance(queries, int) and "keys" not in given:
        given["keys"] = max(task.keys, queries)
    return replace(task, **given)  # type: ignore[arg-type]
