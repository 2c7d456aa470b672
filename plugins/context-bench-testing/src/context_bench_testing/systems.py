"""Conformance of a system: what it returns, which fields it reads, and what its fingerprint covers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any

from attrs import frozen

from context_bench.errors import ContextBenchError
from context_bench_testing.recording import RecordingDict
from context_bench_testing.samples import GOLD, UNUSUAL_TEXTS, Example, examples_of
from context_bench_testing.subject import Outcome, Subject, is_json_like, same

_MESSAGES = [
    {"role": "user", "content": "What is the capital of France?"},
    {"role": "assistant", "content": "Paris."},
    {"role": "user", "content": "And of Italy?"},
]
_THREADS = 8
_CONTENT = ("response", "context", "messages", "tool_calls", "restored")
"""The fields of an output that must be the same again."""


def check_system(subject: Subject) -> None:
    """Check a system on each of its examples."""
    for example in examples_of(subject.component):
        system = subject.build(example)
        again = subject.build(example) if system is not None else None
        if system is None or again is None:
            continue
        subject.require_name(system)
        if callable(getattr(system, "process", None)) or callable(
            getattr(system, "aprocess", None)
        ):
            _check_process(subject, example, system, again)
        elif callable(getattr(system, "transform", None)):
            _check_transform(subject, system)
        else:
            text = "what its class builds has none of process(), aprocess() and transform()"
            subject.report.fault("signature", text)


def _caller(system: Any) -> Callable[[Any], Any]:
    if callable(getattr(system, "process", None)):
        process: Callable[[Any], Any] = system.process
        return process
    return lambda example: asyncio.run(system.aprocess(example))


def _check_process(subject: Subject, example: Example, system: Any, again: Any) -> None:
    method = "process" if callable(getattr(system, "process", None)) else "aprocess"
    if not subject.require_binding(method, getattr(system, method), {}):
        return
    calls = _Calls(subject, example, _caller(system))
    output = calls.first()
    if output is None:
        return
    calls.check_again(_caller(again), output)
    calls.check_threads(output)
    calls.check_unusual()
    subject.require_fingerprint(system, again)
    _check_options(subject, example, system, output, calls.visible())


@frozen(eq=False)
class _Calls:
    """The calls of a system with one example."""

    subject: Subject
    example: Example
    process: Callable[[Any], Any]

    def visible(self) -> dict[str, Any]:
        """Return the fields that a run gives the system: without gold, and only what it reads."""
        manifest = self.subject.component.system
        fields = deepcopy(self.example.original)
        if not manifest.reads_gold:
            fields = {name: value for name, value in fields.items() if name not in GOLD}
        if manifest.reads is None:
            return fields
        readable = {"id", *manifest.reads}
        return {name: value for name, value in fields.items() if name in readable}

    def first(self) -> Mapping[str, Any] | None:
        """Call it with a recording mapping, and return its output; None if that cannot be used."""
        recording = RecordingDict(self.visible())
        outcome = self.subject.call("process()", self.process, recording)
        self._check_reads(recording)
        if outcome.error is not None:
            is_known = self.subject.is_refused(outcome)
            if not is_known and not self.subject.refuses(outcome, self.example):
                text = f"process() raises {outcome.error_text} on its example"
                self.subject.report.fault("raises", text)
            return None
        return self.checked(outcome, "on its example")

    def _check_reads(self, recording: RecordingDict) -> None:
        manifest = self.subject.component.system
        report = self.subject.report
        if not manifest.reads_gold:
            for name in sorted(recording.read & GOLD):
                text = f"it reads the right answer ({name}), but reads_gold is not declared"
                report.fault("gold", text)
        if manifest.reads is None:
            return
        for name in sorted(recording.read - {"id", *manifest.reads} - GOLD):
            text = f"it reads the field {name}, which reads does not declare"
            report.fault("undeclared-read", text)
        present = set(manifest.reads) & self.example.original.keys()
        if present and not recording.listed and not recording.read & present:
            report.fault("unused-read", "it reads none of the fields that reads declares")

    def checked(self, outcome: Outcome, when: str) -> Mapping[str, Any] | None:
        """Return the output of a call, if it is one."""
        report = self.subject.report
        output = outcome.value
        if not isinstance(output, Mapping):
            kind = type(output).__name__
            report.fault("return-type", f"process() returns {kind}, not a mapping, {when}")
            return None
        if not is_json_like(dict(output)):
            report.fault("not-json", f"its output contains a value that JSON cannot hold, {when}")
        self._check_content(output, when)
        usage = output.get("usage")
        if isinstance(usage, Mapping):
            for name, value in usage.items():
                if isinstance(value, int | float) and not value >= 0:
                    report.fault("usage", f"usage.{name} is {value}, not a quantity, {when}")
        elif usage is not None:
            kind = type(usage).__name__
            report.fault("usage", f"usage is {kind}, not a mapping, {when}")
        return output

    def _check_content(self, output: Mapping[str, Any], when: str) -> None:
        report = self.subject.report
        manifest = self.subject.component.system
        expected: tuple[str, ...] = ("response", "context", "messages")
        if manifest.system_kind in ("reader", "endpoint"):
            expected = ("response",)
        if not any(output.get(name) is not None for name in expected):
            names = " or ".join(expected)
            report.fault("return-type", f"its output has no {names} {when}")
        for name in ("response", "context"):
            value = output.get(name)
            if value is not None and not isinstance(value, str):
                kind = type(value).__name__
                report.fault("return-type", f"{name} of its output is {kind}, not text, {when}")

    def check_again(self, of_equal: Callable[[Any], Any], output: Mapping[str, Any]) -> None:
        """Report another output of the same instance, or of an equal one."""
        if not self.subject.component.manifest.deterministic:
            return
        for process, whose in ((self.process, "the same"), (of_equal, "an equal")):
            outcome = self.subject.call("process()", process, self.visible())
            if outcome.error is not None or not same_content(outcome.value, output):
                text = (
                    f"{whose} instance returns another output for the same input; "
                    "set deterministic = false"
                )
                self.subject.report.fault("not-deterministic", text)

    def check_threads(self, output: Mapping[str, Any]) -> None:
        """Call it from several threads at once, as a run does."""

        def call_all() -> list[Any]:
            examples = [self.visible() for _ in range(_THREADS * 4)]
            with ThreadPoolExecutor(_THREADS) as pool:
                return list(pool.map(self.process, examples))

        outcome = self.subject.call("process()", call_all)
        report = self.subject.report
        if outcome.error is not None:
            if not self.subject.is_refused(outcome):
                text = f"process() raises {outcome.error_text} when threads call it together"
                report.fault("threads", text)
            return
        is_same = all(same_content(other, output) for other in outcome.value)
        if self.subject.component.manifest.deterministic and not is_same:
            report.fault("threads", "threads that call it together get different outputs")

    def check_unusual(self) -> None:
        """Report an error for an unusual text in a field that it receives."""
        for name, value in self.visible().items():
            if not isinstance(value, str) or name == "id":
                continue
            for what, text in UNUSUAL_TEXTS.items():
                fields = {**self.visible(), name: text}
                outcome = self.subject.call("process()", self.process, fields)
                when = f"when {name} is unusual ({what})"
                if outcome.error is None:
                    self.checked(outcome, when)
                elif not text.strip() and isinstance(outcome.error, ValueError | ContextBenchError):
                    self.subject.report.note(
                        "refuses", f"process() raises {outcome.error_text} {when}"
                    )
                elif not self.subject.is_refused(outcome):
                    message = f"process() raises {outcome.error_text} {when}"
                    self.subject.report.fault("unusual-input", message)


def same_content(first: Any, second: Any) -> bool:
    """Return whether two outputs have the same content; times and usage may differ."""
    if not isinstance(first, Mapping) or not isinstance(second, Mapping):
        return same(first, second)
    return all(same(first.get(name), second.get(name)) for name in _CONTENT)


def _check_options(
    subject: Subject, example: Example, system: Any, output: Mapping[str, Any], fields: Any
) -> None:
    """Report an option that changes the output but not the fingerprint: a run would reuse responses
    of another configuration."""
    if not callable(getattr(system, "fingerprint", None)):
        return
    before = system.fingerprint()
    for name, option in subject.component.manifest.options.items():
        if option.secret or option.required or name in example.options:
            continue
        for value in _other_values(option):

            def other_call(name: str = name, value: Any = value) -> tuple[Any, Any]:
                other = subject.component.build({**example.options, name: value})
                return _caller(other)(deepcopy(fields)), other.fingerprint()

            outcome = subject.call("process()", other_call)
            if outcome.error is not None:  # a value that it may refuse
                continue
            changed, fingerprint = outcome.value
            if not same_content(changed, output) and same(fingerprint, before):
                text = (
                    f"the option {name} changes the output but not fingerprint(), so a run reuses "
                    "responses of another configuration"
                )
                subject.report.fault("fingerprint", text)


def _other_values(option: Any) -> list[Any]:
    """Return values of an option that are not its default."""
    candidates: Mapping[str, list[Any]] = {
        "str": ["other"],
        "int": [1, 7],
        "float": [0.25, 0.75],
        "bool": [True, False],
    }
    values = list(option.choices) or list(candidates.get(option.type, []))
    return [value for value in values if value != option.default]


def _check_transform(subject: Subject, system: Any) -> None:
    if not subject.require_binding("transform", system.transform, [], None):
        return
    messages = deepcopy(_MESSAGES)
    outcome = subject.call("transform()", system.transform, messages, None)
    if outcome.error is not None:
        if not subject.is_refused(outcome):
            subject.report.fault("raises", f"transform() raises {outcome.error_text}")
        return
    if messages != _MESSAGES:
        subject.report.fault("mutation", "transform() changes the messages that it receives")
    if not isinstance(outcome.value, list | tuple):
        kind = type(outcome.value).__name__
        subject.report.fault("return-type", f"transform() returns {kind}, not messages")
        return
    second = subject.call("transform()", system.transform, deepcopy(_MESSAGES), None)
    if subject.component.manifest.deterministic and not same(second.value, outcome.value):
        text = "transform() returns other messages for the same input; set deterministic = false"
        subject.report.fault("not-deterministic", text)
