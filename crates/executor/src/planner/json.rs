//! Rows in functions of JSON, and subscripts of `jsonb`.
//!
//! There are no values of rows. A function of JSON gets the JSON of a row in its place: `to_json(t)` is planned as that of the names and columns of `t`.

use super::frame::{ColumnFrame, EntryPlace};
use super::{PlanResult, QueryPlanner, not_built};
use crate::expression::{Callee, CompiledExpression};
use crate::plan::{SetCall, SetCallee};
use analyzer::tree::{EntryColumn, ExprId, JoinTree, Node};
use analyzer::types::{FunctionId, JSON, JSONB, NO_MODIFIER, TEXT};
use analyzer::{TypeId, Typed};
use evaluation::functions::catalogs::{is_named, is_vector};
use evaluation::json_rows;
use evaluation::storage::is_row;
use grammar::ast::JoinKind;
use values::Value;

/// `row_to_json(record)`
const ROW_TO_JSON: FunctionId = FunctionId(3155);
/// `row_to_json(record, boolean)`
const ROW_TO_JSON_PRETTY: FunctionId = FunctionId(3156);
/// `to_jsonb(anyelement)`
const TO_JSONB: FunctionId = FunctionId(3787);
/// `json_to_recordset(json)` and `jsonb_to_recordset(jsonb)`
const TO_RECORDSET: [FunctionId; 2] = [FunctionId(3205), FunctionId(3491)];
/// What PostgreSQL does subscripts of `jsonb` with.
const SUBSCRIPT: FunctionId = FunctionId(6098);

/// What a row becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowForm {
    Text,
    /// With each field in a line of its own.
    PrettyText,
    Tree,
}

impl RowForm {
    /// As a function or an aggregate wants it that yields this type.
    pub fn of(result: TypeId) -> RowForm {
        if result == JSONB { RowForm::Tree } else { RowForm::Text }
    }

    fn typed(self) -> Typed {
        plain(if self == RowForm::Tree { JSONB } else { JSON })
    }
}

fn plain(id: TypeId) -> Typed {
    Typed { id, modifier: NO_MODIFIER, collation: Default::default() }
}

