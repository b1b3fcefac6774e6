// Contention and Sessions: what sites say in SQL, asked for all pages together.

import { Table, follow, make, merged, page, say } from "./page.js";
import { count, milliseconds } from "./words.js";

function complaint() {
  const element = make("p", { class: "failure", role: "alert", hidden: true });
  const tell = (failures) => {
    element.hidden = failures.length === 0;
    say(element, failures.join(" · "));
  };
  return { element, tell };
}

export function contention() {
  const table = new Table("Conflicts, most frequent first", [
    "Cause", "Site", "Table", "Index", "Key", { title: "Count", number: true },
    { title: "Waited", number: true, hint: "Time of long waits, all in all" }, "Last seen",
  ]);
  const failures = complaint();
  const close = follow("contention", (answers, error) => {
    const { rows, failures: said } = merged(answers);
    failures.tell(error ? [error] : said);
    rows.sort((left, right) => Number(right.count) - Number(left.count));
    table.show(rows.slice(0, 200).map((row) => [
      row.cause, `site ${row.site}`, row.table_name, row.index_name, row.key,
      { text: count(Number(row.count)), hint: Number(row.count_error_max) > 0 ? `too high by up to ${row.count_error_max}` : "" },
      milliseconds(Number(row.waited_ms ?? NaN)), row.last_seen,
    ]), "No transaction has lost a conflict, or waited for long, in the sites' present lives.");
  });
  return {
    parts: page("Contention", "What transactions lost to each other, and where they waited for more than 20 ms, from raid.contention of every site.",
      failures.element, make("section", {}, table.element, table.empty)),
    close,
  };
}

export function sessions() {
  const states = new Table("Sessions by state", ["Site", { title: "Clients", number: true }, "States"]);
  const locks = new Table("Locks that sessions hold or wait for", [
    "Session", "Site", "Kind", "What", "Mode", "Granted", "Waits since",
  ]);
  const failures = complaint();
  const close = follow("locks", (answers, error) => {
    const { rows, failures: said } = merged(answers);
    failures.tell(error ? [error] : said);
    locks.show(rows.slice(0, 200).map((row) => [
      row.pid, `site ${row.site}`, row.locktype, row.relation ?? (row.objid === null ? null : `${row.classid} ${row.objid}`), row.mode,
      row.granted === "t" ? "yes" : { text: "waits", class: "state mends" }, row.waitstart,
    ]), "No session holds or waits for a lock of a table or an advisory lock.");
  });
  const update = ({ sample }) => {
    states.show(sample.sites.map((site) => [
      `Site ${site.site}`, site.answers ? count(site.view.clients) : "–",
      Object.entries(site.sessions).filter(([, number]) => number > 0).map(([state, number]) => `${count(number)} ${state}`).join(", ") || "none",
    ]));
  };
  return {
    parts: page("Sessions", "Clients of every site, and the locks that pg_locks tells of.", make("section", {}, states.element),
      failures.element, make("section", {}, make("h2", {}, "Locks"), locks.element, locks.empty)),
    update, close,
  };
}
