//! 3-D replay page and plots of quasistep recordings.
