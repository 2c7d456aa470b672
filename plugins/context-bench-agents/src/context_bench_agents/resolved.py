"""SWE-bench's resolved rate, from the benchmark's own harness, and what a patch tells without it.

Jimenez et al. 2024, "SWE-bench: Can Language Models Resolve Real-World GitHub Issues?". An issue is resolved when the tests of
its pull request pass with the patch; that needs the benchmark's containers, and nobody can tell it from the text of a patch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from context_bench.answers import answer_of
from context_bench.errors import ConfigurationError
from context_bench.records import Scores
from context_bench_agents.patches import changes_of, files_of, patch_of

_ATTEMPTED = (
    "submitted",
    "completed",
    "unresolved",
    "empty_patch",
    "error",
    "generated",
    "no_generation",
    "with_logs",
)


class SWEBenchResolved:
    """Whether the harness found an issue resolved, where that is known; and how many of the files to change a patch changes.

    ``resolved`` is the harness's verdict when ``report`` holds one. Where the ``patch.diff`` that the harness ran lies beside the
    report of an instance, the verdict counts only for this patch: reports of several systems may lie in one folder. Without a
    verdict, two things stand without a run: a response without a patch resolves nothing, and the reference patch resolves its
    issue. Every other row is unscored, and never guessed.
    ``patch_files`` is the share of the reference's files that the patch changes: it found the place, which is less than the mend.

    Score keys: ``resolved``, ``patch_files``.

    Args:
        report: File or folder of the harness: its summary (``resolved_ids``, in older versions ``resolved``), or the
            ``report.json`` of instances, in a folder of any depth. A summary tells no patches: it is for runs with one system.

    Raises:
        ConfigurationError: The report cannot be read, or holds no verdicts.
    """

    name = "swebench-resolved"

    def __init__(self, report: str | Path | None = None) -> None:
        self._verdicts = {} if report is None else verdicts(Path(report))

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Score one response.

        Args:
            original: The example: ``id`` is the instance, ``answer`` the reference patch.
            processed: The output: ``response``, a patch, with or without prose around it.

        Returns:
            ``resolved`` (0.0 or 1.0) where it is known, and ``patch_files`` (0.0 to 1.0) where there is a reference.
        """
        response, reference = answer_of(processed), original.get("answer")
        if response is None:
            return {}
        patch = patch_of(response)
        scores: dict[str, float] = {}
        wanted = files_of(reference) if isinstance(reference, str) else set()
        if wanted:
            scores["patch_files"] = len(wanted & files_of(patch or "")) / len(wanted)
        told = self._verdicts.get(str(original.get("id")), [])
        found = _of_patch(told, patch or "")
        if len(found) == 1:
            return Scores({**scores, "resolved": float(*found)}, {"verdict": "of the harness"})
        if found:
            return Scores(
                scores,
                {"unscored": "the harness's reports contradict each other; give one of them"},
            )
        if patch is None and told:
            return Scores(
                scores, {"unscored": "the harness ran a patch, and there is none in this response"}
            )
        if patch is None:
            return Scores({**scores, "resolved": 0.0}, {"verdict": "there is no patch"})
        if isinstance(reference, str) and changes_of(patch) == changes_of(reference):
            return Scores({**scores, "resolved": 1.0}, {"verdict": "it is the reference patch"})
        return Scores(scores, {"unscored": "the harness has not run this patch; give its report"})

    def fingerprint(self) -> dict[str, Any]:
        """Every parameter that can change a score: the verdicts."""
        told = json.dumps(
            sorted((name, list(map(repr, each))) for name, each in self._verdicts.items())
        ).encode()
        return {"verdicts": sha256(told).hexdigest() if self._verdicts else None}


class Verdict(NamedTuple):
    """Whether an instance was resolved, and the lines of the patch that was run; None where the report does not tell it."""

    resolved: bool
    changes: list[str] | None


def verdicts(path: Path) -> dict[str, list[Verdict]]:
    """Return the verdicts on each instance of a report: one for each report of it that a folder holds.

    Where the harness began with a patch (``patch.diff`` and ``run_instance.log``) and left no report, it could not apply the
    patch or its tests took too long: an error, which its own summary counts as not resolved.

    Raises:
        ConfigurationError: There is no such report, or it holds no verdicts.
    """
    files = (
        sorted({*path.rglob("report.json"), *path.rglob("patch.diff")}) if path.is_dir() else [path]
    )
    found: dict[str, list[Verdict]] = {}
    for file in files:
        ran = file.with_name("patch.diff")
        if file == ran and not _is_error(file.parent):
            continue
        try:
            body = (
                {file.parent.name: {"resolved": False}}
                if file == ran
                else json.loads(file.read_text("utf-8"))
            )
            patch = (
                ran.read_text("utf-8", "replace")
                if _is_of_instance(body) and ran.is_file()
                else None
            )
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigurationError(
                f"The SWE-bench report {file} cannot be read: {error}"
            ) from error
        changes = None if patch is None else changes_of(patch_of(patch) or patch)
        for instance, told in _told(body):
            found.setdefault(instance, []).append(Verdict(told, changes))
    if not found:
        raise ConfigurationError(
            f"{path} holds no verdicts of SWE-bench's harness: give its summary with resolved_ids, or a folder with the "
            "report.json of instances."
        )
    return found


def _of_patch(told: list[Verdict], patch: str) -> set[bool]:
    """Return the verdicts on a patch; where none names it, those that name no patch."""
    changes = changes_of(patch)
    return {one.resolved for one in told if one.changes == changes} or {
        one.resolved for one in told if one.changes is None
    }


def _is_error(folder: Path) -> bool:
    return (folder / "run_instance.log").is_file() and not (folder / "report.json").exists()


def _is_of_instance(body: Any) -> bool:
    return (
        isinstance(body, Mapping)
        and len(body) == 1
        and all(isinstance(told, Mapping) for told in body.values())
    )


def _told(body: Any) -> Iterator[tuple[str, bool]]:
    if not isinstance(body, Mapping):
        return
    resolved = body.get("resolved_ids", body.get("resolved"))
    if isinstance(resolved, list):
        known = {
            str(one)
            for name in _ATTEMPTED
            for one in _listed(body.get(f"{name}_ids", body.get(name)))
        }
        yield from (
            (one, one in set(map(str, resolved))) for one in sorted(known | set(map(str, resolved)))
        )
        return
    for instance, told in body.items():
        if isinstance(told, Mapping) and isinstance(told.get("resolved"), bool):
            yield str(instance), told["resolved"]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
