//! Reads messages of ROS 2 as they are serialised: Common Data Representation, version 1 (XCDR1).

/// Bytes of a message. Each number is aligned to its size, from the end of the four bytes at the start on.
pub struct Cdr<'a> {
    bytes: &'a [u8],
    at: usize,
    is_little: bool,
}

impl<'a> Cdr<'a> {
    /// `None` if the message is of another representation.
    pub fn new(message: &'a [u8]) -> Option<Self> {
        let (head, bytes) = message.split_at_checked(4)?;
        // plain CDR, big or little endian
        let is_little = match head[..2] {
            [0, 0] => false,
            [0, 1] => true,
            _ => return None,
        };
        Some(Self { bytes, at: 0, is_little })
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.at = self.at.checked_next_multiple_of(N)?;
        let taken = self.bytes.get(self.at..self.at.checked_add(N)?)?;
        self.at += N;
        let mut own: [u8; N] = taken.try_into().ok()?;
        if !self.is_little {
            own.reverse();
        }
        Some(own)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    pub fn f64(&mut self) -> Option<f64> {
        self.take().map(f64::from_le_bytes)
    }

    /// A string without the zero at its end.
    pub fn string(&mut self) -> Option<String> {
        let n = self.u32()? as usize;
        let taken = self.bytes.get(self.at..self.at.checked_add(n)?)?;
        self.at += n;
        let text = taken.strip_suffix(&[0]).unwrap_or(taken);
        Some(String::from_utf8_lossy(text).into_owned())
    }

    /// A sequence, each entry by `one`.
    pub fn list<T>(&mut self, one: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let n = self.u32()? as usize;
        // an entry has at least four bytes
        if n > self.bytes.len() / 4 {
            return None;
        }
        (0..n).map(|_| one(self)).collect()
    }

    pub fn numbers<const N: usize>(&mut self) -> Option<[f64; N]> {
        let mut all = [0.0; N];
        for x in &mut all {
            *x = self.f64()?;
        }
        Some(all)
    }

    /// `std_msgs/Header`: time in ns, 0 if it was not set, and frame.
    pub fn header(&mut self) -> Option<(i64, String)> {
        let (seconds, nanoseconds) = (self.u32()? as i32, self.u32()?);
        Some((i64::from(seconds) * 1_000_000_000 + i64::from(nanoseconds), self.string()?))
    }
}
