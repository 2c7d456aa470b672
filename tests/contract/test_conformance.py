"""Each component of the project's own packages does what its manifest says, as the conformance engine
finds when it calls the component."""

from __future__ import annotations

from pathlib import Path

import pytest

from context_bench.catalog import Component, open_catalog

checking = pytest.importorskip("context_bench_kit.checking", reason="it calls the components")

pytestmark = pytest.mark.one_python

FAULTS = {
    "context-bench-needle/needle-oracle": "[raises]",  # it refuses every question but its dataset's
    "context-bench-sessions/recorded": "[return-type]",  # the general example is not a session
}
"""What is found about components that are right, by their ids."""

NOT_CALLED = {
    "context-bench-agents-live/agent-task": "it scores a folder of files that an agent left",
    "context-bench-code/code": "it executes programs in a sandbox, which not every machine has",
    "context-bench-command/command": "the program is the user's",
    "context-bench-command/command-transformer": "the program is the user's",
    "context-bench-compare/gate": "the gates are the user's",
    "context-bench-compress/by-message": "the compressor that it wraps is the user's choice",
    "context-bench-compress/embeddings": "its model is downloaded",
    "context-bench-inspect/inspect-log": "the file is the user's",
    "context-bench-llama/llama": "the model is a file of the user's",
    "context-bench-lm-eval/lm-eval-samples": "the file is the user's",
    "context-bench-local/local": "the file is the user's",
    "context-bench-long-memory/locomo": "the file is the user's",
    "context-bench-python/python": "the function is the user's",
    "context-bench-python/python-transformer": "the function is the user's",
    "context-bench-scorers-code/python-unit-testing": "it executes programs in a sandbox",
    "context-bench-scorers-embedding/bertscore": "its default model needs torch",
    "context-bench-scorers-embedding/hedging-language": "its default model needs torch",
    "context-bench-sessions/sessions": "the file is the user's",
    "context-bench-suites/suite": "it belongs to a run of a suite",
    "context-bench-survival/prefix-cost": "one session that brings forth every score would be long",
    "context-bench-survival/survival": "one session that brings forth every score would be long",
    "context-bench-survival/survival-check": "it belongs to a run with the evaluator survival",
}
"""Components that the engine only builds, with the reason; their own tests call them."""


def components() -> dict[str, list[Component]]:
    """Return the usable components of each of our packages that need no network."""
    chosen: dict[str, list[Component]] = {}
    for component in open_catalog((), {}):
        name = component.distribution.name
        is_ours = name == "context-bench" or name.startswith("context-bench-")
        if is_ours and component.state == "ok" and "network" not in component.capabilities:
            chosen.setdefault(name, []).append(component)
    return chosen


COMPONENTS = components()


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_package_does_what_its_manifest_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for component, verdict in checking.check_components(COMPONENTS[name], 600.0, call=True):
        expected = FAULTS.get(component.id)
        unexpected = [line for line in verdict.faults if not expected or expected not in line]
        assert not unexpected, component.id
        assert bool(verdict.faults) == bool(expected), f"{component.id} has no fault any more"
        is_called = not any("[not-run]" in note for note in verdict.notes)
        if component.kind == "commands" and component.command.extends:
            continue  # a part of another command has no call of its own
        assert is_called or component.id in NOT_CALLED, f"{component.id}: {verdict.notes}"
