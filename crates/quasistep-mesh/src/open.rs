//! Opens files referenced by a mesh, each once, within limits.

use crate::{Image, Mesh};
use std::collections::BTreeMap;
use std::io;

/// Opens a referenced file: returns the bytes at a path relative to the mesh file.
pub type Open<'a> = &'a mut dyn FnMut(&str) -> io::Result<Vec<u8>>;

/// Most files referenced by one mesh; those of robots reference up to ten files with 10 MB.
const MAX_FILES: usize = 64;
const MAX_BYTES: usize = 1 << 29;
/// Most images of one mesh that are decoded; each takes part of a second.
const MAX_IMAGES: usize = 64;

/// Decoded images by their bytes, because meshes of a robot share textures.
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

/// Opens files by the paths or URIs in a mesh file.
pub(crate) struct Opener<'a> {
    open: Open<'a>,
    pictures: &'a mut Textures,
    files: usize,
    bytes: usize,
    /// Textures by the name in the file: index in [`Mesh::images`], `None` if unusable.
    textures: BTreeMap<String, Option<usize>>,
}

impl<'a> Opener<'a> {
    pub fn new(open: Open<'a>, pictures: &'a mut Textures) -> Self {
        Self { open, pictures, files: 0, bytes: 0, textures: BTreeMap::new() }
    }

    /// The bytes of the file at a path.
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

    /// The bytes of a URI: embedded data, or a file.
    pub fn uri(&mut self, uri: &str) -> Result<Vec<u8>, String> {
        if let Some(data) = uri.strip_prefix("data:") {
            use base64::Engine;
            let base64 = base64::engine::general_purpose::STANDARD_PAD_INDIFFERENT;
            let (_, coded) = data.split_once(";base64,").ok_or("a data URI without base64 data")?;
            return base64.decode(coded.trim_end()).map_err(|e| format!("a data URI: {e}"));
        }
        self.path(&unescape(uri))
    }

    /// The result for a texture that was requested before.
    pub fn known(&self, name: &str) -> Option<Option<usize>> {
        self.textures.get(name).copied()
    }

    /// The texture with this name. A reason why it cannot be drawn is noted once.
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
            // not cached, because a hostile file may have many
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

/// Decodes percent escapes such as `%20`.
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
