//! Guards against generated protobuf code that no longer follows from `proto/*.proto`.
//!
//! `PENNON_UPDATE_PROTO=1 cargo test -p pennon-file --test proto_is_current` writes it anew.

use std::fs;
use std::path::Path;

/// Protobuf package, and the module it becomes.
const MODULES: [(&str, &str); 5] = [
    ("lance.file", "file"),
    ("lance.file.v2", "file_v2"),
    ("lance.encodings", "encodings"),
    ("lance.encodings21", "encodings21"),
    ("lance.encodings23", "encodings23"),
];

#[test]
fn regenerating_the_protobuf_code_changes_nothing() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let protos = here.join("../../proto");
    let sources = MODULES.map(|(_, module)| protos.join(format!("{module}.proto")));
    let set = protox::compile(&sources, [&protos]).expect("the .proto files compile");
    let out = tempfile::tempdir().expect("a directory for the generated code");
    prost_build::Config::new()
        .bytes(["."])
        .btree_map(["."])
        .out_dir(out.path())
        .compile_fds(set)
        .expect("code is generated");
    let update = std::env::var_os("PENNON_UPDATE_PROTO").is_some_and(|v| v == "1");
    for (package, module) in MODULES {
        let fresh = fs::read_to_string(out.path().join(format!("{package}.rs"))).expect("a file per package");
        let kept = here.join(format!("src/proto/{module}.rs"));
        if update {
            fs::write(&kept, &fresh).expect("the checked-in code is writable");
        }
        let found = fs::read_to_string(&kept).unwrap_or_default();
        assert!(
            found == fresh,
            "{} is not what proto/{module}.proto gives; run with PENNON_UPDATE_PROTO=1",
            kept.display()
        );
    }
}
