//! Scene files, URDF and meshes for quasistep.
