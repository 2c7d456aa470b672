"""The viewer: what it shows, whom it refuses, and that it changes nothing."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

from context_bench import evaluate
from context_bench.cli import execute
from context_bench.runs import Run
from context_bench.store.rows import RowReader
from context_bench_http.local_server import HEADERS, Guard, LocalRequest, respond
from context_bench_view.folder import RunFolder
from context_bench_view.server import Pages
from context_bench_view.transcripts import marked_text

PORT = 4321
ADDRESS = f"127.0.0.1:{PORT}"
TOKEN = "a-token-of-this-test"
ATTACK = "</script><img src=x onerror=window.pwned=1><!--"


class Same:
    """Whether the response is the answer."""

    name = "same"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        return {"same": float(original["answer"] == processed["response"])}


class Half:
    """Answers every, or every second example."""

    def __init__(self, name: str, every: int = 1) -> None:
        self.name, self._every = name, every

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": example["answer"] if int(example["id"]) % self._every == 0 else ATTACK}


def asked(
    app: Any, path: str, method: str = "GET", query: str = "", **headers: str
) -> tuple[int, dict[str, str], str]:
    """Return status, headers and body of an answer, without a socket."""
    return sent(app, path, method, query, b"", **headers)


def sent(
    app: Any, path: str, method: str, query: str, content: bytes, **headers: str
) -> tuple[int, dict[str, str], str]:
    told = {"host": ADDRESS} | {name.replace("_", "-"): value for name, value in headers.items()}
    guard = Guard(hosts=("127.0.0.1",), port=PORT, secret=TOKEN, methods=("GET", "HEAD", "POST"))
    target = f"{path}?{query}" if query else path
    answer = respond(app.answer, guard, method=method, raw_path=target, headers=told, body=content)
    shown = {**HEADERS, **answer.headers, "content-type": answer.content_type}
    return answer.status, shown, answer.body.decode()


def examples(count: int = 30) -> list[dict[str, Any]]:
    return [
        {"id": str(n), "context": "a b c", "question": f"{ATTACK} {n}", "answer": f"number {n}"}
        for n in range(count)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs")
    evaluate(
        [Half("all"), Half("half", 2)],
        examples(),
        [Same()],
        progress=False,
        run_file=path / "one.sqlite",
    )
    evaluate(Half("third", 3), examples(), [Same()], progress=False, run_file=path / "a run.sqlite")
    (path / "broken.sqlite").write_bytes(b"no database")
    (path.parent / "secret.sqlite").write_bytes(b"secret")
    return path


@pytest.fixture(scope="module")
def app(folder: Path) -> Any:
    return Pages(folder, TOKEN)


def test_the_list_shows_every_run_and_filters(app: Any) -> None:
    status, headers, body = asked(app, f"/{TOKEN}/")
    assert status == 200
    assert headers["cache-control"] == "no-store"
    assert f'href="/{TOKEN}/run/one.sqlite"' in body
    assert f'href="/{TOKEN}/run/a%20run.sqlite"' in body
    assert "broken.sqlite" in body
    assert 'href="/' + TOKEN + '/run/broken.sqlite"' not in body
    assert "60 rows: complete." in body
    _, _, body = asked(app, f"/{TOKEN}/", query="text=third")
    assert "1 of 3 runs" in body
    _, _, body = asked(app, f"/{TOKEN}/", query="status=broken")
    assert "1 of 3 runs" in body


def test_a_run_is_the_report_and_its_texts_are_fetched(app: Any) -> None:
    status, headers, body = asked(app, f"/{TOKEN}/run/one.sqlite")
    assert status == 200
    assert "connect-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert "<img" not in body
    rows = json.loads(re.findall(r'id="rows-data">(.*?)</script>', body, flags=re.DOTALL)[0])
    assert rows["address"] == f"/{TOKEN}/run/one.sqlite/row/"
    status, headers, body = asked(app, rows["address"] + rows["line"][1])
    assert (status, headers["content-type"]) == (200, "application/json")
    assert [row["response"] for row in json.loads(body)["rows"]] == ["number 1", ATTACK]
    assert "<" not in body


@pytest.mark.parametrize(
    "line", ["0-30-0", "0-1-1", "1", "0--1-0", "x", "0-1e3-0", "0-99999999999999999999-0"]
)
def test_a_row_that_is_not_there_is_told(app: Any, line: str) -> None:
    assert asked(app, f"/{TOKEN}/run/one.sqlite/row/{line}")[0] == 404


def test_runs_are_compared_as_compare_does(app: Any, folder: Path) -> None:
    from context_bench.runs import open_run
    from context_bench_compare.comparing import compare_runs
    from context_bench_compare.verdicts import Rules

    status, _, body = asked(app, f"/{TOKEN}/compare", query="run=one.sqlite&run=a+run.sqlite")
    assert status == 200
    with open_run(folder / "one.sqlite") as one, open_run(folder / "a run.sqlite") as other:
        lines = compare_runs([one, other], ("score",), Rules())
    assert {line.system for line in lines} == {"half", "third"}
    assert all(f'<span class="word {line.found.word}">' in body for line in lines)
    assert "regressed: 1, 3, 5" in re.sub("<[^>]*>", "", body)
    for label in ("half", "third"):
        [line] = [line for line in lines if line.system == label]
        [section] = re.findall(rf"<h3>{label}</h3>(.*?)(?:<h3>|</section>)", body, re.DOTALL)
        for name in line.flipped["regressed"]:
            [run] = re.findall(rf'href="/{TOKEN}/run/([^"#]*)#rows[^"]*;row={name}"', section)
            with open_run(folder / unquote(run)) as opened:
                assert label in {entry["label"] for entry in opened.systems}


def test_compared_runs_show_the_trade_off_and_the_ratios(tmp_path: Path) -> None:
    from context_bench.runs import open_run
    from context_bench_compare.comparing import overview
    from context_bench_compare.verdicts import Rules
    from context_bench_html.charts import tradeoff
    from context_bench_html.svg import number

    class Kept(Half):
        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            kept = " ".join("w" for _ in range(int(example["id"]) % 7 + 9 // self._every))
            usage = {
                "prompt_tokens": 30 // self._every + int(example["id"]) % 5,
                "completion_tokens": 3,
            }
            return super().process(example) | {"context": kept, "usage": usage}

    for name, every in (("first", 1), ("second", 2)):
        path = tmp_path / f"{name}.sqlite"
        evaluate(Kept(name, every), examples(), [Same()], progress=False, run_file=path)
    query = "run=first.sqlite&run=second.sqlite"
    status, _, body = asked(Pages(tmp_path, TOKEN), f"/{TOKEN}/compare", query=query)
    assert status == 200
    with open_run(tmp_path / "first.sqlite") as one, open_run(tmp_path / "second.sqlite") as other:
        told = overview([one, other], ("score",), Rules())
    assert told.front is not None
    assert str(tradeoff("pareto", told.front)) in body
    [ratio] = told.ratios
    cells = (number(ratio.value), number(ratio.baseline_value), number(ratio.difference, "+"))
    assert "".join(f"<td>{cell}</td>" for cell in cells) in body


def test_one_system_alone_cannot_be_compared(app: Any) -> None:
    status, _, body = asked(app, f"/{TOKEN}/compare", query="run=a+run.sqlite")
    assert status == 422
    assert "one system only" in body


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/one.sqlite",
        f"/{TOKEN}x/",
        f"/x{TOKEN}/",
        "//",
        f"/%2e%2e/{TOKEN}/",
        f"/{TOKEN[:-1]}/",
    ],
)
def test_without_the_token_nothing_is_answered(app: Any, path: str) -> None:
    status, headers, body = asked(app, path)
    assert status == 403
    assert "token" in body
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": f"https://{ADDRESS}"},
        {"host": "evil.example"},
        {"host": "localhost:4321"},
        {"host": "127.0.0.1"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
    ids=lambda headers: " ".join(f"{name}={value}" for name, value in headers.items()),
)
def test_other_pages_and_names_are_refused(app: Any, headers: dict[str, str]) -> None:
    assert asked(app, f"/{TOKEN}/", **headers)[0] == 403
    assert asked(app, f"/{TOKEN}/run/one.sqlite/row/0-1-0", **headers)[0] == 403


def test_its_own_pages_are_not_refused(app: Any) -> None:
    headers = {"origin": f"http://{ADDRESS}", "sec_fetch_site": "same-origin"}
    assert asked(app, f"/{TOKEN}/run/one.sqlite/row/0-1-0", **headers)[0] == 200
    assert "access-control-allow-origin" not in asked(app, f"/{TOKEN}/", **headers)[1]


def noted(app: Any, name: str, note: Any, **headers: str) -> tuple[int, dict[str, str], str]:
    """Send a note about a run of the folder."""
    content = note if isinstance(note, bytes) else json.dumps(note).encode()
    kind = {"content_type": "application/json", **headers}
    return sent(app, f"/{TOKEN}/run/{name}/notes", "POST", "", content, **kind)


@pytest.fixture
def reviewed(folder: Path, tmp_path: Path) -> Path:
    """Return a folder with a copy of a run, to write notes beside."""
    shutil.copyfile(folder / "one.sqlite", tmp_path / "one.sqlite")
    return tmp_path


ROW = {"dataset": "", "id": "3", "repetition": 0}


def test_a_note_is_stored_beside_the_run_and_exported(reviewed: Path) -> None:
    app = Pages(reviewed, TOKEN)
    before = (reviewed / "one.sqlite").read_bytes()
    note = {**ROW, "rating": "bad", "note": f"wrong {ATTACK}", "who": "Ana"}
    status, _, body = noted(app, "one.sqlite", note)
    assert status == 200
    assert "<" not in body
    query = "dataset=&id=3&repetition=0"
    found = json.loads(asked(app, f"/{TOKEN}/run/one.sqlite/notes", query=query)[2])["notes"]
    assert [one["note"] for one in found] == [note["note"]]
    other = asked(app, f"/{TOKEN}/run/one.sqlite/notes", query="dataset=&id=4&repetition=0")[2]
    assert json.loads(other)["notes"] == []
    status, headers, body = asked(app, f"/{TOKEN}/run/one.sqlite/notes.jsonl")
    assert (status, headers["content-disposition"]) == (200, "attachment")
    [line] = map(json.loads, body.splitlines())
    assert {name: line[name] for name in note} == note
    assert line["run"] == "one.sqlite"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", line["when"])
    assert body == (reviewed / "one.sqlite.notes.jsonl").read_text("utf-8")
    assert (reviewed / "one.sqlite").read_bytes() == before


@pytest.mark.parametrize(
    ("note", "status"),
    [
        ({**ROW, "rating": "great"}, 422),
        ({**ROW, "rating": "", "note": "  "}, 422),
        ({**ROW, "rating": "good", "note": "x" * 10_001}, 422),
        ({**ROW, "rating": "good", "note": 3}, 422),
        ({**ROW, "id": "none", "rating": "good"}, 404),
        ({"rating": "good"}, 404),
        (["good"], 422),
        (b"not json", 422),
        (b"[" * 100_001, 415),
        ({"tags": "one"}, 422),
        ({"tags": [1]}, 422),
        ({"tags": ["x"] * 21}, 422),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_no_note_is_refused_and_nothing_is_stored(
    reviewed: Path, note: Any, status: int
) -> None:
    assert noted(Pages(reviewed, TOKEN), "one.sqlite", note)[0] == status
    assert not (reviewed / "one.sqlite.notes.jsonl").exists()


@pytest.mark.parametrize(
    "headers",
    [
        {"content_type": "text/plain"},
        {"content_type": "application/x-www-form-urlencoded"},
        {"origin": "http://evil.example"},
        {"sec_fetch_site": "cross-site"},
    ],
    ids=lambda headers: " ".join(headers.values()),
)
def test_other_pages_store_nothing(reviewed: Path, headers: dict[str, str]) -> None:
    note = {**ROW, "rating": "good"}
    assert noted(Pages(reviewed, TOKEN), "one.sqlite", note, **headers)[0] in (403, 415)
    assert not (reviewed / "one.sqlite.notes.jsonl").exists()


def test_notes_that_somebody_broke_are_told_with_their_line(reviewed: Path) -> None:
    (reviewed / "one.sqlite.notes.jsonl").write_text('{"id": "3"}\nnot json\n')
    app = Pages(reviewed, TOKEN)
    status, _, body = asked(app, f"/{TOKEN}/run/one.sqlite/notes.jsonl")
    assert status == 422
    assert "one.sqlite.notes.jsonl, line 2" in body
    assert asked(app, f"/{TOKEN}/")[0] == 200


def test_runs_are_tagged_filtered_and_grouped(reviewed: Path, folder: Path) -> None:
    shutil.copyfile(folder / "a run.sqlite", reviewed / "two.sqlite")
    app = Pages(reviewed, TOKEN)
    assert noted(app, "one.sqlite", {"tags": ["nightly", " main ", "main"]})[0] == 200
    assert RunFolder(reviewed).listed()[1].tags == ("nightly", "main")
    _, _, body = asked(app, f"/{TOKEN}/", query="tag=nightly")
    assert "1 of 2 runs" in body
    _, _, body = asked(app, f"/{TOKEN}/", query="group=tag")
    assert re.findall(r"<h2>(.*?)</h2>", body) == ["main", "nightly", "without a tag"]
    noted(app, "one.sqlite", {"tags": []})
    assert RunFolder(reviewed).listed()[1].tags == ()


def test_the_list_has_date_score_duration_and_a_trend(reviewed: Path, folder: Path) -> None:
    shutil.copyfile(folder / "one.sqlite", reviewed / "two.sqlite")
    listed = RunFolder(reviewed).listed()
    assert listed[0].scores == (("all", 1.0), ("half", 0.5))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", listed[0].date)
    assert listed[0].seconds is not None
    assert listed[0].seconds >= 0
    _, _, body = asked(Pages(reviewed, TOKEN), f"/{TOKEN}/")
    assert "all 1.0000, half 0.5000" in body
    assert 'aria-label="Scores of 2 runs' in body
    assert body.count("<circle") == 4 + 2  # two points of each line, and a mark beside its name


def test_the_list_has_the_interval_of_each_mean(tmp_path: Path) -> None:
    examples = [{"id": str(number), "answer": "a"} for number in range(40)]
    answers = named("most", lambda example: "b" if int(example["id"]) % 4 == 0 else "a")
    evaluate(answers, examples, [Same()], progress=False, run_file=tmp_path / "one.sqlite")
    [run] = RunFolder(tmp_path).listed()
    assert run.score_text == "most 0.7500 (0.5981 to 0.8581)"  # Wilson's, of 30 among 40


def test_the_list_is_sorted_by_its_columns(folder: Path) -> None:
    app = Pages(folder, TOKEN)
    names = {}
    for sort in ("score", "-score", "name"):
        _, _, body = asked(app, f"/{TOKEN}/", query=f"sort={sort}")
        names[sort] = re.findall(r'<tr data-run="(.*?)"', body)
    assert names["-score"][0] == "one.sqlite"
    assert names["score"] == names["-score"][::-1]
    assert names["name"] == sorted(names["name"])


def test_the_list_is_told_by_an_event_what_changed(app: Any) -> None:
    status, headers, body = asked(app, f"/{TOKEN}/events")
    assert (status, headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    told = {run["name"]: run for run in event(body, "runs")["runs"]}
    assert told["one.sqlite"]["state"] == "60 rows: complete."
    assert told["one.sqlite"]["score"] == "all 1.0000, half 0.5000"
    assert "refresh" not in asked(app, f"/{TOKEN}/")[2]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_only_reading_is_possible(app: Any, method: str) -> None:
    assert asked(app, f"/{TOKEN}/", method=method)[0] == 405


@pytest.mark.parametrize(
    "name",
    ["../secret.sqlite", "..%2fsecret.sqlite", "%2e%2e%2fsecret.sqlite", "..\\secret.sqlite", "/etc/passwd", "one.sqlite%00",
     "./one.sqlite", ".", "..", "one", "ONE.sqlite", "one.sqlite/../../secret.sqlite", "\u2024\u2024/secret.sqlite"],
)  # fmt: skip
def test_no_other_file_can_be_had(app: Any, name: str) -> None:
    for path in (name, quote(name, safe=""), quote(name)):
        for tail in ("", "/row/0-0-0", "/status"):
            status, _, body = asked(app, f"/{TOKEN}/run/{path}{tail}")
            assert status in (404, 422), (path, tail)
            assert "secret" not in body.replace(name, "")
    status, _, body = asked(app, f"/{TOKEN}/compare", query=f"run={quote(name, safe='')}")
    assert status == 404


def test_a_run_that_changes_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session begins or ends in the moment of the request."""
    path = tmp_path / "one.sqlite"
    evaluate(Half("all"), examples(3), [Same()], progress=False, run_file=path)
    snapshot = Run.snapshot
    changes = iter([1, 2])

    @contextmanager
    def changed(self: Run) -> Iterator[None]:
        with snapshot(self):
            yield
            if change := next(changes, None):
                os.utime(path, (change, change))

    monkeypatch.setattr(Run, "snapshot", changed)
    app = Pages(tmp_path, TOKEN)
    assert "3 rows: complete." in asked(app, f"/{TOKEN}/")[2]
    assert next(changes, None) is None
    changes = iter([11, 12])
    assert asked(app, f"/{TOKEN}/run/one.sqlite")[0] == 200
    changes = iter(range(101, 200))
    status, _, body = asked(app, f"/{TOKEN}/run/one.sqlite")
    assert (status, "was changed while it was read" in body) == (422, True)


