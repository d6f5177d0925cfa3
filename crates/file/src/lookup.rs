//! Columns of wide files, found one by one: what a handle keeps of the field directory.
//!
//! A projection of few paths reads the fields that these begin with and nothing else of the schema. Whatever is unusual
//! (many paths, a name that is not there, many fields of one name) is left to the whole schema, which also knows
//! what to say about a wrong name.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::Result;
use crate::container::{ColumnPlace, FindFields, FoundField, Metadata};
use crate::error::corrupt;
use crate::io::{Source, drive};
use crate::schema::{Projection, Schema, first_names};

/// Paths of one projection up to which the directory is asked: as many reads as that are no worse than the schema.
const MAX_PATHS: usize = 32;
/// Names that a handle asks for in all. A caller who goes on like that wants the schema.
const MAX_NAMES: usize = 512;

/// Fields found so far. Shared by the clones of a handle.
#[derive(Debug, Default)]
pub(crate) struct FoundFields {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// All fields of a name; none for a name that is not there.
    fields: HashMap<String, Vec<FoundField>>,
    /// Where the columns of these fields are.
    columns: HashMap<u32, ColumnPlace>,
    /// The schema's own metadata, as it is stored, once it was read.
    metadata: Option<Bytes>,
}

impl FoundFields {
    fn known(&self) -> MutexGuard<'_, Known> {
        // Only whole entries are ever put in.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a column of a field found before is.
    pub(crate) fn place(&self, column: u32) -> Option<ColumnPlace> {
        self.known().columns.get(&column).cloned()
    }

    /// The projection to `paths`: at most two rounds. `None` where the whole schema has to be asked.
    pub(crate) fn project(
        &self,
        source: &Source,
        metadata: &Metadata,
        paths: &[String],
    ) -> Result<Option<Projection>> {
        if metadata.directory.is_none() || metadata.tables().is_some() || paths.len() > MAX_PATHS {
            return Ok(None);
        }
        let mut names: Vec<String> = paths.iter().flat_map(|path| first_names(path)).collect();
        names.sort();
        names.dedup();
        let (missing, has_metadata) = {
            let known = self.known();
            if known.fields.len() > MAX_NAMES {
                return Ok(None);
            }
            let missing = names.iter().filter(|name| !known.fields.contains_key(*name)).cloned();
            (missing.collect::<Vec<String>>(), known.metadata.is_some())
        };
        if !missing.is_empty() || !has_metadata {
            let Some(find) = FindFields::new(metadata, missing.clone()) else { return Ok(None) };
            let Some(found) = drive(source, find)? else { return Ok(None) };
            let mut known = self.known();
            for (name, fields) in missing.into_iter().zip(found.fields) {
                known.columns.extend(fields.iter().flat_map(FoundField::places));
                known.fields.insert(name, fields);
            }
            known.metadata = Some(found.metadata);
        }
        let schema = self.schema_of(&names, metadata)?;
        Ok(schema.project(paths).ok())
    }

    /// The schema as far as it has these names, which were looked up.
    fn schema_of(&self, names: &[String], metadata: &Metadata) -> Result<Schema> {
        let known = self.known();
        let mut fields: Vec<&FoundField> =
            names.iter().filter_map(|name| known.fields.get(name)).flatten().collect();
        fields.sort_by_key(|found| found.position);
        let mut end = 0;
        for found in &fields {
            let columns = &found.field.columns;
            if columns.start < end {
                corrupt!(
                    "the field directory gives field {:?} columns from {} on; one before it ends at {end}",
                    found.field.name(),
                    columns.start
                );
            }
            end = columns.end;
        }
        let fields = fields.into_iter().map(|found| found.field.clone()).collect();
        let entries = known.metadata.clone().unwrap_or_default();
        Schema::of_fields(fields, &entries, metadata.num_columns(), metadata.version(), &metadata.limits)
    }
}
