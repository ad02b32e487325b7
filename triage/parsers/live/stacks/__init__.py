"""Stacks of processes as py-spy, faulthandler, debuggers and the kernel print them."""