def test_a_broken_file_is_told_in_one_line(app: Any) -> None:
    status, headers, body = asked(app, f"/{TOKEN}/run/broken.sqlite")
    assert status == 422
    assert headers["content-type"].startswith("text/plain")
    assert "broken.sqlite" in body


def test_looking_changes_no_run(app: Any, folder: Path) -> None:
    before = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    for path in ("", "run/one.sqlite", "run/one.sqlite/row/0-3-0", "run/one.sqlite/status"):
        assert asked(app, f"/{TOKEN}/{path}")[0] == 200
    assert {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()
    } == before


def test_the_numbers_and_the_rows_of_a_run_that_goes_on_are_of_one_moment(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from context_bench_view import folder as module

    path = tmp_path / "live.sqlite"
    shutil.copyfile(folder / "one.sqlite", path)
    read = module.read
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("UPDATE run SET status = 'running'")
        writer.commit()

        def read_late(*read_of: Any) -> Any:
            last = "(SELECT max(id) FROM responses)"
            writer.execute(f"DELETE FROM evaluations WHERE response = {last}")
            writer.execute(f"DELETE FROM scores WHERE response = {last}")
            writer.execute(f"DELETE FROM responses WHERE id = {last}")
            writer.commit()
            return read(*read_of)

        monkeypatch.setattr(module, "read", read_late)
        shown = RunFolder(tmp_path).shown(path)
    told = {label: values["num_rows"] for label, values in shown.result.summary.items()}
    rows = {cells.label: sum(row is not None for row in cells.rows) for cells in shown.found.cells}
    assert rows == told == {"all": 30, "half": 30}


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "long.sqlite"
    examples = [{"id": f"q{number}", "question": f"What is {number}?"} for number in range(2_300)]

    def other(example: dict[str, Any]) -> str:
        if example["id"] == "q7":
            raise RuntimeError("none")
        return "yes" if example["id"] == "q2299" else "no"

    systems = [named("one", lambda example: "no"), named("two", other)]
    evaluate(systems, examples, [], progress=False, run_file=path)
    return path


def named(name: str, function: Any) -> Any:
    function.__name__ = name
    return function


def test_a_long_run_is_listed_by_page(long_run: Path) -> None:
    app = Pages(long_run.parent, TOKEN)

    def rows(query: str) -> tuple[Any, str]:
        request = LocalRequest("GET", "/run/long.sqlite", query, {}, b"")
        body = app.answer(request).body.decode()
        found = re.findall(r'id="rows-data">(.*?)</script>', body, flags=re.DOTALL)[0]
        return json.loads(found), body

    first, body = rows("")
    assert first["id"] == [f"q{number}" for number in range(500)]
    assert first["question"][0] == "What is 0?"
    assert 'id="rest" role="status"><a href="?lines=all&amp;page=1">' in body
    again, body = rows("lines=all&page=1")
    assert (again["line"], again["state"]) == (first["line"], first["state"])
    assert "<strong>two</strong> against one" in body
    assert 'id="rest"' not in body
    sample, body = rows("")
    assert len(sample["id"]) == len(sample["question"]) == 2_000
    assert "q7" in sample["id"]
    assert "2,000 of 2,300 lines are listed here: all 1 with a failure" in body
    assert 'href="?lines=all&amp;page=1#rows">all (2,300)</a>' in body
    last, body = rows("lines=all&page=99")
    assert last["id"] == [f"q{number}" for number in range(2_000, 2_300)]
    assert last["line"] == [f"0-{number}-0" for number in range(2_000, 2_300)]
    assert last["question"][0] == "What is 2000?"
    assert last["systems"][1]["response"][-1] == "yes"
    assert "previous page" in body
    assert "next page" not in body
    failed, body = rows("lines=failed")
    assert (failed["id"], failed["line"]) == (["q7"], ["0-7-0"])
    assert "Page 1 of 1 of failed lines: 1 of 2,300 are listed here." in body
    for query in ("lines=nothing&page=x", "page=-1"):
        assert rows(query)[0]["id"] == sample["id"]
    request = LocalRequest("GET", "/run/long.sqlite/row/0-2299-0", "", {}, b"")
    assert json.loads(app.answer(request).body)["rows"][1]["response"] == "yes"


def test_the_list_and_the_first_page_of_a_long_run_read_few_rows(
    long_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Any] = []
    original = RowReader._row
    monkeypatch.setattr(RowReader, "_row", lambda *given: read.append(given) or original(*given))
    app = Pages(long_run.parent, TOKEN)
    body = app.answer(LocalRequest("GET", "/", "", {}, b"")).body.decode()
    assert "4600 rows: complete." in body
    assert not read
    app.answer(LocalRequest("GET", "/run/long.sqlite", "", {}, b""))
    assert 1_000 <= len(read) <= 1_002
    read.clear()
    app.answer(LocalRequest("GET", "/run/long.sqlite/row/0-2299-0", "", {}, b""))
    assert len(read) == 2


def test_a_run_that_goes_on_is_followed(tmp_path: Path) -> None:
    path, seen = tmp_path / "live.sqlite", []
    folder = RunFolder(tmp_path)
    app = Pages(tmp_path, TOKEN)

    def system(example: dict[str, Any]) -> str:
        if example["id"] in ("10", "29") and path.exists():
            [listed] = folder.listed()
            told = event(asked_on_a_thread(app, f"/{TOKEN}/run/live.sqlite/status"), "status")
            seen.append((listed.status, told["status"], told["rows_done"]))
        return str(example["answer"])

    evaluate(system, examples(), [Same()], progress=False, run_file=path)
    assert seen
    assert {(listed, told) for listed, told, _ in seen} == {("running", "running")}
    counts = [done for *_, done in seen]
    assert counts == sorted(counts)
    [listed] = folder.listed()
    assert listed.status == "finished"
    last = event(asked(app, f"/{TOKEN}/run/live.sqlite/status")[2], "status")
    assert last["rows_done"] == 30


def event(body: str, name: str) -> Any:
    """Return what the one server-sent event of a body says."""
    retry, kind, data = body.strip().split("\n")
    assert re.fullmatch(r"retry: \d+", retry)
    assert kind == f"event: {name}"
    return json.loads(data.removeprefix("data: "))


def asked_on_a_thread(app: Any, path: str) -> str:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asked, app, path).result()[2]


