"""One command for a fresh machine: `python3 run.py demo`, `python3 run.py test`.

The syntax of this file is that of any Python since 2.7, so that an old one
can say which one is needed; the work is done in `tools/`.
"""

import os
import sys

if sys.version_info < (3, 11):
    folders = os.environ.get("PATH", "").split(os.pathsep)
    newer = ["python3.%d" % minor for minor in range(14, 10, -1)]
    found = [n for n in newer if any(os.access(os.path.join(d, n), os.X_OK) for d in folders)]
    sys.stderr.write(
        "Python 3.11 or newer is needed, this is %s; try: %s %s\n"
        % (sys.version.split()[0], (found or newer)[0], " ".join(sys.argv))
    )
    if not found:
        sys.stderr.write("None was found on PATH: install one from your system or python.org.\n")
    sys.exit(2)

from tools.commands import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
