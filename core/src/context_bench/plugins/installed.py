"""What is installed: every distribution that can be seen, each copy of it, in one pass.

Folders of the path are looked at directly, which costs a third of what importlib_metadata takes to be imported; that is asked
only about what is no folder, such as archives. Every file is read as something that a stranger wrote: see
:func:`read_small_file`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

GROUP_PREFIX = "context_bench."
_OF_A_NAME = re.compile("[A-Za-z0-9._-]*")
_UNQUOTED = str.maketrans("", "", "\"' ()")
_MOST_ENTRY_POINTS = 1000


class UnreadableFileError(Exception):
    """A file is none that is read, or says what cannot be used; the text says why."""


def is_target(value: str) -> bool:
    """Whether the value of an entry point is ``module:attribute``, each of them dotted or not, or a module alone."""
    module, colon, attribute = value.partition("[")[0].partition(":")
    parts = [*module.strip().split("."), *(attribute.strip().split(".") if colon else ())]
    return all(part.isidentifier() for part in parts)


def is_name(text: str) -> bool:
    """Whether a text can be the name of a component or a distribution, in whose remedy it stands as a word of a command."""
    return (
        text.isascii()
        and text[:1].isalnum()
        and all(letter.isalnum() or letter in "-_." for letter in text)
    )


class Copy(NamedTuple):
    """One installed copy of a distribution.

    Attributes:
        place: The folder (or file) of its metadata; empty when only ``metadata`` knows.
        folder: The folder that this lies in.
        texts: What was read of its files already, by name and handling of errors: some is asked for twice.
        metadata: What importlib_metadata found; None when the folders of the path were enough.
    """

    place: str
    folder: str
    texts: dict[tuple[str, str], str]
    metadata: Any = None

    @property
    def name(self) -> str:
        """Its normalised name; empty when nothing says it."""
        stem, dot, suffix = os.path.basename(self.place).rpartition(".")
        if dot and suffix.lower() in ("dist-info", "egg-info"):
            return normalise(stem.partition("-")[0])
        return normalise(self.header("Name"))

    @property
    def version(self) -> str:
        """Its version: from the folder's name where that says it, which is much cheaper than METADATA."""
        stem, _, suffix = os.path.basename(self.place).rpartition(".")
        parts = stem.split("-")
        return (
            parts[1] if len(parts) == 2 and suffix == "dist-info" else self.header("Version") or "?"
        )

    def text(self, name: str, errors: str = "strict") -> str:
        """Return a file of the metadata; empty when there is none.

        Raises:
            UnreadableFileError: It is not what is read.
        """
        if (name, errors) not in self.texts:
            self.texts[name, errors] = self._read(name, errors)
        return self.texts[name, errors]

    def _read(self, name: str, errors: str) -> str:
        try:
            if self.metadata is None:
                is_file = name == "PKG-INFO" and os.path.isfile(self.place)  # as distutils left it
                content = (
                    read_small_file(self.place if is_file else os.path.join(self.place, name))
                    or b""
                )
                return content.decode("utf-8", errors)
            told = self.metadata.read_text(name) or ""
            if len(told) > LARGEST:
                raise UnreadableFileError("it is larger than 1 MiB")
            return str(told)
        except UnreadableFileError as error:
            raise UnreadableFileError(f"its {name} is not read: {error}") from error
        except UnicodeDecodeError as error:
            if GROUP_PREFIX.encode() not in error.object.replace(b"\0", b""):  # in UTF-16, too
                return ""
            raise UnreadableFileError(f"its {name} is not read: it is no text in UTF-8") from error
        except Exception as error:
            raise UnreadableFileError(
                f"its {name} is not read: {type(error).__name__}: {error}"
            ) from error

    def headers(self) -> str:
        """Return METADATA, or what older tools left in its place, without the description.

        Raises:
            UnreadableFileError: It is not what is read.
        """
        found = self.text("METADATA", "replace") or self.text("PKG-INFO", "replace")
        return found.replace("\r\n", "\n").partition("\n\n")[0]

    def header(self, key: str) -> str:
        """Return a value of METADATA; empty when there is none, or no METADATA that can be read."""
        try:
            lines = self.headers().split("\n")
        except UnreadableFileError:
            return ""
        return next(
            (line.partition(":")[2].strip() for line in lines if line.startswith(f"{key}:")), ""
        )

    def entry_points(self) -> list[tuple[str, str, str]]:
        """Return its entry points in groups that begin with :data:`GROUP_PREFIX`: what follows that, name and value.

        Raises:
            UnreadableFileError: Its ``entry_points.txt`` is damaged.
        """
        text = self.text("entry_points.txt")
        return list(entry_points_in(text)) if GROUP_PREFIX in text else []

    def editable_source(self) -> str | None:
        """Return the folder of its sources where it is an editable install, else None."""
        try:
            text = self.text("direct_url.json")
            if '"editable"' not in text:
                return None
            import json
            from urllib.parse import unquote, urlsplit

            origin = json.loads(text)
            return (
                unquote(urlsplit(origin["url"]).path)
                if origin["dir_info"]["editable"] is True
                else None
            )
        except (
            UnreadableFileError,
            ValueError,
            TypeError,
            KeyError,
            AttributeError,
            RecursionError,
        ):
            return None  # no such file, or one of another shape

    def owns(self, package: str, place: str) -> bool:
        """Whether a package that was found in a place is among the files that this copy brought.

        RECORD says so, or the folder of an editable install. Where a tool left no RECORD, what lies beside the metadata counts.

        Args:
            package: A top-level name.
            place: The folder or file that Python finds under this name.

        Raises:
            UnreadableFileError: RECORD is not what is read.
        """
        record = self.text("RECORD", "replace")
        listed = any(f"\n{package}{mark}" in f"\n{record}" for mark in "/.") or not record
        if listed and _is_same(os.path.dirname(place), self.folder):
            return True
        source = self.editable_source()
        return source is not None and _lies_in(place, [source])

    def ships(self, package: str, name: str) -> bool:
        """Whether a file in a package that it owns is its own."""
        record = self.text("RECORD", "replace")
        return f"\n{package}/{name}," in f"\n{record}" or f"\n{package}/" not in f"\n{record}"


