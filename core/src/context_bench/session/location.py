"""Where the run file of a run is, and where the runs are whose responses it may reuse."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from uuid import uuid4
from weakref import finalize

from attrs import frozen

from context_bench.plan.run_config import RunConfig
from context_bench.plugins.catalog import Catalog
from context_bench.session.provenance import provenance
from context_bench.session.stores import session_of
from context_bench.store.queries import EarlierResponses
from context_bench.store.runfile import RunFile

_LONGEST_NAME = 60


@frozen(eq=False)
class RunLocation:
    """Where a run is stored.

    Attributes:
        path: The run file; None for a temporary one, which is removed with the result.
        store: The run file of a run that is resumed; None for a new run.
        replaces_config: Whether the configuration of a resumed run replaces the stored one.
    """

    path: Path | None
    store: RunFile | None = None
    replaces_config: bool = False

    @property
    def is_kept(self) -> bool:
        """Whether the run file stays when the result is gone."""
        return self.path is not None

    def open(self, catalog: Catalog, run_id: str, recorded: Mapping[str, Any]) -> RunFile:
        """Return the run file, a new one with the recorded configuration."""
        if self.store is not None:
            if self.replaces_config:
                self.store.keep_request(recorded)
            return self.store
        if self.path is not None:
            return RunFile.create(
                self.path,
                run=run_id,
                created=now(),
                config=recorded,
                provenance=provenance(catalog),
                remote=session_of(self.path, is_new=True),
            )
        from shutil import rmtree
        from tempfile import mkdtemp

        folder = Path(mkdtemp(prefix="context-bench-"))
        path = folder / "run.sqlite"
        store = RunFile.create(
            path, run=run_id, created=now(), config=recorded, provenance={}, is_marked=False
        )
        finalize(store, rmtree, folder, ignore_errors=True)
        return store


def location_of(config: RunConfig) -> RunLocation:
    """Return where a run of ``evaluate()`` is stored; a run file that exists is resumed."""
    if config.run_file is None and config.cache_dir is None:
        return RunLocation(None)
    path = run_path(config)
    if path.exists():
        return RunLocation(path, RunFile.open(path, session_of(path)), replaces_config=True)
    return RunLocation(path)


def run_path(config: RunConfig) -> Path:
    """Return the path of the run file: the requested one, else a new TIME-ID-NAME.sqlite in the
    cache or in ``runs``."""
    if config.run_file is not None:
        return Path(config.run_file)
    parts = (*config.systems[:2], *config.datasets[:1])  # objects may have neither label nor name
    labels = [str(getattr(part, "label", None) or getattr(part, "name", "")) for part in parts]
    slug = "-".join(_slug(Path(label).name.partition(".")[0]) for label in labels if label)
    time = f"{datetime.now():%Y%m%d-%H%M%S}"
    number = uuid4().hex[:6]  # another run may start in this second
    return Path(
        config.cache_dir or "runs", f"{time}-{number}-{slug[:_LONGEST_NAME] or 'run'}.sqlite"
    )


def find_earlier(config: RunConfig) -> EarlierResponses | None:
    """Return the responses of earlier runs that a run may reuse, those of its cache included; None
    for none."""
    paths = [Path(path) for path in config.reuse]
    if config.cache_dir is not None and Path(config.cache_dir).exists():
        paths.append(Path(config.cache_dir))
    if not paths:
        return None
    from context_bench.runs import run_files

    return EarlierResponses(run_files(paths))


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name).strip("-")


def now() -> str:
    """Return the time as ISO 8601 in UTC."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
