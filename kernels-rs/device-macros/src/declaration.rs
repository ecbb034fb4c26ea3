//! Parses what the author of a kernel writes.

use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{
    AngleBracketedGenericArguments, Attribute, Error, Expr, FnArg, GenericArgument, Generics,
    Ident, ItemFn, Pat, Path, Result, ReturnType, Safety, Token, Type, parenthesized, parse_quote,
};

use crate::shape::Shape;

/// A kernel.
pub struct Declaration {
    pub setting: Setting,
    pub function: ItemFn,
    pub parameters: Vec<Parameter>,
}

/// The contents of the attribute's parentheses.
pub struct Setting {
    pub block: Expr,
    pub resident: Expr,
    pub spills: Option<Expr>,
    pub shared: Expr,
    pub key: Option<Key>,
    pub instances: Vec<Instance>,
}

/// The key that tells the instances of a kernel apart, by its generic parameters.
pub struct Key {
    pub kind: Type,
    pub value: Expr,
}

/// A parameter of the kernel.
pub struct Parameter {
    pub attributes: Vec<Attribute>,
    pub name: Ident,
    pub kind: Type,
    pub shape: Shape,
    /// How many arguments are passed for it, if it is a struct of arguments and this is known.
    pub count: Option<usize>,
}

/// A generic kernel with its parameters set to values.
pub struct Instance {
    pub name: Ident,
    pub generics: Vec<GenericArgument>,
    pub resident: Option<Expr>,
    pub spills: Option<Expr>,
}

impl Declaration {
    /// `counts` has how many arguments are passed for each of the first structs of arguments.
    pub fn parse(attribute: TokenStream, item: TokenStream, counts: &[usize]) -> Result<Self> {
        let setting: Setting = syn::parse2(attribute)?;
        let function: ItemFn = syn::parse2(item)?;
        let signature = &function.sig;
        if !matches!(signature.safety, Safety::Unsafe(_)) {
            let reason = "a kernel is declared `unsafe fn`: it is given device memory";
            return Err(Error::new_spanned(signature.fn_token, reason));
        }
        if let ReturnType::Type(arrow, _) = &signature.output {
            return Err(Error::new_spanned(arrow, "a kernel returns nothing"));
        }
        let parameter = |argument| Parameter::of(argument, &signature.generics);
        let mut parameters: Vec<_> =
            signature.inputs.iter().map(parameter).collect::<Result<_>>()?;
        let structs = parameters.iter_mut().filter(|p| matches!(p.shape, Shape::Struct(_)));
        structs.zip(counts).for_each(|(parameter, count)| parameter.count = Some(*count));
        if let Some(same) = parameters.iter().find(|parameter| parameter.name == signature.ident) {
            let reason =
                "a parameter cannot have its kernel's name: on the host that is a constant";
            return Err(Error::new_spanned(&same.name, reason));
        }
        check_generics(&signature.generics, &signature.ident, &setting.instances)?;
        if let (Some(key), true) = (&setting.key, setting.instances.is_empty()) {
            return Err(Error::new_spanned(&key.kind, "a key of a kernel without instances"));
        }
        Ok(Self { setting, function, parameters })
    }

    /// The first struct of arguments for which the number of passed arguments is not known.
    pub fn unknown(&self) -> Option<&Path> {
        self.parameters.iter().find_map(|parameter| match &parameter.shape {
            Shape::Struct(path) if parameter.count.is_none() => Some(path),
            _ => None,
        })
    }
}

/// Each instance sets each generic parameter; a kernel without parameters has no instances.
fn check_generics(generics: &Generics, name: &Ident, instances: &[Instance]) -> Result<()> {
    let count = generics.params.len();
    if let Some(lifetime) = generics.lifetimes().next() {
        return Err(Error::new_spanned(lifetime, "a kernel names no lifetimes: write In<'_, T>"));
    }
    match instances.first() {
        None if count > 0 => {
            Err(Error::new_spanned(generics, "a generic kernel lists its instances(..)"))
        }
        Some(_) if count == 0 => {
            Err(Error::new_spanned(name, "instances of a function with no generic parameters"))
        }
        _ => match instances.iter().find(|instance| instance.generics.len() != count) {
            Some(instance) => {
                let reason = format!("the kernel has {count} generic parameter(s)");
                Err(Error::new_spanned(&instance.name, reason))
            }
            None => Ok(()),
        },
    }
}

