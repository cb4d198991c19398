// The recording as the page reads it: typed arrays, poses between frames, contacts of a step.

import { Quaternion, Vector3 } from "three";

const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
export const floats = (text) => new Float32Array(bytes(text));
export const doubles = (text) => new Float64Array(bytes(text));
export const colors = (text) => new Uint8Array(bytes(text));
export const directions = (text) => new Int8Array(bytes(text));
export const indices = (text) => new Uint32Array(bytes(text));

export const MODES = ["separate", "stick", "slide"];

export class Run {
  constructor(json) {
    Object.assign(this, {
      title: json.title || json.scene, scene: json.scene, stopped: json.stopped, timeStep: json.time_step,
      bodies: json.bodies, coordinates: json.coordinates, commands: json.commands,
      fit: json.fit, start: json.start, nFrames: json.n_frames, saidOfUniqueness: json.uniqueness,
    });
    // what shapes share is stored once
    const pool = json.pool;
    this.shapes = json.shapes.map((s) => ({
      ...s, geometry: pool[s.geometry], paint: s.paint && { ...s.paint, image: pool[s.paint.image] },
    }));
    this.t = doubles(json.t);
    this.q = doubles(json.q);
    this.qCmd = doubles(json.q_cmd);
    this.effort = doubles(json.effort);
    this.poses = floats(json.poses);
    this.nMoving = json.moving.length;
    // row of each body among the moving ones, −1 if it stands still
    this.row = new Int32Array(this.bodies.length).fill(-1);
    json.moving.forEach((body, row) => { this.row[body] = row; });
    this.first = [0];
    for (const n of json.n_contacts) this.first.push(this.first.at(-1) + n);
    this.maxContacts = Math.max(0, ...json.n_contacts);
    this.vectors = floats(json.contact_vectors);
    this.scalars = doubles(json.contact_scalars);
    this.indices = indices(json.contact_indices);
    this.begin = this.nFrames ? this.t[0] : 0;
    this.end = this.nFrames ? this.t[this.nFrames - 1] : 0;
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

  // the frame whose step covers a time: its contacts are the ones that act
  stepFrame(time) {
    const [k, u] = this.locate(time);
    return u > 1e-6 ? k + 1 : k;
  }

  #pose(k, body, p, q) {
    const row = this.row[body];
    const a = row < 0 ? this.start[body] : this.poses;
    const i = row < 0 ? 0 : 7 * (k * this.nMoving + row);
    q.set(a[i + 1], a[i + 2], a[i + 3], a[i]);
    p.set(a[i + 4], a[i + 5], a[i + 6]);
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
    const v = this.vectors.subarray(9 * i), s = this.scalars.subarray(5 * i), n = this.indices.subarray(3 * i);
    return {
      a: n[0], b: n[1], mode: n[2],
      p: new Vector3(v[0], v[1], v[2]), n: new Vector3(v[3], v[4], v[5]), force: new Vector3(v[6], v[7], v[8]),
      phi: s[0], phiNext: s[1], normalForce: s[2], spin: s[3], mu: s[4],
    };
  }

  largestSpin() {
    let largest = 0;
    for (let i = 3; i < this.scalars.length; i += 5) largest = Math.max(largest, Math.abs(this.scalars[i]));
    return largest;
  }

  largestForce() {
    let largest = 0;
    for (let i = 0; i < this.vectors.length; i += 9) {
      largest = Math.max(largest, Math.hypot(this.vectors[i + 6], this.vectors[i + 7], this.vectors[i + 8]));
    }
    return largest;
  }
}

const [P, P0, P1] = [new Vector3(), new Vector3(), new Vector3()];
const [Q, Q0, Q1] = [new Quaternion(), new Quaternion(), new Quaternion()];
