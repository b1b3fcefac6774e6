//! The parts of nodes, and searches through a tree.

use super::{Bound, EntryKind, Expr, ExprId, JoinTree, Node, Query, QueryId, Tree};

impl Node {
    /// The expressions that it is made of, in their order; not those of a subquery.
    pub fn parts(&self) -> Vec<ExprId> {
        let mut parts = Vec::new();
        self.each_part(&mut |part| parts.push(part));
        parts
    }

    fn each_part(&self, each: &mut impl FnMut(ExprId)) {
        match self {
            Node::Function { arguments, .. }
            | Node::Operator { arguments, .. }
            | Node::Distinct { arguments, .. }
            | Node::NullIf { arguments, .. }
            | Node::ArrayOperator { arguments, .. }
            | Node::And(arguments)
            | Node::Or(arguments)
            | Node::Coalesce(arguments)
            | Node::Extreme { arguments, .. }
            | Node::Row { fields: arguments, .. }
            | Node::Array { elements: arguments, .. }
            | Node::Grouping { arguments, .. } => arguments.iter().copied().for_each(each),
            Node::Not(value)
            | Node::NullTest { value, .. }
            | Node::BooleanTest { value, .. }
            | Node::Relabel { value, .. }
            | Node::ThroughText { value, .. }
            | Node::ParentRow { value, .. }
            | Node::Domain { value, .. }
            | Node::Field { value, .. }
            | Node::Collate { value, .. } => each(*value),
            Node::ArrayConversion { value, element, .. } => [*value, *element].into_iter().for_each(each),
            Node::FieldStore { value, new, .. } => [*value, *new].into_iter().for_each(each),
            Node::Case { operand, arms, otherwise } => {
                operand.iter().copied().for_each(&mut *each);
                arms.iter().flat_map(|(condition, result)| [*condition, *result]).for_each(&mut *each);
                each(*otherwise);
            }
            Node::RowComparison { left, right, .. } => left.iter().chain(right).copied().for_each(each),
            Node::Subscript { container, upper, lower, assigned } => {
                each(*container);
                upper.iter().chain(lower).flatten().copied().for_each(&mut *each);
                assigned.iter().copied().for_each(each);
            }
            Node::Aggregate(call) => {
                call.direct.iter().copied().for_each(&mut *each);
                call.arguments.iter().map(|target| target.value).for_each(&mut *each);
                call.filter.iter().copied().for_each(each);
            }
            Node::Window(call) => call.arguments.iter().chain(&call.filter).copied().for_each(each),
            Node::SubLink { test, .. } => test.iter().copied().for_each(each),
            Node::Column { .. }
            | Node::WholeRow { .. }
            | Node::SystemColumn { .. }
            | Node::Parameter(_)
            | Node::Constant(_)
            | Node::ParameterDefault { .. }
            | Node::CaseOperand
            | Node::Element
            | Node::SubLinkColumn(_)
            | Node::MultipleColumn { .. }
            | Node::SqlValue { .. }
            | Node::Default
            | Node::CurrentOf(_) => {}
        }
    }

    /// How many queries out it belongs to, for what belongs to a query.
    pub fn levels_up(&self) -> Option<u32> {
        match self {
            Node::Column { levels_up, .. }
            | Node::WholeRow { levels_up, .. }
            | Node::SystemColumn { levels_up, .. }
            | Node::Grouping { levels_up, .. } => Some(*levels_up),
            Node::Aggregate(call) => Some(call.levels_up),
            _ => None,
        }
    }

    /// The same node without its parts: what two nodes have to share beside equal parts.
    fn bare(&self) -> Node {
        let mut bare = self.clone();
        bare.replace_parts(&mut |_| ExprId(0));
        if let Node::SubLink { query, .. } = &mut bare {
            *query = QueryId(0);
        }
        bare
    }

