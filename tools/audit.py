"""Ask whether anything that is pinned has a known vulnerability. Without a network it says so, and passes.

Advisories come from wherever pip-audit gets them. The files already say what would be installed: nothing is resolved.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = ("runtime", "build")
# What the client says when it is not the packages that are wrong.
_UNREACHABLE = ("ConnectionError", "Could not connect", "Max retries", "Temporary failure", "Timeout", "HTTPError")


def main(command: list[str]) -> int:
    """0 where nothing is known or nobody could be asked, else pip-audit's own status; its report is printed."""
    requirements = [part for name in FILES for part in ("-r", f"requirements/{name}.txt")]
    options = ["--require-hashes", "--disable-pip", "--progress-spinner", "off", *requirements]
    done = subprocess.run([*command, *options], cwd=ROOT, check=False, capture_output=True, text=True)
    print(done.stdout, end="")
    if done.returncode != 0 and not done.stdout.strip() and any(sign in done.stderr for sign in _UNREACHABLE):
        print("no advisories can be reached from here: nothing was checked", file=sys.stderr)
        return 0
    print(done.stderr, end="", file=sys.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or [sys.executable, "-m", "pip_audit"]))