impl Parse for Setting {
    fn parse(input: ParseStream) -> Result<Self> {
        let (mut block, mut resident, mut spills, mut shared) = (None, None, None, None);
        let (mut key, mut instances) = (None, Vec::new());
        while !input.is_empty() {
            let word: Ident = input.parse()?;
            let value = |slot: &mut Option<Expr>| -> Result<()> {
                input.parse::<Token![=]>()?;
                *slot = Some(input.parse()?);
                Ok(())
            };
            match word.to_string().as_str() {
                "block" => value(&mut block)?,
                "resident" => value(&mut resident)?,
                "spills" => value(&mut spills)?,
                "shared" => value(&mut shared)?,
                "carve" => {
                    value(&mut shared)?;
                    shared = shared.map(bytes_carved).transpose()?;
                }
                "key" => {
                    input.parse::<Token![:]>()?;
                    let kind = input.parse()?;
                    input.parse::<Token![=]>()?;
                    key = Some(Key { kind, value: input.parse()? });
                }
                "instances" => {
                    let content;
                    parenthesized!(content in input);
                    let list = Punctuated::<Instance, Token![;]>::parse_terminated(&content)?;
                    instances.extend(list);
                }
                other => {
                    let reason = format!(
                        "`{other}` is none of block, resident, spills, shared, carve, key and instances"
                    );
                    return Err(Error::new_spanned(word, reason));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        let missing = || input.error("`block = THREADS` is missing: the threads of a block");
        Ok(Self {
            block: block.ok_or_else(missing)?,
            resident: resident.unwrap_or_else(|| parse_quote!(1)),
            spills,
            shared: shared.unwrap_or_else(|| parse_quote!(0)),
            key,
            instances,
        })
    }
}

/// The bytes that a closure carves, `|carver| ..`.
fn bytes_carved(carve: Expr) -> Result<Expr> {
    let Expr::Closure(closure) = &carve else {
        return Err(Error::new_spanned(carve, "expected `|carver| EXPRESSION`"));
    };
    let (inputs, body) = (&closure.inputs, &closure.body);
    let Some(Pat::Ident(carver)) = inputs.first().filter(|_| inputs.len() == 1) else {
        return Err(Error::new_spanned(inputs, "expected one name, of the carver"));
    };
    let name = &carver.ident;
    Ok(parse_quote!({
        let mut #name = ::device_std::shared::Carver::new();
        {
            let #name = &mut #name;
            let _ = #body;
        }
        #name.bytes()
    }))
}

impl Parse for Instance {
    fn parse(input: ParseStream) -> Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        let generics: AngleBracketedGenericArguments = input.parse()?;
        let (mut resident, mut spills) = (None, None);
        while input.peek(Token![,]) {
            input.parse::<Token![,]>()?;
            let word: Ident = input.parse()?;
            let slot = match word.to_string().as_str() {
                "resident" => &mut resident,
                "spills" => &mut spills,
                _ => {
                    let reason = "expected `resident = BLOCKS`, `spills = BYTES` or `;`";
                    return Err(Error::new_spanned(word, reason));
                }
            };
            input.parse::<Token![=]>()?;
            *slot = Some(input.parse()?);
        }
        Ok(Self { name, generics: generics.args.into_iter().collect(), resident, spills })
    }
}

impl Parameter {
    fn of(argument: &FnArg, generics: &Generics) -> Result<Self> {
        let reason = "a kernel's parameter is `name: type`";
        let FnArg::Typed(typed) = argument else {
            return Err(Error::new_spanned(argument, reason));
        };
        let Pat::Ident(name) = &*typed.pat else {
            return Err(Error::new_spanned(&typed.pat, reason));
        };
        let (attributes, name) = (typed.attrs.clone(), name.ident.clone());
        let shape = Shape::of(&typed.ty, generics);
        Ok(Self { attributes, name, kind: (*typed.ty).clone(), shape, count: None })
    }
}

/// The instances' list alone, as tests write it.
#[cfg(test)]
pub fn instances(text: &str) -> Result<Vec<Instance>> {
    let list = Punctuated::<Instance, Token![;]>::parse_terminated;
    Ok(syn::parse::Parser::parse_str(list, text)?.into_iter().collect())
}

#[cfg(test)]
mod tests {
    #[test]
    fn instances_are_read_with_their_own_settings() {
        let list =
            "a: <u8, Least<u8>, 4>, resident = 2; b: <u16, Sum, 8>, resident = 4, spills = 8;";
        let read: Vec<_> = super::instances(list)
            .unwrap()
            .iter()
            .map(|i| {
                (i.name.to_string(), i.generics.len(), i.resident.is_some(), i.spills.is_some())
            })
            .collect();
        assert_eq!(read, [("a".to_owned(), 3, true, false), ("b".to_owned(), 3, true, true)]);
        assert!(super::instances("a: <u8>, block = 2").is_err());
    }
}
