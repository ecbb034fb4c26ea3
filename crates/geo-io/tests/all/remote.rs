//! Files on a web server, which listens on the loopback interface here: GeoTIFFs, and point clouds ([`points`]).

mod points;

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use geo_io::*;

/// A server of one file, whose behaviour is the first part of the path.
struct Server {
    address: String,
    /// The paths and ranges that were asked for.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn of(bytes: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (bytes, log) = (bytes.clone(), Arc::clone(&log));
                std::thread::spawn(move || answer(stream.unwrap(), &bytes, &log));
            }
        });
        Self { address, asked }
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("{}/{name}", self.address))
    }

    /// How many requests there were since the last time.
    fn count(&self) -> usize {
        std::mem::take(&mut *self.asked.lock().unwrap()).len()
    }
}

fn answer(mut stream: TcpStream, bytes: &[u8], log: &Mutex<Vec<String>>) {
    let (mut path, mut range) = (String::new(), None);
    for line in BufReader::new(stream.try_clone().unwrap()).lines() {
        let line = line.unwrap();
        if let Some(rest) = line.strip_prefix("GET ") {
            path = rest.split(' ').next().unwrap().to_owned();
        }
        if let Some(rest) = line.to_ascii_lowercase().strip_prefix("range: bytes=") {
            let (first, last) = rest.split_once('-').unwrap();
            range = Some((first.parse::<usize>().unwrap(), last.parse::<usize>().unwrap()));
        }
        if line.is_empty() {
            break;
        }
    }
    let (before, is_first) = {
        let (mut log, asked) = (log.lock().unwrap(), format!("{path} {range:?}"));
        let is_first = !log.contains(&asked);
        log.push(asked);
        (log.len() - 1, is_first)
    };
    let kind = path.trim_start_matches('/').split(['/', '.']).next().unwrap().to_owned();
    let (first, last) = range.unwrap_or((0, bytes.len() - 1));
    let (first, last) = if kind == "shifted" { (first + 1, last + 1) } else { (first, last) };
    let last = last.min(bytes.len() - 1);
    let total = bytes.len()
        + match &kind[..] {
            "longer" => before,
            "vast" => 1 << 50,
            _ => 0,
        };
    let tag = if kind == "changed" { before } else { 0 };
    let (status, about, body) = match &kind[..] {
        "none" => ("404 Not Found", String::new(), &b"no such file"[..]),
        "secret" => ("403 Forbidden", String::new(), &b"no"[..]),
        "broken" => ("503 Service Unavailable", String::new(), &b""[..]),
        // Each range is refused once, in whatever order threads ask.
        "flaky" if is_first => ("502 Bad Gateway", String::new(), &b""[..]),
        "moved" => ("302 Found", "Location: /ok/there.tif\r\n".to_owned(), &b""[..]),
        "round" => ("302 Found", "Location: /round.tif\r\n".to_owned(), &b""[..]),
        "whole" => ("200 OK", String::new(), bytes),
        // It gives blocks alone.
        "small" if last - first > 1 << 16 => ("404 Not Found", String::new(), &b""[..]),
        "empty" => {
            ("416 Range Not Satisfiable", "Content-Range: bytes */0\r\n".to_owned(), &b""[..])
        }
        "silent" => ("206 Partial Content", String::new(), &bytes[first..=last]),
        _ => {
            let about =
                format!("Content-Range: bytes {first}-{last}/{total}\r\nETag: \"{tag}\"\r\n");
            ("206 Partial Content", about, &bytes[first..=last])
        }
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{about}Connection: close\r\n\r\n"
    );
    let sent = if kind == "cut" { length / 2 } else { length };
    // Whoever asked may be gone.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body[..sent]));
}

