//! Structs of arguments.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Error, Fields, Ident, Index, ItemStruct, Path, Result, parse_quote};

use crate::shape::{Argument, Shape, Wire};

/// A struct of arguments: how its fields are passed.
pub struct Arguments {
    item: ItemStruct,
    shapes: Vec<Shape>,
    /// How many scalars or slices are passed for each field that is a struct, as far as this is known.
    counts: Vec<usize>,
}

impl Arguments {
    pub fn parse(item: TokenStream, counts: Vec<usize>) -> Result<Self> {
        let item: ItemStruct = syn::parse2(item)?;
        let Fields::Named(fields) = &item.fields else {
            return Err(Error::new_spanned(item.ident, "a struct of arguments has named fields"));
        };
        if fields.named.is_empty() {
            return Err(Error::new_spanned(item.ident, "a struct of arguments has a field"));
        }
        let shapes = fields.named.iter().map(|field| Shape::of(&field.ty, &item.generics));
        Ok(Self { shapes: shapes.collect(), item, counts })
    }

    /// The first struct among the fields for which the number of passed arguments is not known.
    pub fn unknown(&self) -> Option<&Path> {
        structs(&self.shapes).nth(self.counts.len())
    }

    pub fn expand(&self) -> TokenStream {
        let Self { item, shapes, counts } = self;
        let mut counts = counts.iter();
        let arguments = item.fields.iter().zip(shapes).filter_map(|(field, shape)| {
            let is_struct = matches!(shape, Shape::Struct(_));
            let count = if is_struct { *counts.next()? } else { 0 };
            Some(Argument { name: field.ident.as_ref()?, kind: field.ty.clone(), shape, count })
        });
        let arguments: Vec<_> = arguments.collect();
        let mut generics = item.generics.clone();
        let types: Vec<_> =
            generics.type_params().map(|parameter| parameter.ident.clone()).collect();
        let bounds = &mut generics.make_where_clause().predicates;
        bounds.extend(
            types
                .iter()
                .map(|name| -> syn::WherePredicate { parse_quote!(#name: ::core::marker::Copy) }),
        );
        let (of, to, bounds) = generics.split_for_impl();

        let name = &item.ident;
        let wires: Vec<Wire> = arguments.iter().flat_map(Argument::wires).collect();
        let kinds: Vec<_> = wires.iter().map(|wire| &wire.kind).collect();
        let fields: Vec<_> = arguments.iter().map(|argument| argument.name).collect();
        let mut place = (0..wires.len()).map(Index::from).map(|i| quote!(wires.#i));
        let made = arguments.iter().map(|argument| {
            let own: Vec<_> = place.by_ref().take(argument.wires().len()).collect();
            argument.made(&own)
        });
        let made: Vec<_> = made.collect();
        let (statements, passed): (Vec<_>, Vec<_>) = arguments.iter().map(Argument::passed).unzip();
        let passed = passed.iter().flatten();
        let visits = arguments.iter().map(Argument::visit);
        let each = wires.iter().enumerate().map(|(i, Wire { kind, parameter, .. })| {
            quote! {
                impl #of ::device_std::slice::Passed<#i> for #name #to #bounds {
                    type Wire = #kind;
                    #[cfg(not(target_arch = "nvptx64"))]
                    const PARAMETER: ::device_std::host::Parameter = #parameter;
                }
            }
        });
        let count = count(name, wires.len());
        quote! {
            #[derive(Clone, Copy)]
            #[cfg_attr(not(target_arch = "nvptx64"), derive(Debug))]
            #item

            impl #of ::device_std::slice::ArgumentStruct for #name #to #bounds {
                type Wires = (#(#kinds,)*);

                #[inline(always)]
                unsafe fn from_wires(wires: Self::Wires) -> Self {
                    Self { #(#fields: #made),* }
                }

                #[cfg(not(target_arch = "nvptx64"))]
                fn wires(&self) -> Self::Wires {
                    #(#statements)*
                    (#(#passed,)*)
                }

                #[cfg(not(target_arch = "nvptx64"))]
                #[allow(unused_variables)]
                fn each_slice<'slices>(
                    &'slices self,
                    visit: &mut dyn ::core::ops::FnMut(
                        ::device_std::host::Home<'slices>,
                        ::device_std::host::Access,
                    ),
                ) {
                    #(#visits)*
                }
            }
            #(#each)*
            #count
        }
    }
}

/// The macro with a struct's name: by it, `#[kernel]` learns how many arguments are passed for the struct.
fn count(name: &Ident, count: usize) -> TokenStream {
    let count = Index::from(count);
    let hidden = format_ident!("__arguments_{name}", span = name.span());
    quote! {
        #[doc(hidden)]
        #[allow(unused_macros)]
        macro_rules! #hidden {
            ([$($next:tt)*] [$($counts:tt)*] $($rest:tt)*) => {
                $($next)* ! { [$($counts)* #count] $($rest)* }
            };
        }
        #[doc(hidden)]
        #[allow(unused_imports)]
        pub(crate) use #hidden as #name;
    }
}

/// The structs among some shapes.
pub fn structs(shapes: &[Shape]) -> impl Iterator<Item = &Path> {
    shapes
        .iter()
        .filter_map(|shape| if let Shape::Struct(path) = shape { Some(path) } else { None })
}
