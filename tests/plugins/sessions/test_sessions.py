"""Sessions as a dataset: cuts, branches, redaction, and what is said of bad input."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from context_bench.cli import execute
from context_bench.errors import ConfigurationError, DatasetError, UnknownNameError
from context_bench_sessions import Redactor, read_sessions, sessions
from context_bench_sessions.cutting import cut_session

FILLER = " ".join(f"word{number}" for number in range(300))


def conversation(turns: int = 12) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "fix it"},
    ]
    for turn in range(turns):
        call = {
            "id": f"c{turn}",
            "type": "function",
            "function": {"name": "read", "arguments": f'{{"path": "{turn}.py"}}'},
        }
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append(
            {"role": "tool", "tool_call_id": f"c{turn}", "content": f"{FILLER} value {turn}"}
        )
    return [*messages, {"role": "assistant", "content": "done"}]


def written(path: Path, *documents: Any) -> Path:
    path.write_text(
        "".join(json.dumps(document) + "\n" for document in documents), encoding="utf-8"
    )
    return path


def test_a_row_holds_what_stands_before_its_cut(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", {"messages": conversation()})
    rows = list(sessions(str(path), min_tokens=200))
    assert [row["position"] for row in rows] == sorted({row["position"] for row in rows})
    for row in rows:
        assert len(row["messages"]) == row["position"] == row["tail"][1]
        assert row["head"] == [0, 2]
        assert row["region"] == [row["head"][1], row["tail"][0]]
        assert row["messages"][row["tail"][0]]["role"] != "tool"
        assert row["raw_messages"] == conversation()[: row["position"]]
    assert rows[-1]["next_action"] == {"text": "done"}
    assert rows[0]["next_action"]["name"] == "read"
    assert len({row["id"] for row in rows}) == len(rows)


def test_the_tail_is_never_parted_between_a_call_and_its_result(tmp_path: Path) -> None:
    [(_, session)] = read_sessions(written(tmp_path / "a.jsonl", {"messages": conversation()}))
    messages = session.messages
    for tail in (0.01, 0.05, 0.1, 0.3, 0.6):
        for cut in cut_session(messages, [0.5, "last"], tail, 0):
            assert messages[cut.tail_start]["role"] == "assistant"


def test_cuts_that_fall_on_one_message_are_one_row(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", {"messages": conversation(3)})
    assert len(list(sessions(str(path), cuts=[0.99, 1.0, "last"], min_tokens=10))) == 1


@pytest.mark.parametrize("cut", [0, -1, 1.5, "first", None, float("nan")])
def test_cuts_that_are_none_are_refused(tmp_path: Path, cut: object) -> None:
    path = written(tmp_path / "a.jsonl", {"messages": conversation()})
    with pytest.raises(ConfigurationError, match="no share of a session"):
        list(sessions(str(path), cuts=[cut]))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"format": "pi"}, "is not known in the format pi"),
        ({"min_tokens": -5}, "must not be below zero"),
        ({"cuts": ["compaction"]}, "none of 1 sessions holds a compaction. Cut them elsewhere"),
        ({"format": "pi", "config": "openai"}, "give one of the two"),
    ],
)
def test_what_gives_no_example_says_what_to_change(
    tmp_path: Path, options: dict[str, Any], words: str
) -> None:
    path = written(tmp_path / "a.jsonl", {"messages": conversation()})
    with pytest.raises((ConfigurationError, DatasetError), match=words) as raised:
        list(sessions(str(path), **options))
    assert ("min_tokens" in str(raised.value)) == ("min_tokens" in options)


def test_sessions_too_short_for_a_row_are_an_error_and_not_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", {"messages": conversation(1)})
    with pytest.raises(
        DatasetError, match=r"gives no example: the largest of 1 sessions has about \d+ tokens"
    ):
        list(sessions(str(path)))


@pytest.mark.parametrize(
    ("short", "told"),
    [
        (0, ""),
        (1, "Warning: 1 session gives no row, of 3 in "),
        (2, "Warning: 2 sessions give no row, of 4 in "),
    ],
)
def test_sessions_too_short_beside_others_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], short: int, told: str
) -> None:
    documents = [
        {"messages": conversation()},
        {"messages": conversation()},
        *[{"messages": conversation(1)}] * short,
    ]
    path = written(tmp_path / "a.jsonl", *documents)
    assert len(list(sessions(str(path), cuts=["last"], min_tokens=1000))) == 2
    said = capsys.readouterr().err
    assert said.startswith(told)
    assert (
        bool(said)
        == bool(short)
        == ("no region between head and tail has 1000 tokens (min_tokens)" in said)
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "it is empty"),
        (b"hello\n", "line 1: no valid JSON"),
        (b'{"rows": 1}\n', "an object with the keys rows"),
        (b"[1, 2]", "a list of 2"),
        (json.dumps({"messages": conversation()}).encode()[:-40], "line 1: no valid JSON"),
        (
            json.dumps({"messages": conversation()}).encode() + b"\n{\x00\xff\n",
            "line 2: no valid JSON",
        ),
        (b"[" * 100_000, "line 1: no valid JSON"),
    ],
    ids=["empty", "prose", "foreign", "numbers", "cut off", "binary", "deep"],
)
def test_files_that_are_no_sessions_say_so_with_file_and_line(
    tmp_path: Path, content: bytes, told: str
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    with pytest.raises(DatasetError) as raised:
        list(sessions(str(path)))
    assert str(path) in str(raised.value)
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_of_two_formats_is_refused_where_it_changes(tmp_path: Path) -> None:
    pi = {"type": "message", "timestamp": "t", "message": {"role": "user", "content": "hi"}}
    codex = {
        "type": "response_item",
        "timestamp": "t",
        "payload": {"type": "message", "role": "user", "content": []},
    }
    with pytest.raises(DatasetError, match="line 2: codex among lines of pi"):
        list(read_sessions(written(tmp_path / "a.jsonl", pi, codex)))


def test_a_truncated_archive_is_told(tmp_path: Path) -> None:
    packed = gzip.compress(json.dumps({"messages": conversation()}).encode())
    (tmp_path / "a.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DatasetError, match=r"a\.jsonl\.gz"):
        list(sessions(str(tmp_path)))


def test_an_archive_that_is_damaged_within_is_told_and_can_be_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = bytearray(gzip.compress(json.dumps({"messages": conversation()}).encode()))
    packed[20:60] = b"\x00\xff" * 20
    (tmp_path / "a.jsonl.gz").write_bytes(packed)
    written(tmp_path / "good.jsonl", {"messages": conversation()})
    with pytest.raises(DatasetError, match=r"a\.jsonl\.gz cannot be read: Error -3"):
        list(sessions(str(tmp_path)))
    assert list(sessions(str(tmp_path), skip_damaged=True))
    assert re.search(r"Warning: Left out: .*a\.jsonl\.gz cannot be read", capsys.readouterr().err)


def test_damaged_files_can_be_left_out_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path / "good.jsonl", {"messages": conversation()})
    (tmp_path / "bad.jsonl").write_text("{")
    assert list(sessions(str(tmp_path), skip_damaged=True))
    assert re.search(r"Warning: Left out: .*bad\.jsonl, line 1", capsys.readouterr().err)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("where", ["message", "beside the messages"])
def test_a_message_that_holds_no_number_is_refused_and_a_score_beside_it_is_not(
    tmp_path: Path, number: str, where: str
) -> None:
    said = conversation()
    record: dict[str, Any] = {"messages": said, "id": "s"}
    (said[1] if where == "message" else record)["score"] = float(number)
    path = written(tmp_path / "a.jsonl", record)
    if where != "message":
        assert list(sessions(str(path)))
        return
    with pytest.raises(
        DatasetError, match=r"a\.jsonl: a message of the session '.*' holds NaN or Infinity"
    ):
        list(sessions(str(path)))


@pytest.mark.parametrize("path", ["nowhere", "empty"])
def test_missing_sessions_are_told(tmp_path: Path, path: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DatasetError, match="no file"):
        list(sessions(str(tmp_path / path)))


def test_an_unknown_format_is_suggested(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", {"messages": conversation()})
    with pytest.raises(UnknownNameError, match="claude-code"):
        list(sessions(str(path), config="claude_code"))


def test_lone_surrogates_and_orphans_do_no_harm(tmp_path: Path) -> None:
    orphan = {"role": "tool", "tool_call_id": "nobody", "content": "\ud800 orphan"}
    messages = [*conversation(), orphan, {"role": "assistant", "content": "x"}]
    path = written(tmp_path / "a.jsonl", {"messages": messages})
    last = list(sessions(str(path), min_tokens=10))[-1]
    assert last["original_pairs"]["orphans"] == 1


def event(uuid: str, parent: str | None, role: str, content: Any, **more: Any) -> dict[str, Any]:
    body = {"role": role, "content": content, **({"id": more.pop("id")} if "id" in more else {})}
    return {
        "type": role,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s",
        "isSidechain": False,
        "message": body,
        **more,
    }


def test_rewound_branches_of_claude_code_are_left_out_and_split_answers_joined(
    tmp_path: Path,
) -> None:
    use = [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]
    use2 = [{"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "pwd"}}]
    path = written(
        tmp_path / "a.jsonl",
        event("1", None, "user", "first"),
        event("2", "1", "assistant", [{"type": "text", "text": "wrong way"}], id="m0"),
        event("3", "2", "user", "rewound words"),
        event("4", "1", "user", "<command-name>/rewind</command-name>"),
        event("5", "4", "user", "meta", isMeta=True),
        event("6", "5", "assistant", [{"type": "text", "text": "looking"}], id="m1"),
        event("7", "6", "assistant", use, id="m1"),
        event("8", "7", "assistant", use2, id="m1"),
        event("9", "7", "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "a.py"}]),
        event(
            "10",
            "8",
            "user",
            [
                {
                    "type": "tool_result",
                    "tool_use_id": "t2",
                    "content": [{"type": "text", "text": "/x"}],
                }
            ],
        ),
        event("11", "10", "assistant", [{"type": "text", "text": "done"}], id="m2"),
    )
    [(_, session)] = read_sessions(path)
    assert [(message["role"], message["content"]) for message in session.messages] == [
        ("user", "first"),
        ("assistant", "looking"),
        ("tool", "a.py"),
        ("tool", "/x"),
        ("assistant", "done"),
    ]
    assert [one["name"] for one in session.messages[1]["tool_calls"]] == ["Bash", "Bash"]
    assert session.notes["lines on abandoned branches"] == 2


SECRETS = [
    ("export OPENAI_API_KEY=sk-proj-abcdefghijklmnop1234", "sk-proj-abcdefghijklmnop1234"),
    ("Authorization: Bearer abcdef1234567890abcdef", "abcdef1234567890abcdef"),
    ('{"password": "hunter2hunter2"}', "hunter2hunter2"),
    (r"{\"api_key\": \"zzzz1111yyyy2222\"}", "zzzz1111yyyy2222"),
    ("git clone https://me:s3cretpw@example.org/x", "s3cretpw"),
    ("mail jane.doe@example.com now", "jane.doe@example.com"),
    ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
    ("cd /Users/janedoe/project", "janedoe"),
    (r"C:\\Users\\janedoe\\x", "janedoe"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "MIIE"),
    ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
]


@pytest.mark.parametrize(("text", "secret"), SECRETS, ids=[secret[:12] for _, secret in SECRETS])
def test_secrets_and_names_are_taken_out_and_counted(text: str, secret: str) -> None:
    redactor = Redactor()
    assert secret not in redactor.text(text)
    assert sum(redactor.counts.values()) >= 1
    assert redactor.report().startswith("Redacted: ")


def test_the_same_name_gets_the_same_mark() -> None:
    redactor = Redactor()
    first, second = redactor.text("/home/ann/a"), redactor.text("/home/ann/b")
    assert first.replace("/a", "") == second.replace("/b", "")
    assert redactor.text("/home/bob/b") != second


@pytest.mark.parametrize(
    "text",
    ["tokens: 120", "the password is long", "see https://example.org/a/b", "user@", "key = value"],
)
def test_plain_texts_stay_as_they_are(text: str) -> None:
    assert Redactor().text(text) == text


def test_redacted_rows_hold_nothing_of_what_was_taken_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    messages = conversation()
    messages[3]["content"] += " sk-ant-0123456789abcdefghij by ann@example.org in /home/ann/x"
    path = written(tmp_path / "a.jsonl", {"messages": messages})
    text = json.dumps(
        list(sessions(str(path), redact=True))
    )  # no warning of Python, which -W error would make an error
    assert (
        "Warning: Redacted: 1 x e-mail address, 1 x home folder, 1 x key" in capsys.readouterr().err
    )
    assert not any(
        secret in text for secret in ("sk-ant-0123456789abcdefghij", "ann@example.org", "/home/ann")
    )


def test_a_run_takes_secrets_out_by_a_flag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = [
        {"role": role, "content": f"bob.smith@corp.example {FILLER}"}
        for role in ("user", "assistant") * 6
    ]
    written(tmp_path / "a.jsonl", {"messages": said})
    data = (
        "--dataset",
        "sessions:path=a.jsonl,min_tokens=10",
        "--format",
        "none",
        "-q",
        "--keep-going",
    )
    for flag, is_there in (((), True), (("--redact",), False)):
        run_file = tmp_path / f"{is_there}.sqlite"
        assert execute(
            ["run", "--system", "recorded", *data, *flag, "--run-file", str(run_file)]
        ) in (0, 3, 12)
        assert (b"bob.smith" in run_file.read_bytes()) == is_there
