//! Full text search of documents in JSON: of the texts in them, or of whatever a filter names; and their headlines.

use super::json::conversion::append_string;
use super::json::parts::{JsonContent, JsonPart, parts};
use super::searches_of_texts::{excerpt, headline_options, named, usual};
use crate::call::{CallArguments, FunctionResult, Implementation};
use text_search::{HeadlineOptions, SearchConfiguration, SearchQuery};
use values::error::sqlstate;
use values::{Jsonb, Value, ValueError};

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("json_string_to_tsvector", |call| vector_of_json(usual(call)?, call.json(0), JsonFilter::TEXTS)),
    ("json_string_to_tsvector_byid", |call| vector_of_json(named(call)?, call.json(1), JsonFilter::TEXTS)),
    ("json_to_tsvector", |call| vector_of_json(usual(call)?, call.json(0), JsonFilter::of(call.jsonb(1))?)),
    ("json_to_tsvector_byid", |call| vector_of_json(named(call)?, call.json(1), JsonFilter::of(call.jsonb(2))?)),
    ("jsonb_string_to_tsvector", |call| vector_of_jsonb(usual(call)?, call.jsonb(0), JsonFilter::TEXTS)),
    ("jsonb_string_to_tsvector_byid", |call| vector_of_jsonb(named(call)?, call.jsonb(1), JsonFilter::TEXTS)),
    ("jsonb_to_tsvector", |call| vector_of_jsonb(usual(call)?, call.jsonb(0), JsonFilter::of(call.jsonb(1))?)),
    ("jsonb_to_tsvector_byid", |call| vector_of_jsonb(named(call)?, call.jsonb(1), JsonFilter::of(call.jsonb(2))?)),
    ("ts_headline_json", |call| JsonHeadline::new(call, usual(call)?, 0)?.of_json(call.json(0))),
    ("ts_headline_json_opt", |call| JsonHeadline::new(call, usual(call)?, 0)?.of_json(call.json(0))),
    ("ts_headline_json_byid", |call| JsonHeadline::new(call, named(call)?, 1)?.of_json(call.json(1))),
    ("ts_headline_json_byid_opt", |call| JsonHeadline::new(call, named(call)?, 1)?.of_json(call.json(1))),
    ("ts_headline_jsonb", |call| JsonHeadline::new(call, usual(call)?, 0)?.of_jsonb(call.jsonb(0))),
    ("ts_headline_jsonb_opt", |call| JsonHeadline::new(call, usual(call)?, 0)?.of_jsonb(call.jsonb(0))),
    ("ts_headline_jsonb_byid", |call| JsonHeadline::new(call, named(call)?, 1)?.of_jsonb(call.jsonb(1))),
    ("ts_headline_jsonb_byid_opt", |call| JsonHeadline::new(call, named(call)?, 1)?.of_jsonb(call.jsonb(1))),
];

/// What of a document counts.
#[derive(Clone, Copy)]
struct JsonFilter {
    texts: bool,
    numbers: bool,
    truths: bool,
    keys: bool,
}

impl JsonFilter {
    const TEXTS: Self = Self { texts: true, numbers: false, truths: false, keys: false };

    /// Errors: 22023 for what is none, XX000 for a list in a list, as PostgreSQL.
    fn of(named: &Jsonb) -> Result<Self, ValueError> {
        let wrong = |message: String| ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, message);
        let names = match named {
            Jsonb::Object(_) => return Err(wrong("wrong flag type, only arrays and scalars are allowed".to_owned())),
            Jsonb::Array(names) => names.as_slice(),
            name => std::slice::from_ref(name),
        };
        let mut found = Self { texts: false, ..Self::TEXTS };
        for name in names {
            let name = match name {
                Jsonb::String(name) => name,
                Jsonb::Array(_) | Jsonb::Object(_) => {
                    return Err(ValueError::new(sqlstate::INTERNAL_ERROR, "unexpected end of flag array"));
                }
                _ => return Err(wrong("flag array element is not a string".to_owned())),
            };
            match name.to_ascii_lowercase().as_str() {
                "all" => found = Self { texts: true, numbers: true, truths: true, keys: true },
                "key" => found.keys = true,
                "string" => found.texts = true,
                "numeric" => found.numbers = true,
                "boolean" => found.truths = true,
                _ => return Err(wrong(format!("wrong flag in flag array: \"{name}\""))),
            }
        }
        Ok(found)
    }
}

fn vector(configuration: SearchConfiguration, texts: &[String]) -> FunctionResult {
    let found = configuration.vector_of_texts(texts.iter().map(String::as_str));
    found.map(Value::ts_vector).map_err(ValueError::of_search)
}

