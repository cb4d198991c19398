//! Cache of computed results between runs, under a hash of all inputs.

use crate::files;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Format tag of cached results. The number changes when the stored data, or their computation,
/// change within one version of the crate.
const FORMAT: &str = concat!("quasistep ", env!("CARGO_PKG_VERSION"), ", 2");

/// A BLAKE3 hash.
pub type Digest = [u8; 32];

/// The BLAKE3 hash of bytes.
pub fn digest(bytes: &[u8]) -> Digest {
    *blake3::hash(bytes).as_bytes()
}

/// Key of a cached result: a hash of its inputs.
pub struct Key(blake3::Hasher);

impl Key {
    /// An empty key for results of the kind `what`.
    pub fn new(what: &str) -> Self {
        Self(blake3::Hasher::new()).with(FORMAT.as_bytes()).with(what.as_bytes())
    }

    /// Adds an input of the result.
    pub fn with(mut self, bytes: &[u8]) -> Self {
        // hash lengths too, so that `ab, c` and `a, bc` differ
        self.0.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        self
    }

    fn name(&self) -> String {
        self.0.finalize().to_hex().to_string()
    }

    /// The cached result; `None` if it is missing or damaged.
    pub fn find<T: DeserializeOwned>(&self) -> Option<T> {
        let bytes = files::kept(&self.name())?;
        let (seal, body) = bytes.split_first_chunk()?;
        // truncated or foreign files are possible: ignore them and compute the result again
        if *seal == digest(body) { postcard::from_bytes(body).ok() } else { None }
    }

    /// Stores the result; failures are ignored.
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
