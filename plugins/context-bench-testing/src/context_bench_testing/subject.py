"""A component under examination: it is built and called, and its acts are compared with its manifest."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from context_bench.catalog import Component
from context_bench.errors import ContextBenchError, message_of
from context_bench.redaction import is_secret_name
from context_bench_testing.findings import Report
from context_bench_testing.samples import Example
from context_bench_testing.watch import NETWORK, SUBPROCESS, RefusedNetworkError, Watch

_CORE = "context_bench"
_WRITES_FILES = ("reporters", "commands", "hooks")
"""Kinds whose components may write files in the current folder."""


@frozen
class Outcome:
    """What a call ended with.

    Attributes:
        value: What it returned; None when it raised.
        error: What it raised; None when it returned.
        was_refused: Whether it used the network, which the check refuses.
    """

    value: Any = None
    error: BaseException | None = None
    was_refused: bool = False

    @property
    def error_text(self) -> str:
        """The error as ``Class: message``."""
        text = " ".join(message_of(self.error).split()) if self.error else ""
        return f"{type(self.error).__name__}: {text}"[:300]


@frozen
class Subject:
    """A component under examination.

    Attributes:
        component: The component.
        report: Receives the findings.
    """

    component: Component
    report: Report

    @property
    def package(self) -> str:
        """Top-level package of its code."""
        return self.component.target.partition(":")[0].strip().partition(".")[0]

    def build(self, example: Example) -> Any:
        """Return the component with the options of an example, or None with a finding."""
        options = example.options
        lacking = [
            name
            for name, option in self.component.manifest.options.items()
            if option.required and name not in options and not os.environ.get(option.env or "")
        ]
        if lacking:
            advice = f"name it in [[{self.component.kind}.{self.component.name}.examples]]"
            self.report.note("not-run", f"not called: it needs the option {lacking[0]}; {advice}")
            return None
        outcome = self.call("the constructor", self.component.build, options)
        if outcome.error is None:
            return outcome.value
        if not self.is_refused(outcome) and not self.refuses(outcome, example):
            self.report.fault("build", f"it cannot be built: {outcome.error_text}")
        return None

    def call(self, where: str, function: Callable[..., Any], *arguments: Any) -> Outcome:
        """Call a function of the component, and compare what it does with the capabilities."""
        watch = Watch(self.package)
        try:
            with watch:
                outcome = Outcome(value=function(*arguments))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a component may raise anything
            outcome = Outcome(error=error, was_refused=NETWORK in watch.capabilities)
        self.compare_acts(where, watch)
        return outcome

    def compare_acts(self, where: str, watch: Watch) -> None:
        """Report what a watch recorded and the manifest does not declare."""
        declared = self.component.capabilities
        for capability, use in watch.capabilities.items():
            if not _implies(declared, capability):
                text = f"{where} uses {capability} ({use}), which capabilities does not declare"
                self.report.fault("undeclared-capability", text)
        self._compare_environ(where, watch)
        if watch.output:
            shown = watch.output[:60]
            self.report.fault("stdout", f"{where} writes to standard output: {shown!r}")
        for path in sorted(watch.files):
            if _is_below(os.getcwd(), path) and self.component.kind in _WRITES_FILES:
                continue
            if "model-download" in declared and _is_below_cache(path):
                continue
            self.report.fault("files", f"{where} writes or removes the file {path}")

    def _compare_environ(self, where: str, watch: Watch) -> None:
        """Report variables that were read and not declared. Only a secret is a fault: other variables
        may be settings that nobody has to set."""
        if self.package == _CORE:  # its runs read the environment, whatever the component does
            return
        declared = self.component.capabilities
        if watch.lists_environ and SUBPROCESS not in declared:
            text = f"{where} reads all environment variables, which may contain secrets"
            self.report.fault("undeclared-environment", text)
        from_options = {option.env for option in self.component.manifest.options.values()}
        for name in sorted(watch.environ - from_options):
            if f"env:{name}" in declared:
                continue
            text = f"{where} reads the environment variable {name}; declare env:{name}"
            if is_secret_name(name):
                self.report.fault("undeclared-environment", text)
            else:
                self.report.note("undeclared-environment", text)

    def refuses(self, outcome: Outcome, example: Example) -> bool:
        """Return whether a call ended because the general example does not fit, with a note.

        A component refuses with an error of context-bench, whose message says what it needs. A run
        wraps any other error of a component in such an error, as its cause.
        """
        error = outcome.error
        if example.is_declared or not isinstance(error, ContextBenchError):
            return False
        if error.__cause__ is not None and not isinstance(error.__cause__, ContextBenchError):
            return False
        table = f"[[{self.component.kind}.{self.component.name}.examples]]"
        text = f"not called: {outcome.error_text} Name what it needs in {table}"
        self.report.note("not-run", text)
        return True

    def is_refused(self, outcome: Outcome) -> bool:
        """Return whether a call ended because the check refuses the network, with a finding.

        A library may raise an error of its own for the refusal, in the same call or in a later one.
        """
        error = outcome.error
        while error is not None and not isinstance(error, RefusedNetworkError):
            error = error.__cause__ or error.__context__
        if error is None and not outcome.was_refused:
            return False
        if _implies(self.component.capabilities, NETWORK):
            self.report.note("not-run", "not called further: it uses the network, as declared")
        return True

    def require_binding(self, name: str, function: Any, *arguments: Any) -> bool:
        """Return whether a function takes arguments as a run passes them; a fault if not."""
        try:
            inspect.signature(function).bind(*arguments)
        except TypeError as error:
            self.report.fault("signature", f"{name}() cannot be called as a run calls it: {error}")
            return False
        except ValueError:  # built in, without a signature
            return True
        return True

    def require_name(self, built: Any) -> None:
        """Report a component without a name."""
        name = getattr(built, "name", None)
        if not isinstance(name, str) or not name:
            self.report.fault("name", f"its name is {name!r}, not a text")

    def require_fingerprint(self, built: Any, again: Any) -> Any:
        """Return its fingerprint, or None without one; compare it with that of an equal instance."""
        if not callable(getattr(built, "fingerprint", None)):
            return None
        first = self.call("fingerprint()", built.fingerprint)
        second = self.call("fingerprint()", again.fingerprint)
        if first.error or second.error:
            failed = first if first.error else second
            self.report.fault("fingerprint", f"fingerprint() raises {failed.error_text}")
            return None
        if not isinstance(first.value, Mapping):
            kind = type(first.value).__name__
            self.report.fault("fingerprint", f"fingerprint() returns {kind}, not a mapping")
            return None
        if not is_json_like(dict(first.value)):
            self.report.fault("fingerprint", "fingerprint() contains a value that JSON cannot hold")
        if not same(first.value, second.value):
            text = "fingerprint() differs between two instances with the same options"
            self.report.fault("fingerprint", text)
        return first.value


def _implies(declared: tuple[str, ...], capability: str) -> bool:
    """Return whether declared capabilities contain another one, or one that includes it."""
    including = "model-download" if capability == NETWORK else "executes-model-code"
    return capability in declared or including in declared


def _is_below(folder: str, path: str) -> bool:
    """Return whether a path is a folder or below it."""
    return (os.path.realpath(path) + os.sep).startswith(os.path.realpath(folder) + os.sep)


def _is_below_cache(path: str) -> bool:
    """Return whether a path is below a folder where libraries keep what they download."""
    folders = [os.environ.get("XDG_CACHE_HOME") or "~/.cache", os.environ.get("HF_HOME")]
    return any(_is_below(os.path.expanduser(folder), path) for folder in folders if folder)


def is_json_like(value: Any) -> bool:
    """Return whether JSON can hold a value."""
    import json

    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def same(first: Any, second: Any) -> bool:
    """Return whether two values are equal, NaN equal to NaN."""
    return bool(first == second) or repr(first) == repr(second)
