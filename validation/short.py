"""Runs every comparison of validation/run as far as it goes without its peers, for CI.

Each line of the help of validation/run, and each of its examples, is taken by the comparison's own
script: all of the script is imported, and its arguments are read. Packages of others that are not
installed are stood in for by modules that have every name. The programs of ours that a script builds
must be there.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

# Stands in for missing packages, and ends a script when it has read its arguments.
AROUND = """
import argparse, importlib.abc, importlib.machinery, runpy, sys
from unittest.mock import MagicMock

class Peers(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        is_peer = name.partition(".")[0] in PEERS
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if is_peer else None
    def create_module(self, spec):
        module = MagicMock(name=spec.name)
        module.__path__, module.__spec__, module.__version__ = [], spec, "0"
        return module
    def exec_module(self, module):
        pass

PEERS = set("daqp matplotlib mujoco pydrake pinocchio scipy gurobipy pyscipopt highspy yaml numpy quasistep".split())
sys.meta_path.append(Peers())
parse = argparse.ArgumentParser.parse_args

def parse_args(*arguments, **keywords):
    parse(*arguments, **keywords)
    print("arguments read")
    sys.exit(0)

argparse.ArgumentParser.parse_args = parse_args
sys.argv = sys.argv[1:]
sys.path[0] = sys.argv[0].rpartition("/")[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def command_lines() -> list[list[str]]:
    """Arguments of validation/run: each comparison that its help lists, and each example."""
    help_text = subprocess.run([HERE / "run", "--help"], check=True, capture_output=True, text=True).stdout
    names = re.findall(r"^  (\w+)  +\S", help_text, re.MULTILINE)
    examples = [shlex.split(line)[1:] for line in re.findall(r"^  (validation/run .*)$", help_text, re.MULTILINE)]
    told = {example[0] for example in examples}
    assert told <= set(names), f"examples of {told - set(names)}, which the help does not list"
    plain = {"palm": ["palm", "."], "peer": ["peer", "."], "pushes": ["pushes", "."], "formats": ["formats", "--mjcf"]}
    return [plain.get(name, [name]) for name in names] + examples


def script(arguments: list[str]) -> tuple[Path, list[str]]:
    """Script and arguments that validation/run would start."""
    files = {"pinocchio": "robot_models", "--mjcf": "mjcf_files", "--sdf": "sdf_files"}
    name, rest = (arguments[1], arguments[2:]) if arguments[0] == "formats" else (arguments[0], arguments[1:])
    return HERE / f"{files.get(name, name)}.py", rest


def check_programs() -> None:
    """Every program that a script builds is a target of its package."""
    for path in sorted(HERE.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"\bexecutable\(\"(\w+)\"\)", text):
            there = name == "quasistep" or (ROOT / f"benches/src/bin/{name}.rs").is_file()
            assert there, f"{path.name} builds benches/{name}, which is not there"
        for package, name in re.findall(r"\bexample\(\"([\w-]+)\", \"(\w+)\"\)", text):
            assert (ROOT / f"crates/{package}/examples/{name}.rs").is_file(), f"{path.name}: {package}, {name}"


def main() -> int:
    check_programs()
    failed = 0
    for arguments in command_lines():
        path, rest = script(arguments)
        command = [sys.executable, "-B", "-c", AROUND, str(path), *rest]
        done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
        # --help has no arguments to read
        is_fine = done.returncode == 0 and ("arguments read" in done.stdout or "--help" in rest)
        if not is_fine:
            failed += 1
            print(f"validation/run {' '.join(arguments)}: {done.stderr.strip()}", file=sys.stderr)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
