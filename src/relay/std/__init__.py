"""The prelude: the standard modules in Relay text, imported as `import "std/list"`."""
