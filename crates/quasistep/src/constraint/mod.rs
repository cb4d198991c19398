//! Closed loops and couplings: constraints between bodies and joints beside the joints of the tree.
//!
//! ```text
//! G v = −max_share g(q)/h            one row for each number that stays zero
//! v_D = base + C v_I                 these rows solved for as many dofs D as there are independent rows
//! P v + c = Jᵀ z + Gᵀ μ              μ: impulse of each row, in N·s or N·m·s
//! ```
//!
//! The dependent dofs `D` are eliminated before a solver receives the program (`reduce.rs`). Every
//! formulation therefore supports constraints, and no solver needs to treat them. `μ` follows from
//! the force balance of `D`. A relative velocity is that of B relative to A, at B's point: bodies
//! that carry both A and B do not contribute, and action and reaction lie on one line.
//!
//! | number | error `g` | row `G v` | impulse |
//! |---|---|---|---|
//! | connect: 3 | `p_B − p_A` | `V_B(p_B) − V_A(p_B)` | force on B at `p_B`, in W |
//! | weld: 6 | `p_B − p_A`, `log(R_WB R_WAᵀ)` | `V_B(p_B) − V_A(p_B)`, `ω_B − ω_A` | force and torque on B, in W |
//! | coupling: 1 | `Σ c_i q_i − offset` | `Σ c_i v_i` | `c_i μ` on joint i |

mod close;
mod eliminate;
mod reduce;
mod rows;
mod told;

pub use close::{Closing, NotClosed};
pub(crate) use reduce::Reduction;
