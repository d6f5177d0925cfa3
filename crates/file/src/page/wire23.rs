//! Page layouts of format version 2.3 from their protobuf messages.
//!
//! ```text
//! PlanarLayout = 1: structure { 1: dense | 2: sparse }                              proto/encodings23.proto
//!                2: values    { 1: chunked | 2: zipped | 3: constant | 4: none | 5: indexed }
//! ```
//!
//! A dense page is one of 2.2 described in other words, and becomes the same [`Layout`]. See
//! docs/format/planar.md.

use prost::Message;

use super::sparse::{SparseLayer, SparseLayout, SparseList, SparseValues, ValiditySet};
use super::wire::parse_layers;
use super::{ConstantLayout, FullZipLayout, Layer, Layout, MiniBlockLayout, PageDictionary, ZipWidth};
use crate::encoding::Encoding;
use crate::error::corrupt;
use crate::proto::encodings21 as pb21;
use crate::proto::encodings23 as pb;
use crate::{Error, Limits, Result};

impl Layout {
    /// The layout of a serialized `PlanarLayout` message.
    pub(crate) fn parse_planar(message: &[u8], limits: &Limits) -> Result<Self> {
        let message = pb::PlanarLayout::decode(message)
            .map_err(|e| Error::corrupt(format!("a page description that is not protobuf: {e}")))?;
        let Some(structure) = message.structure.and_then(|s| s.codec) else {
            corrupt!("a page does not say how its structure is stored");
        };
        let Some(values) = message.values.and_then(|v| v.codec) else {
            corrupt!("a page does not say how its values are stored");
        };
        match structure {
            pb::structural_plane::Codec::Dense(m) => dense(parse_layers(&m.layers, limits)?, values, limits),
            pb::structural_plane::Codec::Sparse(m) => sparse(&m, values, limits).map(Self::Sparse),
        }
    }
}

fn required(encoding: &Option<pb21::CompressiveEncoding>, what: &str, limits: &Limits) -> Result<Encoding> {
    match encoding {
        Some(encoding) => Encoding::parse_planar(encoding, limits),
        None => corrupt!("a page does not say how its {what} are encoded"),
    }
}

fn optional(encoding: &Option<pb21::CompressiveEncoding>, limits: &Limits) -> Result<Option<Encoding>> {
    encoding.as_ref().map(|e| Encoding::parse_planar(e, limits)).transpose()
}

/// A page with levels beside its values.
fn dense(layers: Vec<Layer>, values: pb::value_plane::Codec, limits: &Limits) -> Result<Layout> {
    use pb::value_plane::Codec;
    Ok(match values {
        Codec::Chunked(m) => {
            let Some(levels) = &m.levels else { corrupt!("a dense page of chunks without levels") };
            let mut layout = chunked(&m, layers, limits)?;
            layout.rep = optional(&levels.repetition, limits)?;
            layout.def = optional(&levels.definition, limits)?;
            layout.has_repetition_index = match levels.repetition_index_depth {
                0 => false,
                1 => true,
                depth => {
                    return Err(Error::unsupported(format!(
                        "a repetition index of depth {depth}; known is 1"
                    )));
                }
            };
            Layout::MiniBlock(layout)
        }
        Codec::Zipped(m) => {
            let Some(levels) = &m.levels else { corrupt!("a dense page of rows without levels") };
            let mut layout = zipped(&m, layers, limits)?;
            layout.bits_rep = levels.bits_repetition;
            layout.bits_def = levels.bits_definition;
            Layout::FullZip(layout)
        }
        Codec::Constant(m) => {
            if layers.iter().any(|layer| *layer != Layer::AllValidItem) {
                corrupt!("a dense page of one value with layers {layers:?}");
            }
            Layout::Constant(constant(layers, Some(m.scalar)))
        }
        Codec::None(_) => {
            if layers != [Layer::NullableItem] {
                corrupt!("a dense page without values with layers {layers:?}");
            }
            Layout::Constant(constant(layers, None))
        }
        Codec::Indexed(_) => corrupt!("a dense page of indexed values"),
    })
}

