//! Reads `recording.qsr` block by block, in bounded memory for any length.

use crate::columns::Digits;
use crate::file::{
    END, EXACT_FRAMES, FRAMES, HEAD, MAGIC, MOST_BYTES, OLDEST_VERSION, VERSION, from_head, unpack,
};
use crate::{Finish, Frame, RecordError, Recording};
use flate2::read::ZlibDecoder;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// Reads a recording, one block of frames at a time.
pub struct RecordingReader<R: Read> {
    from: R,
    file: PathBuf,
    /// Byte offset of the next block.
    at: u64,
    version: u32,
    head: Recording,
    n_frames: usize,
    /// Time of the last frame read, in s.
    end: f64,
    has_end: bool,
}

impl RecordingReader<BufReader<File>> {
    /// Opens a file and reads its head.
    ///
    /// # Errors
    ///
    /// Any [`RecordError`]; the error names the file and what was seen.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let open = || {
            // refuse pipes, which may block forever
            if !std::fs::metadata(path)?.is_file() {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
            }
            File::open(path)
        };
        let file = open().map_err(|e| RecordError::io(path, e))?;
        Self::new(BufReader::new(file), path)
    }
}

impl<R: Read> RecordingReader<R> {
    /// Reads a head; `path` is used in error messages.
    ///
    /// # Errors
    ///
    /// As for [`RecordingReader::open`].
    pub fn new(mut from: R, path: &Path) -> Result<Self, RecordError> {
        let malformed = |problem: String| RecordError::malformed(path, &problem);
        let mut take = |n: usize| exactly(&mut from, n).map_err(|e| RecordError::io(path, e));
        if take(MAGIC.len())?.as_deref() != Some(MAGIC.as_slice()) {
            let magic = String::from_utf8_lossy(MAGIC);
            return Err(malformed(format!("it does not begin with `{magic}`")));
        }
        let version = take(4)?.and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
        let version = version.ok_or_else(|| malformed("it ends in its version".into()))?;
        if !(OLDEST_VERSION..=VERSION).contains(&version) {
            let [got, want, least] = [version, VERSION, OLDEST_VERSION].map(u64::from);
            return Err(RecordError::Version { file: path.to_owned(), got, want, least });
        }
        let at = MAGIC.len() as u64 + 4;
        let here = |problem: String| malformed(format!("block at byte {at}: {problem}"));
        let block = next_block(&mut from).map_err(|e| e.at(path, at))?;
        let block = block.ok_or_else(|| malformed("it ends in its head".into()))?;
        if block.kind != HEAD {
            return Err(here(unexpected(block.kind)));
        }
        let head = serde_json::from_slice(&block.bytes).map_err(|e| here(e.to_string()))?;
        let head = from_head(head).map_err(here)?;
        head.check().map_err(|e| RecordError::inconsistent(path, e))?;
        let file = path.to_owned();
        let at = at + block.length;
        Ok(Self { from, file, at, version, head, n_frames: 0, end: 0.0, has_end: false })
    }

    /// The recording without its frames. Its `finish` is known after all frames are read.
    pub fn head(&self) -> &Recording {
        &self.head
    }

    /// The next block of frames. `None` at the end, or where the file was truncated; the head's
    /// [`finish`](Recording::finish) tells which.
    ///
    /// # Errors
    ///
    /// As for [`RecordingReader::open`].
    pub fn next_frames(&mut self) -> Result<Option<Vec<Frame>>, RecordError> {
        let at = self.at;
        let here = |problem: String| {
            RecordError::malformed(&self.file, &format!("block at byte {at}: {problem}"))
        };
        let block = next_block(&mut self.from).map_err(|e| e.at(&self.file, at))?;
        let Some(block) = block else {
            if !self.has_end && self.n_frames > 0 {
                let reason = format!("the recording is cut off after t = {} s", self.end);
                self.head.finish = Finish::Stopped { reason };
            }
            return Ok(None);
        };
        match block.kind {
            kind @ (FRAMES | EXACT_FRAMES) if !self.has_end => {
                let digits = if kind == FRAMES { Digits::Single } else { Digits::All };
                let is_first = self.n_frames == 0;
                let frames = unpack(&block.bytes, digits, (&self.head, self.version), is_first)
                    .map_err(here)?;
                for (k, frame) in (self.n_frames..).zip(&frames) {
                    self.head.check_frame(k, frame).map_err(|e| {
                        RecordError::inconsistent(&self.file, format!("frame {k}: {e}"))
                    })?;
                }
                self.n_frames += frames.len();
                self.end = frames.last().map_or(self.end, |frame| frame.t);
                self.at += block.length;
                Ok(Some(frames))
            }
            END if !self.has_end => {
                let finish = serde_json::from_slice(&block.bytes);
                self.head.finish = finish.map_err(|e| here(e.to_string()))?;
                self.has_end = true;
                self.at += block.length;
                self.next_frames()
            }
            kind => Err(here(unexpected(kind))),
        }
    }
}

fn unexpected(kind: u8) -> String {
    format!("kind `{}` is not expected here", kind.escape_ascii())
}

