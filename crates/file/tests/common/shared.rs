//! Where the golden files are, and what their manifest says.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use serde_json::Value;

/// One line of the manifest.
#[derive(Debug, Clone)]
pub struct Golden {
    pub case: String,
    pub version: String,
    pub rows: u64,
    /// Path of the Lance file.
    pub file: PathBuf,
    /// Path of the Arrow IPC file with the values.
    pub expected: PathBuf,
    pub notes: Value,
}

impl Golden {
    pub fn name(&self) -> String {
        self.file.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned())
    }

    pub fn is_blob(&self) -> bool {
        self.case.starts_with("blob_")
    }

    pub fn read_expected(&self) -> Vec<RecordBatch> {
        read_ipc(&self.expected)
    }
}

/// The golden files at hand.
#[derive(Debug)]
pub struct Goldens {
    pub files: Vec<Golden>,
    /// Whether this is the full set or the few of `testdata/`.
    pub full: bool,
}

/// The repository's root.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("crates/file lies two levels down")
        .to_path_buf()
}

/// The folder with golden and bench data: `PENNON_SHARED`, else beside the repository or its parent.
pub fn shared() -> Option<PathBuf> {
    let root = repository();
    let named = std::env::var_os("PENNON_SHARED").map(PathBuf::from);
    named
        .into_iter()
        .chain([root.join("../shared"), root.join("../../shared")])
        .find(|p| p.join("golden/lance/manifest.jsonl").is_file())
}

/// The full set if it is there, else the few files of `testdata/golden`; says which in one line.
/// With `CI=true` the full set must be there.
pub fn goldens() -> Goldens {
    if let Some(shared) = shared() {
        return Goldens { files: manifest(&shared.join("golden/lance")), full: true };
    }
    assert!(!in_ci(), "CI=true, but there is no golden data: set PENNON_SHARED or put it at ../shared");
    let few = repository().join("testdata/golden");
    let files = if few.join("manifest.jsonl").is_file() { manifest(&few) } else { Vec::new() };
    println!(
        "golden: no shared data (PENNON_SHARED, ../shared): only the {} files of testdata/golden",
        files.len()
    );
    Goldens { files, full: false }
}

pub fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|v| v == "true")
}

fn manifest(folder: &Path) -> Vec<Golden> {
    let text = std::fs::read_to_string(folder.join("manifest.jsonl")).expect("manifest is readable");
    text.lines()
        .map(|line| {
            let v: Value = serde_json::from_str(line).expect("a manifest line is JSON");
            let text = |key: &str| {
                v[key].as_str().unwrap_or_else(|| panic!("manifest line without {key}: {line}")).to_owned()
            };
            Golden {
                case: text("case"),
                version: text("version"),
                rows: v["rows"].as_u64().expect("rows"),
                file: folder.join(text("file")),
                expected: folder.join(text("expected")),
                notes: v["notes"].clone(),
            }
        })
        .collect()
}

pub fn read_ipc(path: &Path) -> Vec<RecordBatch> {
    let file = std::fs::File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let reader = arrow_ipc::reader::FileReader::try_new_buffered(file, None)
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    reader.map(|b| b.unwrap_or_else(|e| panic!("{}: {e}", path.display()))).collect()
}
