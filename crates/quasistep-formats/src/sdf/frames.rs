//! Resolves named frames: their poses, and the links that carry them.
//!
//! Every frame is given relative to another one: a link to its model, a joint to its child, a frame
//! to what it is attached to, a model to the enclosing one. These references must form a tree
//! rooted at the world; a cycle is an error.

use super::model::Model;
use super::value::{MODEL_FRAME, Placed, SCOPE, WORLD};
use crate::error::{SceneError, unknown};
use crate::spot::Spot;
use quasistep_math::Pose;
use std::collections::{BTreeMap, BTreeSet};

/// Index of the world frame.
const ROOT: usize = 0;

/// What carries a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    World,
    /// A link, by the index of its frame.
    Link(usize),
    /// The link that carries another frame, by the index of that frame.
    As(usize),
}

struct Frame<'m> {
    /// Place in the file; `None` for the world's frame.
    spot: Option<&'m Spot>,
    name: &'m str,
    base: usize,
    X_base: Pose,
    carrier: Carrier,
    X_W: Pose,
}

/// A model with its named parts.
pub(super) struct Scope<'m> {
    pub model: &'m Model,
    /// Index of the model's frame.
    pub frame: usize,
    names: BTreeMap<&'m str, usize>,
    scopes: BTreeMap<&'m str, usize>,
    /// Frame indices of links, in file order.
    pub links: Vec<usize>,
    pub joints: Vec<usize>,
    pub frames: Vec<usize>,
    /// Scope indices of nested models, in file order.
    pub models: Vec<usize>,
}

/// All frames of a model or world.
pub(super) struct Frames<'m> {
    frames: Vec<Frame<'m>>,
    pub scopes: Vec<Scope<'m>>,
}

impl<'m> Frames<'m> {
    /// Resolves all frames.
    ///
    /// # Errors
    ///
    /// Unknown or duplicate names, and frames that refer to one another in a cycle.
    pub fn new(root: &'m Model) -> Result<Self, SceneError> {
        let world = Frame {
            spot: None,
            name: WORLD,
            base: ROOT,
            X_base: Pose::IDENTITY,
            carrier: Carrier::World,
            X_W: Pose::IDENTITY,
        };
        let mut all = Self { frames: vec![world], scopes: Vec::new() };
        all.collect(root)?;
        for scope in 0..all.scopes.len() {
            all.connect(scope)?;
        }
        // innermost models first: a placement needs the frames inside its model
        for scope in (0..all.scopes.len()).rev() {
            all.place(scope)?;
        }
        all.resolve()?;
        Ok(all)
    }

    /// Creates a scope for each model, in file order, outer ones first.
    fn collect(&mut self, root: &'m Model) -> Result<(), SceneError> {
        let frame = if root.is_world { ROOT } else { self.add(&root.spot, &root.name) };
        self.scopes.push(Scope::new(root, frame));
        let mut next = 0;
        while next < self.scopes.len() {
            let model = self.scopes[next].model;
            let mut scope = Scope::new(model, self.scopes[next].frame);
            let [mut bodies, mut joints, mut frames] = [(); 3].map(|()| BTreeSet::new());
            for link in &model.links {
                let frame = self.add(&link.spot, &link.name);
                self.frames[frame].carrier = Carrier::Link(frame);
                scope.links.push(frame);
                scope.name(&link.name, frame, &link.spot, &mut bodies)?;
            }
            for nested in &model.models {
                let frame = self.add(&nested.spot, &nested.name);
                scope.name(&nested.name, frame, &nested.spot, &mut bodies)?;
                scope.scopes.insert(&nested.name, self.scopes.len());
                scope.models.push(self.scopes.len());
                self.scopes.push(Scope::new(nested, frame));
            }
            for joint in &model.joints {
                let frame = self.add(&joint.spot, &joint.name);
                scope.joints.push(frame);
                scope.name(&joint.name, frame, &joint.spot, &mut joints)?;
            }
            for own in &model.frames {
                let frame = self.add(&own.spot, &own.name);
                scope.frames.push(frame);
                scope.name(&own.name, frame, &own.spot, &mut frames)?;
            }
            self.scopes[next] = scope;
            next += 1;
        }
        Ok(())
    }

