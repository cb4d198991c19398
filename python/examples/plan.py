"""Plan a push by sampling in batches: the cross-entropy method on all cores.

    python plan.py [page.html]
"""

import sys

import numpy as np

import quasistep as qs

SCENE = "scenes/planar_push.yml"
GOAL = np.array([0.10, 0.03])  # of the box, in m
N, KEEP, ROUNDS, KNOTS, STEPS = 200, 20, 8, 4, 40

system = qs.load(SCENE)
box = system.coordinates.indices(["box.x", "box.y"])
start = system.commanded(system.q0)
rng = np.random.default_rng(0)


def commands(knots):
    """Finger paths through knots, shape (N, KNOTS, 2) → (N, STEPS, 2)."""
    s = np.linspace(0, KNOTS, STEPS + 1)[1:]
    left = np.minimum(s.astype(int), KNOTS - 1)
    path = np.concatenate([np.broadcast_to(start, (len(knots), 1, 2)), start + knots], axis=1)
    return path[:, left] + (s - left)[:, None] * (path[:, left + 1] - path[:, left])


mean = np.outer(np.linspace(0.05, 0.2, KNOTS), [1, 0])
spread = np.full((KNOTS, 2), 0.04)
for k in range(ROUNDS):
    knots = mean + spread * rng.standard_normal((N, KNOTS, 2))
    q, report = system.simulate_batch(commands(knots), h=0.05, keep="last", report=True)
    cost = np.linalg.norm(q[:, box] - GOAL, axis=1)
    cost[~report.ok] = np.inf
    best = np.argsort(cost)[:KEEP]
    mean, spread = knots[best].mean(axis=0), knots[best].std(axis=0) + 1e-4
    print(f"round {k}: best {1e3 * cost[best[0]]:.1f} mm from the goal")

run = system.simulate(commands(mean[None])[0], h=0.05)
miss = np.linalg.norm(run.q[-1, box] - GOAL)
print(f"the planned push ends {1e3 * miss:.1f} mm from the goal")
assert miss < 0.005

if len(sys.argv) > 1:
    run.save_html(sys.argv[1])
