//! Random worlds as scene files. A world is plain data that the command line runs, a test stores
//! and a fuzzer shrinks.
//!
//! A [`Kind`] is an arrangement of bodies. Sizes, masses, formulation, cone, integration and step
//! size are drawn independently of it, so that every kind occurs with every way of stepping. Maps
//! are sorted by name, and names are chosen so that parents come first. Renaming models changes
//! their order.

use crate::hard_problems::Random;
use serde_json::{Map, Value, json};

/// Number of steps of a world. By then most bodies have landed, so that falls, warm starts, rest
/// and sliding all occur.
pub const STEPS: usize = 40;
/// Limit of work of a step, in multiply-adds: about 30 ms, a hundred times the mean of these
/// worlds. Without it one world in twenty takes more time than all others together.
const WORK: f64 = 1e8;
/// One world in this many of its kind has a hundred times the limit of work, and is shorter.
const PATIENT: u64 = 64;
/// Largest number of bodies of a world. Larger worlds take the time of hundreds of smaller ones and
/// find no other errors.
const MOST_BODIES: usize = 12;
/// Largest ratio of the first body's mass to another's, in decades.
const MASS_DECADES: f64 = 3.0;

/// Arrangement of the bodies of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bodies in a loose grid above the ground with random orientations; most fall.
    Heap,
    /// Boxes and cylinders stacked with exactly coinciding faces.
    Tower,
    /// Two legs, and a beam that lies on both.
    Arch,
    /// Bodies between walls that close.
    Jam,
    /// One mechanism of hinges, slides and ball joints, with a few bodies beside it.
    Tree,
    /// Driven fingers around a body.
    Grasp,
    /// Bodies that overlap at the start.
    Overlaps,
    /// Linkages closed by constraints.
    Loop,
}

impl Kind {
    /// All kinds, in the order in which seeds select them.
    pub const ALL: [Self; 8] = [
        Self::Heap,
        Self::Tower,
        Self::Arch,
        Self::Jam,
        Self::Tree,
        Self::Grasp,
        Self::Overlaps,
        Self::Loop,
    ];
}

/// A world under construction.
struct Draft {
    random: Random,
    /// Typical length of a body, in m.
    size: f64,
    /// Typical mass of a body, in kg.
    mass: f64,
    models: Map<String, Value>,
    commands: Vec<Value>,
    constraints: Vec<Value>,
}

/// Draws the scene of a seed. Its kind is the seed modulo the number of kinds. Lengths are 1e-4 to
/// 1e3 m, masses span six decades, steps last 1e-4 to 10 s.
pub fn world(seed: u64) -> Value {
    let kind = Kind::ALL[(seed % Kind::ALL.len() as u64) as usize];
    let mut random = Random::new(seed);
    // half of the scenes have the size of a hand or an arm
    let size = if random.chance(0.5) { random.decade(-2.0, 0.0) } else { random.decade(-4.0, 3.0) };
    // densities between those of a feather and of a rock
    let mass = random.decade(1.0, 4.0) * size.powi(3);
    let mut draft = Draft {
        random,
        size,
        mass,
        models: Map::new(),
        commands: Vec::new(),
        constraints: Vec::new(),
    };
    if kind != Kind::Loop || draft.random.chance(0.5) {
        draft.ground();
    }
    match kind {
        Kind::Heap => draft.heap(),
        Kind::Tower => draft.tower(),
        Kind::Arch => draft.arch(),
        Kind::Jam => draft.jam(),
        Kind::Tree => draft.tree(),
        Kind::Grasp => draft.grasp(),
        Kind::Overlaps => draft.overlaps(),
        Kind::Loop => draft.linkage(),
    }
    let mut step = draft.step();
    let patient = seed / Kind::ALL.len() as u64 % PATIENT == PATIENT - 1;
    let (work, steps) = if patient { (100.0 * WORK, 3) } else { (WORK, STEPS) };
    step["work_limit"] = json!(work);
    step["duration"] = json!(step["size"].as_f64().unwrap_or_default() * steps as f64);
    let mut scene = Map::new();
    scene.insert("format".into(), json!(1));
    scene.insert("gravity".into(), draft.gravity());
    scene.insert("step".into(), step);
    if draft.random.chance(0.3) {
        let rule = ["harmonic_mean", "geometric_mean", "arithmetic_mean", "minimum", "maximum"];
        scene.insert("friction".into(), json!({ "rule": draft.random.pick(&rule) }));
    }
    scene.insert("models".into(), Value::Object(draft.models));
    if !draft.commands.is_empty() {
        scene.insert("commands".into(), Value::Array(draft.commands));
    }
    if !draft.constraints.is_empty() {
        scene.insert("constraints".into(), Value::Array(draft.constraints));
    }
    Value::Object(scene)
}

