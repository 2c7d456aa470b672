"""Draw the pictures of docs/concepts/how-sure-is-this.md: `python docs/how_sure.py` writes docs/images/how-sure-*.svg.

`--check` says what it would change. The numbers in the pictures are computed by the same functions as those of
`context-bench compare`, on the rows that the page describes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from attrs import frozen

from context_bench_compare.differences import difference_test, guaranteed_difference
from context_bench_compare.intervals import Interval, TooFew
from context_bench_compare.planning import rows_needed
from context_bench_compare.power import reach_of

IMAGES = Path(__file__).parent / "images"
WIDTH, ROW, LEFT, RIGHT = 720, 34, 270, 30


@frozen
class Bar:
    """One line of a picture: a name, an estimate and its interval."""

    name: str
    estimate: float
    low: float
    high: float


def bar(name: str, values: Sequence[float], interval: Interval | TooFew) -> Bar:
    """Return the line of a difference and its interval."""
    if isinstance(interval, TooFew):
        raise ValueError(interval.told)
    return Bar(name, float(np.mean(values)), interval.low, interval.high)


def drawn(title: str, bars: Sequence[Bar]) -> str:
    """Return a picture of intervals around zero, which has a dashed line."""
    low = min(0.0, *(one.low for one in bars))
    high = max(0.0, *(one.high for one in bars))
    scale = (WIDTH - LEFT - RIGHT) / (high - low)

    def x(value: float) -> float:
        return round(LEFT + (value - low) * scale, 1)

    height = ROW * (len(bars) + 2)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{title}</title>",
        "<style>text{font:13px sans-serif;fill:#444}line{stroke:#36c;stroke-width:3}"
        ".zero{stroke:#888;stroke-width:1;stroke-dasharray:4 4}circle{fill:#36c}</style>",
        f'<line class="zero" x1="{x(0)}" x2="{x(0)}" y1="8" y2="{height - ROW}"/>',
        f'<text x="{x(0)}" y="{height - 12}" text-anchor="middle">no difference</text>',
    ]
    for number, one in enumerate(bars):
        y = ROW * (number + 0.8)
        lines += [
            f'<text x="8" y="{y + 4:.0f}">{one.name}</text>',
            f'<line x1="{x(one.low)}" x2="{x(one.high)}" y1="{y:.0f}" y2="{y:.0f}"/>',
            f'<circle cx="{x(one.estimate)}" cy="{y:.0f}" r="5"/>',
            f'<text x="{x(one.high)}" y="{y - 7:.0f}" text-anchor="end">'
            f"{one.low:+.3f} to {one.high:+.3f}</text>",
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def pictures() -> dict[str, str]:
    """Return each picture by the name of its file."""
    gains = np.full(100, 0.02)
    draw = np.random.default_rng(0)
    noisy = draw.normal(0.03, 0.15, 100)
    documents = np.repeat(draw.normal(0.06, 0.12, 10), 10) + draw.normal(0, 0.09, 100)
    numbers = np.arange(100) // 10
    pilot = reach_of(noisy)
    plans = [
        Bar(f"{rows:,} rows, {basis}", 0.0, -margin, margin)
        for basis in ("test", "guarantee")
        for margin in (0.05, 0.02)
        for rows in (rows_needed(pilot, margin, 0.95, basis),)
    ]
    two_lines = [
        bar("100 gains of 0.02: test", gains, difference_test(gains).interval),
        bar("the same rows: guarantee", gains, guaranteed_difference(gains)),
        bar("100 scattered rows: test", noisy, difference_test(noisy).interval),
        bar("the same rows: guarantee", noisy, guaranteed_difference(noisy)),
    ]
    clusters = [
        bar("100 rows, each alone", documents, difference_test(documents).interval),
        bar("10 documents of 10 rows", documents, difference_test(documents, numbers).interval),
    ]
    samples = [
        bar("40 questions, once", noisy[:40], difference_test(noisy[:40]).interval),
        bar(
            "40 questions, the same answer 5 times",
            noisy[:40],
            difference_test(
                np.repeat(noisy[:40], 5), np.arange(200) // 5, examples=np.arange(200) // 5
            ).interval,
        ),
        bar("100 questions, once", noisy, difference_test(noisy).interval),
    ]
    return {
        "how-sure-two-lines.svg": drawn("Test and guarantee of the same rows", two_lines),
        "how-sure-clusters.svg": drawn("Rows alone and in documents", clusters),
        "how-sure-samples.svg": drawn("Repetitions and further questions", samples),
        "how-sure-plan.svg": drawn("Rows that rule out a loss", plans),
    }


def main(arguments: Sequence[str]) -> int:
    """Write the pictures, or say which would change."""
    changed = []
    for name, text in pictures().items():
        path = IMAGES / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            changed.append(name)
            if "--check" not in arguments:
                path.write_text(text, encoding="utf-8")
    print("\n".join(changed))
    return int(bool(changed) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
