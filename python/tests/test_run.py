"""Runs: the scene's own, other commands, pictures and files."""

import csv
import html
import pickle
import sys

import numpy as np
import pytest
from conftest import SCENES

import quasistep as qs


def test_scene_runs_as_its_facts_say(gripper):
    run = gripper.simulate()
    # closed form of the slip, Pang21 §IV-A.2: c_n1 = 11 N at 0.23 s
    left = run.contacts_of("ball/ball", "gripper/left")
    at = left[left["step"] == 23]
    np.testing.assert_allclose(at["t"], 0.23, rtol=1e-12)
    np.testing.assert_allclose(at["fn"], 11.0, atol=2e-5)
    assert at["mode"][0] == qs.Mode.SLIDE
    assert run.worst.force_balance < 1e-6 and run.worst.penetration <= 1e-9


def test_own_commands_as_a_table_give_the_same_run(push):
    rows = [push.command((k + 1) * push.h) for k in range(80)]
    U, V = (np.array([row[i] for row in rows]) for i in (0, 1))
    own = push.simulate()
    np.testing.assert_array_equal(push.simulate(U, V=V).q, own.q)
    np.testing.assert_array_equal(own.u, U)


def test_a_run_goes_on_where_another_ended(push):
    # a step with convex friction has one motion: a bare state resumes to the solver's tolerance. The
    # push is unstable: a difference grows by half in each step
    params = push.params.replace(friction="convex")
    whole = push.simulate(params=params)
    first = push.simulate(duration=2.0, params=params)
    second = push.simulate(duration=1.0, q0=first.q[-1], t0=2.0, params=params)
    assert second.t[0] == 2.0 and second.t[-1] == 3.0
    np.testing.assert_allclose(second.q[-1], whole.q[60], atol=1e-10)


def test_step_size_of_a_call(push):
    run = push.simulate(h=0.1)
    assert len(run.t) == 41 and run.t[1] == 0.1
    assert len(push.simulate(params=push.params.replace(size=0.2)).t) == 21


def test_files_of_a_run(gripper, tmp_path):
    run = gripper.simulate()
    files = {path.name for path in run.save(tmp_path, csv=True)}
    assert {"states.csv", "contacts.csv", "recording.qsr"} <= files
    with open(tmp_path / "states.csv") as file:
        rows = list(csv.reader(file))
    assert tuple(rows[0]) == ("t", *gripper.coordinates)
    np.testing.assert_array_equal(np.array(rows[1:], dtype=float)[:, 1:], run.q)


def test_page_in_a_notebook_and_as_a_file(gripper, tmp_path):
    run = gripper.simulate()
    shown = run._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and shown.endswith("</iframe>")
    page = html.unescape(shown.split('srcdoc="')[1].split('" style')[0])
    assert page == run.recording.page() and "<script" in page
    run.save_html(tmp_path / "run.html")
    assert (tmp_path / "run.html").read_text(encoding="utf-8") == page


