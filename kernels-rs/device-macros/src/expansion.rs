//! The code that a declaration becomes.

use std::collections::BTreeSet;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Expr, GenericArgument, GenericParam, Generics, Ident, Lifetime, LitStr, Type, Visibility,
};

use crate::declaration::{Declaration, Instance, Key, Parameter};
use crate::shape::{Argument, Open, Shape, Wire, name_of};

/// A kernel that can be launched: the function itself, or an instance of it.
struct Entry<'a> {
    /// What follows the module's name in the PTX.
    name: String,
    span: Span,
    /// The parameters as they are passed.
    wires: Wires,
    block: Expr,
    resident: Expr,
    spills: Option<Expr>,
    shared: Expr,
    key: Option<Expr>,
    /// The body of the entry, given the parameters.
    body: TokenStream,
    instance: Option<&'a Instance>,
}

/// The arguments as they are passed.
#[derive(Default)]
struct Wires {
    names: Vec<Ident>,
    kinds: Vec<TokenStream>,
    /// The constants that describe them to the host.
    parameters: Vec<TokenStream>,
    /// `let array = [array_0, array_1];`
    made: Vec<TokenStream>,
}

impl Declaration {
    pub fn expand(&self, ptx_module: Option<&str>) -> TokenStream {
        if self.setting.instances.is_empty() {
            self.expand_single(ptx_module)
        } else {
            self.expand_instances(ptx_module)
        }
    }

