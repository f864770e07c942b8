"""Asynchronous copies: of lanes (cp.async), in bulk, of tensors by their maps, and what lanes do that completes on mbarriers."""
