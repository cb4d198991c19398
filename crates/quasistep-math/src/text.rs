//! How texts of others are shown: names and titles may come from files that no one has looked at.

use std::borrow::Cow;

/// True for characters that do something else than show a letter: control characters, among them
/// line breaks and the start of a terminal's commands, separators of lines, and marks that change
/// the direction of what follows.
pub fn is_command(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text in one line, with characters that [are commands](is_command) escaped as in Rust:
/// `\n`, `\u{1b}`.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(is_command) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_command(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn commands_are_escaped_and_letters_stay() {
        for (text, wanted) in [
            ("arm/lo\u{e4}d \u{4e8c} \u{1f916}", "arm/lo\u{e4}d \u{4e8c} \u{1f916}"),
            ("a\nb\r\tc", "a\\nb\\r\\tc"),
            ("\u{1b}[31mred\u{9b}0m\u{7f}", "\\u{1b}[31mred\\u{9b}0m\\u{7f}"),
            ("nul\0", "nul\\u{0}"),
            ("evil\u{202e}lmx.\u{2066}", "evil\\u{202e}lmx.\\u{2066}"),
            ("a\u{2028}b", "a\\u{2028}b"),
        ] {
            assert_eq!(shown(text), wanted);
        }
    }
}
