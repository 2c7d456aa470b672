"""What assistants on the command line have in common.

Each runs in an empty folder unless told otherwise, so that no project's files or instructions reach an answer, and with the
variables that it signs in with passed on where they are set.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from context_bench_command.errors import CommandExitError, CommandOutputError
from context_bench_command.surroundings import shown
from context_bench_command.system import Command

_NETWORK = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "NODE_EXTRA_CA_CERTS",
)


class Assistant(Command):
    """What the presets have in common: the prompt goes to standard input, and an error is told in the assistant's words.

    Args:
        model: Model to ask for; None leaves it to the assistant's settings.
        system_prompt: Its system prompt, where it can be given one.
        arguments: Further arguments.
        program: The program, when it is called otherwise.
        prompt: Template of the prompt; by default context, blank line and question.
        cwd: Folder that it runs in; by default an empty one.
        env: Variables to set, as a mapping or ``NAME=value`` texts.
        pass_env: Names of variables to pass on from our environment.
        timeout: Seconds for one row; None for no limit.
        version: Version of the assistant. With it, or with a model, responses are reused across runs.
        name: Display name; by default the program's.
    """

    variables: Sequence[str] = ()
    endpoint_variable: str | None = None

    def __init__(
        self,
        command: Sequence[str],
        *,
        model: str | None,
        arguments: Iterable[str],
        prompt: str | None,
        cwd: str | None,
        env: Mapping[str, str] | Iterable[str] | None,
        pass_env: Iterable[str],
        timeout: float | None,
        version: str | None,
        name: str | None,
        after: Sequence[str] = (),
    ) -> None:
        self.model = model
        folder = cwd
        program, *rest = command
        if folder is None:
            program = (
                os.path.abspath(program) if os.path.dirname(program) else program
            )  # no path leads there from the folder
            folder = tempfile.mkdtemp(prefix="context-bench-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        super().__init__(
            [program, *rest, *arguments, *after],
            prompt=prompt,
            stdin="prompt",
            cwd=folder,
            env=env,
            pass_env=pass_env,
            timeout=timeout,
            version=version,
            name=name,
        )
        self._shown_cwd = cwd

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the assistant's answer to an example.

        Raises:
            CommandError: It gave no usable answer; the message holds its own words.
        """
        try:
            return super().process(example)
        except CommandExitError as error:
            words = self._words(error.output)
            if words:
                raise CommandExitError(f"{error}: {words}", error.output) from error.__cause__
            raise

    def _words(self, written: bytes) -> str | None:
        """Return what it wrote about its failure to standard output."""
        try:
            self._read(written)
        except CommandOutputError as error:
            words = str(error).removeprefix(f"{self.name} answered with an error: ")
            return words if words != str(error) else None
        return None

    def _refusal(self, words: Any) -> CommandOutputError:
        text = words if isinstance(words, str) else json.dumps(words)
        return CommandOutputError(
            f"{self.name} answered with an error: {' '.join(text.split())[:600] or 'no reason given'}"
        )

    def _optional_environment(self) -> tuple[str, ...]:
        return (*self.variables, *_NETWORK)

    def _is_repeatable(self) -> bool:
        return self.version is not None or self.model is not None

    def _fingerprint(self) -> dict[str, Any]:
        endpoint = self._environment.get(self.endpoint_variable or "")
        asked = {"endpoint": shown(endpoint).partition("?")[0]} if endpoint else {}
        own = {
            name: shown(value)
            for name, value in self._additions.items()
            if name != self.endpoint_variable
        }
        program, *arguments = map(shown, self._arguments)
        return {
            **super()._fingerprint(),
            "run": [os.path.basename(program), *arguments],
            "env": own,
            "cwd": self._shown_cwd,
            "model": self.model,
            **asked,
        }
