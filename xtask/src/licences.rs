//! Checks that the licence of every dependency is compatible with ours.

use crate::task::{Failure, metadata};

/// Licences without obligations beyond a notice.
const PERMISSIVE: [&str; 12] = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "Unlicense",
    "CC0-1.0",
    "BSL-1.0",
];

pub fn check() -> Result<(), Failure> {
    let metadata = metadata(&[])?;
    let mut complaints = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let licence = package["license"].as_str().unwrap_or("none");
        if !permissive(licence) {
            complaints.push(format!("`{name}` is under `{licence}`"));
        }
    }
    if complaints.is_empty() { Ok(()) } else { Err(Failure::new(complaints.join("\n"))) }
}

/// Whether some alternative of an SPDX expression contains permissive licences only.
fn permissive(expression: &str) -> bool {
    let plain = expression.replace(['(', ')'], " ").replace('/', " OR ");
    plain.split(" OR ").any(|alternative| {
        alternative.split(" AND ").all(|licence| PERMISSIVE.contains(&licence.trim()))
    })
}

#[cfg(test)]
mod tests {
    use super::permissive;

    #[test]
    fn one_permissive_alternative_is_enough() {
        assert!(permissive("MIT OR Apache-2.0"));
        assert!(permissive("MIT/Apache-2.0"));
        assert!(permissive("GPL-3.0 OR MIT"));
        assert!(!permissive("GPL-3.0"));
        assert!(!permissive("MIT AND GPL-3.0"));
        assert!(!permissive("none"));
    }
}
