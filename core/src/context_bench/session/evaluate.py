"""``evaluate``: the whole of context-bench as one function.

This module imports nothing heavy, so that importing ``evaluate`` is cheap; the first call loads the
rest. Its signature and what it says of its arguments are written by core/generate_first_party.py,
from the parameters that a request declares.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from context_bench.plan.specs import DatasetSpec, SystemSpec
    from context_bench.protocols import Evaluator, Metric
    from context_bench.results.result import EvalResult


def evaluate(
    systems: Any,
    dataset: Iterable[Mapping[str, Any]] | str | DatasetSpec | None = None,
    evaluators: Sequence[Evaluator | str] | None = None,
    metrics: Sequence[Metric | str] | None = None,
    max_examples: int | None = None,
    progress: bool = True,
    text_fields: Sequence[str] | None = None,
    max_workers: int | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    *,
    system_defaults: Mapping[str, Any] | None = None,
    datasets: Sequence[str | DatasetSpec] | Mapping[str, Iterable[Mapping[str, Any]]] = (),
    fields: Mapping[str, str] | None = None,
    inputs: Sequence[str] = (),
    bare: bool = False,
    compress_question: bool = False,
    reader: str | SystemSpec | None = None,
    baseline: Any = None,
    reference_from: Any = None,
    sample: int | None = None,
    seed: int = 0,
    ids: Sequence[str] = (),
    repeat: int = 1,
    order: str = "interleaved",
    row_timeout: float | None = None,
    dataset_timeout: float | None = None,
    requests_per_minute: float | None = None,
    tokens_per_minute: float | None = None,
    max_failed: float | str | None = None,
    keep_going: bool = False,
    add_evaluators: Sequence[str] = (),
    exclude: Sequence[str] = (),
    allow: Sequence[str] = (),
    score_prefixes: Mapping[str, str] | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    extensions: Sequence[str] = (),
    extension_options: Mapping[str, Mapping[str, Any]] | None = None,
    add_metrics: Sequence[Metric | str] = (),
    score_field: str = "score",
    threshold: float = 0.7,
    tokenizer: str = "words",
    store_examples: bool = True,
    log_format: str = "text",
    run_file: str | os.PathLike[str] | None = None,
    on_warning: Callable[[str], None] | None = None,
    **flags: Any,
) -> EvalResult:
    """Give every example to every system, score what comes back, and add it up.

    >>> def shout(example):
    ...     return example["question"].upper()
    >>> class Loud:
    ...     name = "loud"
    ...     def score(self, original, processed):
    ...         return {"loud": float(processed["response"].isupper())}
    >>> result = evaluate(shout, [{"question": "hi"}], [Loud()], progress=False)
    >>> result.summary["shout"]["mean_score"]
    1.0

    Args:
        systems: A system or several: objects with ``name`` and ``process``, functions, or specs
            such as ``"bm25:ratio=0.3"``.
        dataset: The examples: any iterable of mappings, read one by one, or a dataset spec such as
            ``"needle"``.
        evaluators: Exactly these, as objects or names. None wires them from each row's ``dataset``
            field, or from the dataset's name.
        metrics: Exactly these metrics, instead of those that are on by default: NAME or
            NAME:option=value,...
        max_examples: At most N examples of each dataset.
        progress: Whether to show progress on standard error.
        text_fields: Fields whose tokens count as the prompt, instead of context, question and their
            like.
        max_workers: Calls of systems in flight; async evaluators, as judges are, have a bound of
            their own (max_in_flight). None takes up to 64 where a system names an endpoint, 8 when
            one waits for a network or a process, else 1.
        cache_dir: Folder of run files: responses whose key matches are taken from there, and this
            run is added.
        system_defaults: Options of every system given as a spec that has them and gives none
            itself.
        datasets: Several datasets: specs, or iterables by label.
        fields: Source of a field by its name, for datasets given as specs: ``{"answer":
            "outputs.0"}``.
        inputs: A field of the examples that named systems may see besides the usual ones; gold
            answers stay home.
        bare: Leave out worked examples and the instructions about the form of the answer.
        compress_question: Let context compressors shorten the questions of examples that have no
            context.
        reader: System that follows each context transformer.
        baseline: The system that the others are compared with: the label of one of them, or a spec
            or address of one more.
        reference_from: The system whose responses replace a missing gold answer; as the baseline.
            It is called twice there.
        sample: N examples of each dataset at random, instead of the first.
        seed: Seed of that sample: the same seed selects the same examples.
        ids: Only the examples with these ids.
        repeat: How often each example is given to each system.
        order: interleaved gives each example to all systems in turn, system all examples to one
            system first.
        row_timeout: Seconds that one row may take, retries and scoring included.
        dataset_timeout: Maximum seconds for a dataset to yield one example; after that the run
            stops.
        requests_per_minute: Requests a minute for each endpoint.
        tokens_per_minute: Tokens a minute for each endpoint.
        max_failed: Share of rows that may fail, ``0.01`` or ``"1%"``; the run stops when more must.
        keep_going: Go on where the first ten rows of a system, or later thirty in a row, fail with
            one cause; else the run stops there.
        add_evaluators: An evaluator added to the automatic ones.
        exclude: An evaluator left out.
        allow: A capability that auto-wired evaluators may use: network or executes-model-code.
        score_prefixes: A prefix for the score keys of an evaluator, by its name.
        options: Options of evaluators, by name.
        extensions: An extension to use: a package's set of hooks.
        extension_options: Options of extensions, by name.
        add_metrics: A metric added to those that are on by default.
        score_field: Score that the usual metrics look at; score is each row's primary score.
        threshold: Score that passes, for the usual metrics.
        tokenizer: What counts tokens where an endpoint reports none: words, or an installed
            tokenizer.
        store_examples: Whether the run file stores the examples; without them it cannot be
            rescored.
        log_format: Format of the progress log without a terminal.
        run_file: Where to keep the run: a file, or the address of a run in a store. A run that is
            there already is resumed. None keeps it as long as the result.
        on_warning: Is called with each warning; None issues a :class:`UserWarning`.
        **flags: Options of installed extensions, by the names of their flags: with
            context-bench-cost, ``prices`` and ``max_cost``.

    Returns:
        The result; its rows are read lazily from the run file.

    Raises:
        ContextBenchError: Something is wrong with what was asked for; the message says what to do.
        RunStoppedError: The run ended early; what was finished is in ``run_file``.
    """
    arguments = dict(locals())
    from context_bench.session.run import evaluate_request

    return evaluate_request(arguments)
