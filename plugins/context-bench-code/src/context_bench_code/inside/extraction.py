"""Finding the solution in a response: bare code, code in fences, code with talk around it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from context_bench_code.inside.blocks import fenced_blocks, marked_sections
from context_bench_code.inside.fitting import (
    Fit,
    Problem,
    bound_names,
    defined_names,
    fit_body,
    fit_functions,
    missing_names,
    outdented,
    parse,
    returns,
)
from context_bench_code.inside.wrappers import readings

_BEGINS_CODE = re.compile(r"^(?:(?:async +def|def|class|import|from)\b|@\w)", re.MULTILINE)
_BINDS = re.compile(
    r"[^\W\d]\w* *(?::[^=\n]+)?=(?!=)"
)  # a constant that a function below may need, or a lambda
_IS_CODE = re.compile(  # lines that no sentence is: a definition, an import, the head of a block
    r"^[ \t]*(?:(?:async +)?def +\w+ *\(|class +\w+.*:|(?:from +[\w.]+ +)?import +\w"
    r"|(?:if|elif|else|for|while|with|try|except|finally)\b.*: *(?:#.*)?$)",
    re.MULTILINE,
)
_RUNS_ALONE = (ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith)
_MARKS = re.compile(  # what is Python as well
    r"^[ \t]*(?:~~~|\[(?:BEGIN|DONE|/?PYTHON)\])|\[(?:DONE|/PYTHON)\][ \t]*$", re.MULTILINE
)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_TRIED = 40


def find_solution(response: str, problem: Problem) -> Fit | None:
    """The code of a response, fitted to its problem, or None where there is no code that could be run.

    A response that is code as it stands is taken as it stands. Otherwise the code is what is marked: between [BEGIN] and
    [DONE], [PYTHON] and [/PYTHON], or in fences. Of several blocks the last one counts that defines what the tests call;
    imports and helpers that it lacks come from the others; one that imports it, gives nothing back or leaves something out counts
    only where no other does. Without marks, code is looked for between the words. Code that a page,
    a mail, an object of JSON or an editor wrapped is looked for without that, where the text itself holds none.

    >>> problem = Problem("def add(a, b):\\n", frozenset({"add"}))
    >>> find_solution("Sure!\\n```python\\ndef add(a, b):\\n    return a + b\\n```", problem).form
    'fenced function'
    """
    text = _plain_lines(response)
    uncertain: list[Fit] = []
    for reading in readings(text):
        if fit := _find(reading, problem):
            if "body" not in fit.form or returns(fit, problem):
                return fit
            uncertain.append(fit)
    return uncertain[0] if uncertain else _as_it_is(text, problem)


def _find(text: str, problem: Problem) -> Fit | None:
    if not _MARKS.search(text) and (fit := _whole(text, problem)):
        return fit
    for section in [*reversed(marked_sections(text)), text]:
        for find in (_fenced, _whole) if _MARKS.search(section) else (_whole, _fenced):
            if fit := find(section, problem):
                return fit
        if fit := _among_words(section, problem) or fit_body(section, problem, may_lack_end=True):
            return fit
    return None


def _plain_lines(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _whole(text: str, problem: Problem) -> Fit | None:
    return fit_functions(text, problem) or fit_body(text, problem)


def _fenced(text: str, problem: Problem) -> Fit | None:
    blocks = fenced_blocks(text)
    if not blocks:
        return None
    chosen = [block.text for block in blocks if block.is_python] or [block.text for block in blocks]
    before = (
        _FENCE.split(text, maxsplit=1)[:1] if _FENCE.search(text) else []
    )  # its fence was part of the prompt
    texts = (chosen, before)
    fit = next(
        filter(None, (find(each, problem) for find in (_last_functions, _body) for each in texts)),
        None,
    )
    return fit and Fit(f"fenced {fit.form}", fit.sources)


def _last_functions(texts: list[str], problem: Problem) -> Fit | None:
    for index, must_be_whole in (
        (index, whole) for whole in (True, False) for index in reversed(range(len(texts)))
    ):
        fit = fit_functions(texts[index], problem, must_be_whole)
        if fit:
            return _with_helpers(
                fit, texts[index], [*reversed(texts[:index]), *texts[index + 1 :]], problem
            )
    return None


def _body(texts: list[str], problem: Problem) -> Fit | None:
    fits = (fit_body(text, problem, must_return) for must_return in (True, False) for text in texts)
    return next(filter(None, fits), None)


def _with_helpers(fit: Fit, code: str, others: list[str], problem: Problem) -> Fit:
    """The fit, with the definitions in front that its code or the tests need and only other blocks make."""
    known: set[str] = set()
    for source in fit.sources:
        tree = parse(source)
        known |= defined_names(tree) if tree else set()
    helpers = list(_definitions(code, problem.names, known, others))
    return (
        Fit(fit.form, (*fit.sources[:-1], "\n".join(reversed(helpers)), fit.sources[-1]))
        if helpers
        else fit
    )


def _definitions(
    code: str, names: frozenset[str], known: set[str], others: list[str]
) -> Iterator[str]:
    statements = [statement for text in others for statement in getattr(parse(text), "body", [])]
    definitions = [statement for statement in statements if not isinstance(statement, _RUNS_ALONE)]
    read_by = [(code, names)]
    while read_by:
        source, wanted = read_by.pop()
        tree = parse(outdented(source))
        for name in sorted((missing_names(tree) if tree else set()) | wanted):
            found = next((each for each in definitions if name in bound_names(each)), None)
            if name not in known and found:
                known.add(name)
                read_by.append((ast.unparse(found), frozenset()))
                yield ast.unparse(found)


def _among_words(text: str, problem: Problem) -> Fit | None:
    """Code that nothing marks: from a line that begins like code up to the last line that still makes sense."""
    lines = text.split("\n")
    starts = [
        index for index, line in enumerate(lines) if _BEGINS_CODE.match(line) or _BINDS.match(line)
    ]
    for start in starts[:_TRIED]:
        fit = fit_functions(_longest_code(lines[start:]), problem)
        if fit:
            return Fit(f"{fit.form} among words", fit.sources)
    for paragraphs in _runs_of_paragraphs(text):
        fit = fit_body(paragraphs, problem, must_return=True)
        if fit:
            return Fit(f"{fit.form} among words", fit.sources)
    return None


def _longest_code(lines: list[str]) -> str:
    """The lines up to the statement that cannot be read; what is before it may be code."""
    for _ in range(_TRIED):
        text = "\n".join(lines)
        try:
            ast.parse(text)
        except SyntaxError as error:
            end = min(error.lineno or 0, len(lines)) - 1
        except (ValueError, RecursionError, MemoryError, UnicodeError):
            return ""
        else:
            return text
        while end > 0 and (not lines[end][:1].strip() or lines[end].startswith((")", "]", "}"))):
            end -= 1  # to the margin: half a function is none
        lines = lines[:end]
        if not lines:
            break
    return ""


def _runs_of_paragraphs(text: str) -> Iterator[str]:
    """All runs of paragraphs between words, from the longest on, as far as there are not too many.

    Half of a body that cannot be read is none: no code is left out before a run, nor behind it where the body goes on.
    """
    paragraphs = [paragraph.strip("\n") for paragraph in re.split(r"\n[ \t]*\n", text)]
    if len(paragraphs) > _TRIED // 4:
        return
    words = next(
        (place for place, each in enumerate(paragraphs) if _IS_CODE.search(each)), len(paragraphs)
    )
    for length in range(len(paragraphs) - 1, 0, -1):
        for start in range(min(words, len(paragraphs) - length) + 1):
            run, behind = paragraphs[start : start + length], paragraphs[start + length :]
            if not (behind and behind[0][:1].isspace()):
                yield "\n\n".join(run)


def _as_it_is(text: str, problem: Problem) -> Fit | None:
    """Something to run all the same, so that the verdict carries Python's own complaint."""
    blocks = fenced_blocks(text)
    code = blocks[-1].text if blocks else text
    if not code.strip() or not (blocks or parse(text) or _BEGINS_CODE.search(text)):
        return None
    return Fit("as written", (f"{problem.prompt}{code}" if problem.prompt else code,))
