//! What a mesh file refers to, opened once each and not without end.

use crate::{Image, Mesh};
use std::collections::BTreeMap;
use std::io;

/// Opens what a file refers to: the bytes at a path relative to that file.
pub type Open<'a> = &'a mut dyn FnMut(&str) -> io::Result<Vec<u8>>;

/// Files that one mesh may refer to, and their bytes in all: those of robots refer to ten and 10 MB.
const MAX_FILES: usize = 64;
const MAX_BYTES: usize = 1 << 29;
/// Pictures of one mesh that are looked into: each takes part of a second.
const MAX_IMAGES: usize = 64;

/// Pictures that were looked into before, by their bytes: meshes of one robot share textures.
#[derive(Debug, Default)]
pub struct Textures(BTreeMap<Vec<u8>, Result<Image, String>>);

impl Textures {
    fn image(&mut self, bytes: Vec<u8>) -> Result<Image, String> {
        if let Some(known) = self.0.get(&bytes) {
            return known.clone();
        }
        let image = Image::new(bytes.clone());
        self.0.insert(bytes, image.clone());
        image
    }
}

/// Opens files by the paths that a file gives.
pub(crate) struct Opener<'a> {
    open: Open<'a>,
    pictures: &'a mut Textures,
    files: usize,
    bytes: usize,
    /// Textures by the name that the file gives: index of [`Mesh::images`], none if it cannot be drawn.
    textures: BTreeMap<String, Option<usize>>,
}

impl<'a> Opener<'a> {
    pub fn new(open: Open<'a>, pictures: &'a mut Textures) -> Self {
        Self { open, pictures, files: 0, bytes: 0, textures: BTreeMap::new() }
    }

    /// The bytes of a file.
    pub fn path(&mut self, path: &str) -> Result<Vec<u8>, String> {
        if self.files == MAX_FILES {
            return Err(format!("`{path}` is one file too many; a mesh may refer to {MAX_FILES}"));
        }
        self.files += 1;
        let bytes = (self.open)(path).map_err(|e| format!("`{path}`: {e}"))?;
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > MAX_BYTES {
            return Err(format!("`{path}`: the files of a mesh may have {MAX_BYTES} bytes in all"));
        }
        Ok(bytes)
    }

    /// The bytes that a URI stands for: data in it, or a file.
    pub fn uri(&mut self, uri: &str) -> Result<Vec<u8>, String> {
        if let Some(data) = uri.strip_prefix("data:") {
            use base64::Engine;
            let base64 = base64::engine::general_purpose::STANDARD_PAD_INDIFFERENT;
            let (_, coded) = data.split_once(";base64,").ok_or("a data URI without base64 data")?;
            return base64.decode(coded.trim_end()).map_err(|e| format!("a data URI: {e}"));
        }
        self.path(&unescape(uri))
    }

    /// What became of a texture that has been looked for.
    pub fn known(&self, name: &str) -> Option<Option<usize>> {
        self.textures.get(name).copied()
    }

    /// A texture under the name that the file gives it; what keeps it from being drawn is noted once.
    pub fn texture(
        &mut self,
        mesh: &mut Mesh,
        name: &str,
        read: impl FnOnce(&mut Self) -> Result<Vec<u8>, String>,
    ) -> Option<usize> {
        if let Some(known) = self.known(name) {
            return known;
        }
        let image = if self.textures.len() < MAX_IMAGES {
            read(self)
                .and_then(|bytes| self.pictures.image(bytes).map_err(|e| format!("`{name}` {e}")))
        } else {
            // nothing is remembered of these: a hostile file has many
            return None;
        };
        let index = match image {
            Ok(image) => {
                mesh.images.push(image);
                Some(mesh.images.len() - 1)
            }
            Err(message) => {
                mesh.notes.push(format!("a texture is not drawn: {message}"));
                None
            }
        };
        self.textures.insert(name.to_owned(), index);
        index
    }
}

/// `%20` and its like as the bytes that they stand for.
fn unescape(uri: &str) -> String {
    let mut out = Vec::with_capacity(uri.len());
    let mut rest = uri.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let hex = |b: &u8| char::from(*b).to_digit(16);
        match tail {
            [a, b, after @ ..] if first == b'%' && hex(a).is_some() && hex(b).is_some() => {
                out.push((16 * hex(a).unwrap_or(0) + hex(b).unwrap_or(0)) as u8);
                rest = after;
            }
            _ => {
                out.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
