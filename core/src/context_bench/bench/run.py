"""A session: slots, streams and a planner, run against a run file, become a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from time import perf_counter
from typing import Any

from attrs import Factory, frozen

from context_bench.bench.planner import Planner
from context_bench.bench.provenance import dependencies, used_distributions
from context_bench.errors import ContextBenchError, RunStoppedError, StoreError
from context_bench.metrics.records import metrics_record
from context_bench.metrics.scores import check_score_field
from context_bench.plugins.hooks import Hooks
from context_bench.prices import REPORTED_CURRENCY, Prices
from context_bench.protocols import Call, Governor, Metric
from context_bench.records import ANY_KEY
from context_bench.results import EvalResult, StoredRows
from context_bench.runner.admission import Admission, close_systems
from context_bench.runner.agreement import Reference
from context_bench.runner.budget import Budget, BudgetGovernor
from context_bench.runner.endpoints import endpoint_of
from context_bench.runner.failures import Failures
from context_bench.runner.job_source import Feed
from context_bench.runner.loop import Loop
from context_bench.runner.parts import Scorer, Slot, Stream
from context_bench.runner.progress import Progress
from context_bench.runner.rescoring_jobs import Again
from context_bench.runner.routes import is_slow
from context_bench.runner.transcript import Transcripts
from context_bench.runner.work import Workbench
from context_bench.secrecy import Secrecy
from context_bench.store.questions import spent, unscored
from context_bench.store.reader import RunReader
from context_bench.store.reuse import EarlierResponses
from context_bench.store.runfile import RunFile
from context_bench.store.stored_rows import StoredRow
from context_bench.tokens import WordTokenizer

INTERRUPTED = 130


@frozen(eq=False)
class Session:
    """Everything that one run needs.

    Attributes:
        store: The run file.
        slots: The systems.
        streams: The datasets.
        planner: Wires evaluators.
        hooks: Lifecycle hooks.
        metrics: What the rows are added up to.
        max_workers: Number of threads.
        samples: Repetitions of each example.
        text_fields: Fields whose tokens are counted; None counts the prompt's.
        score_field, threshold: Parameters of the usual metrics.
        config: What is recorded about the request.
        progress: Shows how far the run is; None shows nothing.
        earlier: Responses of earlier runs.
        keep_bodies: Whether examples are stored whole.
        owner: Kept alive with the result.
        deadline: Seconds for one row as a whole; None for no limit.
        requests_per_minute, tokens_per_minute: Limits of each endpoint; None for none but what it answers.
        max_cost: Money that the run may cost, in the currency of the prices, where costs are known.
        prices: What tokens cost.
        reference: The system whose responses stand in for gold answers; None without one.
        max_failed: Share of rows that may fail, 0 to 1; the run stops early when it can no longer be met.
        order: ``"interleaved"`` or ``"system"``; see :class:`~context_bench.runner.job_source.Feed`.
        expected: Rows of the whole run, of all systems and samples; None when nobody knows.
        secrecy: Takes secrets out of whatever is written.
        on_warning: Is told what the first rows give away; on any thread.
        baseline: Label of the system that the prompts of the others are compared with; None knows none.
    """

    store: RunFile
    slots: Sequence[Slot]
    streams: Sequence[Stream]
    planner: Planner
    hooks: Hooks
    metrics: Sequence[Metric] = ()
    max_workers: int = 1
    samples: int = 1
    text_fields: Sequence[str] | None = None
    score_field: str = "score"
    threshold: float = 0.7
    config: Mapping[str, Any] = Factory(dict)
    progress: Progress | None = None
    earlier: EarlierResponses | None = None
    keep_bodies: bool = True
    owner: object = None
    deadline: float | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_cost: float | None = None
    prices: Prices = Factory(Prices)
    reference: Reference | None = None
    max_failed: float | None = None
    order: str = "interleaved"
    expected: int | None = None
    secrecy: Secrecy = Factory(Secrecy)
    on_warning: Callable[[str], None] = lambda line: None
    baseline: str | None = None

    def run(self, warnings: Sequence[str] = ()) -> EvalResult:
        """Do what is still to be done, and return the result of the whole run.

        Raises:
            RunStoppedError: The run ended early; everything finished so far is in the run file.
            MetricError: A metric asks for a score that no row has.
        """
        self.store.begin()
        self.store.expect(self.expected)
        for slot in self.slots:
            self.store.add_system(
                slot.number, slot.label, slot.key, slot.shared, self.secrecy.of_answer(slot.description)
            )
        for stream in self.streams:
            self.store.add_dataset(
                stream.number, stream.label or stream.fallback, self.secrecy.of_answer(stream.description)
            )
            if stream.label is not None:
                self.planner.wire(stream.label)
        self._record_dependencies()
        self._check_score_field()
        self.store.keep_metrics(metrics_record(self.metrics))
        told = [
            {"label": slot.label, "endpoint": endpoint_of(slot.system), "is_baseline": slot.label == self.baseline}
            for slot in self.slots
        ]
        self.hooks.run_started(dict(self.config), told, self.on_warning)
        workbench = Workbench(WordTokenizer(), self.text_fields, secrecy=self.secrecy, prices=self.prices)
        transcripts = Transcripts(self.store, self.secrecy)
        feed = Feed(
            self.slots,
            self.streams,
            self.planner.wire,
            workbench,
            self.samples,
            self.store.finished,
            self.earlier.find if self.earlier else None,
            self.keep_bodies,
            self.order,
            transcripts,
            self._unscored(),
            self.reference,
        )
        started = perf_counter()
        admission = self._admission()
        if self.progress is not None:
            self.progress.watch(admission)
            if not self.store.is_new:
                counts = self.store.counts()
                self.progress.resume({slot.number: counts.get(slot.number, (0, 0))[0] for slot in self.slots})
        loop = Loop(workbench, self.store, self.max_workers, self._watch(), admission, self.deadline, self._say)
        try:
            try:
                loop.run(feed.jobs(self.store))
            finally:
                transcripts.close()
            if self.reference is not None and any(label.reference for label in self.store.labels()):
                again = Again(self.store, self.slots, self.planner.wire, False, self.reference, agreement_only=True)
                loop.run(again.jobs())
        except KeyboardInterrupt as error:
            self._break_off("interrupted", warnings)
            code = getattr(error, "exit_code", INTERRUPTED)
            raise RunStoppedError("Interrupted.", str(self.store.path), code) from None
        except ContextBenchError as error:
            answered = self._break_off("stopped", warnings)
            path = str(self.store.path) if answered else None
            raise RunStoppedError(str(error), path, error.exit_code) from error
        except BaseException:
            self._break_off("stopped", warnings)
            raise
        finally:
            admission.close()
            for line in close_systems(self.slots):
                self.planner.warn(line)
            if self.progress is not None:
                self.progress.close()
        self._tell_end("finished")
        try:
            self.store.settle_headlines()
            self._end("finished", warnings)
            return self._result(perf_counter() - started, feed.skipped)
        finally:
            self._leave()

    def _admission(self) -> Admission:
        governors: list[Governor] = []
        if self.max_cost is not None:
            budget = Budget(self.max_cost, spent(self.store))
            governors.append(BudgetGovernor(budget, self._expected_cost, self.prices.currency))
        return Admission(
            self.slots, self.max_workers, self.requests_per_minute, self.tokens_per_minute, governors, self.prices
        )

    def _expected_cost(self, call: Call) -> float | None:
        """Return what a call will cost at most; None where the price or the longest answer is unknown."""
        [slot] = [slot for slot in self.slots if slot.number == call.slot]
        price = self.prices.find([slot.model])
        return None if price is None or slot.max_tokens is None else price.at_most(call.tokens, slot.max_tokens)

    def _say(self, line: str) -> None:
        """Tell whoever watches the run what a signal does."""
        if self.progress is not None:
            self.progress.say(line)

    def _unscored(self) -> dict[int, set[int]]:
        """Return the slow evaluators that have said nothing of a response, by its packed identity.

        An earlier session ended between the commit of the response and that of its slow scores.
        """
        found: dict[int, set[int]] = {}
        for label in () if self.store.is_new else self.store.labels():
            for scorer in filter(_is_late, self.planner.wire(label.label).scorers):
                for row in unscored(self.store, label.number, scorer.number):
                    found.setdefault(row, set()).add(scorer.number)
        return found

    def _check_score_field(self) -> None:
        """Find a misspelt score before the first example, where every label and key is known by then."""
        known = [key for wiring in self.planner.wirings.values() for key in wiring.keys]
        if ANY_KEY in known or any(stream.label is None for stream in self.streams):
            return
        for metric in self.metrics:
            check_score_field(metric, (), known)

    def _watch(self) -> Callable[[StoredRow], None] | None:
        if self.progress is None and not self.hooks.watch_rows and self.max_failed is None:
            return None
        failures = Failures(self.max_failed, self.expected)

        def watch(row: StoredRow) -> None:
            failures.row(row)
            if self.progress is not None:
                self.progress.row(row)
            if self.hooks.watch_rows:
                number = row.id.pack()
                for finished in self.store.rows(number, number):
                    self.hooks.row_finished(finished)

        return watch

    def _record_dependencies(self) -> None:
        """Record the versions of what core and the plugins in use require, for a file that somebody keeps."""
        if self.owner is not None:
            return
        used = used_distributions(self.store)
        before = self.store.run()["provenance"].get("dependencies", {})
        if not used <= before.keys():
            self.store.add_provenance({"dependencies": before | dependencies(used)})

    def _end(self, status: str, warnings: Sequence[str]) -> int:
        """Record how the session ended, and return how many rows are answered."""
        self._record_dependencies()
        self.store.warn(warnings)
        self.store.finish(status, now())
        return sum(answered for answered, _ in self.store.counts().values())

    def _break_off(self, status: str, warnings: Sequence[str]) -> int:
        """End a session that something has ended early, and return how many rows are answered."""
        try:
            self._tell_end(status)
            return self._end(status, warnings)
        except StoreError:  # it could not be recorded; what ended the session is told, and may be the same
            return sum(answered for answered, _ in self.store.counts().values())
        finally:
            self._leave()

    def _tell_end(self, status: str) -> None:
        """Tell the hooks how the run ended; what they warn of is still recorded."""
        counts = self.store.counts().values()
        answered, failed = sum(pair[0] for pair in counts), sum(pair[1] for pair in counts)
        self.hooks.run_finished(status, answered + failed, failed)

    def _leave(self) -> None:
        """Close the run file for writing; what is read of it from now on has no lock."""
        if self.owner is None:
            self.store.seal()
        self.store.close()

    def _result(self, seconds: float, skipped: int) -> EvalResult:
        rows = StoredRows(self.store, self.owner)
        labels = self.store.labels()
        names = list(dict.fromkeys(label.dataset for label in labels))
        done = len(rows) - skipped
        config = {
            **self.config,
            "systems": [slot.label for slot in self.slots],
            **comparison_of(self.store),
            "datasets": names,
            "evaluators": [entry["id"] for entry in self.store.evaluators()],
            "wiring": {label.label: label.plan for label in labels},
            "metrics": [metric.name for metric in self.metrics],
            "num_examples": sum(entry["length"] or 0 for entry in self.store.datasets()),
            "max_workers": self.max_workers,
            "score_field": self.score_field,
            "tokenizer": WordTokenizer.name,
        }
        timing = {"seconds": seconds, "rows_per_second": done / seconds if seconds else 0.0, "reused_rows": skipped}
        declared = [key for label in labels for key in label.keys]
        result = EvalResult(rows, self.metrics, timing, config, declared, self.store.warnings())
        self.store.keep_metrics(metrics_record(result.metrics, result.summary, result.said))
        self.store.warn(result.findings)
        return result


def _is_late(scorer: Scorer) -> bool:
    """Whether a scorer scores after the commit, and on its own: agreement has a pass of its own."""
    return is_slow(scorer) and not scorer.agrees


def comparison_of(store: RunReader) -> dict[str, str]:
    """Return what a result's config says of baseline, reference and money; nothing of those that the run has not."""
    systems = store.systems()
    told: dict[str, str] = {}
    for entry in systems:
        roles = {"baseline": entry["slot"] == store.baseline(), "reference": "reference" in entry["description"]}
        told |= {role: entry["label"] for role, is_its in roles.items() if is_its}
    billed = [entry["description"]["billing"] for entry in systems if "billing" in entry["description"]]
    billing: dict[str, str] = billed[0] if billed else {}
    told["currency"] = billing.get("currency", REPORTED_CURRENCY)
    return told | ({"prices_date": billing["date"]} if billing.get("date") else {})


def reference_of(store: RunReader) -> Reference | None:
    """Return the system of a run whose responses stand in for gold answers, or None."""
    found = store.reference()
    if found is None:
        return None
    [label] = [entry["label"] for entry in store.systems() if entry["slot"] == found[0]]
    return Reference(label, *found)


def now() -> str:
    """Return the time as ISO 8601 in UTC."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
