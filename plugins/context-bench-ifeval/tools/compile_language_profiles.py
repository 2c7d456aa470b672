"""Compile the profiles of an installed `langdetect` into the one file this package ships.

    python tools/compile_language_profiles.py

The file is a zlib stream of: a JSON header line; the n-grams, sorted, one a line; the number of languages that know an
n-gram, one byte for each; those languages, one byte each, an index into the header's list; the counts there, four bytes
each, little-endian. The languages that know Latin letters come first. No number is rounded or dropped, so probabilities
come out as `langdetect` has them.
"""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from collections import defaultdict
from pathlib import Path
from typing import Any

import langdetect
from langdetect.utils.ngram import NGram

TARGET = (
    Path(__file__).parents[1] / "src" / "context_bench_ifeval" / "data" / "language_profiles.bin"
)


def knows_latin(profile: dict[str, Any]) -> bool:
    """Whether any n-gram of the profile is of unaccented Latin letters; if not, all are unknown that an ASCII text can have."""
    return any(map(str.isascii, profile["freq"]))


def main() -> None:
    """Write the file and say how large it is."""
    sources = sorted((Path(langdetect.__file__).parent / "profiles").iterdir())
    profiles = [json.loads(source.read_text(encoding="utf-8")) for source in sources]
    profiles.sort(key=lambda profile: not knows_latin(profile))
    counts: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for language, profile in enumerate(profiles):
        for gram, count in profile["freq"].items():
            counts[gram].append((language, count))
    grams = sorted(counts)
    text = "\n".join(grams).encode()
    entries = [entry for gram in grams for entry in counts[gram]]
    header = {
        "languages": [profile["name"] for profile in profiles],
        "latin": sum(map(knows_latin, profiles)),
        "totals": [profile["n_words"] for profile in profiles],
        "kanji": list(NGram.CJK_CLASS),
        "grams": len(grams),
        "text": len(text),
        "entries": len(entries),
    }
    numbers = array("I", (count for _, count in entries))
    if sys.byteorder == "big":
        numbers.byteswap()
    payload = b"".join(
        (
            json.dumps(header, ensure_ascii=False).encode() + b"\n",
            text,
            bytes(len(counts[gram]) for gram in grams),
            bytes(language for language, _ in entries),
            numbers.tobytes(),
        )
    )
    TARGET.write_bytes(zlib.compress(payload, 9))
    print(f"{len(grams)} n-grams of {len(profiles)} languages, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
