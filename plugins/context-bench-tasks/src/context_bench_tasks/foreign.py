"""Tasks in the directories of Harbor and terminal-bench, as far as they need no container image.

Harbor copies ``tests`` to ``/tests``, runs ``/tests/test.sh`` in the working directory of the image, and reads the reward from
``/logs/verifier``. Terminal-bench copies ``tests`` and ``run-tests.sh`` to ``/tests``, sets ``TEST_DIR``, and reads the output of
pytest.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from context_bench_tasks.checks import PYTEST, REWARD, Check, CommandCheck
from context_bench_tasks.images import (
    ImageNeededError,
    PlainImage,
    find_outside,
    read_compose,
    read_context,
    read_dockerfile,
)
from context_bench_tasks.texts import LIMITS, read_settings, read_text, read_texts
from context_bench_tasks.yaml_scalars import read_scalars

_SECTIONS = {
    "metadata",
    "verifier",
    "agent",
    "environment",
    "version",
    "schema_version",
    "task",
    "solution",
    "artifacts",
    "source",
    "steps",
}
_SCRIPT = "test.sh"
_RUNNER = "run-tests.sh"
_COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")
_SECONDS = 600
_OTHER_NEEDS = ("docker_image", "gpus", "tpu", "mcp_servers", "healthcheck")
_INSTALLS = re.compile(
    r"\b(?:apt-get|apt|apk|yum|dnf|brew|conda|pip3?|npm|uv)\s+(?:-\S+\s+)*"
    r"(?:install|add|update|upgrade|ci|sync|venv|init|run|pip)\b"
    r"|\b(?:uvx|npx|curl|wget|docker)\b"
)
_PROGRAM = re.compile(
    r"(?:^|[;&|(!]|\b(?:if|then|do|else|exec|time)\s)[ \t]*(?:\w+=\S*\s+)*"
    r"(pytest|python3?|node|go|cargo|rustc|gcc|g\+\+|make|cmake|java|javac|mvn|ruby|perl|php|jq|git|sqlite3|rewardkit)\b",
    re.MULTILINE,
)
_NOTE = "\n\n(`{workdir}` is the current folder here: use relative paths, such as `a.txt` for `{workdir}/a.txt`.)"


def is_foreign(folder: Path) -> bool:
    """Return whether a folder is laid out as Harbor's or terminal-bench's are."""
    return is_terminal_bench(folder) or is_harbor(folder)


def is_harbor(folder: Path) -> bool:
    """Return whether a folder is laid out as Harbor's are: ``tests/test.sh``, and tables of Harbor in ``task.toml``."""
    has_files = (folder / "task.toml").is_file() and (folder / "tests" / _SCRIPT).is_file()
    return has_files and set(read_settings(folder / "task.toml")) <= _SECTIONS


def is_terminal_bench(folder: Path) -> bool:
    """Return whether a folder is laid out as terminal-bench's are: ``task.yaml`` and ``run-tests.sh``."""
    return (folder / "task.yaml").is_file() and (folder / _RUNNER).is_file()


def read_foreign(folder: Path) -> dict[str, Any]:
    """Return the task of a folder.

    Raises:
        ImageNeededError: It needs an image, or something else that a folder does not have.
        DatasetError: A part is missing or cannot be read.
    """
    try:
        return _read_terminal_bench(folder) if is_terminal_bench(folder) else _read_harbor(folder)
    except ImageNeededError as error:
        raise ImageNeededError(
            f"{folder.name}: the task needs a container image: {error}. Only tasks without an image are run."
        ) from error


def _read_harbor(folder: Path) -> dict[str, Any]:
    settings = read_settings(folder / "task.toml")
    if settings.get("steps"):
        raise ImageNeededError("it has several steps")
    environment = _table(settings, "environment")
    verifier = _table(settings, "verifier")
    for name in _OTHER_NEEDS:
        if environment.get(name):
            raise ImageNeededError(f"environment.{name} is set")
    if verifier.get("environment") or verifier.get("environment_mode", "shared") != "shared":
        raise ImageNeededError("its tests have an environment of their own")
    place = folder / "environment"
    for name in _COMPOSE:
        if (place / name).exists() or (folder / name).exists():
            raise ImageNeededError(f"it has {name}")
    if (folder / "Dockerfile").exists():
        raise ImageNeededError("it has Dockerfile outside environment/")
    image = _image(place / "Dockerfile", read_context(place, read_texts(place)))
    variables = {**image.variables, **_own_variables(environment), **_own_variables(verifier)}
    tests = read_texts(folder / "tests")
    check = CommandCheck(
        words=("bash", f"{{tests}}/{_SCRIPT}"),
        files=tests,
        seconds=_seconds(verifier.get("timeout_sec")),
        result=REWARD,
        workdir=image.workdir,
        variables=variables,
    )
    seconds = _seconds(_table(settings, "agent").get("timeout_sec"))
    return _task(folder, read_text(folder / "instruction.md"), image, check, seconds)


