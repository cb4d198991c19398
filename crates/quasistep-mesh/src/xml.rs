//! XML parsing with bounds on size and time.

use roxmltree::{Document, Error, ParsingOptions};

/// Most nodes of a document, 100 bytes each; a robot of 10 000 links has about 200 000.
const MOST_NODES: u32 = 4_000_000;
/// Most attributes of an element; the parser compares all pairs. MuJoCo's elements have up to 40.
const MOST_ATTRIBUTES: usize = 1000;

/// Parses a document.
///
/// # Errors
///
/// Line number and message: invalid XML, too many nodes, or too many attributes of an element.
pub fn parse(text: &str) -> Result<Document<'_>, (usize, String)> {
    check(text)?;
    parse_checked(text).map_err(|e| (e.pos().row as usize, e.to_string()))
}

/// Parses a document for which [`check`] succeeded.
///
/// # Errors
///
/// The parser's error.
pub fn parse_checked(text: &str) -> Result<Document<'_>, Error> {
    Document::parse_with_options(
        text,
        ParsingOptions { nodes_limit: MOST_NODES, ..ParsingOptions::default() },
    )
}

/// Counts attributes before parsing.
///
/// # Errors
///
/// Line number and message for an element with too many attributes.
pub fn check(text: &str) -> Result<(), (usize, String)> {
    let (mut quote, mut attributes) = (None, 0_usize);
    for (at, &byte) in text.as_bytes().iter().enumerate() {
        match (byte, quote) {
            (b'"' | b'\'', None) => quote = Some(byte),
            (_, Some(open)) if byte == open => quote = None,
            (b'=', None) => {
                attributes += 1;
                if attributes > MOST_ATTRIBUTES {
                    let line = 1 + text[..at].matches('\n').count();
                    let message = format!("more than {MOST_ATTRIBUTES} attributes of an element");
                    return Err((line, message));
                }
            }
            (b'<' | b'>', None) => attributes = 0,
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn attributes_are_counted_by_element() {
        let element = |n: usize, rest: &str| {
            let all: String =
                (0..n).map(|k| format!(" a{k}='> = \"'")).collect::<Vec<_>>().concat();
            format!("<r>\n<a{all}>{rest}</a></r>")
        };
        let many = element(1000, "<b c='d'/>");
        assert!(parse(&many).is_ok());
        let (line, message) = parse(&element(1001, "")).unwrap_err();
        assert!(line == 2 && message.contains("1000 attributes"), "{line}: {message}");
    }
}
