//! Where readers of a scene file stand: numbers may be expressions of a copy, or of the boxes around bodies.

use crate::expr::Expr;
use crate::extents::{Extents, names_a_side};
use crate::replica::{Place, Replica};
use quasistep_formats::yaml;
pub(crate) use quasistep_formats::yaml::Node;

/// A place in a scene file.
pub(crate) type At<'a> = yaml::At<'a, Numbers<'a>>;
/// A mapping in a scene file.
pub(crate) type Map<'a> = yaml::Map<'a, Numbers<'a>>;

/// What numbers may name at a place of a scene file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers<'a> {
    /// The copy of a repeated model that is read: its numbers may be expressions.
    pub replica: Option<&'a Replica>,
    /// Boxes around the bodies above: their names may stand in numbers.
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

/// This place, read for one copy of a repeated model.
pub(crate) fn of_replica<'b>(at: &At<'b>, replica: &'b Replica) -> At<'b> {
    at.within(Numbers { replica: Some(replica), ..*at.context() })
}

/// This place, where numbers may use the boxes of bodies.
pub(crate) fn with_extents<'b>(at: &At<'b>, extents: &'b Extents) -> At<'b> {
    at.within(Numbers { extents: Some(extents), ..*at.context() })
}

/// True if this is read for a copy that is not the first: what is said of all copies has been said.
pub(crate) fn is_later_replica(at: &At<'_>) -> bool {
    at.context().replica.is_some_and(|replica| replica.index > 0)
}
