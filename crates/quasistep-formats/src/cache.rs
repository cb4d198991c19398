//! Results that are kept from run to run under a hash of all that they follow from.

use crate::files;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Tells results of this version from those of others. The number counts changes of what is kept, or of how it is
/// made, within a version of the crate.
const FORMAT: &str = concat!("quasistep ", env!("CARGO_PKG_VERSION"), ", 1");

/// A hash that is as good as the bytes themselves.
pub type Digest = [u8; 32];

/// The hash of bytes.
pub fn digest(bytes: &[u8]) -> Digest {
    *blake3::hash(bytes).as_bytes()
}

/// What a result follows from.
pub struct Key(blake3::Hasher);

impl Key {
    /// Of the results that `what` names.
    pub fn new(what: &str) -> Self {
        Self(blake3::Hasher::new()).with(FORMAT.as_bytes()).with(what.as_bytes())
    }

    /// Adds something that the result follows from.
    pub fn with(mut self, bytes: &[u8]) -> Self {
        // lengths keep `ab, c` and `a, bc` apart
        self.0.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        self
    }

    fn name(&self) -> String {
        self.0.finalize().to_hex().to_string()
    }

    /// The result, if it is kept and whole.
    pub fn find<T: DeserializeOwned>(&self) -> Option<T> {
        let bytes = files::kept(&self.name())?;
        let (seal, body) = bytes.split_first_chunk()?;
        // anything may lie in a folder: what is cut short or foreign is made again
        if *seal == digest(body) { postcard::from_bytes(body).ok() } else { None }
    }

    /// Keeps the result.
    pub fn keep<T: Serialize>(&self, result: &T) {
        let Ok(body) = postcard::to_stdvec(result) else { return };
        let mut bytes = digest(&body).to_vec();
        bytes.extend(body);
        files::keep(&self.name(), &bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::Key;

    #[test]
    fn keys_differ_where_what_they_follow_from_does() {
        let names: Vec<String> = [
            Key::new("a").with(b"bc"),
            Key::new("a").with(b"b").with(b"c"),
            Key::new("ab").with(b"c"),
            Key::new("a").with(b"bd"),
        ]
        .iter()
        .map(Key::name)
        .collect();
        for (k, name) in names.iter().enumerate() {
            assert!(name.len() == 64 && !names[..k].contains(name));
        }
    }
}