impl Recording {
    /// Reads a `recording.qsr`. A truncated file is read up to its last whole block, and its
    /// [`finish`](Recording::finish) says so.
    ///
    /// # Errors
    ///
    /// Any [`RecordError`]; the error names the file and what was seen.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        whole(RecordingReader::open(path)?, path)
    }

    /// Reads a `recording.qsr` with at most about `most_bytes` bytes of frames in memory. If it has
    /// more, only every second, fourth, … frame and the last one are kept. Also returns n if every
    /// n-th frame was kept.
    ///
    /// # Errors
    ///
    /// As for [`Recording::read`].
    pub fn read_within(path: &Path, most_bytes: usize) -> Result<(Self, usize), RecordError> {
        read_all(RecordingReader::open(path)?, most_bytes)
    }

    /// Reads the bytes of a `recording.qsr`; `path` is used in error messages.
    ///
    /// # Errors
    ///
    /// As for [`Recording::read`].
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, RecordError> {
        whole(RecordingReader::new(bytes, path)?, path)
    }
}

/// Largest memory of a recording's frames, in bytes; a file of a few megabytes could expand beyond
/// it.
const MOST_MEMORY: usize = 8 << 30;

/// Reads all frames, if their memory is within the limit.
fn whole<R: Read>(reader: RecordingReader<R>, path: &Path) -> Result<Recording, RecordError> {
    let (recording, every) = read_all(reader, MOST_MEMORY)?;
    if every > 1 {
        let problem = format!("its frames take more than {MOST_MEMORY} bytes of memory");
        return Err(RecordError::malformed(path, &problem));
    }
    Ok(recording)
}

fn read_all<R: Read>(
    mut reader: RecordingReader<R>,
    most_bytes: usize,
) -> Result<(Recording, usize), RecordError> {
    let (mut kept, mut every, mut size, mut k) = (Vec::new(), 1, 0_usize, 0);
    let mut last = None;
    while let Some(frames) = reader.next_frames()? {
        for frame in frames {
            if k % every == 0 {
                size += frame.memory();
                kept.push(frame);
                last = None;
            } else {
                last = Some(frame);
            }
            k += 1;
            while size > most_bytes && kept.len() > 1 {
                every *= 2;
                if kept.len().is_multiple_of(2) {
                    // keep the newest frame, because it may be the last
                    last = last.or(kept.pop());
                }
                let mut index = 0;
                kept.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                size = kept.iter().map(Frame::memory).sum();
            }
        }
    }
    kept.extend(last);
    let recording = Recording { frames: kept, ..reader.head };
    Ok((recording, every))
}

impl Frame {
    /// Memory of the frame, in bytes.
    pub fn memory(&self) -> usize {
        let lists = [&self.q, &self.v, &self.q_cmd, &self.effort, &self.sensors];
        let numbers: usize = lists.iter().map(|list| list.len()).sum();
        size_of::<Self>()
            + 8 * numbers
            + size_of_val(&self.X_WB[..])
            + size_of_val(&self.contacts[..])
    }
}

struct Block {
    kind: u8,
    bytes: Vec<u8>,
    /// Length in the file, including its own header, in bytes.
    length: u64,
}

/// Reason why a block could not be read.
enum Trouble {
    Io(io::Error),
    Spoilt(String),
}

impl Trouble {
    fn at(self, file: &Path, at: u64) -> RecordError {
        match self {
            Self::Io(error) => RecordError::io(file, error),
            Self::Spoilt(problem) => {
                RecordError::malformed(file, &format!("block at byte {at}: {problem}"))
            }
        }
    }
}

/// Reads exactly `n` bytes; `None` if there are fewer.
fn exactly(from: &mut impl Read, n: usize) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    // memory grows with the bytes present, not with the length given
    from.take(n as u64).read_to_end(&mut bytes)?;
    Ok((bytes.len() == n).then_some(bytes))
}

/// Reads the next block; `None` at the end, or if the last block is truncated.
fn next_block(from: &mut impl Read) -> Result<Option<Block>, Trouble> {
    const OWN_HEAD: usize = 17;
    let Some(head) = exactly(from, OWN_HEAD).map_err(Trouble::Io)? else { return Ok(None) };
    let number = |at: usize| head[at..].first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
    let (length, n_packed) = (number(1), number(9));
    if length > MOST_BYTES {
        let problem = format!("{length} bytes; at most {MOST_BYTES} are read");
        return Err(Trouble::Spoilt(problem));
    }
    // compression may make data slightly longer
    if n_packed > MOST_BYTES + MOST_BYTES / 1000 + 1000 {
        return Err(Trouble::Spoilt(format!(
            "{n_packed} packed bytes; at most {MOST_BYTES} are read"
        )));
    }
    let n = usize::try_from(n_packed).unwrap_or(usize::MAX);
    let Some(packed) = exactly(from, n).map_err(Trouble::Io)? else { return Ok(None) };
    let mut bytes = Vec::new();
    // reading one byte more than the length given detects a wrong length
    let read = ZlibDecoder::new(&packed[..]).take(length + 1).read_to_end(&mut bytes);
    read.map_err(|e| Trouble::Spoilt(format!("it is spoilt: {e}")))?;
    if bytes.len() as u64 != length {
        let problem = format!("it is spoilt: not the {length} bytes that it says");
        return Err(Trouble::Spoilt(problem));
    }
    Ok(Some(Block { kind: head[0], bytes, length: OWN_HEAD as u64 + n_packed }))
}
