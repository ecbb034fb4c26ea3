//! The `#[kernel]` attribute: one declaration of a kernel, three uses.
//!
//! `#[kernel(block = 256)] pub unsafe fn scale(x: *mut f32, n: u32) { .. }` becomes
//!
//! - in the device build, the entry point `scale` with the `ptx-kernel` ABI,
//! - on the host, the constant `scale: Kernel<(*mut f32, u32)>`, which carries the types for a
//!   checked launch, the block size, and
//! - the function that the software device runs for each thread.
//!
//! `#[kernel(block = 256, resident = 4)]` also asks the assembler to keep the registers of a thread
//! so few that 4 blocks fit on a multiprocessor.
//!
//! The module that declares kernels must have a `static MODULE: PtxModule` in scope; the macro
//! `device_std::ptx_module!` makes it.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Declares a kernel. See the crate's documentation.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    match Declaration::parse(attribute, item) {
        Ok(declaration) => declaration.expand(),
        Err(message) => format!("compile_error!({message:?});").parse().unwrap(),
    }
}

/// The parts of `#[kernel(block = N, resident = M)] /// docs.. pub unsafe fn name(a: A, b: B) { body }`.
struct Declaration {
    block: String,
    resident: String,
    outer: TokenStream,
    name: String,
    parameters: Vec<(String, String)>,
    body: Group,
}

impl Declaration {
    fn parse(attribute: TokenStream, item: TokenStream) -> Result<Self, String> {
        let attribute = attribute.to_string().replace(char::is_whitespace, "");
        let (block, resident) = attribute.split_once(",resident=").unwrap_or((&attribute, "1"));
        let block = block
            .strip_prefix("block=")
            .ok_or("expected #[kernel(block = THREADS)]: the threads of a block")?
            .to_owned();
        let resident = resident.to_owned();

        let tokens: Vec<TokenTree> = item.into_iter().collect();
        let is_word =
            |t: &TokenTree, word: &str| matches!(t, TokenTree::Ident(i) if i.to_string() == word);
        let at = tokens
            .windows(3)
            .position(|w| is_word(&w[0], "pub") && is_word(&w[1], "unsafe") && is_word(&w[2], "fn"))
            .ok_or("a kernel is declared `pub unsafe fn`")?;
        let outer = tokens[..at].iter().cloned().collect();
        match &tokens[at + 3..] {
            [TokenTree::Ident(name), TokenTree::Group(arguments), TokenTree::Group(body)]
                if arguments.delimiter() == Delimiter::Parenthesis
                    && body.delimiter() == Delimiter::Brace =>
            {
                Ok(Self {
                    block,
                    resident,
                    outer,
                    name: name.to_string(),
                    parameters: parse_parameters(arguments.stream())?,
                    body: body.clone(),
                })
            }
            _ => Err("a kernel has a name, scalar and pointer parameters, a body, and returns \
                      nothing"
                .to_owned()),
        }
    }

    fn expand(self) -> TokenStream {
        let Self { block, resident, outer, name, parameters, body } = self;
        let signature: String = parameters.iter().map(|(n, t)| format!("{n}: {t}, ")).collect();
        let types: String = parameters.iter().map(|(_, t)| format!("{t}, ")).collect();
        let kinds: String = parameters
            .iter()
            .map(|(_, t)| format!("::device_std::host::Parameter::of::<{t}>(), "))
            .collect();
        let reads: String = parameters
            .iter()
            .enumerate()
            .map(|(i, (_, t))| format!("unsafe {{ (*arguments.add({i})).cast::<{t}>().read() }}, "))
            .collect();
        let allow = "#[allow(clippy::too_many_arguments, clippy::missing_safety_doc)]";
        format!(
            r#"
            {outer}
            {allow}
            #[cfg(target_arch = "nvptx64")]
            #[unsafe(no_mangle)]
            pub unsafe extern "ptx-kernel" fn {name}({signature}) {{
                // The compiler has no words for launch bounds: `cargo xtask ptx` moves them from
                // here to the entry's head.
                unsafe {{
                    ::core::arch::asm!(
                        "// launch bounds {block} {resident}",
                        options(nomem, nostack, preserves_flags)
                    )
                }};
                {body}
            }}

            {outer}
            #[cfg(not(target_arch = "nvptx64"))]
            #[allow(non_upper_case_globals)]
            pub const {name}: ::device_std::host::Kernel<({types})> = {{
                {allow}
                unsafe fn thread({signature}) {body}
                unsafe fn entry(arguments: *const *const ::core::ffi::c_void) {{
                    // SAFETY: the launcher passes one valid pointer for each parameter.
                    unsafe {{ thread({reads}) }}
                }}
                static HOST: ::device_std::host::HostKernel = ::device_std::host::HostKernel {{
                    name: {name:?},
                    block: {block},
                    parameters: &[{kinds}],
                    entry,
                }};
                ::device_std::host::Kernel::new(&HOST, || &MODULE)
            }};
            "#
        )
        .parse()
        .unwrap()
    }
}

/// Splits `a: A, b: B` at the commas outside `<..>`, and each part at its first colon.
fn parse_parameters(stream: TokenStream) -> Result<Vec<(String, String)>, String> {
    let mut parameters = Vec::new();
    let mut part = Vec::new();
    let mut depth = 0;
    let comma = |t: &TokenTree| matches!(t, TokenTree::Punct(p) if p.as_char() == ',');
    for token in stream {
        if let TokenTree::Punct(p) = &token {
            depth += i32::from(p.as_char() == '<') - i32::from(p.as_char() == '>');
        }
        if depth == 0 && comma(&token) {
            parameters.push(parse_parameter(std::mem::take(&mut part))?);
        } else {
            part.push(token);
        }
    }
    if !part.is_empty() {
        parameters.push(parse_parameter(part)?);
    }
    Ok(parameters)
}

fn parse_parameter(tokens: Vec<TokenTree>) -> Result<(String, String), String> {
    match tokens.as_slice() {
        [TokenTree::Ident(name), TokenTree::Punct(colon), ty @ ..] if colon.as_char() == ':' => {
            let ty: TokenStream = ty.iter().cloned().collect();
            Ok((name.to_string(), ty.to_string()))
        }
        _ => Err("a kernel parameter is `name: type`".to_owned()),
    }
}
