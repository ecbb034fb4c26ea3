//! The Chebyshev nodes of -1..1 and Lagrange's polynomials of them.

/// `N` nodes.
pub(super) struct Chebyshev<const N: usize>;

/// The cosine, by its series.
const fn cosine(x: f64) -> f64 {
    let (mut sum, mut term, mut k) = (1.0, 1.0, 1);
    while k < 16 {
        term *= -x * x / ((2 * k - 1) * (2 * k)) as f64;
        sum += term;
        k += 1;
    }
    sum
}

impl<const N: usize> Chebyshev<N> {
    const NODES: [f64; N] = {
        let mut all = [0.0; N];
        let mut k = 0;
        while k < N {
            all[k] = cosine((2 * k + 1) as f64 * core::f64::consts::PI / (2 * N) as f64);
            k += 1;
        }
        all
    };

    /// 1 / the product of each node's distances from the others.
    const FACTORS: [f64; N] = {
        let mut all = [1.0; N];
        let mut k = 0;
        while k < N {
            let mut j = 0;
            while j < N {
                if j != k {
                    all[k] /= Self::NODES[k] - Self::NODES[j];
                }
                j += 1;
            }
            k += 1;
        }
        all
    };

    /// The node with this number.
    #[inline(always)]
    pub fn node(number: u32) -> f64 {
        let mut node = 0.0;
        let mut k = 0;
        while k < N {
            if k as u32 == number {
                node = Self::NODES[k];
            }
            k += 1;
        }
        node
    }

    /// Lagrange's polynomials of the nodes at a place of -1..1.
    #[inline(always)]
    pub fn basis(t: f64) -> [f64; N] {
        let mut all = Self::FACTORS;
        let mut below = 1.0;
        let mut k = 0;
        while k < N {
            all[k] *= below;
            below *= t - Self::NODES[k];
            k += 1;
        }
        let mut above = 1.0;
        while k > 0 {
            k -= 1;
            all[k] *= above;
            above *= t - Self::NODES[k];
        }
        all
    }
}
