//! Numbers in binary files and in text.

/// Type of a number in a binary file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// Signed integer, 1 byte.
    I8,
    /// Unsigned integer, 1 byte.
    U8,
    /// Signed integer, 2 bytes.
    I16,
    /// Unsigned integer, 2 bytes.
    U16,
    /// Signed integer, 4 bytes.
    I32,
    /// Unsigned integer, 4 bytes.
    U32,
    /// Signed integer, 8 bytes.
    I64,
    /// Unsigned integer, 8 bytes.
    U64,
    /// IEEE 754 floating point, 4 bytes.
    F32,
    /// IEEE 754 floating point, 8 bytes.
    F64,
}

impl Scalar {
    /// Size of the type, in bytes.
    pub const fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// True for integer types.
    pub const fn is_whole(self) -> bool {
        !matches!(self, Self::F32 | Self::F64)
    }

    /// The number at offset `at`, in bytes; NaN if the bytes end before its end.
    pub fn read(self, bytes: &[u8], at: usize, big_endian: bool) -> f64 {
        let bytes = bytes.get(at..).unwrap_or_default();
        macro_rules! number {
            ($kind:ty, $to_f64:expr) => {
                match bytes.first_chunk() {
                    None => f64::NAN,
                    Some(chunk) if big_endian => $to_f64(<$kind>::from_be_bytes(*chunk)),
                    Some(chunk) => $to_f64(<$kind>::from_le_bytes(*chunk)),
                }
            };
        }
        match self {
            Self::I8 => number!(i8, f64::from),
            Self::U8 => number!(u8, f64::from),
            Self::I16 => number!(i16, f64::from),
            Self::U16 => number!(u16, f64::from),
            Self::I32 => number!(i32, f64::from),
            Self::U32 => number!(u32, f64::from),
            Self::I64 => number!(i64, |x: i64| x as f64),
            Self::U64 => number!(u64, |x: u64| x as f64),
            Self::F32 => number!(f32, f64::from),
            Self::F64 => number!(f64, |x| x),
        }
    }
}

/// A number in text. Spellings of NaN and infinity are accepted too.
pub fn number(word: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(word).ok()?;
    if let Ok(x) = text.parse() {
        return Some(x);
    }
    // spellings of some C libraries: `-nan(ind)`, `1.#QNAN`, `1.#INF`
    let lower = text.to_ascii_lowercase();
    let none = ["nan(", "-nan(", "1.#", "-1.#"];
    none.iter().any(|start| lower.starts_with(start)).then_some(f64::NAN)
}

/// A word of a file for messages: at most 40 characters, with control characters replaced.
pub fn shown(word: &[u8]) -> String {
    let text = String::from_utf8_lossy(&word[..word.len().min(160)]);
    let mut short: String =
        text.chars().take(40).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().count() > 40 {
        short.push('…');
    }
    format!("`{short}`")
}
