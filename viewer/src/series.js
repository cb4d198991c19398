// What can be plotted: every coordinate with its command, every effort, every sensor, every pair's normal force.

// the page asks for one unit an axis
const GROUPS = [
  { id: "position", title: "Positions (m)" },
  { id: "orientation", title: "Orientations (unit quaternions)" },
  { id: "joint-m", title: "Joints (m)" },
  { id: "joint-rad", title: "Joints (rad)" },
  { id: "joint", title: "Joints (m or rad)" },
  { id: "force", title: "Normal forces (N)" },
  { id: "spin", title: "Torques about normals (N·m)" },
  { id: "effort-m", title: "Drive forces (N)" },
  { id: "effort-rad", title: "Drive torques (N·m)" },
  { id: "effort", title: "Drives (N or N·m)" },
  { id: "sensor-force", title: "Sensors: forces (N)" },
  { id: "sensor-torque", title: "Sensors: torques (N·m)" },
  { id: "sensor-pressure", title: "Sensors: mean pressures (Pa)" },
  { id: "sensor-distance", title: "Sensors: distances (m)" },
  { id: "overlap", title: "Largest overlap (m)" },
  { id: "count", title: "Contacts" },
  { id: "size", title: "Step sizes (s)" },
];

// those of a run: what was wanted of it comes first
export const groupsOf = (run) => [...new Set(run.curves.map((c) => c.title))].map((title) => ({ id: title, title })).concat(GROUPS);

// roles of bodies, as the recording has them
const DRIVEN = 1, FREE = 2;

export function allSeries(run) {
  const list = [];
  const column = (a, width, i, from) => {
    const out = new Float64Array(run.nFrames).fill(NaN);
    for (let k = from; k < run.nFrames; k++) out[k] = a[(k - from) * width + i];
    return out;
  };
  const models = run.bodies.map((name) => name.split("/")[0]);
  const touched = new Set();
  for (let i = 0; i < run.a.length; i++) {
    const [a, b] = [run.a[i], run.b[i]];
    if (!(run.normalForce[i] > 0)) continue;
    if (run.roles[a] === DRIVEN && run.roles[b] === FREE) touched.add(models[b]);
    if (run.roles[b] === DRIVEN && run.roles[a] === FREE) touched.add(models[a]);
  }
  // without units, names of joints that bodies have by themselves say them
  const unit = (name, i) => run.units[i] || { x: "m", y: "m", z: "m", theta: "rad" }[name.slice(name.lastIndexOf(".") + 1)];
  const grouped = (kind, name, i) => {
    const own = unit(name, i);
    return own === "m" || own === "rad" ? `${kind}-${own}` : kind;
  };
  run.coordinates.forEach((name, i) => {
    const command = run.commands.indexOf(name);
    const suffix = name.slice(name.lastIndexOf(".") + 1);
    const group = command < 0 && /^q[wxyz]$/.test(suffix) ? "orientation"
      : command < 0 && /^[xyz]$/.test(suffix) && unit(name, i) === "m" ? "position" : grouped("joint", name, i);
    list.push({
      id: `q:${name}`, group, name, acts: touched.has(name.split(".")[0]), values: column(run.q, run.coordinates.length, i, 0),
      command: command < 0 ? null : column(run.qCmd, run.commands.length, command, 1),
    });
  });
  run.commands.forEach((name, i) => {
    list.push({ id: `effort:${name}`, group: grouped("effort", name, run.coordinates.indexOf(name)), name, values: column(run.effort, run.commands.length, i, 1) });
  });
  for (const sensor of run.instruments) {
    const readings = (k) => column(run.sensors, run.nReadings, sensor.first + k, 1);
    const add = (group, name, values) => list.push({ id: `sensor:${name}`, group, name, values });
    if (sensor.kind === "force_torque") {
      ["fx", "fy", "fz", "tx", "ty", "tz"].forEach((x, k) => {
        add(k < 3 ? "sensor-force" : "sensor-torque", `${sensor.name}.${x}`, readings(k));
      });
    } else if (sensor.kind === "pressure") {
      const sum = new Float64Array(run.nFrames);
      for (let k = 0; k < sensor.n; k++) readings(k).forEach((v, i) => { sum[i] += v; });
      if (sensor.unit === "N") add("sensor-force", `${sensor.name}, sum`, sum);
      else add("sensor-pressure", `${sensor.name}, mean`, sum.map((v) => v / sensor.n));
    } else {
      add("sensor-distance", sensor.name, readings(0));
    }
  }
  const pairs = new Map(), spins = new Map();
  const modes = ["separate", "stick", "slide"].map((name) => ({
    id: `count:${name}`, group: "count", name, values: new Float64Array(run.nFrames),
  }));
  const overlap = new Float64Array(run.nFrames);
  for (let k = 0; k < run.nFrames; k++) {
    for (let i = run.first[k]; i < run.first[k + 1]; i++) {
      const [a, b, mode] = [run.a[i], run.b[i], run.mode[i]];
      const key = Math.min(a, b) * run.bodies.length + Math.max(a, b);
      if (!pairs.has(key)) {
        const name = `${run.bodies[Math.min(a, b)]} – ${run.bodies[Math.max(a, b)]}`;
        const roles = [run.roles[a], run.roles[b]];
        const acts = roles.includes(DRIVEN) && roles.includes(FREE);
        pairs.set(key, { id: `force:${name}`, group: "force", name, acts, values: new Float64Array(run.nFrames) });
        spins.set(key, { id: `spin:${name}`, group: "spin", name, values: new Float64Array(run.nFrames) });
      }
      pairs.get(key).values[k] += run.normalForce[i];
      // the same whichever body is second: the normal and the torque both turn around
      spins.get(key).values[k] += run.spin[i];
      modes[mode].values[k] += 1;
      overlap[k] = Math.max(overlap[k], -run.phiNext[i]);
    }
  }
  const keys = [...pairs.keys()].sort((a, b) => a - b);
  const twists = keys.map((key) => spins.get(key)).filter((s) => s.values.some((v) => v !== 0));
  if (pairs.size) {
    list.push(...keys.map((key) => pairs.get(key)), ...twists, ...modes, { id: "overlap", group: "overlap", name: "of all contacts, at the end of a step", values: overlap });
  }
  // nothing is known of forces before the first step
  for (const s of list) if (["force", "spin", "count", "overlap"].includes(s.group)) s.values[0] = NaN;
  // what somebody wanted of the run, and how far it came
  for (const curve of run.curves) {
    const held = (values) => {
      const out = new Float64Array(run.nFrames).fill(NaN);
      for (let k = 0, i = -1; k < run.nFrames; k++) {
        while (i + 1 < curve.t.length && curve.t[i + 1] <= run.t[k] + 1e-9 * run.timeStep) i += 1;
        if (i >= 0) out[k] = values[i];
      }
      return out;
    };
    const [dashed, beside] = curve.beside ?? [];
    list.push({ id: `curve:${curve.title}:${curve.name}`, group: curve.title, name: curve.name, values: held(curve.values), command: beside ? held(beside) : null, dashed });
  }
  const sizes = Float64Array.from(run.t, (t, k) => t - run.t[k - 1]);
  // frames of a thinned run are not its steps
  if (!run.thinned && sizes.slice(1, -1).some((h) => Math.abs(h - sizes[1]) > 1e-9 * sizes[1])) {
    list.push({ id: "size", group: "size", name: "step size", values: sizes });
  }
  for (const s of list) [s.low, s.high] = range([s]);
  return list;
}

