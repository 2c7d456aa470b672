"""The dataset component: what reads ``hf:owner/name``, and what reads a definition."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from attrs import frozen

from context_bench.errors import ConfigurationError, DatasetError
from context_bench_huggingface.access import Access
from context_bench_huggingface.converted import with_files
from context_bench_huggingface.copies import find_copy, read_copy, revision_of_copy, write_copy
from context_bench_huggingface.examples import asked_as, maker, told_apart
from context_bench_huggingface.installed import edition_of, installed_lines
from context_bench_huggingface.pins import FIRST, LATEST, checked, pin_table, rows_hash
from context_bench_huggingface.records import layout_of_files, stream
from context_bench_huggingface.row import Row, together
from context_bench_huggingface.shots import CARD, Shots, prompted, read_shots, with_shots, worked
from context_bench_huggingface.wanted import Wanted, from_address, from_definition


@frozen
class HubLoader:
    """Loads datasets of the hub: any by its address, or the one that a definition describes.

    Attributes:
        name: Name of the dataset that the definition belongs to.
        definition: The definition; None reads the address that is given as configuration.
    """

    name: str = "hf"
    definition: Mapping[str, Any] | None = None

    def from_definition(self, name: str, definition: Mapping[str, Any]) -> HubLoader:
        """Return what loads the dataset of a definition."""
        return HubLoader(name, definition)

    def __call__(
        self,
        limit: int | None = None,
        config: str | None = None,
        split: str | None = None,
        *,
        revision: str | None = None,
        folder: str | None = None,
        offline: bool = False,
        token: str | None = None,
        shots: str | int = "0",
        shots_seed: int | None = None,
        shots_file: str | None = None,
        prompt: str | None = None,
        instruction: str | None = None,
        files: str | None = None,
        max_retries: int = 3,
        retry_base_delay: float = 1.0,
    ) -> Iterator[dict[str, Any]]:
        """Return the examples of a split, pulled as they are asked for.

        Args:
            limit: Most examples to return; None returns all.
            config: Configuration of a definition's dataset; without a definition ``owner/name[:config][@revision]``.
            split: Split; None takes the definition's, or ``train``.
            revision: Commit, tag or branch in place of the definition's.
            folder: Folder with fetched copies, which come before the hub.
            offline: Whether to read copies only.
            token: Access token.
            shots: Worked examples before each question; ``card`` for as many as the card names.
            shots_seed: Draws them; None takes the first of their split.
            shots_file: File with the worked examples as text; ``{config}`` in its name is the configuration.
            prompt: Template of the question in place of the definition's; ``none`` leaves the question as it is.
            instruction: What follows each question, in place of the card's; ``none`` leaves it out.
            files: Files of the repository in place of its configurations.
            max_retries: Attempts after a lost connection or a busy hub.
            retry_base_delay: Seconds before the first of them.

        Raises:
            ConfigurationError: An option cannot be right.
            DatasetError: The records cannot be had; found when the first is asked for.
        """
        wanted = self.wanted(config, split, revision=revision, prompt=prompt, files=files)
        if instruction is not None:
            wanted = wanted.instructed(instruction)
        access = Access(token, offline, max_retries, retry_base_delay)
        if limit is not None and limit < 0:
            raise ConfigurationError(f"Dataset {self.name}: limit is 0 or more.")
        chosen = Shots(str(shots), shots_seed, shots_file)
        return _first(limit, self._prompted(wanted, access, folder, chosen))

    def revision(
        self,
        config: str | None = None,
        split: str | None = None,
        *,
        revision: str | None = None,
        folder: str | None = None,
        files: str | None = None,
        offline: bool = False,
        token: str | None = None,
        max_retries: int = 3,
        retry_base_delay: float = 1.0,
        **others: Any,
    ) -> str | None:
        """Return what a run records about the edition: the commit, or commit and hash of a copy."""
        wanted = self.wanted(config, split, revision=revision, files=files)
        wanted = wanted.parts[0] if wanted.parts else wanted
        edition = edition_of(wanted)
        if edition is not None:
            return edition
        place = find_copy(folder, wanted)
        if place is not None:
            return revision_of_copy(place, wanted)
        access = Access(token, offline, max_retries, retry_base_delay)
        access.require_network(wanted, folder)
        found = with_files(wanted, access)
        first = found.first.get(found.split)
        return " ".join([access.commit(found), *([f"first:{first}"] if first else [])])

    def wanted(
        self,
        config: str | None = None,
        split: str | None = None,
        *,
        revision: str | None = None,
        prompt: str | None = None,
        files: str | None = None,
    ) -> Wanted:
        """Return which records a run wants, and how they become examples."""
        found = (
            from_address(config, split, files)
            if self.definition is None
            else from_definition(self.name, self.definition, config, split, files)
        )
        changes: dict[str, Any] = {}
        if files is not None:
            changes |= {"files": files, "format": layout_of_files(files, found.format)}
        if prompt is not None:
            changes["prompt"] = None if prompt == "none" else prompt
        found = found.changed(**changes)
        if revision == LATEST:
            return found.latest()
        return found if revision is None else found.unpinned(revision=revision)

    def fetch(
        self,
        folder: str,
        config: str | None = None,
        split: str | None = None,
        *,
        access: Access,
        revision: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Copy a split into a folder, with everything that its examples and worked examples need, and yield each label."""
        wanted = self.wanted(config, split, revision=revision)
        for part in wanted.parts or (wanted,):
            needed = [part, *map(part.of_table, part.tables)]
            if part.shots_split and split is None:
                needed.append(part.changed(split=part.shots_split))
            for each in needed:
                if edition_of(each) is None:
                    found = with_files(each, access)
                    commit = access.commit(found)
                    records = stream(found.changed(revision=commit), access)
                    yield write_copy(folder, each, commit, records)

    def pins(
        self, config: str | None, splits: Iterable[str | None], access: Access
    ) -> Iterator[str]:
        """Read splits whole as the hub has them now, and yield the tables that pin them, one for each part."""
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for split in splits:
            latest = self.wanted(config, split, revision=LATEST)
            for part in latest.parts or (latest,):
                if edition_of(part) is None:
                    facts = _pinned(part, access)
                    found.setdefault(part.name_of_pin, {})[part.split] = facts
        for name, pinned in found.items():
            yield pin_table(self.name, name, pinned)

    def records(
        self, wanted: Wanted, access: Access, folder: str | None = None
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the records of a split as they are, from a copy where there is one."""
        place = find_copy(folder, wanted)
        if edition_of(wanted) is not None:
            yield from installed_lines(wanted)
            return
        if place is not None:
            yield from checked(wanted, read_copy(place, wanted))
            return
        access.require_network(wanted, folder)
        yield from checked(wanted, stream(with_files(wanted, access), access))

    def _examples(
        self, wanted: Wanted, access: Access, folder: str | None
    ) -> Iterator[dict[str, Any]]:
        make = maker(wanted)
        number, seen = 0, dict[str, int]()
        for part in wanted.parts or (wanted,):
            tables = self._tables(part, access, folder)
            for records in together(self.records(part, access, folder), part.group_by):
                both = records if part.group_by else ()
                row = Row(number, part.config or "", part.split, tables, both)
                for example in make(records[0], row):
                    named = example if wanted.example is None else told_apart(example, seen)
                    yield asked_as(part, named)
                number += len(records)

    def _prompted(
        self, wanted: Wanted, access: Access, folder: str | None, shots: Shots
    ) -> Generator[dict[str, Any], None, None]:
        found = self._shots(wanted, access, folder, shots)
        examples = prompted(self._examples(wanted, access, folder), wanted)
        yield from with_shots(examples, wanted, found) if found else examples

    def _shots(
        self, wanted: Wanted, access: Access, folder: str | None, shots: Shots
    ) -> dict[str, str]:
        """Return the worked examples that come before the questions; none where the run wants none."""
        if shots.file is not None:
            if shots.count not in ("0", CARD):
                raise ConfigurationError(
                    "shots and shots_file cannot be used together: the file says how many there are."
                )
            return {"": read_shots(shots, wanted)}
        if not shots.counted(wanted):
            return {}
        if not wanted.shots_split:
            raise ConfigurationError(
                f"Dataset {self.name} has no split to take worked examples from: leave out shots, or name a file of its "
                "authors with shots_file=FILE."
            )
        pool = wanted.changed(split=wanted.shots_split)
        if pool.split == wanted.split or (
            wanted.path() is not None and pool.path() == wanted.path()
        ):
            place = f"the split {pool.split}" if pool.split == wanted.split else wanted.path()
            raise ConfigurationError(
                f"Worked examples of {self.name} would come from {place}, which is measured: leave out shots."
            )
        return worked(self._examples(pool, access, folder), pool, shots)

    def _tables(
        self, wanted: Wanted, access: Access, folder: str | None
    ) -> dict[str, dict[str, Any]]:
        return {
            name: dict(
                _keyed(
                    self.records(wanted.of_table(name), access, folder),
                    name,
                    table.get("key"),
                    wanted,
                )
            )
            for name, table in wanted.tables.items()
        }


def _pinned(wanted: Wanted, access: Access) -> dict[str, Any]:
    """Return commit, number of records and hash of the first ones, as a pin has them.

    Raises:
        DatasetError: The hub has taken the branch of the card away, so that no commit fits to its files.
    """
    found = with_files(wanted, access)
    if found.files != wanted.files:
        raise DatasetError(
            f"{wanted.where} has no {wanted.revision} any more: take revision and files out of its definition, then pin it."
        )
    commit = access.commit(found)
    head: list[Mapping[str, Any]] = []
    count = 0
    for record in stream(found.changed(revision=commit), access):
        if count < FIRST:
            head.append(record)
        count += 1
    return {"commit": commit, "records": count, "first": rows_hash(head)}


def _keyed(
    records: Iterable[Mapping[str, Any]], name: str, key: str | None, wanted: Wanted
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the records of a table with their keys, or with their places in one that has none.

    Raises:
        DatasetError: A record has no key, or that of another one.
    """
    seen = set[str]()
    for number, record in enumerate(records):
        found = number if key is None else record.get(key)
        if found is None or str(found) in seen:
            fault = f"no {key}" if found is None else f"the {key} {found} of another one"
            raise DatasetError(
                f"Record {number} of the table {name} of {wanted.where} has {fault}."
            )
        seen.add(str(found))
        yield str(found), record


def _first(
    limit: int | None, examples: Generator[dict[str, Any], None, None]
) -> Iterator[dict[str, Any]]:
    """Yield the first examples, and let go of the stream before the last of them, which nobody may ask beyond."""
    if limit is None:
        yield from examples
        return
    for count, example in enumerate(islice(examples, limit), start=1):
        if count == limit:
            examples.close()
        yield example


hf = HubLoader()
"""The loader of ``hf:owner/name``, which also reads the definitions of other packages."""
