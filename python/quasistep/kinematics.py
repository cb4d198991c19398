"""Frames of a system: where they are, how they move, and how joints bring them somewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import _core
from ._records import Frame
from .names import NamedSystem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from ._types import Array


class KinematicSystem(NamedSystem):
    """Frames of a system: the part of :class:`System` that needs no step."""

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
        return _core.frame_pose(self, _frame(frame), q).reshape(*q.shape[:-1], 7)

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
        flat = _core.frame_jacobian(self, _frame(frame), q, _three("point", point))
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
        q, v = self._rows("q", q, self.n_q), self._rows("v", v, self.n_v)
        # one row of either stands for all of the other
        rows = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
        q, v = (np.broadcast_to(x, (*rows, x.shape[-1])) for x in (q, v))
        flat = _core.frame_velocity(self, _frame(frame), q, v, _three("point", point))
        return flat.reshape(*rows, 6)

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

    def _rows(self, what: str, array: ArrayLike, n: int) -> Array:
        """The array, whose last dimension must be `n`."""
        values = np.ascontiguousarray(array, dtype=float)
        if values.ndim == 0 or values.shape[-1] != n:
            raise ValueError(f"`{what}` has shape {values.shape}; this system wants (..., {n})")
        return values


def _frame(frame: str | int | Frame) -> tuple[str | int, Sequence[float], Sequence[float]]:
    body, xyz, rpy = frame if isinstance(frame, Frame) else Frame(frame)
    return body, _three("frame.xyz", xyz), _three("frame.rpy", rpy)


def _three(what: str, values: ArrayLike) -> list[float]:
    array = np.asarray(values, dtype=float)
    if array.shape != (3,):
        raise ValueError(f"`{what}` has shape {array.shape}; it must be (3,)")
    return array.tolist()
