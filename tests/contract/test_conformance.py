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
