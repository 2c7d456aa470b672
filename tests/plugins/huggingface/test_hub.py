"""The real library against a hub on loopback: names, configurations, splits, revisions, and everything that goes wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import islice

import pytest

from context_bench.errors import ConfigurationError, DatasetError
from context_bench_huggingface import hf
from context_bench_huggingface.access import Access
from context_bench_huggingface.lines import record_of

AT = "openai/gsm8k:main"
QUICK = {"retry_base_delay": 0.0}


def test_rows_come_as_the_hub_has_them(hub, gsm8k):
    gsm8k()
    rows = list(hf(config=AT, split="test"))
    assert len(rows) == 30
    assert rows[1] == {"question": f"What is 1+1? {'x' * 10}", "answer": "One more.\n#### 2"}
    assert len(list(hf(config="openai/gsm8k:socratic", split="test"))) == 3
    assert len(list(hf(config=AT))) == 40  # the split `train` when none is named


def test_five_of_many_rows_transfer_a_small_part(hub, gsm8k):
    gsm8k(count=20_000, width=2000)
    size = len(hub.repositories["openai/gsm8k"]["main"]["main/test-00000-of-00001.parquet"])
    assert len(list(hf(limit=5, config=AT, split="test"))) == 5
    assert 0 < hub.sent < size / 3


def test_rows_are_read_on_the_thread_that_asks_for_them(hub, gsm8k, monkeypatch):
    """Arrow's threads would hold the remote file while Python ends, and read ahead as far as they get."""
    import threading

    from fsspec.spec import AbstractBufferedFile

    readers = set()
    read = AbstractBufferedFile.read

    def noted(file, length=-1):
        readers.add(threading.current_thread().name)
        return read(file, length)

    monkeypatch.setattr(AbstractBufferedFile, "read", noted)
    gsm8k(count=5000)
    assert len(list(hf(config=AT, split="test"))) == 5000
    assert readers == {threading.current_thread().name}


def test_a_process_that_takes_a_few_rows_ends_well(hub, gsm8k):
    gsm8k(count=20_000, width=2000)
    code = (
        "from context_bench_huggingface import hf; rows = hf(limit=5, config='openai/gsm8k:main', split='test'); "
        "[next(rows) for _ in range(5)]"
    )
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_a_renamed_repository_is_followed(hub, gsm8k):
    gsm8k()
    hub.put("x/y", {})
    hub.aliases["old/gsm8k"] = "openai/gsm8k"
    assert len(list(hf(limit=2, config="old/gsm8k:main", split="test"))) == 2


def test_a_revision_is_pinned_and_told(hub, gsm8k):
    first = gsm8k(count=3)
    second = gsm8k(count=7)
    assert first != second
    assert len(list(hf(config=AT, split="test"))) == 7
    assert len(list(hf(config=f"{AT}@{first}", split="test"))) == 3
    assert len(list(hf(config=AT, split="test", revision=first))) == 3
    assert (hf.revision(config=AT), hf.revision(config=AT, revision=first)) == (second, first)


def test_a_stream_stays_on_the_commit_that_it_began_with(hub, gsm8k):
    gsm8k(count=1500)
    rows = hf(config=AT, split="test")
    begun = list(islice(rows, 3))
    gsm8k(count=4)
    assert len(begun) + len(list(rows)) == 1500


def test_files_are_read_in_place_of_configurations(hub):
    from importlib import import_module

    files = {
        "data/test-1.jsonl": b'{"q": 1, "kw": {"a": 1}}\n{"q": 2, "kw": {}}\n',
        "notes.txt": b"",
    }
    hub.put("some/body", files)
    assert [row["q"] for row in hf(config="some/body", files="data/*.jsonl")] == [1, 2]
    assert import_module("context_bench_huggingface").hf is hf


