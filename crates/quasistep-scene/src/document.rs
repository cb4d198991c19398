//! Position of a reader in a scene file, with the rules for numbers: expressions of a copy index,
//! or of bounding boxes.

use crate::expr::Expr;
use crate::extents::{Extents, names_a_side};
use crate::replica::{Place, Replica};
use quasistep_formats::yaml;
pub(crate) use quasistep_formats::yaml::Node;

/// A position in a scene file.
pub(crate) type At<'a> = yaml::At<'a, Numbers<'a>>;
/// A mapping in a scene file.
pub(crate) type Map<'a> = yaml::Map<'a, Numbers<'a>>;

/// Names that numbers may use at a position in a scene file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers<'a> {
    /// The copy of a repeated model that is being read; expressions may use its index.
    pub replica: Option<&'a Replica>,
    /// Bounding boxes of the bodies defined above; expressions may use their sides.
    pub extents: Option<&'a Extents>,
}

impl yaml::Context for Numbers<'_> {
    fn value(&self, text: &str, key: &str) -> Option<Result<f64, String>> {
        let expr = match (self.replica, self.extents) {
            (Some(replica), extents) => Expr::parse(text, &Place { replica, key, extents }),
            (None, Some(extents)) if names_a_side(text) => Expr::parse(text, extents),
            (None, _) => return None,
        };
        Some(expr.map(|expr| expr.at(0.0).0))
    }

    fn label(&self) -> Option<&str> {
        self.replica.map(|replica| replica.name.as_str())
    }
}

/// The position `at`, for one copy of a repeated model.
pub(crate) fn of_replica<'b>(at: &At<'b>, replica: &'b Replica) -> At<'b> {
    at.within(Numbers { replica: Some(replica), ..*at.context() })
}

/// The position `at`, where numbers may use bounding boxes of bodies.
pub(crate) fn with_extents<'b>(at: &At<'b>, extents: &'b Extents) -> At<'b> {
    at.within(Numbers { extents: Some(extents), ..*at.context() })
}

/// True for a copy other than the first, so that warnings common to all copies are given once.
pub(crate) fn is_later_replica(at: &At<'_>) -> bool {
    at.context().replica.is_some_and(|replica| replica.index > 0)
}
