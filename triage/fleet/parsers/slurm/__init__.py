"""What Slurm says of its nodes: states, the controller's log, tables that are padded."""
