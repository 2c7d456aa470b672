"""Requirements: which distributions a distribution needs, and whether they are installed."""

from __future__ import annotations

import re
from collections.abc import Iterable

import importlib_metadata
from attrs import frozen

from context_bench.installation import hint_for, install_hint, is_own
from context_bench.plugins.component import MISSING_DEPENDENCY, State

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)[^;]*(?:;(.*))?", re.DOTALL)
_EXTRA = re.compile(r"""[\s(]*extra\s*==\s*["']([^"']+)["'][\s)]*""")


@frozen
class Requirements:
    """What a distribution requires.

    Attributes:
        by_extra: Names of required distributions, by the extra that requires them; None stands for
            none.
        installed: Which names were found to be installed; shared by all distributions.
    """

    by_extra: dict[str | None, list[str]]
    installed: dict[str, bool]

    @classmethod
    def read(cls, lines: Iterable[str], installed: dict[str, bool]) -> Requirements:
        """Read the values of ``Requires-Dist``. Requirements with another marker than an extra are
        left to the import.

        Raises:
            ValueError: A line is not a requirement.
        """
        by_extra: dict[str | None, list[str]] = {}
        for line in lines:
            match = _REQUIREMENT.match(line)
            if match is None:
                raise ValueError(f"{line!r} is not a requirement")
            name, marker = match.groups()
            extra = _EXTRA.fullmatch(marker) if marker else None
            if marker is None:
                by_extra.setdefault(None, []).append(name)
            elif extra is not None:
                by_extra.setdefault(normalize(extra[1]), []).append(name)
        return cls(by_extra, installed)

    def state_without(self, extra: str | None, distribution: str) -> State | None:
        """Return the state of a component that needs an extra, or just the distribution; None where
        all is installed."""
        required = self.by_extra.get(None if extra is None else normalize(extra), ())
        missing = [name for name in required if not self._is_installed(normalize(name))]
        if not missing:
            return None
        verb = "is" if len(missing) == 1 else "are"
        reason = f"it requires {', '.join(missing)}, which {verb} not installed"
        if extra is None:
            return State(MISSING_DEPENDENCY, reason, hint_for(missing))
        remedy = f'`pip install "{distribution}[{extra}]"`'
        if is_own(distribution):
            remedy = install_hint(distribution, extra=extra)
        return State(MISSING_DEPENDENCY, reason, remedy, lacks_extra=True)

    def _is_installed(self, name: str) -> bool:
        if name not in self.installed:
            try:
                importlib_metadata.distribution(name)
            except importlib_metadata.PackageNotFoundError:
                self.installed[name] = False
            else:
                self.installed[name] = True
        return self.installed[name]


def requirement_names(lines: Iterable[str]) -> dict[str, bool]:
    """Return the names of required distributions, and whether each is required without any
    marker."""
    names: dict[str, bool] = {}
    for line in lines:
        if match := _REQUIREMENT.match(line):
            name, marker = match.groups()
            names[name] = names.get(name, False) or marker is None
    return names


def normalize(name: str) -> str:
    """Return the name of a distribution in its normal form: lower case, with single dashes."""
    return re.sub(r"[-_.]+", "-", name).lower()
