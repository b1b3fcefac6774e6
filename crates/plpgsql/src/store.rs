//! Values of variables: what they hold, how they are assigned to, and how texts of SQL get them.
//!
//! Invariant: a variable holds NULL or a value of its type; all together take at most [`KEPT_BYTES_MAX`].

use crate::RoutineCatalog;
use crate::error::{PlpgsqlResult, RoutineError, sqlstate};
use crate::limits::{ELEMENTS_MAX, KEPT_BYTES_MAX};
use crate::place::VariablePlace;
use crate::program::{AssignmentTarget, DeclaredType, RoutineProgram, RoutineVariable};
use crate::sql_text::RoutineText;
use std::fmt::Write;
use std::sync::Arc;
use values::cast::{self, Context};
use values::{Type, Value, Zone, text};

/// A field of a record.
#[derive(Clone, Debug)]
pub struct RecordField {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: Type,
    /// Its value.
    pub value: Value,
}

/// What an expression has yielded.
#[derive(Clone, Debug)]
pub enum RoutineOperand {
    /// A value.
    Scalar(Value, Type),
    /// A whole record.
    Record(Vec<RecordField>),
}

/// What a variable may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
enum VariableShape {
    Scalar(Type),
    Row(Vec<(String, Type)>),
    Record,
    Any,
}

/// What a variable holds.
#[derive(Clone, Debug)]
enum Held {
    Scalar(Value, Type),
    Record(Option<Vec<RecordField>>),
    /// A row that is NULL, whose fields are known: they are NULL.
    NullRow(Vec<RecordField>),
}

#[derive(Clone, Debug)]
struct StoredVariable {
    name: String,
    shape: VariableShape,
    held: Held,
    is_not_null: bool,
}

/// The variables of a run.
#[derive(Clone, Debug)]
pub struct VariableStore {
    all: Vec<StoredVariable>,
    bytes: usize,
}

/// A text with `$1` and so on in the places of variables.
pub(crate) struct BoundText {
    pub sql: Arc<str>,
    pub parameters: Vec<Value>,
    pub types: Vec<Option<Type>>,
}

impl RoutineProgram {
    /// Looks for the types of its variables.
    ///
    /// # Errors
    /// 42704, 42P01 and 42703 for those that are not there.
    pub fn check_types(&self, catalog: &dyn RoutineCatalog) -> PlpgsqlResult<()> {
        VariableStore::new(&self.variables, catalog).map(drop)
    }
}

impl VariableStore {
    /// All variables, which hold nothing. Errors: 42704, 42P01 and 42703 for types that are not there.
    pub(crate) fn new(variables: &[RoutineVariable], catalog: &dyn RoutineCatalog) -> PlpgsqlResult<VariableStore> {
        let mut all: Vec<StoredVariable> = Vec::with_capacity(variables.len());
        for variable in variables {
            let shape = match &variable.declared {
                DeclaredType::OfVariable(other) => all[*other].shape.clone(),
                declared => shape_of(declared, catalog)?,
            };
            let held = empty(&shape);
            all.push(StoredVariable { name: variable.name.clone(), shape, held, is_not_null: variable.is_not_null });
        }
        Ok(VariableStore { all, bytes: 0 })
    }

    /// A scalar variable or field; `None`: it is none.
    pub(crate) fn scalar(&self, place: &VariablePlace) -> PlpgsqlResult<Option<(Value, Type)>> {
        match place {
            VariablePlace::Whole(number) => match &self.all[*number].held {
                Held::Scalar(value, data_type) => Ok(Some((value.clone(), *data_type))),
                Held::Record(_) | Held::NullRow(_) => Ok(None),
            },
            VariablePlace::Field(number, field) => {
                if let Held::Scalar(..) = self.all[*number].held {
                    return Ok(None);
                }
                let fields = self.fields(*number)?;
                let found = fields.iter().find(|known| known.name == *field);
                match found {
                    Some(field) => Ok(Some((field.value.clone(), field.data_type))),
                    None => Err(self.no_field(*number, field)),
                }
            }
            VariablePlace::Fields(_) => Ok(None),
        }
    }

