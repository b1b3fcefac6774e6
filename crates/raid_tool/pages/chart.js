// A chart of lines over time on a canvas. All charts of a page share one cursor.
//
// A value that is not known is null: the line has a gap there. Times are those of the console, so that hosts with other clocks are in one order.

import { make, say } from "./page.js";
import { clock } from "./words.js";

const MARGIN = { left: 56, right: 12, top: 10, bottom: 22 };
const HEIGHT = 170;
const SERIES_MAX = 16;
/** Colours of lines, as the stylesheet has them; after the last one they come again, with dashes. */
const COLOURS = 8;

const charts = new Set();
let cursor = null;

function moveCursor(time) {
  cursor = time;
  charts.forEach((chart) => chart.draw());
}

addEventListener("theme", () => charts.forEach((chart) => chart.draw()));

/** The smallest of 1, 2, 5 times a power of ten that is not below. */
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least * 0.999);
}

/** Whole minutes or seconds between marks of the time axis. */
function timeStep(span, room) {
  const steps = [10, 30, 60, 120, 300, 600, 900, 1800].map((seconds) => seconds * 1000);
  return steps.find((step) => span / step <= room) ?? 3_600_000;
}

export class Chart {
  /** `format` writes a value; `unit` stands behind the title; with `whole` there are no marks between whole numbers. */
  constructor({ title, unit = "", format, whole = false }) {
    Object.assign(this, { title, format, whole, times: [], series: [], marks: [], from: 0, to: 1, visible: true });
    this.canvas = make("canvas", {
      tabindex: "0", role: "img", "aria-label": title,
      pointermove: (event) => moveCursor(this.timeAt(event.offsetX)), pointerleave: () => moveCursor(null),
      keydown: (event) => this.key(event), blur: () => moveCursor(null),
    });
    this.legend = make("ul", { class: "legend" });
    this.when = make("span", { class: "when" });
    const caption = make("figcaption", {}, make("span", {}, title), unit ? make("small", {}, unit) : null, this.when);
    this.element = make("figure", { class: "chart" }, caption, this.canvas, this.legend);
    this.sizes = new ResizeObserver(() => this.draw());
    this.sizes.observe(this.element);
    this.sight = new IntersectionObserver((entries) => {
      this.visible = entries.at(-1).isIntersecting;
      if (this.visible) this.draw();
    });
    this.sight.observe(this.element);
    charts.add(this);
  }

  close() {
    charts.delete(this);
    this.sizes.disconnect();
    this.sight.disconnect();
  }

  /** A series is { name, values, colour, dashed }, of which the last two may be left out, with as many values as there are times. A mark is { time, text }. */
  show({ times, series, marks, from, to }) {
    Object.assign(this, { times, marks, from, to, series: series.slice(0, SERIES_MAX) });
    if (this.legend.children.length !== this.series.length) {
      this.legend.replaceChildren(...this.series.map(() => make("li", {}, make("i"), make("span"), make("b"))));
    }
    this.series.forEach((line, at) => {
      const [key, name] = this.legend.children[at].children;
      key.className = `key c${this.colour(line, at)}${this.dashed(line, at) ? " dashed" : ""}`;
      say(name, line.name);
    });
    this.draw();
  }

  dashed(line, at) {
    return line.dashed ?? at >= COLOURS;
  }

  colour(line, at) {
    return (line.colour ?? at) % COLOURS;
  }

