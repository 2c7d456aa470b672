"""Agents that act: a tool loop in a workspace, a policy that needs no model, and the measures of both."""

from context_bench_agents_live.agent import Agent
from context_bench_agents_live.command_agent import CommandAgent
from context_bench_agents_live.controls import Control
from context_bench_agents_live.loop import Ending, ToolLoop
from context_bench_agents_live.policy import OraclePolicy, Reply
from context_bench_agents_live.policy_server import PolicyServer
from context_bench_agents_live.requests import RequestLog
from context_bench_agents_live.scoring import AgentTask, BillPerSuccess
from context_bench_agents_live.workspace import Workspace, WorkspaceError

__all__ = [
    "Agent",
    "AgentTask",
    "BillPerSuccess",
    "CommandAgent",
    "Control",
    "Ending",
    "OraclePolicy",
    "PolicyServer",
    "Reply",
    "RequestLog",
    "ToolLoop",
    "Workspace",
    "WorkspaceError",
]
