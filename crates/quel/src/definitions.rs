//! `create`, `index`, `destroy`, `print`, `help`: types, and SQL of what needs no range.

use crate::error::{QuelError, QuelResult, sqlstate};
use crate::lexer::QuelTokenKind;
use crate::parser::QuelParser;
use crate::sql_text::SqlText;
use crate::syntax::{NewColumn, NewIndex, NewRelation, QuelName, QuelStatement};

impl QuelParser<'_> {
    /// Behind `create`.
    pub(crate) fn create(&mut self) -> QuelResult<QuelStatement> {
        let relation = self.name()?;
        self.expect("(")?;
        let columns = self.list(Self::new_column)?;
        self.expect(")")?;
        Ok(QuelStatement::Create(NewRelation { relation, columns }))
    }

    fn new_column(&mut self) -> QuelResult<NewColumn> {
        let name = self.result_name()?;
        self.expect("=")?;
        let spelled = self.result_name()?;
        let mut sizes = Vec::new();
        if self.skip("(")? {
            loop {
                match &self.next.kind {
                    QuelTokenKind::Number(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                        sizes.push(digits.clone());
                    }
                    _ => return Err(self.unexpected()),
                }
                self.advance()?;
                if !self.skip(",")? {
                    break;
                }
            }
            self.expect(")")?;
        }
        let data_type = data_type(&spelled.text, &sizes).ok_or_else(|| {
            let message = format!("type \"{}\" does not exist", spelled.text);
            QuelError::new(sqlstate::UNDEFINED_OBJECT, message, spelled.at)
        })?;
        let not_null = self.skip_word("not")?;
        if !not_null && self.word() == Some("with") {
            self.advance()?;
            if !self.skip_word("null")? {
                return Err(self.unexpected());
            }
        } else if not_null && !self.skip_word("null")? {
            return Err(self.unexpected());
        }
        Ok(NewColumn { name, data_type, not_null })
    }
}

/// SQL's name of a type.
fn data_type(name: &str, sizes: &[String]) -> Option<String> {
    let plain = match name {
        "i1" | "i2" | "integer1" | "integer2" | "smallint" => "int2",
        "i4" | "integer" | "integer4" => "int4",
        "i8" | "integer8" | "bigint" => "int8",
        "f4" | "float4" => "float4",
        "f8" | "float" | "float8" => "float8",
        "date" => "date",
        "money" => "numeric(14,2)",
        _ => "",
    };
    match (plain, sizes) {
        ("", [size]) if matches!(name, "c" | "char" | "vchar" | "varchar" | "text") => Some(format!("varchar({size})")),
        ("", []) if name == "text" => Some("text".to_owned()),
        ("", []) => {
            let size = name
                .strip_prefix('c')
                .filter(|size| !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit()))?;
            Some(format!("varchar({size})"))
        }
        ("", [digits, scale]) if name == "decimal" => Some(format!("numeric({digits},{scale})")),
        ("", _) => None,
        (_, []) => Some(plain.to_owned()),
        _ => None,
    }
}

/// `CREATE TABLE`.
pub(crate) fn created(create: &NewRelation) -> SqlText {
    let mut sql = SqlText::of("CREATE TABLE ");
    sql.name_at(&create.relation.text, create.relation.at);
    for (place, column) in create.columns.iter().enumerate() {
        sql.push(if place == 0 { " (" } else { ", " });
        sql.name_at(&column.name.text, column.name.at);
        sql.push(" ");
        sql.push(&column.data_type);
        if column.not_null {
            sql.push(" NOT NULL");
        }
    }
    sql.push(")");
    sql
}

/// `CREATE INDEX`.
pub(crate) fn indexed(index: &NewIndex) -> SqlText {
    let mut sql = SqlText::of(if index.unique { "CREATE UNIQUE INDEX " } else { "CREATE INDEX " });
    sql.name_at(&index.name.text, index.name.at);
    sql.push(" ON ");
    sql.name_at(&index.relation.text, index.relation.at);
    for (place, column) in index.columns.iter().enumerate() {
        sql.push(if place == 0 { " (" } else { ", " });
        sql.name_at(&column.text, column.at);
    }
    sql.push(")");
    sql
}

/// `DROP TABLE`.
pub(crate) fn destroyed(names: &[QuelName]) -> SqlText {
    let mut sql = SqlText::of("DROP TABLE ");
    for (place, name) in names.iter().enumerate() {
        sql.push(if place == 0 { "" } else { ", " });
        sql.name_at(&name.text, name.at);
    }
    sql
}

/// All rows of a relation.
pub(crate) fn printed(name: &QuelName) -> SqlText {
    let mut sql = SqlText::of("SELECT * FROM ");
    sql.name_at(&name.text, name.at);
    sql
}

/// The relations, or the columns of one.
pub(crate) fn helped(name: Option<&QuelName>) -> SqlText {
    let Some(name) = name else {
        return SqlText::of(
            "SELECT table_name AS \"relation\", table_type AS \"kind\" FROM information_schema.tables \
             WHERE table_schema = ANY (current_schemas(false)) ORDER BY 1",
        );
    };
    let mut sql = SqlText::of(
        "SELECT a.attname AS \"column\", format_type(a.atttypid, a.atttypmod) AS \"type\", \
         CASE WHEN a.attnotnull THEN 'not null' ELSE '' END AS \"null\" FROM pg_catalog.pg_attribute a WHERE a.attrelid = ",
    );
    let mut quoted = SqlText::of("");
    quoted.name_at(&name.text, name.at);
    sql.literal_at(quoted.text(), name.at);
    sql.push("::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum");
    sql
}