def installed_distributions() -> dict[str, list[Copy]]:
    """Return the copies of every distribution by its normalised name, in the order in which Python sees them."""
    found: dict[str, list[Copy]] = {}
    for place in dict.fromkeys(place or os.curdir for place in sys.path):
        for copy in _copies_in(place):
            if copy.name:
                found.setdefault(copy.name, []).append(copy)
    return found


def path_sources() -> list[str]:
    """Return the folders of the path, and the files of the finders that installers added, which list packages too."""
    finders = [sys.modules.get(getattr(finder, "__module__", "")) for finder in sys.meta_path]
    files = [getattr(module, "__file__", None) for module in finders]
    return [*sys.path, *(str(file) for file in files if file)]


def distribution_sources(distributions: list[Copy], brings_components: bool) -> Iterator[str]:
    """Yield the files and folders that decide what is known of the copies of a distribution."""
    for copy in distributions:
        if copy.place:
            yield copy.place
            yield os.path.join(copy.place, "entry_points.txt")
        if copy.place and (
            brings_components or len(distributions) > 1 or not copy.place.endswith(".dist-info")
        ):
            for name in ("METADATA", "PKG-INFO", "direct_url.json", "RECORD"):
                yield os.path.join(copy.place, name)


def copies(distributions: list[Copy]) -> list[Copy]:
    """Return the copies of one distribution, the one that is used first.

    Copies without metadata, which a failed uninstall leaves behind, go last. The ``.egg-info`` that setuptools writes into
    the sources of an editable install is no second copy.
    """
    if len(distributions) == 1:
        return distributions
    found: dict[str, Copy] = {}
    for copy in distributions:
        found.setdefault(
            os.path.realpath(copy.place or copy.folder), copy
        )  # a folder may stand twice in the path
    every = sorted(found.values(), key=lambda copy: not _has_metadata(copy))
    sources = [source for source in (copy.editable_source() for copy in every) if source]
    return [
        copy
        for copy in every
        if not (copy.place.endswith(".egg-info") and _lies_in(copy.folder, sources))
    ] or every


def missing_requirements(
    copy: Copy, installed: Mapping[str, object], extra: str | None = None
) -> list[str]:
    """Return the requirements of a distribution, or of one of its extras, that are not installed.

    Those with any other marker than the extra's are left to the import.

    Raises:
        UnreadableFileError: METADATA cannot be used.
    """
    marker = "" if extra is None else normalise(f"extra=={extra}")
    return [
        name
        for name, markers in requirements(copy).items()
        if marker in markers and normalise(name) not in installed
    ]


def requirements(copy: Copy) -> dict[str, set[str]]:
    """Return the names of what a distribution requires, and the markers with which it does so: empty for anywhere.

    Raises:
        UnreadableFileError: METADATA cannot be read, or requires what is no name.
    """
    found: dict[str, set[str]] = {}
    for line in copy.headers().split("\n"):
        if line.startswith("Requires-Dist:"):
            requirement, _, condition = line[len("Requires-Dist:") :].partition(";")
            requirement = requirement.strip()
            name = requirement[: _OF_A_NAME.match(requirement).end()]  # type: ignore[union-attr]
            if (
                not (name[:1].isalnum() and name[-1:].isalnum())
                or requirement[len(name) :][:1] not in " \t<>=!~[(@,"
            ):
                raise UnreadableFileError(
                    f"its METADATA requires {requirement!r}, which is no name of a package"
                )
            found.setdefault(name, set()).add(normalise(condition.translate(_UNQUOTED)))
    return found


