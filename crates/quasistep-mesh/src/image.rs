//! Textures: PNG and JPEG images, reduced if they are large.

use std::io::Cursor;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// Largest size of a texture, in bytes, so that a page with twenty textures is below 30 MB. Larger
/// images are halved repeatedly.
const MAX_BYTES: usize = 1 << 20;
/// Largest number of pixels along a side, enough for a robot link on a screen. Larger images are
/// halved repeatedly.
const MAX_SIDE: usize = 2048;
/// Most pixels of an image that is decoded; they take 256 MB temporarily.
const MAX_PIXELS: usize = 1 << 26;

/// An image in a format that every browser supports.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// MIME type: `image/png` or `image/jpeg`.
    pub mime: &'static str,
    /// Contents of the image file.
    pub bytes: Vec<u8>,
    /// Mean colour of the pixels, weighted by opacity: red, green, blue in sRGB, from 0 to 1.
    pub mean_color: [f32; 3],
}

/// Decoded pixels, four bytes each: red, green, blue, opacity.
struct Pixels {
    width: usize,
    height: usize,
    rgba: Vec<[u8; 4]>,
}

impl Image {
    /// An image from the bytes of a PNG or JPEG file.
    ///
    /// # Errors
    ///
    /// A message if the format is unknown, the image cannot be decoded, or it is too large.
    pub fn new(bytes: Vec<u8>) -> Result<Self, String> {
        let (mime, pixels) = match bytes.as_slice() {
            [0x89, b'P', b'N', b'G', ..] => ("image/png", Pixels::from_png(&bytes)?),
            [0xff, 0xd8, 0xff, ..] => ("image/jpeg", Pixels::from_jpeg(&bytes)?),
            _ => return Err("is no PNG and no JPEG picture".to_owned()),
        };
        let mean_color = pixels.mean_color();
        let mut image = Self { mime, bytes, mean_color };
        let mut pixels = pixels;
        while image.bytes.len() > MAX_BYTES || pixels.width.max(pixels.height) > MAX_SIDE {
            pixels = pixels.half();
            // a photograph takes more than one byte per pixel as PNG
            while pixels.width * pixels.height > MAX_BYTES {
                pixels = pixels.half();
            }
            image.mime = "image/png";
            image.bytes = pixels.to_png().map_err(|e| e.to_string())?;
        }
        Ok(image)
    }
}

impl Pixels {
    fn from_png(bytes: &[u8]) -> Result<Self, String> {
        let fault = |e: png::DecodingError| format!("is no PNG picture: {e}");
        let limits = png::Limits { bytes: 4 * MAX_PIXELS };
        let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().map_err(fault)?;
        let (width, height) = reader.info().size();
        check_size(width as usize, height as usize)?;
        let size = reader.output_buffer_size().ok_or("is too large")?;
        let mut buffer = vec![0; size];
        let info = reader.next_frame(&mut buffer).map_err(fault)?;
        buffer.truncate(info.buffer_size());
        Self::from_channels(width as usize, height as usize, info.color_type.samples(), &buffer)
    }

    fn from_jpeg(bytes: &[u8]) -> Result<Self, String> {
        let options = DecoderOptions::default().jpeg_set_out_colorspace(ColorSpace::RGB);
        let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
        let fault = |e: &dyn std::fmt::Display| format!("is no JPEG picture: {e}");
        decoder.decode_headers().map_err(|e| fault(&e))?;
        let (width, height) = decoder.dimensions().ok_or_else(|| fault(&"it has no size"))?;
        check_size(width, height)?;
        let buffer = decoder.decode().map_err(|e| fault(&e))?;
        Self::from_channels(width, height, 3, &buffer)
    }

    fn from_channels(
        width: usize,
        height: usize,
        channels: usize,
        buffer: &[u8],
    ) -> Result<Self, String> {
        let rgba: Vec<[u8; 4]> = buffer
            .chunks_exact(channels)
            .map(|p| match *p {
                [grey] => [grey, grey, grey, 255],
                [grey, alpha] => [grey, grey, grey, alpha],
                [red, green, blue] => [red, green, blue, 255],
                _ => [p[0], p[1], p[2], p[3]],
            })
            .collect();
        if rgba.len() == width * height && !rgba.is_empty() {
            Ok(Self { width, height, rgba })
        } else {
            Err(format!("has {} pixels in place of {width} x {height}", rgba.len()))
        }
    }

    fn mean_color(&self) -> [f32; 3] {
        let weight = |p: &[u8; 4]| u64::from(p[3]);
        let all: u64 = self.rgba.iter().map(weight).sum();
        std::array::from_fn(|i| {
            let sum: u64 = self.rgba.iter().map(|p| u64::from(p[i]) * weight(p)).sum();
            if all == 0 { 1.0 } else { (sum as f64 / (255 * all) as f64) as f32 }
        })
    }

    /// The image at half the size: means of two by two pixels.
    fn half(&self) -> Self {
        let (width, height) = (self.width.div_ceil(2), self.height.div_ceil(2));
        let rgba = (0..width * height)
            .map(|k| {
                let (x, y) = (2 * (k % width), 2 * (k / width));
                let pixel = |dx: usize, dy: usize| {
                    let (x, y) = ((x + dx).min(self.width - 1), (y + dy).min(self.height - 1));
                    self.rgba[y * self.width + x]
                };
                let four = [pixel(0, 0), pixel(1, 0), pixel(0, 1), pixel(1, 1)];
                std::array::from_fn(|i| {
                    (four.iter().map(|p| u32::from(p[i])).sum::<u32>().div_ceil(4)) as u8
                })
            })
            .collect();
        Self { width, height, rgba }
    }

    fn to_png(&self) -> Result<Vec<u8>, png::EncodingError> {
        let opaque = self.rgba.iter().all(|p| p[3] == 255);
        let channels = if opaque { 3 } else { 4 };
        let data: Vec<u8> = self.rgba.iter().flat_map(|p| p[..channels].iter().copied()).collect();
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, self.width as u32, self.height as u32);
        encoder.set_color(if opaque { png::ColorType::Rgb } else { png::ColorType::Rgba });
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        encoder.write_header()?.write_image_data(&data)?;
        Ok(out)
    }
}

fn check_size(width: usize, height: usize) -> Result<(), String> {
    if width.saturating_mul(height) > MAX_PIXELS {
        return Err(format!("is {width} x {height} pixels large; at most {MAX_PIXELS} are drawn"));
    }
    Ok(())
}
