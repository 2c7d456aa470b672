"""The decoder of bodies alone: pieces of any size, limits, and encodings that need a package."""

from __future__ import annotations

import gzip
import sys
import zlib
from types import ModuleType

import pytest

from context_bench_http import content_encoding
from context_bench_http.content_encoding import (
    BodyDecoder,
    ContentEncodingError,
    accepted_encodings,
    decoded,
)

TEXT = b"".join(b"line %d of a body\n" % number for number in range(20_000))
MOST = 1 << 26


@pytest.mark.parametrize("size", [1, 2, 7, 1 << 20])
@pytest.mark.parametrize(
    ("packed", "encodings"),
    [
        (gzip.compress(TEXT), "gzip"),
        (gzip.compress(gzip.compress(TEXT)), "gzip"),
        (gzip.compress(TEXT[:70]) + bytes(8) + gzip.compress(TEXT[70:]), "gzip"),
        (zlib.compress(TEXT), "deflate"),
        (TEXT, "none, charset=utf-8"),
    ],
    ids=["gzip", "twice", "padded members", "deflate", "none"],
)
def test_pieces_of_any_size_give_the_body(packed: bytes, encodings: str, size: int) -> None:
    decoder = BodyDecoder(encodings)
    found = bytearray()
    for start in range(0, len(packed), size):
        for piece in decoder.feed(packed[start : start + size]):
            assert len(piece) <= max(content_encoding.PIECE, size)
            found += piece
    found += b"".join(decoder.finish())
    assert found == TEXT


@pytest.mark.parametrize("encodings", ["snappy", "zlib", "hex", "gzip, rot13"])
def test_a_name_that_is_no_encoding_is_an_error(encodings: str) -> None:
    with pytest.raises(ContentEncodingError, match="which is unknown") as caught:
        BodyDecoder(encodings)
    assert not caught.value.needs_package


def test_a_body_that_becomes_too_large_is_refused() -> None:
    with pytest.raises(ContentEncodingError, match="more than 1 MiB"):
        decoded(gzip.compress(bytes(1 << 22)), "gzip", 1 << 20)


@pytest.mark.parametrize(("encoding", "package"), [("br", "Brotli"), ("zstd", "zstandard")])
def test_an_encoding_without_its_package_names_it(
    encoding: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for names in content_encoding._MODULES.values():
        for name in names:
            monkeypatch.setitem(sys.modules, name, None)
    assert accepted_encodings() == "gzip, deflate"
    with pytest.raises(ContentEncodingError, match=f"install {package}") as caught:
        BodyDecoder(encoding)
    assert caught.value.needs_package


def test_an_encoding_is_asked_for_where_its_package_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "brotli", ModuleType("brotli"))
    assert "br" in accepted_encodings().split(", ")
