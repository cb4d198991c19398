//! Renders figures as SVG text.

use super::axis::{Laid, range};
use super::figure::{Color, Figure, Line, Mark, Marker, PALETTE, Panel, Series};
use std::fmt::Write as _;

/// Font size of labels and legends, in px.
const FONT: f64 = 12.0;
/// Estimated width of a character, as a multiple of the font size, for fonts like Helvetica.
const CHARACTER: f64 = 0.54;
const LEGEND_ROW: f64 = 18.0;

pub(super) fn figure(figure: &Figure) -> String {
    let columns = figure.columns.max(1);
    let margin = 12.0;
    let top = if figure.title.is_empty() { margin } else { 42.0 };
    let rows: Vec<&[Panel]> = figure.panels.chunks(columns).collect();
    let heights: Vec<f64> =
        rows.iter().map(|row| row.iter().fold(0.0_f64, |h, p| h.max(p.height))).collect();
    let height = top + heights.iter().sum::<f64>() + margin;
    let width = figure.width;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" \
         font-family=\"Inter, 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif\" \
         font-size=\"{FONT}\" fill=\"{ink}\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        ink = Color::INK.hex()
    );
    if !figure.title.is_empty() {
        let style = "font-size=\"16\" font-weight=\"600\"";
        text(&mut out, [16.0, 27.0], "start", style, &figure.title);
    }
    let each = (width - 2.0 * margin) / columns as f64;
    let mut y = top;
    let mut id = 0;
    for (row, h) in rows.iter().zip(&heights) {
        for (i, p) in row.iter().enumerate() {
            panel(&mut out, p, [margin + i as f64 * each, y, each, *h], id);
            id += 1;
        }
        y += h;
    }
    out.push_str("</svg>\n");
    out
}

/// Draws a panel into the box `[x, y, width, height]`, in px.
fn panel(out: &mut String, p: &Panel, [x0, y0, w, h]: [f64; 4], id: usize) {
    let colors = series_colors(p);
    let entries = legend_entries(p, &colors);
    let mut top = y0 + 8.0;
    if !p.title.is_empty() {
        top += 18.0;
    }
    let left_guess = x0 + 64.0;
    let rows = legend_rows(&entries, x0 + w - left_guess);
    let legend_top = top;
    top += rows.len() as f64 * LEGEND_ROW;
    let bottom = y0 + h - if p.x.label.is_empty() { 26.0 } else { 46.0 };
    let bottom = bottom.max(top + 20.0);
    let y_range = range(&p.y, y_values(p), 0.06);
    let mut y_axis = Laid { scale: p.y.scale, range: y_range, pixels: [bottom, top] };
    let y_ticks = y_axis.ticks(((bottom - top) / 42.0).max(2.0));
    let widest = y_ticks.iter().map(|t| text_width(&t.text)).fold(0.0, f64::max);
    let left = x0 + widest + if p.y.label.is_empty() { 16.0 } else { 36.0 };
    let x_range = range(&p.x, x_values(p), 0.02);
    let mut x_axis = Laid { scale: p.x.scale, range: x_range, pixels: [left, x0 + w - 14.0] };
    if p.equal_aspect {
        make_equal(&mut x_axis, &mut y_axis);
    }
    let (right, left) = (x_axis.pixels[1], x_axis.pixels[0]);
    let (bottom, top) = (y_axis.pixels[0], y_axis.pixels[1]);

    if !p.title.is_empty() {
        text(out, [left, y0 + 18.0], "start", "font-size=\"13\" font-weight=\"600\"", &p.title);
    }
    let _ = writeln!(
        out,
        "<clipPath id=\"p{id}\"><rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"/></clipPath>",
        right - left,
        bottom - top
    );
    let grey = Color::GREY.hex();
    for tick in x_axis.ticks(((right - left) / 76.0).max(3.0)) {
        let Some(x) = x_axis.pixel(tick.at) else { continue };
        let faint = if tick.text.is_empty() { "#f3f4f6" } else { "#e4e7eb" };
        line(out, [x, top], [x, bottom], &format!("stroke=\"{faint}\""));
        if !tick.text.is_empty() {
            line(out, [x, bottom], [x, bottom + 4.0], &format!("stroke=\"{grey}\""));
            text(out, [x, bottom + 17.0], "middle", "", &tick.text);
        }
    }
    for tick in y_axis.ticks(((bottom - top) / 42.0).max(2.0)) {
        let Some(y) = y_axis.pixel(tick.at) else { continue };
        let faint = if tick.text.is_empty() { "#f3f4f6" } else { "#e4e7eb" };
        line(out, [left, y], [right, y], &format!("stroke=\"{faint}\""));
        if !tick.text.is_empty() {
            line(out, [left - 4.0, y], [left, y], &format!("stroke=\"{grey}\""));
            text(out, [left - 7.0, y + 4.0], "end", "", &tick.text);
        }
    }
    let _ = writeln!(out, "<g clip-path=\"url(#p{id})\">");
    for mark in &p.marks {
        shade(out, mark, &x_axis, &y_axis);
    }
    for (series, color) in p.series.iter().zip(&colors) {
        draw_series(out, series, *color, &x_axis, &y_axis);
    }
    out.push_str("</g>\n");
    for mark in &p.marks {
        annotate(out, mark, &x_axis, &y_axis, id);
    }
    // draw axes last, so that data do not cover them
    line(out, [left, bottom], [right, bottom], &format!("stroke=\"{grey}\" stroke-width=\"1.2\""));
    line(out, [left, top], [left, bottom], &format!("stroke=\"{grey}\" stroke-width=\"1.2\""));
    text(out, [0.5 * (left + right), bottom + 36.0], "middle", "", &p.x.label);
    if !p.y.label.is_empty() {
        let (x, y) = (left - widest - 22.0, 0.5 * (top + bottom));
        let turn = format!("transform=\"rotate(-90 {x:.1} {y:.1})\"");
        text(out, [x, y], "middle", &turn, &p.y.label);
    }
    legend(out, &entries, &rows, [left, legend_top]);
}

