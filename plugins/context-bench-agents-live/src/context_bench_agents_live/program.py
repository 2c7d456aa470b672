"""An agent program that works on a task: started in the workspace, pointed at an endpoint, killed when the row ends."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from attrs import evolve, frozen

from context_bench.errors import ConfigurationError
from context_bench_agents_live.keeper import VARIABLE
from context_bench_agents_live.loop import BOUND, CRASHED, FINISHED, Ending
from context_bench_agents_live.presets import Preset
from context_bench_agents_live.workspace import Workspace
from context_bench_command import CommandExitError, CommandOutputError, CommandTimeoutError
from context_bench_command.once import run_once
from context_bench_command.surroundings import environment, read_additions
from context_bench_command.templates import fill

_MAX_OUTPUT = 16 * 1024 * 1024
_SHOWN = 2000


@frozen
class Program:
    """Starts a program for each task.

    Arguments, variables and files may contain the placeholders ``{task}``, ``{base_url}`` (without ``/v1``), ``{key}``,
    ``{model}``, ``{workspace}`` and ``{home}``. No shell is involved. The program is not confined to the workspace.

    Attributes:
        preset: The program and how it is used.
        path: Absolute path of its executable.
        environment: Its variables, without those of the row.
    """

    preset: Preset
    path: str
    environment: Mapping[str, str]

    @classmethod
    def of_preset(
        cls, preset: Preset, program: str | None, env: Iterable[str], pass_env: Iterable[str]
    ) -> Program:
        """Return a program that is installed.

        Args:
            preset: The program and how it is used.
            program: Path of the executable; None searches for it.
            env: Variables to set, each ``NAME=value``.
            pass_env: Names of variables to pass on from our environment.

        Raises:
            ConfigurationError: It is not installed.
        """
        path = shutil.which(program or preset.program)
        if path is None:
            remedy = "Install it first."
            if preset.install:
                remedy = f"Install it ({preset.megabytes} MB) with: {preset.install}"
            raise ConfigurationError(
                f"The program {program or preset.program!r} does not exist, or may not be executed. {remedy}"
            )
        own = environment(read_additions(list(env)), tuple(pass_env))
        return cls(preset, os.path.abspath(path), {**own, **preset.environment})

    @classmethod
    def of_command(
        cls, command: Sequence[str], env: Iterable[str], pass_env: Iterable[str]
    ) -> Program:
        """Return the program of a command, which gets endpoint and key in the usual variables.

        Raises:
            ConfigurationError: There is no command, or its program does not exist.
        """
        if isinstance(command, str) or not command:
            raise ConfigurationError("command must be a list: the program and its arguments.")
        preset = Preset(
            name="command",
            program=command[0],
            arguments=tuple(command[1:]),
            endpoint="the usual variables, or placeholders",
            log="nothing that is read",
            install="",
            megabytes=0,
        )
        return cls.of_preset(preset, None, env, pass_env)

    def run(
        self, places: Mapping[str, str], workspace: Workspace, limits: Mapping[str, int]
    ) -> Ending:
        """Return how the program ended.

        Args:
            places: What ``task``, ``base_url``, ``key`` and ``model`` stand for.
            workspace: Where it works.
            limits: ``seconds``.

        Raises:
            CommandMissingError: The program cannot be started.
        """
        key = places["key"]
        values = {**places, "workspace": str(workspace.root), "home": str(workspace.home)}
        for name, content in self.preset.files.items():
            file = workspace.home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(fill(content, values), encoding="utf-8")
        variables = {name: fill(text, values) for name, text in self.environment.items()}
        arguments = [self.path, *(fill(word, values) for word in self.preset.arguments)]
        try:
            output = run_once(
                arguments,
                b"",
                cwd=str(workspace.root),
                environment={**variables, **_row_variables(places, workspace)},
                timeout=limits["seconds"],
                largest=_MAX_OUTPUT,
                hide=(key,),
                end_others=workspace.end_processes,
            )
        except CommandTimeoutError:
            return Ending(BOUND, f"{limits['seconds']} seconds")
        except CommandOutputError as error:
            return Ending(BOUND, str(error))
        except CommandExitError as error:
            return Ending(CRASHED, str(error))
        finally:
            workspace.end_processes()
        text = output.decode("utf-8", "replace")
        ending = Ending(FINISHED, text.replace(key, "***")[-_SHOWN:])
        return self._with_log(ending, text, workspace.home)

    def _with_log(self, ending: Ending, output: str, home: Path) -> Ending:
        """Return an ending with the counts of the program's own log; without them where it cannot be read."""
        if self.preset.read_log is None:
            return ending
        try:
            return evolve(ending, logged=self.preset.read_log(output, home))
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return ending  # another version logs otherwise: nothing is known, which is not zero


def _row_variables(places: Mapping[str, str], workspace: Workspace) -> dict[str, str]:
    """Return the variables of a row: endpoint, key, and folders that are removed with the workspace."""
    base_url = places["base_url"]
    home = workspace.home
    return {
        VARIABLE: workspace.folder,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "TMPDIR": str(workspace.temporary),
        "OPENAI_BASE_URL": f"{base_url}/v1",
        "OPENAI_API_BASE": f"{base_url}/v1",
        "ANTHROPIC_BASE_URL": base_url,
        "OPENAI_API_KEY": places["key"],
        "ANTHROPIC_API_KEY": places["key"],
        "GEMINI_API_KEY": places["key"],
    }
