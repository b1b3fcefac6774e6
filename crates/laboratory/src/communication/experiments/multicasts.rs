//! Sending 20 bytes to several destinations: table VI of the 1989 paper, figure 3 of the 1992 one.
//!
//! Like the papers, it measures what the sender spends until the network's device has the messages: on a host whose device drops what it is given.
//! Kernel level is one system call for all destinations (sendmmsg(2)); hardware is one message to a group that the network multiplies.

use crate::communication::experiment::Experiment;
use crate::communication::job::{Job, Measured, Task, measure};
use crate::communication::laboratory::Laboratory;
use crate::communication::limits::ROUND_TIME;
use crate::communication::operating_system::send_to_all;
use laboratory_harness::network::Host;
use laboratory_harness::placement;
use laboratory_harness::process::say;
use laboratory_harness::report::{Columns, Table};
use laboratory_harness::{Failure, Outcome};
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};

const BYTES: usize = 20;
const DESTINATIONS: [usize; 5] = [1, 5, 10, 15, 20];
const GROUP: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(239, 77, 0, 1), 7700);

/// Who multiplies the message.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Level {
    User,
    Kernel,
    Hardware,
}

/// The levels, and table VI in microseconds.
const LEVELS: [(&str, Level, [f64; 5]); 3] = [
    ("user level", Level::User, [1200.0, 5900.0, 11_700.0, 17_500.0, 23_400.0]),
    ("kernel level", Level::Kernel, [1200.0, 4200.0, 8000.0, 11_700.0, 15_400.0]),
    ("hardware", Level::Hardware, [1200.0; 5]),
];

#[derive(Debug, Serialize, Deserialize)]
struct Part {
    level: Level,
    destinations: usize,
}

/// See the module's description.
pub struct Multicasts;

impl Experiment for Multicasts {
    fn name(&self) -> &'static str {
        "multicasts"
    }

    fn about(&self) -> &'static str {
        "sending to several destinations at user, kernel and hardware level (1989, table VI; 1992, figure 3)"
    }

    fn run(&self, laboratory: &Laboratory) -> Outcome<Vec<Table>> {
        let columns = Columns::Numbers {
            unit: "destinations",
            values: DESTINATIONS.iter().map(|&destinations| destinations as f64).collect(),
        };
        let mut table = Table::new("Sending 20 bytes to several destinations", "1989, table VI", columns);
        let host = Host::with_sink();
        let count = DESTINATIONS.len();
        let figures = laboratory.in_turns(LEVELS.len() * count, |index| {
            let part = Part { level: LEVELS[index / count].1, destinations: DESTINATIONS[index % count] };
            let task = Task::Part { experiment: self.name().to_owned(), part: serde_json::to_value(part)? };
            let place = placement::one(&laboratory.processors).client;
            let host = host.as_ref().map_err(|failure| Failure::Missing(failure.to_string()))?;
            let line = laboratory.start_at(&Job { place, task }, host)?.line()?;
            Ok(serde_json::from_str::<Measured>(&line)?.microseconds())
        })?;
        for (index, figure) in figures.into_iter().enumerate() {
            let (name, _, paper) = LEVELS[index / count];
            table.put(index % count, name, figure, Some(paper[index % count]));
        }
        Ok(vec![table])
    }

    fn perform(&self, part: serde_json::Value) -> Outcome<()> {
        let Part { level, destinations } = serde_json::from_value(part)?;
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.set_multicast_loop_v4(false)?;
        let destinations: Vec<SocketAddrV4> = (0..destinations)
            .map(|number| SocketAddrV4::new(Ipv4Addr::new(10, 77, 0, 100 + number as u8), GROUP.port()))
            .collect();
        let message = [7; BYTES];
        let measured = measure(ROUND_TIME, || match level {
            Level::User => {
                destinations.iter().try_for_each(|destination| Ok(socket.send_to(&message, destination).map(drop)?))
            }
            Level::Kernel => match send_to_all(&socket, &message, &destinations)? {
                sent if sent == destinations.len() => Ok(()),
                sent => Err(Failure::Wrong(format!("sent to {sent} of {}", destinations.len()))),
            },
            Level::Hardware => Ok(socket.send_to(&message, GROUP).map(drop)?),
        })?;
        say(&serde_json::to_string(&measured)?)
    }
}
