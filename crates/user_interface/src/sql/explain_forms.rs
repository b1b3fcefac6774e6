//! A plan as EXPLAIN shows it in a format that programs read.
//!
//! A plan is lines, each further in than the step that it serves. In these formats a step is an object with `Node Type`, what stands behind that in `Detail`, and the steps
//! that serve it in `Plans`. Steps one after the other are those of one `Program`.

use std::fmt::Write;

/// What the answer is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExplainFormat {
    /// Lines, each a row.
    #[default]
    Text,
    /// One row.
    Json,
    /// One row.
    Yaml,
    /// One row.
    Xml,
}

/// A step of a plan.
struct PlanStep<'a> {
    kind: &'a str,
    detail: &'a str,
    serving: Vec<PlanStep<'a>>,
}

impl ExplainFormat {
    /// The answer for a plan of these lines: in one piece, unless it is text.
    pub fn written(self, lines: &[String]) -> Vec<String> {
        if self == ExplainFormat::Text {
            return lines.to_vec();
        }
        let mut lines = lines.iter().map(String::as_str).filter(|line| !line.trim().is_empty()).peekable();
        let mut steps = steps(&mut lines, 0);
        let plan = match steps.len() {
            1 => steps.remove(0),
            _ => PlanStep { kind: "Program", detail: "", serving: steps },
        };
        let mut text = String::new();
        match self {
            ExplainFormat::Text => {}
            ExplainFormat::Json => {
                text.push_str("[\n  {\n    \"Plan\": ");
                plan.json(2, &mut text);
                text.push_str("\n  }\n]");
            }
            ExplainFormat::Yaml => {
                text.push_str("- Plan: ");
                plan.yaml("    ", &mut text);
            }
            ExplainFormat::Xml => {
                text.push_str("<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n  <Query>\n");
                plan.xml(2, &mut text);
                text.push_str("  </Query>\n</explain>");
            }
        }
        vec![text]
    }
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The steps at least so far in.
fn steps<'a>(lines: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>, least: usize) -> Vec<PlanStep<'a>> {
    let mut found = Vec::new();
    while let Some(line) = lines.next_if(|line| indentation(line) >= least) {
        let text = line.trim();
        let (kind, detail) = match text.split_once(" (").or_else(|| text.split_once(": ")) {
            Some((kind, rest)) => (kind, rest.strip_suffix(')').unwrap_or(rest)),
            None => (text, ""),
        };
        let serving = match lines.peek() {
            Some(next) if indentation(next) > indentation(line) => steps(lines, indentation(line) + 1),
            _ => Vec::new(),
        };
        found.push(PlanStep { kind, detail, serving });
    }
    found
}

/// A text in double quotes, as JSON and YAML have it.
fn quoted(text: &str) -> String {
    let mut all = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => all.extend(['\\', letter]),
            control if u32::from(control) < 0x20 => {
                write!(all, "\\u{:04x}", u32::from(control)).expect("a String takes it")
            }
            other => all.push(other),
        }
    }
    all.push('"');
    all
}

fn in_tags(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

impl PlanStep<'_> {
    fn fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let detail = (!self.detail.is_empty()).then_some(("Detail", self.detail));
        std::iter::once(("Node Type", self.kind)).chain(detail)
    }

    fn json(&self, level: usize, all: &mut String) {
        let inner = "  ".repeat(level + 1);
        let fields = self.fields().map(|(name, value)| format!("{inner}\"{name}\": {}", quoted(value)));
        all.push_str("{\n");
        all.push_str(&fields.collect::<Vec<_>>().join(",\n"));
        if !self.serving.is_empty() {
            all.push_str(&format!(",\n{inner}\"Plans\": [\n"));
            for (place, step) in self.serving.iter().enumerate() {
                all.push_str(if place > 0 { ",\n" } else { "" });
                all.push_str(&"  ".repeat(level + 2));
                step.json(level + 2, all);
            }
            all.push_str(&format!("\n{inner}]"));
        }
        all.push_str(&format!("\n{}}}", "  ".repeat(level)));
    }

    fn yaml(&self, inner: &str, all: &mut String) {
        for (place, (name, value)) in self.fields().enumerate() {
            // A step in a list begins in the line of its dash.
            let begin = if place == 0 && all.ends_with("- ") { String::new() } else { format!("\n{inner}") };
            all.push_str(&format!("{begin}{name}: {}", quoted(value)));
        }
        if !self.serving.is_empty() {
            all.push_str(&format!("\n{inner}Plans: "));
            for step in &self.serving {
                all.push_str(&format!("\n{inner}  - "));
                step.yaml(&format!("{inner}    "), all);
            }
        }
    }

    fn xml(&self, level: usize, all: &mut String) {
        let (outer, inner) = ("  ".repeat(level), "  ".repeat(level + 1));
        all.push_str(&format!("{outer}<Plan>\n"));
        for (name, value) in self.fields() {
            let tag = name.replace(' ', "-");
            all.push_str(&format!("{inner}<{tag}>{}</{tag}>\n", in_tags(value)));
        }
        if !self.serving.is_empty() {
            all.push_str(&format!("{inner}<Plans>\n"));
            self.serving.iter().for_each(|step| step.xml(level + 2, all));
            all.push_str(&format!("{inner}</Plans>\n"));
        }
        all.push_str(&format!("{outer}</Plan>\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that reads plans would find none, or steps under the wrong one.
    #[test]
    fn a_plan_is_the_same_in_all_formats() {
        let lines: Vec<String> =
            ["Sort", "  Hash Join (Inner)", "    Scan on a", "    Scan on \"b\" <c>"].map(str::to_owned).to_vec();
        assert_eq!(ExplainFormat::Text.written(&lines), lines);
        let json = ExplainFormat::Json.written(&lines).remove(0);
        assert_eq!(
            json,
            r#"[
  {
    "Plan": {
      "Node Type": "Sort",
      "Plans": [
        {
          "Node Type": "Hash Join",
          "Detail": "Inner",
          "Plans": [
            {
              "Node Type": "Scan on a"
            },
            {
              "Node Type": "Scan on \"b\" <c>"
            }
          ]
        }
      ]
    }
  }
]"#
        );
        let yaml = ExplainFormat::Yaml.written(&lines).remove(0);
        let wanted = [
            "- Plan: ",
            "    Node Type: \"Sort\"",
            "    Plans: ",
            "      - Node Type: \"Hash Join\"",
            "        Detail: \"Inner\"",
            "        Plans: ",
            "          - Node Type: \"Scan on a\"",
            "          - Node Type: \"Scan on \\\"b\\\" <c>\"",
        ];
        assert_eq!(yaml, wanted.join("\n"));
        let xml = ExplainFormat::Xml.written(&lines).remove(0);
        assert!(xml.contains("<Node-Type>Scan on \"b\" &lt;c&gt;</Node-Type>"), "{xml}");
        assert_eq!(xml.matches("<Plan>").count(), 4);
        let two = ["read".to_owned(), "return".to_owned()];
        assert!(ExplainFormat::Json.written(&two).remove(0).contains("\"Node Type\": \"Program\""));
    }
}
