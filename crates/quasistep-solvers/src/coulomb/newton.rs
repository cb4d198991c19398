//! Newton's method on the law of friction itself: the fast path.
//!
//! Coulomb's law says that every contact force is the projection of its own augmented value,
//!
//! ```text
//! lambda = Pi(lambda − rho u)        Pi(a_n, a_t) = (r, nearest point of r F to a_t),  r = max(0, a_n)
//! ```
//!
//! (P. Alart and A. Curnier, "A mixed formulation for frictional contact problems prone to Newton like
//! solution methods", Computer Methods in Applied Mechanics and Engineering 92 (1991) 353–375). With the
//! multipliers on the right held at a centre, the balance is an equation for `x` alone,
//!
//! ```text
//! P x + c + ∇huber + delta (x − x_c) = Jᵀ Pi(lambda_c − rho (J x − b)),
//! ```
//!
//! piecewise linear for pyramids, and as sparse as the blocks are coupled. Newton's method solves it in a
//! few steps where the start knows who sticks; then the centre moves to its answer, which takes a
//! thousandth of a percent of the distance each time: the exact law holds after two or three. Neither
//! redundant contacts nor bodies without curvature need anything special. Where friction makes the
//! equation unsolvable, or the modes run in circles, the caller has other means.

use crate::coulomb::factor::Factor;
use crate::coulomb::polytope::{Hull, MOST};
use crate::coulomb::program::{Contact, FrictionProgram, Shape, dot_short};

/// Penalty of a contact, over the stiffness with which the bodies resist it.
const PENALTY: f64 = 1e5;
/// Curvature that holds every variable near its centre, over a curvature of one in scaled variables.
const HOLD: f64 = 1e-5;
/// Imbalance at which an equation counts as solved, as a share of the largest term.
const SOLVED: f64 = 1e-13;
/// The same for one that does not shrink any more.
const STALLED: f64 = 1e-9;
/// Imbalance that is rounding, as a share of the largest force.
const ROUNDING: f64 = 1e-15;
/// Change of the forces, and pull of the centre, as shares of the largest, at which it counts as reached.
const REACHED: f64 = 1e-13;
/// Most Newton steps in all, most without a new centre, and most centres.
const STEPS: u32 = 60;
const STEPS_PER_CENTRE: u32 = 20;
const CENTRES: u32 = 12;
/// The letter of a round contact that slips: its derivative is new at every point. Pyramids of more
/// directions than there are letters count as such.
const CURVED: u32 = u32::MAX;

/// Memory of Newton's method.
#[derive(Debug, Default)]
pub(crate) struct Newton {
    factor: Factor,
    hull: Hull,
    /// Units of the variables.
    D: Vec<f64>,
    /// Penalties of normal and tangential rows, per contact.
    rho: Vec<[f64; 2]>,
    pub x: Vec<f64>,
    /// Forces in the caller's units.
    pub lambda: Vec<f64>,
    x_c: Vec<f64>,
    /// Augmented forces, their projections and the centre, tangential ones over their units.
    a: Vec<f64>,
    z: Vec<f64>,
    z_c: Vec<f64>,
    /// Derivatives of the projections, `k × k` each.
    dz: Vec<f64>,
    dz_at: Vec<usize>,
    /// What the derivatives depend on, per contact: no force, or the face.
    modes: Vec<u32>,
    factored: Vec<u32>,
    u: Vec<f64>,
    g: Vec<f64>,
    columns: Vec<f64>,
    saturated: Vec<i8>,
    pub steps: u32,
}

/// Where to start: forces and rates of a similar point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start<'a> {
    pub lambda: &'a [f64],
    pub u: &'a [f64],
}

