from __future__ import annotations

import gzip
import json
import os
import re
import sys
import threading
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from context_bench.errors import DatasetError
from context_bench_local import local

ROWS = [{"q": "é"}, {"q": "日本"}]
TEXT = {
    "jsonl": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS),
    "ndjson": "".join(json.dumps(row) + "\n" for row in ROWS),
    "json": json.dumps({"data": ROWS}, ensure_ascii=False),
    "csv": "q\né\n日本\n",
    "tsv": "q\né\n日本\n",
}


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("layout", TEXT)
def test_every_layout_is_read_with_every_compression(write, layout, suffix):
    assert list(local(path=write(f"a.{layout}{suffix}", TEXT[layout]))) == ROWS


def test_suffixes_are_read_whatever_their_case(write):
    Path(write("b.jsonl.gz", TEXT["jsonl"])).rename("A.JSONL.GZ")
    assert list(local(path="A.JSONL.GZ")) == ROWS


def test_a_compressed_file_may_have_several_parts(write):
    parts = [gzip.compress((json.dumps(row) + "\n").encode()) for row in ROWS]
    Path(write("a.jsonl.gz", "")).write_bytes(b"".join(parts))
    assert list(local(path="a.jsonl.gz")) == ROWS


@pytest.mark.parametrize(
    "encoding", ["utf-8", "UTF8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "gb18030"]
)
@pytest.mark.parametrize("layout", ["jsonl", "json", "csv"])
def test_other_encodings_are_read(write, layout, encoding):
    name = write(f"a.{layout}", TEXT[layout], encoding)
    assert list(local(path=name, encoding=encoding)) == ROWS


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "gb18030"])
@pytest.mark.parametrize("layout", ["jsonl", "json", "csv"])
def test_a_byte_order_mark_is_dropped_in_every_encoding(write, layout, encoding):
    name = write(f"a.{layout}", "\ufeff" + TEXT[layout], encoding)
    assert list(local(path=name, encoding=encoding)) == ROWS


def test_a_path_may_be_a_path_object_or_begin_at_home(write, tmp_path, monkeypatch):
    name = write("a.jsonl", TEXT["jsonl"])
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert list(local(path=tmp_path / name)) == list(local(path="~/a.jsonl")) == ROWS


def test_a_missing_file_is_found_missing_at_the_call(write):
    write("train.jsonl", "")
    with pytest.raises(
        FileNotFoundError, match=r"^There is no file trian.jsonl. Did you mean train.jsonl\?$"
    ):
        local(path="trian.jsonl")
    with pytest.raises(
        FileNotFoundError, match=r"There is no file zzzzzzzzz.csv. In .* there is: train.jsonl.$"
    ):
        local(path="zzzzzzzzz.csv")
    with pytest.raises(
        FileNotFoundError, match=r"There is no folder nowhere either; the working directory is "
    ):
        local(path="nowhere/a.csv")


@pytest.mark.parametrize("name", ["a\0b.jsonl", "two\nlines.jsonl", "escape\x1b[31m.jsonl"])
def test_a_name_that_would_garble_the_message_is_escaped(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"^There is no file '[ -~]+\.jsonl'\."):
        local(path=name)


def test_a_folder_without_files_that_can_be_read_is_an_error(write):
    with pytest.raises(
        IsADirectoryError, match=r"^\. is a folder\. No file in .* can be read as a dataset\.$"
    ):
        local(path=".")
    write("notes.txt", "")
    with pytest.raises(
        IsADirectoryError, match=r"^\. is a folder\. No file in .* can be read as a dataset\.$"
    ):
        local(path=Path("."))


