"""How a row travels: the steps of one row through core, the picture of them, and a tracer that follows a row.

`STEPS` is the only place that lists the steps. The page and its picture are written from it by `python docs/generate.py`,
and a test compares it with what `trace()` records. After a change of the way of a row, change `STEPS`.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from attrs import frozen

import context_bench

CORE = Path(context_bench.__file__).parent
SHORT_RUN = 10
LONG_RUN = 30


@frozen
class Step:
    """A step of a row.

    Attributes:
        title: Two or three words.
        text: What happens.
        functions: The functions that do it, each as ``module:function``, with the module below ``context_bench``.
    """

    title: str
    text: str
    functions: tuple[str, ...]

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules of the functions, each once."""
        return tuple(dict.fromkeys(function.split(":")[0] for function in self.functions))


STEPS = (
    Step(
        title="Read the example",
        text="The dataset is an iterator; one example is pulled, gets its position and its label, and is copied, so "
        "that nothing later can change it.",
        functions=("run/examples:JobSource._read", "run/examples:_label", "store/encoding:isolate"),
    ),
    Step(
        title="Compute the keys",
        text="The fields that the system sees are encoded and hashed, and so is what the example shares with others: its "
        "document, session or context. A row that is stored already is skipped; a "
        "response with an equal key of an earlier run is reused.",
        functions=(
            "run/datasets:shown",
            "store/keys:example_key",
            "run/clusters:cluster_of",
            "store/keys:response_key",
            "store/encoding:canonical_bytes",
            "store/runfile:RunFile.is_there",
        ),
    ),
    Step(
        title="Call the system",
        text="The system receives a private copy of its input fields, without gold answers. The runner measures the "
        "time, limits it, and repeats the call if the error allows it.",
        functions=(
            "run/processor:RowProcessor.answer",
            "run/jobs:Job.call_system",
            "run/jobs:Job.system_input",
            "run/systems:is_async",
        ),
    ),
    Step(
        title="Read the answer",
        text="Tokens are counted where the endpoint reports none. Reasoning is separated from the answer, once for "
        "all evaluators.",
        functions=("tokens:count_fields", "answers/parting:parted_output", "outcomes:outcome_of"),
    ),
    Step(
        title="Score",
        text="Each evaluator of the row's label receives private copies of example and output. Its exception is a "
        "failure of this score alone.",
        functions=("run/scoring:Scoring.score", "run/said:said_of", "store/keys:score_key"),
    ),
    Step(
        title="Commit",
        text="Rows are stored in groups: example, output, scores and failures become tuples with checksums and are "
        "written in one transaction. Only then is the slot of the row free.",
        functions=(
            "run/loop:RunLoop._commit",
            "columns:positive_count",
            "store/rows:lines_of",
            "store/tables:Table.lines",
            "store/runfile:RunFile.commit",
        ),
    ),
    Step(
        title="Observe",
        text="The circuit breaker, the progress display and the hooks of packages see each group of committed rows; "
        "each of them can stop the run.",
        functions=(
            "run/stopping:CircuitBreaker.rows",
            "session/observers:HookObserver.rows",
            "session/hooks:RunHooks.needs_rows",
            "plugins/hooks:Hooks.__getitem__",
        ),
    ),
    Step(
        title="Aggregate",
        text="After the last row, metrics read the run file as columns. Nothing of the run is in memory as a whole.",
        functions=(
            "store/queries:answered_rows",
            "results/columns:Columns._count",
            "results/score_means:_Group.add",
        ),
    ),
)


class _Echo:
    name = "echo"

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        return {"response": example["question"]}

    def fingerprint(self) -> dict[str, Any]:
        return {}


class _Constant:
    name = "constant"

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        return {"constant": 1.0}


def trace() -> set[tuple[str, str]]:
    """Return the functions of core that are called for every row, each with its module.

    Two runs on one worker differ only in their number of rows. What is called more often in the longer one, at least
    once for each further row, is on the way of a row.
    """
    short = _calls(SHORT_RUN)
    long = _calls(LONG_RUN)
    rows = LONG_RUN - SHORT_RUN
    return {function for function, count in long.items() if count - short[function] >= rows}