impl Draft {
    fn gravity(&mut self) -> Value {
        match self.random.below(8) {
            0 => json!([0, 0, 0]),
            1 => json!(self.random.direction().map(|g| 9.81 * g)),
            _ => json!([0, 0, -9.81]),
        }
    }

    fn step(&mut self) -> Value {
        let random = &mut self.random;
        let h = random.decade(-4.0, 1.0);
        let mut step = Map::new();
        let mut set = |key: &str, value: Value| drop(step.insert(key.into(), value));
        set("size", json!(h));
        let formulation = random.pick(&["convex", "convex", "exact", "dynamic"]);
        let [(_, friction), (_, motion)] = crate::law(formulation);
        set("friction", json!(friction));
        set("motion", json!(motion));
        let cone = random.pick(&["round", "round", "4", "4", "2", "6", "8", "box"]);
        set("cone", cone.parse::<u32>().map_or(json!(cone), |edges| json!(edges)));
        let inertia = if random.chance(0.75) { "mass" } else { "none" };
        set("inertia", json!(inertia));
        let relaxation = random.pick(&["step", "1", "1", "0.1"]);
        set("relaxation", relaxation.parse::<f64>().map_or(json!(relaxation), |time| json!(time)));
        if formulation != "dynamic" && random.chance(0.3) {
            set("integration", json!("midpoint"));
        }
        if random.chance(0.8) {
            set("contact_margin", json!(self.size * random.decade(-2.0, 0.5)));
        }
        if formulation == "exact" && random.chance(0.3) {
            set("fallback", json!(random.pick(&["convex", "proximal", "impedance"])));
        }
        if formulation == "convex" && random.chance(0.1) {
            set("accuracy", json!(1e-8));
        }
        if random.chance(0.1) {
            set("max_recovery_speed", json!(self.size * random.decade(-1.0, 1.0) / h));
        }
        if random.chance(0.05) {
            set("tangents", json!("normal"));
        }
        if random.chance(0.05) {
            set("rotations", json!("linear"));
        }
        Value::Object(step)
    }

    fn ground(&mut self) {
        let mut ground = json!({"joint": "fixed", "shape": {"half_space": {}}});
        ground["friction"] = self.friction();
        self.models.insert("ground".into(), ground);
    }

    /// Draws the friction of a surface: mostly a coefficient, sometimes other surface properties
    /// too.
    fn friction(&mut self) -> Value {
        let random = &mut self.random;
        let mu = match random.below(6) {
            0 => 0.0,
            1 => random.between(1.0, 3.0),
            _ => random.between(0.05, 1.0),
        };
        if random.chance(0.8) {
            return json!(mu);
        }
        let mut friction = Map::new();
        friction.insert("mu".into(), json!(mu));
        let (key, value) = match random.below(5) {
            0 => ("mu_spin", 0.1 * mu * self.size),
            1 => ("mu_roll", 0.01 * mu * self.size),
            2 => ("patch_radius", 0.1 * self.size),
            3 => ("restitution", random.uniform()),
            _ => ("compliance", 1e-3 * self.size / (9.81 * self.mass)),
        };
        friction.insert(key.into(), json!(value));
        Value::Object(friction)
    }

    fn edge(&mut self) -> f64 {
        self.size * self.random.between(0.3, 1.0)
    }

    fn any_mass(&mut self) -> f64 {
        if self.random.chance(0.5) {
            return self.mass;
        }
        self.mass * self.random.decade(-MASS_DECADES, MASS_DECADES)
    }

