"""Gates: what a run must keep, and whether it does, does not, or leaves it open.

``f1:max-drop=1pp`` is non-inferiority against a baseline: the lower bound of the paired interval decides, never the mean. It is
the bound of the guarantee, which holds whatever the rows did not show; ``basis=test`` takes that of the test, which fewer rows
meet.
``pass_rate:min=0.9`` and ``p95:max=2s`` hold a value itself against a bound, by its interval where it has one.
``cost:max-rise=0`` is a bound on how much more than the baseline something may cost.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench_compare.columns import MEASURES
from context_bench_compare.intervals import Interval, TooFew, counted, percent
from context_bench_compare.power import MOST_PRECISE, rows_for_margin

PROJECT_FILE = Path("context-bench.toml")

PASSED = "passed"
FAILED = "failed"
INCONCLUSIVE = "inconclusive"

EXIT_CODES = {PASSED: 0, FAILED: 10, INCONCLUSIVE: 11}

KINDS = ("min", "max", "max-drop", "max-rise")

GUARANTEE, TEST = "guarantee", "test"
BASES = (GUARANTEE, TEST)
"""What may decide a gate."""

_SETTINGS = ("vs", "confidence", "basis")

_UNITS = {"": 1.0, "pp": 0.01, "%": 0.01, "ms": 0.001, "s": 1.0, "min": 60.0}
TIMES = ("latency", "p50", "p95", "p99")
"""Metrics in seconds; no other is given as a time."""

_UNIT_OF = {
    "ms": "a time",
    "s": "a time",
    "min": "a time",
    "pp": "percentage points",
    "%": "a share",
}

_AMOUNT = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([a-z%]*)")


@frozen
class Gate:
    """One thing that a run must keep.

    Attributes:
        metric: Score or summary value.
        kind: ``min``, ``max``, ``max-drop`` or ``max-rise``.
        amount: Bound in the unit of the metric; seconds for times, a share for percentage points.
        confidence: Of the interval that is looked at.
        against: Name of the baseline; None for the run's own.
        relative: Whether ``amount`` is a share of the baseline's value (``max-rise=10%``).
        basis: Whose interval decides: that of the guarantee or that of the test.
    """

    metric: str
    kind: str
    amount: float
    confidence: float = 0.95
    against: str | None = None
    relative: bool = False
    basis: str = GUARANTEE

    @property
    def by(self) -> str:
        """Whose interval decides, in words; empty for a percentile, for which the two are one, and for a sum."""
        plain = self.metric.rpartition(" ")[2]
        return "" if plain in (*TIMES[1:], "cost") else f"the {self.basis}"

    @property
    def is_paired(self) -> bool:
        """Whether it holds the run against a baseline."""
        return self.kind in ("max-drop", "max-rise")

    def __str__(self) -> str:
        return f"{self.metric}:{self.kind}={self.amount:g}{' of the baseline' if self.relative else ''}"


@frozen
class Outcome:
    """How a gate came out.

    Attributes:
        gate: The gate.
        state: ``passed``, ``failed`` or ``inconclusive``.
        sentence: With the numbers that decided.
        more_rows: How many further rows would decide an open one; None when nobody knows.
    """

    gate: Gate
    state: str
    sentence: str
    more_rows: int | None = None


def parse_gate(text: str) -> list[Gate]:
    """Read gates as the command line has them: ``metric:kind=amount[,kind=amount...][,vs=@name][,confidence=0.95][,basis=test]``.

    >>> parse_gate("f1:max-drop=1pp")[0].amount
    0.01

    Raises:
        ConfigurationError: The text is no gate; the message says what is wrong.
    """
    metric, colon, rest = text.rpartition(":")
    if not colon or not metric:
        raise ConfigurationError(
            f"The gate {text!r} has the wrong form: write METRIC:max-drop=1pp, or min=, max=, max-rise=."
        )
    settings: dict[str, Any] = {}
    for part in rest.split(","):
        key, equals, value = part.partition("=")
        if not equals:
            raise ConfigurationError(
                f"In the gate {text!r}, {part!r} is no bound: write {'=, '.join(KINDS)}=."
            )
        if key.strip() in settings:
            raise ConfigurationError(
                f"The gate {text!r} gives {key.strip()} twice: one of the two would be lost."
            )
        settings[key.strip()] = value.strip()
    return gates_of(metric, settings, f"the gate {text!r}")


def difference(text: str) -> float:
    """Return a difference of scores as ``--margin`` takes it: a number, or percentage points such as ``2pp``.

    >>> difference("2pp")
    0.02

    Raises:
        ConfigurationError: It is neither.
    """
    try:
        return float(text.removesuffix("pp")) * (0.01 if text.endswith("pp") else 1.0)
    except ValueError:
        raise ConfigurationError(
            f"--margin {text!r} is neither a number nor percentage points such as 2pp."
        ) from None


def gates_of(metric: str, settings: Mapping[str, Any], where: str) -> list[Gate]:
    """Return the gates of one metric as the project file has them: ``{ max_drop = "1pp", vs = "@main" }``.

    Raises:
        UnknownNameError: A key that is no setting of a gate.
        ConfigurationError: A bound that is no amount, or none at all.
    """
    given = {key.replace("_", "-"): value for key, value in settings.items()}
    for key in given:
        if key not in (*KINDS, *_SETTINGS):
            raise UnknownNameError(f"setting of {where}", key, (*KINDS, *_SETTINGS))
    confidence = _confidence(given.get("confidence", 0.95), where)
    against = given.get("vs")
    if against is not None and not (isinstance(against, str) and against.strip("@ ")):
        raise ConfigurationError(
            f"In {where}, vs is {against!r}, but must be the name of a baseline, such as @main."
        )
    basis = given.get("basis", GUARANTEE)
    if basis not in BASES:
        raise UnknownNameError(f"basis of {where}", str(basis), BASES)
    found = []
    for kind in KINDS:
        if kind in given:
            amount, unit = _amount(given[kind], where)
            _require_unit(metric, kind, unit, where)
            if kind in ("max-drop", "max-rise") and amount < 0:
                raise ConfigurationError(
                    f"In {where}, {kind} is below zero; what may be lost is written without a sign."
                )
            found.append(
                Gate(
                    metric,
                    kind,
                    amount,
                    confidence,
                    against,
                    relative=unit == "%" and kind not in ("min", "max"),
                    basis=basis,
                )
            )
    if not found:
        raise ConfigurationError(
            f"{where} has no bound: write {', '.join(KINDS[:-1])} or {KINDS[-1]}."
        )
    return found


def gates_of_table(table: Any) -> list[Gate]:
    """Return the gates of the project file's table ``[gate]``.

    Raises:
        ConfigurationError: One has the wrong form.
    """
    if not isinstance(table, Mapping) or not all(
        isinstance(settings, Mapping) for settings in table.values()
    ):
        raise ConfigurationError('[gate] holds a table for each score: f1 = { max_drop = "1pp" }.')
    return [
        gate
        for metric, settings in table.items()
        for gate in gates_of(metric, settings, f"[gate] {metric}")
    ]


def judge_value(
    gate: Gate, value: float, interval: Interval | TooFew | None, rows: int = 0, unit: str = ""
) -> Outcome:
    """Hold a value against ``min`` or ``max``.

    Args:
        gate: The gate.
        value: The run's value.
        interval: Of that value; None where it is exact, such as a sum of costs.
        rows: Rows that it rests on.
        unit: What it is told in; empty for a score.
    """
    sign = 1.0 if gate.kind == "min" else -1.0
    unit = unit and f" {unit}"
    told = f"{gate.metric} is {value:.4g}{unit}, {gate.kind} {gate.amount:g}{unit}"
    if interval is None:
        told += f" (sum of {counted(rows, 'row')})"
        return Outcome(gate, PASSED if sign * (value - gate.amount) >= 0 else FAILED, told)
    if isinstance(interval, TooFew):
        return Outcome(gate, INCONCLUSIVE, f"{told}; {interval.told}")
    told += f" ({interval.told(unit)} at {percent(gate.confidence)}, {counted(rows, 'row')})"
    worst, best = (interval.low, interval.high) if sign > 0 else (interval.high, interval.low)
    if sign * (worst - gate.amount) >= 0:
        return Outcome(gate, PASSED, told)
    if sign * (best - gate.amount) < 0:
        return Outcome(gate, FAILED, told)
    if math.isinf(worst):
        return _open_at_worst(gate, told, interval, rows)
    distance = abs(value - gate.amount)
    width = abs(value - (worst if sign * (value - gate.amount) >= 0 else best))
    is_near = distance <= MOST_PRECISE * width
    return Outcome(
        gate,
        INCONCLUSIVE,
        told,
        _until_narrow(width, distance, rows) if rows and not is_near else None,
    )


def judge_difference(
    gate: Gate,
    difference: float,
    interval: Interval | TooFew,
    rows: int,
    deviation: float,
    baseline: float = 1.0,
    size: float = 1.0,
    unit: str = "",
) -> Outcome:
    """Hold a paired difference against ``max-drop`` or ``max-rise``.

    Args:
        gate: The gate.
        difference: The run's mean less the baseline's, over the matched rows.
        interval: Of that difference.
        rows: Matched rows.
        deviation: Standard deviation of the differences of single rows.
        baseline: The baseline's value, of which a relative bound is a share.
        size: Largest difference of a row.
        unit: What it is told in; empty for a score.
    """
    sign = 1.0 if gate.kind == "max-drop" else -1.0
    amount = gate.amount * abs(baseline) if gate.relative else gate.amount
    unit = unit and f" {unit}"
    told = f"{gate.metric} changed by {difference:+.4g}{unit}, {gate.kind} {amount:g}{unit}"
    if isinstance(interval, TooFew):
        return Outcome(gate, INCONCLUSIVE, f"{told}; {interval.told}")
    told += f" ({interval.told(unit, '+')} at {percent(gate.confidence)}, {counted(rows, 'row')})"
    worst, best = (interval.low, interval.high) if sign > 0 else (interval.high, interval.low)
    if sign * worst >= -amount:
        return Outcome(gate, PASSED, told)
    if sign * best < -amount:
        return Outcome(gate, FAILED, told)
    if math.isinf(worst):
        return _open_at_worst(gate, told, interval, rows)
    distance = abs(sign * difference + amount)
    if not math.isfinite(deviation) or distance <= MOST_PRECISE * size:
        return Outcome(gate, INCONCLUSIVE, told)
    powered = rows_for_margin(deviation, distance, 0.0, gate.confidence, size=size) - rows
    width = abs(difference - (worst if sign * difference > -amount else best))
    return Outcome(gate, INCONCLUSIVE, told, max(powered, _until_narrow(width, distance, rows)))


def _open_at_worst(gate: Gate, told: str, interval: Interval, rows: int) -> Outcome:
    """Return that so few rows cannot meet a gate, because one end of their interval is infinite."""
    told += f"; {interval.rows_for_both} rows are needed to meet it"
    return Outcome(gate, INCONCLUSIVE, told, max(1, interval.rows_for_both - rows))


def exit_code(outcomes: list[Outcome]) -> int:
    """Return 10 when a gate failed, 11 when a gate is inconclusive, else 0."""
    states = {outcome.state for outcome in outcomes}
    for state in (FAILED, INCONCLUSIVE):
        if state in states:
            return EXIT_CODES[state]
    return EXIT_CODES[PASSED]


def _until_narrow(width: float, distance: float, rows: int) -> int:
    """Return the further rows that make an interval as narrow on one side as a distance, if the value stays as it is.

    Its width shrinks by the root of the rows.
    """
    return max(1, math.ceil(rows * ((width / distance) ** 2 - 1)))


def _amount(value: Any, where: str) -> tuple[float, str]:
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value), ""
    found = _AMOUNT.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None or found[2] not in _UNITS or not math.isfinite(float(found[1])):
        raise ConfigurationError(
            f"In {where}, {value!r} is no amount: write 0.01, 1pp, 5%, 200ms or 2s."
        )
    return float(found[1]) * _UNITS[found[2]], found[2]


def _require_unit(metric: str, kind: str, unit: str, where: str) -> None:
    """Refuse a unit in which the metric is not measured, so that no bound is met by meaning something else.

    Raises:
        ConfigurationError: It has such a unit.
    """
    is_time = unit in ("ms", "s", "min")
    is_part = unit == "pp" or (unit == "%" and kind in ("min", "max"))
    if is_time and metric not in TIMES:
        told = f"and of the metrics only {', '.join(TIMES)} are times"
    elif is_part and metric in (*TIMES, *MEASURES):
        told = f"but {metric} is no score between 0 and 1"
    else:
        return
    raise ConfigurationError(f"In {where}, {kind} is given as {_UNIT_OF[unit]}, {told}.")


def _confidence(value: Any, where: str) -> float:
    try:
        share = float(value)
    except (TypeError, ValueError):
        share = math.nan
    if not 0.5 <= share < 1:
        raise ConfigurationError(
            f"In {where}, confidence is {value!r}, but must lie between 0.5 and 1, such as 0.95."
        )
    return share


def project_gates(path: Path = PROJECT_FILE) -> list[Gate]:
    """Return the gates of the table ``[gate]`` of a project file; none where there is no file.

    Raises:
        ConfigurationError: The file is no TOML, or a gate has the wrong form.
    """
    import tomli

    try:
        table = (
            tomli.loads(path.read_text(encoding="utf-8-sig")).get("gate", {})
            if path.is_file()
            else {}
        )
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"The project file {path} cannot be read: {error}.") from error
    table = {
        name: value
        for name, value in table.items()
        if name not in ("gate", "stop_when_decided", "baselines")
    }
    return gates_of_table(table)
