"""The pages: a list of runs, a run, how two or more compare. Everything is read when it is asked for; nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from context_bench.errors import ContextBenchError
from context_bench.runs import open_run
from context_bench_compare.comparing import overview
from context_bench_compare.verdicts import Rules
from context_bench_html import charts
from context_bench_html.deciding import Difference, Trade
from context_bench_html.embedding import embedded
from context_bench_html.page import Opened, policy, report_page, template
from context_bench_html.payload import Texts
from context_bench_view.folder import RunFolder
from context_bench_view.guard import HEADERS, Guard


def application(folder: Path, token: str, address: str) -> Guard:
    """Return the application that serves a folder of runs.

    Args:
        folder: Where the run files lie.
        token: What the path of every request begins with.
        address: Host and port that the server is reached by.
    """
    pages = Pages(RunFolder(folder), f"/{token}")
    routes = [
        Route(f"/{token}/", _answered(pages.runs)),
        Route(f"/{token}/run/{{name}}", _answered(pages.run)),
        Route(f"/{token}/run/{{name}}/row/{{line}}", _answered(pages.row)),
        Route(f"/{token}/run/{{name}}/status", _answered(pages.status)),
        Route(f"/{token}/compare", _answered(pages.compare)),
    ]
    return Guard(Starlette(routes=routes), token, address)


def _answered(page: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """Return a page that says what is wrong in one line; starlette calls it on a thread of its own."""

    def answer(request: Request) -> Response:
        try:
            response = page(request)
        except ContextBenchError as error:
            response = PlainTextResponse(str(error), 422)
        response.headers.update({**HEADERS, "content-security-policy": policy(connects=True)})
        return response

    return answer


class Pages:
    """What each address shows.

    Args:
        folder: The runs.
        home: What every address begins with.
    """

    def __init__(self, folder: RunFolder, home: str) -> None:
        self._folder, self._home = folder, home

    def runs(self, request: Request) -> Response:
        """Return the list of runs; ``text`` and ``status`` filter it."""
        text, status = (request.query_params.get(name, "") for name in ("text", "status"))
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
        return HTMLResponse(template("runs.html", "context_bench_view").render(values))

    def run(self, request: Request) -> Response:
        """Return the report of a run; its rows' texts are fetched when they are opened."""
        path = self._path(request)
        if path is None:
            return _missing()
        shown = self._folder.shown(path)
        address = self._address(path.name)
        opened = Opened(Texts((), {}, {}), f"{address}/row/", f"{address}/status", f"{self._home}/")
        with open_run(path) as run:
            pictures = self._folder.pictures(path, run)
            return HTMLResponse(
                "".join(report_page(shown.result, shown.found, run, opened, pictures))
            )

    def row(self, request: Request) -> Response:
        """Return everything about a line of a run."""
        path, line = self._path(request), request.path_params["line"]
        found = (
            None if path is None or not line.isdecimal() else self._folder.detail(path, int(line))
        )
        return _missing() if found is None else _json(found)

    def status(self, request: Request) -> Response:
        """Return how far a run is."""
        path = self._path(request)
        return _missing() if path is None else _json(self._folder.status_of(path))

    def compare(self, request: Request) -> Response:
        """Return how the runs named by ``run`` compare, on the rows that they share; ``baseline`` names a system."""
        paths = [
            self._folder.path_of(name)
            for name in dict.fromkeys(request.query_params.getlist("run"))
        ]
        if not paths or None in paths:
            return _missing()
        with ExitStack() as stack:
            runs = [stack.enter_context(open_run(path)) for path in paths if path is not None]
            told = overview(runs, ("score",), Rules(), request.query_params.get("baseline") or None)
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
        return HTMLResponse(template("compare.html", "context_bench_view").render(values))

    def _path(self, request: Request) -> Path | None:
        return self._folder.path_of(request.path_params["name"])

    def _address(self, name: str) -> str:
        return f"{self._home}/run/{quote(name, safe='')}"


def _missing() -> Response:
    return PlainTextResponse("There is no such run or row in this folder.", 404)


def _json(value: Mapping[str, Any]) -> Response:
    return Response(str(embedded(value)), media_type="application/json")
