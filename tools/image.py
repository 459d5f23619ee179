"""Build the image and try it as it is meant to run: no rights, a read-only root file system, SIGTERM at the end.

Needs a container engine (docker, or podman by the same commands); without one it says so and ends with status 2.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TAG = "cardmatch:smoke"
SAFE = ["--read-only", "--tmpfs", "/tmp:size=16m", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]  # noqa: S108
QUESTION = {"model": "llama 3.1 8b", "cards": ["rtx-4090"]}


def main() -> int:
    """0 where the image was built, became healthy, answered, and ended with 0."""
    engine = _engine()
    if engine is None:
        print("no container engine answers here: docker or podman is needed", file=sys.stderr)
        return 2
    subprocess.run([engine, "build", "--tag", TAG, str(ROOT)], check=True)
    name = _output(engine, "run", "--detach", "--publish", "127.0.0.1::8000", *SAFE, TAG)
    try:
        _until_healthy(engine, name)
        port = _output(engine, "port", name, "8000/tcp").splitlines()[0].rpartition(":")[2]
        weights = _ask(port)["need"]["weights_bytes"]
        subprocess.run([engine, "stop", "--time", "30", name], check=True, stdout=subprocess.DEVNULL)
        status = _output(engine, "inspect", "--format", "{{.State.ExitCode}}", name)
        print(f"{TAG}: healthy, answered with {weights} bytes of weights, ended with status {status}")
        return 0 if status == "0" and weights == 16_060_522_496 else 1
    finally:
        subprocess.run([engine, "rm", "--force", name], check=False, stdout=subprocess.DEVNULL)


def _engine() -> str | None:
    for name in ("docker", "podman"):
        if shutil.which(name) and subprocess.run([name, "info"], check=False, capture_output=True).returncode == 0:
            return name
    return None


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _until_healthy(engine: str, name: str) -> None:
    """The image's own health check has to pass."""
    for _ in range(60):
        if _output(engine, "inspect", "--format", "{{.State.Health.Status}}", name) == "healthy":
            return
        time.sleep(1)
    subprocess.run([engine, "logs", name], check=False)
    raise SystemExit("it did not become healthy")


def _ask(port: str) -> dict[str, dict[str, int]]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/estimate-vram",
        json.dumps(QUESTION).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as response:  # noqa: S310 - the same
        answer: dict[str, dict[str, int]] = json.load(response)
        return answer


if __name__ == "__main__":
    sys.exit(main())
