"""Records of the hub as a stream: pulled one by one, and taken up again behind the last one when the connection is lost."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BytesIO
from itertools import islice
from typing import IO, Any

from attrs import evolve

from context_bench.decompression import bounded
from context_bench.errors import DatasetError
from context_bench_huggingface.access import Access
from context_bench_huggingface.parquet import read_on_this_thread
from context_bench_huggingface.refusals import is_transient, refusal
from context_bench_huggingface.strict import NoNumberError, read_json
from context_bench_huggingface.wanted import Wanted

Record = Mapping[str, Any]
_BUILDERS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".csv": "csv", ".tsv": "csv"}


def stream(wanted: Wanted, access: Access) -> Iterator[Record]:
    """Yield the records of a split, in their order, all from one commit.

    What was read before a connection was lost is not read twice, and a stream that ends early is an error and never a
    shorter dataset.

    Raises:
        DatasetError: The hub has no such records, refuses them, or cannot be reached.
    """
    pinned = evolve(wanted, revision=access.commit(wanted))
    done = failures = 0
    while True:
        try:
            for record in _open(pinned, access, done):
                yield record
                done += 1
                failures = 0
            return
        except DatasetError:
            raise
        except Exception as error:
            failures += 1
            if failures > access.max_retries or not is_transient(error):
                raise refusal(wanted, error, failures) from error
        access.pause(failures)


def layout_of_files(path: str, layout: str | None) -> str | None:
    """Return how the files are laid out that are read in place of a definition's own, which are laid out in the given way.

    Where that takes JSON as it is, other JSON is taken so, too; of everything else the suffix says it.
    """
    name = path.lower().removesuffix(".gz")
    if layout not in ("array", "lines", "document") or "::" in path:
        return layout
    known = {".json": "document", ".jsonl": "lines", **dict.fromkeys((".parquet", ".csv", ".tsv"))}
    return next((found for suffix, found in known.items() if name.endswith(suffix)), layout)


def _open(wanted: Wanted, access: Access, skip: int) -> Iterable[Record]:
    path = wanted.path()
    layout = wanted.format or _layout(wanted, path)
    if (
        layout == "json"
        and path is not None
        and path.lower().endswith((".json", ".json.gz"))
        and "::" not in path
    ):
        layout = "document"
    if layout in _READERS:
        return islice(_as_they_are(wanted, access, _READERS[layout]), skip, None)
    library = _library()
    if path is None:
        builder = library.load_dataset_builder(
            wanted.source, wanted.config, revision=wanted.revision, token=access.token
        )
    else:
        more = {"sep": "\t"} if path.endswith(".tsv") else {}
        files = {wanted.split: _url(wanted, path)}
        builder = library.load_dataset_builder(layout, data_files=files, token=access.token, **more)
    if builder.name == "parquet":
        read_on_this_thread(builder, access.token)
    if (
        builder.name == "csv"
    ):  # only a blank cell has no value: "None" and "NA" are options and answers of benchmarks
        builder.config.keep_default_na, builder.config.na_values = False, [""]
    found = builder.as_streaming_dataset(split=wanted.split)
    return found.skip(skip) if skip else found  # type: ignore[no-any-return]


def _lines(wanted: Wanted, file: IO[bytes]) -> Iterator[Record]:
    """Yield the objects of a JSON Lines file just as they are, which Arrow would pad to one schema."""
    for number, line in enumerate(file, start=1):
        if line.strip():
            try:
                record = read_json(line)
            except (ValueError, RecursionError) as error:
                raise DatasetError(
                    f"{wanted.where}: {wanted.path()}, line {number} is no JSON: {error}"
                ) from error
            if not isinstance(record, dict):
                raise DatasetError(
                    f"{wanted.where}: {wanted.path()}, line {number} is no JSON object."
                )
            yield record


def _document(wanted: Wanted, file: IO[bytes]) -> Iterator[Record]:
    """Yield the records of a JSON file just as they are, where Arrow would give them one schema, or fail to.

    A file may be an array of objects, objects line by line, or one object: of rows by key, as releases are, whose key becomes
    their ``id``; or a record itself, such as a release that holds texts and labels apart.
    """
    content = file.read()
    try:
        found = read_json(content)
    except NoNumberError as error:
        raise DatasetError(f"{wanted.where}: {wanted.path()} is no JSON: {error}.") from error
    except (ValueError, RecursionError):
        yield from _lines(wanted, BytesIO(content))
        return
    if not isinstance(found, dict):
        yield from _items(wanted, found)
    elif found and all(isinstance(value, dict) for value in found.values()):
        yield from ({"id": key, **value} for key, value in found.items())
    else:
        yield found


def _array(wanted: Wanted, file: IO[bytes]) -> Iterator[Record]:
    """Yield the objects of a JSON array just as they are."""
    try:
        found = read_json(file.read())
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{wanted.where}: {wanted.path()} is no JSON: {error}") from error
    yield from _items(wanted, found)


def _items(wanted: Wanted, found: Any) -> Iterator[Record]:
    if not isinstance(found, list):
        raise DatasetError(f"{wanted.where}: {wanted.path()} is no JSON array.")
    for number, record in enumerate(found, start=1):
        if not isinstance(record, dict):
            raise DatasetError(f"{wanted.where}: {wanted.path()}, item {number} is no JSON object.")
        yield record


def _text(wanted: Wanted, file: IO[bytes]) -> Iterator[Record]:
    """Yield a text file as one record."""
    yield {"text": file.read().decode("utf-8")}


def _as_they_are(
    wanted: Wanted, access: Access, read: Callable[[Wanted, IO[bytes]], Iterator[Record]]
) -> Iterator[Record]:
    from huggingface_hub import HfFileSystem

    files, folder = HfFileSystem(token=access.token), f"datasets/{wanted.source}@{wanted.revision}/"
    asked = f"{folder}{wanted.path()}"
    places = sorted(files.glob(asked)) if _PATTERN.search(asked) else [asked]
    if not places:
        raise FileNotFoundError(f"{wanted.path()} names none of them")
    for place in places:
        with files.open(place, "rb") as file:
            whole: Any = file
            if place.lower().endswith(".gz"):
                size = int(files.info(place).get("size") or 0)
                whole = bounded(gzip.GzipFile(fileobj=file), size, place)
            yield from read(evolve(wanted, files=place.removeprefix(folder)), whole)


_PATTERN = re.compile(r"[*?\[]")
_READERS = {"document": _document, "lines": _lines, "array": _array, "text": _text}


def _layout(wanted: Wanted, path: str | None) -> str:
    if path is None:
        return ""
    name = path.partition("::")[0].lower()
    for suffix, builder in _BUILDERS.items():
        if name.endswith((suffix, f"{suffix}.gz")):
            return builder
    raise DatasetError(
        f"{wanted.where}: the name of {path} does not say how it is laid out. Pass format."
    )


def _url(wanted: Wanted, path: str) -> str:
    """Return the address of files; one inside an archive is ``zip://INNER::ARCHIVE``."""
    inner, archive, outer = path.rpartition("::")
    return f"{inner}{archive}hf://datasets/{wanted.source}@{wanted.revision}/{outer}"


def _library() -> Any:
    import datasets  # type: ignore[import-untyped, unused-ignore]
    import huggingface_hub

    # Further attempts are ours to make: the library would make twenty, and wait up to a minute before each.
    datasets.config.STREAMING_READ_MAX_RETRIES = 1
    for name in ("", "SERVER_UNAVAILABLE_", "RATE_LIMIT_"):
        setattr(datasets.config, f"STREAMING_READ_{name}RETRY_INTERVAL", 0)
    for logging in (datasets.logging, huggingface_hub.logging):
        logging.set_verbosity(50)  # what cannot be had is told once, as an error of ours
    datasets.disable_progress_bars()
    return datasets
