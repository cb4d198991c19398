//! Updates scene files of earlier versions.

/// Renamed keys and values: key, old value, and replacement.
const WORDS: [(&str, &str, &str); 4] = [
    ("formulation", "anitescu", "friction: convex"),
    ("formulation", "coulomb", "friction: exact"),
    ("formulation", "dynamic", "motion: dynamic"),
    ("fallback", "anitescu_potra", "fallback: without_recovery"),
];

/// The text of a scene file with old keys replaced; everything else stays the same, including
/// comments.
pub fn renew(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((at, end, new)) = WORDS.iter().filter_map(|words| find(rest, words)).min() {
        out.push_str(&rest[..at]);
        out.push_str(new);
        rest = &rest[end..];
    }
    out + rest
}

/// Start and end of the first `key: value` in the text, quoted or not, and its replacement.
fn find<'a>(
    text: &str,
    (key, value, new): &(&str, &str, &'a str),
) -> Option<(usize, usize, &'a str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let is_quote = |c: char| c == '"' || c == '\'';
    text.match_indices(key).find_map(|(at, _)| {
        let before = text[..at].trim_end_matches(is_quote);
        let after = text[at + key.len()..].trim_start_matches(is_quote).trim_start_matches(' ');
        let after = after.strip_prefix(':')?.trim_start_matches(' ').trim_start_matches(is_quote);
        let after = after.strip_prefix(value)?;
        let whole = !before.ends_with(is_word) && !after.starts_with(is_word);
        let after = after.trim_start_matches(is_quote);
        whole.then_some((before.len(), text.len() - after.len(), *new))
    })
}

#[cfg(test)]
mod tests {
    use super::renew;

    #[test]
    fn old_words_become_new_ones_wherever_they_stand() {
        let old = "step: {size: 0.1, formulation: coulomb}  # formulation of old\n\
                   step:\n  formulation: 'dynamic'\n  \"formulation\" : \"anitescu\"\n\
                   a: {my_formulation: coulomb, formulation: coulombs, fallback: anitescu_potra}\n";
        let new = "step: {size: 0.1, friction: exact}  # formulation of old\n\
                   step:\n  motion: dynamic\n  friction: convex\n\
                   a: {my_formulation: coulomb, formulation: coulombs, fallback: without_recovery}\n";
        assert_eq!(renew(old), new);
        assert_eq!(renew(new), new);
    }
}
