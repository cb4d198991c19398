//! Expressions of time, such as `0.1*sin(2*pi*t)`, with derivatives; and expressions of a copy
//! index, such as `0.1*i`.

/// A parsed expression of `t`. Other names are replaced by their values when it is parsed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    Number(f64),
    Time,
    Negate(Box<Expr>),
    Binary(char, Box<Expr>, Box<Expr>),
    Call(Function, Vec<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Sin,
    Cos,
    Tan,
    Exp,
    Log,
    Sqrt,
    Abs,
    Min,
    Max,
    Clamp,
    Step,
    Smooth,
    Floor,
    Ceil,
    Mod,
    /// Linear interpolation from `x` to `y`: the form of `random(x, y)` after its random share is
    /// drawn.
    Between,
    If,
}

/// Name, function, and number of arguments.
const FUNCTIONS: [(&str, Function, usize); 16] = [
    ("sin", Function::Sin, 1),
    ("cos", Function::Cos, 1),
    ("tan", Function::Tan, 1),
    ("exp", Function::Exp, 1),
    ("log", Function::Log, 1),
    ("sqrt", Function::Sqrt, 1),
    ("abs", Function::Abs, 1),
    ("min", Function::Min, 2),
    ("max", Function::Max, 2),
    ("clamp", Function::Clamp, 3),
    ("step", Function::Step, 1),
    ("smooth", Function::Smooth, 1),
    ("floor", Function::Floor, 1),
    ("ceil", Function::Ceil, 1),
    ("mod", Function::Mod, 2),
    ("if", Function::If, 3),
];
/// Name of the function `random(low, high)`; valid only if [`Names`] can draw numbers.
const RANDOM: &str = "random";

/// Names that an expression may use in addition to `pi` and the functions.
pub(crate) trait Names {
    /// Valid names, for messages.
    fn valid(&self) -> Vec<&str>;

    /// Value of a name.
    fn value(&self, name: &str) -> Option<Expr>;

    /// The `k`-th random number of this expression, in [0, 1]; `None` if random numbers are not
    /// allowed.
    fn draw(&self, k: usize) -> Option<f64>;
}

/// True if this word has a predefined meaning in some expression.
pub(crate) fn is_reserved(name: &str) -> bool {
    matches!(name, "t" | "pi" | RANDOM) || FUNCTIONS.iter().any(|(n, ..)| *n == name)
}

impl Expr {
    /// Parses an expression.
    ///
    /// # Errors
    ///
    /// A message with the column, from 1.
    pub fn parse(text: &str, names: &dyn Names) -> Result<Self, String> {
        if text.len() > MAX_LENGTH {
            return Err(format!(
                "{} characters were seen; an expression has at most {MAX_LENGTH}",
                text.len()
            ));
        }
        let mut reader = Reader { text, at: 0, depth: 0, names, drawn: 0 };
        let expr = reader.sum()?;
        reader.skip();
        if reader.at < text.len() {
            return Err(reader.complaint("an operator or the end"));
        }
        Ok(expr)
    }

    /// Adds times in (`from`, `to`], in s, at which a function goes from one of its pieces to
    /// another. Each is the first time of the new piece. Pieces shorter than the span divided by
    /// [`CELLS`] may be missed.
    pub fn kinks(&self, (from, to): (f64, f64), out: &mut Vec<f64>) {
        match self {
            Self::Number(_) | Self::Time => return,
            Self::Negate(a) => a.kinks((from, to), out),
            Self::Binary(_, a, b) => [a, b].iter().for_each(|part| part.kinks((from, to), out)),
            Self::Call(_, parts) => parts.iter().for_each(|part| part.kinks((from, to), out)),
        }
        let time = |k: usize| from + (to - from) * k as f64 / CELLS as f64;
        let mut last = self.piece(from);
        for k in 1..=CELLS {
            let end = self.piece(time(k));
            // one cell may have several kinks
            let mut low = time(k - 1);
            for _ in 0..MOST_IN_CELL {
                if last == end {
                    break;
                }
                let mut high = time(k);
                let mut middle = 0.5 * (low + high);
                while low < middle && middle < high {
                    if self.piece(middle) == last {
                        low = middle;
                    } else {
                        high = middle;
                    }
                    middle = 0.5 * (low + high);
                }
                out.push(high);
                (low, last) = (high, self.piece(high));
            }
            last = end;
        }
    }

