// The recording as the page reads it: typed arrays, poses between frames, contacts of a step.

import { Quaternion, Vector3 } from "three";

function bytes(text) {
  const raw = atob(text), out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out.buffer;
}
export const floats = (text) => new Float32Array(bytes(text));
export const colors = (text) => new Uint8Array(bytes(text));
export const directions = (text) => new Int8Array(bytes(text));
export const indices = (text) => new Uint32Array(bytes(text));

// numbers that are compressed, the lowest byte of all of them first, then the next byte of all
async function column(text, Numbers) {
  const inflated = new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(inflated).arrayBuffer());
  const size = Numbers.BYTES_PER_ELEMENT, n = planes.length / size, out = new Uint8Array(planes.length);
  for (let k = 0; k < size; k++) for (let i = 0; i < n; i++) out[i * size + k] = planes[k * n + i];
  return new Numbers(out.buffer);
}

// a live page keeps up to so many frames and contacts
const MOST_FRAMES = 4000, MOST_CONTACTS = 200000;

export const MODES = ["separate", "stick", "slide"];

export class Run {
  static async read(json) {
    const run = new Run(json), frames = json.frames;
    const columns = {
      t: Float64Array, q: Float64Array, qCmd: Float64Array, effort: Float64Array, poses: Float32Array,
      nContacts: Uint32Array, p: Float32Array, n: Float32Array, force: Float32Array, phi: Float32Array,
      phiNext: Float32Array, normalForce: Float32Array, spin: Float32Array, mu: Float32Array,
      a: Uint32Array, b: Uint32Array, mode: Uint32Array,
      ...(json.sensors && { sensors: Float32Array }),
    };
    await Promise.all(Object.entries(columns).map(async ([name, Numbers]) => {
      run[name] = await column(frames[name], Numbers);
    }));
    run.first = [0];
    for (const n of run.nContacts) run.first.push(run.first.at(-1) + n);
    run.maxContacts = run.nContacts.reduce((most, n) => Math.max(most, n), 0);
    run.begin = run.nFrames ? run.t[0] : 0;
    run.end = run.nFrames ? run.t[run.nFrames - 1] : 0;
    return run;
  }

  constructor(json) {
    Object.assign(this, {
      title: json.title || json.scene, scene: json.scene, stopped: json.stopped, timeStep: json.time_step,
      thinned: json.thinned, bodies: json.bodies, coordinates: json.coordinates, commands: json.commands,
      fit: json.fit, action: json.first, direction: json.direction, roles: json.roles, units: json.units ?? [], start: json.start, goals: json.goals ?? [], namedFrames: json.namedFrames ?? [], curves: json.curves ?? [], live: json.live ?? null, nFrames: json.frames.nFrames, saidOfUniqueness: json.frames.uniqueness,
    });
    // pairs of bodies whose arrows show the force on the first
    this.onFirst = new Set(json.onFirst.map(([a, b]) => a * this.bodies.length + b));
    // where the readings of each sensor begin among those of a step, and how many a step has
    this.nReadings = 0;
    this.instruments = (json.sensors ?? []).map((sensor) => {
      const n = sensor.shape.reduce((product, extent) => product * extent, 1), first = this.nReadings;
      this.nReadings += n;
      return { ...sensor, first, n };
    });
    // what shapes share is stored once
    const pool = json.pool;
    this.shapes = json.shapes.map((s) => ({
      ...s, geometry: pool[s.geometry], paint: s.paint && { ...s.paint, image: pool[s.paint.image] },
    }));
    this.nMoving = json.moving.length;
    // row of each body among the moving ones, −1 if it stands still
    this.row = new Int32Array(this.bodies.length).fill(-1);
    json.moving.forEach((body, row) => { this.row[body] = row; });
  }