    /// Puts other expressions in the place of its parts.
    pub fn replace_parts(&mut self, other: &mut impl FnMut(ExprId) -> ExprId) {
        match self {
            Node::Function { arguments, .. }
            | Node::Operator { arguments, .. }
            | Node::Distinct { arguments, .. }
            | Node::NullIf { arguments, .. }
            | Node::ArrayOperator { arguments, .. }
            | Node::And(arguments)
            | Node::Or(arguments)
            | Node::Coalesce(arguments)
            | Node::Extreme { arguments, .. }
            | Node::Row { fields: arguments, .. }
            | Node::Array { elements: arguments, .. }
            | Node::Grouping { arguments, .. } => arguments.iter_mut().for_each(|part| *part = other(*part)),
            Node::Not(value)
            | Node::NullTest { value, .. }
            | Node::BooleanTest { value, .. }
            | Node::Relabel { value, .. }
            | Node::ThroughText { value, .. }
            | Node::ParentRow { value, .. }
            | Node::Domain { value, .. }
            | Node::Field { value, .. }
            | Node::Collate { value, .. } => *value = other(*value),
            Node::ArrayConversion { value, element: part, .. } | Node::FieldStore { value, new: part, .. } => {
                (*value, *part) = (other(*value), other(*part));
            }
            Node::Case { operand, arms, otherwise } => {
                operand.iter_mut().for_each(|part| *part = other(*part));
                arms.iter_mut().for_each(|(when, then)| (*when, *then) = (other(*when), other(*then)));
                *otherwise = other(*otherwise);
            }
            Node::RowComparison { left, right, .. } => {
                left.iter_mut().chain(right).for_each(|part| *part = other(*part));
            }
            Node::Subscript { container, upper, lower, assigned } => {
                *container = other(*container);
                let bounds = upper.iter_mut().chain(lower).flatten();
                bounds.chain(assigned).for_each(|part| *part = other(*part));
            }
            Node::Aggregate(call) => {
                call.direct.iter_mut().for_each(|part| *part = other(*part));
                call.arguments.iter_mut().for_each(|target| target.value = other(target.value));
                call.filter.iter_mut().for_each(|part| *part = other(*part));
            }
            Node::Window(call) => {
                call.arguments.iter_mut().chain(&mut call.filter).for_each(|part| *part = other(*part));
            }
            Node::SubLink { test, .. } => test.iter_mut().for_each(|part| *part = other(*part)),
            _ => {}
        }
    }
}

impl Query {
    /// All expressions that stand in it, without those of other queries.
    pub fn expressions(&self) -> Vec<ExprId> {
        let mut all: Vec<ExprId> = self.targets.iter().map(|target| target.value).collect();
        for entry in &self.range_table {
            match &entry.kind {
                EntryKind::Functions { functions, .. } => all.extend(functions.iter().map(|(call, _)| *call)),
                EntryKind::Values(rows) => all.extend(rows.iter().flatten()),
                EntryKind::Join { columns, .. } => all.extend(columns),
                EntryKind::Relation { sample: Some(sample), .. } => {
                    all.extend(sample.arguments.iter().chain(&sample.seed));
                }
                _ => {}
            }
        }
        self.from.iter().for_each(|tree| conditions(tree, &mut all));
        all.extend([self.filter, self.having, self.limit, self.offset].into_iter().flatten());
        for bound in self.windows.iter().filter_map(|window| window.frame.as_ref()).flat_map(|f| [f.start, f.end]) {
            if let Bound::Preceding(value, _) | Bound::Following(value, _) = bound {
                all.push(value);
            }
        }
        all.extend(self.multiple.iter());
        if let Some(conflict) = &self.on_conflict {
            all.extend(conflict.elements.iter().chain(&conflict.predicate).chain(&conflict.filter));
            all.extend(conflict.set.iter().map(|target| target.value));
        }
        for arm in &self.merge {
            all.extend(arm.condition.iter().copied().chain(arm.targets.iter().map(|target| target.value)));
        }
        all.extend(self.returning.iter().map(|target| target.value));
        all
    }

