//! What a page asks for, as JSON.

use quasistep_math::Vec3;
use serde_json::Value;

/// What a page asks of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Take steps in real time.
    Play,
    /// Take no more steps.
    Pause,
    /// Take one step, and pause.
    Step,
    /// Go back to the start, with the scene's own commands.
    Reset,
    /// Simulated time per real time, > 0.
    Pace(f64),
    /// The value of a control (m, rad, or a share); `None` gives it back to the scene's commands.
    Command {
        /// Index of the control.
        control: usize,
        /// Its value.
        value: Option<f64>,
    },
    /// A spring from a point of a body to a point of the world.
    Pull {
        /// Index of the body.
        body: usize,
        /// Point in the body's frame, in m.
        p_B: Vec3,
        /// Point in W, in m.
        to_W: Vec3,
    },
    /// No spring any more.
    Release,
    /// A value of the scene by its dotted key, as `--set` reads it.
    Set {
        /// The key.
        key: String,
        /// The value.
        value: String,
    },
}

impl Message {
    /// Reads a message.
    ///
    /// # Errors
    ///
    /// What was seen, and what would be valid.
    pub fn read(text: &str) -> Result<Self, String> {
        let value: Value =
            serde_json::from_str(text).map_err(|e| format!("a message is no JSON: {e}"))?;
        let number = |key: &str| {
            let number = value[key].as_f64().filter(|x| x.is_finite());
            number.ok_or_else(|| format!("`{key}`: {} was seen; give a number", value[key]))
        };
        let index = |key: &str| {
            let index = value[key].as_u64().map(|k| k as usize);
            index.ok_or_else(|| format!("`{key}`: {} was seen; give a whole number", value[key]))
        };
        let point = |key: &str| {
            let x = |k: usize| value[key][k].as_f64().filter(|x| x.is_finite());
            match (x(0), x(1), x(2)) {
                (Some(x), Some(y), Some(z)) => Ok(Vec3::new(x, y, z)),
                _ => Err(format!("`{key}`: {} was seen; give three numbers (m)", value[key])),
            }
        };
        let text = |key: &str| {
            let text = value[key].as_str().map(str::to_owned);
            text.ok_or_else(|| format!("`{key}`: {} was seen; give a text", value[key]))
        };
        Ok(match value["do"].as_str().unwrap_or_default() {
            "play" => Self::Play,
            "pause" => Self::Pause,
            "step" => Self::Step,
            "reset" => Self::Reset,
            "pace" => Self::Pace(number("value")?),
            "command" => {
                let told = if value["value"].is_null() { None } else { Some(number("value")?) };
                Self::Command { control: index("control")?, value: told }
            }
            "pull" => Self::Pull { body: index("body")?, p_B: point("at")?, to_W: point("to")? },
            "release" => Self::Release,
            "set" => Self::Set { key: text("key")?, value: text("value")? },
            other => {
                return Err(format!(
                    "`{other}` was asked; give play, pause, step, reset, pace, command, pull, release or set"
                ));
            }
        })
    }
}
