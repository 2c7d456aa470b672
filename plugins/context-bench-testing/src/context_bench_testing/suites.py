"""Base classes of tests for the authors of plugins: a subclass names a component, and pytest runs the
conformance checks on it.

    from context_bench_testing.suites import EvaluatorSuite

    class TestQuoteCheck(EvaluatorSuite):
        component = "quote-check"
        expected = (
            ({"context": "It is free."}, {"response": '"It is free"'}, {"quote_fidelity": 1.0}),
        )

The package of the component must be installed, an editable installation included. The checks refuse
network access; see :mod:`context_bench_testing.engine`.
"""

from __future__ import annotations

import asyncio
import doctest
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from importlib import import_module
from inspect import Parameter, signature
from itertools import islice
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any, ClassVar, get_origin

from context_bench.catalog import Component, open_catalog
from context_bench_testing.engine import check_component
from context_bench_testing.findings import Report

CALLS = frozenset(
    {
        "build", "closed", "empty", "example", "exit-code", "group", "help", "import", "name",
        "raises", "return-type", "signature", "unscored",
    }
)  # fmt: skip
"""Checks of whether a component can be called, and returns what its kind promises."""

DECLARATIONS = frozenset(
    {
        "gold", "missing-field", "missing-key", "not-a-number", "not-finite", "range",
        "undeclared-field", "undeclared-key", "undeclared-need", "undeclared-read", "unused-need",
        "unused-read",
    }
)  # fmt: skip
"""Checks of keys, ranges and fields against the manifest."""

REPETITION = frozenset(
    {
        "fingerprint", "id", "limit", "mutation", "not-deterministic", "pickle", "score-batch",
        "shared", "threads",
    }
)  # fmt: skip
"""Checks of whether a component does the same again, and changes nothing of its caller."""

UNUSUAL = frozenset({"details", "not-json", "unusual-input", "usage"})
"""Checks with unusual texts, and of values that a run file cannot hold."""

ACTS = frozenset({"files", "stdout", "undeclared-capability", "undeclared-environment"})
"""Checks of what a component does besides returning a value."""


class ComponentSuite:
    """Tests that a component of any kind keeps the promises of its manifest.

    Attributes:
        component: Short name or id of the component; a subclass sets it.
        kind: Kind of the component, as the manifest has it.
    """

    component: ClassVar[str] = ""
    kind: ClassVar[str] = ""
    _found: ClassVar[Component]
    _report: ClassVar[Report]

    @classmethod
    def setup_class(cls) -> None:
        """Find and check the component once for all tests of the class."""
        cls._found = cls.find()
        cls._report = check_component(cls._found)

    @classmethod
    def find(cls) -> Component:
        """Return the installed component.

        Raises:
            UnknownNameError: No component of the kind has that name.
        """
        return open_catalog((), {}).find(cls.kind, cls.component)

    def _require_none(self, codes: frozenset[str]) -> None:
        faults = [
            item.message for item in self._report.findings if item.is_fault and item.check in codes
        ]
        assert not faults, "\n".join(faults)

    def test_its_manifest_has_no_fault(self) -> None:
        """The manifest has no unknown key and no value that does not fit."""
        component = self._found
        faults = [*component.manifest_faults(), *component.distribution.warnings]
        assert not faults, "\n".join(faults)

    def test_it_was_called(self) -> None:
        """The checks could call it; otherwise the manifest needs an example."""
        reasons = [item.message for item in self._report.findings if item.check == "not-run"]
        assert not reasons, "\n".join(reasons)

    def test_it_can_be_called(self) -> None:
        """It takes and returns what its kind promises."""
        self._require_none(CALLS)

    def test_it_keeps_its_declarations(self) -> None:
        """Its keys, ranges and fields are those of the manifest."""
        self._require_none(DECLARATIONS)

    def test_it_does_the_same_again(self) -> None:
        """It is deterministic where it says so, and changes nothing of its caller."""
        self._require_none(REPETITION)

    def test_it_accepts_unusual_input(self) -> None:
        """Empty, long and Unicode texts raise no error."""
        self._require_none(UNUSUAL)

    def test_it_does_only_what_it_declares(self) -> None:
        """It uses no network, program, file or variable that the manifest does not name."""
        self._require_none(ACTS)


