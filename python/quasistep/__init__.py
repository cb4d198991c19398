"""Quasi-static and quasi-dynamic simulation of robot manipulation with contact.

Robots follow position commands through joint springs, objects follow from force balance, contact
and Coulomb friction are solved exactly, or as a convex program. Everything is SI: m, kg, s, rad, N, N·m.

>>> system = qs.load("scenes/pinch.yml")
>>> q1, report = system.step(system.q0)
>>> run = system.simulate(duration=1.0)
>>> run.q.shape
(11, 9)
"""

from typing import Any

from ._core import CONTACT, SLIP_SPEED_THRESHOLD, StepParams, StepReport, WarmStart, __version__
from ._load import from_dict, load, loads
from ._records import (
    Certificate,
    Checkpoint,
    DeterminedSum,
    Frame,
    HeldWrench,
    Mode,
    SharedForce,
    Uniqueness,
    Wrench,
)
from ._sweep import read_sweep, sweep
from .batch import BatchReport, BatchWarning
from .builder import (
    SystemBuilder,
    box,
    capsule,
    cylinder,
    ellipsoid,
    half_space,
    height_field,
    hinge,
    mesh,
    points,
    slide,
    sphere,
)
from .control import Mpc, Plan
from .control_run import ControlRun, Linearisation
from .derivatives import ContactImpulses, DerivativesBatch, Kinks, Smooth, StepDerivatives
from .errors import (
    ConstraintError,
    DerivativeError,
    InfeasibleError,
    InputError,
    JammedError,
    LengthError,
    NoPlanError,
    NotAtRestError,
    NotReachedError,
    NotSolvedError,
    OverlapError,
    ParameterError,
    ProblemError,
    QuasistepError,
    SceneError,
    StepError,
    UndecidedError,
    UnsupportedError,
)
from .identification import Identified, NotIdentifiedError, Parameter, identify
from .kinematics import FramePath, Reached
from .lcs import Lcs, LcsContact
from .live import Live
from .motion import Comparison, Motion, compare
from .names import Names
from .recorded import RecordedRun, read_run
from .paths import JointPath
from .planning import GoalPlan, JointGoal, PoseGoal, Regrasp
from .roadmap import Roadmap
from .rollouts import RolloutGradients, Rollouts
from .run import Run
from .system import System
from .trajectory import JointTrajectory

__all__ = [
    "BatchReport",
    "BatchWarning",
    "CONTACT",
    "Certificate",
    "Checkpoint",
    "Comparison",
    "ConstraintError",
    "ContactImpulses",
    "ControlRun",
    "DerivativeError",
    "DerivativesBatch",
    "DeterminedSum",
    "Frame",
    "FramePath",
    "GoalPlan",
    "HeldWrench",
    "Identified",
    "InfeasibleError",
    "InputError",
    "JammedError",
    "JointGoal",
    "JointPath",
    "JointTrajectory",
    "Kinks",
    "Lcs",
    "LcsContact",
    "LengthError",
    "Linearisation",
    "Live",
    "Mode",
    "Motion",
    "Mpc",
    "Names",
    "NoPlanError",
    "NotAtRestError",
    "NotIdentifiedError",
    "NotReachedError",
    "NotSolvedError",
    "OverlapError",
    "Parameter",
    "ParameterError",
    "Plan",
    "PoseGoal",
    "ProblemError",
    "QuasistepError",
    "Reached",
    "RecordedRun",
    "Regrasp",
    "Roadmap",
    "RolloutGradients",
    "Rollouts",
    "Run",
    "SLIP_SPEED_THRESHOLD",
    "SceneError",
    "SharedForce",
    "Smooth",
    "StepDerivatives",
    "StepError",
    "StepParams",
    "StepReport",
    "System",
    "SystemBuilder",
    "UndecidedError",
    "Uniqueness",
    "UnsupportedError",
    "WarmStart",
    "Wrench",
    "__version__",
    "box",
    "capsule",
    "compare",
    "cylinder",
    "ellipsoid",
    "from_dict",
    "half_space",
    "height_field",
    "hinge",
    "identify",
    "load",
    "loads",
    "mesh",
    "points",
    "read_run",
    "read_sweep",
    "slide",
    "sphere",
    "sweep",
]


def __getattr__(name: str) -> Any:
    """``qs.gym``, ``qs.jax`` and ``qs.torch``, which are imported when they are asked for."""
    if name in ("gym", "jax", "torch"):
        from importlib import import_module

        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'quasistep' has no attribute {name!r}")
