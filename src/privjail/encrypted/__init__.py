"""Histograms that no single server can read: encrypted records, two servers, exact noise of both."""
