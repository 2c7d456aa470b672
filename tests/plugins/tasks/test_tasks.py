"""The dataset of tasks: hunts from a seed, own folders, and their checks."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from context_bench.errors import ConfigurationError, DatasetError
from context_bench_tasks import (
    PYTEST,
    REWARD,
    Check,
    HuntReader,
    Read,
    Write,
    digest_of,
    evidence_hunt,
    tasks,
)
from context_bench_tasks.hunt import INDEX, LEDGER, RULES


def workspace_of(files: dict[str, str]) -> dict[str, str]:
    return {path: digest_of(content) for path, content in files.items()}


def solve(task: dict[str, Any]) -> tuple[list[str], str]:
    """Return the files that a reader with a full memory reads, and the ledger that it writes."""
    texts = [task["question"]]
    paths: list[str] = []
    for _ in range(100):
        step = HuntReader(texts).next_step()
        if isinstance(step, Write):
            return paths, step.content
        paths.append(step.path)
        texts.append(task["files"][step.path])
    raise AssertionError("The reader does not end.")


def test_the_same_options_generate_the_same_bytes() -> None:
    first = json.dumps(list(tasks(n=3, seed=1)), sort_keys=True)
    assert first == json.dumps(list(tasks(n=3, seed=1)), sort_keys=True)
    assert first != json.dumps(list(tasks(n=3, seed=2)), sort_keys=True)
    assert hashlib.sha256(first.encode()).hexdigest()[:16] == "97f75f851dd6d14b"


@pytest.mark.parametrize("assets", [1, 8, 50])
def test_a_reader_with_a_memory_solves_each_hunt_and_reads_no_file_twice(assets: int) -> None:
    for task in tasks(n=10, seed=3, assets=assets):
        paths, ledger = solve(task)
        assert len(paths) == len(set(paths))
        assert paths[:2] == [RULES, INDEX]
        solved = workspace_of({**task["files"], LEDGER: ledger})
        assert Check.of_record(task["check"]).passes(solved)


def test_hunts_have_moved_entries_corrections_and_distractors() -> None:
    whole = "\n".join(content for task in tasks(n=5) for content in task["files"].values())
    for part in ("state=moved", "state=corrected", "draft asset=A", "unverified report", "asset=X"):
        assert part in whole


def test_the_workspace_contains_neither_the_ledger_nor_its_digest() -> None:
    for task in tasks(n=5):
        expected = task["check"]["outputs"][LEDGER]
        visible = json.dumps([task["question"], task["files"], task["id"]])
        assert LEDGER not in task["files"]
        assert expected not in visible


@pytest.mark.parametrize("path", [RULES, "logs/part-03.log"])
def test_a_changed_or_missing_input_fails_the_check(path: str) -> None:
    task = evidence_hunt(1, 0)
    solved = {**task["files"], LEDGER: solve(task)[1]}
    check = Check.of_record(task["check"])
    assert not check.passes(workspace_of({**solved, path: solved[path] + "\n"}))
    del solved[path]
    assert not check.passes(workspace_of(solved))


def test_a_first_digest_that_was_corrected_fails_the_check() -> None:
    task = evidence_hunt(1, 0)
    texts = [task["question"], *task["files"].values()]
    step = HuntReader(texts).next_step()
    assert isinstance(step, Write)
    line = next(
        line
        for text in texts
        for line in text.splitlines()
        if "state=recorded" in line
        and "entry=" in line
        and "asset=A" in line
        and "next=-" not in line
    )
    early = line.partition("digest=")[2].split()[0]
    asset = line.partition("asset=")[2].split()[0]
    wrong = "\n".join(
        row.replace(row[-32:], early)
        if row.startswith(asset) and row[len(asset)] not in "0123456789"
        else row
        for row in step.content.split("\n")
    )
    assert wrong != step.content
    solved = workspace_of({**task["files"], LEDGER: wrong})
    assert not Check.of_record(task["check"]).passes(solved)


def test_the_reader_asks_for_a_file_again_when_its_fact_is_not_visible() -> None:
    task = evidence_hunt(1, 0)
    files = task["files"]
    texts = [task["question"], files[INDEX], *(files[name] for name in files if "log" in name)]
    assert HuntReader(texts).next_step() == Read(RULES, search="rule ")
    index = HuntReader([task["question"], files[RULES]]).next_step()
    assert index == Read(INDEX, search="entry=1 asset=A1 ")
    assert not HuntReader([files[RULES], files[INDEX]]).is_readable
    with pytest.raises(ValueError, match="instruction"):
        HuntReader([files[RULES]]).next_step()


def test_notes_replace_the_files_that_they_were_taken_from() -> None:
    task = evidence_hunt(1, 4)
    notes = [line for text in task["files"].values() for line in HuntReader.facts_in(text)]
    step = HuntReader([task["question"], *notes]).next_step()
    assert step == Write(LEDGER, solve(task)[1])


@pytest.mark.parametrize(
    "options",
    [
        {"n": 0},
        {"assets": 0},
        {"assets": 51},
        {"limit": -1},
        {"split": "train"},
        {"config": "x"},
        {"path": "somewhere", "config": "evidence-hunt"},
    ],
    ids=str,
)
def test_an_option_that_cannot_be_used_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        list(tasks(**options))


def write(folder: Path, **files: str) -> Path:
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return folder


def test_own_folders_are_tasks(tmp_path: Path) -> None:
    write(
        tmp_path / "b",
        task_dot_toml="[limits]\nturns = 5\n",
        instruction_dot_md="Sort it.",
        files__names_dot_txt="b\na\n",
        files__keep_dot_txt="x",
        expected__names_dot_txt="a\nb\n",
    )
    write(
        tmp_path / "a",
        task_dot_toml="instruction = 'Write one.'\nid = 'first'\n",
        expected__one_dot_txt="1",
    )
    first, second = tasks(str(tmp_path))
    assert [first["id"], second["id"]] == ["first", "b"]
    assert second["limits"]["turns"] == 5
    assert second["files"] == {"keep.txt": "x", "names.txt": "b\na\n"}
    check = Check.of_record(second["check"])
    assert check.passes(workspace_of({"keep.txt": "x", "names.txt": "a\nb\n"}))
    assert not check.passes(workspace_of({"keep.txt": "y", "names.txt": "a\nb\n"}))
    assert not check.passes(workspace_of(second["files"]))
    assert list(tasks(str(tmp_path / "a"))) == [first]


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"task_dot_toml": "x ="},
        {"task_dot_toml": "check = 'pytest'", "instruction_dot_md": "a", "expected__a": "1"},
        {"task_dot_toml": "", "expected__a": "1"},
        {"task_dot_toml": "", "instruction_dot_md": "a"},
        {"task_dot_toml": "limits.turns = 0", "instruction_dot_md": "a", "expected__a": "1"},
        {"task_dot_toml": "limits.steps = 3", "instruction_dot_md": "a", "expected__a": "1"},
        {"task_dot_toml": "check = []", "instruction_dot_md": "a"},
        {"task_dot_toml": "check = [1]", "instruction_dot_md": "a"},
        {"task_dot_toml": "check = ['no-such-check-program']", "instruction_dot_md": "a"},
        {"task_dot_toml": "check = ['/no/such/program']", "instruction_dot_md": "a"},
        {"task_dot_toml": "check = ['bash', '{tests}/check.sh']", "instruction_dot_md": "a"},
        {"task_dot_toml": "check = ['{tests}/check.sh']", "instruction_dot_md": "a"},
        {
            "task_dot_toml": "check = ['bash', '{tests}/check.sh']",
            "instruction_dot_md": "a",
            "tests__other_dot_sh": "exit 0",
        },
    ],
    ids=str,
)
def test_a_folder_that_is_not_a_task_is_refused(tmp_path: Path, files: dict[str, str]) -> None:
    write(tmp_path / "task", **files)
    with pytest.raises(DatasetError):
        list(tasks(str(tmp_path)))


@pytest.mark.parametrize(
    "words",
    [["./made-by-the-agent.sh"], ["{tests}/a/check.sh"], ["grep", "-r", "x", "{tests}/a", "new"]],
    ids=str,
)
def test_a_check_command_names_hidden_files_and_what_the_agent_writes(
    tmp_path: Path, words: list[str]
) -> None:
    write(
        tmp_path,
        task_dot_toml=f"check = {json.dumps(words)}",
        instruction_dot_md="a",
        tests__a__check_dot_sh="#!/bin/sh",
    )
    (task,) = tasks(str(tmp_path))
    assert task["check"]["command"]["words"] == words


def test_a_check_command_has_files_that_the_agent_does_not_see(tmp_path: Path) -> None:
    write(
        tmp_path,
        task_dot_toml='check = ["bash", "{tests}/check.sh"]',
        instruction_dot_md="Sort it.",
        files__names_dot_txt="b",
        tests__check_dot_sh="exit 1",
    )
    (task,) = tasks(str(tmp_path))
    assert task["files"] == {"names.txt": "b"}
    check = Check.of_record(json.loads(json.dumps(task["check"])))
    assert check.command is not None
    assert list(check.command.words) == ["bash", "{tests}/check.sh"]
    assert check.command.files == {"check.sh": "exit 1"}
    changed = workspace_of({"names.txt": "a"})
    assert check.share(changed, command_share=1.0) == 1.0
    assert check.share(changed) == 0.0
    assert not check.passes(changed)


HARBOR = """
version = "1.0"
[metadata]
author_name = "nobody"
[verifier]
timeout_sec = 30.0
[agent]
timeout_sec = 120.0
[environment]
build_timeout_sec = 600.0
"""


def harbor(folder: Path, **more: str) -> Path:
    parts = {
        "task_dot_toml": HARBOR,
        "instruction_dot_md": "Write hello.txt.",
        "environment__notes_dot_txt": "hello",
        "tests__test_dot_sh": 'grep -q hello hello.txt && grep -q hello "$(dirname "$0")/expected.txt"',
        "tests__expected_dot_txt": "hello",
        "solution__solve_dot_sh": "echo hello > hello.txt",
    }
    return write(folder, **{**parts, **more})


def test_a_harbor_directory_without_an_image_is_a_task(tmp_path: Path) -> None:
    harbor(tmp_path / "hello")
    (task,) = tasks(str(tmp_path))
    assert (task["id"], task["question"], task["task"]) == ("hello", "Write hello.txt.", "harbor")
    assert task["files"] == {"notes.txt": "hello"}
    assert task["limits"]["seconds"] == 120
    check = Check.of_record(task["check"])
    assert check.command is not None
    assert (check.command.seconds, sorted(check.command.files)) == (30, ["expected.txt", "test.sh"])
    assert "solve" not in json.dumps(task)


DOCKERFILE = """
# canary
FROM ubuntu:24.04

