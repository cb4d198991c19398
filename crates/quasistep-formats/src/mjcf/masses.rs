//! Effective inertia of joints in the reference configuration. MuJoCo uses it to convert damping
//! ratios to damping, and time constants to stiffness.

use super::joint::Kind;
use super::world::World;
use quasistep_math::{Mat3, Pose, Vec3};

/// Most dofs of one tree for which the mass matrix is factored, in about 0.1 s.
const MOST_DOFS: usize = 1000;

/// Mass, first moment and inertia about the world origin of a body and all its descendants.
#[derive(Clone, Copy, Default)]
struct Composite {
    mass: f64,
    first: Vec3,
    inertia: Mat3,
}

/// A dof: its joint, and the angular velocity and the velocity of the world origin at unit rate.
struct Dof {
    body: usize,
    joint: usize,
    turn: Vec3,
    shift: Vec3,
    armature: f64,
}

/// Effective inertia of a joint's dofs, in kg or kg·m².
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Felt {
    /// Diagonal entry of the mass matrix for the first dof, including armature: inertia with all
    /// other joints held.
    pub held: f64,
    /// Inverse of the mean diagonal entry of the inverse mass matrix: inertia with all other joints
    /// free.
    pub free: f64,
}

/// Effective inertia by body and joint; 0 for massless bodies and for trees with too many dofs.
pub(super) fn felt(world: &World<'_>, poses: &[Pose]) -> Vec<Vec<Felt>> {
    let composites = composites(world, poses);
    let mut felt: Vec<Vec<Felt>> =
        world.bodies.iter().map(|body| vec![Felt::default(); body.joints.len()]).collect();
    // for each body, its ancestor that is attached to the world
    let mut roots = vec![0; world.bodies.len()];
    let mut trees: Vec<Vec<Dof>> = Vec::new();
    let mut tree_of = vec![0; world.bodies.len()];
    for k in 1..world.bodies.len() {
        let parent = world.bodies[k].parent;
        roots[k] = if parent == 0 { k } else { roots[parent] };
        if parent == 0 {
            tree_of[k] = trees.len();
            trees.push(Vec::new());
        }
        trees[tree_of[roots[k]]].extend(dofs(world, k, &poses[k]));
    }
    for tree in trees.iter().filter(|tree| tree.len() <= MOST_DOFS) {
        let matrix = mass_matrix(world, tree, &composites);
        let inverse = inverse_diagonal(&matrix);
        for (i, dof) in tree.iter().enumerate() {
            let own = &mut felt[dof.body][dof.joint];
            let is_first = i == 0 || (tree[i - 1].body, tree[i - 1].joint) != (dof.body, dof.joint);
            if is_first {
                own.held = matrix[i][i];
            }
            // sum first; the mean is inverted below
            own.free += inverse.as_ref().map_or(f64::INFINITY, |d| d[i]);
        }
    }
    for (body, own) in world.bodies.iter().zip(&mut felt) {
        for (joint, own) in body.joints.iter().zip(own) {
            own.free = if own.free > 0.0 { joint.kind.n_v() as f64 / own.free } else { 0.0 };
        }
    }
    felt
}

fn composites(world: &World<'_>, poses: &[Pose]) -> Vec<Composite> {
    let mut composites = vec![Composite::default(); world.bodies.len()];
    for (k, body) in world.bodies.iter().enumerate().rev() {
        let R = poses[k].rotation.to_matrix();
        let com = poses[k].transform_point(body.inertia.com);
        let m = body.inertia.mass;
        let about = Mat3::IDENTITY * com.norm_squared() + Mat3::outer(com, com) * -1.0;
        let mut own = composites[k];
        own.mass += m;
        own.first += com * m;
        own.inertia = own.inertia + R * body.inertia.inertia * R.transpose() + about * m;
        composites[k] = own;
        if k > 0 {
            let parent = &mut composites[body.parent];
            parent.mass += own.mass;
            parent.first += own.first;
            parent.inertia = parent.inertia + own.inertia;
        }
    }
    composites
}

