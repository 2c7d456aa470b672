"""CSV and TSV: a header row, then one row a record."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import Any

from context_bench_local.json_text import excerpt
from context_bench_local.record import Record
from context_bench_local.source import Source
from context_bench_local.text import read_lines

_DELIMITERS = {"comma": ",", "tab": "\t", "\\t": "\t", "semicolon": ";", "pipe": "|", "space": " "}
_LARGEST_FIELD = 2**31 - 1  # a C long on every platform


def read_table(
    source: Source,
    *,
    separator: str = ",",
    delimiter: str | None = None,
    quote: str = '"',
    columns: Sequence[str] | None = None,
) -> Iterator[Record]:
    """Return the records of a table: every cell a string, exactly as it stands there.

    A field in quotes may hold delimiters, line endings and doubled quotes. Empty lines are no rows.

    Args:
        source: The file.
        separator: What separates cells unless the user says otherwise.
        delimiter: What the user says: one character, or one of the names of `_DELIMITERS`.
        quote: The quote character, or ``none``.
        columns: Column names, when the first row is a record and no header.

    Raises:
        ValueError: The header is missing or ambiguous, a row has too many or too few cells, or a quote is not closed;
            the message names file and line. Options are checked at the call.
    """
    wanted = separator if delimiter is None else delimiter
    dialect: dict[str, Any] = {"strict": True, "delimiter": _character(wanted, "delimiter")}
    if quote == "none":
        dialect["quoting"] = csv.QUOTE_NONE
    else:
        dialect["quotechar"] = _character(quote, "quote")
        if dialect["quotechar"] == dialect["delimiter"]:
            raise ValueError(f"delimiter and quote are both {quote!r}; they must differ.")
    if isinstance(columns, str) or columns == []:
        raise ValueError(f"columns must be a list of names, not {columns!r}.")
    names = (
        None if columns is None else [str(name) for name in columns]
    )  # a command line makes numbers of digits
    return _records(source, dialect, names, guess=delimiter is None)


def _records(
    source: Source, dialect: dict[str, Any], columns: Sequence[str] | None, guess: bool
) -> Iterator[Record]:
    rows = _rows(source, dialect)
    if columns is None:
        line, columns = next(rows, (1, []))
        if not columns:
            raise ValueError(f"{source.name} is empty; its first row must name the columns.")
        if guess and len(columns) == 1:
            _check_delimiter(source, columns[0], dialect["delimiter"])
    _check_header(source, columns)
    for line, cells in rows:
        if len(cells) != len(columns):
            raise ValueError(_ragged(source, line, cells, columns))
        yield Record(f"line {line}", dict(zip(columns, cells)))


def _rows(source: Source, dialect: dict[str, Any]) -> Iterator[tuple[int, list[str]]]:
    """Yield every row that has cells, with the line that it begins on."""
    if (
        csv.field_size_limit() < _LARGEST_FIELD
    ):  # 128 KiB by default, less than a long context; one for the process
        csv.field_size_limit(_LARGEST_FIELD)
    reader = csv.reader(read_lines(source, newline=""), **dialect)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            quotes = (
                ""
                if "quoting" in dialect
                else " Pass `quote=none` when quotes are plain text in this file."
            )
            raise ValueError(f"{source.name}, the row of line {line}: {error}.{quotes}") from None
        if cells:
            yield line, cells


def _character(value: str, option: str) -> str:
    character = _DELIMITERS.get(value, value)
    if len(character) != 1 or character in "\r\n\0":
        raise ValueError(
            f"{option} is {value!r}; give one character, or one of {', '.join(_DELIMITERS)}."
        )
    return character


def _check_delimiter(source: Source, header: str, separator: str) -> None:
    for name, character in _DELIMITERS.items():
        if character in header and character not in (separator, " "):
            raise ValueError(
                f"{source.name}: the header is the one cell {header!r}. Are the cells separated otherwise? "
                f"Then pass `delimiter={name}`."
            )


def _check_header(source: Source, columns: Sequence[str]) -> None:
    repeated = sorted({repr(name) for name in columns if columns.count(name) > 1})
    if repeated:
        raise ValueError(
            f"{source.name}: the header has more than one column {', '.join(repeated)}; rename them."
        )


def _ragged(source: Source, line: int, cells: Sequence[str], columns: Sequence[str]) -> str:
    names = ", ".join(columns[:8]) + (", …" if len(columns) > 8 else "")
    return (
        f"{source.name}, line {line}: the row has {len(cells)} cells and the header {len(columns)} ({names}). "
        f"It begins {excerpt(','.join(cells), 0)}."
    )
