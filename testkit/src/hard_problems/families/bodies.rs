//! Bodies and hands in hard arrangements.

use super::super::Random;
use super::geometry::{Face, Surface, UP, Vector, along, unit};
use super::world::World;

/// Draws the gap of a contact: zero, or positive.
pub(super) fn gaps(random: &mut Random) -> f64 {
    if random.chance(0.7) { 0.0 } else { -random.decade(-3.0, 0.0) }
}

pub(super) fn degenerate(w: &mut World<'_>) {
    let size = w.random.decade(-3.0, 0.0);
    let surface = Surface::draw(w.random, 1.0, size);
    let count = w.random.count(1, 3);
    let points = w.random.pick(&[4, 8, 30 / count]);
    let mut touching = |_: &mut Random| 0.0;
    let bodies =
        w.tower(count, size, points, &surface, &mut |r| r.decade(-0.5, 0.5), &mut touching);
    if w.random.chance(0.5) {
        let block = w.random.pick(&bodies);
        let force = w.random.decade(-2.0, 1.0);
        w.pull(block, force);
    }
    if w.random.chance(0.3) {
        // a planar body and a slider among the others: some tangents have no effect on them
        let body = w.planar_body([0.0, 0.0, size], size, 1.0);
        let slider = w.slider(UP, 1.0, -0.1);
        let mut off = |_: &mut Random| 0.0;
        w.face(
            (body, Some(slider)),
            &Face { centre: [0.0; 3], half: size, n: UP, points: 6 },
            &surface,
            &mut off,
        );
        w.face(
            (slider, None),
            &Face { centre: [0.0; 3], half: size, n: UP, points: 2 },
            &surface,
            &mut off,
        );
    }
    // duplicate contacts, and single rows of contacts
    for _ in 0..w.random.below(6) {
        let k = w.random.below(w.p.contacts.len());
        let mut copy = w.p.contacts[k].clone();
        match w.random.below(4) {
            0 => {}
            1 if !copy.round => {
                let again = copy.E.clone();
                copy.E.extend(again);
            }
            2 => {
                // an equivalent half-space with scaled normal
                let s = w.random.decade(-1.0, 1.0);
                copy.E.iter_mut().for_each(|e| *e *= s);
            }
            _ => {
                // a copy that differs in the last digits
                for J in copy.J.iter_mut().flatten() {
                    *J *= 1.0 + 1e-15 * w.random.signed();
                }
            }
        }
        w.p.contacts.push(copy);
    }
}

pub(super) fn stacked(w: &mut World<'_>) {
    let size = w.random.decade(-2.0, 0.0);
    let surface = Surface::draw(w.random, 1.0, size);
    let count = w.random.count(2, 8);
    let decades = w.random.between(0.0, 4.0);
    let bodies = w.tower(
        count,
        size,
        4,
        &surface,
        &mut |r| r.decade(-0.5 * decades, 0.5 * decades),
        &mut gaps,
    );
    if w.random.chance(0.6) {
        let block = w.random.pick(&bodies);
        let force = w.random.decade(-2.0, 1.0);
        w.pull(block, force);
    }
    if w.random.chance(0.3) {
        // a hand pushes the top from the side
        let at = [-size, 0.0, size * (2.0 * count as f64 - 1.0)];
        let stiffness = w.random.decade(0.0, 3.0);
        let hand = w.hand(at, 1.0, stiffness, [1.0, 0.0, 0.0]);
        let mut touching = |_: &mut Random| 0.0;
        let top = bodies[count - 1];
        w.face(
            (top, Some(hand)),
            &Face { centre: at, half: 0.2 * size, n: [1.0, 0.0, 0.0], points: 4 },
            &surface,
            &mut touching,
        );
    }
}

/// Normals of two walls that nearly face each other.
pub(super) fn opposing(random: &mut Random) -> [Vector; 2] {
    let n = random.direction();
    let most = random.pick(&[0.0, 1e-9, 1e-3, 0.5]);
    let turn = along(&n.map(|x| -x), most, &random.direction());
    [n, unit(&turn)]
}

pub(super) fn wedged(w: &mut World<'_>) {
    let size = w.random.decade(-2.0, 0.0);
    let surface = Surface::draw(w.random, 2.0, size);
    let mass = w.random.decade(-1.0, 1.0);
    let body = w.body([0.0; 3], size, mass);
    let points = w.random.pick(&[1, 2, 4]);
    for normal in opposing(w.random) {
        let at = along(&[0.0; 3], -size, &normal);
        let hand = w.random.chance(0.5).then(|| {
            let (reach, stiffness) = (w.random.decade(-1.0, 0.0), w.random.decade(-1.0, 4.0));
            w.hand(at, reach, stiffness, normal)
        });
        let squeeze =
            if w.random.chance(0.3) && hand.is_some() { w.random.decade(-4.0, 0.0) } else { 0.0 };
        let mut b = |r: &mut Random| if r.chance(0.8) { squeeze } else { -r.decade(-6.0, -1.0) };
        w.face(
            (body, hand),
            &Face { centre: at, half: 0.7 * size, n: normal, points },
            &surface,
            &mut b,
        );
    }
    if w.random.chance(0.4) {
        let mut touching = |_: &mut Random| 0.0;
        w.face(
            (body, None),
            &Face { centre: [0.0, 0.0, -size], half: size, n: UP, points: 4 },
            &surface,
            &mut touching,
        );
    }
    let force = w.random.decade(-2.0, 2.0);
    w.pull(body, force);
}

