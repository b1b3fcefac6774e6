//! Evaluates a statement of one column whose rows, if it has FROM, come from one function or from VALUES: as much as functions need to be tried by.

use analyzer::facts::Facts;
use analyzer::tree::{Constant, EntryKind, ExprId, Node, Query, Tree};
use analyzer::types::{FunctionId, INET};
use analyzer::{BuiltIns, Typed, analyze};
use evaluation::PatternCache;
use evaluation::aggregates::aggregate;
use evaluation::call::{CallArguments, CallEnvironment, SessionInfo};
use evaluation::functions::function;
use evaluation::sets::set_function;
use evaluation::storage::storage;
use values::{Value, ValueError, Zone};

struct Nobody;

impl SessionInfo for Nobody {
    fn current_user(&self) -> &str {
        "raid"
    }
    fn session_user(&self) -> &str {
        "raid"
    }
    fn database(&self) -> &str {
        "postgres"
    }
    fn version(&self) -> &str {
        "PostgreSQL 15"
    }
    fn setting(&self, name: &str) -> Option<String> {
        (name == "server_encoding").then(|| "UTF8".to_string())
    }
    fn backend_pid(&self) -> i32 {
        1
    }
}

/// An error as a recorded answer has it.
fn told(error: &ValueError) -> String {
    format!("!{} {}", error.sqlstate, error.message)
}

/// The rows of the statement's column as text, in a time zone; or its error, or what is not implemented.
pub fn evaluate(statement: &str, zone: &Zone) -> Result<Vec<Option<String>>, String> {
    let script = grammar::parse(statement).map_err(|error| format!("!{} {}", error.sqlstate, error.message))?;
    let analyzed = analyze(&BuiltIns, &script.statements[0], &[])
        .map_err(|error| format!("!{} {}", error.sqlstate, error.message))?;
    let query = &analyzed.tree[analyzed.query];
    let target = query.targets[0].value;
    let typed = analyzed.tree[target].typed;
    let evaluator = Evaluator { tree: &analyzed.tree, zone, row: Vec::new(), element: None };
    let values = evaluator.query(query, target)?;
    let kept = storage(typed).ok_or_else(|| format!("not held: type {}", typed.id))?;
    let printed = values.iter().map(|value| {
        (!value.is_null()).then(|| {
            let mut bytes = Vec::new();
            values::text::write_in(value, kept, zone, &mut bytes);
            String::from_utf8(bytes).expect("text")
        })
    });
    Ok(printed.collect())
}

struct Evaluator<'a> {
    tree: &'a Tree,
    zone: &'a Zone,
    row: Vec<Value>,
    element: Option<Value>,
}

