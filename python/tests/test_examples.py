"""Every example runs."""

import subprocess
import sys

import pytest
from conftest import ROOT

EXAMPLES = {
    "push.py": ([], "the box is at"),
    "grasp.py": ([], "down: holds 5.7"),
    "ball_in_hand.py": ([], "turned by 32"),
    "line.py": ([], "the line ends at 13 of 50"),
    "mpc.py": ([], "30 of 30 plans are proven optimal"),
    "plan.py": ([], "the planned push misses by 0.0"),
    "learn_push.py": (["--steps", "8192", "--envs", "128", "--rounds", "1"], "of 256 pushes reach their goals"),
    "ray_sweep.py": (["{tmp}/sweep.bin", "200"], "of 200 rollouts went well"),
}


def test_every_example_is_listed():
    assert {path.name for path in (ROOT / "python/examples").glob("*.py")} == set(EXAMPLES)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_example_runs(name, tmp_path):
    arguments, said = EXAMPLES[name]
    command = [sys.executable, f"python/examples/{name}", *(a.format(tmp=tmp_path) for a in arguments)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert said in result.stdout
