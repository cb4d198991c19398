//! Line plots as SVG: axes, legends, several panels, and annotations for figures in papers.
//!
//! ```
//! use quasistep_view::plot::{Axis, Figure, Line, Panel, Series};
//! let t: Vec<f64> = (0..50).map(|k| 0.02 * f64::from(k)).collect();
//! let x: Vec<f64> = t.iter().map(|t| t * t).collect();
//! let figure = Figure::new("A slide").panel(
//!     Panel::new(Axis::linear("t (s)"), Axis::linear("x (m)"))
//!         .series(Series::new("actual", &t, &x))
//!         .series(Series::new("commanded", &t, &t).line(Line::Dashed)),
//! );
//! assert!(figure.to_svg().starts_with("<svg"));
//! ```
//!
//! No fonts are measured (text widths are estimates), and no files are opened. A line is
//! interrupted at points that are not finite, and at values ≤ 0 on a logarithmic axis.

mod axis;
mod figure;
mod svg;

pub(crate) use axis::nice_step;
pub use figure::{Axis, Color, Figure, Line, Mark, Marker, PALETTE, Panel, Scale, Series};

impl Figure {
    /// The figure as one self-contained SVG element.
    pub fn to_svg(&self) -> String {
        svg::figure(self)
    }
}