/// Shrinks the drawing area until both axes have the same scale.
fn make_equal(x: &mut Laid, y: &mut Laid) {
    let per_x = (x.pixels[1] - x.pixels[0]) / (x.range[1] - x.range[0]);
    let per_y = (y.pixels[0] - y.pixels[1]) / (y.range[1] - y.range[0]);
    if per_x > per_y {
        let extra = (x.pixels[1] - x.pixels[0]) - per_y * (x.range[1] - x.range[0]);
        x.pixels = [x.pixels[0] + 0.5 * extra, x.pixels[1] - 0.5 * extra];
    } else {
        let extra = (y.pixels[0] - y.pixels[1]) - per_x * (y.range[1] - y.range[0]);
        y.pixels = [y.pixels[0] - 0.5 * extra, y.pixels[1] + 0.5 * extra];
    }
}

fn x_values(p: &Panel) -> impl Iterator<Item = f64> {
    let marks = p.marks.iter().flat_map(|m| match m {
        Mark::Polygon { points, .. } => points.iter().map(|q| q[0]).collect(),
        Mark::Arrow { from, to, .. } => vec![from[0], to[0]],
        Mark::Text { at, .. } => vec![at[0]],
        Mark::Band { x, .. } => x.to_vec(),
        Mark::Vertical { x, .. } => vec![*x],
        Mark::Horizontal { .. } => vec![],
    });
    p.series.iter().flat_map(|s| s.x.iter().copied()).chain(marks)
}

fn y_values(p: &Panel) -> impl Iterator<Item = f64> {
    let marks = p.marks.iter().flat_map(|m| match m {
        Mark::Polygon { points, .. } => points.iter().map(|q| q[1]).collect(),
        Mark::Arrow { from, to, .. } => vec![from[1], to[1]],
        Mark::Text { at, .. } => vec![at[1]],
        Mark::Horizontal { y, .. } => vec![*y],
        Mark::Vertical { .. } | Mark::Band { .. } => vec![],
    });
    p.series.iter().flat_map(|s| s.y.iter().copied()).chain(marks)
}

