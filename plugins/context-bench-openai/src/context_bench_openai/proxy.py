"""An OpenAI-compatible endpoint, or a proxy in front of one, as the system under test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from context_bench.prompts import ASKING_FIELDS, HISTORY_FIELDS
from context_bench_conversations import messages_of_turns
from context_bench_http.endpoint import CHAT, COMPLETIONS
from context_bench_http.extra_body import read_extra_body
from context_bench_http.headers import DEFAULT_FAILURE_HEADERS
from context_bench_http.request_headers import headers_identity
from context_bench_openai.callable_identity import callable_identity
from context_bench_openai.client import ChatClient
from context_bench_openai.conversation import Conversation, Replies, output_of
from context_bench_openai.layouts import (
    Message,
    build_messages,
    layout_named,
    opening_messages,
    sends_session,
)
from context_bench_openai.models import offered_models
from context_bench_openai.parameters import request_parameters
from context_bench_openai.prompts import PromptTemplate, plain_prompt
from context_bench_openai.recorded import session_tools

ADAPTER_VERSION = "2"
ENDPOINTS = ("chat", "completions")
_PATHS = {"chat": CHAT, "completions": COMPLETIONS}
_FIELDS = ("context", "question", *ASKING_FIELDS, *HISTORY_FIELDS, "turns", "multi_turn")
_OF_SESSIONS = ("messages", "raw_messages", "dialect", "tools", "region")
_RESERVED = {
    "messages": "the argument layout or build_messages",
    "prompt": "the argument prompt_template",
    "model": "the argument model",
    "stream": "the argument stream",
}


class OpenAIProxy:
    """Sends every example to an OpenAI-compatible endpoint and returns what it answered.

    ``process`` returns ``response``, ``usage`` (``input_tokens``, ``output_tokens``, ``cache_read_tokens``,
    ``cache_write_tokens``, ``reasoning_tokens`` as far as reported), ``finish_reason``, ``model``, ``headers`` (those
    that the proxy added) and ``latency``; where they exist also ``tool_calls``, ``refusal``,
    ``reasoning``, ``logprobs``, ``ttft`` and ``envelope`` (the reply's ``id`` and ``created``). A call without a usable
    reply raises an `EndpointError`: an error text is never a response.

        system = OpenAIProxy("http://localhost:7878", model="gpt-4o-mini", name="kompact")
        system.process({"context": "Rome is in Italy.", "question": "Where is Rome?"})["response"]

    Args:
        base_url: Address of the server, with or without ``/v1``.
        model: Model to ask for.
        name: Display name; by default ``openai_proxy_HOST:PORT``.
        api_key: The key; None takes ``OPENAI_API_KEY`` from the environment, ``""`` sends none.
        system_prompt: A system message before everything else.
        build_messages: Makes the messages of an example in place of the layouts.
        timeout: Seconds for one request as a whole; None for no limit.
        extra_body: Further request fields, as a mapping or as JSON text.
        layout: Where context and question stand: ``system``, ``user``, ``tool``, ``chat`` or ``messages``.
        temperature: Sampling temperature; None leaves it to the server, as for all below.
        top_p: Nucleus sampling mass.
        max_tokens: Most tokens of a reply.
        seed: Sampling seed.
        stream: Whether to stream, which makes the time to the first token known.
        cache_salt: A line in front of the first message, so that no prompt begins as those of another system do.
        extra_headers: Further request headers, as a mapping or ``name: value`` lines.
        failure_headers: Response headers that make a row a failure, as ``name`` or ``name=value``.
        endpoint: ``chat`` sends messages to ``/chat/completions``, ``completions`` a prompt to ``/completions``.
        prompt_template: Text with fields of the example in braces: the prompt, or the one user message.
        max_completion_tokens: Most tokens of a reply, reasoning included, under the name that newer models ask for.
        stop: Texts at which the model stops.
        logprobs: Whether to ask for the log probabilities of the tokens, which are then in the output.
        top_logprobs: How many alternatives of each token to ask for; more than 0 switches ``logprobs`` on.
        organization, project, http_proxy, ca_bundle, client_cert, verify: As in `ChatClient`.

    Raises:
        ValueError: An argument cannot be used; the message says what to write instead.
    """

    latency_headers = ("x-kompact-latency-ms",)
    """Response headers in which a proxy says how many milliseconds it took itself."""

    def __init__(
        self,
        base_url: str,
        model: str = "gpt-4o-mini",
        name: str | None = None,
        api_key: str | None = None,
        system_prompt: str | None = None,
        build_messages: Callable[[Mapping[str, Any]], Sequence[Message]] | None = None,
        timeout: float | None = 120.0,
        extra_body: Mapping[str, Any] | str | None = None,
        *,
        layout: str = "system",
        temperature: float | None = None,
        top_p: float | None = None,
        max_tokens: int | None = None,
        seed: int | None = None,
        stream: bool = False,
        cache_salt: str | None = None,
        extra_headers: Mapping[str, str] | Iterable[str] | None = None,
        failure_headers: Iterable[str] = DEFAULT_FAILURE_HEADERS,
        endpoint: str = "chat",
        prompt_template: str | None = None,
        max_completion_tokens: int | None = None,
        stop: str | Sequence[str] | None = None,
        logprobs: bool = False,
        top_logprobs: int | None = None,
        organization: str | None = None,
        project: str | None = None,
        http_proxy: str | None = None,
        ca_bundle: str | None = None,
        client_cert: str | None = None,
        verify: bool = True,
    ) -> None:
        if not str(model or "").strip():
            raise ValueError(f"model must be the name of a model, not {model!r}.")
        layout_named(layout)
        if build_messages is not None and not callable(build_messages):
            raise TypeError(
                "build_messages must be a function from an example to a list of messages."
            )
        _check_way_of_asking(
            endpoint, layout, build_messages is not None, prompt_template is not None
        )
        self._client = ChatClient(
            base_url,
            api_key,
            model=model,
            timeout=timeout,
            extra_headers=extra_headers,
            failure_headers=failure_headers,
            organization=organization,
            project=project,
            http_proxy=http_proxy,
            ca_bundle=ca_bundle,
            client_cert=client_cert,
            verify=verify,
        )
        self.name = name or f"openai_proxy_{self._client.endpoint.label}"
        self.model = model
        self.cache_salt = cache_salt
        self.layout = layout
        self.system_prompt = system_prompt
        self._endpoint = endpoint
        self._build_messages = build_messages
        self._template = PromptTemplate(prompt_template) if prompt_template is not None else None
        self._parameters = request_parameters(
            endpoint,
            {
                "temperature": temperature,
                "top_p": top_p,
                "max_tokens": max_tokens,
                "max_completion_tokens": max_completion_tokens,
                "seed": seed,
                "stop": stop,
            },
            logprobs,
            top_logprobs,
            read_extra_body(extra_body, _RESERVED),
        )
        self._stream = stream

    @property
    def reads(self) -> tuple[str, ...] | None:
        """The fields of an example that it looks at; None when only ``build_messages`` knows."""
        if self._build_messages is not None:
            return None
        more = _OF_SESSIONS if self._template is None else self._template.fields
        return tuple(dict.fromkeys((*_FIELDS, *more)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._client.endpoint.shown!r}, model={self.model!r}, name={self.name!r})"

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the endpoint's answer to an example.

        An example with ``multi_turn`` is asked turn by turn, see `process_conversation`.

        Raises:
            EndpointError: The endpoint gave no usable reply.
            ValueError: The example has nothing to ask.
        """
        if self._endpoint == "completions":
            return output_of(
                self._client.complete(
                    self._prompt(example), stream=self._stream, **self._parameters
                )
            )
        if self._is_conversation(example):
            return self.process_conversation(example["turns"]).output
        return output_of(
            self._client.chat(
                self._salted(self._messages(example)), stream=self._stream, **self._fields(example)
            )
        )

    async def aprocess(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the endpoint's answer to an example without blocking the event loop; see `process`."""
        if self._endpoint == "completions":
            prompt = self._prompt(example)
            return output_of(
                await self._client.acomplete(prompt, stream=self._stream, **self._parameters)
            )
        if self._is_conversation(example):
            return (await self.aprocess_conversation(example["turns"])).output
        return output_of(
            await self._client.achat(
                self._salted(self._messages(example)), stream=self._stream, **self._fields(example)
            )
        )

    def process_conversation(self, turns: Sequence[Any]) -> Replies:
        """Return the assistant messages of a conversation, one request for each turn that has no answer yet.

        Each request holds the turns before it and the model's own replies to them. The returned list of
        ``{"role", "content"}`` carries the summed ``usage`` and the whole ``output`` as attributes.

        Args:
            turns: User turns as text, or turns as ``{"role", "content"}``.
        """
        self._check_conversational()
        conversation = Conversation(turns, self.system_prompt, output_of)
        for messages in conversation.requests():
            conversation.add(
                self._client.chat(self._salted(messages), stream=self._stream, **self._parameters)
            )
        return conversation.result()

    def process_turn(self, turns: Sequence[Any]) -> dict[str, Any]:
        """Return the endpoint's answer to the last of the turns of a conversation.

        The runner asks a conversation like this, so that it can keep each answer before it asks for the next.

        Args:
            turns: Turns as for `process_conversation`; all but the last, a user's or a tool's, are history.
        """
        self._check_conversational()
        messages = self._salted(opening_messages(self.system_prompt) + messages_of_turns(turns))
        return output_of(self._client.chat(messages, stream=self._stream, **self._parameters))

    async def aprocess_turn(self, turns: Sequence[Any]) -> dict[str, Any]:
        """Return the endpoint's answer to the last of the turns without blocking the event loop."""
        self._check_conversational()
        messages = self._salted(opening_messages(self.system_prompt) + messages_of_turns(turns))
        return output_of(
            await self._client.achat(messages, stream=self._stream, **self._parameters)
        )

    async def aprocess_conversation(self, turns: Sequence[Any]) -> Replies:
        """Return the assistant messages of a conversation without blocking the event loop."""
        self._check_conversational()
        conversation = Conversation(turns, self.system_prompt, output_of)
        for messages in conversation.requests():
            conversation.add(
                await self._client.achat(
                    self._salted(messages), stream=self._stream, **self._parameters
                )
            )
        return conversation.result()

    def fingerprint(self) -> dict[str, Any]:
        """Return everything that can change an answer, and no secret, timeout or display name."""
        builder = self._build_messages
        return {
            "adapter": "openai",
            "version": ADAPTER_VERSION,
            "endpoint": self._client.endpoint.at(_PATHS[self._endpoint]).shown,
            "model": self.model,
            "layout": self.layout if builder is None else None,
            "build_messages": callable_identity(builder) if builder is not None else None,
            "prompt_template": self._template.text if self._template is not None else None,
            "system_prompt": self.system_prompt,
            "parameters": self._parameters,
            "stream": self._stream,
            "headers": headers_identity(self._client.extra_headers),
            "failure_headers": self._client.failure_headers.rules,
            **({"cache_salt": self.cache_salt} if self.cache_salt else {}),
        }

    def models(self) -> list[str]:
        """Return the models that the server offers, at no cost.

        Raises:
            EndpointError: It does not say.
        """
        return offered_models(self._client)

    def close(self) -> None:
        """Close the connections of the threads; those of an event loop close with it."""
        self._client.close()

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._client.aclose()

    def _salted(self, messages: list[Message]) -> list[Message]:
        """Return the messages with the salt as a line in front of the first."""
        if not self.cache_salt or not messages:
            return messages
        first, *others = messages
        content = first.get("content")
        if isinstance(content, list):
            return [
                {**first, "content": [{"type": "text", "text": f"{self.cache_salt}\n"}, *content]},
                *others,
            ]
        return [{**first, "content": f"{self.cache_salt}\n{content or ''}"}, *others]

    def _is_conversation(self, example: Mapping[str, Any]) -> bool:
        return (
            self._build_messages is None
            and bool(example.get("multi_turn"))
            and bool(example.get("turns"))
        )

    def _check_conversational(self) -> None:
        if self._endpoint == "completions":
            raise ValueError(
                "A conversation (`turns`) needs the chat endpoint: a prompt has no turns."
            )

    def _fields(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the further fields of a request; the tools of a recorded session are among them."""
        asks_layout = self._build_messages is None and self._template is None
        tools = (
            session_tools(example) if asks_layout and sends_session(example, self.layout) else []
        )
        return {**({"tools": tools} if tools else {}), **self._parameters}

    def _messages(self, example: Mapping[str, Any]) -> list[Message]:
        if self._template is not None and not example.get("turns"):
            return [
                *opening_messages(self.system_prompt),
                {"role": "user", "content": self._template.prompt(example)},
            ]
        if self._build_messages is None:
            return build_messages(example, self.layout, self.system_prompt)
        built = self._build_messages(example)
        if not isinstance(built, (list, tuple)) or not all(
            isinstance(message, Mapping) for message in built
        ):
            raise TypeError(
                f"build_messages must return a list of messages, not {type(built).__name__}."
            )
        return [dict(message) for message in built]

    def _prompt(self, example: Mapping[str, Any]) -> str:
        if self._template is None:
            prompt = plain_prompt(example, self.system_prompt)
        else:
            prompt = self._template.prompt(example)
            prompt = f"{self.system_prompt}\n\n{prompt}" if self.system_prompt else prompt
        return f"{self.cache_salt}\n{prompt}" if self.cache_salt else prompt


def _check_way_of_asking(
    endpoint: str, layout: str, builds_messages: bool, has_template: bool
) -> None:
    if endpoint not in ENDPOINTS:
        raise ValueError(f"No endpoint is called {endpoint!r}. There is: {', '.join(ENDPOINTS)}.")
    if endpoint == "completions" and (builds_messages or layout != "system"):
        raise ValueError(
            "layout and build_messages make messages; endpoint='completions' takes a prompt_template."
        )
    if has_template and (builds_messages or layout != "system"):
        raise ValueError(
            "prompt_template stands in place of layout and build_messages: give one of them."
        )
