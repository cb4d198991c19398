// The bodies in 3-D: lights, shapes, planes, camera.

import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { mergeVertices, toCreasedNormals } from "three/addons/utils/BufferGeometryUtils.js";
import { colors, floats, indices } from "./data.js";
import { dots } from "./dots.js";

const DIRECTIONS = {
  iso: [0.55, -0.75, 0.42], front: [0, -1, 0.04], side: [1, 0, 0.04], top: [0, -1e-4, 1], back: [-0.55, 0.75, 0.42],
};

// how much coarser a picture gets that comes too slowly
export const COARSER = 0.7;
const TRACE = 0xd9822b;
// what a selected body glows with
const MARK = 0x1d4f8c;
// and one that overlaps another
const OVERLAP = 0xa01818;

export class Scene {
  constructor(canvas, run) {
    this.run = run;
    // a run that goes on is drawn plainly where the processor draws
    this.plain = Boolean(run.live) && drawsInSoftware();
    if (this.plain) Material = THREE.MeshLambertMaterial;
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: !this.plain, alpha: true, preserveDrawingBuffer: !run.live });
    this.renderer.setPixelRatio(this.ratio = Math.min(window.devicePixelRatio, this.plain ? 1 : 2));
    this.renderer.shadowMap.enabled = !this.plain;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.radius = run.fit.radius;
    // of marks: dots, arrows, axes; seen in both views
    this.size = Math.min(run.fit.radius, 1.25 * run.action.radius);
    this.insets = { left: 0, right: 0, top: 0, bottom: 0 };
    this.selected = this.lit = this.pinned = -1;
    this.overlapping = new Set();
    this.center = new THREE.Vector3(...run.fit.center);
    this.world = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(34, 1, 0.005 * this.radius, 200 * this.radius);
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.15;
    // a view that nobody has turned fits itself to the free part of the picture
    this.controls.addEventListener("start", () => { this.fitted = null; });
    this.#light();
    this.#bodies();
    this.#goals();
    this.raycaster = new THREE.Raycaster();
    this.raycaster.params.Points.threshold = this.dotWidth ?? 0;
  }

  #light() {
    const sky = new THREE.HemisphereLight(0xf4f8ff, 0xb9b2a6, 1.75);
    sky.position.set(0, 0, 1);
    const sun = new THREE.DirectionalLight(0xfffaf0, 2.3);
    const r = 1.7 * this.radius;
    sun.position.copy(this.center).addScaledVector(new THREE.Vector3(0.45, -0.55, 1).normalize(), 5 * r);
    sun.target.position.copy(this.center);
    sun.castShadow = true;
    sun.shadow.mapSize.set(2048, 2048);
    Object.assign(sun.shadow.camera, { left: -r, right: r, top: r, bottom: -r, near: r, far: 10 * r });
    sun.shadow.normalBias = 0.004 * r;
    sun.shadow.radius = 4;
    const fill = new THREE.DirectionalLight(0xdfe9ff, 0.5);
    fill.position.copy(this.center).add(new THREE.Vector3(-r, r, 0.6 * r));
    fill.target.position.copy(this.center);
    this.world.add(sky, sun, sun.target, fill, fill.target);
  }

  #bodies() {
    this.groups = this.run.bodies.map((name, body) => {
      const group = new THREE.Group();
      group.userData.body = body;
      this.world.add(group);
      return group;
    });
    this.visual = [];
    this.collision = [];
    this.planes = [];
    let floor = false;
    for (const shape of this.run.shapes) {
      const kind = shape.geometry.kind;
      const object = kind === "half_space" ? this.#plane(shape) : kind === "points" ? dots(shape) : solid(shape);
      if (!object) continue;
      if (kind === "points") this.dotWidth = Math.max(this.dotWidth ?? 0, shape.geometry.width);
      floor ||= shape.geometry.kind === "half_space";
      const [w, x, y, z, px, py, pz] = shape.pose;
      object.quaternion.set(x, y, z, w);
      object.position.set(px, py, pz);
      object.userData.body = shape.body;
      this.groups[shape.body].add(object);
      // a body with collision shapes alone is shown by them
      const looks = this.run.shapes.some((s) => s.body === shape.body && s.role !== "collision");
      if (shape.role !== "collision" || !looks) this.visual.push(object);
      if (shape.role !== "visual") this.collision.push(object);
    }
    // something to stand on for the eye where nothing is there for the bodies
    if (!floor) {
      const low = this.run.fit.center[2] - this.run.fit.half[2] - 0.02 * this.radius;
      const grid = this.#plane({ color: [0.93, 0.945, 0.96, 0.7], pose: [1, 0, 0, 0, 0, 0, low], body: 0 });
      grid.position.z = low;
      this.world.add(grid);
    }
    this.showCollision(false);
  }

  // bodies at their goals, and the ways of their origins
  #goals() {
    this.goals = new THREE.Group();
    this.world.add(this.goals);
    const visible = this.run.shapes.filter((s) => s.role !== "collision");
    for (const { body, pose: [w, x, y, z, px, py, pz] } of this.run.goals) {
      const group = new THREE.Group();
      group.quaternion.set(x, y, z, w);
      group.position.set(px, py, pz);
      const own = (shapes) => shapes.filter((s) => s.body === body);
      for (const shape of own(visible).length ? own(visible) : own(this.run.shapes)) {
        const geometry = solidGeometry(shape.geometry, null);
        if (!geometry) continue;
        const ghost = new THREE.Mesh(geometry, standard([...shape.color.slice(0, 3), 0.3]));
        ghost.material.depthWrite = false;
        const [w, x, y, z, px, py, pz] = shape.pose;
        ghost.quaternion.set(x, y, z, w);
        ghost.position.set(px, py, pz);
        const edges = new THREE.LineSegments(new THREE.EdgesGeometry(geometry, 35), new THREE.LineBasicMaterial({ color: 0x2b3a4a, transparent: true, opacity: 0.6 }));
        ghost.add(edges);
        group.add(ghost);
      }
      this.goals.add(group);
    }
    const width = 0.004 * this.size;
    for (const body of new Set(this.run.goals.map((goal) => goal.body))) {
      const places = this.run.trace(body, width);
      if (places.length < 2) continue;
      const way = new THREE.CurvePath();
      places.slice(1).forEach((place, k) => way.add(new THREE.LineCurve3(places[k], place)));
      const tube = new THREE.TubeGeometry(way, Math.min(2000, 4 * places.length), width, 6);
      // the origin is within the body: drawn over it
      const line = new THREE.Mesh(tube, new THREE.MeshBasicMaterial({ color: TRACE, depthTest: false, transparent: true }));
      line.renderOrder = 1;
      this.goals.add(line);
    }
  }

  showCollision(on) {
    for (const o of on ? this.visual : this.collision) o.visible = false;
    for (const o of on ? this.collision : this.visual) o.visible = true;
  }

  // planes are the ground of the picture and follow its theme
  setDark(dark) {
    for (const plane of this.planes) plane.material.color.copy(plane.userData.color).multiplyScalar(dark ? 0.11 : 1);
  }

  hasTwoLooks() {
    return this.visual.length !== this.collision.length || this.visual.some((o, i) => o !== this.collision[i]);
  }

  // a plane with a grid that fades with distance: half-spaces have no end
  #plane(shape) {
    const [w, x, y, z, px, py, pz] = shape.pose;
    const q = new THREE.Quaternion(x, y, z, w);
    const flat = new THREE.Vector3(0, 0, 1).applyQuaternion(q).z > 0.99;
    const reach = (flat ? 9 : 1.4) * this.radius;
    const foot = this.center.clone().sub(new THREE.Vector3(px, py, pz)).applyQuaternion(q.clone().invert());
    const material = standard(shape.color);
    material.roughness = 1;
    material.transparent = true;
    material.depthWrite = false;
    const uniforms = { uStep: { value: niceStep(this.radius / 4) }, uReach: { value: reach }, uFoot: { value: new THREE.Vector2(foot.x, foot.y) } };
    material.onBeforeCompile = (shader) => {
      Object.assign(shader.uniforms, uniforms);
      shader.vertexShader = shader.vertexShader
        .replace("#include <common>", "#include <common>\nvarying vec2 vPlane;")
        .replace("#include <begin_vertex>", "#include <begin_vertex>\nvPlane = position.xy;");
      shader.fragmentShader = shader.fragmentShader
        .replace("#include <common>", `#include <common>
          varying vec2 vPlane; uniform float uStep, uReach; uniform vec2 uFoot;
          float gridLine(float step_) {
            vec2 g = vPlane / step_; vec2 w = max(fwidth(g), vec2(1e-6));
            vec2 d = abs(fract(g - 0.5) - 0.5);
            vec2 ink = (1.0 - smoothstep(0.4 * w, 1.4 * w, d)) * clamp(0.12 / w, 0.0, 1.0);
            return max(ink.x, ink.y);
          }`)
        .replace("#include <color_fragment>", `#include <color_fragment>
          diffuseColor.rgb *= 1.0 - 0.09 * gridLine(uStep) - 0.12 * gridLine(5.0 * uStep);
          diffuseColor.a *= 1.0 - smoothstep(0.35, 1.0, length(vPlane - uFoot) / uReach);`);
    };
    const geometry = new THREE.PlaneGeometry(2 * reach, 2 * reach);
    geometry.translate(foot.x, foot.y, 0);
    const mesh = new THREE.Mesh(geometry, material);
    mesh.receiveShadow = true;
    mesh.renderOrder = -1;
    mesh.userData.color = material.color.clone();
    this.planes.push(mesh);
    return mesh;
  }

  place(time) {
    const before = this.groups[this.pinned]?.position.clone();
    for (let body = 0; body < this.groups.length; body++) {
      const group = this.groups[body];
      this.run.pose(time, body, group.position, group.quaternion);
    }
    if (before) this.#shift(this.groups[this.pinned].position.clone().sub(before));
  }

  #shift(by) {
    this.controls.target.add(by);
    this.camera.position.add(by);
    this.controls.update();
  }

  // the view follows a body, which comes to the middle; −1 lets it stand
  pin(body) {
    this.pinned = body;
    if (body < 0) return;
    this.fitted = null;
    this.#shift(this.groups[body].position.clone().sub(this.controls.target));
  }

  // looks at the whole scene from a named direction, or from where the camera is now
  view(name, zoom = 1) {
    if (name === "first") {
      this.lookFrom(new THREE.Vector3(...this.run.direction), zoom, this.run.action);
      return;
    }
    const d = name ? new THREE.Vector3(...(DIRECTIONS[name] ?? DIRECTIONS.iso))
      : this.camera.position.clone().sub(this.controls.target);
    this.lookFrom(d, zoom);
  }

  // from the distance at which a box just fits into the part of the picture that no panel covers
  lookFrom(d, zoom = 1, box = { center: this.center.toArray(), half: this.run.fit.half }) {
    this.fitted = [d.clone(), zoom, box];
    const { clientWidth: w, clientHeight: h } = this.renderer.domElement.parentElement;
    const { left, right, top, bottom } = this.insets;
    const forward = d.clone().normalize().negate();
    const across = forward.clone().cross(this.camera.up);
    const side = across.lengthSq() > 1e-12 ? across.normalize() : new THREE.Vector3(1, 0, 0);
    const up = side.clone().cross(forward);
    const open = 0.9 * Math.tan(this.camera.fov * Math.PI / 360);
    const high = open * (h - top - bottom) / Math.max(1, h), wide = open * (w - left - right) / Math.max(1, h);
    const [hx, hy, hz] = box.half;
    let distance = 0;
    for (let corner = 0; corner < 8; corner++) {
      const o = new THREE.Vector3(corner & 1 ? hx : -hx, corner & 2 ? hy : -hy, corner & 4 ? hz : -hz);
      const ahead = o.dot(forward);
      distance = Math.max(distance, Math.abs(o.dot(side)) / wide - ahead, Math.abs(o.dot(up)) / high - ahead);
    }
    this.controls.target.set(...box.center);
    this.camera.position.set(...box.center).addScaledVector(forward, -distance / zoom);
    this.controls.update();
  }

  // px of the picture that panels cover at its edges
  setInsets(insets) {
    const { clientWidth: w, clientHeight: h } = this.renderer.domElement.parentElement;
    const { left, right, top, bottom } = insets;
    // where little is left the panels lie over the scene
    this.insets = w - left - right > 0.45 * w && h - top - bottom > 0.45 * h ? insets : { left: 0, right: 0, top: 0, bottom: 0 };
    this.resize();
  }

  // turns the view by angles, or shifts it by shares of its height; zooms by a factor
  turn(around, rise) {
    const d = this.camera.position.clone().sub(this.controls.target);
    const s = new THREE.Spherical().setFromVector3(new THREE.Vector3(d.x, d.z, -d.y));
    s.theta += around;
    s.phi = Math.min(Math.PI - 0.01, Math.max(0.01, s.phi - rise));
    const v = new THREE.Vector3().setFromSpherical(s);
    this.camera.position.copy(this.controls.target).add(new THREE.Vector3(v.x, -v.z, v.y));
    this.fitted = null;
    this.controls.update();
  }

  slide(right, up) {
    const size = this.camera.position.distanceTo(this.controls.target) * 2 * Math.tan(this.camera.fov * Math.PI / 360);
    const [x, y] = [0, 1].map((k) => new THREE.Vector3().setFromMatrixColumn(this.camera.matrixWorld, k));
    this.fitted = null;
    this.#shift(x.multiplyScalar(right * size).addScaledVector(y, up * size));
  }

  zoom(factor) {
    const d = this.camera.position.clone().sub(this.controls.target);
    this.camera.position.copy(this.controls.target).addScaledVector(d, 1 / factor);
    this.fitted = null;
    this.controls.update();
  }

  // fewer pixels, for pictures that come too slowly; false if fewer are of no use
  coarsen(by) {
    if (this.ratio * by < 0.4) return false;
    this.renderer.setPixelRatio(this.ratio *= by);
    this.resize();
    return true;
  }

  resize() {
    const { clientWidth: w, clientHeight: h } = this.renderer.domElement.parentElement;
    if (!w || !h) return;
    this.renderer.setSize(w, h, false);
    this.camera.aspect = w / h;
    const { left, right, top, bottom } = this.insets;
    this.camera.setViewOffset(w, h, (right - left) / 2, (bottom - top) / 2, w, h);
    if (this.fitted) this.lookFrom(...this.fitted);
  }

  // body under a point of the canvas, −1 if none; x and y from −1 to 1
  pick(x, y) {
    return this.hit(x, y)?.body ?? -1;
  }

  // body and place of its surface under a point of the canvas, null if none
  hit(x, y) {
    this.raycaster.setFromCamera(new THREE.Vector2(x, y), this.camera);
    const hit = this.raycaster.intersectObjects(this.groups, true)
      .find((hit) => hit.object.visible && hit.object.parent.visible && hit.object.userData.body !== undefined);
    return hit ? { body: hit.object.userData.body, point: hit.point } : null;
  }

  // where the line of sight through a point of the canvas meets a plane, null if it does not
  meet(plane, x, y) {
    this.raycaster.setFromCamera(new THREE.Vector2(x, y), this.camera);
    return this.raycaster.ray.intersectPlane(plane, new THREE.Vector3());
  }

  // the body under the pointer and the one that is selected; true if that changes the picture
  highlight(body) {
    if (body === this.lit) return false;
    const before = this.lit;
    this.lit = body;
    this.#glow(before);
    this.#glow(body);
    return true;
  }

  select(body) {
    const before = this.selected;
    this.selected = body;
    this.#glow(before);
    this.#glow(body);
  }

  // bodies that overlap others
  markOverlaps(bodies) {
    const changed = [...this.overlapping, ...bodies].filter((body) => this.overlapping.has(body) !== bodies.has(body));
    this.overlapping = bodies;
    for (const body of changed) this.#glow(body);
  }

  #glow(body) {
    for (const o of this.groups[body]?.children ?? []) {
      const emissive = o.material.emissive;
      if (!emissive || o.userData.color) continue;
      emissive.set(body === this.selected ? MARK : this.overlapping.has(body) ? OVERLAP : 0);
      if (body === this.lit && body > 0) emissive.addScalar(0.035);
    }
  }

  // colour behind the scene, where no page is behind it
  setBackdrop(color) {
    this.world.background = color === null ? null : new THREE.Color(color);
  }

  render() {
    this.renderer.render(this.world, this.camera);
  }
}

