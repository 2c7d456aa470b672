"""Findings: what a conformance check has found out about a component."""

from __future__ import annotations

from attrs import Factory, frozen


@frozen
class Finding:
    """One thing that a check has found out.

    Attributes:
        check: Short stable code of the check, such as ``undeclared-key``.
        message: The finding as a phrase whose subject is the component.
        is_fault: Whether the component breaks a promise; otherwise the finding is a note.
    """

    check: str
    message: str
    is_fault: bool


@frozen
class Report:
    """The findings about one component, each of them once.

    Attributes:
        findings: The findings in the order of the checks.
    """

    findings: list[Finding] = Factory(list)

    def fault(self, check: str, message: str) -> None:
        """Add a broken promise."""
        self._add(Finding(check, message, is_fault=True))

    def note(self, check: str, message: str) -> None:
        """Add what the author should know, though no promise is broken."""
        self._add(Finding(check, message, is_fault=False))

    def _add(self, finding: Finding) -> None:
        if finding not in self.findings:
            self.findings.append(finding)

    @property
    def faults(self) -> list[str]:
        """The broken promises, a line each that ends with the code of the check."""
        return [f"{item.message} [{item.check}]" for item in self.findings if item.is_fault]

    @property
    def notes(self) -> list[str]:
        """The notes, a line each that ends with the code of the check."""
        return [f"{item.message} [{item.check}]" for item in self.findings if not item.is_fault]

    @property
    def codes(self) -> set[str]:
        """The codes of the checks that found a fault."""
        return {item.check for item in self.findings if item.is_fault}
