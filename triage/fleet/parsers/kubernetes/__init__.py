"""What kubectl lists: jobs and pods, nodes, events."""
