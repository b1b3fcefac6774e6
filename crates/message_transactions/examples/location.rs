//! Servers that are found by asking a group, and a host that is chosen to run a program.
//!
//! `cargo run -p message_transactions --example location`. Every host has a team server, which is a member of a well-known group. Whoever wants to run
//! something asks the group how busy its members are, takes the least busy of those that answer in time, and sends it there. A member
//! may decline by not being the least busy, or be gone: that costs nothing but its answer.

#[path = "common/hosts.rs"]
mod hosts;

use message_transactions::host::{BlockedRequest, HostError, HostProcess};
use message_transactions::{GatherUntil, ProcessGroupId};
use std::time::Duration;

const TEAM_SERVERS: ProcessGroupId = ProcessGroupId::well_known(1);
const QUERY: &[u8] = b"how busy?";
const STOP: &[u8] = b"stop";

/// Serves with some load: a program is a number, and to run it is to square it.
fn serve(server: &mut HostProcess, mut load: u64) -> Result<u64, HostError> {
    loop {
        let call = server.receive()?;
        match call.message() {
            QUERY => {
                let replied = server.reply(call, &load.to_le_bytes());
                // Any other error: whoever asked has chosen already.
                if let Err(HostError::System(error)) = replied {
                    return Err(error.into());
                }
            }
            STOP => {
                server.reply(call, &load.to_le_bytes())?;
                return Ok(load);
            }
            program => {
                let number = program.iter().fold(0_u64, |number, &byte| number << 8 | u64::from(byte));
                load += 2;
                server.reply(call, &number.wrapping_mul(number).to_le_bytes())?;
            }
        }
    }
}

/// Runs programs on the least busy of four hosts, one after the other.
pub fn run() -> Result<(), Box<dyn std::error::Error>> {
    let hosts = hosts::start(4)?;
    let mut members = Vec::new();
    let mut teams = Vec::new();
    for (host, load) in hosts.iter().zip([6, 1, 9, 3]) {
        let mut server = host.process()?;
        server.join_group(TEAM_SERVERS, server.id())?;
        members.push(server.id());
        teams.push(std::thread::spawn(move || serve(&mut server, load).map_err(|error| error.to_string())));
    }
    let mut client = hosts[0].process()?;
    let time = Duration::from_secs(20);
    for program in 1..=4_u8 {
        let query = BlockedRequest::at_least_once(QUERY);
        let gathered = client.gather(TEAM_SERVERS, &members, query, GatherUntil::All, time)?;
        assert!(gathered.satisfied, "all team servers live: {gathered:?}");
        let load = |message: &[u8]| message.try_into().map_or(u64::MAX, u64::from_le_bytes);
        let chosen = gathered.replies.iter().min_by_key(|reply| load(&reply.message)).ok_or("nobody answers")?;
        let result = client.send(chosen.from, BlockedRequest::exactly_once(&[program]))?.message;
        assert_eq!(result, (u64::from(program) * u64::from(program)).to_le_bytes());
        println!("program {program} ran at {}, whose load was {}", chosen.from, load(&chosen.message));
    }
    let mut loads = Vec::new();
    for (member, team) in members.into_iter().zip(teams) {
        client.send(member, BlockedRequest::exactly_once(STOP))?;
        loads.push(team.join().map_err(|_| "a team server panicked")??);
    }
    // 1 and 3 are the least loads; each program adds 2 where it runs, so that no load but theirs is ever the least.
    assert_eq!(loads.iter().sum::<u64>(), 6 + 1 + 9 + 3 + 4 * 2, "each program ran once");
    assert_eq!((loads[0], loads[2]), (6, 9), "the busy ones were left alone");
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run()
}
