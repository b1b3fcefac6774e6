//! Conversions put into the tree, where they are written and where types demand them.

use grammar::ast::{ExpressionId, ExpressionNode, TypeName};

use super::{Analyzer, Result, error_at};
use crate::coercion::{self, Pathway, SourceKind, Step, can_coerce};
use crate::error::{AnalysisError, CANNOT_COERCE, DATATYPE_MISMATCH};
use crate::facts::CastContext;
use crate::names::type_name;
use crate::tree::{Constant, Expr, ExprId, Form, Node};
use crate::types::{BOOL, INT4, NO_MODIFIER, TypeId, Typed, UNKNOWN};

/// How something is converted: to what, as part of what, and where.
#[derive(Clone, Copy)]
struct Conversion {
    modifier: i32,
    context: CastContext,
    form: Form,
    at: Option<u32>,
}

impl<'a> Analyzer<'a> {
    /// `CAST (value AS type)`.
    pub fn cast(&mut self, value: ExpressionId, to: &'a TypeName, at: u32) -> Result<ExprId> {
        let target = self.named_type(to)?;
        let arena = self.arena;
        let base = self.base_typed(target);
        let value = match &arena[value].node {
            ExpressionNode::Array(elements) if self.catalog.element_type(base.id).is_some() => {
                self.array(elements, Some(base), arena[value].at)?
            }
            _ => self.expression(value)?,
        };
        let source = self.type_of(value);
        let cast =
            self.converted(value, target.id, target.modifier, CastContext::Explicit, Form::Explicit, Some(at))?;
        cast.ok_or_else(|| self.cannot_cast(source, target.id).at(at))
    }

    /// 42846
    pub fn cannot_cast(&self, source: TypeId, target: TypeId) -> AnalysisError {
        let (from, to) = (type_name(self.catalog, source), type_name(self.catalog, target));
        AnalysisError::new(CANNOT_COERCE, format!("cannot cast type {from} to {to}"))
    }

    /// What a domain is over, with the modifier that it gives.
    pub fn base_typed(&self, of: Typed) -> Typed {
        let mut of = of;
        while let Some(row) = self.catalog.type_row(of.id)
            && row.kind == crate::types::TypeKind::Domain
        {
            of = self.typed(row.base, row.base_modifier);
        }
        of
    }

    /// Converts to a type with its modifier, or says that it cannot.
    pub fn converted(
        &mut self,
        value: ExprId,
        target: TypeId,
        modifier: i32,
        context: CastContext,
        form: Form,
        at: Option<u32>,
    ) -> Result<Option<ExprId>> {
        if !can_coerce(self.catalog, &[self.type_of(value)], &[target], context) {
            return Ok(None);
        }
        // COLLATE goes outside of the conversion, or away.
        let mut inner = value;
        while let Node::Collate { value, .. } = self.tree[inner].node {
            inner = value;
        }
        let converted = self.coerce(inner, target, modifier, context, form, at)?;
        let mut result = self.with_modifier(converted, target, modifier, context, form, at)?;
        let collatable = self.catalog.type_row(target).is_some_and(|row| row.collation.0 != 0);
        if inner != value
            && collatable
            && let Node::Collate { collation, .. } = self.tree[value].node
        {
            let typed = Typed { collation, ..self.tree[result].typed };
            result = self.add(Node::Collate { value: result, collation }, typed, None);
        }
        Ok(Some(result))
    }

    /// Converts to a type, once it is known that it can be. The modifier is for what applies it at once.
    pub fn coerce(
        &mut self,
        value: ExprId,
        target: TypeId,
        modifier: i32,
        context: CastContext,
        form: Form,
        at: Option<u32>,
    ) -> Result<ExprId> {
        if let Node::Collate { value: inner, collation } = self.tree[value].node
            && self.type_of(value) == UNKNOWN
        {
            let inner = self.coerce(inner, target, modifier, context, form, at)?;
            let typed = Typed { collation, ..self.tree[inner].typed };
            return Ok(self.add(Node::Collate { value: inner, collation }, typed, None));
        }
        let (source, kind) = (self.type_of(value), self.source_kind(value));
        let steps = coercion::conversion(self.catalog, source, kind, target, context);
        let steps = steps.map_err(|error| error.at_place(self.location(value)))?;
        let how = Conversion { modifier, context, form, at };
        let mut value = value;
        for step in steps {
            value = self.step(value, step, target, how)?;
        }
        Ok(value)
    }