    /// The queries of its range table and its WITH.
    pub fn queries(&self) -> Vec<QueryId> {
        let entries = self.range_table.iter().filter_map(|entry| match entry.kind {
            EntryKind::Query(query) => Some(query),
            _ => None,
        });
        entries.chain(self.with.iter().filter_map(|table| table.query)).collect()
    }
}

impl Query {
    /// The same query without its expressions and queries: what two queries have to share beside equal ones.
    fn bare(&self) -> Query {
        let mut bare = self.clone();
        let nothing = ExprId(0);
        let targets = bare.targets.iter_mut().chain(&mut bare.returning);
        targets.chain(bare.merge.iter_mut().flat_map(|arm| &mut arm.targets)).for_each(|target| target.value = nothing);
        for entry in &mut bare.range_table {
            match &mut entry.kind {
                EntryKind::Functions { functions, .. } => functions.iter_mut().for_each(|(call, _)| *call = nothing),
                EntryKind::Values(rows) => rows.iter_mut().flatten().for_each(|value| *value = nothing),
                EntryKind::Join { columns, .. } => columns.fill(nothing),
                EntryKind::Relation { sample: Some(sample), .. } => {
                    sample.arguments.iter_mut().chain(&mut sample.seed).for_each(|value| *value = nothing);
                }
                EntryKind::Query(query) => *query = QueryId(0),
                _ => {}
            }
        }
        bare.from.iter_mut().for_each(without_conditions);
        let single = [&mut bare.filter, &mut bare.having, &mut bare.limit, &mut bare.offset];
        let conditions = bare.merge.iter_mut().map(|arm| &mut arm.condition);
        single.into_iter().chain(conditions).flatten().for_each(|value| *value = nothing);
        for frame in bare.windows.iter_mut().filter_map(|window| window.frame.as_mut()) {
            for bound in [&mut frame.start, &mut frame.end] {
                if let Bound::Preceding(value, _) | Bound::Following(value, _) = bound {
                    *value = nothing;
                }
            }
        }
        bare.multiple.fill(nothing);
        if let Some(conflict) = &mut bare.on_conflict {
            conflict.set.iter_mut().for_each(|target| target.value = nothing);
            let values = conflict.elements.iter_mut().chain(&mut conflict.predicate);
            values.chain(&mut conflict.filter).for_each(|value| *value = nothing);
        }
        bare.with.iter_mut().filter_map(|table| table.query.as_mut()).for_each(|query| *query = QueryId(0));
        bare
    }
}

fn conditions(tree: &JoinTree, all: &mut Vec<ExprId>) {
    if let JoinTree::Join { left, right, condition, .. } = tree {
        all.extend(condition);
        conditions(left, all);
        conditions(right, all);
    }
}

fn without_conditions(tree: &mut JoinTree) {
    if let JoinTree::Join { left, right, condition, .. } = tree {
        condition.iter_mut().for_each(|condition| *condition = ExprId(0));
        without_conditions(left);
        without_conditions(right);
    }
}

impl Tree {
    /// Whether two expressions are the same but for their places.
    pub fn equal(&self, one: ExprId, other: ExprId) -> bool {
        if one == other {
            return true;
        }
        let (one, other) = (&self[one], &self[other]);
        if one.typed != other.typed || std::mem::discriminant(&one.node) != std::mem::discriminant(&other.node) {
            return false;
        }
        let (mine, theirs) = (one.node.parts(), other.node.parts());
        mine.len() == theirs.len()
            && one.node.bare() == other.node.bare()
            && mine.iter().zip(&theirs).all(|(mine, theirs)| self.equal(*mine, *theirs))
            && match (&one.node, &other.node) {
                (Node::SubLink { query, .. }, Node::SubLink { query: other, .. }) => self.equal_queries(*query, *other),
                _ => true,
            }
    }

