// Statements: how each kind has done in the last ten seconds, at each site.

import { Table, make, page } from "./page.js";
import { milliseconds, short } from "./words.js";
import { Chart } from "./chart.js";
import { byLabel, plot } from "./charts.js";

const COLUMNS = [
  "Kind", "Site", { title: "A second", number: true }, { title: "Median", number: true }, { title: "99 % within", number: true },
  { title: "Mean", number: true },
  { title: "Share of time", number: true, hint: "Of all the time in which clients waited for statements" },
];

export function open() {
  const table = new Table("Kinds of statements, most time first", COLUMNS);
  const chart = new Chart({ title: "Statements a second, by kind", unit: "/s", format: short });
  const parts = page(
    "Statements", "The last ten seconds, from the moment that a statement was read until its client was told of its end.",
    make("section", {}, table.element, table.empty), make("section", {}, chart.element),
  );
  const update = ({ sample, past }) => {
    const rows = sample.sites.flatMap((site) => Object.entries(site.kinds ?? {}).map(([kind, figures]) => ({ kind, site: site.site, ...figures })));
    const all = rows.reduce((sum, row) => sum + row.busy_ms, 0);
    rows.sort((left, right) => right.busy_ms - left.busy_ms || left.site - right.site);
    table.show(rows.map((row) => [
      row.kind, `site ${row.site}`, short(row.rate), milliseconds(row.p50 ?? NaN), milliseconds(row.p99 ?? NaN), milliseconds(row.mean ?? NaN),
      `${short(all > 0 ? (100 * row.busy_ms) / all : 0)} %`,
    ]), "No statement has ended in the last ten seconds.");
    plot(chart, past, 300, byLabel(past, "kind"));
  };
  return { parts, update, close: () => chart.close() };
}
