"""From a question with a schema to an object that fits it."""