    /// Number of the piece of this function that gives its value at `t`; its arguments are not
    /// looked at.
    fn piece(&self, t: f64) -> f64 {
        let Self::Call(function, arguments) = self else { return 0.0 };
        let x = arguments[0].at(t).0;
        let is = |yes: bool| f64::from(u8::from(yes));
        let piece = match function {
            Function::Abs | Function::Step => is(x < 0.0),
            Function::Min | Function::Max => is(x < arguments[1].at(t).0),
            Function::Clamp => is(x < arguments[1].at(t).0) - is(x > arguments[2].at(t).0),
            Function::Smooth => is(x > 0.0) + is(x >= 1.0),
            Function::Floor => x.floor(),
            Function::Ceil => x.ceil(),
            Function::Mod => (x / arguments[1].at(t).0).floor(),
            Function::If => is(x > 0.0),
            Function::Sin
            | Function::Cos
            | Function::Tan
            | Function::Exp
            | Function::Log
            | Function::Sqrt
            | Function::Between => 0.0,
        };
        // NaN differs from itself
        if piece.is_nan() { 0.0 } else { piece }
    }

    /// Value and time derivative at `t`, in s.
    pub fn at(&self, t: f64) -> (f64, f64) {
        match self {
            Self::Number(x) => (*x, 0.0),
            Self::Time => (t, 1.0),
            Self::Negate(a) => {
                let (a, da) = a.at(t);
                (-a, -da)
            }
            Self::Binary(op, a, b) => binary(*op, a.at(t), b.at(t)),
            Self::Call(function, arguments) => call(*function, arguments, t),
        }
    }
}

fn binary(op: char, (a, da): (f64, f64), (b, db): (f64, f64)) -> (f64, f64) {
    match op {
        '+' => (a + b, da + db),
        '-' => (a - b, da - db),
        '*' => (a * b, da * b + a * db),
        '/' => (a / b, (da * b - a * db) / (b * b)),
        // a constant exponent: the formula without logarithm also works for a negative base
        _ if db == 0.0 => (a.powf(b), if b == 0.0 { 0.0 } else { b * a.powf(b - 1.0) * da }),
        _ => {
            let value = a.powf(b);
            (value, value * (db * a.ln() + b * da / a))
        }
    }
}

fn call(function: Function, arguments: &[Expr], t: f64) -> (f64, f64) {
    let (x, dx) = arguments[0].at(t);
    match function {
        Function::Sin => (x.sin(), x.cos() * dx),
        Function::Cos => (x.cos(), -x.sin() * dx),
        Function::Tan => (x.tan(), dx / x.cos().powi(2)),
        Function::Exp => (x.exp(), x.exp() * dx),
        Function::Log => (x.ln(), dx / x),
        Function::Sqrt => (x.sqrt(), if dx == 0.0 { 0.0 } else { 0.5 * dx / x.sqrt() }),
        Function::Abs => (x.abs(), if x < 0.0 { -dx } else { dx }),
        Function::Min | Function::Max => {
            let (y, dy) = arguments[1].at(t);
            if (x < y) == (function == Function::Min) { (x, dx) } else { (y, dy) }
        }
        Function::Clamp => {
            let (low, high) = (arguments[1].at(t), arguments[2].at(t));
            if x < low.0 {
                low
            } else if x > high.0 {
                high
            } else {
                (x, dx)
            }
        }
        Function::Step => (if x < 0.0 { 0.0 } else { 1.0 }, 0.0),
        Function::Smooth => {
            if x <= 0.0 {
                (0.0, 0.0)
            } else if x >= 1.0 {
                (1.0, 0.0)
            } else {
                (x * x * (3.0 - 2.0 * x), 6.0 * x * (1.0 - x) * dx)
            }
        }
        Function::Floor => (x.floor(), 0.0),
        Function::Ceil => (x.ceil(), 0.0),
        Function::Mod => {
            let (y, dy) = arguments[1].at(t);
            // the result has the sign of y: mod(-1, 4) is 3
            let turns = (x / y).floor();
            (x - turns * y, dx - turns * dy)
        }
        Function::Between => {
            let ((y, dy), (share, _)) = (arguments[1].at(t), arguments[2].at(t));
            (x + share * (y - x), dx + share * (dy - dx))
        }
        Function::If => arguments[if x > 0.0 { 1 } else { 2 }].at(t),
    }
}

/// Number of parts of a run in which kinks are looked for.
const CELLS: usize = 4096;
/// Largest number of kinks that are looked for in one of these parts.
const MOST_IN_CELL: usize = 8;
/// Deepest nesting; bounds the use of the stack.
const MAX_DEPTH: usize = 64;
/// Longest expression, in characters; a sum of this length does not overflow the stack.
const MAX_LENGTH: usize = 4000;

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    names: &'a dyn Names,
    /// Number of random numbers drawn so far.
    drawn: usize,
}

