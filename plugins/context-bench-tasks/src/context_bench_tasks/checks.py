"""The mechanical check of a task: which files must have which content at the end."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from context_bench_tasks.expressions import ExpressionError, Functions


def digest_of(content: str | bytes) -> str:
    """Return the SHA-256 of a file's content, as hexadecimal digits.

    >>> digest_of("ledger")[:12]
    'fe14010b4fe8'
    """
    raw = content.encode("utf-8") if isinstance(content, str) else content
    return hashlib.sha256(raw).hexdigest()


@frozen
class HiddenTest:
    """A call whose result an agent does not see. No code is run: `Functions` computes it.

    Attributes:
        function: Name of the function.
        arguments: Its arguments.
        expected: What it has to return.
    """

    function: str
    arguments: Sequence[int]
    expected: int

    def passes(self, files: Mapping[str, str]) -> bool:
        """Return whether the function of these files returns what is expected."""
        try:
            return Functions(files).call(self.function, list(self.arguments)) == self.expected
        except ExpressionError:
            return False

    def record(self) -> dict[str, Any]:
        """Return the test as a row contains it."""
        return {
            "function": self.function,
            "arguments": list(self.arguments),
            "expected": self.expected,
        }


STATUS = "status"
REWARD = "reward"
PYTEST = "pytest"


@frozen
class CommandCheck:
    """A command that runs in a copy of the workspace, with files that an agent does not see.

    Attributes:
        words: Program and arguments; ``{tests}`` is the folder of the files.
        files: Text of each hidden file, by path.
        seconds: Seconds until it is killed, which is no pass.
        result: What tells how much is correct: ``status`` 0, the ``reward`` that it writes as Harbor reads it, or the lines of
            ``pytest`` as terminal-bench reads them.
        workdir: How the files call the workspace, such as ``/app``; then ``/tests`` and ``/logs`` are folders of the check, too.
            Empty where they call it nothing.
        variables: Variables to set.
    """

    words: Sequence[str]
    files: Mapping[str, str]
    seconds: int
    result: str = STATUS
    workdir: str = ""
    variables: Mapping[str, str] = field(factory=dict)

    def record(self) -> dict[str, Any]:
        """Return the command as a row contains it."""
        record: dict[str, Any] = {
            "words": list(self.words),
            "files": dict(self.files),
            "seconds": self.seconds,
        }
        if self.result != STATUS or self.workdir:
            record["result"] = self.result
            record["workdir"] = self.workdir
            record["variables"] = dict(self.variables)
        return record


@frozen
class Check:
    """What must be true of the files of a workspace when the agent has ended.

    Attributes:
        outputs: Digest of each file that the agent has to write, by path.
        unchanged: Digest of each input, by path: a task whose inputs were changed has failed.
        tests: Calls of functions in the files.
        command: A command to run; None for none. It is not run here.
    """

    outputs: Mapping[str, str]
    unchanged: Mapping[str, str]
    tests: Sequence[HiddenTest] = ()
    command: CommandCheck | None = None

    @classmethod
    def of_files(
        cls,
        outputs: Mapping[str, str],
        inputs: Mapping[str, str],
        tests: Sequence[HiddenTest] = (),
        command: CommandCheck | None = None,
    ) -> Check:
        """Return the check that expects these contents; an input that is also an output may change."""
        return cls(
            {path: digest_of(content) for path, content in outputs.items()},
            {path: digest_of(content) for path, content in inputs.items() if path not in outputs},
            tuple(tests),
            command,
        )

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Check:
        """Return the check that a row contains in the field ``check``."""
        tests = tuple(HiddenTest(**test) for test in record.get("tests") or ())
        command = CommandCheck(**record["command"]) if record.get("command") else None
        return cls(dict(record["outputs"]), dict(record["unchanged"]), tests, command)

    def record(self) -> dict[str, Any]:
        """Return the check as the field ``check`` of a row."""
        record: dict[str, Any] = {
            "outputs": dict(self.outputs),
            "unchanged": dict(self.unchanged),
        }
        if self.tests:
            record["tests"] = [test.record() for test in self.tests]
        if self.command is not None:
            record["command"] = self.command.record()
        return record

    def share(
        self,
        workspace: Mapping[str, str],
        files: Mapping[str, str] | None = None,
        *,
        command_share: float = 0.0,
    ) -> float:
        """Return the share of the outputs, tests and command that are correct, 0 to 1; 0 where an input was changed.

        Args:
            workspace: Digest of each file of the workspace, by path.
            files: Text of each file, by path; only tests need it.
            command_share: How much of `command` is correct, 0 to 1.
        """
        if any(workspace.get(path) != digest for path, digest in self.unchanged.items()):
            return 0.0
        outputs = sum(workspace.get(path) == digest for path, digest in self.outputs.items())
        tests = sum(test.passes(files or {}) for test in self.tests)
        has_command = self.command is not None
        correct = outputs + tests + (command_share if has_command else 0.0)
        return correct / (len(self.outputs) + len(self.tests) + has_command)

    def passes(self, workspace: Mapping[str, str], files: Mapping[str, str] | None = None) -> bool:
        """Return whether every output and test is correct and no input was changed; a command has not passed."""
        return self.share(workspace, files) == 1.0