def normalise(name: str) -> str:
    """Return the name of a distribution in the one spelling that is compared: lower case, with single dashes."""
    return "-".join(filter(None, name.replace("_", "-").replace(".", "-").lower().split("-")))


def _copies_in(place: str) -> Iterator[Copy]:
    if place.endswith(".egg") or os.path.isfile(place):
        from importlib_metadata import distributions

        yield from map(_asked_for, distributions(path=[place]))
        return
    try:
        names = sorted(os.listdir(place))
    except OSError:
        return
    for name in names:
        if name.lower().endswith((".dist-info", ".egg-info")):
            yield Copy(os.path.join(place, name), place, {})


def _asked_for(metadata: Any) -> Copy:
    path = str(getattr(metadata, "_path", None) or "")
    if os.path.isdir(path):
        return Copy(path, os.path.dirname(path), {})
    return Copy(path, str(metadata.locate_file("")), {}, metadata)


def entry_points_in(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the entry points in groups that begin with :data:`GROUP_PREFIX`: what follows that, name and value.

    Raises:
        UnreadableFileError: A line of them is damaged, or there are too many; yielded is what stands before.
    """
    group, count = "", 0
    for line in map(str.strip, text.split("\n")):
        if not line or line[0] in "#;":
            continue
        if line[0] == "[" and line[-1] == "]":
            group = line[1:-1].strip()
        elif group.startswith(GROUP_PREFIX):
            name, _, value = map(str.strip, line.partition("="))
            count += 1
            if not name or not value:
                raise UnreadableFileError(
                    f"its entry_points.txt is damaged: {line[:80]!r} in [{group}]"
                )
            if count > _MOST_ENTRY_POINTS:
                raise UnreadableFileError(f"it has more than {_MOST_ENTRY_POINTS} entry points")
            yield group.removeprefix(GROUP_PREFIX), name, value


def _has_metadata(copy: Copy) -> bool:
    try:
        return bool(copy.headers())
    except UnreadableFileError:
        return True


def _is_same(folder: str, other: str) -> bool:
    return folder == other or os.path.realpath(folder) == os.path.realpath(other)


def _lies_in(folder: str, places: list[str]) -> bool:
    real = os.path.join(os.path.realpath(folder), "")
    return any(real.startswith(os.path.join(os.path.realpath(place), "")) for place in places)


LARGEST = 2**20
"""Bytes that a file of a distribution's metadata, or a manifest, may have."""


def read_small_file(path: str) -> bytes | None:
    """Return what a file holds; None when there is none.

    Raises:
        UnreadableFileError: It is no regular file, is larger than 1 MiB, or may not be read.
    """
    try:
        descriptor = os.open(
            path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        )
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise UnreadableFileError(
            f"it cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error
    try:
        found = os.fstat(descriptor)
        if found.st_mode & 0o170000 != 0o100000:
            raise UnreadableFileError("it is no regular file")
        content = b"" if found.st_size > LARGEST else os.read(descriptor, LARGEST + 1)
    except OSError as error:
        raise UnreadableFileError(f"it cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)
    if max(found.st_size, len(content)) > LARGEST:
        raise UnreadableFileError("it is larger than 1 MiB")
    return content


def read_toml(source: bytes) -> dict[str, Any]:
    """Return what a TOML document holds, whoever wrote it: in bounded time, and with one kind of error.

    Raises:
        UnreadableFileError: It is no TOML, or its keys or lists are nested too deeply.
    """
    import tomli

    if _is_too_dotted(source):
        raise UnreadableFileError("no valid TOML: its keys are nested too deeply")
    try:
        return tomli.loads(source.removeprefix(b"\xef\xbb\xbf").decode("utf-8"))
    except RecursionError:
        raise UnreadableFileError(
            "no valid TOML: its lists or tables are nested too deeply"
        ) from None
    except (
        ValueError
    ) as error:  # TOMLDecodeError, UnicodeDecodeError, and numbers of thousands of digits
        raise UnreadableFileError(f"no valid TOML: {error}") from error


def _is_too_dotted(source: bytes) -> bool:
    """Whether reading the text would take seconds: for a dotted key that takes the square of its parts."""
    every, lines = source.count(b"."), source.count(b"\n") + 1
    if every * (every + lines) <= _MOST_STEPS:
        return False
    dots = [line.count(b".") for line in source.split(b"\n")]
    return sum(count * count for count in dots) + max(dots) * len(dots) > _MOST_STEPS


_MOST_STEPS = 5_000_000
