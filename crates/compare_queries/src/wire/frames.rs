//! Messages of the protocol: how ours are written and the server's are read. What comes is checked: a malformed message is an error.

use std::io::Read;

use super::{Cell, Column, Parameter, Refusal};
use crate::limits::MESSAGE_BYTES_MAX;

/// A message of the server.
pub struct Message {
    /// Its first byte.
    pub kind: u8,
    /// What follows its length.
    pub body: Vec<u8>,
}

/// Reads one message.
pub fn read_message(stream: &mut impl Read) -> Result<Message, String> {
    let mut head = [0; 5];
    stream.read_exact(&mut head).map_err(|error| format!("no answer: {error}"))?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    if !(4..=MESSAGE_BYTES_MAX).contains(&length) {
        return Err(format!("a message of {length} bytes"));
    }
    let mut body = vec![0; length - 4];
    stream.read_exact(&mut body).map_err(|error| format!("half an answer: {error}"))?;
    Ok(Message { kind: head[0], body })
}

/// A message of ours.
pub fn frame(kind: u8, fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut frame = vec![kind, 0, 0, 0, 0];
    fill(&mut frame);
    let length = (frame.len() - 1) as u32;
    frame[1..5].copy_from_slice(&length.to_be_bytes());
    frame
}

/// A string of a message.
pub fn text(body: &mut Vec<u8>, text: &str) {
    body.extend_from_slice(text.as_bytes());
    body.push(0);
}

/// Parse, with types left to the server.
pub fn parse(name: &str, sql: &str) -> Vec<u8> {
    frame(b'P', |body| {
        text(body, name);
        text(body, sql);
        body.extend_from_slice(&0_u16.to_be_bytes());
    })
}

/// Describe of a statement.
pub fn describe_statement(name: &str) -> Vec<u8> {
    frame(b'D', |body| {
        body.push(b'S');
        text(body, name);
    })
}

/// Bind, describe and execute; parameters are text, results text or binary.
pub fn execute(name: &str, parameters: &[Parameter], binary: bool) -> Vec<u8> {
    let mut frames = frame(b'B', |body| {
        text(body, "");
        text(body, name);
        body.extend_from_slice(&0_u16.to_be_bytes());
        body.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
        for parameter in parameters {
            match parameter {
                Some(value) => {
                    body.extend_from_slice(&(value.len() as u32).to_be_bytes());
                    body.extend_from_slice(value.as_bytes());
                }
                None => body.extend_from_slice(&(-1_i32).to_be_bytes()),
            }
        }
        body.extend_from_slice(&1_u16.to_be_bytes());
        body.extend_from_slice(&u16::from(binary).to_be_bytes());
    });
    frames.extend(frame(b'D', |body| {
        body.push(b'P');
        text(body, "");
    }));
    frames.extend(frame(b'E', |body| {
        text(body, "");
        body.extend_from_slice(&0_u32.to_be_bytes());
    }));
    frames
}

/// Close of a statement.
pub fn close(name: &str) -> Vec<u8> {
    frame(b'C', |body| {
        body.push(b'S');
        text(body, name);
    })
}

/// Sync.
pub fn sync() -> Vec<u8> {
    frame(b'S', |_| {})
}

/// Reads the fields of a message in order.
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// At the first field.
    pub fn new(body: &'a [u8]) -> Reader<'a> {
        Reader { rest: body }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        if self.rest.len() < count {
            return Err("a message that ends early".to_string());
        }
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(taken)
    }

    fn u16(&mut self) -> Result<u16, String> {
        let bytes = self.take(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn u32(&mut self) -> Result<u32, String> {
        let bytes = self.take(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// A string.
    pub fn text(&mut self) -> Result<String, String> {
        let end = self.rest.iter().position(|byte| *byte == 0).ok_or("a string without an end")?;
        let text = String::from_utf8_lossy(self.take(end)?).into_owned();
        self.take(1)?;
        Ok(text)
    }

    /// RowDescription.
    pub fn columns(&mut self) -> Result<Vec<Column>, String> {
        let count = self.u16()?;
        let column = |_| {
            let name = self.text()?;
            self.take(6)?;
            let oid = self.u32()?;
            self.take(8)?;
            Ok(Column { name, oid })
        };
        (0..count).map(column).collect()
    }

    /// DataRow.
    pub fn row(&mut self) -> Result<Vec<Cell>, String> {
        let count = self.u16()?;
        let cell = |_| match self.u32()? {
            u32::MAX => Ok(None),
            length => Ok(Some(self.take(length as usize)?.to_vec())),
        };
        (0..count).map(cell).collect()
    }

    /// ParameterDescription.
    pub fn parameters(&mut self) -> Result<Vec<u32>, String> {
        let count = self.u16()?;
        (0..count).map(|_| self.u32()).collect()
    }

    /// ErrorResponse.
    pub fn refusal(&mut self) -> Result<Refusal, String> {
        let (mut code, mut message) = (String::new(), String::new());
        loop {
            match self.take(1)?[0] {
                0 => return Ok(Refusal { code, message }),
                b'C' => code = self.text()?,
                b'M' => message = self.text()?,
                _ => drop(self.text()?),
            }
        }
    }

    /// An authentication request: only a server that asks nothing can be used.
    pub fn authentication(&mut self) -> Result<(), String> {
        match self.u32()? {
            0 => Ok(()),
            other => Err(format!("the server wants authentication of kind {other}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server under test may send anything; a message that lies about its lengths must not end the program.
    #[test]
    fn malformed_messages_are_errors() {
        assert!(Reader::new(&[0, 1, 0, 0, 0, 9, 1]).row().is_err());
        assert!(Reader::new(b"name without end").text().is_err());
        assert!(Reader::new(b"Cx").refusal().is_err());
        assert!(read_message(&mut &[b'Z', 0, 0, 0, 3][..]).is_err());
        assert!(read_message(&mut &[b'Z', 0, 0, 0, 9, 1][..]).is_err());
    }

    /// Rows with NULLs, and errors by their code, are what all comparisons rest on.
    #[test]
    fn rows_and_errors_are_read() {
        let row = Reader::new(&[0, 2, 255, 255, 255, 255, 0, 0, 0, 1, b'x']).row();
        assert_eq!(row, Ok(vec![None, Some(b"x".to_vec())]));
        let refusal = Reader::new(b"SERROR\0C42601\0Mno\0\0").refusal();
        assert_eq!(refusal, Ok(Refusal { code: "42601".to_string(), message: "no".to_string() }));
    }
}
