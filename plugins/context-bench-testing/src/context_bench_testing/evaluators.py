"""Conformance of an evaluator: the scores that it returns, and the fields that it reads."""

from __future__ import annotations

import asyncio
import math
import pickle
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from attrs import frozen

from context_bench_testing.recording import RecordingDict
from context_bench_testing.samples import UNUSUAL_TEXTS, Example, examples_of
from context_bench_testing.subject import Outcome, Subject, is_json_like, same

_TOLERANCE = 1e-9
"""How far beyond its range a score may be, as in a run."""


def check_evaluator(subject: Subject) -> None:
    """Check an evaluator on each of its examples."""
    given: set[str] = set()
    was_scored = False
    for example in examples_of(subject.component):
        checked = _check_example(subject, example)
        if checked is not None:
            was_scored = True
            given |= checked
    if was_scored:
        _check_given(subject, given)


def _check_given(subject: Subject, given: set[str]) -> None:
    manifest = subject.component.evaluator
    never = sorted(manifest.scores.keys() - given)
    if manifest.primary in never and given:
        text = f"it never returns its primary score {manifest.primary}"
        subject.report.fault("missing-key", text)
    elif never and given:
        text = f"on its examples it does not return {', '.join(never)}, which scores declares"
        if subject.component.manifest.examples:
            subject.report.fault("missing-key", text)
        else:
            subject.report.note("missing-key", text)


def _check_example(subject: Subject, example: Example) -> set[str] | None:
    """Return the keys that it returned for an example, or None if it could not be called."""
    lacking = _lacking_need(subject, example)
    if lacking is not None:
        table = f"[[evaluators.{subject.component.name}.examples]]"
        text = f"not called: it needs {lacking}, which the example lacks; name one in {table}"
        if example.is_declared:
            subject.report.fault("example", text)
        else:
            subject.report.note("not-run", text)
        return None
    evaluator = subject.build(example)
    again = subject.build(example) if evaluator is not None else None
    if evaluator is None or again is None:
        return None
    subject.require_name(evaluator)
    score = _scorer(subject, evaluator)
    if score is None:
        return None
    call = _Calls(subject, example, evaluator, again, score)
    result = call.first()
    if result is None:
        return None
    call.check_again(result)
    call.check_other_methods(result)
    call.check_unusual()
    subject.require_fingerprint(evaluator, again)
    _check_score_keys(subject, evaluator)
    if subject.component.evaluator.cpu_bound:
        _check_pickle(subject, evaluator)
    return set(result)


def _lacking_need(subject: Subject, example: Example) -> str | None:
    needs = subject.component.evaluator.needs
    for fields, names in (
        (example.original, needs.original),
        (example.processed, needs.processed),
    ):
        for need in names:
            if all(fields.get(name) is None for name in need.split("|")):
                return need
    return None


def _scorer(subject: Subject, evaluator: Any) -> Callable[[Any, Any], Any] | None:
    """Return what scores one output, sync or async."""
    if callable(getattr(evaluator, "score", None)):
        if not subject.require_binding("score", evaluator.score, {}, {}):
            return None
        score: Callable[[Any, Any], Any] = evaluator.score
        return score
    if callable(getattr(evaluator, "ascore", None)):
        if not subject.require_binding("ascore", evaluator.ascore, {}, {}):
            return None
        return lambda original, processed: asyncio.run(evaluator.ascore(original, processed))
    subject.report.fault("signature", "what its class builds has neither score() nor ascore()")
    return None


def _check_score_keys(subject: Subject, evaluator: Any) -> None:
    names = getattr(evaluator, "score_keys", None)
    if names is None or callable(names):
        return
    unknown = sorted(set(names) - subject.component.evaluator.scores.keys())
    if unknown:
        text = f"score_keys names {', '.join(unknown)}, which scores does not declare"
        subject.report.fault("undeclared-key", text)


def _check_pickle(subject: Subject, evaluator: Any) -> None:
    try:
        pickle.loads(pickle.dumps(evaluator))
    except Exception as error:  # noqa: BLE001 - pickle calls foreign code
        text = f"cpu_bound = true, but it cannot be pickled: {type(error).__name__}: {error}"
        subject.report.fault("pickle", text[:300])


