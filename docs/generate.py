"""Write the pages that follow from the code.

`python docs/generate.py` writes docs/reference/command-line.md from core's commands, whatever is installed beside it,
docs/reference/plugins.md, the JSON Schemas and the table in README.md from the manifests in plugins/, and the list of decisions. With `--check` it only says what it would
change.
`python docs/generate.py --outputs PAGE ...` runs the commands on pages and writes down what they say now.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import click
import row_route
import tomli
from attrs import frozen
from pages import with_outputs

from context_bench.cli.commands import app
from context_bench.plan.project_schema import project_schema
from context_bench.plan.run_config import PARAMETERS
from context_bench.plugins.first_party import NEEDS
from context_bench.plugins.json_schema import manifest_schema
from context_bench.plugins.manifest import (
    FILE_NAME,
    CommandManifest,
    ComponentManifest,
    DatasetManifest,
    EvaluatorManifest,
    ReporterManifest,
    SystemManifest,
    parse_manifest,
)

ROOT = Path(__file__).resolve().parents[1]
NOTE = "<!-- Written by `python docs/generate.py`: do not edit. -->"
TABLE_BEGINS, TABLE_ENDS = (
    "<!-- packages: written by `python docs/generate.py` -->",
    "<!-- /packages -->",
)
RUN_BEGINS, RUN_ENDS = "<!-- run: written by `python docs/generate.py` -->\n", "<!-- /run -->"
LAYERS_BEGIN = "<!-- layers: written by `python docs/generate.py` -->\n"
LAYERS_END = "<!-- /layers -->"

COMMAND_LINE = f"""\
# Command line

{NOTE}

Results go to standard output, everything else to standard error. Flags without a command mean `run`, but `--list-datasets`
means `datasets list`. Settings in the [project file](project-file.md) need not be typed. `run` and `lock` also take the flags
that installed evaluators declare, such as `--judge-url`; `context-bench run --help-all` lists them. A flag of an evaluator, or an
option by `--set`, that nothing in the run uses is an error, or a warning if rows of a file name their dataset themselves.

## Specs

| what | form | example |
|---|---|---|
| system | `[label=]name[:key=value[,key=value...]]` | `short=bm25:ratio=0.3,passage_sentences=1` |
| dataset | `[label=]name[:config][,key=value...]`, or a path instead of the name | `16k=needle:multi-key,length=16000` |
| list | values separated by `/` | `lengths=1k/4k/16k` |
| sweep | numbers separated by `/`, for an option of a system: one system for each number | `bm25:ratio=0.1/0.25/0.5` |

The split of a dataset is an option, `name:split=test`. If only options follow, a comma can replace the colon:
`needle,length=8000`. A value with a comma is written in quotation marks: `replay:field='good, plain'`;
in the project file and with `--set` it needs none. A system with the option `config` takes its value without the name, as a
dataset does: `agent:loop,notes=true`.

## Exit codes

| code | when |
|---|---|
| 0 | success |
| 1 | an internal error, with a traceback |
| 2 | usage, configuration or plugins: nothing was run, or the run stopped and can be resumed |
| 3 | the run is not complete: `report` and `export` print how many rows are missing; or `run`: no evaluator scored any row |
| 10 | a gate failed, or `verify` found a damaged run file or scores that cannot be computed again |
| 11 | a gate is inconclusive: more rows would decide it |
| 12 | more rows failed than `--max-failed` allows, or a dead system stopped the run |
| 130 | interrupted: calls in flight had ten seconds to end; the command to continue is printed |
| 129 | the same by SIGHUP |
| 143 | the same by SIGTERM |

## Commands

