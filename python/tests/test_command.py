"""The command ``quasistep`` that the package brings."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import quasistep as qs

COMMANDS = [[str(Path(sys.executable).with_name("quasistep"))], [sys.executable, "-m", "quasistep"]]


@pytest.mark.parametrize("command", COMMANDS, ids=["program", "module"])
def test_the_package_has_the_command(command, tmp_path):
    def run(*arguments):
        return subprocess.run([*command, *arguments], cwd=tmp_path, capture_output=True, text=True)

    assert run("--version").stdout.strip() == f"quasistep {qs.__version__}"
    assert "scene.yml; next:" in run("new").stdout
    done = run("run", "scene.yml", "--strict", "-o", "out")
    assert done.returncode == 0 and "facts: 2 of 2 hold" in done.stdout, done
    assert (tmp_path / "out/view.html").stat().st_size > 1000
    mistake = run("run", "scene.yml", "--set", "step.sise=1")
    assert mistake.returncode == 2 and "did you mean `size`" in mistake.stderr
    usage = run("walk")
    assert usage.returncode == 2 and "unrecognized subcommand" in usage.stderr
    assert run("--help").returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_ends_a_run_with_complete_files(tmp_path):
    scene = tmp_path / "scene.yml"
    shutil.copy("scenes/pile.yml", scene)
    command = [sys.executable, "-m", "quasistep", "run", str(scene), "--duration", "1000", "--yes", "--no-page"]
    with subprocess.Popen([*command, "-o", str(tmp_path / "out")], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        run.stdout.readline()
        while not list(tmp_path.rglob("recording.qsr")):
            assert run.poll() is None
        run.send_signal(signal.SIGINT)
        assert run.wait(60) == 130
    assert qs.read_run(tmp_path / "out").n_frames > 0


PLANNED = [file for file in sorted(Path("scenes").glob("*.yml")) if "\nplan:" in file.read_text(encoding="utf-8")]


@pytest.mark.parametrize("scene", PLANNED, ids=lambda file: file.stem)
def test_the_goals_of_a_scene_are_reached(scene, tmp_path):
    """Within a minute, with the scene's own planner; the check replays the commands."""
    done = subprocess.run([*COMMANDS[0], "plan", scene, "--no-page", "-o", tmp_path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "solved in" in done.stdout, done
