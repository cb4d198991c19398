//! Figures are well-formed SVG with the given contents, and the plots of a run are written.

use crate::common::{Scratch, push};
use quasistep_record::Recording;
use quasistep_view::plot::{Axis, Color, Figure, Line, Mark, Marker, PALETTE, Panel, Series};
use quasistep_view::write_plots;

/// A figure with every kind of content.
fn everything() -> Figure {
    let x: Vec<f64> = (1..=40).map(|k| 0.05 * f64::from(k)).collect();
    let decay: Vec<f64> = x.iter().map(|x| 10_f64.powf(-3.0 * x)).collect();
    let lines = [Line::Solid, Line::Dashed, Line::Dotted, Line::Steps, Line::None];
    let markers = [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Cross, Marker::Ring];
    let mut log = Panel::new(Axis::log("h (s)"), Axis::log("error (m)")).title("order <1> & \"2\"");
    for (i, (line, marker)) in lines.into_iter().zip(markers).enumerate() {
        let y: Vec<f64> = decay.iter().map(|d| d * (i + 1) as f64).collect();
        log = log.series(Series::new(format!("series {i}"), &x, &y).line(line).marker(marker));
    }
    let cone = vec![[0.0, 0.0], [-0.5, 1.0], [0.5, 1.0]];
    let drawn = Panel::new(Axis::linear("tangential (m/s)"), Axis::linear("normal (m/s)"))
        .equal_aspect()
        .mark(Mark::Polygon {
            points: cone,
            color: PALETTE[0],
            opacity: 0.2,
            label: "feasible".into(),
        })
        .mark(Mark::Arrow {
            from: [0.0, 0.0],
            to: [0.3, 0.8],
            color: PALETTE[3],
            label: "v".into(),
        })
        .mark(Mark::Band { x: [-0.3, -0.2], color: Color::GREY, label: "slip".into() })
        .mark(Mark::Horizontal { y: 0.5, label: "weight".into() })
        .mark(Mark::Vertical { x: 0.1, label: "touch".into() })
        .mark(Mark::Text { at: [0.0, 0.9], text: "stick".into(), color: Color::INK });
    Figure::new("Names with <b>, & and \u{1}").columns(2).panel(log).panel(drawn)
}

/// Text elements of a figure, in order.
fn texts(svg: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{e}\n{svg}"));
    let nodes = document.descendants().filter(|n| n.has_tag_name("text"));
    nodes.map(|n| n.text().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_figure_is_well_formed_and_holds_its_words() {
    let svg = everything().to_svg();
    let texts = texts(&svg);
    for wanted in [
        "Names with <b>, & and \u{fffd}",
        "order <1> & \"2\"",
        "series 4",
        "feasible",
        "weight",
        "touch",
        "stick",
        "slip",
        "v",
        "h (s)",
        "error (m)",
    ] {
        assert!(texts.iter().any(|t| t == wanted), "no text `{wanted}` in {texts:?}");
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "a number has no place");
}

/// Values that cannot be drawn on the axes interrupt lines and do not appear in the file.
#[test]
fn values_that_are_not_finite_leave_gaps() {
    let x = [0.0, 1.0, 2.0, 3.0, 4.0, f64::INFINITY];
    let y = [1.0, 2.0, f64::NAN, -1.0, 3.0, 1.0];
    let panel = Panel::new(Axis::linear("x"), Axis::log("y"));
    let svg = Figure::new("").panel(panel.series(Series::new("s", &x, &y))).to_svg();
    roxmltree::Document::parse(&svg).unwrap();
    let path = svg.split("<path d=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(path.matches('M').count(), 2, "two pieces: {path}");
    assert_eq!(path.matches('L').count(), 1, "{path}");
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

/// With equal aspect, both axes have the same scale: the bounding box of a circle is a square.
#[test]
fn equal_axes_keep_a_circle_round() {
    let angles = (0..=64).map(|k| f64::from(k) * std::f64::consts::TAU / 64.0);
    let (x, y): (Vec<f64>, Vec<f64>) = angles.map(|a| (a.cos(), a.sin())).unzip();
    let panel = Panel::new(Axis::linear(""), Axis::linear("")).equal_aspect();
    let svg = Figure::new("").panel(panel.series(Series::new("", &x, &y))).to_svg();
    let path = svg.split("<path d=\"M").nth(1).unwrap().split('"').next().unwrap();
    let points: Vec<[f64; 2]> = path
        .split('L')
        .map(|p| {
            let mut numbers = p.split(' ').map(|v| v.parse().unwrap());
            [numbers.next().unwrap(), numbers.next().unwrap()]
        })
        .collect();
    let extent = |i: usize| {
        let values = points.iter().map(|p| p[i]);
        values.clone().fold(f64::MIN, f64::max) - values.fold(f64::MAX, f64::min)
    };
    // coordinates are printed with two decimals
    assert!((extent(0) - extent(1)).abs() < 0.03, "{} x {}", extent(0), extent(1));
    assert!(extent(0) > 100.0);
}

#[test]
fn an_empty_figure_is_a_picture_too() {
    roxmltree::Document::parse(&Figure::new("").to_svg()).unwrap();
    let panel = Panel::new(Axis::log("x"), Axis::log("y"));
    roxmltree::Document::parse(&Figure::new("t").panel(panel).to_svg()).unwrap();
}

#[test]
fn the_plots_of_a_run_name_its_parts() {
    let dir = Scratch::new("plots");
    let files = write_plots(&push(), &dir.file("plots")).unwrap();
    let names: Vec<_> = files.iter().map(|f| f.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["joints.svg", "efforts.svg", "bodies.svg", "forces.svg", "contacts.svg"]);
    for (file, words) in files.iter().zip([
        vec!["finger.slide", "t (s)"],
        vec!["finger.slide", "N or N·m"],
        vec!["box", "x (m)", "turned (deg)"],
        vec!["world – box/body", "box/body – finger/tip", "normal force (N)"],
        vec!["separate", "stick", "slide"],
    ]) {
        let texts = texts(&std::fs::read_to_string(file).unwrap());
        for word in words {
            assert!(texts.iter().any(|t| t.contains(word)), "no `{word}` in {}", file.display());
        }
    }
}

/// Runs that stopped immediately, or have no drives, get those plots for which there are data.
#[test]
fn short_runs_have_few_plots() {
    let dir = Scratch::new("short");
    let mut start = push();
    start.frames.truncate(1);
    let files = write_plots(&start, &dir.0).unwrap();
    assert_eq!(files.len(), 2, "joints and bodies at the start: {files:?}");
    let nothing = Recording { frames: vec![], commands: vec![], ..push() };
    for file in write_plots(&nothing, &dir.file("nothing")).unwrap() {
        roxmltree::Document::parse(&std::fs::read_to_string(file).unwrap()).unwrap();
    }
}

#[test]
fn an_inconsistent_recording_is_refused() {
    let dir = Scratch::new("inconsistent");
    let mut broken = push();
    broken.frames[3].effort.clear();
    let error = write_plots(&broken, &dir.0).unwrap_err().to_string();
    assert_eq!(error, "cannot draw the recording: frame 3: 0 efforts; expected 1");
}
