"""One logged sample of lm-eval as an example of context-bench."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from attrs import frozen

from context_bench_lm_eval.corpus_items import corpus_items

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@frozen
class Likelihood:
    """What a model computed for one continuation.

    Attributes:
        value: Logarithm of its probability.
        is_greedy: Whether the model would have written exactly this.
    """

    value: float
    is_greedy: bool


def example_of(sample: Mapping[str, Any], task: str) -> dict[str, Any]:
    """Return the example of a sample: prompt, gold answer, and what the model answered when lm-eval ran."""
    requests = _requests(sample["arguments"])
    likelihoods = [_likelihood(responses[0]) for responses in sample["resps"]]
    target = _target(sample)
    example: dict[str, Any] = {
        "id": f"{task}/{sample['doc_id']}",
        "task": task,
        "filter": sample["filter"],
        "question": requests[0][0],
        "doc": sample["doc"],
        "lm_eval_target": target,
        "recorded_metrics": recorded_metrics(sample),
    }
    items = corpus_items({name: sample.get(name) for name in sample.get("metrics") or ()})
    if items:
        example["recorded_items"] = items
    known = [likelihood for likelihood in likelihoods if likelihood is not None]
    if len(known) < len(likelihoods):
        return example | _generated(sample, target)
    if len(known) > 1:
        return example | _multiple_choice(requests, known, target)
    continuation = requests[0][1]
    is_greedy = known[0].is_greedy
    return example | {"answer": continuation, "response": continuation if is_greedy else ""}


def recorded_metrics(sample: Mapping[str, Any]) -> dict[str, float]:
    """Return the metrics of a sample that are one finite number, in the order in which the file names them.

    Corpus metrics such as bleu are logged as a pair of texts, and are in ``recorded_items``.
    """
    metrics: dict[str, float] = {}
    for name in sample.get("metrics") or ():
        value = sample.get(name)
        if isinstance(value, Real) and math.isfinite(value):
            metrics[str(name)] = float(value)
    return metrics


def _requests(arguments: Any) -> list[tuple[str, str]]:
    """Return the prompt and the continuation of each request; a generated one has no continuation."""
    requests = []
    listed = arguments.values() if isinstance(arguments, Mapping) else arguments
    for request in listed:
        values = list(request.values()) if isinstance(request, Mapping) else list(request)
        continuation = values[1] if len(values) > 1 else ""
        requests.append((str(values[0]), continuation if isinstance(continuation, str) else ""))
    return requests


def _likelihood(response: Any) -> Likelihood | None:
    """Return what a logged response says of a continuation; None for a generated text. Numbers are logged as texts."""
    if not isinstance(response, Sequence) or isinstance(response, str) or len(response) != 2:
        return None
    try:
        value = float(response[0])
    except (TypeError, ValueError):
        return None
    return Likelihood(value=value, is_greedy=str(response[1]) == "True")


def _target(sample: Mapping[str, Any]) -> str | list[str]:
    """Return the gold answer; several are logged as the text of a Python list."""
    target = sample.get("target")
    if isinstance(target, list):
        return [str(value) for value in target]
    text = "" if target is None else str(target)
    if text.startswith("[") and text.endswith("]"):
        try:
            values = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return text
        if values and isinstance(values, list):
            return [str(value) for value in values]
    return text


def _generated(sample: Mapping[str, Any], target: str | list[str]) -> dict[str, Any]:
    responses = [_text(response) for response in sample["resps"][0]]
    gold = {"answers": target} if isinstance(target, list) else {"answer": target}
    return {
        **gold,
        "response": responses[0],
        "responses": responses,
        "filtered_response": _text(sample["filtered_resps"][0]),
    }


def _multiple_choice(
    requests: Sequence[tuple[str, str]],
    likelihoods: Sequence[Likelihood],
    target: str | list[str],
) -> dict[str, Any]:
    """Return the choices, the right one, and the one that lm-eval's ``acc`` takes for the answer: the most likely.

    With ``acc_mutual_info`` the second half of the requests has no prompt. Where all continuations are equal, as in
    Winogrande, the choices are the prompts.
    """
    prompt = requests[0][0]
    conditional = [request for request in requests if request[0]] or list(requests)
    if len({continuation for _, continuation in conditional}) == 1:
        choices = [text for text, _ in conditional]
        prompt = conditional[0][1].strip()
    else:
        choices = [continuation.strip() for _, continuation in conditional]
    values = [likelihood.value for likelihood in likelihoods[: len(choices)]]
    example: dict[str, Any] = {
        "question": prompt,
        "choices": choices,
        "response": choices[values.index(max(values))],
        "log_likelihoods": values,
    }
    gold = _gold_choices(choices, target)
    if gold:
        example["answers"] = [choices[number] for number in gold]
    if len(gold) == 1 and len(choices) <= len(_LETTERS):
        example["correct_letter"] = _LETTERS[gold[0]]
    return example


def _gold_choices(choices: Sequence[str], target: str | list[str]) -> list[int]:
    """Return the numbers of the right choices; the target is a number, or the text of a choice."""
    numbers = []
    for value in [target] if isinstance(target, str) else target:
        text = value.strip()
        if text in choices:
            numbers.append(choices.index(text))
        elif text.isdecimal() and int(text) < len(choices):
            numbers.append(int(text))
    return numbers


def _text(value: Any) -> str:
    """Return a response as text; some filters return a list, of which the first is shown."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value:
        return _text(value[0])
    return "" if value is None or value == [] else str(value)