    /// A whole variable; `None` for a record that holds nothing.
    pub(crate) fn whole(&self, number: usize) -> Option<RoutineOperand> {
        match &self.all[number].held {
            Held::Scalar(value, data_type) => Some(RoutineOperand::Scalar(value.clone(), *data_type)),
            Held::Record(fields) => fields.clone().map(RoutineOperand::Record),
            Held::NullRow(_) => Some(RoutineOperand::Scalar(Value::Null, Type::Text)),
        }
    }

    fn no_field(&self, number: usize, field: &str) -> Box<RoutineError> {
        let message = format!("record \"{}\" has no field \"{field}\"", self.all[number].name);
        RoutineError::new(sqlstate::UNDEFINED_COLUMN, message)
    }

    /// Has a variable hold nothing.
    pub(crate) fn clear(&mut self, number: usize) {
        let held = empty(&self.all[number].shape);
        let before = std::mem::replace(&mut self.all[number].held, held);
        self.bytes = (self.bytes + size_of(&self.all[number].held)).saturating_sub(size_of(&before));
    }

    /// The fields of a record. Errors: 55000 for one that holds nothing.
    fn fields(&self, number: usize) -> PlpgsqlResult<&[RecordField]> {
        match &self.all[number].held {
            Held::Record(Some(fields)) | Held::NullRow(fields) => Ok(fields),
            _ => {
                let message = format!("record \"{}\" is not assigned yet", self.all[number].name);
                Err(RoutineError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                    .with_detail("The tuple structure of a not-yet-assigned record is indeterminate."))
            }
        }
    }

    /// A text with the values of its variables.
    pub(crate) fn bind(&self, source: &RoutineText, catalog: &dyn RoutineCatalog) -> PlpgsqlResult<BoundText> {
        let mut bound = BoundText { sql: Arc::from(""), parameters: Vec::new(), types: Vec::new() };
        let (mut sql, mut end) = (String::with_capacity(source.sql.len()), 0);
        let mut known: Vec<(VariablePlace, usize)> = Vec::new();
        for reference in &source.references {
            let is_scalar = |number: usize| matches!(self.all[number].held, Held::Scalar(..));
            match &reference.place {
                // What has no fields is not meant.
                VariablePlace::Field(number, _) | VariablePlace::Fields(number) if is_scalar(*number) => continue,
                _ => {}
            }
            if source.is_column(reference, catalog) {
                if let VariablePlace::Field(number, field) = &reference.place
                    && !self.fields(*number).is_ok_and(|fields| fields.iter().any(|known| known.name == *field))
                {
                    continue;
                }
                return Err(ambiguous(&reference.names));
            }
            sql.push_str(&source.sql[end..reference.start]);
            end = reference.end;
            let mut one = |place: &VariablePlace, value: Value, data_type: Type| {
                let number = match known.iter().find(|(known, _)| known == place) {
                    Some((_, number)) => *number,
                    None => {
                        bound.parameters.push(value);
                        bound.types.push(Some(data_type.unmodified()));
                        known.push((place.clone(), bound.parameters.len()));
                        bound.parameters.len()
                    }
                };
                format!("${number}")
            };
            match &reference.place {
                VariablePlace::Whole(number) if !is_scalar(*number) => {
                    let fields = self.fields(*number)?;
                    let places = fields.iter().map(|field| {
                        let place = VariablePlace::Field(*number, field.name.clone());
                        one(&place, field.value.clone(), field.data_type)
                    });
                    let _ = write!(sql, "ROW({})", places.collect::<Vec<_>>().join(", "));
                }
                VariablePlace::Fields(number) => {
                    let fields = self.fields(*number)?;
                    let places = fields.iter().map(|field| {
                        let place = VariablePlace::Field(*number, field.name.clone());
                        one(&place, field.value.clone(), field.data_type)
                    });
                    sql.push_str(&places.collect::<Vec<_>>().join(", "));
                }
                place => {
                    let Some((value, data_type)) = self.scalar(place)? else { continue };
                    let written = one(place, value, data_type);
                    match reference.is_subscripted {
                        true => {
                            let _ = write!(sql, "({written})");
                        }
                        false => sql.push_str(&written),
                    }
                }
            }
        }
        sql.push_str(&source.sql[end..]);
        bound.sql = Arc::from(sql);
        Ok(bound)
    }

