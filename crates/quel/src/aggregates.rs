//! Aggregates to SQL.
//!
//! Without a by-list an aggregate is a scalar subquery: its variables are others than those outside, even of the same names. With one, it is a
//! derived table with a row for each group, joined to the outer scope by the by-values; two NULLs are one group. Invariant: such a table has exactly one
//! row for every combination of by-values that the outer scope has, unless the aggregate says `only`: so joining it leaves the number of rows as it is.

use crate::error::{QuelError, QuelResult};
use crate::scopes::{Lowering, Occurrences, VariableScope, aggregates, variables};
use crate::sql_text::SqlText;
use crate::syntax::{AggregateFunction, QuelAggregate, QuelExpr};
use std::collections::{BTreeMap, BTreeSet};

/// Aggregates that one derived table computes: those of the same groups and the same rows.
struct AggregateGroup<'e> {
    /// The by-list, and how it reads in SQL.
    by: &'e [QuelExpr],
    by_texts: Vec<SqlText>,
    /// With their places.
    aggregates: Vec<(usize, &'e QuelAggregate)>,
    /// What makes two groups one; `None`: it stays alone.
    key: Option<(Vec<String>, String, bool)>,
}

impl Lowering<'_> {
    /// The scope of expressions, over these variables and those of their own.
    pub fn scope(&mut self, exprs: &[&QuelExpr], given: Occurrences) -> QuelResult<VariableScope> {
        let mut scope = VariableScope { direct: given, ..VariableScope::default() };
        let mut found = Vec::new();
        for expr in exprs {
            variables(expr, &mut scope.direct);
            aggregates(expr, &mut found);
        }
        let mut groups: Vec<AggregateGroup> = Vec::new();
        for (at, aggregate) in found {
            if aggregate.by.is_empty() {
                let value = self.simple(aggregate)?;
                scope.values.insert(at, value);
                continue;
            }
            let group = self.group(at, aggregate)?;
            let same = groups.iter_mut().find(|other| group.key.is_some() && other.key == group.key);
            match same {
                Some(other) => other.aggregates.push((at, aggregate)),
                None => groups.push(group),
            }
        }
        self.join(groups, &mut scope)?;
        Ok(scope)
    }

    /// An aggregate over all rows of its own variables.
    fn simple(&mut self, aggregate: &QuelAggregate) -> QuelResult<SqlText> {
        let parts: Vec<&QuelExpr> = [&aggregate.argument].into_iter().chain(&aggregate.qualification).collect();
        let inner = self.scope(&parts, Occurrences::default())?;
        let mut sql = SqlText::of("(SELECT ");
        sql.append(&self.computed(aggregate, &inner, None)?);
        sql.append(&self.source(&inner, aggregate.qualification.as_ref())?);
        sql.push(")");
        Ok(sql)
    }

    /// A group of one aggregate. Errors: 0A000 for an aggregate in a by-list.
    fn group<'e>(&self, at: usize, aggregate: &'e QuelAggregate) -> QuelResult<AggregateGroup<'e>> {
        let nothing = VariableScope::default();
        let by_texts: Vec<SqlText> =
            aggregate.by.iter().map(|by| self.expr(by, &nothing)).collect::<QuelResult<_>>()?;
        let key = if has_aggregates(aggregate) {
            None
        } else {
            let mut over = Occurrences::default();
            parts(aggregate).into_iter().for_each(|part| variables(part, &mut over));
            let over: Vec<&str> = over.sorted().collect();
            let qualification = match &aggregate.qualification {
                Some(qualification) => self.expr(qualification, &nothing)?,
                None => SqlText::default(),
            };
            let texts = by_texts.iter().map(|text| text.text().to_owned()).collect();
            Some((texts, format!("{} {}", over.join(" "), qualification.text()), aggregate.only))
        };
        Ok(AggregateGroup { by: &aggregate.by, by_texts, aggregates: vec![(at, aggregate)], key })
    }

    /// Joins the groups' tables to a scope.
    fn join(&mut self, mut groups: Vec<AggregateGroup>, scope: &mut VariableScope) -> QuelResult<()> {
        // What the variables that occur in by-lists only are chosen by.
        let (mut projected, mut over) = (Vec::new(), Occurrences::default());
        let mut projected_texts: BTreeSet<String> = BTreeSet::new();
        for (by, text) in groups.iter().flat_map(|group| group.by.iter().zip(&group.by_texts)) {
            let mut inside = Occurrences::default();
            variables(by, &mut inside);
            let outside = inside.iter().filter(|one| scope.direct.has(&one.variable)).count();
            if outside == inside.len() {
                continue;
            }
            if outside > 0 {
                return Err(QuelError::unsupported(
                    "a by-value of variables of which only some occur outside of aggregates",
                    by.at,
                )
                .with_hint("Give each variable a by-value of its own."));
            }
            inside.iter().for_each(|one| over.add(&one.variable, one.at));
            if projected_texts.insert(text.text().to_owned()) {
                projected.push(text.clone());
            }
        }
        let mut chosen: BTreeMap<String, SqlText> = BTreeMap::new();
        if !projected.is_empty() {
            let has_all = |group: &AggregateGroup| {
                let own: BTreeSet<&str> = group.by_texts.iter().map(SqlText::text).collect();
                projected_texts.iter().all(|text| own.contains(text.as_str()))
            };
            match groups.iter().position(has_all) {
                Some(place) => {
                    let first = groups.remove(place);
                    groups.insert(0, first);
                }
                None => {
                    let name = self.derive();
                    for (place, text) in projected.iter().enumerate() {
                        chosen.insert(text.text().to_owned(), column(&name, 'b', place));
                    }
                    scope.derived.push(named(&self.distinct(&projected, &over), &name));
                }
            }
        }
        for group in groups {
            let name = self.derive();
            for (place, text) in group.by_texts.iter().enumerate() {
                let own = column(&name, 'b', place);
                let outer = if projected_texts.contains(text.text()) { chosen.get(text.text()) } else { Some(text) };
                match outer {
                    Some(outer) => scope.conditions.push(alike(&own, outer)),
                    None => drop(chosen.insert(text.text().to_owned(), own)),
                }
            }
            for (place, (at, _)) in group.aggregates.iter().enumerate() {
                scope.values.insert(*at, column(&name, 'a', place));
            }
            let table = self.table(&group)?;
            scope.derived.push(named(&table, &name));
        }
        Ok(())
    }

    /// The next derived table's name, which no variable has.
    fn derive(&mut self) -> String {
        self.derived += 1;
        format!("#{}", self.derived)
    }

    /// Each combination of values once.
    fn distinct(&self, values: &[SqlText], over: &Occurrences) -> SqlText {
        let mut sql = SqlText::of("SELECT DISTINCT ");
        sql.append(&numbered(values, 'b'));
        let from: Vec<SqlText> = over.iter().map(|occurrence| self.ranged(occurrence)).collect();
        if !from.is_empty() {
            sql.push(" FROM ");
            sql.append(&SqlText::joined(&from, ", "));
        }
        sql
    }

    /// The table of a group.
    fn table(&mut self, group: &AggregateGroup) -> QuelResult<SqlText> {
        let (_, first) = group.aggregates[0];
        let mut of_by = Occurrences::default();
        group.by.iter().for_each(|by| variables(by, &mut of_by));
        let arguments = group.aggregates.iter().map(|(_, aggregate)| &aggregate.argument);
        let all: Vec<&QuelExpr> = group.by.iter().chain(arguments).chain(&first.qualification).collect();
        let inner = self.scope(&all, Occurrences::default())?;
        let has_every_group = group.key.is_some() && inner.direct.iter().all(|one| of_by.has(&one.variable));
        let qualification = first.qualification.as_ref();
        if first.only || (has_every_group && (qualification.is_none() || inner.direct.len() == 1)) {
            let (filter, within) = if first.only { (qualification, None) } else { (None, qualification) };
            return self.grouped(group, &inner, filter, within);
        }
        // Groups without a row are added: those that the outer scope can ask for.
        let (every, found) = (self.derive(), self.derive());
        let mut sql = SqlText::of("SELECT ");
        let mut outputs: Vec<SqlText> = (0..group.by.len()).map(|place| column(&every, 'b', place)).collect();
        for (place, (_, aggregate)) in group.aggregates.iter().enumerate() {
            let value = column(&found, 'a', place);
            outputs.push(if aggregate.function.counts() {
                let mut known = SqlText::of("coalesce(");
                known.append(&value);
                known.push(&format!(", 0) AS \"a{}\"", place + 1));
                known
            } else {
                value
            });
        }
        sql.append(&SqlText::joined(&outputs, ", "));
        sql.push(" FROM ");
        sql.append(&named(&self.distinct(&group.by_texts, &of_by), &every));
        sql.push(" LEFT JOIN ");
        sql.append(&named(&self.grouped(group, &inner, qualification, None)?, &found));
        sql.push(" ON ");
        let alike = (0..group.by.len()).map(|place| alike(&column(&found, 'b', place), &column(&every, 'b', place)));
        sql.append(&SqlText::joined(&alike.collect::<Vec<_>>(), " AND "));
        Ok(sql)
    }

    /// A row for each group that has rows.
    fn grouped(
        &self,
        group: &AggregateGroup,
        inner: &VariableScope,
        filter: Option<&QuelExpr>,
        within: Option<&QuelExpr>,
    ) -> QuelResult<SqlText> {
        let mut sql = SqlText::of("SELECT ");
        let by: Vec<SqlText> = group.by.iter().map(|by| self.expr(by, inner)).collect::<QuelResult<_>>()?;
        sql.append(&numbered(&by, 'b'));
        sql.push(", ");
        let values = group.aggregates.iter().map(|(_, aggregate)| self.computed(aggregate, inner, within));
        sql.append(&numbered(&values.collect::<QuelResult<Vec<_>>>()?, 'a'));
        sql.append(&self.source(inner, filter)?);
        let places: Vec<String> = (1..=by.len()).map(|place| place.to_string()).collect();
        sql.push(&format!(" GROUP BY {}", places.join(", ")));
        Ok(sql)
    }

    /// The aggregate itself, of the rows that fulfil a condition.
    fn computed(
        &self,
        aggregate: &QuelAggregate,
        inner: &VariableScope,
        within: Option<&QuelExpr>,
    ) -> QuelResult<SqlText> {
        let (before, behind) = match aggregate.function {
            AggregateFunction::Count => ("count(", ")"),
            AggregateFunction::CountUnique => ("count(DISTINCT ", ")"),
            AggregateFunction::Sum => ("sum(", ")"),
            AggregateFunction::SumUnique => ("sum(DISTINCT ", ")"),
            AggregateFunction::Average => ("avg(", ")"),
            AggregateFunction::AverageUnique => ("avg(DISTINCT ", ")"),
            AggregateFunction::Minimum => ("min(", ")"),
            AggregateFunction::Maximum => ("max(", ")"),
            AggregateFunction::Any => ("CASE WHEN count(", ")"),
        };
        let mut sql = SqlText::of(before);
        sql.append(&self.expr(&aggregate.argument, inner)?);
        sql.push(behind);
        if let Some(within) = within {
            sql.push(" FILTER (WHERE ");
            sql.append(&self.expr(within, inner)?);
            sql.push(")");
        }
        if aggregate.function == AggregateFunction::Any {
            sql.push(" > 0 THEN 1 ELSE 0 END");
        }
        Ok(sql)
    }
}

