"""The extension ``suite``: its options stand in the configuration of the run, and so in the run file."""

from __future__ import annotations

from context_bench.errors import ConfigurationError
from context_bench.hookspecs import hookimpl
from context_bench.protocols import SystemSummary
from context_bench_suites.suite_folders import find_suites


class Stamp:
    """Says which suite a run is of.

    Args:
        name: Name of the suite.
        version: Version of the suite.
        sha256: SHA-256 of its TOML file, hexadecimal.
        model: Name of the model of the run; None for a suite that calls none.
    """

    def __init__(self, name: str, version: str, sha256: str, model: str | None = None) -> None:
        self._name = name
        self._model = model
        self._version = version
        self._sha256 = sha256

    @hookimpl
    def describe_system(self, system: SystemSummary) -> None:
        """Refuse a system that calls another model than the run.

        Raises:
            ConfigurationError: It does.
        """
        if self._model is not None and system.model not in (None, self._model):
            raise ConfigurationError(
                f"The system {system.label} calls the model {system.model}, and the run is of {self._model}. All systems of "
                "a suite call one model."
            )

    @hookimpl
    def before_first_call(self) -> None:
        """Refuse a run if an installed suite has its name and version, and another content.

        Raises:
            ConfigurationError: There is one.
        """
        for suite in find_suites():
            is_named_so = (suite.name, suite.version) == (self._name, self._version)
            if is_named_so and suite.sha256 != self._sha256:
                raise ConfigurationError(
                    f"{suite.path} is another suite {self._name} with the version {self._version}: its SHA-256 is "
                    f"{suite.sha256}, not {self._sha256}. Give your suite another name or version."
                )