@pytest.mark.parametrize("files", ["rows.csv", None], ids=["a file", "a configuration"])
def test_a_cell_that_says_none_is_a_text_and_a_blank_one_is_no_value(hub, files):
    """Pandas takes NA, None, null and nan for blank cells: an option of a question that is one of them would be lost."""
    cells = ["NA", "None", "null", "nan", "N/A", ""]
    rows = "".join(
        f'{number},"{cell}",{number if cell else ""}\r\n' for number, cell in enumerate(cells)
    )
    readme = "---\nconfigs:\n- config_name: default\n  data_files:\n  - {split: test, path: rows.csv}\n---\n"
    content = b"\xef\xbb\xbfid,answer,score\r\n" + rows.encode()
    hub.put("some/body", {"rows.csv": content, "README.md": readme.encode()})
    found = list(hf(config="some/body", split="test", files=files))
    assert [row["answer"] for row in found] == [*cells[:-1], None]
    assert [row["id"] for row in found] == list(range(6))
    assert [row["score"] for row in found] == [0.0, 1.0, 2.0, 3.0, 4.0, None]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{"rows": [{"q": 1}]}', "rows.json is no JSON array"),
        (b'[{"q": 1}, ["q"]]', "rows.json, item 2 is no JSON object"),
        (b'[{"q": 1}', "rows.json is no JSON: "),
        (b'[{"q": NaN}]', "rows.json is no JSON: NaN is no JSON value"),
        (b'[{"q": 1e999}]', "rows.json is no JSON: 1e999 is a number too large"),
    ],
)
def test_an_array_that_is_none_is_told_and_no_record(hub, content, told):
    hub.put("some/body", {"rows.json": content})
    card = {"source": "some/body", "files": "rows.json", "format": "array", "split": "test"}
    with pytest.raises(DatasetError, match=told):
        list(hf.from_definition("some", card)())


@pytest.mark.parametrize("status", [429, 500, 502, 503])
@pytest.mark.parametrize("place", ["/api/", "parquet"])
def test_a_busy_hub_is_asked_again(hub, gsm8k, status, place):
    gsm8k()
    hub.failures[place] = [status] * 2
    assert len(list(hf(config=AT, split="test", **QUICK))) == 30


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (429, "The hub allows no more requests"),
        (503, "The hub answered 503"),
        (500, "answered 500"),
    ],
)
@pytest.mark.parametrize("place", ["/api/", "parquet"])
def test_a_hub_that_stays_busy_is_an_error_and_no_shorter_dataset(hub, gsm8k, status, told, place):
    gsm8k()
    hub.failures[place] = [status] * 10_000
    with pytest.raises(DatasetError, match=rf"{told}.*openai/gsm8k.*after 2 attempts"):
        list(hf(config=AT, split="test", max_retries=1, **QUICK))


def test_a_cut_connection_is_taken_up_again(hub, gsm8k):
    gsm8k(count=20_000, width=500)
    hub.cuts["main/test"] = 4
    assert len({row["question"] for row in hf(config=AT, split="test", **QUICK)}) == 20_000


def test_a_connection_that_is_always_cut_is_an_error_and_no_shorter_dataset(hub, gsm8k):
    gsm8k(count=20_000, width=500)
    rows = hf(config=AT, split="test", max_retries=1, **QUICK)
    assert len(list(islice(rows, 10))) == 10
    hub.cuts["main/test"] = 10_000
    with pytest.raises(
        DatasetError, match=r"The hub cannot be reached .*after 2 attempts. Try again, or fetch"
    ):
        list(rows)


def test_a_gated_repository_says_what_to_do(hub, gsm8k):
    gsm8k()
    hub.gated.add("openai/gsm8k")
    hub.tokens.add("hf_right")
    for token in (None, "hf_wrong"):
        with pytest.raises(
            DatasetError,
            match=r"is gated. Ask for access at .*openai/gsm8k, then put a token.*HF_TOKEN",
        ) as told:
            list(hf(config=AT, split="test", token=token))
        assert "hf_wrong" not in str(told.value)
    assert len(list(hf(limit=1, config=AT, split="test", token="hf_right"))) == 1


