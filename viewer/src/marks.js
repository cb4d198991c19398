// Axes, names and traces of bodies.

import * as THREE from "three";

// more would hide the scene
const MOST = 200;
const AXES = [0xd03b3b, 0x2f9a4a, 0x2f6fd0];

export class Marks {
  constructor(scene, run, root) {
    Object.assign(this, { scene, run, root });
    this.shown = { frames: false, labels: false, traces: false };
    this.selected = -1;
    this.centers = run.bodies.map((_, body) => {
      const own = run.shapes.filter((s) => s.body === body && s.geometry.kind !== "half_space");
      return own.reduce((sum, s) => sum.add(new THREE.Vector3(...s.pose.slice(4)).divideScalar(own.length)), new THREE.Vector3());
    });
    const drawn = run.bodies.map((_, body) => run.shapes.some((s) => s.body === body));
    const bodies = run.bodies.map((_, body) => body).filter((body) => body > 0 && drawn[body]);
    // those that move come first where there are too many
    this.bodies = bodies.sort((a, b) => (run.row[b] >= 0) - (run.row[a] >= 0) || a - b).slice(0, MOST);
    const single = new Map();
    for (const name of run.bodies) single.set(name.split("/")[0], (single.get(name.split("/")[0]) ?? 0) + 1);
    this.names = run.bodies.map((name) => (single.get(name.split("/")[0]) === 1 ? name.split("/")[0] : name));
    this.frames = run.namedFrames.slice(0, MOST).map(({ name, body, pose: [w, x, y, z, ...p] }) => (
      { name, body, place: new THREE.Vector3(...p), turn: new THREE.Quaternion(x, y, z, w) }));
  }

  #axes() {
    const geometry = new THREE.BufferGeometry();
    const length = 0.16 * this.scene.size;
    const points = [], colors = [];
    AXES.forEach((color, k) => {
      points.push(0, 0, 0, ...[0, 1, 2].map((i) => (i === k ? length : 0)));
      const { r, g, b } = new THREE.Color(color);
      colors.push(r, g, b, r, g, b);
    });
    geometry.setAttribute("position", new THREE.Float32BufferAttribute(points, 3));
    geometry.setAttribute("color", new THREE.Float32BufferAttribute(colors, 3));
    const material = new THREE.LineBasicMaterial({ vertexColors: true, depthTest: false, transparent: true });
    const all = [0, ...this.bodies].map((body) => ({ body }));
    return [...all, ...this.frames].map(({ body, place, turn }) => {
      const axes = new THREE.LineSegments(geometry, material);
      axes.renderOrder = 4;
      axes.raycast = () => {};
      if (place) {
        axes.position.copy(place);
        axes.quaternion.copy(turn);
        axes.scale.setScalar(0.6);
      }
      this.scene.groups[body].add(axes);
      return axes;
    });
  }

  #traces() {
    const lines = [];
    for (const body of this.bodies) {
      if (this.run.row[body] < 0) continue;
      const places = this.run.trace(body, 0.004 * this.scene.size);
      if (places.length < 2) continue;
      const shape = this.run.shapes.find((s) => s.body === body);
      const color = new THREE.Color().setRGB(...shape.color.slice(0, 3), THREE.SRGBColorSpace);
      // pale bodies leave traces that are seen on paper, too
      const { h, s, l } = color.getHSL({});
      color.setHSL(h, Math.max(s, 0.35), Math.min(0.55, Math.max(0.4, l)));
      const line = new THREE.Line(new THREE.BufferGeometry().setFromPoints(places),
        new THREE.LineBasicMaterial({ color, depthTest: false, transparent: true }));
      line.renderOrder = 3;
      line.raycast = () => {};
      line.userData.of = body;
      this.scene.world.add(line);
      lines.push(line);
    }
    return lines;
  }

  // the run has gone on
  renew() {
    this.lines?.forEach((line) => { this.scene.world.remove(line); line.geometry.dispose(); });
    this.lines = null;
  }

  place() {
    if (this.shown.frames) this.axes ??= this.#axes();
    this.axes?.forEach((axes) => { axes.visible = this.shown.frames; });
    if (this.shown.traces) this.lines ??= this.#traces();
    this.lines?.forEach((line) => { line.visible = this.shown.traces && this.scene.groups[line.userData.of].visible; });
    const bodies = this.shown.labels ? this.bodies : this.selected >= 0 ? [this.selected] : [];
    const wanted = bodies.map((body) => ({ body, place: this.centers[body], name: this.names[body] }));
    if (this.shown.frames) wanted.push(...this.frames);
    const { clientWidth: w, clientHeight: h } = this.root;
    while (this.root.children.length > wanted.length) this.root.lastChild.remove();
    wanted.forEach(({ body, place, name, turn }, i) => {
      const label = this.root.children[i] ?? this.root.appendChild(document.createElement("span"));
      const group = this.scene.groups[body];
      const p = P.copy(place).applyQuaternion(group.quaternion).add(group.position).project(this.scene.camera);
      label.hidden = !group.visible || p.z > 1 || Math.abs(p.x) > 1 || Math.abs(p.y) > 1;
      if (label.textContent !== name) label.textContent = name;
      label.classList.toggle("on", !turn && body === this.selected);
      label.classList.toggle("frame", Boolean(turn));
      label.style.transform = `translate(${((p.x + 1) / 2 * w).toFixed(1)}px, ${((1 - p.y) / 2 * h).toFixed(1)}px) ${turn ? "translate(5px, 3px)" : "translate(-50%, -50%)"}`;
    });
  }
}

const P = new THREE.Vector3();
