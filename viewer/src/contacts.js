// Contact points, force arrows and friction cones; parts that a body hides shine through faintly.

import * as THREE from "three";
import { mergeGeometries } from "three/addons/utils/BufferGeometryUtils.js";

const COLORS = [0x8d95a1, 0x1a9c62, 0xe26a14].map((c) => new THREE.Color(c));
const UP = new THREE.Vector3(0, 1, 0);

export class Contacts {
  constructor(scene, run) {
    this.run = run;
    this.scene = scene;
    this.measure();
    this.log = this.wide;
    this.longest = 0.25 * scene.size;
    this.shown = { points: true, forces: true, cones: false };
    this.scale = 1;
    this.selected = -1;
    this.current = [];
    this.#build();
  }

  // scales of arrows, rings and dots from the contacts of the run
  measure() {
    const { run, scene } = this;
    // many dots bury what they lie on
    this.size = 0.011 * scene.size * Math.min(1, Math.max(0.4, Math.sqrt(60 / Math.max(1, run.maxContacts))));
    const forces = run.pairForces(), counts = forces.filter((force) => force > 1e-3 * forces.at(-1));
    const spin = run.largestSpin();
    // less is rounding
    this.largestSpin = spin > 1e-9 * scene.size * (forces.at(-1) ?? 0) ? spin : 0;
    this.spinScale = this.largestSpin > 0 ? 0.1 * scene.size / Math.sqrt(this.largestSpin) : 0;
    [this.least, this.most] = counts.length ? [counts[0], counts.at(-1)] : [0, 0];
    // with lengths in proportion, some pairs would show no arrow beside others
    this.wide = this.least < 0.15 * this.most;
  }

