"""The system ``forwarded``: asks a proxy about a row, and puts out what the proxy forwarded to its upstream."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Any

from context_bench.catalog import open_catalog
from context_bench.config import SystemConfig, load_config
from context_bench.console import warn
from context_bench.errors import ConfigurationError
from context_bench.messages import region_text
from context_bench.prompts import prompt_texts
from context_bench_http.request_headers import adding_headers
from context_bench_upstream.attribution import Attribution, Owner, RowContent
from context_bench_upstream.bodies import messages_of
from context_bench_upstream.recording import ROW_HEADER, Forwarded, RecordingUpstream
from context_bench_upstream.redeeming import is_continuation, markers_in, redeemer_of
from context_bench_upstream.replies import Call


def _asked(of: str, options: Mapping[str, Any]) -> SystemConfig:
    """Return the system that asks, with options as they are: as a text, a comma in one would begin the next."""
    catalog = open_catalog()
    plain = SystemConfig.all_of(catalog, load_config(systems=[of], project={}))[0]
    others = ",".join(
        f"{name}={value}" for name, value in options.items() if plain.option(name) is None
    )
    config = load_config(systems=[f"{of}:{others}"], project={}) if others else None
    asked = SystemConfig.all_of(catalog, config)[0] if config is not None else plain
    return asked.with_options(options)


class ForwardedContext:
    """A proxy, measured on what it sends on, with no model and no key.

    It starts a recording upstream, asks the proxy about one row at a time, and attributes what arrives to a row by what it
    holds: a request that comes late, or is of no row that can be told, is counted and measured for none. The output is the
    asked system's own, with ``messages`` as forwarded, ``context``, their part that a compressor may take away, and
    ``forwarded``: how many requests there were, how many ``late`` and ``unknown`` ones, and the last body.

    Where a proxy leaves markers in place of what it laid aside, an agent would fetch it; so does this, in one of two ways,
    and puts out ``redeemed``, what came back by the reference of each marker: ``redeem`` asks an address, ``redeem_tool`` has
    the upstream call the tool that the proxy added to the request, which the proxy then answers.

    Args:
        of: The system that asks the proxy: ``openai`` or ``anthropic``.
        port: Port of the upstream; the proxy must have been started with ``http://127.0.0.1:PORT`` as its upstream.
        reply: What the upstream answers.
        forward_to: Address of a reader that answers in its place.
        redeem: Address that hands out what a marker stands for, ``{reference}`` where its reference goes; a path is one of
            the proxy's own.
        redeem_tool: Name of the proxy's tool that does.
        redeem_field: Field of the returned JSON with the text; unset, all of its texts count.
        marker: Regular expression whose first group is the reference of a marker, for markers of a shape that ``survival``
            does not know.
        options: Options of the system that asks, such as ``base_url``, ``model`` and ``layout``.

    Raises:
        ConfigurationError: The port is taken, the system cannot be set up, or an option of redeeming makes no sense.
    """

    puts_out_context = True

    def __init__(
        self,
        of: str = "openai",
        port: int = 0,
        reply: str = "ok",
        forward_to: str | None = None,
        redeem: str | None = None,
        redeem_tool: str | None = None,
        redeem_field: str | None = None,
        marker: str | None = None,
        **options: Any,
    ) -> None:
        if redeem_tool and forward_to:
            raise ConfigurationError(
                "redeem_tool has the upstream call a tool, and forward_to has a reader answer: give one."
            )
        if redeem and redeem.startswith("/"):
            redeem = str(options.get("base_url") or "").rstrip("/").removesuffix("/v1") + redeem
        self._redeemer = redeemer_of(redeem, redeem_tool, redeem_field)
        self._is_redeeming = bool(redeem or redeem_tool or marker)
        self._marker = _pattern(marker)
        self._has_warned = False
        if forward_to and not re.match(r"https?://[^/]", forward_to):
            raise ConfigurationError(
                f"forward_to is {forward_to!r}, but must be an address such as http://127.0.0.1:8000."
            )
        self.asked = _asked(of, options).build()
        try:
            self.upstream = RecordingUpstream(port, reply, forward_to)
        except (OSError, OverflowError) as error:
            raise ConfigurationError(
                f"The recording upstream cannot listen on 127.0.0.1:{port}: {error}. Choose another port."
            ) from error
        self.name = f"forwarded({self.asked.name})"
        self.reads = getattr(self.asked, "reads", None)
        self._attribution = Attribution()
        self._rows = 0
        self._warned_of: set[str] = set()
        self._one_at_a_time = threading.Lock()

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the output for a row, with what the proxy forwarded, and what its markers bring back.

        Raises:
            ConfigurationError: The proxy answered, but sent nothing of this row to the upstream; or it asks a model itself,
                and has none.
            RetrievalError: Nobody can say whether a marker brings something back.
        """
        with self._one_at_a_time:
            late = len(self.upstream.take())
            self._rows += 1
            row = RowContent.of(f"{self._rows}-{token_hex(8)}", example)
            self._attribution.begin(row)
            self.upstream.calls_for = lambda one: self._calls(example, one)
            with adding_headers({ROW_HEADER: row.number}):
                output = dict(self.asked.process(example))
            by_owner: dict[Owner, list[Forwarded]] = {owner: [] for owner in Owner}
            for one in self.upstream.take():
                by_owner[self._attribution.owner(one)].append(one)
            arrived = by_owner[Owner.CURRENT]
            asked = [one for one in arrived if not is_continuation(one)]
            redeemed = self._redeemed(example, asked, arrived)
        late += len(by_owner[Owner.EARLIER])
        unknown = len(by_owner[Owner.UNKNOWN])
        self._warn_of_others(late, unknown)
        if not asked and (late or unknown):
            raise ConfigurationError(
                f"The proxy forwarded {late + unknown} requests meanwhile, and none that is certainly of this row: "
                f"{late} of rows before it, {unknown} of no row that can be told."
            )
        if not asked:
            raise ConfigurationError(
                "The proxy answered, but forwarded nothing to the recording upstream. "
                f"Start it with {self.upstream.url} as its upstream."
            )
        own = proxy_requests(asked)
        if own and self.upstream.forward_to is None:
            raise ConfigurationError(
                f"The proxy asks a model itself: {len(own)} of its requests are not the row's. The recording upstream "
                f"answered them with {self.upstream.reply!r}, which is not what a model says. Give the proxy a model: "
                "forward_to=ADDRESS."
            )
        self._warn_of_markers(example, asked[-1])
        told = forwarded_context(example, asked)
        told["forwarded"].update(
            requests=len(arrived), late=late, unknown=unknown, proxy_requests=len(own)
        )
        return {**output, **told, **redeemed}

    def _warn_of_others(self, late: int, unknown: int) -> None:
        """Tell once of requests that arrived after their row, and once of those of no row."""
        for count, what in (
            (late, "after its row had ended"),
            (unknown, "that is of no row that can be told"),
        ):
            if count and what not in self._warned_of:
                self._warned_of.add(what)
                warn(
                    f"{self.name}: the proxy forwarded a request {what}. It counts for no row; each row's output has the "
                    "number of such requests in forwarded.late and forwarded.unknown."
                )

    def _calls(self, example: Mapping[str, Any], one: Forwarded) -> Sequence[Call]:
        if not self._is_redeeming or is_continuation(one):
            return ()
        if self._attribution.owner(one) is not Owner.CURRENT:
            return ()
        return self._redeemer.calls(one.body, markers_in(example, one, self._marker))

    def _redeemed(
        self, example: Mapping[str, Any], asked: Sequence[Forwarded], arrived: Sequence[Forwarded]
    ) -> dict[str, Any]:
        if not (self._is_redeeming and asked):
            return {}
        references = markers_in(example, asked[-1], self._marker)
        return {"redeemed": self._redeemer.redeemed(references, arrived)} if references else {}

    def _warn_of_markers(self, example: Mapping[str, Any], one: Forwarded) -> None:
        if self._is_redeeming or self._has_warned or not (found := markers_in(example, one, None)):
            return
        self._has_warned = True
        warn(
            f"{self.name}: the proxy leaves markers such as {found[0]!r} in place of what it laid aside, and nobody redeems "
            "them: they count as lost, and as faults. Name where they are redeemed: redeem=ADDRESS or redeem_tool=NAME."
        )

    def close(self) -> None:
        """Stop the upstream, and close the system that asks."""
        self.upstream.close()
        close = getattr(self.asked, "close", None)
        if callable(close):
            close()


