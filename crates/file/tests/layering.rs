//! Guards the direction of knowledge inside this crate, and where `unsafe` may stand.
//!
//! Bytes flow container → page → encoding → array → batch; a module may use only what is nearer the
//! bytes than itself. The table says who may use whom; what it does not say is an error, so a new arrow
//! is a decision and not an accident.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Module, and what it may use besides itself. What is in `COMMON` may be used by all.
const MAY_USE: [(&str, &[&str]); 26] = [
    ("error", &[]),
    ("limits", &[]),
    ("held", &[]),
    ("version", &[]),
    ("ranges", &[]),
    ("proto", &[]),
    ("io", &[]),
    ("encoding", &["proto"]),
    ("schema", &["encoding", "proto"]),
    ("container", &["io", "proto", "schema"]),
    ("page", &["container", "encoding", "io", "proto", "schema"]),
    ("array", &["encoding", "page", "schema"]),
    ("column", &["array", "container", "encoding", "io", "page", "schema"]),
    // The writer's chooser looks at pages that are cut but not yet laid out.
    ("choose", &["array", "container", "encoding", "page", "schema"]),
    ("lookup", &["container", "io", "schema"]),
    // Predicates look at Arrow arrays only; paths are those of projections.
    ("filter", &["schema", "stats"]),
    ("stats", &["container", "encoding", "io", "page", "schema"]),
    // The surface: what callers hold. These know each other.
    ("blob", SURFACE),
    ("scan", SURFACE),
    ("statistics", SURFACE),
    ("read", SURFACE),
    ("write", SURFACE),
    ("inspect", SURFACE),
    ("verify", SURFACE),
    ("why", SURFACE),
    ("lib", &["error", "limits", "version"]),
];

const SURFACE: &[&str] = &[
    "array",
    "blob",
    "choose",
    "column",
    "container",
    "encoding",
    "filter",
    "inspect",
    "io",
    "lookup",
    "page",
    "read",
    "scan",
    "schema",
    "stats",
    "verify",
    "write",
];

/// Used by everybody.
const COMMON: [&str; 5] = ["error", "held", "limits", "ranges", "version"];

/// Files that may allow `unsafe`.
const UNSAFE_SITES: [&str; 3] = ["array/build.rs", "encoding/arena.rs", "io/mmap.rs"];

/// Files that may speak protobuf, besides the generated code itself.
const SPEAK_PROTOBUF: [&str; 9] = [
    "container/column.rs",
    "container/encoder.rs",
    "encoding/wire.rs",
    "page/plain/wire.rs",
    "page/wire.rs",
    "page/wire23.rs",
    "schema/descriptor.rs",
    "schema/parts.rs",
    "schema/tests.rs",
];

fn sources() -> Vec<(String, String)> {
    fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry of it").path();
            if path.is_dir() {
                walk(&path, files);
            } else if path.extension().is_some_and(|e| e == "rs") {
                files.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    walk(&root, &mut files);
    files.sort();
    let text = |path: &PathBuf| fs::read_to_string(path).expect("a source is text");
    let name = |path: &PathBuf| {
        path.strip_prefix(&root).expect("below the root").to_string_lossy().replace('\\', "/")
    };
    files.iter().map(|path| (name(path), text(path))).collect()
}

/// The top-level module of a file.
fn module_of(file: &str) -> &str {
    let first = file.split('/').next().unwrap_or(file);
    first.strip_suffix(".rs").unwrap_or(first)
}

/// The code of a file: no comments, and nothing from its tests on.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

/// First segments of all paths that start with `crate::`, also of grouped ones.
fn used_modules(code: &str) -> BTreeSet<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut used = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| is_word(c) || c == '$') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 1;
            let mut word = String::new();
            let mut at_start = true;
            for c in group.chars() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 1 => at_start = true,
                    c if depth == 1 && at_start && is_word(c) => word.push(c),
                    _ => {}
                }
                if !is_word(c) && !word.is_empty() {
                    used.insert(std::mem::take(&mut word));
                    at_start = c == ',';
                }
                if depth == 0 {
                    break;
                }
            }
        } else {
            used.insert(rest.chars().take_while(|c| is_word(*c)).collect());
        }
    }
    used
}

#[test]
fn modules_use_only_what_is_nearer_the_bytes() {
    let mut wrong = Vec::new();
    for (file, text) in sources() {
        let module = module_of(&file);
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == module) else {
            wrong.push(format!("{file}: module {module} is not in the table"));
            continue;
        };
        for used in used_modules(&code(&text)) {
            // Types re-exported by the crate's root, and its macros.
            let is_module = MAY_USE.iter().any(|(name, _)| *name == used);
            if is_module && used != module && !COMMON.contains(&&*used) && !allowed.contains(&&*used) {
                wrong.push(format!("{file}: {module} may not use {used}"));
            }
        }
    }
    for (module, _) in MAY_USE {
        if !sources().iter().any(|(file, _)| module_of(file) == module) {
            wrong.push(format!("{module} is in the table and has no file"));
        }
    }
    assert!(wrong.is_empty(), "wrong arrows:\n{}", wrong.join("\n"));
}

#[test]
fn the_reading_of_use_lines_sees_groups_and_paths() {
    let code =
        "use crate::{Error, io::{Decode, Step}, page};\nfn f(x: &crate::schema::Leaf) {}\n$crate::error::E";
    let used: Vec<String> = used_modules(code).into_iter().collect();
    assert_eq!(used, ["Error", "io", "page", "schema"]);
}

#[test]
fn unsafe_stands_only_where_it_was_agreed() {
    for (file, text) in sources() {
        let code = code(&text);
        let has_unsafe =
            code.contains("unsafe {") || code.contains("unsafe fn") || code.contains("unsafe impl");
        let allows = code.contains("allow(unsafe_code)");
        let agreed = UNSAFE_SITES.contains(&&*file);
        assert!(agreed || !(has_unsafe || allows), "{file} has `unsafe`; agreed are {UNSAFE_SITES:?}");
        assert!(!has_unsafe || text.contains("SAFETY:"), "{file}: `unsafe` without a SAFETY line");
    }
}

#[test]
fn protobuf_stops_at_the_files_that_translate_it() {
    for (file, text) in sources().iter().filter(|(file, _)| module_of(file) != "proto") {
        let speaks = used_modules(&code(text)).contains("proto");
        let agreed =
            SPEAK_PROTOBUF.contains(&&**file) || file.ends_with("tests.rs") || file.contains("/tests/");
        assert!(!speaks || agreed, "{file} uses crate::proto; that is for {SPEAK_PROTOBUF:?}");
    }
}
