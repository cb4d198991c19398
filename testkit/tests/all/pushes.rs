//! Configurations of the box of `planar_push` after random pushes: tilted by about 1e-7 rad, and
//! nearly at rest.

use testkit::scene;

/// Configurations and next commands of four in a thousand random pushes of 40 steps. The rows of
/// the four sticking corners are inconsistent by 3e-13 m/s.
const ASKEW: [([f64; 9], [f64; 2]); 4] = [
    (
        [
            -0.06048907088567613,
            0.06638711475039574,
            0.99795287235261,
            -3.6700874091438656e-07,
            1.6415870263827272e-08,
            -0.06395361258788007,
            0.03177130988808191,
            -0.0001578021950142968,
            0.030000149997097634,
        ],
        [-0.05959576615545103, 0.06412074909990632],
    ),
    (
        [
            -0.06768424369740679,
            0.06435658172441394,
            0.9989151110399687,
            -4.513589701423654e-07,
            1.4827499631312427e-08,
            -0.04656823956091881,
            0.026706641053704593,
            -0.0003309264887134148,
            0.030000396216635555,
        ],
        [-0.06745320368762384, 0.05175279626863344],
    ),
    (
        [
            -0.09580213058518723,
            0.027303298671830817,
            0.9999761575172521,
            -5.206817035172026e-07,
            3.560503513655846e-09,
            -0.006905388965200123,
            0.003830259727276579,
            -1.8486207460830211e-06,
            0.030000224223851114,
        ],
        [-0.09421710697321184, 0.039882510929549794],
    ),
    (
        [
            -0.08105371382739451,
            0.017428904460858388,
            0.9998201960725385,
            -4.1288298699454634e-07,
            7.237059407902949e-09,
            -0.018962476771252477,
            0.01835373440430152,
            -8.260648261794395e-05,
            0.030000168060111805,
        ],
        [-0.0793614367843606, 0.0215710843719529],
    ),
];

#[test]
fn a_box_askew_by_1e_7_rad_settles_on_its_four_corners() {
    let scene = scene("planar_push", &[]);
    let mut work = scene.system.create_workspace();
    for (k, (q, u)) in ASKEW.into_iter().enumerate() {
        let mut state = scene.start.clone();
        state.q = q.to_vec();
        let step = scene.system.step(&mut state, &u, &scene.params, &mut work);
        let report = step.unwrap_or_else(|why| panic!("case {k}: {why}"));
        // the finger pushes horizontally; the force that moves the box is 1e-4 N
        let weight = 0.8 * 9.81;
        let held: f64 = report.contacts.iter().map(|c| c.normal_force * c.n_AB_W.z.abs()).sum();
        assert!((held - weight).abs() < 1e-3, "case {k}: {held} N of {weight} N");
        assert!(report.certificate.penetration < 1e-12, "case {k}: {:?}", report.certificate);
    }
}