class PackageSuite:
    """Tests of a whole package: that its components load, and that what it says about itself is true.

    Attributes:
        distribution: Name of the distribution; a subclass sets it.
        readme: Its README, if that has ``>>>`` examples to try.
        has_components: Whether it has components; a library for other packages has none.
    """

    distribution: ClassVar[str] = ""
    readme: ClassVar[Path | None] = None
    has_components: ClassVar[bool] = True

    @classmethod
    def components(cls) -> list[Component]:
        """Return the components of the distribution."""
        return [
            component
            for component in open_catalog((), {})
            if component.distribution.name == cls.distribution
        ]

    @classmethod
    def modules(cls) -> Iterator[ModuleType]:
        """Yield the package and all of its modules, imported."""
        package = import_module(cls.distribution.replace("-", "_"))
        yield package
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith(".__main__"):
                yield import_module(module.name)

    def test_its_components_load(self) -> None:
        """Each component has a manifest without a warning, and an entry point that leads to it.

        A component that names the libraries it ``requires`` may lack them: an extra installs them.
        """
        components = self.components()
        if not self.has_components:
            assert not components
            return
        assert components, f"{self.distribution} is not installed, or has no component"
        faults = []
        for component in components:
            loaded, _ = component.examine()
            reason = "" if loaded.state == "missing-dependency" else loaded.reason
            warnings = (*component.manifest_faults(), *component.distribution.warnings)
            faults += [f"{component.id}: {text}" for text in (reason, *warnings) if text]
        assert not faults, "\n".join(faults)

    def test_its_options_are_arguments_of_its_code(self) -> None:
        """Each option of the manifest is an argument, with the default that the manifest states."""
        faults = []
        for component in self.components():
            loaded, thing = component.examine()
            if loaded.state == "ok" and callable(thing):
                faults += [f"{component.id}: {text}" for text in _wrong_options(component, thing)]
        assert not faults, "\n".join(faults)

    def test_everything_that_it_exports_exists_and_is_explained(self) -> None:
        """Each name of ``__all__`` is an attribute of the package, with a docstring where it can have one."""
        package = import_module(self.distribution.replace("-", "_"))
        names = getattr(package, "__all__", ())
        missing = [name for name in names if not hasattr(package, name)]
        assert not missing, missing
        objects = {name: getattr(package, name) for name in names}
        explained = {
            name: value
            for name, value in objects.items()
            if callable(value) and get_origin(value) is None  # an alias of a type has no docstring
        }
        silent = [name for name, value in explained.items() if not value.__doc__]
        assert not silent, silent

    def test_the_examples_of_its_docstrings_are_true(self) -> None:
        """Each ``>>>`` example returns what stands below it."""
        failed = [module.__name__ for module in self.modules() if doctest.testmod(module).failed]
        assert not failed, failed

    def test_the_examples_of_its_readme_are_true(self) -> None:
        """Each ``>>>`` example of :attr:`readme` returns what stands below it."""
        if self.readme is not None:
            result = doctest.testfile(str(self.readme), module_relative=False, encoding="utf-8")
            assert result.attempted, "the README has no example"
            assert not result.failed


def _wrong_options(component: Component, thing: Callable[..., Any]) -> Iterator[str]:
    """Yield the options that are no argument, or whose default is not that of the argument.

    A default that the manifest writes as text, or that it cannot hold, is not compared.
    """
    parameters = signature(thing).parameters
    takes_any = any(each.kind is Parameter.VAR_KEYWORD for each in parameters.values())
    for name, option in getattr(component.manifest, "options", {}).items():
        if name not in parameters:
            if not takes_any:
                yield f"no argument is called {name!r}"
            continue
        default = parameters[name].default
        if isinstance(default, tuple):
            default = list(default)
        is_stated = option.default is not None and isinstance(default, str | int | float | list)
        is_text_of_it = isinstance(option.default, str) and not isinstance(default, str)
        if is_stated and not is_text_of_it and default != option.default:
            yield f"{name!r} is {default!r} in the code, and {option.default!r} in the manifest"