  // Adds a frame that the socket of a live page brought, little-endian: counts, then columns. One that is not later
  // begins anew, but for a frame that is there already. Returns the force that pulls a body (N) and its point (m).
  push(buffer) {
    const [nCmd, nReadings, nBodies, n, nQ] = new Uint32Array(buffer, 0, 5);
    let at = 24;
    const take = (Numbers, count) => new Numbers(buffer.slice(at, (at += count * Numbers.BYTES_PER_ELEMENT)));
    const pull = take(Float64Array, 6), t = take(Float64Array, 1);
    if (this.live.kind === "run" && this.nFrames && t[0] === this.end) return pull;
    if (t[0] <= this.end) this.#drop(this.nFrames);
    const begins = !this.nFrames;
    const add = (name, Numbers, count, keep = true) => {
      const values = take(Numbers, count);
      if (keep) this.#append(name, values);
      return values;
    };
    this.#append("t", t);
    add("q", Float64Array, nQ);
    // the first frame has no commands, no efforts and no readings
    add("qCmd", Float64Array, nCmd, !begins);
    add("effort", Float64Array, nCmd, !begins);
    add("sensors", Float32Array, nReadings, !begins && this.nReadings > 0);
    add("poses", Float32Array, 7 * nBodies);
    const a = add("a", Uint32Array, n), b = add("b", Uint32Array, n);
    add("mode", Uint32Array, n);
    const force = ["p", "n", "force"].map((name) => add(name, Float32Array, 3 * n)).at(-1);
    for (const name of ["phi", "phiNext", "normalForce", "spin", "mu"]) add(name, Float32Array, n);
    this.#append("nContacts", Uint32Array.of(n));
    this.first.push(this.first.at(-1) + n);
    this.maxContacts = Math.max(this.maxContacts, n);
    for (let i = 0; i < n; i++) this.#receiver(a[i], b[i], force[3 * i + 2]);
    this.nFrames += 1;
    if (this.nFrames > MOST_FRAMES || this.a.length > MOST_CONTACTS) this.#drop(this.nFrames >> 1);
    [this.begin, this.end] = [this.t[0], this.t[this.nFrames - 1]];
    return pull;
  }