pub(super) fn penetrating(w: &mut World<'_>) {
    let size = w.random.decade(-2.0, 0.0);
    let surface = Surface::draw(w.random, 1.0, size);
    let depth = w.random.decade(-6.0, 0.5);
    let mut deep = |r: &mut Random| if r.chance(0.6) { depth * r.uniform() } else { gaps(r) };
    if w.random.chance(0.4) {
        let count = w.random.count(1, 5);
        w.tower(count, size, 4, &surface, &mut |r| r.decade(-1.0, 1.0), &mut deep);
        return;
    }
    // between two fixed walls: each contact must open at its own rate; `missing` decides whether
    // that is feasible
    let count = w.random.count(1, 3);
    let [n, _] = opposing(w.random);
    let mut last = None;
    let missing = match w.random.below(5) {
        0 => 0.0,
        1 => -w.random.decade(-8.0, 0.0),
        _ => w.random.decade(-8.0, 0.0),
    };
    let offset: Vec<f64> = (0..count).map(|_| depth * w.random.signed()).collect();
    let flat = w.random.chance(0.5);
    for k in 0..count {
        let at = along(&[0.0; 3], size * (2.0 * k as f64 + 1.0), &n);
        let mass = w.random.decade(-1.0, 1.0);
        let body = w.body(at, size, mass);
        let foot = along(&at, -size, &n);
        let mut b = |_: &mut Random| offset[k];
        let frictionless = Surface { round: false, most: 0.0, least: 0.0, ..surface };
        let here = if flat { frictionless } else { surface };
        w.face((body, last), &Face { centre: foot, half: size, n, points: 4 }, &here, &mut b);
        last = Some(body);
    }
    let body = last.expect("at least one");
    let top = along(&[0.0; 3], size * 2.0 * count as f64, &n);
    let down = n.map(|x| -x);
    // the rates along n add up to the offsets; the lid closes faster than that by `missing`
    let lid = missing - offset.iter().sum::<f64>();
    let friction = surface.friction(w.random);
    w.contact(body, None, &top, &down, lid, friction);
}

/// Adds bodies without mass, or nearly so, among hands.
pub(super) fn massless(w: &mut World<'_>, nearly: bool) {
    let size = w.random.decade(-2.0, 0.0);
    let surface = Surface::draw(w.random, 1.0, size);
    let count = w.random.count(1, 4);
    let mut light = Vec::new();
    let arrangement = w.random.below(3);
    if arrangement == 0 {
        light = w.tower(count, size, 4, &surface, &mut |_| 1.0, &mut gaps);
    } else {
        for k in 0..count {
            let at = [4.0 * size * k as f64, 0.0, size];
            let body = w.body(at, size, 1.0);
            // two or three fingers, and possibly the ground
            let fingers = w.random.count(1, 3);
            for f in 0..fingers {
                let normal = match f {
                    0 => [1.0, 0.0, 0.0],
                    1 => [-1.0, 0.0, 0.0],
                    _ => w.random.direction(),
                };
                let p = along(&at, -size, &normal);
                let stiffness = w.random.decade(0.0, 3.0);
                let hand = w.hand(p, 0.5, stiffness, normal);
                let points = w.random.pick(&[1, 3, 4]);
                w.face(
                    (body, Some(hand)),
                    &Face { centre: p, half: 0.3 * size, n: normal, points },
                    &surface,
                    &mut gaps,
                );
            }
            if arrangement == 1 {
                let foot = along(&at, -size, &UP);
                w.face(
                    (body, None),
                    &Face { centre: foot, half: size, n: UP, points: 4 },
                    &surface,
                    &mut gaps,
                );
            }
            light.push(body);
        }
    }
    if w.random.chance(0.4) {
        let block = w.random.pick(&light);
        let force = w.random.decade(-2.0, 0.5);
        w.pull(block, force);
    }
    let weightless = w.random.chance(0.3);
    for body in light {
        let share = if nearly { w.random.decade(-10.0, -6.0) } else { 0.0 };
        w.p.P[body].iter_mut().for_each(|P| *P *= share);
        if weightless {
            let first = w.first(body);
            for c in &mut w.p.c[first..first + 6] {
                *c *= share;
            }
        }
    }
}
