//! Meshes, read back by the words of their formats.

use geo_io::{Error, write_obj, write_ply};

/// Two triangles, with coordinates that f32 has not.
const VERTICES: [[f64; 3]; 4] = [
    [500_000.125, 5_400_000.062_5, 1.0],
    [500_001.0, 5_400_000.0, -2.5],
    [500_001.0, 5_400_001.0, 1e-7],
    [500_000.0, 5_400_001.0, 300.0],
];
const TRIANGLES: [[u32; 3]; 2] = [[0, 1, 2], [0, 2, 3]];

#[test]
fn a_ply_has_its_numbers_to_the_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mesh.ply");
    write_ply(&*path, &VERTICES, &TRIANGLES).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let header = "ply\nformat binary_little_endian 1.0\nelement vertex 4\nproperty double x\nproperty double y\n\
                  property double z\nelement face 2\nproperty list uchar uint vertex_indices\nend_header\n";
    let (start, body) = bytes.split_at(header.len());
    assert_eq!(start, header.as_bytes());
    assert_eq!(body.len(), 4 * 24 + 2 * 13);
    let number = |at: usize| f64::from_le_bytes(body[at..at + 8].try_into().unwrap());
    let read: Vec<f64> = (0..12).map(|i| number(8 * i)).collect();
    assert_eq!(read, VERTICES.concat());
    for (face, corners) in body[96..].chunks(13).zip(TRIANGLES) {
        assert_eq!(face[0], 3);
        let corner = |k: usize| u32::from_le_bytes(face[1 + 4 * k..5 + 4 * k].try_into().unwrap());
        assert_eq!([corner(0), corner(1), corner(2)], corners);
    }
}

#[test]
fn an_obj_has_its_numbers_to_the_bit_and_counts_from_1() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mesh.obj");
    write_obj(&*path, &VERTICES, &TRIANGLES).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let of = |kind: &str| -> Vec<Vec<f64>> {
        let lines = text.lines().filter_map(|line| line.strip_prefix(kind));
        lines.map(|line| line.split_whitespace().map(|n| n.parse().unwrap()).collect()).collect()
    };
    assert_eq!(of("v "), VERTICES.map(|vertex| vertex.to_vec()));
    assert_eq!(of("f "), [[1.0, 2.0, 3.0], [1.0, 3.0, 4.0]]);
}

#[test]
fn what_is_no_mesh_is_refused_and_no_file_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mesh.ply");
    let bad = [VERTICES[0], [f64::NAN, 0.0, 0.0], VERTICES[2]];
    for (vertices, triangles, what) in
        [(&bad[..], &[][..], "coordinate"), (&VERTICES[..], &[[0, 1, 4]][..], "corner")]
    {
        let of_ply = write_ply(&*path, vertices, triangles).unwrap_err();
        let of_obj = write_obj(&*path, vertices, triangles).unwrap_err();
        for error in [of_ply, of_obj] {
            assert!(
                matches!(error, Error::BadValue { what: found, .. } if found == what),
                "{error}"
            );
        }
        assert!(!path.exists());
    }
}
