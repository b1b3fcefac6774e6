// Charts: the last hour of all sites.

import { ask, choice, field, make, page } from "./page.js";
import { bytes, count, milliseconds, short } from "./words.js";
import { Chart } from "./chart.js";

const SAMPLES_MAX = 3600;

/** The past by columns: a time for each sample, and for each site a list for each figure. */
export class Past {
  constructor() {
    this.times = [];
    this.sites = new Map();
  }

  columns(site) {
    if (!this.sites.has(site)) this.sites.set(site, new Map());
    return this.sites.get(site);
  }

  column(site, name) {
    const columns = this.columns(site);
    if (!columns.has(name)) columns.set(name, Array(this.times.length).fill(null));
    return columns.get(name);
  }

  add(sample) {
    if (sample.time_ms <= (this.times.at(-1) ?? 0)) return;
    for (const site of sample.sites) {
      for (const [name, value] of Object.entries(site.figures)) this.column(site.site, name).push(value);
    }
    this.times.push(sample.time_ms);
    this.level();
    if (this.times.length > SAMPLES_MAX) {
      this.times.shift();
      for (const columns of this.sites.values()) for (const column of columns.values()) column.shift();
    }
  }

  /** Whatever was not told is not known. */
  level() {
    for (const columns of this.sites.values()) {
      for (const column of columns.values()) while (column.length < this.times.length) column.push(null);
    }
  }

  /** Puts what the console has kept before what has come since. */
  async load() {
    const kept = await ask(`/api/history?seconds=${SAMPLES_MAX}`).catch(() => null);
    if (!kept) return;
    const first = this.times[0] ?? Infinity;
    const before = kept.times.filter((time) => time < first).length;
    const here = this.times.length;
    this.times.unshift(...kept.times.slice(0, before));
    const names = new Set([...this.sites.keys(), ...Object.keys(kept.sites).map(Number)]);
    for (const site of names) {
      const earlier = kept.sites[site] ?? {};
      const columns = this.columns(site);
      for (const name of new Set([...columns.keys(), ...Object.keys(earlier)])) {
        const past = (earlier[name] ?? Array(before).fill(null)).slice(0, before);
        columns.set(name, past.concat(columns.get(name) ?? Array(here).fill(null)));
      }
    }
  }

  /** When the epoch became another one. */
  epochs() {
    const columns = [...this.sites.values()].map((figures) => figures.get("epoch")).filter(Boolean);
    const marks = [];
    let known = null;
    this.times.forEach((time, at) => {
      const now = Math.max(0, ...columns.map((column) => column[at] ?? 0));
      if (known !== null && now > known) marks.push({ time, text: `epoch ${now}` });
      if (now > 0) known = Math.max(known ?? 0, now);
    });
    return marks;
  }
}

/** A line for each site. */
export function bySite(past, name, suffix = "", dashed = undefined) {
  const sites = [...past.sites.keys()].sort((left, right) => left - right);
  return sites.map((site, colour) => ({ name: `site ${site}${suffix}`, values: past.column(site, name), dashed, colour }));
}

/** A line for each cause, server or kind, all sites together. What no site tells of while rates are known is 0. */
export function byLabel(past, family) {
  const sums = new Map();
  const known = past.times.map((_, at) => [...past.sites.values()].some((columns) => (columns.get("commits")?.[at] ?? null) !== null));
  for (const columns of past.sites.values()) {
    for (const [name, column] of columns) {
      if (!name.startsWith(`${family}:`)) continue;
      const label = name.slice(family.length + 1);
      if (!sums.has(label)) sums.set(label, known.map((is) => (is ? 0 : null)));
      const sum = sums.get(label);
      column.forEach((value, at) => { if (value !== null) sum[at] = (sum[at] ?? 0) + value; });
    }
  }
  return [...sums].sort().map(([name, values]) => ({ name, values }));
}

/** Shows the last seconds of these lines. */
export function plot(chart, past, seconds, series, marks = past.epochs()) {
  const to = past.times.at(-1) ?? Date.now();
  chart.show({ times: past.times, series, marks, from: to - seconds * 1000, to });
}

/** Medians dashed, what 99 percent do not pass whole. A chart has room for sixteen lines. */
function latencies(past, name) {
  const both = [...bySite(past, `${name}_p99`, ", 99 %"), ...bySite(past, `${name}_p50`, ", median", true)];
  return both.length <= 16 ? both : both.slice(0, both.length / 2);
}

const CHARTS = [
  ["Commits a second", "/s", short, (past) => bySite(past, "commits")],
  ["Statements a second", "/s", short, (past) => bySite(past, "statements")],
  ["Statement latency", "", milliseconds, (past) => latencies(past, "statement")],
  ["Commit latency", "", milliseconds, (past) => latencies(past, "commit")],
  ["Aborts by cause, all sites", "/s", short, (past) => byLabel(past, "cause")],
  ["Fail-locked rows, as each site tells", "", count, (past) => bySite(past, "fail_locks")],
  ["Stale rows", "", count, (past) => bySite(past, "stale")],
  ["Lease left", "", milliseconds, (past) => bySite(past, "lease_left")],
  ["Messages taken by server, all sites", "/s", short, (past) => byLabel(past, "server")],
  ["Messages sent to other sites", "/s", short, (past) => bySite(past, "messages_out")],
  ["Log written a second", "", bytes, (past) => bySite(past, "log_bytes")],
  ["Sync of the log", "mean", milliseconds, (past) => bySite(past, "sync_ms")],
  ["Memory of the site's process", "", bytes, (past) => bySite(past, "resident")],
  ["Processor time", "% of one", short, (past) => bySite(past, "processor")],
  ["Clients", "", count, (past) => bySite(past, "clients")],
  ["Commits at risk", "", count, (past) => bySite(past, "unsynced")],
];

export function open(shared) {
  const all = CHARTS.map(([title, unit, format, series]) => ({ chart: new Chart({ title, unit, format, whole: format === count }), series }));
  const range = choice([["300", "5 minutes"], ["900", "15 minutes"], ["3600", "1 hour"]], { change: () => update(shared) });
  const update = ({ past }) => {
    const marks = past.epochs();
    all.forEach(({ chart, series }) => plot(chart, past, Number(range.value), series(past), marks));
  };
  const parts = page("Charts", "A gap is a time of which nothing is known: the site did not answer, or its counters began anew. Arrow keys move the cursor.",
    make("div", { class: "controls" }, field("Show the last", range)),
    make("div", { class: "charts" }, ...all.map(({ chart }) => chart.element)));
  return { parts, update, close: () => all.forEach(({ chart }) => chart.close()) };
}