class _WithOptions(ComponentSuite):
    """Tests of a component that is built from options."""

    def test_its_defaults_are_those_of_its_code(self) -> None:
        """Built from the defaults of the manifest, it has the fingerprint that it has without options."""
        component = self._found
        options = component.manifest.options
        defaults = {name: option.default for name, option in options.items()}
        if any(option.required for option in options.values()):
            return  # it cannot be built without options
        unchanged = component.build({})
        if callable(getattr(unchanged, "fingerprint", None)):
            given = {name: value for name, value in defaults.items() if value is not None}
            assert component.build(given).fingerprint() == unchanged.fingerprint()


class EvaluatorSuite(_WithOptions):
    """Tests of an evaluator.

    Attributes:
        options: Options that the evaluator is built with for :attr:`expected`.
        expected: Fields of an example, fields of an output, and the scores that they must have.
    """

    kind = "evaluators"
    options: ClassVar[Mapping[str, Any]] = {}
    expected: ClassVar[
        Sequence[tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, float]]]
    ] = ()

    def test_it_returns_the_expected_scores(self) -> None:
        """Each pair of :attr:`expected` has its scores, to nine digits."""
        evaluator = self._found.build(self.options)
        for original, processed, scores in self.expected:
            if callable(getattr(evaluator, "score", None)):
                result = evaluator.score(deepcopy(original), deepcopy(processed))
            else:
                result = asyncio.run(evaluator.ascore(deepcopy(original), deepcopy(processed)))
            rounded = {key: round(float(value), 9) for key, value in dict(result).items()}
            wanted = {key: round(float(value), 9) for key, value in scores.items()}
            assert rounded == wanted, (original, processed)


class DatasetSuite(ComponentSuite):
    """Tests of a dataset.

    Attributes:
        options: Options that the dataset is loaded with for :attr:`expected`.
        expected: The first examples that it must yield.
    """

    kind = "datasets"
    options: ClassVar[Mapping[str, Any]] = {}
    expected: ClassVar[Sequence[Mapping[str, Any]]] = ()

    def test_it_yields_the_expected_examples(self) -> None:
        """Its first examples are those of :attr:`expected`."""
        number = len(self.expected)
        if number:
            loaded, loader = self._found.examine()
            assert loaded.state == "ok", loaded.reason
            rows = islice(loader(limit=number, config=None, split=None, **self.options), number)
            assert [dict(row) for row in rows] == [dict(row) for row in self.expected]


class SystemSuite(_WithOptions):
    """Tests of a system.

    Attributes:
        options: Options that the system is built with for :attr:`expected`.
        expected: Fields of an example, and the fields that its output must have.
    """

    kind = "systems"
    options: ClassVar[Mapping[str, Any]] = {}
    expected: ClassVar[Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]] = ()

    def test_it_returns_the_expected_output(self) -> None:
        """Each example of :attr:`expected` has its output; further fields are ignored."""
        system = self._found.build(self.options)
        for example, wanted in self.expected:
            if callable(getattr(system, "process", None)):
                output = system.process(deepcopy(dict(example)))
            else:
                output = asyncio.run(system.aprocess(deepcopy(dict(example))))
            assert {key: output.get(key) for key in wanted} == dict(wanted), example


class MetricSuite(ComponentSuite):
    """Tests of a metric."""

    kind = "metrics"


class ReporterSuite(ComponentSuite):
    """Tests of a reporter."""

    kind = "reporters"


class ExtensionSuite(ComponentSuite):
    """Tests of an extension."""

    kind = "hooks"


class CommandSuite(ComponentSuite):
    """Tests of a command."""

    kind = "commands"


class TokenizerSuite(ComponentSuite):
    """Tests of a tokenizer.

    Attributes:
        expected: A text, and the number of its tokens.
    """

    kind = "tokenizers"
    expected: ClassVar[Sequence[tuple[str, int]]] = ()

    def test_it_returns_the_expected_counts(self) -> None:
        """Each text of :attr:`expected` has its number of tokens."""
        tokenizer = self._found.build({})
        counts = [tokenizer.count(text) for text, _ in self.expected]
        assert counts == [number for _, number in self.expected]
