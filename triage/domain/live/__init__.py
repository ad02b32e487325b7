"""What tools say of a job that still runs, as plain values: looks at processes, ranks and GPUs."""
