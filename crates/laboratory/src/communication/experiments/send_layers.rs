//! Where the time of a send goes: figure 1 of the 1991 paper, which told a UDP send's layers apart by size.
//!
//! Each layer is what a deeper send takes more than a shallower one: a system call that does nothing; a send that ends once the destination's
//! route is known; a send of one byte into a device that drops it; and a send of all bytes.

use crate::communication::experiment::Experiment;
use crate::communication::job::{Job, Task, measure};
use crate::communication::laboratory::Laboratory;
use crate::communication::limits::ROUND_TIME;
use laboratory_harness::figure::Figure;
use laboratory_harness::network::Host;
use laboratory_harness::placement;
use laboratory_harness::process::say;
use laboratory_harness::report::{Columns, Table};
use laboratory_harness::{Failure, Outcome};
use rustix::net::SendFlags;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::net::{Ipv4Addr, UdpSocket};

/// Up to what one packet of an Ethernet carries, and one that IP must cut.
const BYTES: [usize; 6] = [1, 64, 256, 512, 1472, 8192];
const LAYERS: [&str; 4] = ["system call", "socket and route", "UDP, IP and device", "copying the bytes"];
const DEPTHS: usize = LAYERS.len();
/// Asks for the route only, and sends nothing (send(2) knows the first; Linux has the second for tracing paths).
const PROBE: u32 = 0x10;

#[derive(Debug, Serialize, Deserialize)]
struct Part {
    bytes: usize,
}

/// See the module's description.
pub struct SendLayers;

impl Experiment for SendLayers {
    fn name(&self) -> &'static str {
        "send_layers"
    }

    fn about(&self) -> &'static str {
        "the layers of a UDP send by size (1991, figure 1)"
    }

    fn run(&self, laboratory: &Laboratory) -> Outcome<Vec<Table>> {
        let mut table = Table::new("Layers of a UDP send", "1991, figure 1", Columns::bytes(&BYTES));
        table.notes.push(
            "the paper's figure is a plot; its words: starting the device takes about a fifth of a send, and the socket's \
             abstraction, copying included, is expensive"
                .to_owned(),
        );
        let host = Host::with_sink();
        let rounds: RefCell<[[Vec<f64>; DEPTHS]; BYTES.len()]> = RefCell::default();
        let whole = laboratory.in_turns(BYTES.len(), |index| {
            let part = Part { bytes: BYTES[index] };
            let task = Task::Part { experiment: self.name().to_owned(), part: serde_json::to_value(part)? };
            let place = placement::one(&laboratory.processors).client;
            let host = host.as_ref().map_err(|failure| Failure::Missing(failure.to_string()))?;
            let line = laboratory.start_at(&Job { place, task }, host)?.line()?;
            let depths: [f64; DEPTHS] = serde_json::from_str(&line)?;
            let mut shallower = 0.0;
            for (layer, depth) in rounds.borrow_mut()[index].iter_mut().zip(depths) {
                layer.push(depth - shallower);
                shallower = depth;
            }
            Ok(shallower)
        })?;
        for (column, (layers, whole)) in rounds.into_inner().into_iter().zip(whole).enumerate() {
            for (name, rounds) in LAYERS.iter().zip(layers) {
                if let Some(figure) = Figure::of(rounds) {
                    table.put(column, name, Ok(figure), None);
                }
            }
            table.put(column, "all of it", whole, None);
        }
        Ok(vec![table])
    }

    fn perform(&self, part: serde_json::Value) -> Outcome<()> {
        let Part { bytes } = serde_json::from_value(part)?;
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.connect((Ipv4Addr::new(10, 77, 0, 100), 7700))?;
        let message = vec![7; bytes];
        let probe = SendFlags::CONFIRM | SendFlags::from_bits_retain(PROBE);
        let time = ROUND_TIME / DEPTHS as u64;
        let depths = [
            measure(time, || {
                std::hint::black_box(rustix::process::getppid());
                Ok(())
            })?,
            measure(time, || Ok(rustix::net::send(&socket, &[], probe).map(drop)?))?,
            measure(time, || Ok(rustix::net::send(&socket, &message[..1], SendFlags::empty()).map(drop)?))?,
            measure(time, || Ok(rustix::net::send(&socket, &message, SendFlags::empty()).map(drop)?))?,
        ];
        say(&serde_json::to_string(&depths.map(|depth| depth.microseconds()))?)
    }
}
