"""Text and files to programs and back: the parser, the printer, JSON, weights, pickles.

Importing `relay.text.printer` and `relay.text.pickling` fills the hooks that `str(node)` and `pickle` use;
`import relay` arranges that their first use does so.
"""
