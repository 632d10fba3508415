use std::process::Command;
fn main() {
    let protoc = protoc_bin_vendored::protoc_bin_path().unwrap();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let s = Command::new("cargo").args(args).env("PROTOC", protoc).status().unwrap();
    std::process::exit(s.code().unwrap_or(1));
}
