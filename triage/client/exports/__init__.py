"""Incidents and evidence of a whole store, as DataFrames and as Parquet files."""

from triage.client.exports.store import Store

__all__ = ["Store"]
