"""Programs that answer, and every way in which one can fail; the row gets the cause."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import ConfigurationError
from context_bench_command import (
    Command,
    CommandError,
    CommandExitError,
    CommandMissingError,
    CommandOutputError,
    CommandTimeoutError,
    CommandTransformer,
)

Script = Callable[..., list[str]]
EXAMPLE = {
    "id": "1",
    "context": "Rome is in Italy.",
    "question": "Where is Rome?",
    "answer": "Italy",
}
ECHO = "import sys; sys.stdout.write(sys.stdin.read())"
ARGUMENTS = "import sys, json; print(json.dumps(sys.argv[1:]))"
JSON = "import sys, json; row = json.load(sys.stdin); print(json.dumps({'response': row['question'], 'row': row}))"
PATIENCE = 60.0


def command(run: list[str], **options: Any) -> Command:
    return Command(run, **{"version": "1", "timeout": PATIENCE, **options})


def test_the_prompt_goes_to_standard_input_and_the_response_comes_from_standard_output(
    script: Script,
) -> None:
    assert command(script(ECHO)).process(EXAMPLE) == {
        "response": "Rome is in Italy.\n\nWhere is Rome?"
    }
    asked = command(script(ECHO), prompt="Q: {question} {x y} {{question}}\n")
    assert asked.process(EXAMPLE) == {"response": "Q: Where is Rome? {x y} {question}"}


@pytest.mark.parametrize(
    "text",
    [
        "two words",
        "",
        "$HOME `id` $(id)",
        "a;b|c&&d>e",
        "'q\" \\",
        "line\nbreak",
        "*",
        "--help",
        "äöü 東京",
        "{context}",
    ],
)
def test_a_placeholder_is_one_argument_whatever_it_stands_for_and_no_shell_sees_it(
    script: Script, text: str
) -> None:
    asked = command([*script(ARGUMENTS), "--q={question}", "{question}"], protocol="text")
    response = asked.process({**EXAMPLE, "question": text})["response"]
    assert response == __import__("json").dumps([f"--q={text}", text])


def test_with_a_placeholder_standard_input_is_empty_unless_it_is_asked_for(script: Script) -> None:
    code = "import sys; print(len(sys.argv[1]), len(sys.stdin.read()))"
    assert command([*script(code), "{question}"]).process(EXAMPLE)["response"] == "14 0"
    assert (
        command([*script(code), "{question}"], stdin="prompt").process(EXAMPLE)["response"]
        == "14 33"
    )
    assert command([*script(code), "{prompt}"]).process(EXAMPLE)["response"] == "33 0"


def test_json_sends_the_example_and_takes_an_object(script: Script) -> None:
    assert command(script(JSON), protocol="json").process(EXAMPLE) == {
        "response": "Where is Rome?",
        "row": EXAMPLE,
    }
    chosen = command(script(JSON), protocol="json", fields=["question"])
    assert chosen.process(EXAMPLE)["row"] == {"question": "Where is Rome?"}
    assert chosen.reads == ("question",)
    assert command(script("print('\"just text\"')"), protocol="json").process(EXAMPLE) == {
        "response": "just text"
    }


@pytest.mark.parametrize("protocol", ["json", "jsonl"])
def test_json_holds_no_number_that_json_does_not_have(script: Script, protocol: str) -> None:
    """Only Python reads NaN; a program in another language failed on the row."""
    code = (
        "import sys, json\nrow = json.loads(sys.stdin.readline(), parse_constant=sys.exit)\n"
        "print(json.dumps({'id': row['id'], 'response': 'ok', 'row': row.get('example', row)}))"
    )
    asked = command(script(code), protocol=protocol, fields=["id", "prices"])
    found = asked.process(
        {"id": "1", "prices": [1.5, float("nan"), (float("inf"), {"low": -float("inf")})]}
    )
    assert found["row"] == {"id": "1", "prices": [1.5, None, [None, {"low": None}]]}
    asked.close()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"prompt": "Q: {question}"}, "prompt is given, but no prompt is sent"),
        ({"prompt": "Q: {question}", "protocol": "json"}, "prompt is given, but no prompt is sent"),
        ({"fields": ["question"]}, "fields is given, but only json and jsonl send fields"),
        (
            {"stdin": "none", "protocol": "json"},
            "stdin is given, but json and jsonl always send the example there",
        ),
    ],
    ids=["a prompt behind a placeholder", "a prompt of json", "fields of text", "no input of json"],
)
def test_an_option_that_nothing_takes_is_refused(
    script: Script, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(ConfigurationError, match=told):
        command([*script(ARGUMENTS), "{question}"], **options)
    command([*script(ARGUMENTS), "{prompt}"], prompt="Q: {question}", protocol="json")


@pytest.mark.parametrize(
    ("text", "given"), [("half a \ud83d pair", "half a ? pair"), ("\udcff", "?")]
)
def test_half_a_surrogate_pair_is_a_question_mark_in_an_argument_as_on_standard_input(
    script: Script, text: str, given: str
) -> None:
    assert command(script(ECHO), prompt="{question}").process({"question": text}) == {
        "response": given
    }
    assert command([*script(ARGUMENTS), "{question}"]).process({"question": text}) == {
        "response": f'["{given}"]'
    }


def test_an_argument_that_no_program_can_be_given_is_told_with_a_way_out(script: Script) -> None:
    with pytest.raises(
        CommandMissingError, match=r"null (?:byte|character).*: give the text on standard input"
    ):
        command([*script(ARGUMENTS), "{question}"]).process({"question": "a\0b"})


def test_a_transformer_writes_the_new_context(script: Script) -> None:
    shorter = CommandTransformer(
        script("import sys; print(sys.stdin.read()[:4])"), prompt="{context}", version="1"
    )
    assert shorter.process(EXAMPLE) == {"context": "Rome"}


FAILING: dict[str, tuple[str, dict[str, Any], type[CommandError], str]] = {
    "a status": ("import sys; print('half'); sys.exit('no index')", {}, CommandExitError, "ended with status 1: no index"),
    "a signal": ("import os; os.kill(os.getpid(), 9)", {}, CommandExitError, "was ended by SIGKILL"),
    "a traceback": ("1 / 0", {}, CommandExitError, "ended with status 1: ZeroDivisionError: division by zero"),
    "too slow": ("import time; time.sleep(600)", {"timeout": 0.3}, CommandTimeoutError, "did not end within 0.3 s and was kil"),
    "no output": ("", {}, CommandOutputError, "wrote nothing to standard output"),
    "blank output": ("print('  ')", {}, CommandOutputError, "wrote nothing to standard output"),
    "no UTF-8": (r"import sys; sys.stdout.buffer.write(b'ab\xff')", {}, CommandOutputError, "no UTF-8: byte 0xff at 2"),
    "huge output": (
        "import sys\nwhile True: sys.stdout.write('x' * 65536)",
        {"max_output": 100_000},
        CommandOutputError,
        r"wrote more than 100000 bytes and was killed \(max_output\)",
    ),
    "no JSON": ("print('hello')", {"protocol": "json"}, CommandOutputError, "wrote what is no JSON: 'hello'"),
    "an array": ("print('[1]')", {"protocol": "json"}, CommandOutputError, "wrote an array, not an object with 'response'"),
    "no response": ("print('{\"a\": 1}')", {"protocol": "json"}, CommandOutputError, "an object with a, and no 'response'"),
    "null": ("print('{\"response\": null}')", {"protocol": "json"}, CommandOutputError, "'response' is null, not text"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILING)
def test_a_program_that_fails_says_how(script: Script, case: str) -> None:
    code, options, error, said = FAILING[case]
    with pytest.raises(error, match=said) as caught:
        command(script(code), **options).process(EXAMPLE)
    assert "\n" not in str(caught.value)


def test_a_failing_row_keeps_the_end_of_standard_error_and_the_others_go_on(script: Script) -> None:
    code = """
        import sys
        text = sys.stdin.read()
        if "q1" in text:
            print("\\n".join(f"log line {number}" for number in range(5000)), file=sys.stderr)
            sys.exit(3)
        print("fine")
    """
    rows = [{"id": str(number), "question": f"q{number}"} for number in range(3)]
    result = evaluate(command(script(code)), rows, [], max_workers=2)
    found = list(result.rows)
    assert [row.response for row in found] == ["fine", None, "fine"]
    [failure] = found[1].errors
    assert (failure.kind, failure.message.partition(" ")[2]) == (
        "CommandExitError",
        "ended with status 3: log line 4999",
    )
    assert "log line 4990\nlog line 4991" in failure.traceback
    assert "log line 10\n" not in failure.traceback


def test_a_program_that_reads_nothing_and_writes_much_stalls_nobody(script: Script) -> None:
    code = "import sys; sys.stderr.write('e' * 300_000); sys.stdout.write('x' * 300_000)"
    response = command(script(code)).process({"question": "q" * 3_000_000})["response"]
    assert response == "x" * 300_000


def is_gone(pid: int) -> bool:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False


STARTS_A_CHILD = """
    import subprocess, sys, time
    child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    open("child", "w").write(str(child.pid))
    print("answer", flush=True)
    {end}
