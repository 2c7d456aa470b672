"""Bodies that a server, a client or a proxy compressed: one reader of ``Content-Encoding`` for both directions."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, Protocol

PIECE = 1 << 18
"""So many bytes a decoder gives out at once, so that a limit is met before memory is."""

_STEP = 1 << 10
"""So many bytes go at once to a decoder that has no limit for what it gives out."""
_GZIP = b"\x1f\x8b"
_GZIP_NAMES = ("gzip", "x-gzip")
_UNPACKED = ("", "identity", "none", "null", "plain", "text", "raw", "binary", "7bit", "8bit")
_MODULES = {
    "br": ("brotli", "brotlicffi"),
    "zstd": ("compression.zstd", "backports.zstd", "zstandard"),
}
_DISTRIBUTIONS = {"br": "Brotli", "zstd": "zstandard"}


class ContentEncodingError(ValueError):
    """A body cannot be decompressed.

    Attributes:
        needs_package: Whether a package that is not installed could do it.
    """

    def __init__(self, message: str, needs_package: bool = False) -> None:
        super().__init__(message)
        self.needs_package = needs_package


def accepted_encodings() -> str:
    """Return the value of ``Accept-Encoding``: what can be read here."""
    installed = [name for name in _MODULES if _module(name) is not None]
    return ", ".join(["gzip", "deflate", *installed])


class BodyDecoder:
    """Takes the encodings off a body, piece by piece.

    Below a first layer of gzip, further ones are recognized by their first bytes: proxies add the name without the
    layer, and the layer without the name. A charset in the place of an encoding says nothing of compression.

    Args:
        encodings: The value of ``Content-Encoding``: encodings in the order in which they were applied.
    """

    def __init__(self, encodings: str) -> None:
        names = [name.strip().lower() for name in encodings.split(",")]
        self._layers: list[_Layer] = []
        for name in reversed(names):
            if _is_unpacked(name):
                continue
            if name not in _GZIP_NAMES:
                self._layers.append(_layer(name))
                continue
            if not self._layers:
                self._layers.append(_Members("gzip", _new_gzip))
            self._layers.append(_PossibleGzip())

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield what the next bytes become, in pieces.

        Raises:
            ContentEncodingError: They are not in the encoding, or it needs a package.
        """
        return _through(self._layers, chunk)

    def finish(self) -> Iterator[bytes]:
        """Yield what is left at the end of the body.

        Raises:
            ContentEncodingError: The body is cut short.
        """
        for number, layer in enumerate(self._layers):
            for piece in layer.finish():
                yield from _through(self._layers[number + 1 :], piece)


def decoded(body: bytes, encodings: str, most: int) -> bytes:
    """Return a body without the encodings of its ``Content-Encoding``.

    Args:
        body: The body.
        encodings: The header, with several encodings in the order in which they were applied.
        most: So many bytes it may have.

    Raises:
        ContentEncodingError: An encoding is unknown, needs a package, or the body is damaged or larger.
    """
    decoder = BodyDecoder(encodings)
    whole = bytearray()
    for pieces in (decoder.feed(body), decoder.finish()):
        for piece in pieces:
            whole += piece
            if len(whole) > most:
                raise ContentEncodingError(
                    f"the body has more than {most >> 20} MiB when it is decompressed"
                )
    return bytes(whole)


class _Layer(Protocol):
    def feed(self, chunk: bytes) -> Iterator[bytes]: ...

    def finish(self) -> Iterator[bytes]: ...


def _through(layers: Sequence[_Layer], chunk: bytes) -> Iterator[bytes]:
    if not layers:
        if chunk:
            yield chunk
        return
    for piece in layers[0].feed(chunk):
        yield from _through(layers[1:], piece)


class _Members:
    """One or several compressed members in a row, as gzip allows, and which deflate has one of.

    Args:
        name: What the encoding is called.
        new: Makes what decompresses one member, of its first byte.
    """

    def __init__(self, name: str, new: Callable[[int], Any]) -> None:
        self._name = name
        self._new = new
        self._member: Any = None
        self._is_behind_a_member = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            if self._member is None:
                if self._is_behind_a_member:
                    chunk = chunk.lstrip(b"\x00")  # padding
                if not chunk:
                    return
                self._member = self._new(chunk[0])
            piece = b"-"
            while piece and not self._member.eof:
                try:
                    piece = self._member.decompress(chunk, PIECE)
                except zlib.error as error:
                    raise ContentEncodingError(f"the body is not {self._name}: {error}") from error
                chunk = self._member.unconsumed_tail
                if piece:
                    yield piece
            if not self._member.eof:
                return
            chunk = self._member.unused_data
            self._member = None
            self._is_behind_a_member = True

    def finish(self) -> Iterator[bytes]:
        if self._member is not None:
            raise ContentEncodingError(f"the {self._name} body is cut short")
        yield from ()


