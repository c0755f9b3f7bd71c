//! Hockney's model: what a message and a reduction cost (T 3; Q 3.2).

/// A machine in Hockney's model: a message of n bytes takes α + nβ, a reduction of n bytes nγ.
///
/// Messages travel in both directions of a link at once; one that has nothing against it may be cheaper,
/// αuni + nβuni (T 3: the ratios fα and fβ, 0.5 for a simplex network to 1 for full duplex).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hockney {
    /// α: the startup time of a message.
    pub alpha_us: f64,
    /// β: the transfer time of a byte.
    pub beta_us_per_byte: f64,
    /// γ: the time to reduce a byte.
    pub gamma_us_per_byte: f64,
    /// αuni: the startup time of a message whose sender only sends and whose receiver only receives.
    pub alpha_uni_us: f64,
    /// βuni: the transfer time of a byte of such a message.
    pub beta_uni_us_per_byte: f64,
    /// The time to copy a byte locally; the papers take it to be free.
    pub copy_us_per_byte: f64,
}

impl Hockney {
    /// A machine on which one-way messages cost what others cost, and copies nothing.
    #[must_use]
    pub const fn new(alpha_us: f64, beta_us_per_byte: f64, gamma_us_per_byte: f64) -> Hockney {
        Hockney {
            alpha_us,
            beta_us_per_byte,
            gamma_us_per_byte,
            alpha_uni_us: alpha_us,
            beta_uni_us_per_byte: beta_us_per_byte,
            copy_us_per_byte: 0.0,
        }
    }

    /// The same machine with αuni = fα α and βuni = fβ β (T 3).
    #[must_use]
    pub const fn with_one_way(self, f_alpha: f64, f_beta: f64) -> Hockney {
        Hockney {
            alpha_uni_us: self.alpha_us * f_alpha,
            beta_uni_us_per_byte: self.beta_us_per_byte * f_beta,
            ..self
        }
    }

    /// fα = αuni/α, or 1 where messages start in no time.
    #[must_use]
    pub fn f_alpha(&self) -> f64 {
        ratio(self.alpha_uni_us, self.alpha_us)
    }

    /// fβ = βuni/β, or 1 where bytes take no time.
    #[must_use]
    pub fn f_beta(&self) -> f64 {
        ratio(self.beta_uni_us_per_byte, self.beta_us_per_byte)
    }

    /// What a breakdown costs when a unit has `unit_bytes` bytes.
    #[must_use]
    pub fn time_us(&self, b: &Breakdown, unit_bytes: f64) -> f64 {
        let per_unit = b.units as f64 * self.beta_us_per_byte
            + b.one_way_units as f64 * self.beta_uni_us_per_byte
            + b.reduced as f64 * self.gamma_us_per_byte
            + b.copied as f64 * self.copy_us_per_byte;
        b.messages as f64 * self.alpha_us
            + b.one_way as f64 * self.alpha_uni_us
            + per_unit * unit_bytes
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 1.0 }
}

/// What a path through a run is made of, counted exactly: times are computed from these counts and never
/// added up, so two paths of the same make take the same time to the last bit.
///
/// A unit is a byte where sizes come from a layout, and a part of the vector where they are ideal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breakdown {
    /// Messages at α.
    pub messages: u64,
    /// Messages at αuni.
    pub one_way: u64,
    /// Units at β.
    pub units: u64,
    /// Units at βuni.
    pub one_way_units: u64,
    /// Units reduced, at γ.
    pub reduced: u64,
    /// Units copied.
    pub copied: u64,
}

impl Breakdown {
    pub(super) fn with_message(mut self, units: u64, one_way: bool) -> Breakdown {
        if one_way {
            self.one_way += 1;
            self.one_way_units += units;
        } else {
            self.messages += 1;
            self.units += units;
        }
        self
    }

    pub(super) fn with_reduced(mut self, units: u64) -> Breakdown {
        self.reduced += units;
        self
    }

    pub(super) fn with_copied(mut self, units: u64) -> Breakdown {
        self.copied += units;
        self
    }
}
