//! The textual form of a forced encoding: what a caller asks of one column.
//!
//! ```text
//! spec    part [ ";" part ]…
//! part    "constant" | "miniblock" [ ":" values ] | "fullzip" [ ":" values ]
//!         | "levels:" levels | "rep:" levels | "def:" levels       of a mini-block page
//! values  plain flat variable bitpack outofline rle bss fsst fixedsizelist packed
//!         | general(scheme[, values]) | dictionary([indices[, items]])
//! levels  flat | bitpack | outofline | rle | general(scheme[, flat | rle])
//! scheme  lz4 | zstd | zstd=LEVEL
//! ```
//!
//! `plain` is what the type's shape asks for: flat, variable, fixed-size list or packed struct.
//! `outofline` is bit packing in block form, for dictionaries and levels.

use crate::encoding::Scheme;
use crate::page::encode::LevelKind;
use crate::{Error, Result};

/// What a caller asked of a column.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Spec {
    pub(crate) layout: Option<LayoutSpec>,
    pub(crate) rep: Option<LevelKind>,
    pub(crate) def: Option<LevelKind>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LayoutSpec {
    Constant,
    MiniBlock(Option<ValueSpec>),
    FullZip(Option<ValueSpec>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ValueSpec {
    Plain,
    Flat,
    Variable,
    Bitpack,
    OutOfLine,
    Rle,
    ByteStreamSplit,
    Fsst,
    FixedSizeList,
    Packed,
    General { scheme: Scheme, level: Option<i32>, values: Box<ValueSpec> },
    Dictionary { indices: Option<Box<ValueSpec>>, items: Option<Box<ValueSpec>> },
}

impl Spec {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        Self::parse_parts(text).map_err(|what| Error::invalid(format!("encoding {text:?}: {what}")))
    }

    fn parse_parts(text: &str) -> Result<Self, String> {
        let mut spec = Self::default();
        for part in text.split(';').map(str::trim) {
            let (name, rest) = match part.split_once(':') {
                Some((name, rest)) => (name.trim(), Some(rest.trim())),
                None => (part, None),
            };
            let values = || rest.map(|rest| ValueSpec::parse(&Call::parse(rest)?)).transpose();
            let levels = || parse_levels(&Call::parse(rest.unwrap_or_default())?);
            match name {
                "constant" if rest.is_none() => spec.layout = Some(LayoutSpec::Constant),
                "miniblock" => spec.layout = Some(LayoutSpec::MiniBlock(values()?)),
                "fullzip" => spec.layout = Some(LayoutSpec::FullZip(values()?)),
                "rep" => spec.rep = Some(levels()?),
                "def" => spec.def = Some(levels()?),
                "levels" => {
                    spec.rep = Some(levels()?);
                    spec.def = spec.rep;
                }
                _ => {
                    return Err(format!(
                        "{part:?} is not constant, miniblock, fullzip, levels, rep or def with its values"
                    ));
                }
            }
        }
        if spec.layout.is_none() && (spec.rep.is_some() || spec.def.is_some()) {
            // Other layouts store levels in one way only.
            spec.layout = Some(LayoutSpec::MiniBlock(None));
        }
        Ok(spec)
    }
}

/// `name(arg, arg)`, arguments nested.
struct Call<'a> {
    name: &'a str,
    args: Vec<Call<'a>>,
}

impl<'a> Call<'a> {
    fn parse(text: &'a str) -> Result<Self, String> {
        let mut rest = text;
        let call = Self::take(&mut rest, 0)?;
        match rest.trim() {
            "" => Ok(call),
            rest => Err(format!("{rest:?} follows what should be the end")),
        }
    }

    fn take(rest: &mut &'a str, depth: usize) -> Result<Self, String> {
        if depth > 8 {
            return Err("nested too deeply".to_owned());
        }
        let text = rest.trim_start();
        let end = text.find(['(', ',', ')']).unwrap_or(text.len());
        let (name, tail) = text.split_at(end);
        let mut call = Call { name: name.trim(), args: Vec::new() };
        *rest = tail;
        if let Some(inner) = tail.strip_prefix('(') {
            *rest = inner.trim_start();
            if let Some(tail) = rest.strip_prefix(')') {
                *rest = tail;
                return Ok(call);
            }
            loop {
                call.args.push(Self::take(rest, depth + 1)?);
                let tail = rest.trim_start();
                if let Some(tail) = tail.strip_prefix(',') {
                    *rest = tail;
                } else if let Some(tail) = tail.strip_prefix(')') {
                    *rest = tail;
                    break;
                } else {
                    return Err(format!("no closing parenthesis after {:?}", call.name));
                }
            }
        }
        Ok(call)
    }
}

