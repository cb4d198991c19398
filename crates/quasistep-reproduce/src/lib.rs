//! Figures and tables of the papers, regenerated.