/// What an aggregate is made of.
fn parts(aggregate: &QuelAggregate) -> Vec<&QuelExpr> {
    aggregate.by.iter().chain([&aggregate.argument]).chain(&aggregate.qualification).collect()
}

/// Whether there are others within it.
fn has_aggregates(aggregate: &QuelAggregate) -> bool {
    let mut found = Vec::new();
    parts(aggregate).into_iter().for_each(|part| aggregates(part, &mut found));
    !found.is_empty()
}

/// Two values of one group. Not IS NOT DISTINCT FROM: where that and an equality join the same tables, DataFusion takes NULLs as equal in both.
fn alike(left: &SqlText, right: &SqlText) -> SqlText {
    let null = |value: &SqlText| {
        let mut sql = value.in_parentheses();
        sql.push(" IS NULL");
        sql
    };
    let mut sql = SqlText::joined([left, &right.in_parentheses()], " = ");
    sql.push(" OR ");
    sql.append(&SqlText::joined([&null(left), &null(right)], " AND "));
    sql.in_parentheses()
}

/// A column of a derived table.
fn column(table: &str, kind: char, place: usize) -> SqlText {
    SqlText::of(&format!("\"{table}\".\"{kind}{}\"", place + 1))
}

/// A derived table with its name.
fn named(query: &SqlText, name: &str) -> SqlText {
    let mut sql = query.in_parentheses();
    sql.push(&format!(" AS \"{name}\""));
    sql
}

/// Outputs with their names.
fn numbered(values: &[SqlText], kind: char) -> SqlText {
    let each = values.iter().enumerate().map(|(place, value)| {
        let mut output = value.clone();
        output.push(&format!(" AS \"{kind}{}\"", place + 1));
        output
    });
    SqlText::joined(&each.collect::<Vec<_>>(), ", ")
}
