//! The text that a Rust file shows to its users: public documentation and messages.

use std::path::Path;

use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Lit, Meta, Stmt, Visibility};

/// The text that a Rust file shows to its users.
#[derive(Default)]
pub struct Shown {
    /// Public documentation.
    pub documentation: Vec<String>,
    /// Errors, and the contexts that are put before them.
    pub messages: Vec<String>,
    /// Whether this item or one around it is seen from outside.
    is_public: bool,
}

impl Shown {
    fn take(&mut self, attributes: &[Attribute]) {
        let lines: Vec<String> = attributes.iter().filter_map(doc_line).collect();
        if self.is_public && !is_hidden(attributes) {
            self.documentation.push(lines.join("\n"));
        }
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("error")) {
            if let Ok(message) = attribute.parse_args_with(first_string) {
                self.messages.push(message);
            }
        }
    }

    fn within(
        &mut self,
        is_public: bool,
        attributes: &[Attribute],
        inside: impl FnOnce(&mut Self),
    ) {
        let before = self.is_public;
        self.is_public = before && is_public && !is_hidden(attributes);
        self.take(attributes);
        inside(self);
        self.is_public = before;
    }
}

/// The text of a line of documentation.
fn doc_line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    match &pair.value {
        Expr::Lit(literal) if pair.path.is_ident("doc") => match &literal.lit {
            Lit::Str(line) => Some(line.value()),
            _ => None,
        },
        _ => None,
    }
}

fn is_hidden(attributes: &[Attribute]) -> bool {
    let is_hidden = |attribute: &&Attribute| {
        attribute.path().is_ident("doc")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|ident| ident == "hidden")
    };
    attributes.iter().any(|attribute| is_hidden(&attribute))
}

/// The first argument of a macro, if it is a text.
fn first_string(input: syn::parse::ParseStream) -> syn::Result<String> {
    let text: syn::LitStr = input.parse()?;
    input.parse::<proc_macro2::TokenStream>()?;
    Ok(text.value())
}

/// The message of `ensure!`, which stands after the condition.
fn second_string(input: syn::parse::ParseStream) -> syn::Result<String> {
    input.parse::<Expr>()?;
    input.parse::<syn::Token![,]>()?;
    first_string(input)
}

/// The text that an expression makes, if it is a literal or `format!`, perhaps in a closure or a block.
fn text_of(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        Expr::Macro(called) if called.mac.path.is_ident("format") => {
            called.mac.parse_body_with(first_string).ok()
        }
        Expr::Closure(closure) => text_of(&closure.body),
        Expr::MethodCall(call) => text_of(&call.receiver),
        Expr::Block(block) => match block.block.stmts.last()? {
            Stmt::Expr(last, None) => text_of(last),
            Stmt::Macro(last) if last.mac.path.is_ident("format") => {
                last.mac.parse_body_with(first_string).ok()
            }
            _ => None,
        },
        _ => None,
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

macro_rules! items {
    ($($visit:ident: $item:ident),* $(,)?) => {
        $(fn $visit(&mut self, item: &'ast syn::$item) {
            self.within(is_public(&item.vis), &item.attrs, |shown| visit::$visit(shown, item));
        })*
    };
}

impl<'ast> Visit<'ast> for Shown {
    items!(
        visit_item_fn: ItemFn, visit_item_struct: ItemStruct, visit_item_enum: ItemEnum, visit_item_trait: ItemTrait,
        visit_item_const: ItemConst, visit_item_static: ItemStatic, visit_item_type: ItemType, visit_field: Field,
        visit_impl_item_fn: ImplItemFn, visit_impl_item_const: ImplItemConst,
    );

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.ident != "tests" {
            self.within(true, &module.attrs, |shown| visit::visit_item_mod(shown, module));
        }
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.take(&variant.attrs);
        // Fields of a public enum are public, whatever stands before them.
        let fields = variant.fields.iter();
        fields.for_each(|field| self.take(&field.attrs));
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.take(&function.attrs);
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let takes_messages = ["context", "with_context", "map_err", "ok_or", "ok_or_else"];
        if takes_messages.iter().any(|name| call.method == name) {
            self.messages.extend(call.args.first().and_then(text_of));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        let name = match &*call.func {
            Expr::Path(function) => {
                function.path.segments.last().map(|last| last.ident.to_string())
            }
            _ => None,
        };
        // `bad`, `wrong`, `damaged` and `said` make an error of a reason, `other` an I/O error.
        if let Some("Err" | "bad" | "wrong" | "damaged" | "said" | "other") = name.as_deref() {
            self.messages.extend(call.args.first().and_then(text_of));
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_field_value(&mut self, field: &'ast syn::FieldValue) {
        if matches!(&field.member, syn::Member::Named(name) if name == "reason") {
            self.messages.extend(text_of(&field.expr));
        }
        visit::visit_field_value(self, field);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        let name = called.path.segments.last().map(|last| last.ident.to_string());
        let message = match name.as_deref() {
            Some("bail" | "anyhow") => called.parse_body_with(first_string),
            Some("ensure") => called.parse_body_with(second_string),
            _ => return,
        };
        self.messages.extend(message.ok());
    }
}

/// Returns what a Rust file shows. A module's own documentation counts for a library's root alone.
pub fn shown(file: &Path, code: &str) -> Shown {
    let parsed = syn::parse_file(code).unwrap();
    let mut shown = Shown { is_public: true, ..Shown::default() };
    if file.ends_with("src/lib.rs") {
        shown.take(&parsed.attrs);
    }
    shown.visit_file(&parsed);
    shown
}
