//! Deflates the committed PTX, which `ptx_module!` embeds: as text it is 16 MB.

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=ptx");
    #[cfg(feature = "embedded")]
    deflate_all()?;
    Ok(())
}

#[cfg(feature = "embedded")]
fn deflate_all() -> std::io::Result<()> {
    use std::io::Write;
    use std::{env, fs, path::PathBuf};

    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for entry in fs::read_dir("ptx")? {
        let path = entry?.path();
        let name = path.file_name().expect("an entry has a name").to_string_lossy().into_owned();
        let file = fs::File::create(out.join(format!("{name}.deflate")))?;
        let mut encoder = flate2::write::DeflateEncoder::new(file, flate2::Compression::best());
        encoder.write_all(&fs::read(&path)?)?;
        encoder.finish()?;
    }
    Ok(())
}