fn series_colors(p: &Panel) -> Vec<Color> {
    let mut next = 0;
    p.series
        .iter()
        .map(|s| {
            s.color.unwrap_or_else(|| {
                next += 1;
                PALETTE[(next - 1) % PALETTE.len()]
            })
        })
        .collect()
}

fn draw_series(out: &mut String, s: &Series, color: Color, x: &Laid, y: &Laid) {
    let points: Vec<Option<[f64; 2]>> =
        s.x.iter().zip(&s.y).map(|(a, b)| Some([x.pixel(*a)?, y.pixel(*b)?])).collect();
    if s.line != Line::None {
        let mut d = String::new();
        // last point drawn; `None` if the line is interrupted
        let mut pen: Option<[f64; 2]> = None;
        for (i, point) in points.iter().enumerate() {
            let Some([px, py]) = *point else {
                pen = None;
                continue;
            };
            let ends = !matches!(points.get(i + 1), Some(Some(_)));
            match pen {
                None => {
                    let _ = write!(d, "M{px:.2} {py:.2}");
                }
                // skip points that nearly coincide with the previous one
                Some([qx, qy]) if !ends && (px - qx).abs() < 0.4 && (py - qy).abs() < 0.4 => {
                    continue;
                }
                Some(_) if s.line == Line::Steps => {
                    let _ = write!(d, "H{px:.2}V{py:.2}");
                }
                Some(_) => {
                    let _ = write!(d, "L{px:.2} {py:.2}");
                }
            }
            pen = Some([px, py]);
        }
        let _ = writeln!(
            out,
            "<path d=\"{d}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\" stroke-linecap=\"{}\"{}/>",
            color.hex(),
            s.width,
            if s.line == Line::Dotted { "round" } else { "butt" },
            dashes(s.line)
        );
    }
    for [px, py] in points.into_iter().flatten() {
        marker(out, s.marker, [px, py], color);
    }
}

fn dashes(line: Line) -> &'static str {
    match line {
        Line::Dashed => " stroke-dasharray=\"6 4\"",
        Line::Dotted => " stroke-dasharray=\"0.1 4.5\"",
        Line::None | Line::Solid | Line::Steps => "",
    }
}

fn marker(out: &mut String, kind: Marker, [x, y]: [f64; 2], color: Color) {
    let c = color.hex();
    let r = 3.4;
    let _ = match kind {
        Marker::None => Ok(()),
        Marker::Circle => {
            writeln!(out, "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{r}\" fill=\"{c}\"/>")
        }
        Marker::Ring => writeln!(
            out,
            "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{r}\" fill=\"#ffffff\" stroke=\"{c}\" stroke-width=\"1.5\"/>"
        ),
        Marker::Square => writeln!(
            out,
            "<rect x=\"{:.2}\" y=\"{:.2}\" width=\"6\" height=\"6\" fill=\"{c}\"/>",
            x - 3.0,
            y - 3.0
        ),
        Marker::Triangle => {
            writeln!(out, "<path d=\"M{x:.2} {:.2}l3.8 6.6h-7.6z\" fill=\"{c}\"/>", y - 4.2)
        }
        Marker::Cross => writeln!(
            out,
            "<path d=\"M{:.2} {:.2}l6 6m0 -6l-6 6\" stroke=\"{c}\" stroke-width=\"1.6\" fill=\"none\"/>",
            x - 3.0,
            y - 3.0
        ),
    };
}

