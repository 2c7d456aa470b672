"""Say which distributions are installed that core does not ask for: run where core is installed and nothing else was."""

from __future__ import annotations

import sys
from importlib.metadata import distribution, distributions
from re import match

TOOLS = {"pip", "setuptools", "wheel"}


def closure(name: str, found: set[str]) -> set[str]:
    """Return a distribution and everything that it requires, extras and other platforms aside."""
    if name in found:
        return found
    found.add(name)
    for requirement in distribution(name).requires or ():
        wanted = match(r"[\w.-]+", requirement)
        if wanted and "extra ==" not in requirement and installed(normal(wanted[0])):
            closure(normal(wanted[0]), found)
    return found


def installed(name: str) -> bool:
    return name in {normal(found.metadata["Name"]) for found in distributions()}


def normal(name: str) -> str:
    return name.replace("_", "-").replace(".", "-").lower()


def main() -> int:
    asked = {normal(r.partition(">")[0]) for r in distribution("context-bench").requires or ()}
    allowed = closure("context-bench", set()) | TOOLS
    strays = {normal(found.metadata["Name"]) for found in distributions()} - allowed
    print(
        f"core asks for {', '.join(sorted(asked))}; {len(allowed - TOOLS)} distributions in all; strays: {strays or 'none'}"
    )
    return 1 if strays or len(asked) != 6 else 0


if __name__ == "__main__":
    sys.exit(main())
