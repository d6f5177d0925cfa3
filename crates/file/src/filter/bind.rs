//! A predicate and a schema: columns found, literals brought to their types.

use std::cmp::Ordering;

use arrow_array::RecordBatch;
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, Field, Fields, Schema};

use super::column::Column;
use super::fit::{fit, value_type};
use super::lex::{MAX_QUOTED, shortened};
use super::like::Pattern;
use super::literal::Literal;
use super::outcomes::Outcomes;
use super::predicate::{Comparison, Operand, Predicate};
use crate::schema::{Part, distance, parse_path, path_part, type_name};
use crate::stats::{Facts, Value, ZoneFilter};
use crate::{Error, Result};

/// How deep a predicate may nest.
const MAX_DEPTH: usize = 200;

/// A predicate bound to a schema. See [`Predicate::bind`].
#[derive(Debug, Clone)]
pub struct Bound {
    pub(super) columns: Vec<BoundColumn>,
    pub(super) root: Node,
}

/// A column that a predicate uses.
#[derive(Debug, Clone)]
pub(crate) struct BoundColumn {
    pub(crate) path: String,
    /// Positions from the top level down through structs; never empty.
    pub(super) steps: Vec<usize>,
    pub(crate) data_type: DataType,
}

/// A predicate in terms of columns by number and values of their types.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Constant(bool),
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    Test {
        column: usize,
        test: Test,
    },
    /// Two columns of one type.
    Columns {
        op: Comparison,
        left: usize,
        right: usize,
    },
}

/// What a single column is asked. NULL for a null, except [`IsNull`](Self::IsNull).
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Test {
    Compare(Comparison, Value),
    /// Ascending, each once, without NaN, which is in no list.
    In(Vec<Value>),
    StartsWith(Vec<u8>),
    Like(Pattern),
    IsNan,
    IsTrue,
    IsNull,
}

impl Predicate {
    /// Finds the columns of the predicate in a schema, and brings every literal to its column's type.
    ///
    /// ```
    /// use arrow_schema::{DataType, Field, Schema};
    /// use pennon_file::filter::Predicate;
    ///
    /// let schema = Schema::new(vec![Field::new("x", DataType::Int8, true)]);
    /// assert!(Predicate::parse("x > 100")?.bind(&schema).is_ok());
    /// let wrong = Predicate::parse("x > 300")?.bind(&schema).unwrap_err();
    /// assert_eq!(wrong.message(), "300 does not fit int8 column x: its values are from -128 to 127");
    /// # Ok::<(), pennon_file::Error>(())
    /// ```
    ///
    /// # Errors
    /// A column that the schema does not have, a literal that does not fit its column exactly, or a test that the
    /// column's type does not know.
    pub fn bind(&self, schema: &Schema) -> Result<Bound> {
        let mut binder = Binder { schema, columns: Vec::new() };
        let root = binder.node(self, 0)?;
        Ok(Bound { columns: binder.columns, root })
    }
}

impl Bound {
    /// The rows of a batch for which the predicate is TRUE: a bit for each.
    ///
    /// # Errors
    /// The batch has not the schema that the predicate was bound to.
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanBuffer> {
        super::evaluate::evaluate(self, batch)
    }

    /// What the predicate can be in rows of which `known` has what is known of each of its columns.
    pub(crate) fn verdict(&self, known: &[Known<'_>]) -> Outcomes {
        super::prune::verdict(&self.root, known)
    }

    /// The single values that are asked for of each column.
    pub(crate) fn values(&self) -> Vec<Vec<Value>> {
        let mut values = vec![Vec::new(); self.columns.len()];
        collect_values(&self.root, &mut values);
        values
    }

    /// Where each of its columns is: positions from the top level down through structs.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &[usize]> {
        self.columns.iter().map(|column| column.steps.as_slice())
    }
}

/// What is known of a column in some rows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Known<'a> {
    pub(crate) facts: Option<&'a Facts>,
    /// Tells values that are not there.
    pub(crate) filter: Option<ZoneFilter<'a>>,
}

fn collect_values(node: &Node, values: &mut [Vec<Value>]) {
    match node {
        Node::And(parts) | Node::Or(parts) => parts.iter().for_each(|part| collect_values(part, values)),
        Node::Not(part) => collect_values(part, values),
        Node::Test { column, test } => {
            let Some(values) = values.get_mut(*column) else { return };
            match test {
                Test::Compare(Comparison::Equal | Comparison::NotEqual, value) => values.push(value.clone()),
                Test::In(list) => values.extend_from_slice(list),
                Test::Like(Pattern::Exact(text)) => values.push(Value::Bytes(text.as_bytes().to_vec())),
                _ => {}
            }
        }
        Node::Columns { .. } | Node::Constant(_) => {}
    }
}

