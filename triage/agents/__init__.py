"""Agents: six questions about jobs, nodes and fleet, as tools of the Model Context Protocol.

The tools are written once. They ask the routes of the service, over HTTP from the command
``triage mcp`` and in the process from its route ``/mcp``: who may see what is decided there.
"""
