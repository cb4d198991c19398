//! Stills show bodies at their positions.

use crate::common::{Picture, Scratch, decode, is_box_red, push, scan};
use quasistep_math::Vec3;
use quasistep_view::{Camera, StillOptions, still, strips, write_gif};

const WIDTH: u32 = 240;
const HEIGHT: u32 = 160;
const BARE: StillOptions = StillOptions { contacts: false, force_scale: None, collision: false };

fn camera(direction: Vec3) -> Camera {
    Camera::fit(&push(), direction, f64::from(WIDTH) / f64::from(HEIGHT))
}

fn shot(frame: usize, camera: &Camera, options: &StillOptions) -> Picture {
    decode(&still(&push(), frame, camera, WIDTH, HEIGHT, options).unwrap())
}

/// Seen from the front, x runs to the right: the position of the box in the picture follows its
/// pose.
#[test]
fn the_box_is_drawn_where_it_is() {
    let camera = camera(Vec3::Y);
    let recording = push();
    for frame in [0, 25, 40] {
        let (count, [x, y]) = shot(frame, &camera, &BARE).find(is_box_red);
        let p = recording.frames[frame].X_WB[1].translation;
        // the front face, 0.15 m nearer, is visible in perspective
        let depth = p.y - 0.15 - camera.eye.y;
        let scale = 0.5 * f64::from(HEIGHT) / (0.5 * camera.fov_y).tan() / depth;
        let wanted = [
            0.5 * f64::from(WIDTH) + scale * (p.x - camera.target.x),
            0.5 * f64::from(HEIGHT) - scale * (p.z - camera.target.z),
        ];
        let side = 0.3 * scale;
        // rotation shows a second side and widens the outline up to 1.4 times; the finger and the
        // ball hide a small part
        assert!((x - wanted[0]).abs() < 0.15 * side, "frame {frame}: x {x}, expected {wanted:?}");
        assert!((y - wanted[1]).abs() < 0.15 * side, "frame {frame}: y {y}, expected {wanted:?}");
        let area = count as f64 / (side * side);
        assert!((0.75..1.6).contains(&area), "frame {frame}: {area} of the front face");
    }
}

#[test]
fn the_same_still_has_the_same_bytes() {
    let camera = Camera::isometric(&push(), 1.5);
    let once = || still(&push(), 20, &camera, WIDTH, HEIGHT, &StillOptions::default()).unwrap();
    assert_eq!(once(), once());
}

#[test]
fn frames_differ_and_contacts_can_be_left_out() {
    let camera = Camera::isometric(&push(), 1.5);
    let (first, last) = (shot(5, &camera, &BARE), shot(40, &camera, &BARE));
    assert!(first.changes(&last, 20).0 > 500, "the box moved");
    let with = shot(40, &camera, &StillOptions::default());
    let (count, _) = with.changes(&last, 20);
    assert!((20..3000).contains(&count), "{count} pixels of contacts");
    let hull = shot(40, &camera, &StillOptions { collision: true, ..BARE });
    assert!(hull.changes(&last, 20).0 > 300, "the hull is dark, the box is red");
}

/// A body without visual shapes is drawn by its collision shapes.
#[test]
fn a_body_without_visual_shapes_is_shown_by_its_collision_shapes() {
    let mut recording = push();
    for shape in &mut recording.shapes {
        shape.role = quasistep_record::ShapeRole::Collision;
    }
    recording.shapes.retain(|s| s.name != "box hull");
    let camera = camera(Vec3::Y);
    let picture = decode(&still(&recording, 0, &camera, WIDTH, HEIGHT, &BARE).unwrap());
    assert!(picture.find(is_box_red).0 > 500);
}

/// The sun is in front of the scene, to the right and above. So the floor on the left of the box,
/// behind it, is darker than far away.
#[test]
fn the_box_throws_a_shadow() {
    let camera = camera(Vec3::new(0.0, 0.0, -1.0));
    let picture = shot(0, &camera, &BARE);
    let scale = 0.5 * f64::from(HEIGHT) / (0.5 * camera.fov_y).tan() / camera.eye.z;
    let at = |x: f64, y: f64| {
        let column = 0.5 * f64::from(WIDTH) + scale * (x - camera.target.x);
        let row = 0.5 * f64::from(HEIGHT) - scale * (y - camera.target.y);
        let [r, g, b] = picture.rgb[row as usize * picture.width + column as usize];
        f64::from(r) + f64::from(g) + f64::from(b)
    };
    // the box ends at x = −0.45, y = 0.15 and is 0.3 high; shadows fall along (−0.45, 0.55)
    let (shadow, sun) = (at(-0.40, 0.21), at(0.12, -0.27));
    assert!(shadow < 0.85 * sun, "{shadow} against {sun}");
}

#[test]
fn what_cannot_be_drawn_is_said() {
    let recording = push();
    let camera = Camera::isometric(&recording, 1.0);
    let say =
        |frame, width| still(&recording, frame, &camera, width, 10, &BARE).unwrap_err().to_string();
    assert_eq!(say(41, 10), "frame 41 of a recording with 41 frames");
    assert_eq!(say(0, 0), "a still of 0 x 10 px; each side must be 1 to 8192 px");
}