struct Binder<'a> {
    schema: &'a Schema,
    columns: Vec<BoundColumn>,
}

impl Binder<'_> {
    fn node(&mut self, predicate: &Predicate, depth: usize) -> Result<Node> {
        if depth > MAX_DEPTH {
            return Err(Error::limit(format!("a predicate nests deeper than {MAX_DEPTH}")));
        }
        let mut all = |parts: &[Predicate]| -> Result<Vec<Node>> {
            parts.iter().map(|part| self.node(part, depth + 1)).collect()
        };
        Ok(match predicate {
            Predicate::Constant(value) => Node::Constant(*value),
            Predicate::And(parts) => Node::And(all(parts)?),
            Predicate::Or(parts) => Node::Or(all(parts)?),
            Predicate::Not(part) => Node::Not(Box::new(self.node(part, depth + 1)?)),
            Predicate::Compare { op, left, right } => self.compare(*op, left, right)?,
            Predicate::Between { column, low, high, negated } => {
                let column = Operand::Column(column.clone());
                let both = vec![
                    self.compare(Comparison::GreaterOrEqual, &column, low)?,
                    self.compare(Comparison::LessOrEqual, &column, high)?,
                ];
                negate(*negated, Node::And(both))
            }
            Predicate::IsNull { column, negated } => {
                let column = self.column(column)?;
                negate(*negated, Node::Test { column, test: Test::IsNull })
            }
            Predicate::In { column, list, negated } => {
                let column = self.column(column)?;
                let of = &self.columns[column];
                let mut list: Vec<Value> =
                    list.iter().map(|l| fit(l, &of.data_type, &of.path)).collect::<Result<_>>()?;
                list.retain(|value| value.order(value).is_some());
                list.sort_unstable_by(|a, b| a.order(b).unwrap_or(Ordering::Equal));
                list.dedup_by(|a, b| a.order(b) == Some(Ordering::Equal));
                negate(*negated, Node::Test { column, test: Test::In(list) })
            }
            Predicate::Like { column, pattern, escape, negated } => {
                let Some(pattern) = Pattern::new(pattern, *escape) else {
                    return Err(Error::invalid(format!(
                        "in {}: after the escape character comes %, _ or the character itself",
                        shortened(&predicate.to_string(), MAX_QUOTED)
                    )));
                };
                use DataType::*;
                let wanted = |t: &DataType| matches!(t, Utf8 | LargeUtf8 | Utf8View | Null);
                let column = self.column_of(column, "LIKE", "text", wanted)?;
                negate(*negated, Node::Test { column, test: Test::Like(pattern) })
            }
            Predicate::StartsWith { column, prefix } => {
                use DataType::*;
                let wanted = |t: &DataType| match prefix {
                    Literal::String(_) => matches!(t, Utf8 | LargeUtf8 | Utf8View | Null),
                    _ => matches!(t, Binary | LargeBinary | BinaryView | FixedSizeBinary(_) | Null),
                };
                let (bytes, kind) = match prefix {
                    Literal::String(text) => (text.as_bytes().to_vec(), "text"),
                    Literal::Bytes(bytes) => (bytes.clone(), "bytes"),
                    other => {
                        return Err(Error::invalid(format!(
                            "starts_with compares with text or bytes, not with {other}"
                        )));
                    }
                };
                let column = self.column_of(column, "starts_with", kind, wanted)?;
                Node::Test { column, test: Test::StartsWith(bytes) }
            }
            Predicate::IsNan(column) => {
                let wanted = |t: &DataType| t.is_floating() || *t == DataType::Null;
                let column = self.column_of(column, "is_nan", "floating-point numbers", wanted)?;
                Node::Test { column, test: Test::IsNan }
            }
            Predicate::Column(column) => {
                let wanted = |t: &DataType| matches!(t, DataType::Boolean | DataType::Null);
                let column = self.column_of(column, "a column alone", "TRUE and FALSE", wanted)?;
                Node::Test { column, test: Test::IsTrue }
            }
        })
    }

    fn compare(&mut self, op: Comparison, left: &Operand, right: &Operand) -> Result<Node> {
        let (op, column, literal) = match (left, right) {
            (Operand::Column(column), Operand::Literal(literal)) => (op, column, literal),
            (Operand::Literal(literal), Operand::Column(column)) => (op.flipped(), column, literal),
            (Operand::Column(left), Operand::Column(right)) => {
                let (left, right) = (self.column(left)?, self.column(right)?);
                self.alike(left, right)?;
                return Ok(Node::Columns { op, left, right });
            }
            (Operand::Literal(left), Operand::Literal(right)) => {
                return Err(Error::invalid(format!(
                    "{left} {} {right}: a comparison needs a column on one of its sides",
                    op.sign()
                )));
            }
        };
        let column = self.column(column)?;
        let of = &self.columns[column];
        let value = fit(literal, &of.data_type, &of.path)?;
        Ok(Node::Test { column, test: Test::Compare(op, value) })
    }

    /// Fails unless two columns hold values of one type.
    fn alike(&self, left: usize, right: usize) -> Result<()> {
        let (left, right) = (&self.columns[left], &self.columns[right]);
        let (a, b) = (value_type(&left.data_type), value_type(&right.data_type));
        let same = match (a, b) {
            // The zone is for show; both are times of UTC.
            (DataType::Timestamp(a, x), DataType::Timestamp(b, y)) => a == b && x.is_some() == y.is_some(),
            (DataType::Null, _) | (_, DataType::Null) => true,
            (a, b) => a == b && !a.is_nested() && !matches!(a, DataType::Interval(_) | DataType::Union(..)),
        };
        if same {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "columns {} and {} are not compared: the one is {}, the other {}",
            left.path,
            right.path,
            type_name(a),
            type_name(b)
        )))
    }

    /// A column whose type a test knows.
    fn column_of(
        &mut self,
        column: &Column,
        what: &str,
        kind: &str,
        wanted: impl Fn(&DataType) -> bool,
    ) -> Result<usize> {
        let at = self.column(column)?;
        let of = &self.columns[at];
        let inner = value_type(&of.data_type);
        if wanted(inner) {
            return Ok(at);
        }
        Err(Error::invalid(format!("{what} is for {kind}; column {} is {}", of.path, type_name(inner))))
    }

    /// The number of a column among those used.
    fn column(&mut self, column: &Column) -> Result<usize> {
        let (steps, data_type) = find(self.schema.fields(), column.path())?;
        if let Some(at) = self.columns.iter().position(|c| c.steps == steps) {
            return Ok(at);
        }
        self.columns.push(BoundColumn {
            path: column.path().to_owned(),
            steps,
            data_type: data_type.clone(),
        });
        Ok(self.columns.len() - 1)
    }
}

