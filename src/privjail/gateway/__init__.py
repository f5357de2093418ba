"""A gateway for other languages: plans as JSON over HTTP. An analyst's program like any other; it is not trusted."""
