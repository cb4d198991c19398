"""Draws every scene as a moving picture, and writes gallery.md with them: `python docs/gallery.py [SCENE...]`.

Scenes of public robots are drawn when they are named: `robots/allegro_turn`.
"""

import io
import re
import sys
from pathlib import Path

import numpy as np
import quasistep as qs
from PIL import Image

DOCS = Path(__file__).parent
ROOT = DOCS.parent
FRAMES, SIZE = 24, (480, 320)

HEAD = """# Gallery

Every scene of the folder `scenes`, with the command that runs it. Scenes of public robots are in [real robots](robots.md).
`python docs/gallery.py` draws the pictures and writes this page.

| | |
|---|---|
"""


def command(scene, text):
    """The command that moves a scene: its `mpc` or `plan` section decides."""
    for section in ("mpc", "plan"):
        if re.search(rf"^{section}:", text, re.MULTILINE):
            return f"quasistep {section} scenes/{scene}.yml"
    return f"quasistep run scenes/{scene}.yml"


def run(scene, verb):
    """A finished run of a scene."""
    system = qs.load(ROOT / f"scenes/{scene}.yml")
    if verb == "mpc":
        return system.control()
    if verb == "plan":
        return system.simulate_plan(system.plan_scene())
    return system.simulate()


def draw(scene, verb):
    """Writes the moving picture of a scene."""
    done = run(scene, verb)
    times = np.linspace(done.t[0], done.t[-1], FRAMES)
    frames = [Image.open(io.BytesIO(done.still(t, size=SIZE))).convert("RGB") for t in times]
    frames.append(frames[-1])
    file = DOCS / f"pictures/gallery/{scene.replace('/', '_')}.webp"
    frames[0].save(file, save_all=True, append_images=frames[1:], duration=125, loop=0, quality=60, method=6)
    print(f"{file.relative_to(ROOT)}: {file.stat().st_size / 1e3:.0f} kB")


def main(wanted):
    cells = []
    for file in sorted((ROOT / "scenes").glob("*.yml")):
        scene, text = file.stem, file.read_text(encoding="utf-8")
        line = command(scene, text)
        if not wanted or scene in wanted:
            draw(scene, line.split()[1])
        title = re.search(r"^title: (.*)$", text, re.MULTILINE)[1].strip("\"'")
        picture = f"![{title}](pictures/gallery/{scene}.webp)"
        cells.append(f"{picture}<br>[{title}](../scenes/{scene}.yml)<br>`{line}`")
    for scene in (name for name in wanted if "/" in name):
        draw(scene, command(scene, (ROOT / f"scenes/{scene}.yml").read_text(encoding="utf-8")).split()[1])
    cells += [""] * (len(cells) % 2)
    rows = [f"| {left} | {right} |\n" for left, right in zip(cells[::2], cells[1::2])]
    (DOCS / "gallery.md").write_text(HEAD + "".join(rows), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
