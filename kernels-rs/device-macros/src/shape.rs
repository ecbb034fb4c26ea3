//! How the types of arguments are passed.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{
    Expr, ExprLit, GenericParam, Generics, Ident, Index, Lifetime, Lit, Path, PathArguments, Type,
};

/// The kind of a type, by its tokens.
#[derive(Clone)]
pub enum Shape {
    /// A scalar or a raw pointer, passed as it is.
    Scalar,
    /// An array of this many scalars, passed as these.
    Array(usize),
    /// `In`, `Out` or an option of one, passed as its `Argument::Wire`.
    Slice,
    /// A struct of arguments, passed as its fields are.
    Struct(Path),
}

impl Shape {
    /// The shape of a type, where these generic parameters are in scope.
    pub fn of(kind: &Type, generics: &Generics) -> Self {
        match kind {
            Type::Array(array) => match &array.len {
                Expr::Lit(ExprLit { lit: Lit::Int(len), .. }) => {
                    len.base10_parse().map_or(Self::Scalar, Self::Array)
                }
                _ => Self::Scalar,
            },
            Type::Path(path) if path.qself.is_none() => Self::of_path(&path.path, generics),
            _ => Self::Scalar,
        }
    }

    fn of_path(path: &Path, generics: &Generics) -> Self {
        let (first, last) = match (path.segments.first(), path.segments.last()) {
            (Some(first), Some(last)) => (&first.ident, last.ident.to_string()),
            _ => return Self::Scalar,
        };
        if matches!(last.as_str(), "In" | "Out" | "Option") {
            return Self::Slice;
        }
        let is_generic = generics.params.iter().any(|parameter| name_of(parameter) == first);
        if is_generic || !last.starts_with(char::is_uppercase) {
            return Self::Scalar;
        }
        let mut path = path.clone();
        path.segments.iter_mut().for_each(|segment| segment.arguments = PathArguments::None);
        Self::Struct(path)
    }
}

/// An argument of a kernel, or a field of a struct of arguments.
pub struct Argument<'a> {
    pub name: &'a Ident,
    /// The type, with its lifetimes and generic parameters set for the place of the generated code.
    pub kind: Type,
    pub shape: &'a Shape,
    /// How many arguments are passed for it, if it is a struct.
    pub count: usize,
}

/// One scalar or slice that is passed.
pub struct Wire {
    pub name: Ident,
    pub kind: TokenStream,
    /// The constant that describes it to the host.
    pub parameter: TokenStream,
}