// a few of each group to begin with, those that change most: of bodies that driven bodies touch where there are such
export function firstChoice(list, run) {
  const chosen = new Set();
  const take = (group, n, measure) => {
    const own = list.filter((s) => s.group === group && measure(s) > 0), acts = own.filter((s) => s.acts);
    (acts.length ? acts : own).sort((a, b) => measure(b) - measure(a)).slice(0, n).forEach((s) => chosen.add(s.id));
  };
  // less than a nanometre is rounding, no motion
  const spread = (s) => s.high - s.low > 1e-9 * Math.max(1, Math.abs(s.high), Math.abs(s.low)) ? s.high - s.low : 0;
  for (const group of ["joint-m", "joint-rad", "joint"]) take(group, 4, spread);
  for (const curve of run.curves) take(curve.title, 4, (s) => 1 + spread(s));
  take("position", 4, spread);
  for (const group of ["sensor-force", "sensor-torque", "sensor-pressure", "sensor-distance"]) take(group, 4, spread);
  // a force that changes says more than a weight that rests
  const sum = (s) => s.values.reduce((all, v) => all + (v || 0), 0) / Math.max(1, s.values.length);
  take("force", 5, (s) => (s.high > 0 ? spread(s) + 0.01 * sum(s) : 0));
  take("spin", 4, spread);
  for (const group of ["effort-m", "effort-rad", "effort"]) take(group, 4, spread);
  take("overlap", 1, (s) => (s.high > 1e-3 * run.action.radius ? s.high : 0));
  take("size", 1, spread);
  return chosen;
}

export function range(list) {
  let low = Infinity, high = -Infinity;
  for (const s of list) {
    for (const a of [s.values, s.command]) {
      if (!a) continue;
      for (const v of a) {
        if (v < low) low = v;
        if (v > high) high = v;
      }
    }
  }
  return low <= high ? [low, high] : [0, 1];
}
