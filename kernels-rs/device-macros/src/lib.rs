//! The `#[kernel]` attribute: one declaration of a kernel, all its uses.
//!
//! ```ignore
//! /// `y[i] += a * x[i]`. Grid: a thread for each element.
//! ///
//! /// # Safety
//! /// Both arrays have `len` elements.
//! #[kernel(block = BLOCK)]
//! pub unsafe fn add_scaled(a: f32, x: *const f32, y: *mut f32, len: u64) { .. }
//! ```
//!
//! becomes
//!
//! - in the device build, the PTX entry `MODULE__add_scaled`;
//! - on the host, the module `add_scaled` with the struct `Args { a, x, y, len }`, and the constant
//!   `add_scaled: Kernel<add_scaled::Args>`, which `Gpu::enqueue` takes;
//! - where device-std's feature `software` is on, the function that the software device runs for each
//!   thread. Without it the host compiles no kernel's body.
//!
//! The tokens of types and body are the author's own, so a mistake in them is reported at its place.
//!
//! # Parameters
//!
//! - scalars, and arrays of them, which are passed as their elements;
//! - slices of device memory, [`In<'_, T>`] if they are read and [`Out<'_, T>`] if they are written, and options of
//!   them, passed as null for `None`;
//! - structs of all these with the attribute `#[arguments]`;
//! - raw pointers, which nobody checks or admits: for kernels that another host runtime launches.
//!
//! [`In<'_, T>`]: ../device_std/slice/struct.In.html
//! [`Out<'_, T>`]: ../device_std/slice/struct.Out.html
//!
//! ```ignore
//! /// Points in device memory.
//! #[arguments]
//! pub struct Points<'a, T> {
//!     /// `count` of them.
//!     pub x: In<'a, T>,
//!     /// As many.
//!     pub y: In<'a, T>,
//!     /// The place of each in the result; its own where there is no order.
//!     pub order: Option<In<'a, u32>>,
//!     /// How many there are.
//!     pub count: u32,
//! }
//!
//! /// The squared distance of each point from a centre. Grid: a thread a point.
//! ///
//! /// # Safety
//! /// The slices have what `Points` says; `out` has an element a point; the order is a permutation.
//! #[kernel(block = BLOCK, instances(f32: <f32>; f64: <f64>))]
//! pub unsafe fn measure<T: Real>(points: Points<'_, T>, centre: [f64; 2], out: Out<'_, f64>) {
//!     let i = thread::index_1d();
//!     if i < points.count as u64 {
//!         let (x, y) = (points.x.get(i).to_f64() - centre[0], points.y.get(i).to_f64() - centre[1]);
//!         let place = points.order.map_or(i as u32, |order| order.get(i));
//!         out.set(place, x * x + y * y);
//!     }
//! }
//! ```
//!
//! and its launch, with columns of gpu-core's, each on whatever stream it lives:
//!
//! ```ignore
//! let points = Points { x: x.input(), y: y.input(), order: order.map(Column::input), count };
//! let arguments = measure::Args { points, centre, out: out.output() };
//! unsafe { gpu.enqueue(measure::f64, Blocks::for_each(&measure::f64, count.into())?, arguments)? };
//! ```
//!
//! A struct of arguments has named fields, each of one of the kinds above. It is `Clone`, `Copy` and, on the host,
//! `Debug`; without slices it needs no lifetime. It may be a field of another such struct. In a kernel's signature its
//! lifetime is written `'_`.
//!
//! A type counts as a struct of arguments if it is a path whose last name begins with a capital letter. Its first name
//! must not be a generic parameter of the kernel. The attribute generates a macro with the struct's name, which tells
//! `#[kernel]` how many scalars the struct is passed as. `use super::points::Points;` imports both, within one crate.
//!
//! The PTX has no trace of the struct: its fields are parameters in their order, and slices are raw pointers. So a
//! struct costs nothing.
//!
//! # What is declared
//!
//! - `block = EXPRESSION`: threads of a block, a constant.
//! - `resident = EXPRESSION`: the least number of blocks that must fit on a multiprocessor; it bounds the registers of
//!   a thread. 1 if it is left out.
//! - `spills = EXPRESSION`: bytes of registers that a thread may spill to memory so that `resident` blocks fit, if a
//!   measurement says that it is worth it; `cargo xtask check-ptx` refuses more. None if it is left out.
//! - `shared = EXPRESSION`: bytes of shared memory, a constant; or `shared = |args| EXPRESSION`, a function of the
//!   arguments. 0 if it is left out.
//! - `carve = |carver| EXPRESSION`, in place of `shared`: the bytes are those that the expression takes from the
//!   `Carver`. The body carves in the same way.
//! - `key: TYPE = EXPRESSION`: the key that tells the instances apart, a constant expression of the generic parameters,
//!   of a type that is `'static`. A parameter's constants are named as in `<P as Trait>::NAME`. See below.
//! - `instances(NAME: <GENERICS>, resident = EXPRESSION, spills = EXPRESSION; ..)` for a generic function: each gives
//!   an entry `MODULE__KERNEL_NAME` and a constant `KERNEL::NAME`. The expressions of `block`, `resident`, `spills` and
//!   `shared` may name the generic parameters.
//!
//! # Instances by type
//!
//! If a kernel is generic over types, the trait `KERNEL::Instance` finds an instance by its types. The last type
//! parameter implements the trait. The other type parameters are the trait's parameters, in their order; constant
//! parameters are its associated constants. For example, `fn scan<T: Scalar, O: Operator<T>, const ROWS: usize>` and
//! `instances(sum_u8: <u8, Sum, 4>)` give `impl scan::Instance<u8> for Sum`, with `KERNEL: Kernel<scan::Args<u8>>` and
//! `ROWS: usize`. `Args` is generic over those types that the parameters name. If instances differ in constants alone,
//! there is no such trait: a key finds them.
//!
//! # Instances by key
//!
//! A kernel with a `key` lists its instances. `KERNEL::ALL` has pairs of key and kernel in the order of the
//! declaration, and `KERNEL::find(|key| ..)` gives the first whose key satisfies the condition. For
//!
//! ```ignore
//! #[kernel(block = 64, key: [u32; 2] = [N, ROWS], instances(
//!     small: <1, 8>; tall: <1, 32>; wide: <4, 8>
//! ))]
//! ```
//!
//! `find(|[n, rows]| *n >= values && *rows <= most)` searches this list in order. A key may be an enum's value or a
//! struct's, as long as it is a constant. If `Args` is generic, `ALL` and `find` are those of the trait
//! `KERNEL::Instances`. The last type that `Args` names implements it, with the other types as its parameters: `<f32 as
//! nearest::Instances>::find(|kept| count <= *kept)`.
//!
//! # Around it
//!
//! The module that declares kernels must have a `static MODULE: PtxModule` in scope; the macro
//! `device_std::ptx_module!` makes it. The device build takes the module's name from the environment
//! variable `TESSERA_PTX_MODULE`, which `cargo xtask ptx` sets.