let Material = THREE.MeshStandardMaterial;

function standard([r, g, b, a]) {
  const material = new Material({ opacity: a, transparent: a < 1 });
  if (Material === THREE.MeshStandardMaterial) Object.assign(material, { roughness: 0.55, metalness: 0.03 });
  material.color.setRGB(r, g, b, THREE.SRGBColorSpace);
  return material;
}

function solid(shape) {
  const geometry = solidGeometry(shape.geometry, shape.paint);
  if (!geometry) return null;
  const material = standard(shape.color);
  if (shape.paint) {
    material.color.set(0xffffff);
    material.vertexColors = Boolean(shape.paint.colors);
    if (shape.paint.image) material.map = texture(shape.paint.image);
  }
  if (shape.geometry.kind === "mesh") material.side = THREE.DoubleSide;
  const mesh = new THREE.Mesh(geometry, material);
  mesh.castShadow = shape.color[3] > 0.5;
  mesh.receiveShadow = true;
  return mesh;
}

function drawsInSoftware() {
  const gl = document.createElement("canvas").getContext("webgl2");
  const info = gl?.getExtension("WEBGL_debug_renderer_info");
  const name = info ? gl.getParameter(info.UNMASKED_RENDERER_WEBGL) : "";
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}

const textures = new Map();

