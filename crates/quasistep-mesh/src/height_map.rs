//! Height maps: grey PNG images whose brightness is a height.

use std::io::Cursor;

/// Most pixels of a height map.
const MAX_PIXELS: usize = 1 << 26;

/// Heights on a grid, from 0 (black) to 1 (white).
#[derive(Clone, Debug, PartialEq)]
pub struct HeightMap {
    /// Number of pixels along x and y.
    pub n: [usize; 2],
    /// Brightness of each pixel, with x varying fastest. The first row is the lowest of the image, at
    /// the smallest y.
    pub heights: Vec<f64>,
}

impl HeightMap {
    /// A height map from the bytes of a PNG file of 8 or 16 bits a pixel, without colours.
    ///
    /// # Errors
    ///
    /// A message if the image cannot be decoded, is too large or has colours.
    pub fn from_png(bytes: &[u8]) -> Result<Self, String> {
        let fault = |e: png::DecodingError| format!("is no PNG picture: {e}");
        let limits = png::Limits { bytes: 8 * MAX_PIXELS };
        let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().map_err(fault)?;
        let (width, height) = reader.info().size();
        let n = [width as usize, height as usize];
        if n[0].saturating_mul(n[1]) > MAX_PIXELS {
            return Err(format!(
                "is {width} x {height} pixels large; a height map has at most {MAX_PIXELS}"
            ));
        }
        let size = reader.output_buffer_size().ok_or("is too large")?;
        let mut buffer = vec![0; size];
        let info = reader.next_frame(&mut buffer).map_err(fault)?;
        buffer.truncate(info.buffer_size());
        let is_wide = info.bit_depth == png::BitDepth::Sixteen;
        let bytes_each = if is_wide { 2 } else { 1 };
        let channels = info.color_type.samples();
        let value = |sample: &[u8]| match *sample {
            [high, low] => f64::from(u16::from_be_bytes([high, low])) / f64::from(u16::MAX),
            _ => f64::from(sample[0]) / f64::from(u8::MAX),
        };
        let mut heights = Vec::with_capacity(n[0] * n[1]);
        for row in buffer.chunks_exact(n[0] * channels * bytes_each).rev() {
            for pixel in row.chunks_exact(channels * bytes_each) {
                let mut samples = pixel.chunks_exact(bytes_each);
                let first = samples.next().unwrap_or(&[0]);
                if channels > 2 && samples.take(2).any(|sample| sample != first) {
                    return Err("has colours; a height map is grey".to_owned());
                }
                heights.push(value(first));
            }
        }
        Ok(Self { n, heights })
    }
}
