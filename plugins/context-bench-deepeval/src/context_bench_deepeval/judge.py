"""The judge of context-bench as a model of deepeval."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from context_bench_deepeval.library import library
from context_bench_judging import ClientPolicy, LanguageModel, Request, UnreadableReply, talk
from context_bench_openai import ChatReply


class Conversation:
    """What one metric asks the judge about one row.

    Args:
        judge: The model.
        policy: Which parameters the server takes.
        parameters: Fields of every request.
    """

    def __init__(
        self, judge: LanguageModel, policy: ClientPolicy, parameters: Mapping[str, Any]
    ) -> None:
        self._judge = judge
        self._policy = policy
        self._parameters = parameters
        self._requests: list[Request] = []

    @property
    def model(self) -> str:
        """Name of the model that is asked."""
        return str(self._judge.identity()["model"])

    @property
    def calls(self) -> int:
        """How many replies there were."""
        return len(self._requests)

    def reply_to(self, prompt: str) -> str:
        """Return the judge's reply as text.

        Raises:
            EndpointError: No usable reply came.
            UnreadableReply: The reply has no text.
        """
        reply = talk(self._judge, lambda: self._asked(prompt))
        if not reply.text.strip():
            raise UnreadableReply("the judge gave an empty reply")
        return reply.text

    def forget(self) -> None:
        """Keep the last reply in no cache: deepeval could not read it."""
        self._judge.forget(self._requests[-1:])

    def _asked(self, prompt: str) -> Generator[Request, ChatReply, ChatReply]:
        messages = [{"role": "user", "content": prompt}]
        reply = yield from self._policy.exchange(lambda _: messages, self._parameters)
        refused = self._policy.refused
        sent = {name: value for name, value in self._parameters.items() if name not in refused}
        self._requests.append(Request(messages, sent))
        return reply


def model_for(conversation: Conversation) -> Any:
    """Return a model of deepeval that asks through a conversation."""
    base: Any = library("deepeval.models.base_model").DeepEvalBaseLLM

    class JudgeModel(base):  # type: ignore[misc] # a class of a library that may be absent
        """A model that is no provider of deepeval: it returns text, and deepeval reads the JSON in it."""

        def load_model(self, *_: Any, **__: Any) -> None:
            return None

        def generate(self, prompt: Any) -> str:
            return conversation.reply_to(str(prompt))

        async def a_generate(self, prompt: Any) -> str:
            return conversation.reply_to(str(prompt))

        def get_model_name(self, *_: Any, **__: Any) -> str:
            return conversation.model

    return JudgeModel(conversation.model)
