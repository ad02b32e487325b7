"""What ran where and when, out of what schedulers, trackers and inventories export."""