  key(event) {
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -30, PageDown: 30 };
    if (event.key === "Escape") moveCursor(null);
    if (!(event.key in steps) || this.times.length === 0) return;
    event.preventDefault();
    const at = cursor === null ? this.times.length - 1 : this.indexAt(cursor) + steps[event.key];
    moveCursor(this.times[Math.max(0, Math.min(this.times.length - 1, at))]);
  }

  timeAt(x) {
    const width = this.canvas.clientWidth - MARGIN.left - MARGIN.right;
    const share = Math.max(0, Math.min(1, (x - MARGIN.left) / width));
    return this.from + share * (this.to - this.from);
  }

  /** The sample that is nearest to a time. */
  indexAt(time) {
    let low = 0;
    let high = this.times.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] < time) low = middle + 1;
      else high = middle;
    }
    return low > 0 && time - this.times[low - 1] < this.times[low] - time ? low - 1 : low;
  }

  draw() {
    const width = this.canvas.parentElement.clientWidth;
    if (width === 0 || !this.visible) return;
    const ratio = devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(HEIGHT * ratio);
    }
    const style = getComputedStyle(this.canvas);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const brush = this.canvas.getContext("2d");
    brush.setTransform(ratio, 0, 0, ratio, 0, 0);
    brush.clearRect(0, 0, width, HEIGHT);
    brush.font = `11px ${style.fontFamily}`;
    const area = { left: MARGIN.left, top: MARGIN.top, width: width - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom };
    const top = this.axes(brush, area, colour);
    const x = (time) => area.left + (area.width * (time - this.from)) / (this.to - this.from);
    const y = (value) => area.top + area.height * (1 - value / top);
    this.drawMarks(brush, area, x, colour);
    this.series.forEach((line, at) => this.line(brush, line, at, x, y, colour));
    this.tell(brush, area, x, y, colour);
  }

  /** Returns the value at the upper end. */
  axes(brush, area, colour) {
    let highest = 0;
    const first = this.times.length > 0 ? this.indexAt(this.from) : 0;
    for (const { values } of this.series) {
      for (let at = first; at < values.length; at += 1) if (values[at] > highest) highest = values[at];
    }
    const step = niceStep(this.whole ? Math.max(1, highest / 4) : (highest || 1) / 4);
    const top = Math.max(step, Math.ceil((highest * 1.02) / step) * step);
    brush.textBaseline = "middle";
    brush.textAlign = "right";
    brush.lineWidth = 1;
    for (let value = 0; value <= top * 1.001; value += step) {
      const at = Math.round(area.top + area.height * (1 - value / top)) + 0.5;
      brush.strokeStyle = colour(value === 0 ? "axis" : "grid");
      brush.beginPath();
      brush.moveTo(area.left, at);
      brush.lineTo(area.left + area.width, at);
      brush.stroke();
      brush.fillStyle = colour("quiet");
      brush.fillText(this.format(value), area.left - 6, at);
    }
    const span = this.to - this.from;
    const stepMs = timeStep(span, area.width / 70);
    brush.textAlign = "center";
    brush.textBaseline = "top";
    for (let time = Math.ceil(this.from / stepMs) * stepMs; time <= this.to; time += stepMs) {
      const at = area.left + (area.width * (time - this.from)) / span;
      if (at < area.left + 12 || at > area.left + area.width - 12) continue;
      brush.fillText(stepMs < 60_000 ? clock(time) : clock(time).slice(0, 5), at, area.top + area.height + 6);
    }
    return top;
  }

  drawMarks(brush, area, x, colour) {
    brush.save();
    brush.setLineDash([3, 3]);
    brush.strokeStyle = colour("axis");
    brush.fillStyle = colour("quiet");
    brush.textAlign = "left";
    brush.textBaseline = "top";
    let free = -Infinity;
    for (const mark of this.marks.filter(({ time }) => time >= this.from && time <= this.to)) {
      const at = Math.round(x(mark.time)) + 0.5;
      brush.beginPath();
      brush.moveTo(at, area.top);
      brush.lineTo(at, area.top + area.height);
      brush.stroke();
      const width = brush.measureText(mark.text).width + 8;
      if (at > free && at + width < area.left + area.width) {
        brush.fillText(mark.text, at + 4, area.top);
        free = at + width;
      }
    }
    brush.restore();
  }

  /** Of the samples that fall on one pixel, the highest and the lowest are drawn. */
  line(brush, line, number, x, y, colour) {
    brush.save();
    brush.strokeStyle = colour(`c${this.colour(line, number)}`);
    brush.lineWidth = 1.6;
    brush.lineJoin = "round";
    if (this.dashed(line, number)) brush.setLineDash([5, 4]);
    brush.beginPath();
    let open = false;
    let column = null;
    const flush = () => {
      if (column === null) return;
      if (open) brush.lineTo(column.x, y(column.first));
      else brush.moveTo(column.x, y(column.first));
      if (column.high !== column.low) {
        brush.lineTo(column.x, y(column.high));
        brush.lineTo(column.x, y(column.low));
        brush.lineTo(column.x, y(column.last));
      } else if (!open) brush.lineTo(column.x + 0.5, y(column.first));
      open = true;
      column = null;
    };
    for (let at = Math.max(0, this.indexAt(this.from) - 1); at < this.times.length; at += 1) {
      const value = line.values[at];
      const gap = value === null || value === undefined || (at > 0 && this.times[at] - this.times[at - 1] > 5_000);
      if (gap) {
        flush();
        open = false;
        if (value === null || value === undefined) continue;
      }
      const place = Math.round(Math.max(MARGIN.left, x(this.times[at])) * 2) / 2;
      if (column !== null && column.x !== place) flush();
      if (column === null) column = { x: place, first: value, last: value, high: value, low: value };
      else Object.assign(column, { last: value, high: Math.max(column.high, value), low: Math.min(column.low, value) });
    }
    flush();
    brush.stroke();
    brush.restore();
  }

  /** The values at the cursor, or the newest ones. */
  tell(brush, area, x, y, colour) {
    const pointed = cursor !== null && cursor >= this.from && cursor <= this.to && this.times.length > 0;
    const at = pointed ? this.indexAt(cursor) : this.times.length - 1;
    if (pointed) {
      const place = Math.round(x(this.times[at])) + 0.5;
      brush.strokeStyle = colour("text");
      brush.beginPath();
      brush.moveTo(place, area.top);
      brush.lineTo(place, area.top + area.height);
      brush.stroke();
    }
    const texts = this.series.map((line, number) => {
      const value = line.values[at];
      const known = value !== null && value !== undefined;
      if (pointed && known) {
        brush.fillStyle = colour(`c${this.colour(line, number)}`);
        brush.beginPath();
        brush.arc(x(this.times[at]), y(value), 3, 0, 7);
        brush.fill();
      }
      const text = known ? this.format(value) : "–";
      say(this.legend.children[number].lastChild, text);
      return `${line.name} ${text}`;
    });
    say(this.when, pointed ? clock(this.times[at]) : "");
    const label = `${this.title}${pointed ? ` at ${clock(this.times[at])}` : ""}: ${texts.join(", ") || "no samples yet"}`;
    if (this.canvas.getAttribute("aria-label") !== label) this.canvas.setAttribute("aria-label", label);
  }
}