mod arguments;
mod declaration;
mod expansion;
mod shape;

use arguments::Arguments;
use declaration::Declaration;
use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{ParseStream, Parser};
use syn::{LitInt, bracketed};

/// Declares a kernel. See the crate's documentation.
#[proc_macro_attribute]
pub fn kernel(
    attribute: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    expand(attribute.into(), item.into(), &[], ptx_module().as_deref()).into()
}

/// Makes a struct one argument of a kernel. See the crate's documentation.
#[proc_macro_attribute]
pub fn arguments(
    attribute: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    if !attribute.is_empty() {
        let reason = "#[arguments] takes nothing";
        return syn::Error::new(proc_macro2::Span::call_site(), reason).into_compile_error().into();
    }
    expand_arguments(item.into(), Vec::new()).into()
}

/// The second step of `kernel`, once it knows how many arguments are passed for the structs of arguments: `[counts]
/// {attribute} {item}`.
#[doc(hidden)]
#[proc_macro]
pub fn kernel_of_structs(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let parts = |input: ParseStream| {
        let counts = counts(input)?;
        Ok((counts, braced(input)?, braced(input)?))
    };
    match parts.parse(input) {
        Ok((counts, attribute, item)) => {
            expand(attribute, item, &counts, ptx_module().as_deref()).into()
        }
        Err(error) => error.into_compile_error().into(),
    }
}