/// The pictures in a strip are equal to stills of the same frames.
#[test]
fn a_strip_is_made_of_stills() {
    let recording = push();
    let camera = Camera::isometric(&recording, 1.5);
    let rows: [(&_, &[usize]); 2] = [(&recording, &[0, 20]), (&recording, &[40])];
    let strip = decode(&strips(&rows, &camera, WIDTH, HEIGHT, &BARE).unwrap());
    assert_eq!((strip.width, strip.height), (2 * WIDTH as usize + 4, 2 * HEIGHT as usize + 4));
    for (frame, left, top) in [(0, 0, 0), (20, WIDTH + 4, 0), (40, 0, HEIGHT + 4)] {
        let one = shot(frame, &camera, &BARE);
        for (x, y) in [(0, 0), (100, 80), (120, 60), (WIDTH - 1, HEIGHT - 1)] {
            let at = |p: &Picture, x: u32, y: u32| p.rgb[y as usize * p.width + x as usize];
            assert_eq!(at(&strip, left + x, top + y), at(&one, x, y), "frame {frame} at {x}, {y}");
        }
    }
    assert_eq!(strip.rgb[(HEIGHT as usize + 100) * strip.width + WIDTH as usize + 100], [255; 3]);
    assert!(strips(&[], &camera, WIDTH, HEIGHT, &BARE).is_err());
}

/// A torque about the normal is drawn as an arrow around it.
#[test]
fn a_spin_torque_is_drawn() {
    let mut recording = push();
    let camera = Camera::isometric(&recording, 1.5);
    let shot = |r: &quasistep_record::Recording| {
        decode(&still(r, 40, &camera, WIDTH, HEIGHT, &StillOptions::default()).unwrap())
    };
    let without = shot(&recording);
    for contact in recording.frames.iter_mut().flat_map(|f| &mut f.contacts) {
        contact.spin = 0.1;
    }
    let (count, _) = shot(&recording).changes(&without, 20);
    assert!((20..3000).contains(&count), "{count} pixels of arrows around normals");
}

/// A ball of dots has the size of the ball, is lit from the sun's side, and has no gaps.
#[test]
fn a_cloud_is_drawn_where_it_is() {
    for (n, with_normals) in [(3000, true), (60_000, true), (60_000, false)] {
        let recording = scan(n, with_normals);
        let camera = Camera::fit(&recording, Vec3::Y, 1.5);
        let picture = decode(&still(&recording, 40, &camera, WIDTH, HEIGHT, &BARE).unwrap());
        let (count, [x, y]) = picture.find(is_box_red);
        let p = recording.frames[40].X_WB[1].translation;
        let depth = p.y - camera.eye.y;
        let scale = 0.5 * f64::from(HEIGHT) / (0.5 * camera.fov_y).tan() / depth;
        let wanted = [
            0.5 * f64::from(WIDTH) + scale * (p.x - camera.target.x),
            0.5 * f64::from(HEIGHT) - scale * (p.z - camera.target.z),
        ];
        let radius = 0.15 * scale;
        assert!((x - wanted[0]).abs() < 0.1 * radius, "{n}: x {x}, expected {wanted:?}");
        assert!((y - wanted[1]).abs() < 0.1 * radius, "{n}: y {y}, expected {wanted:?}");
        // dots extend beyond the outline by half their width; shaded pixels are too dark to count
        // as red
        let area = count as f64 / (std::f64::consts::PI * radius * radius);
        assert!((0.85..1.2).contains(&area), "{n}: {area} of the disc");
        let brightness = |dx: f64, dy: f64| {
            let (i, j) = (wanted[0] + dx * radius, wanted[1] + dy * radius);
            let [r, g, b] = picture.rgb[j as usize * WIDTH as usize + i as usize];
            u32::from(r) + u32::from(g) + u32::from(b)
        };
        if with_normals {
            assert!(brightness(0.5, -0.6) > brightness(-0.5, 0.7) + 60, "the sun is up right");
        }
    }
}

/// A GIF of 4 s has 12.5 pictures a second, the last one at the end, in which the box is where the
/// still shows it. A run of 400 s is shown faster.
#[test]
fn a_run_is_written_as_a_gif() {
    let (dir, mut recording) = (Scratch::new("gif"), push());
    let (file, camera) = (dir.file("run.gif"), camera(Vec3::Y));
    let write = |recording: &quasistep_record::Recording| {
        write_gif(recording, &camera, [WIDTH, HEIGHT], &BARE, &file).unwrap()
    };
    let video = write(&recording);
    assert_eq!((video.n_pictures, video.speed), (51, 1.0));
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut decoder = options.read_info(std::fs::File::open(&file).unwrap()).unwrap();
    assert_eq!((u32::from(decoder.width()), u32::from(decoder.height())), (WIDTH, HEIGHT));
    let mut rgb = vec![[0; 3]; (WIDTH * HEIGHT) as usize];
    let (mut count, mut first) = (0, None);
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        assert_eq!(frame.delay, 8);
        for (pixel, new) in
            rgb.iter_mut().zip(frame.buffer.chunks_exact(4)).filter(|(_, n)| n[3] > 0)
        {
            pixel.copy_from_slice(&new[..3]);
        }
        first.get_or_insert_with(|| rgb.clone());
        count += 1;
    }
    assert_eq!(count, video.n_pictures);
    for (rgb, frame) in [(first.unwrap(), 0), (rgb, 40)] {
        let shown = Picture { width: WIDTH as usize, height: HEIGHT as usize, rgb };
        let still = shot(frame, &camera, &BARE);
        let ((n, [x, y]), (n_still, [x_still, y_still])) =
            (shown.find(is_box_red), still.find(is_box_red));
        assert!(n.abs_diff(n_still) < n_still / 10, "{n} and {n_still} pixels");
        assert!((x - x_still).abs() < 2.0 && (y - y_still).abs() < 2.0, "frame {frame}");
    }
    recording.frames.iter_mut().for_each(|f| f.t *= 100.0);
    let long = write(&recording);
    assert!((long.speed - 400.0 / 30.0).abs() < 1e-9 && long.n_pictures == 376, "{long:?}");
    recording.frames.clear();
    assert!(write_gif(&recording, &camera, [WIDTH, HEIGHT], &BARE, &file).is_err());
}
