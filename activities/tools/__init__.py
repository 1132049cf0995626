"""Tools as users write them: from a function's signature to a schema, and from an output to what a model reads."""
