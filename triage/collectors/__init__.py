"""The collector of a node: finds dumps and logs of one job, bundles, sends, spools.

Standard library only, and Python 3.9 is enough, so that a node needs neither an
installation nor a new interpreter: ``python3 -m triage.collectors --help``. It only
finds bytes and hands them over: nothing is parsed, nothing needs a GPU.
"""
