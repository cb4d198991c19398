//! The solvers' program for either friction law.

use crate::formulation::FrictionLaw;
use quasistep_cone as solvers;
use quasistep_cone::{ConeMut, ConeProgram, Saturation};
use quasistep_friction::{Friction, FrictionProgram};
use std::ops::Range;

/// The solvers' program of one friction law: blocks of variables with a cost, and contacts over
/// them.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub law: FrictionLaw,
    pub convex: ConeProgram,
    pub friction: FrictionProgram,
    /// Tangential components of the current contact's edges.
    directions: Vec<f64>,
}

impl Program {
    /// True if the multipliers of a contact are forces along its rows, false if they belong to
    /// edges.
    pub fn has_forces(&self) -> bool {
        self.law == FrictionLaw::Exact
    }

    pub fn reset(&mut self, law: FrictionLaw, dims: &[usize]) {
        self.law = law;
        match law {
            FrictionLaw::Convex => self.convex.reset(dims.iter().copied()),
            FrictionLaw::Exact => self.friction.reset(dims.iter().copied()),
        }
    }

    pub fn P(&mut self, block: usize, row: usize) -> &mut [f64] {
        match self.law {
            FrictionLaw::Convex => self.convex.P(block, row),
            FrictionLaw::Exact => self.friction.P(block, row),
        }
    }

    pub fn c(&mut self, block: usize) -> &mut [f64] {
        match self.law {
            FrictionLaw::Convex => self.convex.c(block),
            FrictionLaw::Exact => self.friction.c(block),
        }
    }

    pub fn push_saturation(&mut self, saturation: Saturation) {
        match self.law {
            FrictionLaw::Convex => self.convex.push_saturation(saturation),
            FrictionLaw::Exact => self.friction.push_saturation(saturation),
        }
    }

    /// Adds a contact of `k` rows, the normal first. Its friction cone is given by edges or by a
    /// diagonal.
    pub fn push(&mut self, cone: solvers::Cone<'_>, k: usize, blocks: &[u32]) -> ConeMut<'_> {
        if self.law == FrictionLaw::Convex {
            return self.convex.push_cone(cone, k, blocks);
        }
        let friction = match cone {
            _ if k == 1 => Friction::None,
            solvers::Cone::Round(E) => Friction::Round(&E[1..]),
            solvers::Cone::Edges(E) => {
                self.directions.clear();
                // an edge is (1, mu d_j)
                self.directions.extend(E.chunks_exact(k).flat_map(|edge| &edge[1..]));
                Friction::Diamond { mu: 1.0, directions: &self.directions, tangents: k - 1 }
            }
        };
        self.friction.push_contact(friction, blocks)
    }

    /// Number of contacts and other rows with a cone.
    pub fn n_cones(&self) -> usize {
        self.relaxation().n_cones()
    }

    /// Number of blocks on which a cone acts.
    pub fn n_sides(&self, cone: usize) -> usize {
        self.relaxation().blocks_of(cone).count()
    }

    /// Block on one side of a cone.
    pub fn block_of(&self, cone: usize, side: usize) -> usize {
        self.relaxation().blocks_of(cone).nth(side).expect("it has as many sides")
    }

    /// Number of springs with limited force.
    pub fn n_saturations(&self) -> usize {
        self.relaxation().saturations().len()
    }

    /// Spring `k` with limited force, mutable.
    pub fn saturation_mut(&mut self, k: usize) -> &mut Saturation {
        match self.law {
            FrictionLaw::Convex => self.convex.saturation_mut(k),
            FrictionLaw::Exact => self.friction.saturation_mut(k),
        }
    }

    fn relaxation(&self) -> &ConeProgram {
        match self.law {
            FrictionLaw::Convex => &self.convex,
            FrictionLaw::Exact => self.friction.relaxation(),
        }
    }

    /// Jacobian and offset of a cone, mutable.
    pub fn cone_mut(&mut self, cone: usize) -> ConeMut<'_> {
        match self.law {
            FrictionLaw::Convex => self.convex.cone_mut(cone),
            FrictionLaw::Exact => self.friction.contact_mut(cone),
        }
    }

    /// Multipliers of a contact.
    pub fn rows_of(&self, contact: usize) -> Range<usize> {
        match self.law {
            FrictionLaw::Convex => self.convex.rows_of(contact),
            FrictionLaw::Exact => self.friction.rows_of(contact),
        }
    }
}
