"""The pages: a list of runs, a run, how two or more compare. Everything is read when it is asked for. What is written are the notes
of persons, beside the run; run files are only read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlencode

from attrs import evolve, frozen
from markupsafe import Markup

from context_bench.console import escape_control
from context_bench.errors import ConfigurationError, ContextBenchError
from context_bench.runs import open_run
from context_bench_compare.comparing import overview
from context_bench_compare.entrants import contestants
from context_bench_compare.verdicts import Rules
from context_bench_html import charts
from context_bench_html.deciding import Difference, Trade
from context_bench_html.embedding import embedded, policy_hash
from context_bench_html.page import Opened, first_page, policy, report_page, template
from context_bench_html.payload import Texts
from context_bench_html.sample import MOST_LINES, add_texts
from context_bench_http.local_server import LocalRequest, LocalResponse, plain
from context_bench_view.folder import Listed, RunFolder, steady
from context_bench_view.lists import FIRST, PAGE, listed
from context_bench_view.notes import add_note, notes_of_row, notes_path, read_notes, set_tags
from context_bench_view.transcripts import Transcript
from context_bench_view.trend import drawn_trend, trends_of

_SCRIPT = (files("context_bench_view") / "static" / "runs.js").read_text("utf-8")
_SORTS: Mapping[str, Any] = {
    "date": lambda run: (run.created, run.name),
    "name": lambda run: run.name,
    "score": lambda run: -1.0 if run.best is None else run.best,
    "duration": lambda run: run.seconds or 0.0,
    "cost": lambda run: run.cost or 0.0,
    "tags": lambda run: run.tags,
}
_LARGEST_NOTE = 100_000
_SOON, _LATER = 2000, 10_000
"""Milliseconds until a page asks again: while a run goes on, and else."""


@frozen
class Address:
    """What a request asks for.

    Attributes:
        parts: The parts of its path.
        query: The values of its query, by name.
    """

    parts: tuple[str, ...]
    query: Mapping[str, list[str]]

    @classmethod
    def of(cls, request: LocalRequest) -> Address:
        """Return the address of a request."""
        parts = tuple(request.path.removeprefix("/").split("/"))
        return cls(parts, parse_qs(request.query, keep_blank_values=True))

    def last(self, name: str) -> str:
        """Return the last value of a name in the query; empty where there is none."""
        return self.query.get(name, [""])[-1]


class Pages:
    """What each address shows.

    Args:
        folder: Where the run files lie.
        token: What the path of every address begins with.
    """

    def __init__(self, folder: Path, token: str) -> None:
        self._folder = RunFolder(folder)
        self._home = f"/{token}"

    def answer(self, request: LocalRequest) -> LocalResponse:
        """Return the answer to a request, whose path has no token any more; what is wrong is told in one line."""
        try:
            address = Address.of(request)
            if request.method == "POST":
                response = steady(lambda: self._stored(address, request))
            else:
                response = steady(lambda: self._page(address))
        except ContextBenchError as error:
            response = plain(422, escape_control(error, lines=False))
        own = policy(connects=True).replace("script-src ", f"script-src {policy_hash(_SCRIPT)} ")
        headers = {**response.headers, "content-security-policy": own}
        return replace(response, headers=headers)

    def _page(self, address: Address) -> LocalResponse:
        match address.parts:
            case ("",):
                return self.runs(address)
            case ("compare",):
                return self.compare(address)
            case ("events",):
                return self.events()
            case ("run", name, "notes"):
                return self.notes(name, address)
            case ("run", name, "notes.jsonl"):
                return self.export(name)
            case ("run", name):
                return self.run(name, address)
            case ("run", name, "row", line):
                return self.row(name, line)
            case ("run", name, "row", line, "transcript"):
                return self.transcript(name, line, address)
            case ("run", name, "status"):
                return self.status(name)
        return _missing()

    def runs(self, address: Address) -> LocalResponse:
        """Return the list of runs; ``text``, ``status`` and ``tag`` filter it, ``sort`` orders it, ``group=tag`` groups it."""
        wanted = {name: address.last(name) for name in ("text", "status", "tag", "sort", "group")}
        every = self._folder.listed()
        chosen = [run for run in every if _is_wanted(run, wanted)]
        order = wanted["sort"].removeprefix("-")
        if order in _SORTS:
            chosen.sort(key=_SORTS[order], reverse=wanted["sort"].startswith("-"))
        shown = [(run, self._address(run.name)) for run in chosen]
        values = {
            "groups": _grouped(shown) if wanted["group"] == "tag" else [("", shown)],
            "count": len(chosen),
            "total": len(every),
            "wanted": wanted,
            "statuses": sorted({run.status for run in every}),
            "tags": sorted({tag for run in every for tag in run.tags}),
            "trends": [(trend, drawn_trend(trend)) for trend in trends_of(chosen)],
            "sorts": {name: _sort_address(wanted, name) for name in _SORTS},
            "home": f"{self._home}/",
            "runs_script": Markup(_SCRIPT),
        }
        return _html(template("runs.html", "context_bench_view").render(values))

    def events(self) -> LocalResponse:
        """Return how the runs of the list are, as an event: the browser connects again after the time that it names."""
        runs = self._folder.listed()
        is_running = any(run.status == "running" for run in runs)
        told = {"runs": [_told(run) for run in runs]}
        return _event("runs", told, _SOON if is_running else _LATER)

    def notes(self, name: str, address: Address) -> LocalResponse:
        """Return what persons say of a row of a run."""
        path = self._folder.path_of(name)
        if path is None:
            return _missing()
        key = {one: address.last(one) for one in ("dataset", "id", "repetition")}
        return _json({"notes": notes_of_row(path, key)})

    def export(self, name: str) -> LocalResponse:
        """Return all notes of a run as JSON lines."""
        path = self._folder.path_of(name)
        if path is None:
            return _missing()
        read_notes(path)  # what is no JSON is told here, and not passed on
        body = notes_path(path).read_bytes() if notes_path(path).is_file() else b""
        told = {"content-disposition": "attachment"}
        return LocalResponse(body, content_type="application/x-ndjson; charset=utf-8", headers=told)

    def _stored(self, address: Address, request: LocalRequest) -> LocalResponse:
        """Store what a person says of a row, or the tags of a run, and return it."""
        if address.parts[:1] != ("run",) or address.parts[2:] != ("notes",):
            return plain(405, "Only notes are stored.")
        path = self._folder.path_of(address.parts[1])
        if path is None:
            return _missing()
        kind = request.headers.get("content-type", "").partition(";")[0].strip()
        if kind != "application/json" or len(request.body) > _LARGEST_NOTE:
            return plain(415, "A note is a JSON object of at most 100 kB.")
        try:
            note = json.loads(request.body)
        except (ValueError, RecursionError):
            note = None
        if not isinstance(note, dict):
            raise ConfigurationError("A note is a JSON object.")
        if "tags" in note:
            return _json(set_tags(path, note))
        if not self._folder.has_row(path, note):
            return _missing()
        return _json(add_note(path, note))

    def run(self, name: str, asked: Address) -> LocalResponse:
        """Return the report of a run; its rows' texts are fetched when they are opened.

        Of a long run it lists a sample of the lines; ``lines`` asks for all, or for those of a kind, and ``page`` for one of
        their pages. As long as not all of its rows were read, it lists the first lines, and the page asks for the rest.
        """
        path = self._folder.path_of(name)
        if path is None:
            return _missing()
        address = self._address(path.name)
        opened = Opened(
            texts=Texts((), {}, {}),
            address=f"{address}/row/",
            status=f"{address}/status",
            home=f"{self._home}/",
            notes=f"{address}/notes",
        )
        if not asked.query and self._folder.is_long(path) and not self._folder.is_read(path):
            result, first = self._folder.first_lines(path, PAGE)
            opened = evolve(opened, sample=first, rest=FIRST)
            return _html("".join(first_page(result, opened)))
        shown = self._folder.shown(path)
        sample, pages = listed(shown.found, asked.last("lines"), asked.last("page"))
        opened = evolve(opened, sample=sample, pages=pages)
        with open_run(path) as run, run.snapshot():
            if len(shown.result.rows) > MOST_LINES:
                lines = shown.found if sample is None else sample.found
                if not lines.cells[0].responses:
                    add_texts(lines, shown.result.rows, run)
            pictures = self._folder.pictures(path, run)
            return _html("".join(report_page(shown.result, shown.found, run, opened, pictures)))

    def row(self, name: str, line: str) -> LocalResponse:
        """Return everything about a line of a run."""
        path = self._folder.path_of(name)
        found = None if path is None else self._folder.detail(path, line)
        if found is None or path is None:
            return _missing()
        for row in found["rows"]:
            if row["has_transcript"]:
                row["transcript"] = self._transcript_address(path.name, line, row["system"])
        return _json(found)

    def transcript(self, name: str, line: str, address: Address) -> LocalResponse:
        """Return what the agent of a row sent, and what was forwarded; ``system`` names the row, and ``request`` the request."""
        path = self._folder.path_of(name)
        rows = [] if path is None else self._folder.rows(path, line)
        wanted = [row for row in rows if row.system == address.last("system")]
        transcript = Transcript.of_output(wanted[0].output) if wanted else None
        if path is None or transcript is None:
            return _missing()
        count = len(transcript.requests)
        chosen = address.last("request")
        number = min(max(int(chosen) if chosen.isdecimal() and len(chosen) < 9 else 1, 1), count)
        others = [
            (row.system, self._transcript_address(path.name, line, row.system))
            for row in rows
            if row.output.get("transcript") is not None and row is not wanted[0]
        ]
        values = {
            "system": wanted[0].system,
            "id": wanted[0].example_id,
            "name": path.name,
            "home": f"{self._home}/",
            "run": self._address(path.name),
            "here": self._transcript_address(path.name, line, wanted[0].system),
            "others": others,
            "transcript": transcript,
            "number": number,
            "request": transcript.requests[number - 1] if count else None,
            "messages": transcript.marked(number) if count else [],
        }
        return _html(template("transcript.html", "context_bench_view").render(values))

    def _transcript_address(self, name: str, line: str, system: str) -> str:
        return f"{self._address(name)}/row/{line}/transcript?{urlencode({'system': system})}"

    def status(self, name: str) -> LocalResponse:
        """Return how far a run is, as an event."""
        path = self._folder.path_of(name)
        if path is None:
            return _missing()
        return _event("status", self._folder.status_of(path), _SOON)

    def compare(self, address: Address) -> LocalResponse:
        """Return how the runs named by ``run`` compare, on the rows that they share; ``baseline`` names a system."""
        paths = [self._folder.path_of(name) for name in dict.fromkeys(address.query.get("run", ()))]
        if not paths or None in paths:
            return _missing()
        with ExitStack() as stack:
            runs = [stack.enter_context(open_run(path)) for path in paths if path is not None]
            baseline = address.last("baseline") or None
            told = overview(runs, ("score",), Rules(), baseline)
            entrants, _ = contestants(runs, baseline)
        homes = {one.name: self._address(one.run.path.name) for one in entrants}
        lines = told.lines
        differences = [Difference(line.system, "score", line.found) for line in lines]
        values = {
            "differences": differences,
            "baseline": lines[0].baseline,
            "flipped": [(line.system, homes[line.system], line.flipped) for line in lines],
            "trade": Trade(told.front, told.ratios),
            "forest": charts.forest("forest", differences),
            "runs": [(run.path.name, self._address(run.path.name)) for run in runs],
            "home": f"{self._home}/",
        }
        return _html(template("compare.html", "context_bench_view").render(values))

    def _address(self, name: str) -> str:
        return f"{self._home}/run/{quote(name, safe='')}"


def _is_wanted(run: Listed, wanted: Mapping[str, str]) -> bool:
    if wanted["tag"] and wanted["tag"] not in run.tags:
        return False
    return run.has(wanted["text"]) and wanted["status"] in ("", run.status)


def _grouped(shown: Sequence[tuple[Listed, str]]) -> list[tuple[str, list[tuple[Listed, str]]]]:
    """Return the runs of each tag, and those without one last; a run with two tags is in both."""
    groups: dict[str, list[tuple[Listed, str]]] = {}
    for run, address in shown:
        for tag in run.tags or ("",):
            groups.setdefault(tag, []).append((run, address))
    names = sorted(groups, key=lambda tag: (not tag, tag))
    return [(name or "without a tag", groups[name]) for name in names]


def _sort_address(wanted: Mapping[str, str], name: str) -> str:
    """Return the query that sorts by a column; a second time, the other way round."""
    order = f"-{name}" if wanted["sort"] == name else name
    kept = {key: value for key, value in wanted.items() if value and key != "sort"}
    return "?" + urlencode({**kept, "sort": order})


def _told(run: Listed) -> dict[str, Any]:
    return {
        "name": run.name,
        "status": run.status,
        "state": run.sentence,
        "score": run.score_text,
        "duration": run.duration,
        "cost": run.cost_text,
        "tags": ", ".join(run.tags),
    }


def _event(name: str, value: Mapping[str, Any], retry: int) -> LocalResponse:
    """Return one server-sent event; the stream then ends, and the browser opens the next after so many milliseconds."""
    body = f"retry: {retry}\nevent: {name}\ndata: {embedded(value)}\n\n"
    return LocalResponse(body.encode(), content_type="text/event-stream; charset=utf-8")


def _missing() -> LocalResponse:
    return plain(404, "There is no such run or row in this folder.")


def _html(page: str) -> LocalResponse:
    body = page.encode("utf-8", "backslashreplace")
    return LocalResponse(body, content_type="text/html; charset=utf-8")


def _json(value: Mapping[str, Any]) -> LocalResponse:
    return LocalResponse(str(embedded(value)).encode(), content_type="application/json")