    fn add(&mut self, spot: &'m Spot, name: &'m str) -> usize {
        self.frames.push(Frame {
            spot: Some(spot),
            name,
            base: ROOT,
            X_base: Pose::IDENTITY,
            carrier: Carrier::World,
            X_W: Pose::IDENTITY,
        });
        self.frames.len() - 1
    }

    /// Converts the names of base frames and carriers in a scope to indices.
    fn connect(&mut self, scope: usize) -> Result<(), SceneError> {
        let model = self.scopes[scope].model;
        let own = self.scopes[scope].frame;
        for (k, link) in model.links.iter().enumerate() {
            self.base(self.scopes[scope].links[k], &link.placed, own, scope, &link.spot)?;
        }
        for (k, joint) in model.joints.iter().enumerate() {
            let child = self.find(scope, &joint.child, &joint.spot)?;
            let frame = self.scopes[scope].joints[k];
            self.base(frame, &joint.placed, child, scope, &joint.spot)?;
            self.frames[frame].carrier = Carrier::As(child);
        }
        for (k, frame) in model.frames.iter().enumerate() {
            let attached = match &frame.attached_to {
                Some(name) => self.find(scope, name, &frame.spot)?,
                None => own,
            };
            let index = self.scopes[scope].frames[k];
            self.base(index, &frame.placed, attached, scope, &frame.spot)?;
            self.frames[index].carrier = Carrier::As(attached);
        }
        for (k, nested) in model.models.iter().enumerate() {
            let inner = self.scopes[scope].models[k];
            let frame = self.scopes[inner].frame;
            self.base(frame, &nested.placed, own, scope, &nested.spot)?;
        }
        if scope == 0 && !model.is_world {
            // a model file's root model is given relative to the world
            if let Some(name) = model.placed.relative_to.as_deref().filter(|name| *name != WORLD) {
                let text = format!(
                    "its pose is given in `{name}`; around the outermost model is only the world"
                );
                return Err(model.spot.error(text));
            }
            let placed = Placed { pose: model.placed.pose, relative_to: None };
            self.base(own, &placed, ROOT, scope, &model.spot)?;
        }
        if !model.is_world {
            self.frames[own].carrier = self.canonical(scope)?;
        }
        Ok(())
    }

    /// The carrier of a model's frame: the canonical link, or the first link, or that of the first
    /// nested model.
    fn canonical(&self, scope: usize) -> Result<Carrier, SceneError> {
        let at = &self.scopes[scope];
        if let Some(name) = &at.model.canonical_link {
            return Ok(Carrier::As(self.find(scope, name, &at.model.spot)?));
        }
        Ok(match (at.links.first(), at.models.first()) {
            (Some(&link), _) => Carrier::As(link),
            (None, Some(&nested)) => Carrier::As(self.scopes[nested].frame),
            (None, None) => Carrier::World,
        })
    }

    fn base(
        &mut self,
        frame: usize,
        placed: &Placed,
        usual: usize,
        scope: usize,
        spot: &Spot,
    ) -> Result<(), SceneError> {
        self.frames[frame].base = match &placed.relative_to {
            Some(name) => self.find(scope, name, spot)?,
            None => usual,
        };
        self.frames[frame].X_base = placed.pose;
        Ok(())
    }

    /// Applies `placement_frame`: moves the model's frame so that the named frame gets the model's
    /// pose.
    fn place(&mut self, scope: usize) -> Result<(), SceneError> {
        let Scope { model, frame, .. } = self.scopes[scope];
        let Some(name) = &model.placement_frame else { return Ok(()) };
        let placed = self.find(scope, name, &model.spot)?;
        let X_MP = self.within(placed, frame)?;
        self.frames[frame].X_base = self.frames[frame].X_base * X_MP.inverse();
        Ok(())
    }

    /// Pose of a frame in the frame of its model.
    fn within(&self, frame: usize, model: usize) -> Result<Pose, SceneError> {
        let mut X = Pose::IDENTITY;
        let mut at = frame;
        for _ in 0..=self.frames.len() {
            if at == model {
                return Ok(X);
            }
            if at == ROOT {
                break;
            }
            X = self.frames[at].X_base * X;
            at = self.frames[at].base;
        }
        Err(self.complain(frame, "it is not given in the frame of its model, which it is to place"))
    }

