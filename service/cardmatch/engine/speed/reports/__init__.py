"""Raw output of benchmark tools, read into rates of work: one module a tool, registered in `reading`."""