impl QueryPlanner<'_> {
    /// The arguments of a function. Where it makes JSON of any type, rows among them become JSON, and the callee's types say so.
    pub fn arguments_of_json(
        &mut self,
        callee: &mut Callee,
        arguments: &[ExprId],
        level: usize,
        current: &ColumnFrame,
    ) -> PlanResult<Vec<CompiledExpression>> {
        let is_any_row = arguments.iter().any(|argument| is_row(self.tree[*argument].typed.id));
        let makes_json = matches!(callee.function.0, 3155 | 3156 | 3176 | 3787 | 3198 | 3200 | 3271 | 3273);
        if !is_any_row || !makes_json {
            return self.compile_all(arguments, level, current);
        }
        let is_pretty = |argument: &ExprId| {
            matches!(&self.tree[*argument].node, Node::Constant(analyzer::tree::Constant::Boolean(true)))
        };
        let form = match callee.function {
            ROW_TO_JSON_PRETTY if arguments.get(1).is_some_and(is_pretty) => RowForm::PrettyText,
            ROW_TO_JSON_PRETTY => return not_built("row_to_json whose form is not known"),
            _ => RowForm::of(callee.result.id),
        };
        for (argument, typed) in arguments.iter().zip(&mut callee.types) {
            if is_row(self.tree[*argument].typed.id) {
                *typed = form.typed();
            }
        }
        self.rows_as_json(arguments, form, level, current)
    }

    /// Expressions, of which those that are rows become JSON.
    pub fn rows_as_json(
        &mut self,
        ids: &[ExprId],
        form: RowForm,
        level: usize,
        current: &ColumnFrame,
    ) -> PlanResult<Vec<CompiledExpression>> {
        let compiled = ids.iter().map(|id| match is_row(self.tree[*id].typed.id) {
            true => self.row_as_json(*id, form, level, current),
            false => self.compile(*id, level, current),
        });
        compiled.collect()
    }

    fn row_as_json(
        &mut self,
        id: ExprId,
        form: RowForm,
        level: usize,
        current: &ColumnFrame,
    ) -> PlanResult<CompiledExpression> {
        let mut fields: Vec<(String, CompiledExpression, Typed)> = Vec::new();
        match &self.tree[id].node {
            Node::Row { fields: values, names } => {
                let inner = RowForm::of(form.typed().id);
                let compiled = self.rows_as_json(values, inner, level, current)?;
                for ((value, compiled), name) in values.iter().zip(compiled).zip(names) {
                    let own = self.tree[*value].typed;
                    fields.push((name.clone(), compiled, if is_row(own.id) { inner.typed() } else { own }));
                }
            }
            Node::WholeRow { levels_up, entry } => {
                let Some(target) = level.checked_sub(*levels_up as usize).filter(|at| *at < self.levels.len()) else {
                    return not_built("a row of no query");
                };
                let query = &self.tree[self.levels[target].query];
                if query.from.iter().any(|tree| may_be_missing(tree, *entry, false)) {
                    return not_built("a row that an outer join may leave out");
                }
                for (column, known) in query.range_table[*entry as usize].columns.iter().enumerate() {
                    // One that was dropped has no name.
                    if !known.name.is_empty() {
                        let place = EntryPlace { entry: *entry, column: column as u32 };
                        let value = self.column(level, *levels_up, place, current)?;
                        fields.push((known.name.clone(), value, known.typed));
                    }
                }
            }
            _ => return not_built("this row as JSON"),
        }
        let (mut types, mut arguments) = (Vec::new(), Vec::new());
        for (name, value, typed) in fields {
            self.storage(typed)?;
            if is_named(typed.id) || is_vector(typed.id) {
                return not_built("a row with names of objects as JSON");
            }
            types.extend([plain(TEXT), typed]);
            arguments.extend([CompiledExpression::Constant(Value::text(name)), value]);
        }
        let (function, body): (_, evaluation::Implementation) = match form {
            RowForm::Text => (ROW_TO_JSON, json_rows::text),
            RowForm::PrettyText => (ROW_TO_JSON_PRETTY, json_rows::pretty_text),
            RowForm::Tree => (TO_JSONB, json_rows::row_tree),
        };
        let callee = Callee { function, body, strict: false, types, result: form.typed() };
        Ok(CompiledExpression::CallArguments(Box::new(callee), arguments))
    }

    /// `json_to_recordset` with the columns that FROM says it has. `None` for any other function.
    pub fn record_set(
        &mut self,
        call: ExprId,
        columns: &[&EntryColumn],
        level: usize,
        current: &ColumnFrame,
    ) -> PlanResult<Option<SetCall>> {
        let Node::Function { function, arguments, .. } = &self.tree[call].node else { return Ok(None) };
        if !TO_RECORDSET.contains(function) {
            return Ok(None);
        }
        let mut types: Vec<Typed> = arguments.iter().map(|argument| self.tree[*argument].typed).collect();
        let mut compiled = self.compile_all(arguments, level, current)?;
        for column in columns {
            self.storage(column.typed)?;
            types.push(column.typed);
            compiled.push(CompiledExpression::Constant(Value::text(column.name.as_str())));
        }
        let result = self.tree[call].typed;
        let body = json_rows::record_set;
        let callee = SetCallee::Set { function: *function, body, strict: false, types, result };
        Ok(Some(SetCall { callee, arguments: compiled, width: columns.len() }))
    }

    /// `value[subscript]...` of a `jsonb`.
    pub fn json_subscript(
        &mut self,
        container: ExprId,
        subscripts: &[Option<ExprId>],
        level: usize,
        current: &ColumnFrame,
    ) -> PlanResult<CompiledExpression> {
        let mut ids = vec![container];
        for subscript in subscripts {
            match subscript {
                Some(subscript) => ids.push(*subscript),
                None => return not_built("slices of jsonb"),
            }
        }
        let types = ids.iter().map(|id| self.tree[*id].typed).collect();
        let callee =
            Callee { function: SUBSCRIPT, body: json_rows::subscript, strict: true, types, result: plain(JSONB) };
        let arguments = self.compile_all(&ids, level, current)?;
        Ok(CompiledExpression::CallArguments(Box::new(callee), arguments))
    }
}

/// Whether an outer join may have NULL in place of an entry's row.
fn may_be_missing(tree: &JoinTree, sought: u32, is_optional: bool) -> bool {
    match tree {
        JoinTree::Entry(entry) => is_optional && *entry == sought,
        JoinTree::Join { kind, entry, left, right, .. } => {
            let (left_optional, right_optional) = match kind {
                JoinKind::Cross | JoinKind::Inner => (is_optional, is_optional),
                JoinKind::Left => (is_optional, true),
                JoinKind::Right => (true, is_optional),
                JoinKind::Full => (true, true),
            };
            (is_optional && *entry == sought)
                || may_be_missing(left, sought, left_optional)
                || may_be_missing(right, sought, right_optional)
        }
    }
}