/// A cloud-optimised GeoTIFF of 1500 x 1100 numbers that cannot be packed well, and these.
fn file() -> (Vec<u8>, Raster) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tif");
    let mut random = testing::Random::new(7);
    let values: Vec<f32> = (0..1500 * 1100).map(|_| random.unit() as f32).collect();
    let place = Georeference::north_up((5e5, 4e6), (2.0, 2.0));
    let options = TiffOptions { cloud_optimised: true, ..Default::default() };
    let cells = Cells::Values { values: &values, nodata: -9999.0 };
    write_tiff(&path, &place, (1500, 1100), cells, &options).unwrap();
    (std::fs::read(&path).unwrap(), read_raster(&path, None).unwrap())
}

#[test]
fn the_header_and_the_wanted_tiles_alone_are_asked_for() {
    let (bytes, whole) = file();
    let server = Server::of(bytes.clone());
    let path = server.path("ok/a.tif?token=a/b.c");
    let remote = ValuesFile::open(&path).unwrap();
    assert_eq!((remote.size(), server.count()), ((1500, 1100), 1));
    assert_eq!(remote.georeference(), whole.georeference.as_ref());
    // Four tiles of 256 x 256.
    let window = remote.window(250..260, 510..520).unwrap().to_floats(None);
    let all = whole.values.to_floats(None);
    let expected = (250..260).flat_map(|row| &all[row * 1500 + 510..row * 1500 + 520]);
    assert!(window.iter().eq(expected));
    let count = server.count();
    assert!((1..=4).contains(&count), "{count} requests");
    let place = read_place(&path).unwrap();
    assert_eq!((place.size, server.count()), ((1500, 1100), 1));
    let read = read_raster(&server.path("moved.tif"), None).unwrap();
    assert!(read.values == whole.values && read.georeference == whole.georeference);
    assert!(read_raster(&server.path("flaky.tif"), None).unwrap().values == whole.values);
    let (length, version) = remote_version(&path).unwrap().unwrap();
    assert_eq!(length, bytes.len() as u64);
    assert_eq!(remote_version(&path).unwrap().unwrap().1, version);
    assert_eq!(remote_version("a.tif".as_ref()).unwrap(), None);
}

#[test]
fn mosaics_have_sources_on_servers() {
    let (bytes, whole) = file();
    let server = Server::of(bytes);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.vrt");
    for prefix in ["", "/vsicurl/"] {
        let source = server.path("ok/a.tif");
        let text = format!(
            "<VRTDataset rasterXSize=\"1500\" rasterYSize=\"1100\"><VRTRasterBand dataType=\"Float32\"><SimpleSource>\
             <SourceFilename relativeToVRT=\"0\">{prefix}{}</SourceFilename></SimpleSource></VRTRasterBand></VRTDataset>",
            source.display()
        );
        std::fs::write(&path, text).unwrap();
        assert!(read_raster(&path, None).unwrap().values == whole.values);
    }
}

#[test]
fn what_a_server_does_wrong_is_an_error_with_the_address() {
    let server = Server::of(file().0);
    for (name, what) in [
        ("none.tif", "HTTP status 404"),
        ("secret.tif", "HTTP status 403"),
        ("broken.tif", "HTTP status 503"),
        ("whole.tif", "sends whole files only"),
        ("silent.tif", "does not say which part"),
        ("shifted.tif", "a part of the file that nobody requested"),
        ("cut.tif", "cannot read"),
        ("round.tif", "cannot read"),
        ("empty.tif", "is empty"),
        ("changed.tif", "has changed on the server"),
        ("longer.tif", "has changed on the server"),
        ("ok/a.npy", "unknown file ending"),
    ] {
        server.count();
        let path = server.path(name);
        let error = read_raster(&path, None).unwrap_err().to_string();
        assert!(
            error.contains(what) && error.contains(&*path.to_string_lossy()),
            "{name}: {error}"
        );
        assert!(!error.contains('\n'));
    }
    let empty = Server::of(vec![0; 3]);
    assert!(read_raster(&empty.path("ok/a.tif"), None).is_err());
    // Nobody listens.
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let path = PathBuf::from(format!("http://{nobody}/a.tif"));
    let error = read_raster(&path, None).unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot read http://{nobody}/a.tif")), "{error}");
}
