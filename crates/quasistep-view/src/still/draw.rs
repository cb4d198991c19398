//! Renders a frame to pixels: lighting, shadows, planes, arrows.

use super::mesh::{Triangle, arc, arrow, triangles};
use super::options::{Camera, StillOptions};
use super::raster::{Sample, View};
use crate::ViewError;
use crate::bounds::{Bounds, bounds};
use crate::receiver::Receivers;
use quasistep_math::{Pose, Quat, Vec3};
use quasistep_record::{Contact, DrawnGeometry, DrawnShape, Mode, Recording, ShapeRole};

/// Samples per pixel along each axis.
const FINE: usize = 2;
/// Size of the shadow map along each axis, in samples.
const SHADOW: usize = 2048;
/// Opacity of bodies at their goals.
const GHOST: f64 = 0.35;

/// A plane with its pose, grid and extent.
struct Plane {
    X_WG: Pose,
    color: Vec3,
    reach: f64,
    step: f64,
}

/// Opaque dots of a cloud with normals.
struct Dots {
    points: Vec<(Vec3, Vec3)>,
    width: f64,
    color: Vec3,
}

/// Everything to be drawn, in world coordinates.
struct World {
    dots: Vec<Dots>,
    solids: Vec<(Vec<Triangle>, Vec3, f64)>,
    planes: Vec<Plane>,
    overlay: Vec<(Vec<Triangle>, Vec3)>,
    fit: Bounds,
}

/// Checks the size of a picture, in px.
pub(super) fn check_size([width, height]: [u32; 2]) -> Result<(), ViewError> {
    if [width, height].iter().all(|side| (1..=8192).contains(side)) {
        return Ok(());
    }
    Err(ViewError::Size { width, height })
}

/// What all pictures of a recording share.
pub(super) struct Whole<'a> {
    r: &'a Recording,
    options: &'a StillOptions,
    fit: Bounds,
    receivers: Receivers,
    /// Length of arrows, in m/N.
    scale: f64,
    /// Largest torque about a normal, in N·m.
    most_spin: f64,
}

impl<'a> Whole<'a> {
    pub fn new(r: &'a Recording, options: &'a StillOptions) -> Self {
        let contacts = || r.frames.iter().flat_map(|f| &f.contacts);
        let largest = contacts().map(|c| c.force_W.norm()).fold(0.0_f64, f64::max);
        let fit = bounds(r);
        let own = if largest > 0.0 { 0.25 * fit.radius / largest } else { 0.0 };
        Self {
            r,
            options,
            fit,
            receivers: Receivers::new(r),
            scale: options.force_scale.unwrap_or(own),
            most_spin: contacts().map(|c| c.spin.abs()).fold(0.0_f64, f64::max),
        }
    }
}

/// Renders a frame; RGB pixels, row by row from the top.
pub(super) fn picture(
    whole: &Whole<'_>,
    frame: usize,
    camera: &Camera,
    [width, height]: [usize; 2],
) -> Vec<u8> {
    let world = gather(whole, frame);
    let size = [width * FINE, height * FINE];
    let mut view = View::look_at(camera.eye, camera.target, camera.up, size);
    let fov = if camera.fov_y > 0.0 && camera.fov_y < 3.1 { camera.fov_y } else { 0.6 };
    view.focal = 0.5 * size[1] as f64 / (0.5 * fov).tan();
    let light = Light::new(&world);
    let samples = shade(&world, &view, &light);
    average(&samples, width, height)
}

/// True if a shape is drawn. With `collision`, collision shapes are drawn instead of visual ones.
/// Bodies without visual shapes always show collision shapes.
fn is_drawn(r: &Recording, shape: &DrawnShape, collision: bool) -> bool {
    match shape.role {
        ShapeRole::Both => true,
        ShapeRole::Visual => !collision,
        ShapeRole::Collision => {
            let looks = |s: &DrawnShape| s.body == shape.body && s.role != ShapeRole::Collision;
            collision || !r.shapes.iter().any(looks)
        }
    }
}