impl Evaluator<'_> {
    fn with(&self, row: Vec<Value>) -> Evaluator<'_> {
        Evaluator { tree: self.tree, zone: self.zone, row, element: None }
    }

    fn query(&self, query: &Query, target: ExprId) -> Result<Vec<Value>, String> {
        let rows = match query.range_table.first().map(|entry| &entry.kind) {
            None => vec![Vec::new()],
            Some(EntryKind::Values(rows)) => {
                let row = |row: &Vec<ExprId>| row.iter().map(|value| self.value(*value)).collect();
                rows.iter().map(row).collect::<Result<Vec<Vec<Value>>, String>>()?
            }
            Some(EntryKind::Functions { functions, .. }) => self.set(functions[0].0)?,
            Some(EntryKind::Query(inner)) => {
                let inner = &self.tree[*inner];
                let Some(EntryKind::Values(rows)) = inner.range_table.first().map(|entry| &entry.kind) else {
                    return Err("not tried: another FROM".into());
                };
                let targets = || inner.targets.iter().map(|target| target.value);
                let row = |row: &Vec<ExprId>| {
                    let values = row.iter().map(|value| self.value(*value)).collect::<Result<Vec<_>, _>>()?;
                    let evaluator = self.with(values);
                    targets().map(|target| evaluator.value(target)).collect()
                };
                rows.iter().map(row).collect::<Result<Vec<Vec<Value>>, String>>()?
            }
            Some(_) => return Err("not tried: another FROM".into()),
        };
        let Node::Aggregate(call) = &self.tree[target].node else {
            if query.has_target_sets {
                return Ok(self.set(target)?.into_iter().map(|row| row[0].clone()).collect());
            }
            return rows.into_iter().map(|row| self.with(row).value(target)).collect();
        };
        let types: Vec<Typed> = call.arguments.iter().map(|argument| self.tree[argument.value].typed).collect();
        let direct = call.direct.iter().map(|value| self.value(*value)).collect::<Result<Vec<_>, _>>()?;
        let begun = aggregate(call.function, &direct, &types, self.tree[target].typed, self.zone);
        let mut accumulator = begun.ok_or_else(|| missing(call.function))?.map_err(|error| told(&error))?;
        for row in rows {
            let evaluator = self.with(row);
            let arguments: Result<Vec<Value>, String> =
                call.arguments.iter().map(|argument| evaluator.value(argument.value)).collect();
            accumulator.add(&arguments?).map_err(|error| told(&error))?;
        }
        // Asked twice, as by windows.
        let first = accumulator.finish().map_err(|error| told(&error))?;
        assert_eq!(accumulator.finish(), Ok(first.clone()));
        Ok(vec![first])
    }

    fn set(&self, expression: ExprId) -> Result<Vec<Vec<Value>>, String> {
        let Node::Function { function, arguments, .. } = &self.tree[expression].node else {
            return Ok(vec![vec![self.value(expression)?]]);
        };
        if !Facts::postgresql15().function(*function).is_some_and(|row| row.returns_set) {
            return Ok(vec![vec![self.value(expression)?]]);
        }
        let body = set_function(*function).ok_or_else(|| missing(*function))?;
        self.call(*function, arguments, expression, |call| body(call)?.collect::<Result<Vec<_>, _>>())
            .map(Option::unwrap_or_default)
    }

    /// `None` where NULL goes into a strict function.
    fn call<T>(
        &self,
        id: FunctionId,
        arguments: &[ExprId],
        expression: ExprId,
        body: impl FnOnce(&mut CallArguments<'_, '_>) -> Result<T, ValueError>,
    ) -> Result<Option<T>, String> {
        let row = Facts::postgresql15().function(id).expect("a built-in");
        let types: Vec<Typed> = arguments.iter().map(|argument| self.tree[*argument].typed).collect();
        let values = arguments.iter().map(|argument| self.value(*argument)).collect::<Result<Vec<_>, _>>()?;
        if row.strict && values.iter().any(Value::is_null) {
            return Ok(None);
        }
        let mut environment = CallEnvironment {
            transaction_time: 0,
            statement_time: 0,
            zone: self.zone,
            random: &mut || 1 << 63,
            session: &Nobody,
            patterns: &mut PatternCache::default(),
        };
        let mut call = CallArguments {
            arguments: &values,
            types: &types,
            result: self.tree[expression].typed,
            environment: &mut environment,
        };
        body(&mut call).map(Some).map_err(|error| told(&error))
    }

    fn scalar(&self, id: FunctionId, arguments: &[ExprId], expression: ExprId) -> Result<Value, String> {
        let body = function(id).ok_or_else(|| missing(id))?;
        Ok(self.call(id, arguments, expression, body)?.unwrap_or(Value::Null))
    }

    fn value(&self, expression: ExprId) -> Result<Value, String> {
        let typed = self.tree[expression].typed;
        let held = |typed: Typed| storage(typed).ok_or_else(|| format!("not held: type {}", typed.id));
        match &self.tree[expression].node {
            Node::Constant(Constant::Null) => Ok(Value::Null),
            Node::Constant(Constant::Boolean(truth)) => Ok(Value::Boolean(*truth)),
            // `jsonpath`, which is held as its text.
            Node::Constant(Constant::Text(text)) if typed.id.0 == 4072 => Ok(Value::text(text.as_str())),
            Node::Constant(Constant::Number(text) | Constant::Text(text) | Constant::Bits(text)) => {
                values::text::parse_in(text, held(typed)?.unmodified(), self.zone).map_err(|error| told(&error))
            }
            Node::Function { function, arguments, .. } | Node::Operator { function, arguments, .. } => {
                self.scalar(*function, arguments, expression)
            }
            Node::ParameterDefault { function, parameter } => {
                let row = Facts::postgresql15().function(*function).expect("a built-in");
                let defaults: Vec<&str> = row.default_text.split(", ").collect();
                let place = *parameter as usize + defaults.len() - row.arguments.len();
                let text = defaults[place].trim_matches('\'').split("::").next().unwrap_or_default();
                values::text::parse_in(text.trim_matches('\''), held(typed)?, self.zone).map_err(|error| told(&error))
            }
            Node::Relabel { value, .. } | Node::Collate { value, .. } => match (self.value(*value)?, typed.id) {
                (Value::Cidr(network), INET) => Ok(Value::Inet(network)),
                (value, _) => Ok(value),
            },
            Node::ThroughText { value, .. } => match self.value(*value)? {
                Value::Null => Ok(Value::Null),
                found => {
                    let mut bytes = Vec::new();
                    values::text::write_in(&found, held(self.tree[*value].typed)?, self.zone, &mut bytes);
                    let text = String::from_utf8(bytes).expect("text");
                    values::text::parse_in(&text, held(typed)?.unmodified(), self.zone).map_err(|error| told(&error))
                }
            },
            Node::Array { elements, .. } => {
                let values = elements.iter().map(|element| self.value(*element)).collect::<Result<Vec<_>, _>>()?;
                let element = held(typed)?.element().ok_or("no array")?;
                Ok(Value::array(element, values))
            }
            Node::ArrayConversion { value, element, .. } => match self.value(*value)? {
                Value::Array(array) => {
                    let convert = |found: &Value| {
                        let inside = Evaluator { element: Some(found.clone()), ..self.with(Vec::new()) };
                        inside.value(*element)
                    };
                    let values = array.values().iter().map(convert).collect::<Result<Vec<_>, _>>()?;
                    Ok(Value::array(held(typed)?.element().ok_or("no array")?, values))
                }
                other => Ok(other),
            },
            Node::Element => self.element.clone().ok_or_else(|| "no element".into()),
            Node::Column { column, .. } => Ok(self.row[*column as usize].clone()),
            other => Err(format!("not tried: {other:?}")),
        }
    }
}

fn missing(id: FunctionId) -> String {
    let name = Facts::postgresql15().function(id).map_or("?", |row| row.name.as_ref());
    format!("not implemented: {name} {}", id.0)
}
