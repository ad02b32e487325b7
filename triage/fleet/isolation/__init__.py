"""Test groups: which nodes to test together, so that the bad ones are told in few rounds."""
