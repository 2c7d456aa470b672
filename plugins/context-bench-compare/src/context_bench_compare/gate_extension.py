"""The extension ``gate``: compares a run with its gates when it ends, or stops it as soon as they are decided.

Gates come from ``--gate`` and from the table ``[gate]`` of the project file. With ``--stop-when-decided`` the run is looked
at :data:`~context_bench_compare.looks.LOOKS` times, after equal shares of its examples in the order of the dataset, whatever
finishes first. Several datasets come one after the other: looks begin with the last one, after equal shares of it, and the
rows of it that are still to come count as those that are there. The error of each gate, 1 - confidence, is spent over the looks
as :mod:`~context_bench_compare.sequential` says, so that looking often finds no more than looking once. The last look is held to
the last bound too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from context_bench import EvalResult, EvalRow
from context_bench.console import echo_err
from context_bench.errors import ConfigurationError
from context_bench.hookspecs import hookimpl
from context_bench.runs import open_run
from context_bench_compare.baselines import BASELINES, find_baseline, story_of
from context_bench_compare.gates import exit_code, gates_of_table, parse_gate
from context_bench_compare.gating import judge, require_baseline, require_judgeable
from context_bench_compare.looks import Looks
from context_bench_compare.rendering import gate_sentence


class Gates:
    """The gates of one run.

    Args:
        gate: Gates as ``--gate`` has them.
        stop_when_decided: Whether to stop asking once every gate is decided, or one failed.
        baselines: Folder of the named baselines.
        table: Gates by score, as the project file's table ``[gate]`` has them.

    Raises:
        ConfigurationError: A gate has the wrong form.
    """

    def __init__(
        self,
        gate: Sequence[str] | str = (),
        stop_when_decided: bool = False,
        baselines: str = str(BASELINES),
        **table: Any,
    ) -> None:
        texts = [gate] if isinstance(gate, str) else gate
        self._gates = [
            *gates_of_table(table),
            *(one for text in texts for one in parse_gate(str(text))),
        ]
        self._folder = Path(baselines)
        if not self._gates:
            raise ConfigurationError(
                "There is no gate to decide: give --gate f1:max-drop=1pp, or a table [gate] in the project file."
            )
        self._sequence = Looks(self._gates, self._folder) if stop_when_decided else None

    @hookimpl
    def before_first_call(self, run_file: Path, score_keys: Sequence[str] | None) -> None:
        """Note the rows that earlier sessions finished.

        Raises:
            ConfigurationError: A named baseline is not there, a gate needs one and the run has one system, or no evaluator
                gives its score.
        """
        for name in self._named():
            find_baseline(name, self._folder)
        with open_run(run_file) as opened:
            require_baseline(opened, self._gates)
            if score_keys is not None:
                require_judgeable(opened, self._gates, score_keys)
        if self._sequence is not None:
            self._sequence.start(run_file)

    @hookimpl
    def should_stop(self, row: EvalRow) -> None:
        """Look at the run when enough of its examples are finished.

        Raises:
            GatesDecidedError: The run stops, because nothing is left to be found out.
        """
        if self._sequence is not None:
            self._sequence.add(row)

    @hookimpl
    def exit_code(self, result: EvalResult) -> int | None:
        """Print how the gates came out, and return the exit code: 10 for a failed gate, 11 for an inconclusive gate."""
        with open_run(result.config["run_file"]) as opened:
            looks = self._sequence
            outcomes = (
                looks.last(opened) if looks else judge(opened, self._gates, folder=self._folder)
            )
        for name in self._named():
            if story := story_of(name, self._folder):
                echo_err(story)
        for outcome in outcomes:
            echo_err(gate_sentence(outcome))
        return exit_code(outcomes) or None

    def _named(self) -> Iterable[str]:
        return dict.fromkeys(gate.against for gate in self._gates if gate.against is not None)
