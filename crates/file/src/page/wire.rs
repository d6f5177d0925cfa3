//! Page layouts ⇄ their protobuf messages.
//!
//! ```text
//! PageLayout = 1: mini-block | 2: constant | 3: full-zip | 4: blob          proto/encodings21.proto
//! ```

use prost::Message;

use super::{
    BlobLayout, ConstantLayout, FullZipLayout, Layer, Layout, MiniBlockLayout, PageDictionary, ZipWidth,
};
use crate::encoding::Encoding;
use crate::error::corrupt;
use crate::proto::encodings21 as pb;
use crate::{Error, Limits, Result};

impl Layer {
    fn parse(value: i32) -> Result<Self> {
        Ok(match pb::RepDefLayer::try_from(value) {
            Ok(pb::RepDefLayer::AllValidItem) => Self::AllValidItem,
            Ok(pb::RepDefLayer::AllValidList) => Self::AllValidList,
            Ok(pb::RepDefLayer::NullableItem) => Self::NullableItem,
            Ok(pb::RepDefLayer::NullableList) => Self::NullableList,
            Ok(pb::RepDefLayer::EmptyableList) => Self::EmptyableList,
            Ok(pb::RepDefLayer::NullAndEmptyList) => Self::NullAndEmptyList,
            Ok(pb::RepDefLayer::Unspecified) | Err(_) => corrupt!("layer of unknown meaning {value}"),
        })
    }

    fn emit(self) -> i32 {
        (match self {
            Self::AllValidItem => pb::RepDefLayer::AllValidItem,
            Self::AllValidList => pb::RepDefLayer::AllValidList,
            Self::NullableItem => pb::RepDefLayer::NullableItem,
            Self::NullableList => pb::RepDefLayer::NullableList,
            Self::EmptyableList => pb::RepDefLayer::EmptyableList,
            Self::NullAndEmptyList => pb::RepDefLayer::NullAndEmptyList,
        }) as i32
    }
}

pub(super) fn parse_layers(layers: &[i32], limits: &Limits) -> Result<Vec<Layer>> {
    if layers.is_empty() {
        corrupt!("a page without layers");
    }
    if layers.len() > limits.nesting {
        return Err(Error::limit(format!(
            "{} layers of nesting, at most {} allowed",
            layers.len(),
            limits.nesting
        )));
    }
    layers.iter().map(|l| Layer::parse(*l)).collect()
}

fn required(encoding: &Option<pb::CompressiveEncoding>, what: &str, limits: &Limits) -> Result<Encoding> {
    match encoding {
        Some(encoding) => Encoding::parse(encoding, limits),
        None => corrupt!("a page does not say how its {what} are encoded"),
    }
}

fn optional(encoding: &Option<pb::CompressiveEncoding>, limits: &Limits) -> Result<Option<Encoding>> {
    encoding.as_ref().map(|e| Encoding::parse(e, limits)).transpose()
}

impl Layout {
    /// The layout of a serialized `PageLayout` message.
    pub(crate) fn parse(message: &[u8], limits: &Limits) -> Result<Self> {
        let message = pb::PageLayout::decode(message)
            .map_err(|e| Error::corrupt(format!("a page description that is not protobuf: {e}")))?;
        Self::of(message, limits)
    }

