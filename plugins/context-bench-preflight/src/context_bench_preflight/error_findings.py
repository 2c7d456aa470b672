"""What an error says of a system: the finding that an exception stands for, whichever library raised it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from attrs import evolve

from context_bench_preflight.diagnostics import ERROR, NOTE, WARNING, Finding, Reply

_ADVICE: Mapping[str, str] = {
    "unreachable": "Is the server running, and are host and port right?",
    "timeout": "Is it still loading a model? A longer timeout is an option of the system.",
    "credentials": "Is the key set in the environment, and is it the one for this server?",
    "wrong-url": "Give the address that the server's own documentation gives, with or without /v1.",
    "unknown-model": "Name a model that the server has.",
    "rate-limited": "Wait, raise the limit, or keep the run below it with --rpm.",
    "refused": "The server's words say what it did not like about the request.",
    "server-failed": "The server's own log tells more.",
    "context-too-long": "Take shorter examples, or a model with a larger window.",
    "fails-open": "The proxy passes requests through untouched. Its log tells why; until then it measures nothing.",
    "unusable-reply": "Is this an OpenAI-compatible chat endpoint?",
    "raises": "The system itself raised this.",
}
_BY_STATUS = {
    401: "credentials",
    403: "credentials",
    404: "wrong-url",
    405: "wrong-url",
    429: "rate-limited",
}
_NO_MODEL = re.compile(
    r"model\b[^?]{0,80}(not (found|exist|available|supported|loaded)|unknown)|(no|unknown) model",
    re.I,
)
GOES_ON = frozenset(
    {"rate-limited", "server-failed", "context-too-long", "fails-open", "refused", "raises"}
)
"""Findings after which another example may fare better."""


def error_name(error: BaseException) -> str:
    """Return the name of the finding that an error stands for.

    That is the error's own ``finding``, else what its HTTP ``status`` means, else what kind of error it is.
    """
    named = getattr(error, "finding", None)
    if isinstance(named, str) and named in _ADVICE:
        return named
    status = getattr(error, "status", None) or getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 400:
        if status == 404 and re.search(_NO_MODEL, str(error)):
            return "unknown-model"
        return _BY_STATUS.get(status, "refused" if status < 500 else "server-failed")
    if isinstance(error, TimeoutError):
        return "timeout"
    return "unreachable" if isinstance(error, ConnectionError) else "raises"


def error_findings(replies: Sequence[Reply]) -> list[Finding]:
    """Return a finding for each kind of error; an error when nothing else came, a warning when some requests worked."""
    groups: dict[str, list[BaseException]] = {}
    for reply in replies:
        if reply.error is not None:
            groups.setdefault(error_name(reply.error), []).append(reply.error)
    works = any(reply.output is not None for reply in replies)
    found = []
    for name, errors in groups.items():
        words = f"{type(errors[0]).__name__}: {errors[0]}" if name == "raises" else str(errors[0])
        counts = f"{len(errors)} of {len(replies)} requests: " if len(replies) > 1 else ""
        figures = {
            "requests": len(replies),
            "failed": len(errors),
            "status": getattr(errors[0], "status", None),
        }
        found.append(
            Finding(name, WARNING if works else ERROR, counts + words, _ADVICE[name], figures)
        )
    return found


def with_models(finding: Finding, model: str | None, offered: Sequence[str]) -> Finding:
    """Return the finding for a refused request, as one of a model that the server does not have, where that is so."""
    if (
        finding.name not in ("wrong-url", "unknown-model", "refused")
        or not offered
        or model in offered
    ):
        return finding
    return evolve(
        finding,
        name="unknown-model",
        evidence=f"{finding.evidence} The server offers {_listed(offered)}.",
        advice=f"Name one of them instead of {model!r}.",
    )


def model_finding(
    model: str | None, offered: Sequence[str], answered_by: str | None
) -> Finding | None:
    """Return a finding when the server answers, but does not list the model that it is asked for.

    Some servers take any name for the one model that they have, and give it back; that is no more than a note.
    """
    if model is None or not offered or model in offered:
        return None
    is_another = answered_by is not None and answered_by != model
    by = f" It was {answered_by!r} that answered." if is_another else ""
    return Finding(
        "unknown-model",
        WARNING if is_another else NOTE,
        f"the server answers, but does not list the model {model!r}. It offers {_listed(offered)}.{by}",
        "Name one of them, or it may be another model than the one that you compare.",
        {"models": len(offered)},
    )


def _listed(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
