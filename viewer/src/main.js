// The page: reads the recording, shows it, plays it.
// After `#`, options for pictures that can be made again:
//   t (s), play, panel, ui (0 shows the scene alone), view (iso, front, side, top, back),
//   azimuth and elevation (deg), zoom, look (x,y,z in m: the middle of the picture), speed, loop, points, forces, cones, collision, goals, arrows (length factor).

import { Vector3 } from "three";
import licence from "../node_modules/three/LICENSE" with { type: "text" };
import { Contacts } from "./contacts.js";
import { MODES, Run } from "./data.js";
import layout from "./layout.html" with { type: "text" };
import { Panel } from "./panel.js";
import { short } from "./plot.js";
import { Scene } from "./scene.js";
import css from "./style.css" with { type: "text" };

const status = document.documentElement.dataset;
status.errors = "0";
window.addEventListener("error", (event) => {
  status.errors = String(Number(status.errors) + 1);
  status.error = event.message;
});

// the page's policy allows no style element
const style = new CSSStyleSheet();
style.replaceSync(css);
document.adoptedStyleSheets = [style];
document.body.insertAdjacentHTML("beforeend", layout);

const $ = (id) => document.getElementById(id);
const run = await Run.read(JSON.parse($("recording").textContent)).catch((error) => {
  $("message").hidden = false;
  $("message").textContent = "This browser cannot read the recording: it needs Chrome 80, Firefox 113, Safari 16.4, or a later one.";
  throw error;
});
const options = new URLSearchParams(location.hash.slice(1));
const flag = (name, otherwise) => (options.has(name) ? options.get(name) !== "0" : otherwise);
const number = (name, otherwise) => {
  const v = Number.parseFloat(options.get(name));
  return Number.isFinite(v) ? v : otherwise;
};

$("title").textContent = run.title;
$("scene").textContent = run.title === run.scene ? "" : run.scene;
$("licence").textContent = licence;
if (run.stopped !== null) {
  $("stopped").hidden = false;
  $("stopped").textContent = $("stopped").title = `Stopped at t = ${short(run.end)} s: ${run.stopped}`;
}
if (run.thinned) {
  $("thinned").hidden = false;
  $("thinned").textContent = $("thinned").title = run.thinned;
}
document.body.classList.toggle("no-panel", !flag("panel", true));
document.body.classList.toggle("bare", !flag("ui", true));

let time = run.begin;
let playing = false;
let dirty = true;
let scene = null;
let contacts = null;

const clamp = (t) => Math.min(run.end, Math.max(run.begin, t));
const setTime = (t) => { time = clamp(Number(t) || 0); dirty = true; };
const setPlaying = (on) => {
  if (on && time >= run.end) setTime(run.begin);
  playing = on && run.end > run.begin;
  document.body.classList.toggle("playing", playing);
};
const stepFrames = (n) => {
  setPlaying(false);
  const [k, u] = run.locate(time);
  const from = n < 0 && u > 1e-6 ? k + 1 : k;
  setTime(run.t[Math.min(run.nFrames - 1, Math.max(0, from + n))]);
};

const panel = new Panel(run, (t) => { setPlaying(false); setTime(t); });

try {
  scene = new Scene($("view"), run);
  contacts = new Contacts(scene, run);
} catch (error) {
  scene = null;
  $("tools").hidden = true;
  $("message").hidden = false;
  $("message").textContent = "This browser cannot show the 3-D scene: WebGL is missing or switched off. The plots and the player still work.";
  status.webgl = String(error?.message ?? error);
}

const scrub = $("scrub");
[scrub.min, scrub.max] = [run.begin, run.end];
scrub.addEventListener("input", () => { setPlaying(false); setTime(scrub.value); });
$("play").addEventListener("click", () => setPlaying(!playing));
$("back").addEventListener("click", () => stepFrames(-1));
$("forward").addEventListener("click", () => stepFrames(1));
const togglePanel = () => { document.body.classList.toggle("no-panel"); resize(); };
$("toggle-panel").addEventListener("click", togglePanel);
$("toggle-about").addEventListener("click", () => $("about").showModal());
$("close-about").addEventListener("click", () => $("about").close());
const speed = options.get("speed");
if (speed !== null && Number(speed) > 0) {
  if (![...$("speed").options].some((o) => o.value === speed)) $("speed").append(new Option(`${speed}×`, speed));
  $("speed").value = speed;
}
$("loop").checked = flag("loop", true);

if (scene) {
  const views = ["iso", "front", "side", "top"];
  for (const button of $("views").querySelectorAll("[data-view]")) {
    button.addEventListener("click", () => { scene.view(button.dataset.view); dirty = true; });
  }
  $("fit").addEventListener("click", () => { scene.view(null); dirty = true; });
  scene.controls.addEventListener("change", () => { dirty = true; });
  for (const [id, name] of [["show-points", "points"], ["show-forces", "forces"], ["show-cones", "cones"]]) {
    $(id).checked = flag(name, $(id).checked);
    const apply = () => { contacts.shown[name] = $(id).checked; dirty = true; };
    $(id).addEventListener("change", apply);
    apply();
  }
  $("collision-row").hidden = !scene.hasTwoLooks();
  $("show-collision").checked = flag("collision", false);
  const applyCollision = () => { scene.showCollision($("show-collision").checked); dirty = true; };
  $("show-collision").addEventListener("change", applyCollision);
  applyCollision();
  $("goals-row").hidden = !run.goals.length;
  $("show-goals").checked = flag("goals", true);
  const applyGoals = () => { scene.goals.visible = $("show-goals").checked; dirty = true; };
  $("show-goals").addEventListener("change", applyGoals);
  applyGoals();
  $("arrow-scale").value = Math.log2(number("arrows", 1));
  const applyScale = () => { contacts.scale = 2 ** Number($("arrow-scale").value); dirty = true; };
  $("arrow-scale").addEventListener("input", applyScale);
  applyScale();
  window.addEventListener("keydown", (event) => {
    if (views[Number(event.key) - 1] && !typing(event)) { scene.view(views[Number(event.key) - 1]); dirty = true; }
  });
  hover();
}

