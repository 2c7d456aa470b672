"""What can go wrong between us and a program.

    CommandError              a call that gave no usable output
     +- CommandMissingError       the program cannot be started
     +- CommandExitError          it ended with another status than 0, by a signal, or before it answered
     +- CommandTimeoutError       it did not answer in time, and was killed
     +- CommandOutputError        what it wrote is no answer

Every message is one line. What the program wrote to standard error lately stands in the traceback.
"""

from __future__ import annotations


class CommandError(RuntimeError):
    """A program gave no usable output."""


class CommandMissingError(CommandError):
    """The program cannot be started."""


class CommandExitError(CommandError):
    """The program failed, or ended before it answered.

    Attributes:
        output: What it had written to standard output.
    """

    def __init__(self, message: str, output: bytes = b"") -> None:
        self.output = output
        super().__init__(message)


class CommandTimeoutError(CommandError):
    """The program did not answer in time."""


class CommandOutputError(CommandError):
    """What the program wrote is no answer."""


class StandardError(Exception):
    """What a program wrote to standard error: the cause of another error, never raised by itself."""
