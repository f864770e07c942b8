// Stalls, pipes, roofline, occupancy, memory, who waits for whom, and two runs side by side: drawings by d3.
"use strict";
{
  const svg = (box, width, height, says) => {
    d3.select(box).selectAll("svg").remove();
    return d3.select(box).append("svg").attr("viewBox", `0 0 ${width} ${height}`).attr("width", width).attr("height", height)
      .attr("role", "img").attr("aria-label", says);
  };
  const label = (parent, x, y, text, anchor = "start", cls = "") =>
    parent.append("text").attr("x", x).attr("y", y).attr("text-anchor", anchor).attr("class", cls).text(text);
  const chart = (name, draw) =>
    Page.draws((data, run) => {
      const box = run.querySelector(`[data-chart=${name}]`);
      if (box && (data.profile || name === "against")) draw(box, data.profile, data);
    });
  const percent = d3.format(".0%");

  // Rows of [name, value, colour, text].
  const bars = (box, rows, most, says, marked = () => false) => {
    const left = 170, width = 620, high = 20;
    const x = d3.scaleLinear([0, most || 1], [0, width - left - 190]);
    const g = svg(box, width, rows.length * high + 4, says);
    rows.forEach(([name, value, colour, text], i) => {
      label(g, left - 8, i * high + 14, name, "end");
      g.append("rect").attr("x", left).attr("y", i * high + 4).attr("height", high - 7).attr("width", Math.max(1, x(value))).attr("fill", colour);
      label(g, left + x(value) + 6, i * high + 14, text, "start", marked(name) ? "strong" : "faint");
    });
  };

  chart("stalls", (box, profile) => {
    const rows = Object.entries(profile.stalls).filter(([, v]) => v > 0), total = d3.sum(rows, (r) => r[1]);
    bars(box, rows.map(([name, v]) => [name, v, Page.reasons[name] ?? "#888", percent(v / total)]), d3.max(rows, (r) => r[1]), "Why warps wait, by reason");
  });

  chart("pipes", (box, profile) => {
    const rows = Object.entries(profile.pipes).sort((a, b) => b[1] - a[1]).slice(0, 8);
    bars(box, [["issue slots", profile.issue, "#0072b2", percent(profile.issue)], ...rows.map(([name, v]) => [name, v, "#009e73", percent(v)])], 1, "Share of the time that each pipe was busy");
  });

  chart("occupancy", (box, profile) => {
    const held = profile.occupancy, rows = Object.entries(held.limits);
    const says = `${held.ctas} CTAs of ${held.warps} warps; limited by ${held.limiter}`;
    bars(box, rows.map(([name, v]) => [name, Math.min(v, 32), name === held.limiter ? "#d55e00" : "#8c8c8c",
      `${v} CTA${v === 1 ? "" : "s"}${name === held.limiter ? " - the limit" : ""}`]), d3.max(rows, ([, v]) => Math.min(v, 32)), says, (name) => name === held.limiter);
  });

  chart("roofline", (box, profile) => {
    const roof = profile.roofline, width = 620, height = 330, m = { l: 62, r: 16, t: 14, b: 44 };
    const done = Object.entries(roof?.operations ?? {}).filter(([, v]) => v > 0);
    if (!done.length) { box.textContent = "No floating-point or matrix operation was executed."; return; }
    const points = done.flatMap(([type, ops]) => Object.entries(roof.bytes).filter(([, b]) => b > 0)
      .map(([level, bytes]) => ({ type, level, x: ops / bytes, y: ops / roof.cycles })));
    const rates = roof.compute.map((c) => c.rate), top = d3.max(rates.length ? rates : [1]) * 2;
    const balance = roof.memory.flatMap((b) => rates.map((r) => r / b.rate));
    const x = d3.scaleLog([Math.min(0.05, d3.min(points, (p) => p.x) / 2 || 0.05), Math.max(...balance, ...points.map((p) => p.x), 100) * 2], [m.l, width - m.r]);
    const y = d3.scaleLog([Math.min(1, d3.min(points, (p) => p.y) / 2), top], [height - m.b, m.t]);
    const g = svg(box, width, height, `Roofline: ${points.map((p) => `${p.type} at ${Page.short(p.x)} operations a byte of ${p.level}, ${Page.short(p.y)} operations a cycle`).join("; ")}`);
    g.append("g").attr("transform", `translate(0,${height - m.b})`).call(d3.axisBottom(x).ticks(6, "~g"));
    g.append("g").attr("transform", `translate(${m.l},0)`).call(d3.axisLeft(y).ticks(6, "~g"));
    label(g, (m.l + width) / 2, height - 8, "operations per byte", "middle");
    label(g, 0, 0, "operations per cycle and SM", "middle").attr("transform", `translate(14,${height / 2}) rotate(-90)`);
    const dashes = ["", "6 3", "2 3"];
    const colour = d3.scaleOrdinal(["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"]);
    const highest = d3.max(rates.length ? rates : [1]);
    roof.memory.forEach((level, i) => {
      const stop = Math.min(highest / level.rate, x.domain()[1]), start = Math.max(x.domain()[0], y.domain()[0] / level.rate);
      if (start >= stop) return;
      g.append("line").attr("x1", x(start)).attr("y1", y(start * level.rate)).attr("x2", x(stop)).attr("y2", y(stop * level.rate))
        .attr("stroke", "currentColor").attr("stroke-dasharray", dashes[i]);
      const angle = (Math.atan2(y(stop * level.rate) - y(start * level.rate), x(stop) - x(start)) * 180) / Math.PI;
      const at = start * Math.pow(stop / start, 0.35);
      label(g, 0, -5, `${level.name}, ${Page.short(level.rate)} B/cycle`, "middle", "faint").attr("transform", `translate(${x(at)},${y(at * level.rate)}) rotate(${angle})`);
    });
    const fastest = d3.max(roof.memory, (b) => b.rate);
    roof.compute.forEach((c) => {
      g.append("line").attr("x1", x(Math.max(x.domain()[0], c.rate / fastest))).attr("x2", width - m.r).attr("y1", y(c.rate)).attr("y2", y(c.rate)).attr("stroke", colour(c.name)).attr("stroke-width", 2);
      label(g, width - m.r, y(c.rate) - 4, `${c.name}: ${Page.short(c.rate)}`, "end");
    });
    const symbols = Object.fromEntries(roof.memory.map((level, i) => [level.name, [d3.symbolCircle, d3.symbolSquare, d3.symbolTriangle][i]]));
    for (const p of points)
      g.append("path").attr("d", d3.symbol(symbols[p.level], 90)()).attr("transform", `translate(${x(p.x)},${y(p.y)})`).attr("fill", colour(p.type)).attr("stroke", "currentColor")
        .append("title").text(`${p.type}: ${Page.short(p.x)} operations per byte of ${p.level}, ${Page.short(p.y)} per cycle, ${percent(p.y / Math.min(roof.compute.find((c) => c.name === p.type)?.rate ?? Infinity, p.x * roof.memory.find((b) => b.name === p.level).rate))} of the roof`);
    roof.memory.filter((level) => points.some((p) => p.level === level.name)).forEach((level, i) => {
      g.append("path").attr("d", d3.symbol(symbols[level.name], 60)()).attr("transform", `translate(${m.l + 14},${m.t + 8 + 16 * i})`).attr("fill", "currentColor");
      label(g, m.l + 26, m.t + 12 + 16 * i, `bytes of ${level.name}`);
    });
  });

  chart("memory", (box, profile) => {
    const m = profile.memory, cycles = profile.cycles, width = 620, height = 190;
    const g = svg(box, width, height, "Bytes between the kernel, caches and memory");
    const node = (x, y, w, h, name, more) => {
      g.append("rect").attr("x", x).attr("y", y).attr("width", w).attr("height", h).attr("rx", 4).attr("class", "box");
      label(g, x + w / 2, y + h / 2 - 3, name, "middle", "strong");
      label(g, x + w / 2, y + h / 2 + 13, more, "middle", "faint");
    };
    const sector = 32;
    const arrow = (x0, x1, y, bytes, name, back = false) => {
      const thick = bytes > 0 ? Math.max(1.5, Math.min(9, Math.log2(bytes / 64 + 1))) : 0.5;
      const inset = bytes > 0 ? thick + 5 : 0;
      g.append("line").attr("x1", x0 + (back ? inset : 0)).attr("x2", x1 - (back ? 0 : inset)).attr("y1", y).attr("y2", y).attr("stroke", bytes > 0 ? (back ? "#d55e00" : "#0072b2") : "#8886").attr("stroke-width", thick);
      const tip = back ? x0 + 1 : x1 - 1, d = (back ? 1 : -1) * (thick + 5), half = thick / 2 + 4;
      if (bytes > 0) g.append("path").attr("d", `M${tip},${y} l${d},${-half} v${2 * half} z`).attr("fill", back ? "#d55e00" : "#0072b2");
      label(g, (x0 + x1) / 2, y - thick / 2 - 4, bytes > 0 ? `${Page.short(bytes)}B` : "-", "middle").append("title").text(`${name}: ${Page.number(bytes)} bytes, ${d3.format(".1f")(bytes / cycles)} per cycle`);
    };
    node(4, 12, 92, 164, "kernel", `SM ${profile.sm}`);
    node(186, 12, 110, 52, "L1", m.l1_sectors ? `${percent(m.l1_hit_sectors / m.l1_sectors)} hit` : "not used");
    node(186, 124, 110, 52, "shared memory", `${Page.number(m.shared_wavefronts)} cycles`);
    node(386, 12, 80, 164, "L2", "");
    node(540, 12, 76, 164, "DRAM", m.dram_sectors + m.dram_written ? "" : "L2 is warm");
    arrow(96, 186, 40, sector * m.l1_sectors, "loads through L1", true);
    arrow(96, 186, 152, 128 * m.shared_wavefronts, "shared-memory data path");
    arrow(296, 386, 40, sector * m.l2_read_sectors, "read from L2", true);
    arrow(96, 386, 98, sector * m.l2_write_sectors, "written to L2");
    arrow(296, 386, 152, m.bulk_bytes, "bulk and tensor copies (TMA)", true);
    arrow(466, 540, 68, sector * m.dram_sectors, "read from DRAM", true);
    arrow(466, 540, 118, sector * m.dram_written, "written to DRAM");
  });

  // Cycles that each warp slot waited for each track that ended the wait.
  Page.draws((data, run) => {
    const box = run.querySelector("[data-chart=whom]"), timeline = data.timeline;
    if (!box || !timeline) return;
    const [track, , length, , , by] = timeline.waits, sums = d3.rollup(d3.range(track?.length ?? 0).filter((i) => by[i] >= 0), (v) => d3.sum(v, (i) => length[i]), (i) => track[i], (i) => by[i]);
    const wakers = [...new Set([...sums.values()].flatMap((m) => [...m.keys()]))].sort(d3.ascending), waiters = [...sums.keys()].sort(d3.ascending);
    if (!waiters.length) { box.textContent = "No warp waited for another, or for an asynchronous engine."; return; }
    const size = 15, left = 96, top = 30 + 5.5 * d3.max(wakers, (w) => timeline.tracks[w][0].length), most = d3.max(sums.values(), (m) => d3.max(m.values()));
    const colour = d3.scaleSequentialSqrt([0, most], d3.interpolateCividis);
    const g = svg(box, left + wakers.length * size + 120, top + waiters.length * size + 6, "Cycles that warps waited, by who ended the wait");
    label(g, 4, top - 6, "waits");
    label(g, left - 8, 14, "ended by", "end");
    wakers.forEach((w, i) => label(g, 0, 0, timeline.tracks[w][0]).attr("transform", `translate(${left + i * size + 11},${top - 5}) rotate(-60)`));
    waiters.forEach((w, j) => {
      label(g, left - 6, top + j * size + 11, timeline.tracks[w][0], "end");
      wakers.forEach((v, i) => {
        const cycles = sums.get(w).get(v);
        g.append("rect").attr("x", left + i * size).attr("y", top + j * size).attr("width", size - 1).attr("height", size - 1).attr("class", "cell").attr("fill", cycles ? colour(cycles) : "none")
          .append("title").text(`${timeline.tracks[w][0]} waited ${Page.number(cycles ?? 0)} cycles for ${timeline.tracks[v][0]}`);
      });
    });
  });

  chart("against", (box, _, data) => {
    const pairs = JSON.parse(box.dataset.pairs), width = 620, left = 180, high = 34;
    const g = svg(box, width, pairs.length * high + 6, "Before and after");
    pairs.forEach(([name, before, after], i) => {
      const x = d3.scaleLinear([0, Math.max(before, after) || 1], [0, width - left - 160]);
      label(g, left - 8, i * high + 20, name, "end");
      [[before, "#8c8c8c", "before"], [after, after > before ? "#d55e00" : "#0072b2", "after"]].forEach(([value, colour, when], k) => {
        g.append("rect").attr("x", left).attr("y", i * high + 4 + 14 * k).attr("height", 11).attr("width", Math.max(1, x(value))).attr("fill", colour);
        label(g, left + x(value) + 5, i * high + 13 + 14 * k, `${Page.short(value)} ${when}`, "start", "faint");
      });
    });
  });
}
