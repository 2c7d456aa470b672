"""The system component: a response recorded before, found again for each example."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from context_bench.answers import REFERENCE_FIELDS
from context_bench_replay.contents import Joining
from context_bench_replay.dotted import find
from context_bench_replay.recorded_file import RecordedFile
from context_bench_replay.recording import Recording


class Replay:
    """Recorded responses as a system.

    Without ``path`` the response is a column of the example itself. With ``path`` it comes from a file of recorded
    responses that is joined to the examples by id. In both cases the output holds the response, and of the other
    recorded fields only those named here: nothing of the gold answer can slip through.

    Thread-safe. A file is read once, before the first response or with the fingerprint, and kept as one short output a
    record. Instances can be pickled; a copy reads the file again.

    Args:
        field: Place of the response: a column, or a path with dots (``outputs.0``,
            ``choices.0.message.content``; ``-1`` is the last of an array). A column whose name has dots is found too.
            Where nothing is said and there is no ``response``: the ``summary`` beside the ``contexts`` of ragas, the
            ``output`` of a run of arthur_bench.
        path: JSONL, JSON, CSV or TSV file, compressed or not.
        id_field: Where a recorded response has its id. Default ``id``.
        key_field: Where an example has that id. Default ``id``. Ids are compared as text: 7 and ``"7"`` are one id.
        sample: Which response to take when ids have several, counted from 0 in file order. By default several
            different responses under one id are an error.
        usage_field: Where the token usage stands. Default ``usage``; for a ``field`` inside ``choices``, the usage
            beside these.
        latency_field: Where the seconds stand that the response took.
        also: More fields to pass on, each ``"name"`` or ``"name=path"``.
        format: As for the dataset ``local``; so are the options that follow.
        encoding: Text encoding of the file.
        delimiter: CSV and TSV: what separates cells.
        quote: CSV and TSV: the quote character, or ``none``.
        columns: CSV and TSV: names of the columns when there is no header row.
        key: JSON: where the records stand in an object.
        index: JSON: column for the keys of an object of records by key.
        name: Name of the system; by default made of the file's name and the field.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: An option cannot be right.

    >>> Replay(field="choices.0.text").process({"choices": [{"text": "Paris"}], "usage": {"completion_tokens": 1}})
    {'response': 'Paris', 'usage': {'completion_tokens': 1}}
    """

    def __init__(
        self,
        field: str = "response",
        path: str | os.PathLike[str] | None = None,
        id_field: str | None = None,
        key_field: str | None = None,
        sample: int | None = None,
        usage_field: str | None = None,
        latency_field: str | None = None,
        also: Sequence[str] = (),
        *,
        format: str | None = None,  # noqa: A002 - the option's name on the command line
        encoding: str | None = None,
        delimiter: str | None = None,
        quote: str | None = None,
        columns: Sequence[str] | None = None,
        key: str | None = None,
        index: str | None = None,
        name: str | None = None,
    ) -> None:
        layout = {
            "format": format,
            "encoding": encoding,
            "delimiter": delimiter,
            "quote": quote,
            "columns": columns,
            "key": key,
            "index": index,
        }
        layout = {option: value for option, value in layout.items() if value is not None}
        joining = {"id_field": id_field, "key_field": key_field, "sample": sample}
        self._recording = Recording.of(field, usage_field, latency_field, also)
        self._key_field = key_field or "id"
        self._file: RecordedFile | None = None
        if path is not None:
            self._file = RecordedFile(
                path, Joining(self._recording, id_field or "id", sample, layout)
            )
        elif useless := [
            option for option, value in (joining | layout).items() if value is not None
        ]:
            raise ValueError(
                f"`{useless[0]}` says how to read a file of recorded responses: pass its `path` too."
            )
        self.name = name or (
            f"replay:{field}" if path is None else f"replay:{Path(path).name}:{field}"
        )

    @property
    def is_recorded(self) -> bool:
        """Whether its rows have no time of their own: the seconds of a recording are kept where they are known."""
        return self._recording.has_no_seconds

    reads_columns = True  # the response is a column, and which one is known by its path alone

    @property
    def reads_gold(self) -> bool:
        """Whether what it replays is the right answer."""
        return self._file is None and self._recording.field.partition(".")[0] in (
            *REFERENCE_FIELDS,
            "correct_letter",
        )

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the recorded output for an example: ``response``, and what else was asked for.

        Raises:
            LookupError: No response is recorded for this example; the message says what there is instead.
            ValueError: What is recorded is no text (null, an array, an object), or the file cannot be read.
        """
        if self._file is None:
            return copy.deepcopy(self._recording.output(example))
        try:
            identity = find(example, self._key_field)
        except LookupError as error:
            raise LookupError(
                f"Responses are joined by id, but in the example {error} Pass `key_field`."
            ) from None
        return copy.deepcopy(self._file.output(identity))

    def fingerprint(self) -> dict[str, Any]:
        """Return everything that can change an output; of a file its contents and not its name.

        A file is read for this, so that a broken one is found before the first row.
        """
        own = self._recording.fingerprint()
        return (
            own
            if self._file is None
            else own | {"key_field": self._key_field} | self._file.fingerprint()
        )