    /// Assigns a value. Errors: those of the cast; 22004 for NULL where there must be none; 42804.
    pub(crate) fn assign(
        &mut self,
        target: &AssignmentTarget,
        operand: RoutineOperand,
        zone: &Zone,
    ) -> PlpgsqlResult<()> {
        match (target, operand) {
            (AssignmentTarget::Variable(number), RoutineOperand::Scalar(value, data_type)) => {
                self.assign_scalar(*number, value, data_type, zone)
            }
            (AssignmentTarget::Variable(number), RoutineOperand::Record(fields)) => {
                let columns: Vec<_> = fields.iter().map(|field| (field.name.clone(), field.data_type)).collect();
                let row: Vec<Value> = fields.into_iter().map(|field| field.value).collect();
                if let VariableShape::Scalar(_) = self.all[*number].shape {
                    return Err(RoutineError::unsupported("a whole record as a value"));
                }
                self.assign_row(target, &columns, Some(row), zone)
            }
            (AssignmentTarget::Field(number, field), RoutineOperand::Scalar(value, data_type)) => {
                self.assign_field(*number, field, value, data_type, zone)
            }
            (AssignmentTarget::Field(..), RoutineOperand::Record(_)) => {
                Err(RoutineError::unsupported("a record in a field of another"))
            }
            (AssignmentTarget::Several(_) | AssignmentTarget::Element(_), _) => {
                Err(RoutineError::unsupported("this assignment"))
            }
        }
    }