"""


@pytest.mark.skipif(os.name == "nt", reason="process groups")
def test_what_a_program_has_started_ends_with_it(script: Script) -> None:
    assert command(script(STARTS_A_CHILD.format(end="pass"))).process(EXAMPLE) == {
        "response": "answer"
    }
    assert is_gone(int(Path("child").read_text()))


@pytest.mark.skipif(os.name == "nt", reason="process groups")
def test_what_a_program_has_started_is_killed_with_it(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    def clock() -> float:  # its time is up once it has started its child
        has_started = Path("child").is_file() and Path("child").read_text()
        return time.monotonic() + (2 * PATIENCE if has_started else 0.0)

    monkeypatch.setattr("context_bench_command.once.monotonic", clock)
    with pytest.raises(CommandTimeoutError):
        command(script(STARTS_A_CHILD.format(end="time.sleep(600)"))).process(EXAMPLE)
    assert is_gone(int(Path("child").read_text()))


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("protocol", ["text", "jsonl"])
def test_ctrl_c_leaves_no_program_behind(
    script: Script, tmp_path: Path, acme_rows: Callable[..., None], protocol: str
) -> None:
    slow = script(
        "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(600)", "slow"
    )
    acme_rows({"id": "1", "question": "q"})
    (tmp_path / "context-bench.toml").write_text(
        f"[[systems]]\nname = 'command'\noptions = {{ run = {slow!r}, version = '1', protocol = '{protocol}' }}\n"
        "[[datasets]]\nname = 'acme-rows'\n[run]\nevaluators = ['acme-yes']\n"
    )
    run = subprocess.Popen(
        [sys.executable, "-m", "context_bench", "run"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        until = time.monotonic() + PATIENCE
        while not (Path("pid").is_file() and Path("pid").read_text()) and time.monotonic() < until:
            assert run.poll() is None, run.communicate()[1]
            time.sleep(0.05)
        while run.poll() is None and time.monotonic() < until:
            run.send_signal(signal.SIGINT)
            time.sleep(1.0)
    finally:
        run.kill()
        run.communicate()
    assert run.returncode not in (0, -signal.SIGKILL)
    assert is_gone(int(Path("pid").read_text()))


@pytest.mark.parametrize(
    ("run", "options", "said"),
    [
        (["no-such-program-here"], {}, "The program 'no-such-program-here' is not on the PATH"),
        (["./no-such"], {}, "The program .* is not there, or may not be executed"),
        ([], {}, "must be a list: the program and its arguments"),
        ("tool --x", {}, "must be a list"),
        ([sys.executable], {"protocol": "xml"}, "must be one of text, json, jsonl"),
        ([sys.executable], {"stdin": "maybe"}, "must be one of auto, prompt, none"),
        ([sys.executable], {"timeout": 0}, "timeout must be seconds above 0"),
        ([sys.executable], {"timeout": 1e300}, "timeout must be seconds above 0 and up to 86,400"),
        ([sys.executable], {"cwd": "nowhere"}, "cwd is 'nowhere', which is no folder"),
        ([sys.executable], {"env": ["NOVALUE"]}, "must hold NAME=value"),
        (
            [sys.executable],
            {"env": ["MY_API_KEY=x"]},
            "MY_API_KEY, which sounds like a secret.*name it in pass_env",
        ),
        (
            [sys.executable],
            {"pass_env": ["NOT_SET_ANYWHERE"]},
            "NOT_SET_ANYWHERE, which is not set",
        ),
        ([sys.executable, "{question}"], {"protocol": "jsonl"}, r"cannot hold \{question\}"),
    ],
    ids=str,
)
def test_what_cannot_work_is_told_before_the_first_row(
    run: Any, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        command(run, **options)
    assert "\n" not in str(caught.value)


def test_a_program_that_goes_missing_later_fails_its_row(tmp_path: Path) -> None:
    program = tmp_path / "tool"
    program.write_text(f"#!{sys.executable}\nprint('x')\n")
    program.chmod(0o755)
    asked = command(["./tool"])
    assert asked.process(EXAMPLE) == {"response": "x"}
    program.unlink()
    with pytest.raises(
        CommandMissingError, match="tool cannot be started: there is no such program"
    ):
        asked.process(EXAMPLE)


@pytest.mark.parametrize(
    ("example", "error", "said"),
    [
        (
            {"question": "x" * 4_000_000},
            CommandMissingError,
            "too long: give the text on standard input",
        ),
        ({"question": "a\0b"}, CommandMissingError, "null byte"),
        ({"context": "c"}, ValueError, "has no field 'question' for the placeholder"),
    ],
    ids=["too long", "NUL", "missing"],
)
def test_an_argument_that_cannot_be_given_fails_its_row(
    script: Script, example: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        command([*script(ARGUMENTS), "{question}"]).process(example)


def test_an_example_without_anything_to_ask_fails_its_row(script: Script) -> None:
    with pytest.raises(ValueError, match="neither a context nor a question; it has id"):
        command(script(ECHO)).process({"id": "1"})


SHOW_ENV = "import os, json; print(json.dumps({'response': 'x', 'env': dict(os.environ), 'cwd': os.getcwd()}))"


def test_a_program_sees_the_listed_environment_and_no_secret_reaches_what_it_says(
    script: Script, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PASSED_API_KEY", "sk-canary-9")
    monkeypatch.setenv("OTHER_API_KEY", "sk-other-9")
    (tmp_path / "there").mkdir()
    asked = command(
        script(SHOW_ENV),
        protocol="json",
        env=["MODE=fast"],
        pass_env=["PASSED_API_KEY"],
        cwd=str(tmp_path / "there"),
    )
    found = asked.process(EXAMPLE)
    assert found["env"]["MODE"] == "fast"
    assert found["env"]["PASSED_API_KEY"] == "***"
    assert "OTHER_API_KEY" not in found["env"]
    assert found["cwd"] == str(tmp_path / "there")
    leaking = script(
        "import os, sys; sys.exit('bad key ' + os.environ['PASSED_API_KEY'])", "leaking"
    )
    with pytest.raises(CommandExitError, match=r"bad key \*\*\*"):
        command(leaking, pass_env=["PASSED_API_KEY"]).process(EXAMPLE)
    assert "sk-canary-9" not in str(asked.fingerprint())


def test_what_can_change_an_answer_is_in_the_fingerprint_and_nothing_else(script: Script) -> None:
    run = script(ECHO)
    base = command(run).fingerprint()
    assert command(run, name="shown", timeout=7, max_output=9).fingerprint() == base
    for change in (
        {"version": "2"}, {"prompt": "{question}"}, {"protocol": "json"}, {"env": ["A=1"]}, {"stdin": "none"}, {"cwd": "."},
    ):  # fmt: skip
        assert command(run, **change).fingerprint() != base, change
    assert command([*run, "-x"]).fingerprint() != base
    with pytest.warns(UserWarning, match="has no version, so its responses are never reused"):
        assert not hasattr(Command(run), "fingerprint")