fn gather(whole: &Whole<'_>, k: usize) -> World {
    let Whole { r, options, fit, .. } = *whole;
    let frame = &r.frames[k];
    let mut world = World { dots: vec![], solids: vec![], planes: vec![], overlay: vec![], fit };
    for shape in r.shapes.iter().filter(|s| is_drawn(r, s, options.collision)) {
        let X_WG = frame.X_WB[shape.body] * shape.X_BG;
        let [red, green, blue, alpha] = shape.color.map(f64::from);
        let color = linear(Vec3::new(red, green, blue));
        if matches!(shape.geometry, DrawnGeometry::HalfSpace) {
            let flat = X_WG.rotation.rotate(Vec3::Z).z > 0.99;
            // a vertical plane that extends to the horizon would hide the scene
            let reach = if flat { 9.0 } else { 1.4 } * fit.radius;
            let step = crate::plot::nice_step(fit.radius, 4.0);
            world.planes.push(Plane { X_WG, color, reach, step });
            continue;
        }
        if let DrawnGeometry::Points { points, normals, width } = &shape.geometry {
            let wide = |v: &[f32; 3]| Vec3::from(v.map(f64::from));
            let normal = |i: usize| normals.get(i).map_or(Vec3::ZERO, wide);
            let placed = points
                .iter()
                .enumerate()
                .map(|(i, p)| (X_WG.transform_point(wide(p)), X_WG.rotation.rotate(normal(i))));
            world.dots.push(Dots { points: placed.collect(), width: *width, color });
            continue;
        }
        world.solids.push((place(&triangles(&shape.geometry), &X_WG), color, alpha));
    }
    for goal in &r.goals {
        let own =
            r.shapes.iter().filter(|s| s.body == goal.body && is_drawn(r, s, options.collision));
        for shape in own {
            let [red, green, blue, alpha] = shape.color.map(f64::from);
            let color = linear(Vec3::new(red, green, blue));
            let X_WG = goal.X_WB * shape.X_BG;
            world.solids.push((place(&triangles(&shape.geometry), &X_WG), color, GHOST * alpha));
        }
    }
    if options.contacts {
        // at the start, those of the first step
        let step = r.frames.get(k.max(1)).unwrap_or(frame);
        for c in &step.contacts {
            let sign = whole.receivers.sign(c);
            let spin = if whole.most_spin > 0.0 { sign * c.spin / whole.most_spin } else { 0.0 };
            push_contact(&mut world, r, k, c, sign * whole.scale, spin);
        }
    }
    world
}

/// Adds point and arrows of a contact, at the point where its body has carried it at the end of the
/// step. `scale` (m/N) is negative for arrows of the force on the first body. `spin` is the torque relative to the largest torque about a normal.
fn push_contact(world: &mut World, r: &Recording, k: usize, c: &Contact, scale: f64, spin: f64) {
    let body = if c.b == 0 { c.a } else { c.b };
    let p = if k == 0 {
        c.p_W
    } else {
        let before = r.frames[k - 1].X_WB[body];
        r.frames[k].X_WB[body].transform_point(before.inverse_transform_point(c.p_W))
    };
    let color = linear(match c.mode {
        Mode::Separate => Vec3::new(0.55, 0.58, 0.62),
        Mode::Stick => Vec3::new(0.10, 0.60, 0.38),
        Mode::Slide => Vec3::new(0.90, 0.42, 0.08),
    });
    let width = 0.006 * world.fit.radius;
    let radius = 1.9 * width;
    // far from both surfaces a dot says nothing
    if c.normal_force > 0.0 || c.phi_next < radius {
        let ball = triangles(&DrawnGeometry::Sphere { radius });
        world.overlay.push((place(&ball, &Pose::from_translation(p)), color));
    }
    let arrow_W = c.force_W * scale;
    let length = arrow_W.norm();
    if let Some(d) = arrow_W.try_normalize()
        && length > 1e-3 * world.fit.radius
    {
        let X = Pose::new(turn_z_to(d), p);
        world.overlay.push((place(&arrow(length, width), &X), color));
    }
    if spin.abs() > 1e-3 {
        // the area of the arc is proportional to the torque
        let radius = 0.1 * world.fit.radius * spin.abs().sqrt();
        let X = Pose::new(turn_z_to(c.n_AB_W * spin.signum()), p);
        world.overlay.push((place(&arc(radius, 0.8 * width), &X), color));
    }
}

