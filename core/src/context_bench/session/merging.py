"""Merging: the run files of the shards of a run become the run file of the whole.

Rows, scores and failures are copied as they are. Nothing is called or scored, and no component of
the run is built, unless the user's own files name gates. Files of other requests, plans, data or
versions are refused, and the message names the difference. What needs the whole - primary scores
that no manifest names, metrics, ratios to the baseline, gates - is computed from the merged rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from uuid import uuid4

from attrs import evolve, frozen

from context_bench.errors import RunStoppedError, StoreError
from context_bench.plan.extensions import ActiveExtension
from context_bench.plan.locked import known_extensions
from context_bench.plan.run_config import RunConfig
from context_bench.plugins.catalog import Catalog
from context_bench.results.reading import read_result
from context_bench.results.registry import metrics_record
from context_bench.results.result import EvalResult
from context_bench.run.examples import Shard
from context_bench.runs import StoredRows
from context_bench.session.hooks import RunHooks
from context_bench.session.location import now
from context_bench.session.provenance import used_distributions
from context_bench.session.trust import source_of
from context_bench.store.keys import RowId, dataset_hash
from context_bench.store.merging import Coverage, coverage, merged_lines, positions_text
from context_bench.store.queries import example_hashes
from context_bench.store.reader import RunReader, raising_store_errors
from context_bench.store.runfile import RunFile

INCOMPLETE = 3
"""Exit code where rows are missing."""

_OF_A_MACHINE = (
    "shard",
    "max_workers",
    "requests_per_minute",
    "tokens_per_minute",
    "max_failed",
    "keep_going",
)
"""What each shard may request differently: no row depends on it."""

_LONGEST = 80


def merge(
    catalog: Catalog,
    paths: Sequence[Path],
    output: Path,
    *,
    is_partial: bool = False,
    is_trusted: bool = False,
    on_warning: Callable[[str], None] = lambda line: None,
) -> EvalResult:
    """Write the run file of a whole run from those of its shards.

    Args:
        catalog: What is installed: the metrics and gates.
        paths: The run files of the shards, in any order.
        output: Where the whole is written; it appears when it is complete.
        is_partial: Whether rows may be missing; the new file can then be resumed.
        is_trusted: Whether the user trusts files that this installation did not write: only then
            are the extensions that they name loaded, and the new file gets the mark.
        on_warning: Is called with each warning.

    Raises:
        StoreError: A file is not a run file or is damaged, the files are not of one run, or two
            have the same row.
        RunStoppedError: Rows are missing.
    """
    with ExitStack() as stack:
        readers = [stack.enter_context(closing(RunReader(path))) for path in paths]
        shards = [_ShardFile.read(reader) for reader in readers]
        for shard in shards[1:]:
            _require_equal(shards[0], shard)
        wholes = _whole_datasets(shards)
        rows = _covered(shards, wholes, is_partial=is_partial)
        trusted = all(source_of(reader, is_trusted=is_trusted).is_trusted for reader in readers)
        first = max(shards, key=lambda shard: (len(shard.labels), len(shard.evaluators)))
        config = {**first.config, "shard": None}
        with RunFile.assembled(
            output,
            run=uuid4().hex,
            created=min(shard.created for shard in shards),
            config=config,
            provenance=_provenance(first, shards),
            is_marked=trusted,
        ) as store:
            _write_plan(store, first)
            for table, lines in merged_lines(readers):
                store.append(table, lines)
            _finish(store, shards, wholes, rows=rows)
            _compute_metrics(store, catalog)
    result = read_result(output, catalog=catalog)
    if rows.is_whole:
        code = _gates(catalog, config, result, trusted, on_warning)
        if code is not None:
            result.config["exit_code"] = code
    return result


@frozen(eq=False)
class _ShardFile:
    """What a run file says of the run of which it holds a part."""

    reader: RunReader
    created: str
    status: str
    config: Mapping[str, Any]
    provenance: Mapping[str, Any]
    systems: Sequence[Mapping[str, Any]]
    datasets: Sequence[Mapping[str, Any]]
    labels: Sequence[Any]
    evaluators: Sequence[Mapping[str, Any]]

    @classmethod
    def read(cls, reader: RunReader) -> _ShardFile:
        """Return what a run file says.

        Raises:
            StoreError: It is damaged, or of a run that no request describes.
        """
        with raising_store_errors(reader.path), reader.snapshot():
            run = reader.run()
            if "systems" not in run["config"]:
                raise StoreError(
                    f"{reader.path} was written by evaluate() with objects that cannot be stored, "
                    "so it cannot be compared with other shards."
                )
            return cls(
                reader=reader,
                created=run["created"],
                status=run["status"],
                config=run["config"],
                provenance=run["provenance"],
                systems=reader.systems(),
                datasets=reader.datasets(),
                labels=reader.labels(),
                evaluators=reader.evaluators(),
            )

    @property
    def name(self) -> str:
        """How messages call the file."""
        shard = self.config.get("shard")
        return f"{self.reader.path} (shard {shard})" if shard else str(self.reader.path)

    def whole(self, number: int) -> tuple[int, str] | None:
        """Return how many examples a whole dataset has, and the hash over them; None until the run
        has read them all."""
        if self.config.get("shard"):
            whole = self.provenance.get("whole", {}).get(str(number))
            return None if whole is None else (int(whole[0]), str(whole[1]))
        entry = self.datasets[number]
        if entry["length"] is None:
            return None
        return int(entry["length"]), bytes(entry["content"]).hex()

    def identity(self) -> Iterator[tuple[str, Any]]:
        """Yield what all shards of a run have in common, each with what messages call it."""
        for name, value in self.config.items():
            if name not in _OF_A_MACHINE:
                yield f"request, {name}", value
        for entry in self.systems:
            where = f"system {entry['label']}"
            yield f"{where}, number", entry["system_number"]
            yield f"{where}, description", entry["description"]
            if entry["reusable"]:  # else its key is that of its run
                yield f"{where}, key", entry["key"].hex()
        for entry in self.datasets:
            yield f"dataset {entry['number']}, label", entry["label"]
            for name, value in entry["description"].items():
                yield f"dataset {entry['label']}, {name}", value
        for label in self.labels:
            yield f"label {label.number}", label.label
            yield f"plan of {label.label or 'rows without a label'}", label.plan
        for entry in self.evaluators:
            yield f"evaluator {entry['number']}", entry["id"]
            yield f"evaluator {entry['id']}, key", entry["key"].hex()
        yield from self._versions()
        metrics = self.reader.metrics().get("metrics", ())
        for metric in metrics:
            yield f"metric {metric['name']}, options", metric["options"]

    def _versions(self) -> Iterator[tuple[str, Any]]:
        yield "version of context-bench", self.provenance.get("context_bench")
        plugins = self.provenance.get("plugins", {})
        dependencies = self.provenance.get("dependencies", {})
        for name in sorted(used_distributions(self.reader)):
            if name in plugins:
                yield f"version of {name}", plugins[name]["version"]
                yield f"manifest of {name}", plugins[name]["manifest_sha256"]
            for other, version in dependencies.get(name, {}).items():
                yield f"version of {other}", version


def _require_equal(first: _ShardFile, other: _ShardFile) -> None:
    """Refuse a file of another run than the first one.

    Raises:
        StoreError: It is; the message names the first difference.
    """
    expected = dict(first.identity())
    for name, value in other.identity():
        if name in expected and expected[name] != value:
            path, known, current = _difference(expected[name], value)
            raise StoreError(
                f"{first.name} and {other.name} are not of one run: {name}{path} is {known} in the "
                f"first and {current} in the second. Nothing was merged."
            )
    systems = [[entry["label"] for entry in shard.systems] for shard in (first, other)]
    if all(systems) and systems[0] != systems[1]:
        raise StoreError(
            f"{first.name} and {other.name} are not of one run: they have the systems "
            f"{', '.join(systems[0])} and {', '.join(systems[1])}. Nothing was merged."
        )


def _difference(first: Any, other: Any, path: str = "") -> tuple[str, str, str]:
    """Return the path to the first difference of two values, and the values there as text."""
    if isinstance(first, Mapping) and isinstance(other, Mapping):
        for name in dict.fromkeys((*first, *other)):
            if first.get(name) != other.get(name):
                return _difference(first.get(name), other.get(name), f"{path}.{name}")
    if isinstance(first, list) and isinstance(other, list) and len(first) == len(other):
        for index, (one, another) in enumerate(zip(first, other)):
            if one != another:
                return _difference(one, another, f"{path}[{index}]")
    return path, _text(first), _text(other)


def _text(value: Any) -> str:
    text = "none" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _whole_datasets(shards: Sequence[_ShardFile]) -> dict[int, tuple[int, str] | None]:
    """Return length and content of each whole dataset, by its number; None where no shard has read
    it to its end.

    Raises:
        StoreError: Two shards have read different examples.
    """
    wholes: dict[int, tuple[int, str] | None] = {}
    readers: dict[int, _ShardFile] = {}
    for shard in shards:
        for entry in shard.datasets:
            number = entry["number"]
            whole = shard.whole(number)
            known = wholes.setdefault(number, whole)
            if whole is None:
                continue
            if known is not None and known != whole:
                raise StoreError(
                    f"{readers[number].name} and {shard.name} are not of the same data: dataset "
                    f"{entry['label']} has {known[0]} examples with the hash {known[1][:12]} in "
                    f"the first and {whole[0]} with {whole[1][:12]} in the second. Nothing was "
                    "merged."
                )
            wholes[number] = whole
            readers.setdefault(number, shard)
    return wholes


@frozen
class _Rows:
    """The rows that the shards have together.

    Attributes:
        is_whole: Whether none is missing.
        expected: How many the whole run has at most; None where that is not known.
    """

    is_whole: bool
    expected: int | None


def _covered(
    shards: Sequence[_ShardFile],
    wholes: Mapping[int, tuple[int, str] | None],
    *,
    is_partial: bool,
) -> _Rows:
    """Check that the shards have each row of the run once.

    Raises:
        StoreError: Two have the same row.
        RunStoppedError: Rows are missing, and that is not allowed.
    """
    config = shards[0].config
    has_gaps = bool(config.get("sample") or config.get("ids"))
    lengths: dict[int, int | None] = {}
    for number, whole in wholes.items():
        lengths[number] = None if has_gaps or whole is None else whole[0]
    systems = max(len(shard.systems) for shard in shards)
    rows_each = systems * int(config.get("repeat") or 1)
    found = coverage([shard.reader for shard in shards], rows_each, lengths)
    labels = {entry["number"]: entry["label"] for shard in shards for entry in shard.datasets}
    if found.twice:
        raise StoreError(
            f"Rows are there twice: {_places(found.twice, labels)}. Leave out one of the "
            "files. Nothing was merged."
        )
    sentences = list(_missing(found, shards, wholes, labels))
    if sentences and not is_partial:
        message = " ".join(sentences)
        raise RunStoppedError(
            f"{message} Nothing was merged: run or resume what is missing, or take what is there "
            "with --partial.",
            exit_code=INCOMPLETE,
        )
    if not sentences:
        return _Rows(is_whole=True, expected=found.rows)
    known = [whole[0] for whole in wholes.values() if whole is not None]
    is_known = len(known) == len(wholes)
    return _Rows(is_whole=False, expected=sum(known) * rows_each if is_known else None)


def _missing(
    found: Coverage,
    shards: Sequence[_ShardFile],
    wholes: Mapping[int, tuple[int, str] | None],
    labels: Mapping[int, str],
) -> Iterator[str]:
    """Yield a sentence for each way in which rows are missing."""
    incomplete = [shard.name for shard in shards if shard.status != "finished"]
    absent = _absent_shards(shards)
    is_short = not wholes or bool(found.missing)
    if found.missing:
        yield f"Rows are missing: {_places(found.missing, labels)}."
    for number, whole in wholes.items():
        if whole is None:
            is_short = True
            yield f"No file has read dataset {labels[number]} to its end."
        elif found.examples[number] < whole[0] and number not in found.missing:
            is_short = True
            yield (
                f"Rows are missing: {found.examples[number]} of the {whole[0]} examples of dataset "
                f"{labels[number]} are there."
            )
    if is_short and absent:
        yield f"There is no file of shard {', '.join(absent)}."
    if is_short and incomplete:
        yield f"These runs have not finished: {', '.join(incomplete)}."


def _absent_shards(shards: Sequence[_ShardFile]) -> list[str]:
    """Return the shards of which there is no file, where all files are of one division."""
    texts = [shard.config.get("shard") for shard in shards]
    if not all(texts):
        return []
    parts = [Shard.parse(str(text)) for text in texts]
    count = parts[0].count
    if any(part.count != count for part in parts):
        return []
    numbers = {part.number for part in parts}
    return [f"{number}/{count}" for number in range(1, count + 1) if number not in numbers][:12]


def _places(ranges: Mapping[int, Sequence[range]], labels: Mapping[int, str]) -> str:
    return "; ".join(
        f"{positions_text(parts)} of dataset {labels[number]}" for number, parts in ranges.items()
    )


def _provenance(first: _ShardFile, shards: Sequence[_ShardFile]) -> dict[str, Any]:
    """Return where the run ran: of the first shard, with a list of all."""
    entries = []
    for shard in shards:
        run, _ = shard.reader.configuration()
        names = ("python", "platform", "machine", "git")
        entries.append(
            {
                "run": run,
                "shard": shard.config.get("shard"),
                "rows": shard.reader.size(),
                **{name: shard.provenance.get(name) for name in names},
            }
        )
    kept = {name: value for name, value in first.provenance.items() if name != "whole"}
    return {**kept, "shards": entries}


def _write_plan(store: RunFile, first: _ShardFile) -> None:
    """Write systems, datasets, evaluators and labels."""
    for entry in first.systems:
        store.add_system(**entry)
    for entry in first.datasets:
        store.add_dataset(entry["number"], entry["label"], entry["description"])
    for entry in first.evaluators:
        store.add_evaluator(entry["number"], entry["id"], entry["key"], entry["provenance"])
    for label in first.labels:
        if label.plan.get("primary") is None:  # the shard took it from its own rows
            label = evolve(label, primary=None)
        store.add_label(label)
    record = first.reader.metrics()
    if record:
        store.keep_metrics({"metrics": record["metrics"]})


def _finish(
    store: RunFile,
    shards: Sequence[_ShardFile],
    wholes: Mapping[int, tuple[int, str] | None],
    *,
    rows: _Rows,
) -> None:
    """Record what is known of the whole once all rows are copied.

    Raises:
        StoreError: The examples are not those that the shards were given.
    """
    warnings: dict[str, None] = {}
    for shard in shards:
        warnings.update(dict.fromkeys(shard.reader.warnings()))
    store.warn(list(warnings))
    store.settle_primary_scores()
    store.expect(rows.expected)
    if not rows.is_whole:
        store.finish("stopped", now())
        return
    content = {number: dataset_hash() for number in wholes}
    for line in example_hashes(store):
        content[RowId.unpack(line.number).dataset].update(line.hash)
    for number, whole in wholes.items():
        assert whole is not None
        digest = content[number].digest()
        if digest.hex() != whole[1]:
            label = shards[0].datasets[number]["label"]
            raise StoreError(
                f"The examples of dataset {label} in these files are not those that their runs "
                "were given. Nothing was merged."
            )
        store.close_dataset(number, whole[0], digest)
    store.finish("finished", now())


def _compute_metrics(store: RunFile, catalog: Catalog) -> None:
    """Record the metrics of the whole."""
    if not store.metrics():  # no shard came to its first row
        return
    result = read_result(store.path, catalog=catalog)
    record = metrics_record(result.metrics, result.summary, result.keys_by_metric)
    store.keep_metrics(record)
    store.warn(result.findings)
    if isinstance(result.rows, StoredRows):
        result.rows.reader.close()


def _gates(
    catalog: Catalog,
    config: Mapping[str, Any],
    result: EvalResult,
    is_trusted: bool,
    on_warning: Callable[[str], None],
) -> int | None:
    """Return the exit code that extensions of the run set for the whole, such as its gates."""
    deciding = _deciding(catalog, RunConfig.from_dict(config), on_warning)
    if is_trusted or not deciding:
        return RunHooks(catalog, deciding, on_warning).exit_code(result) if deciding else None
    if any(extension.is_requested for extension in deciding):
        on_warning(
            "No gate of the run is judged, because this installation did not write the files. "
            "Judge them with --trust."
        )
    return None


def _deciding(
    catalog: Catalog, request: RunConfig, on_warning: Callable[[str], None]
) -> list[ActiveExtension]:
    """Return the active extensions that set an exit code."""
    return [
        extension
        for extension in known_extensions(catalog, request, on_warning)
        if "exit_code" in extension.describe()["implements"]
    ]
