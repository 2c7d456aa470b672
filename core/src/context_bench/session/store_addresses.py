"""Runs in a store, named by an address such as ``postgresql://HOST/DATABASE#RUN``.

There are two entry points: the words of a command line, and what ``evaluate()`` and ``open()`` are
given. What names a run of a store becomes the path of its local copy, which has caught up, so no
command and no package knows of stores. A session that writes asks
:mod:`context_bench.session.stores` whether a path is such a copy.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Thread
from time import sleep

from context_bench.console import warn
from context_bench.errors import ConfigurationError, StoreError, message_of
from context_bench.installation import install_hint
from context_bench.plan.extensions import ActiveExtension
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.catalog_cache import remembered_catalog
from context_bench.plugins.settings import PluginSettings
from context_bench.protocols import RunStore
from context_bench.session.hooks import RunHooks
from context_bench.session.stores import folder_of, known_store, new_run, place_of
from context_bench.store.copies import catch_up, remove

STORE_OPTION = "--store"
RUN_FILE_OPTION = "--run-file"
_ADDRESS = re.compile(
    r"(?P<option>--[a-z-]+=)?(?P<store>(?P<scheme>[a-z][a-z0-9+.-]*)://.*?)(?:#(?P<run>[^#/@]*))?",
    re.DOTALL,
)
_FIRST_PARTY = {"postgresql": "context-bench-postgres"}
"""The package that provides the stores of a scheme."""
_BETWEEN_LOOKS = 2.0
"""Seconds after which the copies of a store that is looked at catch up again."""


def located(words: Sequence[str]) -> list[str]:
    """Return the words of a command line with the paths of local copies for the addresses of runs.

    An address without the name of a run becomes the folder of the copies of all its runs, which
    then follow the store. After ``--store`` it stays an address, without credentials.

    Raises:
        ContextBenchError: A store cannot be reached, or has no such run.
    """
    return list(_located(words))


def _located(words: Sequence[str]) -> Iterator[str]:
    catalog: Catalog | None = None
    for before, word in zip(("", *words), words):
        found = _ADDRESS.fullmatch(word)
        if found is None or found["scheme"] in ("http", "https"):
            yield word
            continue
        if catalog is None:
            catalog = remembered_catalog(PluginSettings.read(environ=os.environ))
        if not _is_store(catalog, found["scheme"]):
            yield word
            continue
        option, run = found["option"] or "", found["run"] or ""
        store = _open(catalog, found["scheme"], found["store"])
        last_option = option.removesuffix("=") or before
        if last_option == STORE_OPTION:
            if run:
                raise ConfigurationError(
                    f"{STORE_OPTION} takes the address of a store; name the run with "
                    f"{RUN_FILE_OPTION} {run}."
                )
            yield f"{option}{store.address}"
        elif last_option == RUN_FILE_OPTION:
            yield f"{option}{new_run(store.address, run)}"
        elif run:
            yield f"{option}{_copy_of(store, run)}"
        else:
            yield f"{option}{_copies_of(store)}"


def local_copy(address: str, *, may_be_new: bool = False) -> Path:
    """Return the local copy of a run, which has caught up, by its address; what is no address of a
    store is the path itself.

    Args:
        address: The address.
        may_be_new: Whether a run that the store does not have is one that is written now; the path
            does not exist then.

    Raises:
        ContextBenchError: The store cannot be reached, or has no such run.
    """
    found = _ADDRESS.fullmatch(address)
    if found is None or found["scheme"] in ("http", "https"):
        return Path(address)
    catalog = remembered_catalog(PluginSettings.read(environ=os.environ))
    if not _is_store(catalog, found["scheme"]):
        return Path(address)
    store = _open(catalog, found["scheme"], found["store"])
    run = found["run"]
    if not run:
        raise ConfigurationError(f"Name a run of {store.address}: {store.address}#RUN.")
    if may_be_new and run not in store.runs():
        path = place_of(store, run)
        remove(path)  # the copy of an earlier run, which the store has no more
        return path
    return _copy_of(store, run)


def _is_store(catalog: Catalog, scheme: str) -> bool:
    """Whether an extension provides the stores of a scheme.

    Raises:
        ConfigurationError: Only a package that is not installed does.
    """
    is_known = any(
        component.name == scheme and "store" in component.extension.implements
        for component in catalog.of_kind("hooks")
    )
    if not is_known and scheme in _FIRST_PARTY:
        raise ConfigurationError(
            f"An address {scheme}://... needs an extension that is not installed. Install it: "
            f"{install_hint(_FIRST_PARTY[scheme])}."
        )
    return is_known


def _open(catalog: Catalog, scheme: str, address: str) -> RunStore:
    component = catalog.find("hooks", scheme)
    hooks = RunHooks(catalog, [ActiveExtension(component, {}, is_requested=True)], None)
    return known_store(hooks.store(address))


def _copy_of(store: RunStore, run: str) -> Path:
    path = place_of(store, run)
    catch_up(store, run, path)
    return path


def _copies_of(store: RunStore) -> Path:
    folder = folder_of(store)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    known: dict[str, tuple[int, str]] = {}
    _follow_once(store, known)
    Thread(target=_follow, args=(store, known), name="context-bench-store", daemon=True).start()
    return folder


def _follow_once(store: RunStore, known: dict[str, tuple[int, str]]) -> None:
    runs = store.runs()
    for run, state in runs.items():
        if known.get(run) != state:
            _copy_of(store, run)
            known[run] = state
    for path in folder_of(store).glob("*.sqlite"):
        if path.stem not in runs:
            remove(path)


def _follow(store: RunStore, known: dict[str, tuple[int, str]]) -> None:
    """Bring the copies of a store up to date until the process ends."""
    while True:
        sleep(_BETWEEN_LOOKS)
        try:
            _follow_once(store, known)
        except StoreError as error:
            warn(f"The runs are shown as they were: {message_of(error)}")
            return
