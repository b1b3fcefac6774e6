//! Expressions over a table's rows as SQL, in the words of PostgreSQL's `ruleutils.c`.
//!
//! Invariant: the text, read over the same table, means the same expression. It names columns as they are called now.

use crate::program::{BinaryOperator, Expression, UnaryOperator};
use crate::schema::{IndexKeyPart, IndexSchema, RowExpression, TableSchema};
use values::{Type, Value, text};

/// Words that PostgreSQL's grammar takes for something else than a name, in order.
#[rustfmt::skip]
const KEYWORDS: [&str; 151] = [
    "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric", "authorization", "between",
    "bigint", "binary", "bit", "boolean", "both", "case", "cast", "char", "character", "check", "coalesce", "collate",
    "collation", "column", "concurrently", "constraint", "create", "cross", "current_catalog", "current_date",
    "current_role", "current_schema", "current_time", "current_timestamp", "current_user", "dec", "decimal", "default",
    "deferrable", "desc", "distinct", "do", "else", "end", "except", "exists", "extract", "false", "fetch", "float",
    "for", "foreign", "freeze", "from", "full", "grant", "greatest", "group", "grouping", "having", "ilike", "in",
    "initially", "inner", "inout", "int", "integer", "intersect", "interval", "into", "is", "isnull", "join",
    "lateral", "leading", "least", "left", "like", "limit", "localtime", "localtimestamp", "national", "natural",
    "nchar", "none", "normalize", "not", "notnull", "null", "nullif", "numeric", "offset", "on", "only", "or", "order",
    "out", "outer", "overlaps", "overlay", "placing", "position", "precision", "primary", "real", "references",
    "returning", "right", "row", "select", "session_user", "setof", "similar", "smallint", "some", "substring",
    "symmetric", "table", "tablesample", "then", "time", "timestamp", "to", "trailing", "treat", "trim", "true",
    "union", "unique", "user", "using", "values", "varchar", "variadic", "verbose", "when", "where", "window", "with",
    "xmlattributes", "xmlconcat", "xmlelement", "xmlexists", "xmlforest", "xmlnamespaces", "xmlparse", "xmlpi",
    "xmlroot", "xmlserialize", "xmltable",
];

