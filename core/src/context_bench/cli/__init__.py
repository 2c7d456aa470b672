"""The command line. Each group of commands is a module that is imported when it is called."""

from __future__ import annotations

import sys
from contextlib import suppress

COMPLETION = "_CONTEXT_BENCH_COMPLETE"
"""The environment variable with which a shell requests completions; click answers."""
ABOUT = """Measure systems that touch an LLM's context, and score what they answer.

Flags without a command mean `run`: context-bench --system identity --dataset needle."""
COMMANDS = {
    "run": (
        "context_bench.cli.run:run",
        "Give a dataset's examples to systems and score the answers.",
    ),
    "resume": ("context_bench.cli.run_files:resume", "Finish a run that was interrupted."),
    "rescore": (
        "context_bench.cli.run_files:rescore",
        "Score stored responses with new or changed evaluators.",
    ),
    "report": ("context_bench.cli.run_files:report", "Show or write the result of a run file."),
    "export": ("context_bench.cli.run_files:export", "Write the rows of a run file as JSON lines."),
    "merge": ("context_bench.cli.run_files:merge", "Join the run files of the shards of a run."),
    "lock": ("context_bench.cli.run:lock", "Write down which evaluators score which dataset."),
    "explain": ("context_bench.cli.commands:explain", "Explain a row or a key of a run."),
    "plugins": (
        "context_bench.cli.installed:plugins",
        "What is installed, in what state, wired to what.",
    ),
    **{
        kind: (f"context_bench.cli.installed:{kind}", f"The installed {kind}.")
        for kind in ("datasets", "systems", "evaluators", "metrics")
    },
}
"""Import path and summary of each command of core."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    import atexit
    import os

    from context_bench.console import capture_python_output, escape_what_standard_output_lacks

    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the parent process
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    capture_python_output()
    escape_what_standard_output_lacks()
    try:
        code = execute(sys.argv[1:] if arguments is None else arguments)
    except BrokenPipeError:
        code = _discard_output()
    if arguments is None and code in _SIGNALLED:  # an interrupted command waits for no thread
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # the stream or the pipe is closed
                stream.flush()
        os._exit(code)
    sys.exit(code)


_SIGNALLED = (129, 130, 143)


def _discard_output() -> int:
    """Discard further output: the reader of the pipe has closed it, which is not an error."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def execute(arguments: list[str]) -> int:
    """Run the command line and return its exit code.

    0 success; 1 an internal error; 2 an error of usage, configuration or a plugin; 3 the run is not
    complete; 10 a gate failed; 11 a gate is inconclusive; 12 too many rows failed; 130 interrupted;
    129 ended by SIGHUP; 143 ended by SIGTERM.

    Args:
        arguments: The command line.
    """
    from errno import EBADF, EDQUOT, EFBIG, ENOSPC

    from context_bench.console import echo_err
    from context_bench.errors import ContextBenchError, RunStoppedError, exit_code_of, message_of

    try:
        code = _call(arguments)
        sys.stdout.flush()  # or a full disk would be found too late for a message
        return code
    except ContextBenchError as error:
        code = exit_code_of(error)
        echo_err(message_of(error) if code in (0, 10) else f"Error: {message_of(error)}")
        if isinstance(error, RunStoppedError) and error.path:
            echo_err(f"The finished rows are stored. To go on: context-bench resume {error.path}")
        return code
    except KeyboardInterrupt as error:
        echo_err("Interrupted.")
        return exit_code_of(error, 130)
    except BrokenPipeError:
        return _discard_output()
    except OSError as error:
        if error.errno not in (EBADF, ENOSPC, EDQUOT, EFBIG):
            raise
        echo_err(f"Error: The output cannot be written whole: {error.strerror}.")
        return _discard_output() or 2
    except (Exception, SystemExit, GeneratorExit) as error:
        origin = None if sys.flags.dev_mode else _raised_by(error)
        if origin is None:
            raise
        package, line = origin
        message = f"{type(error).__name__}: {message_of(error)}"
        echo_err(
            f"Error: {line} of {package} raised {message}. Tell its authors, or leave it out; "
            "`python -X dev` shows more."
        )
        return 2


def _raised_by(error: BaseException) -> tuple[str, str] | None:
    """Return the package and the line that raised an error; None for core and its dependencies."""
    from traceback import walk_tb

    for frame, line in reversed(list(walk_tb(error.__traceback__))):
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if package not in sys.stdlib_module_names:
            return None if package in _OURS else (package, f"{frame.f_code.co_filename}:{line}")
    return None


_OURS = (
    "context_bench",
    "__main__",
    "attr",
    "attrs",
    "click",
    "importlib_metadata",
    "pluggy",
    "rich",
    "tomli",
)


def _call(arguments: list[str]) -> int:
    """Run the command line and return its exit code.

    Raises:
        ContextBenchError: The command failed.
    """
    if arguments == ["--list-datasets"]:  # the flag of the predecessor
        arguments = ["datasets", "list"]
    if any("://" in argument for argument in arguments):
        from context_bench.session.store_addresses import located

        arguments = located(arguments)
    if arguments[:1] in (["resume"], ["rescore"]):
        from context_bench.store.lock import refuse_where_locked

        refuse_where_locked(arguments[1:])
    import os
    from typing import Any

    import click

    from context_bench.run.stopping import interruptible

    interruptible()
    from context_bench.cli.commands import app
    from context_bench.console import echo_err
    from context_bench.errors import exit_code_of

    discovered: list[tuple[Any, Any]] = []  # settings, and what is installed under them
    stdout = sys.stdout
    stderr = sys.stderr
    try:
        result = app.main(
            arguments, prog_name="context-bench", standalone_mode=False, obj=discovered
        )
    except SystemExit as error:
        if sys.stdout is not stdout:
            # click replaces a stream whose reader has closed it, and exits with 1.
            sys.stdout = stdout
            sys.stderr = stderr
            raise BrokenPipeError from None
        if COMPLETION not in os.environ:
            raise
        return int(error.code or 0)  # the completions are printed
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        is_help = type(error).__name__ == "NoArgsIsHelpError"  # click 8.1 has no such class
        if context is not None and not is_help:
            echo_err(
                context.get_usage()
                + f"\nTry '{context.command_path} {context.help_option_names[0]}' for help.\n"
            )
        echo_err(error.format_message() if is_help else f"Error: {error.format_message()}")
        return exit_code_of(error)
    except click.Abort as error:
        cause = error.__cause__ or error.__context__  # click 8.1 hides the error that it caught
        if not isinstance(cause, KeyboardInterrupt):
            cause = KeyboardInterrupt()
        raise cause from None
    return result if isinstance(result, int) else 0
