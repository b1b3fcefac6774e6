//! Random programs that the verifier takes, and random packets. A seed decides all of it.

use seeded_random::SplitMix64;

/// Constants that programs and packets share, so that comparisons hold sometimes.
const KEYS: [u64; 6] = [0, 1, 7, 7700, 17, 0x0a4d_0001];

const HEADER: &str = "program random
parameter port 7700
table small 3 { key u16 narrow u8 wide u32 long u64 }
table large 20 { key u32 bits u64 }
";

/// A program with one hook.
pub struct Generator {
    random: SplitMix64,
    text: String,
    names: Vec<String>,
    made: usize,
    loops: usize,
    /// Words that may still be written.
    fuel: i64,
    /// Bytes that are known here.
    known: u64,
    is_receive: bool,
}

impl Generator {
    /// The text of a program for `receive`, or for `send`.
    pub fn program(seed: u64, is_receive: bool) -> String {
        let random = SplitMix64::new(seed);
        let mut generator = Generator {
            random,
            text: HEADER.to_owned(),
            names: Vec::new(),
            made: 0,
            loops: 0,
            fuel: 60,
            known: 28,
            is_receive,
        };
        generator.text += if is_receive { "on receive\n" } else { "on send\n" };
        generator.block(0);
        generator.verdict();
        generator.text
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn put(&mut self, word: &str) {
        self.text += word;
        self.text.push(' ');
        self.fuel -= 1;
    }

    fn line(&mut self) {
        self.text.push('\n');
    }

    fn verdict(&mut self) {
        let words: &[&str] =
            if self.is_receive { &["pass", "drop", "deliver", "deliver-and-wake", "reply"] } else { &["pass", "drop"] };
        let chosen = self.below(words.len() as u64) as usize;
        self.put(words[chosen]);
    }

    fn number(&mut self) {
        let value = match self.below(5) {
            0 => self.below(8),
            1 => KEYS[self.below(KEYS.len() as u64) as usize],
            2 => self.below(70_000),
            3 => self.random.draw(),
            _ => 1 << self.below(64),
        };
        self.put(&value.to_string());
    }

    fn field(&mut self, of_one_step: bool) -> &'static str {
        let fields: &[&str] = match of_one_step {
            true => &["small wide", "small long", "large key", "large bits"],
            false => &["small key", "small narrow", "small wide", "small long", "large key", "large bits"],
        };
        fields[self.below(fields.len() as u64) as usize]
    }

    /// Leaves one cell.
    fn expression(&mut self, nesting: u32) {
        if nesting > 4 || self.fuel < 0 {
            return self.number();
        }
        match self.below(11) {
            0 | 1 => self.number(),
            2 | 3 => {
                let words = [
                    "packet-bytes",
                    "source-hardware",
                    "destination-hardware",
                    "ip-protocol",
                    "time-to-live",
                    "source-address",
                    "destination-address",
                    "udp-source",
                    "udp-destination",
                    "port",
                ];
                let chosen = self.below(words.len() as u64) as usize;
                self.put(words[chosen]);
            }
            4..=6 => {
                self.expression(nesting + 1);
                self.expression(nesting + 1);
                let words = ["+", "-", "&", "|", "^", "<<", ">>", "=", "<>", "<", "min"];
                let chosen = self.below(words.len() as u64) as usize;
                self.put(words[chosen]);
            }
            7 => {
                self.index(nesting);
                let field = self.field(false);
                self.put(field);
            }
            8 => {
                let (word, size) = [("byte@", 1), ("half@", 2), ("word@", 4), ("long@", 8)][self.below(4) as usize];
                let offset = self.below(self.known - size + 1);
                self.put(&format!("{offset} {word}"));
            }
            9 => match self.below(4) {
                0 => self.put("small count"),
                1 => self.put("large count"),
                which => {
                    self.expression(nesting + 1);
                    self.put(if which == 2 { "small find" } else { "large find" });
                }
            },
            _ => match (self.names.len() as u64, self.loops) {
                (0, 0) => self.number(),
                (0, _) => self.put("i"),
                (names, _) => {
                    let chosen = self.below(names) as usize;
                    let name = self.names[chosen].clone();
                    self.put(&name);
                }
            },
        }
    }

    /// Leaves one cell, which often is the index of a row.
    fn index(&mut self, nesting: u32) {
        match self.below(3) {
            0 if self.loops > 0 => self.put("i"),
            0 | 1 => {
                let value = self.below(5);
                self.put(&value.to_string());
            }
            _ => self.expression(nesting + 1),
        }
    }

    /// Leaves the stack as it is.
    fn block(&mut self, nesting: u32) {
        let names = self.names.len();
        for _ in 0..1 + self.below(4) {
            if self.fuel < 0 {
                break;
            }
            self.statement(nesting);
            self.line();
        }
        self.names.truncate(names);
    }

