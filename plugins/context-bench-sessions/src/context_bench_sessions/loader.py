"""The dataset ``sessions``: a row for each cut of each recorded session."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from attrs import evolve

from context_bench.console import warn
from context_bench.errors import ConfigurationError, ContextBenchError, DatasetError
from context_bench.messages import region_text, whole_text
from context_bench_sessions.cutting import COMPACTION, Cut, cut_session, message_tokens, read_cuts
from context_bench_sessions.files import format_of, read_log_folder, read_sessions, session_files
from context_bench_sessions.messages import Message, Session, count_pairs
from context_bench_sessions.redaction import Redactor
from context_bench_sessions.sniffing import FORMATS

DEFAULT_CUTS = (0.35, 0.5, 0.65, 0.8, "last")


def sessions(
    path: str,
    limit: int | None = None,
    config: str | None = None,
    split: str | None = None,
    *,
    format: str | None = None,  # noqa: A002 - the word of the field
    cuts: Sequence[object] = DEFAULT_CUTS,
    tail: float = 0.15,
    min_tokens: int = 2000,
    redact: bool = False,
    skip_damaged: bool = False,
) -> Iterator[dict[str, Any]]:
    """Yield an example for each cut of each session of a file or folder.

    Args:
        path: A file or a folder of recorded sessions, also packed with gzip.
        limit: At most so many examples.
        config: The format, as ``sessions:FORMAT`` has it.
        split: Sessions have none.
        format: The format; unset it is told from the content of each file.
        cuts: Shares of a session's tokens at which it is held, and ``"last"``.
        tail: Share of the prefix's tokens that stays untouched at its end.
        min_tokens: Tokens that the region must have; cuts with fewer are left out.
        redact: Whether keys, tokens, e-mail addresses and names of home folders are taken out.
        skip_damaged: Whether a damaged file is left out with a warning instead of ending the run.

    Raises:
        ConfigurationError: An option makes no sense.
        DatasetError: A file is damaged or of no known format, or no session gives an example.
    """
    if split is not None:
        raise ConfigurationError(f"Sessions have no splits, but split={split!r} was given.")
    if limit is not None and limit < 0:
        raise ConfigurationError(
            f"limit is {limit}; give a number of examples, 0 or more, or None for all."
        )
    if not 0 <= tail < 1:
        raise ConfigurationError(
            f"tail is {tail!r}, but must be a share of the prefix, at least 0 and below 1."
        )
    if min_tokens < 0:
        raise ConfigurationError(f"min_tokens is {min_tokens!r}, but must not be below zero.")
    if format and config and format != config:
        raise ConfigurationError(
            f"The sessions are called {config}, and format={format} says otherwise: give one of the two."
        )
    wanted = format or config
    return islice(
        _examples(Path(path), wanted, read_cuts(cuts), tail, min_tokens, redact, skip_damaged),
        limit,
    )


def _examples(
    path: Path,
    wanted: str | None,
    cuts: list[float | str],
    tail: float,
    min_tokens: int,
    redact: bool,
    skip: bool,
) -> Iterator[dict[str, Any]]:
    redactor = Redactor() if redact else None
    read, given, largest, without, compacted = 0, 0, 0, 0, 0
    left_out: Counter[str] = Counter()
    for name, found, session in _sessions(path, wanted, skip):
        read += 1
        left_out.update(session.notes)
        if redactor is not None:
            session = _redacted(session, redactor)
        chosen = cut_session(session.messages, cuts, tail, min_tokens, session.compactions)
        largest = max(largest, sum(map(message_tokens, session.messages)))
        without += not chosen
        compacted += bool(session.compactions)
        for cut in chosen:
            given += 1
            yield example_of(session, cut, found, name)
    if redactor is not None:
        warn(redactor.report())
    if +left_out:
        what = ", ".join(f"{count} {name}" for name, count in left_out.most_common() if count)
        warn(
            f"Of {read} sessions in {path} these are left out, as the model was not sent them: {what}."
        )
    if given and without:
        told = "1 session gives" if without == 1 else f"{without} sessions give"
        warn(
            f"{told} no row, of {read} in {path}: no region between head and tail has {min_tokens} tokens (min_tokens)."
        )
    if not given:
        if not read:
            raise DatasetError(
                f"{path} gives no example: it holds no session{f' in the format {wanted}' if wanted else ''}."
            )
        if not compacted and set(cuts) == {COMPACTION}:
            raise DatasetError(
                f"{path} gives no example: none of {read} sessions holds a compaction. Cut them elsewhere: cuts=0.5/last."
            )
        what = f"the largest of {read} sessions has about {largest} tokens"
        raise DatasetError(
            f"{path} gives no example: {what}, and the region between head and tail must have {min_tokens}. Set min_tokens lower."
        )


def _sessions(path: Path, wanted: str | None, skip: bool) -> Iterator[tuple[str, str, Session]]:
    """Yield the name of the file, the format and each session, told apart; the logs of a folder are read together."""
    known: set[tuple[str, str]] = set()
    for name, found, session in _read_files(path, wanted, skip):
        identity, count = session.id, 1
        while (name, identity) in known:
            count += 1
            identity = f"{session.id}~{count}"
        known.add((name, identity))
        yield name, found, session if identity == session.id else evolve(session, id=identity)


def _read_files(path: Path, wanted: str | None, skip: bool) -> Iterator[tuple[str, str, Session]]:
    logs: list[Path] = []
    files = session_files(path)
    for file in files:
        name = file.relative_to(path).as_posix() if file != path else file.name
        try:
            if len(files) > 1 and wanted in (None, "litellm") and format_of(file) == "litellm":
                logs.append(file)
                continue
            is_empty = len(files) > 1
            for found, session in read_sessions(file, wanted):
                is_empty = False
                yield name, found, _storable(session, file)
            if is_empty:
                warn(f"{file} holds no session.")
        except ContextBenchError as error:
            if not skip:
                raise
            warn(f"Left out: {error}")
    for found, session in read_log_folder(logs):
        yield "litellm", found, _storable(session, path)


def _storable(session: Session, file: Path) -> Session:
    """Return a session whose messages JSON can hold; what a log says beside them (a score of Inspect) may be no number.

    Raises:
        DatasetError: A message holds NaN or Infinity, which Python's reader takes.
    """
    try:
        json.dumps(
            [session.messages, session.raw, session.raw_system, session.tools],
            allow_nan=False,
            default=str,
        )
    except ValueError as error:
        raise DatasetError(
            f"{file}: a message of the session {session.id!r} holds NaN or Infinity, which are no JSON values. Write null, or "
            "leave them out."
        ) from error
    return session


def example_of(session: Session, cut: Cut, found: str, name: str) -> dict[str, Any]:
    """Return the example of a cut; ``future``, ``later_calls`` and ``next_action`` are gold and shown to no system."""
    prefix = list(session.messages[: cut.at])
    calls, results, unanswered, orphans = count_pairs(prefix)
    return {
        "id": f"{name}#{session.id}@{cut.at}",
        "messages": prefix,
        "raw_messages": list(session.raw[: session.origins[cut.at]]) if session.raw else [],
        **({} if session.raw_system is None else {"raw_system": session.raw_system}),
        "tools": list(session.tools),
        "dialect": session.dialect,
        "head": [0, cut.head_end],
        "region": [cut.head_end, cut.tail_start],
        "tail": [cut.tail_start, cut.at],
        "session_id": f"{name}#{session.id}",
        "position": cut.at,
        "format": found,
        "original_pairs": {
            "calls": calls,
            "results": results,
            "unanswered": unanswered,
            "orphans": orphans,
        },
        "next_action": next_action(session.messages[cut.at]),
        "later_calls": [
            {"name": one["name"], "arguments": one["arguments"]}
            for message in session.messages[cut.at :]
            for one in message.get("tool_calls", ())
        ],
        "future": [
            whole_text(message)
            for message in session.messages[cut.at :]
            if message["role"] == "assistant"
        ],
        "left_out": {name: count for name, count in session.notes.items() if count},
        "recorded_compaction": _recorded(session, cut),
        "context": region_text(session.messages, (cut.head_end, cut.tail_start)),
    }


def next_action(message: Message) -> dict[str, Any]:
    """Return what the agent did next: its first call, or its text."""
    calls = message.get("tool_calls", ())
    if calls:
        return {"name": calls[0]["name"], "arguments": calls[0]["arguments"]}
    return {"text": message["content"]}


def _recorded(session: Session, cut: Cut) -> dict[str, Any] | None:
    """Return the compaction that the agent really made last before the cut, or None: there is none, or none to be read."""
    made = [one for one in session.compactions if one.at <= cut.at]
    if not made or not made[-1].summary:
        return None
    last = made[-1]
    whole = {"replacement": list(last.replacement)} if last.replacement else {}
    return {"at": last.at, "summary": last.summary, "first_kept": last.first_kept, **whole}


def _redacted(session: Session, redactor: Redactor) -> Session:
    return evolve(
        session,
        id=redactor.text(session.id),
        messages=redactor.value(session.messages),
        raw=redactor.value(session.raw),
        raw_system=redactor.value(session.raw_system),
        tools=redactor.value(session.tools),
        compactions=[
            evolve(
                one, summary=redactor.text(one.summary), replacement=redactor.value(one.replacement)
            )
            for one in session.compactions
        ],
    )


__all__ = ["DEFAULT_CUTS", "FORMATS", "example_of", "next_action", "sessions"]
