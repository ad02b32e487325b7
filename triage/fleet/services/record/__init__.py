"""The record of a fleet out of the database: runs, stops, accusations and nodes, joined."""
