// The tree of bodies: models and their bodies, each to hide, to pin and to select.

import { short } from "./plot.js";

export class Tree {
  // `on` is told of changes: select(body or −1), pin(body or −1), hide(body, hidden)
  constructor(run, root, on) {
    Object.assign(this, { run, on });
    this.rows = run.bodies.map(() => null);
    this.hidden = new Set();
    this.selected = this.pinned = -1;
    this.models = [];
    const models = new Map();
    run.bodies.forEach((name, body) => {
      const model = name.split("/")[0];
      if (!models.has(model)) models.set(model, []);
      models.get(model).push(body);
    });
    for (const [model, bodies] of models) {
      if (bodies.length === 1) {
        root.append(this.#row(bodies[0], model));
        continue;
      }
      const group = document.createElement("details"), head = document.createElement("summary");
      const eye = checkbox(`Show ${model}`);
      eye.addEventListener("change", () => bodies.forEach((body) => this.hide(body, !eye.checked)));
      const title = document.createElement("span");
      title.textContent = `${model} (${bodies.length})`;
      head.append(eye, title);
      group.append(head);
      // rows of a thousand bodies are made when they are looked at
      const fill = () => {
        if (group.children.length > 1) return;
        for (const body of bodies) group.append(this.#row(body, run.bodies[body].slice(model.length + 1)));
        this.#mark();
      };
      group.addEventListener("toggle", fill);
      root.append(group);
      this.models.push({ bodies, eye, group, fill });
    }
    this.#mark();
  }

  #row(body, name) {
    const row = document.createElement("div");
    row.className = "body";
    const eye = checkbox(`Show ${name}`);
    eye.addEventListener("change", () => this.hide(body, !eye.checked));
    const pick = document.createElement("button"), pin = document.createElement("button");
    pick.textContent = pick.title = name;
    pick.className = "pick";
    pick.addEventListener("click", () => this.select(this.selected === body ? -1 : body));
    pin.textContent = "pin";
    pin.title = `The view follows ${name}`;
    pin.className = "pin";
    pin.addEventListener("click", () => this.pin(this.pinned === body ? -1 : body));
    row.append(eye, pick, pin);
    this.rows[body] = { row, eye, pick, pin };
    return row;
  }

  // bodies of a name of the address: a body, or all of a model
  named(name) {
    const all = this.run.bodies.map((_, body) => body);
    const own = all.filter((body) => this.run.bodies[body] === name);
    return own.length ? own : all.filter((body) => this.run.bodies[body].split("/")[0] === name);
  }

  hide(body, hidden = true) {
    if (hidden) this.hidden.add(body); else this.hidden.delete(body);
    this.#mark();
    this.on.hide(body, hidden);
  }

  showAll() {
    for (const body of [...this.hidden]) this.hide(body, false);
  }

  select(body) {
    this.selected = body;
    for (const { bodies, group, fill } of this.models) {
      if (!bodies.includes(body)) continue;
      group.open = true;
      fill();
    }
    this.#mark();
    this.rows[body]?.row.scrollIntoView({ block: "nearest" });
    this.on.select(body);
  }

  pin(body) {
    this.pinned = body;
    this.#mark();
    this.on.pin(body);
  }

  #mark() {
    this.rows.forEach((row, body) => {
      if (!row) return;
      row.eye.checked = !this.hidden.has(body);
      for (const [button, on] of [[row.pick, body === this.selected], [row.pin, body === this.pinned]]) {
        button.classList.toggle("on", on);
        button.setAttribute("aria-pressed", on);
      }
    });
    for (const { bodies, eye } of this.models) {
      const count = bodies.filter((body) => this.hidden.has(body)).length;
      eye.checked = count < bodies.length;
      eye.indeterminate = count > 0 && count < bodies.length;
    }
  }
}

function checkbox(label) {
  const box = document.createElement("input");
  box.type = "checkbox";
  box.checked = true;
  box.setAttribute("aria-label", label);
  box.title = label;
  return box;
}

// what is known of a body at the time that is shown
export function facts(run, body, place, contacts) {
  const own = contacts.filter((c) => c.a === body || c.b === body);
  const sum = own.reduce((all, c) => all.map((v, k) => v + (c.b === body ? 1 : -1) * c.force.getComponent(k)), [0, 0, 0]);
  const three = (v) => v.map(short).join(", ");
  return [
    ["position", `${three(place.position.toArray())} m`],
    ["contacts", String(own.length)],
    ["contact force", `${three(sum)} N`],
    ["size of it", `${short(Math.hypot(...sum))} N`],
  ];
}
