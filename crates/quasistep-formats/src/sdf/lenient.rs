//! XML as Gazebo reads it, which strict parsers refuse.

use std::borrow::Cow;

/// A text with the same lines that a strict parser accepts. Gone are text before the first tag and
/// XML declarations that come later than at the start. Attributes without quotes get them, and an
/// `&` that begins no entity is escaped.
pub(super) fn strict(text: &str) -> Cow<'_, str> {
    let start = text.find('<').unwrap_or(0);
    let mut out = text[..start].replace(|c| c != '\n', "");
    let mut rest = &text[start..];
    let is_whole = out.is_empty() && start == 0;
    while let Some(open) = rest.find('<') {
        push_text(&mut out, &rest[..open]);
        rest = &rest[open..];
        let (length, kept) = if rest.starts_with("<!--") {
            (end(rest, "-->"), true)
        } else if rest.starts_with("<![CDATA[") {
            (end(rest, "]]>"), true)
        } else if rest.starts_with("<?xml ") {
            (end(rest, "?>"), out.is_empty())
        } else {
            let length = tag_end(rest);
            push_tag(&mut out, &rest[..length]);
            rest = &rest[length..];
            continue;
        };
        if kept {
            out.push_str(&rest[..length]);
        } else {
            out.extend(rest[..length].chars().filter(|c| *c == '\n'));
        }
        rest = &rest[length..];
    }
    push_text(&mut out, rest);
    if is_whole && out == text { Cow::Borrowed(text) } else { Cow::Owned(out) }
}

/// Length up to the end of `mark`; all if it is missing.
fn end(text: &str, mark: &str) -> usize {
    text.find(mark).map_or(text.len(), |at| at + mark.len())
}

/// Length of the tag at the start of a text; `>` within quotes does not end it.
fn tag_end(text: &str) -> usize {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '>') => return at + 1,
            (None, '"' | '\'') if text[..at].trim_end().ends_with('=') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            _ => {}
        }
    }
    text.len()
}

/// Adds text with an `&` escaped where it begins no entity.
fn push_text(out: &mut String, text: &str) {
    for (k, piece) in text.split('&').enumerate() {
        if k > 0 {
            let name = piece.split(';').next().filter(|name| name.len() < piece.len());
            let is_entity = name.is_some_and(|name| {
                let number = name.strip_prefix('#');
                let digits = number.map_or(name, |n| n.trim_start_matches('x'));
                !digits.is_empty() && digits.chars().all(|c| c.is_ascii_alphanumeric())
            });
            out.push_str(if is_entity { "&" } else { "&amp;" });
        }
        out.push_str(piece);
    }
}

/// Adds a tag with quotes around the values of its attributes.
fn push_tag(out: &mut String, tag: &str) {
    let mut rest = tag;
    while let Some(at) = rest.find('=') {
        let value = at + 1 + rest[at + 1..].len() - rest[at + 1..].trim_start().len();
        out.push_str(&rest[..value]);
        rest = &rest[value..];
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
        let length = if let Some(quote) = quote {
            rest[1..].find(quote).map_or(rest.len(), |end| end + 2)
        } else {
            let end = |c: char| c.is_whitespace() || c == '>';
            let word = &rest[..rest.find(end).unwrap_or(rest.len())];
            // the slash of an empty element ends the value
            let is_last = rest[word.len()..].starts_with('>');
            if is_last { word.trim_end_matches('/').len() } else { word.len() }
        };
        let own = if quote.is_none() { "\"" } else { "" };
        out.push_str(own);
        push_text(out, &rest[..length]);
        out.push_str(own);
        rest = &rest[length..];
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::strict;

    /// What a strict parser refuses is mended; line numbers stay.
    #[test]
    fn gazebos_xml_becomes_strict() {
        for (given, mended) in [
            ("\n<?xml version='1.0'?>\n<a/>", "\n\n<a/>"),
            ("<!-- by --><?xml version='1.0'?><a/>", "<!-- by --><a/>"),
            ("say\n<a b=c d = e/>", "\n<a b=\"c\" d = \"e\"/>"),
            ("<a b=1>x & y &amp; &#38; &x</a>", "<a b=\"1\">x &amp; y &amp; &#38; &amp;x</a>"),
            ("<a b='x>y=z' c=a/b><d/></a>", "<a b='x>y=z' c=\"a/b\"><d/></a>"),
            ("<a><![CDATA[b=c & d]]></a>", "<a><![CDATA[b=c & d]]></a>"),
        ] {
            assert_eq!(strict(given), mended);
        }
    }

    /// A strict text stays as it is, also where it ends early.
    #[test]
    fn strict_xml_stays() {
        for text in [
            "<?xml version=\"1.0\"?>\n<a b='1'>2</a>",
            "<a b=\"",
            "<a b",
            "<!-- a",
            "<",
            "",
            "<a>&lt;</a>",
        ] {
            assert_eq!(strict(text), text);
        }
    }
}
