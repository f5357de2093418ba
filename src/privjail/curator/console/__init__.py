"""The curator's console: a web page over the jail's folder. It shows views and makes decisions; it has no rules."""