def proxy_requests(asked: Sequence[Forwarded]) -> list[Forwarded]:
    """Return the requests that a proxy made for itself on the way, such as for a summary.

    The last request of a row is what the proxy forwarded. An earlier one that equals it was repeated; another one is the
    proxy's own.

    Args:
        asked: The requests of a row in their order, without those that continue a call of a tool.
    """
    return [request for request in asked[:-1] if request.body != asked[-1].body]


def forwarded_context(example: Mapping[str, Any], arrived: Sequence[Forwarded]) -> dict[str, Any]:
    """Return the messages of the last forwarded body, the part of them that a compressor may take away, and the facts.

    Args:
        example: The row that was asked about.
        arrived: What arrived for it, in order.
    """
    last = arrived[-1]
    messages = messages_of(last.dialect, last.body)
    facts = {
        "requests": len(arrived),
        "dialect": last.dialect,
        "bytes": len(json.dumps(last.body)),
        "body": dict(last.body),
    }
    if example.get("messages"):
        before = len(example["messages"])
        start, end = example.get("region") or (0, before)
        region = [start, max(start, len(messages) - (before - end))]
        return {
            "messages": messages,
            "region": region,
            "context": region_text(messages, region),
            "forwarded": facts,
        }
    question = prompt_texts(example).question.strip()
    texts = [str(message["content"]) for message in messages if str(message["content"]).strip()]
    text = "\n\n".join(texts)
    if question and text.rstrip().endswith(question):
        text = text.rstrip().removesuffix(question).rstrip()
    return {"context": text, "forwarded": facts}


def _pattern(marker: str | None) -> re.Pattern[str] | None:
    try:
        found = re.compile(marker) if marker else None
    except re.error as error:
        raise ConfigurationError(
            f"marker is {marker!r}, which is no regular expression: {error}."
        ) from error
    if found is not None and not found.groups:
        raise ConfigurationError(
            f"marker is {marker!r}. Put a marker's reference into a group: marker={marker}(\\w+)."
        )
    return found
