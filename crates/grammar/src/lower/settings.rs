//! SET, RESET, SHOW, and options in lists.

use super::{Lower, Lowered};
use crate::ast::{DefinitionOption, Name, OptionValue, Set, SetValue, Setting, Show, Statement};
use crate::parse::Node;
use crate::tables::symbols as g;

impl Lower<'_, '_> {
    pub(super) fn set(&mut self, node: Node) -> Lowered<Statement> {
        let local = self.has(node, g::LOCAL);
        let last = *self.children(node).last().ok_or_else(|| self.unexpected(node))?;
        let setting = self.setting(last)?;
        Ok(Statement::Set(Set { local, setting }))
    }

    /// `set_rest`, `set_rest_more`, `reset_rest`.
    pub(super) fn setting(&mut self, node: Node) -> Lowered<Setting> {
        let (shape, children) = self.parts(node);
        let named = |name: &str, lower: &Self| Name { text: name.to_string(), at: lower.at(node) };
        let string = |lower: &Self, node: Node| vec![SetValue::String(lower.string(node))];
        Ok(match (shape, children) {
            ([g::set_rest_more], &[rest]) => self.setting(rest)?,
            ([g::generic_set], &[set]) => self.generic_set(set),
            ([g::generic_reset], &[reset]) => match self.part(reset, g::var_name) {
                Some(name) => Setting::Default(self.setting_name(name)),
                None => Setting::AllDefault,
            },
            ([g::TRANSACTION, g::transaction_mode_list], &[_, modes]) => Setting::Transaction(self.modes(modes)?),
            ([g::TRANSACTION, g::SNAPSHOT, _], &[_, _, name]) => Setting::Snapshot(self.string(name)),
            ([g::SESSION, g::CHARACTERISTICS, ..], &[_, _, _, _, modes]) => {
                Setting::SessionCharacteristics(self.modes(modes)?)
            }
            ([g::var_name, g::FROM, _], &[name, ..]) => Setting::Current(self.setting_name(name)),
            ([g::TIME, _, g::zone_value], &[_, _, value]) => match self.zone(value)? {
                Some(value) => Setting::To { name: named("timezone", self), values: vec![value] },
                None => Setting::Default(named("timezone", self)),
            },
            ([g::TIME, ..], _) => Setting::Default(named("timezone", self)),
            ([g::TRANSACTION, g::ISOLATION, ..], _) => Setting::Default(named("transaction_isolation", self)),
            ([g::SCHEMA, _], &[_, name]) => {
                Setting::To { name: named("search_path", self), values: string(self, name) }
            }
            ([g::NAMES, _], &[_, encoding]) => match self.part(encoding, g::Sconst) {
                Some(name) => Setting::To { name: named("client_encoding", self), values: string(self, name) },
                None => Setting::Default(named("client_encoding", self)),
            },
            ([g::ROLE, _], &[_, role]) => {
                let values = vec![SetValue::String(self.word(self.tree.first_token(role)))];
                Setting::To { name: named("role", self), values }
            }
            ([g::SESSION, g::AUTHORIZATION, g::NonReservedWord_or_Sconst], &[_, _, role]) => {
                let values = vec![SetValue::String(self.word(self.tree.first_token(role)))];
                Setting::To { name: named("session_authorization", self), values }
            }
            ([g::SESSION, ..], _) => Setting::Default(named("session_authorization", self)),
            ([g::XML_P, ..], &[_, _, kind]) => {
                let values = vec![SetValue::String(self.word(self.tree.first_token(kind)))];
                Setting::To { name: named("xmloption", self), values }
            }
            _ => return Err(self.unexpected(node)),
        })
    }

    fn generic_set(&mut self, node: Node) -> Setting {
        let children = self.children(node);
        let name = self.setting_name(children[0]);
        match self.part(node, g::var_list) {
            Some(list) => {
                let values = self.list(list).into_iter().map(|value| self.set_value(value)).collect();
                Setting::To { name, values }
            }
            None => Setting::Default(name),
        }
    }

    /// `var_name`, with its dots.
    pub(super) fn setting_name(&self, node: Node) -> Name {
        let names: Vec<String> = self.list(node).into_iter().map(|name| self.name(name).text).collect();
        Name { text: names.join("."), at: self.at(node) }
    }

    /// `var_value`.
    fn set_value(&self, node: Node) -> SetValue {
        match self.option_value(node) {
            Some(OptionValue::Number(number)) => SetValue::Number(number),
            Some(OptionValue::String(string)) => SetValue::String(string),
            Some(OptionValue::Word(word)) => SetValue::Word(word),
            _ => SetValue::Word(String::new()),
        }
    }

    /// `zone_value`; none is the default.
    fn zone(&mut self, node: Node) -> Lowered<Option<SetValue>> {
        let (shape, children) = self.parts(node);
        Ok(match (shape, children) {
            ([g::Sconst], _) => Some(SetValue::String(self.string(node))),
            ([g::IDENT], _) => Some(SetValue::String(self.word(self.tree.first_token(node)))),
            ([g::NumericOnly], &[number]) => Some(SetValue::Number(self.number(number))),
            ([g::ConstInterval, g::Sconst, _], &[_, string, fields]) => {
                let of = self.interval_type(node, Some(fields), None)?;
                Some(SetValue::Interval(self.typed_string(string, of, self.at(node))))
            }
            ([g::ConstInterval, ..], &[_, _, precision, _, string]) => {
                let of = self.interval_type(node, None, Some(precision))?;
                Some(SetValue::Interval(self.typed_string(string, of, self.at(node))))
            }
            _ => None,
        })
    }

