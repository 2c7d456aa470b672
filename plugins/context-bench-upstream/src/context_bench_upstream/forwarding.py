"""The system ``forwarded``: asks a proxy about a row, and puts out what the proxy forwarded to its upstream."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from context_bench.catalog import open_catalog
from context_bench.errors import ConfigurationError
from context_bench.messages import region_text
from context_bench.requests import AskedSystem, read_request
from context_bench_upstream.bodies import messages_of
from context_bench_upstream.recording import Forwarded, RecordingUpstream


class ForwardedContext:
    """A proxy, measured on what it sends on, with no model and no key.

    It starts a recording upstream, asks the proxy about one row at a time, and pairs what arrived meanwhile with that row. The
    output is the asked system's own, with ``messages`` as forwarded, ``context``, their part that a compressor may
    take away, and ``forwarded``: how many requests there were, and the last body.

    Args:
        of: The system that asks the proxy: ``openai`` or ``anthropic``.
        port: Port of the upstream; the proxy must have been started with ``http://127.0.0.1:PORT`` as its upstream.
        reply: What the upstream answers.
        forward_to: Address of a reader that answers in its place.
        options: Options of the system that asks, such as ``base_url``, ``model`` and ``layout``.

    Raises:
        ConfigurationError: The port is taken, or the system cannot be set up.
    """

    puts_out_context = True

    def __init__(
        self, of: str = "openai", port: int = 0, reply: str = "ok", forward_to: str | None = None, **options: Any
    ) -> None:
        written = ",".join(f"{name}={value}" for name, value in options.items())
        request = read_request(systems=[f"{of}:{written}" if written else of], project={})
        self.asked = AskedSystem.all_of(open_catalog(), request)[0].build()
        try:
            self.upstream = RecordingUpstream(port, reply, forward_to)
        except OSError as error:
            raise ConfigurationError(
                f"The recording upstream cannot listen on 127.0.0.1:{port}: {error}. Choose another port."
            ) from error
        self.name = f"forwarded({self.asked.name})"
        self.reads = getattr(self.asked, "reads", None)
        self._one_at_a_time = threading.Lock()

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the output for a row, with what the proxy forwarded.

        Raises:
            ConfigurationError: The proxy answered, but sent nothing to the upstream.
        """
        with self._one_at_a_time:
            self.upstream.take()
            output = dict(self.asked.process(example))
            arrived = self.upstream.take()
        if not arrived:
            raise ConfigurationError(
                "The proxy answered, but forwarded nothing to the recording upstream. "
                f"Start it with {self.upstream.url} as its upstream."
            )
        return {**output, **forwarded_context(example, arrived)}

    def close(self) -> None:
        """Stop the upstream, and close the system that asks."""
        self.upstream.close()
        close = getattr(self.asked, "close", None)
        if callable(close):
            close()


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
        return {"messages": messages, "region": region, "context": region_text(messages, region), "forwarded": facts}
    question = str(example.get("question") or "").strip()
    texts = [str(message["content"]) for message in messages if str(message["content"]).strip()]
    text = "\n\n".join(texts)
    if question and text.rstrip().endswith(question):
        text = text.rstrip().removesuffix(question).rstrip()
    return {"context": text, "forwarded": facts}