@pytest.mark.parametrize(
    ("address", "split", "told"),
    [
        ("openai/gsm8", "test", "There is no dataset 'openai/gsm8' on the hub"),
        (
            "openai/gsm8k:socratc",
            "test",
            "no configuration 'socratc'. Did you mean 'socratic'.? It has: main, socratic.",
        ),
        (
            "openai/gsm8k:main",
            "tset",
            "no split 'tset'. Did you mean 'test'.? It has: test, train.",
        ),
        ("openai/gsm8k:main@v9", "test", "no revision 'v9'"),
        ("openai/gsm8k", "test", "has several configurations: main, socratic. Choose one."),
    ],
)
def test_what_is_not_there_is_named_with_what_is(hub, gsm8k, address, split, told):
    gsm8k()
    with pytest.raises(DatasetError, match=told):
        list(hf(config=address, split=split))


@pytest.mark.parametrize("address", [None, "", "gsm8k", "/gsm8k", "a/b/c", "a/"])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(ConfigurationError, match=r"names no dataset. Write hf:owner/name"):
        hf(config=address)


@pytest.mark.parametrize("option", ["max_retries", "retry_base_delay"])
def test_fewer_attempts_than_none_and_a_pause_below_zero_are_refused(option):
    with pytest.raises(ConfigurationError, match=f"{option} is -1, but must not be below zero"):
        hf(config="openai/gsm8k", **{option: -1})


def test_offline_and_without_a_copy_the_error_comes_at_once(hub, gsm8k, tmp_path, monkeypatch):
    gsm8k()
    told = r"hf:openai/gsm8k:main .*cannot be read.*datasets fetch hf:openai/gsm8k:main --to FOLDER"
    for options in ({"offline": True}, {"offline": True, "folder": str(tmp_path)}):
        with pytest.raises(DatasetError, match=told):
            list(hf(config=AT, split="test", **options))
        with pytest.raises(DatasetError, match=told):
            hf.revision(config=AT, split="test", **options)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DatasetError, match="HF_HUB_OFFLINE is set"):
        list(hf(config=AT, split="test"))
    assert hub.asked == []


