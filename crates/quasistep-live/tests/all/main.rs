//! Tests of quasistep-live.
#![allow(non_snake_case)] // monogram notation: p_B, to_W

mod browser;
mod page;
mod server;
mod session;
