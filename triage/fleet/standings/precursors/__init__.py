"""Which error counters grow before a node fails, and which nodes they flag now."""
