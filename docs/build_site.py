"""Build the documentation site: the pages of docs/, and a page for each package from its README.

`python docs/build_site.py FOLDER` writes the site into FOLDER/html: pages with search and a dark mode, the Markdown of each
page beside it, and `llms.txt`, which lists them for programs. A link that leads nowhere, and a page that is in no section, are
errors. It needs sphinx, myst-parser, furo and an installed core.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from generate import GROUPS, packages

ROOT = Path(__file__).resolve().parents[1]

SECTIONS: dict[str, str] = {
    "Get started": "tutorials/first-run how-to/come-from-another-tool",
    "Compare": "how-to/compare-proxies how-to/compare-two-proxies-on-your-sessions "
    "how-to/measure-your-own-code how-to/score-outputs-you-already-have how-to/run-a-benchmark how-to/run-a-suite "
    "how-to/measure-a-memory-system how-to/measure-your-agents-compaction how-to/does-my-proxy-keep-agents-working how-to/read-a-report how-to/query-with-duckdb",
    "Operate": "how-to/preflight how-to/doctor how-to/limit-a-run how-to/resume-rescore-and-reuse how-to/run-on-many-machines "
    "how-to/verify-and-explain-a-run how-to/gate-ci how-to/gate-pull-requests how-to/test-a-system-with-pytest how-to/lock-the-wiring how-to/choose-plugins",
    "Extend": "how-to/which-kind-of-plugin how-to/write-an-evaluator-plugin how-to/write-a-dataset-plugin how-to/write-a-system-plugin "
    "how-to/write-a-metric-plugin how-to/write-a-reporter-plugin how-to/write-a-command-plugin "
    "how-to/write-a-tokenizer-plugin how-to/write-an-extension how-to/test-a-plugin how-to/validate-an-evaluator",
    "Concepts": "concepts/architecture concepts/how-sure-is-this concepts/security concepts/reading-answers "
    "concepts/how-a-row-travels concepts/what-session-numbers-do-not-say concepts/decisions",
    "Reference": "reference/command-line reference/project-file reference/python-api reference/api "
    "reference/metrics-and-scores reference/cards reference/statistics reference/published-numbers reference/benchmarks "
    "reference/run-file reference/keys reference/manifest reference/public-api reference/glossary",
}
"""The navigation: the pages of each section."""

PROJECT = "how-to/release concepts/design-history reference/licenses"
"""Pages for those who work on context-bench, below the navigation for its users."""

BENEATH: dict[str, list[str]] = {"reference/cards": ["cards-and-lm-eval"]}
"""Generated tables that a page leads to: nobody reads them from start to end."""

LEFT_OUT = {"docs/index.md", "docs/reference/plugins.md"}
"""Pages whose content the site has elsewhere: in the navigation, and on the pages of the packages."""

_LINK = re.compile(r"(!?)\[((?:`[^`]*`|[^\[\]`]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
_AUTOMODULE = re.compile(r"```\{eval-rst\}\n\.\. automodule:: (\S+)\n.*?```", re.DOTALL)
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def site_paths() -> dict[str, str]:
    """Return the path in the site of every page, picture and schema, by its path in the repository."""
    found = {"README.md": "index.md", "docs/index.md": "index.md"}
    found |= {"CONTRIBUTING.md": "project/contributing.md", "CHANGELOG.md": "project/changelog.md"}
    found["core/README.md"] = "packages/context-bench.md"
    found["docs/reference/plugins.md"] = "packages/index.md"
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT).as_posix()
        found.setdefault(name, name.removeprefix("docs/"))
    for schema in (ROOT / "docs" / "reference").glob("*.schema.json"):
        found[f"docs/reference/{schema.name}"] = f"reference/{schema.name}"
    for picture in (ROOT / "docs" / "images").iterdir():
        found[f"docs/images/{picture.name}"] = f"images/{picture.name}"
    for package in packages():
        found[f"plugins/{package.name}/README.md"] = f"packages/{package.name}.md"
    return found


def rewritten(text: str, source: str, paths: dict[str, str]) -> str:
    """Return a page with its links as the site has them; a link to any other file of the repository becomes its text.

    Args:
        text: The page.
        source: Its path in the repository.
        paths: Paths in the site, by path in the repository.
    """
    here = posixpath.dirname(paths[source])

    def link(match: re.Match[str]) -> str:
        mark, label, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path, _, anchor = target.partition("#")
        place = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if place == "docs/reference/plugins.md" and f"plugins/{anchor}/README.md" in paths:
            place, anchor = f"plugins/{anchor}/README.md", ""
        if place not in paths:
            return label
        there = posixpath.relpath(paths[place], here or ".")
        return f"{mark}[{label}]({there}{'#' + anchor if anchor else ''})"

    parts = _FENCED.split(text)  # prose, and every second part a fenced block
    return "".join(
        part if number % 2 else _LINK.sub(link, part) for number, part in enumerate(parts)
    )


def toctree(caption: str, pages: str | list[str]) -> str:
    """Return a section of the navigation."""
    names = pages.split() if isinstance(pages, str) else pages
    return "\n".join(
        ["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *names, "```", ""]
    )


def write_sources(folder: Path) -> None:
    """Write the pages of the site as Markdown.

    Raises:
        ValueError: A page is in no section.
    """
    paths = site_paths()
    placed = {f"{name}.md" for pages in (*SECTIONS.values(), PROJECT) for name in pages.split()}
    for parent, names in BENEATH.items():
        placed |= {posixpath.join(posixpath.dirname(parent), f"{name}.md") for name in names}
    for source, place in paths.items():
        if source in LEFT_OUT or source == "README.md":
            continue
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if not source.endswith(".md"):
            shutil.copyfile(ROOT / source, target)
            continue
        is_known = place in placed or place.startswith(
            ("packages/", "project/", "concepts/decisions/")
        )
        if not is_known:
            raise ValueError(f"{source} is in no section of docs/build_site.py")
        target.write_text(
            rewritten((ROOT / source).read_text(encoding="utf-8"), source, paths), encoding="utf-8"
        )
    for package in packages():
        page = folder / "packages" / f"{package.name}.md"
        with page.open("a", encoding="utf-8") as stream:
            stream.write(f"\n## What it declares\n\n{declared(package.name, paths)}\n")
    _write_indexes(folder, paths)


def declared(package: str, paths: dict[str, str]) -> str:
    """Return what a package declares, as docs/reference/plugins.md has it.

    Args:
        package: The package.
        paths: Paths in the site, by path in the repository.
    """
    source = "docs/reference/plugins.md"
    text = (ROOT / source).read_text(encoding="utf-8")
    [section] = re.findall(rf"^## {package}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    components = section[section.index("\n### ") :] if "\n### " in section else ""
    return rewritten(components.strip(), source, paths)


def _write_indexes(folder: Path, paths: dict[str, str]) -> None:
    decisions = folder / "concepts" / "decisions.md"
    records = sorted(page.stem for page in (folder / "concepts" / "decisions").glob("*.md"))
    with decisions.open("a", encoding="utf-8") as stream:
        stream.write(toctree("Decisions", [f"decisions/{name}" for name in records]))
    for parent, children in BENEATH.items():
        with (folder / f"{parent}.md").open("a", encoding="utf-8") as stream:
            stream.write(toctree("More", children))
    descriptions = {package.name: package.description for package in packages()}
    lines = ["# Packages", "", "- [context-bench](context-bench.md): the core"]
    names = ["context-bench"]
    for group, members in GROUPS.items():
        lines += ["", f"## {group}", ""]
        for member in members.split():
            name = f"context-bench-{member}"
            names.append(name)
            lines.append(f"- [{name}]({name}.md): {descriptions[name]}")
    index = folder / "packages" / "index.md"
    index.write_text("\n".join(lines) + "\n" + toctree("Packages", names), encoding="utf-8")
    readme = rewritten((ROOT / "README.md").read_text(encoding="utf-8"), "README.md", paths)
    trees = [toctree(caption, pages) for caption, pages in SECTIONS.items()]
    trees += [toctree("Packages", ["packages/index"])]
    trees += [toctree("Project", ["project/contributing", "project/changelog", *PROJECT.split()])]
    (folder / "index.md").write_text(readme + "\n" + "".join(trees), encoding="utf-8")


def titled(pages: list[str], folder: Path) -> Iterator[str]:
    """Yield a line of `llms.txt` for each page: its title and its place."""
    for name in pages:
        text = (folder / f"{name}.md").read_text(encoding="utf-8")
        [title] = re.findall(r"^# (.*)$", text, re.MULTILINE)[:1] or [name]
        yield f"- [{title}]({name}.md)"


def _module_source(match: re.Match[str]) -> str:
    """Return the source of the module that a page documents: Markdown has no autodoc."""
    path = ROOT / "core" / "src" / f"{match[1].replace('.', '/')}.py"
    return f"```python\n{path.read_text(encoding='utf-8')}```"


def write_texts(sources: Path, html: Path) -> None:
    """Write the Markdown of each page beside it, and the list of all pages."""
    for page in sources.rglob("*.md"):
        target = html / page.relative_to(sources)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = page.read_text(encoding="utf-8")
        target.write_text(_AUTOMODULE.sub(_module_source, text), encoding="utf-8")
    lines = [
        "# context-bench",
        "",
        "> What does a system that touches an LLM's context cost in answers, and what does it save?",
    ]
    for section, pages in (*SECTIONS.items(), ("Project", PROJECT)):
        lines += ["", f"## {section}", "", *titled(pages.split(), sources)]
    names = sorted(f"packages/{page.stem}" for page in (sources / "packages").glob("*.md"))
    lines += ["", "## Packages", "", *titled(names, sources), ""]
    (html / "llms.txt").write_text("\n".join(lines), encoding="utf-8")


def main(folder: Path) -> int:
    """Build the site, and return the exit code of Sphinx; warnings are errors."""
    sources, html = folder / "pages", folder / "html"
    shutil.rmtree(folder, ignore_errors=True)
    sources.mkdir(parents=True)
    write_sources(sources)
    here = Path(__file__).parent / "site"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    done = subprocess.run([*command, "-c", str(here), str(sources), str(html)], check=False)
    if done.returncode == 0:
        write_texts(sources, html)
        print(f"The site is in {html}.")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
