// Warps and engines over time, who ended whose wait; a canvas that zooms.
"use strict";
{
  const ROW = 16, GUTTER = 190, AXIS = 22;
  const [TRACK, BEGIN, LENGTH, WHAT, LINE, BY] = [0, 1, 2, 3, 4, 5];

  const absolute = (columns) => {
    if (columns.length) for (let i = 1, begins = columns[BEGIN]; i < begins.length; i++) begins[i] += begins[i - 1];
    return columns;
  };
  // Indices of a kind's spans by track, in order of time.
  const byTrack = (columns, count) => {
    const lists = Array.from({ length: count }, () => []);
    (columns[TRACK] ?? []).forEach((track, i) => lists[track].push(i));
    return lists;
  };
  const before = (columns, list, x) => list[d3.bisector((i) => columns[BEGIN][i]).right(list, x) - 1];

  class Timeline {
    constructor(box, data) {
      Object.assign(this, { box, data, chosen: null, track: 0, off: new Set() });
      if (!data.isAbsolute) for (const kind of ["blocks", "waits", "work"]) absolute(data[kind]);
      data.isAbsolute = true;
      this.lists = Object.fromEntries(["blocks", "waits", "work"].map((kind) => [kind, byTrack(data[kind], data.tracks.length)]));
      this.end = d3.max(["blocks", "waits", "work"].flatMap((k) => (data[k][BEGIN] ?? []).map((b, i) => b + data[k][LENGTH][i]))) || 1;
      box.replaceChildren();
      this.controls();
      this.canvas = box.appendChild(document.createElement("canvas"));
      Object.assign(this.canvas, { tabIndex: 0 });
      this.canvas.setAttribute("role", "application");
      this.canvas.setAttribute("aria-label", `Timeline of ${data.tracks.length} tracks over ${this.end} cycles; arrow keys move, plus and minus zoom, Enter goes to the next wait`);
      this.says = box.appendChild(document.createElement("output"));
      this.says.setAttribute("aria-live", "polite");
      this.says.textContent = "Click a wait to see who ended it.";
      this.zoom = d3.zoom().scaleExtent([1, Math.max(2, this.end / 20)])
        .filter((e) => e.type !== "wheel" || e.ctrlKey || e.metaKey || document.activeElement === this.canvas)
        .on("zoom", (e) => { this.transform = e.transform; this.draw(); });
      this.transform = d3.zoomIdentity;
      this.size();
      d3.select(this.canvas).call(this.zoom).on("dblclick.zoom", null);
      this.canvas.addEventListener("click", (e) => this.click(e));
      this.canvas.addEventListener("mousemove", (e) => this.hover(e));
      this.canvas.addEventListener("keydown", (e) => this.key(e));
      new ResizeObserver(() => this.size()).observe(box);
    }

    controls() {
      const bar = this.box.appendChild(document.createElement("div"));
      bar.className = "controls";
      const button = (text, title, does) => {
        const made = bar.appendChild(document.createElement("button"));
        Object.assign(made, { textContent: text, title, onclick: does });
        return made;
      };
      button("+", "Zoom in", () => this.by(2));
      button("−", "Zoom out", () => this.by(0.5));
      button("all", "Show all of it", () => this.reset());
      const used = [...new Set(this.data.waits[WHAT] ?? [])].map((i) => this.data.reasons[i]);
      for (const reason of Object.keys(Page.reasons).filter((name) => used.includes(name))) {
        const made = button(reason, `Hide or show waits: ${reason}`, () => {
          this.off.has(reason) ? this.off.delete(reason) : this.off.add(reason);
          made.setAttribute("aria-pressed", String(!this.off.has(reason)));
          this.draw();
        });
        made.className = "reason";
        made.setAttribute("aria-pressed", "true");
        made.style.setProperty("--colour", Page.reasons[reason]);
      }
    }

    size() {
      const width = this.box.clientWidth;
      if (!width || width === this.width) return;
      this.width = width;
      this.height = AXIS + ROW * this.data.tracks.length;
      const scale = window.devicePixelRatio || 1;
      Object.assign(this.canvas, { width: width * scale, height: this.height * scale });
      Object.assign(this.canvas.style, { width: `${width}px`, height: `${this.height}px` });
      this.context = this.canvas.getContext("2d");
      this.context.scale(scale, scale);
      this.zoom.extent([[GUTTER, 0], [width, this.height]]).translateExtent([[GUTTER, 0], [width, this.height]]);
      this.base = d3.scaleLinear([0, this.end], [GUTTER, width - 8]);
      this.draw();
    }

    get x() { return this.transform.rescaleX(this.base); }
    y(track) { return AXIS + ROW * track; }
    by(factor) { d3.select(this.canvas).call(this.zoom.scaleBy, factor); }
    reset() { d3.select(this.canvas).call(this.zoom.transform, d3.zoomIdentity); }

    draw() {
      const { context: c, data, width } = this, x = this.x;
      const ink = getComputedStyle(document.body).color, faint = getComputedStyle(this.canvas).color;
      c.clearRect(0, 0, width, this.height);
      c.font = "11px system-ui, sans-serif";
      c.textBaseline = "middle";
      const [low, high] = x.range().map(x.invert);
      data.tracks.forEach(([name], track) => {
        const y = this.y(track);
        c.fillStyle = track === this.track && document.activeElement === this.canvas ? ink : faint;
        c.fillText(name, 4, y + ROW / 2, GUTTER - 8);
      });
      c.save();
      c.beginPath();
      c.rect(GUTTER, 0, width - GUTTER, this.height);
      c.clip();
      this.axis(x, faint);
      data.tracks.forEach((_, track) => {
        const y = this.y(track);
        this.spans("blocks", track, low, high, x, (x0, w) => { c.fillStyle = "#8883"; c.fillRect(x0, y + 2, Math.max(w - 0.5, 0.3), ROW - 4); });
        this.spans("work", track, low, high, x, (x0, w) => { c.fillStyle = "#009e73"; c.fillRect(x0, y + 3, Math.max(w, 0.6), ROW - 6); });
        this.spans("waits", track, low, high, x, (x0, w, i) => {
          const reason = data.reasons[data.waits[WHAT][i]];
          if (this.off.has(reason)) return;
          c.fillStyle = Page.reasons[reason] ?? "#888";
          c.fillRect(x0, y + 4, Math.max(w, 0.6), ROW - 8);
        });
      });
      this.arrows(x, low, high, ink);
      c.restore();
    }

    axis(x, faint) {
      const c = this.context;
      c.fillStyle = faint;
      c.strokeStyle = "#8883";
      for (const tick of x.ticks(Math.max(2, (this.width - GUTTER) / 110))) {
        c.fillText(Page.number(tick), x(tick) + 3, AXIS / 2);
        c.beginPath(); c.moveTo(x(tick), 0); c.lineTo(x(tick), this.height); c.stroke();
      }
    }

    // Calls draw for each span in sight; of those that share a pixel, for the first.
    spans(kind, track, low, high, x, draw) {
      const columns = this.data[kind], list = this.lists[kind][track];
      let last = -1;
      const first = Math.max(0, d3.bisector((i) => columns[BEGIN][i]).left(list, low) - 1);
      for (let k = first; k < list.length; k++) {
        const i = list[k], begin = columns[BEGIN][i];
        if (begin > high) break;
        const x0 = x(begin), x1 = x(begin + columns[LENGTH][i]);
        if (x1 < GUTTER || x1 - last < 0.5) continue;
        last = x1;
        draw(x0, x1 - x0, i);
      }
    }

    arrows(x, low, high, ink) {
      const { waits } = this.data, c = this.context, visible = [];
      for (let i = 0; i < (waits[BEGIN]?.length ?? 0) && visible.length < 300; i++) {
        const end = waits[BEGIN][i] + waits[LENGTH][i];
        if (waits[BY][i] >= 0 && end >= low && end <= high && !this.off.has(this.data.reasons[waits[WHAT][i]])) visible.push(i);
      }
      const drawn = visible.length < 300 ? visible : [];
      if (this.chosen !== null && waits[BY][this.chosen] >= 0) drawn.push(this.chosen);
      for (const i of drawn) {
        const at = x(waits[BEGIN][i] + waits[LENGTH][i]);
        const from = this.y(waits[BY][i]) + ROW / 2, to = this.y(waits[TRACK][i]) + ROW / 2;
        c.globalAlpha = i === this.chosen ? 1 : 0.3;
        c.strokeStyle = c.fillStyle = ink;
        c.lineWidth = i === this.chosen ? 2 : 1;
        c.beginPath(); c.moveTo(at, from); c.lineTo(at, to); c.stroke();
        c.beginPath(); c.arc(at, from, 2.5, 0, 7); c.fill();
        const up = Math.sign(from - to) * 5;
        c.beginPath(); c.moveTo(at, to); c.lineTo(at - 3, to + up); c.lineTo(at + 3, to + up); c.fill();
      }
      c.globalAlpha = c.lineWidth = 1;
      if (this.chosen !== null) {
        const x0 = x(waits[BEGIN][this.chosen]), w = x(waits[BEGIN][this.chosen] + waits[LENGTH][this.chosen]) - x0;
        c.strokeStyle = ink;
        c.strokeRect(x0, this.y(waits[TRACK][this.chosen]) + 1, Math.max(w, 2), ROW - 2);
      }
    }

    at(event) {
      const box = this.canvas.getBoundingClientRect();
      const track = Math.floor((event.clientY - box.top - AXIS) / ROW), cycle = this.x.invert(event.clientX - box.left);
      if (track < 0 || track >= this.data.tracks.length) return null;
      const slack = this.x.invert(GUTTER + 2) - this.x.invert(GUTTER);
      const hit = (kind) => {
        const i = before(this.data[kind], this.lists[kind][track], cycle + slack);
        return i !== undefined && cycle <= this.data[kind][BEGIN][i] + this.data[kind][LENGTH][i] + slack ? i : -1;
      };
      return { track, wait: hit("waits"), block: hit("blocks"), work: hit("work") };
    }

    hover(event) {
      const at = this.at(event);
      this.canvas.title = !at ? "" : at.wait >= 0 ? this.sentence(at.wait) : at.block >= 0 ? this.blockText(at.block)
        : at.work >= 0 ? `${this.data.tracks[at.track][0]}: busy for ${Page.number(this.data.work[LENGTH][at.work])} cycles` : "";
    }

    blockText(i) {
      const b = this.data.blocks;
      return `${this.data.tracks[b[TRACK][i]][0]}: lines ${b[4][i]} to ${b[5][i]}, CTA ${b[3][i]} of this SM, cycles ${Page.number(b[BEGIN][i])} to ${Page.number(b[BEGIN][i] + b[LENGTH][i])}`;
    }

    sentence(i) {
      const w = this.data.waits, by = w[BY][i];
      return `${this.data.tracks[w[TRACK][i]][0]} waited ${Page.number(w[LENGTH][i])} cycles (${Page.number(w[BEGIN][i])} to ${Page.number(w[BEGIN][i] + w[LENGTH][i])}) `
        + `before line ${w[LINE][i]}: ${this.data.reasons[w[WHAT][i]]}${by >= 0 ? `; ended by ${this.data.tracks[by][0]}` : ""}`;
    }

    choose(i) {
      this.chosen = i;
      this.track = this.data.waits[TRACK][i];
      this.says.replaceChildren(this.sentence(i) + " ");
      const link = this.says.appendChild(document.createElement("a"));
      Object.assign(link, { href: `#line-${this.data.waits[LINE][i]}`, textContent: "show the line" });
      this.draw();
    }

    click(event) {
      this.canvas.focus();
      const at = this.at(event);
      if (!at) return;
      this.track = at.track;
      if (at.wait >= 0) this.choose(at.wait);
      else {
        this.says.textContent = at.block >= 0 ? this.blockText(at.block) : "";
        this.draw();
      }
    }

    key(event) {
      const list = this.lists.waits[this.track];
      const step = (by) => {
        const at = list.indexOf(this.chosen);
        const next = list[Math.min(Math.max(at < 0 ? 0 : at + by, 0), list.length - 1)];
        if (next === undefined) return;
        this.choose(next);
        const x = this.x(this.data.waits[BEGIN][next]);
        if (x < GUTTER || x > this.width) d3.select(this.canvas).call(this.zoom.translateTo, this.base(this.data.waits[BEGIN][next]), 0);
      };
      const move = (by) => d3.select(this.canvas).call(this.zoom.translateBy, by / this.transform.k, 0);
      const does = {
        "+": () => this.by(2), "=": () => this.by(2), "-": () => this.by(0.5), 0: () => this.reset(),
        ArrowLeft: () => move(120), ArrowRight: () => move(-120), Enter: () => step(event.shiftKey ? -1 : 1),
        ArrowUp: () => { this.track = Math.max(0, this.track - 1); this.draw(); },
        ArrowDown: () => { this.track = Math.min(this.data.tracks.length - 1, this.track + 1); this.draw(); },
      }[event.key];
      if (!does) return;
      does();
      event.preventDefault();
      event.stopPropagation();
    }
  }

  Page.draws((data, run) => {
    const box = run.querySelector("[data-chart=timeline]");
    if (!box || !data.timeline) return;
    if (box.timeline) box.timeline.draw();
    else box.timeline = new Timeline(box, data.timeline);
  });
}
