//! The files that an operator names: the schema, and the sources of the data. It must not know what
//! is in them.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use graphwrite_coordinator::DataForm;
use graphwrite_schema::SchemaDocument;

use crate::exit::Exit;
use crate::failure::{Detail, Failure};

/// Reads the schema of a new graph.
pub(crate) fn schema(path: &Path) -> Result<SchemaDocument, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
    SchemaDocument::parse(&text).map_err(|error| refused_schema(path, &error))
}

/// The failure of a schema that was refused, wherever its rules were checked.
pub(crate) fn refused_schema(path: &Path, error: &graphwrite_schema::SchemaError) -> Failure {
    let line = error.line.map(|line| format!("line {line}, ")).unwrap_or_default();
    let detail = Detail {
        place: format!("{line}{}", error.place),
        field: None,
        rule: error.code().to_owned(),
        message: error.kind.to_string(),
    };
    Failure::new(Exit::Refused, "invalid_schema", format!("{}: {error}", path.display()))
        .help(format!("nothing was created; {}", error.remedy()))
        .details(vec![detail])
}

/// A source of rows that an operator names.
#[derive(Debug)]
pub(crate) struct Data {
    /// Its path, or what it is.
    pub(crate) name: String,
    pub(crate) form: DataForm,
    /// The file and its size; standard input has neither.
    pub(crate) file: Option<(File, u64)>,
}

/// The sources of a load, each opened, before anything is done.
pub(crate) fn data(paths: &[PathBuf], form: Option<DataForm>) -> Result<Vec<Data>, Failure> {
    let from_input = paths.iter().filter(|path| is_input(path)).count();
    if from_input > 1 {
        let message = "standard input can be read once, and `--data -` stands twice";
        return Err(Failure::new(Exit::Usage, "usage", message).help("nothing was done"));
    }
    paths.iter().map(|path| one(path, form)).collect()
}

fn is_input(path: &Path) -> bool {
    path == Path::new("-")
}

fn one(path: &Path, form: Option<DataForm>) -> Result<Data, Failure> {
    let form = form.unwrap_or_else(|| DataForm::of_path(path));
    if is_input(path) {
        return Ok(Data { name: "standard input".into(), form, file: None });
    }
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let found = file.metadata().map_err(|error| unreadable(path, &error))?;
    if found.is_dir() {
        return Err(unreadable(path, &io::Error::from(io::ErrorKind::IsADirectory)));
    }
    Ok(Data { name: path.display().to_string(), form, file: Some((file, found.len())) })
}

/// The longest text of statements. They are held whole; what is longer is a load.
const TEXT_BYTES_MAX: u64 = 256 << 20;

/// The text of a file, or of standard input.
pub(crate) fn text(path: &Path, input: &mut dyn io::BufRead) -> Result<String, Failure> {
    if is_input(path) {
        return text_of(input, Path::new("standard input"));
    }
    let mut file = File::open(path).map_err(|error| unreadable(path, &error))?;
    text_of(&mut file, path)
}

fn text_of(source: &mut dyn io::Read, path: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = source.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > TEXT_BYTES_MAX {
        let message = format!("{} is longer than 256 MiB", path.display());
        return Err(Failure::new(Exit::Refused, "limit_exceeded", message)
            .help("nothing was changed; use `graphwrite load` for so much data"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!("{} is not UTF-8 text, from byte {at} on", path.display());
        Failure::new(Exit::Refused, "file_unreadable", message)
            .help("nothing was changed; name a file of JSON text")
    })
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Refused, "file_unreadable", format!("{}: {error}", path.display()))
        .help("nothing was changed; name a file that can be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(paths: &[&str], form: Option<DataForm>) -> Result<Vec<Data>, Failure> {
        let paths: Vec<_> = paths.iter().map(PathBuf::from).collect();
        data(&paths, form)
    }

    #[test]
    fn the_form_is_that_of_the_extension_unless_it_is_said() {
        let scratch = tempfile::tempdir().unwrap();
        let forms = ["a.csv", "a.PARQUET", "a.jsonl", "a"].map(|name| {
            let path = scratch.path().join(name);
            std::fs::write(&path, "").unwrap();
            let said = opened(&[path.to_str().unwrap()], Some(DataForm::Csv)).unwrap();
            assert_eq!(said[0].form, DataForm::Csv);
            opened(&[path.to_str().unwrap()], None).unwrap()[0].form
        });
        use DataForm::{Csv, Jsonl, Parquet};
        assert_eq!(forms, [Csv, Parquet, Jsonl, Jsonl]);
        assert_eq!(opened(&["-"], None).unwrap()[0].form, Jsonl);
    }

    #[test]
    fn standard_input_is_read_once() {
        assert_eq!(opened(&["-", "-"], None).unwrap_err().exit, Exit::Usage);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_refused() {
        assert_eq!(opened(&["nowhere.parquet"], None).unwrap_err().code, "file_unreadable");
        assert_eq!(opened(&["."], None).unwrap_err().code, "file_unreadable");
    }

    #[test]
    fn a_schema_that_is_refused_names_the_file_the_place_and_the_rule() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("schema.toml");
        std::fs::write(
            &path,
            "[node.A]\nkey = \"k\"\n[node.A.properties]\nk = { type = \"cow\" }\n",
        )
        .unwrap();
        let failure = schema(&path).err().unwrap();
        assert_eq!((failure.exit, failure.code), (Exit::Refused, "invalid_schema"));
        assert!(failure.message.contains("schema.toml"));
        assert!(failure.details[0].place.contains("node.A.properties.k"));
    }
}
