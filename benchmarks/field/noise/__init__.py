"""What healthy nodes print: at boot, in use, when a job ends, and near somebody else's fault."""
