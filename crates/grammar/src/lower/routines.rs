//! CREATE FUNCTION and CREATE PROCEDURE.

use super::{Lower, Lowered};
use crate::ast::{
    BodyStatement, CreateRoutine, ParameterMode, RoutineBody, RoutineOption, RoutineOptionNode, RoutineParameter,
    Statement, TypeName,
};
use crate::error::{SYNTAX_ERROR, SyntaxError};
use crate::parse::Node;
use crate::tables::symbols as g;

impl Lower<'_, '_> {
    pub(super) fn routine(&mut self, node: Node) -> Lowered<Statement> {
        let part = |symbol| self.part(node, symbol).ok_or_else(|| self.unexpected(node));
        let (name, list) = (part(g::func_name)?, part(g::func_args_with_defaults)?);
        let mut parameters = self.parameters(list)?;
        if let Some(columns) = self.part(node, g::table_func_column_list) {
            if parameters.iter().any(|parameter| matches!(parameter.mode, ParameterMode::Out | ParameterMode::InOut)) {
                let message = "OUT and INOUT arguments aren't allowed in TABLE functions";
                return Err(SyntaxError { at: None, ..SyntaxError::new(SYNTAX_ERROR, message, 0) });
            }
            for column in self.list(columns) {
                let children = self.children(column);
                let (name, of) = (Some(self.name(children[0])), self.function_type(children[1])?);
                parameters.push(RoutineParameter { mode: ParameterMode::Table, name, of, default: None });
            }
        }
        let returns = match self.part(node, g::func_return) {
            Some(returns) => Some(self.function_type(self.children(returns)[0])?),
            None => None,
        };
        let options = self.part(node, g::opt_createfunc_opt_list);
        let options = options.and_then(|options| self.part(options, g::createfunc_opt_list));
        let mut all = Vec::new();
        for option in options.map(|options| self.list(options)).unwrap_or_default() {
            all.push(self.routine_option(option)?);
        }
        let body = self.routine_body(node)?;
        Ok(Statement::CreateRoutine(Box::new(CreateRoutine {
            procedure: self.has(node, g::PROCEDURE),
            replace: self.filled(node, g::opt_or_replace).is_some(),
            name: self.function_name(name),
            parameters,
            returns,
            options: all,
            body,
            at: self.at(name),
        })))
    }

    /// `func_args` and `func_args_with_defaults`.
    pub(super) fn parameters(&mut self, node: Node) -> Lowered<Vec<RoutineParameter>> {
        let list = match *self.children(node) {
            [_, list, _] => list,
            _ => return Ok(Vec::new()),
        };
        let mut parameters = Vec::new();
        for parameter in self.list(list) {
            let default = self.part(parameter, g::a_expr).map(|default| self.expr(default));
            let argument = self.part(parameter, g::func_arg).unwrap_or(parameter);
            let mode = match self.part(argument, g::arg_class).map(|class| self.shape(class)) {
                None => ParameterMode::Default,
                Some([g::IN_P]) => ParameterMode::In,
                Some([g::OUT_P]) => ParameterMode::Out,
                Some([g::VARIADIC]) => ParameterMode::Variadic,
                Some(_) => ParameterMode::InOut,
            };
            let of = self.part(argument, g::func_type).ok_or_else(|| self.unexpected(argument))?;
            let of: TypeName = self.function_type(of)?;
            let name = self.part(argument, g::param_name).map(|name| self.name(name));
            parameters.push(RoutineParameter { mode, name, of, default });
        }
        Ok(parameters)
    }

    /// `createfunc_opt_item`.
    fn routine_option(&mut self, node: Node) -> Lowered<RoutineOption> {
        use RoutineOptionNode as O;
        let at = self.at(node);
        let node = self.part(node, g::common_func_opt_item).unwrap_or(node);
        let (shape, children) = self.parts(node);
        let last = children[children.len() - 1];
        let option = match shape {
            [g::AS, _] => {
                let strings = self.children(last).iter().filter(|part| self.tree.symbol(**part) == g::Sconst);
                O::As(strings.map(|string| self.string(*string)).collect())
            }
            [g::LANGUAGE, _] => O::Language(self.word(self.tree.first_token(last))),
            [g::TRANSFORM, _] => O::Transform(self.type_names(last)?),
            [g::WINDOW] => O::Window,
            [g::CALLED, ..] => O::Strict(false),
            [g::RETURNS, ..] | [g::STRICT_P] => O::Strict(true),
            [g::IMMUTABLE] => O::Immutable,
            [g::STABLE] => O::Stable,
            [g::VOLATILE] => O::Volatile,
            [.., g::DEFINER] => O::SecurityDefiner(true),
            [.., g::INVOKER] => O::SecurityDefiner(false),
            [g::LEAKPROOF] => O::Leakproof(true),
            [g::NOT, _] => O::Leakproof(false),
            [g::COST, _] => O::Cost(self.number(last)),
            [g::ROWS, _] => O::Rows(self.number(last)),
            [g::SUPPORT, _] => O::Support(self.any_name(last)),
            [g::PARALLEL, _] => O::Parallel(self.name(last)),
            [g::FunctionSetResetClause] => {
                let inner = self.children(last);
                let setting = match self.tree.symbol(inner[0]) {
                    g::VariableResetStmt => self.children(inner[0])[1],
                    _ => inner[1],
                };
                O::Set(self.setting(setting)?)
            }
            _ => return Err(self.unexpected(node)),
        };
        Ok(RoutineOption { node: option, at })
    }

    /// `ReturnStmt` or another statement of a body.
    fn body_statement(&mut self, node: Node) -> BodyStatement {
        match (self.tree.symbol(node), self.children(node)) {
            (g::ReturnStmt, &[_, value]) => BodyStatement::Return(self.expr(value)),
            _ => BodyStatement::Statement(self.statement(node)),
        }
    }

    /// The body in SQL, if there is one.
    fn routine_body(&mut self, node: Node) -> Lowered<Option<RoutineBody>> {
        let Some(body) = self.filled(node, g::opt_routine_body) else { return Ok(None) };
        Ok(Some(match *self.children(body) {
            [statement] => match self.body_statement(statement) {
                BodyStatement::Return(value) => RoutineBody::Return(value),
                BodyStatement::Statement(_) => return Err(self.unexpected(body)),
            },
            [_, _, list, _] => {
                let mut statements = Vec::new();
                for step in self.chain(list) {
                    if let Some(statement) = self.part(step, g::routine_body_stmt) {
                        let statement = self.body_statement(self.children(statement)[0]);
                        statements.push(statement);
                    }
                }
                RoutineBody::Block(statements)
            }
            _ => return Err(self.unexpected(body)),
        }))
    }
}
