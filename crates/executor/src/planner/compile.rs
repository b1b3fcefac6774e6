//! Expressions of the tree as expressions over rows.

use super::frame::{ColumnFrame, EntryPlace};
use super::{OuterPlace, PlanResult, QueryPlanner, not_built};
use crate::error::ExecutionError;
use crate::expression::{Callee, CompiledExpression, ErrorPlace};
use analyzer::facts::{Function, FunctionKind, Volatility};
use analyzer::tree::{Constant, EntryKind, ExprId, Node};
use analyzer::types::{ANY, CHAR, FunctionId, INTERVAL, NO_MODIFIER, OID, REGPROC, UNKNOWN};
use analyzer::{TypeId, Typed};
use evaluation::functions::catalogs::{is_named, is_over_catalogs, is_vector};
use evaluation::storage::{ACL_ITEM, ACL_ITEM_ARRAY};
use evaluation::storage::{REG_ARRAYS, REGCONFIG, REGDICTIONARY};
use values::error::sqlstate::FEATURE_NOT_SUPPORTED;
use values::{Type, Value};

/// Functions of arrays that take arrays from zero for what they are.
const OF_VECTORS: [&str; 6] =
    ["array_length", "array_to_string", "cardinality", "count", "generate_subscripts", "unnest"];
/// `regproc`, `pg_node_tree`, `aclitem` and arrays of it: what their texts have to be is not known here.
const UNREAD: [TypeId; 4] = [TypeId(24), TypeId(194), ACL_ITEM, ACL_ITEM_ARRAY];
/// `jsonpath`
const JSONPATH: TypeId = TypeId(4072);

/// A value as one of another type that PostgreSQL holds in the same bytes.
pub fn relabelled(value: CompiledExpression, source: Type, target: Type) -> PlanResult<CompiledExpression> {
    let (source, target) = (source.unmodified(), target.unmodified());
    match (source, target) {
        (Type::Integer, Type::Oid) | (Type::Oid, Type::Integer) | (Type::Cidr, Type::Inet) => Ok(match value {
            CompiledExpression::Constant(value) => {
                CompiledExpression::Constant(crate::expression::same_bits(value, target))
            }
            value => CompiledExpression::SameBits { value: Box::new(value), target },
        }),
        _ if source == target || (source.is_string() && target.is_string()) => Ok(value),
        _ if source.is_bits() && target.is_bits() => Ok(value),
        (Type::Array(one), Type::Array(other)) if one.data_type().is_string() && other.data_type().is_string() => {
            Ok(value)
        }
        (Type::Array(one), Type::Array(other)) if one.data_type().is_bits() && other.data_type().is_bits() => Ok(value),
        _ => not_built(format!("{source} as {target}")),
    }
}

