"""Commands that packages bring: listed without an import, imported when they are called."""

from __future__ import annotations

from typing import Any

import pytest

from context_bench.cli.commands import CommandGroup, app
from context_bench.installation import install_hint
from context_bench.plugins import first_party
from context_bench.plugins.conflicts import COMMANDS

CODE = """
    import sys

    import click

    print("imported", file=sys.stderr)

    @click.command()
    @click.option("--loud", is_flag=True)
    def greet(loud):
        "Greet."
        click.echo("HELLO" if loud else "hello")

    @click.group()
    def zoo():
        "Animals."

    @zoo.command()
    def cat():
        click.echo("meow")

    @click.command()
    def dog():
        click.echo("woof")

    no_command = 3
"""
MANIFEST = """
    schema = 1
    api = "1.0"

    [commands.greet]
    summary = "Say hello"
    parent = "plugins"

    [commands.zoo]
    summary = "Animals"
    group = true

    [commands.dog]
    summary = "Bark"
    parent = "zoo"

    [commands.nothing]
    summary = "No command at all"
"""
POINTS = {
    "commands": {
        "greet": "acme_zoo:greet",
        "zoo": "acme_zoo:zoo",
        "dog": "acme_zoo:dog",
        "nothing": "acme_zoo:no_command",
    }
}


@pytest.fixture
def basics(site: Any) -> None:
    site.basics()


@pytest.fixture
def zoo(site: Any) -> None:
    site.add("acme-zoo", code=CODE, manifest=MANIFEST, entry_points=POINTS)


@pytest.mark.usefixtures("zoo")
def test_the_help_lists_a_command_without_importing_it(context_bench: Any) -> None:
    top, group = context_bench("--help"), context_bench("plugins", "--help")
    assert "zoo Animals" in top.words
    assert "greet Say hello" in group.words
    assert "imported" not in top.err + group.err


@pytest.mark.usefixtures("zoo")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plugins", "greet", "--loud"), "HELLO\n"),
        (("zoo", "cat"), "meow\n"),
        (("zoo", "dog"), "woof\n"),
    ],
    ids=" ".join,
)
def test_a_command_is_called(words: tuple[str, ...], said: str, context_bench: Any) -> None:
    done = context_bench(*words)
    assert (done.code, done.out) == (0, said)


@pytest.mark.usefixtures("zoo")
def test_a_group_of_a_package_lists_what_others_add(context_bench: Any) -> None:
    words = context_bench("zoo", "--help").words
    assert "cat" in words
    assert "dog Bark" in words


@pytest.mark.usefixtures("zoo")
def test_what_is_no_command_is_told_with_its_package(context_bench: Any) -> None:
    done = context_bench("nothing")
    assert done.code == 2
    assert (
        "acme-zoo/nothing cannot be used: its entry point acme_zoo:no_command names int"
        in done.words
    )