  #build() {
    const { run, scene } = this;
    const n = this.capacity = Math.max(1, run.live ? 2 * run.maxContacts : run.maxContacts);
    const cone = new THREE.ConeGeometry(1, 1, 40, 1, true).rotateX(Math.PI).translate(0, 0.5, 0);
    const [around, up] = scene.plain ? [6, 4] : [20, 12];
    this.layers = {
      points: [this.#layer(scene, new THREE.SphereGeometry(1, around, up), n)],
      forces: [
        this.#layer(scene, new THREE.CylinderGeometry(1, 1, 1, around).translate(0, 0.5, 0), n),
        this.#layer(scene, new THREE.ConeGeometry(1, 1, scene.plain ? 7 : 28).translate(0, 0.5, 0), n),
      ],
      spins: [this.#layer(scene, ring(scene.plain), n)],
      cones: [this.#layer(scene, cone, n, 0.22)],
    };
  }

  #layer(scene, geometry, n, opacity = 1) {
    const open = opacity < 1;
    // plain pictures have one layer, over all bodies
    const front = new THREE.InstancedMesh(geometry, new THREE.MeshLambertMaterial({
      transparent: open || scene.plain, opacity, depthWrite: !open && !scene.plain, depthTest: !scene.plain, side: open ? THREE.DoubleSide : THREE.FrontSide,
    }), n);
    const hidden = new THREE.InstancedMesh(geometry, new THREE.MeshBasicMaterial({
      transparent: true, opacity: open ? 0.1 : 0.4, depthWrite: false, depthFunc: THREE.GreaterDepth,
    }), n);
    front.setColorAt(0, COLORS[0]);
    hidden.instanceMatrix = front.instanceMatrix;
    hidden.instanceColor = front.instanceColor;
    const layers = scene.plain ? [front] : [front, hidden];
    for (const mesh of layers) {
      mesh.frustumCulled = false;
      mesh.raycast = () => {};
      mesh.count = 0;
      scene.world.add(mesh);
    }
    front.renderOrder = 1;
    hidden.renderOrder = 2;
    return layers;
  }

  // length of the arrow of a force, m
  length(force) {
    if (!(this.most > 0)) return 0;
    const share = this.log ? Math.log1p(force / this.least) / Math.log1p(this.most / this.least) : force / this.most;
    return share * this.longest * this.scale;
  }

  place(time) {
    if (this.run.maxContacts > this.capacity) {
      for (const mesh of Object.values(this.layers).flat(2)) {
        this.scene.world.remove(mesh);
        mesh.dispose();
        mesh.geometry.dispose();
      }
      this.#build();
    }
    this.current = this.run.contacts(time);
    for (const c of this.current) c.sign = this.run.sign(c, this.selected);
    const count = { points: 0, forces: 0, spins: 0, cones: 0 };
    for (const c of this.current) {
      const color = COLORS[c.mode];
      // far from both surfaces a dot says nothing
      if (this.shown.points && (c.normalForce > 0 || c.phiNext < this.size)) {
        this.#put(this.layers.points[0], count.points++, c.p, UP, this.size, this.size, color);
      }
      const length = this.length(c.force.length());
      if (this.shown.forces && c.sign && length > 0.5 * this.size) {
        const head = Math.min(3.2 * this.size, 0.6 * length);
        const d = c.force.clone().multiplyScalar(c.sign).normalize();
        this.#put(this.layers.forces[0], count.forces, c.p, d, 0.42 * this.size, length - head, color);
        const neck = c.p.clone().addScaledVector(d, length - head);
        this.#put(this.layers.forces[1], count.forces++, neck, d, 1.05 * this.size, head, color);
      }
      // an arrow around the normal; its area shows the torque
      const turn = Math.sqrt(Math.abs(c.spin)) * this.spinScale * Math.sqrt(this.scale);
      if (this.shown.forces && c.sign && turn > this.size) {
        const axis = c.n.clone().multiplyScalar(c.sign * Math.sign(c.spin));
        this.#put(this.layers.spins[0], count.spins++, c.p, axis, turn, turn, color);
      }
      const height = this.length(c.normalForce);
      if (this.shown.cones && c.sign && height > 0 && c.mu > 0) {
        const axis = c.n.clone().multiplyScalar(c.sign);
        this.#put(this.layers.cones[0], count.cones++, c.p, axis, c.mu * height, height, color);
      }
    }
    for (const [name, layers] of Object.entries(this.layers)) {
      for (const mesh of layers.flat()) {
        mesh.count = count[name];
        mesh.instanceMatrix.needsUpdate = true;
        mesh.instanceColor.needsUpdate = true;
      }
    }
  }

  #put([mesh], i, p, direction, radius, height, color) {
    MATRIX.compose(p, TURN.setFromUnitVectors(UP, direction), SIZE.set(radius, height, radius));
    mesh.setMatrixAt(i, MATRIX);
    mesh.setColorAt(i, color);
  }

  // contact whose point is nearest to a place on the canvas, in px; null if none is near
  pick(x, y, camera, width, height) {
    if (!this.shown.points && !this.shown.forces) return null;
    let best = null, nearest = 9;
    for (const c of this.current) {
      const s = c.p.clone().project(camera);
      const d = Math.hypot((s.x + 1) / 2 * width - x, (1 - s.y) / 2 * height - y);
      if (s.z < 1 && d < nearest) [best, nearest] = [c, d];
    }
    return best;
  }
}

// three quarters of a turn around y, right-handed, of radius 1, with a head
function ring(plain) {
  const shaft = new THREE.TorusGeometry(1, 0.05, ...(plain ? [3, 12] : [10, 48]), 1.5 * Math.PI);
  // the shaft ends at (0, -1), running along +x
  const head = new THREE.ConeGeometry(0.15, 0.4, plain ? 5 : 20).rotateZ(-Math.PI / 2).translate(0.2, -1, 0);
  return mergeGeometries([shaft, head]).rotateX(-Math.PI / 2);
}

const MATRIX = new THREE.Matrix4();
const TURN = new THREE.Quaternion();
const SIZE = new THREE.Vector3();
