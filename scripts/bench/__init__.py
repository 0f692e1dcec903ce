"""Measures the service on this machine, alone and beside other servers."""