/// A rotation that takes z to the unit vector `d`.
fn turn_z_to(d: Vec3) -> Quat {
    let axis = Vec3::Z.cross(d);
    Quat::try_normalize([1.0 + d.z, axis.x, axis.y, axis.z])
        .unwrap_or(Quat::new(0.0, 1.0, 0.0, 0.0))
}

fn place(list: &[Triangle], X: &Pose) -> Vec<Triangle> {
    list.iter()
        .map(|t| Triangle {
            p: t.p.map(|p| X.transform_point(p)),
            n: t.n.map(|n| X.rotation.rotate(n)),
        })
        .collect()
}

/// The sun with its shadow map.
struct Light {
    view: View,
    depth: Vec<f32>,
    /// Depth offset against self-shadowing, in m.
    bias: f64,
}

impl Light {
    fn new(world: &World) -> Self {
        let from = Vec3::new(0.45, -0.55, 1.0).try_normalize().unwrap_or(Vec3::Z);
        let radius = 1.6 * world.fit.radius;
        let eye = world.fit.center + from * (4.0 * radius);
        let mut view = View::look_at(eye, world.fit.center, Vec3::Y, [SHADOW, SHADOW]);
        view.parallel = true;
        view.focal = SHADOW as f64 / (2.0 * radius);
        let mut depth = vec![f32::INFINITY; SHADOW * SHADOW];
        for (list, _, alpha) in &world.solids {
            for t in list.iter().filter(|_| *alpha > 0.5) {
                view.cover(t.p, t.n, |s| {
                    depth[s.index] = depth[s.index].min(s.depth as f32);
                });
            }
        }
        for Dots { points, width, .. } in &world.dots {
            for (p, n) in points {
                view.dot(*p, *width, *n, |s| {
                    // offset by the dot's width, so that a flat dot does not shade the surface
                    // below it
                    depth[s.index] = depth[s.index].min((s.depth + width) as f32);
                });
            }
        }
        Self { view, depth, bias: 3.0 * 2.0 * radius / SHADOW as f64 }
    }

    /// Unit vector towards the sun.
    fn to_sun(&self) -> Vec3 {
        -self.view.forward
    }

    /// Fraction of sunlight that reaches a point, from 0 to 1, averaged over a few shadow samples.
    fn reaches(&self, p: Vec3, n: Vec3) -> f64 {
        let Some(([x, y], depth)) = self.view.locate(p + n * self.bias) else { return 1.0 };
        let (mut open, mut count) = (0.0, 0.0);
        for dy in -2..=2 {
            for dx in -2..=2 {
                let (i, j) = (x as i64 + dx * 2, y as i64 + dy * 2);
                count += 1.0;
                let inside = |v: i64| (0..SHADOW as i64).contains(&v);
                let hidden = inside(i)
                    && inside(j)
                    && f64::from(self.depth[j as usize * SHADOW + i as usize]) < depth - self.bias;
                open += if hidden { 0.0 } else { 1.0 };
            }
        }
        open / count
    }

    /// Light reflected by a surface towards the eye, in linear RGB.
    fn shine(&self, color: Vec3, p: Vec3, n: Vec3, to_eye: Vec3) -> Vec3 {
        let sun = n.dot(self.to_sun()).max(0.0);
        let sun = if sun > 0.0 { sun * self.reaches(p, n) } else { 0.0 };
        // light from the sky above, and reflected from below
        let sky = 0.5 + 0.5 * n.z;
        let ambient = Vec3::new(0.24, 0.23, 0.22) * (1.0 - sky) + Vec3::new(0.42, 0.44, 0.47) * sky;
        let half = (self.to_sun() + to_eye).try_normalize().unwrap_or(n);
        let gloss = 0.10 * n.dot(half).max(0.0).powi(40) * sun;
        let total = ambient + Vec3::new(0.76, 0.74, 0.70) * sun;
        color.component_mul(total) + Vec3::new(gloss, gloss, gloss)
    }
}