@pytest.mark.usefixtures("zoo")
def test_a_blocked_command_says_why(context_bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXT_BENCH_DISABLE_PLUGINS", "acme-zoo")
    done = context_bench("zoo", "cat")
    assert done.code == 2
    assert "Command acme-zoo/zoo is blocked" in done.words
    assert "[blocked] Animals" in context_bench("--help").words


def test_an_absent_command_of_ours_is_told_with_its_package(
    context_bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {
        "plugins paint": first_party.Provider("Paint it.", "context-bench-paint"),
        "paint": first_party.Provider("Paint.", "context-bench-paint"),
    }
    monkeypatch.setattr(first_party, "COMMANDS", told)
    for words in (("paint", "--red"), ("plugins", "paint")):
        done = context_bench(*words)
        assert done.code == 2
        assert install_hint("context-bench-paint") in done.words
    listed = context_bench("plugins", "--help").words.replace(" ", "")  # a long path is wrapped
    assert f"Paint it. {install_hint('context-bench-paint')}".replace(" ", "") in listed


def test_a_command_of_core_cannot_be_taken(site: Any, context_bench: Any) -> None:
    site.add(
        "acme-thief",
        code="def run():\n    raise SystemExit(99)\n",
        manifest='schema = 1\napi = "1.0"\n[commands.report]\nsummary = "Steal"\n',
        entry_points={"commands": {"report": "acme_thief:run"}},
    )
    assert "The state" not in context_bench("report", "--help").out
    assert context_bench("report", "--help").code == 0
    words = context_bench("plugins", "list", "--kind", "commands").words
    assert "conflict" in words
    assert "`context-bench report` is a command of core" in words


def test_the_reserved_commands_are_those_of_core() -> None:
    import click

    def own(group: Any) -> tuple[str, ...]:
        assert isinstance(group, CommandGroup)
        return tuple(group.own())

    context = click.Context(app)
    assert isinstance(app, CommandGroup)
    assert set(COMMANDS[""]) <= set(app.own())
    for name in set(COMMANDS) - {""}:
        assert set(COMMANDS[name]) <= set(own(app.get_command(context, name)))


GROUP = """
    schema = 1
    api = "1.0"

    [flags.taster]
    summary = "Who tastes"
    options.url = { flag = "--taster-url", help = "Where it is" }
"""
TASTER = """
    schema = 1
    api = "1.0"

    [evaluators.{name}]
    summary = "Tastes"
    class = "Taste"
    primary = "{name}"
    version = "1"
    option_groups = ["taster"]
    capabilities = ["network"]
    wire = {wire}
    scores.{name} = {{}}
"""


def _taster(site: Any, name: str, wire: str = "[]") -> None:
    site.add(
        f"acme-{name}",
        code="class Taste:\n    name = 'x'\n    def __init__(self, url=None): self.url = url\n"
        f"    def score(self, original, processed):\n        return {{'{name}': float(self.url == 'u')}}\n",
        manifest=TASTER.format(name=name, wire=wire),
        entry_points={"evaluators": {name: f"acme_{name}:Taste"}},
    )


@pytest.fixture
def tasters(site: Any) -> None:
    site.add("acme-flags", manifest=GROUP, entry_points={"flags": {"taster": "acme_flags"}})
    _taster(site, "sweet", '[{ option = "taster-url" }]')
    _taster(site, "sour")


@pytest.mark.usefixtures("tasters", "basics")
def test_a_flag_wires_only_evaluators_whose_own_wiring_names_it(context_bench: Any) -> None:
    run = ("run", "--system", "echo", "--dataset", "toy", "--taster-url", "u", "--dry-run")
    done = context_bench(*run)
    assert done.code == 0, done.err
    assert "+ acme-sweet/sweet" in done.words
    assert "- acme-sour/sour" in done.words
    assert "+ acme-sour/sour" in context_bench(*run, "--add-evaluator", "sour").words


@pytest.mark.usefixtures("tasters", "basics")
def test_a_shared_flag_is_shown_once_and_reaches_everybody_who_uses_it(
    context_bench: Any, tmp_path: Any
) -> None:
    assert context_bench("run", "--help-all").out.count("--taster-url") == 1
    done = context_bench(
        *(
            "run",
            "--system",
            "echo",
            "--dataset",
            "toy",
            "--taster-url",
            "u",
            "--add-evaluator",
            "sour",
        ),
        *("--run-file", tmp_path / "r.sqlite", "--format", "json", "--quiet"),
    )
    assert done.code == 0, done.err
    assert '"sweet"' in done.out


@pytest.mark.usefixtures("tasters", "basics")
@pytest.mark.parametrize("switch", ["no:taster", "taster"])
def test_a_flag_group_is_switched_by_its_id_and_never_in_vain_by_its_short_name(
    switch: str, context_bench: Any
) -> None:
    done = context_bench("plugins", "list", "-v", "-p", switch)
    assert done.code == 2
    assert (
        "Unknown plugin 'taster'. Choose from: acme-flags/taster. It stands in the command line."
        in done.words
    )
    listed = context_bench(
        "plugins", "list", "-v", "-p", switch.replace("taster", "acme-flags/taster")
    )
    assert (
        "it uses the option group acme-flags/taster, which is blocked" in listed.words
    ) == switch.startswith("no:")


@pytest.mark.usefixtures("tasters", "basics")
@pytest.mark.parametrize("more", [(), ("--dry-run",)], ids=["run", "dry run"])
@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (
            ("-p", "no:sweet", "--taster-url", "u"),
            "--taster-url has no effect",
        ),
        (
            ("--evaluators", "exact", "--taster-url", "u"),
            "without sour, sweet. Leave it out, or add one.",
        ),
        (
            ("--set", "evaluators.sour.url=u"),
            "--set evaluators.sour.url has no effect",
        ),
        (
            ("--score-prefix", "sour=x_"),
            "--score-prefix sour=x_ has no effect",
        ),
    ],
    ids=["switched off", "not among those asked for", "--set", "--score-prefix"],
)
def test_a_flag_that_nothing_in_a_run_takes_is_refused_and_leaves_no_run_file(
    context_bench: Any, tmp_path: Any, more: tuple[str, ...], flags: tuple[str, ...], said: str
) -> None:
    done = context_bench(
        "run", "--system", "echo", "--dataset", "toy", "--run-file", tmp_path / "r", *flags, *more
    )
    assert done.code == 2
    assert said in done.words
    assert not (tmp_path / "r").exists()


