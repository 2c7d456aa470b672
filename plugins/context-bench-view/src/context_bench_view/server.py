"""The pages: a list of runs, a run, how two or more compare. Everything is read when it is asked for; nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

from attrs import frozen

from context_bench.console import escape_control
from context_bench.errors import ContextBenchError
from context_bench.runs import open_run
from context_bench_compare.comparing import overview
from context_bench_compare.verdicts import Rules
from context_bench_html import charts
from context_bench_html.deciding import Difference, Trade
from context_bench_html.embedding import embedded
from context_bench_html.page import Opened, policy, report_page, template
from context_bench_html.payload import Texts
from context_bench_http.local_server import LocalRequest, LocalResponse, plain
from context_bench_view.folder import RunFolder


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
            response = self._page(Address.of(request))
        except ContextBenchError as error:
            response = plain(422, escape_control(error, lines=False))
        headers = {**response.headers, "content-security-policy": policy(connects=True)}
        return replace(response, headers=headers)

    def _page(self, address: Address) -> LocalResponse:
        match address.parts:
            case ("",):
                return self.runs(address)
            case ("compare",):
                return self.compare(address)
            case ("run", name):
                return self.run(name)
            case ("run", name, "row", line):
                return self.row(name, line)
            case ("run", name, "status"):
                return self.status(name)
        return _missing()

    def runs(self, address: Address) -> LocalResponse:
        """Return the list of runs; ``text`` and ``status`` filter it."""
        text = address.last("text")
        status = address.last("status")
        every = self._folder.listed()
        chosen = [run for run in every if run.has(text) and status in ("", run.status)]
        values = {
            "runs": [(run, self._address(run.name)) for run in chosen],
            "total": len(every),
            "text": text,
            "status": status,
            "statuses": sorted({run.status for run in every}),
            "home": f"{self._home}/",
        }
        return _html(template("runs.html", "context_bench_view").render(values))

    def run(self, name: str) -> LocalResponse:
        """Return the report of a run; its rows' texts are fetched when they are opened."""
        path = self._folder.path_of(name)
        if path is None:
            return _missing()
        shown = self._folder.shown(path)
        address = self._address(path.name)
        opened = Opened(Texts((), {}, {}), f"{address}/row/", f"{address}/status", f"{self._home}/")
        with open_run(path) as run:
            pictures = self._folder.pictures(path, run)
            return _html("".join(report_page(shown.result, shown.found, run, opened, pictures)))

    def row(self, name: str, line: str) -> LocalResponse:
        """Return everything about a line of a run."""
        path = self._folder.path_of(name)
        found = (
            None if path is None or not line.isdecimal() else self._folder.detail(path, int(line))
        )
        return _missing() if found is None else _json(found)

    def status(self, name: str) -> LocalResponse:
        """Return how far a run is."""
        path = self._folder.path_of(name)
        return _missing() if path is None else _json(self._folder.status_of(path))

    def compare(self, address: Address) -> LocalResponse:
        """Return how the runs named by ``run`` compare, on the rows that they share; ``baseline`` names a system."""
        paths = [self._folder.path_of(name) for name in dict.fromkeys(address.query.get("run", ()))]
        if not paths or None in paths:
            return _missing()
        with ExitStack() as stack:
            runs = [stack.enter_context(open_run(path)) for path in paths if path is not None]
            told = overview(runs, ("score",), Rules(), address.last("baseline") or None)
        lines = told.lines
        differences = [Difference(line.system, "score", line.found) for line in lines]
        values = {
            "differences": differences,
            "baseline": lines[0].baseline,
            "flipped": [(line.system, line.flipped) for line in lines],
            "trade": Trade(told.front, told.ratios),
            "forest": charts.forest("forest", differences),
            "runs": [(run.path.name, self._address(run.path.name)) for run in runs],
            "home": f"{self._home}/",
        }
        return _html(template("compare.html", "context_bench_view").render(values))

    def _address(self, name: str) -> str:
        return f"{self._home}/run/{quote(name, safe='')}"


def _missing() -> LocalResponse:
    return plain(404, "There is no such run or row in this folder.")


def _html(page: str) -> LocalResponse:
    body = page.encode("utf-8", "backslashreplace")
    return LocalResponse(body, content_type="text/html; charset=utf-8")


def _json(value: Mapping[str, Any]) -> LocalResponse:
    return LocalResponse(str(embedded(value)).encode(), content_type="application/json")
