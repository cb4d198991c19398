//! Contents of a figure.

/// A figure: panels in rows of `columns`. Each row is as high as its highest panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Title above all panels; empty for none.
    pub title: String,
    /// Width of the picture, in px.
    pub width: f64,
    /// Number of panels per row, ≥ 1.
    pub columns: usize,
    /// Panels, row by row.
    pub panels: Vec<Panel>,
}

/// A pair of axes with its series and annotations.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Title of the panel; empty for none.
    pub title: String,
    /// Height of the panel including labels and legend, in px.
    pub height: f64,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// True if both axes have the same scale.
    pub equal_aspect: bool,
    /// Lines and markers.
    pub series: Vec<Series>,
    /// Annotations, drawn in order; bands and polygons are below the series.
    pub marks: Vec<Mark>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Label with the unit in brackets: `"t (s)"`.
    pub label: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// Range of the axis; `None` to compute it from the data.
    pub range: Option<[f64; 2]>,
}

/// Scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Linear.
    Linear,
    /// Logarithmic, base 10.
    Log,
}

/// A series of points, drawn as a line, as markers, or both.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name in the legend; not listed if empty.
    pub label: String,
    /// Horizontal values.
    pub x: Vec<f64>,
    /// Vertical values. If the lengths of `x` and `y` differ, surplus values are not drawn.
    pub y: Vec<f64>,
    /// Colour; `None` for the next one of [`PALETTE`].
    pub color: Option<Color>,
    /// Style of the line.
    pub line: Line,
    /// Style of the markers.
    pub marker: Marker,
    /// Width of the line, in px.
    pub width: f64,
}

/// Style of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// No line, only markers.
    None,
    /// Solid line.
    Solid,
    /// Dashed line.
    Dashed,
    /// Dotted line.
    Dotted,
    /// Solid steps: each value is held until the next point.
    Steps,
}

/// Marker drawn at each point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// No marker.
    None,
    /// Filled circle.
    Circle,
    /// Filled square.
    Square,
    /// Filled triangle.
    Triangle,
    /// Diagonal cross.
    Cross,
    /// Open circle.
    Ring,
}

/// An annotation of a panel. Positions are in axis units.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// A thin dashed line from bottom to top.
    Vertical {
        /// Position on the horizontal axis.
        x: f64,
        /// Text at its top; empty for none.
        label: String,
    },
    /// A thin dashed line from left to right.
    Horizontal {
        /// Position on the vertical axis.
        y: f64,
        /// Text at its right end; empty for none.
        label: String,
    },
    /// A shaded range of the horizontal axis.
    Band {
        /// Ends of the range.
        x: [f64; 2],
        /// Colour, drawn at low opacity.
        color: Color,
        /// Text at its top; empty for none.
        label: String,
    },
    /// A shaded region.
    Polygon {
        /// Corners.
        points: Vec<[f64; 2]>,
        /// Colour of fill and outline.
        color: Color,
        /// Opacity of the fill, from 0 to 1.
        opacity: f64,
        /// Name in the legend; not listed if empty.
        label: String,
    },
    /// An arrow.
    Arrow {
        /// Position of the tail.
        from: [f64; 2],
        /// Position of the head.
        to: [f64; 2],
        /// Colour of the arrow.
        color: Color,
        /// Text beside its head; empty for none.
        label: String,
    },
    /// Text centred at a point.
    Text {
        /// Position of the centre.
        at: [f64; 2],
        /// The text.
        text: String,
        /// Colour of the text.
        color: Color,
    },
}

/// A colour: red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Color(pub u8, pub u8, pub u8);

impl Color {
    /// Colour of text and axes.
    pub const INK: Self = Self(38, 43, 51);
    /// Colour of ticks and thin lines.
    pub const GREY: Self = Self(112, 120, 132);

    /// The colour as `#rrggbb`.
    pub fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// Default colours of series, distinguishable by most people.
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

    /// Adds a panel.
    pub fn panel(mut self, panel: Panel) -> Self {
        self.panels.push(panel);
        self
    }

    /// Sets the number of panels per row.
    pub fn columns(mut self, columns: usize) -> Self {
        self.columns = columns;
        self
    }

    /// Sets the width, in px.
    pub fn width(mut self, width: f64) -> Self {
        self.width = width;
        self
    }
}

impl Panel {
    /// An empty panel, 300 px high.
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

    /// Sets the title.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Sets the height, in px.
    pub fn height(mut self, height: f64) -> Self {
        self.height = height;
        self
    }

    /// Gives both axes the same scale.
    pub fn equal_aspect(mut self) -> Self {
        self.equal_aspect = true;
        self
    }

    /// Adds a series.
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Adds an annotation.
    pub fn mark(mut self, mark: Mark) -> Self {
        self.marks.push(mark);
        self
    }
}

impl Axis {
    /// A linear axis with its range from the data.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Linear, range: None }
    }

    /// A logarithmic axis with its range from the data.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Log, range: None }
    }

    /// Sets the range.
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some([low, high]);
        self
    }
}

impl Series {
    /// A series with a solid line and no markers.
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

    /// Sets the colour.
    pub fn color(mut self, color: Color) -> Self {
        self.color = Some(color);
        self
    }

    /// Sets the line style.
    pub fn line(mut self, line: Line) -> Self {
        self.line = line;
        self
    }

    /// Sets the markers.
    pub fn marker(mut self, marker: Marker) -> Self {
        self.marker = marker;
        self
    }

    /// Sets the line width, in px.
    pub fn width(mut self, width: f64) -> Self {
        self.width = width;
        self
    }
}
