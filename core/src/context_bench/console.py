"""The one place through which text reaches a terminal, or a file that a command writes.

Labels, ids, model output and file names come from elsewhere, and may hold what a terminal obeys.
Whatever passes here is made printable first: control characters, escape sequences and those that
turn the reading direction are written out (``\\x1b``). Results go to standard output with
:func:`echo`, everything else to standard error with :func:`echo_err` and :func:`warn`. Tables and
progress bars are drawn on :func:`drawing`, and files are written with :func:`atomic_write`.
``tests/contract/test_repository_rules.py`` refuses every other way to a terminal.

This module is stable API: see ``docs/reference/public-api.md``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from contextvars import ContextVar
from functools import lru_cache
from io import TextIOWrapper
from math import isfinite
from typing import TYPE_CHECKING, Any, TextIO, cast

from context_bench.errors import ConfigurationError

if TYPE_CHECKING:
    import os

    from rich.console import Console

__all__ = [
    "escape_control",
    "stdout_aside",
    "echo",
    "style",
    "echo_err",
    "warn",
    "atomic_write",
    "wrap_text",
    "write_json",
]


_hide: ContextVar[Callable[[str], str]] = ContextVar("hide", default=str)


@contextmanager
def hiding(hide: Callable[[str], str]) -> Iterator[None]:
    """Take secrets out of all that is written here in the meantime.

    Args:
        hide: Returns a text without secrets.
    """
    before = _hide.set(hide)
    try:
        yield
    finally:
        _hide.reset(before)


def echo(text: str = "") -> None:
    """Write text and a line end to standard output."""
    _write(text)


def echo_err(text: str = "") -> None:
    """Write text and a line end to standard error."""
    with suppress(OSError, ValueError):  # nobody reads what is told besides: that ends nothing
        _write(text, to_errors=True)


def warn(text: str) -> None:
    """Write a warning to standard error, as one line."""
    echo_err(style("Warning: ", color="yellow") + " ".join(text.split()))


def stdout_aside() -> redirect_stdout[TextIO]:
    """Return a context in which what other code prints goes to standard error: standard output is
    for results."""
    return redirect_stdout(cast("TextIO", Screen(aside=True)))


def capture_python_output() -> None:
    """Take what Python itself writes to standard error, too: warnings, log records, and errors that
    nobody caught."""
    import logging
    import threading
    import warnings

    class Told(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            echo_err(self.format(record))

    logging.lastResort = Told(logging.WARNING)
    warnings.showwarning = _show_warning
    sys.excepthook = lambda *error: _tell_error("", threading.ExceptHookArgs((*error, None)))
    sys.unraisablehook = lambda found: _tell_error(
        f"{found.err_msg or 'Exception ignored in'}: {found.object!r}\n", found
    )
    threading.excepthook = lambda found: _tell_error(f"Exception in {found.thread}:\n", found)


def escape_what_standard_output_lacks() -> None:
    """Have characters that the encoding of standard output lacks written as ``\\u`` escapes, of
    which JSON stays JSON."""
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.encoding != "utf-8":
        from codecs import register_error

        register_error("context-bench", _escaped)
        sys.stdout.reconfigure(errors="context-bench")


def _escaped(error: Any) -> tuple[str, int]:
    from json import dumps

    return dumps(error.object[error.start : error.end])[1:-1], error.end


def _show_warning(
    message: Warning | str, category: type[Warning], *where: Any, **more: Any
) -> None:
    """Write a warning: one that is meant for the user is a line of ours."""
    from warnings import formatwarning

    if category is UserWarning:
        warn(str(message))
    else:
        echo_err(formatwarning(message, category, *where[:2]).rstrip())


def _tell_error(where: str, found: Any) -> None:
    """Write an error that Python has told of; what ends a process or a thread on purpose is
    none."""
    if not issubclass(found.exc_type, SystemExit):
        from traceback import format_exception

        lines = format_exception(found.exc_type, found.exc_value, found.exc_traceback)
        echo_err(f"{where}{''.join(lines)}".rstrip())


def write_json(value: Any, indent: int | None = 2) -> None:
    """Write a value to standard output as strict JSON: numbers that are not finite are null, what
    is not printable is escaped.

    Args:
        value: The value.
        indent: Spaces of each level; None writes one line; 0 one line for each item of a list,
            which takes a third of the time.
    """
    if indent == 0 and isinstance(value, list):
        lines = ",\n".join(_strict(one, None) for one in value)
        sys.stdout.write(f"[\n{lines}\n]\n")
        return
    sys.stdout.write(_strict(value, indent) + "\n")
    if indent is not None:
        sys.stdout.flush()


@contextmanager
def atomic_write(path: str | os.PathLike[str], what: str = "The file") -> Iterator[TextIO]:
    """Yield a stream whose text takes the place of a file once all of it is written; when that
    fails the file stays as it was.

    The text is made printable as it is written. Bytes that go into the stream's ``buffer`` stay as
    they are.

    Args:
        path: Where it lies. What is no file (``/dev/stdout``), or lies where nothing can be put
            beside it, is written directly.
        what: What it is called when it cannot be written.

    Raises:
        ConfigurationError: It cannot be written, or a run file lies there, whose answers may have
            been paid for.
    """
    import os

    place = os.path.realpath(path)
    folder, is_there = os.path.dirname(place), os.path.exists(place)
    is_direct = (is_there and not os.path.isfile(place)) or not os.access(folder, os.W_OK)
    target = place if is_direct else os.path.join(folder, f".context-bench-{os.getpid()}.new")
    check_place(path, what)
    try:
        with PrintableFile(open(target, "wb"), encoding="utf-8", newline="") as stream:
            yield stream
        if not is_direct:
            if is_there:
                os.chmod(target, os.stat(place).st_mode)
            os.replace(target, place)
    except OSError as error:
        raise ConfigurationError(
            f"{what} {path} cannot be written: {error.strerror or error}."
        ) from error
    finally:
        if not is_direct:
            with suppress(FileNotFoundError):
                os.unlink(target)


def check_place(path: str | os.PathLike[str], what: str) -> None:
    """Refuse a place where :func:`atomic_write` could not write, before the work is done that a
    file is to hold.

    Raises:
        ConfigurationError: A folder or a run file lies there, or a file or folder that may not be
            written.
    """
    import os

    place = os.path.realpath(path)
    try:
        if os.path.isfile(place):
            with open(place, "rb+") as before:  # what may not be written is not replaced either
                if before.read(16) == b"SQLite format 3\0":
                    raise ConfigurationError(
                        f"{what} {path} cannot be written: a run file lies there. Name another "
                        "file."
                    )
        elif os.path.isdir(place) or not (
            os.path.exists(place) or os.access(os.path.dirname(place), os.W_OK)
        ):
            open(place, "ab").close()
    except OSError as error:
        raise ConfigurationError(
            f"{what} {path} cannot be written: {error.strerror or error}."
        ) from error


def _strict(value: Any, indent: int | None) -> str:
    if _hide.get() is str:  # then most values need no copy first
        with suppress(
            TypeError, ValueError
        ):  # keys that are no texts, and numbers that are not finite
            return json_text(value, indent, None)
    return json_text(finite(value, _hide.get()), indent)


def finite(value: Any, told: Callable[[str], str]) -> Any:
    """Return a value as JSON can hold it: numbers that are not finite become None, and what JSON
    does not know its text.

    Args:
        value: The value.
        told: Returns a text as it is to be written.
    """
    if isinstance(value, str):
        return told(value)
    if isinstance(value, Mapping):
        return {told(str(key)): finite(one, told) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [finite(one, told) for one in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if value is None or isinstance(value, bool | int) else told(str(value))


def json_text(
    value: Any, indent: int | None = None, default: Callable[[Any], str] | None = str
) -> str:
    """Return a value without numbers that are not finite as JSON in which what is not printable is
    escaped."""
    import json

    written = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False, default=default)
    return written if written.isprintable() else _UNPRINTABLE.sub(_json_escape, written)


class PrintableFile(TextIOWrapper):
    """A file of text in which everything is printable, whoever writes it."""

    def write(self, text: str) -> int:
        """Write a text, made printable; a line may end as on Windows."""
        super().write("\r\n".join(map(escape_control, text.split("\r\n"))))
        return len(text)


def result_stream(*, is_drawn: bool = False) -> TextIO:
    """Return standard output as a stream for a reporter.

    Args:
        is_drawn: Whether the reporter writes through :func:`drawing`, which makes its texts
            printable and may color them.
    """
    return sys.stdout if is_drawn else cast("TextIO", Screen())


class Screen:
    """Standard output as a stream for what packages write: all of it is made printable, and takes
    no colors.

    A pipe may end on a terminal, so that what is not a terminal gets the same.

    Args:
        aside: Whether this is standard error in its place.
    """

    encoding = "utf-8"

    def __init__(self, aside: bool = False) -> None:
        self._stream = sys.stderr if aside else sys.stdout

    def write(self, text: str) -> int:
        """Write a text."""
        self._stream.write(escape_control(text))
        return len(text)

    def flush(self) -> None:
        """Write what waits."""
        self._stream.flush()

    def isatty(self) -> bool:
        """Return False: nobody writes escape sequences here."""
        return False


def write_line(stream: TextIO, text: str) -> None:
    """Write a line to a stream at once, made printable.

    Raises:
        OSError: Nobody reads the stream.
        ValueError: It is closed.
    """
    stream.write(escape_control(text) + "\n")
    stream.flush()


def drawing(stream: TextIO | None = None, **settings: Any) -> Console:
    """Return a console of rich on which everything drawn is printable; rich adds its own colors and
    cursor moves.

    Args:
        stream: Where to draw; None draws on standard output.
        settings: Further arguments of the console.
    """
    from rich.console import Console

    class PrintableConsole(Console):
        def render(self, renderable: Any, options: Any = None) -> Iterator[Any]:
            """Yield the segments of what is drawn, with their text made printable."""
            for segment in super().render(renderable, options):
                if segment.control is not None or segment.text.isprintable():
                    yield segment
                else:
                    yield segment._replace(text=escape_control(segment.text))

        def on_broken_pipe(self) -> None:
            raise  # rich would end the process: the caller decides

    return PrintableConsole(file=stream, **settings)


def escape_control(text: object, *, lines: bool = True, is_json: bool = False) -> str:
    """Return a text in which nothing is left that a terminal obeys.

    Args:
        text: Any value; its ``str()`` is taken.
        lines: Whether line ends and tabs stay; without, they are written out, too.
        is_json: Whether it is JSON, which means the same afterwards.
    """
    shown = _hide.get()(str(text))
    if shown.isprintable():
        return shown
    pattern = _UNPRINTABLE if lines else _UNPRINTABLE_OR_LINES
    return pattern.sub(_json_escape if is_json else _python_escape, shown)


def _json_escape(match: re.Match[str]) -> str:
    import json

    return json.dumps(match[0])[1:-1]


def _python_escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def style(text: object, *, color: str | None = None, bold: bool = False) -> str:
    """Return a text that :func:`echo` and :func:`echo_err` write in a color, or in bold letters,
    where there is a terminal.

    Args:
        text: What to write; it is made printable.
        color: ``red``, ``green``, ``yellow`` or ``cyan``; None for none.
        bold: Whether to write it in bold letters.
    """
    codes = ";".join([*(["1"] if bold else []), *([_COLORS[color]] if color else [])])
    return f"{_mark()}{codes}m{escape_control(text)}{_mark()}0m" if codes else escape_control(text)


def width() -> int:
    """Return the width of the terminal, at least 40; 80 when there is none."""
    from os import environ

    columns = environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return max(40, int(columns))
    if (
        sys.__stdout__ is None or not sys.__stdout__.isatty()
    ):  # which costs less than asking in vain
        return 80
    from shutil import get_terminal_size

    return max(40, get_terminal_size((80, 24)).columns)


def wrap_text(label: str, text: str, indent: int = 4, gutter: int = 10) -> str:
    """Return ``label`` and a text wrapped beside it, to the width of the terminal.

    Args:
        label: Stands before the first line.
        text: What to wrap; ``-`` stands for an empty one.
        indent: Spaces before the label.
        gutter: Columns that the label is given.
    """
    head, rest = " " * indent + escape_control(label).ljust(gutter), escape_control(text) or "-"
    rest = rest.expandtabs().replace("\n", " ").strip(" ")
    room, lines, margin = width() - len(head), list[str](), " " * len(head)
    while len(rest) > room and " " in rest:
        end = max(0, rest.rfind(" ", 0, max(0, room) + 1)) or rest.find(" ")
        lines.append(rest[:end].rstrip(" "))
        rest = rest[end:].lstrip(" ")
    return (head + f"\n{margin}".join([*lines, rest])).rstrip(" ")


_COLORS = {"red": "31", "green": "32", "yellow": "33", "cyan": "36"}

_OBEYED = (
    # control characters, those of C1 too
    "\x0b-\x1f\x7f-\x9f"
    # directions, and what cannot be seen
    "\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    # halves of characters, no characters, and tags
    "\ud800-\udfff\ufdd0-\ufdef\U000e0000-\U000e007f"
)
_UNPRINTABLE = re.compile(f"[\x00-\x08{_OBEYED}]")
_UNPRINTABLE_OR_LINES = re.compile(f"[\x00-\x0a{_OBEYED}]")


@lru_cache(maxsize=1)
def _mark() -> str:
    """Return what stands for an escape sequence of ours until it is written; nobody else's text can
    know it."""
    from os import urandom

    return f"\ufdd0{urandom(8).hex()}"


def _write(text: str, to_errors: bool = False) -> None:
    pieces = str(text).split(_mark()) if "\ufdd0" in str(text) else [str(text)]
    shown = plain = escape_control(pieces[0])
    for piece in pieces[1:]:
        codes, _, rest = piece.partition("m")
        rest = escape_control(rest)
        shown, plain = f"{shown}\x1b[{codes}m{rest}", plain + rest
    stream = sys.stderr if to_errors else sys.stdout
    if (
        "click" not in sys.modules
        and getattr(stream, "encoding", None) == "utf-8"
        and sys.platform != "win32"
    ):
        stream.write(
            (shown if stream.isatty() else plain) + "\n"
        )  # as click does, without its import
        stream.flush()
        return
    import click

    click.echo(shown, err=to_errors)
