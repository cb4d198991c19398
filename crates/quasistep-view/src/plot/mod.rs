//! Line plots as SVG: axes, legends, several panels, and the marks that figures of papers need.
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
//! Plain data in, text out: no font is measured (text widths are estimates) and no file is opened.
//! Points that are not finite break a line; on a logarithmic axis so do values ≤ 0.

mod axis;
mod svg;

pub(crate) use axis::nice_step;

/// A figure: panels in rows of `columns`, each row as high as its highest panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Title above all panels; empty for none.
    pub title: String,
    /// Width of the picture, px.
    pub width: f64,
    /// Panels side by side before a new row starts, ≥ 1.
    pub columns: usize,
    /// The panels, row by row.
    pub panels: Vec<Panel>,
}

/// One pair of axes with what is drawn in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Title of the panel; empty for none.
    pub title: String,
    /// Height of the panel with its labels and legend, px.
    pub height: f64,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// One unit is equally long on both axes: for cones and shapes.
    pub equal_aspect: bool,
    /// Lines and markers.
    pub series: Vec<Series>,
    /// Everything else; drawn in order, polygons and bands beneath the series.
    pub marks: Vec<Mark>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Label with the unit in brackets: `"t (s)"`.
    pub label: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// Ends of the axis; `None` takes them from the data.
    pub range: Option<[f64; 2]>,
}

/// How numbers become lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally long.
    Linear,
    /// Equal ratios are equally long; base 10.
    Log,
}

/// A line through points, or markers on them, or both.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name in the legend; empty leaves it out.
    pub label: String,
    /// Horizontal values.
    pub x: Vec<f64>,
    /// Vertical values, as many as `x`; surplus entries of the longer one are not drawn.
    pub y: Vec<f64>,
    /// Colour; `None` takes the next one of [`PALETTE`].
    pub color: Option<Color>,
    /// The line.
    pub line: Line,
    /// The markers.
    pub marker: Marker,
    /// Width of the line, px.
    pub width: f64,
}

/// How a line is stroked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// No line: markers only.
    None,
    /// Unbroken.
    Solid,
    /// Dashes.
    Dashed,
    /// Dots.
    Dotted,
    /// Unbroken; each value holds until the next point.
    Steps,
}

/// What is drawn on each point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// Nothing.
    None,
    /// A disc.
    Circle,
    /// A square.
    Square,
    /// A triangle.
    Triangle,
    /// A cross of two strokes.
    Cross,
    /// A ring.
    Ring,
}

/// Something in a panel that is no series. Positions are in the units of the axes.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// A thin dashed line from bottom to top.
    Vertical {
        /// Where.
        x: f64,
        /// Text at its top; empty for none.
        label: String,
    },
    /// A thin dashed line from left to right.
    Horizontal {
        /// Where.
        y: f64,
        /// Text at its right end; empty for none.
        label: String,
    },
    /// A shaded stretch of the horizontal axis.
    Band {
        /// From where to where.
        x: [f64; 2],
        /// Colour, drawn with little opacity.
        color: Color,
        /// Text at its top; empty for none.
        label: String,
    },
    /// A shaded region.
    Polygon {
        /// Its corners.
        points: Vec<[f64; 2]>,
        /// Colour of the inside and the outline.
        color: Color,
        /// Opacity of the inside, 0 to 1.
        opacity: f64,
        /// Name in the legend; empty leaves it out.
        label: String,
    },
    /// An arrow.
    Arrow {
        /// Its tail.
        from: [f64; 2],
        /// Its head.
        to: [f64; 2],
        /// Its colour.
        color: Color,
        /// Text beside its head; empty for none.
        label: String,
    },
    /// A text centred on a point.
    Text {
        /// Where.
        at: [f64; 2],
        /// What.
        text: String,
        /// Its colour.
        color: Color,
    },
}

/// Red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Color(pub u8, pub u8, pub u8);

impl Color {
    /// Text and axes.
    pub const INK: Self = Self(38, 43, 51);
    /// Ticks, thin lines.
    pub const GREY: Self = Self(112, 120, 132);

    /// `#rrggbb`.
    pub fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// Colours of series that name none, told apart by most eyes.
pub const PALETTE: [Color; 10] = [
    Color(43, 107, 176),
    Color(224, 118, 38),
    Color(47, 148, 98),
    Color(200, 62, 77),
    Color(126, 95, 178),
    Color(33, 160, 176),
    Color(176, 138, 30),
    Color(207, 104, 164),
    Color(128, 88, 66),
    Color(96, 108, 124),
];

impl Figure {
    /// An empty figure, 760 px wide, one panel per row.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), width: 760.0, columns: 1, panels: Vec::new() }
    }

    /// With one more panel.
    pub fn panel(mut self, panel: Panel) -> Self {
        self.panels.push(panel);
        self
    }

    /// With so many panels side by side.
    pub fn columns(mut self, columns: usize) -> Self {
        self.columns = columns;
        self
    }

    /// With this width, px.
    pub fn width(mut self, width: f64) -> Self {
        self.width = width;
        self
    }

    /// The picture as one SVG element, complete and self-contained.
    pub fn to_svg(&self) -> String {
        svg::figure(self)
    }
}

impl Panel {
    /// Empty axes, 300 px high.
    pub fn new(x: Axis, y: Axis) -> Self {
        Self {
            title: String::new(),
            height: 300.0,
            x,
            y,
            equal_aspect: false,
            series: Vec::new(),
            marks: Vec::new(),
        }
    }

    /// With a title.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// With this height, px.
    pub fn height(mut self, height: f64) -> Self {
        self.height = height;
        self
    }

    /// With one unit equally long on both axes.
    pub fn equal_aspect(mut self) -> Self {
        self.equal_aspect = true;
        self
    }

    /// With one more series.
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// With one more mark.
    pub fn mark(mut self, mark: Mark) -> Self {
        self.marks.push(mark);
        self
    }
}

impl Axis {
    /// A linear axis with its ends from the data.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Linear, range: None }
    }

    /// A logarithmic axis with its ends from the data.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Log, range: None }
    }

    /// With these ends.
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some([low, high]);
        self
    }
}

impl Series {
    /// A solid line without markers.
    pub fn new(label: impl Into<String>, x: &[f64], y: &[f64]) -> Self {
        Self {
            label: label.into(),
            x: x.to_vec(),
            y: y.to_vec(),
            color: None,
            line: Line::Solid,
            marker: Marker::None,
            width: 1.8,
        }
    }

    /// With this colour.
    pub fn color(mut self, color: Color) -> Self {
        self.color = Some(color);
        self
    }

    /// With this line.
    pub fn line(mut self, line: Line) -> Self {
        self.line = line;
        self
    }

    /// With these markers.
    pub fn marker(mut self, marker: Marker) -> Self {
        self.marker = marker;
        self
    }

    /// With this line width, px.
    pub fn width(mut self, width: f64) -> Self {
        self.width = width;
        self
    }
}