    fn step(&mut self, value: ExprId, step: Step, target: TypeId, how: Conversion) -> Result<ExprId> {
        let Conversion { form, at, .. } = how;
        Ok(match step {
            Step::Literal(base) => {
                let Expr { node, at, .. } = self.tree[value].clone();
                let modifier =
                    if base == crate::types::INTERVAL { self.inner_modifier(target, how) } else { NO_MODIFIER };
                let typed = self.typed(base, modifier);
                let literal = self.add(node, typed, at);
                if base != target { self.domain_modifier(literal, base, target, how)? } else { literal }
            }
            Step::Parameter(id) => {
                let Node::Parameter(number) = self.tree[value].node else { return Ok(value) };
                let decided = self.parameters.decide(self.catalog, number, id);
                decided.map_err(|error| error.at_place(self.location(value)))?;
                let place = self.tree[value].at;
                self.plain(Node::Parameter(number), id, place)
            }
            Step::Path(path, id) => {
                let modifier = self.inner_modifier(target, how);
                let made = self.along(value, &path, id, Conversion { modifier, ..how })?;
                if id != target && self.catalog.base_type(target) == id {
                    self.domain_modifier(made, id, target, how)?
                } else {
                    made
                }
            }
            Step::Domain(id) => self.plain(Node::Domain { value, domain: id, form }, id, at),
            Step::AnyRow(id) => {
                let relabel = Node::Relabel { value, form };
                self.plain(relabel, id, at)
            }
            Step::Row(id) => self.fields_to(value, id, how)?,
            Step::Parent(id) => self.plain(Node::ParentRow { value, form }, id, at),
        })
    }

    /// The modifier that what is below a domain gets.
    fn inner_modifier(&self, target: TypeId, how: Conversion) -> i32 {
        let base = self.base_typed(Typed { id: target, modifier: how.modifier, collation: Default::default() });
        base.modifier
    }

    fn domain_modifier(&mut self, value: ExprId, base: TypeId, target: TypeId, how: Conversion) -> Result<ExprId> {
        let modifier = self.inner_modifier(target, how);
        self.with_modifier(value, base, modifier, how.context, how.form, how.at)
    }

    /// Goes one way to another type.
    fn along(&mut self, value: ExprId, path: &Pathway, target: TypeId, how: Conversion) -> Result<ExprId> {
        let Conversion { form, at, .. } = how;
        Ok(match path {
            Pathway::Relabel => self.plain(Node::Relabel { value, form }, target, at),
            Pathway::ThroughText => self.plain(Node::ThroughText { value, form }, target, at),
            Pathway::Function(function) => self.conversion_call(value, *function, target, how),
            Pathway::Array(path) => {
                let source = self.catalog.element_type(self.catalog.base_type(self.type_of(value))).unwrap_or(UNKNOWN);
                let wanted = self.catalog.element_type(target).unwrap_or(UNKNOWN);
                let element = self.plain(Node::Element, source, None);
                let element = match path {
                    Some(path) => self.along(element, path, wanted, how)?,
                    None => element,
                };
                let typed = self.typed(target, self.tree[element].typed.modifier);
                self.add(Node::ArrayConversion { value, element, form }, typed, at)
            }
        })
    }

    /// A function that converts takes the modifier, too, and whether the cast was written, as far as it has parameters for them.
    fn conversion_call(
        &mut self,
        value: ExprId,
        function: crate::types::FunctionId,
        target: TypeId,
        how: Conversion,
    ) -> ExprId {
        let count = self.catalog.function(function).map_or(1, |row| row.arguments.len());
        let mut arguments = vec![value];
        if count >= 2 {
            arguments.push(self.constant(Constant::Number(how.modifier.to_string()), INT4, None));
        }
        if count >= 3 {
            arguments.push(self.constant(Constant::Boolean(how.form == Form::Explicit), BOOL, None));
        }
        let typed = self.typed(target, if count >= 2 { how.modifier } else { NO_MODIFIER });
        self.add(Node::Function { function, arguments, variadic: false, form: how.form }, typed, how.at)
    }

    /// Applies a modifier, unless it is there.
    fn with_modifier(
        &mut self,
        value: ExprId,
        target: TypeId,
        modifier: i32,
        context: CastContext,
        form: Form,
        at: Option<u32>,
    ) -> Result<ExprId> {
        if modifier < 0 || modifier == self.tree[value].typed.modifier {
            return Ok(value);
        }
        let how = Conversion { modifier, context, form, at };
        match coercion::modifier_function(self.catalog, target) {
            Some((function, false)) => Ok(self.conversion_call(value, function, target, how)),
            Some((function, true)) => {
                let element_type = self.catalog.element_type(target).unwrap_or(UNKNOWN);
                let element = self.plain(Node::Element, element_type, None);
                let element = self.conversion_call(element, function, element_type, how);
                let typed = self.typed(target, modifier);
                Ok(self.add(Node::ArrayConversion { value, element, form }, typed, at))
            }
            None => {
                let typed = self.typed(target, modifier);
                Ok(self.add(Node::Relabel { value, form }, typed, at))
            }
        }
    }

