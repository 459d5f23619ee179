"""Builds `service/cardmatch/catalogue/data/` from a folder of transcribed sources: one module a noun.

Each noun's module has `build(shared)`, which gives the files that it owns as {name: bytes}.
"""
