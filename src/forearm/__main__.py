"""`python -m forearm` is the command `forearm`."""

import sys

from forearm.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
