"""Every deliberate error of context-bench.

    ContextBenchError                  exit code 2 unless a child says otherwise
     +- ConfigurationError             an option, a value or a combination that cannot work
     |   +- UnknownNameError           a name that does not exist, with a suggestion
     |   +- BadValueError              a value that its parameter does not take
     |   +- MissingValueError          a value that a command needs
     |   +- ExclusiveOptionsError      options that cannot be used together
     |   +- UnusedOptionError          an option that has no effect
     |   +- UntrustedFileError         a file of another installation that would run or send
     +- PluginError                    a plugin that is needed cannot be used
     +- WiringError                    evaluators and rows do not fit together
     |   +- LockDriftError             the wiring is not the one that was locked
     +- DatasetError                   a dataset that cannot be read
     |   +- SourceChangedError         a file that changed while a run read it
     +- MetricError                    a metric that cannot be computed as asked
     +- StoreError                     a run file that cannot be written or trusted
     |   +- UnstorableError            a value that has no stable written form
     +- CallRefusedError               an extension refuses a call
     +- InconclusiveScoreError         an evaluator could not score: the row fails, without a score
     +- RunStoppedError                a run that ended early and can be resumed

A message says what is wrong, where, and what to do. ``code`` is a short stable name of the kind of
error.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class ContextBenchError(Exception):
    """Base of every error that context-bench raises on purpose; the command line prints it without
    a traceback.

    Attributes:
        exit_code: Exit code of the command line.
        code: Short stable name of the kind of error, for programs.
        can_resume: Whether a run that it stopped can be finished with ``resume``.
    """

    exit_code = 2
    code = "error"
    can_resume = True


def message_of(error: BaseException) -> str:
    """Return the message of an error of any class."""
    try:
        return "".join(str(error))  # a plain text, not of a subclass
    except (Exception, SystemExit, GeneratorExit):  # noqa: BLE001 - the class is foreign code
        return f"its message cannot be read: {type(error).__name__}.__str__ failed"


def exit_code_of(error: BaseException, usual: int = 2) -> int:
    """Return the exit code of an error's class, or the usual one where that is not valid.

    Only a :class:`RunStoppedError` without another cause may have exit code 0: an extension may
    stop a run whose result is known.
    """
    code = getattr(error, "exit_code", usual)
    minimum = 0 if isinstance(error.__cause__ or error, RunStoppedError) else 1
    return code if type(code) is int and minimum <= code <= 255 else usual


def reason_of(error: BaseException) -> str:
    """Return the message of an error, after its class where the message alone is not clear."""
    message = message_of(error)
    if isinstance(error, OSError | ValueError | ContextBenchError):
        return message
    return f"{type(error).__name__}: {message}"


class ConfigurationError(ContextBenchError):
    """An option, a value or a combination of them cannot work."""

    code = "configuration"


def misfit(thing: object, kind: str, lacks: str) -> ConfigurationError:
    """Return the error for an object that is not of a kind; a class must be called first.

    A package whose objects can be converted has a function with a known name for it, such as
    ``as_evaluator``.
    """
    import sys

    reason = "it is a class, which must be called first" if isinstance(thing, type) else lacks
    article = "an" if kind[0] in "aeiou" else "a"
    packages = dict.fromkeys(str(cls.__module__).partition(".")[0] for cls in type(thing).__mro__)
    converters = [
        f" {package}.as_{kind}() makes one of it."
        for package in packages
        if hasattr(sys.modules.get(package), f"as_{kind}")
    ]
    return ConfigurationError(f"{thing!r} is not {article} {kind}: {reason}.{''.join(converters)}")


class UnknownNameError(ConfigurationError):
    """A name does not exist.

    Attributes:
        kind: What was looked for, such as ``"evaluator"`` or ``"key of [run] in a.toml"``.
        name: The name as it was given.
        known: The names that would have worked.
    """

    code = "unknown-name"

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str = "") -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(sorted(set(known)))
        noun, space, place = kind.partition(" of ") if " of " in kind else kind.partition(" in ")
        sentences = [
            f"Unknown {noun} {name!r}{space}{place}.",
            did_you_mean(name, self.known),
            hint,
        ]
        super().__init__(" ".join(filter(None, sentences)))


class BadValueError(ConfigurationError):
    """A parameter does not take a value.

    Attributes:
        name: The parameter as the user wrote it: a flag, a key or an argument.
        wanted: What it takes, such as ``"a positive integer"``.
        value: The value that was given.

    Args:
        shown: The value as the message shows it, without secrets; None shows all of it.
    """

    code = "bad-value"

    def __init__(self, name: str, wanted: str, value: object, shown: str | None = None) -> None:
        self.name = name
        self.wanted = wanted
        self.value = value
        super().__init__(f"{name} must be {wanted}, got {repr(value) if shown is None else shown}.")


class MissingValueError(ConfigurationError):
    """A command needs a value that is missing.

    Attributes:
        what: What is missing, such as ``"dataset"``.
    """

    code = "missing-value"

    def __init__(self, what: str, remedy: str) -> None:
        self.what = what
        super().__init__(f"No {what} given. {remedy}")


class ExclusiveOptionsError(ConfigurationError):
    """Options cannot be used together.

    Attributes:
        names: The options that were given.
    """

    code = "exclusive-options"

    def __init__(self, *names: str, reason: str = "") -> None:
        self.names = names
        message = f"{' and '.join(names)} cannot be used together."
        super().__init__(f"{message} {reason}".rstrip())


class UntrustedFileError(ConfigurationError):
    """A run file that this installation did not write asks to run, call or send something.

    Attributes:
        path: The file.
        actions: What the file would run or send, a line each.
    """

    code = "untrusted-file"

    def __init__(self, path: object, command: str, actions: Iterable[str]) -> None:
        self.path = path
        self.actions = tuple(actions)
        lines = "".join(f"\n  {line}" for line in self.actions) or "\n  nothing"
        super().__init__(
            f"{path} was not written by this installation. '{command}' would use what the file "
            f"names:{lines}\n"
            f"Read these lines. Continue with: context-bench {command} {path} --trust"
        )


class UnusedOptionError(ConfigurationError):
    """An option has no effect in this run.

    Attributes:
        name: The option as the user wrote it.
        needs: What would use it, such as ``"--sample"``; several, comma-separated.
    """

    code = "unused-option"

    def __init__(self, name: str, needs: str) -> None:
        self.name = name
        self.needs = needs
        super().__init__(f"{name} has no effect without {needs}. Leave it out, or add one.")


class NothingToCompressError(ConfigurationError):
    """A context compressor is asked about examples that have no context.

    Attributes:
        system: Label of the system.
        dataset: The dataset, as a sentence names it.
    """

    code = "nothing-to-compress"
    can_resume = False

    def __init__(self, system: str, dataset: str) -> None:
        self.system = system
        self.dataset = dataset
        super().__init__(
            f"The context compressor {system!r} has nothing to compress in {dataset}: its examples "
            "have a question and no context. Choose a dataset with contexts, or pass "
            "--compress-question to compress the questions themselves."
        )


class PluginError(ContextBenchError):
    """A plugin that this run needs cannot be used."""

    code = "plugin"


class WiringError(ContextBenchError):
    """Evaluators, datasets and rows do not fit together."""

    code = "wiring"


class LockDriftError(WiringError):
    """The wiring of this run differs from the locked one."""

    code = "lock-drift"


class DatasetError(ContextBenchError):
    """A dataset cannot be read, or one of its rows is not an example."""

    code = "dataset"


class DuplicateIdError(DatasetError):
    """Two different examples of a dataset have one id: no run of it can be finished."""

    code = "duplicate-id"
    can_resume = False


class SourceChangedError(DatasetError):
    """The file of a dataset changed while a run read it, so that the run is not complete.

    Attributes:
        label: The label of the dataset.
    """

    exit_code = 3
    code = "source-changed"

    def __init__(self, label: str) -> None:
        self.label = label
        super().__init__(
            f"The source of dataset {label!r} changed while the run read it: rows may be missing, "
            "or come from two versions. Finish the run on what the source is now, or run it again."
        )


class MetricError(ContextBenchError):
    """A metric cannot be computed as requested."""

    code = "metric"


class StoreError(ContextBenchError):
    """A run file cannot be written, read or trusted."""

    code = "store"


class UnstorableError(StoreError):
    """A value has no stable written form, so it can be neither stored nor hashed.

    Attributes:
        path: Path of the value in the example or output.
    """

    code = "unstorable"

    def __init__(self, path: str, value: object, why: str = "") -> None:
        self.path = path
        if why:
            super().__init__(f"{path or 'the value'} {why}, so it cannot be stored.")
            return
        kind = type(value)
        super().__init__(
            f"{path or 'the value'} is of type {kind.__module__}.{kind.__qualname__}, which has no "
            "stable written form. Use text, numbers, booleans, lists, mappings, bytes, dates or "
            "decimals."
        )


class CallRefusedError(ContextBenchError):
    """An extension refuses a call; the run stops with this reason, and can be resumed."""

    code = "call-refused"


class InconclusiveScoreError(ContextBenchError):
    """An evaluator ran out of time, or lost its server or process, before it had a score.

    Evaluators raise it. The row fails for this evaluator and stores the cause. The failure is never
    reused, and a rescore calls the evaluator again. It is not a zero, which is a measured score,
    and not unscored, which is for rows with nothing to score.
    """

    code = "inconclusive-score"


class LostExecutorError(ContextBenchError):
    """What does the rows of a run is lost, and did not come back in time.

    Executors raise it of batches. Finished rows are saved, and the run can be resumed.
    """

    exit_code = 3
    code = "lost-executor"


class LostStoreError(StoreError):
    """The store of a run does not answer any more, such as a database after a lost connection.

    Committed rows are there, and the run can be resumed.
    """

    exit_code = 3
    code = "lost-store"


class ChangedRunFileError(StoreError):
    """A run file was changed while it was read, such as by a session that began or ended.

    Attributes:
        path: The run file.
    """

    code = "changed-run-file"

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"The run file {path} was changed while it was read. Read it again.")


class RunStoppedError(ContextBenchError):
    """A run ended before its last row and can be resumed.

    Attributes:
        path: The run file to go on with; None when no row was answered or has failed.
    """

    code = "stopped"

    def __init__(self, message: str, path: str | None = None, exit_code: int = 2) -> None:
        self.path = path
        self.exit_code = exit_code
        super().__init__(message)


_LONGEST_LIST = 12


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the closest known names, or all known names when none is close and
    they are few."""
    import difflib

    names = list(known)
    by_lower = {candidate.lower(): candidate for candidate in names}
    matches = difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.6)
    close = [by_lower[match] for match in matches if _is_close(name.lower(), match)]
    if close:
        return f"Did you mean {' or '.join(repr(candidate) for candidate in close)}?"
    if 0 < len(names) <= _LONGEST_LIST:
        return f"Choose from: {', '.join(names)}."
    return ""


def _is_close(name: str, candidate: str) -> bool:
    """Return whether two names share the first letter, or differ in a third of their letters at
    most."""
    import difflib

    if name[:1] == candidate[:1]:
        return True
    matcher = difflib.SequenceMatcher(a=name, b=candidate)
    same = sum(block.size for block in matcher.get_matching_blocks())
    longest = max(len(name), len(candidate))
    return 3 * (longest - same) <= longest