def _calls(rows: int) -> Counter[tuple[str, str]]:
    """Return how often each function of core is called by a run of so many rows."""
    calls: Counter[tuple[str, str]] = Counter()

    def record(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        name = frame.f_code.co_name
        if event == "call" and not name.startswith("<") and path.is_relative_to(CORE):
            calls[path.relative_to(CORE).with_suffix("").as_posix(), name] += 1

    with tempfile.TemporaryDirectory() as folder, _profiled(record):
        context_bench.evaluate(
            _Echo(),
            _examples(rows),
            [_Constant()],
            max_workers=1,
            progress=False,
            run_file=str(Path(folder) / "run.sqlite"),
        )
    return calls


def _examples(rows: int) -> Iterator[dict[str, str]]:
    for number in range(rows):
        yield {"id": str(number), "question": f"q{number}", "answer": f"q{number}"}


@contextmanager
def _profiled(record: Callable[[FrameType, str, object], None]) -> Iterator[None]:
    """Record calls of this thread, and of the threads that begin meanwhile."""
    threading.setprofile(record)
    sys.setprofile(record)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


PAGE = """\
# How a row travels

{note}

A *row* is one example with one system and one repetition. This page follows one row from the dataset to the result. A test
traces a run and compares it with this page.

![The steps of a row](../images/row.svg)

{steps}

## The modules

Every module of core that runs for each row of a run on one worker:

| module of `context_bench` | steps |
|---|---|
{modules}

A system with an endpoint also passes through `context-bench-http`, and through the hooks of packages that admit calls and limit
rates. Rows that are made from other rows start in the second pass instead of step 1.
"""


def page(note: str) -> str:
    """Return the page."""
    steps = []
    for number, step in enumerate(STEPS, start=1):
        functions = ", ".join(f"`{function.replace(':', '.py: ')}`" for function in step.functions)
        steps.append(f"{number}. **{step.title}.** {step.text}\n   {functions}")
    numbers: dict[str, list[str]] = {}
    for number, step in enumerate(STEPS, start=1):
        for module in step.modules:
            numbers.setdefault(module, []).append(str(number))
    modules = [f"| `{module}.py` | {', '.join(used)} |" for module, used in sorted(numbers.items())]
    return PAGE.format(note=note, steps="\n".join(steps), modules="\n".join(modules))


STYLE = """\
text { font: 14px sans-serif; fill: #1f2328 } .module { font: 12px monospace; fill: #57606a }
rect { fill: #f6f8fa; stroke: #8c959f } path { stroke: #57606a; fill: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .module { fill: #9da7b3 }
  rect { fill: #161b22; stroke: #6e7681 } path { stroke: #9da7b3 }
}"""
WIDTH = 200
COLUMNS = 4
LINE = 18
GAP = 40


def picture() -> str:
    """Return the steps as an SVG picture, readable on light and on dark pages."""
    height = 40 + LINE * max(len(step.modules) for step in STEPS)
    rows = -(-len(STEPS) // COLUMNS)
    size = f"{COLUMNS * (WIDTH + GAP)} {rows * (height + GAP)}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img">',
        f"<title>{' - '.join(step.title for step in STEPS)}</title>",
        f"<style>{STYLE}</style>",
    ]
    for number, step in enumerate(STEPS):
        left = number % COLUMNS * (WIDTH + GAP) + GAP // 2
        top = number // COLUMNS * (height + GAP) + GAP // 2
        parts.append(f'<rect x="{left}" y="{top}" width="{WIDTH}" height="{height}" rx="6"/>')
        parts.append(f'<text x="{left + 12}" y="{top + 24}">{number + 1}. {step.title}</text>')
        for line, module in enumerate(step.modules, start=1):
            y = top + 28 + line * LINE
            parts.append(f'<text class="module" x="{left + 12}" y="{y}">{module}.py</text>')
        if number + 1 < len(STEPS) and (number + 1) % COLUMNS:
            y, right = top + height // 2, left + WIDTH
            arrow = f"M{right} {y}h{GAP - 4}m-6 -5l6 5l-6 5"
        elif number + 1 < len(STEPS):
            x, bottom = left + WIDTH // 2, top + height
            back = GAP // 2 + WIDTH // 2
            arrow = f"M{x} {bottom}v{GAP // 2}H{back}v{GAP // 2 - 4}m-5 -6l5 6l5 -6"
        else:
            continue
        parts.append(f'<path d="{arrow}"/>')
    return "\n".join([*parts, "</svg>", ""])
