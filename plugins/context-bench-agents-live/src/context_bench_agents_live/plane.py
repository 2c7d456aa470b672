"""Success against bill as text: a letter for each arm on a plane."""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_uppercase

WIDTH = 48
HEIGHT = 11


def text_plane(points: Mapping[str, tuple[float, float]]) -> str:
    """Return a plane of success, 0 to 1 upwards, against the bill of a task to the right, with a line for each letter.

    Args:
        points: Bill and success of each arm. Arms at one place share its first letter's place, and all are in the lines below.
    """
    largest = max((bill for bill, _ in points.values()), default=0.0) or 1.0
    grid = [[" "] * WIDTH for _ in range(HEIGHT)]
    lines = []
    for number, (arm, (bill, success)) in enumerate(points.items()):
        letter = ascii_uppercase[number % len(ascii_uppercase)]
        column = round(bill / largest * (WIDTH - 1))
        line = HEIGHT - 1 - round(success * (HEIGHT - 1))
        taken = grid[line][column]
        grid[line][column] = letter if taken == " " else "*"
        lines.append(f"  {letter}  {arm}: {success:.0%} at {bill:.4g}")
    labels = {0: "100%", HEIGHT // 2: " 50%", HEIGHT - 1: "  0%"}
    drawn = [
        f"{labels.get(number, ''):>4} |{''.join(row).rstrip()}" for number, row in enumerate(grid)
    ]
    axis = f"     +{'-' * WIDTH}"
    scale = f"      0{f'{largest:.4g}':>{WIDTH - 1}}"
    return "\n".join(["success against the bill of a task", *drawn, axis, scale, *lines])
