"""The one place through which text reaches a terminal, or a file that a command writes.

Labels, ids, model output and file names come from outside, and may contain what a terminal obeys.
This module makes every text printable first: it writes control characters, escape sequences and
characters that turn the reading direction as escapes (``\\x1b``). Results go to standard output
with :func:`echo`, everything else to standard error with :func:`echo_err` and :func:`warn`. Tables
and progress bars are drawn on :func:`drawing`, and files are written with :func:`atomic_write`.
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
    """Remove secrets from everything that this module writes in this context.

    Args:
        hide: Returns a text without secrets.
    """
    token = _hide.set(hide)
    try:
        yield
    finally:
        _hide.reset(token)


def echo(text: str = "") -> None:
    """Write text and a line end to standard output."""
    _write(text)


def echo_err(text: str = "") -> None:
    """Write text and a line end to standard error."""
    with suppress(OSError, ValueError):  # standard error may be closed: nothing stops for that
        _write(text, to_errors=True)


def warn(text: str) -> None:
    """Write a warning to standard error, as one line."""
    echo_err(style("Warning: ", color="yellow") + " ".join(text.split()))


def stdout_aside() -> redirect_stdout[TextIO]:
    """Return a context in which other code prints to standard error.

    Standard output is for results.
    """
    return redirect_stdout(cast("TextIO", Screen(aside=True)))


def capture_python_output() -> None:
    """Write warnings, log records and uncaught errors of Python through this module, too."""
    import logging
    import threading
    import warnings

    class RedactingHandler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            echo_err(self.format(record))

    logging.lastResort = RedactingHandler(logging.WARNING)
    warnings.showwarning = _show_warning
    sys.excepthook = lambda *error: _write_error("", threading.ExceptHookArgs((*error, None)))
    sys.unraisablehook = lambda error: _write_error(
        f"{error.err_msg or 'Exception ignored in'}: {error.object!r}\n", error
    )
    threading.excepthook = lambda error: _write_error(f"Exception in {error.thread}:\n", error)


def escape_what_standard_output_lacks() -> None:
    """Write characters that the encoding of standard output lacks as ``\\u`` escapes.

    JSON stays JSON with them.
    """
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.encoding != "utf-8":
        from codecs import register_error

        register_error("context-bench", _escaped)
        sys.stdout.reconfigure(errors="context-bench")


def _escaped(error: Any) -> tuple[str, int]:
    from json import dumps

    return dumps(error.object[error.start : error.end])[1:-1], error.end


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    *_: Any,
    **__: Any,
) -> None:
    """Write a warning; a warning for the user as one line."""
    from warnings import formatwarning

    if category is UserWarning:
        warn(str(message))
    else:
        echo_err(formatwarning(message, category, filename, lineno).rstrip())


def _write_error(heading: str, error: Any) -> None:
    """Write an error that Python reports; SystemExit ends a process or a thread on purpose."""
    if not issubclass(error.exc_type, SystemExit):
        from traceback import format_exception

        lines = format_exception(error.exc_type, error.exc_value, error.exc_traceback)
        echo_err(f"{heading}{''.join(lines)}".rstrip())


def write_json(value: Any, indent: int | None = 2) -> None:
    """Write a value to standard output as strict JSON.

    Numbers that are not finite become null, and characters that are not printable are escaped.

    Args:
        value: The value.
        indent: Spaces of each level; None writes one line; 0 writes one line for each item of a
            list, which takes a third of the time.
    """
    if indent == 0 and isinstance(value, list):
        lines = ",\n".join(_strict(item, None) for item in value)
        sys.stdout.write(f"[\n{lines}\n]\n")
        return
    sys.stdout.write(_strict(value, indent) + "\n")
    if indent is not None:
        sys.stdout.flush()


@contextmanager
def atomic_write(path: str | os.PathLike[str], what: str = "The file") -> Iterator[TextIO]:
    """Yield a stream whose text replaces a file once all of it is written.

    If that fails, the file stays as it was. The text is made printable as it is written. Bytes that
    are written to the stream's ``buffer`` are not changed.

    Args:
        path: Path of the file. It is written directly if it is not a regular file
            (``/dev/stdout``), or if its folder cannot be written.
        what: Name of the file in the message of an error.

    Raises:
        ConfigurationError: It cannot be written, or it is a run file, whose answers may have been
            paid for.
    """
    import os

    file = os.path.realpath(path)
    folder = os.path.dirname(file)
    exists = os.path.exists(file)
    is_direct = (exists and not os.path.isfile(file)) or not os.access(folder, os.W_OK)
    target = file if is_direct else os.path.join(folder, f".context-bench-{os.getpid()}.new")
    check_place(path, what)
    try:
        with PrintableFile(open(target, "wb"), encoding="utf-8", newline="") as stream:
            yield stream
        if not is_direct:
            if exists:
                os.chmod(target, os.stat(file).st_mode)
            os.replace(target, file)
    except OSError as error:
        raise ConfigurationError(
            f"{what} {path} cannot be written: {error.strerror or error}."
        ) from error
    finally:
        if not is_direct:
            with suppress(FileNotFoundError):
                os.unlink(target)


def check_place(path: str | os.PathLike[str], what: str) -> None:
    """Refuse a path that :func:`atomic_write` could not write, before the work for it is done.

    Raises:
        ConfigurationError: It is a folder or a run file, or a file or folder that may not be
            written.
    """
    import os

    file = os.path.realpath(path)
    try:
        if os.path.isfile(file):
            with open(file, "rb+") as current:  # a file that may not be written is not replaced
                if current.read(16) == b"SQLite format 3\0":
                    raise ConfigurationError(
                        f"{what} {path} cannot be written: a run file lies there. Name another "
                        "file."
                    )
        elif os.path.isdir(file) or not (
            os.path.exists(file) or os.access(os.path.dirname(file), os.W_OK)
        ):
            open(file, "ab").close()
    except OSError as error:
        raise ConfigurationError(
            f"{what} {path} cannot be written: {error.strerror or error}."
        ) from error


def _strict(value: Any, indent: int | None) -> str:
    if _hide.get() is str:
        # Most values need no copy. Keys that are not texts do, and numbers that are not finite.
        with suppress(TypeError, ValueError):
            return json_text(value, indent, None)
    return json_text(finite(value, _hide.get()), indent)


def finite(value: Any, rewrite: Callable[[str], str]) -> Any:
    """Return a value that JSON can represent.

    Numbers that are not finite become None, and values of other types become text.

    Args:
        value: The value.
        rewrite: Returns a text as it is to be written.
    """
    if isinstance(value, str):
        return rewrite(value)
    if isinstance(value, Mapping):
        return {rewrite(str(key)): finite(item, rewrite) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [finite(item, rewrite) for item in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if value is None or isinstance(value, bool | int) else rewrite(str(value))


def json_text(
    value: Any, indent: int | None = None, default: Callable[[Any], str] | None = str
) -> str:
    """Return a value as JSON in which characters that are not printable are escaped.

    Its numbers must be finite.
    """
    import json

    written = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False, default=default)
    return written if written.isprintable() else _UNPRINTABLE.sub(_json_escape, written)


class PrintableFile(TextIOWrapper):
    """A text file that makes everything printable that is written to it."""

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
    """Standard output as a stream for packages: everything is made printable, without colors.

    A pipe may end on a terminal, so output to a pipe is made printable, too.

    Args:
        aside: Whether the stream is standard error.
    """

    encoding = "utf-8"

    def __init__(self, aside: bool = False) -> None:
        self._stream = sys.stderr if aside else sys.stdout

    def write(self, text: str) -> int:
        """Write a text."""
        self._stream.write(escape_control(text))
        return len(text)

    def flush(self) -> None:
        """Write what is buffered."""
        self._stream.flush()

    def isatty(self) -> bool:
        """Return False: no escape sequences are written here."""
        return False


def write_line(stream: TextIO, text: str) -> None:
    """Write a line to a stream at once, made printable.

    Raises:
        OSError: The reader of the stream has closed it.
        ValueError: The stream is closed.
    """
    stream.write(escape_control(text) + "\n")
    stream.flush()


def drawing(stream: TextIO | None = None, **settings: Any) -> Console:
    """Return a console of rich on which all text is made printable.

    Colors and cursor moves of rich itself are not changed.

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
    """Return a text without anything that a terminal obeys.

    Args:
        text: Any value; its ``str()`` is taken.
        lines: Whether line ends and tabs stay; if not, they are escaped, too.
        is_json: Whether it is JSON, whose meaning does not change.
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
    """Return a text that :func:`echo` and :func:`echo_err` write in color or bold on a terminal.

    Args:
        text: What to write; it is made printable.
        color: ``red``, ``green``, ``yellow`` or ``cyan``; None for none.
        bold: Whether to write it in bold letters.
    """
    codes: list[str] = []
    if bold:
        codes.append("1")
    if color:
        codes.append(_COLORS[color])
    shown = escape_control(text)
    return f"{_mark()}{';'.join(codes)}m{shown}{_mark()}0m" if codes else shown


def width() -> int:
    """Return the width of the terminal, at least 40; 80 when there is none."""
    from os import environ

    columns = environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return max(40, int(columns))
    # This costs less than a request that fails.
    if sys.__stdout__ is None or not sys.__stdout__.isatty():
        return 80
    from shutil import get_terminal_size

    return max(40, get_terminal_size((80, 24)).columns)


def wrap_text(label: str, text: str, indent: int = 4, gutter: int = 10) -> str:
    """Return a label and a text that is wrapped next to it, to the width of the terminal.

    Args:
        label: Comes before the first line.
        text: The text; an empty one is written as ``-``.
        indent: Spaces before the label.
        gutter: Columns of the label.
    """
    head = " " * indent + escape_control(label).ljust(gutter)
    margin = " " * len(head)
    columns = max(0, width() - len(head))
    text = escape_control(text) or "-"
    text = text.expandtabs().replace("\n", " ").strip(" ")
    lines: list[str] = []
    while len(text) > columns and " " in text:
        end = max(0, text.rfind(" ", 0, columns + 1)) or text.find(" ")
        lines.append(text[:end].rstrip(" "))
        text = text[end:].lstrip(" ")
    lines.append(text)
    return (head + f"\n{margin}".join(lines)).rstrip(" ")


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
    """Return the mark of an escape sequence of this module; no other text can contain it."""
    from os import urandom

    return f"\ufdd0{urandom(8).hex()}"


def _write(text: str, to_errors: bool = False) -> None:
    text = str(text)
    pieces = text.split(_mark()) if "\ufdd0" in text else [text]
    plain = escape_control(pieces[0])
    colored = plain
    for piece in pieces[1:]:
        codes, _, content = piece.partition("m")
        content = escape_control(content)
        plain += content
        colored += f"\x1b[{codes}m{content}"
    stream = sys.stderr if to_errors else sys.stdout
    is_utf8 = getattr(stream, "encoding", None) == "utf-8"
    if "click" not in sys.modules and is_utf8 and sys.platform != "win32":
        # as click does, without its import
        stream.write((colored if stream.isatty() else plain) + "\n")
        stream.flush()
        return
    import click

    click.echo(colored, err=to_errors)