WORKDIR /app
ENV MODE=strict PLACE=/app/data
COPY --chown=root data/ ./data/
COPY main.py \\
    run.sh /app/
CMD ["sleep", "infinity"]
"""
REWARD_TEST = """#!/bin/bash
if cmp -s /app/hello.txt /tests/expected.txt; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
"""


def test_a_harbor_directory_with_a_plain_dockerfile_is_a_task(tmp_path: Path) -> None:
    harbor(
        tmp_path / "hello",
        instruction_dot_md="Write /app/hello.txt.",
        environment__Dockerfile=DOCKERFILE,
        environment__data__a_dot_txt="1",
        environment__main_dot_py="2",
        environment__run_dot_sh="3",
        tests__test_dot_sh=REWARD_TEST,
    )
    (task,) = tasks(str(tmp_path / "hello"))
    assert task["files"] == {"data/a.txt": "1", "main.py": "2", "run.sh": "3"}
    assert task["question"].startswith("Write /app/hello.txt.")
    assert "`/app` is the current folder here" in task["question"]
    command = Check.of_record(json.loads(json.dumps(task["check"]))).command
    assert command is not None
    assert (command.result, command.workdir) == (REWARD, "/app")
    assert command.variables == {"MODE": "strict", "PLACE": "/app/data"}


def terminal_bench(folder: Path, **more: str) -> Path:
    parts = {
        "task_dot_yaml": "# canary\ninstruction: |-\n  Write a.txt\n\n  into /app.\ntags:\n  - files\n"
        "parser_name: pytest\nmax_agent_timeout_sec: 90.0\nmax_test_timeout_sec: 30.0\n",
        "Dockerfile": "FROM ghcr.io/laude-institute/t-bench/ubuntu-24-04:20250624\nCOPY seed.txt ./",
        "docker-compose_dot_yaml": "services:\n  client:\n    build:\n      dockerfile: Dockerfile\n"
        "    image: ${T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}\n    environment:\n      - TEST_DIR=${T_BENCH_TEST_DIR}\n",
        "run-tests_dot_sh": "#!/bin/bash\npython3 $TEST_DIR/test_outputs.py\n",
        "tests__test_outputs_dot_py": "print('PASSED test_outputs.py::test_a')",
        "solution_dot_sh": "echo a > a.txt",
        "seed_dot_txt": "s",
    }
    return write(folder, **{**parts, **more})


def test_a_terminal_bench_directory_with_a_plain_dockerfile_is_a_task(tmp_path: Path) -> None:
    terminal_bench(tmp_path / "hello")
    (task,) = tasks(str(tmp_path))
    assert (task["id"], task["task"], task["files"]) == (
        "hello",
        "terminal-bench",
        {"seed.txt": "s"},
    )
    assert task["question"].startswith("Write a.txt\n\ninto /app.")
    assert task["limits"]["seconds"] == 90
    command = Check.of_record(task["check"]).command
    assert command is not None
    assert (command.result, command.seconds) == (PYTEST, 30)
    assert sorted(command.files) == ["run-tests.sh", "test_outputs.py"]
    assert "solution" not in json.dumps(task)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"environment__Dockerfile": "FROM scratch"}, "no WORKDIR"),
        ({"environment__Dockerfile": "FROM golang\nWORKDIR /app"}, "starts from golang"),
        ({"environment__Dockerfile": "FROM python:3\nRUN apt-get install jq"}, "RUN apt-get"),
        ({"environment__Dockerfile": "FROM ubuntu\nWORKDIR /app\nCOPY notes.txt /etc/"}, "outside"),
        ({"environment__Dockerfile": "FROM ubuntu\nWORKDIR /app\nCOPY no /app/"}, "not a file"),
        ({"environment__docker-compose_dot_yaml": "services: {}"}, "docker-compose.yaml"),
        ({"task_dot_toml": HARBOR + 'docker_image = "python:3.12"'}, "docker_image"),
        ({"task_dot_toml": HARBOR + 'env = {KEY = "${KEY}"}'}, "variable KEY"),
        ({"task_dot_toml": HARBOR + '[[steps]]\nname = "a"'}, "steps"),
        ({"tests__test_dot_sh": "apt-get update"}, "calls apt-get update"),
        ({"tests__test_dot_sh": "if pytest-of-nobody\nthen rewardkit /tests\nfi"}, "rewardkit"),
        ({"tests__test_outputs_dot_py": "open('/workspace/hello.txt')"}, "uses /workspace"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_task_that_needs_an_image_is_refused_by_its_name(
    tmp_path: Path, more: dict[str, str], reason: str
) -> None:
    harbor(tmp_path / "hello", **more)
    with pytest.raises(DatasetError, match=r"^hello: the task needs a container image: ") as caught:
        list(tasks(str(tmp_path / "hello")))
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (
            {
                "docker-compose_dot_yaml": "services:\n  client:\n    build: .\n  db:\n    build: .\n"
            },
            "db",
        ),
        ({"docker-compose_dot_yaml": "services:\n  client:\n    image: redis:7\n"}, "redis:7"),
        ({"task_dot_yaml": "instruction: a\nparser_name: swebench\n"}, "parser swebench"),
        ({"task_dot_yaml": "tags:\n  - a\n"}, "no instruction"),
        ({"run-tests_dot_sh": "source $TEST_DIR/a.sh\nuv run pytest"}, "calls uv run"),
        ({"Dockerfile": "FROM ubuntu\nWORKDIR /app\nCOPY tests ./"}, "copies tests"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_terminal_bench_task_that_needs_an_image_is_refused(
    tmp_path: Path, more: dict[str, str], reason: str
) -> None:
    terminal_bench(tmp_path / "hello", **more)
    with pytest.raises(DatasetError, match=r"^hello: the task needs a container image: ") as caught:
        list(tasks(str(tmp_path / "hello")))
    assert reason in str(caught.value)


def test_tasks_that_need_an_image_are_counted_with_reasons_before_the_first_task(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    harbor(tmp_path / "b")
    harbor(tmp_path / "a", environment__Dockerfile="FROM ubuntu\nRUN make\nWORKDIR /app")
    (tmp_path / "a" / "environment" / "notes.txt").unlink()
    terminal_bench(tmp_path / "c", Dockerfile="FROM postgres")
    (harbor(tmp_path / "d") / "environment" / "image.png").write_bytes(b"\xff\xfe")
    found = tasks(str(tmp_path))
    told = capsys.readouterr().err
    assert "3 of 4 tasks need a container image" in told
    for part in (
        "a: its Dockerfile has RUN make.",
        "c: its Dockerfile starts from postgres.",
        "image.png",
    ):
        assert part in told
    assert [task["id"] for task in found] == ["b"]


def test_a_link_in_a_task_is_refused(tmp_path: Path) -> None:
    folder = write(
        tmp_path, task_dot_toml="", instruction_dot_md="a", expected__a="1", files__b="2"
    )
    (folder / "files" / "link").symlink_to("/etc/hostname")
    with pytest.raises(DatasetError, match="link"):
        list(tasks(str(tmp_path)))


def test_the_share_counts_correct_outputs() -> None:
    check = Check.of_files({"a": "1", "b": "2"}, {"c": "3"})
    assert check.share(workspace_of({"a": "1", "b": "x", "c": "3"})) == 0.5
    assert check.share(workspace_of({"a": "1", "b": "2"})) == 0.0