def test_nothing_of_the_library_is_imported_before_a_record_is_asked_for():
    code = (
        "import sys; from context_bench_huggingface import hf; hf(config='a/b'); "
        "print({'datasets', 'huggingface_hub', 'pyarrow'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


MEMORY = """
import re, sys
from pathlib import Path
from context_bench_huggingface import hf
loader = hf.from_definition("many", {"source": "openai/gsm8k", "config": "main", "split": "test", "revision": "main"})
count = sum(1 for _ in loader(limit=int(sys.argv[1])))
print(count, re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.one_python
def test_memory_does_not_grow_with_the_number_of_rows(hub, gsm8k):
    """Peak memory of two processes: the rows that the second reads more would be several times what it may take more."""
    if sys.platform != "linux":
        pytest.skip("peak memory is read from /proc")
    gsm8k(16_000, width=8_000)  # questions of some 128 MB, were they kept

    def peak(limit: int) -> int:
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, str(limit)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
        count, kibibytes = map(int, done.stdout.split())
        assert count == limit
        return kibibytes

    few, many = peak(2_000), peak(16_000)
    assert many - few < 64 * 1024, (few, many)


def test_an_offline_error_of_a_run_is_the_datasets_own(hub, tmp_path, monkeypatch, capsys):
    pytest.importorskip("context_bench_replay")
    from context_bench.cli import execute

    monkeypatch.chdir(tmp_path)
    assert execute(["datasets", "preview", "hf:openai/gsm8k:main", "--offline"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("Error: The dataset hf:openai/gsm8k:main")
    assert "datasets fetch" in told
    assert hub.asked == []


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["rows.jsonl"], "question: q0"),
        (["rows.jsonl", "-n", "1", "--json"], '"question": "q0"'),
        (["hf:openai/gsm8k:main", "--split", "train", "-n", "1"], "question: What is 0+1?"),
        (["hf:openai/gsm8k:man", "--split", "train"], "Did you mean 'main'?"),
        (["hf:openai/gsm8k:main", "--split", "trian"], "Did you mean 'train'?"),
        (["missing.jsonl"], "There is no file missing.jsonl"),
    ],
)
def test_whatever_a_run_takes_can_be_previewed(
    hub, gsm8k, tmp_path, monkeypatch, capsys, asked, told
):
    pytest.importorskip("context_bench_local")
    from context_bench.cli import execute

    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text(
        "".join(f'{{"question": "q{number}"}}\n' for number in range(5))
    )
    gsm8k(3)
    execute(["datasets", "preview", *asked])
    said = capsys.readouterr()
    assert told in " ".join((said.out + said.err).split())


DOCUMENTS = {
    "an array": (
        [{"q": 1, "kw": {"a": 1}}, {"q": "two"}],
        [{"q": 1, "kw": {"a": 1}}, {"q": "two"}],
    ),
    "rows by key": (
        {"a": {"q": 1}, "b": {"q": 2, "id": "c"}},
        [{"id": "a", "q": 1}, {"id": "c", "q": 2}],
    ),
    "one record": ({"rows": [{"q": 1}, {"q": "two"}], "labels": {"n": 1}}, None),
    "nothing by key": ({}, [{}]),
}


@pytest.mark.parametrize("indent", [None, 1], ids=["on a line", "on many lines"])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_json_file_is_read_as_it_is(hub, name, indent):
    """Arrow refuses columns of two types, pads objects to one schema, and fails on a document of many lines."""
    document, rows = DOCUMENTS[name]
    hub.put(
        "some/body", {"rows.json": b"\xef\xbb\xbf" + json.dumps(document, indent=indent).encode()}
    )
    assert list(hf(config="some/body", files="rows.json")) == (rows or [document])


def test_a_record_that_is_wrong_is_told_with_its_number_its_file_and_its_column(hub):
    pytest.importorskip(
        "context_bench_qa", reason="the functions of the card are those of context-bench-qa"
    )
    hub.put(
        "some/body",
        {"r/1.jsonl": b'{"question": "a?", "answer": "b"}\n{"question": null, "answer": "b"}\n'},
    )
    card = {
        "source": "some/body",
        "files": "r/1.jsonl",
        "example": "context_bench_qa.records:natural_questions",
    }
    told = r"Record 1 of some \(some/body, split test\) in r/1.jsonl is not .*: TypeError: question is null and no text"
    with pytest.raises(DatasetError, match=told):
        list(hf.from_definition("some", card)())


def test_json_files_of_a_pattern_are_read_one_after_the_other(hub):
    hub.put(
        "some/body",
        {"r/2.json": b'{"q": [1]}', "r/1.json": b'{"q": 1}\r\n\r\n{"q": "two"}\n', "r/3.txt": b""},
    )
    assert [row["q"] for row in hf(config="some/body", files="r/*.json")] == [1, "two", [1]]
    assert [row["q"] for row in hf(config="some/body", files="r/1.json")] == [1, "two"]
    with pytest.raises(
        DatasetError, match=r"The files of hf:some/body .* are not at revision 'main': s/\*.json"
    ):
        list(hf(config="some/body", files="s/*.json"))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{"q": 1}\n{"q": \n', "r/1.json, line 2 is no JSON"),
        (
            b'{"q": 1}\n{"q": -Infinity}\n',
            "r/1.json, line 2 is no JSON: -Infinity is no JSON value",
        ),
        (b'{\n"q":\n NaN}\n', "r/1.json is no JSON: NaN is no JSON value"),
        (b'[{"q": 1}, 2]', "r/1.json, item 2 is no JSON object"),
        (b'"q"', "r/1.json is no JSON array"),
    ],
)
def test_a_json_file_that_cannot_be_read_is_told_at_once_with_its_place(hub, content, told):
    hub.put("some/body", {"r/1.json": content})
    for files in ("r/1.json", "r/*.json"):
        with pytest.raises(DatasetError, match=told):
            list(hf(config="some/body", files=files, max_retries=0))


def test_a_table_of_stories_is_joined_to_a_table_of_questions(hub):
    """The release of NarrativeQA: two files, each with the rows of every split."""
    pytest.importorskip(
        "context_bench_qa", reason="the functions of the card are those of context-bench-qa"
    )
    stories = "document_id,set,summary,summary_tokenized\r\n"
    stories += 'd1,test,"Ann, who is old,\r\nleaves.",x\r\nd2,valid,Bob.,x\r\n'
    asked = "document_id,set,question,answer1,answer2\r\nd1,test,Who?,Ann,None\r\nd2,valid,And?,Bob,Bob\r\nd1,test,2?,1,2\r\n"
    hub.put(
        "some/body",
        {"qaps.csv": asked.encode(), "third_party/wikipedia/summaries.csv": stories.encode()},
    )
    card = {
        "source": "some/body",
        "files": "qaps.csv",
        "tables": {
            "summaries": {"files": "third_party/wikipedia/summaries.csv", "key": "document_id"}
        },
        "example": "context_bench_qa.records:narrativeqa",
    }
    found = list(hf.from_definition("stories", {**card, "split": "test"})())
    assert [(each["id"], each["answers"]) for each in found] == [
        (0, ["Ann", "None"]),
        (2, ["1", "2"]),
    ]
    assert found[0]["context"] == "Ann, who is old,\r\nleaves."
    assert [
        each["question"]
        for each in hf.from_definition("stories", {**card, "split": "validation"})()
    ] == ["And?"]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (b'{"k": "a"}\n{"v": 1}\n', "Record 1 of the table more of some .* has no k"),
        (b'{"k": "a"}\n{"k": null}\n', "Record 1 of the table more of some .* has no k"),
        (
            b'{"k": 1}\n{"k": 2}\n{"k": "1"}\n',
            "Record 2 of the table more of some .* has the k 1 of another one",
        ),
    ],
)
def test_a_record_of_a_table_that_no_key_leads_to_is_told(hub, rows, told):
    """Of two records with one key the last one was joined."""
    hub.put("some/body", {"rows.jsonl": b'{"q": 1}\n', "more.jsonl": rows})
    card = {"source": "some/body", "files": "rows.jsonl", "format": "lines", "split": "test"}
    tables = {"more": {"files": "more.jsonl", "format": "lines", "key": "k"}}
    with pytest.raises(DatasetError, match=told):
        list(hf.from_definition("some", {**card, "tables": tables})())


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (
            {"test.jsonl": b'{"q": "\\ud83d"}\n'},
            r"The files of hf:some/body .*after 2 attempts: .*surrogate pair.*with files=",
        ),
        (
            {"test.jsonl": b'{"q": 1, "q": 2}\n'},
            r"The files of hf:some/body .* cannot be read after 2 attempts: .*twice",
        ),
        ({"test.jsonl": b""}, r"The files of hf:some/body .* hold no record at revision 'main'"),
        (
            {"body.py": b"x = 1\n"},
            r"is read by a program of its own, which is not run.* refs/convert/parquet; or name files",
        ),
    ],
    ids=["half of a surrogate pair", "a column twice", "an empty file", "a loading script"],
)
def test_what_another_attempt_cannot_mend_is_not_told_as_a_lost_connection(hub, capfd, files, told):
    hub.put("some/body", files)
    with pytest.raises(DatasetError, match=told) as error:
        list(hf(config="some/body", split="test", max_retries=1, **QUICK))
    assert "cannot be reached" not in str(error.value)
    assert capfd.readouterr().err == ""  # the library writes it there, too


TooManyRedirects = type("TooManyRedirects", (Exception,), {})  # as the HTTP libraries call it


@pytest.mark.parametrize(
    "error",
    [
        json.JSONDecodeError("Expecting value", "<html>", 0),
        TooManyRedirects("Exceeded maximum allowed redirects."),
    ],
    ids=["a login page", "a circle of redirections"],
)
def test_what_is_not_the_hub_is_told_as_that(hub, monkeypatch, error):
    def answer(*_, **__):
        raise error

    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", answer)
    with pytest.raises(
        DatasetError, match=r"What answers for hf:a/b .* is not the hub .*Look at HF_ENDPOINT"
    ):
        list(hf(config="a/b", split="test", max_retries=0))


def _of_every_kind():
    from datetime import date, datetime, time, timedelta, timezone
    from decimal import Decimal

    return {
        "missing": None,
        "no number": float("nan"),
        "endless": [float("inf"), -float("inf"), -0.0, 1e-300],
        "moment": datetime(2024, 5, 1, 12, 30, 0, 7),
        "moment of a zone": datetime(2024, 5, 1, 12, tzinfo=timezone(timedelta(hours=2))),
        "day": date(2024, 5, 1),
        "hour": time(23, 59, 59, 999_999),
        "lasting": timedelta(days=-3, microseconds=1),
        "price": Decimal("1.50"),
        "bytes": b"\xff\x00",
        "inside": [{"day": date(1, 1, 1), "number": 2**62 + 1}],
        "large": 2**53 + 1,
    }


def test_a_copy_gives_back_whatever_a_parquet_file_holds(hub, tmp_path):
    """Dates and bytes came back as texts, so that a run had other examples; a copy with a NaN could not be read at all."""
    import io

    import pyarrow
    from pyarrow import parquet

    buffer = io.BytesIO()
    parquet.write_table(
        pyarrow.Table.from_pylist([_of_every_kind(), dict.fromkeys(_of_every_kind())]), buffer
    )
    hub.put("some/body", {"rows.parquet": buffer.getvalue()})
    card = {"source": "some/body", "files": "rows.parquet", "format": "parquet", "split": "test"}
    loader = hf.from_definition("some", card)
    [label] = loader.fetch(str(tmp_path), access=Access())
    assert label["records"] == 2
    there, here = list(loader()), list(loader(folder=str(tmp_path), offline=True))
    assert repr(here) == repr(there)  # a NaN equals nothing
    assert [type(value) for value in there[0].values()] == [
        type(value) for value in _of_every_kind().values()
    ]


@pytest.mark.parametrize(
    "record",
    [
        {"q": "half a pair: \ud83d"},
        {"q": {"$type": "date", "value": "2024-05-01"}},
        {"$type": "object", "value": {"$type": 1}},
        {"q": [{"$type": None}, "$type"]},
    ],
    ids=["half of a surrogate pair", "a mark of ours", "a mark at the top", "marks in a list"],
)
def test_a_copy_gives_back_whatever_a_json_file_holds(hub, tmp_path, record):
    hub.put("some/body", {"rows.jsonl": json.dumps(record).encode()})
    loader = hf.from_definition(
        "some", {"source": "some/body", "files": "rows.jsonl", "format": "lines", "split": "test"}
    )
    list(loader.fetch(str(tmp_path), access=Access()))
    assert list(loader(folder=str(tmp_path), offline=True)) == list(loader()) == [record]


def test_a_picture_is_refused_by_a_copy_and_not_kept_as_the_name_of_its_class(
    hub, tmp_path, monkeypatch
):
    class Picture:
        pass

    hub.put("some/body", {"rows.jsonl": b'{"q": 1}'})
    loader = hf.from_definition(
        "some", {"source": "some/body", "files": "rows.jsonl", "format": "lines", "split": "test"}
    )
    monkeypatch.setattr(
        "context_bench_huggingface.loader.stream", lambda *_: [{"q": 1}, {"q": Picture()}]
    )
    with pytest.raises(
        DatasetError,
        match=r"Record 1 of some .* holds a value of type Picture, which no copy can hold",
    ):
        list(loader.fetch(str(tmp_path), access=Access()))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [
        {"$type": "image", "value": ""},
        {"$type": "date", "value": "2024-13-01"},
        {"$type": "decimal", "value": "much"},
        {"$type": "date"},
        {"$type": ["date"], "value": ""},
    ],
    ids=["an unknown type", "no date", "no decimal", "no value", "no name"],
)
def test_a_value_of_a_copy_that_cannot_be_read_is_told_with_its_record(content):
    with pytest.raises((ValueError, ArithmeticError)):
        record_of(json.dumps({"q": content}).encode())