def test_the_files_of_a_folder_are_read_by_name_and_each_row_keeps_its_columns(write):
    write("b.jsonl", '{"id": 1, "q": "b1"}\n\n{"q": "b2"}\n')
    write("a.csv", "id,q\n1,a1\n")
    write("notes.txt", "not read")
    write(".hidden.jsonl", "{")
    rows = [{"id": "1", "q": "a1"}, {"id": 1, "q": "b1"}, {"q": "b2"}]
    assert list(local(path=".")) == rows
    assert list(local(path="./", limit=2)) == rows[:2]


def test_a_broken_line_in_a_folder_is_told_with_its_file(write):
    write("a.jsonl", '{"q": 1}\n')
    write("b.jsonl", '{"q": 1}\n{"q": \n')
    with pytest.raises(ValueError, match=r"b\.jsonl, line 2, column 7: "):
        list(local(path="."))


def test_a_parquet_file_is_read_in_batches(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = [
        {"id": number, "texts": ["a", None], "deep": {"x": number / 2}} for number in range(250)
    ]
    parquet.write_table(arrow.Table.from_pylist(rows), tmp_path / "rows.parquet")
    assert list(local(path=tmp_path / "rows.parquet")) == rows
    assert list(local(path=tmp_path / "rows.parquet", limit=3)) == rows[:3]
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(ValueError, match=r"broken\.parquet is no Parquet file: "):
        list(local(path=tmp_path / "broken.parquet"))


@pytest.mark.parametrize("groups", [1, 4])
def test_a_parquet_file_that_becomes_too_large_is_refused_before_its_rows(
    tmp_path, monkeypatch, groups
):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    count = 96
    path = tmp_path / "rows.parquet"
    with parquet.ParquetWriter(
        path, arrow.schema({"q": arrow.string()}), compression="zstd", use_dictionary=False
    ) as writer:
        table = arrow.table({"q": ["a" * (3 << 20)] * (count // groups)})
        for _ in range(groups):
            writer.write_table(table)
    assert path.stat().st_size < 1 << 20
    with pytest.raises(DatasetError, match=r"rows\.parquet .* CONTEXT_BENCH_MAX_EXPANSION"):
        next(iter(local(path=path)))
    assert len(list(local(path=path, max_expansion=0, limit=2))) == 2
    monkeypatch.setenv("CONTEXT_BENCH_MAX_EXPANSION", "0")
    assert len(list(local(path=path, limit=2))) == 2


def test_a_parquet_file_that_was_damaged_is_told_with_its_last_row(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "rows.parquet"
    parquet.write_table(
        arrow.table({"q": [f"text {number}" for number in range(1000)]}), path, use_dictionary=False
    )
    content = path.read_bytes()
    path.write_bytes(content[:300] + bytes(40) + content[340:])
    with pytest.raises(
        ValueError, match=r"rows\.parquet is damaged after row 0: .* Copy or download it again\."
    ):
        list(local(path=path))


_INSTANT = datetime(2009, 2, 13, 23, 31, 30, 123456)
_NANOSECONDS = 1234567890123456789


@pytest.mark.parametrize(
    ("typed", "value", "read"),
    [
        pytest.param(lambda arrow: arrow.timestamp("ns"), _NANOSECONDS, _INSTANT, id="instant"),
        pytest.param(
            lambda arrow: arrow.duration("ns"), 5999, timedelta(microseconds=5), id="duration"
        ),
        pytest.param(
            lambda arrow: arrow.list_(arrow.timestamp("ns")), [_NANOSECONDS], [_INSTANT], id="list"
        ),
        pytest.param(
            lambda arrow: arrow.list_(arrow.timestamp("ns"), 1),
            [_NANOSECONDS],
            [_INSTANT],
            id="fixed list",
        ),
        pytest.param(
            lambda arrow: arrow.large_list(arrow.timestamp("ns")),
            [_NANOSECONDS],
            [_INSTANT],
            id="long list",
        ),
        pytest.param(
            lambda arrow: arrow.struct([("at", arrow.timestamp("ns"))]),
            {"at": _NANOSECONDS},
            {"at": _INSTANT},
            id="struct",
        ),
        pytest.param(
            lambda arrow: arrow.map_(arrow.string(), arrow.timestamp("ns")),
            [("at", _NANOSECONDS)],
            [("at", _INSTANT)],
            id="map",
        ),
    ],
)
def test_nanoseconds_of_parquet_are_read_as_microseconds_of_python_with_pandas_or_without(
    tmp_path, typed, value, read
):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    # pyarrow 25 cannot read a list of fixed size that is null
    last = [] if arrow.types.is_fixed_size_list(typed(arrow)) else [None]
    parquet.write_table(
        arrow.table({"x": arrow.array([value, *last], typed(arrow))}), tmp_path / "rows.parquet"
    )
    rows = list(local(path=tmp_path / "rows.parquet"))
    assert rows == [{"x": one} for one in (read, *last)]
    assert "Time" not in repr(rows)  # pandas' Timestamp and Timedelta are equal to Python's own


def test_an_old_96_bit_time_of_parquet_does_not_run_over(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    last = datetime(9999, 12, 31)
    table = arrow.table({"x": arrow.array([last], arrow.timestamp("us"))})
    parquet.write_table(table, tmp_path / "rows.parquet", use_deprecated_int96_timestamps=True)
    assert list(local(path=tmp_path / "rows.parquet")) == [{"x": last}]


def test_a_date_behind_the_year_9999_is_told_with_its_row_and_the_rows_before_it_are_read(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    dates = arrow.array([0] * 150 + [10**7] + [0] * 9, arrow.date32())
    parquet.write_table(arrow.table({"x": dates}), tmp_path / "rows.parquet")
    assert len(list(local(path=tmp_path / "rows.parquet", limit=150))) == 150
    with pytest.raises(
        ValueError, match=r"rows\.parquet, row 151: Python cannot hold a value of it: "
    ):
        list(local(path=tmp_path / "rows.parquet"))


def test_two_columns_of_one_name_are_refused_in_every_layout(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(
        arrow.Table.from_arrays([arrow.array([1])] * 2, names=["q", "q"]), tmp_path / "rows.parquet"
    )
    with pytest.raises(
        ValueError, match=r"rows\.parquet has more than one column 'q'; rename them"
    ):
        list(local(path=tmp_path / "rows.parquet"))


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "rows.parquet").write_bytes(b"")
    with pytest.raises(
        ValueError, match=r"needs pyarrow: .*install .*context.bench.local\S*\[parquet\]"
    ):
        list(local(path=tmp_path / "rows.parquet"))


@pytest.mark.parametrize("name", ["a.txt", "a", "a.gz", "a.txt.gz", "jsonl", ".jsonl.zst"])
def test_an_unknown_suffix_lists_the_known_ones(write, name):
    with pytest.raises(
        ValueError,
        match=r"\.jsonl, \.ndjson, \.json, \.csv, \.tsv, \.parquet, each also with \.gz, \.bz2, \.xz; or",
    ):
        local(path=write(name, "{}"))


@pytest.mark.parametrize("name", ["a.txt", "a", "a.jsonl", "a.json", "a.gz"])
def test_the_format_can_be_said(write, name):
    assert list(local(path=write(name, TEXT["jsonl"]), format="jsonl")) == ROWS


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"format": "xlsx"},
            "No format is called 'xlsx'. There is: csv, json, jsonl, parquet, tsv.",
        ),
        ({"encoding": "utf-9"}, "No text encoding is called 'utf-9'"),
        ({"encoding": "hex"}, "No text encoding is called 'hex'"),
        ({"encoding": "a\0b"}, "No text encoding is called"),
        ({"limit": -1}, "limit is -1; give a number of rows, 0 or more"),
        ({"config": "small"}, "A local file has no configuration 'small'"),
        ({"split": "test"}, "A local file has no split 'test'. Name the file that you want"),
        ({"path": ""}, "The path of the file is empty"),
        ({"path": "~nobody-of-that-name/a.jsonl"}, "~nobody-of-that-name/a.jsonl cannot be a path"),
    ],
)
def test_wrong_options_are_found_at_the_call(write, options, message):
    name = write("a.jsonl", "{}")
    with pytest.raises(ValueError, match=re.escape(message)):
        local(**{"path": name} | options)


def test_the_path_is_needed():
    with pytest.raises(TypeError, match="path"):
        local()


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        pytest.param(
            "a.jsonl",
            b'{"q": "x"}\n{"q": "caf\xe9"}\n',
            {},
            "a.jsonl, line 2: byte 0xe9 at offset 21 is not utf-8 text (invalid continuation byte). Pass",
            id="latin",
        ),
        pytest.param(
            "a.csv",
            b"q\nx\nna\xefve\n",
            {},
            "a.csv, line 3: byte 0xef at offset 6 is",
            id="latin table",
        ),
        pytest.param(
            "a.json",
            b'[{"q":\n"\xff"}]',
            {},
            "a.json, line 2: byte 0xff at offset 8 is",
            id="latin document",
        ),
        pytest.param(
            "a.jsonl.gz",
            b'{"q": "\xff"}\n',
            {},
            "a.jsonl.gz, line 1: uncompressed byte 0xff at offset 7",
            id="compressed",
        ),
        pytest.param(
            "a.jsonl",
            b"{}\n" * 100_000 + b"\xff",
            {},
            "line 100001: byte 0xff at offset 300000 is",
            id="far inside",
        ),
        pytest.param(
            "a.jsonl",
            b"x" * 65_535 + b"\xc3\x28",
            {},
            "line 1: byte 0xc3 at offset 65535 is",
            id="between two blocks",
        ),
        pytest.param(
            "a.jsonl",
            '{"q": "é'.encode()[:-1],
            {},
            "line 1, byte offset 8: the file ends within",
            id="cut off",
        ),
        pytest.param(
            "a.jsonl",
            '{"q": 1}'.encode("utf-16"),
            {},
            "begins like UTF-16: pass `encoding=utf-16`",
            id="utf-16",
        ),
        pytest.param(
            "a.jsonl",
            '{"q": 1}'.encode("utf-32"),
            {},
            "begins like UTF-32: pass `encoding=utf-32`",
            id="utf-32",
        ),
        pytest.param(
            "a.jsonl",
            gzip.compress(b"{}"),
            {},
            "Is the file compressed?",
            id="compressed but not called so",
        ),
        pytest.param(
            "a.jsonl",
            b'{"q": "\x81"}',
            {"encoding": "cp1252"},
            "byte 0x81 at offset 7 is not cp1252",
            id="cp1252",
        ),
        pytest.param(
            "a.jsonl", b'{"q": 1}', {"encoding": "utf-16"}, "is not utf-16 text", id="no mark"
        ),
    ],
)
def test_bytes_that_are_no_text_are_named_with_their_offset(write, name, content, options, message):
    with pytest.raises(ValueError, match=re.escape(message)) as raised:
        list(local(path=write(name, content), **options))
    assert type(raised.value) is ValueError
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("layout", ["jsonl", "json", "csv"])
def test_a_truncated_download_is_an_error(write, layout, suffix):
    name = write(f"a.{layout}{suffix}", TEXT[layout] * 50)
    whole = Path(name).read_bytes()
    for length in (len(whole) - 1, len(whole) // 2, 5, 0):
        Path(name).write_bytes(whole[:length])
        with pytest.raises(
            ValueError, match=rf"data of a\.{layout}\{suffix} is (cut off|damaged) after line \d+"
        ):
            list(local(path=name))


def test_rows_before_the_cut_are_counted(write):
    name = write(
        "a.jsonl.gz", "".join(f'{{"q": "{number * 7919 % 10007}"}}\n' for number in range(20_000))
    )
    Path(name).write_bytes(Path(name).read_bytes()[:-1000])
    read: list[object] = []
    with pytest.raises(ValueError, match=r"is cut off after line \d+. Copy or download") as raised:
        read.extend(local(path=name))
    assert len(read) > 10_000
    assert f"line {len(read)}." in str(raised.value)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_a_suffix_that_lies_is_an_error(write, suffix):
    name = f"a.jsonl{suffix}"
    Path(write("b.jsonl", TEXT["jsonl"])).rename(name)
    with pytest.raises(
        ValueError, match=r"is damaged after line 0, or is no such data: .* Check the suffix"
    ):
        list(local(path=name))


def test_a_file_that_cannot_be_opened_stays_an_os_error(write, monkeypatch):
    name = write("a.jsonl", "{}")
    rows = local(path=name)
    os.unlink(name)
    with pytest.raises(FileNotFoundError):
        next(rows)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_read_as_it_fills(write):
    write("unused.jsonl", "")
    os.mkfifo("pipe")
    writer = threading.Thread(target=Path("pipe").write_bytes, args=(b'{"q": 1}\n{"q": "\xff"}\n',))
    rows = local(path="pipe", format="jsonl")
    writer.start()
    with pytest.raises(ValueError, match=r"^pipe is not utf-8 text: "):
        list(rows)
    writer.join()


def test_nothing_stays_open(write, recwarn):
    name = write("a.jsonl", TEXT["jsonl"] * 10_000)
    local(path=name)
    assert len(list(local(3, path=name))) == 3
    rows = local(path=name)
    next(rows)
    rows.close()
    del rows
    assert not recwarn.list


def test_the_hash_of_a_folder_is_that_of_the_names_and_bytes_of_its_files(
    write: Any, tmp_path: Path
) -> None:
    from context_bench_local.loader import folder_revision

    folder = tmp_path / "rows"
    folder.mkdir()

    def revision() -> str | None:
        return folder_revision(path=folder, format=None)

    assert revision() is None  # there is nothing to read
    (folder / "a.jsonl").write_text('{"q": 1}\n')
    (folder / "b.csv").write_text("q\n2\n")
    first = revision()
    assert first is not None
    assert revision() == first
    (folder / "notes.txt").write_text("not a dataset")
    assert revision() == first
    (folder / "b.csv").write_text("q\n3\n")
    changed = revision()
    (folder / "b.csv").rename(folder / "c.csv")
    assert len({first, changed, revision()}) == 3
    assert folder_revision(path=folder / "a.jsonl") is None


def test_a_run_records_the_hash_of_a_folder_and_every_row_has_a_place_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("context_bench_replay")
    from context_bench.cli import execute
    from context_bench.runs import open_run

    monkeypatch.chdir(tmp_path)
    Path("rows").mkdir()
    Path("rows/a.jsonl").write_text(
        '{"id": 1, "question": "q", "answer": "a"}\n\n{"question": "q", "answer": "a"}\n'
    )
    Path("rows/b.jsonl").write_text(
        '{"id": "#1", "question": "q", "answer": "a"}\n{"question": "q", "answer": "a"}\n'
    )
    asked = [
        "run",
        "--system",
        "replay:field=answer",
        "--dataset",
        "rows",
        "-q",
        "--format",
        "none",
    ]
    for limit, name in ((["-n", "3"], "one.sqlite"), ([], "two.sqlite")):
        assert execute([*asked, *limit, "--run-file", name]) == 0
    with open_run("one.sqlite") as one, open_run("two.sqlite") as two:
        assert (len(one), len(two)) == (3, 4)  # the blank line is no example
        assert len({row.position for row in two.rows()}) == 4
        assert one.datasets[0]["description"]["revision"].startswith("sha256:")
        assert (
            one.datasets[0]["description"]["revision"] == two.datasets[0]["description"]["revision"]
        )