    fn of(message: pb::PageLayout, limits: &Limits) -> Result<Self> {
        use pb::page_layout::Layout as Wire;
        match message.layout {
            Some(Wire::MiniBlockLayout(m)) => Ok(Self::MiniBlock(MiniBlockLayout {
                layers: parse_layers(&m.layers, limits)?,
                rep: optional(&m.rep_compression, limits)?,
                def: optional(&m.def_compression, limits)?,
                values: required(&m.value_compression, "values", limits)?,
                dictionary: optional(&m.dictionary, limits)?
                    .map(|encoding| PageDictionary { encoding, num_items: m.num_dictionary_items }),
                num_buffers: m.num_buffers,
                has_repetition_index: match m.repetition_index_depth {
                    0 => false,
                    1 => true,
                    depth => {
                        return Err(Error::unsupported(format!(
                            "a repetition index of depth {depth}; known is 1"
                        )));
                    }
                },
                num_items: m.num_items,
                large_chunks: m.has_large_chunk,
            })),
            Some(Wire::FullZipLayout(m)) => Ok(Self::FullZip(FullZipLayout {
                layers: parse_layers(&m.layers, limits)?,
                bits_rep: m.bits_rep,
                bits_def: m.bits_def,
                width: match m.details {
                    Some(pb::full_zip_layout::Details::BitsPerValue(bits)) => ZipWidth::Value(bits.into()),
                    Some(pb::full_zip_layout::Details::BitsPerOffset(bits)) => ZipWidth::Length(bits.into()),
                    None => corrupt!("a full-zip page does not say how wide its values are"),
                },
                values: required(&m.value_compression, "values", limits)?,
                num_items: m.num_items.into(),
                num_visible_items: m.num_visible_items.into(),
            })),
            Some(Wire::ConstantLayout(m)) => Ok(Self::Constant(ConstantLayout {
                layers: parse_layers(&m.layers, limits)?,
                inline_value: m.inline_value,
                rep: optional(&m.rep_compression, limits)?,
                def: optional(&m.def_compression, limits)?,
                num_rep_values: m.num_rep_values,
                num_def_values: m.num_def_values,
            })),
            Some(Wire::BlobLayout(m)) => {
                let Some(inner) = m.inner_layout else { corrupt!("a blob page without an inner layout") };
                let inner = Self::of(*inner, limits)?;
                // Nulls are in the descriptors: positions without a size.
                let layers = match &inner {
                    Self::MiniBlock(m) => m.layers.as_slice(),
                    Self::FullZip(m) => &m.layers,
                    Self::Constant(m) => &m.layers,
                    Self::Blob(_) => corrupt!("a blob page inside a blob page"),
                    Self::Plain(_) | Self::Sparse(_) => {
                        corrupt!("a blob page around a page of another format version")
                    }
                };
                if layers != [Layer::AllValidItem] {
                    corrupt!("the descriptors of a blob page have layers {layers:?}, not one without nulls");
                }
                Ok(Self::Blob(BlobLayout {
                    inner: Box::new(inner),
                    layers: parse_layers(&m.layers, limits)?,
                }))
            }
            None => corrupt!("a page description without a layout"),
        }
    }

    /// The serialized message: a `PageLayout`, or an `ArrayEncoding` for 2.0. Sparse pages are not written; theirs is empty.
    pub(crate) fn emit(&self) -> Vec<u8> {
        match self {
            // Another message altogether.
            Self::Plain(p) => p.emit(),
            other => other.to_wire().encode_to_vec(),
        }
    }

    fn to_wire(&self) -> pb::PageLayout {
        let layers = |layers: &[Layer]| layers.iter().map(|l| l.emit()).collect();
        let encoding = |e: &Option<Encoding>| e.as_ref().map(Encoding::emit);
        use pb::page_layout::Layout as Wire;
        let layout = match self {
            Self::MiniBlock(m) => Wire::MiniBlockLayout(pb::MiniBlockLayout {
                rep_compression: encoding(&m.rep),
                def_compression: encoding(&m.def),
                value_compression: Some(m.values.emit()),
                dictionary: m.dictionary.as_ref().map(|d| d.encoding.emit()),
                num_dictionary_items: m.dictionary.as_ref().map_or(0, |d| d.num_items),
                layers: layers(&m.layers),
                num_buffers: m.num_buffers,
                repetition_index_depth: m.has_repetition_index.into(),
                num_items: m.num_items,
                has_large_chunk: m.large_chunks,
            }),
            Self::FullZip(m) => Wire::FullZipLayout(pb::FullZipLayout {
                bits_rep: m.bits_rep,
                bits_def: m.bits_def,
                num_items: m.num_items as u32,
                num_visible_items: m.num_visible_items as u32,
                value_compression: Some(m.values.emit()),
                layers: layers(&m.layers),
                details: Some(match m.width {
                    ZipWidth::Value(bits) => pb::full_zip_layout::Details::BitsPerValue(bits as u32),
                    ZipWidth::Length(bits) => pb::full_zip_layout::Details::BitsPerOffset(bits as u32),
                }),
            }),
            Self::Constant(m) => Wire::ConstantLayout(pb::ConstantLayout {
                layers: layers(&m.layers),
                inline_value: m.inline_value.clone(),
                rep_compression: encoding(&m.rep),
                def_compression: encoding(&m.def),
                num_rep_values: m.num_rep_values,
                num_def_values: m.num_def_values,
            }),
            // What no such message can say.
            Self::Sparse(_) | Self::Plain(_) => return pb::PageLayout::default(),
            Self::Blob(m) => Wire::BlobLayout(Box::new(pb::BlobLayout {
                inner_layout: Some(Box::new(m.inner.to_wire())),
                layers: layers(&m.layers),
            })),
        };
        pb::PageLayout { layout: Some(layout) }
    }
}
