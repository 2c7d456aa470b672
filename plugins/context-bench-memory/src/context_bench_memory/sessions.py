"""What a memory is given: the sessions of a row, whatever form the data set has them in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Session = dict[str, Any]
"""``id`` and ``date`` as text or None, and ``turns``: mappings with ``role``, ``content`` and what else they had."""

FIELDS = ("sessions", "haystack_sessions", "context")
"""Fields that sessions are read from; the first that has any counts."""

_EVIDENCE = "answer_"
_MARK = "has_answer"


def sessions_of(example: Mapping[str, Any]) -> tuple[str | None, list[Session]]:
    """Return the field that a row's sessions stand in, and the sessions in their order.

    ``sessions`` is a list of sessions; ``haystack_sessions`` the same, with ``haystack_dates`` and ``haystack_session_ids``
    beside it, as LongMemEval has them. A session is a list of turns, a mapping with ``turns`` (or ``messages``), or a
    text. A turn is a mapping with ``content`` or a text. ``context`` is one session: a text, or a list of texts or turns.

    A memory is not told where the answer is: the mark ``has_answer`` of a turn is left out, as in LongMemEval's own
    ``run_generation.py``; and where ids begin with ``answer_``, as those of its sessions with the evidence do, the sessions
    of the row are numbered from 1 in place of them.

    >>> sessions_of({"context": ["Rome is in Italy.", "Rain fell."]})[1][0]["turns"][1]
    {'role': 'user', 'content': 'Rain fell.'}

    Raises:
        TypeError: A session or turn has another form; the message says which.
    """
    for field in FIELDS:
        found = example.get(field)
        if not found:
            continue
        if field == "context":
            return field, [_session(found if _is_list(found) else [found], "context", None, None)]
        if not _is_list(found):
            raise TypeError(
                f"{field} is of type {type(found).__name__}, and a list of sessions is needed."
            )
        dates, ids = (
            _beside(example, field, name) for name in ("haystack_dates", "haystack_session_ids")
        )
        pairs = zip(found, _padded(dates), _padded(_neutral(ids)))
        return field, [
            _session(each, f"{field}[{at}]", date, name)
            for at, (each, date, name) in enumerate(pairs)
        ]
    return None, []


def id_of_turn(turn: Mapping[str, Any]) -> str | None:
    """Return the id of a turn as text; None where it has none."""
    return _text(turn.get("id"))


def ids_of_turns(ids: Sequence[str | None], places: Iterable[int]) -> dict[str, list[str]]:
    """Return ``turn_ids``, the ids of some turns; nothing where the turns have none.

    >>> ids_of_turns(["1:1", "1:2"], [1]), ids_of_turns([None], [0])
    ({'turn_ids': ['1:2']}, {})
    """
    if all(name is None for name in ids):
        return {}
    named = [ids[place] for place in places]
    return {"turn_ids": [name for name in named if name is not None]}


def _session(found: Any, where: str, date: Any, name: Any) -> Session:
    if isinstance(found, Mapping):
        date, name = found.get("date", date), found.get("id", found.get("session_id", name))
        turns = found.get("turns", found.get("messages"))
        if not _is_list(turns):
            raise TypeError(f"{where} is a mapping without a list of turns.")
    elif isinstance(found, str):
        turns = [found]
    elif _is_list(found):
        turns = found
    else:
        raise TypeError(
            f"{where} is of type {type(found).__name__}, and a list of turns, a mapping or a text is needed."
        )
    told = [_turn(turn, f"{where}[{at}]") for at, turn in enumerate(turns)]
    return {"id": _text(name), "date": _text(date), "turns": told}


def _turn(found: Any, where: str) -> dict[str, Any]:
    if isinstance(found, str):
        return {"role": "user", "content": found}
    if isinstance(found, Mapping):
        content = found.get("content", found.get("text"))
        if isinstance(content, str):
            kept = {name: value for name, value in found.items() if name != _MARK}
            return {
                **kept,
                "role": str(found.get("role", found.get("speaker", "user"))),
                "content": content,
            }
        raise TypeError(f"{where} has no content that is a text.")
    raise TypeError(
        f"{where} is of type {type(found).__name__}, and a turn is a mapping with content, or a text."
    )


def _neutral(ids: Sequence[Any]) -> Sequence[Any]:
    """Return the ids of sessions, or their numbers where an id tells which session holds the evidence."""
    tells = any(isinstance(name, str) and name.startswith(_EVIDENCE) for name in ids)
    return range(1, len(ids) + 1) if tells else ids


def _beside(example: Mapping[str, Any], field: str, name: str) -> Sequence[Any]:
    found = example.get(name) if field == "haystack_sessions" else None
    return found if isinstance(found, (list, tuple)) else ()


def _padded(values: Sequence[Any]) -> Iterable[Any]:
    from itertools import chain, repeat

    return chain(values, repeat(None))


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))
