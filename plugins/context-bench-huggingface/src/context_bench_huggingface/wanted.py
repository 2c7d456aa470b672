"""What a run wants: a definition, a configuration and a split become the records to read and the way to read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import Factory, evolve, frozen

from context_bench.errors import ConfigurationError
from context_bench.prompts import GIVEN


@frozen
class Wanted:
    """The records of one split of one configuration, and how they become examples.

    Attributes:
        name: What messages call the dataset.
        source: ``owner/name`` on the hub.
        revision: Commit, tag or branch.
        config: Configuration; None takes the repository's only one.
        split: Split.
        files: Files of the repository, with ``{config}`` and ``{split}`` filled in; None leaves them to its configurations.
        format: ``parquet``, ``json``, ``csv``, ``lines``, ``array`` or ``text``; None goes by the suffix of the files.
        parts: What ``all`` stands for: the same of other configurations, which are read one after the other.
        fields: Source path of a field, by the field's name.
        example: ``module:function`` that makes a record an example.
        group_by: Field of which records behind each other with one value are given to the function together.
        tables: Further records that the function looks things up in.
        prompt: What the question becomes, with fields in braces.
        shots: How many worked examples those who publish numbers show before a question.
        shots_template: What a worked example adds to its prompt.
        shots_split: Split that worked examples are taken from; None or empty where there is none.
        shots_same: Field whose value a question and its worked examples share, such as the subject; None for no such field.
        asking: Fields that examples take from their card where they bring none: ``instruction`` and ``context_role``.
        name_of_pin: Configuration as the card's pins call it.
        branch: What an unpinned run reads: the branch, tag or commit of the definition.
        sizes: Number of records by split, where the card pins it.
        first: Hash of the first records by split, where the card pins it.
        instruction: The instruction of every example in place of its own; empty leaves it out, None keeps it.
    """

    name: str
    source: str
    revision: str = "main"
    config: str | None = None
    split: str = "test"
    files: str | None = None
    format: str | None = None
    parts: tuple[Wanted, ...] = ()
    fields: Mapping[str, str] = Factory(dict)
    example: str | None = None
    group_by: str | None = None
    tables: Mapping[str, Mapping[str, str]] = Factory(dict)
    prompt: str | None = None
    shots: int = 0
    shots_template: str = "{answer}"
    shots_split: str | None = None
    shots_same: str | None = None
    asking: Mapping[str, str] = Factory(dict)
    instruction: str | None = None
    name_of_pin: str = "default"
    branch: str = "main"
    sizes: Mapping[str, int] = Factory(dict)
    first: Mapping[str, str] = Factory(dict)

    @property
    def where(self) -> str:
        """The dataset as a message names it: its name, and where it lies when the name does not say so."""
        place = f"{self.source}, configuration {self.config}" if self.config else self.source
        return f"{self.name} ({place}, split {self.split})"

    def changed(self, **changes: Any) -> Wanted:
        """Return the same with some of it changed, in every part."""
        return evolve(self, parts=tuple(part.changed(**changes) for part in self.parts), **changes)

    def instructed(self, instruction: str) -> Wanted:
        """Return the same with another instruction in every part; ``none`` leaves it out."""
        return self.changed(instruction="" if instruction == "none" else instruction)

    def of_table(self, name: str) -> Wanted:
        """Return where the records of a table lie."""
        table = self.tables[name]
        return evolve(
            self,
            config=table.get("config", self.config),
            split=table.get("split", self.split),
            files=table.get("files"),
            format=table.get("format"),
            parts=(),
            group_by=None,
            tables={},
            sizes={},
            first={},
        )

    def unpinned(self, **changes: Any) -> Wanted:
        """Return the same with other files or another revision, to which no pin applies."""
        return self.changed(sizes={}, first={}, **changes)

    def latest(self) -> Wanted:
        """Return the same as the branch of the definition has it now, in every part."""
        parts = tuple(part.latest() for part in self.parts)
        return evolve(self, parts=parts, revision=self.branch, sizes={}, first={})

    def path(self) -> str | None:
        """Return the files with configuration and split filled in; None when the repository's configurations count."""
        return (
            self.files.replace("{config}", self.config or "").replace("{split}", self.split)
            if self.files
            else None
        )


def from_definition(
    name: str,
    definition: Mapping[str, Any],
    config: str | None,
    split: str | None,
    files: str | None = None,
) -> Wanted:
    """Return what is wanted of a definition, of its own files or of others in place of them.

    Raises:
        ConfigurationError: The definition names no source, or has no place for a configuration or split that is asked for.
    """
    asked, config = config, config or definition.get("default_config")
    own = definition.get("config_overrides", {}).get(config or "", {})
    body = {**definition, **own}
    if not body.get("source"):
        raise ConfigurationError(
            f"The definition of the dataset {name} has no source: owner/name on the hub."
        )
    paths = [
        body.get("files", "{config}"),
        *(table.get("files", "") for table in body.get("tables", {}).values()),
    ]
    if (
        asked
        and not own
        and asked
        != body.get("config", asked if any("{config}" in each for each in paths) else None)
    ):
        raise ConfigurationError(
            f"The dataset {name} has one configuration only: leave out {asked!r}."
        )
    if (
        split
        and not files
        and "{split}" not in body.get("files", "{split}")
        and split != body.get("split", "test")
    ):
        raise ConfigurationError(
            f"The dataset {name} has one split only, {body.get('split', 'test')!r}: leave out {split!r}."
        )
    parts = body.get("parts", ()) if config == "all" else ()
    known = {key: body[key] for key in _PLAIN if key in body}
    branch = body.get("revision", "main")
    pin = definition.get("pins", {}).get(config or "default")
    if pin is not None:
        pinned = {"sizes": pin["sizes"], "first": pin["first"]}
        known |= {"revision": pin["commit"], **({} if files else pinned)}
    of_configs = definition.get("asking", {})
    asking = of_configs.get(config or "", of_configs.get("", {}))
    return Wanted(
        name,
        config=body.get("config", config),
        split=split or body.get("split", "test"),
        parts=tuple(from_definition(name, definition, part, split, files) for part in parts),
        name_of_pin=config or "default",
        branch=branch,
        asking={field: text for field, text in asking.items() if text and text != GIVEN},
        **known,
    )


def from_address(address: str | None, split: str | None, files: str | None) -> Wanted:
    """Return what ``owner/name[:config][@revision]`` wants.

    >>> from_address("openai/gsm8k:main@e53f048", None, None).revision
    'e53f048'

    Raises:
        ConfigurationError: There is no such address.
    """
    place, _, revision = (address or "").partition("@")
    source, _, config = place.partition(":")
    owner, slash, name = source.partition("/")
    if not owner or not slash or not name or "/" in name:
        raise ConfigurationError(
            f"hf:{address or ''} names no dataset. Write hf:owner/name, hf:owner/name:config or "
            "hf:owner/name:config@revision."
        )
    return Wanted(
        f"hf:{address}", source, revision or "main", config or None, split or "train", files or None
    )


_PLAIN = (
    "source",
    "revision",
    "files",
    "format",
    "fields",
    "example",
    "group_by",
    "tables",
    "prompt",
    "shots",
    "shots_template",
    "shots_split",
    "shots_same",
)
