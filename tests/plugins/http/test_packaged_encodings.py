"""``br`` and ``zstd``: read where a package is there, refused with the package's name where none is."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import pytest

from context_bench_http import content_encoding
from context_bench_http.content_encoding import BodyDecoder, ContentEncodingError, decoded

REPLY = json.dumps({"choices": [{"message": {"content": "Paris " * 5000}}]}).encode()
MOST = 1 << 24


def _br(body: bytes) -> bytes:
    return bytes(pytest.importorskip("brotli").compress(body))


def _zstd(body: bytes) -> bytes:
    return bytes(pytest.importorskip("zstandard").ZstdCompressor().compress(body))


PACK: Mapping[str, Callable[[bytes], bytes]] = {"br": _br, "zstd": _zstd}


@pytest.mark.parametrize("name", PACK)
@pytest.mark.parametrize("step", [1, 7, 1 << 20])
def test_a_body_is_read_however_it_arrives(name: str, step: int) -> None:
    packed = PACK[name](REPLY)
    decoder = BodyDecoder(name)
    whole = b"".join(
        piece
        for start in range(0, len(packed), step)
        for piece in decoder.feed(packed[start : start + step])
    )
    assert whole + b"".join(decoder.finish()) == REPLY


@pytest.mark.parametrize("name", PACK)
def test_a_body_cut_short_or_damaged_is_refused(name: str) -> None:
    packed = PACK[name](REPLY)
    with pytest.raises(ContentEncodingError, match=f"{name} body is cut short"):
        decoded(packed[:-3], name, MOST)
    with pytest.raises(ContentEncodingError, match=f"not {name}|cut short"):
        decoded(b"no such encoding" * 9, name, MOST)


@pytest.mark.parametrize("name", PACK)
def test_a_small_body_that_becomes_a_large_one_is_refused(name: str) -> None:
    packed = PACK[name](bytes(1 << 25))
    assert len(packed) < 1 << 15
    with pytest.raises(ContentEncodingError, match="more than 16 MiB"):
        decoded(packed, name, MOST)


@pytest.mark.parametrize("name", PACK)
def test_two_layers_are_taken_off_in_their_order(name: str) -> None:
    assert decoded(PACK[name](PACK[name](REPLY)), f"{name}, {name}", MOST) == REPLY


@pytest.mark.parametrize(("name", "package"), [("br", "Brotli"), ("zstd", "zstandard")])
def test_the_package_is_named_where_it_is_missing(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content_encoding, "_MODULES", {"br": (), "zstd": ()})
    with pytest.raises(ContentEncodingError, match=f"install {package}") as raised:
        decoded(b"x", name, MOST)
    assert raised.value.needs_package
    assert name not in content_encoding.accepted_encodings()
