//! Statements that read or change rows, to SQL.

use crate::error::{QuelError, QuelResult, sqlstate};
use crate::limits::LIST_MAX;
use crate::ranges::RangedRelation;
use crate::scopes::{Lowering, Occurrence, Occurrences, VariableScope};
use crate::sql_text::SqlText;
use crate::syntax::{Append, QuelDelete, QuelExpr, QuelExprKind, QuelName, QuelTarget, Replace, Retrieve, SortTarget};
use std::collections::BTreeSet;

/// A column's new value.
struct NewValue {
    name: QuelName,
    value: QuelExpr,
}

impl Lowering<'_> {
    /// SELECT, or CREATE TABLE AS.
    pub fn retrieve<'t>(&mut self, retrieve: &'t Retrieve) -> QuelResult<SqlText> {
        let value = |target: &'t QuelTarget| match target {
            QuelTarget::All(_) => None,
            QuelTarget::Value { value, .. } => Some(value),
        };
        let mut exprs: Vec<&QuelExpr> = retrieve.targets.iter().filter_map(value).collect();
        // Variables are joined in the order in which they occur, however they do.
        let given = in_order(&retrieve.targets);
        exprs.extend(&retrieve.qualification);
        let scope = self.scope(&exprs, given)?;
        let mut sql = SqlText::default();
        if let Some(into) = &retrieve.into {
            sql.push("CREATE TABLE ");
            sql.name_at(&into.text, into.at);
            sql.push(" AS ");
        }
        // A relation is a set.
        sql.push(if retrieve.unique || retrieve.into.is_some() { "SELECT DISTINCT " } else { "SELECT " });
        let outputs = retrieve.targets.iter().map(|target| self.output(target, &scope));
        sql.append(&SqlText::joined(&outputs.collect::<QuelResult<Vec<_>>>()?, ", "));
        sql.append(&self.source(&scope, retrieve.qualification.as_ref())?);
        sql.append(&sorted(&retrieve.sort, &retrieve.targets)?);
        Ok(sql)
    }

    fn output(&self, target: &QuelTarget, scope: &VariableScope) -> QuelResult<SqlText> {
        let mut sql = SqlText::default();
        match target {
            QuelTarget::All(variable) => {
                sql.name_at(&variable.text, variable.at);
                sql.push(".*");
            }
            QuelTarget::Value { name, value } => {
                sql.append(&self.expr(value, scope)?);
                let is_named = matches!(&value.kind, QuelExprKind::Column { column, .. } if *column == name.text);
                if !is_named {
                    sql.push(" AS ");
                    sql.name_at(&name.text, name.at);
                }
            }
        }
        Ok(sql)
    }

    /// INSERT.
    pub fn append(&mut self, append: &Append) -> QuelResult<SqlText> {
        let values = self.new_values(&append.targets)?;
        let exprs: Vec<&QuelExpr> = values.iter().map(|new| &new.value).chain(&append.qualification).collect();
        let scope = self.scope(&exprs, Occurrences::default())?;
        let mut sql = SqlText::of("INSERT INTO ");
        sql.name_at(&append.relation.text, append.relation.at);
        for (place, new) in values.iter().enumerate() {
            sql.push(if place == 0 { " (" } else { ", " });
            sql.name_at(&new.name.text, new.name.at);
        }
        sql.push(") ");
        let each = values.iter().map(|new| self.expr(&new.value, &scope)).collect::<QuelResult<Vec<_>>>()?;
        let list = SqlText::joined(&each, ", ");
        let is_alone = scope.direct.is_empty() && scope.values.is_empty() && append.qualification.is_none();
        if is_alone {
            sql.push("VALUES ");
            sql.append(&list.in_parentheses());
        } else {
            sql.push("SELECT ");
            sql.append(&list);
            sql.append(&self.source(&scope, append.qualification.as_ref())?);
        }
        Ok(sql)
    }

    /// UPDATE.
    pub fn replace(&mut self, replace: &Replace) -> QuelResult<SqlText> {
        let values = self.new_values(&replace.targets)?;
        let exprs: Vec<&QuelExpr> = values.iter().map(|new| &new.value).chain(&replace.qualification).collect();
        let scope = self.scope(&exprs, only(&replace.variable))?;
        let mut sql = SqlText::of("UPDATE ");
        sql.append(&self.ranged(&changed(&replace.variable)));
        for (place, new) in values.iter().enumerate() {
            sql.push(if place == 0 { " SET " } else { ", " });
            sql.name_at(&new.name.text, new.name.at);
            sql.push(" = ");
            sql.append(&self.expr(&new.value, &scope)?);
        }
        let others = self.joined(&scope, Some(&replace.variable.text));
        if !others.is_empty() {
            sql.push(" FROM ");
            sql.append(&SqlText::joined(&others, ", "));
        }
        sql.append(&self.filter(&scope, replace.qualification.as_ref())?);
        Ok(sql)
    }

    /// DELETE.
    pub fn delete(&mut self, delete: &QuelDelete) -> QuelResult<SqlText> {
        let exprs: Vec<&QuelExpr> = delete.qualification.iter().collect();
        let scope = self.scope(&exprs, only(&delete.variable))?;
        let mut sql = SqlText::of("DELETE FROM ");
        sql.append(&self.ranged(&changed(&delete.variable)));
        let others = self.joined(&scope, Some(&delete.variable.text));
        if !others.is_empty() {
            sql.push(" USING ");
            sql.append(&SqlText::joined(&others, ", "));
        }
        sql.append(&self.filter(&scope, delete.qualification.as_ref())?);
        Ok(sql)
    }

    /// The values of a target list, those of `v.all` by the names of its columns. Errors: 42P01; 54000 for too many of them.
    fn new_values(&self, targets: &[QuelTarget]) -> QuelResult<Vec<NewValue>> {
        let mut values = Vec::new();
        for target in targets {
            match target {
                QuelTarget::Value { name, value } => values.push(NewValue { name: name.clone(), value: value.clone() }),
                QuelTarget::All(variable) => {
                    let relation = self.relation(&variable.text, variable.at);
                    let columns = self.relations.columns(&relation).ok_or_else(|| unknown(&relation))?;
                    values.extend(columns.in_order.iter().map(|column| NewValue {
                        name: QuelName { text: column.name.clone(), at: variable.at },
                        value: QuelExpr {
                            kind: QuelExprKind::Column { variable: variable.text.clone(), column: column.name.clone() },
                            at: variable.at,
                            depth: 1,
                        },
                    }));
                    if values.len() > LIST_MAX {
                        return Err(QuelError::long_list(variable.at));
                    }
                }
            }
        }
        Ok(values)
    }
}