Each option is described once: if a command only names it, under [run](#context-bench-run) or under [options of several
commands](#options-of-several-commands).
"""

SHARED_OPTIONS = """\
## Options of several commands

"""

COMMANDS_OF_PACKAGES = """\
## Commands of packages

The pages of the packages describe their options.
"""

PLUGINS = f"""\
# Plugins

{NOTE}

The packages in `plugins/`, as their manifests describe them. `context-bench plugins list` shows everything that is
installed, including packages of other authors.
"""


@frozen
class Package:
    """A package in plugins/ that is ready to be installed.

    Attributes:
        name: Name of the distribution.
        description: One line.
        components: What it brings.
    """

    name: str
    description: str
    components: tuple[ComponentManifest, ...]

    @property
    def brings(self) -> str:
        """Its components, kind by kind."""
        kinds = [
            (kind, [f"`{facts.name}`" for facts in found])
            for kind, found in groupby(self.components, key=attrgetter("kind"))
        ]
        return "; ".join(
            f"{kind if names[1:] else kind.removesuffix('s')} {', '.join(names)}"
            for kind, names in kinds
        )


def packages() -> list[Package]:
    """Return the packages that have a pyproject.toml, a manifest, and a README that says how to install them."""
    found = []
    for manifest in sorted(ROOT.glob(f"plugins/*/src/*/{FILE_NAME}")):
        folder = manifest.parents[2]
        project, readme = folder / "pyproject.toml", folder / "README.md"
        if (
            project.is_file()
            and readme.is_file()
            and "pip install ./core" in readme.read_text(encoding="utf-8")
        ):
            description = tomli.loads(project.read_text(encoding="utf-8"))["project"]["description"]
            components = parse_manifest(manifest.read_bytes()).components
            found.append(Package(folder.name, description, tuple(components.values())))
    return found


GROUPS: dict[str, str] = {
    "Run and operate": "audit conversations cost dask efficiency http kit limits postgres preflight pytest ray testing tokenizers",
    "Systems": "agents-live anthropic command compress llama memory openai python replay upstream",
    "Data": "agents code-datasets huggingface inspect instruction knowledge lm-eval local long-context long-memory needle nli-datasets qa reasoning "
    "sessions summarization tasks",
    "Scores": "agreement answer-quality bbh code deepeval hf-evaluate ifeval judge judging math multiple-choice nli rag rouge scorers scorers-code "
    "scorers-embedding scorers-judge scorers-text summary-score",
    "Agent sessions": "controls session-reader survival",
    "Compare and report": "compare html otel reports suites sweeps validation view",
}
"""The packages by what people look for, as the README lists them; each package is in one group."""


def readme_with_table() -> str:
    """Return the README with the table of packages as it should be.

    Raises:
        ValueError: A package is in no group, or in several.
    """
    names = [package.name.removeprefix("context-bench-") for package in packages()]
    grouped = [name for group in GROUPS.values() for name in group.split()]
    if sorted(grouped) != sorted(names):
        wrong = sorted({*grouped} ^ {*names}) or "one of them is there twice"
        raise ValueError(f"GROUPS must name each package once: {wrong}")
    lines = ["| for | packages |", "|---|---|"]
    for group, members in GROUPS.items():
        links = [f"[{name}](plugins/context-bench-{name}/README.md)" for name in members.split()]
        lines.append(f"| {group} | {', '.join(links)} |")
    before, _, rest = (ROOT / "README.md").read_text(encoding="utf-8").partition(TABLE_BEGINS)
    after = rest.partition(TABLE_ENDS)[2]
    return "".join(
        [before, TABLE_BEGINS, "\n", *(f"{line}\n" for line in lines), TABLE_ENDS, after]
    )


def plugins_page() -> str:
    """Return the reference of the project's own packages."""
    commands = all_commands()
    [run] = [
        set(command.options.values()) for command in commands if command.path == "context-bench run"
    ]
    parts = [PLUGINS]
    for package in packages():
        parts.append(
            f"## {package.name}\n\n{package.description} [README](../../plugins/{package.name}/README.md)\n"
        )
        parts.append(f"```bash\n{_install_line(package.name)}\n```\n")
        parts += [_component(facts) for facts in package.components if not _is_command(facts)]
        parts += [
            command.described(run, set(), "command-line.md")
            for command in commands
            if command.owner == package.name
        ]
    return "\n".join(parts)


def _is_command(facts: ComponentManifest) -> bool:
    return isinstance(facts, CommandManifest) and facts.extends is None


def _install_line(package: str) -> str:
    """Return the command that installs a package in a checkout, with those that it stands on."""
    names = [*NEEDS.get(package, "").split(), package]
    return " ".join(["pip install ./core", *(f"./plugins/{name}" for name in names)])


CARDS = """# Cards of the benchmarks

{note}

What each benchmark asks for. *Context*: whether an example has a context; without it a context compressor is refused. The page of the
package adds the instruction, in our own wording unless stated otherwise, what dependent examples have in common, and the published
numbers that a score can be compared with. `context-bench datasets show NAME` prints splits, sizes, license and source, too.
[Beside the task files of lm-eval](cards-and-lm-eval.md).

| name | package | form | primary | context | shots |
|---|---|---|---|---|---|
"""


def cards_page() -> str:
    """Return the reference of what each benchmark asks for."""
    lines = [
        _card_row(package, card)
        for package in packages()
        for card in package.components
        if isinstance(card, DatasetManifest) and card.answer_form
    ]
    return CARDS.format(note=NOTE) + "".join(lines)


def _card_row(package: Package, card: DatasetManifest) -> str:
    primary = card.of_config("primary", None)
    short = package.name.removeprefix("context-bench-")
    cells = [
        f"`{card.name}`",
        f"[{short}](plugins.md#{package.name})",
        card.of_config("answer_form", None),
        f"`{primary}`" if primary else "",
        card.of_config("context_role", None),
        str(card.shots or ""),
    ]
    return f"| {' | '.join(cells)} |\n"


def _component(facts: ComponentManifest) -> str:
    lines = [
        f"### {facts.kind.removesuffix('s')} `{facts.name}`",
        "",
        f"{facts.summary.rstrip('.')}.",
        "",
    ]
    told = {"class": f"`{facts.class_name}`" if facts.class_name else ""}
    if isinstance(facts, SystemManifest):
        told["kind"] = facts.system_kind
    if isinstance(facts, EvaluatorManifest):
        told["wired to"] = "; ".join(map(str, facts.wire)) or "nothing"
        told["scores"] = ", ".join(
            f"`{key}`{' (primary)' if key == facts.primary else ''}" for key in facts.scores
        )
        told["needs fields"] = ", ".join(
            f"{side} `{name.replace('|', '` or `')}`"
            for side, names in facts.needs.by_side.items()
            for name in names
        )
    if isinstance(facts, DatasetManifest):
        told["primary"] = f"`{facts.primary}`" if facts.primary else ""
        told["configurations"] = _quoted(facts.configs)
        told["splits"] = _quoted(facts.splits)
        told["tags"] = _quoted(facts.tags)
        told["fields"] = _quoted(facts.fields)
        told["answer form"] = facts.answer_form
        told["instruction"] = facts.instruction
        told["dependent examples share"] = facts.cluster
        told["comparable with"] = facts.comparable
    if isinstance(facts, DatasetManifest | ReporterManifest):
        told["files"] = _quoted(facts.files)
    told["capabilities"] = _quoted(facts.capabilities)
    if isinstance(facts, DatasetManifest):
        told["license"] = facts.license
    known = [f"| {name} | {value} |" for name, value in told.items() if value]
    lines += ["| | |", "|---|---|", *known] if known else []
    if facts.options:
        lines += ["", "| option | type | default | |", "|---|---|---|---|"]
    for option in facts.options.values():
        default = "" if option.default is None or option.secret else f"`{_plain(option.default)}`"
        notes = [option.help.rstrip(".")]
        notes += [f"one of {_quoted(option.choices)}"] if option.choices else []
        notes += [f"flag `{option.flag}`"] if option.flag else []
        notes += [f"from `{option.env}`"] if option.env else []
        notes += ["required"] if option.required else []
        lines.append(
            f"| `{option.name}` | {option.type} | {default} | {'; '.join(notes).replace('|', chr(92) + '|')} |"
        )
    return "\n".join([*lines, ""])


def command_line() -> str:
    """Return the reference of the command line: core's own commands and options, each option described once."""
    commands = {one.path: one for one in all_commands()}
    own = [command for command in commands.values() if command.owner == "context-bench"]
    run = set(commands["context-bench run"].options.values())
    counts = Counter(line for command in own for line in command.options.values())
    several = [line for line, count in counts.items() if count > 1 and line not in run]
    described = [
        command.described(run if command.path != "context-bench run" else set(), set(several))
        for command in own
    ]
    of_packages = [
        f"| `{name}` | [{command.owner}](plugins.md#{command.owner}) | {command.first_sentence} |"
        for name, command in commands.items()
        if command not in own
    ]
    shared = ["| option | |", "|---|---|", *several, ""]
    packages = ["| command | package | |", "|---|---|---|", *of_packages, ""]
    return "\n".join(
        [COMMAND_LINE, *described, SHARED_OPTIONS, *shared, COMMANDS_OF_PACKAGES, *packages]
    )


def all_commands() -> list[Command]:
    """Return core's commands and those of installed packages."""
    return list(_commands(app, "context-bench"))


@frozen
class Command:
    """A command.

    Attributes:
        path: Its words.
        owner: The distribution that brings it.
        arguments: Names of its arguments, as the usage line has them.
        help: What it does.
        options: A line of a table for each option, by the option's first name.
    """

    path: str
    owner: str
    arguments: tuple[str, ...]
    help: str
    options: dict[str, str]

    @property
    def first_sentence(self) -> str:
        """The first sentence of its help."""
        return re.split(r"(?<=\.) ", self.help)[0]

    def described(self, run: set[str], several: set[str], page: str = "") -> str:
        """Return its section; the options of ``run`` and those of several commands are only named.

        Args:
            run: The lines of the options of ``run``.
            several: The lines of options that are described with others.
            page: The page with the command ``run``, for links from another page.
        """
        about = f"Arguments: `{' '.join(self.arguments)}`. " if self.arguments else ""
        parts = [f"### {self.path}\n", f"{about}{self.help}\n"]
        own = [line for line in self.options.values() if line not in run | several]
        if own:
            parts.append("\n".join(["| option | |", "|---|---|", *own, ""]))
        named = [f"`{name}`" for name, line in self.options.items() if line in run | several]
        absent = [line for line in run if line not in self.options.values()]
        if len(absent) < len(named):
            others = [f"`{name}`" for name, line in self.options.items() if line in several]
            lacking = [line.split("`")[1] for line in sorted(absent)]
            also = f", and {', '.join(others)}" if others else ""
            excluded = ", ".join(f"`{name}`" for name in lacking)
            link = f"[run]({page}#context-bench-run)"
            parts.append(f"All options of {link}{also}, except {excluded}.\n")
        elif named:
            link = f", as [run]({page}#context-bench-run)" if page else ""
            parts.append(f"{'More options' if own else 'Options'}{link}: {', '.join(named)}.\n")
        return "\n".join(parts)


def _commands(command: click.Command, path: str) -> Iterator[Command]:
    context = click.Context(command, info_name=path)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None:
                yield from _commands(found, f"{path} {name}")
        return
    arguments = [
        param.make_metavar(context) for param in command.params if isinstance(param, click.Argument)
    ]
    options = {
        param.opts[0]: _option(param, context)
        for param in command.params
        if isinstance(param, click.Option)
    }
    package = (command.callback.__module__ if command.callback else "").partition(".")[0]
    yield Command(path, package.replace("_", "-"), tuple(arguments), _line(command.help), options)


def _option(option: click.Option, context: click.Context) -> str:
    names = ", ".join(f"`{name}`" for name in option.opts)
    metavar = option.make_metavar(context).replace("|", "\\|")
    value = "" if option.is_flag else f" `{metavar}`"
    help_text = _line(option.help)
    if option.show_default and option.default is not None:
        help_text += f" [default: {_plain(option.default)}]"
    return f"| {names}{value} | {help_text} |"


def _line(text: str | None) -> str:
    return " ".join((text or "").split())


def _plain(value: object) -> str:
    if isinstance(value, list | tuple):
        return "/".join(map(str, value))
    return (
        str(value).lower()
        if isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def project_file() -> str:
    """Return the page of the project file with the keys of [run] as the parameters of a request declare them."""
    lines = ["", "| key | type | flag | in keys |", "|---|---|---|---|"]
    for one in PARAMETERS.values():
        if one.key is not None and one.key.startswith("run."):
            flag = f"`{one.flags[0]}`" if one.flags else ""
            lines.append(
                f"| `{one.key.removeprefix('run.')}` | {one.type.name} | {flag} | {'yes' if one.keyed else ''} |"
            )
    before, _, rest = (
        (ROOT / "docs" / "reference" / "project-file.md")
        .read_text(encoding="utf-8")
        .partition(RUN_BEGINS)
    )
    after = rest.partition(RUN_ENDS)[2]
    return "".join([before, RUN_BEGINS, *(f"{line}\n" for line in lines), "\n", RUN_ENDS, after])


def files() -> dict[Path, str]:
    """Return the text of every generated page."""
    reference = ROOT / "docs" / "reference"
    return {
        reference / "command-line.md": command_line(),
        reference / "plugins.md": plugins_page(),
        reference / "cards.md": cards_page(),
        reference / "project-file.md": project_file(),
        **{reference / name: text for name, text in schemas().items()},
        ROOT / "docs" / "concepts" / "architecture.md": architecture(),
        ROOT / "docs" / "concepts" / "decisions.md": decisions(),
        ROOT / "docs" / "concepts" / "how-a-row-travels.md": row_route.page(NOTE),
        ROOT / "docs" / "images" / "row.svg": row_route.picture(),
        ROOT / "README.md": readme_with_table(),
    }


def schemas() -> dict[str, str]:
    """Return the JSON Schemas by the name of their file; that of the project file has the options of all packages."""
    components = [component for package in packages() for component in package.components]
    components += parse_manifest(
        (ROOT / "core/src/context_bench" / FILE_NAME).read_bytes()
    ).components.values()
    found = {"manifest": manifest_schema(), "project": project_schema(components)}
    return {
        f"{name}.schema.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in found.items()
    }


def architecture() -> str:
    """Return the architecture page with the layers of core, as the import rules declare them."""
    project = tomli.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = project["tool"]["importlinter"]["contracts"][0]
    lines = ["| module of `context_bench` | purpose |", "|---|---|"]
    for layer in contract["layers"]:
        for module in re.split(r" [|:] ", layer):
            name = module.strip(" ()").removeprefix("context_bench.")
            lines.append(f"| `{name}` | {_purpose(name)} |")
    page = (ROOT / "docs" / "concepts" / "architecture.md").read_text(encoding="utf-8")
    before, _, rest = page.partition(LAYERS_BEGIN)
    after = rest.partition(LAYERS_END)[2]
    table = "".join(f"{line}\n" for line in lines)
    return f"{before}{LAYERS_BEGIN}\n{table}\n{LAYERS_END}{after}"


def _purpose(module: str) -> str:
    """Return the first paragraph of a module's docstring."""
    path = ROOT / "core" / "src" / "context_bench" / module.replace(".", "/")
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(docstring.split("\n\n")[0].split())
    return re.sub(r"``(.*?)``", r"`\1`", paragraph).replace("|", "\\|")


def decisions() -> str:
    """Return the list of the decision records, each by its title."""
    records = sorted((ROOT / "docs" / "concepts" / "decisions").glob("*.md"))
    titles = [record.read_text(encoding="utf-8").splitlines()[0].lstrip("# ") for record in records]
    lines = [
        f"- [{title}](decisions/{record.name})"
        for record, title in zip(records, titles, strict=True)
    ]
    introduction = (
        "Why the design is as it is. [Design history](design-history.md) lists what was withdrawn."
    )
    return "\n".join(["# Decisions", "", NOTE, "", introduction, "", *lines, ""])


def write_outputs(names: list[str]) -> None:
    """Run the commands on pages, and write down their outputs where they are others now."""
    for name in names:
        page = ROOT / name
        with tempfile.TemporaryDirectory() as folder:
            page.write_text(
                with_outputs(page.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8"
            )


def main(arguments: list[str]) -> int:
    """Write the pages, or check them."""
    if arguments[:1] == ["--outputs"]:
        write_outputs(arguments[1:])
        return 0
    stale = [
        path
        for path, text in files().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path in stale:
        print(f"{'out of date' if '--check' in arguments else 'written'}: {path.relative_to(ROOT)}")
        if "--check" not in arguments:
            path.write_text(files()[path], encoding="utf-8")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
