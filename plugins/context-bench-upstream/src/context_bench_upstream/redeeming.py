"""Redeeming markers: what a proxy laid aside is fetched as an agent does, from an address or by the proxy's own tool."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import quote

from attrs import Factory, field, frozen

from context_bench.errors import ConfigurationError, ContextBenchError
from context_bench.messages import whole_text
from context_bench_http import Endpoint, EndpointError, EndpointURLError, HttpClient, Network
from context_bench_survival import new_references
from context_bench_upstream.bodies import messages_of
from context_bench_upstream.recording import Forwarded
from context_bench_upstream.replies import Call

PLACE = "{reference}"
"""Stands in an address where the reference of a marker goes."""

_NOTHING = frozenset({400, 404, 409, 410, 413, 414, 422})
"""Statuses with which a store says that it has nothing under a reference, or cannot read it."""

CALL = "call_redeem_"


class RetrievalError(ContextBenchError):
    """Nobody can say whether a marker brings something back: the address does not answer, or not to us."""


class Redeemer(Protocol):
    """One way to fetch what markers stand for."""

    def calls(self, body: Mapping[str, Any], references: Sequence[str]) -> Sequence[Call]:
        """Return the calls with which the model answers a request that holds markers; none for a plain reply."""

    def redeemed(
        self, references: Sequence[str], arrived: Sequence[Forwarded]
    ) -> dict[str, str | None]:
        """Return what each reference brings back; None where that is nothing."""


@frozen
class Nothing:
    """No way: markers are declared, and bring nothing back."""

    def calls(self, body: Mapping[str, Any], references: Sequence[str]) -> Sequence[Call]:
        """Return no calls."""
        return ()

    def redeemed(
        self, references: Sequence[str], arrived: Sequence[Forwarded]
    ) -> dict[str, str | None]:
        """Return that nothing came back."""
        return dict.fromkeys(references)


@frozen
class ByAddress:
    """Asks an address for each reference.

    Attributes:
        address: It holds :data:`PLACE`.
        within: Field of the JSON answer that holds the text; None for all of its texts.
        timeout: Seconds that an answer may take.
    """

    address: str = field()
    within: str | None = None
    timeout: float = 60.0
    _http: HttpClient = field(
        init=False,
        eq=False,
        repr=False,
        default=Factory(lambda self: _client_of(self.address, self.timeout), takes_self=True),
    )

    @address.validator
    def _has_place(self, _: object, address: str) -> None:
        if PLACE not in address or not address.startswith(("http://", "https://")):
            raise ConfigurationError(
                f"redeem is {address!r}. Give the address at which the proxy hands out what it laid aside, with {PLACE} where "
                f"a marker's reference goes: http://127.0.0.1:8787/v1/retrieve/{PLACE}."
            )

    def calls(self, body: Mapping[str, Any], references: Sequence[str]) -> Sequence[Call]:
        """Return no calls: the model is not needed."""
        return ()

    def redeemed(
        self, references: Sequence[str], arrived: Sequence[Forwarded]
    ) -> dict[str, str | None]:
        """Return what the address gives for each reference.

        Raises:
            RetrievalError: It gives no answer, or refuses to answer us.
        """
        return {reference: self._fetched(reference) for reference in references}

    def _fetched(self, reference: str) -> str | None:
        address = self.address.replace(PLACE, quote(reference, safe=""))
        try:
            response = self._http.fetch_url(address)
        except EndpointError as error:
            raise RetrievalError(
                f"{address} gave no answer to the question what a marker stands for: {error}"
            ) from error
        if 200 <= response.status < 300:
            return text_in(response.body.decode("utf-8", "replace"), self.within)
        if response.status in _NOTHING:
            return None
        raise RetrievalError(
            f"{address} answered {response.status} to the question what a marker stands for."
        )


def _client_of(address: str, timeout: float) -> HttpClient:
    try:
        is_local = Endpoint.of_url(address.replace(PLACE, "0")).is_local
    except (
        EndpointURLError
    ):  # the validator of the address refuses it in its own words, or the first call does
        is_local = False
    return HttpClient(Network(is_local=is_local), timeout)


@frozen
class ByTool:
    """Has the model call the tool that the proxy offers; the proxy answers, and sends its result upstream.

    Attributes:
        tool: Name of the tool.
        within: Field of the JSON result that holds the text; None for all of its texts.
    """

    tool: str
    within: str | None = None

    def calls(self, body: Mapping[str, Any], references: Sequence[str]) -> Sequence[Call]:
        """Return a call for each reference; none when the request does not offer the tool."""
        argument = _argument_of(self.tool, body.get("tools"))
        if argument is None:
            return ()
        return [
            Call(f"{CALL}{number}", self.tool, {argument: one})
            for number, one in enumerate(references)
        ]

    def redeemed(
        self, references: Sequence[str], arrived: Sequence[Forwarded]
    ) -> dict[str, str | None]:
        """Return the results that the proxy sent upstream."""
        results = {
            message["tool_call_id"]: str(message["content"])
            for one in arrived
            for message in messages_of(one.dialect, one.body)
            if message["role"] == "tool"
        }
        found = {
            reference: results.get(f"{CALL}{number}") for number, reference in enumerate(references)
        }
        return {
            reference: None if text is None else text_in(text, self.within)
            for reference, text in found.items()
        }


def redeemer_of(address: str | None, tool: str | None, within: str | None) -> Redeemer:
    """Return the way to redeem markers that options ask for.

    Raises:
        ConfigurationError: They ask for two ways, or for none with a field.
    """
    if address and tool:
        raise ConfigurationError(
            "redeem and redeem_tool are two ways to fetch the same. Give one of them."
        )
    if within and not (address or tool):
        raise ConfigurationError(
            "redeem_field says where the text stands in what redeem or redeem_tool brings: give one."
        )
    if tool:
        return ByTool(tool, within)
    return ByAddress(address, within) if address else Nothing()


def is_continuation(one: Forwarded) -> bool:
    """Whether a request holds a call of ours: it goes on after a retrieval, and is not what the agent's request became."""
    return any(
        call["id"].startswith(CALL)
        for message in messages_of(one.dialect, one.body)
        for call in message.get("tool_calls") or ()
    )