fn parse_scheme(call: &Call<'_>) -> Result<(Scheme, Option<i32>), String> {
    let bad = || format!("{:?} is not lz4, zstd or zstd=LEVEL", call.name);
    match call.name.split_once('=') {
        None if call.name == "lz4" => Ok((Scheme::Lz4, None)),
        None if call.name == "zstd" => Ok((Scheme::Zstd, None)),
        Some(("zstd", level)) => Ok((Scheme::Zstd, Some(level.parse().map_err(|_| bad())?))),
        _ => Err(bad()),
    }
}

impl ValueSpec {
    fn parse(call: &Call<'_>) -> Result<Self, String> {
        let simple = match call.name {
            "plain" => Self::Plain,
            "flat" => Self::Flat,
            "variable" => Self::Variable,
            "bitpack" => Self::Bitpack,
            "outofline" => Self::OutOfLine,
            "rle" => Self::Rle,
            "bss" => Self::ByteStreamSplit,
            "fsst" => Self::Fsst,
            "fixedsizelist" => Self::FixedSizeList,
            "packed" => Self::Packed,
            "general" => {
                let ([scheme] | [scheme, _]) = call.args.as_slice() else {
                    return Err("general takes a scheme and, if wanted, what is below it".to_owned());
                };
                let (scheme, level) = parse_scheme(scheme)?;
                let values = match call.args.get(1) {
                    Some(values) => Self::parse(values)?,
                    None => Self::Plain,
                };
                return Ok(Self::General { scheme, level, values: Box::new(values) });
            }
            "dictionary" => {
                if call.args.len() > 2 {
                    return Err("dictionary takes the encodings of indices and items".to_owned());
                }
                let arg = |i: usize| call.args.get(i).map(|a| Self::parse(a).map(Box::new)).transpose();
                return Ok(Self::Dictionary { indices: arg(0)?, items: arg(1)? });
            }
            name => return Err(format!("{name:?} is not an encoding of values")),
        };
        if call.args.is_empty() {
            Ok(simple)
        } else {
            Err(format!("{:?} takes nothing in parentheses", call.name))
        }
    }
}

fn parse_levels(call: &Call<'_>) -> Result<LevelKind, String> {
    match (call.name, call.args.as_slice()) {
        ("flat", []) => Ok(LevelKind::Flat),
        ("bitpack", []) => Ok(LevelKind::InlineBitpacking),
        ("outofline", []) => Ok(LevelKind::OutOfLineBitpacking),
        ("rle", []) => Ok(LevelKind::RunLengths),
        ("general", [scheme]) => Ok(LevelKind::GeneralFlat(parse_scheme(scheme)?.0)),
        ("general", [scheme, Call { name: "flat", .. }]) => {
            Ok(LevelKind::GeneralFlat(parse_scheme(scheme)?.0))
        }
        ("general", [scheme, Call { name: "rle", .. }]) => {
            Ok(LevelKind::GeneralRunLengths(parse_scheme(scheme)?.0))
        }
        (name, _) => Err(format!("{name:?} is not an encoding of levels")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_the_grammar_are_read() {
        let spec = Spec::parse("miniblock:general(zstd=3, bss); levels:rle").unwrap();
        assert_eq!((spec.rep, spec.def), (Some(LevelKind::RunLengths), Some(LevelKind::RunLengths)));
        let Some(LayoutSpec::MiniBlock(Some(ValueSpec::General { scheme, level, values }))) = spec.layout
        else {
            panic!("{spec:?}")
        };
        assert_eq!((scheme, level, *values), (Scheme::Zstd, Some(3), ValueSpec::ByteStreamSplit));
        let spec = Spec::parse("miniblock:dictionary(bitpack,general(lz4,variable))").unwrap();
        assert!(matches!(
            spec.layout,
            Some(LayoutSpec::MiniBlock(Some(ValueSpec::Dictionary { indices: Some(_), items: Some(_) })))
        ));
        assert_eq!(Spec::parse("constant").unwrap().layout, Some(LayoutSpec::Constant));
        assert_eq!(Spec::parse("def:general(lz4)").unwrap().def, Some(LevelKind::GeneralFlat(Scheme::Lz4)));
    }

    #[test]
    fn what_is_not_in_the_grammar_is_named() {
        for bad in [
            "",
            "miniblok",
            "miniblock:zip",
            "miniblock:general",
            "fullzip:rle(",
            "levels:fsst",
            "miniblock:flat)",
        ] {
            let e = Spec::parse(bad).unwrap_err();
            assert_eq!(e.kind(), crate::ErrorKind::Invalid, "{bad}");
            assert!(e.message().contains(&format!("{bad:?}")), "{e}");
        }
    }
}
