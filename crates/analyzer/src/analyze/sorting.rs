//! ORDER BY, DISTINCT and LIMIT.

use grammar::ast::{ExpressionId, ExpressionNode as Syntax, SortDirection, SortKey};

use super::levels::Place;
use super::{Analyzer, Result, error_at};
use crate::error::{
    AMBIGUOUS_COLUMN, AnalysisError, INVALID_COLUMN_REFERENCE, SYNTAX_ERROR, UNDEFINED_FUNCTION, WRONG_OBJECT_TYPE,
};
use crate::names::type_name;
use crate::operators::{self, OperatorName};
use crate::tree::{Constant, ExprId, Node, SortGroup, Target};
use crate::types::{INT8, OperatorId, TypeId, UNKNOWN};

impl<'a> Analyzer<'a> {
    /// ORDER BY. A name or a number means a target unless the place is one of expressions only.
    pub fn sort_clause(
        &mut self,
        keys: &[SortKey],
        targets: &mut Vec<Target>,
        place: Place,
        expressions_only: bool,
    ) -> Result<Vec<SortGroup>> {
        let mut order = Vec::with_capacity(keys.len());
        for key in keys {
            let index = if expressions_only {
                self.target_of_expression(key.value, targets, place)?
            } else {
                self.target_of(key.value, targets, place)?
            };
            self.add_sort_key(index, key, targets, &mut order, None)?;
        }
        Ok(order)
    }

    /// The target that an element of ORDER BY, GROUP BY or DISTINCT ON means: by its name, its number, or as an expression.
    pub fn target_of(&mut self, number: ExpressionId, targets: &mut Vec<Target>, place: Place) -> Result<usize> {
        let arena = self.arena;
        let at = arena[number].at;
        let not_integer = || error_at(SYNTAX_ERROR, format!("non-integer constant in {}", place.name()), at);
        match &arena[number].node {
            Syntax::Column { names, star: false } if names.len() == 1 => {
                let name = names[0].text.as_str();
                // In GROUP BY a column of FROM comes first.
                let of_from = place == Place::GroupBy && self.column_named(name, at, true)?.is_some();
                if !of_from && let Some(index) = self.target_named(name, targets, place, at)? {
                    self.check_target(index, targets, place)?;
                    return Ok(index);
                }
            }
            Syntax::Integer(position) => {
                let mut shown = (0..targets.len()).filter(|index| !targets[*index].junk);
                let index = usize::try_from(*position - 1).ok().and_then(|position| shown.nth(position));
                let Some(index) = index else {
                    let message = format!("{} position {position} is not in select list", place.name());
                    return error_at(INVALID_COLUMN_REFERENCE, message, at);
                };
                self.check_target(index, targets, place)?;
                return Ok(index);
            }
            Syntax::Null | Syntax::Boolean(_) | Syntax::Number(_) | Syntax::String(_) => return not_integer(),
            Syntax::BitString(_) | Syntax::HexString(_) => return not_integer(),
            _ => {}
        }
        self.target_of_expression(number, targets, place)
    }

    fn target_named(&self, name: &str, targets: &[Target], place: Place, at: u32) -> Result<Option<usize>> {
        let mut found: Option<usize> = None;
        for (index, target) in targets.iter().enumerate() {
            if target.junk || target.name != name {
                continue;
            }
            match found {
                Some(before) if !self.tree.equal(targets[before].value, target.value) => {
                    let message = format!("{} \"{name}\" is ambiguous", place.name());
                    return error_at(AMBIGUOUS_COLUMN, message, at);
                }
                Some(_) => {}
                None => found = Some(index),
            }
        }
        Ok(found)
    }

    fn check_target(&self, index: usize, targets: &[Target], place: Place) -> Result<()> {
        if place == Place::GroupBy { self.check_grouped_target(targets[index].value) } else { Ok(()) }
    }

    /// The target that is equal to an expression; a new one that only serves for this, if there is none.
    pub fn target_of_expression(
        &mut self,
        number: ExpressionId,
        targets: &mut Vec<Target>,
        place: Place,
    ) -> Result<usize> {
        let value = self.expression_at(number, place)?;
        let equal = |target: &Target| self.tree.equal(value, self.without_implicit(target.value));
        if let Some(index) = targets.iter().position(equal) {
            return Ok(index);
        }
        targets.push(Target { value, name: String::new(), junk: true, reference: 0, column: None });
        Ok(targets.len() - 1)
    }

