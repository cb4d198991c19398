//! Recordings of simulated runs: plain data, readable without the simulator, for quasistep.
