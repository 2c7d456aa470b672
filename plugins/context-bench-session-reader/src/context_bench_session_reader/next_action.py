"""The next action: whether a reader does the same with what a compressor left as with the whole session."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from attrs import evolve

from context_bench.records import Scores
from context_bench_judging import Asker, JudgedEvaluator, Request, tagged
from context_bench_openai import ChatReply
from context_bench_session_reader.actions import LEVELS, Action, agreement, parse_action
from context_bench_session_reader.arms import Arms, Memory
from context_bench_session_reader.prompts import PROMPTS, PROMPTS_VERSION
from context_bench_session_reader.rendering import rendered, rendered_tools
from context_bench_sessions.messages import Message

_FIELDS = {name: {"type": "string"} for name in ("tool", "arguments", "text")}


class NextAction(JudgedEvaluator):
    """How often a reader takes the same next action with what a compressor left as with the whole prefix.

    Each row asks ``samples`` times with what is left, and twice as often, once for all systems, with the whole: the second half
    says how often the reader agrees with itself (``next_action_aa``), which no compressor can beat. Levels are the tool, its
    target (path, or the command's program), its exact arguments, and ``loose``: two of intent, file and program.
    ``next_action_recorded`` is the target against what the recorded agent did.

    Args:
        samples: How often the reader is called with what is left, each time with another seed.
        judge: As in `JudgedEvaluator`: ``llm``, ``base_url``, ``model``, ``provider``, ``api_key``, ``cache`` and their like.

    Raises:
        ValueError: An option cannot be used.
    """

    name = "next-action"
    version = "1"
    prompts = PROMPTS
    prompts_version = PROMPTS_VERSION

    def __init__(self, samples: int = 1, **judge: Any) -> None:
        if type(samples) is not int or samples < 1:
            raise ValueError(f"samples must be a whole number above 0, not {samples!r}.")
        super().__init__(**judge)
        self._samples = samples
        self._memory: Memory[Action] = Memory()

    def fingerprint(self) -> dict[str, Any]:
        """Return everything that can change a score."""
        return {**super().fingerprint(), "samples": self._samples}

    def _judgement(
        self, original: Mapping[str, Any], processed: Mapping[str, Any], asker: Asker
    ) -> Generator[Request, ChatReply, Scores]:
        arms = Arms.of(original, processed)
        if arms is None or not original.get("messages"):
            return Scores({}, {"unscored": "there is no session, or no output of one"})
        tools = rendered_tools(original.get("tools") or (), arms.whole)
        count = self._samples
        whole = yield from self._actions(asker, arms.whole, tools, range(2 * count))
        compressed = yield from self._actions(asker, arms.compressed, tools, range(count))
        found = {
            f"next_action_{level}": _mean(compressed, whole[:count], level) for level in LEVELS
        }
        found["next_action_aa"] = _mean(whole[:count], whole[count:], "target")
        recorded = original.get("next_action")
        if recorded:
            action = parse_action(recorded)
            found["next_action_recorded"] = _mean(compressed, [action] * count, "target")
        shown = {"compressed": list(_shown(compressed)), "whole": list(_shown(whole))}
        return Scores(found, shown)

    def _actions(
        self, asker: Asker, messages: Sequence[Message], tools: str, seeds: Sequence[int]
    ) -> Generator[Request, ChatReply, list[Action]]:
        session = rendered(messages)
        found = []
        for seed in seeds:
            action = self._memory.get((session, tools, seed))
            if action is None:
                seeded = evolve(asker, parameters={**asker.parameters, "seed": seed})
                action = yield from seeded.ask(
                    "act",
                    _FIELDS,
                    parse_action,
                    session=tagged("session", session),
                    tools=tagged("tools", tools),
                )
                self._memory.put((session, tools, seed), action)
            found.append(action)
        return found


def _mean(ones: Sequence[Action], others: Sequence[Action], level: str) -> float:
    return fmean(agreement(one, other)[level] for one, other in zip(ones, others, strict=True))


def _shown(actions: Sequence[Action]) -> Iterator[dict[str, Any]]:
    for action in actions:
        yield {"tool": action.tool, "target": action.target}