/// Draws bands and polygons below the series, clipped at the axes.
fn shade(out: &mut String, mark: &Mark, x: &Laid, y: &Laid) {
    match mark {
        Mark::Band { x: ends, color, .. } => {
            let (Some(a), Some(b)) = (x.pixel(ends[0]), x.pixel(ends[1])) else { return };
            let (top, bottom) = (y.pixels[1], y.pixels[0]);
            let _ = writeln!(
                out,
                "<rect x=\"{:.2}\" y=\"{top:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"{}\" opacity=\"0.13\"/>",
                a.min(b),
                (b - a).abs(),
                bottom - top,
                color.hex()
            );
        }
        Mark::Polygon { points, color, opacity, .. } => {
            let corners: Vec<String> = points
                .iter()
                .filter_map(|q| Some(format!("{:.2},{:.2}", x.pixel(q[0])?, y.pixel(q[1])?)))
                .collect();
            let _ = writeln!(
                out,
                "<polygon points=\"{}\" fill=\"{c}\" fill-opacity=\"{opacity}\" stroke=\"{c}\" stroke-width=\"1.2\" stroke-linejoin=\"round\"/>",
                corners.join(" "),
                c = color.hex()
            );
        }
        _ => {}
    }
}

/// Draws lines, arrows and texts above the series.
fn annotate(out: &mut String, mark: &Mark, x: &Laid, y: &Laid, id: usize) {
    let (left, right) = (x.pixels[0], x.pixels[1]);
    let (bottom, top) = (y.pixels[0], y.pixels[1]);
    let style = format!("stroke=\"{}\" stroke-dasharray=\"4 4\"", Color::GREY.hex());
    let grey = format!("fill=\"{}\" font-size=\"11\"", Color::GREY.hex());
    match mark {
        Mark::Vertical { x: at, label } => {
            let Some(px) = x.pixel(*at).filter(|p| (left..=right).contains(p)) else { return };
            line(out, [px, top], [px, bottom], &style);
            text(out, [px + 4.0, top + 11.0], "start", &grey, label);
        }
        Mark::Horizontal { y: at, label } => {
            let Some(py) = y.pixel(*at).filter(|p| (top..=bottom).contains(p)) else { return };
            line(out, [left, py], [right, py], &style);
            text(out, [right - 4.0, py - 5.0], "end", &grey, label);
        }
        Mark::Band { x: ends, label, .. } => {
            let (Some(a), Some(b)) = (x.pixel(ends[0]), x.pixel(ends[1])) else { return };
            text(out, [0.5 * (a + b), top + 11.0], "middle", &grey, label);
        }
        Mark::Polygon { .. } => {}
        Mark::Arrow { from, to, color, label } => {
            let pixels = |q: &[f64; 2]| Some([x.pixel(q[0])?, y.pixel(q[1])?]);
            let (Some(a), Some(b)) = (pixels(from), pixels(to)) else { return };
            arrow(out, a, b, *color, id);
            let d = [b[0] - a[0], b[1] - a[1]];
            let (anchor, dx) = if d[0] < -1.0 { ("end", -6.0) } else { ("start", 6.0) };
            let dy = if d[1] < 0.0 { -4.0 } else { 12.0 };
            let style = format!("fill=\"{}\"", color.hex());
            text(out, [b[0] + dx, b[1] + dy], anchor, &style, label);
        }
        Mark::Text { at, text: words, color } => {
            let (Some(px), Some(py)) = (x.pixel(at[0]), y.pixel(at[1])) else { return };
            let style = format!("fill=\"{}\"", color.hex());
            text(out, [px, py + 4.0], "middle", &style, words);
        }
    }
}

fn arrow(out: &mut String, a: [f64; 2], b: [f64; 2], color: Color, id: usize) {
    let d = [b[0] - a[0], b[1] - a[1]];
    let length = d[0].hypot(d[1]);
    if length < 0.5 {
        return;
    }
    let u = [d[0] / length, d[1] / length];
    // arrow heads have 9 px, less on short arrows
    let head = 9.0_f64.min(0.6 * length);
    let base = [b[0] - head * u[0], b[1] - head * u[1]];
    let side = [-0.42 * head * u[1], 0.42 * head * u[0]];
    let c = color.hex();
    let _ = writeln!(
        out,
        "<g data-panel=\"{id}\"><path d=\"M{:.2} {:.2}L{:.2} {:.2}\" stroke=\"{c}\" stroke-width=\"2\"/><path d=\"M{:.2} {:.2}L{:.2} {:.2}L{:.2} {:.2}Z\" fill=\"{c}\"/></g>",
        a[0],
        a[1],
        base[0],
        base[1],
        b[0],
        b[1],
        base[0] + side[0],
        base[1] + side[1],
        base[0] - side[0],
        base[1] - side[1]
    );
}

