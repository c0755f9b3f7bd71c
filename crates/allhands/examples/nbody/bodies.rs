//! Bodies: a star cluster in balance (Plummer's model), how it moves, and the forces and sums that an answer is checked with.

use bytemuck::{Pod, Zeroable};

/// A place, a velocity or an acceleration.
pub type Vector = [f64; 3];

/// Distances are softened by this, so that two bodies may pass one another.
pub const SOFTENING: f64 = 0.05;

/// One body. The constant of gravity is 1, and so are the mass of all bodies and the radius of the cluster.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Body {
    pub position: Vector,
    pub velocity: Vector,
    pub acceleration: Vector,
    pub potential: f64,
    pub mass: f64,
    /// Its place on the curve through the cube; of this step.
    pub key: u64,
    pub number: u64,
    /// Cells and bodies that it was compared with in the last step.
    pub work: u64,
}

/// Kinetic and potential energy, and momentum.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Totals {
    pub kinetic: f64,
    pub potential: f64,
    pub momentum: Vector,
}

impl Totals {
    pub fn of(bodies: &[Body]) -> Totals {
        let mut totals = Totals::default();
        for body in bodies {
            totals.kinetic += 0.5 * body.mass * dot(body.velocity, body.velocity);
            // Each pair is in two bodies' potentials.
            totals.potential += 0.5 * body.mass * body.potential;
            let momentum = body.velocity.map(|v| v * body.mass);
            totals.momentum = plus(totals.momentum, momentum, 1.0);
        }
        totals
    }

    pub fn and(self, other: &Totals) -> Totals {
        Totals {
            kinetic: self.kinetic + other.kinetic,
            potential: self.potential + other.potential,
            momentum: plus(self.momentum, other.momentum, 1.0),
        }
    }

    pub fn energy(&self) -> f64 {
        self.kinetic + self.potential
    }
}

pub fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// `a + factor * b`
pub fn plus(a: Vector, b: Vector, factor: f64) -> Vector {
    std::array::from_fn(|axis| a[axis] + factor * b[axis])
}

/// Half a step of velocities.
pub fn kick(bodies: &mut [Body], half_step: f64) {
    for body in bodies {
        body.velocity = plus(body.velocity, body.acceleration, half_step);
    }
}

/// A step of positions.
pub fn drift(bodies: &mut [Body], step: f64) {
    for body in bodies {
        body.position = plus(body.position, body.velocity, step);
    }
}

/// What one mass does at a distance: the factor of the distance in the acceleration, and the potential.
pub fn pull(mass: f64, squared: f64) -> (f64, f64) {
    let softened = squared + SOFTENING * SOFTENING;
    let inverse = 1.0 / softened.sqrt();
    (mass * inverse / softened, -mass * inverse)
}

/// The acceleration of a body by all others, one by one.
pub fn direct(bodies: &[Body], body: &Body) -> Vector {
    let others = bodies.iter().filter(|other| other.number != body.number);
    others.fold([0.0; 3], |sum, other| {
        let apart = plus(other.position, body.position, -1.0);
        plus(sum, apart, pull(other.mass, dot(apart, apart)).0)
    })
}

/// A cluster after Aarseth, Hénon and Wielen (1974), at rest as a whole.
pub fn plummer(count: usize, seed: u64) -> Vec<Body> {
    let mut random = Random::new(seed);
    let mut bodies: Vec<Body> = (0..count).map(|n| random.body(n, count)).collect();
    let mean = |of: fn(&Body) -> Vector| {
        let sum = bodies.iter().fold([0.0; 3], |s, b| plus(s, of(b), 1.0));
        sum.map(|s| s / count as f64)
    };
    let (centre, velocity) = (mean(|b| b.position), mean(|b| b.velocity));
    for body in &mut bodies {
        body.position = plus(body.position, centre, -1.0);
        body.velocity = plus(body.velocity, velocity, -1.0);
    }
    bodies
}

struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(2 * seed + 1))
    }

    /// Between 0 and 1, neither of which it is.
    fn fraction(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// So long, in any direction.
    fn vector(&mut self, length: f64) -> Vector {
        loop {
            let inside: Vector = std::array::from_fn(|_| 2.0 * self.fraction() - 1.0);
            let squared = dot(inside, inside);
            if squared <= 1.0 && squared > 1e-6 {
                return inside.map(|x| x * length / squared.sqrt());
            }
        }
    }

    fn body(&mut self, number: usize, count: usize) -> Body {
        // The outermost bodies would be infinitely far away.
        let within = 0.999 * self.fraction();
        let radius = 1.0 / (within.powf(-2.0 / 3.0) - 1.0).sqrt();
        let of_escape = loop {
            let (speed, height) = (self.fraction(), 0.1 * self.fraction());
            if height < speed * speed * (1.0 - speed * speed).powf(3.5) {
                break speed;
            }
        };
        let escape = (2.0 / (1.0 + radius * radius).sqrt()).sqrt();
        Body {
            position: self.vector(radius),
            velocity: self.vector(of_escape * escape),
            mass: 1.0 / count as f64,
            number: number as u64,
            work: 1,
            ..Body::zeroed()
        }
    }
}
