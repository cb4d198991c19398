//! x
/// x
pub enum Integers {}
