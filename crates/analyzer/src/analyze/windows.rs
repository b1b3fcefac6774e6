//! Windows: those of WINDOW and those that stand at calls.

use grammar::ast::{self, FrameBound, FrameUnit, WindowSpecification};

use super::levels::Place;
use super::{Analyzer, Result, error_at};
use crate::error::{AnalysisError, FEATURE_NOT_SUPPORTED, INVALID_COLUMN_REFERENCE, UNDEFINED_OBJECT, WINDOWING_ERROR};
use crate::facts::{CastContext, Facts};
use crate::names::type_name;
use crate::tree::{Bound, ExprId, Form, Frame, SortGroup, Target, Window};
use crate::types::{FunctionId, INT8, NO_MODIFIER, TypeId, UNKNOWN};

/// PostgreSQL's number of the support function that tells whether a value is in range of another.
const IN_RANGE: i16 = 3;

impl<'a> Analyzer<'a> {
    /// All windows of the query, in the order in which calls name them.
    pub fn window_clause(&mut self, targets: &mut Vec<Target>) -> Result<Vec<Window>> {
        let named = self.level().named_windows;
        let inline = self.level().windows.clone();
        let all = named.iter().map(|window| (Some(window.name.text.as_str()), &window.window));
        let all: Vec<(Option<&str>, &'a WindowSpecification)> =
            all.chain(inline.into_iter().map(|window| (None, window))).collect();
        let mut windows: Vec<Window> = Vec::with_capacity(all.len());
        for (name, specification) in all {
            if let Some(name) = name
                && windows.iter().any(|before| before.name.as_deref() == Some(name))
            {
                let message = format!("window \"{name}\" is already defined");
                return error_at(WINDOWING_ERROR, message, specification.at);
            }
            let window = self.window(specification, &windows, targets)?;
            windows.push(Window { name: name.map(str::to_string), ..window });
        }
        Ok(windows)
    }

    fn window(
        &mut self,
        specification: &'a WindowSpecification,
        before: &[Window],
        targets: &mut Vec<Target>,
    ) -> Result<Window> {
        let at = specification.at;
        let base = match &specification.base {
            None => None,
            Some(name) => {
                let found = before.iter().find(|window| window.name.as_deref() == Some(name.text.as_str()));
                let missing = format!("window \"{}\" does not exist", name.text);
                Some((name, found.ok_or_else(|| AnalysisError::new(UNDEFINED_OBJECT, missing).at(at))?))
            }
        };
        let mut order = self.sort_clause(&specification.order, targets, Place::WindowOrder, true)?;
        let mut partition = self.partition_clause(&specification.partition, targets, &order)?;
        let refuse = |what: &str, name: &ast::Name| {
            let message = format!("cannot override {what} clause of window \"{}\"", name.text);
            error_at(WINDOWING_ERROR, message, at)
        };
        if let Some((name, base)) = base {
            if !specification.partition.is_empty() {
                return refuse("PARTITION BY", name);
            }
            partition = base.partition.clone();
            if !order.is_empty() && !base.order.is_empty() {
                return refuse("ORDER BY", name);
            }
            if order.is_empty() {
                order = base.order.clone();
            }
            if base.frame.is_some() {
                let message = format!("cannot copy window \"{}\" because it has a frame clause", name.text);
                let error = AnalysisError::new(WINDOWING_ERROR, message).at(at);
                let bare = specification.order.is_empty() && specification.frame.is_none();
                return Err(if bare { error.with_hint("Omit the parentheses in this OVER clause.") } else { error });
            }
        }
        let frame = match &specification.frame {
            Some(frame) => Some(self.frame(frame, &order, targets, at)?),
            None => None,
        };
        Ok(Window { name: None, partition, order, frame })
    }

    fn frame(&mut self, frame: &ast::Frame, order: &[SortGroup], targets: &[Target], at: u32) -> Result<Frame> {
        let end = frame.end.unwrap_or(FrameBound::CurrentRow);
        let has_offset =
            [frame.start, end].iter().any(|bound| matches!(bound, FrameBound::Preceding(_) | FrameBound::Following(_)));
        if frame.unit == FrameUnit::Range && has_offset && order.len() != 1 {
            let message = "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column";
            return error_at(WINDOWING_ERROR, message, at);
        }
        if frame.unit == FrameUnit::Groups && order.is_empty() {
            return error_at(WINDOWING_ERROR, "GROUPS mode requires an ORDER BY clause", at);
        }
        let sorted = order.first().and_then(|group| targets.iter().find(|target| target.reference == group.target));
        let key = sorted.map(|target| target.value);
        let start = self.bound(frame.start, frame.unit, key)?;
        let end = self.bound(end, frame.unit, key)?;
        Ok(Frame { unit: frame.unit, start, end, exclusion: frame.exclusion })
    }

    fn bound(&mut self, bound: FrameBound, unit: FrameUnit, key: Option<ExprId>) -> Result<Bound> {
        let (number, preceding) = match bound {
            FrameBound::UnboundedPreceding => return Ok(Bound::UnboundedPreceding),
            FrameBound::UnboundedFollowing => return Ok(Bound::UnboundedFollowing),
            FrameBound::CurrentRow => return Ok(Bound::CurrentRow),
            FrameBound::Preceding(value) => (value, true),
            FrameBound::Following(value) => (value, false),
        };
        let (place, name) = match unit {
            FrameUnit::Range => (Place::FrameRange, "RANGE"),
            FrameUnit::Rows => (Place::FrameRows, "ROWS"),
            FrameUnit::Groups => (Place::FrameGroups, "GROUPS"),
        };
        let value = self.expression_at(number, place)?;
        let (value, function) = match (unit, key) {
            (FrameUnit::Range, Some(key)) => {
                let (value, function) = self.range_offset(value, key)?;
                (value, Some(function))
            }
            _ => (self.clause_value(value, INT8, name)?, None),
        };
        if let Some(column) = self.tree.column_of_level(value, 0) {
            let message = format!("argument of {name} must not contain variables");
            return error_at(INVALID_COLUMN_REFERENCE, message, self.location(column));
        }
        Ok(if preceding { Bound::Preceding(value, function) } else { Bound::Following(value, function) })
    }

    /// The offset of RANGE, as the support function of the sort key's type takes it.
    fn range_offset(&mut self, value: ExprId, key: ExprId) -> Result<(ExprId, FunctionId)> {
        let (wanted, given) = (self.type_of(key), self.type_of(value));
        let base = self.sorted_as(self.catalog.base_type(wanted));
        let candidates: Vec<(TypeId, FunctionId)> = Facts::postgresql15()
            .family_functions
            .iter()
            .filter(|row| {
                row.number == IN_RANGE && row.left == base && Facts::postgresql15().is_btree_family(row.family)
            })
            .map(|row| (row.right, row.function))
            .collect();
        let name = |id| type_name(self.catalog, id);
        let at = self.location(value);
        if candidates.is_empty() {
            let message =
                format!("RANGE with offset PRECEDING/FOLLOWING is not supported for column type {}", name(base));
            return error_at(FEATURE_NOT_SUPPORTED, message, at);
        }
        let exact = candidates.iter().find(|(id, _)| *id == self.catalog.base_type(given));
        // Text becomes what the key itself is added to, if that can be chosen.
        let same = candidates.iter().find(|(id, _)| *id == base).filter(|_| given == UNKNOWN);
        let becomes = |id: &TypeId| crate::coercion::can_coerce(self.catalog, &[given], &[*id], CastContext::Implicit);
        let fits: Vec<&(TypeId, FunctionId)> = candidates.iter().filter(|(id, _)| becomes(id)).collect();
        let preferred: Vec<&&(TypeId, FunctionId)> =
            fits.iter().filter(|(id, _)| self.catalog.is_preferred(*id, self.catalog.category(*id))).collect();
        let chosen = exact.or(same).copied().or(match (fits.as_slice(), preferred.as_slice()) {
            ([only], _) => Some(**only),
            (_, [only]) => Some(***only),
            _ => None,
        });
        let Some((id, function)) = chosen else {
            let mut message = format!(
                "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {} and offset type {}",
                name(base),
                name(given)
            );
            let mut hint = Some("Cast the offset value to an appropriate type.");
            if fits.len() > 1 {
                message = format!(
                    "RANGE with offset PRECEDING/FOLLOWING has multiple interpretations for column type {} and offset type {}",
                    name(base),
                    name(given)
                );
                hint = Some("Cast the offset value to the exact intended type.");
            }
            let mut error = AnalysisError::new(FEATURE_NOT_SUPPORTED, message).at_place(at);
            error.hint = hint.map(str::to_string);
            return Err(error);
        };
        let value = self.coerce(value, id, NO_MODIFIER, CastContext::Implicit, Form::Implicit, None)?;
        Ok((value, function))
    }
}
