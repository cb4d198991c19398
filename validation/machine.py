"""The machine, the versions, and quasistep's own programs, for the head of a table."""

from __future__ import annotations

import json
import platform
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@cache
def executable(name: str) -> Path:
    """Builds the command `quasistep` or a program of benches/ and returns where it is."""
    return built("quasistep-cli" if name == "quasistep" else "benches", "--bin", name)


@cache
def example(package: str, name: str) -> Path:
    """Builds an example of a package and returns where it is."""
    return built(package, "--example", name)


def built(package: str, *target: str) -> Path:
    """Builds a target of a package and returns where it is."""
    command = ["cargo", "build", "--release", "--locked", "-p", package, *target]
    command += ["--message-format", "json-render-diagnostics"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    messages = map(json.loads, done.stdout.splitlines())
    return next(Path(m["executable"]) for m in messages if m.get("executable"))


def cpu_model() -> str:
    """The processor's name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, {len(names)} cores" if names else platform.processor()


def versions() -> str:
    """quasistep's version and commit, and the compiler's."""

    def first_line(*command: str) -> str:
        out = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
        return out.stdout.strip()

    package = json.loads(first_line("cargo", "metadata", "--no-deps", "--format-version", "1"))
    version = next(p["version"] for p in package["packages"] if p["name"] == "quasistep")
    commit = first_line("git", "describe", "--always", "--dirty")
    rustc = first_line("rustc", "--version").removeprefix("rustc ").split(" ")[0]
    return f"quasistep {version} ({commit or 'no commit'}), rustc {rustc}"