fn dofs(world: &World<'_>, body: usize, X_WB: &Pose) -> Vec<Dof> {
    let mut all = Vec::new();
    for (k, joint) in world.bodies[body].joints.iter().enumerate() {
        let anchor = X_WB.transform_point(joint.pos);
        let mut add = |turn: Vec3, slide: Vec3| {
            let shift = slide + anchor.cross(turn);
            all.push(Dof { body, joint: k, turn, shift, armature: joint.armature });
        };
        let axis = X_WB.rotation.rotate(joint.axis);
        match joint.kind {
            Kind::Slide => add(Vec3::ZERO, axis),
            Kind::Hinge => add(axis, Vec3::ZERO),
            Kind::Ball | Kind::Free => {
                if joint.kind == Kind::Free {
                    for e in Vec3::AXES {
                        add(Vec3::ZERO, e);
                    }
                }
                for e in Vec3::AXES {
                    add(X_WB.rotation.rotate(e), Vec3::ZERO);
                }
            }
        }
    }
    all
}

/// Mass matrix of a tree by the composite rigid body algorithm.
fn mass_matrix(world: &World<'_>, tree: &[Dof], composites: &[Composite]) -> Vec<Vec<f64>> {
    let n = tree.len();
    let mut matrix = vec![vec![0.0; n]; n];
    for (j, dof) in tree.iter().enumerate() {
        let c = &composites[dof.body];
        let linear = dof.shift * c.mass + dof.turn.cross(c.first);
        let angular = c.first.cross(dof.shift) + c.inertia * dof.turn;
        // dofs of this body and of its ancestors
        let mut above = dof.body;
        for i in (0..=j).rev() {
            while above > tree[i].body {
                above = world.bodies[above].parent;
            }
            if above == tree[i].body {
                let entry = tree[i].turn.dot(angular) + tree[i].shift.dot(linear);
                (matrix[i][j], matrix[j][i]) = (entry, entry);
            }
        }
        matrix[j][j] += dof.armature;
    }
    matrix
}

/// Diagonal of the inverse matrix by Cholesky factorisation; `None` if the matrix is not positive
/// definite.
fn inverse_diagonal(matrix: &[Vec<f64>]) -> Option<Vec<f64>> {
    let n = matrix.len();
    let mut lower = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            let rest = matrix[i][j] - dot;
            lower[i][j] =
                if i == j { Some(rest).filter(|r| *r > 0.0)?.sqrt() } else { rest / lower[j][j] };
        }
    }
    let of = |i: usize| {
        // solve L y = e_i
        let mut y = vec![0.0; n];
        for k in i..n {
            let dot: f64 = (i..k).map(|j| lower[k][j] * y[j]).sum();
            y[k] = (f64::from(u8::from(k == i)) - dot) / lower[k][k];
        }
        y.iter().map(|x| x * x).sum()
    };
    Some((0..n).map(of).collect())
}

/// World poses of the bodies in the reference configuration.
pub(super) fn poses(world: &World<'_>) -> Vec<Pose> {
    let mut poses: Vec<Pose> = Vec::with_capacity(world.bodies.len());
    for (k, body) in world.bodies.iter().enumerate() {
        let pose = if k == 0 { Pose::IDENTITY } else { poses[body.parent] * body.X_PB };
        poses.push(pose);
    }
    poses
}

/// Computes stiffness and damping of joints that give a time constant and a damping ratio.
pub(super) fn springs(world: &mut World<'_>) {
    let wanted = |world: &World<'_>| {
        world.bodies.iter().flat_map(|body| &body.joints).any(|joint| joint.spring_damper.is_some())
    };
    if !wanted(world) {
        return;
    }
    let felt = felt(world, &poses(world));
    for (body, felt) in world.bodies.iter_mut().zip(felt) {
        for (joint, felt) in body.joints.iter_mut().zip(felt) {
            if let Some([time, ratio]) = joint.spring_damper {
                joint.damping = 2.0 * felt.free / time;
                if joint.kind.is_single() {
                    joint.spring.0 = felt.free / (time * ratio).powi(2);
                }
            }
        }
    }
}
