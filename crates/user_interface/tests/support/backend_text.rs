//! What a server sends, as text: decoded here independently of the encoder under test.

use std::fmt::Write as _;
use user_interface::CancelKey;

/// Appends a line for each message; returns the cancel key if one was sent.
pub fn show(mut bytes: &[u8], output: &mut String) -> Option<CancelKey> {
    let mut key = None;
    while let Some((&kind, rest)) = bytes.split_first() {
        if kind == b'N' && (rest.is_empty() || !rest.starts_with(&[0])) {
            output.push_str("  < no encryption\n");
            bytes = rest;
            continue;
        }
        let length = u32::from_be_bytes(rest[..4].try_into().expect("a length")) as usize;
        let mut body = Body(&rest[4..length]);
        if kind == b'K' {
            key = Some(CancelKey { process: body.number(), secret: body.number() });
            output.push_str("  < BackendKeyData\n");
        } else {
            let text = message(kind, &mut body);
            writeln!(output, "  < {text}").expect("a string grows");
            assert!(body.0.is_empty(), "bytes left in {text}");
        }
        bytes = &rest[length..];
    }
    key
}

fn message(kind: u8, body: &mut Body) -> String {
    match kind {
        b'R' => format!("Authentication {}", body.number()),
        b'v' => {
            let (version, count) = (body.number(), body.number());
            let options: Vec<String> = (0..count).map(|_| body.string()).collect();
            format!("NegotiateProtocolVersion {version} {options:?}")
        }
        b'S' => format!("ParameterStatus {}={}", body.string(), body.string()),
        b'A' => {
            let process = body.number();
            format!("NotificationResponse {process} {} {:?}", body.string(), body.string())
        }
        b'Z' => format!("ReadyForQuery {}", char::from(body.byte())),
        b'1' => "ParseComplete".to_string(),
        b'2' => "BindComplete".to_string(),
        b'3' => "CloseComplete".to_string(),
        b'n' => "NoData".to_string(),
        b's' => "PortalSuspended".to_string(),
        b'I' => "EmptyQueryResponse".to_string(),
        b'c' => "CopyDone".to_string(),
        b'C' => format!("CommandComplete {}", body.string()),
        b'd' => format!("CopyData {:?}", String::from_utf8_lossy(std::mem::take(&mut body.0))),
        b'G' | b'H' => {
            let format = body.byte();
            let columns = body.short();
            (0..columns).for_each(|_| assert_eq!(body.short(), i16::from(format), "all columns have the format"));
            let which = if kind == b'G' { "CopyInResponse" } else { "CopyOutResponse" };
            format!("{which} format {format}, {columns} columns")
        }
        b't' => {
            let count = body.short();
            let types: Vec<i32> = (0..count).map(|_| body.number()).collect();
            format!("ParameterDescription {types:?}")
        }
        b'T' => {
            let count = body.short();
            let columns: Vec<String> = (0..count)
                .map(|_| {
                    let name = body.string();
                    let (table, column) = (body.number(), body.short());
                    let (oid, size, modifier, format) = (body.number(), body.short(), body.number(), body.short());
                    format!("{name} {oid}/{size}/{modifier} of {table}.{column} f{format}")
                })
                .collect();
            format!("RowDescription {}", columns.join(", "))
        }
        b'D' => {
            let count = body.short();
            let fields: Vec<String> = (0..count).map(|_| body.field()).collect();
            format!("DataRow {}", fields.join("|"))
        }
        b'E' | b'N' => {
            let mut text = String::new();
            loop {
                match body.byte() {
                    0 => return text,
                    b'V' => drop(body.string()),
                    b'S' => text.push_str(&body.string()),
                    field => write!(text, " {}:{}", char::from(field), body.string()).expect("a string grows"),
                }
            }
        }
        other => panic!("no such message: {}", char::from(other)),
    }
}

struct Body<'a>(&'a [u8]);

impl Body<'_> {
    fn byte(&mut self) -> u8 {
        let byte = self.0[0];
        self.0 = &self.0[1..];
        byte
    }

    fn short(&mut self) -> i16 {
        i16::from_be_bytes([self.byte(), self.byte()])
    }

    fn number(&mut self) -> i32 {
        i32::from_be_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    fn string(&mut self) -> String {
        let end = self.0.iter().position(|byte| *byte == 0).expect("a string ends");
        let text = String::from_utf8(self.0[..end].to_vec()).expect("text");
        self.0 = &self.0[end + 1..];
        text
    }

    fn field(&mut self) -> String {
        let length = self.number();
        if length < 0 {
            return "NULL".to_string();
        }
        let (field, rest) = self.0.split_at(length as usize);
        self.0 = rest;
        match std::str::from_utf8(field) {
            Ok(text) if !text.contains('\0') => text.to_string(),
            _ => field.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}