impl Newton {
    /// Order of elimination, units and penalties.
    pub fn prepare(&mut self, p: &FrictionProgram) {
        let (n, rows) = (p.n(), p.rows);
        self.steps = 0;
        self.factor.pairs.clear();
        for cone in &p.cones.cones {
            let sides = p.cones.sides_of(cone);
            for (k, a) in sides.iter().enumerate() {
                for b in &sides[..k] {
                    if a.block != b.block {
                        self.factor.pairs.push((a.block, b.block));
                    }
                }
            }
        }
        self.factor.analyse(p.cones.blocks.iter().map(|b| b.dim as usize));
        for (v, n) in [
            (&mut self.D, n),
            (&mut self.columns, n),
            (&mut self.x, n),
            (&mut self.x_c, n),
            (&mut self.g, n),
            (&mut self.lambda, rows),
            (&mut self.a, rows),
            (&mut self.z, rows),
            (&mut self.z_c, rows),
            (&mut self.u, rows),
        ] {
            v.clear();
            v.resize(n, 0.0);
        }
        self.dz_at.clear();
        let mut at = 0;
        for contact in &p.contacts {
            self.dz_at.push(at);
            at += (contact.k * contact.k) as usize;
        }
        self.dz.clear();
        self.dz.resize(at, 0.0);
        self.modes.clear();
        self.modes.resize(p.contacts.len(), 0);
        self.factored.clear();
        self.saturated.clear();
        self.saturated.resize(p.cones.saturations.len(), 0);
        self.units(p);
    }

    fn units(&mut self, p: &FrictionProgram) {
        // curvature of every variable
        for (k, block) in p.cones.blocks.iter().enumerate() {
            for i in 0..block.dim as usize {
                self.D[block.first as usize + i] = p.cones.P_row(k, i)[i].max(0.0);
            }
        }
        for spring in &p.cones.saturations {
            self.D[spring.index as usize] += spring.stiffness;
        }
        for (i, contact) in p.contacts.iter().enumerate() {
            for r in 0..contact.k as usize {
                let unit = if r == 0 { 1.0 } else { p.units_of(contact)[r - 1] };
                for (first, J) in p.row(i, r) {
                    for (column, J) in self.columns[first..].iter_mut().zip(J) {
                        *column = column.max((unit * J).abs());
                    }
                }
            }
        }
        // a variable without curvature counts like the most mobile one that has some
        let mut mobility = 0.0_f64;
        for (D, column) in self.D.iter_mut().zip(&self.columns) {
            if *D > 0.0 {
                *D = D.sqrt().recip();
                mobility = mobility.max(*D * column);
            }
        }
        let mobility = if mobility > 0.0 { mobility } else { 1.0 };
        for (D, column) in self.D.iter_mut().zip(&self.columns) {
            if *D == 0.0 {
                *D = if *column > 0.0 { mobility / column } else { 1.0 };
            }
        }
        self.rho.clear();
        for (i, contact) in p.contacts.iter().enumerate() {
            let row = |r: usize| -> f64 {
                p.row(i, r)
                    .flat_map(|(first, J)| J.iter().zip(&self.D[first..]))
                    .map(|(J, D)| (J * D).powi(2))
                    .sum()
            };
            let units = p.units_of(contact);
            let tangent = (0..contact.tangents())
                .map(|t| units[t] * units[t] * row(t + 1))
                .fold(0.0, f64::max);
            let penalty = |mobility: f64| if mobility > 0.0 { PENALTY / mobility } else { 0.0 };
            self.rho.push([penalty(row(0)), penalty(tangent)]);
        }
    }