    /// `NumericOnly`, `SignedIconst`: with its sign, as it is written otherwise.
    pub(super) fn number(&self, node: Node) -> String {
        let first = self.tree.first_token(node);
        let number = self.tree.last_token(node);
        let text = self.tree.source(number).to_string();
        if first.kind == g::MINUS { format!("-{text}") } else { text }
    }

    /// `SignedIconst`.
    pub(super) fn signed_integer(&self, node: Node) -> i32 {
        self.number(node).parse().unwrap_or(i32::MAX)
    }

    pub(super) fn show(&mut self, node: Node) -> Lowered<Statement> {
        let setting = |name: &str| Show::Setting(Name { text: name.to_string(), at: self.at(node) });
        Ok(Statement::Show(match self.shape(node) {
            [_, g::var_name] => Show::Setting(self.setting_name(self.children(node)[1])),
            [_, g::TIME, _] => setting("timezone"),
            [_, g::TRANSACTION, ..] => setting("transaction_isolation"),
            [_, g::SESSION, ..] => setting("session_authorization"),
            _ => Show::All,
        }))
    }

    /// An option that the grammar names with words of its own.
    pub(super) fn option(&self, name: &str, value: Option<OptionValue>, node: Node) -> DefinitionOption {
        DefinitionOption { space: None, name: Name { text: name.to_string(), at: self.at(node) }, value }
    }

    pub(super) fn truth(&self) -> Option<OptionValue> {
        Some(OptionValue::Word("true".to_string()))
    }

    /// A rule that is a word, a string or a number; nothing if it is empty.
    pub(super) fn option_value(&self, node: Node) -> Option<OptionValue> {
        if self.is_empty(node) {
            return None;
        }
        let token = self.tree.first_token(node);
        Some(match token.kind {
            g::SCONST => OptionValue::String(self.string(node)),
            g::PLUS | g::MINUS | g::ICONST | g::FCONST => OptionValue::Number(self.number(node)),
            _ => OptionValue::Word(self.word(token)),
        })
    }

    /// `utility_option_list`.
    pub(super) fn utility_options(&self, list: Node) -> Vec<DefinitionOption> {
        let option = |node: Node| {
            let children = self.children(node);
            let mut name = self.name(children[0]);
            if name.text == "analyse" {
                name.text = "analyze".to_string();
            }
            DefinitionOption { space: None, name, value: self.option_value(children[1]) }
        };
        self.list(list).into_iter().map(option).collect()
    }

    /// `reloptions`, `opt_reloptions`, `OptWith`.
    pub(super) fn storage_options(&mut self, node: Node) -> Lowered<Vec<DefinitionOption>> {
        let options = self.part(node, g::reloptions).unwrap_or(node);
        let Some(list) = self.part(options, g::reloption_list) else { return Ok(Vec::new()) };
        let mut result = Vec::new();
        for element in self.list(list) {
            let children = self.children(element);
            let names = children.iter().filter(|part| self.tree.symbol(**part) == g::ColLabel);
            let mut names: Vec<Name> = names.map(|name| self.name(*name)).collect();
            let name = names.pop().ok_or_else(|| self.unexpected(element))?;
            let value = match self.part(element, g::def_arg) {
                Some(value) => Some(self.definition_value(value)?),
                None => None,
            };
            result.push(DefinitionOption { space: names.pop(), name, value });
        }
        Ok(result)
    }

    /// `opt_definition`, `definition`.
    pub(super) fn definition(&mut self, node: Node) -> Lowered<Vec<DefinitionOption>> {
        let definition = self.part(node, g::definition).unwrap_or(node);
        let Some(list) = self.part(definition, g::def_list) else { return Ok(Vec::new()) };
        let mut result = Vec::new();
        for element in self.list(list) {
            let value = match self.part(element, g::def_arg) {
                Some(value) => Some(self.definition_value(value)?),
                None => None,
            };
            result.push(DefinitionOption { space: None, name: self.name(element), value });
        }
        Ok(result)
    }

    /// `def_arg`. A word that may be a type is one.
    fn definition_value(&mut self, node: Node) -> Lowered<OptionValue> {
        let child = self.children(node)[0];
        Ok(match self.tree.symbol(child) {
            g::func_type => {
                let of = self.function_type(child)?;
                match of.names.as_slice() {
                    [only] if of.modifiers.is_empty() && of.bounds.is_empty() && !of.set_of => {
                        OptionValue::Word(only.text.clone())
                    }
                    _ => OptionValue::Type(Box::new(of)),
                }
            }
            g::qual_all_Op => OptionValue::Operator(self.operator(child)),
            _ => self.option_value(child).ok_or_else(|| self.unexpected(node))?,
        })
    }
}