function typing(event) {
  return event.ctrlKey || event.metaKey || event.altKey || /^(search|text)$/.test(event.target.type ?? "") || $("about").open;
}

window.addEventListener("keydown", (event) => {
  if (typing(event)) return;
  const many = event.shiftKey ? 10 : 1;
  const actions = {
    " ": () => setPlaying(!playing), ArrowLeft: () => stepFrames(-many), ArrowRight: () => stepFrames(many),
    Home: () => setTime(run.begin), End: () => setTime(run.end),
    f: () => scene?.view(null), p: togglePanel,
  };
  const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action) return;
  event.preventDefault();
  action();
  dirty = true;
});

function row(name, value) {
  return `<tr><td>${name}</td><td>${value}</td></tr>`;
}

function escape(text) {
  const span = document.createElement("span");
  span.textContent = text;
  return span.innerHTML;
}

function hover() {
  const stage = $("stage"), tip = $("tooltip"), canvas = $("view");
  let waiting = false;
  const leave = () => { tip.hidden = true; if (scene.highlight(-1)) dirty = true; };
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("pointerdown", leave);
  canvas.addEventListener("pointermove", (event) => {
    if (waiting || (event.buttons && event.pointerType === "mouse")) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      const { clientWidth: w, clientHeight: h } = stage;
      const [x, y] = [event.offsetX, event.offsetY];
      const c = contacts.pick(x, y, scene.camera, w, h);
      const body = c ? -1 : scene.pick(2 * x / w - 1, 1 - 2 * y / h);
      if (scene.highlight(body)) dirty = true;
      tip.hidden = !c && body < 0;
      if (tip.hidden) return;
      const name = (b) => `<b>${escape(run.bodies[b])}</b>`;
      if (c) {
        tip.innerHTML = `${name(c.a)} → ${name(c.b)}<table>${row("force", `${short(c.force.length())} N`)}${
          row("normal force", `${short(c.normalForce)} N`)}${
          c.spin ? row("spin torque", `${short(c.spin)} N·m`) : ""}${row("distance before", `${short(c.phi)} m`)}${
          row("distance after", `${short(c.phiNext)} m`)}${row("friction", short(c.mu))}${row("mode", MODES[c.mode])}${
          c.split ? row(`${c.split} may be`, "split otherwise") : ""}</table>`;
      } else {
        const p = scene.groups[body].position;
        tip.innerHTML = name(body) + (body ? `<table>${row("position", `${short(p.x)}, ${short(p.y)}, ${short(p.z)} m`)}</table>` : "");
      }
      tip.style.left = `${Math.max(4, Math.min(x + 14, w - tip.offsetWidth - 8))}px`;
      tip.style.top = `${Math.max(4, Math.min(y + 14, h - tip.offsetHeight - 8))}px`;
    });
  });
}

function resize() {
  scene?.resize();
  dirty = true;
}
new ResizeObserver(resize).observe($("stage"));
window.addEventListener("resize", resize);

function draw() {
  scene?.place(time);
  contacts?.place(time);
  scene?.render();
  if (!document.body.classList.contains("no-panel") && !document.body.classList.contains("bare")) panel.draw(time);
  scrub.value = time;
  const said = run.uniqueness(time);
  $("uniqueness").hidden = !said;
  if (said) {
    $("uniqueness").textContent = said.text;
    $("uniqueness").classList.toggle("only", said.only);
  }
  const digits = run.timeStep < 0.01 ? 4 : run.timeStep < 0.1 ? 3 : 2;
  $("clock").innerHTML = `<b>${time.toFixed(digits)}</b> / ${run.end.toFixed(digits)} s`;
  status.time = String(time);
}

let last = 0;
function frame(now) {
  requestAnimationFrame(frame);
  // a page in the background stands still: no leap when it returns
  const elapsed = Math.min(0.1, Math.max(0, (now - last) / 1000));
  last = now;
  if (playing) {
    let next = time + elapsed * Number($("speed").value);
    if (next >= run.end) {
      if ($("loop").checked) next = run.begin; else { setPlaying(false); next = run.end; }
    }
    setTime(next);
  }
  scene?.controls.update();
  if (!dirty) return;
  dirty = false;
  draw();
}

resize();
if (scene) {
  const look = (options.get("look") ?? "").split(",").map(Number);
  if (look.length === 3 && look.every(Number.isFinite)) scene.center.set(...look);
  if (options.has("azimuth") || options.has("elevation")) {
    const a = number("azimuth", -54) * Math.PI / 180, e = number("elevation", 24) * Math.PI / 180;
    scene.lookFrom(new Vector3(Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e)), number("zoom", 1));
  } else {
    scene.view(options.get("view") ?? "iso", number("zoom", 1));
  }
}
setTime(number("t", run.begin));
draw();
setPlaying(flag("play", false));
requestAnimationFrame(frame);

window.quasistep = {
  ready: true, nFrames: run.nFrames, setTime(t) { setTime(t); draw(); }, time: () => time,
  play: () => setPlaying(true), pause: () => setPlaying(false),
};
// ms since the page was opened
status.drawn = String(Math.round(performance.now()));
status.status = scene ? "ready" : "no-webgl";
