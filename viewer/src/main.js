// The page: reads the recording, shows it, plays it.
// After `#`, options for pictures that can be made again:
//   t (s), play, panel, tools (0 folds the panels over the scene), ui (0 shows the scene alone), dark,
//   view (first, iso, front, side, top, back), azimuth and elevation (deg), zoom, look (x,y,z in m: the middle of the picture),
//   select, pin, hide (names of bodies or models; of hide a list with commas), speed, loop, points, forces, cones, log, frames,
//   labels, traces, collision, goals, arrows (length factor).
// A page with `live` is served while its run goes on: frames and states come through a socket.

import { Vector3 } from "three";
import licence from "../node_modules/three/LICENSE" with { type: "text" };
import { Contacts } from "./contacts.js";
import { MODES, Run } from "./data.js";
import { Keys } from "./keys.js";
import { Live } from "./live.js";
import layout from "./layout.html" with { type: "text" };
import { Marks } from "./marks.js";
import { Panel } from "./panel.js";
import { short } from "./plot.js";
import { COARSER, niceStep, Scene } from "./scene.js";
import css from "./style.css" with { type: "text" };
import { facts, Tree } from "./tree.js";
import { canRecord, record, save } from "./video.js";

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
// on a phone the scene comes first
document.body.classList.toggle("no-panel", !flag("panel", window.innerWidth >= 760 && !run.live));
document.body.classList.toggle("bare", !flag("ui", true));

let time = run.begin;
let playing = false;
let dirty = true;
let scene = null;
let contacts = null;
let marks = null;
let tree = null;
let video = null;
// of a run that goes on; what is shown follows it unless somebody looks back
let live = null;

const clamp = (t) => Math.min(run.end, Math.max(run.begin, t));
const setTime = (t) => { time = clamp(Number(t) || 0); dirty = true; };
const setPlaying = (on) => {
  if (live) {
    live.follows ||= on;
    if (on !== live.state.playing) live.ask({ do: on ? "play" : "pause" });
    return;
  }
  if (on && time >= run.end) setTime(run.begin);
  playing = on && run.end > run.begin;
  if (!playing && video) cut();
  document.body.classList.toggle("playing", playing);
};
// a time of a run that goes on: the run waits meanwhile
const lookAt = (t) => {
  setPlaying(false);
  setTime(t);
  if (live) live.follows = time >= run.end;
};
const isPlaying = () => (live ? live.state.playing : playing);
const stepFrames = (n) => {
  if (live && n > 0 && time >= run.end) {
    live.follows = true;
    live.ask({ do: "step" });
    return;
  }
  setPlaying(false);
  const [k, u] = run.locate(time);
  const from = n < 0 && u > 1e-6 ? k + 1 : k;
  lookAt(run.t[Math.min(run.nFrames - 1, Math.max(0, from + n))]);
};

const panel = new Panel(run, lookAt);

try {
  scene = new Scene($("view"), run);
  contacts = new Contacts(scene, run);
  marks = new Marks(scene, run, $("labels"));
} catch (error) {
  scene = null;
  $("tools").hidden = true;
  $("message").hidden = false;
  $("message").textContent = "This browser cannot show the 3-D scene: WebGL is missing or switched off. The plots and the player still work.";
  status.webgl = String(error?.message ?? error);
}

const scrub = $("scrub");
[scrub.min, scrub.max] = [run.begin, run.end];
scrub.addEventListener("input", () => lookAt(scrub.value));
$("play").addEventListener("click", () => setPlaying(!isPlaying()));
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

let dark = false;
const setDark = (on) => {
  dark = on;
  document.documentElement.classList.toggle("dark", dark);
  $("toggle-dark").setAttribute("aria-pressed", dark);
  scene?.setDark(dark);
  panel.repaint();
  dirty = true;
};
const system = window.matchMedia("(prefers-color-scheme: dark)");
setDark(flag("dark", system.matches));
system.addEventListener("change", () => { if (!options.has("dark")) setDark(system.matches); });
$("toggle-dark").addEventListener("click", () => setDark(!dark));

