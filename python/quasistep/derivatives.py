"""Derivatives of steps."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _core
from ._shapes import arrays_of, checked_threads, count, loads, shaped
from .control_run import PlannedSystem
from .kinematics import KinematicSystem
from .names import Names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from ._core import StepParams, StepReport
    from ._records import Wrench
    from ._types import Array
    from .errors import QuasistepError

_CONTACT_INPUTS = ("mu", "mu_spin", "mu_roll", "compliance")
_WAYS = ("normal", "tangent 1", "tangent 2", "spin", "roll 1", "roll 2")
_AXES = ("torque x", "torque y", "torque z", "force x", "force y", "force z")


class Smooth(NamedTuple):
    r"""The mode of derivatives of the relaxed step, whose contacts push before they touch.

    Every contact and every joint limit has :math:`\lambda^T s = \kappa` in place of 0: whatever the shape of its
    cone and the number of its edges. :math:`\kappa` is in J: a force of :math:`\kappa` N at a distance of 1 m
    that closes in a straight line. With exact friction, the default, it is the normal impulse times the gap, and
    what slides stays on its support. With convex friction it rises with its slip.

    Parameters
    ----------
    kappa : float
        In J, > 0.

    Examples
    --------
    The linear pusher: lambda phi = kappa.

    >>> step = {"size": 0.01, "relaxation": "step", "contact_margin": 1}
    >>> scene = qs.SystemBuilder(step=step, friction={"default": 0})
    >>> ball = {"gravity": False, "shape": qs.sphere(0.05)}
    >>> scene.model("robot", joint=[qs.slide("x", [1, 0, 0], stiffness=1)], mass=1, **ball)
    >>> scene.model("object", joint=[qs.slide("x", [1, 0, 0], start=0.2)], mass=0.01, **ball)
    >>> d = scene.build().derivatives(u=[0.1], mode=qs.Smooth(1e-2))
    >>> gap = d.q_next[1] - d.q_next[0] - 0.1
    >>> round(float(gap * d.report.contacts["fn"][0]), 9)
    0.01
    """

    kappa: float

    @classmethod
    def of_barrier(cls, weight: float, cone: int | str) -> Smooth:
        r"""The kappa of a log barrier: of ``−weight log`` of every edge of a pyramid, or of
        :math:`s_0^2 - |s_t|^2` of a round cone.

        A cone of so many edges sums as many barriers, and grows stiffer with them; kappa does not. The friction of such
        papers is convex: compare with ``friction: convex``.

        Parameters
        ----------
        weight : float
            In J. Where a paper divides by kappa, its reciprocal.
        cone : int or "round"
            Edges of the pyramid.

        Returns
        -------
        Smooth

        Examples
        --------
        >>> qs.Smooth.of_barrier(1 / 100, 2)
        Smooth(kappa=0.02)
        """
        return cls(weight * (2 if cone == "round" else int(cone)))


class Kinks(NamedTuple):
    """Where a step has no derivative in every direction: counts, all zero at a smooth point.

    Parameters
    ----------
    rows : int
        Edges of cones and limits that touch without pushing. Chosen: they are idle.
    round : int
        Round cones that touch without pushing (chosen: idle) or stick with all their friction (chosen: they stick).
    springs : int
        Limited springs that just reach their limit. Chosen: as in the report.
    features : int
        Contact points with a force whose features change with the smallest motion.
    edges : int
        Corners of patches exactly on an edge of the other face, or of two level faces neither of which lies on the
        other; of the relaxed step only. Chosen: they go with their body, the normal with body A.
    recovery : int
        Overlaps that just reach the speed at which recovery is bounded. Chosen: it is bounded.
    margin : int
        Points at the contact margin; of the relaxed step only.
    choices : int
        Pairs with a point cloud of which the smallest motion may choose other points; of the relaxed step only.
        Chosen: the points stay.
    held : int
        Edges that touch without pushing but can only move with others that push. A kink only for changes that take
        them off one another; ``apart`` of :meth:`StepDerivatives.jvp` has its size. Not counted by :meth:`any`.
    loads : int
        Bodies that move where contacts with exact friction exchange loads that the balance leaves open: the step is one
        of many. Chosen: one of the consistent changes.

    Examples
    --------
    >>> system = qs.load("scenes/pinch.yml")
    >>> q1, _ = system.step(system.q0)
    >>> qs.Kinks._fields[:2], system.derivatives(q1).kinks.any()
    (('rows', 'round'), False)
    """

    rows: int
    round: int
    springs: int
    features: int
    edges: int
    recovery: int
    margin: int
    choices: int
    held: int = 0
    loads: int = 0

    def any(self) -> bool:
        """True if the step has no derivative in some direction.

        Returns
        -------
        bool

        Examples
        --------
        >>> qs.Kinks(0, 0, 0, 0, 0, 0, 0, 0, held=3).any()
        False
        """
        return any(self[:8]) or self.loads > 0


class StepDerivatives:
    r"""Derivatives of one step: of ``q_next``, ``v`` and impulses by everything that goes in.

    They include how distances, normals, witness points and Jacobians turn with q. Configurations change on their
    tangent space: :math:`q \oplus dq`, dofs to dofs, in the order of :attr:`System.dofs`.

    ================================  =============  ====================================================================================
    input                             shape          meaning
    ================================  =============  ====================================================================================
    ``q``                             (n_v,)         configuration
    ``velocity``                      (n_v,)         at the start; of steps that carry it over (``motion: dynamic``), else without effect
    ``u``                             (n_u_v,)       command, on its tangent space
    ``u_rate``                        (n_u_v,)       rate of the command
    ``wrench``                        (n_bodies, 6)  torque about the body's origin, then force, world axes
    ``tau``                           (n_v,)         generalised force
    ``mu``, ``mu_spin``, ``mu_roll``  (contacts,)    of each of ``report.contacts``
    ``compliance``                    (contacts,)    of those that give way
    ``stiffness``, ``damping``        (n_u_v,)
    ``mass``                          (n_bodies,)    at fixed shape
    ``com``                           (n_bodies, 3)  centre of mass, in the body's axes
    ``inertia``                       (n_bodies, 6)  about it: xx, yy, zz, xy, xz, yz; beside what grows with the mass
    ``support``                       (n_bodies, 3)  of the body's joint: friction, load, spin radius
    ``h``                             ()             time step, at fixed command
    ``relaxation``                    ()             relaxation time
    ================================  =============  ====================================================================================

    ==============  =============  ============================================================================
    output          shape          meaning
    ==============  =============  ============================================================================
    ``q_next``      (n_v,)         next configuration
    ``v``           (n_v,)         velocity during the step, which ``motion: dynamic`` carries over
    ``normal``      (contacts,)    normal impulses, N·s
    ``impulse``     (contacts, 6)  on b, world axes: angular about the point in N·m·s, then linear in N·s
    ``components``  (contacts, 6)  the same along directions of the contact, as :attr:`ContactImpulses.impulse`
    ==============  =============  ============================================================================

    Wherever six numbers are a velocity, a load or an impulse, the angular part comes first: (angular velocity, velocity),
    (torque, force), (angular impulse, impulse).

    Attributes
    ----------
    q_next : ndarray, shape (n_q,)
        Of the relaxed step if the mode is one.
    report : StepReport
        Contacts and velocities of the step; its certificate is not made.
    kinks : Kinks
    mode : "exact" or Smooth
    smoothing_bound : float
        :math:`(v - v_\text{exact})^T P (v - v_\text{exact})` is at most so much, in J; 0 if exact, infinite for
        relaxed steps with exact friction.

    Examples
    --------
    >>> system = qs.load("scenes/pinch.yml")
    >>> d = system.derivatives(system.q0)
    >>> d.matrix("q_next", "u").shape
    (8, 2)
    >>> gradient = d.vjp(q_next=np.ones(8))
    >>> gradient["mass"].shape, gradient["u"].shape
    ((4,), (2,))
    """

    def __init__(self, system: DifferentiableSystem, arguments: tuple[Any, ...]) -> None:
        self.system = system
        self._arguments = arguments
        q, u, h, t, v, wrenches, params, self.mode, velocity, attached, tau = arguments
        self._inner = _core.Derivatives(
            system, q, velocity, attached, u, h, t, v, wrenches, params, checked_kappa(self.mode), tau
        )
        q_next, report, kinks, bound = self._inner.step()
        self.q: Array = np.array(q, dtype=float)
        self.q_next: Array = q_next
        self.report: StepReport = report
        self.kinks = Kinks(*kinks)
        self.smoothing_bound: float = bound

    def jvp(self, impulses: bool = True, **change: ArrayLike) -> dict[str, Any]:
        """What a small change of the inputs does to the outputs.

        Parameters
        ----------
        impulses : bool
            Also of ``normal``, ``impulse`` and ``components``; without them it is cheaper.
        **change
            Inputs by name, shaped as in the table of this class; others do not change.

        Returns
        -------
        dict of str to ndarray
            Outputs by name; and ``apart``, how far the change pulls rows apart that depend on one another, in m/s:
            rounding, unless the step has a kink in this direction, or rows that push nearly depend on one another.

        Examples
        --------
        >>> system = qs.load("scenes/pinch.yml")
        >>> d = system.derivatives(system.q0)
        >>> d.jvp(u=[1.0, 1.0])["q_next"][system.dofs.index("held.vx")] > 0.99
        np.True_
        """
        shapes = self._input_shapes()
        given = {name: _sized(name, value, shapes) for name, value in change.items()}
        out, apart = self._inner.jvp(given, impulses)
        if impulses:
            for name in ("impulse", "components"):
                out[name] = out[name].reshape(-1, 6)
        out["apart"] = apart
        return out

    def vjp(self, **weights: ArrayLike) -> dict[str, Any]:
        """The gradient of a weighted sum of outputs by all inputs, at the price of one product.

        Parameters
        ----------
        **weights
            On outputs by name, shaped as in the table of this class; others count for nothing.

        Returns
        -------
        dict of str to ndarray
            Inputs by name, and ``h``, a float.

        Examples
        --------
        >>> system = qs.load("scenes/planar_push.yml")
        >>> run = system.simulate(duration=2.0)
        >>> d = system.derivatives(run.q[-1], t=2.0)
        >>> weights = np.zeros(system.n_v)
        >>> weights[system.dofs.index("box.vx")] = 1.0         # of where the box goes along x
        >>> bool(d.vjp(q_next=weights)["mass"][system.bodies.index("box/box")] <= 0)
        True
        """
        shapes = self._output_shapes()
        given = {name: _sized(name, value, shapes) for name, value in weights.items()}
        out = self._inner.vjp(given)
        out["wrench"] = out["wrench"].reshape(-1, 6)
        out["com"] = out["com"].reshape(-1, 3)
        out["inertia"] = out["inertia"].reshape(-1, 6)
        out["support"] = out["support"].reshape(-1, 3)
        out["h"] = float(out["h"][0])
        out["relaxation"] = float(out["relaxation"][0])
        return out

    def matrix(
        self, of: str = "q_next", wrt: str = "q", *, coordinates: bool = False
    ) -> Array:
        """The derivative of an output by an input.

        Parameters
        ----------
        of : str
            An output.
        wrt : str
            An input.
        coordinates : bool
            Rows of ``q_next`` and columns of ``q`` and ``u`` as coordinates, quaternions among them (n_q, n_u),
            in place of dofs: changes that leave a quaternion's unit sphere count for nothing.

        Returns
        -------
        ndarray, shape (size of the output, size of the input)
            Rows and columns are called :meth:`names`.

        Examples
        --------
        >>> system = qs.load("scenes/planar_push.yml")
        >>> d = system.derivatives(system.q0)
        >>> d.matrix("q_next", "q").shape, d.matrix("q_next", "q", coordinates=True).shape
        ((8, 8), (9, 9))
        """
        outputs, inputs = self._output_shapes(), self._input_shapes()
        for name, known in ((of, outputs), (wrt, inputs)):
            if name not in known:
                raise ValueError(f"no {name!r} among {', '.join(known)}")
        if of == "q_next" and wrt in ("q", "u"):
            by_q, by_u = self._inner.matrices()
            matrix = (by_q if wrt == "q" else by_u).reshape(self.system.n_v, -1)
        elif of in ("q_next", "v") and wrt in ("q", "velocity", "u"):
            matrix = self._of_state[of, wrt].reshape(self.system.n_v, -1)
        else:
            matrix = self._product(of, wrt, int(np.prod(outputs[of])), int(np.prod(inputs[wrt])))
        if not coordinates:
            return matrix
        if of == "q_next":
            matrix = self.system.coordinate_matrix(self.q_next) @ matrix
        if wrt == "q":
            matrix = matrix @ np.linalg.pinv(self.system.coordinate_matrix(self.q))
        elif wrt == "u":
            matrix = matrix @ np.linalg.pinv(self.system.command_matrix(self._u()))
        return matrix

    @cached_property
    def _of_state(self) -> dict[tuple[str, str], Array]:
        return self._inner.state_matrices()

    def _product(self, of: str, wrt: str, rows: int, columns: int) -> Array:
        """Column by column, or row by row if there are fewer of those."""
        matrix = np.zeros((rows, columns))
        if columns <= rows:
            impulses = of in ("normal", "impulse", "components")
            for k, unit in enumerate(np.eye(columns)):
                matrix[:, k] = np.ravel(self.jvp(impulses, **{wrt: unit})[of])
        else:
            for k, unit in enumerate(np.eye(rows)):
                matrix[k] = np.ravel(self.vjp(**{of: unit})[wrt])
        return matrix

    def names(self, what: str) -> Names:
        """Names of the entries of an input or output, in the order of a flat array.

        Parameters
        ----------
        what : str
            An input or output.

        Returns
        -------
        Names

        Examples
        --------
        >>> system = qs.load("scenes/pinch.yml")
        >>> system.derivatives(system.q0).names("u")
        ('left.x', 'right.x')
        """
        system = self.system
        contacts = [
            f"{system.bodies[c['a']]} – {system.bodies[c['b']]} #{i}"
            for i, c in enumerate(self.report.contacts)
        ]
        if what in ("q", "velocity", "q_next", "v", "tau"):
            return system.dofs
        if what in ("u", "u_rate", "stiffness", "damping"):
            return system.efforts
        if what == "mass":
            return system.bodies
        if what == "com":
            return Names(f"{body}: {axis}" for body in system.bodies for axis in "xyz")
        if what == "inertia":
            moments = ("xx", "yy", "zz", "xy", "xz", "yz")
            return Names(f"{body}: {axis}" for body in system.bodies for axis in moments)
        if what == "support":
            numbers = ("friction", "load", "spin_radius")
            return Names(f"{body}: {number}" for body in system.bodies for number in numbers)
        if what in ("h", "relaxation"):
            return Names([what])
        if what == "wrench":
            return Names(f"{body}: {axis}" for body in system.bodies for axis in _AXES)
        if what == "impulse":
            axes = [axis.replace("torque", "angular").replace("force", "linear") for axis in _AXES]
            return Names(f"{c}: {axis}" for c in contacts for axis in axes)
        if what == "components":
            return Names(f"{c}: {way}" for c in contacts for way in _WAYS)
        if what == "normal" or what in _CONTACT_INPUTS:
            return Names(contacts)
        raise ValueError(f"no {what!r} among the inputs and outputs of a step")

    def _u(self) -> Array:
        if self._arguments[1] is not None:
            return np.asarray(self._arguments[1], dtype=float)
        h, t = self._arguments[2:4]
        params = self._arguments[6] or self.system.params
        return self.system.command(t + (params["size"] if h is None else h))[0]

    def _input_shapes(self) -> dict[str, tuple[int, ...]]:
        n, m, b, c = self.system.n_v, self.system.n_u_v, len(self.system.bodies), self._contacts()
        on_drives = {name: (m,) for name in ("u", "u_rate", "stiffness", "damping")}
        of_bodies = {"wrench": (b, 6), "mass": (b,), "com": (b, 3), "inertia": (b, 6)}
        of_bodies["support"] = (b, 3)
        rest = {**of_bodies, "tau": (n,), "h": (1,), "relaxation": (1,)}
        return {"q": (n,), "velocity": (n,), **on_drives, **rest} | {name: (c,) for name in _CONTACT_INPUTS}

    def _output_shapes(self) -> dict[str, tuple[int, ...]]:
        n, c = self.system.n_v, self._contacts()
        return {"q_next": (n,), "v": (n,), "normal": (c,), "impulse": (c, 6), "components": (c, 6)}

    def _contacts(self) -> int:
        return len(self.report.contacts)

    def __reduce__(self) -> tuple[Any, ...]:
        return StepDerivatives, (self.system, self._arguments)

    def __repr__(self) -> str:
        mode = self.mode if isinstance(self.mode, str) else f"kappa = {self.mode.kappa:g} J"
        kinks = ", at a kink" if self.kinks.any() else ""
        return f"StepDerivatives({self.system.name!r}, {mode}, {self._contacts()} contacts{kinks})"


class ContactImpulses(NamedTuple):
    r"""Impulses of the contacts of many steps, with their friction cones and their derivatives.

    The contacts of all samples stand one after the other, K in all. A contact has six directions: the normal from a to b,
    two tangents; about the normal; and two axes across it, for rolling. Its impulses are numbers along these directions,
    which move with it: a turn of the normal alone does not change them.

    Parameters
    ----------
    starts : ndarray of int, shape (N + 1,)
        Contacts of sample i are rows ``starts[i]`` to ``starts[i + 1]``; of a sample that failed there are none.
    contacts : ndarray
        Dtype :data:`CONTACT` behind a field ``sample``. The same contact of two samples has the same ``shape_a``,
        ``shape_b`` and ``feature``.
    impulse : ndarray, shape (K, 6)
        On b, in N·s, and about the last three directions in N·m·s. It has the friction and presses the surfaces; the
        pull of pads is not in it. Friction of a flat contact with a round cone acts at the centre of pressure.
    cone : ndarray, shape (K, 5)
        Friction coefficients along each direction but the first: mu, mu, mu_spin, mu_roll, mu_roll, the last three in m.
        Along directions with a coefficient of 0 there is no impulse. The mu_spin of a flat contact with a round cone
        follows its load; its change is not in ``by_q`` and ``by_u``.
    axes : ndarray, shape (K, 5, 3)
        Normal, tangents and axes of rolling, in the world.
    by_q : ndarray, shape (K, 6, n_v)
        Derivative of ``impulse`` by the configuration, on its tangent space.
    by_u : ndarray, shape (K, 6, n_u_v)
        By the command.

    Notes
    -----
    A round cone is :math:`\lVert\lambda_k/c_k\rVert \le \lambda_0` over the coefficients :math:`c_k > 0`. It holds for
    ``step.cone: round`` and for pyramids, whose edges touch it; a box is :math:`|\lambda_k| \le c_k \lambda_0` for each
    tangent. In a plane there is one tangent, and all are the same.

    Examples
    --------
    A cone of linearised impulses, as rows of a program, where the finger pushes the box:

    >>> system = qs.load("scenes/planar_push.yml", set={"step.cone": "round"})
    >>> q = system.simulate(duration=2.0).q[-1]
    >>> d = system.derivatives_batch(q, system.commanded(q), mode=qs.Smooth(1e-4), impulses=True)
    >>> contacts = d.contacts
    >>> contacts.by_u.shape == (len(contacts.impulse), 6, 2)
    True
    >>> used = contacts.cone > 0
    >>> share = np.divide(contacts.impulse[:, 1:], contacts.cone, where=used, out=np.zeros(used.shape))
    >>> bool((np.linalg.norm(share, axis=1) <= contacts.impulse[:, 0] * (1 + 1e-9)).all())
    True
    """

    starts: NDArray[np.int64]
    contacts: NDArray[np.void]
    impulse: Array
    cone: Array
    axes: Array
    by_q: Array
    by_u: Array


class DerivativesBatch(NamedTuple):
    """Derivatives of many steps. Rows of samples that failed are NaN.

    Parameters
    ----------
    q_next : ndarray, shape (N, n_q)
    by_q : ndarray, shape (N, n_v, n_v); of a gradient (N, n_v)
    by_u : ndarray, shape (N, n_v, n_u_v); of a gradient (N, n_u_v)
    kinks : ndarray of int, shape (N, 10)
        In the order of :class:`Kinks`.
    errors : dict of int to QuasistepError
        Why samples have none, by their number.
    v_next : ndarray, shape (N, n_v), optional
        Velocity at the end. This and what follows are None unless velocity is carried over or was given.
    by_v : ndarray, shape (N, n_v, n_v); of a gradient (N, n_v), optional
        By the velocity at the start.
    v_by_q, v_by_v, v_by_u : ndarray, optional
        Of the velocity at the end, shaped like ``by_q``, ``by_v``, ``by_u``; None of a gradient.
    contacts : ContactImpulses, optional
        If impulses were asked for.

    Examples
    --------
    See :meth:`System.derivatives_batch`.

    >>> qs.DerivativesBatch._fields
    ('q_next', 'by_q', 'by_u', 'kinks', 'errors', 'v_next', 'by_v', 'v_by_q', 'v_by_v', 'v_by_u', 'contacts')
    """

    q_next: Array
    by_q: Array
    by_u: Array
    kinks: NDArray[np.int64]
    errors: dict[int, QuasistepError]
    v_next: Array | None = None
    by_v: Array | None = None
    v_by_q: Array | None = None
    v_by_v: Array | None = None
    v_by_u: Array | None = None
    contacts: ContactImpulses | None = None


class DifferentiableSystem(KinematicSystem, PlannedSystem):
    """Derivatives: the part of :class:`System` that is about changes."""

    def derivatives(
        self,
        q: ArrayLike | None = None,
        u: ArrayLike | None = None,
        *,
        mode: str | Smooth = "exact",
        h: float | None = None,
        t: float = 0.0,
        v: ArrayLike | None = None,
        wrenches: Sequence[Wrench] | None = None,
        params: StepParams | None = None,
        velocity: ArrayLike | None = None,
        attached: ArrayLike | None = None,
        tau: ArrayLike | None = None,
    ) -> StepDerivatives:
        """Takes one step and its derivatives.

        Parameters
        ----------
        q : array_like, shape (n_q,), optional
            Configuration; the scene's start by default.
        mode : "exact" or Smooth
            Of the step itself on its true active set; or of the relaxed step.
        u, h, t, v, wrenches, params, velocity, attached, tau
            As for :meth:`step`. What is attached is held as it is; a constraint that attaches in this step
            follows ``q``.

        Returns
        -------
        StepDerivatives
            Matrices and products, computed as they are asked for.

        Raises
        ------
        StepError
            The step was not taken.
        DerivativeError
            It has no derivatives: ``integration: midpoint``, or what it says.

        Examples
        --------
        >>> system = qs.load("scenes/pinch.yml")
        >>> d = system.derivatives(system.q0, [-0.028, 0.028], h=0.1)
        >>> d.matrix("q_next", "u")[system.dofs.index("held.vx")].round(3)   # both pads move it
        array([0.5, 0.5])
        """
        start = self.q0 if q is None else q
        return StepDerivatives(self, (start, u, h, t, v, wrenches, params, mode, velocity, attached, tau))

    def derivatives_batch(
        self,
        Q: ArrayLike,
        U: ArrayLike,
        *,
        mode: str | Smooth = "exact",
        weights: ArrayLike | None = None,
        h: float | None = None,
        t: float = 0.0,
        V: ArrayLike | None = None,
        wrenches: Sequence[Wrench] | None = None,
        tau: ArrayLike | None = None,
        params: StepParams | None = None,
        velocity: ArrayLike | None = None,
        attached: ArrayLike | None = None,
        v_weights: ArrayLike | None = None,
        impulses: bool = False,
        threads: int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> DerivativesBatch:
        """Derivatives of one step of many samples, on all cores, with the laws of :meth:`step_batch`.

        Parameters
        ----------
        Q : array_like, shape (N, n_q) or (n_q,)
        U : array_like, shape (N, n_u) or (n_u,)
        mode, h, t, params
            As for :meth:`derivatives`, the same ones for all samples.
        V, wrenches, tau
            As for :meth:`step_batch`: one for all samples, or one for each.
        weights : array_like, shape (N, n_v), optional
            On ``q_next`` on its tangent space: gradients of the weighted sums in place of matrices, which is
            cheaper.
        velocity : array_like, shape (N, n_v) or (n_v,), optional
            At the start, in m/s and rad/s; rest by default.
        attached : array_like, shape (N, n_switches, 8) or (n_switches, 8), optional
            What switched constraints hold at the start, as for :meth:`step_batch`; nothing by default.
        v_weights : array_like, shape (N, n_v), optional
            On the velocity at the end, beside ``weights``, which must be there.
        impulses : bool
            Also the impulses of all contacts, with their friction cones and derivatives. Of the relaxed step they cost
            little, of others a product for each dof and command.
        threads, progress
            As for :meth:`step_batch`.

        Returns
        -------
        DerivativesBatch

        Examples
        --------
        >>> system = qs.load("scenes/pinch.yml")
        >>> U = system.commanded(system.q0) + [[0.0, 0.0], [0.001, -0.001]]
        >>> system.derivatives_batch(system.q0, U).by_u.shape
        (2, 8, 2)
        """
        if v_weights is not None and weights is None:
            raise ValueError("`v_weights` stand beside `weights`, which are None; give zeros of shape (N, n_v) for none")
        n = count({2: [Q, U, V, weights, velocity, v_weights, tau, *arrays_of(wrenches)]}, None)
        tau = None if tau is None else shaped("tau", tau, (n, self.n_v), broadcast=True)
        Q = shaped("Q", Q, (n, self.n_q), broadcast=True)
        U = shaped("U", U, (n, self.n_u), broadcast=True)
        V = None if V is None else np.broadcast_to(
            shaped("V", V, (n, self.n_u_v), broadcast=True), (n, self.n_u_v)
        )  # fmt: skip
        if weights is not None:
            weights = shaped("weights", weights, (n, self.n_v))
        if v_weights is not None:
            v_weights = shaped("v_weights", v_weights, (n, self.n_v))
        if velocity is not None:
            velocity = shaped("velocity", velocity, (n, self.n_v), broadcast=True)
        out = _core.differentiate_batch(
            self, Q, velocity, attached, U, V, n, t, h, loads(wrenches, tau, (n,)), params, checked_kappa(mode), weights,
            v_weights, impulses, checked_threads(threads), progress,
        )  # fmt: skip
        rows = (n,) if weights is not None else (n, self.n_v)
        of_v: dict[str, Array] = {}
        if "v_next" in out:
            of_v = {"v_next": out["v_next"].reshape(n, self.n_v), "by_v": out["by_v"].reshape(*rows, self.n_v)}
        if of_v and weights is None:
            of_v |= {name: out[name].reshape(n, self.n_v, -1) for name in ("v_by_q", "v_by_v", "v_by_u")}
        contacts = None
        if impulses:
            starts, records, *flat = out["contacts"]
            shapes = ((6,), (5,), (5, 3), (6, self.n_v), (6, self.n_u_v))
            arrays = (a.reshape(len(records), *shape) for a, shape in zip(flat, shapes, strict=True))
            contacts = ContactImpulses(starts, records, *arrays)
        return DerivativesBatch(
            out["q_next"].reshape(n, self.n_q),
            out["by_q"].reshape(*rows, self.n_v),
            out["by_u"].reshape(*rows, self.n_u_v),
            out["kinks"].reshape(n, len(Kinks._fields)),
            out["errors"],
            **of_v,
            contacts=contacts,
        )


def checked_kappa(mode: str | Smooth) -> float | None:
    if isinstance(mode, Smooth):
        return mode.kappa
    if mode != "exact":
        raise ValueError(f"mode is {mode!r}; give 'exact' or qs.Smooth(kappa)")
    return None


def _sized(name: str, value: ArrayLike, shapes: Mapping[str, tuple[int, ...]]) -> Array:
    """The numbers of an input or output, flat."""
    if name not in shapes:
        raise ValueError(f"no {name!r} among {', '.join(shapes)}")
    flat = np.ravel(np.asarray(value, dtype=float))
    if flat.size != np.prod(shapes[name]):
        raise ValueError(f"`{name}` has shape {np.shape(value)}; this step wants {shapes[name]}")
    return flat
