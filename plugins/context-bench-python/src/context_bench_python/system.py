"""A Python object of the user's as the system under test."""

from __future__ import annotations

import asyncio
import inspect
import warnings
from collections.abc import Mapping
from inspect import isawaitable
from typing import Any

from context_bench.errors import ConfigurationError
from context_bench_python.arguments import read_arguments, without_secrets
from context_bench_python.inputs import input_of
from context_bench_python.message_functions import message_function_of, message_system
from context_bench_python.outputs import output_of
from context_bench_python.target import find_target
from context_bench_python.ways import way_of


class PythonSystem:
    """Asks what ``module:object`` names: a function, a class, a LangChain Runnable, a LlamaIndex query engine.

    A class is called with the further options, a function gets them as keyword arguments with each example.

        system = PythonSystem("my_rag:answer", top_k=3)
        system.process({"context": "Rome is in Italy.", "question": "Where is Rome?"})["response"]

    Args:
        target: ``module:object``, or the object itself.
        path: Folder whose modules can be imported beside the installed ones.
        factory: Whether the target is a function that returns the system, given the further options.
        input: What of an example it is given; see `context_bench_python.inputs`.
        call: ``sync`` or ``async`` where there are both; ``auto`` chooses.
        version: Version of the code. With it, responses are reused across runs; without it, never, because nobody knows
            whether the code is still the same.
        name: Display name; by default the target.
        arguments: Further options whose names are taken above.
        options: Further options.

    Raises:
        ConfigurationError: The target is not there, cannot be asked, or does not take the options.
    """

    text_is = "response"
    adapter = "python"

    def __init__(
        self,
        target: Any,
        path: str = ".",
        factory: bool = False,
        input: str = "auto",  # noqa: A002 - the option's name
        call: str = "auto",
        version: str | None = None,
        name: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        if call not in ("auto", "sync", "async"):
            raise ConfigurationError(f"call is {call!r}, but must be auto, sync or async.")
        if arguments is not None and not isinstance(arguments, Mapping):
            raise ConfigurationError(f"arguments is {arguments!r}, but must be a table of options.")
        thing = find_target(target, path) if isinstance(target, str) else target
        self.target = target.strip() if isinstance(target, str) else _name_of(target)
        self.name = name or self.target
        given = {**(arguments or {}), **options}
        if factory or inspect.isclass(thing):
            thing, bound = self._made(thing, given, factory), {}
        else:
            bound = self._bound(thing, given, input)
        thing, bound = self._adapted(thing, bound)
        self._way = way_of(thing, self.target).choose(call, self.target)
        self._input = input_of(input, self._way, thing, bound, self.target)
        self._arguments = bound
        self._settings = {"input": input, "factory": factory, "arguments": without_secrets(given)}
        if self._way.asynchronous is not None:
            self.aprocess = self._ask
        self._take_over(thing, version)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.target!r})"

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the output for an example; what the target raises goes through.

        Raises:
            TypeError: The target returned what is no output.
            ValueError: The example lacks a field that the target is to be given, or the output lacks its text.
        """
        if self._way.sync is None:
            return asyncio.run(self._ask(example))
        positional, named = self._input(example)
        try:
            found = self._way.sync(*positional, **named, **self._arguments)
            if isawaitable(found):
                found = asyncio.run(_awaited(found))
        except SystemExit as error:
            raise self._left(error) from error
        return self._output(found, positional)

    async def _ask(self, example: Mapping[str, Any]) -> dict[str, Any]:
        assert self._way.asynchronous is not None
        positional, named = self._input(example)
        try:
            found = await self._way.asynchronous(*positional, **named, **self._arguments)
        except SystemExit as error:
            raise self._left(error) from error
        return self._output(found, positional)

    def _output(self, found: Any, positional: tuple[Any, ...]) -> dict[str, Any]:
        given = positional[0] if positional and isinstance(positional[0], Mapping) else ()
        try:
            return output_of(found, self.text_is, given)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{self.target}: {error}") from None

    def _left(self, error: SystemExit) -> RuntimeError:
        return RuntimeError(
            f"{self.target} left Python with sys.exit({error.code!r}): raise an error instead"
        )

    def _made(self, maker: Any, given: Mapping[str, Any], is_factory: bool) -> Any:
        if not callable(maker):
            raise ConfigurationError(
                f"{self.target} is no factory: it is of type {type(maker).__name__}, which cannot be called."
            )
        arguments = read_arguments(maker, given, self.target)
        try:
            made = maker(**arguments)
            return asyncio.run(_awaited(made)) if is_factory and isawaitable(made) else made
        except (KeyboardInterrupt, ConfigurationError):
            raise
        except BaseException as error:
            raise ConfigurationError(
                f"{self.target} cannot be set up: {type(error).__name__}: {' '.join(str(error).split())}".rstrip(
                    ": "
                )
                + "."
            ) from error

    def _bound(self, thing: Any, given: Mapping[str, Any], choice: str) -> dict[str, Any]:
        if not given:
            return {}
        if not callable(thing) or way_of(thing, self.target).kind != "function":
            raise ConfigurationError(
                f"{self.target} takes no options: it is an object already. Name its class, or a function that makes it with "
                f"factory=true, to give it {', '.join(given)}."
            )
        return read_arguments(thing, given, self.target, skip=0 if choice == "fields" else 1)

    def _adapted(self, thing: Any, bound: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Return what is called, and the arguments of each call."""
        return thing, bound

    def _take_over(self, thing: Any, version: str | None) -> None:
        """Offer what the object offers beyond answering, and no more."""
        for name in (
            "reads",
            "reads_gold",
            "resources",
            "process_conversation",
            "aprocess_conversation",
        ):
            if self._way.kind == "system" and hasattr(thing, name):
                setattr(self, name, getattr(thing, name))
        own = getattr(thing, "fingerprint", None) if self._way.kind == "system" else None
        if version is None and isinstance(getattr(thing, "version", None), str):
            version = thing.version
        if version is None and own is None:
            warnings.warn(
                f"{self.target} has no version, so its responses are never reused in another run. Give it one with "
                "version=..., and another one whenever it may answer differently.",
                UserWarning,
                stacklevel=3,
            )
            return
        self._settings["version"] = version
        self._own = own
        self.fingerprint = self._fingerprint

    def _fingerprint(self) -> dict[str, Any]:
        own = self._own() if callable(self._own) else self._own
        return {"adapter": self.adapter, "target": self.target, **self._settings, "own": own}


class PythonTransformer(PythonSystem):
    """Asks what ``module:object`` names for a new context: text that it returns is the ``context``, not a response.

    It may also rewrite the messages of a recorded session: an object or a class with ``transform(messages, tools)`` or
    ``compress(messages)``, or a function whose first parameter is ``messages``. It returns the new messages, or an object
    or a mapping with ``messages``.

    Arguments and behaviour are otherwise those of `PythonSystem`.
    """

    text_is = "context"
    adapter = "python-transformer"

    def _adapted(self, thing: Any, bound: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        function = message_function_of(thing)
        if function is None:
            return thing, bound
        return message_system(thing, function, bound), {}


async def _awaited(found: Any) -> Any:
    return await found


def _name_of(thing: Any) -> str:
    owner = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{owner.__module__}:{owner.__qualname__}"
