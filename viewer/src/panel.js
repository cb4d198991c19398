// The plots beside the scene and the list to choose from.

import { Pad } from "./pad.js";
import { Plot, PALETTE } from "./plot.js";
import { allSeries, firstChoice, groupsOf } from "./series.js";

export class Panel {
  constructor(run, onScrub) {
    this.run = run;
    this.onScrub = onScrub;
    this.list = allSeries(run);
    this.chosen = firstChoice(this.list, run);
    this.plots = [];
    this.root = document.getElementById("plots");
    const pads = run.instruments.filter((sensor) => sensor.kind === "pressure");
    this.pads = pads.map((sensor) => new Pad(document.getElementById("pads"), run, sensor));
    this.search = document.getElementById("search");
    this.search.addEventListener("input", () => this.#filter());
    this.#chooser();
    this.#rebuild();
  }

  // the run has gone on: the same series longer, and new ones
  renew() {
    const before = this.list, old = new Set(before.map((s) => s.id));
    this.list = allSeries(this.run);
    if (!this.picked) this.chosen = firstChoice(this.list, this.run);
    const shown = this.plots.flatMap((plot) => plot.list.map((s) => s.id));
    const wanted = this.list.filter((s) => this.chosen.has(s.id)).map((s) => s.id);
    if (this.list.length !== old.size || !this.list.every((s) => old.has(s.id)) || String(shown.sort()) !== String(wanted.sort())) {
      this.#chooser();
      this.#filter();
      this.#rebuild();
      return;
    }
    const now = new Map(this.list.map((s) => [s.id, s]));
    for (const row of this.rows) row.s = now.get(row.s.id);
    for (const plot of this.plots) plot.renew(plot.list.map((s) => Object.assign(now.get(s.id), { color: s.color })));
  }

  #chooser() {
    const root = document.getElementById("series");
    root.replaceChildren();
    this.rows = [];
    for (const group of groupsOf(this.run)) {
      const members = this.list.filter((s) => s.group === group.id);
      if (!members.length) continue;
      const heading = document.createElement("h3");
      heading.textContent = group.title;
      root.append(heading);
      for (const s of members) {
        const label = document.createElement("label");
        const box = document.createElement("input");
        box.type = "checkbox";
        box.checked = this.chosen.has(s.id);
        box.addEventListener("change", () => this.#choose(s.id, box.checked));
        const name = document.createElement("span");
        name.textContent = s.name;
        label.append(box, name);
        root.append(label);
        this.rows.push({ s, label, box, heading });
      }
    }
  }

  #filter() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const headings = new Set();
    for (const { s, label, heading } of this.rows) {
      const text = `${s.group} ${s.name}`.toLowerCase();
      label.hidden = !words.every((w) => text.includes(w));
      if (!label.hidden) headings.add(heading);
    }
    for (const { heading } of this.rows) heading.hidden = !headings.has(heading);
  }

  #choose(id, on) {
    this.picked = true;
    if (on) this.chosen.add(id); else this.chosen.delete(id);
    for (const row of this.rows) if (row.s.id === id) row.box.checked = on;
    this.#rebuild();
    this.draw(this.time);
  }

  #rebuild() {
    this.root.replaceChildren();
    this.plots = [];
    for (const group of groupsOf(this.run)) {
      const members = this.list.filter((s) => s.group === group.id && this.chosen.has(s.id));
      if (!members.length) continue;
      members.forEach((s, i) => { s.color = PALETTE[i % PALETTE.length]; });
      const wanted = members.find((s) => s.command);
      const dashed = wanted ? `, ${wanted.dashed ?? "commands"} dashed` : "";
      const plot = new Plot(this.root, group.title + dashed, this.run, this.onScrub, (s) => this.#choose(s.id, false));
      plot.set(members);
      this.plots.push(plot);
    }
    if (!this.plots.length) {
      const note = document.createElement("div");
      note.className = "empty";
      note.textContent = this.list.length ? "Choose below what to plot." : "This recording has nothing to plot.";
      this.root.append(note);
    }
  }

  repaint() {
    for (const plot of this.plots) plot.repaint();
  }

  draw(time) {
    this.time = time;
    for (const part of [...this.pads, ...this.plots]) part.draw(time);
  }
}