/// Symbol of a legend entry.
enum Swatch {
    Series(Line, Marker),
    Area,
}

struct Entry<'a> {
    label: &'a str,
    color: Color,
    swatch: Swatch,
}

fn legend_entries<'a>(p: &'a Panel, colors: &[Color]) -> Vec<Entry<'a>> {
    let series = p.series.iter().zip(colors).map(|(s, c)| Entry {
        label: &s.label,
        color: *c,
        swatch: Swatch::Series(s.line, s.marker),
    });
    let areas = p.marks.iter().filter_map(|m| match m {
        Mark::Polygon { color, label, .. } => {
            Some(Entry { label, color: *color, swatch: Swatch::Area })
        }
        _ => None,
    });
    series.chain(areas).filter(|e| !e.label.is_empty()).collect()
}

fn entry_width(e: &Entry) -> f64 {
    28.0 + text_width(e.label) + 16.0
}

/// Number of entries in each row of a legend with this width (px).
fn legend_rows(entries: &[Entry], width: f64) -> Vec<usize> {
    let mut rows = Vec::new();
    let mut used = 0.0;
    for e in entries {
        let w = entry_width(e);
        match rows.last_mut() {
            Some(n) if used + w <= width => {
                *n += 1;
                used += w;
            }
            _ => {
                rows.push(1);
                used = w;
            }
        }
    }
    rows
}

fn legend(out: &mut String, entries: &[Entry], rows: &[usize], [left, top]: [f64; 2]) {
    let mut rest = entries.iter();
    for (r, n) in rows.iter().enumerate() {
        let y = top + r as f64 * LEGEND_ROW + 5.0;
        let mut x = left;
        for e in rest.by_ref().take(*n) {
            let c = e.color.hex();
            match e.swatch {
                Swatch::Series(kind, points) => {
                    if kind != Line::None {
                        let cap = if kind == Line::Dotted { "round" } else { "butt" };
                        let style = format!(
                            "stroke=\"{c}\" stroke-width=\"2\" stroke-linecap=\"{cap}\"{}",
                            dashes(kind)
                        );
                        line(out, [x, y], [x + 22.0, y], &style);
                    }
                    marker(out, points, [x + 11.0, y], e.color);
                }
                Swatch::Area => {
                    let _ = writeln!(
                        out,
                        "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"20\" height=\"10\" fill=\"{c}\" fill-opacity=\"0.35\" stroke=\"{c}\"/>",
                        y - 5.0
                    );
                }
            }
            text(out, [x + 28.0, y + 4.0], "start", "", e.label);
            x += entry_width(e);
        }
    }
}

fn text_width(s: &str) -> f64 {
    s.chars().count() as f64 * CHARACTER * FONT
}

fn line(out: &mut String, a: [f64; 2], b: [f64; 2], style: &str) {
    let _ = writeln!(
        out,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" {style}/>",
        a[0], a[1], b[0], b[1]
    );
}

fn text(out: &mut String, at: [f64; 2], anchor: &str, style: &str, words: &str) {
    if words.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" {style}>{}</text>",
        at[0],
        at[1],
        escape(words)
    );
}

/// Escapes text for XML; control characters that XML 1.0 does not allow become U+FFFD.
fn escape(s: &str) -> String {
    let mut out = String::with_capacity(s.len());
    for c in s.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if (c < ' ' && !matches!(c, '\t' | '\n' | '\r'))
                || matches!(c, '\u{fffe}' | '\u{ffff}') =>
            {
                out.push('\u{fffd}');
            }
            c => out.push(c),
        }
    }
    out
}
