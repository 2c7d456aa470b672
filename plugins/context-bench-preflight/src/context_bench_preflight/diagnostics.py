"""Findings: what is wrong with a system that answers, seen in its replies. Preflight and the first rows of a run share them.

Each check is a function from replies to findings. It looks at what every system may tell - ``usage``, ``headers``,
``envelope``, the ``status`` and ``finding`` of an error - and never at which system it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import Factory, frozen

from context_bench.records import Usage

ERROR, WARNING, NOTE = "error", "warning", "note"


@frozen
class Finding:
    """Something that the user should know of a system before trusting its numbers.

    Attributes:
        name: What it is called, such as ``"inert"``.
        severity: ``"error"`` when the system cannot work, ``"warning"`` when its numbers may deceive, or ``"note"``.
        evidence: What was seen, with figures.
        advice: What to do; empty when there is nothing to be done.
        figures: The figures by name.
    """

    name: str
    severity: str
    evidence: str
    advice: str = ""
    figures: Mapping[str, Any] = Factory(dict)

    def __str__(self) -> str:
        return f"{self.name}: {self.evidence} {self.advice}".rstrip()


@frozen(eq=False)
class Reply:
    """What came of one request.

    Attributes:
        purpose: What the request was for.
        output: What the system returned; None when it failed.
        error: What it raised instead.
        seconds: How long it took.
        example: Which example it was asked about.
    """

    purpose: str
    output: Mapping[str, Any] | None
    error: BaseException | None = None
    seconds: float = 0.0
    example: str = ""

    @property
    def prompt_tokens(self) -> int | None:
        """Tokens of the prompt as the endpoint reports them; None when it reports none."""
        usage = None if self.output is None else Usage.read(self.output)
        return None if usage is None or usage.input_tokens is None else int(usage.input_tokens)

    @property
    def headers(self) -> Mapping[str, str]:
        """Response headers, names in lower case."""
        found = (self.output or {}).get("headers")
        return (
            {str(k).lower(): str(v) for k, v in found.items()} if isinstance(found, Mapping) else {}
        )

    @property
    def id(self) -> str | None:
        """The id that the server gave the reply."""
        found = self._envelope().get("id")
        return None if found in (None, "") else str(found)

    @property
    def created(self) -> float | None:
        """When the server says that it made the reply, in seconds since 1970."""
        found = self._envelope().get("created")
        return (
            float(found)
            if isinstance(found, int | float) and not isinstance(found, bool) and found > 0
            else None
        )

    @property
    def text(self) -> str | None:
        """The response; None when there is none."""
        found = (self.output or {}).get("response")
        return None if found is None else str(found)

    def _envelope(self) -> Mapping[str, Any]:
        found = (self.output or {}).get("envelope")
        return found if isinstance(found, Mapping) else {}


def usage_findings(replies: Sequence[Reply]) -> Iterator[Finding]:
    """Find an endpoint that does not say how many prompt tokens it was sent."""
    answered = [reply for reply in replies if reply.output is not None]
    silent = [reply for reply in answered if reply.prompt_tokens is None]
    if silent:
        yield Finding(
            "no-usage",
            WARNING,
            f"{len(silent)} of {len(answered)} replies report no prompt tokens.",
            "Compression and cost are then counted by us, in what was sent to the proxy and not in what reached the "
            "model. See whether the proxy can pass `usage` on (for streams: stream_options.include_usage).",
            {"replies": len(answered), "without_usage": len(silent)},
        )


def header_findings(replies: Sequence[Reply]) -> Iterator[Finding]:
    """Find headers by which a proxy admits that it passed requests through without doing its work."""
    admitted = [
        (reply, f"{name}: {value}") for reply in replies for name, value in reply.headers.items()
    ]
    admitted = [(reply, line) for reply, line in admitted if _admits_failure(*line.split(": ", 1))]
    if admitted:
        name, _, value = admitted[0][1].partition(": ")
        count = len({id(reply) for reply, _ in admitted})
        yield Finding(
            "fails-open",
            WARNING,
            f"{count} of {len(replies)} replies carry the header {admitted[0][1]!r}: the proxy did not do its work.",
            "Its log tells why. A row fails on the header when the system lists it in failure_headers "
            f"({name}={value}).",
            {"replies": len(replies), "declared": count, "header": name},
        )


_FAILURE_NAME = re.compile(
    r"(^|-)(failed|failure|fail-open|failed-open|fallback|bypass|bypassed|passthrough|error)$"
)
_NO = frozenset({"", "0", "false", "no", "none", "null", "off"})


def _admits_failure(name: str, value: str) -> bool:
    return bool(_FAILURE_NAME.search(name)) and value.strip().lower() not in _NO


def empty_findings(replies: Sequence[Reply]) -> Iterator[Finding]:
    """Find a system that answers with nothing."""
    answered = [reply for reply in replies if reply.output is not None]
    texts = [reply.text for reply in answered if reply.text is not None]
    if texts and len(texts) == len(answered) and not any(text.strip() for text in texts):
        reasons = sorted({str((reply.output or {}).get("finish_reason")) for reply in answered})
        yield Finding(
            "empty-answers",
            WARNING,
            f"all {len(texts)} answers are empty (finish reason: {', '.join(reasons)}).",
            "With finish reason 'length', raise max_tokens: a reasoning model may have spent it before it answered.",
            {"replies": len(texts)},
        )


def stored_findings(replies: Sequence[Reply], asked_at: float) -> Iterator[Finding]:
    """Find replies that come out of a response cache: by a header, by an id that comes twice, or by their date.

    Args:
        replies: Replies to requests that all differ, in the order in which they were asked.
        asked_at: When the first of them was asked, in seconds since 1970.
    """
    hits = [
        f"{name}: {value}"
        for reply in replies
        for name, value in reply.headers.items()
        if _is_hit(name, value)
    ]
    # Some servers make ids of the time in seconds: a reply is another's copy when everything in it is the same.
    whole = [
        (reply.id, reply.created, reply.text, reply.prompt_tokens)
        for reply in replies
        if reply.id is not None
    ]
    ids, repeated = {reply[0] for reply in whole}, len(whole) - len(set(whole))
    dates = [reply.created for reply in replies if reply.created is not None]
    old = [asked_at - date for date in dates if date < asked_at - _OLDEST]
    said = []
    if hits:
        said.append(f"{len(hits)} of {len(replies)} replies say {hits[0]!r}")
    if repeated and len(ids) > 1:  # a server that gives one id to all says nothing by it
        said.append(
            f"{repeated} of {len(whole)} replies to different requests are copies, with the id of another"
        )
    if old and len(set(dates)) > 1:  # nor does one date
        said.append(
            f"{len(old)} of {len(dates)} replies were made {max(old):.0f} s before they were asked for"
        )
    if said:
        yield own_cache(
            "; ".join(said) + ".", {"hits": len(hits), "repeated_ids": repeated, "old": len(old)}
        )


def own_cache(evidence: str, figures: Mapping[str, Any]) -> Finding:
    """Return the finding for a system that answers from a response cache of its own."""
    return Finding(
        "own-cache",
        WARNING,
        evidence,
        "Switch the proxy's response cache off for a benchmark: cached answers cost nothing, take no time, and are "
        "those of an earlier request.",
        figures,
    )


def is_cache_hit(reply: Reply) -> str | None:
    """Return the header by which a reply says that it was cached, or None."""
    return next(
        (f"{name}: {value}" for name, value in reply.headers.items() if _is_hit(name, value)), None
    )


_OLDEST = 120.0


def _is_hit(name: str, value: str) -> bool:
    value = value.strip().lower()
    if name == "age":
        return value.isdecimal() and int(value) > 0
    if "cache" not in name or "prompt" in name or "prefix" in name:
        return False
    return bool(re.match(r"(hit|true|yes)\b|[a-z]*[ -]hit\b", value))


def limit_findings(replies: Sequence[Reply]) -> Iterator[Finding]:
    """Find what a server says about the rate of requests and tokens that it allows."""
    told: dict[str, str] = {}
    for reply in replies:
        told |= {
            name: value
            for name, value in reply.headers.items()
            if "ratelimit" in name.replace("-", "")
        }
    numbers = {
        name: value
        for name, value in sorted(told.items())
        if re.fullmatch(r"\d+(\.\d+)?", value.strip())
    }
    if numbers:
        spent = any("remaining" in name and float(value) <= 0 for name, value in numbers.items())
        yield Finding(
            "rate-limit",
            WARNING if spent else NOTE,
            ", ".join(f"{name}: {value}" for name, value in list(numbers.items())[:4]) + ".",
            "Nothing is left of it: wait, or raise the limit."
            if spent
            else "--rpm and --tpm keep a run below it.",
            numbers,
        )


def token_finding(pairs: Sequence[tuple[int, int]], baseline: str) -> Finding | None:
    """Find prompts that a system did not make shorter than the baseline's.

    Args:
        pairs: Prompt tokens that the system and the baseline reported for the same examples.
        baseline: Label of the baseline.
    """
    if not pairs or any(ours < direct - _slack(direct) for ours, direct in pairs):
        return None
    own, theirs = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    figures = {"prompt_tokens": own, "baseline_prompt_tokens": theirs, "examples": len(pairs)}
    if any(ours > direct + _slack(direct) for ours, direct in pairs):
        return Finding(
            "adds-tokens",
            WARNING,
            f"{own:,} prompt tokens for {_examples(len(pairs))}, {theirs:,} at {baseline}: no prompt became shorter.",
            "A system that retrieves or remembers may mean to; a compressor does not.",
            figures,
        )
    return Finding(
        "inert",
        WARNING,
        f"{own:,} prompt tokens for {_examples(len(pairs))}, {theirs:,} at {baseline}: nothing was compressed.",
        "`context-bench preflight` with the same arguments tries the other layouts.",
        figures,
    )


def _examples(count: int) -> str:
    return "1 example" if count == 1 else f"{count} examples"


def _slack(tokens: int) -> float:
    """Tokens by which two reports of one prompt may differ: templates, a rewritten role."""
    return max(2.0, 0.01 * tokens)
