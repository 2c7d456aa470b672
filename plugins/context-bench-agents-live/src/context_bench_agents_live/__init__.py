"""Agents that act: a tool loop in a workspace, a policy that needs no model, and the measures of both."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from context_bench_agents_live.agent import Agent
    from context_bench_agents_live.bill import BillPerSuccess
    from context_bench_agents_live.controls import Control
    from context_bench_agents_live.loop import Ending, ToolLoop
    from context_bench_agents_live.policy import OraclePolicy, Reply
    from context_bench_agents_live.policy_server import PolicyServer
    from context_bench_agents_live.policy_system import Policy
    from context_bench_agents_live.presets import PRESETS, Preset
    from context_bench_agents_live.program import Program
    from context_bench_agents_live.requests import RequestLog
    from context_bench_agents_live.scoring import AgentTask
    from context_bench_agents_live.workspace import Workspace, WorkspaceError

__all__ = [
    "PRESETS",
    "Agent",
    "AgentTask",
    "BillPerSuccess",
    "Control",
    "Ending",
    "OraclePolicy",
    "Policy",
    "PolicyServer",
    "Preset",
    "Program",
    "Reply",
    "RequestLog",
    "ToolLoop",
    "Workspace",
    "WorkspaceError",
]

_MODULES = {
    "Agent": "agent",
    "AgentTask": "scoring",
    "BillPerSuccess": "bill",
    "Control": "controls",
    "Ending": "loop",
    "OraclePolicy": "policy",
    "Policy": "policy_system",
    "PolicyServer": "policy_server",
    "PRESETS": "presets",
    "Preset": "presets",
    "Program": "program",
    "Reply": "policy",
    "RequestLog": "requests",
    "ToolLoop": "loop",
    "Workspace": "workspace",
    "WorkspaceError": "workspace",
}


def __getattr__(name: str) -> Any:
    """Return a class, whose module is imported when it is first used: the metric is in every run, the others are not."""
    if name in _MODULES:
        return getattr(import_module(f"context_bench_agents_live.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