    /// Solves from `start`; true if the method came to rest. What it found is for the caller to judge.
    pub fn solve(&mut self, p: &FrictionProgram, start: Start<'_>) -> bool {
        // from rest: where the motion is not unique, it is near the least
        self.x.fill(0.0);
        self.x_c.fill(0.0);
        self.factored.clear();
        for (i, contact) in p.contacts.iter().enumerate() {
            for (r, at) in contact.rows().enumerate() {
                let (unit, rho) = self.row_units(p, contact, i, r);
                self.z_c[at] = if unit > 0.0 { start.lambda[at] / unit } else { 0.0 };
                self.a[at] = self.z_c[at] - rho * unit * start.u[at];
            }
        }
        // the start's rates need not be those of its x: the first step makes up for it
        let mut consistent = false;
        let (mut since, mut centres, mut last) = (0, 0, f64::INFINITY);
        for _ in 0..STEPS {
            self.project(p);
            let (error, size) = self.imbalance(p);
            if !error.is_finite() {
                return false;
            }
            // rounding ends what does not shrink any more
            let stalls = error <= STALLED * size && error > 0.5 * last;
            last = error;
            if consistent && (error <= SOLVED * size || stalls) {
                last = f64::INFINITY;
                centres += 1;
                since = 0;
                let held = (0..self.x.len())
                    .map(|j| (HOLD * (self.x[j] - self.x_c[j]) / self.D[j]).abs())
                    .fold(0.0, f64::max);
                let (change, force) = self.recentre(p);
                let reached = change <= REACHED * force && held <= REACHED * size;
                if reached || centres == CENTRES {
                    self.publish(p);
                    return true;
                }
                continue;
            }
            if since >= STEPS_PER_CENTRE {
                return false;
            }
            since += 1;
            self.steps += 1;
            if !consistent {
                self.add_inconsistency(p);
            }
            let known = self.factored == self.modes && !self.modes.contains(&CURVED);
            if !known {
                self.assemble(p);
                self.factored.clone_from(&self.modes);
                if !self.factor.factor() {
                    return false;
                }
            }
            self.step(p);
            consistent = true;
        }
        false
    }

    /// Unit and penalty of a row.
    fn row_units(&self, p: &FrictionProgram, contact: &Contact, i: usize, r: usize) -> (f64, f64) {
        if r == 0 { (1.0, self.rho[i][0]) } else { (p.units_of(contact)[r - 1], self.rho[i][1]) }
    }

    /// `z = Pi(a)`, its derivative, and the modes.
    fn project(&mut self, p: &FrictionProgram) {
        for (i, contact) in p.contacts.iter().enumerate() {
            let (k, d) = (contact.k as usize, contact.tangents());
            let rows = contact.rows();
            let (a, z) = (&self.a[rows.clone()], &mut self.z[rows]);
            let dz = &mut self.dz[self.dz_at[i]..][..k * k];
            dz.fill(0.0);
            let r = a[0];
            if !(r > 0.0) {
                z.fill(0.0);
                self.modes[i] = 0;
                continue;
            }
            z[0] = r;
            dz[0] = 1.0;
            self.modes[i] = 1;
            if d == 0 {
                continue;
            }
            let (_, w) = a.split_at(1);
            match contact.shape {
                Shape::Round => {
                    let size = w.iter().map(|w| w * w).sum::<f64>().sqrt();
                    if size <= r {
                        z[1..].copy_from_slice(w);
                        for t in 1..k {
                            dz[t * k + t] = 1.0;
                        }
                        self.modes[i] = 2;
                        continue;
                    }
                    self.modes[i] = CURVED;
                    let share = r / size;
                    for t in 0..d {
                        let e = w[t] / size;
                        z[t + 1] = r * e;
                        dz[(t + 1) * k] = e;
                        for s in 0..d {
                            dz[(t + 1) * k + s + 1] =
                                share * (f64::from(u8::from(t == s)) - e * w[s] / size);
                        }
                    }
                }
                Shape::Polytope(_) => {
                    let vertices = p.vertices_of(contact);
                    let mut point = [0.0; MOST];
                    self.hull.project(vertices, d, r, w, &mut point[..d]);
                    let hull = &self.hull;
                    if hull.dim == d {
                        z[1..].copy_from_slice(w);
                        for t in 1..k {
                            dz[t * k + t] = 1.0;
                        }
                        self.modes[i] = 2;
                        continue;
                    }
                    z[1..].copy_from_slice(&point[..d]);
                    let face = &hull.corral[..hull.size];
                    // one letter per face, as long as there are letters
                    let letters = face.iter().all(|j| *j < 28);
                    let word = face.iter().fold(3, |m, j| m | 1 << (2 + j % 28));
                    self.modes[i] = if letters { word } else { CURVED };
                    // any vertex of the face, without its part along the face, moves with the radius
                    let mut along = [0.0; MOST];
                    along[..d].copy_from_slice(&vertices[face[0] * d..][..d]);
                    for q in &hull.basis[..hull.dim] {
                        let part = dot_short(&q[..d], &along);
                        for (v, q) in along.iter_mut().zip(q) {
                            *v -= part * q;
                        }
                        for t in 0..d {
                            for s in 0..d {
                                dz[(t + 1) * k + s + 1] += q[t] * q[s];
                            }
                        }
                    }
                    for t in 0..d {
                        dz[(t + 1) * k] = along[t];
                    }
                }
            }
        }
    }