    fn statement(&mut self, nesting: u32) {
        match self.below(9) {
            0 => {
                self.expression(0);
                let words = [
                    "set-source-hardware",
                    "set-destination-hardware",
                    "set-source-address",
                    "set-destination-address",
                    "set-source-port",
                    "set-destination-port",
                ];
                let chosen = self.below(words.len() as u64) as usize;
                self.put(words[chosen]);
            }
            1 => {
                self.expression(0);
                self.index(0);
                let field = self.field(false);
                self.put(field);
                self.put("set");
            }
            2 => {
                self.expression(0);
                self.index(0);
                let field = self.field(true);
                self.put(field);
                let word = if self.below(2) == 0 { "add" } else { "bit-set" };
                self.put(word);
                self.put("discard");
            }
            3 | 4 if nesting < 3 => self.conditional(nesting),
            5 if nesting < 2 && self.loops < 2 => self.repetition(nesting),
            6 if self.names.len() < 6 => {
                self.expression(0);
                self.made += 1;
                let name = format!("v{}", self.made);
                self.put(&format!("let {name}"));
                self.names.push(name);
            }
            7 if nesting < 3 => {
                let wanted = 28 + self.below(60);
                self.put(&format!("{wanted} has-bytes"));
                let known = std::mem::replace(&mut self.known, wanted);
                self.put("if");
                self.block(nesting + 1);
                self.known = known;
                self.put("end");
            }
            8 if !self.is_receive && self.loops == 0 => self.put("clone"),
            _ => {
                self.expression(0);
                self.put("discard");
            }
        }
    }

    fn conditional(&mut self, nesting: u32) {
        self.expression(0);
        self.put("if");
        self.block(nesting + 1);
        let ends = self.below(5) == 0;
        if ends {
            self.verdict();
        }
        if self.below(2) == 0 {
            self.put("else");
            self.block(nesting + 1);
        }
        self.put("end");
    }

    fn repetition(&mut self, nesting: u32) {
        // What a loop does to a cell below it, too.
        let carries = self.below(2) == 0;
        if carries {
            self.expression(0);
        }
        match self.below(3) {
            0 => self.put("small count"),
            1 => {
                self.expression(1);
                self.put("5 min");
            }
            _ => {
                let count = self.below(6);
                self.put(&count.to_string());
            }
        }
        self.put("times");
        self.loops += 1;
        if carries {
            self.put("i +");
        }
        self.block(nesting + 1);
        self.loops -= 1;
        self.put("end");
        if carries {
            self.put("udp-source & 0 small long set");
        }
    }
}

/// A frame, most often one that programs see.
pub fn frame(random: &mut SplitMix64) -> Vec<u8> {
    let payload = random.below(90) as usize;
    let mut frame = datagram([10, 77, 0, 1], [10, 77, 0, 2], [7700, 7700], &vec![0; payload]);
    for byte in &mut frame[42..] {
        *byte = random.draw() as u8;
    }
    for _ in 0..random.below(3) {
        let at = random.below(frame.len() as u64) as usize;
        frame[at] = match random.below(3) {
            0 => 0,
            1 => 0xff,
            _ => random.draw() as u8,
        };
    }
    match random.below(12) {
        // The kernel tries no packet that ends within the header of IPv4.
        0 => frame.truncate(34 + random.below(30) as usize),
        1 => frame[40..42].fill(0),
        2 => frame.extend([0; 7]),
        3 => frame[34..36].copy_from_slice(&random.draw().to_ne_bytes()[..2]),
        _ => {}
    }
    frame
}

/// A datagram with Ethernet's header and right checksums.
pub fn datagram(source: [u8; 4], destination: [u8; 4], ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    frame.extend([0x45, 0]);
    frame.extend((28 + payload.len() as u16).to_be_bytes());
    frame.extend([0, 1, 0x40, 0, 64, 17, 0, 0]);
    frame.extend(source.iter().chain(&destination));
    frame.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    frame.extend((8 + payload.len() as u16).to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(payload);
    let network = sum(&frame[14..34], 0);
    frame[24..26].copy_from_slice(&network.to_be_bytes());
    let transport = transport_sum(&frame);
    frame[40..42].copy_from_slice(&transport.to_be_bytes());
    frame
}

/// The checksum of the datagram, and of the addresses; what is in its place counts, too. 0 if it is right already.
pub fn transport_sum(frame: &[u8]) -> u16 {
    let length = frame.len() as u32 - 34;
    let addresses = frame[26..34].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum::<u32>();
    sum(&frame[34..], addresses + 17 + length)
}

/// The complement of the sum of complements (RFC 1071).
pub fn sum(bytes: &[u8], with: u32) -> u16 {
    let mut sum = with;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
