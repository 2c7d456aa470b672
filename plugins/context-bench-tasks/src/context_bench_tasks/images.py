"""Recipes of container images, as far as a folder does the same: a ``Dockerfile`` with FROM, WORKDIR, COPY and ENV only."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import field, frozen

from context_bench.errors import DatasetError

PREPARED = "ghcr.io/laude-institute/t-bench/"
"""Images of terminal-bench: an ordinary system or Python, in which ``/app`` is the working directory."""
_ORDINARY = ("scratch", "ubuntu", "debian", "alpine", "busybox", "bash", "python")
_WITHOUT_EFFECT = {"LABEL", "MAINTAINER", "CMD", "ENTRYPOINT", "EXPOSE", "STOPSIGNAL"}
_INSTRUCTION = re.compile(r"\s*([A-Za-z]+)\s+(.*)", re.DOTALL)
_ONLY_IN_AN_IMAGE = re.compile(
    r"(?<![\w./*~})-])/"
    r"(?:app|workspace|oracle|solution|root|home|data|opt|srv|etc|var|mnt|code|repo|testbed|project)(?![\w-])"
)
_CONTINUED = re.compile(r"\\[ \t]*\n(?:[ \t]*#.*\n)*")


class ImageNeededError(DatasetError):
    """A task needs a container image, or something else that a folder does not have."""


@frozen
class PlainImage:
    """What a recipe puts into its working directory.

    Attributes:
        workdir: The working directory, such as ``/app``.
        files: Text of each file in it, by path.
        variables: The variables that it sets.
    """

    workdir: str
    files: Mapping[str, str]
    variables: Mapping[str, str] = field(factory=dict)


def read_dockerfile(text: str, context: Mapping[str, str]) -> PlainImage:
    """Return what a Dockerfile puts into its working directory.

    >>> read_dockerfile("FROM ubuntu\\nWORKDIR /app\\nCOPY a.txt ./b/", {"a.txt": "1"}).files
    {'b/a.txt': '1'}

    Args:
        text: The Dockerfile.
        context: Text of each file that COPY can name, by path.

    Raises:
        ImageNeededError: It does more than a folder does.
    """
    workdir = ""
    copied: dict[str, str] = {}
    variables: dict[str, str] = {}
    is_begun = False
    for word, rest in _instructions(text):
        if word == "FROM":
            if is_begun:
                raise ImageNeededError("its Dockerfile has more than one stage")
            workdir = _base_workdir(rest)
            is_begun = True
        elif word == "WORKDIR":
            workdir = _absolute(workdir, _words(rest)[0])
        elif word == "COPY":
            copied.update(_copied(_words(rest), workdir, context))
        elif word == "ENV":
            variables.update(_variables(rest))
        elif word not in _WITHOUT_EFFECT:
            raise ImageNeededError(f"its Dockerfile has {word} {_shown(rest)}".rstrip())
    if workdir in ("", "/"):
        raise ImageNeededError("its Dockerfile sets no WORKDIR")
    return PlainImage(workdir, _below(workdir, copied), variables)


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    for line in _CONTINUED.sub(" ", text).splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _INSTRUCTION.fullmatch(line)
        if match is None:
            raise ImageNeededError(f"its Dockerfile has a line that is not read: {_shown(line)}")
        if "<<" in line:
            raise ImageNeededError("its Dockerfile contains a text of several lines")
        if "$" in line:
            raise ImageNeededError(f"its Dockerfile uses a variable: {_shown(line)}")
        yield match.group(1).upper(), match.group(2).strip()


def _base_workdir(rest: str) -> str:
    """Return the working directory of an image that has nothing a task could need; empty where it has none."""
    image = next(word for word in rest.split() if not word.startswith("--"))
    if image.startswith(PREPARED):
        return "/app"
    name = image.partition("@")[0].partition(":")[0].removeprefix("docker.io/")
    if name.removeprefix("library/") not in _ORDINARY:
        raise ImageNeededError(f"its Dockerfile starts from {image}")
    return ""


def _copied(words: Sequence[str], workdir: str, context: Mapping[str, str]) -> dict[str, str]:
    """Return the text of each file that an instruction COPY writes, by absolute path."""
    names = [word for word in words if not word.startswith("--")]
    if any(word.startswith("--from") for word in words) or len(names) < 2:
        raise ImageNeededError(f"its Dockerfile has COPY {_shown(' '.join(words))}")
    *sources, target = names
    folder = _absolute(workdir, target)
    is_folder = target.endswith(("/", ".")) or len(sources) > 1 or folder == workdir
    texts: dict[str, str] = {}
    for source in sources:
        path = posixpath.normpath(source.lstrip("/"))
        below = {
            posixpath.relpath(name, path): text
            for name, text in context.items()
            if path == "." or name.startswith(f"{path}/")
        }
        if path in context:
            name = posixpath.join(folder, posixpath.basename(path)) if is_folder else folder
            texts[name] = context[path]
        elif below:
            texts.update({posixpath.join(folder, name): text for name, text in below.items()})
        else:
            raise ImageNeededError(f"its Dockerfile copies {source}, which is not a file of it")
    return texts


def _below(workdir: str, copied: Mapping[str, str]) -> dict[str, str]:
    """Return files by their path in the working directory."""
    outside = [path for path in copied if not path.startswith(f"{workdir}/")]
    if outside:
        raise ImageNeededError(f"its Dockerfile writes {outside[0]}, which is outside {workdir}")
    return {posixpath.relpath(path, workdir): text for path, text in copied.items()}


def _absolute(workdir: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(workdir or "/", path))


def _variables(rest: str) -> dict[str, str]:
    words = _words(rest)
    if "=" not in words[0]:
        return {words[0]: " ".join(words[1:])}
    pairs = (word.partition("=") for word in words)
    return {name: value for name, _, value in pairs}


def _words(rest: str) -> list[str]:
    try:
        if rest.startswith("["):
            return [str(word) for word in json.loads(rest)] or [""]
        return shlex.split(rest) or [""]
    except (ValueError, RecursionError) as error:
        raise ImageNeededError(
            f"its Dockerfile has a line that is not read: {_shown(rest)}"
        ) from error


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:60]}..."


def read_compose(text: str) -> None:
    """Accept a compose file that starts the task's own image and nothing else, as terminal-bench writes it.

    Raises:
        ImageNeededError: It has more services, or another image.
    """
    _, _, services = text.partition("services:")
    body = [
        line for line in services.splitlines() if line.strip() and not line.lstrip().startswith("#")
    ]
    indents = [len(line) - len(line.lstrip()) for line in body]
    names: list[str] = []
    for line, indent in zip(body, indents, strict=True):
        if indent == 0:
            break
        if indent == indents[0]:
            names.append(line.strip().rstrip(":"))
        key, _, value = line.strip().partition(":")
        if key == "image" and "T_BENCH" not in value:
            raise ImageNeededError(f"its compose file starts {value.strip()}")
        if key in ("context", "build") and value.strip() not in ("", "."):
            raise ImageNeededError(f"its compose file builds {value.strip()}")
    if len(names) != 1:
        raise ImageNeededError(
            f"its compose file has the services {', '.join(names) or 'of another form'}"
        )


def find_outside(tests: Mapping[str, str], workdir: str) -> None:
    """Accept tests that use the working directory, ``/tests`` and ``/logs``, and no other folder that only an image has.

    Raises:
        ImageNeededError: A test uses another one.
    """
    own = re.compile(rf"{re.escape(workdir)}(?![\w-])")
    for name, text in tests.items():
        used = _ONLY_IN_AN_IMAGE.search(own.sub("", text))
        if used is not None:
            raise ImageNeededError(f"tests/{name} uses {used.group()}")


def read_context(folder: Path, texts: Mapping[str, str]) -> Mapping[str, str]:
    """Return the files that COPY can name: those of a folder, without the recipe itself.

    Raises:
        ImageNeededError: A file says that some are left out.
    """
    if (folder / ".dockerignore").exists():
        raise ImageNeededError("it has a .dockerignore")
    return {path: text for path, text in texts.items() if path != "Dockerfile"}