impl Argument<'_> {
    /// The scalars and slices that are passed for it, in order.
    pub fn wires(&self) -> Vec<Wire> {
        let Self { name, kind, shape, count } = self;
        let scalar = |name: Ident, kind: &Type| Wire {
            name,
            kind: kind.to_token_stream(),
            parameter: quote!(::device_std::host::Parameter::of::<#kind>()),
        };
        let numbered = |i: usize| format_ident!("{name}_{i}", span = name.span());
        match shape {
            Shape::Scalar => vec![scalar((*name).clone(), kind)],
            Shape::Array(..) => {
                let Type::Array(array) = kind else { return Vec::new() };
                (0..self.elements()).map(|i| scalar(numbered(i), &array.elem)).collect()
            }
            Shape::Slice => {
                let of = self.of(quote!(Argument));
                let (kind, parameter) = (quote!(#of::Wire), quote!(#of::PARAMETER));
                vec![Wire { name: (*name).clone(), kind, parameter }]
            }
            Shape::Struct(_) => {
                let wire = |i: usize| {
                    let of = self.of(quote!(Passed<#i>));
                    let (kind, parameter) = (quote!(#of::Wire), quote!(#of::PARAMETER));
                    Wire { name: numbered(i), kind, parameter }
                };
                (0..*count).map(wire).collect()
            }
        }
    }

    fn elements(&self) -> usize {
        if let Shape::Array(len) = self.shape { *len } else { 0 }
    }

    /// The type as one that has a trait of `device_std::slice`; a mistake is reported at the type.
    fn of(&self, what: TokenStream) -> TokenStream {
        let kind = &self.kind;
        let here = Span::call_site().located_at(kind.span());
        quote_spanned!(here=> <#kind as ::device_std::slice::#what>)
    }

    /// The argument, made from the passed values; `wires` has an expression for each.
    pub fn made(&self, wires: &[TokenStream]) -> TokenStream {
        let name = self.name.to_string();
        match self.shape {
            Shape::Scalar => quote!(#(#wires)*),
            Shape::Array(..) => quote!([#(#wires),*]),
            Shape::Slice => {
                let of = self.of(quote!(Argument));
                quote!(unsafe { #of::from_wire(#(#wires)*, #name) })
            }
            Shape::Struct(_) => {
                let of = self.of(quote!(ArgumentStruct));
                quote!(unsafe { #of::from_wires((#(#wires,)*)) })
            }
        }
    }

    /// The values to pass for the field of `self`, one for each wire, and first the statement that they need.
    pub fn passed(&self) -> (TokenStream, Vec<TokenStream>) {
        let name = self.name;
        let nothing = TokenStream::new();
        match self.shape {
            Shape::Scalar => (nothing, vec![quote!(self.#name)]),
            Shape::Array(..) => {
                (nothing, (0..self.elements()).map(|i| quote!(self.#name[#i])).collect())
            }
            Shape::Slice => {
                (nothing, vec![quote!(::device_std::slice::Argument::wire(&self.#name))])
            }
            Shape::Struct(_) => {
                // A kernel is a constant, and no variable may have a constant's name: hence this prefix.
                let all = format_ident!("wires_of_{name}");
                let first =
                    quote!(let #all = ::device_std::slice::ArgumentStruct::wires(&self.#name););
                let wires = (0..self.count).map(|i| {
                    let i = Index::from(i);
                    quote!(#all.#i)
                });
                (first, wires.collect())
            }
        }
    }

    /// The statement that visits the slices of the field of `self`.
    pub fn visit(&self) -> TokenStream {
        let name = self.name;
        match self.shape {
            Shape::Scalar | Shape::Array(..) => TokenStream::new(),
            Shape::Slice => quote! {
                if let ::core::option::Option::Some((home, access)) =
                    ::device_std::slice::Argument::home(&self.#name)
                {
                    visit(home, access);
                }
            },
            Shape::Struct(_) => quote! {
                ::device_std::slice::ArgumentStruct::each_slice(&self.#name, visit);
            },
        }
    }
}

/// Replaces elided lifetimes by a lifetime.
pub struct Open {
    lifetime: &'static str,
    found: bool,
}

impl Open {
    /// The type with this lifetime.
    pub fn set(lifetime: &'static str, kind: &Type) -> Type {
        let mut kind = kind.clone();
        Self { lifetime, found: false }.visit_type_mut(&mut kind);
        kind
    }

    /// Whether the type has an elided lifetime.
    pub fn is_in(kind: &Type) -> bool {
        let mut open = Self { lifetime: "'_", found: false };
        open.visit_type_mut(&mut kind.clone());
        open.found
    }
}

impl VisitMut for Open {
    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident == "_" {
            self.found = true;
            *lifetime = Lifetime::new(self.lifetime, lifetime.span());
        }
    }
}

/// Asks a struct's macro how many arguments are passed for the struct. The macro then calls `next` with the counts so
/// far, this count and the rest.
pub fn ask(of: &Path, next: &TokenStream, counts: &[usize], rest: &TokenStream) -> TokenStream {
    let counts = counts.iter().map(|count| Index::from(*count));
    quote!(#of! { [#next] [#(#counts)*] #rest })
}

/// The generic parameter's name.
pub fn name_of(parameter: &GenericParam) -> &Ident {
    match parameter {
        GenericParam::Type(parameter) => &parameter.ident,
        GenericParam::Const(parameter) => &parameter.ident,
        GenericParam::Lifetime(parameter) => &parameter.lifetime.ident,
    }
}