def test_a_run_is_a_moving_picture(gripper, tmp_path):
    run = gripper.simulate()
    sides = []
    for k, more in enumerate([{"size": (80, 60)}, {"size": (80, 60), "direction": (0, 1, -0.1)}, {}]):
        file = tmp_path / f"{k}.gif"
        run.save_video(file, **more)
        data = file.read_bytes()
        sides.append((data[:6], int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")))
    assert sides == [(b"GIF89a", 80, 60), (b"GIF89a", 80, 60), (b"GIF89a", 640, 420)]
    assert (tmp_path / "0.gif").read_bytes() != (tmp_path / "1.gif").read_bytes()
    # a run that was read is drawn alike
    run.save(tmp_path / "run", page=False)
    qs.read_run(tmp_path / "run").save_video(tmp_path / "again.gif", size=(80, 60))
    assert (tmp_path / "again.gif").read_bytes()[:10] == (tmp_path / "0.gif").read_bytes()[:10]
    with pytest.raises(ValueError, match=r"run.webm: the file must end in .gif; the button `Video` of a page saves WebM"):
        run.save_video(tmp_path / "run.webm")
    with pytest.raises(ValueError, match="each side must be 1 to 8192 px"):
        run.save_video(tmp_path / "run.gif", size=(0, 60))
    with pytest.raises(OSError):
        run.save_video(tmp_path / "missing" / "run.gif", size=(80, 60))
    assert not (tmp_path / "run.webm").exists() and not (tmp_path / "run.gif").exists()


def test_plot_draws_what_moved(gripper):
    figure = gripper.simulate().plot()
    top, middle, bottom = figure.axes
    assert [line.get_label() for line in top.lines] == list(gripper.commands)
    assert len(middle.lines) == 3 and len(bottom.lines) == 3


def test_rerun_is_optional_and_says_so(gripper, monkeypatch):
    monkeypatch.setitem(sys.modules, "rerun", None)
    with pytest.raises(ImportError, match="pip install rerun-sdk"):
        gripper.simulate().to_rerun("run.rrd")


def test_rerun_gets_every_frame(gripper, tmp_path):
    pytest.importorskip("rerun")
    gripper.simulate().to_rerun(tmp_path / "run.rrd")
    assert (tmp_path / "run.rrd").stat().st_size > 1000


def test_progress_of_a_run(push):
    seen = []
    push.simulate(progress=lambda done, n: seen.append((done, n)))
    assert seen[-1] == (80, 80)


@pytest.mark.parametrize("scene", SCENES)
def test_every_scene_checks(scene):
    words = qs.load(f"scenes/{scene}.yml").check()
    assert words.endswith("\nok") and "dofs" in words


def test_poses_are_those_of_the_run(push):
    run = push.simulate(duration=0.5)
    np.testing.assert_array_equal(push.poses(run.q[-1]), run.poses[-1])


def test_names_go_both_ways(push):
    q = push.q_vector({"finger.x": 0.25, "box.z": 0.5})
    named = push.q_dict(q)
    assert named["finger.x"] == 0.25 and named["box.z"] == 0.5 and len(named) == push.n_q
    assert push.u_dict(push.u_vector({"finger.y": 0.5})) == {"finger.x": -0.11, "finger.y": 0.5}
    for names in (push.coordinates, push.commands, push.dofs, push.efforts, push.bodies, push.shapes):
        assert [names.index(name) for name in names] == list(range(len(names)))
    assert len(push.dofs) == push.n_v and len(push.efforts) == push.n_u_v


def test_a_run_that_was_killed_is_read_up_to_there(gripper, tmp_path):
    run = gripper.simulate()
    run.save(tmp_path / "whole", page=False)
    data = (tmp_path / "whole" / "recording.qsr").read_bytes()
    # the files of a run that goes on, before its end
    place = tmp_path / "cut" / "unfinished"
    place.mkdir(parents=True)
    (place / "recording.qsr").write_bytes(data[:-30])
    cut = qs.read_run(tmp_path / "cut")
    assert cut.stopped.startswith("the recording is cut off after t = 0.35")
    np.testing.assert_array_equal(cut.q, run.q)
    # saving clears up
    run.save(tmp_path / "cut", page=False)
    assert qs.read_run(tmp_path / "cut").stopped is None
    assert not place.exists()


def test_a_text_is_whole_or_as_it_was(gripper, tmp_path):
    page = tmp_path / "page.html"
    gripper.simulate().save_html(page)
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(OSError):
        gripper.simulate().save_html(tmp_path / "missing" / "page.html")


@pytest.mark.parametrize(
    "set",
    [
        {"step.friction": "convex", "step.cone": "round"},
        {"step.friction": "convex", "step.cone": 4},
        {"step.friction": "convex", "step.integration": "midpoint", "step.size": 0.02},
        {"step.friction": "exact"},
        {"step.motion": "dynamic", "step.size": 0.005},
    ],
)
@pytest.mark.parametrize("scene", ["gripper_2d", "planar_push", "tunnel"])
def test_a_run_that_goes_on_has_the_bits_of_one_that_did_not_end(scene, set):
    system = qs.load(f"scenes/{scene}.yml", set={**set, "facts": []})
    n, h = 20, system.h
    whole = system.simulate(duration=n * h)
    first = system.simulate(duration=7 * h)
    # a checkpoint travels
    rest = system.simulate(duration=(n - 7) * h, start=pickle.loads(pickle.dumps(first.checkpoint)))
    for of in ("t", "q", "poses"):
        np.testing.assert_array_equal(getattr(rest, of), getattr(whole, of)[7:])
    for of in ("u", "v", "effort", "certificates"):
        np.testing.assert_array_equal(getattr(rest, of), getattr(whole, of)[7:])
    late = whole.contacts[whole.contacts["step"] > 7].copy()
    late["step"] -= 7
    np.testing.assert_array_equal(rest.contacts, late)
    assert rest.checkpoint.t == whole.checkpoint.t
    np.testing.assert_array_equal(rest.checkpoint.velocity, whole.checkpoint.velocity)
    # a table of commands goes on as well, by single steps too
    U = whole.u
    some = system.simulate(U[:7], h=h)
    rest = system.simulate(U[7:], h=h, start=some.checkpoint)
    np.testing.assert_array_equal(rest.q, system.simulate(U, h=h).q[7:])
    t, q, velocity, warm, _ = some.checkpoint
    v = velocity if len(velocity) else None
    q, report = system.step(q, U[7], t=t, velocity=v, warm=warm)
    np.testing.assert_array_equal(q, rest.q[1])
    end = qs.Checkpoint(report.time, q, report.v if len(velocity) else velocity, report.warm_start)
    np.testing.assert_array_equal(system.simulate(U[8:], h=h, start=end).q, rest.q[1:])


def test_a_start_says_everything(gripper):
    end = gripper.simulate(duration=0.05).checkpoint
    with pytest.raises(ValueError, match="start was given with q0, v0 or t0"):
        gripper.simulate(start=end, t0=1.0)


def test_torques_drive_a_joint():
    """Pang21 (9b): `d v = tau`. A table takes the place of the scene's torque, in steps, runs and batches."""
    text = """
    step: {size: 0.1, duration: 1, inertia: none}
    models: {arm: {joint: [{hinge: q, axis: [0, 0, 1], damping: 4}]}}
    commands: [{joint: arm.q, torque: 2}]
    """
    system = qs.loads(text)
    np.testing.assert_allclose(system.simulate().q[-1], [0.5], rtol=1e-12)
    tau = np.full((20, 1), -1.0)
    np.testing.assert_allclose(system.simulate(tau=tau).q[-1], [-0.5], rtol=1e-12)
    np.testing.assert_allclose(system.step(system.q0)[0], [0.05], rtol=1e-12)
    np.testing.assert_allclose(system.step(system.q0, tau=[4.0])[0], [0.1], rtol=1e-12)
    varied = {"commands.0.torque": [1.0, 2.0, 4.0]}
    Q = system.step_batch(system.q0, np.empty(0), vary=varied)
    np.testing.assert_allclose(Q[:, 0], [0.025, 0.05, 0.1], rtol=1e-12)
    with pytest.raises(ValueError, match="tau"):
        system.simulate(tau=tau, duration=1.0)


def test_commands_that_lose_digits_are_errors():
    system = qs.loads("models: {f: {joint: [{slide: x, axis: [1, 0, 0], stiffness: 10}], mass: 1}}")
    with pytest.raises(qs.StepError, match=r"`f.x`, is 1e16.*digits are lost"):
        system.step(system.q0, [1e16])


def test_a_run_of_too_many_steps_is_refused_before_it_begins(push):
    for duration in (1e300, 1e6):
        with pytest.raises(ValueError, match="at most 3600000"):
            push.simulate(duration=duration)
    with pytest.raises(ValueError, match="a run takes at most 3 "):
        push.simulate(duration=10 * push.h, most_steps=3)
    assert len(push.simulate(duration=3 * push.h, most_steps=3).t) == 4
    with pytest.raises(ValueError, match="at most"):
        push.with_({"step.tolerance": 1e-4}).simulate(duration=1e300)


def test_an_interrupted_run_is_kept_up_to_there(push, tmp_path):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        push.simulate(duration=3000 * push.h, progress=stop)
    run = caught.value.run
    assert 1 < len(run.t) <= 3001 and run.error is None
    run.save(tmp_path)
    assert "interrupted" in qs.read_run(tmp_path).stopped


def test_what_is_no_recording_is_a_value_error(gripper, tmp_path):
    gripper.simulate(duration=0.05).save(tmp_path / "run")
    whole = (tmp_path / "run/recording.qsr").read_bytes()
    rng = np.random.default_rng(0)
    cases = [b"", b"\0", b"not a recording", bytes(4096), rng.bytes(4096), whole[:8], whole[:12] + rng.bytes(500)]
    for k in range(60):
        spoilt = bytearray(whole)
        for at in rng.integers(0, len(spoilt), 1 + k % 5):
            spoilt[at] = rng.integers(0, 256)
        cases.append(bytes(spoilt))
    for k, text in enumerate(cases):
        path = tmp_path / f"{k}.qsr"
        path.write_bytes(text)
        try:
            qs.read_run(path)
        except ValueError as error:
            assert type(error) is ValueError and str(path) in str(error), error
        else:
            # a change of a frame's numbers may be valid, or cut the file off; garbage is not
            assert k >= 7


def test_forces_on_a_body_balance_its_weight_and_drag():
    """A person who weighs the table under the box reads its weight; what the finger pushes, friction takes, but for the drag M v / tau."""
    system = qs.load("scenes/planar_push.yml")
    run = system.simulate()
    up, ahead = run.force_on("box", "table"), run.force_on("box", "finger")
    np.testing.assert_allclose(up[1:, 2], 0.8 * 9.81, atol=1e-6)
    np.testing.assert_array_equal(run.force_on("finger", "box"), -ahead)
    v = run.v[:, [system.dofs.index(f"box.v{axis}") for axis in "xy"]]
    np.testing.assert_allclose((up + ahead)[1:, :2], 0.8 * v[1:], atol=1e-6)
    np.testing.assert_allclose(run.force_on("box"), up + ahead, atol=1e-12)
