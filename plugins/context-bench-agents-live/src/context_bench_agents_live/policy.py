"""The oracle policy: what a perfect agent without a memory does next, as a pure function of the request."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from attrs import frozen

from context_bench_agents_live.conversation import Body, Tool, ToolCall, Turn, tools_of, turns_of
from context_bench_tasks import READERS, Read, Write

_READERS = ("read", "read_file", "Read")
_WRITERS = ("write", "write_file", "Write")
_SHELLS = ("bash", "shell", "Bash", "exec_command", "local_shell")
_PATHS = ("path", "file_path", "filePath", "absolute_path")
_COMMANDS = ("command", "cmd")
_VAIN_TRIES = 3
FINISHED = "finished: all is written"
GAVE_UP = "gave up"
_SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""The command that ends a run of mini-swe-agent, which does not accept a reply without a call."""


@frozen
class Reply:
    """What the policy answers.

    Attributes:
        text: Its text.
        calls: The calls of tools; none ends the work.
    """

    text: str
    calls: Sequence[ToolCall] = ()


@frozen
class OraclePolicy:
    """Decides from the messages of a request and nothing else.

    It reads a file again when a fact that it needs is not visible. Where a whole file did not help, and the request offers a
    shell, it searches the file for the fact from then on. It gives up after three tries in a row for a fact that do not help,
    and at a bound of turns.

    Attributes:
        notes: Whether it writes down what it found, as many models do, so that its notes replace results that were cut.
        max_turns: Maximum number of turns.
    """

    notes: bool = False
    max_turns: int = 60

    def reply(self, dialect: str, body: Body) -> Reply:
        """Return the reply to a request.

        Args:
            dialect: ``chat``, ``responses`` or ``messages``.
            body: The request.
        """
        turns = turns_of(dialect, body)
        reply = self._reply(body, turns)
        is_submitted = any(_SUBMIT in text for turn in turns for text in turn.texts)
        if reply.calls or not is_submitted:
            return reply
        ending = _shell_call(_SUBMIT, tools_of(body), sum(len(turn.calls) for turn in turns))
        return reply if ending is None else Reply(reply.text, [ending])

    def _reply(self, body: Body, turns: Sequence[Turn]) -> Reply:
        made = [call for turn in turns for call in turn.calls]
        texts = [text for turn in turns for text in turn.texts]
        readers = (reader(texts, _written(made)) for reader in READERS)
        reader = next((reader for reader in readers if reader.is_readable), None)
        if reader is None:
            return Reply(f"{GAVE_UP}: the instruction of the task is not visible")
        step = reader.next_step()
        call = _call(step, tools_of(body), len(made))
        if call is None:
            return Reply(f"{GAVE_UP}: no tool reads and writes files")
        if isinstance(step, Write) and any(_is_same(call, earlier) for earlier in made):
            return Reply(FINISHED)
        search = _search_call(step, tools_of(body), len(made))
        if _tries(made, call, search) >= _VAIN_TRIES:
            return Reply(f"{GAVE_UP}: three reads in a row did not help")
        if _model_turns(turns) >= self.max_turns:
            return Reply(f"{GAVE_UP}: {self.max_turns} turns")
        if search is not None and _was_vain(call, step.path, made):
            call = search
        return Reply(self._notes(turns), [call])

    def _notes(self, turns: Sequence[Turn]) -> str:
        """Return the facts of the texts after the model's last message; empty for the plain variant."""
        if not self.notes:
            return ""
        facts: list[str] = []
        for turn in reversed(turns):
            if turn.is_model:
                break
            found = [reader.facts_in(text) for text in turn.texts for reader in READERS]
            facts = [fact for part in found for fact in part] + facts
        return "\n".join(dict.fromkeys(facts))


def _written(calls: Sequence[ToolCall]) -> set[str]:
    """Return the paths of the files that calls have written."""
    paths = set()
    for call in calls:
        if call.name in _WRITERS:
            paths |= {str(call.arguments[name]) for name in _PATHS if name in call.arguments}
        command = _command(call)
        if command.startswith("printf "):
            paths.add(command.rpartition(" > ")[2])
    return paths


