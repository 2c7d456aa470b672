"""A program as the system under test."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from context_bench.errors import ConfigurationError
from context_bench.prompts import ASKING_FIELDS, asked
from context_bench_command.once import run_once
from context_bench_command.outputs import json_output, output_of, text_output
from context_bench_command.surroundings import environment, read_additions, secrets_among, shown
from context_bench_command.templates import PROMPT, default_prompt, fill, json_line, names_in
from context_bench_command.workers import Workers

_MOST_SECONDS = 86_400
_IDLE = {
    "prompt": "no prompt is sent: write {prompt} into an argument, choose stdin=prompt, or leave it out",
    "fields": "only json and jsonl send fields: choose such a protocol, or leave it out",
    "stdin": "json and jsonl always send the example there: leave it out",
}
PROTOCOLS = ("text", "json", "jsonl")


class Command:
    """Runs a program for every example and returns what it wrote. No shell is ever involved.

        Command(["my-rag", "--top-k", "3"]).process({"context": "Rome is in Italy.", "question": "Where is Rome?"})

    Args:
        run: The program and its arguments, in which ``{question}`` and its like stand for fields of the example.
        protocol: ``text``: the prompt on standard input, the response on standard output. ``json``: the example as one JSON
            object, an object with ``response`` back. ``jsonl``: the same line by line, in a program that lives on; see
            `context_bench_command.workers`.
        prompt: Template of the prompt; by default context, blank line and question.
        stdin: ``prompt``, ``none``, or ``auto``: none when an argument holds a placeholder.
        fields: Fields of the example that ``json`` and ``jsonl`` send; None sends all.
        cwd: Folder that the program runs in.
        env: Variables to set, as a mapping or ``NAME=value`` texts.
        pass_env: Names of variables to pass on from our environment.
        timeout: Seconds for one row; None for no limit.
        max_output: Bytes of output for one row at most.
        version: Version of the program. With it, responses are reused across runs; without it, never.
        name: Display name; by default the program's.

    Raises:
        ConfigurationError: An argument cannot be used, or there is no such program.
    """

    text_is = "response"
    adapter = "command"

    def __init__(
        self,
        run: Sequence[str],
        protocol: str = "text",
        prompt: str | None = None,
        stdin: str = "auto",
        fields: Iterable[str] | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | Iterable[str] | None = None,
        pass_env: Iterable[str] = (),
        timeout: float | None = 120.0,
        max_output: int = 16 * 1024 * 1024,
        version: str | None = None,
        name: str | None = None,
    ) -> None:
        if isinstance(run, str) or not run or not all(isinstance(word, str) for word in run):
            raise ConfigurationError(
                f"run is {run!r}, but must be a list: the program and its arguments."
            )
        _check("protocol", protocol, PROTOCOLS)
        _check("stdin", stdin, ("auto", "prompt", "none"))
        if timeout is not None and not 0 < timeout <= _MOST_SECONDS:
            raise ConfigurationError(
                f"timeout must be seconds above 0 and up to {_MOST_SECONDS:,}, not {timeout!r}."
            )
        if max_output < 1:
            raise ConfigurationError(f"max_output must be bytes above 0, not {max_output!r}.")
        if cwd is not None and not os.path.isdir(cwd):
            raise ConfigurationError(f"cwd is {cwd!r}, which is no folder.")
        self._arguments = list(run)
        self._additions = read_additions(env)
        self._passed = tuple(pass_env)
        self._environment = environment(self._additions, self._passed, self._optional_environment())
        self._program = _found(run[0], cwd, self._environment)
        self._hide = secrets_among(self._passed, self._optional_environment())
        self._protocol = protocol
        self._prompt = prompt
        self._fields = None if fields is None else tuple(fields)
        self._cwd = cwd
        self._limits: dict[str, Any] = {"timeout": timeout, "largest": max_output}
        names = names_in(self._arguments[1:])
        self._names = {*names, *names_in([prompt or ""])}
        if protocol == "jsonl" and names:
            raise ConfigurationError(
                f"A jsonl program is started once, so its arguments cannot hold {{{names[0]}}}."
            )
        self._gives_prompt = stdin == "prompt" or (stdin == "auto" and not names)
        idle = {
            "prompt": prompt is not None
            and PROMPT not in names
            and not (protocol == "text" and self._gives_prompt),
            "fields": fields is not None and protocol == "text",
            "stdin": stdin != "auto" and protocol != "text",
        }
        for option in (option for option, is_idle in idle.items() if is_idle):
            raise ConfigurationError(f"{option} is given, but {_IDLE[option]}.")
        self.name = name or os.path.basename(run[0])
        self.version = version
        self.reads = self._reads(names)
        self._workers = self._make_workers() if protocol == "jsonl" else None
        if self._is_repeatable():
            self.fingerprint = self._fingerprint
        else:
            warnings.warn(
                f"{self.name} has no version, so its responses are never reused in another run. Give it one with version=..., "
                "and another one whenever it may answer differently.",
                UserWarning,
                stacklevel=2,
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._arguments!r})"

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the program's answer to an example.

        Raises:
            CommandError: It gave no usable output.
            ValueError: The example lacks a field that a placeholder names.
        """
        if self._workers is not None:
            return self._without_secrets(
                output_of(self._workers.ask(self._sent(example)), self.text_is, self.name)
            )
        arguments = [
            self._program,
            *(self._filled(argument, example) for argument in self._arguments[1:]),
        ]
        written = run_once(
            arguments, self._given(example), **self._where(), **self._limits, hide=self._hide
        )
        return self._without_secrets(self._read(written))

    def close(self) -> None:
        """Kill the programs that wait for work; a later call starts new ones."""
        if self._workers is not None:
            self._workers.close()

    def _read(self, written: bytes) -> dict[str, Any]:
        """Return the output that a program's standard output stands for."""
        if self._protocol == "json":
            return output_of(json_output(written, self.name), self.text_is, self.name)
        return {self.text_is: text_output(written, self.name)}

    def _optional_environment(self) -> tuple[str, ...]:
        """Return the variables that are passed on where they are set."""
        return ()

    def _is_repeatable(self) -> bool:
        return self.version is not None

    def _fingerprint(self) -> dict[str, Any]:
        return {
            "adapter": self.adapter,
            "run": list(map(shown, self._arguments)),
            "protocol": self._protocol,
            "prompt": self._prompt,
            "gives_prompt": self._gives_prompt,
            "fields": self._fields,
            "cwd": self._cwd,
            "env": {name: shown(value) for name, value in self._additions.items()},
            "version": self.version,
        }

    def _filled(self, template: str, example: Mapping[str, Any]) -> str:
        prompt = self._prompt_of(example) if f"{{{PROMPT}}}" in template else ""
        return (
            fill(template, self._instructed(example), prompt)
            .encode("utf-8", "replace")
            .decode("utf-8")
        )

    def _prompt_of(self, example: Mapping[str, Any]) -> str:
        if self._prompt is None:
            return default_prompt(example)
        return fill(self._prompt, self._instructed(example))

    def _instructed(self, example: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return an example with what is sent around its question, unless the templates name it."""
        if not isinstance(example.get("question"), str):
            return example
        return {**example, "question": asked(example["question"], example, apart=self._names)}

    def _given(self, example: Mapping[str, Any]) -> bytes:
        if self._protocol == "json":
            return json_line(self._sent(example))
        if not self._gives_prompt:
            return b""
        return self._prompt_of(example).encode("utf-8", "replace")

    def _sent(self, example: Mapping[str, Any]) -> dict[str, Any]:
        if self._fields is None:
            return dict(example)
        return {name: example[name] for name in self._fields if name in example}

    def _reads(self, names: Sequence[str]) -> tuple[str, ...] | None:
        """Return the fields of an example that can change an answer; None for all."""
        if self._protocol != "text":
            return (
                self._fields
                if self._fields is None
                else tuple(dict.fromkeys((*self._fields, *names)))
            )
        fields = list(names)
        if self._gives_prompt or PROMPT in fields:
            fields += ("context", "question") if self._prompt is None else names_in([self._prompt])
        if "question" in fields:
            fields += ASKING_FIELDS
        return tuple(dict.fromkeys(fields))

    def _where(self) -> dict[str, Any]:
        return {"cwd": self._cwd, "environment": self._environment}

    def _make_workers(self) -> Workers:
        arguments = [self._program, *(fill(argument, {}) for argument in self._arguments[1:])]
        return Workers(arguments, **self._where(), **self._limits, hide=self._hide)

    def _without_secrets(self, output: dict[str, Any]) -> dict[str, Any]:
        """Hide the variables that were passed on, should the program repeat them."""
        if not self._hide:
            return output
        return {name: _hidden(value, self._hide) for name, value in output.items()}


class CommandTransformer(Command):
    """Runs a program for a new context: text that it writes is the ``context``, for a reader to answer from.

    Arguments and behaviour are otherwise those of `Command`.
    """

    text_is = "context"
    adapter = "command-transformer"


def _found(program: str, cwd: str | None, environ: Mapping[str, str]) -> str:
    if os.path.dirname(program):
        program = os.path.join(cwd or os.curdir, program) if not os.path.isabs(program) else program
        found = shutil.which(program)
    else:
        found = shutil.which(program, path=environ.get("PATH"))
    if found is None:
        where = "there" if os.path.dirname(program) else "on the PATH"
        raise ConfigurationError(f"The program {program!r} is not {where}, or may not be executed.")
    return os.path.abspath(found)


def _check(what: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ConfigurationError(f"{what} is {value!r}, but must be one of {', '.join(choices)}.")


def _hidden(value: Any, secrets: Sequence[str]) -> Any:
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, "***")
        return value
    if isinstance(value, Mapping):
        return {name: _hidden(inner, secrets) for name, inner in value.items()}
    return [_hidden(inner, secrets) for inner in value] if isinstance(value, list) else value