@pytest.fixture
def server(folder: Path) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "context_bench", "view", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def test_the_command_prints_an_address_of_this_machine_that_answers(server: str) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", server)
    with urllib.request.urlopen(server, timeout=60) as answer:
        assert b"one.sqlite" in answer.read()
    with (
        pytest.raises(urllib.error.HTTPError) as refused,
        urllib.request.urlopen(server[:-5], timeout=60),
    ):
        pass
    assert refused.value.code == 403
    refused.value.close()


def test_a_folder_that_is_not_there_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["view", str(tmp_path / "none")]) == 2
    assert "There is no folder" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["99999999", "-5"])
def test_a_port_that_cannot_be_had_is_told(
    tmp_path: Path, port: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["view", str(tmp_path), "--port", port]) == 2
    assert "cannot be listened on" in capsys.readouterr().err


class Recording:
    """Answers with a transcript of two requests, as an agent stores it."""

    name = "recording"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        messages = [
            {"role": "user", "tokens": 2, "text": f"do {ATTACK}"},
            {"role": "tool", "tokens": 4, "text": "one two three\nfour"},
            {"role": "tool", "tokens": 3, "text": "one three five"},
            {"role": "tool", "tokens": 9, "length": 900},
        ]
        requests: list[dict[str, Any]] = [
            {"sent": {"same": 0, "more": [0]}, "received": {"same": 0, "more": [0]}},
            {"sent": {"same": 1, "more": [1, 3]}, "received": {"same": 1, "more": [2]}},
            {"sent": {"same": 1, "more": []}, "side": True},
        ]
        transcript = {"messages": messages, "requests": requests, "left_out": 2}
        if example["id"] == "1":
            requests[0]["sent"]["more"] = [7]
        return {"response": "done", "transcript": transcript}


