"""Request bodies that a client or a proxy compressed."""

from __future__ import annotations

import zlib
from importlib import import_module

_WINDOW_BITS = {
    "gzip": zlib.MAX_WBITS | 16,
    "x-gzip": zlib.MAX_WBITS | 16,
    "deflate": zlib.MAX_WBITS,
}
_PACKAGES = {"br": ("brotli", "Brotli"), "zstd": ("zstandard", "zstandard")}
_AS_IT_IS = ("", "identity", "none")


class EncodingError(ValueError):
    """A body cannot be decompressed."""


def unpacked(body: bytes, encodings: str, most: int) -> bytes:
    """Return a body without the encodings of its ``Content-Encoding``.

    Args:
        body: The body.
        encodings: The header, with several encodings in the order in which they were applied.
        most: So many bytes it may have.

    Raises:
        EncodingError: An encoding is unknown, needs a package, or the body is damaged or larger.
    """
    for encoding in reversed([name.strip().lower() for name in encodings.split(",")]):
        if encoding not in _AS_IT_IS:
            body = _unpacked_once(body, encoding, most)
    return body


def _unpacked_once(body: bytes, encoding: str, most: int) -> bytes:
    try:
        if encoding in _WINDOW_BITS:
            return _inflated(body, encoding, most)
        if encoding in _PACKAGES:
            module, distribution = _PACKAGES[encoding]
            try:
                decompress = import_module(module)
            except ImportError:
                raise EncodingError(
                    f"the body is packed as {encoding}: install {distribution}, or pack it as gzip"
                ) from None
            if encoding == "zstd":
                return bytes(decompress.ZstdDecompressor().decompress(body, max_output_size=most))
            return bytes(decompress.decompress(body))
    except EncodingError:
        raise
    except Exception as error:  # each of the libraries has errors of its own
        raise EncodingError(f"the body is not {encoding}: {error}") from error
    raise EncodingError(f"the encoding {encoding!r} of the body is unknown")


def _inflated(body: bytes, encoding: str, most: int) -> bytes:
    """Return a body of gzip, of one or several members, or of deflate, with or without its header."""
    pieces: list[bytes] = []
    size = 0
    while body:
        bits = _WINDOW_BITS[encoding]
        if encoding == "deflate" and (body[0] & 0x0F) != 8:
            bits = -zlib.MAX_WBITS
        decompressor = zlib.decompressobj(bits)
        piece = decompressor.decompress(body, most - size + 1)
        size += len(piece)
        if size > most:
            raise EncodingError(f"the body has more than {most >> 20} MiB when it is unpacked")
        if not decompressor.eof:
            raise EncodingError("the body is cut short")
        pieces.append(piece)
        body = decompressor.unused_data
    return b"".join(pieces)
