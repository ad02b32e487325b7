"""What watchdogs of the ranks say of their place in a group, held against each other."""
