"""Pages on which a person approves, refuses and undoes."""