fn negate(negated: bool, node: Node) -> Node {
    if negated { Node::Not(Box::new(node)) } else { node }
}

/// Positions from the top level down to the field at `path`, and its type.
fn find<'a>(fields: &'a Fields, path: &str) -> Result<(Vec<usize>, &'a DataType)> {
    if let Some(at) = fields.iter().position(|f| f.name() == path) {
        return Ok((vec![at], fields[at].data_type()));
    }
    let mut steps = Vec::new();
    let mut inside = fields;
    let mut data_type = &DataType::Null;
    let parts = parse_path(path)?;
    for (depth, part) in parts.iter().enumerate() {
        let above = parts[..depth].iter().map(ToString::to_string).collect::<Vec<_>>().join(".");
        if depth > 0 {
            inside = match data_type {
                DataType::Struct(children) => children,
                other => {
                    return Err(Error::invalid(format!(
                        "no column {path:?} for a predicate: {above} is {}, and only structs are walked",
                        type_name(other)
                    )));
                }
            };
        }
        let (at, field) = pick(inside, part).ok_or_else(|| missing(path, &above, part, inside))?;
        steps.push(at);
        data_type = field.data_type();
    }
    Ok((steps, data_type))
}

fn pick<'a>(fields: &'a Fields, part: &Part) -> Option<(usize, &'a Field)> {
    let named =
        |name: &str, nth: usize| fields.iter().enumerate().filter(|(_, f)| f.name() == name).nth(nth - 1);
    let found = part.raw.as_deref().and_then(|raw| named(raw, 1)).or_else(|| named(&part.name, part.nth));
    found.map(|(at, field)| (at, field.as_ref()))
}

#[cold]
fn missing(path: &str, above: &str, part: &Part, fields: &Fields) -> Error {
    let wanted = part.to_string();
    let nearest = fields.iter().map(|f| (distance(&wanted, f.name()), f.name())).min();
    let place = if above.is_empty() { String::new() } else { format!(" in {above}") };
    let hint = match nearest {
        Some((edits, name)) if edits <= 1 + wanted.len() / 3 => {
            format!("did you mean {}?", path_part(name, 1))
        }
        Some(_) if fields.len() <= 8 => {
            let names: Vec<_> = fields.iter().map(|f| path_part(f.name(), 1)).collect();
            format!("there are {}", names.join(", "))
        }
        Some(_) => format!("there are {} others", fields.len()),
        None => "there are no columns".to_owned(),
    };
    Error::invalid(format!("no column {path:?}: no {wanted}{place}; {hint}"))
}
