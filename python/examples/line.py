"""An arm moves its hand along straight lines, clear of a box, and says where a line ends that it cannot follow.

    python line.py
"""

import numpy as np

import quasistep as qs

arm = qs.load("scenes/iiwa_stacking.yml", set={"step.size": 0.05})
hand = qs.Frame("arm/iiwa_link_7", xyz=(0, 0, 0.1))
start = arm.pose(hand, arm.q0)
print("the hand is at", start[4:].round(3), "m; its Jacobian is", arm.jacobian(hand, arm.q0).shape)

# %% Down there, any way round its own axis: the joints, and how the search went
down = arm.inverse_kinematics(hand, [0.5, 0.2, 0.4], axis=((0, 0, 1), (0, 0, -1)), avoid=0.01)
print("reached to", f"{down.position_error:.0e} m from start {down.attempts}")

# %% A square of 10 cm, as commands: each place continues the one before
corners = start + 0.1 * np.array([[0, 0], [0, 1], [0, 1], [0, 0]]) @ np.eye(2, 7, 4)
corners[2:, 6] += 0.1
path = arm.follow(hand, [*corners, start], steps=15)
off = np.abs(arm.pose(hand, path.q)[:, 4:] - start[4:]).max(axis=0)
print(f"the hand leaves x by {off[0]:.0e} m on the square")

# %% The arm itself: springs follow the commands
run = arm.simulate(path.u[1:])
lag = np.linalg.norm(arm.pose(hand, run.q)[:, 4:] - arm.pose(hand, path.q)[:, 4:], axis=1)
print(f"it follows with a lag of {1e3 * lag.max():.1f} mm at most")

# %% Straight on until the arm is stretched
try:
    arm.line(hand, start + [0, 0, 0, 0, 1, 0, 0], steps=50)
except qs.NotReachedError as error:
    print(f"the line ends at {error.point} of 50:", error)
