//! What a session sends: messages written straight into the output buffer.
//!
//! Invariant: every function appends one whole message whose length word is right.

use crate::errors::SqlError;
use crate::protocol::format::{self, Formats};
use bytes::{BufMut, BytesMut};
use messages::namespace;
use messages::program::ResultColumn;
use values::{Type, Value, Zone};

/// How bad an error or notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The statement failed.
    Error,
    /// The session ends.
    Fatal,
    /// Something odd was done.
    Warning,
    /// Something worth knowing.
    Notice,
    /// Something that the client has asked for.
    Info,
    /// Something for the log.
    Log,
    /// Something for who looks for an error.
    Debug,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Severity::Error => "ERROR",
            Severity::Fatal => "FATAL",
            Severity::Warning => "WARNING",
            Severity::Notice => "NOTICE",
            Severity::Info => "INFO",
            Severity::Log => "LOG",
            Severity::Debug => "DEBUG",
        }
    }
}

/// One message: its type, and what `body` writes behind the length word.
#[inline]
fn message(out: &mut BytesMut, kind: u8, body: impl FnOnce(&mut BytesMut)) {
    out.put_u8(kind);
    let start = out.len();
    out.put_u32(0);
    body(out);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

fn put_string(out: &mut BytesMut, text: &str) {
    // A zero byte would end the string early and shift all that follows.
    out.extend(text.bytes().filter(|byte| *byte != 0));
    out.put_u8(0);
}

/// AuthenticationOk.
pub fn authentication_ok(out: &mut BytesMut) {
    message(out, b'R', |out| out.put_u32(0));
}

/// AuthenticationCleartextPassword.
pub fn authentication_cleartext(out: &mut BytesMut) {
    message(out, b'R', |out| out.put_u32(3));
}

/// AuthenticationSASL: the mechanisms, the best first.
pub fn authentication_sasl(out: &mut BytesMut, mechanisms: &[&str]) {
    message(out, b'R', |out| {
        out.put_u32(10);
        mechanisms.iter().for_each(|mechanism| put_string(out, mechanism));
        out.put_u8(0);
    });
}

/// AuthenticationSASLContinue.
pub fn authentication_sasl_continue(out: &mut BytesMut, data: &[u8]) {
    message(out, b'R', |out| {
        out.put_u32(11);
        out.extend_from_slice(data);
    });
}

/// AuthenticationSASLFinal.
pub fn authentication_sasl_final(out: &mut BytesMut, data: &[u8]) {
    message(out, b'R', |out| {
        out.put_u32(12);
        out.extend_from_slice(data);
    });
}

/// NegotiateProtocolVersion: the newest minor version spoken here, and startup options that are not known.
pub fn negotiate_protocol_version(out: &mut BytesMut, unknown: &[&str]) {
    message(out, b'v', |out| {
        out.put_u32(0);
        out.put_u32(unknown.len() as u32);
        for option in unknown {
            put_string(out, option);
        }
    });
}

/// ParameterStatus.
pub fn parameter_status(out: &mut BytesMut, name: &str, value: &str) {
    message(out, b'S', |out| {
        put_string(out, name);
        put_string(out, value);
    });
}

/// BackendKeyData.
pub fn backend_key_data(out: &mut BytesMut, process: i32, secret: i32) {
    message(out, b'K', |out| {
        out.put_i32(process);
        out.put_i32(secret);
    });
}

/// ReadyForQuery: `I` idle, `T` in a transaction block, `E` in a failed one.
pub fn ready_for_query(out: &mut BytesMut, status: u8) {
    out.extend_from_slice(&[b'Z', 0, 0, 0, 5, status]);
}

/// ParseComplete.
pub fn parse_complete(out: &mut BytesMut) {
    out.extend_from_slice(&[b'1', 0, 0, 0, 4]);
}

/// BindComplete.
pub fn bind_complete(out: &mut BytesMut) {
    out.extend_from_slice(&[b'2', 0, 0, 0, 4]);
}

/// CloseComplete.
pub fn close_complete(out: &mut BytesMut) {
    out.extend_from_slice(&[b'3', 0, 0, 0, 4]);
}

/// NoData: the statement returns no rows.
pub fn no_data(out: &mut BytesMut) {
    out.extend_from_slice(&[b'n', 0, 0, 0, 4]);
}

/// PortalSuspended: there are more rows.
pub fn portal_suspended(out: &mut BytesMut) {
    out.extend_from_slice(&[b's', 0, 0, 0, 4]);
}

/// EmptyQueryResponse.
pub fn empty_query(out: &mut BytesMut) {
    out.extend_from_slice(&[b'I', 0, 0, 0, 4]);
}

/// CommandComplete with its tag, such as `INSERT 0 1`.
pub fn command_complete(out: &mut BytesMut, tag: &str) {
    message(out, b'C', |out| put_string(out, tag));
}

/// ParameterDescription.
pub fn parameter_description(out: &mut BytesMut, types: &[Type]) {
    message(out, b't', |out| {
        out.put_u16(types.len() as u16);
        for data_type in types {
            out.put_u32(data_type.oid());
        }
    });
}

/// RowDescription.
pub fn row_description(out: &mut BytesMut, columns: &[ResultColumn], formats: &Formats) {
    message(out, b'T', |out| {
        out.put_u16(columns.len() as u16);
        for (index, column) in columns.iter().enumerate() {
            put_string(out, &column.name);
            out.put_u32(column.origin.0);
            out.put_i16(column.origin.1);
            out.put_u32(column.column_type.oid());
            out.put_i16(column.column_type.size());
            out.put_i32(column.column_type.typmod());
            out.put_u16(u16::from(formats.is_binary(index)));
        }
    });
}

/// DataRow, in the session's time zone. `scratch` is a buffer that is used again and again.
pub fn data_row(
    out: &mut BytesMut,
    values: &[Value],
    columns: &[ResultColumn],
    formats: &Formats,
    zone: &Zone,
    scratch: &mut Vec<u8>,
) {
    message(out, b'D', |out| {
        out.put_u16(values.len() as u16);
        for (index, (value, column)) in values.iter().zip(columns).enumerate() {
            format::put_field(out, value, column.column_type, formats.is_binary(index), zone, scratch);
        }
    });
}

/// CopyInResponse (`G`) or CopyOutResponse (`H`).
pub fn copy_response(out: &mut BytesMut, outwards: bool, binary: bool, columns: usize) {
    message(out, if outwards { b'H' } else { b'G' }, |out| {
        out.put_u8(u8::from(binary));
        out.put_u16(columns as u16);
        for _ in 0..columns {
            out.put_u16(u16::from(binary));
        }
    });
}

/// CopyData.
pub fn copy_data(out: &mut BytesMut, data: &[u8]) {
    message(out, b'd', |out| out.extend_from_slice(data));
}

/// CopyDone.
pub fn copy_done(out: &mut BytesMut) {
    out.extend_from_slice(&[b'c', 0, 0, 0, 4]);
}

/// NotificationResponse.
pub fn notification(out: &mut BytesMut, process: i32, channel: &str, payload: &str) {
    message(out, b'A', |out| {
        out.put_i32(process);
        put_string(out, channel);
        put_string(out, payload);
    });
}

/// ErrorResponse or, for a warning or notice, NoticeResponse.
pub fn error(out: &mut BytesMut, severity: Severity, error: &SqlError) {
    let kind = match severity {
        Severity::Error | Severity::Fatal => b'E',
        Severity::Warning | Severity::Notice | Severity::Info | Severity::Log | Severity::Debug => b'N',
    };
    message(out, kind, |out| {
        let mut field = |name: u8, text: &str| {
            out.put_u8(name);
            put_string(out, &namespace::shown(text));
        };
        field(b'S', severity.name());
        field(b'V', severity.name());
        field(b'C', &error.sqlstate);
        field(b'M', &error.message);
        if let Some(detail) = &error.detail {
            field(b'D', detail);
        }
        if let Some(hint) = &error.hint {
            field(b'H', hint);
        }
        if let Some(position) = error.position {
            field(b'P', &position.to_string());
        }
        if let Some(context) = &error.context {
            field(b'W', context);
        }
        if error.table.is_some() || error.schema.is_some() {
            field(b's', error.schema.as_deref().unwrap_or(namespace::PUBLIC));
        }
        if let Some(table) = &error.table {
            field(b't', table);
        }
        if let Some(column) = &error.column {
            field(b'c', column);
        }
        if let Some(data_type) = &error.data_type {
            field(b'd', data_type);
        }
        if let Some(constraint) = &error.constraint {
            field(b'n', constraint);
        }
        if let Some(routine) = error.routine {
            field(b'R', routine);
        }
        out.put_u8(0);
    });
}
