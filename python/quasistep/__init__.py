"""Quasi-static and quasi-dynamic simulation of robot manipulation with contact.

Robots follow position commands through joint springs, objects follow from force balance, contact
and friction are solved as one convex program a step. Everything is SI: m, kg, s, rad, N, N·m.

>>> system = qs.load("scenes/pinch.yml")
>>> q1, report = system.step(system.q0)
>>> run = system.simulate(duration=1.0)
>>> run.q.shape
(11, 9)
"""

from ._core import CONTACT, SLIP_SPEED_THRESHOLD, StepParams, StepReport, WarmStart, __version__
from ._load import from_dict, load, loads
from ._records import Certificate, HeldWrench, Mode, Wrench
from ._sweep import read_sweep, sweep
from .batch import BatchReport, BatchWarning
from .builder import (
    SystemBuilder,
    box,
    capsule,
    cylinder,
    half_space,
    hinge,
    mesh,
    points,
    slide,
    sphere,
)
from .errors import (
    InfeasibleError,
    InputError,
    LengthError,
    NotAtRestError,
    NotSolvedError,
    ParameterError,
    QuasistepError,
    SceneError,
    StepError,
    UnsupportedError,
)
from .names import Names
from .run import Run
from .system import System

__all__ = [
    "CONTACT",
    "SLIP_SPEED_THRESHOLD",
    "BatchReport",
    "BatchWarning",
    "Certificate",
    "HeldWrench",
    "InfeasibleError",
    "InputError",
    "LengthError",
    "Mode",
    "Names",
    "NotAtRestError",
    "NotSolvedError",
    "ParameterError",
    "QuasistepError",
    "Run",
    "SceneError",
    "StepError",
    "StepParams",
    "StepReport",
    "System",
    "SystemBuilder",
    "UnsupportedError",
    "WarmStart",
    "Wrench",
    "__version__",
    "box",
    "capsule",
    "cylinder",
    "from_dict",
    "half_space",
    "hinge",
    "load",
    "loads",
    "mesh",
    "points",
    "read_sweep",
    "slide",
    "sphere",
    "sweep",
]
