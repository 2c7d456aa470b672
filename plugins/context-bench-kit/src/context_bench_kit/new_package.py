"""A new package: its files are templates with a few names filled in.

The package is complete. It passes ``plugins check --run`` and its own tests before anything in it is
changed.
"""

from __future__ import annotations

import keyword
import re
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from attrs import frozen

from context_bench.errors import ConfigurationError

_NAME = r"[a-z][a-z0-9]*(-[a-z0-9]+)*"


@frozen
class Template:
    """What is particular to a kind of component.

    Attributes:
        kind: The kind, as entry points and manifests have it.
        title: What the template is, at the beginning of a sentence.
        use: What its README says about its use.
        exports: What the entry point names: ``class``, ``function``, or ``package``.
        requires: Distributions that the package requires in addition to context-bench.
    """

    kind: str
    title: str
    use: str
    exports: str = "class"
    requires: tuple[str, ...] = ()


TEMPLATES = {
    "evaluator": Template(
        kind="evaluators",
        title="An evaluator",
        use="context-bench run --system SYSTEM --dataset DATASET --add-evaluator @NAME@",
    ),
    "dataset": Template(
        kind="datasets",
        title="A dataset",
        use="context-bench run --system SYSTEM --dataset @NAME@",
        exports="function",
    ),
    "system": Template(
        kind="systems",
        title="A context transformer",
        use="context-bench run --system @NAME@:words=50 --reader SYSTEM --dataset DATASET",
    ),
    "metric": Template(
        kind="metrics",
        title="A metric",
        use="context-bench run --system SYSTEM --dataset DATASET --add-metric @NAME@",
    ),
    "reporter": Template(
        kind="reporters",
        title="A reporter",
        use="context-bench report RUN_FILE --format @NAME@",
    ),
    "tokenizer": Template(
        kind="tokenizers",
        title="A tokenizer",
        use="context-bench run --system SYSTEM --dataset DATASET --tokenizer @NAME@",
    ),
    "extension": Template(
        kind="hooks",
        title="An extension",
        use="context-bench run --system SYSTEM --dataset DATASET --extension @NAME@",
    ),
    "command": Template(
        kind="commands",
        title="A command",
        use="context-bench @NAME@ RUN_FILE",
        exports="function",
        requires=("click>=8.1",),
    ),
    "option-group": Template(
        kind="flags",
        title="An option group",
        use='option_groups = ["@NAME@"]   # in the manifest of a component',
        exports="package",
    ),
}
"""The kinds of packages by the word for one of their components."""


def write_package(noun: str, name: str, folder: Path) -> list[Path]:
    """Write the files of a new package, and return their paths.

    Args:
        noun: One of :data:`TEMPLATES`.
        name: Name of the distribution and of its component.
        folder: The folder of the project; it must not exist.

    Raises:
        ConfigurationError: The name cannot be used, or the folder exists.
    """
    template = TEMPLATES[noun]
    package = name.replace("-", "_")
    _require_usable(name, package)
    if folder.exists():
        raise ConfigurationError(
            f"'{folder}' already exists. Choose another name, or a folder with --into."
        )
    words = _words(template, name, package)
    sources = {
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
        ".github/workflows/test.yml": "test.yml",
        f"src/{package}/__init__.py": f"{noun}.py",
        f"src/{package}/context_bench_plugin.toml": f"{noun}.toml",
        f"tests/test_{package}.py": f"{noun}.test",
    }
    paths: list[Path] = []
    for target, source in sources.items():
        text = (files("context_bench_kit") / "templates" / f"{source}.txt").read_text("utf-8")
        path = folder / target
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_filled(text, words), encoding="utf-8")
        paths.append(path)
    typed = folder / "src" / package / "py.typed"
    typed.touch()
    return [*paths, typed]


def _words(template: Template, name: str, package: str) -> dict[str, str]:
    """Return what replaces each mark of a template."""
    class_name = "".join(word.capitalize() for word in name.split("-"))
    requires = ", ".join(f'"{one}"' for one in ("context-bench>=1,<2", *template.requires))
    exported = {
        "class": f"{package}:{class_name}",
        "function": f"{package}:{package}",
        "package": package,
    }[template.exports]
    group = f'[project.entry-points."context_bench.{template.kind}"]'
    words = {
        "NAME": name,
        "PACKAGE": package,
        "CLASS": class_name,
        "FUNCTION": package,
        "KEY": package,
        "TITLE": template.title,
        "REQUIRES": requires,
        "ENTRY": f'\n{group}\n{name} = "{exported}"\n',
    }
    use = _filled(template.use, words)
    return {**words, "USE": f"```\n{use}\n```"}


def _filled(text: str, words: dict[str, str]) -> str:
    return re.sub(r"@([A-Z]+)@", lambda mark: words[mark[1]], text)


def _require_usable(name: str, package: str) -> None:
    """Refuse a name that an index, Python or context-bench would not take.

    Raises:
        ConfigurationError: The name cannot be used.
    """
    if not re.fullmatch(_NAME, name):
        raise ConfigurationError(
            f"{name!r} is not a name of a package. Use lower-case letters, digits and single "
            "dashes, and begin with a letter, such as 'acme-quotes'."
        )
    if keyword.iskeyword(package):
        raise ConfigurationError(f"{name!r} is a keyword of Python. Choose another name.")
    if find_spec(package) is not None:
        raise ConfigurationError(
            f"A package {package!r} is installed already. Choose another name than {name!r}."
        )
