"""JSON Lines: one object a line."""

from __future__ import annotations

from collections.abc import Iterator

from context_bench_local.json_text import check_columns, excerpt, kind_of, parse_json
from context_bench_local.record import Record
from context_bench_local.source import Source
from context_bench_local.text import read_lines


def read_jsonl(source: Source) -> Iterator[Record]:
    """Yield a record for every line that is not blank.

    A line ends with a line feed, with or without a carriage return before it; a line separator that Unicode adds
    (U+2028, U+0085) is text.

    Raises:
        ValueError: A line is no JSON, or no object, or has a column twice; the message names file, line and column.
    """
    seen = False
    for number, line in enumerate(read_lines(source, newline="\n"), start=1):
        if line.isspace():
            continue
        text = line.rstrip("\r\n")
        try:
            columns = parse_json(text, source.name, number)
        except ValueError as error:
            raise ValueError(f"{error}{'' if seen else _hint(text)}") from None
        if not isinstance(columns, dict):
            column = len(text) - len(text.lstrip()) + 1
            raise ValueError(
                f"{source.name}, line {number}, column {column}: a line must hold an object and not "
                f"{kind_of(columns)}, at {excerpt(text, column - 1)}.{'' if seen else _hint(text)}"
            )
        check_columns(columns, f"{source.name}, line {number}")
        seen = True
        yield Record(f"line {number}", columns)


def _hint(text: str) -> str:
    whole = text.lstrip().startswith("[") or text.strip() == "{"
    return " If the file is one JSON document, pass `format=json`." if whole else ""
