"""Rows of incidents: from the failure to the answer, and what stays of it."""