impl QueryPlanner<'_> {
    /// How values of a type are held.
    pub fn storage(&self, typed: Typed) -> PlanResult<Type> {
        let text = if typed.id == UNKNOWN { Some(Type::Text) } else { None };
        let own = || self.relations.user_type(typed.id);
        match text.or_else(own).or_else(|| evaluation::storage::storage(typed)) {
            Some(storage) => Ok(storage),
            None => not_built(format!("values of type {}", self.type_name(typed.id))),
        }
    }

    fn type_name(&self, id: TypeId) -> String {
        self.catalog.type_row(id).map_or_else(|| id.to_string(), |row| row.name.to_string())
    }

    /// An expression of a query at a level, over a row.
    pub fn compile(&mut self, id: ExprId, level: usize, current: &ColumnFrame) -> PlanResult<CompiledExpression> {
        self.step()?;
        if let Some(found) = self.computed(id, current) {
            return Ok(found);
        }
        if let Some(found) = self.group_equal_to(id, level, current) {
            return Ok(found);
        }
        let expression = &self.tree[id];
        let typed = expression.typed;
        let at = ErrorPlace(expression.at);
        Ok(match &expression.node {
            Node::Column { levels_up, entry, column } => {
                let place = EntryPlace { entry: *entry, column: *column };
                return self.column(level, *levels_up, place, current);
            }
            Node::Parameter(number) => return Ok(self.parameter(*number as usize - 1)),
            Node::Constant(constant) => CompiledExpression::Constant(self.constant(constant, typed, at)?),
            Node::Function { function, arguments, variadic, .. } => {
                if let Some(routine) = self.relations.routine(*function) {
                    return self.routine_value(*function, routine, arguments, level, current);
                }
                let is_any = |id: &FunctionId| self.catalog.function(*id).is_some_and(|row| row.variadic == ANY);
                if *variadic && is_any(function) {
                    return not_built("an array for VARIADIC of any type");
                }
                if evaluation::enums::asks_for_labels(*function) {
                    return self.labels(*function, arguments, typed, level, current);
                }
                let mut callee = self.callee(*function, arguments, typed)?;
                let arguments = self.arguments_of_json(&mut callee, arguments, level, current)?;
                return self.folded(callee, arguments);
            }
            Node::Operator { function, arguments, .. } => {
                let callee = self.callee(*function, arguments, typed)?;
                let arguments = self.compile_all(arguments, level, current)?;
                return self.folded(callee, arguments);
            }
            Node::Distinct { function, arguments, .. } => {
                let callee = self.callee(*function, arguments, typed)?;
                CompiledExpression::Distinct(Box::new(callee), self.compile_all(arguments, level, current)?)
            }
            Node::NullIf { function, arguments, .. } => {
                let boolean = Typed { id: analyzer::types::BOOL, ..typed };
                let callee = self.callee(*function, arguments, boolean)?;
                CompiledExpression::NullIf(Box::new(callee), self.compile_all(arguments, level, current)?)
            }
            Node::And(parts) => return self.connected(parts, false, level, current),
            Node::Or(parts) => return self.connected(parts, true, level, current),
            Node::Not(value) => CompiledExpression::Not(self.boxed(*value, level, current)?),
            Node::Coalesce(parts) => return self.coalesce(parts, level, current),
            Node::Extreme { greatest, arguments } => {
                self.ordered(typed.id)?;
                CompiledExpression::Extreme {
                    greatest: *greatest,
                    arguments: self.compile_all(arguments, level, current)?,
                }
            }
            Node::Relabel { value, .. } if self.tree[*value].typed.id == REGPROC && typed.id == OID => {
                return self.function_number(*value, typed, level, current);
            }
            Node::Relabel { value, .. } | Node::Collate { value, .. } => {
                let (source, target) = (self.storage(self.tree[*value].typed)?, self.storage(typed)?);
                let value = self.compile(*value, level, current)?;
                return relabelled(value, source, target);
            }
            _ => return self.compile_other(id, level, current),
        })
    }

    pub fn boxed(&mut self, id: ExprId, level: usize, current: &ColumnFrame) -> PlanResult<Box<CompiledExpression>> {
        self.compile(id, level, current).map(Box::new)
    }

    pub fn compile_all(
        &mut self,
        ids: &[ExprId],
        level: usize,
        current: &ColumnFrame,
    ) -> PlanResult<Vec<CompiledExpression>> {
        ids.iter().map(|id| self.compile(*id, level, current)).collect()
    }

    /// Refuses a type whose order is not that of its values.
    pub fn ordered(&self, id: TypeId) -> PlanResult<()> {
        if crate::equality::is_plain(id) { Ok(()) } else { not_built(format!("order of {}", self.type_name(id))) }
    }

    /// What is computed already, in the row or in one around.
    fn computed(&mut self, id: ExprId, current: &ColumnFrame) -> Option<CompiledExpression> {
        if let Some(slot) = current.computed.get(&id) {
            return Some(CompiledExpression::Slot(*slot));
        }
        let found = self
            .frames
            .iter()
            .enumerate()
            .rev()
            .find_map(|(frame, known)| known.computed.get(&id).map(|slot| OuterPlace { frame, slot: *slot }))?;
        Some(self.outer(found))
    }

    pub fn outer(&mut self, place: OuterPlace) -> CompiledExpression {
        self.outer_log.push(place);
        CompiledExpression::Outer { frame: place.frame, slot: place.slot }
    }

    /// The place of the group that is this expression.
    fn group_equal_to(&mut self, id: ExprId, level: usize, current: &ColumnFrame) -> Option<CompiledExpression> {
        let grouped = current.grouped.clone().filter(|grouped| level == current.level && !grouped.groups.is_empty())?;
        let is_free = |node: &Node| {
            matches!(node, Node::SubLink { .. } | Node::Aggregate(_) | Node::Grouping { .. } | Node::Window(_))
        };
        if self.tree.find(id, &mut |expression, _| is_free(&expression.node)).is_some() {
            return None;
        }
        let (log, volatile) = (self.outer_log.len(), self.volatile_calls);
        let compiled = self.compile(id, level, &grouped.before).ok();
        self.outer_log.truncate(log);
        self.volatile_calls = volatile;
        let place = grouped.groups.iter().position(|group| Some(group) == compiled.as_ref())?;
        (!matches!(compiled, Some(CompiledExpression::Constant(_) | CompiledExpression::Parameter(_))))
            .then_some(CompiledExpression::Slot(place))
    }

    pub fn column(
        &mut self,
        level: usize,
        levels_up: u32,
        place: EntryPlace,
        current: &ColumnFrame,
    ) -> PlanResult<CompiledExpression> {
        let Some(target) = level.checked_sub(levels_up as usize).filter(|target| *target < self.levels.len()) else {
            return not_built("a column of no query");
        };
        let query = &self.tree[self.levels[target].query];
        if let EntryKind::Join { columns, .. } = &query.range_table[place.entry as usize].kind {
            return self.compile(columns[place.column as usize], target, current);
        }
        if current.level == target
            && let Some(slot) = current.slots.get(&place)
        {
            return Ok(CompiledExpression::Slot(*slot));
        }
        let found = self.frames.iter().enumerate().rev().find_map(|(frame, known)| {
            let slot = known.slots.get(&place).filter(|_| known.level == target)?;
            Some(OuterPlace { frame, slot: *slot })
        });
        match found {
            Some(found) => Ok(self.outer(found)),
            None => not_built("a column whose place is not known"),
        }
    }

    fn constant(&self, constant: &Constant, typed: Typed, at: ErrorPlace) -> PlanResult<Value> {
        if let (JSONPATH, Constant::Text(text)) = (typed.id, constant) {
            // Only functions see it: it is its text.
            return match evaluation::json_rows::check_path(text) {
                Ok(()) => Ok(Value::text(text.as_str())),
                Err(error) if error.sqlstate == FEATURE_NOT_SUPPORTED => not_built(error.message),
                Err(error) => Err(ExecutionError::from(error).at(at.0).into()),
            };
        }
        if let (REGCONFIG | REGDICTIONARY, Constant::Text(text)) = (typed.id, constant) {
            let found = match typed.id {
                REGCONFIG => evaluation::functions::configuration_text(text),
                _ => evaluation::functions::dictionary_text(text),
            };
            return match found {
                Err(error) if error.sqlstate == FEATURE_NOT_SUPPORTED => not_built(error.message),
                found => Ok(found.map_err(|error| ExecutionError::from(error).at(at.0))?),
            };
        }
        let is_config = matches!(typed.id, REGCONFIG | REGDICTIONARY);
        if (is_config || REG_ARRAYS.contains(&typed.id)) && !matches!(constant, Constant::Null) {
            return not_built("a literal of an array of configurations");
        }
        let storage = self.storage(typed)?;
        if let (true, Constant::Text(text)) = (is_named(typed.id), constant) {
            return match self.relations.object_named(typed.id, text) {
                Some(found) => Ok(found.map_err(|error| ExecutionError::from(error).at(at.0))?),
                None => not_built("the name of an object"),
            };
        }
        let is_unread = is_vector(typed.id) || UNREAD.contains(&typed.id);
        if is_unread && !matches!(constant, Constant::Null) {
            return not_built("a constant of this type");
        }
        let text = match constant {
            Constant::Null => return Ok(Value::Null),
            Constant::Boolean(truth) => return Ok(Value::Boolean(*truth)),
            Constant::Number(text) | Constant::Text(text) | Constant::Bits(text) => text,
        };
        if typed.id == INTERVAL && typed.modifier != NO_MODIFIER {
            return not_built("a modifier of an interval's text");
        }
        // Of longer ones the first character counts, or the number behind a backslash. None at all is the lowest of them, as the empty text is of texts.
        if typed.id == CHAR && (text.len() > 1 || text.as_str() == "\\") {
            return not_built("this \"char\"");
        }
        let parsed = values::text::parse_in(text, storage, self.zone);
        Ok(parsed.map_err(|error| ExecutionError::from(error).at(at.0))?)
    }

    /// A function of enums whose answer is in the definition of the type: it gets all labels as one more argument.
    fn labels(
        &mut self,
        function: FunctionId,
        arguments: &[ExprId],
        result: Typed,
        level: usize,
        current: &ColumnFrame,
    ) -> PlanResult<CompiledExpression> {
        let types: Vec<Typed> = arguments.iter().map(|argument| self.tree[*argument].typed).collect();
        let Some(Type::Enum(labels)) = types.first().and_then(|typed| self.relations.user_type(typed.id)) else {
            return not_built("a function of an enum whose labels are not known");
        };
        let mut compiled = self.compile_all(arguments, level, current)?;
        let all = labels.values().map(Value::Enum).collect();
        compiled.push(CompiledExpression::Constant(Value::array(Type::Enum(labels), all)));
        let Some(body) = evaluation::enums::body(function) else { return not_built("this function of enums") };
        let callee = Callee { function, body, strict: false, types, result };
        Ok(CompiledExpression::CallArguments(Box::new(callee), compiled))
    }

    /// Refuses arguments that a function of any type would not know for what they are: numbers that are written as names, arrays that count from zero.
    pub fn check_held(&self, row: &Function, types: &[Typed]) -> PlanResult<()> {
        for (place, typed) in types.iter().enumerate() {
            let declared = row.arguments.get(place).copied().unwrap_or(row.variadic);
            let is_known = declared == typed.id || is_named(typed.id) && declared == OID;
            let is_mistaken = match (is_named(typed.id), is_vector(typed.id)) {
                (false, false) => false,
                (_, true) => !is_known && !OF_VECTORS.contains(&&*row.name),
                (true, false) => !is_known && row.name != "count",
            };
            if is_mistaken {
                return not_built(format!("{} of {}", row.name, self.type_name(typed.id)));
            }
        }
        Ok(())
    }

    /// A function as a call needs it.
    pub fn callee(&mut self, function: FunctionId, arguments: &[ExprId], result: Typed) -> PlanResult<Callee> {
        let Some(row) = self.catalog.function(function) else { return not_built("a function that is not known") };
        if row.returns_set || row.kind != FunctionKind::Function {
            return not_built(format!("{} here", row.name));
        }
        let body = evaluation::functions::function(function).or_else(|| evaluation::functions::of_extension(row));
        let is_answered = self.relations.has_catalog() || !is_over_catalogs(row);
        let Some(body) = body.filter(|_| is_answered) else {
            return not_built(format!("function {} ({})", row.name, function.0));
        };
        self.volatile_calls += u32::from(row.volatility == Volatility::Volatile);
        let types: Vec<Typed> = arguments.iter().map(|argument| self.tree[*argument].typed).collect();
        self.check_held(row, &types)?;
        Ok(Callee { function, body, strict: row.strict, types, result })
    }
}
