"""Ask whether anything that is pinned has a known vulnerability. Where nobody can be asked it says so, and passes.

Advisories come from wherever pip-audit gets them. The files already say what would be installed: nothing is resolved.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "requirements").glob("*.txt"))
# What the client says when it is not the packages that are wrong.
_UNREACHABLE = ("ConnectionError", "Could not connect", "Max retries", "Temporary failure", "Timeout", "HTTPError")


def main(command: list[str]) -> int:
    """0 where nothing is known or nobody could be asked, 1 where something is, 2 where the client failed otherwise."""
    requirements = [part for path in FILES for part in ("-r", str(path))]
    options = ["--require-hashes", "--disable-pip", "--progress-spinner", "off", "--format", "json", *requirements]
    done = subprocess.run([*command, *options], cwd=ROOT, check=False, capture_output=True, text=True)
    if not done.stdout.strip():
        if any(sign in done.stderr for sign in _UNREACHABLE):
            print("no advisories can be reached from here: nothing was checked")
            return 0
        print(done.stderr, file=sys.stderr)
        return 2
    return _report(json.loads(done.stdout)["dependencies"])


def _report(packages: list[dict[str, Any]]) -> int:
    found = [(each["name"], each["version"], it) for each in packages for it in each.get("vulns", [])]
    skipped = [each["name"] for each in packages if "skip_reason" in each]
    for name, version, advisory in found:
        print(
            f"{name} {version}: {advisory['id']}, mended in {', '.join(advisory['fix_versions']) or 'no release yet'}"
        )
    print(f"{len(packages) - len(skipped)} of {len(packages)} packages checked, {len(found)} known vulnerabilities")
    if skipped:
        print(f"not known where advisories are asked for: {', '.join(skipped)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or [sys.executable, "-m", "pip_audit"]))
