"""What lines say of a node: its processors, memory, disks, power, boots."""
