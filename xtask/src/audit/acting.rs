//! The closed lists of [`super::physical`]: which names act, and which functions may name them.

/// Functions of Lance, `object_store` and the file system that commit, move a ref, write or delete,
/// and types that lead to them. A method of another type with such a name counts too.
pub(super) const ACTING: &[&str] = &[
    // Lance: commits
    "CommitBuilder",
    "ConditionalPutCommitHandler",
    "RenameCommitHandler",
    "UnsafeCommitHandler",
    "commit",
    "commit_after",
    "commit_compaction",
    "commit_detached",
    "commit_optimize_indices",
    "execute",
    "execute_batch",
    "execute_batches",
    "execute_reader",
    "execute_stream",
    // Lance: rows, columns, metadata
    "add_bases",
    "add_columns",
    "alter_columns",
    "append",
    "delete_config_keys",
    "drop_columns",
    "merge",
    "overwrite",
    "replace_field_metadata",
    "replace_metadata",
    "replace_schema_metadata",
    "truncate_table",
    "update",
    "update_config",
    "update_field_metadata",
    "update_metadata",
    "update_schema_metadata",
    "write",
    "write_into_namespace",
    "write_into_namespace_on_branch",
    "write_overlay",
    // Lance: versions, refs, clones
    "branches",
    "checkout_branch",
    "checkout_latest",
    "checkout_version",
    "create_branch",
    "deep_clone",
    "delete_branch",
    "force_delete_branch",
    "restore",
    "shallow_clone",
    "tags",
    // Lance: maintenance and indices
    "auto_cleanup_hook",
    "cleanup",
    "cleanup_cascade_branch",
    "cleanup_old_versions",
    "compact_files",
    "compact_files_with_planner",
    "create_index",
    "create_index_builder",
    "create_index_segment_builder",
    "disable_auto_cleanup",
    "drop_index",
    "enable_auto_cleanup",
    "merge_indices",
    "migrate_manifest_paths_v2",
    "migrate_to_non_reusable_field_ids",
    "migrate_to_stable_row_ids",
    "optimize_indices",
    "retain_n_versions",
    // object_store, and Lance's wrapper of it
    "BufWriter",
    "WriteMultipart",
    "copy",
    "copy_bulk",
    "copy_if_not_exists",
    "copy_opts",
    "create",
    "create_local_writer",
    "delete",
    "delete_stream",
    "forget_version",
    "put",
    "put_multipart",
    "put_multipart_opts",
    "put_opts",
    "put_if_absent",
    "remove_dir",
    "remove_dir_all",
    "remove_empty_dirs",
    "remove_file",
    "remove_stream",
    "rename",
    "rename_if_not_exists",
    "rename_opts",
    // the file system
    "create_dir",
    "create_dir_all",
    "create_new",
    "hard_link",
    "set_len",
];

/// A function of the substrate that may name one of [`ACTING`].
pub(super) struct Exempt {
    pub(super) file: &'static str,
    pub(super) function: &'static str,
    pub(super) name: &'static str,
    /// The type that its signature must ask for; without one, a comment says why.
    pub(super) permit: Option<&'static str>,
}

const fn with(
    permit: &'static str,
    file: &'static str,
    function: &'static str,
    name: &'static str,
) -> Exempt {
    Exempt { file, function, name, permit: Some(permit) }
}

const fn free(file: &'static str, function: &'static str, name: &'static str) -> Exempt {
    Exempt { file, function, name, permit: None }
}

const STRICT: &str = "crates/substrate/src/strict.rs";
const HANDLER: &str = "crates/substrate/src/handler.rs";
const TABLES: &str = "crates/substrate/src/tables.rs";
const OBJECTS: &str = "crates/substrate/src/objects.rs";
const REFS: &str = "crates/substrate/src/refs.rs";
const INTENTS: &str = "crates/substrate/src/intents.rs";
const TAP: &str = "crates/substrate/src/layers/tap.rs";
const ORDERED: &str = "crates/substrate/src/store/ordered.rs";
const SLOT: &str = "crates/substrate/src/slot.rs";
const PROVENANCE: &str = "crates/substrate/src/provenance.rs";

/// Outside of every function: an import, or the body of a macro.
const ITEM: &str = "";

pub(super) const MAY_ACT: &[Exempt] = &[
    with("CommitPermit", STRICT, "strict_commit", "CommitBuilder"),
    with("CommitPermit", STRICT, "strict_commit", "execute"),
    with("CommitPermit", STRICT, "create_dataset", "CommitBuilder"),
    with("CommitPermit", STRICT, "create_dataset", "execute"),
    with("CommitPermit", STRICT, "create_ref", "CommitBuilder"),
    with("CommitPermit", STRICT, "create_ref", "execute"),
    with("CommitPermit", REFS, "write_ref_contents", "put_if_absent"),
    with("CommitPermit", REFS, "delete_ref", "delete"),
    with("CommitPermit", TABLES, "delete_dataset", "delete"),
    free(STRICT, ITEM, "CommitBuilder"),
    // The handlers of K1: Lance calls them, and they delegate by name.
    free(HANDLER, ITEM, "ConditionalPutCommitHandler"),
    free(HANDLER, ITEM, "commit"),
    free(HANDLER, ITEM, "commit_after"),
    free(HANDLER, ITEM, "delete"),
    free(HANDLER, ITEM, "forget_version"),
    // Looks up the newest version as Lance does, which tests plant as a defect.
    free(HANDLER, "newest_manifest", "ConditionalPutCommitHandler"),
    // Control objects are create-only; they are deleted by name.
    free(OBJECTS, "put_if_absent", "put_opts"),
    free(OBJECTS, "put_own", "put_opts"),
    free(OBJECTS, "delete", "delete"),
    free(INTENTS, "arm_now", "create"),
    free(INTENTS, "confirm", "create"),
    free(INTENTS, "beat", "create"),
    free(INTENTS, "create", "put_if_absent"),
    free(INTENTS, "delete", "delete"),
    // Reads rows: the builder of a take is run by a method of that name.
    free(PROVENANCE, "rows_at", "execute"),
    // Layers of a store hand on what they are asked for.
    free(TAP, "put_opts", "put_opts"),
    free(TAP, "put_multipart_opts", "put_multipart_opts"),
    free(TAP, "delete_stream", "delete"),
    free(TAP, "copy_opts", "copy_opts"),
    free(TAP, "rename_opts", "rename_opts"),
    free(ORDERED, "put_opts", "put_opts"),
    free(ORDERED, "put_multipart_opts", "put_multipart_opts"),
    free(ORDERED, "delete_stream", "delete_stream"),
    free(ORDERED, "copy_opts", "copy_opts"),
    free(ORDERED, "rename_opts", "rename_opts"),
    // A store in memory for one manifest that was read.
    free(SLOT, "scratch", "put"),
    // The directory of a new graph.
    free("crates/substrate/src/store/local.rs", "create_directory", "create_dir_all"),
    free("crates/substrate/src/store.rs", "create_local", "create"),
    // A hash.
    free("crates/substrate/src/store/memory.rs", "digest", "update"),
];