    fn shape(&mut self) -> Value {
        let [a, b, c] = [self.edge(), self.edge(), self.edge()];
        match self.random.below(8) {
            0 => json!({"sphere": {"radius": 0.5 * a}}),
            // a plate, down to the thickness of a coin
            1 => json!({"box": {"size": [a, b, c * self.random.decade(-2.0, 0.0)]}}),
            2 => json!({"capsule": {"radius": 0.2 * a, "length": 0.6 * b}}),
            3 => json!({"cylinder": {"radius": 0.4 * a, "length": 0.8 * b}}),
            4 => {
                let thin = self.random.decade(-1.5, 0.0);
                json!({"ellipsoid": {"radii": [0.5 * a, 0.5 * b, 0.5 * c * thin]}})
            }
            5 => {
                let points: Vec<[f64; 3]> = (0..self.random.count(5, 24))
                    .map(|_| self.random.direction().map(|x| 0.5 * a * x))
                    .collect();
                json!({ "points": points })
            }
            _ => json!({"box": {"size": [a, b, c]}}),
        }
    }

    fn quat(&mut self) -> [f64; 4] {
        loop {
            let q: [f64; 4] = std::array::from_fn(|_| self.random.signed());
            let norm = q.iter().map(|x| x * x).sum::<f64>().sqrt();
            if norm > 0.1 && norm < 1.0 {
                return q.map(|x| x / norm);
            }
        }
    }

    fn add(&mut self, name: String, body: Value) {
        self.models.insert(name, body);
    }

    /// Adds a free body of any shape.
    fn free_body(&mut self, xyz: [f64; 3], turned: bool) -> Value {
        let mut body = json!({"mass": self.any_mass(), "pose": {"xyz": xyz}});
        body["shape"] = self.shape();
        body["friction"] = self.friction();
        if turned {
            body["pose"]["quat"] = json!(self.quat());
        }
        body
    }

    fn heap(&mut self) {
        let n = self.random.count(2, MOST_BODIES);
        let gap = self.size * self.random.between(1.0, 1.8);
        for k in 0..n {
            let place = [(k % 2) as f64, (k / 2 % 2) as f64, 0.7 + (k / 4) as f64];
            let xyz = place.map(|x| x * gap);
            let turned = self.random.chance(0.7);
            let body = self.free_body(xyz, turned);
            self.add(format!("b{k:02}"), body);
        }
    }

    /// Adds a tower. Heights are sums of edges, so that faces coincide up to rounding.
    fn tower(&mut self) {
        let n = self.random.count(2, MOST_BODIES);
        // multiples of one unit add up without rounding
        let unit = self.size / 8.0;
        let alike = self.random.chance(0.5);
        let mut top = 0.0;
        for k in 0..n {
            let mut edge = || if alike { 4.0 } else { self.random.count(2, 8) as f64 } * unit;
            let [a, b, c] = [edge(), edge(), edge()];
            let shift = if alike { 0.0 } else { 0.2 * unit * self.random.signed() };
            let mut body =
                json!({"mass": self.any_mass(), "pose": {"xyz": [shift, 0.0, top + 0.5 * c]}});
            body["shape"] = if self.random.chance(0.2) {
                json!({"cylinder": {"radius": 0.5 * a, "length": c}})
            } else {
                json!({"box": {"size": [a, b, c]}})
            };
            body["friction"] = self.friction();
            self.add(format!("b{k:02}"), body);
            top += c;
        }
    }

    fn arch(&mut self) {
        let s = self.size;
        let spans = self.random.count(1, 3);
        for k in 0..=spans {
            let lean = if self.random.chance(0.3) { 0.1 * self.random.signed() } else { 0.0 };
            let mut leg = json!({"pose": {"xyz": [k as f64 * s, 0.0, 0.5 * s], "rpy": [0.0, lean, 0.0]},
                "shape": {"box": {"size": [0.2 * s, 0.3 * s, s]}}});
            leg["mass"] = json!(self.any_mass());
            leg["friction"] = self.friction();
            self.add(format!("leg{k}"), leg);
        }
        for k in 0..spans {
            let round = self.random.chance(0.2);
            let mut beam = json!({"pose": {"xyz": [(k as f64 + 0.5) * s, 0.0, 1.1 * s]}});
            beam["shape"] = if round {
                beam["pose"]["rpy"] = json!([0.0, std::f64::consts::FRAC_PI_2, 0.0]);
                json!({"cylinder": {"radius": 0.1 * s, "length": s}})
            } else {
                json!({"box": {"size": [s, 0.3 * s, 0.2 * s]}})
            };
            beam["mass"] = json!(self.any_mass());
            beam["friction"] = self.friction();
            self.add(format!("beam{k}"), beam);
        }
    }

