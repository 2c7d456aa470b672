"""A run in which every text tries to leave its place in a page: names, ids, questions, responses, reasons, failures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from context_bench import EvalResult, evaluate
from context_bench.records import Scores

ATTACKS = (
    "</script><script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "<!--<script>",
    "--><script>window.pwned=1</script>",
    "'\"><svg onload=window.pwned=1>",
    "]]><script>window.pwned=1</script>",
    "{{ 7 * 7 }}${7*7}<%= 7 %>",
    "javascript:window.pwned=1",
    "\u2028window.pwned=1\u2029",
    "\u202egnp.exe\u202c",
    "&lt;script&gt;&#60;",
    "</title></style></textarea><script>window.pwned=1</script>",
    "\x1b]0;pwned\x07\x00\x7f",
    "a\ud800b",
    "<a href='http://example.com/' ping=http://example.com/>",
)
HOSTILE = " ".join(ATTACKS[:8]) + " " + ATTACKS[-1]


class Judge:
    """Gives a reason that is an attack."""

    name = "judge"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        good = float(original["answer"] == processed["response"])
        return Scores(
            {"good": good, "</script>key": good}, {"reason": HOSTILE, "</script>": [HOSTILE]}
        )


class Attacker:
    """Answers with attacks, and fails with one on some rows."""

    def __init__(self, name: str, broken: int) -> None:
        self.name, self._broken = name, broken

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        number = example["number"]
        if number == self._broken:
            raise ConnectionError(HOSTILE)
        words = example["context"].split()[number % 3 :]
        return {
            "response": ATTACKS[number % len(ATTACKS)].replace("\ud800", ""),
            "context": " ".join(words),
            "</b>": HOSTILE,
        }


def examples(count: int = 30) -> Iterator[dict[str, Any]]:
    for number in range(count):
        attack = ATTACKS[number % len(ATTACKS)].replace("\ud800", "")
        yield {
            "id": f"{attack} {number}",
            "dataset": f"<b onclick=x>{attack}" if number % 2 else "</script>",
            "context": f"{attack} {HOSTILE} and so on".replace("\ud800", ""),
            "question": attack,
            "answer": attack if number % 3 else "another",
            "number": number,
            "length": 1000 * (1 + number % 2),
            "depth": 50 * (number % 3),
            "</script>field": attack,
        }


def hostile_result(path: Path) -> EvalResult:
    systems = [
        Attacker(f"one {ATTACKS[0]}", 3),
        Attacker(f"two {ATTACKS[1]}", 4),
        Attacker(f"three {ATTACKS[9]}", 5),
    ]
    return evaluate(
        systems,
        list(examples()),
        [Judge()],
        progress=False,
        run_file=path,
        baseline=systems[0].name,
    )
