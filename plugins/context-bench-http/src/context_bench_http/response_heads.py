"""Heads of responses that give the length of their body twice."""

from __future__ import annotations

import re

_END = re.compile(rb"\r?\n\r?\n")
_ANNOUNCEMENT = re.compile(rb"HTTP/1\.\d 1(?!01)\d\d")
_LENGTH = re.compile(rb"(?im)^content-length[ \t]*:[ \t]*([^\r\n]*?)[ \t]*(?=\r?$)")
_CHUNKED = re.compile(rb"(?im)^transfer-encoding[ \t]*:[^\r\n]*\bchunked[ \t]*\r?$")
_CLOSE = b"Connection: close"
_LONGEST = 1 << 20


class HeadReader:
    """Reads bytes up to the end of a head, and lets it give one length only.

    Chunks tell where a body ends, whatever length is given beside them; the connection is closed behind such a
    response, as HTTP (RFC 9112, section 6.3) demands. A length that is repeated is one. Lengths that differ are left.

    Attributes:
        is_done: Whether the head has ended; bytes behind it need not come here.
    """

    def __init__(self) -> None:
        self.is_done = False
        self._beginning = b""

    def feed(self, data: bytes) -> bytes:
        """Return the bytes to parse: none before the head is whole."""
        data = self._beginning + data
        self._beginning = b""
        heads = b""
        while True:
            end = _END.search(data)
            if end is None:
                break
            head = data[: end.end()]
            data = data[end.end() :]
            heads += with_one_length(head)
            if not _ANNOUNCEMENT.match(head.lstrip()):
                self.is_done = True
                return heads + data
        if len(data) > _LONGEST:
            self.is_done = True
            return heads + data
        self._beginning = data
        return heads


def with_one_length(head: bytes) -> bytes:
    """Return a head that gives the length of its body once.

    >>> with_one_length(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5, 5\\r\\n\\r\\n")
    b'HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\n'
    """
    given = [match[1] for match in _LENGTH.finditer(head)]
    if not given:
        return head
    if _CHUNKED.search(head):
        return _LENGTH.sub(_CLOSE, head)
    lengths = {length.strip() for value in given for length in value.split(b",")}
    if len(lengths) > 1 or given == list(lengths):
        return head
    first, *repeated = _LENGTH.finditer(head)
    for match in reversed(repeated):
        line_end = head.index(b"\n", match.end()) + 1
        head = head[: match.start()] + head[line_end:]
    return head[: first.start()] + b"Content-Length: " + lengths.pop() + head[first.end() :]
