// One plot in time on a canvas, with a cursor at the time that is shown.

import { niceStep } from "./scene.js";
import { range } from "./series.js";

export const PALETTE = ["#2b6bb0", "#e07626", "#2f9462", "#c83e4d", "#7e5fb2", "#21a0b0", "#b08a1e", "#cf68a4", "#805842", "#606c7c"];

export class Plot {
  constructor(parent, title, run, onScrub, onRemove) {
    this.run = run;
    this.box = document.createElement("details");
    this.box.className = "plot";
    this.box.open = true;
    const heading = document.createElement("summary");
    heading.textContent = title;
    this.box.addEventListener("toggle", () => this.draw(this.time ?? run.begin));
    this.canvas = document.createElement("canvas");
    this.chips = document.createElement("div");
    this.chips.className = "chips";
    this.box.append(heading, this.canvas, this.chips);
    parent.append(this.box);
    this.onRemove = onRemove;
    const scrub = (event) => {
      if (event.type === "pointerdown") this.canvas.setPointerCapture(event.pointerId);
      else if (!event.buttons) return;
      const x = (event.offsetX - this.left) / (this.right - this.left);
      onScrub(this.run.begin + Math.min(1, Math.max(0, x)) * (this.run.end - this.run.begin));
    };
    this.canvas.addEventListener("pointerdown", scrub);
    this.canvas.addEventListener("pointermove", scrub);
  }

  set(list) {
    this.list = list;
    this.chips.replaceChildren();
    this.labels = list.map((s) => {
      const chip = document.createElement("button");
      chip.className = "chip";
      chip.title = `${s.name}: click to take it away`;
      const [swatch, name, value] = ["i", "span", "em"].map((tag) => document.createElement(tag));
      swatch.style.background = s.color;
      name.textContent = s.name;
      chip.append(swatch, name, value);
      chip.addEventListener("click", () => this.onRemove(s));
      this.chips.append(chip);
      return value;
    });
    this.picture = null;
  }

  // the same series after the run has gone on
  renew(list) {
    this.list = list;
    this.picture = null;
  }

  // everything but the cursor, drawn once per size and choice
  #paint(width, height, ratio) {
    const picture = document.createElement("canvas");
    [picture.width, picture.height] = [width * ratio, height * ratio];
    const g = picture.getContext("2d");
    g.scale(ratio, ratio);
    g.font = '11px "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif';
    let [low, high] = range(this.list);
    const size = Math.max(Math.abs(low), Math.abs(high));
    if (high - low <= 1e-6 * size || high === low) {
      const half = size > 0 ? size / 2 : 1;
      [low, high] = [(low + high) / 2 - half, (low + high) / 2 + half];
    } else {
      const room = 0.06 * (high - low);
      [low, high] = [low - room, high + room];
    }
    const top = 6, bottom = height - 18;
    const yTicks = ticks(low, high, Math.max(2, (bottom - top) / 34));
    this.left = 12 + Math.max(...yTicks.map(([, text]) => g.measureText(text).width));
    this.right = width - 8;
    const { begin, end } = this.run;
    const x = (t) => this.left + (end > begin ? (t - begin) / (end - begin) : 0) * (this.right - this.left);
    const y = (v) => bottom + (v - low) / (high - low) * (top - bottom);
    const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
    g.strokeStyle = ink("--grid");
    g.fillStyle = ink("--soft");
    g.textAlign = "right";
    g.textBaseline = "middle";
    for (const [v, text] of yTicks) {
      stroke(g, [[this.left, y(v)], [this.right, y(v)]]);
      g.fillText(text, this.left - 5, y(v));
    }
    g.textAlign = "center";
    g.textBaseline = "alphabetic";
    const tTicks = ticks(begin, end, Math.max(2, (this.right - this.left) / 70));
    tTicks.forEach(([t, text], i) => {
      stroke(g, [[x(t), top], [x(t), bottom]]);
      // the last one bears the unit, and stays inside
      const last = i === tTicks.length - 1 ? `${text} s` : text;
      const half = g.measureText(last).width / 2;
      g.fillText(last, Math.min(x(t), width - half), height - 5);
    });
    g.save();
    g.beginPath();
    g.rect(this.left, 0, this.right - this.left + 1, height);
    g.clip();
    g.lineJoin = "round";
    for (const s of this.list) {
      g.strokeStyle = s.color;
      const line = (a) => stroke(g, Array.from(a, (v, k) => [x(this.run.t[k]), y(v)]).filter(([, v]) => Number.isFinite(v)));
      if (s.command) {
        g.setLineDash([5, 4]);
        g.lineWidth = 1.1;
        line(s.command);
        g.setLineDash([]);
      }
      g.lineWidth = 1.7;
      line(s.values);
    }
    g.restore();
    g.lineWidth = 1;
    g.strokeStyle = ink("--axis");
    stroke(g, [[this.left, top], [this.left, bottom], [this.right, bottom]]);
    this.x = x;
    return picture;
  }

  // colours of the page have changed
  repaint() {
    this.picture = null;
  }

  draw(time) {
    this.time = time;
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    if (!width || !height) return;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    if (!this.picture || this.canvas.width !== Math.round(width * ratio)) {
      this.picture = this.#paint(width, height, ratio);
    }
    [this.canvas.width, this.canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    const g = this.canvas.getContext("2d");
    g.drawImage(this.picture, 0, 0);
    g.scale(ratio, ratio);
    g.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--ink");
    stroke(g, [[this.x(time), 4], [this.x(time), height - 18]]);
    const k = this.run.stepFrame(time);
    this.list.forEach((s, i) => { this.labels[i].textContent = short(s.values[k]); });
  }
}

function stroke(g, points) {
  g.beginPath();
  points.forEach(([x, y], i) => (i ? g.lineTo(x, y) : g.moveTo(x, y)));
  g.stroke();
}

export function short(v) {
  if (!Number.isFinite(v)) return "–";
  const size = Math.abs(v);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return v.toExponential(2).replace("-", "−").replace("e-", "e−");
  return String(Number(v.toPrecision(4))).replace("-", "−");
}

function ticks(low, high, target) {
  if (!(high > low)) return [[low, short(low)]];
  let step = niceStep((high - low) / target);
  // one tick alone gives no scale; 0.39, not 0.4: that of 5 is 2 but for rounding
  while (Math.floor(high / step + 1e-9) - Math.ceil(low / step - 1e-9) < 1) step = niceStep(0.39 * step);
  const out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step && out.length < 50; i++) {
    const largest = Math.max(Math.abs(low), Math.abs(high));
    const v = i * step;
    const decimals = Math.max(0, -Math.floor(Math.log10(step)));
    const text = i === 0 ? "0" : largest < 1e-3 || largest >= 1e5 ? short(v) : v.toFixed(decimals).replace("-", "−");
    out.push([v, text]);
  }
  return out;
}