    /// Adds a slide along `axis` that carries a box and is driven by a spring or prescribed, with
    /// its command.
    fn pusher(&mut self, name: &str, xyz: [f64; 3], axis: [f64; 3], way: f64) {
        let s = self.size;
        let mut slide = json!({"slide": "x", "axis": axis});
        if self.random.chance(0.3) {
            slide["role"] = json!("prescribed");
        } else {
            slide["stiffness"] = json!(self.mass * 9.81 / s * self.random.decade(0.0, 4.0));
            if self.random.chance(0.3) {
                slide["damping"] = slide["stiffness"].clone();
            }
            if self.random.chance(0.2) {
                slide["effort_limit"] = json!(self.mass * 9.81 * self.random.decade(-1.0, 2.0));
            }
        }
        if self.random.chance(0.1) {
            slide["friction"] = json!(0.1 * self.mass * 9.81);
        }
        let mut body = json!({"joint": [slide], "gravity": false, "pose": {"xyz": xyz}});
        body["shape"] = if self.random.chance(0.5) {
            json!({"box": {"size": [0.2 * s, 0.8 * s, 0.8 * s]}})
        } else {
            json!({"sphere": {"radius": 0.2 * s}})
        };
        if self.random.chance(0.5) {
            body["mass"] = json!(self.any_mass());
        }
        body["friction"] = self.friction();
        self.add(name.into(), body);
        let constant = way * self.random.decade(-3.0, 0.0);
        self.commands.push(json!({"joint": format!("{name}.x"), "constant": constant}));
    }

    fn jam(&mut self) {
        let s = self.size;
        let n = self.random.count(1, 4);
        for k in 0..n {
            let turned = self.random.chance(0.3);
            let body = self.free_body([k as f64 * s, 0.0, 0.5 * s], turned);
            self.add(format!("b{k:02}"), body);
        }
        self.pusher("left", [-0.6 * s, 0.0, 0.5 * s], [1.0, 0.0, 0.0], s);
        let right = (n as f64 - 0.4) * s;
        if self.random.chance(0.5) {
            self.pusher("right", [right, 0.0, 0.5 * s], [-1.0, 0.0, 0.0], s);
        } else {
            let wall = json!({"joint": "fixed", "pose": {"xyz": [right, 0.0, 0.5 * s]},
                "shape": {"box": {"size": [0.2 * s, s, s]}}});
            self.add("wall".into(), wall);
        }
    }

    fn grasp(&mut self) {
        let s = self.size;
        let body = self.free_body([0.0, 0.0, 0.5 * s], false);
        self.add("b00".into(), body);
        let fingers = self.random.count(2, 4);
        for k in 0..fingers {
            let angle = 2.0 * std::f64::consts::PI * k as f64 / fingers as f64;
            let away = [angle.cos(), angle.sin(), 0.0];
            let xyz = [0.8 * s * away[0], 0.8 * s * away[1], 0.5 * s];
            self.pusher(&format!("finger{k}"), xyz, away.map(|x| -x), s);
        }
        if self.random.chance(0.5) {
            let body = self.free_body([0.0, 0.0, 1.8 * s], true);
            self.add("b01".into(), body);
        }
    }

    fn overlaps(&mut self) {
        let n = self.random.count(2, 6);
        for k in 0..n {
            let xyz = self.random.direction().map(|x| 0.4 * self.size * x);
            let body = self.free_body([xyz[0], xyz[1], xyz[2] + 0.3 * self.size], true);
            self.add(format!("b{k:02}"), body);
        }
    }

    /// Joint `name` of a link, and its command if it is driven.
    fn joint(&mut self, name: &str, force: f64) -> (Value, Option<Value>) {
        let s = self.size;
        let axis = if self.random.chance(0.5) {
            let mut axis = [0.0; 3];
            axis[self.random.below(3)] = 1.0;
            axis
        } else {
            self.random.direction()
        };
        if self.random.chance(0.2) {
            return (json!("ball"), None);
        }
        let hinge = self.random.chance(0.6);
        // torque per rad for a hinge, force per m for a slide
        let stiff = if hinge { force * s } else { force / s };
        let mut joint = json!({"axis": axis});
        joint[if hinge { "hinge" } else { "slide" }] = json!(name);
        let driven = self.random.chance(0.5);
        if driven {
            joint["stiffness"] = json!(stiff * self.random.decade(-1.0, 4.0));
        }
        if self.random.chance(0.3) {
            joint["damping"] = json!(stiff * self.random.decade(-3.0, 0.0));
        }
        if self.random.chance(0.2) {
            joint["friction"] = json!(if hinge { 0.1 * force * s } else { 0.1 * force });
        }
        if self.random.chance(0.3) {
            let most = if hinge { 1.0 } else { 0.5 * s };
            joint["limits"] = json!([-most, most]);
        }
        let target = if hinge { 0.3 } else { 0.2 * s } * self.random.signed();
        let command = driven.then(|| json!({"joint": format!("tree.{name}"), "constant": target}));
        (json!([joint]), command)
    }

