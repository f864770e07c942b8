// The text of the kernel: numbers and findings at its lines, and the lines of CUDA or Python that belong to them.
"use strict";
{
  const sumInto = (into, row) => {
    for (const name of ["w", "i", "s", "m", "n"]) if (row[name]) into[name] = (into[name] ?? 0) + row[name];
    for (const [reason, value] of Object.entries(row.r ?? {})) (into.r ??= {})[reason] = (into.r[reason] ?? 0) + value;
    return into;
  };
  const waited = (row) => d3.sum(Object.values(row.r ?? {}));

  // Scroll a line's own pane to it, and nothing else.
  const into = (line) => {
    const pane = line.closest(".pane");
    pane.scrollTop += line.getBoundingClientRect().top - pane.getBoundingClientRect().top - 180;
  };

  const add = (line, name, text, title) => {
    const cell = document.createElement("i");
    cell.className = name;
    cell.textContent = text;
    if (title) cell.title = title;
    line.append(cell);
    return cell;
  };

  const fill = (line, row, total, most) => {
    if (row.w) {
      const cell = add(line, "w", `${Page.number(row.w)} of ${Page.number(row.i)}`, "shared-memory wavefronts, the fewest possible");
      if (row.w > row.i) cell.classList.add("over");
    } else if (row.s) {
      const cell = add(line, "w", `${Page.number(row.s)} s of ${Page.number(row.m)}`, "sectors of global memory, the fewest possible");
      if (row.s > row.m) cell.classList.add("over");
    }
    const all = waited(row);
    if (!all) return;
    const reasons = Object.entries(row.r).sort((a, b) => b[1] - a[1]);
    const says = reasons.map(([name, value]) => `${name} ${d3.format(".0%")(value / all)}`).join(", ");
    const cell = add(line, "r", "", `${d3.format(".1%")(all / total)} of the waiting: ${says}; issued ${row.n ?? 0} times`);
    for (const [name, value] of reasons) {
      const bar = document.createElement("s");
      bar.style.width = `${(70 * value) / most}px`;
      bar.style.background = Page.reasons[name] ?? "#888";
      cell.append(bar);
    }
    if (all < 0.01 * total) return;
    const name = document.createElement("em");
    name.textContent = ` ${reasons[0][0]}`;
    cell.append(` ${d3.format(".0%")(all / total)}`, name);
  };

  const say = (line, found, number, times = 1) => {
    line.classList.add("marked");
    const note = document.createElement("div");
    note.className = `said ${found.level}`;
    const link = document.createElement("a");
    link.href = `#${Page.run.dataset.prefix}finding-${number}`;
    link.textContent = `${found.level}: ${found.name}`;
    note.append(link, times > 1 ? ` (${times} times): ${found.message}` : `: ${found.message}`);
    line.append(note);
  };

  Page.draws((data, run) => {
    const listing = Page.listing;
    if (!listing) return;
    for (const old of listing.querySelectorAll(".l > i, .said")) old.remove();
    for (const old of listing.querySelectorAll(".marked")) old.classList.remove("marked");
    const rows = Object.entries(data.lines);
    const total = d3.sum(rows, ([, row]) => waited(row)) || 1;
    const most = d3.max(rows, ([, row]) => waited(row)) || 1;
    const originals = new Map();
    for (const [number, row] of rows) {
      const line = Page.line(number);
      if (!line) continue;
      fill(line, row, total, most);
      if (line.dataset.o) originals.set(line.dataset.o, sumInto(originals.get(line.dataset.o) ?? {}, row));
    }
    const largest = d3.max(originals.values(), waited) || 1;
    for (const [place, row] of originals) {
      const line = original(place);
      if (line) fill(line, row, total, largest);
    }
    const written = new Map(); // findings of a line of the author's by name: a loop may be unrolled
    data.found.forEach((found, number) => {
      const line = Page.line(found.line);
      if (!line) return;
      say(line, found, number);
      const key = `${line.dataset.o} ${found.name}`;
      if (line.dataset.o && original(line.dataset.o)) written.set(key, [...(written.get(key) ?? []), [line.dataset.o, found, number]]);
    });
    for (const [[place, found, number], ...more] of written.values()) say(original(place), found, number, 1 + more.length);
    const hottest = d3.greatest(rows, ([, row]) => waited(row) || row.w || 0);
    const first = listing.querySelector(".ptx .marked") ?? (hottest && Page.line(hottest[0]));
    if (first && run !== shown) into(first);
    shown = run;
  });
  let shown = null;

  const original = (place) => {
    const [file, line] = place.split(":");
    return document.getElementById(`${Page.listing.dataset.prefix}file-${file}-${line}`);
  };

  // A click on a line marks what belongs to it on the other side.
  document.addEventListener("click", (event) => {
    const line = event.target.closest(".l");
    if (!line || event.target.closest("a")) return;
    for (const other of document.querySelectorAll(".mate")) other.classList.remove("mate");
    const listing = line.closest(".source");
    const file = line.closest(".original");
    const place = file ? `${file.dataset.file}:${line.querySelector("b").textContent}` : line.dataset.o;
    if (!place) return;
    const mates = [...listing.querySelectorAll(`.ptx .l[data-o="${place}"]`)];
    const written = original(place);
    for (const mate of [...mates, written]) mate?.classList.add("mate");
    const target = file ? mates[0] : written;
    if (target) into(target);
  });
}
