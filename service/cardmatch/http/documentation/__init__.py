"""The documentation as pages: what stands in docs/, and a page for each operation, made from the OpenAPI document."""
