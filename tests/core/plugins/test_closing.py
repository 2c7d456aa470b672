"""A system that the run built from a name is told when the run ends, however it ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

MANIFEST = """
    schema = 1
    api = "1.0"

    [systems.serving]
    summary = "Holds something until it is closed"
    class = "Serving"
    options.ends = { type = "str", help = "How it ends" }

    [systems.shortening]
    summary = "Returns a context, and holds something too"
    class = "Shortening"
    kind = "transformer"
"""
CODE = """
    import os, signal, sys

    class Serving:
        name = "serving"

        def __init__(self, ends=""):
            self.ends = ends

        def process(self, example):
            if self.ends == "interrupted":
                signal.raise_signal(signal.SIGINT)
            if self.ends == "terminated":
                signal.raise_signal(signal.SIGTERM)
            if self.ends == "playing Ctrl-C":
                raise KeyboardInterrupt
            if self.ends == "leaving":
                sys.exit(0)
            if self.ends == "failing":
                raise ValueError("no")
            return {"response": "one"}

        def close(self):
            with open(os.environ["CLOSE_LOG"], "a") as log:
                log.write(f"{self.name}\\n")
            if self.ends == "closing badly":
                raise OSError("it hangs")

    class Shortening(Serving):
        name = "shortening"

        def process(self, example):
            return {"context": "short"}
"""
POINTS = {"systems": {"serving": "acme_serving:Serving", "shortening": "acme_serving:Shortening"}}


@pytest.fixture
def closed(site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """The names of the systems that were closed."""
    site.basics()
    site.add("acme-serving", code=CODE, manifest=MANIFEST, entry_points=POINTS)
    log = tmp_path / "close.log"
    monkeypatch.setenv("CLOSE_LOG", str(log))
    return lambda: log.read_text().splitlines() if log.exists() else []


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ("serving", 0),
        ("serving:ends=failing", 12),
        ("serving:ends=interrupted", 130),
        ("serving:ends=terminated", 143),
        ("serving:ends=playing Ctrl-C", 12),
        ("serving:ends=leaving", 12),
        ("serving:ends=closing badly", 0),
    ],
    ids=[
        "finished",
        "every row failed",
        "interrupted",
        "terminated",
        "its own Ctrl-C",
        "its own exit",
        "closing fails",
    ],
)
@pytest.mark.parametrize("workers", ["1", "4"])
def test_it_is_closed_once_however_the_run_ends(
    closed: Callable[[], list[str]], context_bench: Run, spec: str, code: int, workers: str
) -> None:
    done = context_bench("run", "--system", spec, "--dataset", "toy", "--max-workers", workers)
    assert (done.code, closed()) == (code, ["serving"]), done.words
    assert ("System serving could not be closed: OSError: it hangs" in done.words) is (
        "badly" in spec
    )


def test_every_step_of_a_chain_is_closed(
    closed: Callable[[], list[str]], context_bench: Run
) -> None:
    words = ("--system", "shortening", "--reader", "serving", "--dataset", "toy")
    done = context_bench("run", *words, "--compress-question")
    assert (done.code, closed()) == (0, ["shortening", "serving"]), done.words


def test_a_dry_run_closes_nothing_that_it_did_not_build(
    closed: Callable[[], list[str]], context_bench: Run
) -> None:
    assert context_bench("run", "--system", "serving", "--dataset", "toy", "--dry-run").code == 0
    assert closed() == []


def test_an_object_is_its_owners_to_close(closed: Callable[[], list[str]]) -> None:
    import acme_serving

    from context_bench import evaluate

    evaluate(
        acme_serving.Serving(), [{"question": "one", "answer": "one"}], ["exact"], progress=False
    )
    assert closed() == []
    evaluate("serving", [{"question": "one", "answer": "one"}], ["exact"], progress=False)
    assert closed() == ["serving"]
