// A run that goes on, or poses that sliders set: the socket, the controls beside the scene, pulls at bodies.

import * as THREE from "three";
import { short } from "./plot.js";

const PULL = 0xb0289b;
// pixels within which a press is a click
const CLICK = 4;
// rows in the list of frames
const MOST = 300;

const $ = (id) => document.getElementById(id);
const make = (tag, more = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), more);
  element.append(...children);
  return element;
};
const plain = (v) => String(Number(v.toPrecision(4)));

export class Live {
  // `on` is told of changes: frame(), state(), and gone()
  constructor(run, scene, on) {
    Object.assign(this, { run, scene, on, kind: run.live.kind, state: { playing: false, pace: 1, told: [] }, follows: true, force: 0 });
    document.body.classList.add("live", this.kind);
    this.#controls();
    $("tools-frames").open = this.kind === "poses";
    if (this.kind === "poses") $("tools-commands").firstElementChild.textContent = "Joints";
    $("tools-commands").hidden = !run.live.controls.length;
    $("tools-settings").hidden = this.kind === "poses";
    $("reset").addEventListener("click", () => this.ask({ do: "reset" }));
    $("set-other").addEventListener("click", () => this.#set($("other-key").value, $("other-value").value));
    for (const id of ["other-key", "other-value"]) $(id).addEventListener("keydown", (event) => { if (event.key === "Enter") $("set-other").click(); });
    $("settings-search").addEventListener("input", () => this.#filter());
    if (scene) {
      this.#arrow();
      if (this.kind === "run") this.#drag();
    }
    const socket = new WebSocket(`${location.origin.replace("http", "ws")}/socket${location.search}`);
    socket.binaryType = "arraybuffer";
    const opened = new Promise((resolve) => socket.addEventListener("open", resolve));
    this.send = (text) => opened.then(() => socket.send(text));
    this.next();
    socket.addEventListener("message", ({ data }) => (typeof data === "string" ? this.#hear(JSON.parse(data)) : this.#frame(data)));
    socket.addEventListener("close", () => on.gone());
  }

  ask(what) {
    this.say(null);
    this.send(JSON.stringify(what));
  }

  // one frame at a time is on its way: a slow picture does not fall behind
  next() {
    this.send("next");
  }

  #frame(data) {
    const pull = this.run.push(data);
    this.force = Math.hypot(pull[0], pull[1], pull[2]);
    this.waits = true;
    this.on.frame();
  }

  #hear(said) {
    if (said.refused !== undefined) {
      this.say(said.refused);
      this.#show();
    } else if (said.settings) {
      this.#settings(said.settings);
    } else {
      if (said.page !== this.run.live.page) location.reload();
      this.state = said;
      this.scene?.markOverlaps(new Set((said.overlaps ?? []).flatMap(([a, b]) => [a, b])));
      const overlaps = said.overlaps ?? [];
      $("overlaps").hidden = !overlaps.length;
      const name = (body) => this.run.bodies[body];
      $("overlaps").textContent = overlaps.map(([a, b, depth]) => `${name(a)} and ${name(b)} overlap by ${short(depth)} m`).join("\n");
      this.on.state();
    }
  }

  // what was wrong with the last thing that was asked
  say(words) {
    $("refused").hidden = words === null;
    $("refused").textContent = words ?? "";
  }

  get command() {
    const { run } = this, n = run.commands.length;
    return this.kind === "poses" || !run.qCmd.length ? null : run.qCmd.subarray(run.qCmd.length - n);
  }

  #controls() {
    const names = this.run.coordinates;
    this.rows = this.run.live.controls.map((control, k) => {
      const { name, unit, lower, upper } = control;
      const range = make("input", { type: "range", min: lower, max: upper, step: "any" });
      const number = make("input", { type: "text", inputMode: "decimal" });
      range.setAttribute("aria-label", name);
      number.setAttribute("aria-label", `${name}, number`);
      number.title = `${plain(lower)} to ${plain(upper)} ${unit}`.trim();
      const free = make("button", { textContent: "↺", title: this.kind === "poses" ? "Back to the start" : "Back to the scene's command" });
      const tell = (value) => this.ask({ do: "command", control: k, value });
      range.addEventListener("input", () => { number.value = plain(Number(range.value)); tell(Number(range.value)); });
      number.addEventListener("change", () => {
        const value = Number(number.value.replace(",", "."));
        if (number.value.trim() && Number.isFinite(value)) tell(value);
        else { this.say(`${name}: "${number.value}" was given; give a number from ${plain(lower)} to ${plain(upper)} ${unit}`.trim()); this.#show(); }
      });
      free.addEventListener("click", () => tell(null));
      const row = make("div", { className: "control" }, make("span", { textContent: name, title: name }), range, number, make("em", { textContent: unit }), free);
      $("controls").append(row);
      return { range, number, free, row, lower, coordinate: names.indexOf(name) };
    });
    const bodies = this.run.bodies.map((name, body) => ({ name, body, pose: [1, 0, 0, 0, 0, 0, 0] })).slice(1);
    // links without shapes are among the bodies
    const others = this.run.namedFrames.filter(({ name }) => !this.run.bodies.includes(name));
    this.frames = [...bodies, ...others].slice(0, MOST).map(({ name, body, pose: [w, x, y, z, ...p] }) => {
      const cells = Array.from({ length: 6 }, () => make("td"));
      $("frames").append(make("tr", {}, make("th", { textContent: name, title: name }), ...cells));
      return { body, cells, place: new THREE.Vector3(...p), turn: new THREE.Quaternion(x, y, z, w) };
    });
  }

  // sliders at what holds now, where nobody holds them
  #show() {
    const { command, run } = this;
    this.rows.forEach(({ range, number, free, row, coordinate }, k) => {
      const told = this.state.told[k] ?? null;
      const value = told ?? (command ? command[k] : coordinate < 0 ? NaN : run.q[run.q.length - run.coordinates.length + coordinate]);
      row.classList.toggle("told", told !== null);
      free.disabled = told === null;
      if (!Number.isFinite(value)) return;
      if (document.activeElement !== range || told === null) range.value = value;
      if (document.activeElement !== number) number.value = plain(value);
    });
    for (const [input, value] of this.inputs ?? []) if (document.activeElement !== input) input.value = value;
  }

  #settings(settings) {
    $("settings").replaceChildren();
    this.inputs = new Map();
    for (const { key, value } of settings) {
      const input = make("input", { type: "text", value });
      input.setAttribute("aria-label", key);
      input.addEventListener("change", () => this.#set(key, input.value));
      this.inputs.set(input, value);
      $("settings").append(make("label", { title: key }, make("span", { textContent: key }), input));
    }
    $("settings-search").hidden = settings.length < 10;
    this.#filter();
  }

  #filter() {
    const words = $("settings-search").value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of $("settings").children) row.hidden = !words.every((w) => row.title.toLowerCase().includes(w));
  }

  #set(key, value) {
    this.ask({ do: "set", key, value });
  }

  #arrow() {
    this.arrow = new THREE.ArrowHelper(new THREE.Vector3(0, 0, 1), new THREE.Vector3(), 1, PULL);
    for (const part of [this.arrow.line, this.arrow.cone]) {
      Object.assign(part.material, { depthTest: false, transparent: true });
      part.renderOrder = 5;
      part.raycast = () => {};
    }
    this.arrow.visible = false;
    this.scene.world.add(this.arrow);
  }

  // a body that is dragged hangs on a spring to the pointer, in the plane of the picture through the point
  #drag() {
    const canvas = this.scene.renderer.domElement, stage = $("stage");
    const at = (event) => [2 * event.offsetX / stage.clientWidth - 1, 1 - 2 * event.offsetY / stage.clientHeight];
    const end = () => {
      if (!this.held) return;
      if (this.held.moved) this.ask({ do: "release" });
      this.held = null;
      this.scene.controls.enabled = true;
      this.on.frame();
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (!event.isPrimary || event.button !== 0 || event.shiftKey || event.ctrlKey) return;
      const hit = this.scene.hit(...at(event));
      if (!hit || !(this.run.roles[hit.body] > 0)) return;
      // the view stays where it is
      this.scene.controls.enabled = false;
      try { canvas.setPointerCapture(event.pointerId); } catch { /* a pointer that is not there any more */ }
      const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(this.scene.camera.getWorldDirection(new THREE.Vector3()), hit.point);
      const own = this.scene.groups[hit.body].worldToLocal(hit.point.clone());
      this.held = { body: hit.body, own, plane, from: [event.offsetX, event.offsetY], to: hit.point, moved: false };
    }, { capture: true });
    canvas.addEventListener("pointermove", (event) => {
      const { held } = this;
      if (!held) return;
      if (!held.moved && Math.hypot(event.offsetX - held.from[0], event.offsetY - held.from[1]) <= CLICK) return;
      const to = this.scene.meet(held.plane, ...at(event));
      if (!to) return;
      held.to = to;
      held.moved = true;
      this.ask({ do: "pull", body: held.body, at: held.own.toArray(), to: to.toArray() });
      this.on.frame();
    });
    for (const type of ["pointerup", "pointercancel", "lostpointercapture"]) canvas.addEventListener(type, end);
  }

  // after the bodies are placed
  draw() {
    this.#show();
    const held = this.held?.moved ? this.held : null, label = $("pull");
    label.hidden = !held;
    if (this.arrow) this.arrow.visible = Boolean(held);
    if (held) {
      const point = this.scene.groups[held.body].localToWorld(held.own.clone());
      const along = held.to.clone().sub(point), length = Math.max(1e-9, along.length());
      this.arrow.position.copy(point);
      this.arrow.setDirection(along.normalize());
      this.arrow.setLength(length, Math.min(0.3 * length, 0.06 * this.scene.size), Math.min(0.2 * length, 0.03 * this.scene.size));
      label.textContent = `${short(this.force)} N`;
      const { clientWidth: w, clientHeight: h } = $("stage"), p = held.to.clone().project(this.scene.camera);
      label.style.transform = `translate(${(p.x + 1) / 2 * w + 10}px, ${(1 - p.y) / 2 * h - 10}px)`;
    }
    if ($("tools-frames").open && this.scene) {
      for (const { body, cells, place, turn } of this.frames) {
        const { position, quaternion } = this.scene.groups[body];
        const p = P.copy(place).applyQuaternion(quaternion).add(position);
        // roll, pitch and yaw about fixed axes
        const e = EULER.setFromQuaternion(Q.copy(quaternion).multiply(turn), "ZYX");
        [p.x, p.y, p.z, e.x, e.y, e.z].forEach((v, i) => { cells[i].textContent = (Math.abs(v) < 5e-5 ? 0 : v).toFixed(4).replace("-", "−"); });
      }
    }
    if (this.waits) {
      this.waits = false;
      this.next();
    }
  }
}

const EULER = new THREE.Euler(), P = new THREE.Vector3(), Q = new THREE.Quaternion();
