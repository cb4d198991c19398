//! Contacts of a block of frames. A contact that repeats one of the frame before, to the bit, is a
//! reference to it: bodies at rest take next to no room and no time.

use crate::columns::{Digits, Packer, Unpacker};
use crate::{Contact, ContactKey, Frame, Mode};
use quasistep_math::Vec3;

/// Most contacts of a block: repeated ones take little room in a file, but memory as others do.
const MOST_CONTACTS: usize = 3_000_000;

/// First version of the file in which contacts may repeat.
const REPEATS_FROM: u32 = 8;

/// The vectors of a contact, in the order of the file.
const VECTORS: [fn(&Contact) -> Vec3; 4] = [|c| c.p_W, |c| c.n_AB_W, |c| c.force_W, |c| c.roll_W];
/// The numbers of a contact, in the order of the file.
const NUMBERS: [fn(&Contact) -> f64; 5] =
    [|c| c.phi, |c| c.phi_next, |c| c.normal_force, |c| c.spin, |c| c.mu];

/// Number of a contact within its body pair and shapes, by which contacts of two frames are matched.
fn order(c: &Contact) -> (usize, usize, usize, usize, u32) {
    (c.key.shape_a, c.key.shape_b, c.a, c.b, c.key.feature)
}

/// True if two contacts are equal to the bit.
fn repeats(a: &Contact, b: &Contact) -> bool {
    let same = |x: f64, y: f64| x.to_bits() == y.to_bits();
    order(a) == order(b)
        && a.mode == b.mode
        && NUMBERS.iter().all(|number| same(number(a), number(b)))
        && VECTORS.iter().all(|vector| {
            let pairs = vector(a).to_array().into_iter().zip(vector(b).to_array());
            pairs.into_iter().all(|(x, y)| same(x, y))
        })
}

/// For each contact of a frame: 0, or one more than the index of the contact that it repeats in the
/// frame before. Contacts that are not in the order of their shapes may be missed.
fn sources(before: &[Contact], frame: &[Contact], out: &mut Vec<usize>) {
    let mut at = 0;
    for contact in frame {
        while before.get(at).is_some_and(|b| order(b) < order(contact)) {
            at += 1;
        }
        out.push(if before.get(at).is_some_and(|b| repeats(b, contact)) { at + 1 } else { 0 });
    }
}

/// Appends the contacts of a block: the number of each frame, the sources, and the columns of those
/// that repeat none.
pub(crate) fn pack_contacts(frames: &[Frame], digits: Digits, out: &mut Packer) {
    let mut from = Vec::new();
    let mut before: &[Contact] = &[];
    for frame in frames {
        sources(before, &frame.contacts, &mut from);
        before = &frame.contacts;
    }
    let all = frames.iter().flat_map(|f| &f.contacts);
    let new: Vec<&Contact> = all.zip(&from).filter(|(_, k)| **k == 0).map(|(c, _)| c).collect();
    out.words(frames.iter().map(|f| f.contacts.len()));
    out.words(from.iter().copied());
    out.words(new.iter().map(|c| c.a));
    out.words(new.iter().map(|c| c.b));
    out.words(new.iter().map(|c| c.key.shape_a));
    out.words(new.iter().map(|c| c.key.shape_b));
    out.words(new.iter().map(|c| c.key.feature as usize));
    out.words(new.iter().map(|c| c.mode as usize));
    for vector in VECTORS {
        out.reals(digits, new.iter().flat_map(|c| vector(c).to_array()));
    }
    for number in NUMBERS {
        out.reals(digits, new.iter().map(|c| number(c)));
    }
}

/// Reads the contacts of `n` frames.
pub(crate) fn unpack_contacts(
    from: &mut Unpacker<'_>,
    digits: Digits,
    n: usize,
    version: u32,
) -> Result<Vec<Vec<Contact>>, String> {
    let counts = from.words(n)?;
    let total = counts.iter().fold(0_usize, |sum, k| sum.saturating_add(*k));
    if total > MOST_CONTACTS {
        return Err(format!("{total} contacts; at most {MOST_CONTACTS} are read"));
    }
    let sources = if version < REPEATS_FROM { vec![0; total] } else { from.words(total)? };
    let n_new = sources.iter().filter(|k| **k == 0).count();
    let mut new = unpack_new(from, digits, n_new)?.into_iter();
    let mut sources = sources.into_iter();
    let mut frames: Vec<Vec<Contact>> = Vec::with_capacity(n);
    for (i, count) in counts.into_iter().enumerate() {
        let before = frames.last();
        let contact = |source: usize| match source.checked_sub(1) {
            None => new.next().ok_or_else(|| format!("frame {i} misses a contact")),
            Some(k) => before.and_then(|all| all.get(k).copied()).ok_or_else(|| {
                let known = before.map_or(0, Vec::len);
                format!("a contact of frame {i} repeats number {k} of {known}")
            }),
        };
        let contacts = sources.by_ref().take(count).map(contact).collect::<Result<_, _>>()?;
        frames.push(contacts);
    }
    Ok(frames)
}

/// Reads the columns of contacts that repeat none.
fn unpack_new(from: &mut Unpacker<'_>, digits: Digits, n: usize) -> Result<Vec<Contact>, String> {
    let [a, b, shape_a, shape_b, feature, mode] = columns(|| from.words(n))?;
    let [p, normal, force, roll] = columns(|| from.reals(digits, n.saturating_mul(3)))?;
    let [phi, phi_next, normal_force, spin, mu] = columns(|| from.reals(digits, n))?;
    let contact = |j: usize| {
        Ok(Contact {
            a: a[j],
            b: b[j],
            p_W: vector(&p, j),
            n_AB_W: vector(&normal, j),
            phi: phi[j],
            phi_next: phi_next[j],
            normal_force: normal_force[j],
            force_W: vector(&force, j),
            spin: spin[j],
            roll_W: vector(&roll, j),
            mode: *Mode::ALL
                .get(mode[j])
                .ok_or_else(|| format!("contact mode {}; valid are 0, 1, 2", mode[j]))?,
            mu: mu[j],
            key: ContactKey {
                shape_a: shape_a[j],
                shape_b: shape_b[j],
                feature: feature[j] as u32,
            },
        })
    };
    (0..n).map(contact).collect()
}

/// Reads `N` consecutive columns of the same kind.
fn columns<T, const N: usize>(
    mut next: impl FnMut() -> Result<Vec<T>, String>,
) -> Result<[Vec<T>; N], String> {
    let mut all = [const { Vec::new() }; N];
    for column in &mut all {
        *column = next()?;
    }
    Ok(all)
}

fn vector(column: &[f64], i: usize) -> Vec3 {
    Vec3::new(column[3 * i], column[3 * i + 1], column[3 * i + 2])
}