    fn assign_scalar(&mut self, number: usize, value: Value, from: Type, zone: &Zone) -> PlpgsqlResult<()> {
        let variable = &self.all[number];
        let held = match variable.shape {
            VariableShape::Scalar(to) => Held::Scalar(coerce(value, from, to, zone)?, to),
            VariableShape::Any => Held::Scalar(value, from),
            VariableShape::Row(_) | VariableShape::Record if value.is_null() => empty(&variable.shape),
            VariableShape::Row(_) | VariableShape::Record => {
                let message = "cannot assign non-composite value to a record variable";
                return Err(RoutineError::new(sqlstate::DATATYPE_MISMATCH, message));
            }
        };
        if variable.is_not_null && matches!(&held, Held::Scalar(Value::Null, _)) {
            let message = format!("null value cannot be assigned to variable \"{}\" declared NOT NULL", variable.name);
            return Err(RoutineError::new(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
        }
        self.hold(number, held)
    }

    /// Has a record hold a row, or NULL, with these fields.
    pub(crate) fn hold_row(
        &mut self,
        number: usize,
        fields: &[(String, Type)],
        row: Option<Vec<Value>>,
    ) -> PlpgsqlResult<()> {
        let is_null = row.is_none();
        let mut row = row.unwrap_or_default().into_iter();
        let fields = fields.iter().map(|(name, data_type)| RecordField {
            name: name.clone(),
            data_type: *data_type,
            value: row.next().unwrap_or(Value::Null),
        });
        let fields = fields.collect();
        self.hold(number, if is_null { Held::NullRow(fields) } else { Held::Record(Some(fields)) })
    }

    /// Whether it is a record, or NULL in the place of one.
    pub(crate) fn is_record(&self, number: usize) -> bool {
        !matches!(self.all[number].held, Held::Scalar(..))
    }

    fn hold(&mut self, number: usize, held: Held) -> PlpgsqlResult<()> {
        let before = std::mem::replace(&mut self.all[number].held, held);
        self.bytes = (self.bytes + size_of(&self.all[number].held)).saturating_sub(size_of(&before));
        self.check_bytes(0)
    }

    /// Errors: 54000 for more than a run may keep, with `more` bytes beside the variables.
    pub(crate) fn check_bytes(&self, more: usize) -> PlpgsqlResult<()> {
        if self.bytes + more <= KEPT_BYTES_MAX {
            return Ok(());
        }
        let mebibytes = KEPT_BYTES_MAX >> 20;
        Err(RoutineError::beyond(format!("the variables and rows of a routine may have at most {mebibytes} MiB")))
    }

    fn assign_field(&mut self, number: usize, field: &str, value: Value, from: Type, zone: &Zone) -> PlpgsqlResult<()> {
        if let Held::Scalar(..) = self.all[number].held {
            let message = format!("variable \"{}\" is no record", self.all[number].name);
            return Err(RoutineError::new(sqlstate::DATATYPE_MISMATCH, message));
        }
        let mut fields = self.fields(number)?.to_vec();
        let Some(found) = fields.iter_mut().find(|known| known.name == field) else {
            return Err(self.no_field(number, field));
        };
        found.value = coerce(value, from, found.data_type, zone)?;
        self.hold(number, Held::Record(Some(fields)))
    }

    /// Assigns a row; `None`: there is none, and all gets NULL.
    pub(crate) fn assign_row(
        &mut self,
        target: &AssignmentTarget,
        columns: &[(String, Type)],
        row: Option<Vec<Value>>,
        zone: &Zone,
    ) -> PlpgsqlResult<()> {
        let mut row = row.unwrap_or_default().into_iter();
        let mut values = columns.iter().map(|(_, data_type)| (row.next().unwrap_or(Value::Null), *data_type));
        match target {
            AssignmentTarget::Several(targets) => {
                for target in targets {
                    let (value, data_type) = values.next().unwrap_or((Value::Null, Type::Text));
                    self.assign(target, RoutineOperand::Scalar(value, data_type), zone)?;
                }
                Ok(())
            }
            AssignmentTarget::Variable(number) => match self.all[*number].shape.clone() {
                VariableShape::Record => {
                    let fields = columns.iter().zip(values).map(|((name, _), (value, data_type))| RecordField {
                        name: name.clone(),
                        data_type,
                        value,
                    });
                    let fields = fields.collect();
                    self.hold(*number, Held::Record(Some(fields)))
                }
                VariableShape::Row(known) => {
                    let mut fields = Vec::with_capacity(known.len());
                    for (name, to) in known {
                        let (value, from) = values.next().unwrap_or((Value::Null, to));
                        fields.push(RecordField { name, data_type: to, value: coerce(value, from, to, zone)? });
                    }
                    self.hold(*number, Held::Record(Some(fields)))
                }
                VariableShape::Scalar(_) | VariableShape::Any => {
                    let (value, data_type) = values.next().unwrap_or((Value::Null, Type::Text));
                    self.assign_scalar(*number, value, data_type, zone)
                }
            },
            AssignmentTarget::Field(number, field) => {
                let (value, data_type) = values.next().unwrap_or((Value::Null, Type::Text));
                self.assign_field(*number, field, value, data_type, zone)
            }
            AssignmentTarget::Element(_) => Err(RoutineError::unsupported("INTO an element of an array")),
        }
    }

    /// `a[subscript] := value`.
    pub(crate) fn assign_element(
        &mut self,
        number: usize,
        at: RoutineOperand,
        value: RoutineOperand,
        zone: &Zone,
    ) -> PlpgsqlResult<()> {
        let (RoutineOperand::Scalar(at, at_type), RoutineOperand::Scalar(value, from)) = (at, value) else {
            return Err(RoutineError::unsupported("a record as an element of an array"));
        };
        let VariableShape::Scalar(array_type) = self.all[number].shape else {
            return Err(RoutineError::unsupported("assignment to a part of this variable"));
        };
        let Some(element) = array_type.element() else {
            let message =
                format!("cannot subscript type {} because it does not support subscripting", array_type.base_name());
            return Err(RoutineError::new(sqlstate::DATATYPE_MISMATCH, message));
        };
        let Value::Integer(place) = coerce(at, at_type, Type::Integer, zone)? else {
            let message = "array subscript in assignment must not be null";
            return Err(RoutineError::new(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
        };
        let value = coerce(value, from, element, zone)?;
        let mut values = match &self.all[number].held {
            Held::Scalar(value, _) => value.as_array().unwrap_or_default().to_vec(),
            Held::Record(_) | Held::NullRow(_) => Vec::new(),
        };
        let place = usize::try_from(place).ok().filter(|place| (1..=ELEMENTS_MAX).contains(place));
        let Some(place) = place else {
            return Err(RoutineError::unsupported("an array whose subscripts do not begin at 1"));
        };
        if values.is_empty() && place > 1 {
            return Err(RoutineError::unsupported("an array whose subscripts do not begin at 1"));
        }
        if values.len() < place {
            values.resize(place, Value::Null);
        }
        values[place - 1] = value;
        self.hold(number, Held::Scalar(Value::array(element, values), array_type))
    }
}

fn ambiguous(names: &[String]) -> Box<RoutineError> {
    let message = format!("column reference \"{}\" is ambiguous", names.join("."));
    RoutineError::new(sqlstate::AMBIGUOUS_COLUMN, message)
        .with_detail("It could refer to either a PL/pgSQL variable or a table column.")
}

fn size_of(held: &Held) -> usize {
    match held {
        Held::Scalar(value, _) => value.size_in_memory(),
        Held::Record(None) => 0,
        Held::Record(Some(fields)) | Held::NullRow(fields) => {
            fields.iter().map(|field| size_of_val(field) + field.name.len() + field.value.size_in_memory()).sum()
        }
    }
}

fn empty(shape: &VariableShape) -> Held {
    match shape {
        VariableShape::Scalar(data_type) => Held::Scalar(Value::Null, *data_type),
        VariableShape::Any => Held::Scalar(Value::Null, Type::Text),
        VariableShape::Record => Held::Record(None),
        VariableShape::Row(fields) => {
            let field = |(name, data_type): &(String, Type)| RecordField {
                name: name.clone(),
                data_type: *data_type,
                value: Value::Null,
            };
            Held::Record(Some(fields.iter().map(field).collect()))
        }
    }
}

fn shape_of(declared: &DeclaredType, catalog: &dyn RoutineCatalog) -> PlpgsqlResult<VariableShape> {
    let undefined = |names: &[String]| {
        let message = format!("relation \"{}\" does not exist", names.join("."));
        RoutineError::new(sqlstate::UNDEFINED_TABLE, message)
    };
    Ok(match declared {
        DeclaredType::Known(data_type) => VariableShape::Scalar(*data_type),
        DeclaredType::Record => VariableShape::Record,
        DeclaredType::Any | DeclaredType::OfVariable(_) => VariableShape::Any,
        DeclaredType::OfTable(names) => VariableShape::Row(catalog.columns(names).ok_or_else(|| undefined(names))?),
        DeclaredType::OfColumn(names) => {
            let (column, table) = names.split_last().expect("it has two names at least");
            let columns = catalog.columns(table).unwrap_or_default();
            let found = columns.into_iter().find(|(name, _)| name == column);
            // PostgreSQL takes what is no column for a type, which has no such sign in its name.
            let found = found.ok_or_else(|| RoutineError::syntax("syntax error at or near \"%\"", 0))?;
            VariableShape::Scalar(found.1)
        }
        DeclaredType::Named(written) => match catalog.data_type(written) {
            Ok(data_type) => VariableShape::Scalar(data_type),
            Err(error) => {
                let names: Vec<String> = written.split('.').map(|name| unquoted(name.trim())).collect();
                VariableShape::Row(catalog.columns(&names).ok_or(error)?)
            }
        },
    })
}

fn unquoted(name: &str) -> String {
    match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        Some(inner) => inner.replace("\"\"", "\""),
        None => name.to_ascii_lowercase(),
    }
}

/// A value as one of another type: as assignments cast, and by its text where there is no such cast.
pub fn coerce(value: Value, from: Type, to: Type, zone: &Zone) -> PlpgsqlResult<Value> {
    if value.is_null() || (from == to && !to.has_labels()) {
        return Ok(value);
    }
    // PostgreSQL casts by assignment, and by text where there is no cast.
    if cast::context(from, to).is_some_and(|context| context <= Context::Assignment) {
        return Ok(cast::assign_in(&value, to, zone)?);
    }
    let written = shown(&value, from, zone);
    let read = text::parse_in(&written, to.unmodified(), zone)?;
    Ok(cast::assign_in(&read, to, zone)?)
}

/// A value as its type's output function writes it.
pub(crate) fn shown(value: &Value, data_type: Type, zone: &Zone) -> String {
    let mut out = Vec::new();
    text::write_in(value, data_type, zone, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// A record as PostgreSQL writes it.
pub(crate) fn shown_record(fields: &[RecordField], zone: &Zone) -> String {
    let field = |field: &RecordField| {
        if field.value.is_null() {
            return String::new();
        }
        let written = shown(&field.value, field.data_type, zone);
        let needs = |c: char| matches!(c, '"' | '\\' | '(' | ')' | ',') || c.is_whitespace();
        match written.is_empty() || written.contains(needs) {
            true => format!("\"{}\"", written.replace('\\', "\\\\").replace('"', "\"\"")),
            false => written,
        }
    };
    format!("({})", fields.iter().map(field).collect::<Vec<_>>().join(","))
}
