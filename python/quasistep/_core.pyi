"""The compiled part of the package."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import disjoint_base

from ._records import Certificate, Uniqueness, Wrench
from .errors import NoPlanError, StepError

_Array = NDArray[np.float64]
_Frame = tuple[str | int, Sequence[float], Sequence[float]]
_Axis = tuple[Sequence[float], Sequence[float]]
_Target = tuple[Sequence[float] | None, Sequence[float] | None, _Axis | None]
_IkSettings = tuple[
    list[int] | None,
    list[tuple[int, tuple[float, float]]],
    float | None,
    float | None,
    float,
    int,
]
_Changes = list[tuple[str, str]]
_Files = list[tuple[Path, bytes | None]]
_Limits = tuple[_Array, _Array, float | None]
_Warm = tuple[list[list[float]], list[list[int]]]
_Loads = tuple[list[str | int], ArrayLike, ArrayLike | None]
_Progress = Callable[[int, int], object]
_Grasps = tuple[
    list[tuple[str | int, str | int]],
    list[tuple[str, tuple[float, float]]] | None,
    tuple[float, float, float],
]

__all__ = [
    "CONTACT",
    "Changes",
    "Derivatives",
    "HAS_PAGE",
    "Instances",
    "Live",
    "Mpc",
    "SLIP_SPEED_THRESHOLD",
    "Recording",
    "Roadmap",
    "StepParams",
    "StepReport",
    "System",
    "WarmStart",
    "__version__",
    "batch",
    "command_at",
    "command",
    "compare",
    "control_run",
    "coordinate_matrix",
    "coulomb_contacts",
    "difference",
    "difference_jacobians",
    "differentiate_batch",
    "follow",
    "frame_jacobian",
    "frame_pose",
    "frame_velocity",
    "frame_yaw",
    "grasps",
    "gravity_force",
    "help",
    "integrate",
    "integrate_jacobians",
    "inverse_kinematics",
    "joint_path",
    "largest_wrench",
    "live",
    "linearise",
    "mass_matrix",
    "mcap_motion",
    "packaged_scene",
    "prediction",
    "plan",
    "plan_scene",
    "goal_errors",
    "plan_section",
    "quaternion_of_matrix",
    "quaternion_of_rpy",
    "rollout_gradients",
    "rollouts",
    "run",
    "settle",
    "task",
]

CONTACT: np.dtype[np.void]
HAS_PAGE: bool
SLIP_SPEED_THRESHOLD: float
__version__: str

@disjoint_base
class System:
    def __new__(
        cls, text: str, file: str, name: str, dir: str | Path, changes: _Changes, files: _Files | None = None
    ) -> Self: ...
    @classmethod
    def _load(cls, path: str | Path, changes: _Changes) -> Self: ...
    def _with_changes(self, changes: _Changes) -> Self: ...
    def _names(self) -> dict[str, Any]: ...
    def _check(self) -> tuple[str, str]: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def params(self) -> StepParams: ...
    @property
    def h(self) -> float: ...
    @property
    def every(self) -> float | None: ...
    @property
    def tolerance(self) -> float | None: ...
    @property
    def duration(self) -> float: ...
    @property
    def n_q(self) -> int: ...
    @property
    def n_v(self) -> int: ...
    @property
    def n_u(self) -> int: ...
    @property
    def n_u_v(self) -> int: ...
    @property
    def q0(self) -> _Array: ...
    @property
    def v0(self) -> _Array: ...
    def command(self, t: float) -> tuple[_Array, _Array]: ...
    def poses(self, q: ArrayLike) -> _Array: ...
    def step(
        self,
        q: ArrayLike,
        u: ArrayLike | None = None,
        *,
        h: float | None = None,
        t: float = 0.0,
        v: ArrayLike | None = None,
        wrenches: Sequence[Wrench] | None = None,
        params: StepParams | None = None,
        warm: WarmStart | None = None,
        velocity: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        attached: ArrayLike | None = None,
        uniqueness: bool = False,
    ) -> tuple[_Array, StepReport]: ...

@final
class Changes:
    def __new__(
        cls, system: System, less: list[_Changes], more: list[_Changes], by: list[float], n_steps: int
    ) -> Self: ...
    @property
    def known(self) -> list[int]: ...
    def of_runs(
        self, system: System, q: ArrayLike, velocity: ArrayLike | None,
        u: ArrayLike, n: int, n_steps: int, threads: int | None
    ) -> tuple[_Array, _Array, list[int]]: ...

@final
class Derivatives:
    def __new__(
        cls,
        system: System,
        q: ArrayLike,
        velocity: ArrayLike | None,
        attached: ArrayLike | None,
        u: ArrayLike | None,
        h: float | None,
        t: float,
        v: ArrayLike | None,
        wrenches: Sequence[Wrench] | None,
        params: StepParams | None,
        kappa: float | None,
        tau: ArrayLike | None,
    ) -> Self: ...
    def step(self) -> tuple[_Array, StepReport, list[int], float]: ...
    def jvp(self, change: dict[str, _Array], impulses: bool) -> tuple[dict[str, Any], float]: ...
    def vjp(self, weights: dict[str, _Array]) -> dict[str, Any]: ...
    def matrices(self) -> tuple[_Array, _Array]: ...
    def state_matrices(self) -> dict[tuple[str, str], _Array]: ...

@final
class Instances:
    def __new__(
        cls,
        system: System,
        n: int,
        frames: list[_Frame],
        pairs: list[tuple[str, str]],
        threads: int | None,
    ) -> Self: ...
    def reset(
        self, indices: list[int], q: ArrayLike, changes: list[_Changes] | None
    ) -> tuple[_Array, _Array, dict[int, Exception]]: ...
    def step(
        self, u: ArrayLike, n_steps: int, skip: list[int]
    ) -> tuple[_Array, dict[int, Exception]]: ...
    def camera(
        self, q: ArrayLike, direction: Sequence[float], aspect: float
    ) -> tuple[list[float], list[float], list[float], float]: ...
    def picture(
        self, i: int, goals: list[list[float]], camera: tuple[list[float], list[float], list[float], float],
        width: int, height: int
    ) -> bytes: ...

@final
class Mpc:
    def __new__(
        cls,
        horizon: int,
        models: list[list[_Array]],
        Q: _Array,
        Q_f: _Array,
        R: _Array,
        goal: list[list[float]],
        state: _Limits,
        input: _Limits,
        input_rate: _Limits,
        impulse: float | None,
        gap: float,
        max_nodes: int,
        local: bool,
    ) -> Self: ...
    def plan(
        self,
        x0: ArrayLike,
        warm: _Warm | None,
        seconds: float | None,
        goal: list[list[float]] | None,
    ) -> dict[str, Any]: ...
    def export(self, x0: ArrayLike, warm: _Warm | None, mps: bool, integers: str) -> str: ...

@final
class Roadmap:
    def __new__(cls, q: ArrayLike, u: ArrayLike, h: float) -> Self: ...
    @classmethod
    def from_arrays(
        cls, parents: Sequence[int], q: ArrayLike, u: ArrayLike, widths: tuple[int, int], h: float
    ) -> Roadmap: ...
    def arrays(self) -> tuple[list[int], list[float], list[float], float]: ...
    def __len__(self) -> int: ...

@final
class StepParams:
    def __new__(cls, **words: Any) -> Self: ...
    def replace(self, **words: Any) -> StepParams: ...
    def asdict(self) -> dict[str, Any]: ...
    def __getitem__(self, key: str, /) -> Any: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @classmethod
    def _from_words(cls, words: _Changes) -> StepParams: ...

@final
class StepReport:
    @property
    def time(self) -> float: ...
    @property
    def size(self) -> float: ...
    @property
    def choice(self) -> tuple[float, int, bool] | None: ...
    @property
    def v(self) -> _Array: ...
    @property
    def effort(self) -> _Array: ...
    @property
    def sensors(self) -> dict[str, _Array]: ...
    @property
    def contacts(self) -> NDArray[np.void]: ...
    def contacts_of(self, a: str, b: str = "*") -> NDArray[np.void]: ...
    @property
    def constraints(self) -> NDArray[np.void]: ...
    @property
    def attached(self) -> _Array: ...
    @property
    def limits(self) -> list[tuple[int, float]]: ...
    @property
    def joint_friction(self) -> list[tuple[int, float]]: ...
    @property
    def supports(self) -> list[tuple[int, float, list[float]]]: ...
    @property
    def saturated(self) -> list[int]: ...
    @property
    def certificate(self) -> Certificate: ...
    @property
    def timing(self) -> dict[str, float]: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_active(self) -> int: ...
    @property
    def n_candidates(self) -> int: ...
    @property
    def substeps(self) -> int: ...
    @property
    def n_joined(self) -> int: ...
    @property
    def iterations(self) -> int: ...
    @property
    def work(self) -> int: ...
    @property
    def method(self) -> str: ...
    @property
    def smallest_norm(self) -> bool: ...
    @property
    def fallback(self) -> tuple[str, str] | None: ...
    @property
    def uniqueness(self) -> Uniqueness | None: ...
    @property
    def warm_start(self) -> WarmStart | None: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @staticmethod
    def _from_data(data: tuple[dict[str, Any], list[str]]) -> StepReport: ...

@final
class WarmStart:
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @staticmethod
    def _from_data(words: tuple[list[Any], list[Any]]) -> WarmStart: ...

@final
class Recording:
    def to_bytes(self) -> bytes: ...
    @classmethod
    def from_bytes(cls, bytes: bytes) -> Recording: ...
    @classmethod
    def read(cls, path: str | Path) -> Recording: ...
    def head(self) -> dict[str, Any]: ...
    def arrays(self) -> dict[str, Any]: ...
    def drawn(self) -> str: ...
    @property
    def uniqueness(self) -> list[Uniqueness | None]: ...
    def page(self) -> str: ...
    def mcap(self, path: str | Path) -> None: ...
    def trajectory(self, system: System, model: str | None) -> dict[str, Any]: ...
    def still(
        self, frame: int, direction: Sequence[float], width: int, height: int
    ) -> bytes | list[int]: ...
    def video(
        self,
        path: str | Path,
        direction: Sequence[float] | None,
        size: Sequence[int] | None,
    ) -> None: ...
    def save(self, dir: str | Path, csv: bool, every: int, page: bool) -> list[Path]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

def mcap_motion(path: str | Path) -> dict[str, dict[str, Any]]: ...
def compare(
    system: System,
    recording: Recording | None,
    rows: tuple[ArrayLike, ArrayLike, ArrayLike | None, ArrayLike] | None,
) -> dict[str, Any]: ...
@final
class Live:
    @property
    def address(self) -> str: ...
    @property
    def is_open(self) -> bool: ...
    def close(self) -> None: ...

def live(
    system: System,
    q0: ArrayLike,
    v0: ArrayLike | None,
    t0: float,
    warm: WarmStart | None,
    attached: ArrayLike | None,
) -> Live: ...
def run(
    system: System,
    q0: ArrayLike,
    v0: ArrayLike | None,
    t0: float,
    warm: WarmStart | None,
    attached: ArrayLike | None,
    n_steps: int | None,
    duration: float | None,
    u: ArrayLike | None,
    v: ArrayLike | None,
    tau: ArrayLike | None,
    h: float | None,
    every: float | None,
    wrenches: Sequence[Wrench] | None,
    params: StepParams | None,
    most_steps: int,
    progress: Callable[[float, float], object] | None,
) -> tuple[Recording, dict[str, Any], BaseException | None]: ...
def batch(
    system: System,
    q: ArrayLike,
    velocity: ArrayLike | None,
    attached: ArrayLike | None,
    u: ArrayLike,
    v: ArrayLike | None,
    n: int,
    n_steps: int,
    t: float,
    h: float | None,
    every: float | None,
    loads: _Loads,
    params: StepParams | None,
    warm: Sequence[WarmStart] | None,
    vary: list[_Changes] | None,
    threads: int | None,
    every_step: bool,
    report: bool,
    progress: _Progress | None,
) -> tuple[_Array, dict[str, Any]]: ...
def settle(
    system: System,
    q: ArrayLike,
    u: ArrayLike | None,
    t: float,
    h: float | None,
    wrenches: Sequence[Wrench] | None,
    params: StepParams | None,
    speed: float,
    max_steps: int,
) -> tuple[_Array, StepReport]: ...
def largest_wrench(
    system: System,
    q: ArrayLike,
    u: ArrayLike | None,
    t: float,
    h: float | None,
    wrench: Wrench,
    wrenches: Sequence[Wrench] | None,
    most: float,
    tolerance: float,
    params: StepParams | None,
    rule: tuple[float, int, float],
) -> tuple[float, float, _Array, int]: ...
def control_run(
    system: System, progress: _Progress | None
) -> tuple[Recording, dict[str, Any], NoPlanError | StepError | None]: ...
def command(arguments: list[str]) -> int: ...
def help(message: str, class_: str, /) -> str | None: ...
def coulomb_contacts(parts: list[_Array]) -> list[tuple[list[int], float]]: ...
def linearise(system: System, q: ArrayLike, margin: float) -> dict[str, Any]: ...
def prediction(
    system: System, q: ArrayLike, inputs: list[int] | None, h: float, margin: float, directions: int
) -> dict[str, Any]: ...
def task(system: System) -> dict[str, Any]: ...
def command_at(system: System, q: ArrayLike) -> _Array: ...
def coordinate_matrix(system: System, q: ArrayLike) -> _Array: ...
def difference(system: System, q0: ArrayLike, q1: ArrayLike) -> _Array: ...
def difference_jacobians(
    system: System, q0: ArrayLike, q1: ArrayLike
) -> tuple[_Array, _Array]: ...
def differentiate_batch(
    system: System,
    q: ArrayLike,
    velocity: ArrayLike | None,
    attached: ArrayLike | None,
    u: ArrayLike,
    v: ArrayLike | None,
    n: int,
    t: float,
    h: float | None,
    loads: _Loads,
    params: StepParams | None,
    kappa: float | None,
    weights: ArrayLike | None,
    v_weights: ArrayLike | None,
    impulses: bool,
    threads: int | None,
    progress: _Progress | None,
) -> dict[str, Any]: ...
def plan(
    system: System,
    start: tuple[ArrayLike, ArrayLike, Roadmap | None],
    goals: list[list[tuple[Any, ...]]],
    costs: tuple[_Array, _Array, _Array, float, float],
    within: tuple[list[tuple[str, tuple[float, float]]], list[_Grasps]],
    settings: tuple[str, int, list[float], tuple[float, bool], int, int, float, int],
    limits: tuple[int, int, int, int, float, int | None],
    h: float | None,
    params: StepParams | None,
    progress: _Progress | None,
) -> dict[str, Any]: ...
def packaged_scene(name: str) -> str | None: ...
def plan_scene(
    system: System,
    q: ArrayLike | None,
    u: ArrayLike | None,
    reached: int,
    seed: int | None,
    threads: int | None,
    progress: _Progress | None,
) -> tuple[dict[str, Any], _Array]: ...
def goal_errors(system: System, goal: list[tuple[Any, ...]], q: _Array) -> list[float]: ...
def plan_section(system: System) -> dict[str, Any] | None: ...
def grasps(
    system: System,
    q: ArrayLike,
    given: _Grasps,
    counts: tuple[int, int],
    seed: int,
) -> _Array: ...
def joint_path(
    system: System,
    q: ArrayLike,
    u: ArrayLike,
    goal: ArrayLike,
    bounds: tuple[_Array, ...],
    settings: tuple[float, int, int],
    h: float | None,
    params: StepParams | None,
    progress: _Progress | None,
) -> dict[str, Any]: ...
def rollouts(
    system: System,
    q: ArrayLike,
    velocity: ArrayLike | None,
    u: ArrayLike,
    v: ArrayLike | None,
    n: int,
    n_steps: int,
    t: float,
    h: float | None,
    loads: _Loads,
    params: StepParams | None,
    kappa: float | None,
    changes: Changes | None,
    matrices: bool,
    contacts: bool,
    threads: int | None,
) -> dict[str, Any]: ...
def rollout_gradients(
    by_x: ArrayLike, by_u: ArrayLike, by_parameters: ArrayLike, weights: ArrayLike, n: int, n_x: int
) -> tuple[_Array, _Array, _Array]: ...
def integrate(system: System, q: ArrayLike, v: ArrayLike, h: float) -> _Array: ...
def integrate_jacobians(system: System, v: ArrayLike, h: float) -> tuple[_Array, _Array]: ...
def frame_pose(system: System, frame: _Frame, q: ArrayLike) -> _Array: ...
def frame_jacobian(
    system: System, frame: _Frame, q: ArrayLike, point: Sequence[float]
) -> _Array: ...
def frame_velocity(
    system: System, frame: _Frame, q: ArrayLike, v: ArrayLike, point: Sequence[float]
) -> _Array: ...
def frame_yaw(
    system: System, frame: _Frame, q: ArrayLike, axis: Sequence[float]
) -> _Array: ...
def mass_matrix(system: System, q: ArrayLike) -> _Array: ...
def gravity_force(system: System, q: ArrayLike, gravity: Sequence[float] | None) -> _Array: ...
def inverse_kinematics(
    system: System, frame: _Frame, pose: _Target, q0: ArrayLike, given: _IkSettings
) -> tuple[_Array, float, float, int]: ...
def follow(
    system: System,
    frame: _Frame,
    poses: Sequence[_Target],
    steps: int,
    q0: ArrayLike,
    given: _IkSettings,
) -> _Array: ...
def quaternion_of_matrix(matrix: ArrayLike) -> list[float]: ...
def quaternion_of_rpy(rpy: Sequence[float]) -> list[float]: ...