impl Reader<'_> {
    fn skip(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn peek(&mut self) -> Option<char> {
        self.skip();
        self.text[self.at..].chars().next()
    }

    fn take(&mut self, wanted: char) -> Result<(), String> {
        if self.peek() == Some(wanted) {
            self.at += wanted.len_utf8();
            return Ok(());
        }
        Err(self.complaint(&format!("`{wanted}`")))
    }

    fn complaint(&mut self, wanted: &str) -> String {
        let seen = self.peek().map_or("the end".into(), |c| format!("`{c}`"));
        let column = self.text[..self.at].chars().count() + 1;
        format!("column {column} of `{}`: {seen} was seen where {wanted} belongs", self.text)
    }

    fn sum(&mut self) -> Result<Expr, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("`{}` is nested deeper than {MAX_DEPTH}", self.text));
        }
        let mut left = self.product()?;
        while let Some(op @ ('+' | '-')) = self.peek() {
            self.at += 1;
            left = Expr::Binary(op, Box::new(left), Box::new(self.product()?));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn product(&mut self) -> Result<Expr, String> {
        let mut left = self.signed()?;
        while let Some(op @ ('*' | '/')) = self.peek() {
            self.at += 1;
            left = Expr::Binary(op, Box::new(left), Box::new(self.signed()?));
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<Expr, String> {
        let mut negative = false;
        while let Some(sign @ ('-' | '+')) = self.peek() {
            self.at += 1;
            negative ^= sign == '-';
        }
        let power = self.power()?;
        Ok(if negative { Expr::Negate(Box::new(power)) } else { power })
    }

    fn power(&mut self) -> Result<Expr, String> {
        let base = self.atom()?;
        if self.peek() != Some('^') {
            return Ok(base);
        }
        self.at += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("`{}` is nested deeper than {MAX_DEPTH}", self.text));
        }
        // right-associative: 2^3^2 is 2^9; -2^2 is -4, 2^-1 is a half
        let exponent = self.signed()?;
        self.depth -= 1;
        Ok(Expr::Binary('^', Box::new(base), Box::new(exponent)))
    }

    fn atom(&mut self) -> Result<Expr, String> {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let inner = self.sum()?;
                self.take(')')?;
                Ok(inner)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.name(),
            _ => {
                let names: Vec<String> =
                    self.names.valid().iter().map(|name| format!("`{name}`")).collect();
                let wanted = format!("a number, {}, `pi`, a function or `(`", names.join(", "));
                Err(self.complaint(&wanted))
            }
        }
    }

    fn number(&mut self) -> Result<Expr, String> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut end = start;
        while end < bytes.len() {
            let c = bytes[end];
            let exponent_sign =
                matches!(c, b'+' | b'-') && end > start && matches!(bytes[end - 1], b'e' | b'E');
            if !(c.is_ascii_digit() || matches!(c, b'.' | b'e' | b'E') || exponent_sign) {
                break;
            }
            end += 1;
        }
        let text = &self.text[start..end];
        match text.parse::<f64>() {
            Ok(x) if x.is_finite() => {
                self.at = end;
                Ok(Expr::Number(x))
            }
            _ => Err(self.complaint("a finite number")),
        }
    }

    fn name(&mut self) -> Result<Expr, String> {
        let rest = &self.text[self.at..];
        // a dot between letters is part of a name: `bunny.max_z`
        let inner = |(i, c): (usize, char)| {
            c.is_ascii_alphanumeric()
                || c == '_'
                || c == '.' && rest[i + 1..].starts_with(|next: char| next.is_ascii_alphabetic())
        };
        let end = rest.char_indices().find(|&at| !inner(at)).map_or(rest.len(), |(i, _)| i);
        let name = &rest[..end];
        if name == "pi" {
            self.at += name.len();
            return Ok(Expr::Number(std::f64::consts::PI));
        }
        if let Some(value) = self.names.value(name) {
            self.at += name.len();
            return Ok(value);
        }
        if name == RANDOM
            && let Some(share) = self.names.draw(self.drawn)
        {
            self.drawn += 1;
            let mut arguments = self.arguments(name, 2)?;
            arguments.push(Expr::Number(share));
            return Ok(Expr::Call(Function::Between, arguments));
        }
        let Some((_, function, count)) = FUNCTIONS.iter().find(|(n, ..)| *n == name) else {
            let mut valid = self.names.valid();
            valid.push("pi");
            if self.names.draw(0).is_some() {
                valid.push(RANDOM);
            }
            valid.extend(FUNCTIONS.iter().map(|(n, ..)| *n));
            return Err(format!(
                "{} in `{}`",
                quasistep_formats::unknown("name", name, &valid),
                self.text
            ));
        };
        Ok(Expr::Call(*function, self.arguments(name, *count)?))
    }

    /// Parses the arguments of the function `name`.
    fn arguments(&mut self, name: &str, count: usize) -> Result<Vec<Expr>, String> {
        self.at += name.len();
        self.take('(')?;
        let mut arguments = vec![self.sum()?];
        while self.peek() == Some(',') {
            self.at += 1;
            arguments.push(self.sum()?);
        }
        self.take(')')?;
        if arguments.len() != count {
            return Err(format!(
                "`{name}` takes {count} arguments; {} were seen in `{}`",
                arguments.len(),
                self.text
            ));
        }
        Ok(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::Expr;
    use crate::extents::OfTime;

    fn value(text: &str, t: f64) -> f64 {
        Expr::parse(text, &OfTime(None)).unwrap().at(t).0
    }

    #[test]
    fn operators_bind_as_in_mathematics() {
        assert_eq!(value("1 + 2*3", 0.0), 7.0);
        assert_eq!(value("2^3^2", 0.0), 512.0);
        assert_eq!(value("-2^2", 0.0), -4.0);
        assert_eq!(value("2^-1", 0.0), 0.5);
        assert_eq!(value("8/4/2", 0.0), 1.0);
        assert_eq!(value("1 - 2 - 3", 0.0), -4.0);
        assert_eq!(value("(1+2)*3e-1", 0.0), 0.3 * 3.0);
        assert_eq!(value("mod(7, 4) + 10*mod(-1, 4) + floor(-0.5) + ceil(1.1)", 0.0), 34.0);
        assert_eq!(value("if(t-1, 5, clamp(t, 0.2, 0.8))", 0.5), 0.5);
    }

    #[test]
    fn derivatives_agree_with_central_differences() {
        for text in [
            "0.1*sin(2*pi*t)",
            "cos(t)^2/(1+t)",
            "exp(-t)*sqrt(1+t^2)",
            "smooth(t/2) + log(2+t)",
            "max(t, 0.5)*min(t, 3) + abs(t-9)",
            "clamp(t, 0, 2)*tan(t/4)",
            "(1+t)^t",
            "mod(3*t, 0.5) + mod(-t, 2) + floor(t) + ceil(t)",
        ] {
            let expr = Expr::parse(text, &OfTime(None)).unwrap();
            for t in [0.13, 0.71, 1.37] {
                let d = 1e-6;
                let difference = (expr.at(t + d).0 - expr.at(t - d).0) / (2.0 * d);
                assert!((expr.at(t).1 - difference).abs() < 1e-7, "{text} at {t}");
            }
        }
    }

    /// Kinks are the first times of the new pieces, to the last digit; a smooth function has none.
    #[test]
    fn kinks_are_found_to_the_last_digit() {
        let kinks = |text: &str| {
            let mut out = Vec::new();
            Expr::parse(text, &OfTime(None)).unwrap().kinks((0.0, 4.0), &mut out);
            out.sort_by(f64::total_cmp);
            out
        };
        assert!(kinks("0.1*sin(2*pi*t)*exp(-t) + t^2").is_empty());
        assert_eq!(kinks("step(t-1)"), [1.0]);
        assert_eq!(kinks("2*max(0, t - 0.75)"), [0.75f64.next_up()]);
        assert_eq!(kinks("clamp(t, 1, 2.5)"), [1.0, 2.5f64.next_up()]);
        assert_eq!(kinks("floor(2*t)"), [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]);
        assert_eq!(kinks("smooth((t-1)/2)"), [1f64.next_up(), 3.0]);
        // two within one cell
        let both = kinks("if(t - 1, if(t - 1.0003, 0, 1), 0)");
        assert_eq!(both, [1f64.next_up(), 1.0003f64.next_up()]);
        let turn = kinks("abs(sin(2*t))");
        assert!(
            turn.len() == 2 && (turn[0] - 0.5 * std::f64::consts::PI).abs() < 1e-15,
            "{turn:?}"
        );
    }

    #[test]
    fn mistakes_are_named() {
        let wrong = |text: &str| Expr::parse(text, &OfTime(None)).unwrap_err();
        assert!(wrong("1 +").contains("column 4"));
        assert!(wrong("sinn(t)").contains("did you mean `sin`"));
        assert!(wrong("max(t)").contains("takes 2 arguments"));
        assert!(wrong("2 t").contains("an operator or the end"));
        assert!(wrong("").contains("the end"));
        assert!(wrong(&"(".repeat(500)).contains("nested"));
        assert!(wrong(&"1+".repeat(5000)).contains("at most"));
        let long = format!("{}1", "1+".repeat(1999));
        assert_eq!(value(&long, 0.0), 2000.0);
    }
}
