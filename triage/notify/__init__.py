"""Outgoing messages about incidents and weeks, in each receiver's own form.

Rendering is pure, one receiver a file. Signing, the guard of addresses, the sending
and the times of the next try are written once, beside it.
"""