def test_a_transcript_shows_what_was_removed_and_added_in_each_request(tmp_path: Path) -> None:
    evaluate(
        [Recording(), Half("plain")],
        examples(2),
        [Same()],
        progress=False,
        run_file=tmp_path / "agents.sqlite",
    )
    pages = Pages(tmp_path, TOKEN)
    rows = json.loads(asked(pages, f"/{TOKEN}/run/agents.sqlite/row/0-0-0")[2])["rows"]
    assert [row["has_transcript"] for row in rows] == [True, False]
    address, _, query = rows[0]["transcript"].partition("?")
    status, headers, body = asked(pages, address, query=query + "&request=2")
    assert status == 200
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "<img" not in body
    assert "one<del> two</del> three<del>\nfour</del><ins> five</ins>" in body
    assert "(900 characters, not stored)" in body
    table = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body))
    assert "1 1 2 2 0" in table
    assert "2 3 15 5 2" in table
    assert "3 (side request) 1 2 nothing 0" in table
    assert "2 more requests are not stored" in body
    assert asked(pages, address, query="system=plain")[0] == 404
    assert asked(pages, address.replace("/0-0-0/", "/0-7-0/"), query=query)[0] == 404
    assert asked(pages, address, query=query + "&request=99")[0] == 200
    assert asked(pages, address.replace("/0-0-0/", "/0-1-0/"), query=query)[0] == 422


def test_texts_that_are_too_long_to_compare_keep_what_they_begin_and_end_with() -> None:
    words = " ".join(f"w{number}" for number in range(3000))
    parts = marked_text(words, words.replace("w1500", "x"))
    assert "".join(part.text for part in parts if part.kind != "added") == words
    assert [part.text for part in parts if part.kind == "removed"] == [" w1500"]
