"""The evaluator ``agent-task``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench.errors import ConfigurationError
from context_bench_agents_live.check_commands import command_share
from context_bench_agents_live.prices import Prices
from context_bench_tasks import Check


class AgentTask:
    """Success of a task by its check, and what the agent did for it.

    Score keys: ``task_success`` (0 or 1), ``task_share`` (share of the outputs that are correct), ``agent_turns``,
    ``agent_calls``, ``agent_re_reads`` (as `RequestLog` counts them), ``agent_tokens_sent``, ``agent_cached_share`` (share of
    the tokens that equal the row's previous request up to the first change; missing without a request), ``agent_bill``, and ``agent_kept_share`` (share of
    the tokens in results of tools that arrived) where it is known. With a matched control: ``random_success``,
    ``random_turns``, ``random_bill``, and ``advantage``, the success minus that of the control.

    The bill is in the unit of the prices.

    Args:
        price_input: Price of a million tokens that are not read from the cache.
        price_cached: Price of a million tokens read from the cache.
        price_output: Price of a million tokens that the model writes.
        price_cache_write: Price of a million tokens that are written into the cache: those of a turn that are not read from
            it. None takes `price_input`.
        run_checks: Whether check commands of tasks are run; they are not confined.

    A check command of a task runs what the agent wrote, in a copy of the workspace, which is removed afterwards.

    Raises:
        ConfigurationError: A price is negative or not a number.
    """

    name = "agent_task"

    def __init__(
        self,
        price_input: float = 3.0,
        price_cached: float = 0.3,
        price_output: float = 15.0,
        price_cache_write: float | None = None,
        run_checks: bool = False,
    ) -> None:
        self._prices = Prices.of_options(price_input, price_cached, price_output, price_cache_write)
        self._runs_checks = run_checks

    def isolation(self) -> str:
        """Return what keeps code that a model wrote apart: that none is run, or that the user allowed to run it unconfined."""
        return "unconfined, by run_checks" if self._runs_checks else "no code is run"

    def require(self, original: Mapping[str, Any]) -> None:
        """Check that the work on a task could be scored, before an agent is called.

        Args:
            original: The example with its ``check``.

        Raises:
            ConfigurationError: The task has a check command, and `run_checks` is not set.
        """
        record = original.get("check")
        if isinstance(record, Mapping):
            self._require_consent(Check.of_record(record))

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Score the work on one task.

        Args:
            original: The example with its ``check`` and ``files``.
            processed: The output: ``workspace``, digests by path, ``changes``, and ``agent``, the counts.
        """
        counts = processed.get("agent")
        workspace = processed.get("workspace")
        record = original.get("check")
        if not isinstance(counts, Mapping) or not isinstance(workspace, Mapping):
            return {}
        if not isinstance(record, Mapping):
            return {}
        check = Check.of_record(record)
        files = original.get("files") or {}
        scores = self._scores(check, files, processed)
        control = processed.get("random")
        if isinstance(control, Mapping):
            matched = self._scores(check, files, control)
            for name in ("success", "turns", "bill"):
                key = "task_success" if name == "success" else f"agent_{name}"
                scores[f"random_{name}"] = matched[key]
            scores["advantage"] = scores["task_success"] - matched["task_success"]
        return scores

    def _scores(
        self, check: Check, inputs: Mapping[str, str], output: Mapping[str, Any]
    ) -> dict[str, float]:
        """Return the scores of one attempt at a task."""
        counts = output["agent"]
        workspace = output["workspace"]
        files = {**inputs, **(output.get("changes") or {})}
        texts = {path: text for path, text in files.items() if text is not None}
        sent = counts["tokens_sent"]
        share = check.share(workspace, texts, command_share=self._command_share(check, texts))
        scores = {
            "task_success": float(share == 1.0),
            "task_share": share,
            "agent_turns": float(counts["turns"]),
            "agent_calls": float(sum(counts["calls"].values())),
            "agent_re_reads": float(counts["re_reads"]),
            "agent_tokens_sent": float(sent),
            "agent_bill": self._prices.bill(counts),
        }
        if sent:
            scores["agent_cached_share"] = counts["tokens_cached"] / sent
        if counts.get("kept_share") is not None:
            scores["agent_kept_share"] = float(counts["kept_share"])
        return scores

    def _command_share(self, check: Check, texts: Mapping[str, str]) -> float:
        """Return how much the check command of a task finds correct; without one, 0."""
        self._require_consent(check)
        return 0.0 if check.command is None else command_share(check.command, texts)

    def _require_consent(self, check: Check) -> None:
        if check.command is not None and not self._runs_checks:
            raise ConfigurationError(
                "The task has a check command, which runs what the agent wrote. Allow it with --set evaluators.agent-task.run_checks=true."
            )
