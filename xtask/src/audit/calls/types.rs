//! What a type that is written somewhere is: one of ours, one of somebody else's, or not certain.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::Visit;

use super::hints::{Hint, traits_of};
use super::resolve::Names;
use super::search::is_rooted;
use crate::audit::names::{last, type_path};
use crate::layers;
use crate::tree::Source;

type Fields<'a> = BTreeMap<String, &'a syn::Type>;

/// The fields of every struct, by its name and where it is.
#[derive(Default)]
pub(crate) struct Structs<'a>(BTreeMap<String, Vec<(&'a Source, Fields<'a>)>>);

impl<'a> Structs<'a> {
    pub(super) fn read(sources: impl Iterator<Item = &'a Source>) -> Self {
        let mut structs = BTreeMap::new();
        for source in sources {
            Reader { source, structs: &mut structs }.visit_file(&source.syntax);
        }
        Self(structs)
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

/// Types that stand for what they hold.
const POINTERS: [&str; 3] = ["Box", "Arc", "Rc"];
/// Types that do not.
const CONTAINERS: [&str; 9] =
    ["Vec", "VecDeque", "Option", "Result", "BTreeMap", "BTreeSet", "HashMap", "HashSet", "Mutex"];

/// The types that a name is given.
fn arguments(segment: &syn::PathSegment) -> impl Iterator<Item = &syn::Type> {
    let arguments = match &segment.arguments {
        syn::PathArguments::AngleBracketed(arguments) => Some(&arguments.args),
        _ => None,
    };
    arguments.into_iter().flatten().filter_map(|argument| match argument {
        syn::GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

impl Names<'_> {
    pub(super) fn hint_of_type(&self, ty: &syn::Type, source: &Source) -> Option<Hint> {
        match ty {
            syn::Type::Reference(reference) => self.hint_of_type(&reference.elem, source),
            syn::Type::Paren(paren) => self.hint_of_type(&paren.elem, source),
            syn::Type::TraitObject(object) => Some(Hint::Traits(traits_of(&object.bounds))),
            syn::Type::ImplTrait(object) => Some(Hint::Traits(traits_of(&object.bounds))),
            syn::Type::Path(path) => {
                let last = path.path.segments.last()?;
                let is = |names: &[&str]| names.iter().any(|name| last.ident == name);
                let mut inner = arguments(last);
                match inner.next() {
                    Some(inner) if is(&POINTERS) => return self.hint_of_type(inner, source),
                    // A type that is made of another may stand for it, as a guard does.
                    Some(_) if !is(&CONTAINERS) => return None,
                    _ => {}
                }
                self.hint_of_path(&path.path, source)
            }
            _ => None,
        }
    }

    fn hint_of_path(&self, path: &syn::Path, source: &Source) -> Option<Hint> {
        match path.get_ident() {
            Some(name) => self.hint_of_name(&name.to_string(), source),
            None if path.segments.len() == 1 => self.hint_of_name(&last(path), source),
            None => {
                let head = path.segments[0].ident.to_string();
                is_rooted(&head).then(|| Hint::Ours(last(path)))
            }
        }
    }

    /// The type that a bare name means in a file. A renamed type is not certain.
    pub(super) fn hint_of_name(&self, name: &str, source: &Source) -> Option<Hint> {
        let scope = self.scopes.get(source.path.as_str())?;
        if scope.has_glob {
            return None;
        }
        if self.is_alias(name) {
            return None;
        }
        let Some(paths) = scope.imports.get(name) else {
            let ours = scope.declared.contains(name);
            return Some(if ours {
                Hint::Ours(name.to_owned())
            } else {
                Hint::Foreign(name.to_owned())
            });
        };
        let [path] = paths.as_slice() else { return None };
        if scope.declared.contains(name) {
            return None;
        }
        if path.last().map(String::as_str) != Some(name) {
            return None;
        }
        let head = path.first()?;
        let ours = is_rooted(head) || self.is_of_room(head, source.room());
        if ours && !self.structs.has(name) && !self.is_type_of_ours(name) {
            return None;
        }
        Some(if ours { Hint::Ours(name.to_owned()) } else { Hint::Foreign(name.to_owned()) })
    }

    /// Whether some file calls another type by this name.
    fn is_alias(&self, name: &str) -> bool {
        let mut handed_on = self.scopes.values().flat_map(|scope| &scope.handed_on);
        handed_on.any(|(alias, target)| {
            alias == name && target.last().is_some_and(|target| target != name)
        })
    }

    fn is_type_of_ours(&self, name: &str) -> bool {
        self.scopes.values().any(|scope| scope.declared.contains(name))
    }

    /// The type of a field, if one struct of that name is seen from `room` and no other.
    pub(super) fn field(&self, owner: &str, field: &str, room: &str) -> Option<Hint> {
        let structs = self.structs.0.get(owner)?;
        let own = structs.iter().filter(|(source, _)| source.room() == room);
        let mut candidates: Vec<_> = own.collect();
        if candidates.is_empty() {
            let seen = |source: &Source| layers::sees(room, source.room());
            candidates = structs.iter().filter(|(source, _)| seen(source)).collect();
        }
        let [(source, fields)] = candidates.as_slice() else { return None };
        self.hint_of_type(fields.get(field)?, source)
    }
}

struct Reader<'a, 'b> {
    source: &'a Source,
    structs: &'b mut BTreeMap<String, Vec<(&'a Source, Fields<'a>)>>,
}

impl<'a> Visit<'a> for Reader<'a, '_> {
    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        let generic: BTreeSet<String> =
            item.generics.type_params().map(|parameter| parameter.ident.to_string()).collect();
        let certain = |field: &&syn::Field| {
            type_path(&field.ty).is_none_or(|path| !generic.contains(&last(path)))
        };
        let fields = item.fields.iter().enumerate().filter(|(_, field)| certain(field));
        let fields = fields.map(|(index, field)| {
            let name = field.ident.as_ref().map_or_else(|| index.to_string(), ToString::to_string);
            (name, &field.ty)
        });
        let entry = (self.source, fields.collect());
        self.structs.entry(item.ident.to_string()).or_default().push(entry);
    }
}