    /// Resolves the world pose of each frame, and the link that carries it.
    fn resolve(&mut self) -> Result<(), SceneError> {
        let n = self.frames.len();
        let mut known = vec![false; n];
        known[ROOT] = true;
        for start in 1..n {
            let mut way = Vec::new();
            let mut at = start;
            while !known[at] {
                if way.len() > n {
                    return Err(self.complain(
                        start,
                        "its pose is given in frames that are given in one another",
                    ));
                }
                way.push(at);
                at = self.frames[at].base;
            }
            for at in way.into_iter().rev() {
                self.frames[at].X_W =
                    self.frames[self.frames[at].base].X_W * self.frames[at].X_base;
                known[at] = true;
            }
        }
        let mut known = vec![false; n];
        for start in 0..n {
            let mut way = Vec::new();
            let mut at = start;
            while let (false, Carrier::As(next)) = (known[at], self.frames[at].carrier) {
                if way.len() > n {
                    return Err(self.complain(
                        start,
                        "it is attached to frames that are attached to one another",
                    ));
                }
                way.push(at);
                at = next;
            }
            known[at] = true;
            let carrier = self.frames[at].carrier;
            for at in way {
                self.frames[at].carrier = carrier;
                known[at] = true;
            }
        }
        Ok(())
    }

    fn complain(&self, frame: usize, message: &str) -> SceneError {
        let Frame { spot, name, .. } = self.frames[frame];
        match spot {
            Some(spot) => spot.error(format!("`{name}`: {message}")),
            None => SceneError::new("", None, name, message),
        }
    }

    /// Frame of this name seen from a model: its own, one of its parts, or one of a nested model.
    pub fn find(&self, scope: usize, name: &str, spot: &Spot) -> Result<usize, SceneError> {
        let mut at = &self.scopes[scope];
        if name == WORLD {
            return Ok(ROOT);
        }
        let mut rest = name;
        loop {
            if rest == MODEL_FRAME {
                return Ok(at.frame);
            }
            // files up to version 1.7 may have names with colons
            if let Some(&frame) = at.names.get(rest) {
                return Ok(frame);
            }
            let inner = rest
                .match_indices(SCOPE)
                .find_map(|(k, _)| Some((*at.scopes.get(&rest[..k])?, &rest[k + SCOPE.len()..])));
            let Some((inner, below)) = inner else {
                let names: Vec<&str> = at.names.keys().copied().collect();
                return Err(spot.error(unknown("frame", rest, &names)));
            };
            (at, rest) = (&self.scopes[inner], below);
        }
    }

    /// World pose of a frame.
    pub fn X_W(&self, frame: usize) -> Pose {
        self.frames[frame].X_W
    }

    /// Frame index of the link that carries a frame; `None` for the world.
    pub fn link_of(&self, frame: usize) -> Option<usize> {
        match self.frames[frame].carrier {
            Carrier::Link(link) => Some(link),
            Carrier::World | Carrier::As(_) => None,
        }
    }

    /// Pose of a frame in another frame.
    pub fn pose(&self, frame: usize, of: usize) -> Pose {
        if frame == of {
            return Pose::IDENTITY;
        }
        // use the pose of the file directly if one frame is given in the other, without rounding
        if self.frames[of].base == frame && of != ROOT {
            return self.frames[of].X_base;
        }
        self.X_W(frame).inverse() * self.X_W(of)
    }
}

impl<'m> Scope<'m> {
    fn new(model: &'m Model, frame: usize) -> Self {
        Self {
            model,
            frame,
            names: BTreeMap::new(),
            scopes: BTreeMap::new(),
            links: Vec::new(),
            joints: Vec::new(),
            frames: Vec::new(),
            models: Vec::new(),
        }
    }

    /// Registers the name of a frame. In files up to version 1.6, a joint or frame may share the
    /// name of a link or model; the link or model then keeps it.
    fn name(
        &mut self,
        name: &'m str,
        frame: usize,
        spot: &Spot,
        of_kind: &mut BTreeSet<&'m str>,
    ) -> Result<(), SceneError> {
        if !of_kind.insert(name) {
            return Err(spot.error("a second one of this name was seen; names must differ"));
        }
        self.names.entry(name).or_insert(frame);
        Ok(())
    }
}