fn shade(world: &World, view: &View, light: &Light) -> Vec<Vec3> {
    let count = view.width * view.height;
    let mut depth = vec![f64::INFINITY; count];
    let mut surface: Vec<Option<(Vec3, Vec3)>> = vec![None; count];
    for Dots { points, width, color } in &world.dots {
        for (p, n) in points {
            view.dot(*p, *width, *n, |s| {
                if s.depth < depth[s.index] {
                    depth[s.index] = s.depth;
                    surface[s.index] = Some((s.n, *color));
                }
            });
        }
    }
    for (list, color, alpha) in &world.solids {
        if *alpha < 1.0 {
            continue;
        }
        for t in list {
            view.cover(t.p, t.n, |s| {
                if s.depth < depth[s.index] {
                    depth[s.index] = s.depth;
                    surface[s.index] = Some((s.n, *color));
                }
            });
        }
    }
    let mut out = Vec::with_capacity(count);
    for index in 0..count {
        let (x, y) = (index % view.width, index / view.width);
        let ray = view.ray(x, y);
        let mut color = backdrop(y as f64 / view.height as f64);
        if let Some((n, paint)) = surface[index] {
            let p = view.eye + ray * depth[index];
            color = lit(light, paint, p, n, ray);
        }
        for plane in &world.planes {
            color = over_plane(plane, world, view, light, ray, &mut depth[index], color);
        }
        out.push(color);
    }
    glass(world, view, light, &depth, &mut out);
    overlay(world, view, light, &depth, &mut out);
    out
}

fn lit(light: &Light, color: Vec3, p: Vec3, n: Vec3, ray: Vec3) -> Vec3 {
    let to_eye = (-ray).try_normalize().unwrap_or(Vec3::Z);
    let n = n.try_normalize().unwrap_or(to_eye);
    // the back of an open mesh is visible too
    let n = if n.dot(to_eye) < 0.0 { -n } else { n };
    light.shine(color, p, n, to_eye)
}

fn backdrop(v: f64) -> Vec3 {
    linear(Vec3::new(0.965, 0.972, 0.984) * (1.0 - v) + Vec3::new(0.895, 0.91, 0.93) * v)
}

/// Blends a plane over the colour of a sample. `depth` becomes that of the plane if the plane is in
/// front and nearly opaque.
fn over_plane(
    plane: &Plane,
    world: &World,
    view: &View,
    light: &Light,
    ray: Vec3,
    depth: &mut f64,
    behind: Vec3,
) -> Vec3 {
    let n = plane.X_WG.rotation.rotate(Vec3::Z);
    let height = (view.eye - plane.X_WG.translation).dot(n);
    let fall = -ray.dot(n);
    // seen from below, or edge on: not visible
    if height <= 0.0 || fall <= 1e-9 {
        return behind;
    }
    let ahead = height / fall;
    if ahead >= *depth {
        return behind;
    }
    let p = view.eye + ray * ahead;
    let foot = world.fit.center - n * (world.fit.center - plane.X_WG.translation).dot(n);
    let away = (p - foot).norm() / plane.reach;
    let alpha = 1.0 - smooth(0.35, 1.0, away);
    if alpha <= 0.0 {
        return behind;
    }
    *depth = ahead;
    let local = plane.X_WG.inverse_transform_point(p);
    // width of a sample on the plane, in m: thinner grid lines fade instead of flickering
    let footprint = ahead / view.focal * (ray.norm() / fall).min(30.0) * 1.5;
    let line = |v: f64, step: f64| {
        let d = (v / step - (v / step).round()).abs() * step;
        let width = 0.004 * world.fit.radius;
        ((0.5 * width + 0.5 * footprint - d) / footprint).clamp(0.0, 1.0)
            * (width / footprint).min(1.0)
    };
    let fine = line(local.x, plane.step).max(line(local.y, plane.step));
    let coarse = line(local.x, 5.0 * plane.step).max(line(local.y, 5.0 * plane.step));
    let ink = (0.22 * fine + 0.28 * coarse).min(1.0);
    let color = plane.color * (1.0 - ink);
    let to_eye = (-ray).try_normalize().unwrap_or(n);
    let lit = light.shine(color, p, n, to_eye);
    behind * (1.0 - alpha) + lit * alpha
}

