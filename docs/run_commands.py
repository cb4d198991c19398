"""Runs the shell commands of these pages that begin with `quasistep`: `python docs/run_commands.py`."""

import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent


def commands():
    """Pages and their commands. Scenes in folders of other programs need a clone of these."""
    for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]:
        for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
            for line in block.splitlines():
                if line.startswith("quasistep ") and "target/" not in line and "scenes/peer" not in line:
                    yield page.relative_to(ROOT), line.split("#")[0].strip()


def main():
    folder = ROOT / "out/commands"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "scenes").exists():
        (folder / "scenes").symlink_to(ROOT / "scenes")
    failed = 0
    for page, line in commands():
        done = subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            failed += 1
            print(f"{page}: `{line}` ends with {done.returncode}:\n{done.stderr}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
