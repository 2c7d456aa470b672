"""Check commands of tasks: run in a copy of the workspace, with files that the agent did not see."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

from context_bench_agents_live.keeper import VARIABLE
from context_bench_agents_live.workspace import Workspace
from context_bench_command import CommandError, CommandMissingError
from context_bench_command.once import run_once
from context_bench_command.surroundings import environment
from context_bench_command.templates import fill
from context_bench_tasks import CommandCheck

_MAX_OUTPUT = 16 * 1024 * 1024


def command_passes(check: CommandCheck, files: Mapping[str, str]) -> bool:
    """Return whether a check command ends with status 0 in a folder with these files.

    What it starts is killed when it ends, and both folders are removed.

    Args:
        check: The command, with its hidden files.
        files: Text of each file of the workspace, by path.

    Raises:
        CommandMissingError: Its program does not exist.
        WorkspaceError: A path leads out of the workspace.
    """
    with ExitStack() as stack:
        workspace = stack.enter_context(Workspace(files, 0))
        tests = stack.enter_context(Workspace(check.files, 0))
        variables = {
            **environment({}, ()),
            VARIABLE: workspace.folder,
            "HOME": str(workspace.home),
            "TMPDIR": str(workspace.temporary),
        }
        words = [fill(word, {"tests": str(tests.root)}) for word in check.words]
        try:
            run_once(
                words,
                b"",
                cwd=str(workspace.root),
                environment=variables,
                timeout=check.seconds,
                largest=_MAX_OUTPUT,
                end_others=workspace.end_processes,
            )
        except CommandMissingError:
            raise
        except CommandError:
            return False
        finally:
            workspace.end_processes()
    return True
