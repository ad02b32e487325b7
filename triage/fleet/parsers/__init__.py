"""What ran where and when, out of what schedulers, inventories and public traces export."""