@pytest.mark.usefixtures("tasters", "basics")
@pytest.mark.parametrize("command", ["lock", "ping"])
def test_other_commands_with_the_arguments_of_a_run_refuse_such_a_flag_as_well(
    command: str, site: Any, context_bench: Any, tmp_path: Any
) -> None:
    site.add(
        "acme-ping",
        code="""
            from context_bench.console import echo
            from context_bench.config import run_options

            @run_options()
            def ping(config, catalog):
                echo("pong")
        """,
        manifest='schema = 1\napi = "1.0"\n[commands.ping]\nsummary = "Pings"\nfunction = "ping"\n',
        entry_points={"commands": {"ping": "acme_ping:ping"}},
    )
    asked = (command, "--system", "echo", "--dataset", "toy", "--taster-url", "u")
    assert context_bench(*asked).code == 0
    done = context_bench(*asked, "-p", "no:sweet")
    assert done.code == 2
    assert "--taster-url has no effect" in done.words


@pytest.mark.usefixtures("tasters", "basics")
def test_a_flag_that_only_a_row_s_own_dataset_could_need_is_told_before_the_run(
    context_bench: Any, tmp_path: Any
) -> None:
    (tmp_path / "a.labels").write_text("one\n")
    flags = ("--set", "evaluators.sour.url=u", "--format", "none", "--quiet")
    done = context_bench("run", "--system", "echo", "--dataset", str(tmp_path / "a.labels"), *flags)
    assert done.code == 0, done.err
    assert "has no effect without sour." in done.words
    named = context_bench(
        "run", "--system", "echo", "--dataset", f"x={tmp_path / 'a.labels'}", *flags
    )
    assert named.code == 2


def test_a_group_that_nobody_declares_is_a_missing_dependency(
    site: Any, context_bench: Any
) -> None:
    _taster(site, "sweet")
    words = context_bench("plugins", "list", "--kind", "evaluators").words
    assert "missing-dependency" in words
    assert "'taster'" in words


@pytest.mark.parametrize(
    ("flag", "reason"),
    [
        ("--max-workers", "--max-workers is a flag of core"),
        ("--taster-url", "--taster-url is also a flag of"),
    ],
)
@pytest.mark.usefixtures("tasters")
def test_a_flag_belongs_to_its_owner(flag: str, reason: str, site: Any, context_bench: Any) -> None:
    site.add(
        "acme-rival",
        code="class Taste:\n    name = 'x'\n    def score(self, o, p): return {}\n",
        manifest=TASTER.format(name="rival", wire="[]").replace(
            'option_groups = ["taster"]', f'options.url = {{ flag = "{flag}", help = "Mine" }}'
        ),
        entry_points={"evaluators": {"rival": "acme_rival:Taste"}},
    )
    words = context_bench("plugins", "show", "acme-rival").words
    assert "conflict" in words
    assert reason in words
    assert "Mine" not in context_bench("run", "--help-all").words


@pytest.mark.usefixtures("basics")
def test_nobody_is_wired_by_anothers_flag(site: Any, context_bench: Any) -> None:
    site.add("acme-flags", manifest=GROUP, entry_points={"flags": {"taster": "acme_flags"}})
    _taster(site, "sweet", '[{ option = "taster-url" }]')
    site.add(
        "acme-spy",
        code="class Spy:\n    name = 'x'\n    def score(self, o, p): return {}\n",
        manifest=TASTER.format(name="spy", wire='[{ option = "taster-url" }]').replace(
            'option_groups = ["taster"]', ""
        ),
        entry_points={"evaluators": {"spy": "acme_spy:Spy"}},
    )
    words = context_bench(
        "run", "--system", "echo", "--dataset", "toy", "--taster-url", "u", "--dry-run"
    ).words
    assert "+ acme-sweet/sweet" in words
    assert "- acme-spy/spy" in words
