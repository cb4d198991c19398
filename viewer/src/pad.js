// A picture of a pressure array at the time that is shown: x to the right, y up, darker where more presses.

import { short } from "./plot.js";

// px of the longer edge
const LONG = 150;

export class Pad {
  constructor(parent, run, sensor) {
    Object.assign(this, { run, sensor });
    const box = document.createElement("div");
    box.className = "pad";
    const heading = document.createElement("h2");
    heading.textContent = `${sensor.name} (${sensor.unit})`;
    this.canvas = document.createElement("canvas");
    [this.canvas.width, this.canvas.height] = sensor.shape;
    const scale = LONG / Math.max(...sensor.size);
    this.canvas.style.width = `${Math.max(12, scale * sensor.size[0])}px`;
    this.canvas.style.height = `${Math.max(12, scale * sensor.size[1])}px`;
    this.note = document.createElement("em");
    box.append(heading, this.canvas, this.note);
    parent.append(box);
    // one scale for the whole run
    this.most = 0;
    for (let k = 1; k < run.nFrames; k++) this.most = this.#readings(k).reduce((a, b) => Math.max(a, b), this.most);
  }

  // nothing is read before the first step
  #readings(frame) {
    const { run, sensor } = this, from = (frame - 1) * run.nReadings + sensor.first;
    return frame < 1 ? new Float32Array(sensor.n) : run.sensors.subarray(from, from + sensor.n);
  }

  draw(time) {
    const [n, m] = this.sensor.shape, readings = this.#readings(this.run.stepFrame(time));
    const largest = readings.reduce((a, b) => Math.max(a, b), 0);
    this.most = Math.max(this.most, largest);
    const g = this.canvas.getContext("2d"), picture = g.createImageData(n, m);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < m; j++) {
        const share = this.most > 0 ? readings[i * m + j] / this.most : 0;
        // from paper to the page's blue, evenly in each colour
        const color = [255 - 212 * share, 255 - 148 * share, 255 - 79 * share, 255];
        picture.data.set(color, 4 * ((m - 1 - j) * n + i));
      }
    }
    g.putImageData(picture, 0, 0);
    this.note.textContent = `largest ${short(largest)}, of the run ${short(this.most)}`;
  }
}