    /// An expression without the conversions that its surroundings have put around it.
    fn without_implicit(&self, value: ExprId) -> ExprId {
        use crate::tree::Form;
        let mut value = value;
        loop {
            value = match &self.tree[value].node {
                Node::Relabel { value, form: Form::Implicit }
                | Node::ThroughText { value, form: Form::Implicit }
                | Node::ArrayConversion { value, form: Form::Implicit, .. }
                | Node::ParentRow { value, form: Form::Implicit }
                | Node::Domain { value, form: Form::Implicit, .. } => *value,
                Node::Function { arguments, form: Form::Implicit, .. } if !arguments.is_empty() => arguments[0],
                _ => return value,
            };
        }
    }

    /// Adds an element of ORDER BY, unless the target is sorted by already.
    pub fn add_sort_key(
        &mut self,
        index: usize,
        key: &SortKey,
        targets: &mut [Target],
        order: &mut Vec<SortGroup>,
        at: Option<u32>,
    ) -> Result<()> {
        self.known_target(&mut targets[index])?;
        let id = self.type_of(targets[index].value);
        let place = at.or(Some(self.raw_location(key.value)));
        let operators = self.sort_operators(id);
        let (sort, equal, descending) = match &key.direction {
            SortDirection::Default | SortDirection::Ascending | SortDirection::Descending => {
                let descending = matches!(key.direction, SortDirection::Descending);
                let sort = if descending { operators.greater } else { operators.less };
                match (sort, operators.equal) {
                    (Some(sort), Some(equal)) => (sort, equal, descending),
                    _ => return self.no_ordering(id, place),
                }
            }
            SortDirection::Using(operator) => {
                let schema = operator.schema.last().map(|name| name.text.as_str());
                let name = OperatorName { schema, name: &operator.symbol };
                let found = operators::binary(self.catalog, name, id, id).map_err(|error| error.at(operator.at))?;
                match self.ordering(found.operator) {
                    Some((descending, equal)) => (found.operator, equal, descending),
                    None => {
                        let message = format!("operator {} is not a valid ordering operator", operator.symbol);
                        let hint = "Ordering operators must be \"<\" or \">\" members of btree operator families.";
                        let error = AnalysisError::new(WRONG_OBJECT_TYPE, message).with_hint(hint);
                        return Err(error.at(operator.at));
                    }
                }
            }
        };
        let reference = targets[index].reference;
        // A target that is sorted by already decides nothing more.
        if reference != 0 && order.iter().any(|group| group.target == reference && group.sort == sort) {
            return Ok(());
        }
        let target = reference_of(targets, index);
        let nulls_first = key.nulls_first.unwrap_or(descending);
        order.push(SortGroup { target, equal, sort, nulls_first, hashes: operators.hashes });
        Ok(())
    }

    fn no_ordering<T>(&self, id: TypeId, at: Option<u32>) -> Result<T> {
        let name = type_name(self.catalog, id);
        let message = format!("could not identify an ordering operator for type {name}");
        let hint = "Use an explicit ordering operator or modify the query.";
        Err(AnalysisError::new(UNDEFINED_FUNCTION, message).with_hint(hint).at_place(at))
    }

    /// What is grouped or sorted by is text if it is of unknown type.
    pub fn known_target(&mut self, target: &mut Target) -> Result<()> {
        if self.type_of(target.value) == UNKNOWN {
            target.value = self.as_text(target.value)?;
        }
        Ok(())
    }

    /// Adds what rows are equal by, unless it is there.
    pub fn add_group(
        &mut self,
        index: usize,
        targets: &mut [Target],
        group: &mut Vec<SortGroup>,
        at: Option<u32>,
    ) -> Result<()> {
        self.known_target(&mut targets[index])?;
        let reference = targets[index].reference;
        if reference != 0 && group.iter().any(|before| before.target == reference) {
            return Ok(());
        }
        let id = self.type_of(targets[index].value);
        let (equal, sort, hashes) = self.equality(id, at)?;
        let target = reference_of(targets, index);
        group.push(SortGroup { target, equal, sort, nulls_first: false, hashes });
        Ok(())
    }

    /// What makes values of a type equal; 42883 if nothing does.
    pub fn equality(&self, id: TypeId, at: Option<u32>) -> Result<(OperatorId, OperatorId, bool)> {
        let operators = self.sort_operators(id);
        match operators.equal {
            Some(equal) => Ok((equal, operators.less.unwrap_or_default(), operators.hashes)),
            None => {
                let name = type_name(self.catalog, id);
                error_at(UNDEFINED_FUNCTION, format!("could not identify an equality operator for type {name}"), at)
            }
        }
    }

