"""The model that a suite calls: the suite pins how it is called, and the user says which and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from context_bench.config import SystemSpec
from context_bench.errors import ConfigurationError, MissingValueError
from context_bench_suites.suite_file import Suite

_SYSTEM = "openai"


@frozen
class Model:
    """A model, its own endpoint, and proxies in front of it.

    Attributes:
        name: Name of the model, which all endpoints are asked for.
        endpoint: Address of the model's own endpoint, without a proxy.
        proxies: Addresses of the proxies to measure, each may begin with ``LABEL=``.
    """

    name: str
    endpoint: str
    proxies: Sequence[str] = ()

    def direct(self, call: Mapping[str, Any]) -> SystemSpec:
        """Return the endpoint itself as a system.

        Args:
            call: ``label`` and ``options`` as the suite pins them.
        """
        return self._called(self.endpoint, call, call["label"])

    def reader(self, call: Mapping[str, Any]) -> SystemSpec:
        """Return what answers from the context that a compressor left.

        Args:
            call: ``options`` as the suite pins them.
        """
        return self._called(self.endpoint, call, None)

    def of_proxies(self, call: Mapping[str, Any]) -> list[SystemSpec]:
        """Return the proxies as systems.

        Args:
            call: ``options`` as the suite pins them.
        """
        specs = []
        for number, text in enumerate(self.proxies, start=1):
            label, equals, address = text.partition("=")
            if not equals or "/" in label:
                label, address = f"proxy-{number}", text
            specs.append(self._called(address, call, label))
        return specs

    def _called(self, address: str, call: Mapping[str, Any], label: str | None) -> SystemSpec:
        options = {**call["options"], "base_url": address, "model": self.name}
        return SystemSpec(_SYSTEM, options, label)


def required_model(
    suite: Suite, model: str | None, endpoint: str | None, proxies: Sequence[str] = ()
) -> Model | None:
    """Return the model that a suite is run with; None for a suite that calls none.

    Args:
        suite: The suite.
        model: Its name; None if the user gave none.
        endpoint: Its address; None if the user gave none.
        proxies: Addresses of proxies.

    Raises:
        ConfigurationError: The suite needs a model and there is none, or the other way round.
    """
    if suite.model is None:
        if model or endpoint or proxies:
            raise ConfigurationError(
                f"The suite {suite.name} calls no model. Leave out --model, --endpoint and --proxy."
            )
        return None
    remedy = f"The suite {suite.name} calls a model. Pass --model NAME and --endpoint URL."
    if not model:
        raise MissingValueError("model", remedy)
    if not endpoint:
        raise MissingValueError("endpoint", remedy)
    return Model(model, endpoint, proxies)
