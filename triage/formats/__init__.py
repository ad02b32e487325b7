"""What files come in, told by how they begin: one table for uploads, readers and the command.

A new format is one file here with a :class:`~triage.formats.format.StreamFormat`, one line in
:mod:`triage.formats.registry` and one test.
"""
