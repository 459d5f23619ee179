"""`python -m cardmatch.cli` is the `cardmatch` command."""

import sys

from cardmatch.cli import main

sys.exit(main())
