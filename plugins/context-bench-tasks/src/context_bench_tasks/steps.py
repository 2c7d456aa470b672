"""What a reader of a task does next."""

from __future__ import annotations

from attrs import frozen


@frozen
class Read:
    """A file that has to be read.

    Attributes:
        path: Its path in the workspace.
        search: Text in the lines that are needed of it; empty where the whole file is needed.
    """

    path: str
    search: str = ""


@frozen
class Write:
    """A file that can be written.

    Attributes:
        path: Its path in the workspace.
        content: Its content.
    """

    path: str
    content: str


Step = Read | Write
