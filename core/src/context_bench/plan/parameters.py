"""Declare the parameters of a run.

A field of a :class:`~context_bench.plan.run_config.RunConfig` is declared with :func:`parameter`,
once. Flags, the project file, ``--set``, the signature of ``evaluate()``, the reference pages and
the stored configuration are derived from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import Factory, evolve, field, frozen

from context_bench.errors import (
    ConfigurationError,
)
from context_bench.plugins.values import ValueType

PLANNED = ("run", "plan")
"""The commands that plan a run: ``run`` itself, and all that look at what it would do."""


@frozen
class Parameter:
    """One parameter of a run.

    Attributes:
        name: Its field of the request.
        type: The type of its values.
        default: Its value when nobody says anything; that of its type, unless it says otherwise.
        help: What it means, in a sentence or two without the name.
        flags: Its flags; empty where the command line has none.
        metavar: What the flag's value is called in help.
        unset: What help says of the default; the value itself, where there is one and nothing else
            is said.
        key: Its place in the project file; ``run.`` and its name, unless it says otherwise; None
            where the file has none.
        python: Its name in ``evaluate()``; None where that has another way to say it.
        told: What ``evaluate()`` says of it; empty takes ``help``.
        commands: The commands that take its flags.
        keyed: Whether the key of a response or score depends on it: with another value a row is
            asked or scored anew.
        stored: Whether a run file keeps it; its type takes secrets out of what is kept.
        usual: What the command line takes where nobody says anything; None for the default.
    """

    type: ValueType
    default: Any
    help: str
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    unset: str = ""
    key: str | None = ""
    python: str | None = ""
    told: str = ""
    commands: tuple[str, ...] = PLANNED
    keyed: bool = False
    stored: bool = True
    usual: Any = None
    name: str = ""

    def click_option(self) -> Callable[[Any], Any]:
        """Return the option of a command, whose value is None (or nothing, where it is repeated)
        unless it is given."""
        import click

        words = self.help + (f"  [default: {self.unset}]" if self.unset else "")
        if self.type.is_switch:
            off: dict[str, Any] = (
                {"flag_value": False} if self.default is True and "/" not in self.flags[0] else {}
            )
            return click.option(
                *self.flags, self.name, is_flag=True, default=None, help=words, **off
            )
        more = "; repeatable" if self.type.is_repeated and "repeatable" not in words else ""
        words = f"{words.rstrip('.')}{more}." if more else words
        callback = None if self.type.is_repeated else _only_one
        return click.option(
            *self.flags,
            self.name,
            multiple=True,
            metavar=self.metavar,
            help=words,
            type=str,
            callback=callback,
        )

    def of_flag(self, given: Any) -> Any:
        """Return the value of the flag.

        Raises:
            ConfigurationError: It is not of its type.
        """
        return (
            given
            if self.type.of_text is None or self.type.is_switch
            else self.type.of_text(given, self.flags[0])
        )


def _only_one(context: Any, option: Any, given: tuple[str, ...]) -> str | None:
    """Return the one value of a flag that is given once; a second one would drop the first in
    silence."""
    if len(given) > 1:
        raise ConfigurationError(
            f"{option.opts[-1]} is given {len(given)} times ({', '.join(given)}), but takes one "
            "value."
        )
    return given[0] if given else None


def parameter(type: ValueType, help: str, *flags: str, **more: Any) -> Any:  # noqa: A002 - as attrs and options call them
    """Declare a field of a request; see :class:`Parameter` for what can be said of it.

    A flag is written as in help, with what its value is called: ``"--limit N"``.
    """
    default = more.pop("default", _EMPTY.get(type.name))
    words = [flag.split() for flag in flags]
    metavar = next((word[1] for word in words if len(word) > 1), None)
    declared = Parameter(type, default, help, tuple(word[0] for word in words), metavar, **more)
    return field(
        default=Factory(default) if callable(default) else default, metadata={"parameter": declared}
    )


_EMPTY: Mapping[str, Any] = {"bool": False, "list": (), "list of str": (), "table": dict}
"""The value of a parameter that nobody says anything of, by the name of its type; None for any
other type."""


def named(request: type, attributes: list[Any]) -> list[Any]:
    """Give each parameter the name of its field, and each field what checks its values; attrs calls
    this."""
    return [_checked(one) for one in attributes]


def _checked(attribute: Any) -> Any:
    declared: Parameter = attribute.metadata["parameter"]
    default = declared.default
    name = attribute.name
    python = name if declared.python == "" else declared.python
    key = f"run.{name.replace('_', '-')}" if declared.key == "" else declared.key
    is_value = isinstance(default, str | int | float) and not isinstance(default, bool)
    unset = declared.unset or (str(default) if is_value else "")

    def convert(value: Any) -> Any:
        if value is None or (type(value) is type(default) and value == default):  # nobody gave it
            return default() if callable(default) else default
        return declared.type.check(value, python or name)

    named = evolve(declared, name=name, python=python, key=key, unset=unset)
    return attribute.evolve(converter=convert, metadata={"parameter": named})