/// Blends transparent solids, farthest first.
fn glass(world: &World, view: &View, light: &Light, depth: &[f64], out: &mut [Vec3]) {
    let mut list: Vec<(&Triangle, Vec3, f64)> = world
        .solids
        .iter()
        .filter(|s| s.2 < 1.0)
        .flat_map(|s| s.0.iter().map(|t| (t, s.1, s.2)))
        .collect();
    let distance = |t: &Triangle| ((t.p[0] + t.p[1] + t.p[2]) / 3.0 - view.eye).norm_squared();
    list.sort_by(|a, b| distance(b.0).total_cmp(&distance(a.0)));
    for (t, color, alpha) in list {
        view.cover(t.p, t.n, |s| {
            if s.depth < depth[s.index] {
                let (p, ray) = along(view, &s);
                let top = lit(light, color, p, s.n, ray);
                out[s.index] = out[s.index] * (1.0 - alpha) + top * alpha;
            }
        });
    }
}

/// Draws arrows and points: opaque in front, faint where a body hides them.
fn overlay(world: &World, view: &View, light: &Light, depth: &[f64], out: &mut [Vec3]) {
    let mut nearest = vec![f64::INFINITY; depth.len()];
    let mut top: Vec<Option<Vec3>> = vec![None; depth.len()];
    for (list, color) in &world.overlay {
        for t in list {
            view.cover(t.p, t.n, |s| {
                if s.depth < nearest[s.index] {
                    nearest[s.index] = s.depth;
                    let (_, ray) = along(view, &s);
                    let n = s.n.try_normalize().unwrap_or(Vec3::Z);
                    let to_eye = (-ray).try_normalize().unwrap_or(n);
                    // no shadows on arrows and points, which must stay readable
                    let face =
                        0.75 + 0.35 * n.dot(to_eye).abs() * (0.5 + 0.5 * n.dot(light.to_sun()));
                    top[s.index] = Some(*color * face);
                }
            });
        }
    }
    for (i, color) in top.into_iter().enumerate() {
        let Some(color) = color else { continue };
        let alpha = if nearest[i] <= depth[i] { 1.0 } else { 0.45 };
        out[i] = out[i] * (1.0 - alpha) + color * alpha;
    }
}

fn along(view: &View, s: &Sample) -> (Vec3, Vec3) {
    let ray = view.ray(s.index % view.width, s.index / view.width);
    (view.eye + ray * s.depth, ray)
}

fn smooth(low: f64, high: f64, v: f64) -> f64 {
    let u = ((v - low) / (high - low)).clamp(0.0, 1.0);
    u * u * (3.0 - 2.0 * u)
}

/// Converts sRGB to linear light, approximated by a power.
fn linear(c: Vec3) -> Vec3 {
    Vec3::new(c.x.max(0.0).powf(2.2), c.y.max(0.0).powf(2.2), c.z.max(0.0).powf(2.2))
}

/// Averages the samples of each pixel and converts linear light to sRGB.
fn average(samples: &[Vec3], width: usize, height: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(3 * width * height);
    for y in 0..height {
        for x in 0..width {
            let mut sum = Vec3::ZERO;
            for dy in 0..FINE {
                for dx in 0..FINE {
                    sum += samples[(y * FINE + dy) * width * FINE + x * FINE + dx];
                }
            }
            let mean = sum / (FINE * FINE) as f64;
            out.extend(
                mean.to_array().map(|v| (255.0 * v.clamp(0.0, 1.0).powf(1.0 / 2.2)).round() as u8),
            );
        }
    }
    out
}
