//! Random changes of a file's bytes: removal, duplication, moves, replacement by harmful words,
//! truncation, growth.

use testkit::hard_problems::Random;

/// Words and numbers that are harmful in unexpected places.
const WORDS: [&str; 60] = [
    "nan",
    ".nan",
    "inf",
    ".inf",
    "-1",
    "0",
    "1e308",
    "-1e-320",
    "1e-300",
    "1000000000",
    "4294967296",
    "18446744073709551616",
    "-9223372036854775808",
    "0x7fffffff",
    "true",
    "none",
    "null",
    "~",
    "auto",
    "é",
    "\u{feff}",
    "\0",
    "\r\n",
    "'",
    "\"",
    "<",
    ">",
    "/>",
    "</",
    "<!--",
    "&amp;",
    "&x;",
    "<![CDATA[",
    "[",
    "]",
    "{",
    "}",
    "*",
    "&a",
    "*a",
    "- ",
    ": ",
    "|",
    "!!",
    "#",
    "%",
    "world",
    "__model__",
    "a::b",
    "::",
    "../../x",
    "package://",
    "free",
    "mesh",
    "plane",
    "body",
    "joint",
    "include",
    "replicate",
    "repeat: {count: 10000}",
];
/// Opening constructs without a closing one, for repetition.
const NESTS: [&str; 6] = ["[", "{a: ", "<a>", "- ", "(", "<body><geom size='1'/>"];
/// Largest growth of a file by one change, in bytes.
const GROWTH: usize = 1 << 16;

/// Makes a few changes of a file; `others` provide pieces to insert.
pub fn change(bytes: &mut Vec<u8>, others: &[&[u8]], random: &mut Random) {
    // mostly one change, because only the first of several errors is reported
    let times = if random.chance(0.7) { 1 } else { random.count(2, 4) };
    for _ in 0..times {
        if bytes.is_empty() {
            break;
        }
        once(bytes, others, random);
    }
}

fn once(bytes: &mut Vec<u8>, others: &[&[u8]], random: &mut Random) {
    let n = bytes.len();
    let longest = random.pick(&[1, 1, 2, 4, 12, 200]);
    let start = random.below(n);
    let end = (start + 1 + random.below(longest)).min(n);
    let to = random.below(n);
    match random.below(14) {
        0 => drop(bytes.drain(start..end)),
        1 => {
            let piece = bytes[start..end].to_vec();
            insert(bytes, to, &piece);
        }
        2 => {
            let piece: Vec<u8> = bytes.drain(start..end).collect();
            let to = to.min(bytes.len());
            insert(bytes, to, &piece);
        }
        3 => bytes[start] ^= 1 << random.below(8),
        4 => bytes[start] = random.below(256) as u8,
        5 => {
            let from = others[random.below(others.len())];
            if !from.is_empty() {
                let first = random.below(from.len());
                let last = (first + 1 + random.below(longest)).min(from.len());
                let piece = from[first..last].to_vec();
                bytes.splice(start..end, piece);
            }
        }
        6 if random.chance(0.3) => bytes.truncate(start),
        7 if random.chance(0.2) => {
            let piece = bytes[start..end].repeat((GROWTH / (end - start)).min(1000));
            insert(bytes, to, &piece);
        }
        8 if random.chance(0.2) => {
            let nest = random.pick(&NESTS);
            insert(bytes, to, nest.repeat(random.below(GROWTH / nest.len())).as_bytes());
        }
        // replace a whole number or word
        9..=11 => {
            let (start, end) = token(bytes, start);
            let word = random.pick(&WORDS);
            bytes.splice(start..end, word.bytes());
        }
        _ => {
            let word = random.pick(&WORDS);
            bytes.splice(start..end, word.bytes());
        }
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    drop(bytes.splice(at..at, piece.iter().copied()));
}

/// Range of letters, digits and signs around an index.
fn token(bytes: &[u8], at: usize) -> (usize, usize) {
    let within = |b: &u8| b.is_ascii_alphanumeric() || b"+-._".contains(b);
    let before = bytes[..at].iter().rev().take_while(|b| within(b)).count();
    let after = bytes[at..].iter().take_while(|b| within(b)).count();
    (at - before, at + after)
}
