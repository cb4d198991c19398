"""Configurations of a system and their differences; frames: where they are, how they move, and how joints bring
them somewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _core
from ._records import Frame
from .names import NamedSystem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike

    from ._types import Array


class Reached(NamedTuple):
    """Answer of :meth:`System.inverse_kinematics`.

    Parameters
    ----------
    q : ndarray, shape (n_q,)
        The configuration: joints within their limits, all that does not move as in ``q0``.
    position_error, rotation_error : float
        How far the frame is off, in m and rad.
    attempts : int
        Starts of the search; 1 if ``q0`` led there.

    Examples
    --------
    >>> system = qs.load("scenes/iiwa_stacking.yml")
    >>> here = system.pose("arm/iiwa_link_7", system.q0)
    >>> reached = system.inverse_kinematics("arm/iiwa_link_7", here)
    >>> bool((reached.q == system.q0).all()), reached.attempts
    (True, 1)
    """

    q: Array
    position_error: float
    rotation_error: float
    attempts: int


class FramePath(NamedTuple):
    """Answer of :meth:`System.follow` and :meth:`System.line`: n places of a path.

    Parameters
    ----------
    q : ndarray, shape (n, n_q)
        Configurations.
    u : ndarray, shape (n, n_u)
        Commands that hold them without load: the table for :meth:`System.simulate`.

    Examples
    --------
    >>> system = qs.load("scenes/iiwa_stacking.yml")
    >>> goal = system.pose("arm/iiwa_link_7", system.q0) + [0, 0, 0, 0, 0.0, 0.05, 0]
    >>> system.line("arm/iiwa_link_7", goal, steps=10).q.shape == (11, system.n_q)
    True
    """

    q: Array
    u: Array


class KinematicSystem(NamedSystem):
    """Configurations and frames of a system: the part of :class:`System` that needs no step."""

    def integrate(self, q: ArrayLike, v: ArrayLike, h: float = 1.0) -> Array:
        r"""Configurations moved along velocities: :math:`q \oplus h v`, rotations by the exponential map.

        Parameters
        ----------
        q : array_like, shape (..., n_q)
        v : array_like, shape (..., n_v)
            In m/s and rad/s. One row of either stands for all of the other.
        h : float
            In s.

        Returns
        -------
        ndarray, shape (..., n_q)

        Examples
        --------
        >>> system = qs.load("scenes/pinch.yml")
        >>> system.integrate(system.q0, np.zeros(8)).round(3)[2:6]
        array([1., 0., 0., 0.])
        >>> system.integrate(system.q0, np.zeros((100, 8)), 0.1).shape
        (100, 9)
        """
        q, v = self._two_rows(("q", q, self.n_q), ("v", v, self.n_v))
        return _core.integrate(self, q, v, h).reshape(q.shape)

    def integrate_jacobians(self, q: ArrayLike, v: ArrayLike, h: float = 1.0) -> tuple[Array, Array]:
        r"""Jacobians of :meth:`integrate`: how :math:`q \oplus h v` changes with ``q`` and with ``v``, by dofs.

        Parameters
        ----------
        q : array_like, shape (..., n_q)
        v : array_like, shape (..., n_v)
        h : float
            As for :meth:`integrate`.

        Returns
        -------
        by_q, by_v : ndarray, shape (..., n_v, n_v)
            One block for each joint on the diagonal: 1 and ``h`` where coordinates add up; the rotation
            :math:`\exp(h \omega)`, and h times the left Jacobian of the exponential map.

        Examples
        --------
        >>> system = qs.load("scenes/pinch.yml")
        >>> by_q, by_v = system.integrate_jacobians(system.q0, np.zeros(8), 0.1)
        >>> bool((by_q == np.eye(8)).all()), bool((by_v == 0.1 * np.eye(8)).all())
        (True, True)
        """
        q, v = self._two_rows(("q", q, self.n_q), ("v", v, self.n_v))
        by_q, by_hv = (J.reshape(*v.shape, self.n_v) for J in _core.integrate_jacobians(self, v, h))
        return by_q, h * by_hv

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        r"""What :meth:`integrate` needs to go from some configurations to others: :math:`q_1 \ominus q_0`.

        Parameters
        ----------
        q0, q1 : array_like, shape (..., n_q)
            One row of either stands for all of the other.

        Returns
        -------
        ndarray, shape (..., n_v)
            In m and rad; rotations by the shorter way.

        Examples
        --------
        >>> system = qs.load("scenes/pinch.yml")
        >>> v = np.arange(8) / 10
        >>> system.difference(system.q0, system.integrate(system.q0, v)).round(6)
        array([0. , 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
        """
        q0, q1 = self._two_rows(("q0", q0, self.n_q), ("q1", q1, self.n_q))
        return _core.difference(self, q0, q1).reshape(*q0.shape[:-1], self.n_v)

    def difference_jacobians(self, q0: ArrayLike, q1: ArrayLike) -> tuple[Array, Array]:
        r"""Jacobians of :meth:`difference`: how :math:`q_1 \ominus q_0` changes with ``q0`` and with ``q1``, by dofs.

        Errors of rotations are logarithms, whose Jacobian is the identity at zero only: a gradient of the square of
        ``difference(goal, q)`` is ``2 * by_q1.T @ difference(goal, q)``.

        Parameters
        ----------
        q0, q1 : array_like, shape (..., n_q)
            One row of either stands for all of the other.

        Returns
        -------
        by_q0, by_q1 : ndarray, shape (..., n_v, n_v)
            One block for each joint on the diagonal: −1 and 1 where coordinates add up, the inverse left Jacobian of
            the exponential map of a rotation. Right below half a turn.

        Examples
        --------
        >>> system = qs.load("scenes/pinch.yml")
        >>> by_q0, by_q1 = system.difference_jacobians(system.q0, np.tile(system.q0, (5, 1)))
        >>> by_q1.shape, bool((by_q1 == np.eye(8)).all())
        ((5, 8, 8), True)
        """
        q0, q1 = self._two_rows(("q0", q0, self.n_q), ("q1", q1, self.n_q))
        shape = (*q0.shape[:-1], self.n_v, self.n_v)
        by_q0, by_q1 = _core.difference_jacobians(self, q0, q1)
        return by_q0.reshape(shape), by_q1.reshape(shape)

    def coordinate_matrix(self, q: ArrayLike) -> Array:
        """How coordinates change with dofs at a configuration: G of ``dq_coordinates = G dq``.

        A gradient by coordinates g becomes one by dofs as ``G.T @ g``, a change of coordinates one of dofs as
        ``pinv(G) @ dq_coordinates``.

        Parameters
        ----------
        q : array_like, shape (..., n_q)
            Configurations.

        Returns
        -------
        ndarray, shape (..., n_q, n_v)

        Examples
        --------
        >>> system = qs.load("scenes/pinch.yml")
        >>> system.coordinate_matrix(system.q0).shape
        (9, 8)
        """
        q = self._rows("q", q, self.n_q)
        return _core.coordinate_matrix(self, q).reshape(*q.shape, self.n_v)

    def command_matrix(self, u: ArrayLike) -> Array:
        """The same of a command, shape (n_u, n_u_v).

        Parameters
        ----------
        u : array_like, shape (n_u,)

        Returns
        -------
        ndarray, shape (n_u, n_u_v)

        Examples
        --------
        >>> system = qs.load("scenes/pinch.yml")
        >>> system.command_matrix([0.0, 0.1])
        array([[1., 0.],
               [0., 1.]])
        """
        q, u = self.q0, np.asarray(u, dtype=float)
        in_q, in_v = self._name_lists["u_in_q"], self._name_lists["u_in_v"]
        n, n_v = len(in_q), len(in_v)
        q[in_q] = u[:n]
        part = np.zeros((self.n_u, self.n_u_v))
        part[:n, :n_v] = self.coordinate_matrix(q)[np.ix_(in_q, in_v)]
        # poses that frames are told, then shares of the pull of pads, and switches
        frames = (self.n_u - n) - (self.n_u_v - n_v)
        for k in range(frames):
            row, column = n + 7 * k, n_v + 6 * k
            w, x, y, z = u[row : row + 4] / np.linalg.norm(u[row : row + 4])
            turn = [[-x, -y, -z], [w, z, -y], [-z, w, x], [y, -x, w]]
            part[row : row + 4, column : column + 3] = 0.5 * np.array(turn)
            part[row + 4 : row + 7, column + 3 : column + 6] = np.eye(3)
        pads = self.n_u - n - 7 * frames
        part[self.n_u - pads :, self.n_u_v - pads :] = np.eye(pads)
        return part

    def pose(self, frame: str | int | Frame, q: ArrayLike) -> Array:
        """Pose of a frame in the world.

        Parameters
        ----------
        frame : str, int or Frame
            A body (``model/link``; frame links of URDF files are bodies), or a frame on one.
        q : array_like, shape (..., n_q)
            Configurations.

        Returns
        -------
        ndarray, shape (..., 7)
            Unit quaternion w, x, y, z and position x, y, z in m, as :meth:`poses` gives for all bodies.

        Raises
        ------
        SceneError
            There is no such body; the sentence names near ones.

        Examples
        --------
        >>> system = qs.load("scenes/iiwa_stacking.yml")
        >>> X = system.pose("arm/iiwa_link_7", system.q0)
        >>> X.shape
        (7,)
        >>> bool(np.allclose(X, system.poses(system.q0)[system.bodies.index("arm/iiwa_link_7")]))
        True
        """
        q = self._rows("q", q, self.n_q)
        return _core.frame_pose(self, frame_argument(frame), q).reshape(*q.shape[:-1], 7)

    def jacobian(
        self,
        frame: str | int | Frame,
        q: ArrayLike,
        *,
        point: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> Array:
        """Jacobian of a frame: ``J @ v`` is its velocity, ``J.T @ w`` the generalised force of a wrench on it.

        Parameters
        ----------
        frame : str, int or Frame
        q : array_like, shape (..., n_q)
            Configurations.
        point : sequence of float, shape (3,)
            The point whose velocity it gives, in the frame's axes from its origin, in m.

        Returns
        -------
        ndarray, shape (..., 6, n_v)
            Rows 0 to 2: angular velocity, in rad/s; rows 3 to 5: velocity of the point, in m/s; both in the
            world's axes. Columns are :attr:`dofs`. Wrenches are a torque, then a force at the point.

        Examples
        --------
        >>> system = qs.load("scenes/planar_push.yml")
        >>> system.jacobian("finger", system.q0)[3:5, :2]
        array([[1., 0.],
               [0., 1.]])
        """
        q = self._rows("q", q, self.n_q)
        flat = _core.frame_jacobian(self, frame_argument(frame), q, _three("point", point))
        return flat.reshape(*q.shape[:-1], 6, self.n_v)

    def velocity(
        self,
        frame: str | int | Frame,
        q: ArrayLike,
        v: ArrayLike,
        *,
        point: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> Array:
        """Velocity of a frame.

        Parameters
        ----------
        frame : str, int or Frame
        q : array_like, shape (..., n_q)
            Configurations.
        v : array_like, shape (..., n_v)
            Velocities, in m/s and rad/s, for example ``report.v``.
        point : sequence of float, shape (3,)
            As for :meth:`jacobian`.

        Returns
        -------
        ndarray, shape (..., 6)
            Angular velocity, in rad/s, then velocity of the point, in m/s; both in the world's axes.

        Examples
        --------
        >>> system = qs.load("scenes/planar_push.yml")
        >>> v = np.zeros(system.n_v)
        >>> v[system.dofs.index("finger.x")] = 0.05
        >>> system.velocity("finger", system.q0, v)
        array([0.  , 0.  , 0.  , 0.05, 0.  , 0.  ])
        """
        q, v = self._two_rows(("q", q, self.n_q), ("v", v, self.n_v))
        flat = _core.frame_velocity(self, frame_argument(frame), q, v, _three("point", point))
        return flat.reshape(*q.shape[:-1], 6)

    def yaw(
        self,
        frame: str | int | Frame,
        q: ArrayLike,
        *,
        axis: Sequence[float] = (0.0, 0.0, 1.0),
    ) -> tuple[Array, Array]:
        r"""Yaw of a frame: how far it is turned about an axis of the world, whatever it is tilted.

        Its rotation is a turn by the yaw about the axis, then a turn about an axis perpendicular to it. For the unit
        quaternion (w, u) this is :math:`2 \operatorname{atan2}(a \cdot u, w)`.

        Parameters
        ----------
        frame : str, int or Frame
        q : array_like, shape (..., n_q)
            Configurations.
        axis : sequence of float, shape (3,)
            In the world; its length does not matter.

        Returns
        -------
        yaw : ndarray, shape (...)
            In (−π, π] rad; NaN where half a turn about a perpendicular axis leaves it open.
        gradient : ndarray, shape (..., n_v)
            By dofs, in rad/m and rad/rad.

        Examples
        --------
        >>> system = qs.load("scenes/planar_push.yml")
        >>> turned = system.integrate(system.q0, 0.5 * np.eye(8)[system.dofs.index("box.wz")])
        >>> yaw, gradient = system.yaw("box", [system.q0, turned])
        >>> yaw.round(6), float(gradient[1, system.dofs.index("box.wz")].round(6))
        (array([0. , 0.5]), 1.0)
        """
        q = self._rows("q", q, self.n_q)
        a = np.array(_three("axis", axis))
        length = float(np.linalg.norm(a))
        if not 0 < length < np.inf:
            raise ValueError(f"`axis` is {a.tolist()}; it must be finite and not zero")
        flat = _core.frame_yaw(self, frame_argument(frame), q, (a / length).tolist())
        both = flat.reshape(*q.shape[:-1], 1 + self.n_v)
        return both[..., 0], both[..., 1:]

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Mass matrix: kinetic energy is ``v @ M @ v / 2``, in J.

        Parameters
        ----------
        q : array_like, shape (..., n_q)
            Configurations.

        Returns
        -------
        ndarray, shape (..., n_v, n_v)
            Zero rows where a dof moves no mass.

        Examples
        --------
        >>> system = qs.load("scenes/planar_push.yml")
        >>> x = system.dofs.index("box.vx")
        >>> float(system.mass_matrix(system.q0)[x, x])
        0.8
        """
        q = self._rows("q", q, self.n_q)
        return _core.mass_matrix(self, q).reshape(*q.shape[:-1], self.n_v, self.n_v)

    def gravity_force(self, q: ArrayLike, *, gravity: Sequence[float] | None = None) -> Array:
        """Generalised force of gravity, on bodies that feel it.

        Parameters
        ----------
        q : array_like, shape (..., n_q)
            Configurations.
        gravity : sequence of float, shape (3,), optional
            Acceleration of free fall in the world, in m/s²; the scene's by default.

        Returns
        -------
        ndarray, shape (..., n_v)
            In N or N·m; a drive that holds the joints against it pushes with the opposite.

        Examples
        --------
        >>> system = qs.load("scenes/planar_push.yml")
        >>> float(system.gravity_force(system.q0)[system.dofs.index("box.vz")].round(3))
        -7.848
        """
        q = self._rows("q", q, self.n_q)
        g = None if gravity is None else _three("gravity", gravity)
        return _core.gravity_force(self, q, g).reshape(*q.shape[:-1], self.n_v)

    def inverse_kinematics(
        self,
        frame: str | int | Frame,
        pose: ArrayLike | Mapping[str, ArrayLike],
        q0: ArrayLike | None = None,
        *,
        axis: tuple[ArrayLike, ArrayLike] | None = None,
        joints: str | Iterable[str] | None = None,
        limits: Mapping[str, tuple[float, float]] | None = None,
        avoid: float | None = None,
        position_tolerance: float | None = None,
        rotation_tolerance: float = 1e-6,
        attempts: int = 100,
    ) -> Reached:
        """Joints that bring a frame to a pose, within their limits, as near to a posture as it is found.

        Damped least squares (Levenberg, Marquardt) with limits and distances as rows of quadratic programs, from
        ``q0`` and then from other starts, always the same ones; then the posture nearest to ``q0`` of those
        that keep the pose. What is returned was checked anew.

        Parameters
        ----------
        frame : str, int or Frame
        pose : array_like or mapping
            In the world: shape (7,), unit quaternion w, x, y, z and position in m, as :meth:`pose` gives it; shape
            (4, 4), a homogeneous matrix; shape (3,), a position, with any orientation; or a mapping with
            ``xyz`` and ``rpy`` or ``quat``, of which one may be left out.
        q0 : array_like, shape (n_q,), optional
            Where the search starts, and the posture; the scene's start by default.
        axis : tuple of two array_like of shape (3,), optional
            With a position: an axis of the frame, and the direction in the world along which it shall point.
        joints : str or iterable of str, optional
            Dofs of driven joints that may move, by name or pattern; by default all between the world and the frame.
            Passive joints never move.
        limits : mapping of str to (lower, upper), optional
            Bounds of dofs, in m or rad, beside their limits.
        avoid : float, optional
            Least distance, in m, of all pairs that may touch and that these joints move against one another.
        position_tolerance : float, optional
            In m; a micrometre by default, or a millionth of the arm's length if that is less.
        rotation_tolerance : float
            In rad.
        attempts : int
            Most starts.

        Returns
        -------
        Reached

        Raises
        ------
        NotReachedError
            With the nearest configuration found.
        InputError, ValueError, KeyError
            An argument that does not fit.

        Examples
        --------
        >>> system = qs.load("scenes/iiwa_stacking.yml")
        >>> hand = qs.Frame("arm/iiwa_link_7", xyz=(0, 0, 0.1))
        >>> X = system.pose(hand, system.q0)
        >>> reached = system.inverse_kinematics(hand, X + [0, 0, 0, 0, 0.05, 0.1, 0.02])
        >>> (system.pose(hand, reached.q) - X)[4:].round(6)
        array([0.05, 0.1 , 0.02])
        """
        given = self._given(joints, limits, avoid, position_tolerance, rotation_tolerance, attempts)
        target = _target("pose", pose, axis)
        start = self.q0 if q0 is None else q0
        return Reached(*_core.inverse_kinematics(self, frame_argument(frame), target, start, given))

    def follow(
        self,
        frame: str | int | Frame,
        poses: Sequence[ArrayLike | Mapping[str, ArrayLike]] | ArrayLike,
        q0: ArrayLike | None = None,
        *,
        steps: int = 1,
        axis: tuple[ArrayLike, ArrayLike] | None = None,
        joints: str | Iterable[str] | None = None,
        limits: Mapping[str, tuple[float, float]] | None = None,
        avoid: float | None = None,
        position_tolerance: float | None = None,
        rotation_tolerance: float = 1e-6,
    ) -> FramePath:
        """Joint commands that lead a frame along poses, continuously.

        Parameters
        ----------
        frame : str, int or Frame
        poses : sequence of k poses
            Each as for :meth:`inverse_kinematics`; an array of shape (k, 7) is one.
        q0 : array_like, shape (n_q,), optional
            Where the first search starts, and the posture of the whole path; the scene's start by default.
        steps : int
            Places from each pose to the next, evenly spaced on a straight line and a rotation about one axis.
        axis, joints, limits, avoid, position_tolerance, rotation_tolerance
            As for :meth:`inverse_kinematics`.

        Returns
        -------
        FramePath
            Of n = 1 + (k − 1) steps places.

        Raises
        ------
        NotReachedError
            The first place that is not reached from the one before without a jump: its number is ``point``.

        Examples
        --------
        >>> system = qs.load("scenes/iiwa_stacking.yml")
        >>> X = system.pose("arm/iiwa_link_7", system.q0)
        >>> corners = X + np.array([[0, 0], [0.1, 0], [0.1, 0.1]]) @ np.eye(2, 7, 4)
        >>> path = system.follow("arm/iiwa_link_7", corners, steps=20)
        >>> path.u.shape == (41, system.n_u)
        True
        """
        if steps < 1:
            raise ValueError(f"`steps` is {steps}; it must be at least 1")
        given = self._given(joints, limits, avoid, position_tolerance, rotation_tolerance, 100)
        targets = [_target(f"poses[{k}]", pose, axis) for k, pose in enumerate(poses)]  # type: ignore[arg-type]
        start = self.q0 if q0 is None else q0
        q = _core.follow(self, frame_argument(frame), targets, steps, start, given).reshape(-1, self.n_q)
        return FramePath(q, self.commanded(q))

    def line(
        self,
        frame: str | int | Frame,
        goal: ArrayLike | Mapping[str, ArrayLike],
        q0: ArrayLike | None = None,
        *,
        steps: int = 50,
        **settings: Any,
    ) -> FramePath:
        """Joint commands that lead a frame along a straight line from where it is.

        Parameters
        ----------
        frame : str, int or Frame
        goal : array_like or mapping
            A pose, as for :meth:`inverse_kinematics`.
        q0 : array_like, shape (n_q,), optional
            Where it starts, and the posture; the scene's start by default.
        steps : int
            Places on the line beside its start.
        **settings
            ``axis``, ``joints``, ``limits``, ``avoid`` and the tolerances, as for :meth:`inverse_kinematics`.

        Returns
        -------
        FramePath
            Of steps + 1 places, the first of which is ``q0``.

        Raises
        ------
        NotReachedError
            The first place that is not reached: its number is ``point``.

        Examples
        --------
        >>> system = qs.load("scenes/planar_push.yml")
        >>> system.line("finger", [-0.06, 0.02, 0.03], steps=2).u.round(6)
        array([[-0.11 ,  0.02 ],
               [-0.085,  0.02 ],
               [-0.06 ,  0.02 ]])
        """
        start = self.q0 if q0 is None else q0
        return self.follow(frame, [self.pose(frame, start), goal], start, steps=steps, **settings)

    def _given(
        self,
        joints: str | Iterable[str] | None,
        limits: Mapping[str, tuple[float, float]] | None,
        avoid: float | None,
        position: float | None,
        rotation: float,
        attempts: int,
    ) -> Any:
        dofs = None if joints is None else self.dofs.indices(joints).tolist()
        bounds = [(self.dofs.index(dof), tuple(bound)) for dof, bound in (limits or {}).items()]
        return dofs, bounds, avoid, position, rotation, attempts

    def _rows(self, what: str, array: ArrayLike, n: int) -> Array:
        """The array, whose last dimension must be `n`."""
        if np.iscomplexobj(array):
            raise TypeError(f"`{what}` is complex; give real numbers")
        values = np.ascontiguousarray(array, dtype=float)
        if values.ndim == 0 or values.shape[-1] != n:
            raise ValueError(f"`{what}` has shape {values.shape}; this system wants (..., {n})")
        return values

    def _two_rows(self, *both: tuple[str, ArrayLike, int]) -> tuple[Array, Array]:
        """Two arrays with as many rows: one row of either stands for all of the other."""
        a, b = (self._rows(*one) for one in both)
        try:
            rows = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
        except ValueError:
            (what, *_), (other, *_) = both
            raise ValueError(
                f"`{what}` has shape {a.shape}, `{other}` {b.shape}; give as many rows of both, or one row of either"
            ) from None
        return np.broadcast_to(a, (*rows, a.shape[-1])), np.broadcast_to(b, (*rows, b.shape[-1]))


def frame_argument(frame: str | int | Frame) -> tuple[str | int, Sequence[float], Sequence[float]]:
    body, xyz, rpy = frame if isinstance(frame, Frame) else Frame(frame)
    return body, _three("frame.xyz", xyz), _three("frame.rpy", rpy)


def _three(what: str, values: ArrayLike, n: int = 3) -> list[float]:
    array = np.asarray(values, dtype=float)
    if array.shape != (n,):
        raise ValueError(f"`{what}` has shape {array.shape}; it must be ({n},)")
    return [float(x) for x in array]


def _target(
    what: str,
    pose: ArrayLike | Mapping[str, ArrayLike],
    axis: tuple[ArrayLike, ArrayLike] | None,
) -> Any:
    """Position, quaternion and axis of a pose in any of its forms."""
    position = quaternion = None
    if isinstance(pose, Mapping):
        unknown = set(pose) - {"xyz", "rpy", "quat"}
        if unknown or {"rpy", "quat"} <= set(pose):
            raise ValueError(f"`{what}` has keys {sorted(pose)}; give xyz, and rpy or quat")
        if "xyz" in pose:
            position = _three(f"{what}.xyz", pose["xyz"])
        if "quat" in pose:
            quaternion = _three(f"{what}.quat", pose["quat"], 4)
        if "rpy" in pose:
            quaternion = _core.quaternion_of_rpy(_three(f"{what}.rpy", pose["rpy"]))
    else:
        array = np.asarray(pose, dtype=float)
        if array.shape == (7,):
            quaternion, position = array[:4].tolist(), array[4:].tolist()
        elif array.shape == (3,):
            position = array.tolist()
        elif array.shape == (4, 4):
            quaternion = _core.quaternion_of_matrix(array[:3, :3])
            position = array[:3, 3].tolist()
        else:
            raise ValueError(f"`{what}` has shape {array.shape}; it must be (7,), (4, 4) or (3,)")
    if axis is not None:
        if quaternion is not None:
            raise ValueError(f"`axis` and an orientation in `{what}` were given; give one of them")
        axis = (_three("axis[0]", axis[0]), _three("axis[1]", axis[1]))
    return position, quaternion, axis
