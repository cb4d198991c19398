//! Closed loops and couplings: what holds bodies and joints together beside the joints of the tree.
//!
//! ```text
//! G v = −max_share g(q)/h            one row for each number that stays zero
//! v_D = base + C v_I                 the same, solved for as many dofs D as there are independent rows
//! P v + c = Jᵀ z + Gᵀ μ              μ: impulse of each row, in N·s or N·m·s
//! ```
//!
//! The dofs `D` are put in terms of the others before a solver sees the program (`reduce.rs`), so that every formulation has
//! constraints, and no solver knows of them. `μ` follows from the balance of `D`. A relative velocity is that of B seen from
//! A, at B's point: bodies that carry both A and B do not enter, and force and reaction act along one line.
//!
//! | number | error `g` | row `G v` | impulse |
//! |---|---|---|---|
//! | connect: 3 | `p_B − p_A` | `V_B(p_B) − V_A(p_B)` | force on B at `p_B`, in W |
//! | weld: 6 | that, and `log(R_WB R_WAᵀ)` | that, and `ω_B − ω_A` | that, and a torque on B |
//! | coupling: 1 | `Σ c_i q_i − offset` | `Σ c_i v_i` | `c_i` times it on joint i |

mod close;
mod eliminate;
mod reduce;
mod rows;
mod told;

pub use close::{Closing, NotClosed};
pub(crate) use reduce::Reduction;
