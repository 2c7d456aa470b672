"""What a program is given beside its arguments: an environment that is listed, and a folder.

Of our own environment a program sees what it needs to run and to find its files, and what the user names. So a key that
happens to be set reaches no program that was not meant to have it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from context_bench.errors import ConfigurationError

_ALWAYS = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_.*|TZ|TMPDIR|TEMP|TMP|XDG_.*|SSL_CERT_(?:FILE|DIR)|VIRTUAL_ENV|"
    r"SYSTEMROOT|SYSTEMDRIVE|COMSPEC|PATHEXT|WINDIR|APPDATA|LOCALAPPDATA|USERPROFILE|PROGRAM(?:FILES|DATA)(?:\(X86\))?|"
    r"NUMBER_OF_PROCESSORS",
    re.IGNORECASE if os.name == "nt" else 0,
)
_SECRET_NAME = re.compile(r"key|token|secret|passw|credential|auth", re.IGNORECASE)
_NO_COLOURS = {"NO_COLOR": "1", "TERM": "dumb"}
_SHORTEST_SECRET = 6


def environment(
    additions: Mapping[str, str], passed: Iterable[str], optional: Iterable[str] = ()
) -> dict[str, str]:
    """Return the environment of a program.

    Args:
        additions: Variables to set.
        passed: Variables of our own environment to pass on.
        optional: The same, as far as they are set.

    Raises:
        ConfigurationError: A variable to pass on is not set.
    """
    own = {name: value for name, value in os.environ.items() if _ALWAYS.fullmatch(name)}
    for name in passed:
        if name not in os.environ:
            raise ConfigurationError(f"pass_env names {name}, which is not set in the environment.")
    named = {name: os.environ[name] for name in (*optional, *passed) if name in os.environ}
    return {**_NO_COLOURS, **own, **named, **additions}


def read_additions(given: Mapping[str, str] | Iterable[str] | None) -> dict[str, str]:
    """Return variables that are given as a mapping or as ``NAME=value`` texts.

    Raises:
        ConfigurationError: One has another form, or is called like a secret: its value would be kept with the run.
    """
    if given is None:
        return {}
    pairs = given.items() if isinstance(given, Mapping) else [_pair(text) for text in given]
    additions = {str(name): str(value) for name, value in pairs}
    for name in additions:
        if _SECRET_NAME.search(name):
            raise ConfigurationError(
                f"env sets {name}, which sounds like a secret and would be kept with the run. Set it in your environment, and "
                f"name it in pass_env."
            )
    return additions


def secrets_among(passed: Iterable[str], optional: Iterable[str] = ()) -> list[str]:
    """Return the secrets that a program is given, the longest first: they are hidden in what it says.

    Args:
        passed: Variables that the user named; each may be one.
        optional: Variables that a preset names; one is known by its name.
    """
    values = {
        os.environ.get(name, "") for name in (*passed, *filter(_SECRET_NAME.search, optional))
    }
    return sorted(
        (value for value in values if len(value) >= _SHORTEST_SECRET), key=len, reverse=True
    )


def shown(value: str) -> str:
    """Return a text without the user names and passwords of the URLs in it."""
    return re.sub(r"//[^/@\s]*@", "//", value)


def _pair(text: object) -> tuple[str, str]:
    name, equals, value = str(text).partition("=")
    if not equals or not name:
        raise ConfigurationError(f"env holds {text!r}, but must hold NAME=value.")
    return name, value
