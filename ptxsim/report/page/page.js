// The page itself: which launch is shown, its data, theme, keys. Charts, timeline and source are files of their own.
"use strict";
const Page = { run: null, data: null, drawers: [] };

Page.unpack = async (text) => {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
};

// What draws a part of a run: drawer(data, run), called when the run is shown.
Page.draws = (drawer) => Page.drawers.push(drawer);

Page.number = d3.format(",.0f");
Page.short = (value) => (value < 1000 ? d3.format(".3~g")(value) : d3.format(".3~s")(value));

// From Okabe and Ito's colours, the others moved until every pair is told apart by eyes without red, green or blue.
Page.reasons = {
  long_scoreboard: "#0072b2", lg_throttle: "#55a5fe", short_scoreboard: "#e69f00", mio_throttle: "#cfaa52",
  barrier: "#d55e00", membar: "#c679a8", gmma: "#009e73", math_pipe_throttle: "#71d890", wait: "#515c59",
  branch_resolve: "#818b49", no_instruction: "#462e9c", imc_miss: "#aeb4ed", not_selected: "#dcbbce", drain: "#00506e",
};

Page.show = async (number) => {
  const runs = [...document.querySelectorAll(".run")];
  const run = runs[number];
  if (!run || run === Page.run) return;
  for (const other of runs) other.hidden = other !== run;
  for (const row of document.querySelectorAll("[data-show]"))
    row.classList.toggle("current", row.dataset.show === String(number));
  Page.run = run;
  Page.number_shown = number;
  const listing = document.getElementById(run.dataset.listing);
  for (const other of document.querySelectorAll(".source")) other.hidden = other !== listing;
  if (listing) run.querySelector(".source-here").append(listing);
  Page.listing = listing;
  Page.data = await Page.unpack(run.querySelector("script").textContent);
  for (const draw of Page.drawers) draw(Page.data, run);
  document.body.dataset.ready = String(number);
};

// The element of a line of PTX.
Page.line = (number) => document.getElementById(`${Page.listing?.dataset.prefix ?? ""}line-${number}`);

Page.go = (element) => {
  if (!element) return;
  for (const other of document.querySelectorAll(".here")) other.classList.remove("here");
  element.classList.add("here");
  element.closest("details")?.setAttribute("open", "");
  element.scrollIntoView({ block: "center" });
};

Page.theme = () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  Page.redraw();
};

Page.redraw = () => Page.data && Page.drawers.forEach((draw) => draw(Page.data, Page.run));

let found = -1;
const stepFinding = (by) => {
  const all = [...Page.run.querySelectorAll(".finding")];
  if (!all.length) return;
  found = (found + by + all.length) % all.length;
  Page.go(all[found]);
};
const hot = { at: -1 };
const stepHot = (by) => {
  const lines = Object.entries(Page.data.lines)
    .map(([line, row]) => [Number(line), d3.sum(Object.values(row.r ?? {})) || (row.w ?? 0) - (row.i ?? 0)])
    .filter(([, cost]) => cost > 0)
    .sort((a, b) => b[1] - a[1]);
  if (!lines.length) return;
  hot.at = Math.min(Math.max(hot.at + by, 0), lines.length - 1);
  Page.go(Page.line(lines[hot.at][0]));
};
const KEYS = {
  n: () => stepFinding(1), p: () => stepFinding(-1), h: () => stepHot(1), H: () => stepHot(-1), t: Page.theme,
  "]": () => Page.show(Page.number_shown + 1), "[": () => Page.show(Page.number_shown - 1),
  "?": () => document.getElementById("keys").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /input|select|textarea/i.test(event.target.tagName)) return;
  if (/^[1-9]$/.test(event.key)) {
    const heading = Page.run.querySelectorAll("h2")[Number(event.key) - 1];
    if (heading) heading.scrollIntoView({ block: "start" });
  } else if (KEYS[event.key]) KEYS[event.key]();
  else return;
  event.preventDefault();
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#line-']");
  const row = event.target.closest("[data-show]");
  const does = event.target.closest("[data-do]");
  if (link) {
    event.preventDefault();
    Page.go(Page.line(link.getAttribute("href").slice(6)));
  } else if (row) Page.show(Number(row.dataset.show));
  else if (does) ({ theme: Page.theme, keys: KEYS["?"] })[does.dataset.do]();
});

window.addEventListener("load", () => {
  const first = document.body.dataset.first ?? "0";
  Page.show(Number(first)).then(() => {
    document.body.dataset.ms = String(Math.round(performance.now()));
    if (location.hash) Page.go(document.getElementById(location.hash.slice(1)));
  });
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => Page.redraw());
