"""Conversations: rows with ``multi_turn`` and ``turns``, asked turn by turn where the system can be asked so.

A system with ``process_turn(turns)`` is asked for the answer to the last of the turns it is given, and each answer is safe
before the next turn is asked. One with ``process_conversation(turns)`` alone owns the whole conversation: it gives all of
its replies at once, so there is nothing to keep before the last. Answered turns stand in a transcript: each is in the run file
before the next one is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import isawaitable, iscoroutinefunction
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING, Any

from context_bench.records import Usage
from context_bench.runner.parts import Measured, Timing, async_way, take_apart, takes_turns
from context_bench.secrecy import Secrecy
from context_bench.store.encoding import from_json, isolate, to_json
from context_bench.store.keys import RowId, response_key
from context_bench.store.rows import StoredTurn
from context_bench.store.runfile import RunFile

if TYPE_CHECKING:
    from context_bench.runner.admission import Place


class Conversational:
    """A system whose multi-turn rows are asked turn by turn, or as a whole, and all others through ``process``.

    Everything else about the system is as it was.

    Args:
        system: A system with ``process_turn`` or ``process_conversation`` (or their async forms, ``aprocess_turn`` and
            ``aprocess_conversation``). A turn's answer is a text or an output with a text ``response``. A whole conversation
            is the assistant's replies in order, as texts or as ``{"content": ..., "usage": ...}``, or an output with
            ``turn_responses`` of its own.
    """

    def __init__(self, system: Any) -> None:
        self._system = system
        self.name = system.name
        self.is_asked_by_turn = takes_turns(system)
        self._talk = "process_turn" if self.is_asked_by_turn else "process_conversation"
        talks_async = async_way(system, self._talk) is not None
        if iscoroutinefunction(system.process) or (talks_async and async_way(system, "process")):
            self.aprocess = self._aprocess

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_system", "aprocess"):
            raise AttributeError(name)  # without an async way to talk, the async way would miss conversations
        return getattr(self._system, name)

    @property
    def on_retry(self) -> Any:
        """Who is told of attempts that the system repeats; to set it here sets it there."""
        return self._system.on_retry

    @on_retry.setter
    def on_retry(self, told: Any) -> None:
        self._system.on_retry = told

    def process(self, example: dict[str, Any]) -> Mapping[str, Any]:
        """Return the output for an example, a conversation or not."""
        if not is_conversation(example):
            return self._system.process(example)  # type: ignore[no-any-return]
        if self.is_asked_by_turn:
            return self.converse(example, _forgetful())
        return conversation_output(self._system.process_conversation(example["turns"]))

    async def _aprocess(self, example: dict[str, Any]) -> Mapping[str, Any]:
        if not is_conversation(example):
            return await _awaited(async_way(self._system, "process"), example)  # type: ignore[no-any-return]
        if self.is_asked_by_turn:
            return await self.aconverse(example, _forgetful())
        way = async_way(self._system, self._talk)
        if way is None:
            return conversation_output(await asyncio.to_thread(self._system.process_conversation, example["turns"]))
        return conversation_output(await _awaited(way, example["turns"]))

    def converse(self, example: Mapping[str, Any], transcript: Transcript) -> Mapping[str, Any]:
        """Return the output of a conversation; turns that its transcript holds are not asked again."""
        talk = _Talk(example["turns"], transcript)
        for history in talk.questions():
            started = perf_counter()
            found = self._system.process_turn(isolate(history))
            talk.answer(found, perf_counter() - started)
        return talk.output()

    async def aconverse(self, example: Mapping[str, Any], transcript: Transcript) -> Mapping[str, Any]:
        """Do the same without blocking the event loop."""
        talk = _Talk(example["turns"], transcript)
        questions, way = talk.questions(), async_way(self._system, self._talk)
        while (history := await asyncio.to_thread(next, questions, None)) is not None:
            started = perf_counter()
            found = await _awaited(way, isolate(history))
            await asyncio.to_thread(talk.answer, found, perf_counter() - started)
        return talk.output()


def is_conversation(example: Mapping[str, Any]) -> bool:
    """Whether an example is a conversation: it says so, and has turns."""
    return bool(example.get("multi_turn")) and isinstance(example.get("turns"), list | tuple) and bool(example["turns"])


def conversation_output(replies: Any) -> Mapping[str, Any]:
    """Return the output of a conversation: the last reply as ``response``, all as ``turn_responses``, usage summed.

    Raises:
        TypeError: The replies are neither a sequence nor a mapping, or one of them has no text.
    """
    output = replies if isinstance(replies, Mapping) else getattr(replies, "output", None)
    if isinstance(output, Mapping):
        return output
    if isinstance(replies, str) or not isinstance(replies, Sequence) or not replies:
        raise TypeError(f"process_conversation returned {type(replies).__name__}, not the replies to the turns")
    texts = [reply.get("content") if isinstance(reply, Mapping) else reply for reply in replies]
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"reply {number + 1} of process_conversation has no text")
    found: dict[str, Any] = {"response": texts[-1], "turn_responses": texts}
    usages = [usage for reply in replies if isinstance(reply, Mapping) and (usage := Usage.read(reply)) is not None]
    if usages:
        found |= _used(usages)
    elif isinstance(getattr(replies, "usage", None), Mapping):
        found["usage"] = dict(replies.usage)  # type: ignore[attr-defined]
    return found


class _Talk:
    """A conversation under way. A user turn that is followed by a given assistant turn is history, and not asked.

    Args:
        turns: User turns as text, or turns as ``{"role", "content"}``.
        transcript: The turns that were answered.

    Raises:
        ValueError: The turns are malformed, or none of them is to be answered.
    """

    def __init__(self, turns: Sequence[Any], transcript: Transcript) -> None:
        self._turns, self._transcript = turns, transcript
        roles = [_role(turn, place) for place, turn in enumerate(turns)]
        self._open = {
            place
            for place, role in enumerate(roles)
            if role == "user" and roles[place + 1 : place + 2] != ["assistant"]
        }
        if not self._open:
            raise ValueError("There is nothing to ask: the conversation has no user turn without an answer.")
        self._history: list[Any] = []
        self._outputs: list[Mapping[str, Any]] = []

    def questions(self) -> Iterator[list[Any]]:
        """Yield for each turn to ask, once it may be asked, what was said up to it; :meth:`answer` it then."""
        for place, turn in enumerate(self._turns):
            self._history.append(turn)
            if place not in self._open:
                continue
            history = list(self._history)
            known = self._transcript.recall(len(self._outputs), history)
            if known is not None:
                self._add(known)
            else:
                self._transcript.admit()
                yield history

    def answer(self, found: Any, seconds: float) -> None:
        """Take the answer to the latest question, once it is safe."""
        number = len(self._outputs)
        output, measured = take_apart({"response": found} if isinstance(found, str) else found, Timing(seconds))
        if not isinstance(output.get("response"), str):
            raise TypeError(f"the answer to turn {number + 1} has no text under 'response'")
        self._add(self._transcript.keep(number, self._history, to_json(output), measured))

    def _add(self, turn: StoredTurn) -> None:
        output = output_of(turn)
        self._outputs.append(output)
        self._history.append({"role": "assistant", "content": output["response"]})

    def output(self) -> dict[str, Any]:
        """Return the output of the whole: that of the last turn, all responses, and sums of what was used."""
        found = {
            **self._outputs[-1],
            "turn_responses": [output["response"] for output in self._outputs],
            "latency": sum(output["latency"] for output in self._outputs),
            "attempts": sum(output["attempts"] for output in self._outputs),
        }
        if any("usage" in output for output in self._outputs):
            found |= _used([Usage.read(output) or Usage() for output in self._outputs])
        return found


def _used(usages: Sequence[Usage]) -> dict[str, Any]:
    return {"usage": sum(usages[1:], usages[0]).to_dict(), "turn_usage": [usage.to_dict() for usage in usages]}


def _role(turn: Any, place: int) -> str:
    if isinstance(turn, str):
        return "user"
    if isinstance(turn, Mapping) and isinstance(turn.get("role"), str) and "content" in turn:
        return str(turn["role"])
    raise ValueError(f"turns[{place}] must be text or a mapping with `role` and `content`.")


def _forgetful() -> Transcript:
    return Transcript(Transcripts(), RowId(0, 0), b"", b"")


async def _awaited(way: Callable[..., Any] | None, value: Any) -> Any:
    assert way is not None
    found = way(value)
    return await found if isawaitable(found) else found


class Transcripts:
    """Keeps the turns of a run's conversations.

    Args:
        store: Where they are kept; None keeps them for as long as the row is asked.
        secrecy: Takes secrets out of what is kept.
    """

    def __init__(self, store: RunFile | None = None, secrecy: Secrecy | None = None) -> None:
        self.secrecy = secrecy or Secrecy()
        self._store = store
        self._has_earlier = store is not None and store.has_turns
        self._is_closed = False
        self._lock = Lock()

    def close(self) -> None:
        """Keep nothing any more: the run has ended, whatever a call that hangs still brings."""
        with self._lock:
            self._is_closed = True

    def earlier(self, row: RowId) -> list[StoredTurn]:
        """Return the turns of a row that an earlier session kept."""
        return self._store.turns(row) if self._store is not None and self._has_earlier else []

    def keep(self, turn: StoredTurn) -> None:
        """Write a turn durably.

        Raises:
            TimeoutError: The run has ended.
            StoreError: It cannot be written.
        """
        with self._lock:
            if self._is_closed:
                raise TimeoutError("the run has ended.")
            if self._store is not None:
                self._store.keep_turn(turn)


class Transcript:
    """The answered turns of one row, in order. A turn that was answered once is not asked again.

    Args:
        keeper: Keeps them.
        row: The row.
        system: Key of its system.
        example: Key of the example as the system sees it.
    """

    def __init__(self, keeper: Transcripts, row: RowId, system: bytes, example: bytes) -> None:
        self._keeper, self._row, self._system, self._example = keeper, row, system, example
        self._turns: list[StoredTurn] | None = None
        self._is_over = False
        self._has_asked = False
        self.length = 0
        self.place: Place | None = None

    def give_up(self) -> None:
        """Ask no further turn: the row's time is up."""
        self._is_over = True

    def admit(self) -> None:
        """Return when the next turn may be asked; for the first one that is asked, the row itself was admitted.

        Raises:
            CallRefusedError: A governor of the run does not let it be asked.
        """
        if self.place is not None and self._has_asked:
            self.place.next_turn()
        self._has_asked = True

    def recall(self, number: int, history: Sequence[Any]) -> StoredTurn | None:
        """Return a turn that was answered with this history, or None.

        Raises:
            TimeoutError: The row's time is up.
        """
        if self._is_over:
            raise TimeoutError("the row's time was up before its next turn.")
        if self._turns is None:
            self._turns = self._keeper.earlier(self._row)
        if number < len(self._turns) and self._turns[number].key == self._key(history):
            self.length = number + 1
            return self._turns[number]
        del self._turns[number:]
        return None

    def keep(self, number: int, history: Sequence[Any], output: str, measured: Measured) -> StoredTurn:
        """Take a turn and return when it is safe.

        Raises:
            TimeoutError: The row's time is up, or the run has ended.
            StoreError: It cannot be written.
        """
        if self._is_over:
            raise TimeoutError("the row's time was up before this turn was answered.")
        secrecy = self._keeper.secrecy
        if secrecy.is_told_in(output):
            output = to_json(secrecy.of_answer(from_json(output)))
        rest = measured.rest
        if rest is not None and secrecy:
            rest = to_json(secrecy.of_all(from_json(rest)))
        turn = StoredTurn(self._row, number, self._key(history), output, measured.latency, measured.attempts, rest)
        self._keeper.keep(turn)
        if self.place is not None:
            self.place.note(from_json(output))
        assert self._turns is not None
        self._turns.append(turn)
        self.length = number + 1
        return turn

    def _key(self, history: Sequence[Any]) -> bytes:
        return response_key(self._system, self._example, self._row.sample, history)


def output_of(turn: StoredTurn) -> Mapping[str, Any]:
    """Return what the system said in a turn, with what was measured about the call."""
    measured = {} if turn.measured is None else from_json(turn.measured)
    return {**from_json(turn.output), **measured, "latency": turn.latency, "attempts": turn.attempts}
