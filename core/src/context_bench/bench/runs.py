"""Runs of requests: begun in a new run file, or finished in an old one."""

from __future__ import annotations

import os
import sys
import warnings as python_warnings
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import finalize

from attrs import evolve

from context_bench.bench.entries import Examples
from context_bench.bench.parameters import numbered
from context_bench.bench.requests import PARAMETERS, Request, called_here
from context_bench.bench.run import Place, Run, Warnings, now
from context_bench.bench.run_parts import with_flags_of_parts
from context_bench.errors import StoreError, UnknownNameError
from context_bench.plugins.catalog import Catalog, install_line
from context_bench.plugins.settings import PluginSettings
from context_bench.results import EvalResult
from context_bench.runner.parts import Stream
from context_bench.store.reader import told_as_damage
from context_bench.store.runfile import RunFile

if TYPE_CHECKING:
    from context_bench.store.questions import EarlierResponses


def run(
    catalog: Catalog, request: Request, path: Path, *, on_warning: Callable[[str], None] | None = None
) -> EvalResult:
    """Run a request into a new run file.

    Args:
        catalog: What is installed.
        request: What to run.
        path: Where the run file is written.
        on_warning: Is told what the user should know; on any thread.

    Raises:
        ContextBenchError: Something is wrong with the request.
        RunStoppedError: The run ended early and can be resumed.
    """
    earlier = _earlier(map(Path, request.reuse)) if request.reuse else None
    return Run(catalog, request, Place(path), Warnings(on_warning)).execute(earlier)


def resume(
    catalog: Catalog,
    path: Path,
    *,
    change: Callable[[Request], Request] = lambda request: request,
    on_warning: Callable[[str], None] | None = None,
) -> EvalResult:
    """Finish the run of a run file: rows that are answered are not asked again, failed ones are.

    Args:
        catalog: What is installed.
        path: The run file; nothing else is needed.
        change: Changes limits for the rest of the run, such as ``max_cost``.
        on_warning: As for :func:`run`.

    Raises:
        StoreError: The file is no run file, or was written by ``evaluate()`` with objects that no file can keep.
        ContextBenchError: Something that the run needs is not there any more.
        RunStoppedError: The run ended early again.
    """
    store = RunFile.open(path)
    recorded = store.run()
    again = f"Call evaluate() again with run_file={str(path)!r} and the same arguments."
    if "systems" not in recorded["config"]:
        raise StoreError(f"{path} was written by evaluate(), which holds objects that no file can keep. {again}")
    with told_as_damage(path):
        request = Request.from_dict(recorded["config"])
    request = change(request)
    absent = [f"the {part} {one}" for part, one in request.absent()]
    if absent:
        raise StoreError(
            f"{path} was written by evaluate() with objects that no file can keep: {', '.join(absent)}. {again}"
        )
    told = Warnings(on_warning)
    begun = Run(catalog, request, Place(path, store), told)
    _check_origins(store, begun.streams, told)
    return begun.execute()


def evaluate_request(arguments: Mapping[str, Any]) -> EvalResult:
    """Do what :func:`~context_bench.bench.api.evaluate` promises; the arguments are its own, by name."""
    from context_bench.plugins.discovery import remembered_catalog

    on_warning = arguments["on_warning"]
    told = Warnings(on_warning or _warn, on_one_thread=on_warning is None)
    settings = PluginSettings.read(environ=os.environ)
    catalog = remembered_catalog(settings)
    settings.require_known(component.names for component in catalog)
    request = request_of_arguments(catalog, arguments)
    if request.evaluators is None:
        from context_bench.plugins.wiring import broken_plugins

        for line in broken_plugins(catalog):
            told.warn(line)
    cache = None if arguments["cache_dir"] is None else Path(arguments["cache_dir"])
    earlier = _earlier([cache]) if cache is not None and cache.is_dir() else None
    result = Run(catalog, request, _place(request, cache), told).execute(earlier)
    told.catch_up()  # on the caller's thread: a warning may be an error there
    return result


