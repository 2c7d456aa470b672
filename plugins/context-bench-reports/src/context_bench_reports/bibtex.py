"""BibTeX from the citations of manifests: `AUTHORS YEAR, TITLE, VENUE`, several with `;` between them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from attrs import frozen

_CITATION = re.compile(r"(?P<authors>[^,]+?) (?P<year>\d{4})(?:, (?P<rest>.+))?", re.DOTALL)
_VENUE = re.compile(r"(Findings of )?[A-Z]\w*[A-Z]\w*")
"""A venue is one word with at least two capitals, such as NeurIPS: a title with a comma ends otherwise."""

_JOURNALS = ("TACL", "JAIR", "JMLR", "TMLR")
_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
    }
)
_SMALL_WORDS = frozenset({"a", "an", "the", "on", "of", "for", "and", "in", "to", "what", "what's"})


@frozen
class Work:
    """A work that is cited.

    Attributes:
        authors: As a citation has them, such as `Lin et al.`; empty where it could not be read.
        year: Four digits; empty where it could not be read.
        title: Title, or the whole citation where it could not be read.
        venue: Conference or journal; empty where there is none.
        url: Address; empty where there is none.
    """

    authors: str
    year: str
    title: str
    venue: str = ""
    url: str = ""


def works_in(citation: str, url: str = "") -> Iterator[Work]:
    """Yield the works of a citation.

    >>> [work] = works_in("Shaham et al. 2022, SCROLLS, EMNLP")
    >>> work.authors, work.year, work.title, work.venue
    ('Shaham et al.', '2022', 'SCROLLS', 'EMNLP')

    Args:
        citation: The text of a manifest.
        url: Address of the first work.
    """
    for number, part in enumerate(re.split(r";\s+", citation.strip())):
        if not part:
            continue
        address = "" if number else url
        found = _CITATION.fullmatch(part)
        if found is None:
            yield Work("", "", part, url=address)
            continue
        title, _, last = (found["rest"] or "").rpartition(", ")
        is_venue = bool(title) and _VENUE.fullmatch(last) is not None
        yield Work(
            authors=found["authors"],
            year=found["year"],
            title=title if is_venue else found["rest"] or "",
            venue=last if is_venue else "",
            url=address,
        )


def bibtex(works: Iterable[Work]) -> Iterator[str]:
    """Yield an entry for each work, and one for equal works; every entry has a different key."""
    addresses: dict[Work, str] = {}
    for work in works:
        plain = Work(work.authors, work.year, work.title, work.venue)
        addresses[plain] = addresses.get(plain) or work.url
    used: set[str] = set()
    for work, url in addresses.items():
        key = _key(work)
        number = 2
        while key in used:
            key = f"{_key(work)}-{number}"
            number += 1
        used.add(key)
        yield _entry(work, key, url)


def _key(work: Work) -> str:
    """Return the first author, the year and the first word of the title that means something."""
    author = re.sub(r"\W", "", work.authors.split(" ", 1)[0])
    words = re.findall(r"[\w'-]+", work.title.lower())
    word = next((word for word in words if word not in _SMALL_WORDS), "")
    return re.sub(r"[^a-z0-9-]", "", f"{author}{work.year}{word}".lower()) or "work"


def _entry(work: Work, key: str, url: str) -> str:
    kind = "misc"
    fields = {"author": _authors(work.authors), "title": _braced(work.title)}
    if work.venue in _JOURNALS:
        kind = "article"
        fields["journal"] = escaped(work.venue)
    elif work.venue:
        kind = "inproceedings"
        fields["booktitle"] = escaped(work.venue)
    fields["year"] = work.year
    fields["url"] = "".join(url.split()).translate({ord("{"): "%7B", ord("}"): "%7D"})
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])


def _authors(text: str) -> str:
    return escaped(re.sub(r" et al\.?$", " and others", text))


def _braced(title: str) -> str:
    """Return a title whose words with inner capitals keep them in any bibliography style."""
    words = [
        f"{{{escaped(word)}}}" if re.search(r"\w[A-Z]|\d", word) else escaped(word)
        for word in title.split()
    ]
    return " ".join(words)


def escaped(text: str) -> str:
    """Return a text as TeX has it, on one line."""
    return " ".join(text.split()).translate(_SPECIAL)
