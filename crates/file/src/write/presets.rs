//! Which preset a column gets: that of the longest path given for it or for what it is inside of.
//!
//! ```text
//! s = fast, s.a = small      s.a.item small     s.b fast     t the file's own
//! ```

use crate::choose::Preset;
use crate::{Error, Result};

/// Columns that an error lists.
const LISTED: usize = 12;

/// The preset given for a leaf, if one is. `top` is the name of the top-level field that it belongs to, quoted or not.
pub(super) fn preset_of(presets: &[(String, Preset)], top: &str, leaf: &str) -> Option<Preset> {
    let fits = presets.iter().filter(|(path, _)| covers(path, top, leaf));
    fits.max_by_key(|(path, _)| path.len()).map(|(_, preset)| *preset)
}

/// Fails for a path that leads to none of the `leaves`, each with its top-level name.
pub(super) fn check(presets: &[(String, Preset)], leaves: &[(&str, &str)]) -> Result<()> {
    let Some((path, _)) =
        presets.iter().find(|(path, _)| !leaves.iter().any(|(top, leaf)| covers(path, top, leaf)))
    else {
        return Ok(());
    };
    let mut names: Vec<&str> = leaves.iter().take(LISTED).map(|(_, leaf)| *leaf).collect();
    if leaves.len() > LISTED {
        names.push("…");
    }
    Err(Error::invalid(format!(
        "a preset for column {path:?}, which the schema has not: expected one of {}",
        names.join(", ")
    )))
}

fn covers(path: &str, top: &str, leaf: &str) -> bool {
    path == top || leaf.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_path_to_a_column_decides() {
        let given = |pairs: &[(&str, Preset)]| -> Vec<(String, Preset)> {
            pairs.iter().map(|(path, preset)| ((*path).to_owned(), *preset)).collect()
        };
        let presets = given(&[("s", Preset::Fast), ("s.a", Preset::Small), ("odd name", Preset::Small)]);
        assert_eq!(preset_of(&presets, "s", "s.a.item"), Some(Preset::Small));
        assert_eq!(preset_of(&presets, "s", "s.ab"), Some(Preset::Fast));
        assert_eq!(preset_of(&presets, "odd name", "`odd name`.x"), Some(Preset::Small));
        assert_eq!(preset_of(&presets, "sa", "sa"), None);
        let leaves = [("s", "s.a.item"), ("odd name", "`odd name`")];
        assert!(check(&presets, &leaves).is_ok());
        let e = check(&given(&[("s.b", Preset::Fast)]), &leaves).unwrap_err();
        assert!(e.message().ends_with("expected one of s.a.item, `odd name`"), "{e}");
    }
}
