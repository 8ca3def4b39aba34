"""Tables on the page: reading files, editing the schema, and warnings."""