    fn tree(&mut self) {
        let s = self.size;
        let n = self.random.count(2, MOST_BODIES);
        let force = self.mass * 9.81;
        let mut bodies = Map::new();
        for k in 0..n {
            let (joint, command) = self.joint(&format!("j{k:02}"), force);
            let length = self.edge();
            let mut body = json!({"joint": joint, "mass": self.any_mass()});
            let z = if k == 0 { 3.0 * s } else { -1.2 * s };
            body["pose"] =
                json!({"xyz": [if k == 0 { 0.0 } else { 0.3 * s * self.random.signed() }, 0.0, z]});
            body["shape"] = json!({"box": {"size": [0.3 * s, 0.3 * s, length]}, "pose": {"xyz": [0.0, 0.0, -0.5 * length]}});
            if k > 0 {
                body["parent"] = json!(format!("l{:02}", self.random.below(k)));
            }
            self.commands.extend(command);
            bodies.insert(format!("l{k:02}"), body);
        }
        self.add("tree".into(), json!({ "bodies": bodies }));
        for k in 0..self.random.below(3) {
            let xyz = [0.8 * s * self.random.signed(), 0.0, s * self.random.between(0.5, 3.0)];
            let body = self.free_body(xyz, true);
            self.add(format!("b{k:02}"), body);
        }
    }

    /// Adds a crank, a coupler and a rocker that a pin closes, and sometimes a coupling of two
    /// joints.
    fn linkage(&mut self) {
        let s = self.size;
        let force = self.mass * 9.81;
        let hinge = |start: f64| json!([{"hinge": "q", "axis": [0, 1, 0], "start": start}]);
        let mut crank = json!({"joint": hinge(-1.2), "pose": {"xyz": [0.0, 0.0, 2.0 * s]}});
        crank["joint"][0]["stiffness"] = json!(force * s * self.random.decade(-1.0, 3.0));
        let coupler =
            json!({"parent": "arm0", "pose": {"xyz": [s, 0.0, 0.0]}, "joint": hinge(0.9)});
        let rocker = json!({"pose": {"xyz": [3.0 * s, 0.0, 2.0 * s]}, "joint": hinge(-1.9)});
        for (name, mut body) in [("arm0", crank), ("arm1", coupler), ("arm2", rocker)] {
            body["mass"] = json!(self.any_mass());
            body["shape"] = json!({"box": {"size": [0.5 * s, 0.2 * s, 0.2 * s]}, "pose": {"xyz": [0.5 * s, 0.0, 0.0]}});
            self.add(name.into(), body);
        }
        let pin =
            json!({"connect": ["arm1", "arm2"], "frames": [[2.5 * s, 0, 0], [2.0 * s, 0, 0]]});
        self.constraints.push(pin);
        let target = -1.2 + 0.5 * self.random.signed();
        self.commands.push(json!({"joint": "arm0.q", "constant": target}));
        if self.random.chance(0.4) {
            self.add(
                "dial".into(),
                json!({"joint": [{"hinge": "q", "axis": [0, 0, 1]}], "mass": self.mass}),
            );
            let ratio = self.random.between(-3.0, 3.0);
            self.constraints.push(
                json!({"coupling": {"arm0.q": ratio, "dial.q": -1.0}, "offset": -1.2 * ratio}),
            );
        }
        let lamp = self.free_body([0.0, 2.0 * s, 2.0 * s], false);
        if self.random.chance(0.3) {
            self.add("lamp".into(), lamp);
            self.constraints.push(json!({"weld": ["world", "lamp"]}));
        }
        for k in 0..self.random.count(1, 4) {
            let body = self.free_body([k as f64 * s, 0.0, 3.5 * s], true);
            self.add(format!("b{k:02}"), body);
        }
    }
}