def request_of_arguments(catalog: Catalog, arguments: Mapping[str, Any]) -> Request:
    """Return what the arguments of ``evaluate()`` ask for.

    Raises:
        ConfigurationError: One of them is none of its parameter's kind.
    """
    values = {name: arguments[one.python] for name, one in PARAMETERS.items() if one.python and one.python in arguments}
    request = with_flags_of_parts(catalog, Request(**values), _flags_of(catalog, arguments["flags"]))
    if arguments["dataset"] is None:
        return request
    first = arguments["dataset"]
    return evolve(request, datasets=(*_first(first), *request.datasets))


def run_path(request: Request) -> Path:
    """Return where the run file of the command line lies: as asked for, else ``runs/TIME-NAME.sqlite``, which is new."""
    if request.run_file is not None:
        return Path(request.run_file)
    names = [
        Path(spec.label or spec.name).name.partition(".")[0] for spec in (*request.systems[:2], *request.datasets[:1])
    ]
    slug = "-".join("".join(c if c.isalnum() else "-" for c in name).strip("-") for name in names)
    stem = f"{datetime.now():%Y%m%d-%H%M%S}-{slug[:60] or 'run'}"
    return next(path for one in numbered(stem, "-") if not (path := Path("runs", f"{one}.sqlite")).exists())


def _earlier(places: Iterable[Path]) -> EarlierResponses:
    from context_bench.runs import run_files
    from context_bench.store.questions import EarlierResponses

    return EarlierResponses(run_files(places))


def _flags_of(catalog: Catalog, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of arguments that are named after flags of run parts, by flag.

    Raises:
        UnknownNameError: No installed run part declares such a flag.
    """
    from context_bench.plugins.first_party import FLAGS

    declared = {
        option.flag.removeprefix("--").replace("-", "_"): option.flag
        for component in catalog.of_kind("run_parts")
        for option in component.said.options.values()
        if option.flag
    }
    for name in arguments:
        if name not in declared:
            owner = FLAGS.get(f"--{name.replace('_', '-')}", ("", ""))[1]
            hint = f"It comes with {owner}: `{install_line(owner)}`." if owner else ""
            here = called_here(name, lambda one: one.python)
            known = [one.python for one in PARAMETERS.values() if one.python]
            raise UnknownNameError("argument of evaluate()", name, [] if here else [*known, *declared], hint or here)
    return {declared[name]: value for name, value in arguments.items() if value is not None}


def _first(dataset: Any) -> tuple[Any, ...]:
    return (dataset,) if isinstance(dataset, str) or not isinstance(dataset, Iterable) else (Examples(None, dataset),)


def _place(request: Request, cache: Path | None) -> Place:
    if request.run_file is not None:
        path = Path(request.run_file)
        return Place(path, RunFile.open(path), is_asked_anew=True) if path.exists() else Place(path)
    if cache is not None:
        return Place(cache / f"{now().replace(':', '').replace('+0000', 'Z')}-{uuid4().hex[:8]}.sqlite")
    folder = _TemporaryFolder()
    return Place(folder.path / "run.sqlite", owner=folder)


class _TemporaryFolder:
    """A folder that goes when nobody refers to it any more, quietly."""

    def __init__(self) -> None:
        from shutil import rmtree
        from tempfile import mkdtemp

        self.path = Path(mkdtemp(prefix="context-bench-"))
        finalize(self, rmtree, self.path, ignore_errors=True)


def _warn(line: str) -> None:
    """Issue a warning at the line that called :func:`~context_bench.bench.api.evaluate`."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "context_bench":
        frame, level = frame.f_back, level + 1
    python_warnings.warn(line, UserWarning, stacklevel=level)


def _check_origins(store: RunFile, streams: Iterable[Stream], warnings: Warnings) -> None:
    """Tell of datasets that are not in the edition any more which the run began with."""
    before = {entry["number"]: entry["description"] for entry in store.datasets()}
    for stream in streams:
        was, now_is = before.get(stream.number, {}), stream.description
        for name in ("source", "revision"):
            old, new = was.get(name), now_is.get(name)
            if old is not None and old != new:
                warnings.warn(
                    f"Dataset {stream.label or stream.fallback!r} has changed since the run began (another {name}): examples "
                    "that differ are asked again."
                )
