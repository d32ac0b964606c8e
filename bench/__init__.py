"""Our engine beside a bare loop and its peers, measured in one run on one machine."""