    /// DISTINCT: all targets, those first that are sorted by.
    pub fn distinct_clause(
        &mut self,
        targets: &mut [Target],
        order: &[SortGroup],
        aggregate: bool,
    ) -> Result<Vec<SortGroup>> {
        let mut distinct = Vec::new();
        for group in order {
            let target = targets.iter().find(|target| target.reference == group.target).expect("it was given one");
            if target.junk {
                let message = if aggregate {
                    "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list"
                } else {
                    "for SELECT DISTINCT, ORDER BY expressions must appear in select list"
                };
                return error_at(INVALID_COLUMN_REFERENCE, message, self.location(target.value));
            }
            distinct.push(*group);
        }
        for index in 0..targets.len() {
            if targets[index].junk {
                continue;
            }
            let at = self.location(targets[index].value);
            self.add_group(index, targets, &mut distinct, at)?;
        }
        if distinct.is_empty() {
            let message = if aggregate {
                "an aggregate with DISTINCT must have at least one argument"
            } else {
                "SELECT DISTINCT must have at least one column"
            };
            return error_at(SYNTAX_ERROR, message, None);
        }
        Ok(distinct)
    }

    /// DISTINCT ON, which ORDER BY must begin with.
    pub fn distinct_on(
        &mut self,
        list: &[ExpressionId],
        targets: &mut Vec<Target>,
        order: &[SortGroup],
    ) -> Result<Vec<SortGroup>> {
        let mut references = Vec::with_capacity(list.len());
        for value in list {
            let index = self.target_of(*value, targets, Place::DistinctOn)?;
            references.push((reference_of(targets, index), index, *value));
        }
        let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
        let mut distinct: Vec<SortGroup> = Vec::new();
        let mut skipped = false;
        for group in order {
            match references.iter().find(|(reference, ..)| *reference == group.target) {
                Some((_, _, value)) if skipped => {
                    return error_at(INVALID_COLUMN_REFERENCE, message, self.raw_location(*value));
                }
                Some(_) => distinct.push(*group),
                None => skipped = true,
            }
        }
        for (reference, index, value) in references {
            if distinct.iter().any(|group| group.target == reference) {
                continue;
            }
            let at = self.raw_location(value);
            if skipped {
                return error_at(INVALID_COLUMN_REFERENCE, message, at);
            }
            self.add_group(index, targets, &mut distinct, Some(at))?;
        }
        Ok(distinct)
    }

    /// LIMIT and OFFSET: a number that no column decides.
    pub fn limit(&mut self, value: Option<ExpressionId>, place: Place, with_ties: bool) -> Result<Option<ExprId>> {
        let Some(number) = value else { return Ok(None) };
        let name = place.name();
        let value = self.expression_at(number, place)?;
        let value = self.clause_value(value, INT8, name)?;
        if let Some(column) = self.tree.column_of_level(value, 0) {
            let message = format!("argument of {name} must not contain variables");
            return error_at(INVALID_COLUMN_REFERENCE, message, self.location(column));
        }
        if with_ties && matches!(self.tree[value].node, Node::Constant(Constant::Null)) {
            let message = "row count cannot be null in FETCH FIRST ... WITH TIES clause";
            return error_at(sqlstate::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE, message, None);
        }
        Ok(Some(value))
    }

    /// Where an expression of the text begins.
    pub fn raw_location(&self, number: ExpressionId) -> u32 {
        let mut first = self.arena[number].at;
        let mut number = number;
        loop {
            let next = match &self.arena[number].node {
                Syntax::Operator { left: Some(left), .. }
                | Syntax::Quantified { left, .. }
                | Syntax::QuantifiedQuery { left, .. }
                | Syntax::Distinct { left, .. } => *left,
                Syntax::Like { value, .. }
                | Syntax::Between { value, .. }
                | Syntax::In { value, .. }
                | Syntax::InQuery { value, .. }
                | Syntax::IsNull { value, .. }
                | Syntax::IsBoolean { value, .. }
                | Syntax::Cast { value, .. }
                | Syntax::Collate { value, .. }
                | Syntax::Indirection { of: value, .. } => *value,
                Syntax::And(parts) | Syntax::Or(parts) if !parts.is_empty() => parts[0],
                Syntax::Call(call) if call.form != grammar::ast::CallForm::Plain => {
                    let starts = call.arguments.iter().map(|argument| self.raw_location(argument.value));
                    return starts.min().map_or(first, |start| start.min(first));
                }
                _ => return first,
            };
            first = first.min(self.arena[next].at);
            number = next;
        }
    }
}

/// The number by which a target is named; it is given one if it has none.
pub fn reference_of(targets: &mut [Target], index: usize) -> u32 {
    if targets[index].reference == 0 {
        targets[index].reference = targets.iter().map(|target| target.reference).max().unwrap_or(0) + 1;
    }
    targets[index].reference
}
