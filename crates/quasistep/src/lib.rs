//! Quasi-static and quasi-dynamic time-stepping with contact and friction.