def _read_terminal_bench(folder: Path) -> dict[str, Any]:
    settings = read_scalars(read_text(folder / "task.yaml"))
    if settings.get("parser_name", PYTEST) != PYTEST:
        raise ImageNeededError(f"its tests are read by the parser {settings['parser_name']}")
    for name in _COMPOSE:
        if (folder / name).exists():
            read_compose(read_text(folder / name))
    tests = {_RUNNER: read_text(folder / _RUNNER), **read_texts(folder / "tests")}
    hidden = ("tests/", "solution", _RUNNER, "task.yaml", "docker-compose")
    context = {
        path: text
        for path, text in read_context(folder, read_texts(folder)).items()
        if not path.startswith(hidden)
    }
    image = _image(folder / "Dockerfile", context)
    check = CommandCheck(
        words=("bash", f"{{tests}}/{_RUNNER}"),
        files=tests,
        seconds=_seconds(settings.get("max_test_timeout_sec")),
        result=PYTEST,
        workdir=image.workdir,
        variables=image.variables,
    )
    seconds = _seconds(settings.get("max_agent_timeout_sec"))
    question = settings.get("instruction", "")
    return _task(folder, question, image, check, seconds)


def _task(
    folder: Path, question: str, image: PlainImage, check: CommandCheck, seconds: int
) -> dict[str, Any]:
    """Return a task whose tests can be run in a folder."""
    if not question.strip():
        raise ImageNeededError("it has no instruction that can be read")
    find_outside(check.files, image.workdir)
    for name, text in check.files.items():
        if name.endswith(".sh"):
            _require_programs(name, text)
    if re.search(rf"{re.escape(image.workdir)}(?![\w-])", question):
        question += _NOTE.format(workdir=image.workdir)
    return {
        "id": folder.name,
        "question": question,
        "files": dict(image.files),
        "limits": {**LIMITS, "seconds": seconds},
        "task": "terminal-bench" if check.result == PYTEST else "harbor",
        "check": Check.of_files({}, {}, command=check).record(),
    }


def _image(dockerfile: Path, context: Mapping[str, str]) -> PlainImage:
    """Return what a recipe makes; without a recipe, the files as they are in ``/app``."""
    if not dockerfile.exists():
        return PlainImage("/app", context)
    return read_dockerfile(read_text(dockerfile), context)


def _require_programs(name: str, script: str) -> None:
    """Accept a script of tests that installs nothing, and whose programs are here.

    Raises:
        ImageNeededError: It installs something, or calls a program that does not exist.
    """
    code = re.sub(r"(?m)^\s*#.*$", "", script)
    installs = _INSTALLS.search(code)
    if installs is not None:
        raise ImageNeededError(f"tests/{name} calls {' '.join(installs.group().split())}")
    for program in dict.fromkeys(_PROGRAM.findall(code)):
        if shutil.which(program) is None:
            raise ImageNeededError(f"tests/{name} calls {program}, which is not installed here")


def _table(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = settings.get(name)
    return table if isinstance(table, Mapping) else {}


def _own_variables(table: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables that a table sets; one that is taken from this machine is refused."""
    variables = table.get("env")
    if not isinstance(variables, Mapping):
        return {}
    for name, value in variables.items():
        if "${" in str(value):
            raise ImageNeededError(f"it takes the variable {name} from this machine")
    return {str(name): str(value) for name, value in variables.items()}


def _seconds(value: object) -> int:
    try:
        seconds = float(str(value))
    except ValueError:
        return _SECONDS
    return int(seconds) if 1 <= seconds < 1e9 else _SECONDS