    /// The balance into `g`; its largest entry and largest term in scaled variables.
    fn imbalance(&mut self, p: &FrictionProgram) -> (f64, f64) {
        let Self { x, g, D, x_c, z, lambda, .. } = self;
        for contact in &p.contacts {
            for (r, at) in contact.rows().enumerate() {
                let unit = if r == 0 { 1.0 } else { p.units_of(contact)[r - 1] };
                lambda[at] = unit * z[at];
            }
        }
        p.gradient(x, g);
        let mut size = g.iter().zip(D.iter()).fold(0.0_f64, |m, (g, D)| m.max((g * D).abs()));
        for block in &p.cones.blocks {
            for i in 0..block.dim as usize {
                let at = block.first as usize + i;
                size = size.max((p.cones.c[block.at as usize + i] * D[at]).abs());
            }
        }
        p.add_forces(-1.0, lambda, g);
        // what rounding leaves of forces that cancel moves nothing, where nothing resists
        let force = z.iter().fold(0.0_f64, |m, z| m.max(z.abs()));
        for (g, column) in g.iter_mut().zip(&self.columns) {
            if g.abs() <= ROUNDING * column * force {
                *g = 0.0;
            }
        }
        let mut error = 0.0_f64;
        for j in 0..g.len() {
            g[j] += HOLD * (x[j] - x_c[j]) / (D[j] * D[j]);
            error = error.max((g[j] * D[j]).abs());
        }
        for (k, spring) in p.cones.saturations.iter().enumerate() {
            let force = spring.stiffness * (x[spring.index as usize] - spring.target);
            self.saturated[k] = i8::from(force > spring.limit) - i8::from(force < -spring.limit);
        }
        // modes of springs follow those of contacts
        self.modes.truncate(p.contacts.len());
        self.modes.extend(self.saturated.iter().map(|s| (i32::from(*s) + 1) as u32));
        (error, size)
    }

    /// Moves the centre to the present point; the largest change of a force, and the largest force.
    fn recentre(&mut self, p: &FrictionProgram) -> (f64, f64) {
        self.x_c.copy_from_slice(&self.x);
        p.rates(&self.x, &mut self.u);
        let (mut change, mut force) = (0.0_f64, 0.0_f64);
        for (i, contact) in p.contacts.iter().enumerate() {
            for (r, at) in contact.rows().enumerate() {
                let (unit, rho) = self.row_units(p, contact, i, r);
                change = change.max((self.z[at] - self.z_c[at]).abs());
                force = force.max(self.z[at].abs());
                self.z_c[at] = self.z[at];
                self.a[at] = self.z[at] - rho * unit * self.u[at];
            }
        }
        (change, force)
    }

    /// The forces that the balance was solved with, in the caller's units.
    fn publish(&mut self, p: &FrictionProgram) {
        for contact in &p.contacts {
            for (r, at) in contact.rows().enumerate() {
                let unit = if r == 0 { 1.0 } else { p.units_of(contact)[r - 1] };
                self.lambda[at] = unit * self.z_c[at];
            }
        }
    }