/// A name as SQL writes it.
pub fn quoted(name: &str) -> String {
    let plain = name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_');
    match plain && KEYWORDS.binary_search(&name).is_err() {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

impl RowExpression {
    /// As `pg_get_expr` prints it.
    pub fn sql(&self, table: &TableSchema, style: SqlStyle) -> String {
        Printer { table, style }.show(&self.expression)
    }

    /// What a column is called that shows it.
    pub fn column_name(&self, table: &TableSchema) -> String {
        column_name(&self.expression, table).0
    }

    /// Whether it stands in an index without parentheses.
    fn looks_like_call(&self) -> bool {
        matches!(self.expression, Expression::Call(..) | Expression::Coalesce(_))
    }
}

/// How many parentheses are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlStyle {
    /// All.
    Complete,
    /// Those that are needed.
    Pretty,
    /// All, and no cast that was not asked for: read again, it is the same expression where the columns' types are the same.
    Source,
}

impl IndexSchema {
    /// The key at this place as `pg_get_indexdef` prints it, without what is said of it.
    pub fn key_sql(&self, table: &TableSchema, place: usize, style: SqlStyle) -> String {
        match &self.keys[place].part {
            IndexKeyPart::Column(column) => quoted(&table.columns[*column].name),
            IndexKeyPart::Expression(own) if own.looks_like_call() => own.sql(table, style),
            IndexKeyPart::Expression(own) => format!("({})", own.sql(table, style)),
        }
    }

    /// The keys, and what is said of each: what stands in the parentheses of CREATE INDEX.
    pub fn keys_sql(&self, table: &TableSchema, style: SqlStyle) -> String {
        let keys = (0..self.keys.len()).map(|place| {
            let key = &self.keys[place];
            let mut text = self.key_sql(table, place, style);
            for (word, name) in [(" COLLATE ", &key.collation), (" ", &key.operator_class)] {
                if let Some(name) = name {
                    text += &format!("{word}{}", quoted(name));
                }
            }
            text += match (key.descending, key.nulls_first) {
                (false, false) => "",
                (false, true) => " NULLS FIRST",
                (true, true) => " DESC",
                (true, false) => " DESC NULLS LAST",
            };
            text
        });
        keys.collect::<Vec<_>>().join(", ")
    }

    /// What its columns are called: those of its keys, then those that are included. No two have the same name.
    pub fn column_names(&self, table: &TableSchema) -> Vec<String> {
        let of_keys = self.keys.iter().map(|key| match &key.part {
            IndexKeyPart::Column(column) => table.columns[*column].name.clone(),
            IndexKeyPart::Expression(own) => own.column_name(table),
        });
        let included = self.included.iter().map(|column| table.columns[*column].name.clone());
        let mut names: Vec<String> = Vec::new();
        for name in of_keys.chain(included) {
            let numbered = (1..).map(|number| format!("{name}{number}"));
            let free = std::iter::once(name.clone()).chain(numbered).find(|name| !names.contains(name));
            names.extend(free);
        }
        names
    }
}

/// What a column is called that shows an expression, and how sure that is (`FigureColname`).
fn column_name(expression: &Expression, table: &TableSchema) -> (String, u8) {
    let known = |name: &str| (name.to_owned(), 2);
    match expression {
        Expression::Column(column) => match table.columns.get(usize::from(*column)) {
            Some(column) => known(&column.name),
            None => ("expr".to_owned(), 0),
        },
        Expression::Call(name, _) => known(name),
        Expression::Coalesce(_) => known("coalesce"),
        Expression::Array(..) => known("array"),
        Expression::Case(_, otherwise) => {
            let inner = otherwise.as_ref().map(|otherwise| column_name(otherwise, table));
            inner.filter(|(_, sure)| *sure > 0).unwrap_or_else(|| ("case".to_owned(), 1))
        }
        Expression::Cast(operand, target, true) => match column_name(operand, table) {
            (_, 0 | 1) => (target.catalog_name().to_owned(), 1),
            sure => sure,
        },
        Expression::Cast(operand, _, false) => column_name(operand, table),
        Expression::Constant(Value::Boolean(_)) => ("bool".to_owned(), 1),
        _ => ("expr".to_owned(), 0),
    }
}

/// What an expression stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PrintedWithin {
    And,
    Or,
    Not,
    /// A list, which separates.
    List,
    /// An operator, a cast, a test.
    Operator,
}

struct Printer<'a> {
    table: &'a TableSchema,
    style: SqlStyle,
}