  // on which body of a new pair arrows show the force: as recordings do it, from the pair's first contact
  #receiver(a, b, up) {
    this.pairs ??= new Set();
    const key = a * this.bodies.length + b;
    if (this.pairs.has(key)) return;
    this.pairs.add(key);
    const [one, other] = [this.roles[a], this.roles[b]];
    const onLarger = (a < b ? up : -up) >= 0;
    if (one > other || (one === other && (a > b) === onLarger)) this.onFirst.add(key);
  }

  #append(name, values) {
    const used = this[name]?.length ?? 0, end = used + values.length;
    this.stores ??= {};
    let store = this.stores[name];
    if (!store || store.length < end) {
      store = this.stores[name] = new values.constructor(2 * end + 16);
      if (used) store.set(this[name]);
    }
    store.set(values, used);
    this[name] = store.subarray(0, end);
  }

  // forgets the oldest frames
  #drop(k) {
    this.stores ??= {};
    const from = this.first[k], nCmd = this.commands.length;
    const widths = {
      t: 1, nContacts: 1, q: this.coordinates.length, poses: 7 * this.nMoving, qCmd: nCmd, effort: nCmd, ...(this.nReadings && { sensors: this.nReadings }),
    };
    const ofContacts = { a: 1, b: 1, mode: 1, p: 3, n: 3, force: 3, phi: 1, phiNext: 1, normalForce: 1, spin: 1, mu: 1 };
    const cut = (name, start) => { this[name] = this.stores[name] = this[name].slice(start); };
    for (const [name, width] of Object.entries(widths)) cut(name, k * width);
    for (const [name, width] of Object.entries(ofContacts)) cut(name, from * width);
    this.first = this.first.slice(k).map((first) => first - from);
    this.nFrames -= k;
  }

  // frame at or before a time, and how far the time is towards the next one
  locate(time) {
    let low = 0, high = this.nFrames - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.t[middle] <= time) low = middle; else high = middle - 1;
    }
    if (low >= this.nFrames - 1) return [Math.max(0, this.nFrames - 1), 0];
    return [low, Math.min(1, Math.max(0, (time - this.t[low]) / (this.t[low + 1] - this.t[low])))];
  }

  // the frame whose step covers a time: its contacts are the ones that act; at the start the first step's
  stepFrame(time) {
    const [k, u] = this.locate(time);
    return u > 1e-6 || k === 0 ? Math.min(k + 1, Math.max(0, this.nFrames - 1)) : k;
  }

  #pose(k, body, p, q) {
    const row = this.row[body];
    const a = row < 0 ? this.start[body] : this.poses;
    const i = row < 0 ? 0 : 7 * (k * this.nMoving + row);
    q.set(a[i + 1], a[i + 2], a[i + 3], a[i]);
    p.set(a[i + 4], a[i + 5], a[i + 6]);
  }

  // places of a body's origin from frame to frame, without those where it rests
  trace(body, least) {
    const places = [];
    for (let k = 0; k < this.nFrames; k++) {
      this.#pose(k, body, P, Q);
      if (!places.length || P.distanceTo(places.at(-1)) > least) places.push(P.clone());
    }
    return places;
  }

  pose(time, body, p, q) {
    const [k, u] = this.locate(time);
    this.#pose(k, body, p, q);
    if (u > 0 && this.row[body] >= 0) {
      this.#pose(k + 1, body, P, Q);
      p.lerp(P, u);
      q.slerp(Q, u);
    }
  }

  // what the step that covers a time says of other answers, null if nothing
  uniqueness(time) {
    const said = this.saidOfUniqueness, answer = said?.steps[this.stepFrame(time)] ?? null;
    return answer === null ? null : said.answers[answer];
  }

  // contacts of the step that covers a time, each point carried along by its body
  contacts(time) {
    const k = this.stepFrame(time);
    const out = [];
    const shared = this.uniqueness(time);
    for (let i = this.first[k]; i < this.first[k + 1]; i++) {
      const c = this.contact(i);
      const place = shared ? shared.shared.indexOf(i - this.first[k]) : -1;
      if (place >= 0) c.split = shared.normal_is_unique[place] ? "friction" : "force";
      if (k > 0) {
        const body = c.b === 0 ? c.a : c.b;
        this.#pose(k - 1, body, P0, Q0);
        this.pose(time, body, P1, Q1);
        c.p.sub(P0).applyQuaternion(Q0.invert()).applyQuaternion(Q1).add(P1);
      }
      out.push(c);
    }
    return out;
  }

  contact(i) {
    const vector = (v) => new Vector3(v[3 * i], v[3 * i + 1], v[3 * i + 2]);
    return {
      a: this.a[i], b: this.b[i], mode: this.mode[i],
      p: vector(this.p), n: vector(this.n), force: vector(this.force),
      phi: this.phi[i], phiNext: this.phiNext[i], normalForce: this.normalForce[i], spin: this.spin[i], mu: this.mu[i],
    };
  }

  // 1 if arrows of a contact show the force on its second body, −1 on its first, 0 if the contact has no part in the selected body
  sign(c, selected) {
    if (selected < 0) return this.onFirst.has(c.a * this.bodies.length + c.b) ? -1 : 1;
    return c.b === selected ? 1 : c.a === selected ? -1 : 0;
  }

  // largest force of each pair of bodies, N, ascending
  pairForces() {
    const largest = new Map();
    for (let i = 0; i < this.a.length; i++) {
      const [a, b] = [this.a[i], this.b[i]], key = Math.min(a, b) * this.bodies.length + Math.max(a, b);
      largest.set(key, Math.max(largest.get(key) ?? 0, Math.hypot(this.force[3 * i], this.force[3 * i + 1], this.force[3 * i + 2])));
    }
    return [...largest.values()].sort((x, y) => x - y);
  }

  largestSpin() {
    return this.spin.reduce((most, spin) => Math.max(most, Math.abs(spin)), 0);
  }
}

const [P, P0, P1] = [new Vector3(), new Vector3(), new Vector3()];
const [Q, Q0, Q1] = [new Quaternion(), new Quaternion(), new Quaternion()];
