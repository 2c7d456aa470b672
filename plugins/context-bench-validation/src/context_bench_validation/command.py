"""``context-bench evaluators validate``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from attrs import evolve

from context_bench.console import echo, warn, write_json
from context_bench.errors import ConfigurationError

if TYPE_CHECKING:
    from context_bench_validation.judgements import Judgements


@click.command()
@click.argument("name")
@click.option(
    "--against",
    "path",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File with judgements: .json, .jsonl, .csv or .tsv; or a run file that was rated in the viewer.",
)
@click.option(
    "--score", "key", metavar="KEY", help="Score to compare.  [default: the primary score]"
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the evaluator; repeatable.",
)
@click.option(
    "--baseline",
    default="length",
    show_default=True,
    metavar="NAME",
    help="Evaluator to compare with: 'length' counts words, 'none' is none.",
)
@click.option("--response", metavar="COLUMN", help="Own file: the response that was rated.")
@click.option(
    "--rating",
    "ratings",
    multiple=True,
    metavar="COLUMN",
    help="A dimension of the ratings; repeatable. Of a published file: only these.",
)
@click.option("--response-a", metavar="COLUMN", help="Own file: the first of two responses.")
@click.option("--response-b", metavar="COLUMN", help="Own file: the second of two responses.")
@click.option("--preferred", metavar="COLUMN", help="Own file: the vote, a, b or tie.")
@click.option(
    "--item", metavar="COLUMN", help="Own file: what rows share that are not independent."
)
@click.option(
    "--system",
    metavar="COLUMN",
    help="Own file: the system that wrote the response. Run file: the label of the rated system.",
)
@click.option(
    "--field",
    "fields",
    multiple=True,
    metavar="NAME=COLUMN",
    help="Own file: the column of a field of the example, such as answer=reference; repeatable.",
)
@click.option(
    "--where",
    "filters",
    multiple=True,
    metavar="COLUMN=VALUE",
    help="Only the records with this value, such as turn=1; repeatable.",
)
@click.option("--limit", "-n", type=click.IntRange(1), metavar="N", help="The first N records.")
@click.option(
    "--compares",
    is_flag=True,
    help="The evaluator compares the response with the field 'other'; above 0.5 it prefers the response.",
)
@click.option(
    "--tie-within",
    type=click.FloatRange(0),
    default=0.0,
    show_default=True,
    metavar="X",
    help="Votes: two scores that differ by at most X are a tie.",
)
@click.option(
    "--threshold",
    type=float,
    default=0.5,
    show_default=True,
    metavar="X",
    help="Ratings of two values: the score from which the evaluator answers yes.",
)
@click.option(
    "--scale",
    metavar="LOW-HIGH",
    help="Ratings: stretch a score from 0 to 1 to this scale, such as 1-5, for the weighted kappa.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 1, max_open=True),
    default=0.95,
    show_default=True,
    metavar="C",
    help="Of the intervals.",
)
@click.option(
    "--worst",
    type=click.IntRange(0),
    default=3,
    show_default=True,
    metavar="N",
    help="Rows of the strongest disagreement to show.",
)
@click.option("--max-workers", type=click.IntRange(1), metavar="N", help="Calls in flight.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def validate(**flags: Any) -> None:
    """Compare the scores of the evaluator NAME with judgements in a file, and with a simple evaluator beside it.

    The layouts of SummEval, LLMBar and MT-bench's human votes are known by their fields. For any other file name the columns:
    --response and --rating, or --response-a, --response-b and --preferred. No system is called: the responses are
    those of the file, or of the run whose rows were rated good or bad in the viewer. An evaluator that calls a model calls it once
    for each different response.
    """
    from context_bench_validation.rendering import as_text, to_dict
    from context_bench_validation.validating import (
        Settings,
        validate_preferences,
        validate_ratings,
    )

    path = flags["path"]
    judgements = _read(path, flags)
    settings = Settings(
        confidence=flags["confidence"],
        tie_within=flags["tie_within"],
        threshold=flags["threshold"],
        scale=None if flags["scale"] is None else _scale(flags["scale"]),
    )
    scorer, baseline = _scorers(flags)
    if judgements.ratings:
        scored, base = _scored_ratings(judgements, scorer, baseline)
        validation = validate_ratings(judgements, scored, base, settings, flags["worst"])
        both = [scored, base]
    else:
        pairs, base_pairs = _scored_pairs(judgements, scorer, baseline, compares=flags["compares"])
        validation = validate_preferences(judgements, pairs, base_pairs, settings, flags["worst"])
        both = [pairs.first, pairs.second]
        both += [] if base_pairs is None else [base_pairs.first, base_pairs.second]
    used = [one for one in both if one is not None]
    notes = (*validation.notes, *_unscored(used))
    validation = evolve(validation, notes=notes)
    if flags["as_json"]:
        write_json(to_dict(validation, judgements, used, str(path)))
    else:
        echo(as_text(validation, judgements, used, path.name, settings))


def _read(path: Path, flags: Mapping[str, Any]) -> Judgements:
    from context_bench_validation.layouts import layout_of
    from context_bench_validation.own_columns import Columns, read_columns
    from context_bench_validation.records import read_records
    from context_bench_validation.viewer_notes import notes_of, read_notes, read_rated_run

    notes = notes_of(path)
    records = read_records(path) if notes is None else read_notes(notes)
    for text in flags["filters"]:
        column, value = _parted(text, "--where")
        records = [record for record in records if str(record.get(column)) == value]
    if not records:
        raise ConfigurationError(f"{path} has no record that --where selects.")
    records = records[: flags["limit"]]
    if notes is not None:
        rated = read_rated_run(notes, records, flags["system"])
        return _with_dimensions(rated, flags["ratings"])
    reader = layout_of(records)
    columns = Columns(
        response=flags["response"],
        ratings=flags["ratings"],
        response_a=flags["response_a"],
        response_b=flags["response_b"],
        preferred=flags["preferred"],
        item=flags["item"],
        system=flags["system"],
        fields=dict(_parted(text, "--field") for text in flags["fields"]),
    )
    named = set(columns.used) - set(columns.ratings)
    if reader is None or named:
        return read_columns(records, columns)
    return _with_dimensions(reader(records), columns.ratings)


def _with_dimensions(judgements: Judgements, wanted: tuple[str, ...]) -> Judgements:
    """Return judgements with the wanted dimensions only; all if none is named."""
    unknown = [name for name in wanted if name not in judgements.dimensions]
    if unknown:
        known = ", ".join(judgements.dimensions) or "none, for it has votes"
        raise ConfigurationError(f"The file has no rating of {unknown[0]!r}. It has: {known}.")
    if not wanted:
        return judgements
    ratings = tuple(
        evolve(rating, ratings={name: rating.ratings[name] for name in wanted})
        for rating in judgements.ratings
    )
    return evolve(judgements, ratings=ratings)


def _scorers(flags: Mapping[str, Any]) -> tuple[Any, Any]:
    from context_bench_validation.scoring import Scorer

    options = dict(_parted(text, "--option") for text in flags["options"])
    workers = flags["max_workers"]
    scorer = Scorer(flags["name"], options, flags["key"], workers)
    if flags["baseline"] in ("none", flags["name"]):
        return scorer, None
    return scorer, Scorer(flags["baseline"], max_workers=workers)


def _scored_ratings(judgements: Judgements, scorer: Any, baseline: Any) -> tuple[Any, Any]:
    from context_bench_validation.scoring import score_answers

    answers = [rating.answer for rating in judgements.ratings]
    base = None if baseline is None else score_answers(baseline, answers, warn)
    return score_answers(scorer, answers, warn), base


def _scored_pairs(
    judgements: Judgements, scorer: Any, baseline: Any, *, compares: bool
) -> tuple[Any, Any]:
    """Return the scores of both responses of each vote. The responses of an evaluator are scored in one go."""
    from context_bench_validation.scoring import score_answers
    from context_bench_validation.validating import PairScores

    first = [vote.first for vote in judgements.preferences]
    second = [vote.second for vote in judgements.preferences]

    def of(one: Any) -> PairScores:
        both = score_answers(one, [*first, *second], warn)
        return PairScores(
            evolve(both, values=both.values[: len(first)]),
            evolve(both, values=both.values[len(first) :], reasons={}),
        )

    base = None if baseline is None else of(baseline)
    if compares:
        return PairScores(score_answers(scorer, first, warn), None), base
    return of(scorer), base


def _unscored(scored: list[Any]) -> list[str]:
    notes = []
    for one in scored:
        for reason, count in one.reasons.items():
            responses = "response has" if count == 1 else "responses have"
            notes.append(
                f"{one.name}: {count} {responses} no score, and their rows are left out: {reason}"
            )
    return notes


def _parted(text: str, flag: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise ConfigurationError(f"{flag} must be NAME=VALUE, got {text!r}.")
    return name, value


def _scale(text: str) -> tuple[int, int]:
    low, _, high = text.partition("-")
    if not (low.isdigit() and high.isdigit() and int(low) < int(high) <= int(low) + 100):
        raise ConfigurationError(f"--scale must be LOW-HIGH, such as 1-5, got {text!r}.")
    return int(low), int(high)
