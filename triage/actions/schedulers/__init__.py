"""Schedulers that nodes are taken from and given back to: one file each, one interface."""
