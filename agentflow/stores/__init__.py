"""Stores: where the journals of durable runs live."""
