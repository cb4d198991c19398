"""A run as a Rerun recording; rerun is an optional dependency."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .run import Run

# an arrow of this length in m is 1 N
METRES_PER_NEWTON = 0.01


def send(run: Run, path: str | os.PathLike[str] | None) -> Any:
    """Logs every frame; writes a file, or opens a viewer."""
    try:
        import rerun as rr
    except ImportError as error:
        raise ImportError("run.to_rerun() needs rerun: pip install rerun-sdk") from error
    stream = rr.RecordingStream(f"quasistep {run.system.name}")
    if path is None:
        stream.spawn()
    else:
        stream.save(os.fspath(path))
    stream.log("world", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    for k, shape in enumerate(json.loads(run.recording.drawn())):
        if shape["role"] != "collision":
            body = _entity(run.system.bodies[shape["body"]])
            _log_shape(rr, stream, f"{body}/shape_{k}", shape)
    by_step = np.searchsorted(run.contacts["step"], np.arange(len(run.t) + 1))
    for k, t in enumerate(run.t):
        stream.set_time("t", duration=float(t))
        for name, pose in zip(run.system.bodies, run.poses[k], strict=True):
            quaternion = rr.Quaternion(xyzw=np.roll(pose[:4], -1))
            stream.log(_entity(name), rr.Transform3D(translation=pose[4:], quaternion=quaternion))
        for name, value in zip(run.system.coordinates, run.q[k], strict=True):
            stream.log(f"coordinates/{name}", rr.Scalars(float(value)))
        own = run.contacts[by_step[k] : by_step[k + 1]]
        own = own[own["fn"] > 0]
        vectors = METRES_PER_NEWTON * own["f"]
        stream.log("contacts", rr.Arrows3D(origins=own["p"], vectors=vectors))
    return stream


def _entity(body: str) -> str:
    return "world/" + body


def _log_shape(rr: Any, stream: Any, entity: str, shape: dict[str, Any]) -> None:
    color = [round(255 * c) for c in shape["color"]]
    pose = shape["pose"]
    place = rr.Transform3D(translation=pose[4:], quaternion=rr.Quaternion(xyzw=pose[1:4] + pose[:1]))
    stream.log(entity, place, static=True)
    geometry = shape["geometry"]
    if geometry == "half_space":
        drawn = rr.Boxes3D(half_sizes=[[2, 2, 1e-4]], colors=[color])
    else:
        ((kind, size),) = geometry.items()
        if kind == "sphere":
            drawn = rr.Ellipsoids3D(radii=[size["radius"]], colors=[color])
        elif kind == "ellipsoid":
            drawn = rr.Ellipsoids3D(half_sizes=[size["radii"]], colors=[color])
        elif kind == "box":
            drawn = rr.Boxes3D(half_sizes=[size["half"]], colors=[color])
        elif kind == "mesh":
            drawn = rr.Mesh3D(
                vertex_positions=size["vertices"],
                triangle_indices=size["triangles"],
                albedo_factor=color,
            )
        else:
            # rerun's capsules begin at the middle of a cap, its cylinders and ours are about the middle
            length = 2 * size["half_length"]
            kinds = {"capsule": rr.Capsules3D, "cylinder": rr.Cylinders3D}
            extra: dict[str, Any] = {}
            if kind == "capsule":
                extra["translations"] = [[0, 0, -size["half_length"]]]
            drawn = kinds[kind](
                lengths=[length], radii=[size["radius"]], colors=[color], **extra
            )
    stream.log(entity, drawn, static=True)
