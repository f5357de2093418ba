"""Owners with a browser: the same encryption in JavaScript, its page, and the gateway that passes records on."""
