"""Hardware by its identity: what files and inventories name, and where it was."""