class _PossibleGzip:
    """Gzip where the first bytes say so; other bytes are passed on."""

    def __init__(self) -> None:
        self._beginning = b""
        self._members: _Members | None = None
        self._is_plain = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        if self._members is None and not self._is_plain:
            chunk = self._beginning + chunk
            self._beginning = b""
            if len(chunk) < len(_GZIP) and _GZIP.startswith(chunk):
                self._beginning = chunk
                return
            if chunk.startswith(_GZIP):
                self._members = _Members("gzip", _new_gzip)
            else:
                self._is_plain = True
        if self._members is None:
            yield chunk
        else:
            yield from self._members.feed(chunk)

    def finish(self) -> Iterator[bytes]:
        if self._members is not None:
            yield from self._members.finish()
        elif self._beginning:
            yield self._beginning


class _Packaged:
    """An encoding that needs a package.

    Args:
        name: What the encoding is called.
    """

    def __init__(self, name: str) -> None:
        module = _module(name)
        if module is None:
            raise ContentEncodingError(
                f"it is compressed as {name}: install {_DISTRIBUTIONS[name]}, or let the sender use gzip",
                needs_package=True,
            )
        self._name = name
        self._new = _new_brotli(module) if name == "br" else _new_zstd(module)
        self._decoder: Any = None
        self._has_ended = True

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        for start in range(0, len(chunk), _STEP):
            yield from self._fed(chunk[start : start + _STEP])

    def finish(self) -> Iterator[bytes]:
        if not self._has_ended:
            raise ContentEncodingError(f"the {self._name} body is cut short")
        yield from ()

    def _fed(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            if self._decoder is None:
                self._decoder = self._new()
            try:
                piece = self._decoder.decompress(chunk)
            except Exception as error:  # each of the packages has errors of its own
                raise ContentEncodingError(f"the body is not {self._name}: {error}") from error
            if piece:
                yield bytes(piece)
            self._has_ended = self._decoder.eof
            chunk = self._decoder.unused_data if self._has_ended else b""
            if self._has_ended:
                self._decoder = None


class _Brotli:
    """The decoder of a brotli package, with the names that the others have."""

    unused_data = b""

    def __init__(self, decoder: Any) -> None:
        self._decoder = decoder
        step = getattr(decoder, "process", None)
        self.decompress = step if step is not None else decoder.decompress

    @property
    def eof(self) -> bool:
        return bool(self._decoder.is_finished())


def _new_brotli(module: Any) -> Callable[[], Any]:
    return lambda: _Brotli(module.Decompressor())


def _new_zstd(module: Any) -> Callable[[], Any]:
    if module.__name__ == "zstandard":
        return lambda: module.ZstdDecompressor().decompressobj()
    return module.ZstdDecompressor  # type: ignore[no-any-return]


def _layer(name: str) -> _Layer:
    if name == "deflate":
        return _Members("deflate", _new_deflate)
    if name in _MODULES:
        return _Packaged(name)
    raise ContentEncodingError(f"it is encoded as {name!r}, which is unknown")


def _new_gzip(_: int) -> Any:
    return zlib.decompressobj(zlib.MAX_WBITS | 16)


def _new_deflate(first: int) -> Any:
    has_header = first & 0x0F == 8
    return zlib.decompressobj(zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)


def _is_unpacked(name: str) -> bool:
    """Tell whether a name is that of no compression: none at all, or a charset that stands in its place."""
    if name in _UNPACKED:
        return True
    try:
        "a".encode(name.removeprefix("charset=").strip('"'))
    except (LookupError, ValueError):
        return False
    return True


def _module(encoding: str) -> Any:
    for name in _MODULES[encoding]:
        try:
            return import_module(name)
        except ImportError:
            continue
    return None
