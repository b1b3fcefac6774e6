// Overview: how the cluster is, what needs a hand, a line for each site.

import { Table, make, page, say } from "./page.js";
import { bytes, count, largest, milliseconds, needs, short, stateOf, total } from "./words.js";
import { Chart } from "./chart.js";
import { bySite, plot } from "./charts.js";

const TILES = [
  ["Commits", "a second", (sample) => short(total(sample, "commits"))],
  ["Statements", "a second", (sample) => short(total(sample, "statements"))],
  ["Statement latency", "99 % within, worst site", (sample) => milliseconds(largest(sample, "statement_p99"))],
  ["Aborts", "a second", (sample) => short(total(sample, "aborts"))],
  ["Clients", "connected", (sample) => count(total(sample, "clients"))],
  ["Rows to repair", "at all sites", (sample) => count(total(sample, "stale"))],
];

const COLUMNS = [
  "Site", "State", { title: "Epoch", number: true },
  { title: "Life", number: true, hint: "How often the site has begun anew" },
  { title: "Vector", hint: "The session vector: how often each site has come back, as this one knows it" },
  { title: "Members", hint: "Sites of the epoch; those in brackets are not current yet" },
  { title: "Durability", hint: "What makes a commit durable now" },
  { title: "At risk", number: true, hint: "Commits that some member has not synced: lost if all sites lose power at once" },
  { title: "Fail-locks", number: true, hint: "Rows that changed while another site was away, and are not copied to it yet" },
  { title: "Stale", number: true, hint: "Rows of its own copy that a copier has yet to refresh" },
  { title: "Lease left", number: true, hint: "Of the leases that others have granted, the one that ends first" },
  "Method", { title: "Clients", number: true }, { title: "Commits/s", number: true }, { title: "Memory", number: true },
];

export function open(shared) {
  const tiles = TILES.map(([title, unit, figure]) => {
    const value = make("strong", {}, "–");
    return { figure, value, element: make("div", { class: "tile" }, make("span", {}, title), value, make("small", {}, unit)) };
  });
  const hands = make("ul", { class: "hands", role: "status" });
  const table = new Table("Sites", COLUMNS);
  const chart = new Chart({ title: "Commits a second", unit: "/s", format: short });
  const parts = page(
    "Overview", null,
    make("div", { class: "tiles" }, ...tiles.map((tile) => tile.element)),
    make("section", {}, make("h2", {}, "What needs a hand"), hands),
    make("section", {}, make("h2", {}, "Sites"), table.element),
    make("section", {}, chart.element),
  );
  const update = ({ sample, past }) => {
    tiles.forEach((tile) => say(tile.value, tile.figure(sample)));
    tell(hands, needs(sample));
    table.show(sample.sites.map(line));
    plot(chart, past, 300, bySite(past, "commits"));
  };
  return { parts, update, close: () => chart.close() };
}

function tell(list, found) {
  const entries = found.length > 0 ? found : [{ kind: "good", text: "Nothing: every site serves, and every copy is current.", command: null }];
  const texts = entries.map((entry) => `${entry.kind}|${entry.text}|${entry.command}`).join("\n");
  if (list.dataset.texts === texts) return;
  list.dataset.texts = texts;
  list.replaceChildren(...entries.map((entry) =>
    make("li", { class: entry.kind }, entry.text, entry.command ? make("code", {}, entry.command) : null)));
}

function line(site) {
  const state = stateOf(site);
  const status = { text: state.word, class: `state ${state.kind}`, hint: site.failure ?? "" };
  const { view } = site;
  if (!site.answers || !view) return [`Site ${site.site}`, status, ...Array(COLUMNS.length - 2).fill({ text: "–", class: "quiet" })];
  const members = view.members.map((member) => (member.state === "up" ? member.site : `(${member.site})`)).join(" ");
  const fails = Object.entries(view.fail_locks).filter(([, rows]) => rows > 0).map(([other, rows]) => `${count(rows)} of ${other}`);
  return [
    `Site ${site.site}`, status, count(view.epoch), count(view.incarnation),
    Object.values(view.sessions).join(" "), members, { text: view.durability, class: "whole" }, count(view.unsynced_commits),
    fails.join(", ") || "0", count(view.stale),
    { text: milliseconds(site.figures.lease_left), hint: `of ${view.lease_ms} ms, ${view.lease_right}` },
    view.method, count(view.clients), short(site.figures.commits), bytes(view.memory.resident_bytes),
  ];
}
