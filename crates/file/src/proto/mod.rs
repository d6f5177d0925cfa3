//! Protobuf messages of the format, generated from `proto/*.proto` and checked in.
//!
//! The test `proto_is_current` regenerates them and fails on a difference; with `PENNON_UPDATE_PROTO=1`
//! it writes them anew. Messages are met only in `container/` and in the `wire.rs` files.

pub(crate) mod skim;

// Generated text is kept as the generator leaves it.
#[rustfmt::skip]
#[allow(missing_docs, unused_qualifications, unreachable_pub, clippy::all)]
pub(crate) mod encodings;
#[rustfmt::skip]
#[allow(missing_docs, unused_qualifications, unreachable_pub, clippy::all)]
pub(crate) mod encodings21;
#[rustfmt::skip]
#[allow(missing_docs, unused_qualifications, unreachable_pub, clippy::all)]
pub(crate) mod encodings23;
#[rustfmt::skip]
#[allow(missing_docs, unused_qualifications, unreachable_pub, clippy::all)]
pub(crate) mod file;
#[rustfmt::skip]
#[allow(missing_docs, unused_qualifications, unreachable_pub, clippy::all)]
pub(crate) mod file_v2;