// the panels over the scene fold; the view keeps clear of those that are open
const folds = [$("tools-view"), $("tools-bodies")];
const foldsOfLive = run.live ? [$("tools-commands"), $("tools-settings"), $("tools-frames")] : [];
const inset = () => {
  if (!scene) return;
  const open = folds.some((fold) => fold.open) && !document.body.classList.contains("bare");
  const left = open ? $("tools").offsetLeft + $("tools").offsetWidth : 0;
  const beside = foldsOfLive.some((fold) => fold.open && !fold.hidden) && !document.body.classList.contains("bare");
  const right = beside ? $("stage").clientWidth - $("live").offsetLeft : 0;
  scene.setInsets({ left, right, top: 0, bottom: 0 });
  dirty = true;
};
const toggleFolds = () => {
  const open = !folds.some((fold) => fold.open);
  for (const fold of folds) fold.open = open;
};
const { clientWidth, clientHeight } = $("stage");
folds[0].open = flag("tools", clientWidth >= 620 && clientHeight >= 380);
folds[1].open = flag("tools", folds[0].open && clientHeight >= 560);
for (const fold of [...folds, ...foldsOfLive]) fold.addEventListener("toggle", inset);

const views = ["first", "iso", "front", "side", "top"];
const show = (name) => { scene?.view(name); dirty = true; };
const shown = (id, name, otherwise, apply) => {
  $(id).checked = flag(name, otherwise);
  const change = () => { apply($(id).checked); dirty = true; };
  $(id).addEventListener("change", change);
  change();
  return () => { $(id).checked = !$(id).checked; change(); };
};
const toggles = {};
let choseLog = options.has("log");

if (scene) {
  tree = new Tree(run, $("tree"), {
    select: (body) => { scene.select(body); contacts.selected = marks.selected = body; dirty = true; },
    pin: (body) => { scene.pin(body); dirty = true; },
    hide: (body, hidden) => { scene.groups[body].visible = !hidden; dirty = true; },
  });
  for (const button of $("views").querySelectorAll("[data-view]")) button.addEventListener("click", () => show(button.dataset.view));
  $("fit").addEventListener("click", () => show(null));
  scene.controls.addEventListener("change", () => { dirty = true; });
  const mark = (name) => (on) => { (name in contacts.shown ? contacts : marks).shown[name] = on; };
  toggles.points = shown("show-points", "points", true, mark("points"));
  toggles.forces = shown("show-forces", "forces", true, mark("forces"));
  toggles.cones = shown("show-cones", "cones", false, mark("cones"));
  toggles.log = shown("show-log", "log", contacts.log, (on) => { contacts.log = on; legend(); });
  $("show-log").addEventListener("change", () => { choseLog = true; });
  toggles.frames = shown("show-frames", "frames", false, mark("frames"));
  toggles.labels = shown("show-labels", "labels", false, mark("labels"));
  toggles.traces = shown("show-traces", "traces", false, mark("traces"));
  $("collision-row").hidden = !scene.hasTwoLooks();
  shown("show-collision", "collision", false, (on) => scene.showCollision(on));
  $("goals-row").hidden = !run.goals.length;
  shown("show-goals", "goals", true, (on) => { scene.goals.visible = on; });
  $("arrow-scale").value = Math.log2(number("arrows", 1));
  const applyScale = () => { contacts.scale = 2 ** Number($("arrow-scale").value); dirty = true; };
  $("arrow-scale").addEventListener("input", applyScale);
  applyScale();
  hover();
  $("video").addEventListener("click", film);
}
$("video").hidden = !scene || !canRecord();

// what lengths of arrows and sizes of rings mean
function legend() {
  const { least, most, log, largestSpin } = contacts;
  const below = (v) => { const up = niceStep(v); return up > v * 1.0001 ? niceStep(v / 2.5) : up; };
  const values = most > 0 ? [...new Set([log ? niceStep(least) : below(most / 3), below(most)])] : [];
  const bars = values.map((v) => `<span><i class="bar" data-length="${contacts.length(v) / (contacts.longest * contacts.scale)}"></i>${short(v)} N</span>`);
  if (bars.length) bars.push(`<span>${log ? "logarithmic" : "in proportion"}</span>`);
  if (largestSpin > 0) bars.push(`<span title="torque about the normal; the area shows how large"><i class="ring"></i>torque, up to ${short(largestSpin)} N·m</span>`);
  $("legend").innerHTML = bars.join("");
  // the page's policy allows no style attribute
  for (const bar of $("legend").querySelectorAll(".bar")) bar.style.width = `${Math.max(3, 64 * bar.dataset.length)}px`;
}

