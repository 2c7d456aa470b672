"""Every hook of a run. An extension implements any of them.

An *extension* is a class, a module or an object with functions that have the names of hooks and are
marked with :func:`hookimpl`. A function names only the arguments that it uses::

    from context_bench.hookspecs import hookimpl

    class FirstErrors:
        def __init__(self, limit: int = 3) -> None:
            self._left = limit

        @hookimpl
        def should_stop(self, row):
            self._left -= row.failed
            return "too many errors" if self._left == 0 else None

The package names the class in its entry points, and declares its hooks and options in
``context_bench_plugin.toml``::

    [project.entry-points."context_bench.hooks"]
    first-errors = "acme_errors:FirstErrors"

    [hooks.first-errors]
    summary = "Stop after the first errors"
    class = "FirstErrors"
    implements = ["should_stop"]

    [hooks.first-errors.options.limit]
    type = "int"
    flag = "--first-errors"
    default = 3
    help = "Errors that end the run"

**When an extension is active.** The user names it (``--extension first-errors``), or gives one of
its options (``--first-errors 5``, or a table ``[extensions.first-errors]`` in the project file), or
its manifest has ``default``. A class is built once a run, with the options as keyword arguments. A
module or an object is used as it is.

**Order.** Requested extensions come before those that are active by default. Equals are in the
order of their ids. ``hookimpl(tryfirst=True)`` and ``hookimpl(trylast=True)`` move an
implementation. Wrappers are refused.

**Errors.** There are two kinds of hooks, and each docstring below names the kind:

- A hook that *decides* stops the run when it raises. A ``ContextBenchError`` is shown as it is. Any
  other error is shown with the id of the extension and the name of the hook. Finished rows are
  saved, and the run can be resumed.
- A hook that *watches* never stops the run. When it raises, the watching hooks of its extension are
  not called any more, and a warning with the error is printed and stored in the run file.

**Threads.** Where a docstring names no thread, the hook is called on the thread that started the
run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

if TYPE_CHECKING:
    from context_bench.catalog import Catalog
    from context_bench.config import RunConfig
    from context_bench.plugins.wiring import DatasetPlan
    from context_bench.protocols import (
        AnswerSource,
        BuiltSystem,
        Call,
        DerivedSystemSpec,
        Executor,
        RateLimiter,
        RunStore,
        System,
        SystemSummary,
        TableLayout,
    )
    from context_bench.records import EvalRow, Usage
    from context_bench.results.result import EvalResult

PROJECT = "context_bench"
"""Name of the project in pluggy."""

Function = TypeVar("Function", bound=Callable[..., Any])


class Hook(NamedTuple):
    """A hook.

    Attributes:
        name: Its name.
        watches: Whether it watches; a hook that does not watch decides.
        specification: The function with its arguments and its docstring.
    """

    name: str
    watches: bool
    specification: Callable[..., Any]


HOOKS: dict[str, Hook] = {}
"""Every hook by name, in the order of this module, which is the order of a run."""


@overload
def hookimpl(function: Function) -> Function: ...


@overload
def hookimpl(
    *, tryfirst: bool = False, trylast: bool = False
) -> Callable[[Function], Function]: ...


def hookimpl(
    function: Function | None = None, *, tryfirst: bool = False, trylast: bool = False
) -> Function | Callable[[Function], Function]:
    """Mark a function as the implementation of the hook of its name.

    Args:
        function: The function.
        tryfirst: Whether it is called before the others.
        trylast: Whether it is called after the others.
    """
    # pluggy takes 15 ms or more to import. Reading manifests needs the names of the hooks, but not
    # pluggy.
    import pluggy

    marker = pluggy.HookimplMarker(PROJECT)(tryfirst=tryfirst, trylast=trylast)
    return marker if function is None else marker(function)


def _decides(specification: Function) -> Function:
    HOOKS[specification.__name__] = Hook(
        specification.__name__, watches=False, specification=specification
    )
    return specification


def _watches(specification: Function) -> Function:
    HOOKS[specification.__name__] = Hook(
        specification.__name__, watches=True, specification=specification
    )
    return specification


# Before the run


@_decides
def expand_request(request: RunConfig, catalog: Catalog) -> RunConfig | None:
    """Turn what a request says in short into systems: a sweep, options that systems share, or a
    baseline or reference that is none of the systems.

    Decides. Each extension receives what the previous extension returned. Called once where a
    request is made: by ``evaluate()`` or by the command line, also for ``--dry-run`` and ``lock``.
    Not called when a run is resumed. The extension is built for this call alone. With
    ``default = "shorthand"`` it is active where the request says something in short, and the lock
    file does not name it: its result is part of the plan.

    Args:
        request: What the user requested. Change a copy with ``attrs.evolve``.
        catalog: What is installed.

    Returns:
        A request whose ``baseline`` and ``reference`` are labels of its ``systems`` or None, whose
        ``system_defaults`` are empty, and in which no option that is a number has several values;
        None leaves it as it is.
    """


@_decides
def prepare_systems(systems: Sequence[Any], request: RunConfig) -> Sequence[Any] | None:
    """Add, remove or change the systems of a run, before any system is built.

    Decides. Each extension receives what the previous extension returned.

    Args:
        systems: The systems as the user requested them. Each has ``name``, ``options``, ``label``
            and ``steps``. Change one with ``attrs.evolve``. An object that ``evaluate()`` was given
            is there as it is.
        request: Everything that the user requested. Do not change it.

    Returns:
        The systems of the run; None leaves them as they are.
    """


@_decides
def replace_systems(
    systems: Sequence[BuiltSystem], warn: Callable[[str], None]
) -> Sequence[Any] | None:
    """Replace the systems of a run after they were built, and before the first call.

    Decides. Each extension receives what the previous extension returned.

    Args:
        systems: The systems in their order, each with its key. Copy a system before you change it.
        warn: Prints a line and stores it in the run file.

    Returns:
        As many systems in the same order, each with ``name`` and ``process``; None leaves them as
        they are. The keys of the rows follow from the ``fingerprint`` of what is returned.
    """


@_decides
def derived_systems(systems: Mapping[str, System]) -> Iterable[DerivedSystemSpec] | None:
    """Add systems whose rows are computed from the rows of another system, as matched controls are.

    Decides. The results of all extensions are used. Derived rows are computed after all other rows,
    and scored as they are.

    Args:
        systems: The systems of the run by label.

    Returns:
        What to add. A label that is used already, or a source that the run does not have, is an
        error.
    """


@_decides
def describe_system(system: SystemSummary) -> Mapping[str, Any] | None:
    """Add facts about a system to the run file, such as the price of its model.

    Decides. The results of all extensions are merged. Called once for each system.

    Args:
        system: The system.

    Returns:
        Values that JSON can hold, by a key of your own; None adds nothing.
    """


@_decides
def adjust_wiring(plan: DatasetPlan) -> DatasetPlan | None:
    """Change which evaluators score the rows of a dataset.

    Decides. Each extension receives what the previous extension returned. Called once for each
    dataset, when its plan is made: before the first call, or when a stream brings a new label. Also
    called by ``--dry-run``, ``lock`` and ``explain``.

    Args:
        plan: The plan, which is frozen: change a copy with ``attrs.evolve``. Each of its
            ``decisions`` has ``evaluator``, ``wired`` and ``reason``.

    Returns:
        A plan of the same dataset with decisions on the same evaluators; None leaves it as it is.
        The run file and the lock file hold the changed plan.
    """


@_decides
def answer_source() -> AnswerSource | None:
    """Provide what replaces a missing gold answer where the run has ``--reference-from``.

    Decides. The first result that is not None is used; without one, such a run is refused.

    Returns:
        An object with the methods of :class:`~context_bench.protocols.AnswerSource`, or None.
    """


@_decides
def executor(address: str, cores: int, resources: Mapping[str, float]) -> Executor | None:
    """Provide what does batches of rows, for ``--executor NAME:ADDRESS``.

    Decides. Only the extension that the user names is asked.

    Args:
        address: What follows the name of the extension; empty where nothing does.
        cores: How many processors this process may use: its affinity, and the quota of its control
            group.
        resources: The most that a system of the run needs of each kind, such as ``gpus``; empty
            where no system declares any.

    Returns:
        An object with the methods of :class:`~context_bench.protocols.Executor`, or None.
    """


@_decides
def store(address: str, tables: Sequence[TableLayout]) -> RunStore | None:
    """Provide the runs at an address, such as those of a database.

    Decides. Only the extension whose name is the scheme of the address is asked.

    Args:
        address: The address as the user wrote it, without the name of a run. It may hold a
            password, which is never stored or shown.
        tables: The tables of a run.

    Returns:
        An object with the methods of :class:`~context_bench.protocols.RunStore`, or None.
    """


# The run starts


@_watches
def run_started(
    config: Mapping[str, Any],
    systems: Sequence[SystemSummary],
    run_file: Path,
    warn: Callable[[str], None],
) -> None:
    """Observe the start of a run or of a resumed run.

    Watches. Called once before the first call.

    Args:
        config: A copy of what was requested, without secrets.
        systems: The systems in their order.
        run_file: Path of the run file.
        warn: Prints a line and stores it in the run file. Call it from any thread, also later.
    """


@_decides
def before_first_call(
    systems: Sequence[SystemSummary],
    run_file: Path,
    score_keys: Sequence[str] | None,
    earlier_cost: float,
    max_call_cost: float | None,
) -> Iterable[str] | None:
    """Refuse a run, or prepare to decide on its calls and rows.

    Decides. Called once, after ``run_started``.

    Args:
        systems: The systems in their order.
        run_file: Path of the run file, where rows of earlier sessions can be read with
            ``context_bench.runs.open_run``.
        score_keys: Keys that scores of the run can have; None where an evaluator declares none.
        earlier_cost: Money that earlier sessions of the run spent; 0 for a new run.
        max_call_cost: Cost of their most expensive call; None where it is not known.

    Returns:
        Lines that the user should read, or None.
    """


# Each call


@_decides
def rate_limiter(
    endpoint: str,
    requests_per_minute: float | None,
    tokens_per_minute: float | None,
    learned: Mapping[str, Any],
) -> RateLimiter | None:
    """Provide the rate limiter of an endpoint.

    Decides. The first result that is not None is used. Called once for each endpoint, on the thread
    of its first call.

    Args:
        endpoint: Its address; empty for a system that has none.
        requests_per_minute: The limit that the user gave; None without one.
        tokens_per_minute: The same for tokens, input and output together.
        learned: What ``learned()`` of the rate limiter returned at the end of an earlier session;
            empty without one.

    Returns:
        An object with the methods of :class:`~context_bench.protocols.RateLimiter`, or None.
    """


@_decides
def admit_call(call: Call) -> None:
    """Allow, delay or refuse a call.

    Decides. Called before each attempt, and before each turn of a conversation. **Called on several
    threads at once**, never on an event loop: it may block to delay the call. The call is made when
    the implementations of all extensions have returned.

    Args:
        call: The call.

    Raises:
        CallRefusedError: The run stops with this message, and can be resumed.
    """


@_decides
def call_cost(
    usage: Usage | None, models: Sequence[str | None]
) -> tuple[float | None, str | None] | None:
    """Return what a response cost, instead of what its endpoint reports.

    Decides. The first result that is not None is used. Called on several threads at once.

    Args:
        usage: The tokens that the response used and the cost that its endpoint reports; None where
            neither is known.
        models: Names of the model, the most exact name first.

    Returns:
        The cost and the source of the cost. ``(None, None)`` means that the cost is unknown. None
        leaves it to the next extension, and in the end to the endpoint.
    """


@_decides
def cost_currency() -> str | None:
    """Provide the currency of ``call_cost``.

    Decides. The first result that is not None is used. Called once before the first call.

    Returns:
        Its name, such as ``USD``, or None.
    """


@_decides
def call_settled(call: Call, usage: Usage | None, cost: float | None) -> None:
    """Learn what a call used.

    Decides. Called once for each call that the ``admit_call`` of the same extension admitted, also
    when another extension then refused it. An extension without ``admit_call`` learns of every
    call. Called on several threads at once.

    Args:
        call: The call.
        usage: The tokens that it used; None where no response came.
        cost: What it cost; None where it is not known.
    """


@_decides
def drive_conversation(system: System) -> System | None:
    """Provide what holds conversations with a system that has ``process_turn`` or
    ``process_conversation``.

    Decides. The first result that is not None is used. Called once for each such system that meets
    a row with ``multi_turn``.

    Args:
        system: The system.

    Returns:
        A system whose ``converse(example, turns)`` returns the output of a row, given the
        :class:`~context_bench.protocols.Turns` of the row; ``aconverse`` is the same, async, and
        needed where it has ``aprocess``. Its ``process`` takes rows of both kinds. None leaves it
        to the next extension.
    """


# Each row


@_watches
def row_finished(row: EvalRow) -> bool | None:
    """Observe a row that was saved.

    Watches. Called on the thread that writes the run file, in the order of the commits: be quick.

    Args:
        row: A copy of the row.

    Returns:
        False when this implementation needs no further row. The run is faster when no extension
        needs rows.
    """


@_decides
def should_stop(row: EvalRow) -> str | None:
    """Stop the run after a row was saved.

    Decides. Called on the thread that writes the run file, in the order of the commits: be quick.
    The run stops with the first reason. It can be resumed.

    Args:
        row: The row.

    Returns:
        Why the run stops; None lets it continue.
    """


# The run ends


@_watches
def run_finished(status: str, rows: int, failed: int) -> None:
    """Observe the end of a run.

    Watches. Called once, also when the run was stopped, if ``run_started`` was called.

    Args:
        status: ``finished``, ``interrupted`` or ``stopped``.
        rows: The number of rows in the run file.
        failed: How many of the rows failed.
    """


@_decides
def exit_code(result: EvalResult) -> int | None:
    """Set the exit code of a complete run.

    Decides. The highest exit code of all extensions is used. ``evaluate()`` returns it as
    ``result.config["exit_code"]``.

    Args:
        result: The result.

    Returns:
        An exit code from 0 to 255, or None.
    """


def implemented_hooks(extension: Any) -> frozenset[str]:
    """Return the names of the functions of an extension that are marked with :func:`hookimpl`."""
    import pluggy

    manager = pluggy.PluginManager(PROJECT)
    names = (name for name in dir(extension) if not name.startswith("__"))
    return frozenset(name for name in names if manager.parse_hookimpl_opts(extension, name))
