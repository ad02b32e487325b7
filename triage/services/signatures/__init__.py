"""A team's own signatures in the service: which are in force, uploads, and the dry run."""
