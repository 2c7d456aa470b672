"""From the records of summarisation datasets to examples; every function is pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench_huggingface import FIRST, Row
from context_bench_huggingface.columns import identity_of, text_in, text_of, texts_in
from context_bench_huggingface.layouts import rows_of

Record = Mapping[str, Any]
Example = dict[str, Any]


def multi_news(record: Record, row: Row = FIRST) -> Example:
    """Return a Multi-News example: the articles, a blank line between them."""
    articles = (part.strip() for part in text_in(record, "document", blank=True).split("|||||"))
    text = "\n\n".join(filter(None, articles))
    return _example(
        row.number, text, "Write one summary of these news articles.", [record["summary"]]
    )


def dialogsum(record: Record, row: Row = FIRST) -> Example:
    """Return a DialogSum example with all references of its dialogue.

    A record of the release has three; on the hub each is a record of its own, and those of one dialogue stand together.
    """
    keys = ("summary", "summary1", "summary2", "summary3")
    summaries = [each.get(key) for each in row.together or [record] for key in keys]
    ask = "Summarise this conversation in a sentence or two."
    return _example(
        identity_of(record, row, "id", "fname"),
        text_in(record, "dialogue", blank=True),
        ask,
        summaries,
    )


def qmsum(record: Record, row: Row = FIRST) -> Example | list[Example]:
    """Return a QMSum example: its query stands first in the input of SCROLLS, the transcript behind a blank line.

    A record of the release is a meeting with all its queries: it gives an example for each, the general ones first.
    """
    if "meeting_transcripts" in record:
        turns = rows_of(record["meeting_transcripts"])
        text = "\n".join(
            f"{turn['speaker']}: {text_in(turn, 'content', blank=True)}" for turn in turns
        )
        asked = [
            *rows_of(record.get("general_query_list")),
            *rows_of(record.get("specific_query_list")),
        ]
        return [
            _example(
                f"{row.number}_{number}", text, text_in(each, "query").strip(), [each.get("answer")]
            )
            for number, each in enumerate(asked)
        ]
    query, gap, transcript = text_in(record, "input").partition("\n\n")
    if not gap:
        raise ValueError("input has no blank line between the query and the transcript")
    return _example(
        identity_of(record, row, "id"), transcript.strip(), query.strip(), [record.get("output")]
    )


def summscreenfd(record: Record, row: Row = FIRST) -> Example:
    """Return a SummScreenFD example: an episode of SCROLLS, or one of the release, whose transcript and recap are lists of lines.

    The release has an edition cut into parts of words, which tells the name of each file. There the marks ``@@`` between
    the parts of a word come out; punctuation and names stay cut off as they are.
    """
    ask = "Write a recap of this episode of a series."
    if "Transcript" not in record:
        return _example(
            identity_of(record, row, "id"),
            text_in(record, "input", blank=True),
            ask,
            [record.get("output")],
        )
    transcript, recap = _lines(record, "Transcript"), _lines(record, "Recap")
    if "filename" not in record:
        return _example(row.number, transcript, ask, [recap])
    identity = text_in(record, "filename").removesuffix(".json")
    return _example(identity, transcript.replace("@@ ", ""), ask, [recap.replace("@@ ", "")])


def meetingbank(record: Record, row: Row = FIRST) -> Example | list[Example]:
    """Return a MeetingBank example; a meeting of the release gives one for each of its items.

    Read are the hub's columns, the files of splits of the release (``source`` in place of ``transcript``), and a meeting of its
    ``MeetingBank.json``. There the meeting's id is a key of the file: a record without one is named by its place.
    """
    ask = "Summarise this part of a council meeting."
    if "itemInfo" in record:
        meeting = identity_of(record, row, "id")
        items = {name: item for name, item in record["itemInfo"].items() if item is not None}
        return [
            {
                **_example(
                    f"{meeting}_{name}", _spoken(item["transcripts"]), ask, [item["Summary"]]
                ),
                "cluster": meeting,
            }
            for name, item in items.items()
        ]
    transcript = text_in(record, "transcript" if "transcript" in record else "source", blank=True)
    identity = identity_of(record, row, "uid", "id")
    example = _example(identity, transcript, ask, [record["summary"]])
    meeting = _meeting_of(identity)
    return {**example, "cluster": meeting} if meeting else example


def _meeting_of(identity: Any) -> str:
    """Return the meeting that an item's id names: council and day, before the item's own number.

    >>> _meeting_of("SeattleCityCouncil_06132016_Res 31669")
    'SeattleCityCouncil_06132016'
    """
    council, _, rest = str(identity or "").partition("_")
    day, mark, _ = rest.partition("_")
    return f"{council}_{day}" if mark and day.isdecimal() else ""


def govreport(record: Record, row: Row = FIRST) -> Example:
    """Return a GovReport example.

    A report of the release holds sections with titles, paragraphs and sections of their own. The summary of the
    Congressional Research Service is a list of paragraphs (``summary``), that of the Government Accountability Office a list
    of sections (``highlight``); all of their paragraphs are the reference, one after the other, without the titles.

    Read are also the columns that the authors' edition on the hub has (``launch/gov_report``): ``document`` and ``summary``,
    or ``document_sections`` and ``summary_sections``, whose paragraphs stand on lines of their own.
    """
    ask = "Summarise this report in about a page."
    if "reports" in record:
        report, summary = _sections(record["reports"]), texts_in(record, "summary")
    elif "highlight" in record:
        report = _sections(record["report"])
        summary = [
            text
            for section in rows_of(record["highlight"])
            for text in texts_in(section, "paragraphs")
        ]
    elif "document_sections" in record:
        report = [
            line
            for one in rows_of(record["document_sections"])
            for line in (one["title"] or "", *_paragraphs(one))
        ]
        summary = [line for one in rows_of(record["summary_sections"]) for line in _paragraphs(one)]
    elif "document" in record:
        text = text_in(record, "document", blank=True)
        return _example(identity_of(record, row, "id"), text, ask, [record["summary"]])
    else:
        return _example(row.number, text_in(record, "report", blank=True), ask, [record["summary"]])
    return _example(
        identity_of(record, row, "id"), "\n".join(filter(None, report)), ask, [" ".join(summary)]
    )


def _lines(record: Record, name: str) -> str:
    return record[name] if isinstance(record[name], str) else "\n".join(texts_in(record, name))


def _paragraphs(section: Record) -> list[str]:
    return [line for line in text_in(section, "paragraphs", blank=True).split("\n") if line.strip()]


def _spoken(turns: Any) -> str:
    return " ".join(text_in(turn, "text", blank=True).strip() for turn in rows_of(turns))


def _sections(part: Any) -> list[str]:
    """Return titles and paragraphs of a section, or of several, in the order in which they are read."""
    found: list[str] = []
    for section in [part] if isinstance(part, Mapping) else rows_of(part):
        found += [
            section["section_title"] or "",
            *texts_in(section, "paragraphs"),
            *_sections(section["subsections"]),
        ]
    return found


def _example(identity: Any, context: str, question: str, summaries: list[Any]) -> Example:
    found = (text_of(summary, "a summary") for summary in summaries)
    texts = list(dict.fromkeys(text.strip() for text in found if text and text.strip()))
    gold = {"answer": texts[0], "answers": texts} if texts else {}
    return {"id": identity, "context": context, "question": question, **gold}