function texture(address) {
  if (!textures.has(address)) {
    const map = new THREE.TextureLoader().load(address);
    map.colorSpace = THREE.SRGBColorSpace;
    map.wrapS = map.wrapT = THREE.RepeatWrapping;
    // v runs down, as in glTF
    map.flipY = false;
    map.anisotropy = 4;
    textures.set(address, map);
  }
  return textures.get(address);
}

// by the geometry as the page has it, and the paint
const shared = new Map();

function solidGeometry(g, paint) {
  const own = shared.get(g) ?? shared.set(g, new Map()).get(g);
  const key = paint?.uv ?? paint?.colors ?? "";
  if (!own.has(key)) own.set(key, g.kind === "mesh" ? triangles(g, paint) : primitive(g));
  return own.get(key);
}

function triangles(g, paint) {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(floats(g.vertices), 3));
  geometry.setIndex(new THREE.BufferAttribute(indices(g.triangles), 1));
  if (paint?.uv) geometry.setAttribute("uv", new THREE.BufferAttribute(floats(paint.uv), 2));
  if (paint?.colors) {
    const light = Float32Array.from(colors(paint.colors), (c) => linear(c / 255));
    geometry.setAttribute("color", new THREE.BufferAttribute(light, 3));
  }
  // smooth across edges flatter than 35 degrees; equal positions count as one
  return toCreasedNormals(mergeVertices(geometry), 35 * Math.PI / 180);
}

// sRGB to light
const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);

function primitive(g) {
  // three.js lays capsules and cylinders along y, recordings along z
  const up = (geometry) => geometry.rotateX(Math.PI / 2);
  switch (g.kind) {
    case "sphere": return up(new THREE.SphereGeometry(g.radius, 48, 24));
    case "ellipsoid": return up(new THREE.SphereGeometry(1, 64, 32)).scale(...g.radii);
    case "box": return new THREE.BoxGeometry(...g.half.map((h) => 2 * h));
    case "capsule": return up(new THREE.CapsuleGeometry(g.radius, 2 * g.half_length, 12, 48));
    case "cylinder": return up(new THREE.CylinderGeometry(g.radius, g.radius, 2 * g.half_length, 64));
    default: return null;
  }
}

export function niceStep(raw) {
  const power = 10 ** Math.floor(Math.log10(raw));
  const digit = raw / power;
  return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}
