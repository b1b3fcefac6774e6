// Network: how far sites are from each other, and what is lost between them.

import { Table, make, page } from "./page.js";
import { bytes, count, microseconds, peerName, rateBetween, short } from "./words.js";

const COLUMNS = [
  "From", "To", "State", "Channel", { title: "Round trip", number: true, hint: "As far as the channel measures it" },
  { title: "Lease round trip", number: true, hint: "From the request for a lease until it was granted" },
  { title: "Out/s", hint: "Messages a second to it", number: true }, { title: "In/s", hint: "Messages a second from it", number: true }, { title: "Out, bytes/s", number: true },
  { title: "Sent again", number: true }, { title: "Lost", number: true }, "Multicast", "Encrypted",
];

export function open(shared) {
  const numbers = shared.sample?.sites.map((site) => site.site) ?? shared.console.sites;
  const others = [0, ...numbers];
  const matrix = new Table("Round trips of leases, from the site of the row to that of the column",
    ["From", ...others.map((site) => ({ title: peerName(site), number: true }))]);
  const table = new Table("Connections", COLUMNS);
  const update = ({ sample, before }) => {
    matrix.show(sample.sites.map((site) => [`Site ${site.site}`, ...others.map((other) => cell(site, other))]));
    table.show(sample.sites.flatMap((site) => lines(site, before?.sites.find((known) => known.site === site.site), sample.time_ms - (before?.time_ms ?? NaN))));
  };
  return {
    parts: page("Network", "What each site measures of its connections with the others and with the oracle.",
      make("section", {}, matrix.element), make("section", {}, make("h2", {}, "Connections"), table.element)),
    update,
  };
}

function cell(site, other) {
  const peer = site.answers ? site.view.peers.find((known) => known.site === other) : null;
  if (!peer) return { text: "·", class: "quiet" };
  if (!peer.connected) return { text: "cut off", class: "state bad", hint: peer.failure ?? "" };
  const time = peer.lease_round_trip_us ?? peer.round_trip_us;
  return time === null ? { text: "connected", class: "quiet" } : { text: microseconds(time), hint: peer.channel };
}

function lines(site, before, elapsedMs) {
  if (!site.answers || !site.view) return [[`Site ${site.site}`, "–", { text: "no answer", class: "state dead", hint: site.failure ?? "" }, ...Array(COLUMNS.length - 3).fill("–")]];
  return site.view.peers.map((peer) => {
    const of = (name) => (view) => view.peers.find((known) => known.site === peer.site)?.[name] ?? NaN;
    const rate = (name) => rateBetween(before?.answers ? before.view : null, site.view, elapsedMs / 1000, of(name));
    const state = peer.connected ? { text: "connected", class: "state good" } : { text: "cut off", class: "state bad", hint: peer.failure ?? "" };
    return [
      `Site ${site.site}`, peerName(peer.site), state, { text: peer.channel || "none", class: "whole" }, microseconds(peer.round_trip_us), microseconds(peer.lease_round_trip_us),
      short(rate("frames_out")), short(rate("frames_in")), bytes(rate("bytes_out")), count(peer.sent_again),
      peer.loss_percent === null ? "–" : `${short(peer.loss_percent)} %`, peer.multicast ? "yes" : "no", peer.encrypted ? "yes" : "no",
    ];
  });
}