impl Printer<'_> {
    fn type_of(&self, expression: &Expression) -> Option<Type> {
        expression.type_over(&|position| self.table.columns.get(position).map(|column| column.column_type))
    }

    /// An expression with the parentheses that it always has.
    fn show(&self, expression: &Expression) -> String {
        let text = self.bare(expression);
        match self.style != SqlStyle::Pretty && is_composed(expression) {
            true => format!("({text})"),
            false => text,
        }
    }

    /// A part of an expression.
    fn part(&self, expression: &Expression, around: PrintedWithin) -> String {
        let text = self.show(expression);
        let needs = match (expression, around) {
            (_, PrintedWithin::List) => false,
            (Expression::And(_), PrintedWithin::And | PrintedWithin::Or) | (Expression::Or(_), PrintedWithin::Or) => {
                false
            }
            (Expression::Unary(UnaryOperator::Not, _), PrintedWithin::And | PrintedWithin::Or) => false,
            (Expression::And(_) | Expression::Or(_), _) => true,
            (_, PrintedWithin::And | PrintedWithin::Or | PrintedWithin::Not) => false,
            _ => true,
        };
        match self.style == SqlStyle::Pretty && needs && is_composed(expression) {
            true => format!("({text})"),
            false => text,
        }
    }

    fn bare(&self, expression: &Expression) -> String {
        let not = |negated: bool| if negated { "NOT " } else { "" };
        match expression {
            Expression::Constant(value) => self.constant(value, value.data_type()),
            // A condition of a domain.
            Expression::Column(_) if self.table.name.is_empty() => "VALUE".to_owned(),
            Expression::Column(position) => match self.table.columns.get(usize::from(*position)) {
                Some(column) => quoted(&column.name),
                None => "?".to_owned(),
            },
            Expression::Parameter(number) => format!("${}", u32::from(*number) + 1),
            Expression::TransactionTime => "now()".to_owned(),
            Expression::Unary(UnaryOperator::Not, operand) => format!("NOT {}", self.part(operand, PrintedWithin::Not)),
            Expression::Unary(UnaryOperator::Minus, operand) => {
                format!("- {}", self.part(operand, PrintedWithin::Operator))
            }
            Expression::Binary(operator, left, right) => self.binary(*operator, left, right),
            Expression::And(list) => self.connected(list, PrintedWithin::And, " AND "),
            Expression::Or(list) => self.connected(list, PrintedWithin::Or, " OR "),
            Expression::IsNull(operand, negated) => {
                format!("{} IS {}NULL", self.part(operand, PrintedWithin::Operator), not(*negated))
            }
            Expression::IsDistinct(left, right, negated) => self.distinct(left, right, *negated),
            Expression::In(operand, list, negated) => self.in_list(operand, list, *negated),
            Expression::Any(operator, operand, array) => {
                let symbol = operator.of_values().symbol();
                format!("{} {symbol} ANY ({})", self.part(operand, PrintedWithin::Operator), self.show(array))
            }
            Expression::Array(element, list) => {
                let parts = list.iter().map(|one| self.typed(one, *element, PrintedWithin::List));
                format!("ARRAY[{}]", parts.collect::<Vec<_>>().join(", "))
            }
            Expression::Like(operand, pattern, ignore_case, negated) => {
                let symbol = match (ignore_case, negated) {
                    (false, false) => "~~",
                    (false, true) => "!~~",
                    (true, false) => "~~*",
                    (true, true) => "!~~*",
                };
                let side = |side| self.typed(side, Type::Text, PrintedWithin::Operator);
                format!("{} {symbol} {}", side(operand), side(pattern))
            }
            Expression::Case(branches, otherwise) => self.case(expression, branches, otherwise.as_deref()),
            Expression::Coalesce(list) => format!("COALESCE({})", self.list(list)),
            Expression::Cast(operand, _, false) if self.style == SqlStyle::Source => self.show(operand),
            Expression::Cast(operand, target, _) => self.cast(operand, *target),
            Expression::Domain(operand, rules) => {
                format!("{}::{}", self.part(operand, PrintedWithin::Operator), rules.name)
            }
            Expression::Call(name, arguments) => self.call(name, arguments),
            Expression::NextValue(sequence) => format!("nextval('{}'::regclass)", sequence.name),
            Expression::CurrentValue(_, name) => format!("currval('{name}'::regclass)"),
            Expression::LastValue => "lastval()".to_owned(),
            Expression::Gathered(place, _) => format!("gathered({place})"),
        }
    }

    fn list(&self, list: &[Expression]) -> String {
        list.iter().map(|one| self.part(one, PrintedWithin::List)).collect::<Vec<_>>().join(", ")
    }

    fn connected(&self, list: &[Expression], around: PrintedWithin, word: &str) -> String {
        list.iter().map(|one| self.part(one, around)).collect::<Vec<_>>().join(word)
    }

    /// A part as a value of this type: with a cast, if that is another than its own.
    fn typed(&self, expression: &Expression, target: Type, around: PrintedWithin) -> String {
        match (expression, self.type_of(expression)) {
            _ if self.style == SqlStyle::Source => self.part(expression, around),
            (Expression::Constant(value), Some(own)) if own.is_string() && target.is_string() => {
                self.constant(value, Some(target))
            }
            (_, Some(own)) if own.unmodified() != target.unmodified() => self.cast(expression, target),
            _ => self.part(expression, around),
        }
    }

    fn cast(&self, operand: &Expression, target: Type) -> String {
        if matches!(operand, Expression::Constant(Value::Null)) {
            return format!("NULL::{target}");
        }
        match self.style {
            SqlStyle::Complete | SqlStyle::Source if is_composed(operand) => {
                format!("{}::{target}", self.show(operand))
            }
            SqlStyle::Complete | SqlStyle::Source => format!("({})::{target}", self.show(operand)),
            SqlStyle::Pretty => format!("{}::{target}", self.part(operand, PrintedWithin::Operator)),
        }
    }

    fn constant(&self, value: &Value, shown: Option<Type>) -> String {
        let Some(own) = value.data_type() else { return "NULL".to_owned() };
        let shown = shown.unwrap_or(own);
        let printed = text::to_string(value).unwrap_or_default();
        let is_plain = match value {
            Value::Boolean(truth) => return truth.to_string(),
            Value::Text(_) if self.style == SqlStyle::Source => return format!("'{}'", printed.replace('\'', "''")),
            Value::Integer(_) => true,
            Value::Numeric(_) => printed.contains('.'),
            // Written as an integer, most likely, and cast to stand beside a double.
            Value::Double(_) if shown == Type::Double && printed.parse::<u32>().is_ok_and(|whole| whole < 1 << 31) => {
                return match self.style {
                    SqlStyle::Complete | SqlStyle::Source => format!("({printed})::{shown}"),
                    SqlStyle::Pretty => format!("{printed}::{shown}"),
                };
            }
            _ => false,
        };
        match is_plain && !printed.starts_with('-') {
            true => printed,
            false => format!("'{}'::{}", printed.replace('\'', "''"), shown.unmodified()),
        }
    }

    fn binary(&self, operator: BinaryOperator, left: &Expression, right: &Expression) -> String {
        let symbol = operator.of_values().symbol();
        let (one, other) = (self.type_of(left), self.type_of(right));
        let common = match (one, other) {
            (Some(one), Some(other)) => common_operand(operator, (left, one), (right, other)),
            _ => None,
        };
        let side = |side| match common {
            Some(target) => self.typed(side, target, PrintedWithin::Operator),
            None => self.part(side, PrintedWithin::Operator),
        };
        format!("{} {symbol} {}", side(left), side(right))
    }

    /// IS TRUE and its like, too, are kept as tests of distinctness.
    fn distinct(&self, left: &Expression, right: &Expression, negated: bool) -> String {
        let operand = self.part(left, PrintedWithin::Operator);
        let not = if negated { "" } else { "NOT " };
        match right {
            Expression::Constant(Value::Boolean(true)) => return format!("{operand} IS {not}TRUE"),
            Expression::Constant(Value::Boolean(false)) => return format!("{operand} IS {not}FALSE"),
            Expression::Constant(Value::Null) => return format!("{operand} IS {not}UNKNOWN"),
            _ => {}
        }
        let text = format!("{operand} IS DISTINCT FROM {}", self.part(right, PrintedWithin::Operator));
        match (negated, self.style) {
            (false, _) => text,
            (true, SqlStyle::Complete) => format!("NOT ({text})"),
            (true, SqlStyle::Pretty) => format!("NOT {text}"),
            (true, SqlStyle::Source) => {
                format!("{operand} IS NOT DISTINCT FROM {}", self.part(right, PrintedWithin::Operator))
            }
        }
    }

    fn in_list(&self, operand: &Expression, list: &[Expression], negated: bool) -> String {
        let own = self.type_of(operand);
        if self.style == SqlStyle::Source {
            let not = if negated { "NOT " } else { "" };
            return format!("{} {not}IN ({})", self.part(operand, PrintedWithin::Operator), self.list(list));
        }
        if let [only] = list {
            let operator = if negated { BinaryOperator::NotEqual } else { BinaryOperator::Equal };
            return self.binary(operator, operand, only);
        }
        let element = |one: &Expression| match own {
            Some(own) if own.is_string() => self.typed(one, own.unmodified(), PrintedWithin::List),
            _ => self.part(one, PrintedWithin::List),
        };
        let array = format!("ARRAY[{}]", list.iter().map(element).collect::<Vec<_>>().join(", "));
        let (operand, array) = match own {
            Some(Type::Varchar(_)) if self.style == SqlStyle::Complete => {
                (self.cast(operand, Type::Text), format!("({array})::text[]"))
            }
            Some(Type::Varchar(_)) => (self.cast(operand, Type::Text), format!("{array}::text[]")),
            _ => (self.part(operand, PrintedWithin::Operator), array),
        };
        match negated {
            false => format!("{operand} = ANY ({array})"),
            true => format!("{operand} <> ALL ({array})"),
        }
    }

    fn case(
        &self,
        whole: &Expression,
        branches: &[(Expression, Expression)],
        otherwise: Option<&Expression>,
    ) -> String {
        let mut text = "\nCASE".to_owned();
        for (condition, result) in branches {
            text += &format!(
                "\n    WHEN {} THEN {}",
                self.part(condition, PrintedWithin::List),
                self.part(result, PrintedWithin::List)
            );
        }
        let otherwise = match (otherwise, self.type_of(whole)) {
            (Some(otherwise), _) => self.part(otherwise, PrintedWithin::List),
            (None, _) if self.style == SqlStyle::Source => return text + "\nEND",
            (None, Some(own)) => format!("NULL::{}", own.unmodified()),
            (None, None) => "NULL".to_owned(),
        };
        text + &format!("\n    ELSE {otherwise}\nEND")
    }

    fn call(&self, name: &str, arguments: &[Expression]) -> String {
        // What is no text among strings is said to be one: all functions of strings are of texts.
        let shown: Vec<String> = arguments
            .iter()
            .map(|argument| match self.type_of(argument) {
                Some(own) if own.is_string() && !is_of_any(name) => {
                    self.typed(argument, Type::Text, PrintedWithin::List)
                }
                Some(own) if matches!(name, "power" | "pow" | "sqrt") && own != Type::Double => {
                    self.typed(argument, Type::Double, PrintedWithin::List)
                }
                _ => self.part(argument, PrintedWithin::List),
            })
            .collect();
        let field = match arguments {
            [Expression::Constant(Value::Text(field)), ..] => Some(field.to_string()),
            _ => None,
        };
        let of_search = matches!(arguments, [_, _]).then(|| search_argument(name)).flatten();
        if let Some((place, type_name)) = of_search
            && let Expression::Constant(Value::Text(text)) = &arguments[place]
        {
            let mut shown = shown;
            shown[place] = format!("'{}'::{type_name}", text.replace('\'', "''"));
            return format!("{name}({})", shown.join(", "));
        }
        match (name, shown.as_slice(), field) {
            ("substring", [text, from], _) => format!("SUBSTRING({text} FROM {from})"),
            ("substring", [text, from, length], _) => format!("SUBSTRING({text} FROM {from} FOR {length})"),
            ("extract", [_, source], Some(field)) => format!("EXTRACT({field} FROM {source})"),
            ("position", [part, text], _) => format!("\"position\"({part}, {text})"),
            ("nullif" | "greatest" | "least", all, _) => {
                format!("{}({})", name.to_ascii_uppercase(), all.join(", "))
            }
            (_, all, _) => format!("{}({})", quoted(name), all.join(", ")),
        }
    }
}