fn vector_of_json(configuration: SearchConfiguration, json: &str, filter: JsonFilter) -> FunctionResult {
    let mut texts = Vec::new();
    collect_parts(json, &parts(json)?, filter, &mut texts);
    vector(configuration, &texts)
}

/// What counts, in the order of the text.
fn collect_parts(text: &str, part: &JsonPart, filter: JsonFilter, out: &mut Vec<String>) {
    let written = || text[part.place.clone()].to_owned();
    match &part.content {
        JsonContent::String(string) if filter.texts => out.push(string.to_string()),
        JsonContent::Number if filter.numbers => out.push(written()),
        JsonContent::Boolean if filter.truths => out.push(written()),
        JsonContent::Array(elements) => elements.iter().for_each(|part| collect_parts(text, part, filter, out)),
        JsonContent::Object(pairs) => {
            for (key, part) in pairs {
                if filter.keys {
                    out.push(key.to_string());
                }
                collect_parts(text, part, filter, out);
            }
        }
        _ => {}
    }
}

fn vector_of_jsonb(configuration: SearchConfiguration, json: &Jsonb, filter: JsonFilter) -> FunctionResult {
    let mut texts = Vec::new();
    collect_tree(json, filter, &mut texts);
    vector(configuration, &texts)
}

fn collect_tree(json: &Jsonb, filter: JsonFilter, out: &mut Vec<String>) {
    match json {
        Jsonb::String(string) if filter.texts => out.push(string.to_string()),
        Jsonb::Number(_) if filter.numbers => out.push(values::json::write::to_string(json)),
        Jsonb::Boolean(truth) if filter.truths => out.push(truth.to_string()),
        Jsonb::Array(elements) => elements.iter().for_each(|element| collect_tree(element, filter, out)),
        Jsonb::Object(object) => {
            for (key, value) in object.iter() {
                if filter.keys {
                    out.push(key.to_owned());
                }
                collect_tree(value, filter, out);
            }
        }
        _ => {}
    }
}

/// What makes headlines of the texts of a document.
struct JsonHeadline<'a> {
    configuration: SearchConfiguration,
    wanted: &'a SearchQuery,
    options: HeadlineOptions,
}

impl<'a> JsonHeadline<'a> {
    /// `first`: the place of the document among the arguments. Errors: those of options.
    fn new(call: &CallArguments<'a, '_>, configuration: SearchConfiguration, first: usize) -> Result<Self, ValueError> {
        Ok(Self { configuration, wanted: call.ts_query(first + 1), options: headline_options(call, first + 2)? })
    }

    fn of_text(&self, text: &str) -> Result<String, ValueError> {
        excerpt(self.configuration, text, self.wanted, &self.options)
    }

    fn of_json(&self, text: &str) -> FunctionResult {
        let mut out = String::with_capacity(text.len());
        self.write(text, &parts(text)?, &mut out)?;
        Ok(Value::Json(out.into()))
    }

    fn write(&self, text: &str, part: &JsonPart, out: &mut String) -> Result<(), ValueError> {
        match &part.content {
            JsonContent::String(string) => append_string(&self.of_text(string)?, out),
            JsonContent::Array(elements) => {
                out.push('[');
                for (place, element) in elements.iter().enumerate() {
                    out.push_str(if place > 0 { "," } else { "" });
                    self.write(text, element, out)?;
                }
                out.push(']');
            }
            JsonContent::Object(pairs) => {
                out.push('{');
                for (place, (key, value)) in pairs.iter().enumerate() {
                    out.push_str(if place > 0 { "," } else { "" });
                    append_string(key, out);
                    out.push(':');
                    self.write(text, value, out)?;
                }
                out.push('}');
            }
            _ => out.push_str(&text[part.place.clone()]),
        }
        Ok(())
    }

    fn of_jsonb(&self, json: &Jsonb) -> FunctionResult {
        Value::jsonb(self.changed(json)?)
    }

    fn changed(&self, json: &Jsonb) -> Result<Jsonb, ValueError> {
        Ok(match json {
            Jsonb::String(string) => Jsonb::string(self.of_text(string)?),
            Jsonb::Array(elements) => {
                Jsonb::Array(elements.iter().map(|element| self.changed(element)).collect::<Result<_, _>>()?)
            }
            Jsonb::Object(object) => {
                let mut changed = object.clone();
                for (key, value) in object.iter() {
                    changed.insert(key, self.changed(value)?);
                }
                Jsonb::Object(changed)
            }
            other => other.clone(),
        })
    }
}
