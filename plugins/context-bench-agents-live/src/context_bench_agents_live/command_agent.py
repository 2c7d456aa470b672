"""The system ``agent-command``: any agent program on a task, through an endpoint or a proxy."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from context_bench.errors import ConfigurationError
from context_bench_agents_live.agent import Agent
from context_bench_agents_live.loop import BOUND, CRASHED, FINISHED, Ending
from context_bench_agents_live.workspace import Workspace
from context_bench_command import CommandExitError, CommandOutputError, CommandTimeoutError
from context_bench_command.once import run_once
from context_bench_command.surroundings import environment, read_additions
from context_bench_command.templates import fill

_MAX_OUTPUT = 16 * 1024 * 1024
_SHOWN = 2000


class CommandAgent(Agent):
    """Starts an agent program for each task, in the workspace of the task and with an empty home folder.

    The program finds its endpoint in ``OPENAI_BASE_URL``, ``OPENAI_API_BASE`` and ``ANTHROPIC_BASE_URL``, and its key in
    ``OPENAI_API_KEY`` and ``ANTHROPIC_API_KEY``, or in placeholders of its arguments: ``{task}``, ``{base_url}`` (without
    ``/v1``), ``{key}``, ``{model}``, ``{workspace}`` and ``{home}``. No shell is involved. The program and all that it
    started are killed when the row ends. It is not confined to the workspace.

    Args:
        command: The program and its arguments.
        env: Variables to set, each ``NAME=value``.
        pass_env: Names of variables to pass on from our environment.
        options: Options of `Agent`, except ``policy`` and ``api_key``.

    Raises:
        ConfigurationError: The program does not exist, or an option cannot be used.
    """

    def __init__(
        self,
        command: Sequence[str],
        env: Iterable[str] = (),
        pass_env: Iterable[str] = (),
        name: str = "agent-command",
        **options: Any,
    ) -> None:
        if isinstance(command, str) or not command:
            raise ConfigurationError("command must be a list: the program and its arguments.")
        program = shutil.which(command[0])
        if program is None:
            raise ConfigurationError(
                f"The program {command[0]!r} does not exist, or may not be executed. Install it first."
            )
        additions = read_additions(list(env))
        self._environment = environment(additions, tuple(pass_env))
        self._command = [os.path.abspath(program), *command[1:]]
        super().__init__(name=name, **options)

    def _run_agent(
        self, task: str, workspace: Workspace, limits: Mapping[str, int], key: str
    ) -> Ending:
        """Return how the program ended.

        Raises:
            CommandMissingError: The program cannot be started.
        """
        base_url = self._address.rstrip("/").removesuffix("/v1")
        places = {
            "task": task,
            "base_url": base_url,
            "key": key,
            "model": self._model,
            "workspace": str(workspace.root),
            "home": str(workspace.home),
        }
        own = {
            "HOME": str(workspace.home),
            "OPENAI_BASE_URL": f"{base_url}/v1",
            "OPENAI_API_BASE": f"{base_url}/v1",
            "ANTHROPIC_BASE_URL": base_url,
            "OPENAI_API_KEY": key,
            "ANTHROPIC_API_KEY": key,
        }
        arguments = [self._command[0], *(fill(word, places) for word in self._command[1:])]
        try:
            output = run_once(
                arguments,
                b"",
                cwd=str(workspace.root),
                environment={**self._environment, **own},
                timeout=limits["seconds"],
                largest=_MAX_OUTPUT,
                hide=(key,),
            )
        except CommandTimeoutError:
            return Ending(BOUND, f"{limits['seconds']} seconds")
        except CommandOutputError as error:
            return Ending(BOUND, str(error))
        except CommandExitError as error:
            return Ending(CRASHED, str(error))
        text = output.decode("utf-8", "replace").replace(key, "***")
        return Ending(FINISHED, text[-_SHOWN:])
