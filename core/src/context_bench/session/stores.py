"""Which local copies of this process belong to runs of a store, and the stores themselves."""

from __future__ import annotations

import re
from pathlib import Path

from attrs import frozen

from context_bench.errors import ConfigurationError
from context_bench.protocols import RunStore, StoreSession
from context_bench.store.copies import catch_up
from context_bench.store.reader import copies_folder

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


@frozen(eq=False)
class _Place:
    store: RunStore
    run: str


_places: dict[Path, _Place] = {}
_stores: dict[str, RunStore] = {}
"""The stores that the user named in this process, by address without credentials: what they know of
credentials is here and nowhere else."""


def known_store(store: RunStore) -> RunStore:
    """Return a store that the user named, and know it by its address."""
    _stores[store.address] = store
    return store


def new_run(address: str, run: str) -> Path:
    """Return where the local copy of a new run is written.

    Args:
        address: Address of a store that the user named, without credentials.
        run: Name of the run.

    Raises:
        ConfigurationError: The name cannot be one of a run, or there is no such store.
    """
    store = _stores.get(address)
    if store is None:
        raise ConfigurationError(
            f"{address!r} is no address of a store, such as postgresql://HOST/DATABASE."
        )
    return place_of(store, run)


def session_of(path: Path, is_new: bool = False) -> StoreSession | None:
    """Begin to write into the run whose local copy a path names, and bring the copy up to date;
    None for any other run file.

    Args:
        path: The run file.
        is_new: Whether the run is new.

    Raises:
        StoreError: Another session writes into the run; or it exists already, or does not exist.
    """
    place = _places.get(path)
    if place is None:
        return None
    session = place.store.session(place.run, is_new)
    try:
        if not is_new:
            catch_up(place.store, place.run, path)
    except BaseException:
        session.close()
        raise
    return session


def address_of(path: Path) -> str:
    """Return the address of the run whose local copy a path names, else the path as text."""
    place = _places.get(path)
    return str(path) if place is None else f"{place.store.address}#{place.run}"


def place_of(store: RunStore, run: str) -> Path:
    """Return where the local copy of a run is.

    Raises:
        ConfigurationError: The name cannot be one of a run.
    """
    if not _NAME.fullmatch(run):
        raise ConfigurationError(
            f"{run!r} is no name of a run in {store.address}: take letters, digits, '.', '_' and "
            f"'-', as in {store.address}#nightly."
        )
    path = folder_of(store) / f"{run}.sqlite"
    _places[path] = _Place(store, run)
    return path


def folder_of(store: RunStore) -> Path:
    """Return the folder of the local copies of a store's runs."""
    return copies_folder() / store.identity