/// A page with lists of what is null or not empty.
fn sparse(
    structure: &pb::SparseStructure,
    values: pb::value_plane::Codec,
    limits: &Limits,
) -> Result<SparseLayout> {
    use pb::value_plane::Codec;
    if structure.layers.is_empty() {
        corrupt!("a page without layers");
    }
    if structure.layers.len() > limits.nesting {
        return Err(Error::limit(format!(
            "{} layers of nesting, at most {} allowed",
            structure.layers.len(),
            limits.nesting
        )));
    }
    let layers = structure.layers.iter().map(|layer| sparse_layer(layer, limits)).collect::<Result<_>>()?;
    // To the values every slot is a row that is there.
    let flat = || vec![Layer::AllValidItem];
    let values = match values {
        Codec::Chunked(m) if m.levels.is_none() => SparseValues::Chunked(chunked(&m, flat(), limits)?),
        Codec::Zipped(m) if m.levels.is_none() => SparseValues::Zipped(zipped(&m, flat(), limits)?),
        Codec::Indexed(m) => match &m.items {
            Some(items) if items.levels.is_none() => SparseValues::Indexed {
                indices: required(&m.indices, "indices", limits)?,
                items: zipped(items, flat(), limits)?,
            },
            _ => corrupt!("indexed values without items"),
        },
        Codec::Constant(m) => SparseValues::Constant(m.scalar),
        Codec::None(_) => SparseValues::None,
        Codec::Chunked(_) | Codec::Zipped(_) => corrupt!("a sparse page with levels"),
    };
    Ok(SparseLayout { layers, values })
}

fn sparse_layer(m: &pb::SparseStructuralLayer, limits: &Limits) -> Result<SparseLayer> {
    use pb::sparse_structural_layer::Layer as Wire;
    Ok(match &m.layer {
        Some(Wire::Validity(m)) => SparseLayer::Item { validity: validity(Some(m), limits)? },
        Some(Wire::List(m)) => SparseLayer::List(SparseList {
            num_items: m.num_child_slots,
            positions: required(&m.non_empty_positions, "positions", limits)?,
            num_positions: m.num_non_empty_positions,
            counts: required(&m.counts, "counts", limits)?,
            validity: validity(m.validity.as_ref(), limits)?,
        }),
        Some(Wire::FixedSizeList(m)) => SparseLayer::FixedSizeList {
            dimension: m.dimension,
            validity: validity(m.validity.as_ref(), limits)?,
        },
        None => corrupt!("a layer of unknown kind"),
    })
}

fn validity(m: Option<&pb::SparseValiditySet>, limits: &Limits) -> Result<ValiditySet> {
    let Some(m) = m else { corrupt!("a layer does not say what is null in it") };
    let lists_valid = match pb::SparseValidityMeaning::try_from(m.meaning) {
        Ok(pb::SparseValidityMeaning::NullPositions) => false,
        Ok(pb::SparseValidityMeaning::ValidPositions) => true,
        _ => corrupt!("positions of unknown meaning {}", m.meaning),
    };
    let positions = required(&m.positions, "positions", limits)?;
    Ok(ValiditySet { lists_valid, positions, num_positions: m.num_positions })
}

/// Chunks, without levels.
fn chunked(m: &pb::ChunkedValues, layers: Vec<Layer>, limits: &Limits) -> Result<MiniBlockLayout> {
    Ok(MiniBlockLayout {
        layers,
        rep: None,
        def: None,
        values: required(&m.compression, "values", limits)?,
        dictionary: optional(&m.dictionary, limits)?
            .map(|encoding| PageDictionary { encoding, num_items: m.num_dictionary_items }),
        num_buffers: m.num_buffers,
        has_repetition_index: false,
        num_items: m.num_items,
        large_chunks: true,
    })
}

/// Rows, without levels.
fn zipped(m: &pb::ZippedValues, layers: Vec<Layer>, limits: &Limits) -> Result<FullZipLayout> {
    use pb::zipped_values::Addressing;
    Ok(FullZipLayout {
        layers,
        bits_rep: 0,
        bits_def: 0,
        width: match m.addressing {
            Some(Addressing::BitsPerValue(bits)) => ZipWidth::Value(bits.into()),
            Some(Addressing::BitsPerOffset(bits)) => ZipWidth::Length(bits.into()),
            None => corrupt!("a page of rows does not say how wide its values are"),
        },
        values: required(&m.compression, "values", limits)?,
        num_items: m.num_items,
        num_visible_items: m.num_visible_items,
    })
}

fn constant(layers: Vec<Layer>, inline_value: Option<bytes::Bytes>) -> ConstantLayout {
    ConstantLayout { layers, inline_value, rep: None, def: None, num_rep_values: 0, num_def_values: 0 }
}