    /// Subtracts from `g` what the derivative says of the difference between the augmented forces of
    /// `x` and those started from, which it replaces by the former.
    fn add_inconsistency(&mut self, p: &FrictionProgram) {
        p.rates(&self.x, &mut self.u);
        for (i, contact) in p.contacts.iter().enumerate() {
            let k = contact.k as usize;
            let mut change = [0.0; MOST + 1];
            for (r, at) in contact.rows().enumerate() {
                let (unit, rho) = self.row_units(p, contact, i, r);
                let a = self.z_c[at] - rho * unit * self.u[at];
                change[r] = a - self.a[at];
                self.a[at] = a;
            }
            let dz = &self.dz[self.dz_at[i]..][..k * k];
            for r in 0..k {
                let unit = if r == 0 { 1.0 } else { p.units_of(contact)[r - 1] };
                let force = unit * dot_short(&dz[r * k..(r + 1) * k], &change);
                if force != 0.0 {
                    for (first, J) in p.row(i, r) {
                        for (g, J) in self.g[first..].iter_mut().zip(J) {
                            *g -= force * J;
                        }
                    }
                }
            }
        }
    }

    /// `H = P + springs + delta + Jᵀ rho Pi' J` in scaled variables.
    fn assemble(&mut self, p: &FrictionProgram) {
        self.factor.clear();
        let Factor { H, n, place, block_place, .. } = &mut self.factor;
        let n = *n;
        for (b, block) in p.cones.blocks.iter().enumerate() {
            let at = block_place[b] as usize;
            for i in 0..block.dim as usize {
                H[(at + i) * n + at..][..block.dim as usize].copy_from_slice(p.cones.P_row(b, i));
            }
        }
        for (k, spring) in p.cones.saturations.iter().enumerate() {
            if self.saturated[k] == 0 {
                let at = place[spring.index as usize] as usize;
                H[at * n + at] += spring.stiffness;
            }
        }
        for (i, contact) in p.contacts.iter().enumerate() {
            if self.modes[i] == 0 {
                continue;
            }
            let k = contact.k as usize;
            let units = p.units_of(contact);
            let unit = |r: usize| if r == 0 { 1.0 } else { units[r - 1] };
            let dz = &self.dz[self.dz_at[i]..][..k * k];
            let cone = p.cone_of(i);
            let J = &p.cones.J[cone.J_at as usize..];
            let width = cone.width as usize;
            let sides = p.cones.sides_of(cone);
            for row_side in sides {
                let rows = &p.cones.blocks[row_side.block as usize];
                let to = block_place[row_side.block as usize] as usize;
                for r in 0..rows.dim as usize {
                    // row r of Jᵀ Pi'
                    let mut left = [0.0; MOST + 1];
                    for s in 0..k {
                        let J = unit(s) * J[s * width + row_side.column as usize + r];
                        if J != 0.0 {
                            for (left, dz) in left.iter_mut().zip(&dz[s * k..(s + 1) * k]) {
                                *left += J * dz;
                            }
                        }
                    }
                    for column_side in sides {
                        let columns = &p.cones.blocks[column_side.block as usize];
                        let from = block_place[column_side.block as usize] as usize;
                        let H = &mut H[(to + r) * n + from..][..columns.dim as usize];
                        for s in 0..k {
                            let rho = self.rho[i][usize::from(s > 0)];
                            let f = left[s] * rho * unit(s);
                            if f != 0.0 {
                                let J = &J[s * width + column_side.column as usize..];
                                for (H, J) in H.iter_mut().zip(J) {
                                    *H += f * J;
                                }
                            }
                        }
                    }
                }
            }
        }
        self.factor.scale(&self.D, HOLD);
    }

    fn step(&mut self, p: &FrictionProgram) {
        for (g, D) in self.g.iter_mut().zip(&self.D) {
            *g *= -D;
        }
        self.factor.solve(&mut self.g);
        for (g, D) in self.g.iter_mut().zip(&self.D) {
            *g *= D;
        }
        for (x, dx) in self.x.iter_mut().zip(&self.g) {
            *x += dx;
        }
        for (i, contact) in p.contacts.iter().enumerate() {
            for (r, at) in contact.rows().enumerate() {
                let (unit, rho) = self.row_units(p, contact, i, r);
                if unit > 0.0 {
                    let along: f64 =
                        p.row(i, r).map(|(first, J)| dot_short(J, &self.g[first..])).sum();
                    self.a[at] -= rho * unit * along;
                }
            }
        }
    }
}
