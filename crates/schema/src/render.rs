//! Writes a schema in its TOML form. Identities have no place there: declaring the text again
//! gives an equal schema with fresh ones.

use std::fmt::Write;

use crate::cardinality::Cardinality;
use crate::ir::{EdgeDef, GraphSchema, PropertyDef, PropertyId, TypeDef, TypeKind};
use crate::property_type::PropertyType;

impl GraphSchema {
    /// The TOML form: node types by name, then edge types by name, properties in column order.
    pub fn to_toml(&self) -> String {
        let mut types: Vec<_> = self.types().iter().collect();
        types.sort_by_key(|def| (!def.is_node(), &def.name));
        let tables: Vec<_> = types.into_iter().map(|def| self.type_table(def)).collect();
        tables.join("\n")
    }

    fn type_table(&self, def: &TypeDef) -> String {
        let place = def.place();
        let mut lines = vec![format!("[{place}]")];
        match &def.kind {
            TypeKind::Node { key } => lines.push(format!("key = {}", name_of(def, *key))),
            TypeKind::Edge(edge) => self.edge_lines(edge, &mut lines),
        }
        if !def.unique.is_empty() {
            lines.push(format!("unique = [{}]", unique_sets(def)));
        }
        if def.index {
            lines.push("index = true".to_owned());
        }
        if !def.properties.is_empty() {
            lines.push(format!("[{place}.properties]"));
            lines.extend(def.properties.iter().map(property_line));
        }
        lines.join("\n") + "\n"
    }

    fn edge_lines(&self, edge: &EdgeDef, lines: &mut Vec<String>) {
        let node = |table| quoted(self.by_table(table).map_or("", |def| &def.name));
        lines.push(format!("from = {}", node(edge.from)));
        lines.push(format!("to = {}", node(edge.to)));
        if edge.cardinality != Cardinality::ANY {
            lines.push(format!("cardinality = \"{}\"", edge.cardinality));
        }
        if edge.multi {
            lines.push("multi = true".to_owned());
        }
    }
}

fn unique_sets(def: &TypeDef) -> String {
    let set = |set: &Vec<PropertyId>| {
        let names: Vec<_> = set.iter().map(|id| name_of(def, *id)).collect();
        format!("[{}]", names.join(", "))
    };
    def.unique.iter().map(set).collect::<Vec<_>>().join(", ")
}

fn name_of(def: &TypeDef, id: PropertyId) -> String {
    quoted(def.property(id).map_or("", |property| &property.name))
}

fn property_line(property: &PropertyDef) -> String {
    let mut line = format!("{} = {{ type = \"{}\"", property.name, property.property_type);
    if let PropertyType::Enum(values) = &property.property_type {
        let values: Vec<_> = values.iter().map(|value| quoted(value)).collect();
        // Writing into a string cannot fail.
        let _ = write!(line, ", values = [{}]", values.join(", "));
    }
    let flags =
        [("nullable", property.nullable), ("unique", property.unique), ("index", property.index)];
    for (flag, _) in flags.into_iter().filter(|(_, set)| *set) {
        let _ = write!(line, ", {flag} = true");
    }
    line + " }"
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
