"""A model that grades answers."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from context_bench.records import Scores
from context_bench_http import headers_identity, read_extra_body
from context_bench_judge.prompts import (
    COMPARISON_PLACEHOLDERS,
    RATING_PLACEHOLDERS,
    Message,
    check_prompt,
    comparison_messages,
    comparison_schema,
    rating_messages,
    rating_schema,
    transcript,
)
from context_bench_judge.rating import read_rating
from context_bench_judge.record import Record
from context_bench_judge.row import Row, UnjudgeableRow, compared_text
from context_bench_judge.scale import Scale
from context_bench_judge.verdict import read_verdict
from context_bench_judging import ClientPolicy, Request, atalk, judge_model, talk
from context_bench_judging.backends import AnthropicBackend, OpenAIBackend
from context_bench_judging.language_model import configured
from context_bench_judging.unreadable import UnreadableReply, reason_of
from context_bench_openai import ChatClient, ChatReply, EndpointError
from context_bench_openai.models import offered_models

JUDGE_VERSION = "15"
_RESERVED = {
    "messages": "the argument prompt",
    "model": "the argument model",
    "response_format": "the argument constrained",
    "temperature": "the argument temperature",
    "max_tokens": "the argument max_tokens",
    "seed": "the argument seed",
    "stream": "nothing: a judgement is not streamed",
}
Judgement = Generator[Request, ChatReply, Scores]


class LLMJudge:
    """Scores answers by asking a model behind an OpenAI-compatible endpoint.

    The key is ``judge_score``. By default it is a rating of 1 to 5, mapped to 0 to 1: ``(rating - 1) / 4``. With
    ``compare_with`` it is the outcome of a comparison: 1 when the response is better, 0.5 for a tie, 0 when it is worse.

    The details hold the ``reason`` that the judge gave and the ``rating`` or verdicts as given. A judge that gave no score -
    the call failed, it refused, its reply is unclear - leaves the row unscored, with the cause under ``unscored``; it never
    counts as 0.

        judge = LLMJudge("https://api.openai.com", model="gpt-4o")
        judge.score({"question": "Capital of Italy?", "answer": "Rome"}, {"response": "It is Rome."})["judge_score"]

    Args:
        base_url: Address of the judge's server, with or without ``/v1``; None means the configured judge.
        model: Model to ask.
        api_key: The key; None takes ``OPENAI_API_KEY`` from the environment, ``""`` sends none.
        timeout: Seconds for one attempt as a whole; None for no limit.
        prompt: A prompt in place of ours. Placeholders: ``{question} {context} {reference} {response} {conversation}
            {rubric} {low} {high}``, or when comparing ``{question} {context} {reference} {response_a} {response_b} {rubric}``.
        rubric: What to judge by, put before everything else.
        scale: Worst and best rating, as ``(1, 5)`` or ``"1-5"``.
        compare_with: Field of the row whose text the response is compared with, such as ``"answer"`` (the first reference)
            or ``"baseline"``; None rates instead.
        both_orders: Whether a comparison is asked twice, each response standing first once, and averaged.
        show_context: Whether the judge sees the context: ``always``, ``never``, or ``auto``: when there is no reference.
        constrained: Whether the reply is held to a JSON schema: ``always``, ``never``, or ``auto``: with our prompts, when
            the server takes it.
        temperature: Sampling temperature.
        max_tokens: Most tokens of a judgement.
        seed: Sampling seed; None sends none.
        extra_body: Further request fields, as a mapping or as JSON text.
        extra_headers: Further request headers, as a mapping or ``name: value`` lines.
        max_retries: Requests after the first one, on 429, 5xx, timeouts and broken connections.
        retry_base_delay: Upper bound of the first pause in seconds; it doubles each time.
        provider: ``openai`` for an OpenAI-compatible server, ``anthropic`` for one of the Messages API.
        cache: File that stores the judge's replies, by endpoint, model, messages and parameters.
        max_in_flight: How many requests may be on their way at a time.

    Raises:
        ValueError: An argument cannot be used; the message says what to write instead.
    """

    name = "llm_judge"

    def __init__(
        self,
        base_url: str | None = None,
        model: str = "gpt-4",
        api_key: str | None = None,
        timeout: float | None = 60.0,
        *,
        prompt: str | None = None,
        rubric: str | None = None,
        scale: Scale | str | Sequence[float] = (1, 5),
        compare_with: str | None = None,
        both_orders: bool = True,
        show_context: str = "auto",
        constrained: str = "auto",
        temperature: float | None = 0.0,
        max_tokens: int | None = 1024,
        seed: int | None = None,
        extra_body: Mapping[str, Any] | str | None = None,
        extra_headers: Mapping[str, str] | Iterable[str] | None = None,
        max_retries: int = 3,
        retry_base_delay: float = 1.0,
        provider: str = "openai",
        cache: str | Path | None = None,
        max_in_flight: int = 16,
    ) -> None:
        if not str(model or "").strip():
            raise ValueError(f"model must be the name of a model, not {model!r}.")
        _check_choice("show_context", show_context)
        _check_choice("constrained", constrained)
        if prompt is not None and compare_with is None:
            check_prompt(prompt, RATING_PLACEHOLDERS, ("response", "conversation"))
        elif prompt is not None:
            check_prompt(prompt, COMPARISON_PLACEHOLDERS, ("response_a", "response_b"))
        if base_url is None:
            base_url, model, provider = configured(model, provider)
        self._judge = judge_model(
            base_url,
            model,
            provider=provider,
            api_key=api_key,
            cache=cache,
            max_in_flight=max_in_flight,
            timeout=timeout,
            max_retries=max_retries,
            retry_base_delay=retry_base_delay,
            extra_headers=extra_headers,
        )
        backend = self._judge.backend
        assert isinstance(backend, (OpenAIBackend, AnthropicBackend))
        self._client = backend.client
        self._provider = provider
        self.model = model
        self.scale = Scale.of(scale)
        self._prompt = prompt
        self._rubric = rubric or None
        self._compare_with = compare_with or None
        self._both_orders = both_orders
        self._show_context = show_context
        self._constrained = constrained
        wanted = {
            "temperature": temperature,
            "max_tokens": max_tokens,
            "seed": seed,
            **read_extra_body(extra_body, _RESERVED),
        }
        self._parameters = {name: value for name, value in wanted.items() if value is not None}
        self._client_policy = ClientPolicy()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._client.endpoint.shown!r}, model={self.model!r})"

    @property
    def max_in_flight(self) -> int:
        """For how many rows the judge may be asked at a time."""
        return self._judge.max_in_flight

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """Return ``judge_score`` of a row, or nothing and the cause in the details.

        Args:
            original: The example: ``question`` and ``context``, ``turns`` of a conversation, ``answer`` or ``answers``.
            processed: The output: ``response``, and ``turn_responses`` of a conversation.
        """
        return talk(self._judge, lambda: self._judgement(original, processed))

    async def ascore(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """Return ``judge_score`` of a row without blocking the event loop; see `score`."""
        return await atalk(self._judge, lambda: self._judgement(original, processed))

    def models(self) -> list[str]:
        """Return the models that the judge's server offers, at no cost.

        Raises:
            EndpointError: It does not say.
        """
        if not isinstance(self._client, ChatClient):
            raise EndpointError(
                f"{self._client.endpoint.shown} is not asked which models it offers."
            )
        return offered_models(self._client)

    def fingerprint(self) -> dict[str, Any]:
        """Return everything that can change a score, and no secret, timeout or retry setting."""
        return {
            "evaluator": "judge",
            **({"provider": self._provider} if self._provider != "openai" else {}),
            "version": JUDGE_VERSION,
            "endpoint": self._client.endpoint.shown,
            "model": self.model,
            "prompt": self._prompt,
            "rubric": self._rubric,
            "scale": [self.scale.low, self.scale.high],
            "compare_with": self._compare_with,
            "both_orders": self._both_orders,
            "show_context": self._show_context,
            "constrained": self._constrained,
            "parameters": self._parameters,
            "headers": headers_identity(self._client.extra_headers),
        }

    def close(self) -> None:
        """Close the connections of the threads; those of an event loop close with it."""
        self._judge.close()

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._client.aclose()

    def _judgement(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Judgement:
        """Yield requests to the judge, take its replies, and return the scores."""
        record = Record()
        try:
            row = Row.of(original, processed)
            if not row.conversation and not row.response.strip():
                return Scores(
                    {"judge_score": 0.0},
                    {"reason": "The response is empty; the judge was not asked."},
                )
            row = self._with_or_without_context(row)
            if self._compare_with is None:
                score = yield from self._rating(row, record)
            else:
                other = compared_text(self._compare_with, row, original, processed)
                score = yield from self._comparison(row, other, record)
        except (UnjudgeableRow, UnreadableReply, EndpointError) as cause:
            return Scores(details={"unscored": reason_of(cause), **record.details()})
        return Scores({"judge_score": score}, record.details())

    def _rating(self, row: Row, record: Record) -> Generator[Request, ChatReply, float]:
        def messages(as_json: bool) -> list[Message]:
            return rating_messages(row, self.scale, self._rubric, self._prompt, as_json)

        reply = yield from self._client_policy.exchange(
            messages, self._asked_for(rating_schema(self.scale))
        )
        record.add(reply)
        rating = record.read(
            reply, lambda text: read_rating(text, self.scale), is_final=self.scale.high >= 10
        )
        record.tell(rating=rating)
        return self.scale.normalized(rating)

    def _comparison(
        self, row: Row, other: str, record: Record
    ) -> Generator[Request, ChatReply, float]:
        if row.conversation:
            row = replace(row, task=transcript(row.conversation[:-1]), conversation=())
        if self._compare_with in ("answer", "answers"):
            row = replace(row, references=())
        parameters = self._asked_for(comparison_schema())
        outcomes: list[float] = []
        for own in "AB"[: 2 if self._both_orders else 1]:
            a, b = (row.response, other) if own == "A" else (other, row.response)

            def messages(as_json: bool, a: str = a, b: str = b) -> list[Message]:
                return comparison_messages(row, a, b, self._rubric, self._prompt, as_json)

            reply = yield from self._client_policy.exchange(messages, parameters)
            record.add(reply)
            verdict = record.read(reply, read_verdict)
            outcomes.append(0.5 if verdict == "tie" else float(verdict == own))
            record.tell(outcomes=list(outcomes))
        if self._both_orders:
            record.tell(orders_agree=outcomes[0] == outcomes[1])
        return sum(outcomes) / len(outcomes)

    def _asked_for(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        is_constrained = self._constrained == "always" or (
            self._constrained == "auto" and self._prompt is None
        )
        return (
            {**self._parameters, "response_format": schema}
            if is_constrained
            else dict(self._parameters)
        )

    def _with_or_without_context(self, row: Row) -> Row:
        is_shown = self._show_context == "always" or (
            self._show_context == "auto" and not row.references
        )
        return row if is_shown else replace(row, context="")


def _check_choice(name: str, value: str) -> None:
    if value not in ("auto", "always", "never"):
        raise ValueError(f"{name} must be 'auto', 'always' or 'never', not {value!r}.")
