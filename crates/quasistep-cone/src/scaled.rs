//! Cone program in units of the cones, for variables and rows of very different sizes.

use crate::program::ConeProgram;
use crate::structure::Structure;

/// Scaled program whose cost diagonal and cone rows are near 1, with the units to undo the scaling.
///
/// `x = unit ∘ x'`, and `z = row ∘ z'` cone by cone. `E` and the order of variables and cones do
/// not change.
#[derive(Debug, Default)]
pub(crate) struct Scaled {
    pub program: ConeProgram,
    unit: Vec<f64>,
    row: Vec<f64>,
}

impl Scaled {
    /// Sets `self` to the scaled form of `p`.
    pub fn fill(&mut self, p: &ConeProgram, s: &Structure) {
        let Self { program: q, unit, row } = self;
        q.copy(p);
        unit.clear();
        unit.resize(p.n_padded, 1.0);
        // the unit of a variable without cost follows from the costs of its island and from its
        // rows
        for island in &s.islands {
            let panels = &s.panels[island.first_panel as usize..island.last_panel as usize];
            let diagonal = |block: usize, i: usize| {
                let b = &p.blocks[block];
                let own = p.P[b.P_at as usize + i * (b.stride as usize + 1)];
                let springs = p.saturations.iter().filter(|s| s.index == b.first + i as u32);
                own + springs.map(|s| s.stiffness).sum::<f64>()
            };
            let mut largest = 0.0_f64;
            for panel in panels {
                for i in 0..panel.dim as usize {
                    largest = largest.max(diagonal(panel.block as usize, i));
                }
            }
            for panel in panels {
                for i in 0..panel.dim as usize {
                    let d = diagonal(panel.block as usize, i);
                    let d = if d > 0.0 { d } else { largest };
                    if d > 0.0 {
                        unit[panel.x_at as usize + i] = 1.0 / d.sqrt();
                    }
                }
            }
        }
        for b in &p.blocks {
            let (dim, stride, at) = (b.dim as usize, b.stride as usize, b.at as usize);
            for i in 0..dim {
                q.c[at + i] *= unit[at + i];
                for j in 0..dim {
                    q.P[b.P_at as usize + i * stride + j] *= unit[at + i] * unit[at + j];
                }
            }
        }
        row.clear();
        for cone in &p.cones {
            let (k, width) = (cone.k as usize, cone.width as usize);
            let J = &mut q.J[cone.J_at as usize..][..k * width];
            for side in p.sides_of(cone) {
                let b = &p.blocks[side.block as usize];
                for r in 0..k {
                    for i in 0..b.dim as usize {
                        J[r * width + side.column as usize + i] *= unit[b.at as usize + i];
                    }
                }
            }
            let norm =
                |r: usize| J[r * width..(r + 1) * width].iter().map(|v| v * v).sum::<f64>().sqrt();
            let largest = (0..k).map(norm).fold(0.0, f64::max);
            let scale = if largest > 0.0 { 1.0 / largest } else { 1.0 };
            for v in J.iter_mut() {
                *v *= scale;
            }
            let b = &mut q.b[cone.b_at as usize..][..k];
            for v in b.iter_mut() {
                *v *= scale;
            }
            row.push(scale);
        }
        for spring in &mut q.saturations {
            let block = p.block_of(spring.index);
            let u = unit[(p.blocks[block].at + spring.index - p.blocks[block].first) as usize];
            spring.stiffness *= u * u;
            spring.target /= u;
            spring.limit *= u;
        }
    }

    /// Transforms a point of the scaled program to the caller's units, in place.
    pub fn unscale(&self, x: &mut [f64], z: &mut [f64]) {
        x.iter_mut().zip(&self.unit).for_each(|(x, u)| *x *= u);
        for (cone, row) in self.program.cones.iter().zip(&self.row) {
            for z in &mut z[cone.at as usize..(cone.at + cone.stride_z) as usize] {
                *z *= row;
            }
        }
    }
}
