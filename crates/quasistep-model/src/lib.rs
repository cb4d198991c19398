//! Joints, the kinematic tree, Jacobians, inertia and integration on the manifold, for quasistep.
