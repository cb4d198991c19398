//! The page of a run that goes on: its frames arrive one by one.

use crate::ViewError;
use crate::drawn::pose;
use crate::page::live_page_with;
use quasistep_math::Vec3;
use quasistep_record::{Contact, Frame, Recording};
use serde_json::Value;

/// The page of a run that goes on. `head` is its recording with the frame at its start alone. `live` is
/// what the page offers to change, as its program reads it. The page may connect to `sockets`, each
/// like `ws://127.0.0.1:8000`, and gets the later frames from there: [`live_frame`].
///
/// # Errors
///
/// [`ViewError::NoBundle`] if this build has no viewer; [`ViewError::Recording`] if the recording is
/// inconsistent.
pub fn live_page(head: &Recording, live: &Value, sockets: &[String]) -> Result<String, ViewError> {
    live_page_with(head, live, sockets)
}

/// A frame as bytes for a [`live_page`], little-endian: numbers of commands, readings, bodies and
/// contacts and one zero as 32-bit words, the force that pulls a body (N) and its point (m), then the columns of the page in their order.
pub fn live_frame(frame: &Frame, pull: [Vec3; 2]) -> Vec<u8> {
    let contacts = &frame.contacts;
    let mut out = Vec::with_capacity(
        64 + 8 * (2 * frame.q.len()) + 28 * frame.X_WB.len() + 72 * contacts.len(),
    );
    let counts = [
        frame.q_cmd.len(),
        frame.sensors.len(),
        frame.X_WB.len(),
        contacts.len(),
        frame.q.len(),
        0,
    ];
    words(&mut out, counts.into_iter());
    doubles(&mut out, pull.iter().flat_map(|v| v.to_array()));
    doubles(&mut out, std::iter::once(frame.t));
    for column in [&frame.q, &frame.q_cmd, &frame.effort] {
        doubles(&mut out, column.iter().copied());
    }
    singles(&mut out, frame.sensors.iter().copied());
    singles(&mut out, frame.X_WB.iter().flat_map(pose));
    words(&mut out, contacts.iter().map(|c| c.a));
    words(&mut out, contacts.iter().map(|c| c.b));
    words(&mut out, contacts.iter().map(|c| c.mode as usize));
    let vectors: [fn(&Contact) -> Vec3; 3] = [|c| c.p_W, |c| c.n_AB_W, |c| c.force_W];
    for of in vectors {
        singles(&mut out, contacts.iter().flat_map(|c| of(c).to_array()));
    }
    let numbers: [fn(&Contact) -> f64; 5] =
        [|c| c.phi, |c| c.phi_next, |c| c.normal_force, |c| c.spin, |c| c.mu];
    for of in numbers {
        singles(&mut out, contacts.iter().map(of));
    }
    out
}

fn words(out: &mut Vec<u8>, numbers: impl Iterator<Item = usize>) {
    out.extend(numbers.flat_map(|n| (n as u32).to_le_bytes()));
}

fn doubles(out: &mut Vec<u8>, numbers: impl Iterator<Item = f64>) {
    out.extend(numbers.flat_map(f64::to_le_bytes));
}

fn singles(out: &mut Vec<u8>, numbers: impl Iterator<Item = f64>) {
    out.extend(numbers.flat_map(|x| (x as f32).to_le_bytes()));
}