def markers_in(
    example: Mapping[str, Any], one: Forwarded, pattern: re.Pattern[str] | None
) -> list[str]:
    """Return the references of the markers that a proxy put into a request.

    Args:
        example: The row that was asked about; what it holds itself is no marker of the proxy.
        one: The request.
        pattern: Its first group is the reference of a marker; None for markers of the shapes that ``survival`` knows.
    """
    texts = [whole_text(message) for message in messages_of(one.dialect, one.body)]
    given = [str(example.get(name) or "") for name in ("context", "question")]
    original = "\n".join([*given, *map(whole_text, example.get("messages") or ())])
    if pattern is None:
        return new_references(texts, original)
    found = dict.fromkeys(match[1] for text in texts for match in pattern.finditer(text))
    return [reference for reference in found if reference and reference not in original]


def text_in(text: str, within: str | None = None) -> str | None:
    """Return what an answer brings: a field of it, or all of its texts; None when that is nothing, or an error.

    >>> text_in('{"hash": "5f3a", "original_content": "port 8443"}', "original_content")
    'port 8443'
    >>> text_in('{"error": "expired", "hash": "5f3a"}') is None
    True
    >>> text_in("port 8443")
    'port 8443'
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        return None if within or not text.strip() else text
    if within:
        value = document.get(within)
        told = (
            value
            if isinstance(value, str)
            else ""
            if value is None
            else json.dumps(value, ensure_ascii=False)
        )
        return told if told.strip() else None
    told = "" if document.get("error") else "\n".join(_texts(document))
    return told if told.strip() else None


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(one)


def _argument_of(tool: str, tools: Any) -> str | None:
    """Return the argument of a tool that takes a reference: the one that it requires, or its first; None without the tool."""
    for one in tools if isinstance(tools, list) else ():
        declared = one.get("function") or one
        if declared.get("name") != tool:
            continue
        schema = declared.get("parameters") or declared.get("input_schema") or {}
        names = [*(schema.get("required") or ()), *(schema.get("properties") or ())]
        return str(names[0]) if names else "reference"
    return None
