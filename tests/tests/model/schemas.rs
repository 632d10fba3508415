//! The schemas that random graphs have. Together they use every rule of the graph model.

use super::shape::{Kind, Property, Schema, Shape, Table};

/// Unique values, alone and together; at most one edge; an enum; edges of nodes to themselves.
pub(super) const PEOPLE: Schema = Schema {
    name: "people",
    tables: &[
        Table {
            name: "Person",
            shape: Shape::Node { key: "slug" },
            properties: &[
                Property::required("slug", Kind::Text),
                Property::nullable("email", Kind::Text).unique(),
                Property::nullable("age", Kind::I32),
                Property::nullable("mood", Kind::OneOf(&["calm", "wild"])),
            ],
            together: &[&["age", "mood"]],
        },
        Table {
            name: "Company",
            shape: Shape::Node { key: "slug" },
            properties: &[
                Property::required("slug", Kind::Text),
                Property::required("name", Kind::Text),
            ],
            together: &[],
        },
        Table {
            name: "Knows",
            shape: Shape::Edge { from: "Person", to: "Person", min: 0, max: None, multi: false },
            properties: &[Property::nullable("since", Kind::I32)],
            together: &[],
        },
        Table {
            name: "WorksAt",
            shape: Shape::Edge {
                from: "Person",
                to: "Company",
                min: 0,
                max: Some(1),
                multi: false,
            },
            properties: &[],
            together: &[],
        },
    ],
};

/// Every member has one or two teams; keys of two types; parallel edges; a unique value of edges.
pub(super) const TEAMS: Schema = Schema {
    name: "teams",
    tables: &[
        Table {
            name: "Team",
            shape: Shape::Node { key: "number" },
            properties: &[
                Property::required("number", Kind::I64),
                Property::nullable("town", Kind::Text),
                Property::required("league", Kind::OneOf(&["east", "west", "none"])),
            ],
            together: &[&["town", "league"]],
        },
        Table {
            name: "Member",
            shape: Shape::Node { key: "nick" },
            properties: &[
                Property::required("nick", Kind::Text),
                Property::nullable("badge", Kind::U32).unique(),
            ],
            together: &[],
        },
        Table {
            name: "Joined",
            shape: Shape::Edge { from: "Member", to: "Team", min: 1, max: Some(2), multi: false },
            properties: &[Property::nullable("role", Kind::OneOf(&["head", "hand"]))],
            together: &[],
        },
        Table {
            name: "Played",
            shape: Shape::Edge { from: "Member", to: "Team", min: 0, max: None, multi: true },
            properties: &[
                Property::nullable("round", Kind::I32),
                Property::nullable("shirt", Kind::I32),
            ],
            together: &[&["round", "shirt"]],
        },
    ],
};

/// Every part has one or two parallel ties, so that a tie that moves takes from one and gives to
/// another; a node type that nothing refers to.
pub(super) const PARTS: Schema = Schema {
    name: "parts",
    tables: &[
        Table {
            name: "Part",
            shape: Shape::Node { key: "code" },
            properties: &[
                Property::required("code", Kind::U32),
                Property::nullable("label", Kind::Text),
                Property::nullable("weight", Kind::I64).unique(),
            ],
            together: &[],
        },
        Table {
            name: "Tie",
            shape: Shape::Edge { from: "Part", to: "Part", min: 1, max: Some(2), multi: true },
            properties: &[Property::nullable("force", Kind::I32).unique()],
            together: &[],
        },
        Table {
            name: "Note",
            shape: Shape::Node { key: "slug" },
            properties: &[
                Property::required("slug", Kind::Text),
                Property::required("text", Kind::Text),
            ],
            together: &[],
        },
    ],
};
