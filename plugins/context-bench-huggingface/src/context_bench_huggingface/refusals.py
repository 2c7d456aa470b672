"""What the hub or the library said, as one sentence about the dataset and one about what to do."""

from __future__ import annotations

import re

from context_bench.errors import DatasetError, did_you_mean
from context_bench_huggingface.wanted import Wanted

TRANSIENT = (408, 425, 429, 500, 502, 503, 504)
"""Status codes that another attempt can mend."""

_LOST = (
    "TransportError", "ConnectionError", "ConnectError", "ReadTimeout", "ClientError", "TimeoutError", "IncompleteRead",
    "ShortReadError",
)  # fmt: skip
_DAMAGED = ("ArrowInvalid",)  # a file that was cut on its way, or that is so on the hub


class NotTheHubError(Exception):
    """What answered a question to the hub was no JSON."""


def status_of(error: BaseException | None) -> int | None:
    """Return the HTTP status that an error or one of its causes carries."""
    for each in _chain(error):
        status = getattr(getattr(each, "response", None), "status_code", None) or getattr(
            each, "status", None
        )
        if isinstance(status, int) and 100 <= status < 600:
            return status
    return None


def is_transient(error: BaseException) -> bool:
    """Whether another attempt may succeed: the connection was lost, or the hub is busy."""
    if _named(
        error,
        "GatedRepoError",
        "RepositoryNotFoundError",
        "RevisionNotFoundError",
        "EntryNotFoundError",
    ):
        return False
    status = status_of(error)
    if status is not None:
        return status in TRANSIENT
    return _named(error, *_LOST, *_DAMAGED)


def refusal(wanted: Wanted, error: BaseException, attempts: int = 1) -> DatasetError:
    """Return the error that a person can act on."""
    where, page = wanted.where, f"https://huggingface.co/datasets/{wanted.source}"
    text = " ".join(str(error).split())
    status = status_of(error)
    if _named(error, "GatedRepoError") or "is a gated dataset" in text:
        return DatasetError(
            f"The dataset {where} is gated. Ask for access at {page}, then put a token of that account into the "
            "environment variable HF_TOKEN."
        )
    if (
        _named(error, "RevisionNotFoundError")
        or "RevisionNotFound" in text
        or "Invalid rev id" in text
    ):
        return DatasetError(
            f"The dataset {where} has no revision {wanted.revision!r}. {page}/commits lists them; revision=latest reads what "
            "it has now."
        )
    if _named(error, "RepositoryNotFoundError", "DatasetNotFoundError") or status == 401:
        return DatasetError(
            f"There is no dataset {wanted.source!r} on the hub for {wanted.name}, or it is private. Look at {page}, and set "
            "HF_TOKEN if it is yours."
        )
    if "Dataset scripts are no longer supported" in text:
        return DatasetError(
            f"The dataset {where} is read by a program of its own, which is not run. Its files as Parquet are often at the "
            f"revision refs/convert/parquet; or name files of {page}/tree/{wanted.revision} with files=PATH."
        )
    if _named(error, "NotTheHubError", "TooManyRedirects"):
        told = text[:200].rstrip(".")
        return DatasetError(
            f"What answers for {where} is not the hub ({told}): the login page of a network, or another address. Look at "
            "HF_ENDPOINT, and at the proxies that are set."
        )
    found = _choice(wanted, text)
    if found is not None:
        return found
    if _named(
        error,
        "EntryNotFoundError",
        "FileNotFoundError",
        "DataFilesNotFoundError",
        "EmptyDatasetError",
    ):
        return DatasetError(
            f"The files of {where} are not at revision {wanted.revision!r}: {text[:300]}"
        )
    if "data_files are invalid" in text:
        return DatasetError(
            f"The files of {where} are not at revision {wanted.revision!r}: none is called {wanted.path()}. Is "
            f"{wanted.split!r} one of its splits? {page} lists them."
        )
    tried = f" after {attempts} attempts" if attempts > 1 else ""
    if status == 429:
        return DatasetError(
            f"The hub allows no more requests for {where}{tried} (429). Wait, or set HF_TOKEN."
        )
    if status is None and not _named(error, *_LOST) and _named(error, *_DAMAGED):
        told = text[:400].rstrip(".")
        return DatasetError(
            f"The files of {where} cannot be read{tried}: {told}. Take another revision, or name other files of {page} with "
            "files=PATH."
        )
    if isinstance(error, StopIteration):  # what the library raises for them
        return DatasetError(f"The files of {where} hold no record at revision {wanted.revision!r}.")
    if status is not None or is_transient(error):
        what = f"answered {status}" if status else f"cannot be reached ({text[:200]})"
        return DatasetError(
            f"The hub {what} for {where}{tried}. Try again, or fetch the dataset where the network is better: "
            f"{fetch_line(wanted)}"
        )
    return DatasetError(f"The dataset {where} cannot be read: {type(error).__name__}: {text[:400]}")


def fetch_line(wanted: Wanted) -> str:
    """Return the command that downloads a dataset."""
    name = (
        wanted.name
        if wanted.config is None or ":" in wanted.name
        else f"{wanted.name}:{wanted.config}"
    )
    return f"`context-bench datasets fetch {name} --to FOLDER`"


def _choice(wanted: Wanted, text: str) -> DatasetError | None:
    for pattern, kind, name in (
        (
            r"BuilderConfig '?[^']*'? not found.*?Available: \[(.*?)\]",
            "configuration",
            wanted.config or "",
        ),
        (r"Config name is missing.*?among the available configs: \[(.*?)\]", "configuration", ""),
        (r"Bad split: .*?Available splits: \[(.*?)\]", "split", wanted.split),
        (r"Unknown split .*?one of \[(.*?)\]", "split", wanted.split),
    ):
        match = re.search(pattern, text)
        if match:
            known = [each.strip(" '\"") for each in match[1].split(",")]
            if not name:
                return DatasetError(
                    f"The dataset {wanted.name} has several configurations: {', '.join(known)}. Choose one."
                )
            close = did_you_mean(name, known)
            hint = f"{close} " if close.startswith("Did") else ""
            return DatasetError(
                f"The dataset {wanted.name} has no {kind} {name!r}. {hint}It has: {', '.join(known)}."
            )
    return None


def _named(error: BaseException | None, *names: str) -> bool:
    return any(kind.__name__ in names for each in _chain(error) for kind in type(each).__mro__)


def _chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found