/// The second step of `arguments`: `[counts] {item}`.
#[doc(hidden)]
#[proc_macro]
pub fn arguments_of_structs(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let parts = |input: ParseStream| Ok((counts(input)?, braced(input)?));
    match parts.parse(input) {
        Ok((counts, item)) => expand_arguments(item, counts).into(),
        Err(error) => error.into_compile_error().into(),
    }
}

fn counts(input: ParseStream) -> syn::Result<Vec<usize>> {
    let content;
    bracketed!(content in input);
    let mut counts = Vec::new();
    while !content.is_empty() {
        counts.push(content.parse::<LitInt>()?.base10_parse()?);
    }
    Ok(counts)
}

fn braced(input: ParseStream) -> syn::Result<TokenStream> {
    let content;
    syn::braced!(content in input);
    content.parse()
}

fn ptx_module() -> Option<String> {
    std::env::var("TESSERA_PTX_MODULE").ok()
}

fn expand(
    attribute: TokenStream,
    item: TokenStream,
    counts: &[usize],
    ptx_module: Option<&str>,
) -> TokenStream {
    match Declaration::parse(attribute.clone(), item.clone(), counts) {
        Ok(declaration) => match declaration.unknown() {
            Some(path) => {
                let next = quote!(::device_std::kernel_of_structs);
                shape::ask(path, &next, counts, &quote!({ #attribute } { #item }))
            }
            None => declaration.expand(ptx_module),
        },
        Err(error) => error.into_compile_error(),
    }
}

fn expand_arguments(item: TokenStream, counts: Vec<usize>) -> TokenStream {
    match Arguments::parse(item.clone(), counts.clone()) {
        Ok(arguments) => match arguments.unknown() {
            Some(path) => {
                let next = quote!(::device_std::arguments_of_structs);
                shape::ask(path, &next, &counts, &quote!({ #item }))
            }
            None => arguments.expand(),
        },
        Err(error) => error.into_compile_error(),
    }
}

#[cfg(test)]
mod tests {
    use proc_macro2::{TokenStream, TokenTree};

    /// The lines of the tokens in which the identifier `name` stands.
    fn lines_of(name: &str, tokens: TokenStream) -> Vec<usize> {
        let lines = tokens.into_iter().flat_map(|token| match token {
            TokenTree::Group(group) => lines_of(name, group.stream()),
            TokenTree::Ident(ident) if ident == name => vec![ident.span().start().line],
            _ => vec![],
        });
        lines.collect()
    }

    fn expanded(attribute: &str, item: &str) -> TokenStream {
        super::expand(attribute.parse().unwrap(), item.parse().unwrap(), &[], Some("maps"))
    }

    const SCALE: &str = "/// Scales.\npub unsafe fn scale(\n    x: *mut Wrong,\n    n: u32,\n) {\n    mistake(x, n)\n}";

    #[test]
    fn types_and_body_keep_their_lines_on_host_and_device() {
        let tokens = expanded("block = 256", SCALE);
        let (body, types) = (lines_of("mistake", tokens.clone()), lines_of("Wrong", tokens));
        assert!(body.len() >= 2 && body.iter().all(|&line| line == 6), "{body:?}");
        assert!(types.len() >= 2 && types.iter().all(|&line| line == 3), "{types:?}");
    }

    #[test]
    fn an_instances_generics_keep_their_lines() {
        let attribute = "\nblock = BLOCK,\ninstances(\nwide: <u64, Wrong>;\nslim: <u8, Sum>;\n)";
        let item = "pub unsafe fn sums<T: Scalar, O: Operator<T>>(x: *const T) { unsafe { mistake::<O>(x) } }";
        let lines = lines_of("Wrong", expanded(attribute, item));
        assert!(lines.len() >= 2 && lines.iter().all(|&line| line == 4), "{lines:?}");
    }

    #[test]
    fn entries_are_named_by_module_and_kernel() {
        let simple = expanded("block = 256", SCALE).to_string();
        assert!(simple.contains("export_name = \"maps__scale\""), "{simple}");
        let item = "pub unsafe fn fill<T: Scalar>(x: *mut T, value: T) { unsafe { *x = value } }";
        let instances = expanded("block = 32, instances(u8: <u8>; u16: <u16>)", item).to_string();
        for name in ["maps__fill_u8", "maps__fill_u16"] {
            assert!(instances.contains(&format!("export_name = {name:?}")), "{instances}");
        }
    }

    #[test]
    fn generic_parameters_may_be_named_in_what_is_declared() {
        let attribute = "block = N, shared = bytes::<T, N>() + N, instances(a: <u8, 64>)";
        let item = "pub unsafe fn f<T: Copy, const N: u32>(x: *const T) {}";
        let tokens = expanded(attribute, item).to_string();
        for part in ["bytes :: < u8 , 64 > () + 64", "block : (64) as u32"] {
            assert!(tokens.contains(part), "no {part} in {tokens}");
        }
    }

    #[test]
    fn spills_are_told_to_the_ptx_where_they_are_declared() {
        let with = expanded("block = 64, resident = 6, spills = 128", SCALE).to_string();
        assert!(with.contains("\"// launch bounds {} {} {}\""), "{with}");
        let without = expanded("block = 64, resident = 6", SCALE).to_string();
        assert!(without.contains("\"// launch bounds {} {}\""), "{without}");
    }

    #[test]
    fn shared_memory_may_be_what_is_carved() {
        let item = "pub unsafe fn f<T: Copy>(x: *const T) {}";
        let carve = "block = 32, carve = |c| Shared::<T>::new(c), instances(a: <u8>)";
        let tokens = expanded(carve, item).to_string();
        for part in ["let _ = Shared :: < u8 > :: new (c)", "c . bytes ()"] {
            assert!(tokens.contains(part), "no {part} in {tokens}");
        }
        for wrong in ["4", "|a, b| Shared::new(a)"] {
            let attribute = format!("block = 32, carve = {wrong}, instances(a: <u8>)");
            assert!(expanded(&attribute, item).to_string().contains("compile_error"), "{wrong}");
        }
    }

    #[test]
    fn an_array_is_passed_as_its_elements() {
        let item = "pub unsafe fn f(p: [u64; 2]) { unsafe { work(p) } }";
        let tokens = expanded("block = 32", item).to_string();
        for part in [
            "extern \"ptx-kernel\" fn f (p_0 : u64 , p_1 : u64)",
            "let p = [p_0 , p_1]",
            "pub p : [u64 ; 2]",
            "let mut p_1 = self . p [1usize]",
        ] {
            assert!(tokens.contains(part), "no {part} in {tokens}");
        }
    }

    #[test]
    fn what_is_no_kernel_is_refused_with_the_reason() {
        let fn_ok = "pub unsafe fn f(x: u32) {}";
        for (attribute, item, reason) in [
            ("", fn_ok, "block"),
            ("block = 1, blocks = 2", fn_ok, "blocks"),
            ("block = 1", "pub fn f(x: u32) {}", "unsafe"),
            ("block = 1", "pub unsafe fn f(x: u32) -> u32 { x }", "returns nothing"),
            ("block = 1", "pub unsafe fn f((x, y): (u32, u32)) {}", "name: type"),
            ("block = 1", "pub unsafe fn f(f: u32) {}", "kernel's name"),
            ("block = 1", "pub unsafe fn f<T>(x: T) {}", "instances"),
            ("block = 1, instances(a: <u8>)", fn_ok, "no generic parameters"),
            ("block = 1, instances(a: <u8, u8>)", "pub unsafe fn f<T>(x: T) {}", "1 generic"),
        ] {
            let error = expanded(attribute, item).to_string();
            assert!(error.contains("compile_error") && error.contains(reason), "{item}: {error}");
        }
    }
}