@frozen(eq=False)
class _Calls:
    """The calls of an evaluator with one example."""

    subject: Subject
    example: Example
    evaluator: Any
    again: Any
    score: Callable[[Any, Any], Any]

    def first(self) -> Mapping[str, float] | None:
        """Call it with recording mappings, and return its scores; None when it has none to check."""
        original = RecordingDict(deepcopy(self.example.original))
        processed = RecordingDict(deepcopy(self.example.processed))
        outcome = self.subject.call("score()", self.score, original, processed)
        if outcome.error is not None:
            is_known = self.subject.is_refused(outcome)
            if not is_known and not self.subject.refuses(outcome, self.example):
                text = f"score() raises {outcome.error_text} on its example"
                self.subject.report.fault("raises", text)
            return None
        if dict.__ne__(original, self.example.original):
            self.subject.report.fault("mutation", "score() changes the example that it receives")
        if dict.__ne__(processed, self.example.processed):
            self.subject.report.fault("mutation", "score() changes the output that it receives")
        scores = self.checked(outcome, "on its example")
        if scores is None:
            return None
        if not scores:
            self._report_nothing()
        self._check_reads(original, processed, is_scored=bool(scores))
        return scores

    def _report_nothing(self) -> None:
        report = self.subject.report
        if self.example.is_declared:
            report.fault("unscored", "score() returns no score for the example of its manifest")
        else:
            table = f"[[evaluators.{self.subject.component.name}.examples]]"
            report.note(
                "unscored", f"it scores nothing in the general example; name one in {table}"
            )

    def checked(self, outcome: Outcome, when: str) -> Mapping[str, float] | None:
        """Return the scores of a call after comparison with the manifest."""
        report = self.subject.report
        result = outcome.value
        if not isinstance(result, Mapping):
            kind = type(result).__name__
            report.fault("return-type", f"score() returns {kind}, not a mapping, {when}")
            return None
        details = getattr(result, "details", None)
        if details and not is_json_like(dict(details)):
            report.fault("details", "the details of its scores contain what JSON cannot hold")
        scores = {name: value for name, value in result.items() if value is not None}
        for name, value in scores.items():
            self._check_score(name, value, when)
        return scores

    def _check_score(self, name: Any, value: Any, when: str) -> None:
        report = self.subject.report
        declared = self.subject.component.evaluator.scores
        if name not in declared:
            names = ", ".join(sorted(declared))
            text = f"it returns the score {name!r}, which scores does not declare ({names})"
            report.fault("undeclared-key", text)
            return
        try:
            if isinstance(value, str | bytes):
                raise TypeError
            number = float(value)
        except (TypeError, ValueError):
            report.fault("not-a-number", f"the score {name} is {value!r}, not a number, {when}")
            return
        if not math.isfinite(number):
            report.fault("not-finite", f"the score {name} is {number} {when}")
            return
        low, high = declared[name].range
        is_below = low is not None and number < low - _TOLERANCE
        is_above = high is not None and number > high + _TOLERANCE
        if is_below or is_above:
            text = f"the score {name} is {number}, outside its range [{low}, {high}], {when}"
            report.fault("range", text)

    def _check_reads(
        self, original: RecordingDict, processed: RecordingDict, *, is_scored: bool
    ) -> None:
        """Compare the fields that were read with reads and needs; an example without a score does not
        show that a field is unused."""
        manifest = self.subject.component.evaluator
        report = self.subject.report
        read = original.read
        if manifest.reads is not None:
            for name in sorted(read - set(manifest.reads)):
                text = f"it reads the field {name}, which reads does not declare"
                report.fault("undeclared-read", text)
            if original.listed:
                text = "it lists all fields of the example, but reads declares only some"
                report.fault("undeclared-read", text)
            elif is_scored and manifest.reads and not read & set(manifest.reads):
                text = "it reads none of the fields that reads declares"
                report.fault("unused-read", text)
        for side, fields, needs in (
            ("original", original, manifest.needs.original),
            ("processed", processed, manifest.needs.processed),
        ):
            for need in needs:
                is_read = fields.listed or bool(fields.read & set(need.split("|")))
                if is_scored and not is_read:
                    text = f"needs.{side} names {need}, which it does not read"
                    report.fault("unused-need", text)
            needed = {name for need in needs for name in need.split("|")}
            for name in sorted((fields.read & fields.keys()) - needed):
                self._check_without(side, name)

    def _check_without(self, side: str, name: str) -> None:
        """Report an error without a field that needs does not name: a run calls it without."""
        for missing in (True, False):
            fields = {
                "original": deepcopy(self.example.original),
                "processed": deepcopy(self.example.processed),
            }
            if missing:
                del fields[side][name]
            else:
                fields[side][name] = None
            outcome = self.subject.call(
                "score()", self.score, fields["original"], fields["processed"]
            )
            if outcome.error is not None and not self.subject.is_refused(outcome):
                what = "without the field" if missing else "with None in the field"
                text = (
                    f"score() raises {outcome.error_text} {what} {name}, "
                    f"which needs.{side} does not name"
                )
                self.subject.report.fault("undeclared-need", text)
                return

    def check_again(self, scores: Mapping[str, float]) -> None:
        """Report another result of the same instance, or of an equal one."""
        if not self.subject.component.manifest.deterministic:
            return
        for instance, whose in ((self.evaluator, "the same"), (self.again, "an equal")):
            outcome = self.subject.call("score()", self._call_of(instance), *self._pair())
            value = outcome.value
            if outcome.error is not None or not isinstance(value, Mapping):
                text = f"a second call of {whose} instance fails: {outcome.error_text}"
                self.subject.report.fault("not-deterministic", text)
            elif not same({k: v for k, v in value.items() if v is not None}, dict(scores)):
                text = (
                    f"{whose} instance returns {dict(value)} for the same input after "
                    f"{dict(scores)}; set deterministic = false"
                )
                self.subject.report.fault("not-deterministic", text[:400])

    def _call_of(self, instance: Any) -> Callable[[Any, Any], Any]:
        if callable(getattr(instance, "score", None)):
            score: Callable[[Any, Any], Any] = instance.score
            return score
        return lambda original, processed: asyncio.run(instance.ascore(original, processed))

    def _pair(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return deepcopy(self.example.original), deepcopy(self.example.processed)

    def check_other_methods(self, scores: Mapping[str, float]) -> None:
        """Report that score_batch() or ascore() does not return what score() does."""
        batch = getattr(self.evaluator, "score_batch", None)
        if callable(batch):
            outcome = self.subject.call("score_batch()", batch, [self._pair(), self._pair()])
            self._compare_batch(outcome, scores)
        is_async = callable(getattr(self.evaluator, "ascore", None))
        if is_async and callable(getattr(self.evaluator, "score", None)):
            ascore = self.evaluator.ascore
            outcome = self.subject.call(
                "ascore()", lambda pair: asyncio.run(ascore(*pair)), self._pair()
            )
            self._compare(outcome, "ascore()", scores)

    def _compare_batch(self, outcome: Outcome, scores: Mapping[str, float]) -> None:
        report = self.subject.report
        if outcome.error is not None:
            if not self.subject.is_refused(outcome):
                report.fault("score-batch", f"score_batch() raises {outcome.error_text}")
            return
        results = outcome.value
        if not isinstance(results, list | tuple) or len(results) != 2:
            report.fault("score-batch", "score_batch() does not return one result for each pair")
            return
        for result in results:
            self._compare(Outcome(value=result), "score_batch()", scores)

    def _compare(self, outcome: Outcome, method: str, scores: Mapping[str, float]) -> None:
        report = self.subject.report
        value = outcome.value
        if outcome.error is not None:
            if not self.subject.is_refused(outcome):
                report.fault("score-batch", f"{method} raises {outcome.error_text}")
        elif not isinstance(value, Mapping):
            report.fault("score-batch", f"{method} gives {value!r} in place of scores")
        elif self.subject.component.manifest.deterministic and not same(dict(value), dict(scores)):
            text = f"{method} returns {dict(value)} where score() returns {dict(scores)}"
            report.fault("score-batch", text[:400])

    def check_unusual(self) -> None:
        """Report an error, or a score that is not declared, for an unusual text."""
        for side, fields in (
            ("processed", self.example.processed),
            ("original", self.example.original),
        ):
            for name, value in fields.items():
                if not isinstance(value, str) or name == "id":
                    continue
                for what, text in UNUSUAL_TEXTS.items():
                    if side == "original" and what == "1 MB":
                        continue  # a gold answer of 1 MB is a fault of the dataset
                    self._check_text(side, name, what, text)

    def _check_text(self, side: str, name: str, what: str, text: str) -> None:
        fields = {
            "original": deepcopy(self.example.original),
            "processed": deepcopy(self.example.processed),
        }
        fields[side][name] = text
        outcome = self.subject.call("score()", self.score, fields["original"], fields["processed"])
        when = f"when {side}.{name} is unusual ({what})"
        if outcome.error is None:
            self.checked(outcome, when)
        elif not self.subject.is_refused(outcome):
            message = f"score() raises {outcome.error_text} {when}"
            self.subject.report.fault("unusual-input", message)