    fn expand_single(&self, ptx_module: Option<&str>) -> TokenStream {
        let (name, visibility) = (&self.function.sig.ident, &self.function.vis);
        let body = &self.function.block;
        let entry = Entry {
            name: name.to_string(),
            span: name.span(),
            wires: self.wires(Type::clone),
            block: self.setting.block.clone(),
            resident: self.setting.resident.clone(),
            spills: self.setting.spills.clone(),
            shared: self.setting.shared.clone(),
            key: None,
            body: quote!(#body),
            instance: None,
        };
        let attributes = &self.function.attrs;
        let device = self.device(&entry, ptx_module);
        let args = |lifetime: &str| {
            let generics = self.arguments_of(lifetime, &[]);
            quote!(#name::Args #generics)
        };
        let kernel = self.constant(&entry, args);
        let arguments = self.arguments(&Generics::default());
        let inner = quote! {
            /// The kernel's arguments.
            #arguments
        };
        let about = format!("What goes with the kernel [`{name}`](const@{name}).");
        let beside = module(name, visibility, quote!(#[doc = #about]), inner);
        quote! {
            #(#attributes)*
            #device
            #(#attributes)*
            #[cfg(not(target_arch = "nvptx64"))]
            #[allow(non_upper_case_globals)]
            #visibility const #name: #kernel;
            #beside
        }
    }

    fn expand_instances(&self, ptx_module: Option<&str>) -> TokenStream {
        let (name, visibility) = (&self.function.sig.ident, &self.function.vis);
        let (attributes, signature) = (&self.function.attrs, &self.function.sig);
        let (generics, body) = (&signature.generics, &self.function.block);
        let (where_clause, inputs) = (&generics.where_clause, self.signature());
        let entries: Vec<_> = self.setting.instances.iter().map(|i| self.entry(i)).collect();
        let devices = entries.iter().map(|entry| self.device(entry, ptx_module));

        let arguments = self.arguments(generics);
        let (by_type, list) = (self.instance_trait(), self.instance_list(&entries));
        let constants = entries.iter().map(|entry| self.instance_constant(entry));
        let inner = quote! {
            /// The arguments of each instance.
            #arguments
            #by_type
            #list
            #(#constants)*
        };
        let documentation = attributes.iter().filter(|a| a.path().is_ident("doc"));
        let host = module(name, visibility, quote!(#(#documentation)*), inner);
        let function = quote! {
            #(#attributes)*
            #[allow(clippy::too_many_arguments, clippy::missing_safety_doc)]
            #[inline(always)]
            #visibility unsafe fn #name #generics(#inputs) #where_clause #body
        };
        quote! {
            #[cfg(target_arch = "nvptx64")]
            #function
            #[cfg(not(target_arch = "nvptx64"))]
            ::device_std::if_software! { #function }
            #(#devices)*
            #host
        }
    }

    /// `a: A, b: B`: the function's parameters as declared.
    fn signature(&self) -> TokenStream {
        let names = self.parameters.iter().map(|p| &p.name);
        let kinds = self.parameters.iter().map(|p| &p.kind);
        quote!(#(#names: #kinds),*)
    }

    /// The entry of an instance, whose body calls the generic function.
    fn entry<'a>(&self, instance: &'a Instance) -> Entry<'a> {
        let function = &self.function.sig.ident;
        let names = self.parameters.iter().map(|p| &p.name);
        let mut put = Put { generics: &self.function.sig.generics, instance };
        let wires = self.wires(|kind| put.set_in_type(kind));
        let values = &instance.generics;
        let resident = instance.resident.as_ref().unwrap_or(&self.setting.resident);
        let spills = instance.spills.as_ref().or(self.setting.spills.as_ref());
        Entry {
            name: format!("{function}_{}", instance.name),
            span: instance.name.span(),
            wires,
            block: put.set_in_expression(&self.setting.block),
            resident: put.set_in_expression(resident),
            spills: spills.map(|spills| put.set_in_expression(spills)),
            shared: put.set_in_expression(&self.setting.shared),
            key: self.setting.key.as_ref().map(|key| put.set_in_expression(&key.value)),
            // SAFETY of the generated code: the entry has the function's safety section.
            body: quote!({ unsafe { #function::<#(#values),*>(#(#names),*) } }),
            instance: Some(instance),
        }
    }

    /// The entry in the PTX.
    fn device(&self, entry: &Entry, ptx_module: Option<&str>) -> TokenStream {
        let Some(ptx_module) = ptx_module else {
            let reason = "the environment has no TESSERA_PTX_MODULE: build by cargo xtask ptx";
            return quote! {
                #[cfg(target_arch = "nvptx64")]
                compile_error!(#reason);
            };
        };
        let Entry { name, span, wires, block, resident, spills, body, .. } = entry;
        let Wires { names, kinds, made, .. } = wires;
        let numbers = [block, resident].into_iter().chain(spills).map(as_u32);
        let comment = format!("// launch bounds{}", " {}".repeat(numbers.clone().count()));
        let exported = LitStr::new(&format!("{ptx_module}__{name}"), *span);
        let function = match entry.instance {
            Some(_) => format_ident!("{name}", span = *span),
            None => self.function.sig.ident.clone(),
        };
        quote! {
            #[allow(clippy::too_many_arguments, clippy::missing_safety_doc, missing_docs)]
            #[cfg(target_arch = "nvptx64")]
            #[unsafe(export_name = #exported)]
            pub unsafe extern "ptx-kernel" fn #function(#(#names: #kinds),*) {
                // The compiler has no syntax for launch bounds: `cargo xtask ptx` moves them from here to the entry's
                // head.
                unsafe {
                    ::core::arch::asm!(
                        #comment,
                        #(const #numbers,)*
                        options(nomem, nostack, preserves_flags)
                    )
                };
                #(#made)*
                #body
            }
        }
    }

    /// The host's constant, from its type on: `Kernel<Args> = value`. `arguments` makes the type `Args` for a lifetime.
    fn constant(&self, entry: &Entry, arguments: impl Fn(&str) -> TokenStream) -> TokenStream {
        let Entry { name, wires, block, shared, body, .. } = entry;
        let Wires { names, kinds, parameters, made } = wires;
        let index = 0..names.len();
        let block = as_u32(block);
        let shared = match shared {
            Expr::Closure(of_arguments) => {
                let any = arguments("'_");
                quote!({
                    fn bytes(arguments: &#any) -> u32 {
                        ::device_std::host::bytes_of(arguments, #of_arguments)
                    }
                    bytes
                })
            }
            constant => {
                let constant = as_u32(constant);
                quote!(|_| { const BYTES: u32 = #constant; BYTES })
            }
        };
        let arguments = arguments("'static");
        quote! {
            ::device_std::host::Kernel<#arguments> = {
                const ENTRY: ::core::option::Option<::device_std::host::Entry> =
                    ::device_std::if_software!({
                        #[allow(clippy::too_many_arguments, clippy::missing_safety_doc)]
                        unsafe fn thread(#(#names: #kinds),*) {
                            #(#made)*
                            #body
                        }
                        unsafe fn entry(arguments: *const *const ::core::ffi::c_void) {
                            // SAFETY: the launcher passes one valid pointer for each parameter.
                            unsafe { thread(#((*arguments.add(#index)).cast::<#kinds>().read()),*) }
                        }
                        ::core::option::Option::Some(entry)
                    } else {
                        ::core::option::Option::None
                    });
                static HOST: ::device_std::host::HostKernel = ::device_std::host::HostKernel {
                    module: &MODULE,
                    name: #name,
                    block: #block,
                    parameters: &[#(#parameters),*],
                    entry: ENTRY,
                };
                // SAFETY: what gives the bytes is a function of arguments of any lifetime.
                unsafe { ::device_std::host::Kernel::new(&HOST, #shared) }
            }
        }
    }

    /// The parameters, in types in which `set` has replaced the generic parameters.
    fn each_argument(&self, mut set: impl FnMut(&Type) -> Type) -> Vec<Argument<'_>> {
        let arguments =
            self.parameters.iter().map(|Parameter { name, kind, shape, count, .. }| Argument {
                name,
                kind: set(kind),
                shape,
                count: count.unwrap_or(0),
            });
        arguments.collect()
    }

    /// The scalars and slices that are passed for the parameters; `set` gives the parameters' types.
    fn wires(&self, mut set: impl FnMut(&Type) -> Type) -> Wires {
        let mut wires = Wires::default();
        for argument in self.each_argument(|kind| Open::set("'static", &set(kind))) {
            let own = argument.wires();
            if !matches!(argument.shape, Shape::Scalar) {
                let names: Vec<_> = own.iter().map(|wire| wire.name.to_token_stream()).collect();
                let (name, made) = (argument.name, argument.made(&names));
                wires.made.push(quote!(let #name = #made;));
            }
            for Wire { name, kind, parameter } in own {
                wires.names.push(name);
                wires.kinds.push(kind);
                wires.parameters.push(parameter);
            }
        }
        wires
    }

    /// `<'lifetime, types>` of `Args`; without the lifetime if no parameter's type has one.
    fn arguments_of(&self, lifetime: &str, types: &[TokenStream]) -> TokenStream {
        let lifetime = self.parameters.iter().any(|p| Open::is_in(&p.kind)).then(|| {
            let lifetime = Lifetime::new(lifetime, Span::call_site());
            quote!(#lifetime)
        });
        let all: Vec<_> = lifetime.iter().chain(types).collect();
        if all.is_empty() { TokenStream::new() } else { quote!(<#(#all),*>) }
    }

    /// The struct of the arguments, generic over those types that the parameters name.
    fn arguments(&self, generics: &Generics) -> TokenStream {
        let used = self.types_of_parameters(generics);
        let bare: Vec<_> = used.iter().map(|name| quote!(#name)).collect();
        let copy: Vec<_> = used.iter().map(|name| quote!(#name: ::core::marker::Copy)).collect();
        let (of, bounds) = (self.arguments_of("'a", &bare), self.arguments_of("'a", &copy));
        let fields = self.parameters.iter().map(|Parameter { attributes, name, kind, .. }| {
            let documentation = attributes.iter().filter(|a| a.path().is_ident("doc"));
            let kind = Open::set("'a", kind);
            quote!(#(#documentation)* pub #name: #kind)
        });
        let arguments = self.each_argument(Type::clone);
        let names = arguments.iter().flat_map(Argument::wires).map(|wire| wire.name);
        let names: Vec<_> = names.collect();
        let (statements, passed): (Vec<_>, Vec<_>) = arguments.iter().map(Argument::passed).unzip();
        let passed = passed.iter().flatten();
        let visits = arguments.iter().map(Argument::visit);
        quote! {
            #[allow(missing_docs)]
            #[derive(Clone, Copy, Debug)]
            pub struct Args #of { #(#fields),* }

            impl #bounds ::device_std::host::Arguments for Args #of {
                fn with_pointers<Given>(
                    &self,
                    give: impl ::core::ops::FnOnce(&mut [*mut ::core::ffi::c_void]) -> Given,
                ) -> Given {
                    #(#statements)*
                    #(let mut #names = #passed;)*
                    give(&mut [#((&raw mut #names).cast()),*])
                }

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
        }
    }

    /// The type parameters that stand in the parameters' types.
    fn types_of_parameters<'a>(&self, generics: &'a Generics) -> Vec<&'a Ident> {
        let names = generics.type_params().map(|parameter| &parameter.ident);
        let mut found = UsedParameters { names: names.collect(), seen: Vec::new() };
        for Parameter { kind, .. } in &self.parameters {
            found.visit_type_mut(&mut kind.clone());
        }
        let UsedParameters { names, seen } = found;
        names.into_iter().filter(|name| seen.contains(name)).collect()
    }

    /// The trait that finds an instance by its types; none if the kernel has no type parameter.
    fn instance_trait(&self) -> TokenStream {
        let generics = &self.function.sig.generics;
        let used = self.types_of_parameters(generics);
        let types: Vec<_> = generics.type_params().map(|parameter| &parameter.ident).collect();
        let Some((last, others)) = types.split_last() else { return TokenStream::new() };
        if !self.has_one_of_types() {
            return TokenStream::new();
        }
        let of_self: Vec<_> = used
            .iter()
            .map(|name| if *name == *last { quote!(Self) } else { quote!(#name) })
            .collect();
        let of_self = self.arguments_of("'static", &of_self);
        let constants = generics.const_params().map(|parameter| {
            let (name, kind) = (&parameter.ident, &parameter.ty);
            quote!(#[allow(missing_docs)] const #name: #kind;)
        });
        quote! {
            /// The types for which there is an instance.
            pub trait Instance<#(#others),*>: Sized {
                /// The instance.
                const KERNEL: ::device_std::host::Kernel<Args #of_self>;
                #(#constants)*
            }
        }
    }

    /// Whether no two instances have the same types: then the types find the instance.
    fn has_one_of_types(&self) -> bool {
        let generics = &self.function.sig.generics;
        let is_type: Vec<_> =
            generics.params.iter().map(|p| matches!(p, GenericParam::Type(_))).collect();
        let types = |instance: &Instance| -> Vec<_> {
            let all = instance.generics.iter().zip(&is_type).filter(|(_, is_type)| **is_type);
            all.map(|(value, _)| value.to_token_stream().to_string()).collect()
        };
        let all: BTreeSet<_> = self.setting.instances.iter().map(types).collect();
        all.len() == self.setting.instances.len()
    }

    /// The list of the instances by their keys: one constant, or one for each choice of the types that `Args` names.
    fn instance_list(&self, entries: &[Entry]) -> TokenStream {
        let Some(Key { kind, .. }) = &self.setting.key else { return TokenStream::new() };
        let generics = &self.function.sig.generics;
        let used = self.types_of_parameters(generics);
        let mut groups: Vec<(Vec<String>, Vec<TokenStream>, Vec<TokenStream>)> = Vec::new();
        for entry in entries {
            let (Some(instance), Some(key)) = (entry.instance, &entry.key) else { continue };
            let value_of = |name: &&Ident| {
                let at = generics.params.iter().position(|p| name_of(p) == *name)?;
                Some(instance.generics[at].to_token_stream())
            };
            let types: Vec<_> = used.iter().filter_map(value_of).collect();
            let texts: Vec<_> = types.iter().map(TokenStream::to_string).collect();
            let name = &instance.name;
            let pair = quote!((#key, #name));
            match groups.iter_mut().find(|(known, ..)| *known == texts) {
                Some((.., pairs)) => pairs.push(pair),
                None => groups.push((texts, types, vec![pair])),
            }
        }
        let kernel = |types: &[TokenStream]| {
            let arguments = self.arguments_of("'static", types);
            quote!(::device_std::host::Kernel<Args #arguments>)
        };
        let find = |visibility: TokenStream, kernel: TokenStream, list: TokenStream| {
            quote! {
                /// The first instance whose key satisfies the condition.
                #visibility fn find(
                    mut is: impl ::core::ops::FnMut(&#kind) -> bool,
                ) -> ::core::option::Option<#kernel> {
                    #list.iter().find(|(key, _)| is(key)).map(|(_, kernel)| *kernel)
                }
            }
        };
        let Some((_, others)) = used.split_last() else {
            let pairs = groups.iter().flat_map(|(.., pairs)| pairs);
            let (count, kernel) = (entries.len(), kernel(&[]));
            let find = find(quote!(pub), kernel.clone(), quote!(ALL));
            return quote! {
                /// The instances by their keys, in the order of their declaration.
                pub const ALL: [(#kind, #kernel); #count] = [#(#pairs),*];
                #find
            };
        };
        let of_self = others.iter().map(|name| quote!(#name)).chain([quote!(Self)]);
        let of_self = kernel(&of_self.collect::<Vec<_>>());
        let find = find(TokenStream::new(), of_self.clone(), quote!(Self::ALL));
        let implementations = groups.iter().filter_map(|(_, types, pairs)| {
            let kernel = kernel(types);
            let (own, parameters) = types.split_last()?;
            Some(quote! {
                impl Instances<#(#parameters),*> for #own {
                    const ALL: &'static [(#kind, #kernel)] = &[#(#pairs),*];
                }
            })
        });
        quote! {
            /// The types of arguments for which there are instances.
            pub trait Instances<#(#others),*>: Sized + 'static {
                /// The instances by their keys, in the order of their declaration.
                const ALL: &'static [(#kind, #of_self)];
                #find
            }
            #(#implementations)*
        }
    }

    /// An instance's constant, and the implementation that finds it by its types.
    fn instance_constant(&self, entry: &Entry) -> TokenStream {
        let generics = &self.function.sig.generics;
        let Some(instance) = entry.instance else { return TokenStream::new() };
        let name = &instance.name;
        let value_of = |wanted: &Ident| {
            let at = generics.params.iter().position(|parameter| name_of(parameter) == wanted);
            at.map(|at| &instance.generics[at])
        };
        let used = self.types_of_parameters(generics).into_iter().filter_map(value_of);
        let used: Vec<_> = used.map(ToTokens::to_token_stream).collect();
        let arguments = |lifetime: &str| {
            let generics = self.arguments_of(lifetime, &used);
            quote!(Args #generics)
        };
        let constant = self.constant(entry, arguments);
        let arguments = arguments("'static");

        let types: Vec<_> = generics.type_params().map(|p| value_of(&p.ident)).collect();
        let types = types.split_last().filter(|_| self.has_one_of_types());
        let by_type = types.map(|(last, others)| {
            let constants = generics.const_params().map(|parameter| {
                let (name, kind, value) =
                    (&parameter.ident, &parameter.ty, value_of(&parameter.ident));
                quote!(const #name: #kind = #value;)
            });
            quote! {
                impl Instance<#(#others),*> for #last {
                    const KERNEL: ::device_std::host::Kernel<#arguments> = #name;
                    #(#constants)*
                }
            }
        });
        quote! {
            #[allow(missing_docs, non_upper_case_globals)]
            pub const #name: #constant;
            #by_type
        }
    }
}

/// The expression as `u32`, of whatever integer type; a mistake in it is reported at its place.
fn as_u32(expression: &Expr) -> TokenStream {
    let here = Span::mixed_site().located_at(expression.span());
    quote_spanned!(here=> (#expression) as u32)
}

/// The module beside a kernel, of the kernel's name.
fn module(
    name: &Ident,
    visibility: &Visibility,
    about: TokenStream,
    inner: TokenStream,
) -> TokenStream {
    quote! {
        #about
        #[cfg(not(target_arch = "nvptx64"))]
        #visibility mod #name {
            #[allow(unused_imports)]
            use super::*;
            #inner
        }
    }
}

/// Replaces the generic parameters by an instance's values.
struct Put<'a> {
    generics: &'a Generics,
    instance: &'a Instance,
}

impl Put<'_> {
    fn value_of(&self, path: &syn::Path) -> Option<&GenericArgument> {
        let name = path.get_ident()?;
        let at = self.generics.params.iter().position(|parameter| name_of(parameter) == name)?;
        Some(&self.instance.generics[at])
    }

    fn set_in_type(&mut self, kind: &Type) -> Type {
        let mut kind = kind.clone();
        self.visit_type_mut(&mut kind);
        kind
    }

    fn set_in_expression(&mut self, expression: &Expr) -> Expr {
        let mut expression = expression.clone();
        self.visit_expr_mut(&mut expression);
        expression
    }
}

impl VisitMut for Put<'_> {
    fn visit_generic_argument_mut(&mut self, argument: &mut GenericArgument) {
        // A constant parameter reads as a type where it stands alone.
        if let GenericArgument::Type(Type::Path(path)) = argument
            && let Some(value @ GenericArgument::Const(_)) = self.value_of(&path.path)
        {
            *argument = value.clone();
            return;
        }
        visit_mut::visit_generic_argument_mut(self, argument);
    }

    fn visit_type_mut(&mut self, kind: &mut Type) {
        if let Type::Path(path) = kind
            && path.qself.is_none()
            && let Some(GenericArgument::Type(value)) = self.value_of(&path.path)
        {
            *kind = value.clone();
            return;
        }
        visit_mut::visit_type_mut(self, kind);
    }

    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        if let Expr::Path(path) = expression {
            match self.value_of(&path.path) {
                Some(GenericArgument::Const(value)) => {
                    *expression = value.clone();
                    return;
                }
                // A constant's name looks like a type's.
                Some(GenericArgument::Type(Type::Path(value))) => {
                    path.path = value.path.clone();
                    return;
                }
                _ => {}
            }
        }
        visit_mut::visit_expr_mut(self, expression);
    }
}

/// Finds the type parameters in a type.
struct UsedParameters<'a> {
    names: Vec<&'a Ident>,
    seen: Vec<Ident>,
}

impl VisitMut for UsedParameters<'_> {
    fn visit_path_mut(&mut self, path: &mut syn::Path) {
        if let Some(name) = path.get_ident()
            && self.names.contains(&name)
        {
            self.seen.push(name.clone());
        }
        visit_mut::visit_path_mut(self, path);
    }
}