/// 42P01.
pub(crate) fn unknown(relation: &RangedRelation) -> QuelError {
    let message = format!("relation \"{}\" does not exist", relation.name);
    QuelError::new(sqlstate::UNDEFINED_TABLE, message, relation.at)
}

/// The variable whose rows change.
fn changed(variable: &QuelName) -> Occurrence {
    Occurrence { variable: variable.text.clone(), at: variable.at }
}

/// That variable alone.
fn only(variable: &QuelName) -> Occurrences {
    let mut found = Occurrences::default();
    found.add(&variable.text, variable.at);
    found
}

/// The variables of a target list.
fn in_order(targets: &[QuelTarget]) -> Occurrences {
    let mut found = Occurrences::default();
    for target in targets {
        match target {
            QuelTarget::All(variable) => found.add(&variable.text, variable.at),
            QuelTarget::Value { value, .. } => crate::scopes::variables(value, &mut found),
        }
    }
    found
}

/// The name of what is not `v.all`.
fn named(target: &QuelTarget) -> Option<&str> {
    match target {
        QuelTarget::Value { name, .. } => Some(&name.text),
        QuelTarget::All(_) => None,
    }
}

/// ORDER BY. Errors: 42703 for what is no target.
fn sorted(keys: &[SortTarget], targets: &[QuelTarget]) -> QuelResult<SqlText> {
    let mut sql = SqlText::default();
    let has_all = targets.iter().any(|target| matches!(target, QuelTarget::All(_)));
    let names: BTreeSet<&str> = targets.iter().filter_map(named).collect();
    for (place, key) in keys.iter().enumerate() {
        if !has_all && !names.contains(key.name.text.as_str()) {
            let message = format!("column \"{}\" does not exist", key.name.text);
            return Err(QuelError::new(sqlstate::UNDEFINED_COLUMN, message, key.name.at)
                .with_hint("Rows are sorted by names of the target list."));
        }
        sql.push(if place == 0 { " ORDER BY " } else { ", " });
        sql.name_at(&key.name.text, key.name.at);
        if key.descending {
            sql.push(" DESC");
        }
    }
    Ok(sql)
}