/// Whether it has parentheses of its own.
fn is_composed(expression: &Expression) -> bool {
    matches!(
        expression,
        Expression::Unary(..)
            | Expression::Binary(..)
            | Expression::And(_)
            | Expression::Or(_)
            | Expression::IsNull(..)
            | Expression::IsDistinct(..)
            | Expression::In(..)
            | Expression::Any(..)
            | Expression::Like(..)
    )
}

/// The argument of a function of full text search that is a text here and of another type in SQL, and that type.
fn search_argument(name: &str) -> Option<(usize, &'static str)> {
    match name {
        "to_tsvector" | "to_tsquery" | "plainto_tsquery" | "phraseto_tsquery" | "websearch_to_tsquery" => {
            Some((0, "regconfig"))
        }
        "setweight" => Some((1, "\"char\"")),
        _ => None,
    }
}

/// Functions of arguments of any type.
fn is_of_any(name: &str) -> bool {
    matches!(name, "nullif" | "greatest" | "least" | "concat" | "concat_ws")
}

/// The type that both sides have where PostgreSQL's operator has one type only; `None`: as they are.
fn common_operand(operator: BinaryOperator, left: (&Expression, Type), right: (&Expression, Type)) -> Option<Type> {
    let (one, other) = (left.1, right.1);
    let is_char = |side: (&Expression, Type)| {
        matches!(side.1, Type::Char(_)) || matches!(side.0, Expression::Constant(Value::Text(_)))
    };
    let is_float = |own: Type| matches!(own, Type::Real | Type::Double);
    if operator == BinaryOperator::Power {
        return Some(Type::Double);
    }
    if one.is_string() && other.is_string() {
        let chars = is_char(left) && is_char(right) && [one, other].iter().any(|own| matches!(own, Type::Char(_)));
        return Some(if chars && operator != BinaryOperator::Concat { Type::Char(0) } else { Type::Text });
    }
    if one.is_whole() && other.is_whole() || one.unmodified() == other.unmodified() {
        return None;
    }
    if one.is_number() && other.is_number() {
        return match (is_float(one), is_float(other)) {
            (true, true) => None,
            (false, false) => Some(Type::Numeric(None)),
            _ => Some(Type::Double),
        };
    }
    None
}
