//! Pages without values, and pages with one value for all rows (only from 2.2).
//!
//! The buffers are drawn in the module above; see also docs/format/pages.md, "Constant".

use bytes::Bytes;

use crate::Result;
use crate::encoding::{Encoding, Values, encode_levels};
use crate::page::encode::{EncodedPage, LevelChoice, LevelStats};
use crate::page::{ConstantLayout, Layer, Layout, LeafPage};

/// Bytes of a scalar that may stand in the page's description.
const MAX_INLINE: usize = 32;

/// A page whose events all lack a value. `compress` says how levels are stored; `None` is raw (2.1).
pub(crate) fn encode_null(page: &LeafPage, compress: Option<&[LevelChoice; 2]>) -> Result<EncodedPage> {
    let mut layout = ConstantLayout {
        layers: page.layers.clone(),
        inline_value: None,
        rep: None,
        def: None,
        num_rep_values: 0,
        num_def_values: 0,
    };
    let mut buffers = Vec::new();
    if page.layers != [Layer::NullableItem] {
        let def = stored_def(page);
        let [rep_choice, def_choice] = match compress {
            Some([rep, def]) => [Some(rep), Some(def)],
            None => [None, None],
        };
        for (levels, choice, slot, count) in [
            (&page.rep, rep_choice, &mut layout.rep, &mut layout.num_rep_values),
            (&def, def_choice, &mut layout.def, &mut layout.num_def_values),
        ] {
            let encoding = choice.and_then(|choice| block_choice(levels, choice));
            buffers.push(match &encoding {
                Some(encoding) => {
                    *count = levels.len() as u64;
                    encode_levels(encoding, levels)?
                }
                None => raw(levels),
            });
            *slot = encoding;
        }
    }
    let buffers = buffers.into_iter().map(Bytes::from).collect();
    Ok(EncodedPage { layout: Layout::Constant(layout), buffers, num_rows: page.num_rows })
}

/// A page of a struct without fields. As others write it: nothing is stored, and what looks all null is all there.
/// Where structs are null, levels say so the same way round: 1 is there, 0 is null.
pub(crate) fn encode_empty_struct(page: &LeafPage) -> EncodedPage {
    let layout = ConstantLayout {
        layers: vec![Layer::NullableItem],
        inline_value: None,
        rep: None,
        def: None,
        num_rep_values: 0,
        num_def_values: 0,
    };
    let mut buffers = Vec::new();
    if page.has_def() {
        let def: Vec<u16> = stored_def(page).iter().map(|level| u16::from(*level == 0)).collect();
        buffers = vec![Bytes::new(), raw(&def).into()];
    }
    EncodedPage { layout: Layout::Constant(layout), buffers, num_rows: page.num_rows }
}

/// A page whose valid values are all like the one at `index`; `None` for shapes that have no scalar form.
pub(crate) fn encode_scalar(page: &LeafPage, index: usize) -> Option<EncodedPage> {
    // Values of no bytes (the null type has no valid ones) have the empty scalar.
    let value = match &page.values {
        Values::Null(_) => &[],
        values => values.bytes_at(index)?,
    };
    let mut buffers = Vec::new();
    let mut inline_value = None;
    match &page.values {
        Values::Null(_) => inline_value = Some(Bytes::new()),
        Values::Fixed(_) | Values::Bits(_) if value.len() <= MAX_INLINE => {
            inline_value = Some(Bytes::copy_from_slice(value));
        }
        Values::Fixed(_) => buffers.push(in_buffers(&[value])?),
        Values::Variable(_) => {
            let end = i32::try_from(value.len()).ok()?;
            buffers.push(in_buffers(&[&[0i32.to_le_bytes(), end.to_le_bytes()].concat(), value])?);
        }
        Values::LargeVariable(_) => {
            let end = i64::try_from(value.len()).ok()?;
            buffers.push(in_buffers(&[&[0i64.to_le_bytes(), end.to_le_bytes()].concat(), value])?);
        }
        Values::Bits(_) | Values::List(_) | Values::Struct { .. } => return None,
    }
    if page.has_rep() || page.has_def() {
        buffers.push(raw(&page.rep));
        buffers.push(raw(&stored_def(page)));
    }
    let layout = Layout::Constant(ConstantLayout {
        layers: page.layers.clone(),
        inline_value,
        rep: None,
        def: None,
        num_rep_values: 0,
        num_def_values: 0,
    });
    let buffers = buffers.into_iter().map(Bytes::from).collect();
    Some(EncodedPage { layout, buffers, num_rows: page.num_rows })
}

/// Definition levels, or nothing where none are stored.
fn stored_def(page: &LeafPage) -> Vec<u16> {
    let mut def = Vec::new();
    if page.has_def() {
        page.def_levels(0..page.num_events, &mut def);
    }
    def
}

fn block_choice(levels: &[u16], choice: &LevelChoice) -> Option<Encoding> {
    if levels.is_empty() {
        return None;
    }
    let mut stats = LevelStats::default();
    stats.add(levels);
    stats.choose(choice, usize::MAX)
}

fn raw(levels: &[u16]) -> Vec<u8> {
    levels.iter().flat_map(|l| l.to_le_bytes()).collect()
}

/// `u32` count, `u32` size of each, bytes of each.
fn in_buffers(parts: &[&[u8]]) -> Option<Vec<u8>> {
    let mut out = (parts.len() as u32).to_le_bytes().to_vec();
    for part in parts {
        out.extend_from_slice(&u32::try_from(part.len()).ok()?.to_le_bytes());
    }
    parts.iter().for_each(|part| out.extend_from_slice(part));
    Some(out)
}