// plays the run once and saves what is seen
function film() {
  if (video) {
    cut();
    return;
  }
  setTime(run.begin);
  setPlaying(true);
  if (!playing) return;
  scene.setBackdrop(dark ? 0x14181e : 0xeef1f5);
  draw();
  video = record($("view"));
  $("video").classList.add("on");
  $("video").textContent = "Stop";
}

async function cut() {
  const made = video;
  video = null;
  setPlaying(false);
  scene.setBackdrop(null);
  $("video").classList.remove("on");
  $("video").textContent = "Video";
  dirty = true;
  const blob = await made.stop();
  status.video = String(blob.size);
  save(blob, run.scene.split("/").at(-1).replace(/\.\w+$/, "") || "run");
}

const TURN = Math.PI / 24;
const move = (around, rise) => (event) => {
  if (event.shiftKey) scene?.slide(0.05 * Math.sign(around), 0.05 * Math.sign(rise)); else scene?.turn(around, rise);
};
const many = (event) => (event.shiftKey ? 10 : 1);
const ifSelected = (action) => () => { if (tree?.selected >= 0) action(tree.selected); };
new Keys([
  [[" "], "play, pause", () => setPlaying(!isPlaying())],
  [["ArrowLeft", "ArrowRight"], "one frame; with shift, ten", (event, key) => stepFrames(key === "ArrowLeft" ? -many(event) : many(event))],
  [["Home", "End"], "start, end", (_, key) => (live ? lookAt : setTime)(key === "Home" ? run.begin : run.end)],
  [["0", "1", "2", "3", "4"], "views: action, iso, front, side, top", (_, key) => show(views[key])],
  [["f"], "show the whole scene", () => show(null)],
  [["a"], "turn left; with shift, go left", move(-TURN, 0)],
  [["d"], "turn right; with shift, go right", move(TURN, 0)],
  [["w"], "turn up; with shift, go up", move(0, TURN)],
  [["s"], "turn down; with shift, go down", move(0, -TURN)],
  [["+", "=", "-"], "zoom", (_, key) => scene?.zoom(key === "-" ? 1 / 1.2 : 1.2)],
  [["n"], "select the next body; with shift, the one before", (event) => {
    const n = run.bodies.length;
    tree?.select(tree.selected < 0 ? (event.shiftKey ? n - 1 : Math.min(1, n - 1)) : (tree.selected + (event.shiftKey ? n - 1 : 1)) % n);
  }],
  [["Escape"], "select nothing", () => tree?.select(-1)],
  [["h"], "hide the selected body", ifSelected((body) => tree.hide(body, !tree.hidden.has(body)))],
  [["u"], "show all bodies", () => tree?.showAll()],
  [["t"], "pin the selected body: the view follows it", ifSelected((body) => tree.pin(tree.pinned === body ? -1 : body))],
  [["c"], "contact points", () => toggles.points?.()],
  [["r"], "forces", () => toggles.forces?.()],
  [["o"], "friction cones", () => toggles.cones?.()],
  [["g"], "arrows: logarithmic, in proportion", () => toggles.log?.()],
  [["x"], "frames", () => toggles.frames?.()],
  [["l"], "names", () => toggles.labels?.()],
  [["y"], "traces", () => toggles.traces?.()],
  [["v"], "fold the panels over the scene", toggleFolds],
  [["p"], "show or hide the plots", togglePanel],
  [["b"], "dark, light", () => setDark(!dark)],
  [["?"], "this list", () => $("about").showModal()],
].map(([keys, words, action]) => [keys, words, (event, key) => { action(event, key); dirty = true; }]), $("keys"), () => $("about").open);

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
  // a click that turns nothing selects a body, or none
  let from = null;
  canvas.addEventListener("pointerdown", (event) => { from = event.isPrimary && event.button === 0 ? [event.offsetX, event.offsetY] : null; });
  canvas.addEventListener("pointerup", (event) => {
    if (!from || Math.hypot(event.offsetX - from[0], event.offsetY - from[1]) > 4) return;
    const body = scene.pick(2 * event.offsetX / stage.clientWidth - 1, 1 - 2 * event.offsetY / stage.clientHeight);
    tree.select(body > 0 ? body : -1);
  });
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
        const [from, to] = c.sign < 0 ? [c.b, c.a] : [c.a, c.b];
        tip.innerHTML = `${name(from)} → ${name(to)}<table>${row("force", `${short(c.force.length())} N`)}${
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
  inset();
  dirty = true;
}
new ResizeObserver(resize).observe($("stage"));
window.addEventListener("resize", resize);

function draw() {
  scene?.place(time);
  contacts?.place(time);
  marks?.place();
  scene?.render();
  const chosen = tree?.selected ?? -1;
  $("selected").hidden = chosen < 0;
  if (chosen >= 0 && folds[1].open) {
    const rows = facts(run, chosen, scene.groups[chosen], contacts.current).map(([name, value]) => row(name, value));
    $("selected").innerHTML = `<b>${escape(run.bodies[chosen])}</b><table>${rows.join("")}</table>`;
  }
  if (!document.body.classList.contains("no-panel") && !document.body.classList.contains("bare")) panel.draw(time);
  scrub.value = time;
  const said = run.uniqueness(time);
  $("uniqueness").hidden = !said;
  if (said) {
    $("uniqueness").textContent = said.text;
    $("uniqueness").classList.toggle("only", said.only);
  }
  const digits = run.timeStep < 0.01 ? 4 : run.timeStep < 0.1 ? 3 : 2;
  $("clock").innerHTML = `<b>${time.toFixed(digits)}</b> / ${run.end.toFixed(digits)} s${live ? pace() : ""}`;
  status.time = String(time);
  live?.draw();
}

// how fast a run goes on, beside what is asked of it
function pace() {
  const { ratio, pace: asked } = live.state;
  if (ratio === null) return "";
  const slow = ratio < 0.95 * asked;
  return ` · <span class="${slow ? "slow" : ""}">${short(ratio)}× real time${slow ? ", slower than asked: steps take longer" : ""}</span>`;
}

// what depends on the whole run so far, some times a second
let renewed = 0;
function renew(now) {
  if (now - renewed < 500) return;
  renewed = now;
  contacts?.measure();
  if (contacts && !choseLog) {
    contacts.log = contacts.wide;
    $("show-log").checked = contacts.log;
  }
  if (contacts) legend();
  if (marks?.shown.traces) marks.renew();
  if (!document.body.classList.contains("no-panel")) panel.renew();
}

// the newest frame has come
function arrived() {
  [scrub.min, scrub.max] = [run.begin, run.end];
  if (time > run.end || live.kind === "poses") setTime(run.end);
  renew(performance.now());
  dirty = true;
}

// state of the run and what the page says of it
function told() {
  const { playing: on, error, help, pace: asked } = live.state;
  document.body.classList.toggle("playing", on);
  $("stopped").hidden = !error;
  $("stopped").textContent = $("stopped").title = error ? `Not stepped further: ${error}${help ? ` (${help})` : ""}` : "";
  if (![...$("speed").options].some((o) => Number(o.value) === asked)) $("speed").append(new Option(`${asked}×`, asked));
  if (document.activeElement !== $("speed")) $("speed").value = [...$("speed").options].find((o) => Number(o.value) === asked).value;
  status.playing = String(on);
  dirty = true;
}

function gone() {
  $("stopped").hidden = false;
  $("stopped").textContent = $("stopped").title = "The run has ended: quasistep serves this page no longer";
  document.body.classList.remove("playing");
  status.gone = "1";
}

// a run that goes on is shown up to its newest frame, evenly between frames that come seldom
function followLive(elapsed) {
  if (!live.follows || time >= run.end) return;
  const k = run.nFrames - 1, step = k > 0 ? run.t[k] - run.t[k - 1] : 0;
  const { playing: on, pace: asked, ratio } = live.state;
  const next = on ? time + elapsed * Math.min(asked, ratio ?? asked) : run.end;
  // no further behind than the last step
  setTime(Math.max(next, run.end - Math.max(step, 1 / 60)));
}

// Pictures of a run that goes on, counted each second. Where they come slowly they get fewer pixels, if that helps.
const SLOW = 10, HELPS = 1.15;
let pictures = 0, counted = 0, before = null, coarsens = true;
function count(now) {
  if (now - counted < 1000) return;
  const rate = 1000 * pictures / (now - counted);
  status.fps = String(Math.round(10 * rate) / 10);
  const counts = live?.state.playing && counted > 0 && pictures > 0 && !document.hidden;
  if (before !== null && rate < HELPS * before) {
    scene.coarsen(1 / COARSER);
    coarsens = false;
  }
  before = counts && coarsens && rate < SLOW && scene?.coarsen(COARSER) ? rate : null;
  dirty ||= before !== null;
  [pictures, counted] = [0, now];
}

let last = 0;
let wasHidden = true;
document.addEventListener("visibilitychange", () => { wasHidden = true; });
function frame(now) {
  requestAnimationFrame(frame);
  // slow pictures do not slow the run; a page that was in the background does not leap when it returns
  const elapsed = Math.min(wasHidden ? 0.1 : 1, Math.max(0, (now - last) / 1000));
  wasHidden = document.hidden;
  last = now;
  // the last picture of a video has been drawn
  if (video && time >= run.end) cut();
  if (playing) {
    let next = time + elapsed * Number($("speed").value);
    if (next >= run.end && video) {
      next = run.end;
    } else if (next >= run.end) {
      if ($("loop").checked) next = run.begin; else { setPlaying(false); next = run.end; }
    }
    setTime(next);
  }
  if (live) followLive(elapsed);
  scene?.controls.update();
  count(now);
  if (!dirty) return;
  dirty = false;
  pictures += 1;
  draw();
}

if (run.live) {
  document.body.classList.toggle("plain", Boolean(scene?.plain));
  live = new Live(run, scene, { frame: arrived, state: told, gone });
  $("speed").addEventListener("change", () => live.ask({ do: "pace", value: Number($("speed").value) }));
}
resize();
if (scene) {
  const look = (options.get("look") ?? "").split(",").map(Number);
  if (look.length === 3 && look.every(Number.isFinite)) scene.center.set(...look);
  if (options.has("azimuth") || options.has("elevation")) {
    const a = number("azimuth", -54) * Math.PI / 180, e = number("elevation", 24) * Math.PI / 180;
    scene.lookFrom(new Vector3(Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e)), number("zoom", 1));
  } else {
    const own = ["zoom", "look"].some((name) => options.has(name)) ? "iso" : "first";
    scene.view(options.get("view") ?? own, number("zoom", 1));
  }
  scene.place(time);
  const bodies = (name) => tree.named(options.get(name) ?? "");
  for (const name of (options.get("hide") ?? "").split(",")) tree.named(name).forEach((body) => tree.hide(body));
  if (bodies("select").length) tree.select(bodies("select")[0]);
  if (bodies("pin").length) tree.pin(bodies("pin")[0]);
}
setTime(number("t", run.begin));
draw();
if (!live) setPlaying(flag("play", false));
requestAnimationFrame(frame);

window.quasistep = {
  ready: true, nFrames: run.nFrames, setTime(t) { setTime(t); draw(); }, time: () => time,
  // eye and middle of the picture, m
  view: () => scene && { eye: scene.camera.position.toArray(), target: scene.controls.target.toArray() },
  play: () => setPlaying(true), pause: () => setPlaying(false),
  // of a run that goes on: its state, the newest pose of a body, and a point of the world on the picture, px
  live: () => live?.state, pose: (body) => scene && [...scene.groups[body].position.toArray(), ...scene.groups[body].quaternion.toArray()],
  project: (p) => { const { left, top, width, height } = $("view").getBoundingClientRect(), s = new Vector3(...p).project(scene.camera); return [left + (s.x + 1) / 2 * width, top + (1 - s.y) / 2 * height]; },
};
// ms since the page was opened
status.drawn = String(Math.round(performance.now()));
status.status = scene ? "ready" : "no-webgl";