    /// Whether two queries are the same but for their places. CYCLE has values of its own: it is the same only as itself.
    fn equal_queries(&self, one: QueryId, other: QueryId) -> bool {
        if one == other {
            return true;
        }
        let (one, other) = (&self[one], &self[other]);
        let (mine, theirs) = (one.expressions(), other.expressions());
        let (inner, others) = (one.queries(), other.queries());
        // What is without a copy comes first: most queries differ there.
        mine.len() == theirs.len()
            && inner.len() == others.len()
            && mine.iter().zip(&theirs).all(|(mine, theirs)| self.equal(*mine, *theirs))
            && inner.iter().zip(&others).all(|(mine, theirs)| self.equal_queries(*mine, *theirs))
            && one.bare() == other.bare()
    }

    /// The first expression within one, itself included, for which `found` holds. It is told how many queries further in an expression stands.
    pub fn find(&self, within: ExprId, found: &mut dyn FnMut(&Expr, u32) -> bool) -> Option<ExprId> {
        self.find_at(within, 0, found)
    }

    fn find_at(&self, within: ExprId, depth: u32, found: &mut dyn FnMut(&Expr, u32) -> bool) -> Option<ExprId> {
        let expression = &self[within];
        if found(expression, depth) {
            return Some(within);
        }
        for part in expression.node.parts() {
            if let Some(hit) = self.find_at(part, depth, found) {
                return Some(hit);
            }
        }
        match expression.node {
            Node::SubLink { query, .. } => self.find_in_query(query, depth + 1, found),
            _ => None,
        }
    }

    /// The same in a query, whose own expressions stand at the depth.
    pub fn find_in_query(
        &self,
        query: QueryId,
        depth: u32,
        found: &mut dyn FnMut(&Expr, u32) -> bool,
    ) -> Option<ExprId> {
        let query = &self[query];
        for expression in query.expressions() {
            if let Some(hit) = self.find_at(expression, depth, found) {
                return Some(hit);
            }
        }
        for inner in query.queries() {
            if let Some(hit) = self.find_in_query(inner, depth + 1, found) {
                return Some(hit);
            }
        }
        None
    }

    /// The first column of a query so many levels out.
    pub fn column_of_level(&self, within: ExprId, level: u32) -> Option<ExprId> {
        self.find(within, &mut |expression, depth| is_column_of(&expression.node, level + depth))
    }

    /// The first column in a query that belongs so many levels out of it.
    pub fn column_of_level_in_query(&self, query: QueryId, level: u32) -> Option<ExprId> {
        self.find_in_query(query, 0, &mut |expression, depth| is_column_of(&expression.node, level + depth))
    }

    /// The first aggregate or GROUPING of the query that an expression stands in.
    pub fn aggregate_within(&self, within: ExprId) -> Option<ExprId> {
        self.find(within, &mut |expression, depth| match &expression.node {
            Node::Aggregate(call) => call.levels_up == depth,
            Node::Grouping { levels_up, .. } => *levels_up == depth,
            _ => false,
        })
    }

    /// The first window function, not in subqueries.
    pub fn window_within(&self, within: ExprId) -> Option<ExprId> {
        self.find(within, &mut |expression, depth| depth == 0 && matches!(expression.node, Node::Window(_)))
    }

    /// Where an expression begins.
    pub fn location(&self, of: ExprId) -> Option<u32> {
        let expression = &self[of];
        match (expression.first, expression.at) {
            (Some(first), Some(at)) => Some(first.min(at)),
            (first, at) => first.or(at),
        }
    }
}

fn is_column_of(node: &Node, level: u32) -> bool {
    match node {
        Node::Column { levels_up, .. } | Node::WholeRow { levels_up, .. } | Node::SystemColumn { levels_up, .. } => {
            *levels_up == level
        }
        Node::CurrentOf(_) => level == 0,
        _ => false,
    }
}
