"""Histograms that no single server can read: encrypted records, two servers that do not collude, exact noise of both."""