    /// A row whose columns are known takes those of a composite type.
    fn fields_to(&mut self, value: ExprId, target: TypeId, how: Conversion) -> Result<ExprId> {
        let catalog = self.catalog;
        let Some(relation) = super::columns::columns_of_type(catalog, target) else {
            return Err(self.cannot_cast(self.type_of(value), target).at_place(how.at.or(self.location(value))));
        };
        let fields: Vec<ExprId> = match &self.tree[value].node {
            Node::Row { fields, .. } => fields.clone(),
            Node::WholeRow { levels_up, entry } => self.fields_of_entry(*levels_up, *entry, self.tree[value].at),
            _ => Vec::new(),
        };
        let place = how.at.or(self.location(value));
        let refuse = |analyzer: &Self, detail: String| {
            analyzer.cannot_cast(crate::types::RECORD, target).with_detail(detail).at_place(place)
        };
        let mut given = fields.into_iter();
        let (mut made, mut names) = (Vec::new(), Vec::new());
        for column in &relation.columns {
            if column.dropped {
                continue;
            }
            let Some(field) = given.next() else { return Err(refuse(self, "Input has too few columns.".to_string())) };
            let (source, wanted) = (self.type_of(field), column.typed);
            let converted = self.converted(field, wanted.id, wanted.modifier, how.context, Form::Implicit, None)?;
            let Some(converted) = converted else {
                let (from, to) = (type_name(catalog, source), type_name(catalog, wanted.id));
                let detail = format!("Cannot cast type {from} to {to} in column {}.", made.len() + 1);
                return Err(self
                    .cannot_cast(crate::types::RECORD, target)
                    .with_detail(detail)
                    .at_place(how.at.or(self.location(field))));
            };
            made.push(converted);
            names.push(column.name.to_string());
        }
        if given.next().is_some() {
            return Err(refuse(self, "Input has too many columns.".to_string()));
        }
        Ok(self.plain(Node::Row { fields: made, names }, target, how.at))
    }

    /// Columns of an entry, as the fields of its row.
    pub fn fields_of_entry(&mut self, levels_up: u32, entry: u32, at: Option<u32>) -> Vec<ExprId> {
        let depth = self.levels.len() - 1 - levels_up as usize;
        let columns = self.levels[depth].entries[entry as usize].columns.clone();
        let there = columns.into_iter().enumerate().filter(|(_, column)| !column.name.is_empty());
        there
            .map(|(number, column)| {
                let node = Node::Column { levels_up, entry, column: number as u32 };
                self.add(node, column.typed, at)
            })
            .collect()
    }

    /// What a clause wants: 42804 if it is of another type.
    pub fn clause_value(&mut self, value: ExprId, target: TypeId, clause: &str) -> Result<ExprId> {
        let source = self.type_of(value);
        let mut value = value;
        if source != target {
            let made = self.converted(value, target, NO_MODIFIER, CastContext::Assignment, Form::Implicit, None)?;
            let Some(made) = made else {
                let (from, to) = (type_name(self.catalog, source), type_name(self.catalog, target));
                let message = format!("argument of {clause} must be type {to}, not type {from}");
                return error_at(DATATYPE_MISMATCH, message, self.location(value));
            };
            value = made;
        }
        if self.yields_set(value) {
            let message = format!("argument of {clause} must not return a set");
            return error_at(DATATYPE_MISMATCH, message, self.location(value));
        }
        Ok(value)
    }

    /// A condition.
    pub fn condition(&mut self, value: ExprId, clause: &str) -> Result<ExprId> {
        self.clause_value(value, BOOL, clause)
    }

    /// Whether a call within yields a set.
    pub fn yields_set(&self, value: ExprId) -> bool {
        let hit = self.tree.find(value, &mut |expression, depth| match expression.node {
            Node::Function { function, .. } | Node::Operator { function, .. } => {
                depth == 0 && self.catalog.function(function).is_some_and(|row| row.returns_set)
            }
            _ => false,
        });
        hit.is_some()
    }

    /// The common type of several expressions.
    pub fn common(&self, all: &[ExprId], name: &str) -> Result<TypeId> {
        let types: Vec<TypeId> = all.iter().map(|of| self.type_of(*of)).collect();
        crate::common_type::common_type_of(self.catalog, &types, name)
            .map_err(|(error, index)| error.at_place(self.location(all[index])))
    }

    /// One of them converted to it.
    pub fn made_common(&mut self, value: ExprId, common: TypeId, name: &str) -> Result<ExprId> {
        let source = self.type_of(value);
        if source == common {
            return Ok(value);
        }
        if !can_coerce(self.catalog, &[source], &[common], CastContext::Implicit) {
            let (from, to) = (type_name(self.catalog, source), type_name(self.catalog, common));
            let message = format!("{name} could not convert type {from} to {to}");
            return error_at(CANNOT_COERCE, message, self.location(value));
        }
        self.coerce(value, common, NO_MODIFIER, CastContext::Implicit, Form::Implicit, None)
    }

    /// Whether an expression is a literal, or a parameter, that has no type yet.
    pub fn is_open(&self, value: ExprId) -> bool {
        self.type_of(value) == UNKNOWN && matches!(self.source_kind(value), SourceKind::Literal | SourceKind::Parameter)
    }
}