def _model_turns(turns: Sequence[Turn]) -> int:
    """Return how often the model wrote; messages in a row are one turn."""
    number = 0
    was_model = False
    for turn in turns:
        number += turn.is_model and not was_model
        was_model = turn.is_model
    return number


def _is_same(first: ToolCall, second: ToolCall) -> bool:
    return first.name == second.name and first.arguments == second.arguments


def _call(step: Read | Write, tools: Sequence[Tool], number: int) -> ToolCall | None:
    """Return the call for a step with the tools of the request: files tools, else a shell."""
    names = _READERS if isinstance(step, Read) else _WRITERS
    for tool in tools:
        path = next((name for name in _PATHS if name in tool.parameters), None)
        if tool.name in names and path is not None:
            arguments = {path: step.path}
            if isinstance(step, Write):
                arguments["content"] = step.content
            return ToolCall(f"call_{number + 1}", tool.name, arguments)
    path = shlex.quote(step.path)
    command = f"cat {path}"
    if isinstance(step, Write):
        command = f"printf %s {shlex.quote(step.content)} > {path}"
    return _shell_call(command, tools, number)


def read_path(call: ToolCall) -> str | None:
    """Return the path of the file that a call reads or searches as the oracle does; None for any other call.

    >>> read_path(ToolCall("1", "bash", {"command": "grep -F 'rule ' RULES.md"}))
    'RULES.md'
    """
    if call.name in _READERS and len(call.arguments) == 1:
        return next((str(call.arguments[name]) for name in _PATHS if name in call.arguments), None)
    try:
        words = shlex.split(_command(call))
    except ValueError:
        return None
    is_read = len(words) == 2 and words[0] == "cat"
    return words[-1] if is_read or _is_search(words) else None


def _is_search(words: Sequence[str]) -> bool:
    return len(words) == 4 and words[:2] == ["grep", "-F"]


def _search_call(step: Read | Write, tools: Sequence[Tool], number: int) -> ToolCall | None:
    """Return the call that searches a file for what a step needs of it; None where nothing or no shell can."""
    if isinstance(step, Write) or not step.search:
        return None
    command = f"grep -F {shlex.quote(step.search)} {shlex.quote(step.path)}"
    return _shell_call(command, tools, number)


def _tries(made: Sequence[ToolCall], call: ToolCall, search: ToolCall | None) -> int:
    """Return how many of the last calls in a row read the file of a step, or searched it for what the step needs."""
    number = 0
    for earlier in reversed(made):
        if not _is_same(call, earlier) and not (search and _is_same(search, earlier)):
            break
        number += 1
    return number


def _was_vain(call: ToolCall, path: str, made: Sequence[ToolCall]) -> bool:
    """Whether a read of a whole file did not help: it was the last call, or the file was searched since."""
    if made and _is_same(call, made[-1]):
        return True
    return any(
        read_path(earlier) == path and _command(earlier).startswith("grep ") for earlier in made
    )


def _command(call: ToolCall) -> str:
    """Return the command that a call runs in a shell; empty for another tool."""
    for name in _COMMANDS:
        words = call.arguments.get(name)
        command = words[-1] if isinstance(words, list) and words else words
        if isinstance(command, str):
            return command
    return ""


def _shell_call(command: str, tools: Sequence[Tool], number: int) -> ToolCall | None:
    """Return the call that runs a command in the first shell that is offered; None without a shell."""
    for tool in tools:
        name = next((name for name in _COMMANDS if name in tool.parameters), None)
        if tool.name in _SHELLS and name is not None:
            schema = tool.parameters[name]
            is_list = isinstance(schema, Mapping) and schema.get("type") == "array"
            words = ["bash", "-lc", command] if is_list else command
            return ToolCall(f"call_{number + 1}", tool.name, {name: words})
    return None
